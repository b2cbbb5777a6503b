/*===- PassesTest.c - passes and pipelines, from C ------------------------===*\
|* SPDX-License-Identifier: Apache-2.0                                        *|
|*                                                                            *|
|* Builds a pipeline of the passes that have constructors, adds pipelines     *|
|* with options, right and wrong ones, and asks for every stable name. The    *|
|* exit code tells.                                                           *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "fa3-c/Passes.h"
#include "fa3-c/FA3.h"
#include "mlir-c/Diagnostics.h"
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

/* A program on memrefs. */
static const char program[] =
    "func.func @layer(%x: memref<1x2x300x64xf16>,\n"
    "    %y: memref<1x2x300x64xf16>) {\n"
    "  %q = bufferization.to_tensor %x restrict : memref<1x2x300x64xf16>\n"
    "    to tensor<1x2x300x64xf16>\n"
    "  %o = attention.forward %q, %q, %q mods [#attention.causal]\n"
    "    : (tensor<1x2x300x64xf16>, tensor<1x2x300x64xf16>,\n"
    "       tensor<1x2x300x64xf16>) -> tensor<1x2x300x64xf16>\n"
    "  bufferization.materialize_in_destination %o in restrict writable %y\n"
    "    : (tensor<1x2x300x64xf16>, memref<1x2x300x64xf16>) -> ()\n"
    "  return\n"
    "}\n";

/* docs/Embedding.md: these change with a minor version only. */
static const char *const stableNames[] = {
    "attention-outline",
    "attention-expand-mods",
    "attention-derive-gradient",
    "attention-differentiate{suffix=_grad grad-aux=0}",
    "attention-quantize{format=f8E4M3FN scales=head hadamard=true}",
    "attention-to-reference{precision=f64 slices=false}",
    "convert-to-attention{raise=true}",
    "attention-to-tile{block-m=128 block-n=64}",
    "fa3-lower-host{image=ptx memory=host launch=runtime chip=sm_90a}",
    "fa3-tile",
    "fa3-specialize",
    "fa3-pipeline",
    "fa3-layout",
    "fa3-hopper",
    "fa3-ptx",
    "fa3-lower-to-nvvm-pipeline{tuning-table=none}",
};

typedef MlirLogicalResult (*AddPipeline)(MlirOpPassManager, MlirStringRef,
                                         MlirStringCallback, void *);

static const AddPipeline pipelines[] = {
    fa3AddTilePipeline,        fa3AddSpecializePipeline, fa3AddPipelinePipeline,
    fa3AddLayoutPipeline,      fa3AddHopperPipeline,     fa3AddPTXPipeline,
    fa3AddLowerToNVVMPipeline,
};

typedef MlirPass (*CreatePass)(void);

static const CreatePass constructors[] = {
    mlirCreateFA3Outline,
    mlirCreateFA3ExpandMods,
    mlirCreateFA3DeriveGradient,
    mlirCreateFA3Differentiate,
    mlirCreateFA3Quantize,
    mlirCreateFA3ToReference,
    mlirCreateFA3ConvertToAttention,
    mlirCreateFA3AttentionToTile,
    mlirCreateFA3LowerHost,
};

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

static MlirStringRef ref(const char *text) {
  return mlirStringRefCreateFromCString(text);
}

/* The module after `passes`, which go. */
static char *lower(MlirContext context, MlirPassManager passes) {
  MlirModule module = mlirModuleCreateParse(context, ref(program));
  EXPECT(!mlirModuleIsNull(module));
  EXPECT(mlirLogicalResultIsSuccess(
      mlirPassManagerRunOnOp(passes, mlirModuleGetOperation(module))));
  Text text = {NULL, 0};
  mlirOperationPrint(mlirModuleGetOperation(module), keep, &text);
  mlirModuleDestroy(module);
  mlirPassManagerDestroy(passes);
  return text.text;
}

static void testConstructors(MlirContext context) {
  /* By definition: what is left is loops. */
  MlirPassManager passes = mlirPassManagerCreate(context);
  mlirPassManagerAddOwnedPass(passes, mlirCreateFA3Outline());
  mlirPassManagerAddOwnedPass(passes, mlirCreateFA3ExpandMods());
  mlirPassManagerAddOwnedPass(passes, mlirCreateFA3ToReference());
  mlirPassManagerAddOwnedPass(passes, mlirCreateFA3LowerHost());
  char *text = lower(context, passes);
  EXPECT(strstr(text, "call @layer_attention"));
  EXPECT(strstr(text, "scf.for"));
  EXPECT(!strstr(text, "attention.forward"));
  EXPECT(!strstr(text, "fa3_host_launch"));
  free(text);
  /* All of them, which run on modules. */
  MlirPassManager all = mlirPassManagerCreate(context);
  for (size_t i = 0; i < sizeof(constructors) / sizeof(*constructors); ++i) {
    MlirPass pass = constructors[i]();
    EXPECT(pass.ptr);
    mlirPassManagerAddOwnedPass(all, pass);
  }
  Text names = {NULL, 0};
  mlirPrintPassPipeline(mlirPassManagerGetAsOpPassManager(all), keep, &names);
  EXPECT(strstr(names.text, "attention-outline"));
  EXPECT(strstr(names.text, "convert-to-attention"));
  EXPECT(strstr(names.text, "attention-to-tile"));
  EXPECT(strstr(names.text, "fa3-lower-host"));
  free(names.text);
  mlirPassManagerDestroy(all);
}

static void testPipelines(MlirContext context) {
  MlirPassManager passes = mlirPassManagerCreate(context);
  MlirOpPassManager op = mlirPassManagerGetAsOpPassManager(passes);
  EXPECT(mlirLogicalResultIsSuccess(fa3AddLowerToNVVMPipeline(
      op, ref("block-m=128 block-n=64"), keep, &message)));
  mlirPassManagerAddOwnedPass(passes, mlirCreateFA3LowerHost());
  EXPECT(message.calls == 0);
  char *text = lower(context, passes);
  EXPECT(strstr(text, "fa3_host_launch"));
  EXPECT(strstr(text, ".target sm_90a"));
  free(text);

  for (size_t i = 0; i < sizeof(pipelines) / sizeof(*pipelines); ++i) {
    MlirPassManager one = mlirPassManagerCreate(context);
    MlirOpPassManager on = mlirPassManagerGetAsOpPassManager(one);
    Text before = {NULL, 0}, after = {NULL, 0}, error = {NULL, 0};
    mlirPrintPassPipeline(on, keep, &before);
    EXPECT(mlirLogicalResultIsFailure(
        pipelines[i](on, ref("no-such-option=1"), keep, &error)));
    EXPECT(error.calls > 0 && strstr(error.text, "no-such-option"));
    EXPECT(mlirLogicalResultIsFailure(
        pipelines[i](on, ref("rescale=never-heard-of"), keep, &error)));
    EXPECT(strstr(error.text, "never-heard-of"));
    mlirPrintPassPipeline(on, keep, &after);
    EXPECT(!strcmp(before.text, after.text));
    free(after.text);
    after.text = NULL;
    EXPECT(
        mlirLogicalResultIsSuccess(pipelines[i](on, ref(""), keep, &message)));
    mlirPrintPassPipeline(on, keep, &after);
    EXPECT(strlen(after.text) > strlen(before.text));
    free(before.text);
    free(after.text);
    free(error.text);
    mlirPassManagerDestroy(one);
  }
  EXPECT(message.calls == 0);

  /* They are on modules. */
  MlirPassManager functions =
      mlirPassManagerCreateOnOperation(context, ref("func.func"));
  Text error = {NULL, 0};
  EXPECT(mlirLogicalResultIsFailure(fa3AddTilePipeline(
      mlirPassManagerGetAsOpPassManager(functions), ref(""), keep, &error)));
  EXPECT(strstr(error.text, "func.func"));
  free(error.text);
  mlirPassManagerDestroy(functions);
}

static void testNames(MlirContext context) {
  for (size_t i = 0; i < sizeof(stableNames) / sizeof(*stableNames); ++i) {
    MlirPassManager passes = mlirPassManagerCreate(context);
    EXPECT(mlirLogicalResultIsSuccess(
        mlirOpPassManagerAddPipeline(mlirPassManagerGetAsOpPassManager(passes),
                                     ref(stableNames[i]), keep, &message)));
    mlirPassManagerDestroy(passes);
  }
}

int main(void) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  fa3RegisterAllDialects(registry);
  fa3RegisterAllPasses();
  MlirContext context =
      mlirContextCreateWithRegistry(registry, /*threadingEnabled=*/false);
  mlirContextAttachDiagnosticHandler(context, note, &message, NULL);
  testConstructors(context);
  testPipelines(context);
  testNames(context);
  printf("%zu constructors, %zu pipelines, %zu names\n",
         sizeof(constructors) / sizeof(*constructors),
         sizeof(pipelines) / sizeof(*pipelines),
         sizeof(stableNames) / sizeof(*stableNames));
  mlirContextDestroy(context);
  mlirDialectRegistryDestroy(registry);
  free(message.text);
  return 0;
}
