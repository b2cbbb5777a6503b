//===- UnpackLowering.cpp - numbers of 4 bits to floats -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A float whose exponent says that its last bit counts ones takes an integer in
// these bits: 2^m + n is the bits of 2^m with n at their end. So four bits of
// each half of a word become two floats by one operation on the word and one
// subtraction. Bit 3 of the integer is its sign: flipped, it is n + 8.
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa3;

/// Four bits of every byte, from bit `shift` on, as integers from -8 to 7.
static Value unpackHalf(OpBuilder &b, Location loc, Value words, int64_t shift,
                        FloatType element) {
  auto type = cast<VectorType>(words.getType());
  constexpr int64_t kBits = 0x000f000f;
  // The exponent of 2^m, twice, and the bits of the signs.
  int64_t digits = element.getFPMantissaWidth() - 1,
          bias = element.isBF16() ? 127 : 15,
          exponent = (bias + digits) << digits,
          start = (exponent | 8) * 0x00010001;
  auto splat = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(type, b.getI32IntegerAttr(value)));
  };
  auto floats = VectorType::get(2 * type.getNumElements(), element);
  Value first = arith::ConstantOp::create(
      b, loc,
      DenseElementsAttr::get(floats,
                             b.getFloatAttr(element, double(1 << digits) + 8)));
  auto unpack = [&](int64_t from) -> Value {
    Value bits = words;
    if (from)
      bits = arith::ShRUIOp::create(b, loc, bits, splat(from));
    bits = arith::AndIOp::create(b, loc, bits, splat(kBits));
    bits = arith::XOrIOp::create(b, loc, bits, splat(start));
    Value above = vector::BitCastOp::create(b, loc, floats, bits);
    return arith::SubFOp::create(b, loc, above, first);
  };
  // Bytes 0 and 2 of a word, and 1 and 3.
  constexpr int64_t kByte = 8;
  Value even = unpack(shift), odd = unpack(shift + kByte);
  return vector::InterleaveOp::create(b, loc, even, odd);
}

/// Every thread unpacks what it holds: registers of the columns behind follow
/// those in front.
LogicalResult KernelLowering::lowerUnpack(tile::UnpackOp op) {
  FailureOr<LinearLayout> from = getLayout(op, op.getSource().getType());
  FailureOr<LinearLayout> to = getLayout(op, op.getResult().getType());
  if (failed(from) || failed(to))
    return failure();
  constexpr int64_t kBytesOfWord = 4;
  int64_t count = from->getNumRegisters(),
          columns = op.getSource().getType().getDimSize(1);
  bool isAlike = from->getLaneBases() == to->getLaneBases() &&
                 from->getWarpBases() == to->getWarpBases() &&
                 to->getNumRegisters() == 2 * count &&
                 count % kBytesOfWord == 0;
  for (int64_t r = 0; isAlike && r < count; ++r) {
    LinearLayout::Basis offset = from->getRegisterOffset(r), behind = offset;
    behind[1] += columns;
    isAlike = to->getRegisterOffset(r) == offset &&
              to->getRegisterOffset(count + r) == behind;
  }
  if (!isAlike)
    return op.emitOpError("has no lowering to hopper: expects every thread to "
                          "hold whole words of bytes and, in their order, what "
                          "is in them");
  auto element = cast<FloatType>(op.getResult().getType().getElementType());
  Value words = vector::BitCastOp::create(
      b, VectorType::get(count / kBytesOfWord, b.getI32Type()),
      get(op.getSource()));
  constexpr int64_t kHalfByte = 4;
  Value low = unpackHalf(b, op.getLoc(), words, 0, element),
        high = unpackHalf(b, op.getLoc(), words, kHalfByte, element);
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, 2 * count));
  set(op.getResult(),
      vector::ShuffleOp::create(b, low, high, order).getResult());
  return success();
}
