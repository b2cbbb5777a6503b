//===- WgmmaPatterns.cpp - products on the tensor cores -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "../InlineAsm.h"
#include "../Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

/// Bytes of K that one wgmma takes.
constexpr int64_t kStepBytes = kSm90a.productBytes;
constexpr int64_t kBlockRows = kSm90a.productRows;

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

/// Columns between the start of a block and that of the window. Where the
/// column is computed it is at the start of a block.
static int64_t getColumnInBlock(DescOp op) {
  return getConstant(op.getColumn()).value_or(0) %
         op.getBuffer().getType().getBlockColumns();
}

namespace {
struct DescPattern : KernelPattern<DescOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(DescOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    BufferType buffer = op.getBuffer().getType();
    int64_t blockColumns = buffer.getBlockColumns();
    // The swizzle pattern repeats every 8 rows, and steps within a product are
    // counted from the start of a block.
    std::optional<int64_t> row = getConstant(adaptor.getRow());
    if (row && *row % 8)
      return op.emitOpError("expects a row that is a multiple of 8, got ")
             << *row;
    if (!getConstant(op.getColumn()) &&
        getDivisor(op.getColumn()) % blockColumns)
      return op.emitOpError(
                 "expects a column that is computed to be a multiple "
                 "of a block of ")
             << blockColumns;
    int64_t inBlock = getColumnInBlock(op) * buffer.getElementBytes();
    int64_t unit = op.getDesc().getType().getMajor() == Major::k
                       ? kStepBytes
                       : buffer.getSwizzle();
    if (inBlock % unit)
      return op.emitOpError("expects a column at a multiple of ")
             << unit << " bytes, got " << inBlock << " bytes into a block";

    Location loc = op.getLoc();
    DescriptorBase base = info.getDescriptorBase(op);
    if (!base.start)
      return op.emitOpError("expects a buffer that is the result of a "
                            "'hopper.smem.alloc'");
    IntegerBuilder ints(rewriter, loc);
    // Where the window starts changes less often than the slot.
    Value ofColumns = ints.mul(ints.div(adaptor.getColumn(), blockColumns),
                               buffer.getBlockBytes() >> 4);
    Value window = ints.add(
        ints.mul(adaptor.getRow(), buffer.getSwizzle() >> 4), ofColumns);
    window = ints.add(window, inBlock >> 4);
    Value slot = ints.mul(adaptor.getIndex(), buffer.getSlotBytes() >> 4);
    if (!base.high) {
      Value first = advance(rewriter, loc, base.start, window);
      rewriter.replaceOp(op, advance(rewriter, loc, first, slot));
      return success();
    }
    Type i64 = rewriter.getI64Type();
    Value low = ints.add(ints.add(base.start, window), slot);
    Value high = arith::ConstantOp::create(
        rewriter, loc, rewriter.getI64IntegerAttr(*base.high));
    rewriter.replaceOpWithNewOp<arith::OrIOp>(
        op, arith::ExtUIOp::create(rewriter, loc, i64, low), high);
    return success();
  }

  static Value advance(OpBuilder &builder, Location loc, Value desc,
                       Value delta) {
    if (getConstant(delta) == 0)
      return desc;
    Value wide =
        arith::ExtUIOp::create(builder, loc, builder.getI64Type(), delta);
    return arith::AddIOp::create(builder, loc, desc, wide);
  }
};
} // namespace

/// Distance (in units of 16 bytes, as descriptors count) of 32-byte step `step`
/// along K, from the start of the window.
static int64_t getStepOffset(Value desc, int64_t step) {
  auto type = cast<DescType>(desc.getType());
  int64_t swizzle = type.getSwizzle(), bytes;
  if (type.getMajor() == Major::k) {
    int64_t perBlock = swizzle / kStepBytes, start = 0;
    if (auto op = desc.getDefiningOp<DescOp>())
      start = getColumnInBlock(op) *
              op.getBuffer().getType().getElementBytes() / kStepBytes;
    bytes = (start + step) / perBlock * type.getRows() * swizzle +
            ((start + step) % perBlock - start) * kStepBytes;
  } else {
    int64_t rows =
        kStepBytes * 8 / type.getElementType().getIntOrFloatBitWidth();
    bytes = step * rows * swizzle;
  }
  return bytes >> 4;
}

/// Distance of the `block`-th 64 rows of the left operand.
static int64_t getRowBlockOffset(DescType type, int64_t block) {
  int64_t swizzle = type.getSwizzle();
  int64_t rows = block * kBlockRows;
  if (type.getMajor() == Major::k)
    return rows * swizzle >> 4;
  int64_t blockColumns =
      swizzle * 8 / type.getElementType().getIntOrFloatBitWidth();
  return rows / blockColumns * type.getRows() * swizzle >> 4;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Name of an element type in wgmma mnemonics, empty if there is none.
static StringRef getElementName(Type type) {
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (isa<Float8E4M3FNType>(type))
    return "e4m3";
  if (isa<Float8E5M2Type>(type))
    return "e5m2";
  if (type.isInteger(8))
    return "s8";
  return {};
}

/// For every register of a fragment of m x `columns`: where it is in the list
/// of 64-row fragments, one after the other, each in wgmma's order: runs of
/// `run` columns, in two rows, then the next columns.
static SmallVector<int64_t> getRowBlockOrder(const LinearLayout &layout,
                                             int64_t run = 2) {
  int64_t registers = layout.getNumRegisters();
  int64_t perBlock = registers / (layout.getShape()[0] / kBlockRows);
  // Four lanes share a row.
  int64_t step = run * 4;
  SmallVector<int64_t> order(registers);
  for (int64_t r = 0; r < registers; ++r) {
    LinearLayout::Basis offset = layout.getRegisterOffset(r);
    order[r] = offset[0] / kBlockRows * perBlock + offset[1] / step * run * 2 +
               offset[0] % kBlockRows / 8 * run + offset[1] % step;
  }
  return order;
}

/// Reorders the elements of a fragment: element i goes to order[i], or, for the
/// inverse, comes from there.
static Value permute(OpBuilder &builder, Location loc, Value fragment,
                     ArrayRef<int64_t> order, bool inverse) {
  SmallVector<int64_t> mask(order);
  if (!inverse)
    for (auto [i, target] : llvm::enumerate(order))
      mask[target] = i;
  if (llvm::equal(mask, llvm::seq<int64_t>(0, mask.size())))
    return fragment;
  return vector::ShuffleOp::create(builder, loc, fragment, fragment, mask);
}

namespace {
/// The instructions of 64 rows of a product.
class ProductEmitter {
public:
  ProductEmitter(OpBuilder &builder, Location loc, WgmmaOp op)
      : builder(builder), loc(loc), op(op) {}

  /// One statement for steps [first, last). Gives the new accumulator; an empty
  /// one stands for zero.
  SmallVector<Value> emit(ValueRange acc, Value lhsDesc,
                          ValueRange lhsRegisters, Value rhsDesc,
                          int64_t rowOffset, int64_t first, int64_t last);

private:
  std::string getText(int64_t step, bool accumulate, const std::string &lhs,
                      const std::string &rhs);

  OpBuilder &builder;
  Location loc;
  WgmmaOp op;
};
} // namespace

std::string ProductEmitter::getText(int64_t step, bool accumulate,
                                    const std::string &lhs,
                                    const std::string &rhs) {
  Type element = op.getRhs().getType().getElementType();
  bool is16Bit = element.getIntOrFloatBitWidth() == 16;
  bool isInteger = !isa<FloatType>(element);
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "setp.ne.b32 p, " << (accumulate ? 1 : 0) << ", 0;\n"
     << "wgmma.mma_async.sync.aligned.m64n" << op.getN() << "k"
     << (is16Bit ? 16 : 32) << (isInteger ? ".s32." : ".f32.")
     << getElementName(element) << '.' << getElementName(element) << " {";
  llvm::interleaveComma(llvm::seq<int64_t>(0, op.getN() / 2), os,
                        [&](int64_t i) { os << '$' << i; });
  os << "}, " << lhs << ", " << rhs << ", p";
  // Integers are not negated on the way.
  if (!isInteger)
    os << ", 1, 1";
  // Only 16-bit operands may be transposed, and one in registers never is.
  if (is16Bit) {
    if (auto desc = dyn_cast<DescType>(op.getLhs().getType()))
      os << ", " << (desc.getMajor() == Major::mn ? 1 : 0);
    os << ", " << (op.getRhs().getType().getMajor() == Major::mn ? 1 : 0);
  }
  os << ";\n";
  return text;
}

SmallVector<Value> ProductEmitter::emit(ValueRange acc, Value lhsDesc,
                                        ValueRange lhsRegisters, Value rhsDesc,
                                        int64_t rowOffset, int64_t first,
                                        int64_t last) {
  InlineAsm statement(builder, loc);
  int64_t registers = op.getN() / 2;
  for (int64_t i = 0; i < registers; ++i)
    statement.addOutput(op.getResult().getType().getFragment().getElementType(),
                        /*early=*/acc.empty());
  for (auto [i, value] : llvm::enumerate(acc))
    statement.addTied(value, i);

  // A statement of one step gets its own descriptors, so that the sums are
  // shared and hoisted; a chain computes them from the first.
  bool isChain = last - first > 1;
  std::string prologue = "{\n.reg .pred p;\n", text;
  auto getDesc = [&](Value base, int64_t offset) {
    if (offset == 0)
      return base;
    Value delta = arith::ConstantOp::create(builder, loc,
                                            builder.getI64IntegerAttr(offset));
    return Value(arith::AddIOp::create(builder, loc, base, delta));
  };
  auto addDesc = [&](Value base, int64_t offset) {
    return "$" + std::to_string(statement.addInput(getDesc(base, offset)));
  };
  auto lhsType = dyn_cast<DescType>(op.getLhs().getType());
  std::string lhsName, rhsName;
  int64_t lhsStart = 0;
  if (lhsType) {
    lhsStart = rowOffset + getStepOffset(op.getLhs(), first);
    lhsName = addDesc(lhsDesc, lhsStart);
  }
  int64_t rhsStart = getStepOffset(op.getRhs(), first);
  rhsName = addDesc(rhsDesc, rhsStart);
  if (isChain)
    prologue += ".reg .b64 a, b;\n";

  for (int64_t step = first; step < last; ++step) {
    std::string lhs = lhsName, rhs = rhsName;
    if (lhsType && step != first) {
      int64_t offset = rowOffset + getStepOffset(op.getLhs(), step) - lhsStart;
      text += "add.s64 a, " + lhsName + ", " + std::to_string(offset) + ";\n";
      lhs = "a";
    }
    if (!lhsType) {
      lhs = "{";
      llvm::ListSeparator separator;
      for (Value value : lhsRegisters.slice(step * 4, 4))
        lhs += StringRef(separator).str() + "$" +
               std::to_string(statement.addInput(value));
      lhs += "}";
    }
    if (step != first) {
      int64_t offset = getStepOffset(op.getRhs(), step) - rhsStart;
      text += "add.s64 b, " + rhsName + ", " + std::to_string(offset) + ";\n";
      rhs = "b";
    }
    text +=
        getText(step, /*accumulate=*/!acc.empty() || step != first, lhs, rhs);
  }
  return statement.emit(prologue + text + "}");
}

/// The descriptor as something that changes with another: its sums with
/// constants are then formed where they are used, in one instruction each.
static Value pinToProduct(OpBuilder &builder, Location loc, Value desc,
                          Value other) {
  // Bit 14 of a descriptor is 0, behind the address (PTX ISA,
  // "Matrix-descriptor Format"). Of the high half ptxas knows that it stays.
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  };
  Value high = arith::ShLIOp::create(builder, loc, other, constant(49));
  Value zero = arith::ShRUIOp::create(builder, loc, high, constant(63));
  return arith::AddIOp::create(builder, loc, desc, zero);
}

namespace {
struct WgmmaPattern : KernelPattern<WgmmaOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(WgmmaOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    int64_t m = op.getM(), n = op.getN(), k = op.getK();
    DescType rhsType = op.getRhs().getType();
    auto lhsType = dyn_cast<DescType>(op.getLhs().getType());
    Type element = rhsType.getElementType();
    if (getElementName(element).empty())
      return op.emitOpError("has no instruction for elements of ") << element;
    int64_t elementBytes = element.getIntOrFloatBitWidth() / 8;
    if (elementBytes != 2 && (rhsType.getMajor() == Major::mn ||
                              (lhsType && lhsType.getMajor() == Major::mn)))
      return op.emitOpError("expects 8-bit operands whose K is contiguous");
    std::optional<LinearLayout> accLayout = LinearLayout::accumulator(m, n);
    if (!accLayout)
      return op.emitOpError("expects m to be a power of two times 64, got ")
             << m;

    SmallVector<int64_t> order = getRowBlockOrder(*accLayout);
    SmallVector<Value> acc, lhsRegisters;
    if (adaptor.getAcc())
      acc = unpackRegisters(
          rewriter, loc,
          permute(rewriter, loc, adaptor.getAcc(), order, /*inverse=*/false));
    if (!lhsType) {
      std::optional<LinearLayout> layout =
          LinearLayout::operandA(m, k, elementBytes * 8);
      // A register of 32 bits holds neighboring columns.
      SmallVector<int64_t> order = getRowBlockOrder(*layout, 4 / elementBytes);
      lhsRegisters = unpackRegisters(
          rewriter, loc,
          permute(rewriter, loc, adaptor.getLhs(), order, /*inverse=*/false));
    }

    ProductEmitter emitter(rewriter, loc, op);
    int64_t steps = k * elementBytes / kStepBytes, blocks = m / kBlockRows;
    Value lhs = adaptor.getLhs(), rhs = adaptor.getRhs();
    KernelInfo::Pins pins = info.getPins(op);
    if (pins.lhs)
      lhs =
          pinToProduct(rewriter, loc, lhs, rewriter.getRemappedValue(pins.lhs));
    if (pins.rhs)
      rhs =
          pinToProduct(rewriter, loc, rhs, rewriter.getRemappedValue(pins.rhs));
    if (!pins.lhs && lhsType && steps * blocks > kMostHoisted)
      lhs = pinToProduct(rewriter, loc, lhs, rhs);
    // Sums for descriptors of more steps than heads of 256 have would be
    // hoisted, beside sums of 256 columns, into registers that are not there.
    constexpr int64_t kMostApart = 16;
    int64_t inFlight = info.getChainColumns(op) * elementBytes / kStepBytes;
    int64_t perStatement = inFlight > kMostApart ? steps : 1;
    SmallVector<Value> results;
    for (int64_t block = 0; block < blocks; ++block) {
      auto part = [&](ArrayRef<Value> all) {
        int64_t count = all.size() / blocks;
        return SmallVector<Value>(all.slice(block * count, count));
      };
      SmallVector<Value> blockAcc = part(acc), blockLhs = part(lhsRegisters);
      int64_t rowOffset = lhsType ? getRowBlockOffset(lhsType, block) : 0;
      for (int64_t step = 0; step < steps; step += perStatement)
        blockAcc = emitter.emit(blockAcc, lhs, blockLhs, rhs, rowOffset, step,
                                step + perStatement);
      llvm::append_range(results, blockAcc);
    }
    Value result = packRegisters(rewriter, loc, results,
                                 op.getResult().getType().getFragment());
    rewriter.replaceOp(op,
                       permute(rewriter, loc, result, order, /*inverse=*/true));
    return success();
  }
};
} // namespace

void fa3::populateWgmmaPatterns(RewritePatternSet &patterns,
                                const TypeConverter &converter,
                                const KernelInfo &info) {
  patterns.add<DescPattern, WgmmaPattern>(converter, patterns.getContext(),
                                          info);
}
