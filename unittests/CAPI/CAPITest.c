/*===- CAPITest.c - the C interface, from C -------------------------------===*\
|* SPDX-License-Identifier: Apache-2.0                                        *|
|*                                                                            *|
|* Lowers and translates a module; then sees that a bad one is refused with a *|
|* diagnostic and without output. The exit code tells.                        *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "fa3-c/FA3.h"
#include "mlir-c/Diagnostics.h"
#include "mlir-c/Pass.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  char *text;
  int calls;
} Text;

/* What was diagnosed so far. */
static Text message;

#define EXPECT(condition)                                                      \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
      fprintf(stderr, "%s\n", message.text ? message.text : "");               \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

static const char good[] =
    "func.func @forward(%q: tensor<?x8x?x64xf16> {tile.name = \"q\"},\n"
    "    %k: tensor<?x8x?x64xf16> {tile.name = \"k\"},\n"
    "    %v: tensor<?x8x?x64xf16> {tile.name = \"v\"})\n"
    "    -> (tensor<?x8x?x64xf16> {tile.name = \"o\"}) {\n"
    "  %o = attention.forward %q, %k, %v : (tensor<?x8x?x64xf16>,\n"
    "    tensor<?x8x?x64xf16>, tensor<?x8x?x64xf16>) -> tensor<?x8x?x64xf16>\n"
    "  return %o : tensor<?x8x?x64xf16>\n"
    "}\n";

/* A program with attention in it. */
static const char program[] =
    "func.func @layers(%x: tensor<1x2x?x64xf16>, %n: index) -> (index,\n"
    "    tensor<1x2x?x64xf16>) {\n"
    "  %c0 = arith.constant 0 : index\n"
    "  %c1 = arith.constant 1 : index\n"
    "  %y = scf.for %i = %c0 to %n step %c1 iter_args(%z = %x)\n"
    "      -> tensor<1x2x?x64xf16> {\n"
    "    %o = attention.forward %z, %x, %x : (tensor<1x2x?x64xf16>,\n"
    "      tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) ->\n"
    "      tensor<1x2x?x64xf16>\n"
    "    scf.yield %o : tensor<1x2x?x64xf16>\n"
    "  }\n"
    "  return %n, %y : index, tensor<1x2x?x64xf16>\n"
    "}\n";

/* Not lowered, so without kernels. */
static const char bad[] = "func.func @nothing() { return }\n";

/* Appends to a text. */
static void keep(MlirStringRef string, void *data) {
  Text *text = data;
  size_t length = text->text ? strlen(text->text) : 0;
  text->text = realloc(text->text, length + string.length + 1);
  EXPECT(text->text);
  memcpy(text->text + length, string.data, string.length);
  text->text[length + string.length] = 0;
  ++text->calls;
}

static MlirLogicalResult note(MlirDiagnostic diagnostic, void *data) {
  mlirDiagnosticPrint(diagnostic, keep, data);
  return mlirLogicalResultSuccess();
}

static MlirModule parse(MlirContext context, const char *source) {
  MlirModule module =
      mlirModuleCreateParse(context, mlirStringRefCreateFromCString(source));
  EXPECT(!mlirModuleIsNull(module));
  return module;
}

int main(void) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  fa3RegisterAllDialects(registry);
  fa3RegisterAllPasses();
  MlirContext context =
      mlirContextCreateWithRegistry(registry, /*threadingEnabled=*/false);
  Text ptx = {NULL, 0}, manifest = {NULL, 0};
  mlirContextAttachDiagnosticHandler(context, note, &message, NULL);

  MlirModule module = parse(context, good);
  MlirPassManager passes = mlirPassManagerCreate(context);
  EXPECT(mlirLogicalResultIsSuccess(mlirParsePassPipeline(
      mlirPassManagerGetAsOpPassManager(passes),
      mlirStringRefCreateFromCString(
          "builtin.module(fa3-lower-to-nvvm-pipeline{block-m=128})"),
      keep, &message)));
  EXPECT(mlirLogicalResultIsSuccess(
      mlirPassManagerRunOnOp(passes, mlirModuleGetOperation(module))));
  EXPECT(mlirLogicalResultIsSuccess(
      fa3TranslateToPTX(module, NULL, keep, &ptx, keep, &manifest)));
  EXPECT(message.calls == 0);
  EXPECT(ptx.calls == 1 && strstr(ptx.text, ".target sm_90a"));
  EXPECT(strstr(ptx.text, "wgmma.mma_async"));
  EXPECT(manifest.calls == 1 && strstr(manifest.text, "\"forward\""));
  printf("PTX of %zu bytes, manifest of %zu bytes\n", strlen(ptx.text),
         strlen(manifest.text));

  /* The same pass manager, on attention inside of a program. */
  MlirModule whole = parse(context, program);
  Text text = {NULL, 0};
  EXPECT(mlirLogicalResultIsSuccess(
      mlirPassManagerRunOnOp(passes, mlirModuleGetOperation(whole))));
  mlirOperationPrint(mlirModuleGetOperation(whole), keep, &text);
  EXPECT(strstr(text.text, "attention.call @layers_attention"));
  EXPECT(strstr(text.text, "scf.for"));
  EXPECT(mlirLogicalResultIsSuccess(
      fa3TranslateToPTX(whole, NULL, keep, &ptx, keep, &manifest)));
  EXPECT(strstr(manifest.text, "\"layers_attention\""));
  EXPECT(message.calls == 0);
  free(text.text);
  mlirModuleDestroy(whole);

  MlirModule other = parse(context, bad);
  Fa3TranslateOptions options = {{NULL, 0}, 85, {NULL, 0}, {NULL, 0}};
  EXPECT(mlirLogicalResultIsFailure(
      fa3TranslateToPTX(other, &options, keep, &ptx, keep, &manifest)));
  EXPECT(message.calls > 0 && strstr(message.text, "gpu.module"));
  EXPECT(ptx.calls == 2 && manifest.calls == 2);

  mlirModuleDestroy(other);
  mlirPassManagerDestroy(passes);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
  mlirDialectRegistryDestroy(registry);
  free(message.text);
  free(ptx.text);
  free(manifest.text);
  puts("[  PASSED  ] the C interface");
  return 0;
}
