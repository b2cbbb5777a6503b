/*===- PlanTest.c - what the compiler chooses, from C ---------------------===*\
|* SPDX-License-Identifier: Apache-2.0                                        *|
|*                                                                            *|
|* The exit code tells.                                                       *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "fa3-c/Compiler.h"
#include <stdio.h>
#include <stdlib.h>

#define EXPECT(condition)                                                      \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

#define GREATEST ((int64_t)1 << 30)

static void testGroups(void) {
  fa3_group_facts facts = {sizeof facts, 4, 128, 1};
  fa3_group_plan plan;
  EXPECT(fa3_plan_group(&facts, &plan));
  EXPECT(plan.rows == 4 && plan.parts == 1 && plan.is_packed == 1);
  facts.is_masked = 0;
  EXPECT(fa3_plan_group(&facts, &plan));
  EXPECT(plan.rows == 4 && plan.is_packed == 0);
  facts = (fa3_group_facts){sizeof facts, 192, 64, 1};
  EXPECT(fa3_plan_group(&facts, &plan));
  EXPECT(plan.rows == 64 && plan.parts == 3);
  facts.heads = 67;
  EXPECT(fa3_plan_group(&facts, &plan));
  EXPECT(plan.rows == 0 && plan.parts == 0 && plan.is_packed == 0);

  EXPECT(!fa3_plan_group(NULL, &plan) && !fa3_plan_group(&facts, NULL));
  for (int64_t wrong = 0; wrong >= -1; --wrong) {
    facts.heads = wrong;
    EXPECT(!fa3_plan_group(&facts, &plan));
  }
  facts = (fa3_group_facts){sizeof facts, 4, GREATEST + 1, 1};
  EXPECT(!fa3_plan_group(&facts, &plan));
  facts = (fa3_group_facts){sizeof facts + 8, 4, 128, 1};
  EXPECT(!fa3_plan_group(&facts, &plan));
}

static void testParts(void) {
  const fa3_part_facts good = {sizeof good, 8, 8, 2, 1, 8192, 132, 1};
  fa3_part_facts facts = good;
  int64_t parts = 0;
  EXPECT(fa3_plan_parts(&facts, &parts) && parts == 8);
  facts.packs_groups = 0;
  EXPECT(fa3_plan_parts(&facts, &parts) && parts == 2);
  facts.sequences = facts.queries = facts.keys = GREATEST;
  EXPECT(fa3_plan_parts(&facts, &parts) && parts == 1);

  parts = -1;
  EXPECT(!fa3_plan_parts(NULL, &parts) && !fa3_plan_parts(&good, NULL));
  facts = good;
  facts.keys = GREATEST + 1;
  EXPECT(!fa3_plan_parts(&facts, &parts));
  facts = good;
  facts.key_heads = 0;
  EXPECT(!fa3_plan_parts(&facts, &parts));
  facts.key_heads = 3;
  EXPECT(!fa3_plan_parts(&facts, &parts));
  facts = good;
  facts.multiprocessors = 0;
  EXPECT(!fa3_plan_parts(&facts, &parts));
  facts = good;
  facts.size = 0;
  EXPECT(!fa3_plan_parts(&facts, &parts) && parts == -1);
}

static void testGradients(void) {
  fa3_gradient_facts facts = {sizeof facts, 128, 128, 1, 0};
  int64_t below = -1;
  EXPECT(fa3_plan_gradients(&facts, &below) && below == 2020);
  facts.is_masked = 0;
  EXPECT(fa3_plan_gradients(&facts, &below) && below == 870);
  facts.head_dim = facts.value_head_dim = 64;
  EXPECT(fa3_plan_gradients(&facts, &below) && below == 780);
  facts.is_deterministic = 1;
  EXPECT(fa3_plan_gradients(&facts, &below) && below == 4100);
  /* Has one form. */
  facts.head_dim = facts.value_head_dim = 256;
  EXPECT(fa3_plan_gradients(&facts, &below) && below == 0);

  EXPECT(!fa3_plan_gradients(NULL, &below) &&
         !fa3_plan_gradients(&facts, NULL));
  facts.value_head_dim = 0;
  EXPECT(!fa3_plan_gradients(&facts, &below));
  facts = (fa3_gradient_facts){sizeof facts, GREATEST + 1, 128, 1, 0};
  EXPECT(!fa3_plan_gradients(&facts, &below));
  facts = (fa3_gradient_facts){sizeof facts - 8, 128, 128, 1, 0};
  EXPECT(!fa3_plan_gradients(&facts, &below));
}

int main(void) {
  testGroups();
  testParts();
  testGradients();
  return 0;
}
