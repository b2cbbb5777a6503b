/*===- Overlap.c - memory that two arguments share ------------------------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whether a strided tensor has two elements at one address, and whether two
 * tensors share a byte. Spans decide nearly always; where they overlap, a
 * bounded search for a shared byte does.
 *===----------------------------------------------------------------------===*/

#include "Overlap.h"

#include <string.h>

enum {
  /* Dimensions of two tensors, and the bytes of an element of each. */
  MAX_TERMS = 2 * (FA3_MAX_RANK + 1),
  /* Values that a search may try. Layouts whose dimensions are nested, which is
   * what frameworks make, need one or two per dimension. */
  MAX_STEPS = 4096
};

/* coefficient * z, where z is between 0 and `limit`. */
typedef struct {
  uint64_t coefficient, limit;
} term;

/* Whether terms add up to a number. The sum of all terms at their limits is
 * below 2^64. */
typedef struct {
  term terms[MAX_TERMS]; /* falling coefficients, all positive */
  size_t count;
  uint64_t reach[MAX_TERMS + 1];   /* the most that terms from k on add up to */
  uint64_t divisor[MAX_TERMS + 1]; /* of all coefficients from k on */
  int steps;
} sum_problem;

static void add_term(sum_problem *sum, uint64_t coefficient, uint64_t limit) {
  if (coefficient == 0 || limit == 0)
    return;
  size_t at = 0;
  while (at < sum->count && sum->terms[at].coefficient > coefficient)
    ++at;
  if (at < sum->count && sum->terms[at].coefficient == coefficient) {
    sum->terms[at].limit += limit;
    return;
  }
  memmove(&sum->terms[at + 1], &sum->terms[at],
          (sum->count - at) * sizeof(term));
  sum->terms[at].coefficient = coefficient;
  sum->terms[at].limit = limit;
  ++sum->count;
}

static uint64_t greatest_divisor(uint64_t a, uint64_t b) {
  while (b) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static int search(sum_problem *sum, size_t k, uint64_t target) {
  if (target == 0)
    return 1;
  if (target > sum->reach[k] || target % sum->divisor[k] != 0)
    return 0;
  uint64_t c = sum->terms[k].coefficient, limit = sum->terms[k].limit;
  uint64_t rest = sum->reach[k + 1];
  uint64_t most = target / c < limit ? target / c : limit;
  uint64_t least = target > rest ? (target - rest - 1) / c + 1 : 0;
  for (uint64_t z = most + 1; z > least; --z) {
    if (sum->steps-- <= 0)
      return 0;
    if (search(sum, k + 1, target - (z - 1) * c))
      return 1;
  }
  return 0;
}

/* 1 if there are such values; 0 if there are none or the search gave up. */
static int has_solution(sum_problem *sum, uint64_t target) {
  sum->steps = MAX_STEPS;
  sum->reach[sum->count] = sum->divisor[sum->count] = 0;
  for (size_t k = sum->count; k-- > 0;) {
    const term *t = &sum->terms[k];
    sum->reach[k] = sum->reach[k + 1] + t->coefficient * t->limit;
    sum->divisor[k] = greatest_divisor(t->coefficient, sum->divisor[k + 1]);
  }
  return search(sum, 0, target);
}

/*===----------------------------------------------------------------------===*
 * Tensors
 *===----------------------------------------------------------------------===*/

uint64_t fa3_span(const fa3_arg *arg) {
  uint64_t span = 1;
  for (int d = 0; d < arg->rank; ++d)
    if (arg->shape[d] > 1)
      span += (uint64_t)(arg->shape[d] - 1) * (uint64_t)arg->stride[d];
  return span * fa3_type_size(arg->type);
}

/* Dimensions of more than one element, falling strides. */
static size_t sort_dims(const fa3_arg *arg, term *dims) {
  size_t count = 0;
  for (int d = 0; d < arg->rank; ++d) {
    if (arg->shape[d] <= 1)
      continue;
    term dim = {(uint64_t)arg->stride[d], (uint64_t)arg->shape[d] - 1};
    size_t at = count++;
    for (; at > 0 && dims[at - 1].coefficient < dim.coefficient; --at)
      dims[at] = dims[at - 1];
    dims[at] = dim;
  }
  return count;
}

int fa3_overlaps_itself(const fa3_arg *arg) {
  term dims[FA3_MAX_RANK];
  size_t count = sort_dims(arg, dims);
  if (count && dims[count - 1].coefficient == 0)
    return 1;
  /* Two elements at one address differ first in some dimension k, there by z >=
   * 1, and in later ones by numbers of either sign. Adding the limits of those
   * to both sides leaves no negative number. */
  uint64_t reach = 0;
  for (size_t k = count; k-- > 0;) {
    if (dims[k].coefficient <= reach) {
      sum_problem sum = {.count = 0};
      add_term(&sum, dims[k].coefficient, dims[k].limit - 1);
      for (size_t i = k + 1; i < count; ++i)
        add_term(&sum, dims[i].coefficient, 2 * dims[i].limit);
      if (has_solution(&sum, reach - dims[k].coefficient))
        return 1;
    }
    reach += dims[k].coefficient * dims[k].limit;
  }
  return 0;
}

int fa3_overlap(const fa3_arg *first, const fa3_arg *second) {
  const fa3_arg *low = first, *high = second;
  if ((uintptr_t)low->value.data > (uintptr_t)high->value.data) {
    low = second;
    high = first;
  }
  uint64_t distance = (uintptr_t)high->value.data - (uintptr_t)low->value.data;
  if (distance >= fa3_span(low))
    return 0;
  /* A byte of `low` is `distance` bytes before one of `high`, whose terms count
   * backwards from their limits. */
  sum_problem sum = {.count = 0};
  for (int side = 0; side < 2; ++side) {
    const fa3_arg *arg = side ? high : low;
    uint64_t size = fa3_type_size(arg->type);
    add_term(&sum, 1, size - 1);
    for (int d = 0; d < arg->rank; ++d)
      if (arg->shape[d] > 1)
        add_term(&sum, (uint64_t)arg->stride[d] * size,
                 (uint64_t)arg->shape[d] - 1);
  }
  return has_solution(&sum, distance + fa3_span(high) - 1);
}
