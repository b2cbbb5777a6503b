/*===- HostInterpret.c - the interpreter in place of a device -------------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The compiler, which has the interpreter, is opened at run time: programs for
 * a device do not need it.
 *===----------------------------------------------------------------------===*/

#include "Host.h"
#include "Support.h"
#include "fa3-c/Compiler.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
  fa3_outcome (*interpret)(const char *, size_t, const char *,
                           const fa3_options *, const fa3_arg *, size_t,
                           fa3_result **);
  const char *(*diagnostics)(const fa3_result *);
  void (*destroy)(fa3_result *);
  char error[256];
} compiler;

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The address of a function; POSIX has it as an object. */
static void find(void *library, const char *name, void *function) {
  void *address = dlsym(library, name);
  memcpy(function, &address, sizeof(address));
}

static void open_compiler(void) {
  void *library = dlopen(NULL, RTLD_NOW);
  if (!library || !dlsym(library, "fa3_interpret")) {
    const char *path = getenv("FA3_COMPILER_LIBRARY");
    library = dlopen(path && *path ? path : "libfa3.so", RTLD_NOW | RTLD_LOCAL);
  }
  if (!library) {
    const char *error = dlerror();
    strncpy(compiler.error, error ? error : "unknown error",
            sizeof(compiler.error) - 1);
    return;
  }
  find(library, "fa3_interpret", &compiler.interpret);
  find(library, "fa3_result_diagnostics", &compiler.diagnostics);
  find(library, "fa3_result_destroy", &compiler.destroy);
  if (!compiler.interpret || !compiler.diagnostics || !compiler.destroy) {
    compiler.interpret = NULL;
    strncpy(compiler.error, "it is no libfa3", sizeof(compiler.error) - 1);
  }
}

fa3_code fa3_host_interpret(const fa3_host_program *program,
                            const fa3_arg *args, size_t num_args,
                            fa3_status *status) {
  pthread_once(&once, open_compiler);
  if (!compiler.interpret)
    return fa3_fail(status, FA3_ERROR_IMAGE,
                    "the program is for the interpreter of libfa3.so, which "
                    "cannot be opened (FA3_COMPILER_LIBRARY): %s",
                    compiler.error);
  fa3_options options;
  memset(&options, 0, sizeof(options));
  options.size = sizeof(options);
  options.source_name = program->name;
  options.pass_pipeline = "builtin.module()";
  fa3_result *result = NULL;
  fa3_outcome outcome =
      compiler.interpret(program->image, (size_t)program->image_size, NULL,
                         &options, args, num_args, &result);
  fa3_code code = FA3_OK;
  if (outcome != FA3_DONE)
    code = fa3_fail(status,
                    outcome == FA3_BAD_CALL ? FA3_ERROR_ARGUMENT
                                            : FA3_ERROR_REQUIREMENT,
                    "%s", result ? compiler.diagnostics(result) : "no result");
  if (result)
    compiler.destroy(result);
  return code == FA3_OK ? fa3_succeed(status) : code;
}
