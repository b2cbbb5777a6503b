//===- LinearSystem.h - refutes systems of linear inequalities --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Integer inequalities over the variables of a ScalarAnalysis, which knows what
// minima, maxima and quotients are. A thin client of MLIR's Presburger library.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_WARP_ANALYSIS_LINEARSYSTEM_H
#define FA3_LIB_DIALECT_WARP_ANALYSIS_LINEARSYSTEM_H

#include "fa3/Dialect/Warp/Analysis/Scalars.h"

namespace fa3::warp {

class LinearSystem {
public:
  explicit LinearSystem(const ScalarAnalysis &scalars) : scalars(scalars) {}

  /// Assumes form >= 0, until `pop`.
  void push(LinearForm form) { facts.push_back(std::move(form)); }
  void pop() { facts.pop_back(); }

  /// Whether the facts contradict each other, without case distinctions; false
  /// if no contradiction was found.
  bool isContradictory() const;
  /// The same with cases for every minimum and maximum. Quotients are variables
  /// at first and, if `thorough`, what they are if that does not suffice.
  bool isRefuted(bool thorough = true);

private:
  using Choices = llvm::SmallDenseMap<unsigned, unsigned>;
  bool refute(Choices &choices, bool withQuotients, unsigned &budget) const;
  bool isEmpty(const Choices &choices, bool withQuotients,
               std::optional<unsigned> *undecided) const;

  const ScalarAnalysis &scalars;
  llvm::SmallVector<LinearForm> facts;
};

} // namespace fa3::warp

#endif // FA3_LIB_DIALECT_WARP_ANALYSIS_LINEARSYSTEM_H
