/*===- Overlap.h - memory that two arguments share -----------------*- C -*-===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private: which memory of a call is written twice or read while it is written.
 * Arguments are tensors that are not empty and whose strides and spans were
 * checked: a span is below 2^63 bytes and ends within the address space.
 *===----------------------------------------------------------------------===*/

#ifndef FA3_LIB_RUNTIME_OVERLAP_H
#define FA3_LIB_RUNTIME_OVERLAP_H

#include "fa3/Runtime/fa3_runtime.h"

/* The bytes from the first element to the end of the last. */
uint64_t fa3_span(const fa3_arg *arg);

/* Whether two elements have one address. The search is bounded: 0 also where it
 * would take too long. */
int fa3_overlaps_itself(const fa3_arg *arg);

/* Whether two tensors have a byte in common; bounded as above. */
int fa3_overlap(const fa3_arg *first, const fa3_arg *second);

#endif /* FA3_LIB_RUNTIME_OVERLAP_H */
