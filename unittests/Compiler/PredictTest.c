/*===- PredictTest.c - the cost model from C ------------------------------===*\
|* SPDX-License-Identifier: Apache-2.0                                        *|
|*                                                                            *|
|* What fa3-tune --predict prints of a problem, a program in C gets as        *|
|* numbers. The exit code tells.                                              *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "fa3-c/Compiler.h"
#include <math.h>
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

#define FORWARD(name, type, mods)                                              \
  "func.func @" name "(%q: " type ", %k: " type ", %v: " type ") -> " type     \
  " {\n  %o = attention.forward %q, %k, %v" mods " : (" type ", " type         \
  ", " type ") -> " type "\n  return %o : " type "\n}\n"

#define KNOWN "tensor<1x16x16384x128xf16>"
#define UNKNOWN "tensor<?x16x?x128xf16>"
#define CAUSAL " mods [#attention.causal]"

static int isIn(const char *text, const char *part) {
  return text && strstr(text, part) != NULL;
}

/* The only prediction of a text. */
static fa3_prediction predict(const char *text, const char *pipeline,
                              const fa3_sizes *sizes, fa3_result **result) {
  fa3_options options = {.size = sizeof options, .pipeline_options = pipeline};
  fa3_outcome outcome =
      fa3_predict(text, strlen(text), &options, sizes, result);
  if (outcome != FA3_DONE)
    fprintf(stderr, "%s", fa3_result_diagnostics(*result));
  EXPECT(outcome == FA3_DONE);
  EXPECT(fa3_result_num_predictions(*result) == 1);
  fa3_prediction made;
  EXPECT(fa3_result_prediction(*result, 0, &made));
  EXPECT(!fa3_result_prediction(*result, 1, &made));
  EXPECT(!fa3_result_ptx(*result, NULL));
  return made;
}

/* The line of docs/Tuning.md: 2879 kcycles, 71 % of the tensor core; step 2571
 * = 1920 | 960 | 972 + 400, start 5803. */
static void testNumbers(void) {
  fa3_result *result;
  fa3_prediction made = predict(FORWARD("layer", KNOWN, CAUSAL),
                                "tuning-table=none", NULL, &result);
  EXPECT(!strcmp(made.function, "layer"));
  EXPECT(isIn(made.plan, "tile: 192 rows x 80 keys"));
  EXPECT(made.rows == 192 && made.keys == 80);
  EXPECT(made.is_known);
  EXPECT(lround(made.cycles / 1000) == 2879);
  EXPECT(lround(made.efficiency * 100) == 71);
  EXPECT(lround(made.step) == 2571 && lround(made.tensor) == 1920);
  EXPECT(lround(made.exponentials) == 960 && lround(made.issue) == 972);
  EXPECT(lround(made.exposed) == 400 && lround(made.start) == 5803);
  EXPECT(made.shared == 0);
  EXPECT(made.tiles == 16 * ((16384 + 191) / 192) && made.steps > made.tiles);
  fa3_result_destroy(result);

  /* A tile of one's own. */
  made = predict(FORWARD("layer", KNOWN, CAUSAL),
                 "tuning-table=none block-m=128 block-n=160", NULL, &result);
  EXPECT(made.rows == 128 && made.keys == 160);
  EXPECT(lround(made.cycles / 1000) == 2922);
  fa3_result_destroy(result);
}

/* Sizes that the text does not say, and the kernel of the table for them. */
static void testSizes(void) {
  fa3_sizes sizes = {.size = sizeof sizes, .queries = 16384};
  fa3_result *result;
  const char *text = FORWARD("layer", UNKNOWN, CAUSAL);
  fa3_prediction made = predict(text, "tuning-table=none", &sizes, &result);
  double cycles = made.cycles;
  EXPECT(lround(cycles / 1000) == 2879);
  fa3_result_destroy(result);
  sizes.batch = 2;
  made = predict(text, "tuning-table=none", &sizes, &result);
  EXPECT(made.cycles > 1.9 * cycles && made.cycles < 2.1 * cycles);
  fa3_result_destroy(result);
  sizes.batch = 1;
  sizes.multiprocessors = 66;
  made = predict(text, "tuning-table=none", &sizes, &result);
  EXPECT(made.cycles > 1.9 * cycles && made.cycles < 2.1 * cycles);
  fa3_result_destroy(result);

  /* A row of the window sees 1024 of 16384 keys. */
  sizes.multiprocessors = 0;
  made = predict(
      FORWARD("layer", UNKNOWN,
              " mods [#attention.causal, #attention.window<left = 1023>]"),
      "tuning-table=none", &sizes, &result);
  EXPECT(made.is_known && made.cycles < 0.25 * cycles);
  fa3_result_destroy(result);

  /* The kernels for few keys and for many have plans of their own. */
  text = FORWARD("layer", UNKNOWN, "");
  sizes.queries = 512;
  made = predict(text, NULL, &sizes, &result);
  fa3_result *other;
  sizes.queries = 16384;
  fa3_prediction longer = predict(text, NULL, &sizes, &other);
  EXPECT(longer.cycles > 100 * made.cycles);
  fa3_result_destroy(result);
  fa3_result_destroy(other);
}

/* What the model does not know has a plan all the same. */
static void testOthers(void) {
  static const char text[] = FORWARD(
      "f", "tensor<1x2x64x64xf16>",
      "") "func.func @g(%q: tensor<1x2x?x64xf16>, %l: tensor<1x2x?xf32>)\n"
          "    -> (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>,\n"
          "        tensor<1x2x?x64xf16>) {\n"
          "  %g:3 = attention.backward %q, %q, %q, %q, %l, %q\n"
          "    : (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>,\n"
          "       tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>,\n"
          "       tensor<1x2x?xf32>, tensor<1x2x?x64xf16>)\n"
          "    -> (tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>,\n"
          "        tensor<1x2x?x64xf16>)\n"
          "  return %g#0, %g#1, %g#2 : tensor<1x2x?x64xf16>,\n"
          "    tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>\n"
          "}\n";
  fa3_result *result;
  fa3_outcome outcome = fa3_predict(text, strlen(text), NULL, NULL, &result);
  if (outcome != FA3_DONE)
    fprintf(stderr, "%s", fa3_result_diagnostics(result));
  EXPECT(outcome == FA3_DONE);
  EXPECT(fa3_result_num_predictions(result) == 2);
  fa3_prediction made;
  /* Few queries have no class. */
  EXPECT(fa3_result_prediction(result, 0, &made));
  EXPECT(!strcmp(made.function, "f") && !made.is_known && made.cycles == 0);
  EXPECT(made.rows >= 64 && made.keys >= 16 && isIn(made.plan, "tile: "));
  EXPECT(fa3_result_prediction(result, 1, &made));
  EXPECT(!strcmp(made.function, "g") && !made.is_known && made.rows == 0);
  EXPECT(*made.plan);
  fa3_result_destroy(result);
}

static void expectRefused(const char *text, const fa3_options *options,
                          const fa3_sizes *sizes, fa3_outcome outcome,
                          const char *words) {
  fa3_result *result;
  EXPECT(fa3_predict(text, strlen(text), options, sizes, &result) == outcome);
  if (!isIn(fa3_result_diagnostics(result), words))
    fprintf(stderr, "%s", fa3_result_diagnostics(result));
  EXPECT(isIn(fa3_result_diagnostics(result), words));
  EXPECT(fa3_result_num_predictions(result) == 0);
  fa3_result_destroy(result);
}

static void testRefusals(void) {
  const char *text = FORWARD("layer", KNOWN, "");
  fa3_sizes sizes = {.size = 3};
  expectRefused(text, NULL, &sizes, FA3_BAD_CALL,
                "expects a size of fa3_sizes");
  sizes = (fa3_sizes){.size = sizeof sizes, .keys = -1};
  expectRefused(text, NULL, &sizes, FA3_BAD_CALL,
                "expects keys between 0 and 1073741824, got -1");
  fa3_options options = {.size = sizeof options, .pipeline_options = "x=1"};
  expectRefused(text, &options, NULL, FA3_BAD_CALL, "cannot read");
  options = (fa3_options){.size = sizeof options, .function = "layer"};
  expectRefused(text, &options, NULL, FA3_BAD_CALL, "neither pass_pipeline");
  expectRefused("func.func @f() { return }", NULL, NULL, FA3_FAILED,
                "expects attention in the program, found none");
}

int main(void) {
  testNumbers();
  testSizes();
  testOthers();
  testRefusals();
  return 0;
}
