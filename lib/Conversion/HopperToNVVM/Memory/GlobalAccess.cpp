//===- GlobalAccess.cpp - fragments and scalars of global memory ----------===//
// SPDX-License-Identifier: Apache-2.0
#include "../InlineAsm.h"
#include "../Patterns.h"
#include "QuadStores.h"
#include "TileAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

/// An unsigned integer type of the given size.
static Type getIntegerType(OpBuilder &builder, int64_t bytes) {
  return builder.getIntegerType(bytes * 8);
}

namespace {
/// Registers of one access: one element or two adjacent ones.
struct Access {
  int64_t first, count;
};

/// The accesses of a fragment. With `isAligned`, a condition, they are pairs
/// where it holds, and otherwise the elements of each pair.
struct Accesses {
  SmallVector<Access> list;
  Value isAligned;
  /// In place of pairs, all registers by fours of words.
  SmallVector<Quad> quads;
  /// Four elements of 32 bits are such words, not eight of 16 bits.
  bool areWords = false;
};
} // namespace

/// Greatest number that divides the offsets of all threads along `dim`.
static int64_t getThreadDivisor(const LinearLayout &layout, unsigned dim) {
  int64_t divisor = 0;
  for (auto bases : {layout.getLaneBases(), layout.getWarpBases()})
    for (const LinearLayout::Basis &basis : bases)
      divisor = std::gcd(divisor, basis[dim]);
  return divisor;
}

/// Sets up the access of a fragment and says which registers go together.
template <typename AccessOp, typename Adaptor>
static Accesses prepareAccess(TileAccess &access, AccessOp op, Adaptor adaptor,
                              const KernelInfo &info, IntegerBuilder &ints,
                              bool asksAlignment = true) {
  constexpr bool isLoad = std::is_same_v<AccessOp, FragmentLoadOp>;
  const LinearLayout &layout = op.getFragment().getLayout();
  unsigned rank = layout.getRank();
  ValueRange indices = adaptor.getIndices(), strides = adaptor.getStrides();
  constexpr int64_t kQuadBytes = 16;
  int64_t bytes = access.getElementBytes();
  bool startsAtQuad = getDivisor(indices.back()) * bytes % kQuadBytes == 0;
  Accesses result;
  if (asksAlignment && bytes == 4 && startsAtQuad &&
      getConstant(strides.back()) == 1)
    result.quads = findWordQuads(layout);
  bool asksWords = result.areWords = !result.quads.empty();
  size_t outer = indices.size() - rank;
  int64_t strideDivisor = 0;
  for (Value stride : strides.drop_back())
    strideDivisor = std::gcd(strideDivisor, getDivisor(stride));
  for (size_t i = 0; i < outer; ++i)
    access.addIndex(indices[i], strides[i]);
  for (unsigned dim = 0; dim < rank; ++dim) {
    Value start = ints.add(indices[outer + dim],
                           info.getThreadOffset(op, op.getFragment(), dim));
    std::optional<int64_t> first = getConstant(indices[outer + dim]),
                           bound = getConstant(adaptor.getBounds()[dim]);
    int64_t extent = layout.getShape()[dim];
    bool isInside = first && bound && *first >= 0 && *first + extent <= *bound;
    // Columns of 16 bytes a thread are inside or outside of the array together.
    if (!isInside && asksWords && dim + 1 == rank && bound &&
        *bound % extent == 0 && getDivisor(indices.back()) % extent == 0) {
      access.addCondition(indices.back(), adaptor.getBounds()[dim]);
      isInside = true;
    }
    access.addDimension(start, strides[outer + dim], adaptor.getBounds()[dim],
                        isInside);
  }

  // Register bit 0 is the one that pairs.
  LinearLayout::Basis next(rank, 0);
  next.back() = 1;
  int64_t indexDivisor =
      std::gcd(getDivisor(indices.back()), getThreadDivisor(layout, rank - 1));
  bool pairs = !layout.getRegisterBases().empty() &&
               layout.getRegisterBases().front() == next;
  // The other registers move by even offsets too.
  for (int64_t r = 0; pairs && r < layout.getNumRegisters(); r += 2)
    pairs = layout.getRegisterOffset(r).back() % 2 == 0;
  bool isKnown = access.canPair(indexDivisor, strideDivisor);
  bool mayQuad = asksAlignment && pairs && access.hasWholeRows();
  if (mayQuad && bytes == 2 && startsAtQuad && !isLoad)
    result.quads = findQuads(layout);
  if (!mayQuad)
    result.quads.clear();
  bool hasQuads = !result.quads.empty();
  if (pairs && (hasQuads || !isKnown)) {
    // A load has two forms for 16 bytes only.
    pairs =
        asksAlignment && (hasQuads || !isLoad) && access.mayPair(indexDivisor);
    if (pairs)
      result.isAligned = access.buildAligned(strides.drop_back(),
                                             hasQuads ? kQuadBytes : 2 * bytes);
  }
  int64_t count = pairs ? 2 : 1;
  for (int64_t r = 0; r < layout.getNumRegisters(); r += count)
    result.list.push_back({r, count});
  return result;
}

/// Register type and PTX suffix of an access of `bytes` bytes.
static std::pair<Type, std::string> getAccessType(OpBuilder &builder,
                                                  int64_t bytes) {
  // There are no 8-bit registers.
  return {getIntegerType(builder, std::max<int64_t>(bytes, 2)),
          "b" + std::to_string(bytes * 8)};
}

/// Where the four words of a lane lie that it exchanges with one lane
/// (exchangePair) or three (exchangeQuad). Lane n of them is 8 n or 4 n bytes
/// behind the first, its words are 32 n or 16 n.
static Value addLane(OpBuilder &builder, Location loc, Value address,
                     Value lane, bool ofPair) {
  IntegerBuilder ints(builder, loc);
  Value number = ints.bitAnd(lane, ofPair ? 1 : 3);
  Value offset = ints.mul(number, ofPair ? 24 : 12);
  return arith::AddIOp::create(
      builder, loc, address,
      arith::ExtUIOp::create(builder, loc, builder.getI64Type(), offset));
}

Value fa3::getElementAddress(OpBuilder &builder, Location loc, Value pointer,
                             ValueRange indices, ValueRange strides,
                             Type element) {
  Value offset;
  for (auto [index, stride] : llvm::zip_equal(indices, strides)) {
    Value wide =
        arith::ExtSIOp::create(builder, loc, builder.getI64Type(), index);
    Value term = builder.createOrFold<arith::MulIOp>(loc, wide, stride);
    offset = offset ? arith::AddIOp::create(builder, loc, offset, term) : term;
  }
  if (!offset)
    return pointer;
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), element, pointer,
                             ArrayRef<LLVM::GEPArg>{offset});
}

static bool isSupportedElement(Type type) {
  if (!type.isIntOrFloat())
    return false;
  unsigned bits = type.getIntOrFloatBitWidth();
  return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

static Value isNotZero(OpBuilder &builder, Location loc, Value value) {
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(value.getType(), 0));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value,
                               zero);
}

namespace {
struct FragmentLoadPattern : KernelPattern<FragmentLoadOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(FragmentLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<VectorType>(op.getResult().getType());
    Type element = type.getElementType();
    if (!element.isInteger(1) && !isSupportedElement(element))
      return op.emitOpError("expects elements of 1 bit, or 8 to 64, got ")
             << element;
    const LinearLayout &layout = op.getFragment().getLayout();
    IntegerBuilder ints(rewriter, loc);
    TileAccess access(rewriter, loc, adaptor.getPointer(), element);
    Accesses accesses = prepareAccess(access, op, adaptor, info, ints);
    if (!accesses.quads.empty()) {
      loadQuads(op, rewriter, access, accesses, info.getOf(op).lane);
      return success();
    }
    SmallVector<Value> elements;
    for (auto [first, count] : accesses.list) {
      LinearLayout::Basis offset = layout.getRegisterOffset(first);
      int64_t immediate;
      Value address = access.getAddress(offset, immediate);
      Value predicate = access.getPredicate(offset, Value());
      int64_t bytes = access.getElementBytes() * count;
      auto [type, suffix] = getAccessType(rewriter, bytes);
      Value loaded =
          emit(rewriter, loc, address, immediate, predicate, suffix, type, 1)
              .front();
      append(elements, rewriter, loc, loaded, element, count);
    }
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, type, elements);
    return success();
  }

  /// Loads `count` registers that lie side by side, zeros without `predicate`.
  static SmallVector<Value> emit(OpBuilder &builder, Location loc,
                                 Value address, int64_t immediate,
                                 Value predicate, StringRef suffix, Type type,
                                 unsigned count) {
    InlineAsm statement(builder, loc);
    std::string move = "mov.b" + std::to_string(type.getIntOrFloatBitWidth());
    std::string moves, registers;
    for (unsigned i = 0; i < count; ++i) {
      statement.addOutput(type, /*early=*/true);
      std::string name = "$" + std::to_string(i);
      moves += move + " " + name + ", 0;\n";
      registers += (i ? ", " : "") + name;
    }
    unsigned source = statement.addInput(address);
    unsigned condition = statement.addInput(predicate);
    if (count > 1)
      registers = "{" + registers + "}";
    return statement.emit(moves + "@$" + Twine(condition) + " ld.global." +
                          suffix + " " + registers + ", [$" + Twine(source) +
                          "+" + Twine(immediate) + "];");
  }

  /// 16 bytes a thread, or the same by fours where they are not aligned. Lanes
  /// exchange words in front of the first use: what is between does not wait
  /// for memory.
  static void loadQuads(FragmentLoadOp op, ConversionPatternRewriter &rewriter,
                        TileAccess &access, const Accesses &accesses,
                        Value lane) {
    Location loc = op.getLoc();
    auto type = cast<VectorType>(op.getResult().getType());
    const LinearLayout &layout = op.getFragment().getLayout();
    Type word = rewriter.getI32Type();
    struct Load {
      Value address, predicate;
      int64_t immediate;
    };
    SmallVector<Load> loads;
    for (const Quad &quad : accesses.quads) {
      LinearLayout::Basis offset = layout.getRegisterOffset(quad.front());
      Load &load = loads.emplace_back();
      Value first = access.getAddress(offset, load.immediate);
      load.address = addLane(rewriter, loc, first, lane, /*ofPair=*/true);
      load.predicate = access.getPredicate(offset, Value());
    }
    SmallVector<Type> types(4 * loads.size(), word);
    auto branch = scf::IfOp::create(rewriter, loc, types, accesses.isAligned,
                                    /*withElseRegion=*/true);
    for (bool isAligned : {true, false}) {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(isAligned ? branch.thenBlock()
                                                  : branch.elseBlock());
      SmallVector<Value> words;
      for (const Load &load : loads)
        for (int64_t i = 0; i < (isAligned ? 1 : 4); ++i)
          llvm::append_range(words, emit(rewriter, loc, load.address,
                                         load.immediate + 4 * i, load.predicate,
                                         isAligned ? "v4.b32" : "b32", word,
                                         isAligned ? 4 : 1));
      scf::YieldOp::create(rewriter, loc, words);
    }
    setInsertionPointToFirstUse(rewriter, op);
    SmallVector<Value> elements(types.size());
    for (auto [i, quad] : llvm::enumerate(accesses.quads)) {
      std::array<Value, 4> words;
      for (unsigned j = 0; j < 4; ++j)
        words[j] = branch.getResult(4 * i + j);
      words = exchangePair(rewriter, loc, lane, words);
      for (auto [number, value] : llvm::zip_equal(quad, words))
        elements[number] = arith::BitcastOp::create(
            rewriter, loc, type.getElementType(), value);
    }
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, type, elements);
  }

  static void setInsertionPointToFirstUse(OpBuilder &builder, Operation *op) {
    Operation *first = nullptr;
    for (Operation *user : op->getUsers()) {
      Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
      if (!first || (ancestor && ancestor->isBeforeInBlock(first)))
        first = ancestor;
    }
    if (first)
      builder.setInsertionPoint(first);
  }

  /// Splits a loaded register into its elements.
  static void append(SmallVectorImpl<Value> &elements, OpBuilder &builder,
                     Location loc, Value loaded, Type element, int64_t count) {
    int64_t bits = getStorageBits(element);
    Type type = builder.getIntegerType(bits);
    for (int64_t i = 0; i < count; ++i) {
      Value part = loaded;
      if (i != 0) {
        Value shift = arith::ConstantOp::create(
            builder, loc, builder.getIntegerAttr(loaded.getType(), i * bits));
        part = arith::ShRUIOp::create(builder, loc, part, shift);
      }
      if (part.getType() != type)
        part = arith::TruncIOp::create(builder, loc, type, part);
      if (element.isInteger(1))
        part = isNotZero(builder, loc, part);
      else if (type != element)
        part = arith::BitcastOp::create(builder, loc, element, part);
      elements.push_back(part);
    }
  }
};

/// Addresses and predicates element by element; what is the same for all is
/// computed once.
struct GatherPattern : KernelPattern<GatherOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(GatherOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<VectorType>(op.getResult().getType());
    Type element = type.getElementType();
    if (!element.isInteger(1) && !isSupportedElement(element))
      return op.emitOpError("expects elements of 1 bit, or 8 to 64, got ")
             << element;
    int64_t bytes = getStorageBits(element) / 8;
    Type wide = rewriter.getI64Type();
    Value zero = IntegerBuilder(rewriter, loc).constant(0);
    auto getBytes = [&](Value index, Value stride) -> Value {
      Value size = arith::ConstantOp::create(rewriter, loc,
                                             rewriter.getI64IntegerAttr(bytes));
      Value scaled = rewriter.createOrFold<arith::MulIOp>(loc, stride, size);
      return arith::MulIOp::create(
          rewriter, loc, arith::ExtSIOp::create(rewriter, loc, wide, index),
          scaled);
    };
    Value base =
        LLVM::PtrToIntOp::create(rewriter, loc, wide, adaptor.getPointer());
    Value allInside;
    auto isInside = [&](Value index, Value bound, Value others) -> Value {
      // One unsigned comparison: what is below 0 is beyond every bound.
      Value inside = arith::CmpIOp::create(
          rewriter, loc, arith::CmpIPredicate::ult, index, bound);
      return others ? arith::AndIOp::create(rewriter, loc, others, inside)
                          .getResult()
                    : inside;
    };
    struct Dimension {
      SmallVector<Value> indices;
      Value stride, bound;
    };
    SmallVector<Dimension> dims;
    for (auto [index, stride, bound] : llvm::zip(
             adaptor.getIndices(), adaptor.getStrides(), adaptor.getBounds())) {
      Value limit = rewriter.createOrFold<arith::MaxSIOp>(loc, bound, zero);
      if (isa<VectorType>(index.getType())) {
        ValueRange elements =
            vector::ToElementsOp::create(rewriter, loc, index).getElements();
        dims.push_back({llvm::to_vector_of<Value>(elements), stride, limit});
        continue;
      }
      base =
          arith::AddIOp::create(rewriter, loc, base, getBytes(index, stride));
      allInside = isInside(index, limit, allInside);
    }
    auto [loadedType, suffix] = getAccessType(rewriter, bytes);
    SmallVector<Value> elements;
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      Value address = base, predicate = allInside;
      for (const Dimension &dim : dims) {
        address = arith::AddIOp::create(rewriter, loc, address,
                                        getBytes(dim.indices[i], dim.stride));
        predicate = isInside(dim.indices[i], dim.bound, predicate);
      }
      InlineAsm statement(rewriter, loc);
      statement.addOutput(loadedType, /*early=*/true);
      statement.addInput(address);
      statement.addInput(predicate);
      std::string move =
          "mov.b" + std::to_string(loadedType.getIntOrFloatBitWidth());
      Value loaded =
          statement
              .emit(move + " $0, 0;\n@$2 ld.global." + suffix + " $0, [$1];")
              .front();
      FragmentLoadPattern::append(elements, rewriter, loc, loaded, element, 1);
    }
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, type, elements);
    return success();
  }
};

struct FragmentStorePattern : KernelPattern<FragmentStoreOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(FragmentStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type element = cast<VectorType>(op.getValue().getType()).getElementType();
    if (!isSupportedElement(element))
      return op.emitOpError("expects elements of 8 to 64 bits, got ")
             << element;
    const LinearLayout &layout = op.getFragment().getLayout();
    IntegerBuilder ints(rewriter, loc);
    TileAccess access(rewriter, loc, adaptor.getPointer(), element);
    ValueRange elements =
        vector::ToElementsOp::create(rewriter, loc, adaptor.getValue())
            .getElements();
    Value owner = info.getOwner(op, op.getFragment());
    Accesses accesses = prepareAccess(access, op, adaptor, info, ints,
                                      /*asksAlignment=*/!op.getAdd());
    // In front of a branch: what both arms use.
    SmallVector<Store> stores;
    for (auto [first, count] : accesses.list) {
      LinearLayout::Basis offset = layout.getRegisterOffset(first);
      Store &store = stores.emplace_back();
      store.elements = elements.slice(first, count);
      store.address = access.getAddress(offset, store.immediate);
      store.predicate = access.getPredicate(offset, owner);
    }
    int64_t bytes = access.getElementBytes();
    if (op.getAdd()) {
      for (const Store &store : stores)
        emitAdd(rewriter, loc, store);
    } else if (!accesses.isAligned) {
      for (const Store &store : stores)
        emit(rewriter, loc, store, 0, store.elements.size(), bytes);
    } else {
      auto branch = scf::IfOp::create(rewriter, loc, accesses.isAligned,
                                      /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(branch.thenBlock());
      Value lane = info.getOf(op).lane;
      for (const Quad &quad : accesses.quads)
        emitQuad(rewriter, loc, stores, quad, lane, accesses.areWords);
      for (const Store &store : stores)
        if (accesses.quads.empty())
          emit(rewriter, loc, store, 0, store.elements.size(), bytes);
      rewriter.setInsertionPointToStart(branch.elseBlock());
      for (const Store &store : stores)
        for (size_t i = 0; i < store.elements.size(); ++i)
          emit(rewriter, loc, store, i, 1, bytes);
    }
    rewriter.eraseOp(op);
    return success();
  }

  /// Elements that lie side by side, and where the first one goes.
  struct Store {
    ValueRange elements;
    Value address, predicate;
    int64_t immediate = 0;
  };

  /// Stores `count` of them from `first` on.
  static void emit(OpBuilder &builder, Location loc, const Store &store,
                   size_t first, size_t count, int64_t bytes) {
    auto [type, suffix] = getAccessType(builder, bytes * count);
    Value stored = join(builder, loc, store.elements.slice(first, count), type);
    int64_t immediate = store.immediate + first * bytes;
    emitPredicatedAsm(builder, loc, store.predicate,
                      "st.global." + suffix + " [$0+" + Twine(immediate) +
                          "], $1;",
                      {store.address, stored});
  }

  /// Stores 16 bytes of a row; `stores` are pairs in the order of registers.
  static void emitQuad(OpBuilder &builder, Location loc, ArrayRef<Store> stores,
                       const Quad &quad, Value lane, bool areWords) {
    Type word = builder.getI32Type();
    std::array<Value, 4> words;
    for (auto [value, number] : llvm::zip_equal(words, quad)) {
      ValueRange pair = stores[number / 2].elements;
      value =
          join(builder, loc, areWords ? pair.slice(number % 2, 1) : pair, word);
    }
    words = areWords ? exchangePair(builder, loc, lane, words)
                     : exchangeQuad(builder, loc, lane, words);
    const Store &first = stores[quad.front() / 2];
    Value address = addLane(builder, loc, first.address, lane, areWords);
    emitPredicatedAsm(builder, loc, first.predicate,
                      "st.global.v4.b32 [$0+" + Twine(first.immediate) +
                          "], {$1, $2, $3, $4};",
                      {address, words[0], words[1], words[2], words[3]});
  }

  /// Adds one element or two adjacent ones to memory. Two of f32 are one
  /// instruction.
  static void emitAdd(OpBuilder &builder, Location loc, const Store &store) {
    bool isFloat = store.elements.front().getType().isF32();
    if (!isFloat) {
      for (auto [i, element] : llvm::enumerate(store.elements))
        emitPredicatedAsm(builder, loc, store.predicate,
                          "red.global.add.u32 [$0+" +
                              Twine(store.immediate + 4 * i) + "], $1;",
                          {store.address, element});
      return;
    }
    bool isPair = store.elements.size() == 2;
    SmallVector<Value> operands = {store.address};
    llvm::append_range(operands, store.elements);
    emitPredicatedAsm(builder, loc, store.predicate,
                      Twine("red.global.add.") + (isPair ? "v2." : "") +
                          "f32 [$0+" + Twine(store.immediate) + "], " +
                          (isPair ? "{$1, $2};" : "$1;"),
                      operands);
  }

  /// One register of the given type with the elements, the first one lowest.
  static Value join(OpBuilder &builder, Location loc, ValueRange elements,
                    Type type) {
    Type element = elements.front().getType();
    int64_t bits = element.getIntOrFloatBitWidth();
    Value result;
    for (auto [i, value] : llvm::enumerate(elements)) {
      Value part = value;
      if (!element.isInteger(bits))
        part = arith::BitcastOp::create(builder, loc,
                                        builder.getIntegerType(bits), part);
      if (part.getType() != type)
        part = arith::ExtUIOp::create(builder, loc, type, part);
      if (i != 0) {
        Value shift = arith::ConstantOp::create(
            builder, loc, builder.getIntegerAttr(type, i * bits));
        part = arith::ShLIOp::create(builder, loc, part, shift);
        part = arith::OrIOp::create(builder, loc, result, part);
      }
      result = part;
    }
    return result;
  }
};

struct ScalarLoadPattern : KernelPattern<ScalarLoadOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(ScalarLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type element = op.getResult().getType();
    if (!element.isInteger(1) && !isSupportedElement(element))
      return op.emitOpError("expects an element of 1 bit, or 8 to 64, got ")
             << element;
    int64_t bytes = getStorageBits(element) / 8;
    Type integer = getIntegerType(rewriter, bytes);
    Value pointer =
        getElementAddress(rewriter, loc, adaptor.getPointer(),
                          adaptor.getIndices(), adaptor.getStrides(), integer);
    // The array is read-only during the launch: ld.global.nc, which may move
    // to the start of the kernel. Not if kernels in front still write.
    Value loaded = LLVM::LoadOp::create(
        rewriter, loc, integer, pointer, /*alignment=*/bytes,
        /*isVolatile=*/false, /*isNonTemporal=*/false,
        /*isInvariant=*/!info.waits());
    if (element.isInteger(1))
      loaded = isNotZero(rewriter, loc, loaded);
    else if (integer != element)
      loaded = arith::BitcastOp::create(rewriter, loc, element, loaded);
    rewriter.replaceOp(op, loaded);
    return success();
  }
};
} // namespace

void fa3::populateGlobalAccessPatterns(RewritePatternSet &patterns,
                                       const TypeConverter &converter,
                                       const KernelInfo &info) {
  patterns.add<FragmentLoadPattern, FragmentStorePattern, GatherPattern,
               ScalarLoadPattern>(converter, patterns.getContext(), info);
}
