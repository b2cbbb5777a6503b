/*===- Host.c - kernels inside of compiled programs -----------------------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Loads what a program carries, once, and launches it with memory for
 * workspaces.
 *===----------------------------------------------------------------------===*/

#include "Host.h"
#include "Program.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Memory between the kernels of calls on one stream, which run one after
 * another. */
typedef struct workspace {
  struct workspace *next;
  void *stream;
  fa3_device_address address;
  int64_t size;
} workspace;

typedef struct state {
  struct state *next;
  fa3_host_program *owner;
  fa3_program *program;
  workspace *workspaces;
} state;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static state *states;

static _Thread_local void *current_stream;

static void abort_program(void *user, const char *function,
                          const fa3_status *status) {
  (void)user;
  fprintf(stderr, "fa3: '%s': %s: %s\n", function, fa3_code_name(status->code),
          status->message);
  abort();
}

static fa3_host_handler handler = abort_program;
static void *handler_user;

void fa3_host_set_stream(void *stream) { current_stream = stream; }
void *fa3_host_stream(void) { return current_stream; }

void fa3_host_set_handler(fa3_host_handler own, void *user) {
  handler = own ? own : abort_program;
  handler_user = user;
}

/* Under the lock. */
static fa3_code load(fa3_host_program *program, fa3_status *status) {
  state *made = calloc(1, sizeof(*made));
  if (!made)
    return fa3_fail_memory(status);
  fa3_code code = fa3_program_load(
      program->manifest, (size_t)program->manifest_size, program->image,
      (size_t)program->image_size,
      program->image_kind == FA3_HOST_CUBIN ? FA3_IMAGE_CUBIN : FA3_IMAGE_PTX,
      &made->program, status);
  if (code != FA3_OK) {
    free(made);
    return code;
  }
  made->owner = program;
  made->next = states;
  states = made;
  __atomic_store_n(&program->state, made, __ATOMIC_RELEASE);
  return FA3_OK;
}

static fa3_code get_state(fa3_host_program *program, state **result,
                          fa3_status *status) {
  *result = __atomic_load_n(&program->state, __ATOMIC_ACQUIRE);
  if (*result)
    return FA3_OK;
  fa3_code code = FA3_OK;
  pthread_mutex_lock(&lock);
  if (!program->state)
    code = load(program, status);
  *result = program->state;
  pthread_mutex_unlock(&lock);
  return code;
}

/* Under the lock: memory that is large enough. What grows is not in use when
 * the kernels of earlier calls on the stream have run. */
static fa3_code provide(state *s, void *stream, int64_t size, void **memory,
                        fa3_status *status) {
  workspace *w = s->workspaces;
  while (w && w->stream != stream)
    w = w->next;
  if (!w) {
    w = calloc(1, sizeof(*w));
    if (!w)
      return fa3_fail_memory(status);
    w->stream = stream;
    w->next = s->workspaces;
    s->workspaces = w;
  }
  if (w->size < size) {
    fa3_code code = FA3_OK;
    if (w->size) {
      code = fa3_device_stream_synchronize(stream, status);
      if (code == FA3_OK)
        code = fa3_device_free(w->address, status);
      w->size = 0;
    }
    if (code == FA3_OK)
      code = fa3_device_alloc((size_t)size, &w->address, status);
    if (code != FA3_OK)
      return code;
    w->size = size;
  }
  *memory = (void *)(uintptr_t)w->address;
  return FA3_OK;
}

typedef struct call {
  state *s;
  size_t num_args;
  void *stream;
  /* Memory of the program, or null. */
  void *workspace;
  int64_t workspace_size;
} call;

static fa3_code launch(void *user, const fa3_arg *args, fa3_status *status) {
  const call *c = user;
  const fa3_program *program = c->s->program;
  if (c->workspace)
    return fa3_launch_with_workspace(program, args, c->num_args, c->workspace,
                                     c->workspace_size, c->stream, status);
  int64_t size;
  fa3_code code = fa3_workspace_size(program, args, c->num_args, &size, status);
  if (code != FA3_OK)
    return code;
  if (size == 0)
    return fa3_launch(program, args, c->num_args, c->stream, status);
  void *memory = NULL;
  pthread_mutex_lock(&lock);
  code = provide(c->s, c->stream, size, &memory, status);
  if (code == FA3_OK)
    code = fa3_launch_with_workspace(program, args, c->num_args, memory, size,
                                     c->stream, status);
  pthread_mutex_unlock(&lock);
  return code;
}

static fa3_code run(fa3_host_program *program, const fa3_arg *args, call c,
                    fa3_status *status) {
  if (program->image_kind == FA3_HOST_IR)
    return fa3_host_interpret(program, args, c.num_args, status);
  fa3_code code = get_state(program, &c.s, status);
  if (code != FA3_OK)
    return code;
  /* Memory is that of the context of the kernels, which need not be current. */
  const fa3_program *loaded = c.s->program;
  int pushed;
  code = fa3_context_enter(loaded->driver, loaded->context, &pushed, status);
  if (code != FA3_OK)
    return code;
  code = program->memory == FA3_HOST_COPIED
             ? fa3_host_launch_copied(loaded, args, c.num_args, c.stream,
                                      launch, &c, status)
             : launch(&c, args, status);
  fa3_context_leave(loaded->driver, pushed);
  return code;
}

void fa3_host_launch_on(fa3_host_program *program, const fa3_arg *args,
                        int64_t num_args, void *stream, void *workspace,
                        int64_t workspace_size) {
  fa3_status status;
  call c = {NULL, (size_t)num_args, stream, workspace, workspace_size};
  if (run(program, args, c, &status) != FA3_OK)
    handler(handler_user, program->name, &status);
}

void fa3_host_launch(fa3_host_program *program, const fa3_arg *args,
                     int64_t num_args) {
  fa3_host_launch_on(program, args, num_args, current_stream, NULL, 0);
}

fa3_code fa3_host_release(fa3_status *status) {
  fa3_code first = FA3_OK;
  fa3_status other;
  pthread_mutex_lock(&lock);
  while (states) {
    state *s = states;
    states = s->next;
    const fa3_driver *driver = s->program->driver;
    int pushed;
    fa3_code code = fa3_context_enter(driver, s->program->context, &pushed,
                                      first ? &other : status);
    int entered = code == FA3_OK;
    first = first ? first : code;
    while (s->workspaces) {
      workspace *w = s->workspaces;
      s->workspaces = w->next;
      if (w->size && entered) {
        code = fa3_device_free(w->address, first ? &other : status);
        first = first ? first : code;
      }
      free(w);
    }
    if (entered)
      fa3_context_leave(driver, pushed);
    code = fa3_program_destroy(s->program, first ? &other : status);
    first = first ? first : code;
    __atomic_store_n(&s->owner->state, NULL, __ATOMIC_RELEASE);
    free(s);
  }
  pthread_mutex_unlock(&lock);
  return first ? first : fa3_succeed(status);
}
