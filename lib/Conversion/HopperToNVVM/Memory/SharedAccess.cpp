//===- SharedAccess.cpp - fragments in shared memory ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Fragments of 16-bit elements in the accumulator's layout go by matrices of
// 8 x 8 (stmatrix, ldmatrix), those of 8-bit elements that fit by matrices of 8
// rows of 16 bytes, others by the widest run of adjacent registers. Where lanes
// would meet in a bank with such runs, half of them stores another run than the
// others.
//===----------------------------------------------------------------------===//

#include "../InlineAsm.h"
#include "../Patterns.h"
#include "ByteMatrices.h"
#include "SlotAddress.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

namespace {
/// Pairs of registers, each an 8 x 8 matrix over the warp's lanes, that one
/// stmatrix or ldmatrix moves: matrix i is at (row + 8 * (i & 1),
/// column + 8 * (i >> 1)).
struct MatrixGroup {
  int64_t row, column;
  SmallVector<int64_t, 4> pairs;
};
} // namespace

/// Whether a warp's part of the tile consists of 8 x 8 matrices of 16-bit
/// elements as stmatrix and ldmatrix know them.
static bool isMatrixLayout(const LinearLayout &layout, Type element) {
  using Basis = LinearLayout::Basis;
  static const Basis lanes[] = {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}};
  return element.getIntOrFloatBitWidth() == 16 && layout.getRank() == 2 &&
         layout.getLaneBases() == ArrayRef(lanes) &&
         !layout.getRegisterBases().empty() &&
         layout.getRegisterBases().front() == Basis{0, 1};
}

/// Groups the matrices by four in 16 x 16, by two in 16 x 8 what is left over.
/// Empty if the layout has others.
static SmallVector<MatrixGroup> getMatrixGroups(const LinearLayout &layout) {
  llvm::MapVector<std::pair<int64_t, int64_t>, int64_t> matrices;
  for (int64_t r = 0; r < layout.getNumRegisters(); r += 2) {
    LinearLayout::Basis offset = layout.getRegisterOffset(r);
    if (offset[0] % 8 || offset[1] % 8)
      return {};
    matrices[{offset[0], offset[1]}] = r / 2;
  }
  SmallVector<MatrixGroup> groups;
  auto find = [&](int64_t row, int64_t column) -> std::optional<int64_t> {
    auto it = matrices.find({row, column});
    return it == matrices.end() ? std::nullopt : std::optional(it->second);
  };
  for (auto [position, pair] : matrices) {
    auto [row, column] = position;
    if (row % 16)
      continue;
    std::optional<int64_t> below = find(row + 8, column);
    if (!below)
      return {};
    if (column % 16 == 0) {
      std::optional<int64_t> right = find(row, column + 8);
      std::optional<int64_t> both = find(row + 8, column + 8);
      if (right && both) {
        groups.push_back({row, column, {pair, *below, *right, *both}});
        continue;
      }
    } else if (find(row, column - 8)) {
      continue;
    }
    groups.push_back({row, column, {pair, *below}});
  }
  return groups;
}

/// The address operand of every group, with an immediate.
template <typename AccessOp, typename Adaptor>
static SmallVector<std::pair<Value, int64_t>>
getMatrixAddresses(OpBuilder &builder, AccessOp op, Adaptor adaptor,
                   const KernelInfo &info, ArrayRef<MatrixGroup> groups,
                   int64_t column) {
  Location loc = op.getLoc();
  IntegerBuilder ints(builder, loc);
  BufferType type = op.getWindowType();
  SlotAddress slot(builder, loc, type, adaptor.getBuffer(), adaptor.getIndex());
  // Lane l gives the address of row l % 8 of matrix l / 8. The warp's rows come
  // from the layout's warp bits alone, so they are taken from lane 0's start.
  const GroupInfo &group = info.getOf(op);
  Value lane = group.lane;
  // Bits that are taken together take one register less. Other kernels may be
  // slower by it: ptxas orders the stores of the output in another way.
  auto warpBases = op.getFragment().getLayout().getWarpBases();
  Value warpRow = ints.constant(0);
  if (info.savesRegisters())
    warpRow = sumBits(ints, group.warp, warpBases, 0);
  else
    for (auto [bit, basis] : llvm::enumerate(warpBases)) {
      Value isSet = ints.bitAnd(ints.shiftRight(group.warp, bit), 1);
      warpRow = ints.add(warpRow, ints.mul(isSet, basis[0]));
    }
  Value matrix = ints.shiftRight(lane, 3);
  Value ofMatrix = ints.mul(ints.bitAnd(matrix, 1), 8);
  Value inWarp = ints.add(ints.bitAnd(lane, 7), ofMatrix);
  Value row = ints.add(ints.add(adaptor.getRow(), warpRow), inWarp);
  Value rowStart = slot.getRow(row), rowMask = slot.getMask(row);
  // The second column of matrices is the next chunk: chunks of a group of four
  // differ in the lowest bit only.
  Value isRight = ints.bitAnd(ints.shiftRight(matrix, 1), 1);
  Value rightMask = ints.bitXor(rowMask, ints.mul(isRight, 16));

  SmallVector<std::pair<Value, int64_t>> addresses;
  for (const MatrixGroup &matrices : groups) {
    int64_t at = column + matrices.column;
    Value mask = matrices.pairs.size() == 4 ? rightMask : rowMask;
    Value chunk = ints.bitXor(mask, ints.constant(slot.getInBlock(at)));
    addresses.push_back({ints.add(rowStart, chunk),
                         slot.getBlock(at) + matrices.row * type.getSwizzle()});
  }
  return addresses;
}

/// Registers that are adjacent and aligned in a row: a power of two, at most 16
/// bytes.
static int64_t getRunLength(const LinearLayout &layout, int64_t elementBytes,
                            int64_t columnDivisor) {
  unsigned last = layout.getRank() - 1;
  int64_t run = 1;
  for (const LinearLayout::Basis &basis : layout.getRegisterBases()) {
    LinearLayout::Basis next(layout.getRank(), 0);
    next[last] = run;
    if (basis != next || run * 2 * elementBytes > 16)
      break;
    run *= 2;
  }
  // What divides the column at which every run starts.
  int64_t divisor = columnDivisor;
  for (auto bases : {layout.getLaneBases(), layout.getWarpBases()})
    for (const LinearLayout::Basis &basis : bases)
      divisor = std::gcd(divisor, basis[last]);
  for (int64_t r = 0; r < layout.getNumRegisters(); r += run)
    divisor = std::gcd(divisor, layout.getRegisterOffset(r)[last]);
  while (divisor % run)
    run /= 2;
  return run;
}

namespace {
/// Lanes with a bit of their number exchange two runs of registers, whose
/// columns in shared memory differ in one bit.
struct RunExchange {
  unsigned laneBit;
  int64_t run;   ///< what is added to the number of the other run
  int64_t bytes; ///< between the two, in a row
};
} // namespace

/// Exchanges that give every lane of a store's phase banks of its own, as far
/// as there are registers to exchange. Addresses are linear over bits: banks of
/// a phase are distinct where its lanes' bits have independent ones.
static SmallVector<RunExchange> avoidConflicts(const LinearLayout &layout,
                                               const BufferType &type,
                                               int64_t run,
                                               int64_t columnDivisor) {
  constexpr int64_t kPhaseBytes = 128;
  SmallVector<RunExchange> exchanges;
  int64_t swizzle = type.getSwizzle();
  int64_t bytes = type.getTile().getElementType().getIntOrFloatBitWidth() / 8;
  int64_t runBytes = run * bytes, lanes = kPhaseBytes / runBytes;
  if (layout.getRank() != 2 || swizzle != kPhaseBytes || lanes < 2 ||
      columnDivisor % (swizzle / bytes))
    return exchanges;
  // Banks that a step by one bit changes, in bytes of a row's block; rows
  // exchange chunks of 16 bytes.
  auto getBanks = [&](const LinearLayout::Basis &basis) -> int64_t {
    return (basis[1] * bytes ^ (basis[0] % 8) * 16) & (swizzle - runBytes);
  };
  SmallVector<int64_t> known; // independent, reduced
  auto reduce = [&](int64_t banks) {
    for (int64_t other : known)
      banks = std::min(banks, banks ^ other);
    return banks;
  };
  unsigned phaseBits = llvm::Log2_64(lanes);
  if (layout.getLaneBases().size() < phaseBits)
    return exchanges;
  SmallVector<unsigned> dependent;
  for (unsigned bit = 0; bit < phaseBits; ++bit) {
    int64_t banks = reduce(getBanks(layout.getLaneBases()[bit]));
    if (banks)
      known.push_back(banks);
    else
      dependent.push_back(bit);
  }
  unsigned firstBit = llvm::Log2_64(run);
  auto registers = layout.getRegisterBases();
  for (unsigned bit = firstBit; bit < registers.size() && !dependent.empty();
       ++bit) {
    const LinearLayout::Basis &basis = registers[bit];
    int64_t inRow = basis[1] * bytes;
    if (basis[0] || !llvm::isPowerOf2_64(inRow) || inRow >= swizzle)
      continue;
    int64_t banks = reduce(getBanks(basis));
    if (!banks)
      continue;
    known.push_back(banks);
    exchanges.push_back(
        {dependent.pop_back_val(), int64_t(1) << (bit - firstBit), inRow});
  }
  return exchanges;
}

/// Address of every run of registers; each in a row and chunk of its own.
template <typename AccessOp, typename Adaptor>
static SmallVector<Value>
getRunAddresses(OpBuilder &builder, AccessOp op, Adaptor adaptor,
                const KernelInfo &info, int64_t run,
                ArrayRef<RunExchange> exchanges = {}) {
  Location loc = op.getLoc();
  IntegerBuilder ints(builder, loc);
  FragmentAttr fragment = op.getFragment();
  const LinearLayout &layout = fragment.getLayout();
  SlotAddress slot(builder, loc, op.getWindowType(), adaptor.getBuffer(),
                   adaptor.getIndex());
  // A fragment of rank 1 is one row.
  bool hasRows = layout.getRank() == 2;
  Value row = adaptor.getRow();
  if (hasRows)
    row = ints.add(row, info.getThreadOffset(op, fragment, 0));
  Value column =
      ints.add(adaptor.getColumn(),
               info.getThreadOffset(op, fragment, layout.getRank() - 1));
  Value exchanged;
  for (const RunExchange &exchange : exchanges) {
    Value isSet =
        ints.bitAnd(ints.shiftRight(info.getOf(op).lane, exchange.laneBit), 1);
    Value bytes = ints.mul(isSet, exchange.bytes);
    exchanged = exchanged ? ints.bitXor(exchanged, bytes) : bytes;
  }
  SmallVector<Value> addresses;
  for (int64_t r = 0; r < layout.getNumRegisters(); r += run) {
    LinearLayout::Basis offset = layout.getRegisterOffset(r);
    Value atRow = hasRows ? ints.add(row, offset[0]) : row;
    Value atColumn = ints.add(column, offset.back());
    Value mask = slot.getMask(atRow);
    if (exchanged)
      mask = ints.bitXor(mask, exchanged);
    Value chunk = ints.bitXor(slot.getInBlock(atColumn), mask);
    Value block = slot.getBlock(atColumn);
    addresses.push_back(ints.add(ints.add(slot.getRow(atRow), chunk), block));
  }
  return addresses;
}

/// Groups of matrices if stmatrix or ldmatrix do for the access.
template <typename AccessOp, typename Adaptor>
static SmallVector<MatrixGroup> getMatrixAccess(AccessOp op, Adaptor adaptor,
                                                int64_t &column) {
  const LinearLayout &layout = op.getFragment().getLayout();
  Type element = op.getWindowType().getTile().getElementType();
  std::optional<int64_t> constant = getConstant(adaptor.getColumn());
  // Chunks of a group of four are neighbors only from an even chunk on, and
  // the rows of a matrix a period of the swizzle only from a multiple of 8 on.
  if (!constant || *constant % 16 || getDivisor(adaptor.getRow()) % 8 ||
      !isMatrixLayout(layout, element))
    return {};
  for (const LinearLayout::Basis &basis : layout.getWarpBases())
    if (basis[1] != 0 || basis[0] % 8)
      return {};
  column = *constant;
  return getMatrixGroups(layout);
}

/// Address of every instruction: each lane gives that of one row of a matrix.
template <typename AccessOp, typename Adaptor>
static SmallVector<std::pair<Value, int64_t>>
getAddresses(OpBuilder &builder, Location loc, const KernelInfo &info,
             const ByteMatrices &plan, AccessOp op, Adaptor adaptor) {
  SlotAddress slot(builder, loc, op.getWindowType(), adaptor.getBuffer(),
                   adaptor.getIndex());
  const GroupInfo &group = info.getOf(op);
  return plan.getAddresses(builder, loc, slot, group.lane, group.warp,
                           adaptor.getRow(), adaptor.getColumn());
}

/// Text of a list of operands, in braces if there are several.
static std::string getList(int64_t first, int64_t count) {
  std::string text = count == 1 ? "" : "{";
  llvm::ListSeparator separator;
  for (int64_t i = first; i < first + count; ++i)
    text += StringRef(separator).str() + "$" + std::to_string(i);
  return count == 1 ? text : text + "}";
}

/// Suffix of an access of `registers` registers of `bits` bits.
static std::string getSuffix(int64_t registers, int64_t bits) {
  std::string vector = registers == 1 ? "" : ".v" + std::to_string(registers);
  return vector + ".b" + std::to_string(bits);
}

namespace {
/// How a run of elements is spread over registers of a vector access.
struct RunRegisters {
  RunRegisters(Type element, int64_t run) {
    int64_t elementBits = element.getIntOrFloatBitWidth();
    int64_t total = elementBits * run;
    bits = std::min<int64_t>(total, 32);
    count = total / bits;
    elementsPerRegister = run / count;
  }
  int64_t bits, count, elementsPerRegister;
};

struct SmemStorePattern : KernelPattern<SmemStoreOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(SmemStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    int64_t column = 0;
    SmallVector<MatrixGroup> groups = getMatrixAccess(op, adaptor, column);
    if (auto plan =
            planByteMatrices(op, /*transposed=*/false, adaptor.getColumn())) {
      plan->avoidConflicts(op.getWindowType().getSwizzle());
      storeByteMatrices(op, adaptor, rewriter, *plan);
    } else if (!groups.empty()) {
      storeMatrices(op, adaptor, rewriter, groups, column);
    } else {
      storeRuns(op, adaptor, rewriter);
    }
    rewriter.eraseOp(op);
    return success();
  }

  void storeMatrices(SmemStoreOp op, OpAdaptor adaptor, OpBuilder &builder,
                     ArrayRef<MatrixGroup> groups, int64_t column) const {
    Location loc = op.getLoc();
    SmallVector<Value> pairs =
        unpackRegisters(builder, loc, adaptor.getValue());
    auto addresses =
        getMatrixAddresses(builder, op, adaptor, info, groups, column);
    for (auto [group, address] : llvm::zip(groups, addresses)) {
      SmallVector<Value> operands = {address.first};
      for (int64_t pair : group.pairs)
        operands.push_back(pairs[pair]);
      int64_t count = group.pairs.size();
      emitPredicatedAsm(builder, loc, Value(),
                        "stmatrix.sync.aligned.m8n8.x" + Twine(count) +
                            ".shared.b16 [$0+" + Twine(address.second) + "], " +
                            getList(1, count) + ";",
                        operands);
    }
  }

  void storeByteMatrices(SmemStoreOp op, OpAdaptor adaptor, OpBuilder &builder,
                         const ByteMatrices &plan) const {
    Location loc = op.getLoc();
    SmallVector<Value> words =
        plan.getWords(builder, loc, adaptor.getValue(), info.getOf(op).lane);
    int64_t count = plan.getPerInstruction();
    for (auto [i, address] :
         llvm::enumerate(getAddresses(builder, loc, info, plan, op, adaptor))) {
      SmallVector<Value> operands = {address.first};
      llvm::append_range(operands, ArrayRef(words).slice(i * count, count));
      emitPredicatedAsm(builder, loc, Value(),
                        "stmatrix.sync.aligned.m8n8.x" + Twine(count) +
                            ".shared.b16 [$0+" + Twine(address.second) + "], " +
                            getList(1, count) + ";",
                        operands);
    }
  }

  /// Exchanges runs of `count` words where the lane's bit is set.
  static void exchangeRuns(OpBuilder &builder, Location loc,
                           MutableArrayRef<Value> words, Value lane,
                           const RunExchange &exchange, int64_t count) {
    IntegerBuilder ints(builder, loc);
    Value bit = ints.bitAnd(lane, int64_t(1) << exchange.laneBit);
    Value isSet = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                        bit, ints.constant(0));
    for (int64_t i = 0, end = words.size(); i < end; ++i) {
      if (i / count & exchange.run)
        continue;
      Value &one = words[i], &other = words[i + exchange.run * count];
      Value first = one, second = other;
      one = arith::SelectOp::create(builder, loc, isSet, second, first);
      other = arith::SelectOp::create(builder, loc, isSet, first, second);
    }
  }

  void storeRuns(SmemStoreOp op, OpAdaptor adaptor, OpBuilder &builder) const {
    Location loc = op.getLoc();
    auto type = cast<VectorType>(op.getValue().getType());
    Type element = type.getElementType();
    int64_t run = getRunLength(op.getFragment().getLayout(),
                               element.getIntOrFloatBitWidth() / 8,
                               getDivisor(adaptor.getColumn()));
    RunRegisters registers(element, run);
    Type word = builder.getIntegerType(registers.bits);
    int64_t words = type.getNumElements() / registers.elementsPerRegister;
    Value bits = vector::BitCastOp::create(
        builder, loc, VectorType::get(words, word), adaptor.getValue());
    SmallVector<Value> values(
        vector::ToElementsOp::create(builder, loc, bits).getElements());
    SmallVector<RunExchange> exchanges =
        avoidConflicts(op.getFragment().getLayout(), op.getWindowType(), run,
                       getDivisor(adaptor.getColumn()));
    SmallVector<Value> addresses =
        getRunAddresses(builder, op, adaptor, info, run, exchanges);
    for (const RunExchange &exchange : exchanges)
      exchangeRuns(builder, loc, values, info.getOf(op).lane, exchange,
                   registers.count);
    for (auto [i, address] : llvm::enumerate(addresses)) {
      SmallVector<Value> operands = {address};
      for (Value value :
           ArrayRef(values).slice(i * registers.count, registers.count)) {
        // There are no 8-bit registers.
        if (registers.bits == 8)
          value = arith::ExtUIOp::create(builder, loc,
                                         builder.getIntegerType(16), value);
        operands.push_back(value);
      }
      emitPredicatedAsm(builder, loc, Value(),
                        "st.shared" +
                            getSuffix(registers.count, registers.bits) +
                            " [$0], " + getList(1, registers.count) + ";",
                        operands);
    }
  }
};

struct SmemLoadPattern : KernelPattern<SmemLoadOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(SmemLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    int64_t column = 0;
    SmallVector<MatrixGroup> groups = getMatrixAccess(op, adaptor, column);
    Value loaded;
    if (auto plan =
            planByteMatrices(op, /*transposed=*/true, adaptor.getColumn()))
      loaded = loadByteMatrices(op, adaptor, rewriter, *plan);
    else if (!groups.empty())
      loaded = loadMatrices(op, adaptor, rewriter, groups, column);
    else
      loaded = loadRuns(op, adaptor, rewriter);
    rewriter.replaceOp(op, loaded);
    return success();
  }

  Value loadByteMatrices(SmemLoadOp op, OpAdaptor adaptor, OpBuilder &builder,
                         const ByteMatrices &plan) const {
    Location loc = op.getLoc();
    auto type = cast<VectorType>(op.getResult().getType());
    int64_t count = plan.getPerInstruction();
    SmallVector<Value> words;
    for (auto [address, offset] :
         getAddresses(builder, loc, info, plan, op, adaptor)) {
      InlineAsm statement(builder, loc);
      for (int64_t i = 0; i < count; ++i)
        statement.addOutput(builder.getI32Type(), /*early=*/true);
      unsigned input = statement.addInput(address);
      llvm::append_range(
          words,
          statement.emit("ldmatrix.sync.aligned.m8n8.x" + Twine(count) +
                         ".trans.shared.b16 " + getList(0, count) + ", [$" +
                         Twine(input) + "+" + Twine(offset) + "];"));
    }
    Value elements = packRegisters(builder, loc, words, type);
    SmallVector<int64_t> mask(plan.order.size());
    for (auto [i, reg] : llvm::enumerate(plan.order))
      mask[reg] = i;
    return vector::ShuffleOp::create(builder, loc, elements, elements, mask);
  }

  Value loadMatrices(SmemLoadOp op, OpAdaptor adaptor, OpBuilder &builder,
                     ArrayRef<MatrixGroup> groups, int64_t column) const {
    Location loc = op.getLoc();
    auto type = cast<VectorType>(op.getResult().getType());
    auto addresses =
        getMatrixAddresses(builder, op, adaptor, info, groups, column);
    SmallVector<Value> pairs(type.getNumElements() / 2);
    for (auto [group, address] : llvm::zip(groups, addresses)) {
      InlineAsm statement(builder, loc);
      int64_t count = group.pairs.size();
      for (int64_t i = 0; i < count; ++i)
        statement.addOutput(builder.getI32Type(), /*early=*/true);
      unsigned input = statement.addInput(address.first);
      SmallVector<Value> loaded =
          statement.emit("ldmatrix.sync.aligned.m8n8.x" + Twine(count) +
                         ".shared.b16 " + getList(0, count) + ", [$" +
                         Twine(input) + "+" + Twine(address.second) + "];");
      for (auto [pair, value] : llvm::zip(group.pairs, loaded))
        pairs[pair] = value;
    }
    return packRegisters(builder, loc, pairs, type);
  }

  Value loadRuns(SmemLoadOp op, OpAdaptor adaptor, OpBuilder &builder) const {
    Location loc = op.getLoc();
    auto type = cast<VectorType>(op.getResult().getType());
    Type element = type.getElementType();
    int64_t run = getRunLength(op.getFragment().getLayout(),
                               element.getIntOrFloatBitWidth() / 8,
                               getDivisor(adaptor.getColumn()));
    RunRegisters registers(element, run);
    Type word = builder.getIntegerType(registers.bits);
    SmallVector<Value> words;
    for (Value address : getRunAddresses(builder, op, adaptor, info, run)) {
      InlineAsm statement(builder, loc);
      for (int64_t i = 0; i < registers.count; ++i)
        statement.addOutput(
            registers.bits == 8 ? Type(builder.getIntegerType(16)) : word,
            /*early=*/true);
      unsigned input = statement.addInput(address);
      for (Value value : statement.emit(
               "ld.shared" + getSuffix(registers.count, registers.bits) + " " +
               getList(0, registers.count) + ", [$" + Twine(input) + "];"))
        words.push_back(registers.bits == 8 ? Value(arith::TruncIOp::create(
                                                  builder, loc, word, value))
                                            : value);
    }
    Value bits = vector::FromElementsOp::create(
        builder, loc, VectorType::get(words.size(), word), words);
    return vector::BitCastOp::create(builder, loc, type, bits);
  }
};
} // namespace

void fa3::populateSharedAccessPatterns(RewritePatternSet &patterns,
                                       const TypeConverter &converter,
                                       const KernelInfo &info) {
  patterns.add<SmemStorePattern, SmemLoadPattern>(converter,
                                                  patterns.getContext(), info);
}
