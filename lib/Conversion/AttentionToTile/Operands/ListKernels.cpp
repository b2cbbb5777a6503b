//===- ListKernels.cpp - kernels of attention.list_blocks -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Three kernels, as nothing reduces across warps and no CTA sees all of a list:
//
//   pairs      how many pairs of two blocks the mask keeps, in parts: a row of
//              a tile is a block of keys, a column one of its keys, and a loop
//              goes over queries, which are the same for the whole tile. So a
//              row of the sum is a block.
//   positions  where a block is in its list: a row is a block of keys again,
//              columns are blocks, and those in front of it are counted.
//   lists      a row is an entry of a list, columns are blocks, and the entry
//              is the block that has this position.
//
// Numbers are f32, the type of reductions: whole, and exact up to 2^24.
//===----------------------------------------------------------------------===//

#include "ListKernels.h"
#include "../Emit/KernelMath.h"
#include "../Emit/LaunchArguments.h"
#include "../Emit/ScalarRegion.h"
#include "fa3/Dialect/Attention/Contract/Captures.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Tuning/TileChoice.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa3;
using attention::HostBlockLists;
using attention::HostFunction;
using attention::ListBlocksOp;

namespace {
class ListKernels : KernelMath {
public:
  ListKernels(OpBuilder &onHost, HostFunction &host, HostBlockLists &lists,
              gpu::GPUModuleOp module, std::string prefix)
      : KernelMath(lists.op->getLoc(), onHost), lists(lists), op(lists.op),
        captures(attention::collectCaptures(op.getOperation(), host.values)),
        module(module), prefix(std::move(prefix)), queries(op.getSizes()[0]),
        keys(op.getSizes()[1]) {
    keysPerPart = keys % kKeys ? kKeys / 2 : kKeys;
    // Where batches and heads share lists there is little else to do at once.
    auto type = cast<RankedTensorType>(op.getCount().getType());
    isShared = type.getDimSize(0) == 1 && type.getDimSize(1) == 1;
    queryParts = isShared && queries % kQueries == 0 ? queries / kQueries : 1;
  }

  /// The number of kernels.
  FailureOr<int64_t> build();

private:
  /// The lists: blocks of which some pairs are visible, and all.
  enum List : int64_t { Masked, Full };
  /// Blocks of keys of a tile, and those that a step of the second and third
  /// kernel looks at.
  static constexpr int64_t kRows = kReplicaRows, kColumns = kRows / 2;
  /// Partial sums of a row that a thread keeps apart.
  static constexpr int64_t kPartialSums = 8;
  /// Keys and queries of a part.
  static constexpr int64_t kKeys = 32, kQueries = 64;

  /// A kernel on host values; `body` emits its grid.
  void launch(StringRef name, ArrayRef<Value> hostValues,
              function_ref<void()> body);
  Value inKernel(Value hostValue) {
    return arguments.lookup(b, kernel, hostValue);
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value times(Value x, int64_t y) {
    return arith::MulIOp::create(b, x, index(y));
  }
  RankedTensorType rowType() { return tensor({kRows}, b.getF32Type()); }
  RankedTensorType squareType() {
    return tensor({kRows, kColumns}, b.getF32Type());
  }
  /// Rows, or elements, of `size` from the first one on, at most what is left
  /// of `length`.
  Value getLeft(Value length, Value first, int64_t size);
  Value allocate(StringRef name, int64_t parts);
  Value viewCount(Value count);

  LogicalResult limitKeyBlocks();
  void buildPairs();
  Value countPairs(ValueRange position, Value firstQuery, Value firstKey);
  void buildPositions();
  /// Whether `size` blocks from the first one on are in the lists.
  std::pair<Value, Value> loadMembers(ValueRange at, Value firstBlock,
                                      int64_t size, Value rowsOfBlock);
  Value countBefore(Value isMember, Value firstRow, Value firstColumn,
                    Value init);
  void buildLists();
  /// The entries of one list that are among the columns, and how many blocks
  /// are.
  SmallVector<Value> findEntries(ValueRange at, Value firstColumn, List list,
                                 Value entry, ValueRange sums);

  HostBlockLists &lists;
  ListBlocksOp op;
  attention::Captures captures;
  gpu::GPUModuleOp module;
  std::string prefix;
  int64_t queries, keys, keysPerPart, queryParts;
  bool isShared;
  LaunchArguments arguments;
  gpu::GPUFuncOp kernel;
  /// (batch, head, block of queries, part, block of keys): pairs, and positions
  /// in the two lists, -1 for none.
  Value pairs, positions;
  int64_t count = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

void ListKernels::launch(StringRef name, ArrayRef<Value> hostValues,
                         function_ref<void()> body) {
  arguments = LaunchArguments();
  for (Value value : hostValues)
    arguments.add(value);
  auto onHost = b.saveInsertionPoint();
  kernel = createKernel(module, b.getLoc(), prefix + "_" + name,
                        arguments.getTypes());
  b.setInsertionPoint(kernel.getBody().front().getTerminator());
  body();
  b.restoreInsertionPoint(onHost);
  launchKernel(b, b.getLoc(), module, kernel, arguments.get());
  ++count;
}

Value ListKernels::getLeft(Value length, Value first, int64_t size) {
  Value left = arith::SubIOp::create(b, length, first);
  left = arith::MinSIOp::create(b, left, index(size));
  return arith::MaxSIOp::create(b, left, index(0));
}

Value ListKernels::allocate(StringRef name, int64_t parts) {
  auto type = cast<RankedTensorType>(op.getIndex().getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + 3, parts);
  return attention::allocateWorkspace(b, tensor(shape, b.getF32Type()),
                                      {lists.batch, lists.heads,
                                       lists.queryBlocks, index(parts),
                                       lists.keyBlocks},
                                      name);
}

/// With a further dimension of extent 1, outside of which all rows of a tile
/// but the first are.
Value ListKernels::viewCount(Value count) {
  auto type = cast<MemRefType>(count.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.push_back(1);
  SmallVector<ReassociationIndices> parts = {{0}, {1}, {2, 3}};
  FailureOr<MemRefType> expanded =
      memref::ExpandShapeOp::computeExpandedType(type, shape, parts);
  assert(succeeded(expanded) && "the last dimension is contiguous");
  return memref::ExpandShapeOp::create(b, *expanded, count, parts);
}

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

Value ListKernels::countPairs(ValueRange position, Value firstQuery,
                              Value firstKey) {
  using Expander = ScalarRegionExpander;
  Value batch = position[0], head = position[1], firstBlock = position[2];
  RankedTensorType type = tensor({kRows, keysPerPart}, b.getIndexType()),
                   f32Type = tensor({kRows, keysPerPart}, b.getF32Type()),
                   sums = tensor({kRows, kPartialSums}, b.getF32Type());
  Value block = tile::CoordOp::create(b, type, 0, firstBlock);
  Value column = tile::CoordOp::create(b, type, 1, firstKey);
  Value key = add(
      arith::MulIOp::create(b, block, scalarTile(index(keys), type)), column);
  Value keyLength = inKernel(lists.keys), queryLength = inKernel(lists.queries);
  Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, key,
                                       scalarTile(keyLength, type));
  IRMapping inMask;
  for (auto [value, hostValue] : captures)
    inMask.map(value, inKernel(hostValue));
  int64_t perPart = queries / queryParts;
  Value total =
      loop(getLeft(queryLength, firstQuery, perPart), splat(sums, 0),
           [&](Value step, ValueRange before) -> SmallVector<Value> {
             Expander expander(b, kRows, keysPerPart);
             expander.bindLengths(queryLength, keyLength);
             for (auto [tensor, memref] : llvm::zip(op.getAux(), lists.aux))
               expander.bindAux(tensor, inKernel(memref));
             BlockPlace place{batch,
                              {head, Expander::Uniform},
                              {add(firstQuery, step), Expander::Uniform},
                              {key, Expander::Both}};
             bindPlace(expander, op.getMaskMod(), place, inMask);
             Expander::Entry keep = expander.expand(op.getMaskMod());
             Value isKept = arith::AndIOp::create(
                 b, exists, expander.lift(b.getLoc(), keep, Expander::Both));
             Value none = splat(f32Type, 0), one = splat(f32Type, 1);
             Value ones = arith::SelectOp::create(b, isKept, one, none);
             Value sum = tile::ReduceOp::create(
                 b, sums, tile::ReduceKind::add, ones, before[0], 1,
                 b.getI64IntegerAttr(kPartialSums));
             return {sum};
           })
          .front();
  return tile::ReduceOp::create(b, rowType(), tile::ReduceKind::add, total,
                                splat(rowType(), 0), 1, IntegerAttr());
}

void ListKernels::buildPairs() {
  SmallVector<Value> hostValues = {pairs, lists.queries, lists.keys};
  llvm::append_range(hostValues, lists.aux);
  llvm::append_range(hostValues, llvm::make_second_range(captures));
  launch("pairs", hostValues, [&] {
    Value target = inKernel(pairs);
    int64_t keyParts = keys / keysPerPart;
    grid({blocksOf(dim(target, 4), kRows), index(keyParts * queryParts),
          dim(target, 2), dim(target, 1), dim(target, 0)},
         [&](ValueRange position) {
           Value firstBlock = times(position[0], kRows), part = position[1];
           Value ofKeys = arith::RemUIOp::create(b, part, index(keyParts)),
                 ofQueries = arith::DivUIOp::create(b, part, index(keyParts));
           Value ofPart = times(ofQueries, queries / queryParts);
           Value firstQuery = add(times(position[2], queries), ofPart);
           Value total = countPairs({position[4], position[3], firstBlock},
                                    firstQuery, times(ofKeys, keysPerPart));
           tile::StoreOp::create(b, total, target,
                                 ValueRange{position[4], position[3],
                                            position[2], part, firstBlock});
         });
  });
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

std::pair<Value, Value> ListKernels::loadMembers(ValueRange at,
                                                 Value firstBlock, int64_t size,
                                                 Value rowsOfBlock) {
  RankedTensorType f32Type = tensor({size}, b.getF32Type());
  Value source = inKernel(pairs);
  Value none = splat(f32Type, 0);
  Value visible =
      loop(index(keys / keysPerPart * queryParts), none,
           [&](Value part, ValueRange before) -> SmallVector<Value> {
             Value own = tile::LoadOp::create(
                 b, f32Type, source,
                 ValueRange{at[0], at[1], at[2], part, firstBlock});
             return {arith::AddFOp::create(b, before[0], own)};
           })
          .front();
  // All pairs: the queries that there are times the keys that there are.
  RankedTensorType type = tensor({size}, b.getIndexType());
  Value block = tile::CoordOp::create(b, type, 0, firstBlock);
  Value width = scalarTile(index(keys), type);
  Value first = arith::MulIOp::create(b, block, width);
  Value left =
      arith::SubIOp::create(b, scalarTile(inKernel(lists.keys), type), first);
  left = arith::MinSIOp::create(b, left, width);
  Value all = arith::MulIOp::create(b, left, scalarTile(rowsOfBlock, type));
  RankedTensorType integers = tensor({size}, b.getI32Type());
  all = arith::SIToFPOp::create(b, f32Type,
                                arith::IndexCastOp::create(b, integers, all));
  using Predicate = arith::CmpFPredicate;
  Value isSome =
      arith::CmpFOp::create(b, Predicate::OGT, visible, splat(f32Type, 0));
  Value isAll = arith::CmpFOp::create(b, Predicate::OGE, visible, all),
        isCut = arith::CmpFOp::create(b, Predicate::OLT, visible, all);
  return {arith::AndIOp::create(b, isSome, isCut),
          arith::AndIOp::create(b, isSome, isAll)};
}

Value ListKernels::countBefore(Value isMember, Value firstRow,
                               Value firstColumn, Value init) {
  RankedTensorType type = tensor({kRows, kColumns}, b.getIndexType());
  Value row = tile::CoordOp::create(b, type, 0, firstRow);
  Value isBefore = arith::CmpIOp::create(
      b, arith::CmpIPredicate::slt,
      tile::CoordOp::create(b, type, 1, firstColumn), row);
  Value isCounted = arith::AndIOp::create(
      b, isBefore,
      tile::BroadcastOp::create(b, tensor(type.getShape(), b.getI1Type()),
                                isMember, 0));
  Value none = splat(squareType(), 0);
  Value ones =
      arith::SelectOp::create(b, isCounted, splat(squareType(), 1), none);
  return tile::ReduceOp::create(b, rowType(), tile::ReduceKind::add, ones, init,
                                1, IntegerAttr());
}

void ListKernels::buildPositions() {
  launch("positions", {pairs, positions, lists.queries, lists.keys}, [&] {
    Value target = inKernel(positions);
    grid({blocksOf(dim(target, 4), kRows), dim(target, 2), dim(target, 1),
          dim(target, 0)},
         [&](ValueRange position) {
           SmallVector<Value> at = {position[3], position[2], position[1]};
           Value firstRow = times(position[0], kRows);
           Value firstQuery = times(position[1], queries);
           Value rowsOfBlock =
               getLeft(inKernel(lists.queries), firstQuery, queries);
           Value zero = splat(rowType(), 0);
           // Blocks up to those of the rows.
           SmallVector<Value> before = loop(
               blocksOf(add(firstRow, index(kRows)), kColumns), {zero, zero},
               [&](Value step, ValueRange sums) -> SmallVector<Value> {
                 Value column = times(step, kColumns);
                 auto [masked, full] =
                     loadMembers(at, column, kColumns, rowsOfBlock);
                 return {countBefore(masked, firstRow, column, sums[0]),
                         countBefore(full, firstRow, column, sums[1])};
               });
           auto [masked, full] = loadMembers(at, firstRow, kRows, rowsOfBlock);
           for (auto [list, isMember] :
                {std::pair(Masked, masked), {Full, full}}) {
             Value place = arith::SelectOp::create(b, isMember, before[list],
                                                   splat(rowType(), -1));
             tile::StoreOp::create(
                 b, place, target,
                 ValueRange{at[0], at[1], at[2], index(list), firstRow});
           }
         });
  });
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

SmallVector<Value> ListKernels::findEntries(ValueRange at, Value firstColumn,
                                            List list, Value entry,
                                            ValueRange sums) {
  RankedTensorType type = squareType(),
                   numbers = tensor(type.getShape(), b.getIndexType()),
                   integers = tensor(type.getShape(), b.getI32Type());
  Value source = inKernel(positions);
  Value place = tile::LoadOp::create(
      b, tensor({kColumns}, b.getF32Type()), source,
      ValueRange{at[0], at[1], at[2], index(list), firstColumn});
  place = tile::BroadcastOp::create(b, type, place, 0);
  Value block = tile::CoordOp::create(b, numbers, 1, firstColumn);
  Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, block,
                                       scalarTile(dim(source, 4), numbers));
  Value number = arith::SIToFPOp::create(
      b, type, arith::IndexCastOp::create(b, integers, block));
  auto whereHolds = [&](arith::CmpFPredicate predicate, Value other,
                        Value value) -> Value {
    Value holds = arith::AndIOp::create(
        b, exists, arith::CmpFOp::create(b, predicate, place, other));
    return arith::SelectOp::create(b, holds, value, splat(type, 0));
  };
  Value found = whereHolds(arith::CmpFPredicate::OEQ, entry, number);
  Value one = splat(type, 1), none = splat(type, 0);
  Value isMember = whereHolds(arith::CmpFPredicate::OGE, none, one);
  return {tile::ReduceOp::create(b, rowType(), tile::ReduceKind::max, found,
                                 sums[0], 1, IntegerAttr()),
          tile::ReduceOp::create(b, rowType(), tile::ReduceKind::add, isMember,
                                 sums[1], 1, IntegerAttr())};
}

void ListKernels::buildLists() {
  Value counts[] = {viewCount(lists.count), viewCount(lists.fullCount)},
        indices[] = {lists.index, lists.fullIndex};
  launch(
      "lists", {positions, counts[0], counts[1], indices[0], indices[1]}, [&] {
        Value source = inKernel(positions);
        grid({blocksOf(dim(source, 4), kRows), dim(source, 2), dim(source, 1),
              dim(source, 0)},
             [&](ValueRange position) {
               SmallVector<Value> at = {position[3], position[2], position[1]};
               Value first = times(position[0], kRows);
               RankedTensorType type = squareType(),
                                integers =
                                    tensor(type.getShape(), b.getI32Type());
               Value entry = tile::CoordOp::create(
                   b, tensor(type.getShape(), b.getIndexType()), 0, first);
               entry = arith::SIToFPOp::create(
                   b, type, arith::IndexCastOp::create(b, integers, entry));
               Value zero = splat(rowType(), 0);
               SmallVector<Value> sums = loop(
                   blocksOf(dim(source, 4), kColumns), {zero, zero, zero, zero},
                   [&](Value step, ValueRange sums) {
                     Value column = times(step, kColumns);
                     SmallVector<Value> next = findEntries(
                         at, column, Masked, entry, sums.take_front(2));
                     next.append(findEntries(at, column, Full, entry,
                                             sums.drop_front(2)));
                     return next;
                   });
               RankedTensorType result = tensor({kRows}, b.getI32Type());
               for (int64_t list : {Masked, Full}) {
                 auto store = [&](Value value, Value target) {
                   value = arith::FPToSIOp::create(b, result, value);
                   tile::StoreOp::create(
                       b, value, inKernel(target),
                       ValueRange{at[0], at[1], at[2], first});
                 };
                 store(sums[2 * list], indices[list]);
                 store(sums[2 * list + 1], counts[list]);
               }
             });
      });
}

/// Refuses more blocks of keys than f32 counts, here or at the launch.
LogicalResult ListKernels::limitKeyBlocks() {
  constexpr int64_t kMost = int64_t(1) << 24;
  std::optional<int64_t> number = getConstantIntValue(lists.keyBlocks);
  if (number && *number > kMost)
    return op.emitOpError("has lists of ")
           << *number << " blocks of keys, expects at most " << kMost
           << ", which kernels count exactly";
  if (number)
    return success();
  Value fits = arith::CmpIOp::create(b, arith::CmpIPredicate::sle,
                                     lists.keyBlocks, index(kMost));
  cf::AssertOp::create(b, fits,
                       b.getStringAttr("there are more than " + Twine(kMost) +
                                       " blocks of keys to list"));
  return success();
}

FailureOr<int64_t> ListKernels::build() {
  if (failed(limitKeyBlocks()))
    return failure();
  pairs = allocate("pairs", keys / keysPerPart * queryParts);
  positions = allocate("positions", 2);
  buildPairs();
  buildPositions();
  buildLists();
  return count;
}

FailureOr<int64_t> fa3::buildListKernels(HostFunction &host,
                                         gpu::GPUModuleOp module) {
  int64_t count = 0;
  for (auto [number, lists] : llvm::enumerate(host.blockLists)) {
    OpBuilder onHost = host.getBuilder();
    std::string prefix = host.function.getName().str();
    if (number)
      prefix += "_" + std::to_string(number);
    FailureOr<int64_t> added =
        ListKernels(onHost, host, lists, module, prefix).build();
    if (failed(added))
      return failure();
    count += *added;
  }
  return count;
}
