//===- Patterns.h - pattern sets of the conversion --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_HOPPERTONVVM_PATTERNS_H
#define FA3_LIB_CONVERSION_HOPPERTONVVM_PATTERNS_H

#include "KernelInfo.h"
#include "mlir/Transforms/DialectConversion.h"

namespace fa3 {

/// A pattern that knows the kernel it works in.
template <typename SourceOp>
class KernelPattern : public mlir::OpConversionPattern<SourceOp> {
public:
  KernelPattern(const mlir::TypeConverter &converter,
                mlir::MLIRContext *context, const KernelInfo &info)
      : mlir::OpConversionPattern<SourceOp>(converter, context), info(info) {}

protected:
  using OpAdaptor = typename mlir::OpConversionPattern<SourceOp>::OpAdaptor;
  using OneToNOpAdaptor =
      typename mlir::OpConversionPattern<SourceOp>::OneToNOpAdaptor;
  const KernelInfo &info;
};

/// Makes loops and branches carry 8-bit fragments as 32-bit words.
void packCarriedFragments(mlir::gpu::GPUFuncOp kernel);
/// Keeps registers that products of a loop only read from being given away by
/// ptxas. `zero`: an i32 that is 0, which ptxas does not know.
void renewHeldOperands(mlir::gpu::GPUFuncOp kernel, mlir::Value zero);
/// Turns loops over the tiles of a CTA into loops that test the tile.
mlir::LogicalResult lowerShares(mlir::gpu::GPUFuncOp kernel);
void populateSharePatterns(mlir::RewritePatternSet &patterns,
                           const mlir::TypeConverter &converter,
                           const KernelInfo &info);
void populateBarrierPatterns(mlir::RewritePatternSet &patterns,
                             const mlir::TypeConverter &converter,
                             const KernelInfo &info);
void populateProgressPatterns(mlir::RewritePatternSet &patterns,
                              const mlir::TypeConverter &converter,
                              const KernelInfo &info);
void populateRecordPatterns(mlir::RewritePatternSet &patterns,
                            const mlir::TypeConverter &converter,
                            const KernelInfo &info);
void populateTmaPatterns(mlir::RewritePatternSet &patterns,
                         const mlir::TypeConverter &converter,
                         const KernelInfo &info);
void populateWgmmaPatterns(mlir::RewritePatternSet &patterns,
                           const mlir::TypeConverter &converter,
                           const KernelInfo &info);
void populateWgmmaGroupPatterns(mlir::RewritePatternSet &patterns,
                                const mlir::TypeConverter &converter,
                                const KernelInfo &info);
void populateFragmentPatterns(mlir::RewritePatternSet &patterns,
                              const mlir::TypeConverter &converter,
                              const KernelInfo &info);
void populateGlobalAccessPatterns(mlir::RewritePatternSet &patterns,
                                  const mlir::TypeConverter &converter,
                                  const KernelInfo &info);
void populateExactSumPatterns(mlir::RewritePatternSet &patterns,
                              const mlir::TypeConverter &converter,
                              const KernelInfo &info);
void populateFlagPatterns(mlir::RewritePatternSet &patterns,
                          const mlir::TypeConverter &converter,
                          const KernelInfo &info);
void populateSearchPatterns(mlir::RewritePatternSet &patterns,
                            const mlir::TypeConverter &converter,
                            const KernelInfo &info);
void populateSharedAccessPatterns(mlir::RewritePatternSet &patterns,
                                  const mlir::TypeConverter &converter,
                                  const KernelInfo &info);
/// Turns functions of math without an instruction into code of those that have
/// one.
mlir::LogicalResult expandMath(mlir::gpu::GPUFuncOp kernel);
/// Elementwise operations of arith and math that have an instruction of their
/// own; makes them illegal in `target`.
void populateElementwisePatterns(mlir::RewritePatternSet &patterns,
                                 mlir::ConversionTarget &target);
/// Functions, special registers, structured control flow.
void populateControlPatterns(mlir::RewritePatternSet &patterns,
                             const mlir::TypeConverter &converter,
                             mlir::ConversionTarget &target,
                             const KernelInfo &info);

/// Replaces the groups of a kernel, whose bodies are converted, by branches.
mlir::LogicalResult lowerSpecialize(mlir::RewriterBase &rewriter,
                                    warp::SpecializeOp specialize,
                                    const KernelInfo &info);

/// Turns comparisons of coordinates into comparisons of one value per row with
/// immediates.
void simplifyComparisons(mlir::RewriterBase &rewriter, mlir::Operation *root);

/// Turns sums and multiples of numbers of coordinates, as far as flags allow,
/// into one value per row and immediates.
void simplifyNumbers(mlir::RewriterBase &rewriter, mlir::Operation *root);

/// Bytes from the start of the buffer to 16-byte chunk (row, column) of slot
/// `index`, without swizzle; an i32 for each.
mlir::Value getSlotOffset(IntegerBuilder &ints, hopper::BufferType buffer,
                          mlir::Value index, mlir::Value row,
                          mlir::Value column);

/// The address of an element of type `element`: `pointer` and the sum of the
/// products of indices (i32) and strides (i64, in elements).
mlir::Value getElementAddress(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value pointer, mlir::ValueRange indices,
                              mlir::ValueRange strides, mlir::Type element);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_HOPPERTONVVM_PATTERNS_H
