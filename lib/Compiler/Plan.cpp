//===- Plan.cpp - libfa3: what passes choose ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// fa3_plan_group, fa3_plan_parts and fa3_plan_gradients: the choices of
// attention-to-tile, for callers that choose between kernels.
//===----------------------------------------------------------------------===//

#include "fa3-c/Compiler.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "fa3/Tuning/BackwardPlan.h"
#include "fa3/Tuning/GroupPacking.h"
#include "fa3/Tuning/PartCount.h"
#include "llvm/ADT/STLExtras.h"
#include <initializer_list>

using namespace fa3;

static bool areExtents(std::initializer_list<int64_t> numbers) {
  return llvm::all_of(numbers, [](int64_t number) {
    return number >= 0 && number <= attention::kGreatestExtent;
  });
}

int fa3_plan_group(const fa3_group_facts *facts, fa3_group_plan *plan) {
  if (!facts || !plan || facts->size != sizeof *facts || facts->heads < 1 ||
      !areExtents({facts->heads, facts->value_head_dim}))
    return 0;
  *plan = {};
  std::optional<GroupPacking> packing = packGroup(facts->heads);
  if (!packing)
    return 1;
  GroupFacts known;
  known.valueHeadDim = facts->value_head_dim;
  known.isMaskedByQuery = facts->is_masked;
  plan->rows = packing->rows;
  plan->parts = packing->parts;
  plan->is_packed = isPackingBetter(*packing, known);
  return 1;
}

int fa3_plan_parts(const fa3_part_facts *facts, int64_t *parts) {
  if (!facts || !parts || facts->size != sizeof *facts ||
      facts->multiprocessors < 1 || facts->key_heads < 1 ||
      !areExtents({facts->sequences, facts->heads, facts->key_heads,
                   facts->queries, facts->keys, facts->multiprocessors}) ||
      facts->heads % facts->key_heads)
    return 0;
  PartFacts known;
  known.sequences = facts->sequences;
  known.queries = facts->queries;
  known.keys = facts->keys;
  known.heads = facts->heads;
  known.keyHeads = facts->key_heads;
  known.multiprocessors = facts->multiprocessors;
  known.packsGroups = facts->packs_groups;
  *parts = planParts(known);
  return 1;
}

int fa3_plan_gradients(const fa3_gradient_facts *facts, int64_t *split_below) {
  if (!facts || !split_below || facts->size != sizeof *facts ||
      facts->head_dim < 1 || facts->value_head_dim < 1 ||
      !areExtents({facts->head_dim, facts->value_head_dim}))
    return 0;
  BackwardFacts known;
  known.d = facts->head_dim;
  known.dv = facts->value_head_dim;
  known.demand.isMasked = facts->is_masked;
  BackwardPlanOptions options;
  options.deterministic = facts->is_deterministic;
  options.pipelined = true;
  *split_below = getShortestOfPlan(known, options);
  return 1;
}
