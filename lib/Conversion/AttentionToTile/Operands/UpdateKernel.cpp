//===- UpdateKernel.cpp - kernel of rotary and append ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Rows of a sequence may be anywhere, so a tile is one row of up to 64 heads:
// heads lie in steps of a stride, whatever the place. One grid goes over the
// tensors: tile number n of a row belongs to the tensor whose range n is in.
//
//===----------------------------------------------------------------------===//

#include "UpdateKernel.h"
#include "../Emit/KernelMath.h"
#include "../Emit/LaunchArguments.h"
#include "../Emit/ScalarRegion.h"
#include "fa3/Dialect/Attention/Contract/Captures.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Tuning/TileChoice.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3;
using attention::AppendOp;
using attention::HostFunction;
using attention::HostUpdate;
using attention::RotaryOp;

namespace {
/// Columns of a tile in registers, at most: of what is copied, and of halves of
/// pairs, of which several are live.
constexpr int64_t kCopiedColumns = 128, kTurnedPairs = 64;

/// An array in two views: (.., row, head, element) and, for pairs that lie side
/// by side, (.., row, 2, head, pair).
struct Views {
  Value plain, pairs;
};

class UpdateKernel : KernelMath {
public:
  UpdateKernel(OpBuilder &onHost, HostFunction &host)
      : KernelMath(host.updates.front().getOperation()->getLoc(), onHost),
        host(host) {}

  LogicalResult build(gpu::GPUModuleOp module);

private:
  /// One update: views on the host, and in the kernel.
  struct Job {
    const HostUpdate *update;
    Views source, target;
    Value scales; ///< (batch, 1, head)
  };
  /// The rows of a tile, and where they go.
  struct Tile {
    SmallVector<Value> from, to;
    Value sourceHead, targetHead;
    Value units; ///< of each row, for a cache of 8 bits
  };

  LogicalResult verify();
  Views view(const HostUpdate &update, Value array);
  Value viewScales(const HostUpdate &update);
  void addArguments();
  void collectCaptures();
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value inKernel(Value hostValue) {
    return arguments.lookup(b, kernel, hostValue);
  }

  void buildGrid();
  void buildJob(const Job &job, Value row, Value block, Value batch,
                Value isMine);
  /// The scales of the heads of a tile.
  Value loadUnits(const Job &job, Value batch, Value head);
  /// Elements in units, in an 8-bit format; beyond its largest number that one.
  Value scale(Value part, Value units, Type format);
  void copy(const Job &job, const Tile &tile, int64_t column, int64_t width);
  void turn(const Job &job, const Tile &tile, Value angle, int64_t pair,
            int64_t width);
  /// Where rows of a tile of one half of the pairs are.
  SmallVector<Value> getHalf(const Job &job, ArrayRef<Value> place, Value head,
                             int64_t half, int64_t pair);
  Value getPosition(Value first, Value batch, Value row);
  SmallVector<Value> getPlace(const Job &job, Value batch, Value key);

  HostFunction &host;
  SmallVector<Job> jobs;
  LaunchArguments arguments;
  gpu::GPUFuncOp kernel;
  attention::Captures captures;
};
} // namespace

/// The largest width up to `most` that divides `columns`, in steps of 8.
static int64_t getWidth(int64_t columns, int64_t most) {
  int64_t width = std::min(columns, most);
  while (columns % width)
    width -= 8;
  return width;
}

LogicalResult UpdateKernel::verify() {
  for (const HostUpdate &update : host.updates) {
    AppendOp op = update.append;
    Region *place = op ? op.findPlace() : nullptr;
    if (!place)
      continue;
    Value head = place->getArgument(1);
    for (OpOperand &use : head.getUses())
      if (use.getOwner() != place->front().getTerminator() ||
          use.getOperandNumber() + 2 != use.getOwner()->getNumOperands()) {
        InFlightDiagnostic diagnostic =
            op.emitOpError("expects a place that is the same for all heads");
        diagnostic.attachNote(use.getOwner()->getLoc())
            << "the head is used here";
        return diagnostic;
      }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// On the host
//===----------------------------------------------------------------------===//

Views UpdateKernel::view(const HostUpdate &update, Value array) {
  auto transpose = [&](Value value, unsigned first, unsigned second) -> Value {
    auto order = llvm::to_vector(
        llvm::seq<unsigned>(0, cast<MemRefType>(value.getType()).getRank()));
    std::swap(order[first], order[second]);
    AffineMap map = AffineMap::getPermutationMap(order, b.getContext());
    return memref::TransposeOp::create(b, value, AffineMapAttr::get(map));
  };
  auto type = cast<MemRefType>(array.getType());
  unsigned rank = type.getRank();
  Views views;
  views.plain = transpose(array, rank - 3, rank - 2);
  RotaryOp rotary = update.rotary;
  if (!rotary || !rotary.getInterleaved())
    return views;
  type = cast<MemRefType>(views.plain.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.back() /= 2;
  shape.push_back(2);
  SmallVector<ReassociationIndices> parts;
  for (int64_t axis = 0; axis < rank; ++axis)
    parts.push_back({axis});
  parts.back().push_back(rank);
  FailureOr<MemRefType> expanded =
      memref::ExpandShapeOp::computeExpandedType(type, shape, parts);
  assert(succeeded(expanded) && "the last dimension is contiguous");
  // (.., row, head, pair, 2), the last one in front of the head.
  Value pairs = memref::ExpandShapeOp::create(b, *expanded, views.plain, parts);
  auto order = llvm::to_vector(llvm::seq<unsigned>(0, rank - 2));
  order.append({rank, rank - 2, rank - 1});
  AffineMap map = AffineMap::getPermutationMap(order, b.getContext());
  views.pairs = memref::TransposeOp::create(b, pairs, AffineMapAttr::get(map));
  return views;
}

Value UpdateKernel::viewScales(const HostUpdate &update) {
  if (!update.scales)
    return {};
  AffineMap map =
      AffineMap::getPermutationMap(ArrayRef<int64_t>{0, 2, 1}, b.getContext());
  return memref::TransposeOp::create(b, update.scales, AffineMapAttr::get(map));
}

void UpdateKernel::collectCaptures() {
  SmallVector<Operation *> appends;
  for (const HostUpdate &update : host.updates)
    if (update.append)
      appends.push_back(update.append);
  captures = attention::collectCaptures(appends, host.values);
}

void UpdateKernel::addArguments() {
  for (Job &job : jobs) {
    const HostUpdate &update = *job.update;
    for (Value value : {job.source.plain, job.source.pairs, job.target.plain,
                        job.target.pairs, job.scales, update.cos, update.sin,
                        update.angle, update.first})
      arguments.add(value);
    for (Value value : update.aux)
      arguments.add(value);
  }
  for (auto [value, hostValue] : captures)
    arguments.add(hostValue);
}

//===----------------------------------------------------------------------===//
// In the kernel
//===----------------------------------------------------------------------===//

Value UpdateKernel::getPosition(Value first, Value batch, Value row) {
  Value array = inKernel(first);
  Value number = tile::ScalarLoadOp::create(b, b.getI32Type(), array, batch);
  return add(arith::IndexCastOp::create(b, b.getIndexType(), number), row);
}

/// Where a key is, without head and element.
SmallVector<Value> UpdateKernel::getPlace(const Job &job, Value batch,
                                          Value key) {
  AppendOp op = job.update->append;
  if (!op.findPlace())
    return {batch, key};
  ScalarRegionExpander expander(b, kReplicaRows, kReplicaRows);
  Region &region = *op.findPlace();
  Value given[] = {batch, index(0), key};
  for (auto [from, to] : llvm::zip_equal(region.getArguments(), given))
    expander.bind(from, {to, ScalarRegionExpander::Uniform});
  for (auto [value, hostValue] : captures)
    expander.bind(value, {inKernel(hostValue), ScalarRegionExpander::Uniform});
  for (auto [tensor, memref] : llvm::zip(op.getAux(), job.update->aux))
    expander.bindAux(tensor, inKernel(memref));
  expander.expandOperations(region);
  SmallVector<Value> place;
  ValueRange yielded = region.front().getTerminator()->getOperands();
  for (auto [number, value] : llvm::enumerate(yielded))
    if (number + 2 != yielded.size())
      place.push_back(expander.get(value).value);
  return place;
}

static SmallVector<Value> append(ArrayRef<Value> place,
                                 std::initializer_list<Value> more) {
  SmallVector<Value> at(place);
  at.append(more);
  return at;
}

Value UpdateKernel::loadUnits(const Job &job, Value batch, Value head) {
  Value scales = inKernel(job.scales);
  auto type = cast<MemRefType>(scales.getType());
  if (type.getDimSize(0) == 1)
    batch = index(0);
  RankedTensorType row = tensor({kReplicaRows}, b.getF32Type());
  if (type.getDimSize(2) != 1)
    return tile::LoadOp::create(b, row, scales,
                                ValueRange{batch, index(0), head});
  Value one = tile::ScalarLoadOp::create(b, b.getF32Type(), scales,
                                         ValueRange{batch, index(0), index(0)});
  return tensor::SplatOp::create(b, row, one);
}

Value UpdateKernel::scale(Value part, Value units, Type format) {
  auto type = cast<RankedTensorType>(part.getType()).clone(b.getF32Type());
  Value wide = arith::ExtFOp::create(b, type, part);
  Value unit = tile::BroadcastOp::create(b, type, units, 1);
  Value scaled = arith::DivFOp::create(b, wide, unit);
  return arith::TruncFOp::create(b, type.clone(format), scaled);
}

void UpdateKernel::copy(const Job &job, const Tile &tile, int64_t column,
                        int64_t width) {
  Value source = inKernel(job.source.plain),
        target = inKernel(job.target.plain);
  Type element = cast<MemRefType>(source.getType()).getElementType();
  Value part =
      tile::LoadOp::create(b, tensor({kReplicaRows, width}, element), source,
                           append(tile.from, {tile.sourceHead, index(column)}));
  if (tile.units)
    part = scale(part, tile.units,
                 cast<MemRefType>(target.getType()).getElementType());
  tile::StoreOp::create(b, part, target,
                        append(tile.to, {tile.targetHead, index(column)}));
}

SmallVector<Value> UpdateKernel::getHalf(const Job &job, ArrayRef<Value> place,
                                         Value head, int64_t half,
                                         int64_t pair) {
  RotaryOp rotary = job.update->rotary;
  if (rotary.getInterleaved())
    return append(place, {index(half), head, index(pair)});
  return append(place, {head, index(half * rotary.getPairs() + pair)});
}

void UpdateKernel::turn(const Job &job, const Tile &tile, Value angle,
                        int64_t pair, int64_t width) {
  const HostUpdate &update = *job.update;
  RotaryOp rotary = update.rotary;
  bool isInterleaved = rotary.getInterleaved();
  Value source = inKernel(isInterleaved ? job.source.pairs : job.source.plain),
        target = inKernel(isInterleaved ? job.target.pairs : job.target.plain);
  Type element = cast<MemRefType>(source.getType()).getElementType();
  RankedTensorType type = tensor({kReplicaRows, width}, b.getF32Type());
  Value x[2], factors[2];
  for (int64_t half : {0, 1}) {
    Value part = tile::LoadOp::create(
        b, tensor(type.getShape(), element), source,
        getHalf(job, tile.from, tile.sourceHead, half, pair));
    x[half] = arith::ExtFOp::create(b, type, part);
  }
  Value tables[] = {update.cos, update.sin};
  for (auto [factor, given] : llvm::zip_equal(factors, tables)) {
    Value table = inKernel(given);
    Type own = cast<MemRefType>(table.getType()).getElementType();
    Value row = tile::LoadOp::create(b, tensor({width}, own), table,
                                     ValueRange{angle, index(pair)});
    if (!own.isF32())
      row = arith::ExtFOp::create(b, tensor({width}, b.getF32Type()), row);
    factor = tile::BroadcastOp::create(b, type, row, 0);
  }
  // Without flags: every operation is rounded, as the definition says.
  auto product = [&](Value lhs, Value rhs) {
    return arith::MulFOp::create(b, lhs, rhs);
  };
  auto sines = [&](unsigned i) { return product(x[i], factors[1]); };
  auto cosines = [&](unsigned i) { return product(x[i], factors[0]); };
  Value subtracted = sines(1), minuend = cosines(0);
  Value less = arith::SubFOp::create(b, minuend, subtracted);
  Value added = sines(0), first = cosines(1);
  Value turned[] = {less, arith::AddFOp::create(b, first, added)};
  for (int64_t half : {0, 1}) {
    SmallVector<Value> at = getHalf(job, tile.to, tile.targetHead, half, pair);
    Value narrow = arith::TruncFOp::create(b, tensor(type.getShape(), element),
                                           turned[half]);
    tile::StoreOp::create(b, narrow, target, at);
  }
}

void UpdateKernel::buildJob(const Job &job, Value row, Value block, Value batch,
                            Value isMine) {
  const HostUpdate &update = *job.update;
  Value source = inKernel(job.source.plain),
        target = inKernel(job.target.plain);
  Value firstHead = arith::MulIOp::create(b, block, index(kReplicaRows));
  // What has no row, or no place, has heads that no array has: nothing is
  // loaded, or stored.
  auto headsIf = [&](Value condition, Value array) -> Value {
    int64_t axis = cast<MemRefType>(array.getType()).getRank() - 2;
    return arith::SelectOp::create(b, condition, firstHead, dim(array, axis));
  };
  Tile tile;
  tile.from = tile.to = {batch, row};
  tile.sourceHead = headsIf(isMine, source);
  Value isInside = isMine;
  if (update.append) {
    Value key = getPosition(update.first, batch, row);
    Value isKey =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sge, key, index(0));
    isInside = arith::AndIOp::create(b, isInside, isKey);
    tile.to = getPlace(job, batch, arith::MaxSIOp::create(b, key, index(0)));
    for (auto [axis, number] : llvm::enumerate(tile.to)) {
      Value fits = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number,
                                         dim(target, axis));
      isInside = arith::AndIOp::create(b, isInside, fits);
    }
  }
  tile.targetHead = headsIf(isInside, target);
  if (job.scales)
    tile.units = loadUnits(job, batch, tile.sourceHead);
  int64_t columns = cast<MemRefType>(source.getType()).getShape().back();
  int64_t column = 0;
  if (RotaryOp rotary = update.rotary) {
    Value angle = getPosition(update.angle, batch, row);
    Value one = index(1);
    Value last = arith::SubIOp::create(b, dim(inKernel(update.cos), 0), one);
    angle = arith::MinSIOp::create(
        b, arith::MaxSIOp::create(b, angle, index(0)), last);
    int64_t width = getWidth(rotary.getPairs(), kTurnedPairs);
    for (int64_t pair = 0; pair < rotary.getPairs(); pair += width)
      turn(job, tile, angle, pair, width);
    column = 2 * rotary.getPairs();
  }
  if (column == columns)
    return;
  int64_t width = getWidth(columns - column, kCopiedColumns);
  for (; column < columns; column += width)
    copy(job, tile, column, width);
}

void UpdateKernel::buildGrid() {
  Value rows, blocks = index(0);
  SmallVector<Value> starts;
  for (const Job &job : jobs) {
    Value source = inKernel(job.source.plain);
    Value own = dim(source, 1);
    rows = rows ? arith::MaxSIOp::create(b, rows, own).getResult() : own;
    starts.push_back(blocks);
    blocks = add(blocks, blocksOf(dim(source, 2), kReplicaRows));
  }
  starts.push_back(blocks);
  Value batch = dim(inKernel(jobs.front().source.plain), 0);
  ValueRange position = openGrid({rows, blocks, batch});
  using Predicate = arith::CmpIPredicate;
  for (auto [number, job] : llvm::enumerate(jobs)) {
    Value isBelow = arith::CmpIOp::create(b, Predicate::slt, position[1],
                                          starts[number + 1]);
    Value isMine = arith::AndIOp::create(
        b, isBelow,
        arith::CmpIOp::create(b, Predicate::sge, position[1], starts[number]));
    Value isRow = arith::CmpIOp::create(b, Predicate::slt, position[0],
                                        dim(inKernel(job.source.plain), 1));
    isMine = arith::AndIOp::create(b, isMine, isRow);
    auto branch = scf::IfOp::create(b, isMine, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value block = arith::SubIOp::create(b, position[1], starts[number]);
    buildJob(job, position[0], block, position[2], isMine);
  }
}

LogicalResult UpdateKernel::build(gpu::GPUModuleOp module) {
  if (failed(verify()))
    return failure();
  for (const HostUpdate &update : host.updates)
    jobs.push_back({&update, view(update, update.source),
                    view(update, update.target), viewScales(update)});
  collectCaptures();
  addArguments();
  auto onHost = b.saveInsertionPoint();
  kernel = createKernel(module, b.getLoc(), host.function.getName() + "_update",
                        arguments.getTypes());
  b.setInsertionPoint(kernel.getBody().front().getTerminator());
  buildGrid();
  b.restoreInsertionPoint(onHost);
  launchKernel(b, b.getLoc(), module, kernel, arguments.get());
  return success();
}

LogicalResult fa3::buildUpdateKernel(HostFunction &host,
                                     gpu::GPUModuleOp module) {
  if (host.updates.empty())
    return success();
  OpBuilder onHost = host.getBuilder();
  return UpdateKernel(onHost, host).build(module);
}
