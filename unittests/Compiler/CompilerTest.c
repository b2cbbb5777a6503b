/*===- CompilerTest.c - libfa3 from C -------------------------------------===*\
|* SPDX-License-Identifier: Apache-2.0                                        *|
|*                                                                            *|
|* Compiles, lowers and runs a module, also from several threads at once, and *|
|* sees that wrong input and wrong calls are refused. The exit code tells.    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "fa3-c/Compiler.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition)                                                      \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

/* The same, and what the result says if not. */
#define EXPECT_OF(result, condition)                                           \
  do {                                                                         \
    if (!(condition))                                                          \
      fprintf(stderr, "%s", fa3_result_diagnostics(result));                   \
    EXPECT(condition);                                                         \
  } while (0)

static const char good[] =
    "func.func @forward(%q: tensor<?x2x?x64xf16> {tile.name = \"q\"},\n"
    "    %k: tensor<?x2x?x64xf16> {tile.name = \"k\"},\n"
    "    %v: tensor<?x2x?x64xf16> {tile.name = \"v\"})\n"
    "    -> (tensor<?x2x?x64xf16> {tile.name = \"o\"}) {\n"
    "  %o = attention.forward %q, %k, %v : (tensor<?x2x?x64xf16>,\n"
    "    tensor<?x2x?x64xf16>, tensor<?x2x?x64xf16>) -> tensor<?x2x?x64xf16>\n"
    "  return %o : tensor<?x2x?x64xf16>\n"
    "}\n";

static int isIn(const char *text, const char *part) {
  return text && strstr(text, part) != NULL;
}

/*===----------------------------------------------------------------------===*\
|* Compiling
\*===----------------------------------------------------------------------===*/

static void testVersions(void) {
  EXPECT(fa3_compiler_abi() == FA3_COMPILER_ABI);
  EXPECT(strchr(fa3_version(), '.'));
  EXPECT(isIn(fa3_llvm_version(), "22."));
  /* A hash of 160 bits in hexadecimal. */
  EXPECT(strlen(fa3_build_id()) == 40);
}

static void testCompile(void) {
  fa3_result *result;
  EXPECT(fa3_compile(good, strlen(good), NULL, &result) == FA3_DONE);
  size_t size;
  const char *ptx = fa3_result_ptx(result, &size);
  EXPECT(ptx && strlen(ptx) == size);
  EXPECT(isIn(ptx, ".target sm_90a") && isIn(ptx, ".version 9.0"));
  EXPECT(isIn(ptx, "wgmma.mma_async"));
  EXPECT(isIn(fa3_result_manifest(result, NULL), "\"forward\""));
  EXPECT(!fa3_result_cubin(result, &size) && size == 0);
  EXPECT(!fa3_result_ir(result, NULL));
  EXPECT(fa3_result_num_kernels(result) == 0);
  EXPECT(fa3_result_num_diagnostics(result) == 0);
  EXPECT(!*fa3_result_diagnostics(result));
  fa3_result_destroy(result);
  fa3_result_destroy(NULL);
}

static void testOptions(void) {
  fa3_options options = {.size = sizeof options,
                         .pipeline_options = "block-m=64",
                         .ptx_version = 80};
  fa3_result *result;
  EXPECT(fa3_compile(good, strlen(good), &options, &result) == FA3_DONE);
  EXPECT(isIn(fa3_result_ptx(result, NULL), ".version 8.0"));
  fa3_result_destroy(result);

  /* A caller that knows the first two fields only. */
  options.size = offsetof(fa3_options, pipeline_options);
  EXPECT(fa3_compile(good, strlen(good), &options, &result) == FA3_DONE);
  EXPECT(isIn(fa3_result_ptx(result, NULL), ".version 9.0"));
  fa3_result_destroy(result);

  /* Passes of one's own do the same as the pipeline that they name. */
  fa3_options own = {.size = sizeof own,
                     .pass_pipeline =
                         "builtin.module(fa3-lower-to-nvvm-pipeline)"};
  fa3_result *other;
  EXPECT(fa3_compile(good, strlen(good), &own, &result) == FA3_DONE);
  EXPECT(fa3_compile(good, strlen(good), NULL, &other) == FA3_DONE);
  EXPECT(!strcmp(fa3_result_ptx(result, NULL), fa3_result_ptx(other, NULL)));
  EXPECT(!strcmp(fa3_result_manifest(result, NULL),
                 fa3_result_manifest(other, NULL)));
  fa3_result_destroy(result);
  fa3_result_destroy(other);
}

/* The call must fail with an error that has these words. */
static void expectRefused(const char *text, const fa3_options *options,
                          fa3_outcome outcome, const char *words) {
  fa3_result *result;
  EXPECT(fa3_compile(text, text ? strlen(text) : 0, options, &result) ==
         outcome);
  EXPECT_OF(result, isIn(fa3_result_diagnostics(result), words));
  EXPECT(!fa3_result_ptx(result, NULL) && !fa3_result_manifest(result, NULL));
  fa3_result_destroy(result);
}

static void testRefusals(void) {
  fa3_options options = {.size = sizeof options, .source_name = "mine.mlir"};
  expectRefused("func.func @f( {", &options, FA3_FAILED, "mine.mlir:1:14: ");
  expectRefused("func.func @f() { return }", NULL, FA3_FAILED,
                "expects one module of kernels");
  expectRefused(NULL, NULL, FA3_BAD_CALL, "got null");
  fa3_options bad = {.size = 3};
  expectRefused(good, &bad, FA3_BAD_CALL, "expects a size of fa3_options");
  bad = (fa3_options){.size = sizeof bad, .pipeline_options = "no-such=1"};
  expectRefused(good, &bad, FA3_BAD_CALL, "no-such");
  bad.pipeline_options = "block-m=64 mode=dynamc";
  expectRefused(good, &bad, FA3_BAD_CALL,
                "mode expects 'auto', 'cta', 'static' or 'dynamic', got "
                "'dynamc'");
  bad = (fa3_options){.size = sizeof bad, .pass_pipeline = "builtin.module(x)"};
  expectRefused(good, &bad, FA3_BAD_CALL, "pass_pipeline");
  bad.pipeline_options = "block-m=64";
  expectRefused(good, &bad, FA3_BAD_CALL, "exclude each other");
  bad = (fa3_options){.size = sizeof bad, .assemble = 7};
  expectRefused(good, &bad, FA3_BAD_CALL, "got 7");
  bad = (fa3_options){.size = sizeof bad, .ptx_version = 60};
  expectRefused(good, &bad, FA3_BAD_CALL, "between 80 and 90, got 60");
  bad = (fa3_options){.size = sizeof bad, .chip = "sm_0"};
  expectRefused(good, &bad, FA3_BAD_CALL, "expects the chip sm_90a, got");
  bad = (fa3_options){.size = sizeof bad,
                      .assemble = FA3_ASSEMBLE_ALWAYS,
                      .ptxas = "/nonexistent/ptxas"};
  expectRefused(good, &bad, FA3_FAILED, "/nonexistent/ptxas");
}

/* An error has a place and its note comes behind it. */
static void testDiagnostics(void) {
  static const char text[] = "func.func @f() {\n  return\n}\n"
                             "func.func @f() {\n  return\n}\n";
  fa3_result *result;
  EXPECT(fa3_compile(text, strlen(text), NULL, &result) == FA3_FAILED);
  fa3_diagnostic d;
  EXPECT(fa3_result_num_diagnostics(result) >= 2);
  EXPECT(fa3_result_diagnostic(result, 0, &d) == 1);
  EXPECT_OF(result, d.severity == FA3_ERROR && d.line == 4 && d.column == 1);
  EXPECT(!strcmp(d.file, "<input>") && isIn(d.message, "redefinition"));
  EXPECT(fa3_result_diagnostic(result, 1, &d) == 1);
  EXPECT_OF(result, d.severity == FA3_NOTE && d.line == 1);
  EXPECT(!fa3_result_diagnostic(result, 99, &d));
  fa3_result_destroy(result);
}

/* One stage after the other, each with an operation of its own. */
static void testStages(void) {
  static const char *const stages[][2] = {{"attention", "attention.forward"},
                                          {"tile", "tile.launch"},
                                          {"specialize", "warp.group"},
                                          {"pipeline", "warp.group"},
                                          {"layout", "#tile"},
                                          {"hopper", "hopper.wgmma"},
                                          {"nvvm", "llvm.func"},
                                          {"llvm", "target triple"}};
  for (size_t i = 0; i < sizeof stages / sizeof *stages; ++i) {
    fa3_result *result;
    EXPECT(fa3_lower(good, strlen(good), stages[i][0], NULL, &result) ==
           FA3_DONE);
    if (!isIn(fa3_result_ir(result, NULL), stages[i][1]))
      fprintf(stderr, "%s: no %s\n", stages[i][0], stages[i][1]);
    EXPECT(isIn(fa3_result_ir(result, NULL), stages[i][1]));
    EXPECT(!fa3_result_ptx(result, NULL));
    fa3_result_destroy(result);
  }
  fa3_result *result;
  EXPECT(fa3_lower(good, strlen(good), "tiles", NULL, &result) == FA3_BAD_CALL);
  EXPECT(isIn(fa3_result_diagnostics(result), "got 'tiles'"));
  fa3_result_destroy(result);
  EXPECT(fa3_lower(good, strlen(good), NULL, NULL, &result) == FA3_BAD_CALL);
  fa3_result_destroy(result);
  fa3_options own = {.size = sizeof own,
                     .pass_pipeline = "builtin.module(canonicalize)"};
  EXPECT(fa3_lower(good, strlen(good), NULL, &own, &result) == FA3_DONE);
  EXPECT(isIn(fa3_result_ir(result, NULL), "attention.forward"));
  fa3_result_destroy(result);
}

/*===----------------------------------------------------------------------===*\
|* Running
\*===----------------------------------------------------------------------===*/

enum { HEADS = 2, ROWS = 24, DIM = 64, SIZE = HEADS * ROWS * DIM };

/* Numbers that f16 holds: multiples of 1/16 between -1 and 1. */
static uint16_t makeF16(int sixteenths) {
  if (sixteenths == 0)
    return 0;
  int exponent = 15, value = sixteenths < 0 ? -sixteenths : sixteenths;
  int mantissa = value * 64; /* 1.0 is 1024 */
  while (mantissa < 1024) {
    mantissa *= 2;
    --exponent;
  }
  return (uint16_t)((sixteenths < 0 ? 0x8000 : 0) | exponent << 10 |
                    (mantissa - 1024));
}

static double readF16(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double value =
      exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
  return bits & 0x8000 ? -value : value;
}

static uint16_t q[SIZE], k[SIZE], v[SIZE];

static void fill(uint16_t *array, unsigned seed) {
  for (int i = 0; i < SIZE; ++i) {
    seed = seed * 1664525 + 1013904223;
    array[i] = makeF16((int)(seed >> 16 & 31) - 16);
  }
}

static void makeArgs(fa3_arg *args, uint16_t *o) {
  uint16_t *data[] = {q, k, v, o};
  for (int i = 0; i < 4; ++i)
    args[i] = (fa3_arg){.kind = FA3_TENSOR,
                        .type = FA3_F16,
                        .value.data = data[i],
                        .rank = 4,
                        .shape = {1, HEADS, ROWS, DIM},
                        .stride = {SIZE, ROWS * DIM, DIM, 1}};
}

static void testValues(void) {
  fill(q, 1);
  fill(k, 2);
  fill(v, 3);
  static uint16_t exact[SIZE];
  fa3_arg args[4];
  fa3_result *result;
  makeArgs(args, exact);
  fa3_outcome outcome = fa3_define(good, strlen(good), NULL, args, 4, &result);
  EXPECT_OF(result, outcome == FA3_DONE);
  fa3_result_destroy(result);

  static const char *const stages[] = {NULL, "hopper"};
  for (int s = 0; s < 2; ++s) {
    /* Every second row of an array that is twice as high. */
    static uint16_t o[2 * SIZE];
    memset(o, 0x7e, sizeof o);
    makeArgs(args, o);
    args[3].stride[0] = 2 * SIZE;
    args[3].stride[1] = 2 * ROWS * DIM;
    args[3].stride[2] = 2 * DIM;
    outcome =
        fa3_interpret(good, strlen(good), stages[s], NULL, args, 4, &result);
    EXPECT_OF(result, outcome == FA3_DONE);
    fa3_result_destroy(result);
    double largest = 0;
    for (int i = 0; i < SIZE; ++i) {
      int row = i / DIM, column = i % DIM;
      double value = readF16(o[2 * row * DIM + column]);
      EXPECT(fabs(value - readF16(exact[i])) <= 0x1p-10);
      EXPECT(o[(2 * row + 1) * DIM + column] == 0x7e7e);
      largest = fmax(largest, fabs(value));
    }
    EXPECT(largest > 0.05);
  }
}

/*===----------------------------------------------------------------------===*\
|* Programs of other projects
\*===----------------------------------------------------------------------===*/

#define TORCH(l) "!torch.vtensor<[2,2," l ",64],f16>"
#define SDPA(o, q, k, causal)                                                  \
  "  " o " = \"torch.aten.scaled_dot_product_attention\"(" q ", " k ", " k     \
  ", %none, %p, " causal                                                       \
  ", %none, %no) : (" TORCH("8") ", " TORCH("8") ", " TORCH(                   \
      "8") ", !torch.none, !torch.float, !torch.bool, !torch.none, "           \
           "!torch.bool) -> " TORCH("8") "\n"
#define FOREIGN(name, body)                                                    \
  "func.func @" name "(%q: " TORCH("8") ", %k: " TORCH("8") ") -> " TORCH(     \
      "8") " {\n"                                                              \
           "  %none = \"torch.constant.none\"() : () -> !torch.none\n"         \
           "  %p = \"torch.constant.float\"() <{value = 0.0 : f64}> : () "     \
           "-> !torch.float\n"                                                 \
           "  %no = \"torch.constant.bool\"() <{value = false}> : () -> "      \
           "!torch.bool\n"                                                     \
           "  %yes = \"torch.constant.bool\"() <{value = true}> : () -> "      \
           "!torch.bool\n" body "}\n"

#define BUILTIN "tensor<2x2x8x64xf16>"
#define BY_HAND(name, mods)                                                    \
  "func.func @" name "(%q: " BUILTIN ", %k: " BUILTIN ", %v: " BUILTIN         \
  ") -> " BUILTIN " {\n"                                                       \
  "  %o = attention.forward %q, %k, %v" mods " : (" BUILTIN ", " BUILTIN       \
  ", " BUILTIN ") -> " BUILTIN "\n  return %o : " BUILTIN "\n}\n"

static void expectSame(const fa3_function *function, const char *byHand) {
  fa3_result *result;
  EXPECT(fa3_compile(byHand, strlen(byHand), NULL, &result) == FA3_DONE);
  EXPECT(!strcmp(function->ptx, fa3_result_ptx(result, NULL)));
  EXPECT(!strcmp(function->manifest, fa3_result_manifest(result, NULL)));
  EXPECT(strlen(function->ptx) == function->ptx_size);
  EXPECT(strlen(function->manifest) == function->manifest_size);
  EXPECT(!function->cubin && !function->cubin_size);
  fa3_result_destroy(result);
}

static void testPrograms(void) {
  static const char two[] = FOREIGN(
      "layer", SDPA("%a", "%q", "%k", "%yes") SDPA(
                   "%b", "%a", "%k", "%no") "  return %b : " TORCH("8") "\n");
  fa3_options options = {.size = sizeof options, .foreign = 1};
  fa3_result *result;
  fa3_outcome outcome =
      fa3_compile_program(two, strlen(two), &options, &result);
  EXPECT_OF(result, outcome == FA3_DONE);
  EXPECT(!fa3_result_ptx(result, NULL));
  EXPECT(fa3_result_num_functions(result) == 2);
  fa3_function function;
  EXPECT(fa3_result_function(result, 0, &function));
  EXPECT(!strcmp(function.name, "layer_attention"));
  EXPECT(isIn(fa3_result_ir(result, NULL), "callee = @layer_attention,"));
  EXPECT(isIn(fa3_result_ir(result, NULL), "callee = @layer_attention_0") ||
         isIn(fa3_result_ir(result, NULL), "callee = @layer_attention_1"));
  EXPECT(fa3_result_function(result, 1, &function));
  EXPECT(isIn(function.name, "layer_attention_"));
  EXPECT(!fa3_result_function(result, 2, &function));
  fa3_result_destroy(result);

  /* One kernel each: fa3_compile does not choose, a program has both. */
  static const char pair[] =
      BY_HAND("f", " mods [#attention.causal]") BY_HAND("g", "");
  EXPECT(fa3_compile_program(pair, strlen(pair), NULL, &result) == FA3_DONE);
  EXPECT(fa3_result_num_functions(result) == 2);
  EXPECT(fa3_result_function(result, 0, &function));
  EXPECT(!strcmp(function.name, "f"));
  expectSame(&function, BY_HAND("f", " mods [#attention.causal]"));
  EXPECT(fa3_result_function(result, 1, &function));
  EXPECT(!strcmp(function.name, "g"));
  expectSame(&function, BY_HAND("g", ""));
  fa3_result_destroy(result);

  /* A foreign function is like one by hand, for every call. */
  static const char one[] =
      "!t = !torch.vtensor<[2,2,8,64],f16>\n"
      "func.func @h(%q: !t, %k: !t, %v: !t) -> !t {\n"
      "  %none = \"torch.constant.none\"() : () -> !torch.none\n"
      "  %p = \"torch.constant.float\"() <{value = 0.0 : f64}>\n"
      "    : () -> !torch.float\n"
      "  %no = \"torch.constant.bool\"() <{value = false}>\n"
      "    : () -> !torch.bool\n"
      "  %a = \"torch.aten.scaled_dot_product_attention\"(%q, %k, %v,\n"
      "    %none, %p, %no, %none, %no) : (!t, !t, !t, !torch.none,\n"
      "    !torch.float, !torch.bool, !torch.none, !torch.bool) -> !t\n"
      "  return %a : !t\n"
      "}\n";
  EXPECT(fa3_compile(one, strlen(one), &options, &result) == FA3_DONE);
  fa3_function made = {0};
  made.ptx = fa3_result_ptx(result, &made.ptx_size);
  made.manifest = fa3_result_manifest(result, &made.manifest_size);
  expectSame(&made, BY_HAND("h", ""));
  fa3_result_destroy(result);

  /* Refusals. */
  expectRefused(one, NULL, FA3_FAILED, "torch");
  options.convert_options = "no-such=1";
  expectRefused(one, &options, FA3_BAD_CALL, "no-such");
  options.foreign = 0;
  expectRefused(one, &options, FA3_BAD_CALL, "expects foreign");
  options = (fa3_options){.size = sizeof options, .function = "f"};
  EXPECT(fa3_compile_program(pair, strlen(pair), &options, &result) ==
         FA3_BAD_CALL);
  EXPECT(isIn(fa3_result_diagnostics(result), "neither pass_pipeline nor"));
  EXPECT(fa3_result_num_functions(result) == 0);
  fa3_result_destroy(result);
}

/* A wrong argument is named, and nothing runs. */
static void expectRefusedArgs(const fa3_arg *args, size_t count,
                              const char *words) {
  fa3_result *result;
  EXPECT(fa3_interpret(good, strlen(good), NULL, NULL, args, count, &result) ==
         FA3_BAD_CALL);
  EXPECT_OF(result, isIn(fa3_result_diagnostics(result), words));
  fa3_result_destroy(result);
}

static void testArguments(void) {
  static uint16_t o[SIZE];
  fa3_arg args[4];
  makeArgs(args, o);
  expectRefusedArgs(args, 3, "expects 4 arguments, got 3");
  args[1].type = FA3_BF16;
  expectRefusedArgs(args, 4, "argument 1: expects type f16, got bf16");
  makeArgs(args, o);
  args[2].kind = FA3_SCALAR;
  expectRefusedArgs(args, 4, "argument 2: expects an array, got a scalar");
  makeArgs(args, o);
  args[0].rank = 3;
  expectRefusedArgs(args, 4, "argument 0: expects 4 dimensions, got 3");
  makeArgs(args, o);
  args[0].shape[3] = 32;
  expectRefusedArgs(
      args, 4, "argument 0: expects an extent of 64 in dimension 3, got 32");
  makeArgs(args, o);
  args[3].stride[3] = 2;
  expectRefusedArgs(args, 4,
                    "argument 3: expects a stride of 1 in dimension 3, got 2");
  makeArgs(args, o);
  args[0].shape[2] = -1;
  expectRefusedArgs(args, 4, "in dimension 2, got -1");
  makeArgs(args, o);
  args[0].value.data = NULL;
  expectRefusedArgs(args, 4, "argument 0: expects the address of an array");
  makeArgs(args, o);
  args[0].shape[0] = (int64_t)1 << 40;
  expectRefusedArgs(args, 4, "argument 0: has more than");
  /* Shapes that do not go together are for the host function to refuse. */
  makeArgs(args, o);
  args[1].shape[2] = 8;
  fa3_result *result;
  EXPECT(fa3_interpret(good, strlen(good), NULL, NULL, args, 4, &result) ==
         FA3_FAILED);
  EXPECT(fa3_result_num_diagnostics(result) > 0);
  fa3_result_destroy(result);
  EXPECT(fa3_define(good, strlen(good), NULL, args, 4, &result) == FA3_FAILED);
  fa3_result_destroy(result);
}

/*===----------------------------------------------------------------------===*\
|* Timelines
\*===----------------------------------------------------------------------===*/

static void testTrace(void) {
  static uint16_t o[SIZE];
  fa3_arg args[4];
  makeArgs(args, o);
  memset(o, 0x7e, sizeof o);
  fa3_result *result;
  fa3_outcome outcome =
      fa3_trace(good, strlen(good), NULL, args, 4, 132, &result);
  EXPECT_OF(result, outcome == FA3_DONE);
  const char *events = fa3_result_ir(result, NULL);
  EXPECT(events && isIn(events, "\"traceEvents\"") && isIn(events, "load"));
  EXPECT(o[0] == 0x7e7e && o[SIZE - 1] == 0x7e7e);
  fa3_result_destroy(result);

  outcome = fa3_trace(good, strlen(good), NULL, args, 4, 0, &result);
  EXPECT(outcome == FA3_BAD_CALL && !fa3_result_ir(result, NULL));
  EXPECT_OF(result, isIn(fa3_result_diagnostics(result),
                         "expects at least one multiprocessor, got 0"));
  fa3_result_destroy(result);
  outcome = fa3_trace(good, strlen(good), NULL, args, 3, 132, &result);
  EXPECT(outcome == FA3_BAD_CALL);
  EXPECT_OF(result,
            isIn(fa3_result_diagnostics(result), "expects 4 arguments, got 3"));
  fa3_result_destroy(result);
  fa3_options options = {sizeof options};
  options.pass_pipeline = "builtin.module()";
  outcome = fa3_trace(good, strlen(good), &options, args, 4, 132, &result);
  EXPECT(outcome == FA3_BAD_CALL);
  fa3_result_destroy(result);
}

/*===----------------------------------------------------------------------===*\
|* Threads
\*===----------------------------------------------------------------------===*/

enum { THREADS = 4 };

static void *compileInThread(void *expected) {
  fa3_result *result;
  for (int i = 0; i < 3; ++i) {
    EXPECT(fa3_compile(good, strlen(good), NULL, &result) == FA3_DONE);
    EXPECT(!strcmp(fa3_result_ptx(result, NULL), expected));
    fa3_result_destroy(result);
    EXPECT(fa3_compile("?", 1, NULL, &result) == FA3_FAILED);
    EXPECT(fa3_result_num_diagnostics(result) == 1);
    fa3_result_destroy(result);
  }
  return NULL;
}

static void testThreads(void) {
  fa3_result *result;
  EXPECT(fa3_compile(good, strlen(good), NULL, &result) == FA3_DONE);
  char *ptx = strdup(fa3_result_ptx(result, NULL));
  fa3_result_destroy(result);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i)
    EXPECT(!pthread_create(&threads[i], NULL, compileInThread, ptx));
  for (int i = 0; i < THREADS; ++i)
    EXPECT(!pthread_join(threads[i], NULL));
  free(ptx);
}

int main(void) {
  testVersions();
  testThreads();
  testCompile();
  testOptions();
  testRefusals();
  testDiagnostics();
  testStages();
  testValues();
  testPrograms();
  testArguments();
  testTrace();
  puts("[  PASSED  ] libfa3");
  return 0;
}
