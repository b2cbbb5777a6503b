//===- ListTilesKernels.cpp - kernels that list tiles by their steps ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Three kernels, as nothing reduces across warps and no CTA sees all tiles:
//
//   steps   the steps of loops of a tile, a CTA for each: scalar code, copied
//           from the kernel whose tiles they are.
//   ranks   the place of a tile in the order. A row of a tile of numbers is a
//           tile of the grid, columns are tiles, and those in front of it are
//           counted.
//   list    writes the entry of a tile to its place, a CTA for each.
//
// Numbers are f32, the type of reductions: whole, and exact up to 2^24.
//
//===----------------------------------------------------------------------===//

#include "GridNumbering.h"
#include "ListTiles.h"
#include "fa3/Dialect/Tile/IR/TileBuilder.h"
#include "fa3/Support/ContractNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

namespace {
class TileListKernels : TileBuilder {
public:
  explicit TileListKernels(TileList given)
      : TileBuilder(given.launch.getLoc(), OpBuilder(given.launch)),
        list(std::move(given)),
        module(list.kernel->getParentOfType<gpu::GPUModuleOp>()) {}

  Value build();

private:
  /// Elements of a tile that a CTA with one entry stores, of which all but the
  /// first few lie outside of the array; and tiles that are counted at a time.
  static constexpr int64_t kRows = kRowsPerReplica, kColumns = 2 * kRows;

  /// A kernel that takes arguments of the launch and `more` values of the host;
  /// `body` gets the latter and emits the grid.
  void launch(StringRef suffix, const llvm::SetVector<unsigned> &arguments,
              ValueRange more, function_ref<void(ValueRange)> body);
  /// A copy of scalar code in the kernel that is being built.
  void clone(const ScalarSlice &slice);
  Value toIntegers(Value indices) {
    auto type = cast<RankedTensorType>(indices.getType());
    return arith::IndexCastOp::create(
        b, tensor(type.getShape(), b.getI32Type()), indices);
  }

  Value countEntries(IRMapping &values);
  Value allocate(ArrayRef<int64_t> shape, Type element, StringRef name);
  /// With a further dimension of extent 1.
  Value widen(Value array);
  /// Values of the listed indices of a tile.
  void bindIndices(Value number);
  Value countSteps();
  void buildSteps();
  Value countInFront(Value own, Value firstRow, Value firstColumn, Value init,
                     Value array);
  void buildRanks();
  void buildEntries();

  TileList list;
  gpu::GPUModuleOp module;
  gpu::GPUFuncOp kernel;
  /// From the kernel whose tiles they are to the one that is being built.
  IRMapping values;
  /// The number of entries, and arrays, on the host.
  Value count, steps, ranks, entries;
};
} // namespace

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

void TileListKernels::launch(StringRef suffix,
                             const llvm::SetVector<unsigned> &arguments,
                             ValueRange more,
                             function_ref<void(ValueRange)> body) {
  SmallVector<Value> operands;
  for (unsigned number : arguments)
    operands.push_back(list.launch.getKernelArgs()[number]);
  llvm::append_range(operands, more);
  auto onHost = b.saveInsertionPoint();
  b.setInsertionPoint(list.kernel);
  kernel = createKernel(b, b.getLoc(), list.kernel.getName() + suffix,
                        ValueRange(operands).getTypes());
  SymbolTable(module).insert(kernel);
  values.clear();
  for (auto [place, number] : llvm::enumerate(arguments))
    values.map(list.kernel.getArgument(number), kernel.getArgument(place));
  b.setInsertionPoint(kernel.getBody().front().getTerminator());
  body(kernel.getArguments().drop_front(arguments.size()));
  b.restoreInsertionPoint(onHost);
  launchKernel(b, b.getLoc(), module, kernel, operands);
}

void TileListKernels::clone(const ScalarSlice &slice) {
  for (Operation *op : slice.ops)
    if (!values.contains(op->getResult(0)))
      b.clone(*op, values);
}

Value TileListKernels::countEntries(IRMapping &mapping) {
  SmallVector<Value> bounds;
  for (unsigned number : list.indices)
    bounds.push_back(mapping.lookup(list.grid.getUpperBounds()[number]));
  return product(b, bounds);
}

Value TileListKernels::allocate(ArrayRef<int64_t> shape, Type element,
                                StringRef name) {
  auto alloc =
      memref::AllocOp::create(b, MemRefType::get(shape, element), count);
  alloc->setAttr(kArgumentNameAttr,
                 b.getStringAttr(list.kernel.getName() + name));
  return alloc;
}

Value TileListKernels::widen(Value array) {
  auto type = cast<MemRefType>(array.getType());
  auto wide = MemRefType::get({ShapedType::kDynamic, 1}, type.getElementType());
  SmallVector<ReassociationIndices> parts = {{0, 1}};
  SmallVector<OpFoldResult> shape = {count, b.getIndexAttr(1)};
  return memref::ExpandShapeOp::create(b, wide, array, parts, shape);
}

void TileListKernels::bindIndices(Value number) {
  SmallVector<Value> bounds;
  SmallVector<unsigned> fastestFirst;
  for (auto [place, index] : llvm::enumerate(list.indices)) {
    bounds.push_back(values.lookup(list.grid.getUpperBounds()[index]));
    fastestFirst.push_back(place);
  }
  for (auto [index, value] :
       llvm::zip_equal(list.indices, decode(b, number, bounds, fastestFirst)))
    values.map(list.grid.getBody().getArgument(index), value);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Value TileListKernels::countSteps() {
  Value sum = index(0), zero = sum;
  for (scf::ForOp loop : list.loops) {
    Value length = arith::SubIOp::create(b, values.lookup(loop.getUpperBound()),
                                         values.lookup(loop.getLowerBound()));
    length = arith::MaxSIOp::create(b, length, zero);
    sum = arith::AddIOp::create(
        b, sum,
        arith::CeilDivSIOp::create(b, length, values.lookup(loop.getStep())));
  }
  return sum;
}

void TileListKernels::buildSteps() {
  ScalarSlice bounds, code;
  for (unsigned number : list.indices)
    bounds.add(list.grid.getUpperBounds()[number], list.grid);
  for (scf::ForOp loop : list.loops)
    for (Value value :
         {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
      code.add(value, list.grid);
  llvm::SetVector<unsigned> arguments = bounds.arguments;
  arguments.insert(code.arguments.begin(), code.arguments.end());
  launch("_steps", arguments, widen(steps), [&](ValueRange more) {
    Value target = more[0];
    clone(bounds);
    grid(countEntries(values), [&](ValueRange position) {
      Value number = position[0];
      bindIndices(number);
      clone(code);
      Value sum = scalarTile(countSteps(), tensor({kRows}, b.getIndexType()));
      sum = arith::SIToFPOp::create(b, tensor({kRows}, b.getF32Type()),
                                    toIntegers(sum));
      StoreOp::create(b, sum, target, ValueRange{number, index(0)});
    });
  });
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

Value TileListKernels::countInFront(Value own, Value firstRow,
                                    Value firstColumn, Value init,
                                    Value array) {
  using FloatPredicate = arith::CmpFPredicate;
  using Predicate = arith::CmpIPredicate;
  SmallVector<int64_t> shape = {kRows, kColumns};
  RankedTensorType numbers = tensor(shape, b.getIndexType()),
                   floats = tensor(shape, b.getF32Type());
  Value other = LoadOp::create(b, tensor({kColumns}, b.getF32Type()), array,
                               ValueRange{firstColumn});
  other = BroadcastOp::create(b, floats, other, 0);
  Value mine = BroadcastOp::create(b, floats, own, 1);
  Value row = CoordOp::create(b, numbers, 0, firstRow),
        column = CoordOp::create(b, numbers, 1, firstColumn);
  Value extent = memref::DimOp::create(b, array, 0);
  Value exists = arith::CmpIOp::create(b, Predicate::slt, column,
                                       scalarTile(extent, numbers));
  Value isBefore = arith::CmpIOp::create(b, Predicate::slt, column, row);
  isBefore = arith::AndIOp::create(
      b, isBefore, arith::CmpFOp::create(b, FloatPredicate::OEQ, other, mine));
  isBefore = arith::OrIOp::create(
      b, isBefore, arith::CmpFOp::create(b, FloatPredicate::OLT, other, mine));
  isBefore = arith::AndIOp::create(b, exists, isBefore);
  Value none = splat(floats, 0);
  Value ones = arith::SelectOp::create(b, isBefore, splat(floats, 1), none);
  return ReduceOp::create(b, cast<RankedTensorType>(init.getType()),
                          ReduceKind::add, ones, init, 1, IntegerAttr());
}

void TileListKernels::buildRanks() {
  launch("_ranks", {}, {steps, ranks}, [&](ValueRange more) {
    Value source = more[0], target = more[1];
    Value extent = memref::DimOp::create(b, source, 0);
    grid(blocksOf(extent, kRows), [&](ValueRange block) {
      RankedTensorType type = tensor({kRows}, b.getF32Type());
      Value firstRow = arith::MulIOp::create(b, block[0], index(kRows));
      Value own = LoadOp::create(b, type, source, ValueRange{firstRow});
      Value none = splat(type, 0), tiles = blocksOf(extent, kColumns);
      Value rank = loop(tiles, none, [&](Value number, Value sum) {
        Value column = arith::MulIOp::create(b, number, index(kColumns));
        return countInFront(own, firstRow, column, sum, source);
      });
      rank = arith::FPToSIOp::create(b, tensor({kRows}, b.getI32Type()), rank);
      StoreOp::create(b, rank, target, ValueRange{firstRow});
    });
  });
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

void TileListKernels::buildEntries() {
  ScalarSlice bounds, code;
  for (unsigned number : list.indices)
    bounds.add(list.grid.getUpperBounds()[number], list.grid);
  for (Value scalar : list.scalars)
    code.add(scalar, list.grid);
  llvm::SetVector<unsigned> arguments = bounds.arguments;
  arguments.insert(code.arguments.begin(), code.arguments.end());
  launch("_list", arguments, {ranks, entries}, [&](ValueRange more) {
    Value source = more[0], target = more[1];
    clone(bounds);
    grid(countEntries(values), [&](ValueRange position) {
      Value number = position[0];
      bindIndices(number);
      clone(code);
      SmallVector<Value> fields;
      for (unsigned position : list.indices)
        fields.push_back(
            values.lookup(list.grid.getBody().getArgument(position)));
      for (Value scalar : list.scalars)
        fields.push_back(values.lookup(scalar));
      RankedTensorType type = tensor({kRows}, b.getIndexType());
      Value place = CoordOp::create(b, type, 0, index(0)), entry;
      for (auto [at, field] : llvm::enumerate(fields)) {
        if (!field.getType().isIndex())
          field = arith::IndexCastOp::create(b, b.getIndexType(), field);
        Value all = scalarTile(field, type);
        Value isHere = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, place,
                                             scalarTile(index(at), type));
        entry = entry
                    ? arith::SelectOp::create(b, isHere, all, entry).getResult()
                    : all;
      }
      Value rank = ScalarLoadOp::create(b, b.getI32Type(), source, number);
      rank = arith::IndexCastOp::create(b, b.getIndexType(), rank);
      Value first = index(0);
      StoreOp::create(b, toIntegers(entry), target, ValueRange{rank, first});
    });
  });
}

Value TileListKernels::build() {
  // The host has the bounds of the grid, which are arithmetic on arguments.
  IRMapping onHost;
  for (auto [argument, operand] :
       llvm::zip_equal(list.kernel.getArguments(), list.launch.getKernelArgs()))
    onHost.map(argument, operand);
  ScalarSlice bounds;
  for (unsigned number : list.indices)
    bounds.add(list.grid.getUpperBounds()[number], list.grid);
  for (Operation *op : bounds.ops)
    b.clone(*op, onHost);
  count = countEntries(onHost);
  Value fits = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, count,
                                     index(kMostListedTiles));
  cf::AssertOp::create(b, fits,
                       b.getStringAttr("there are more than " +
                                       Twine(kMostListedTiles) +
                                       " tiles to list"));
  constexpr int64_t kDynamic = ShapedType::kDynamic;
  steps = allocate({kDynamic}, b.getF32Type(), "_steps");
  ranks = allocate({kDynamic}, b.getI32Type(), "_ranks");
  entries = allocate({kDynamic, list.getNumFields()}, b.getI32Type(), "_list");
  buildSteps();
  buildRanks();
  buildEntries();
  return entries;
}

Value fa3::tile::buildTileList(const TileList &list) {
  return TileListKernels(list).build();
}
