//===- ReferenceFixture.h - one attention against plain loops ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_UNITTESTS_REFERENCE_REFERENCEFIXTURE_H
#define FA3_UNITTESTS_REFERENCE_REFERENCEFIXTURE_H

#include "fa3/Reference/Reference.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"
#include <functional>

namespace fa3 {

/// One attention and what it should compute.
struct Problem {
  int64_t batch = 2, heads = 2, keyHeads = 2, queries = 7, keys = 9;
  int64_t headDim = 16, valueHeadDim = 16;
  bool isBshd = false;
  double scale = 0; ///< 1 / sqrt(headDim) if 0
  /// Clauses of attention.forward between the operands and the types, and its
  /// regions.
  std::string clauses, regions;
  /// Further arguments of the function and their values.
  std::string parameters;
  std::vector<ReferenceArgument> extra;
  /// Meaning of `clauses` and `regions`.
  std::function<double(double s, int64_t b, int64_t h, int64_t i, int64_t j)>
      score;
  std::function<bool(int64_t i, int64_t j)> keep;
};

class ReferenceTest : public testing::TestWithParam<const char *> {
protected:
  ReferenceTest();

  mlir::SmallVector<int64_t> shape(const Problem &p, int64_t heads,
                                   int64_t length, int64_t dim);
  std::string getSource(const Problem &p);
  /// Makes random inputs, runs the reference in both forms of its output and
  /// compares with loops in double.
  void check(const Problem &p);
  void computeExpected(const Problem &p, const HostTensor &q,
                       const HostTensor &k, const HostTensor &v,
                       std::vector<double> &o, std::vector<double> &lse);
  std::unique_ptr<Reference> create(llvm::StringRef source,
                                    const ReferenceOptions &options = {});
  /// Runs the reference on `exact`, and with steps that round on `rounded`.
  void runInBothPrecisions(const Problem &p,
                           llvm::ArrayRef<ReferenceArgument> exact,
                           llvm::ArrayRef<ReferenceArgument> rounded);
  /// The first error message of `action`, which must fail.
  std::string getError(llvm::function_ref<mlir::LogicalResult()> action);

  mlir::MLIRContext context;
  mlir::FloatType f32, element;
};

} // namespace fa3

#endif // FA3_UNITTESTS_REFERENCE_REFERENCEFIXTURE_H
