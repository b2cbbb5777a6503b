//===- Mbarrier.cpp - model of an mbarrier object -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Interp/Mbarrier.h"

using namespace fa3::interp;

void Mbarrier::advance() {
  if (pending || bytes)
    return;
  ++phase;
  pending = arrivals;
}

bool Mbarrier::arrive() {
  if (pending == 0)
    return false;
  --pending;
  advance();
  return true;
}

bool Mbarrier::expect(int64_t count) {
  if (bytes + count > kMaxBytes)
    return false;
  bytes += count;
  return true;
}

bool Mbarrier::complete(int64_t count) {
  if (bytes - count < -kMaxBytes || (pending == 0 && count > bytes))
    return false;
  bytes -= count;
  advance();
  return true;
}
