//===- Ring.h - rings, slots and views at run time --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_INTERP_TILE_RING_H
#define FA3_LIB_INTERP_TILE_RING_H

#include "../Core/Engine.h"
#include "TileElements.h"
#include "fa3/Dialect/Warp/IR/Warp.h"
#include "fa3/Interp/Fifo.h"

namespace fa3::interp {

class SlotObject;

/// A window of a held entry.
class ViewObject final : public Object {
public:
  Ref<SlotObject> slot;
  unsigned field = 0;
  int64_t row = 0, column = 0;
  TileShape shape;
  Format format = Format::F32;
  /// Elements of the entry that one of the window takes.
  int64_t span = 1;
};

/// An asynchronous operation of the tile dialect; `!warp.done` refers to it.
class AsyncOp : public Object {
public:
  mlir::Operation *op = nullptr;
  /// The program has waited for it.
  bool retired = false;
  /// Waits for it: executes what is outstanding.
  virtual mlir::LogicalResult retire(const Context &c) = 0;
};

/// A copy into an entry that has not landed.
struct PendingLoad {
  mlir::Operation *op;
  Array array;
  llvm::SmallVector<int64_t> indices;
  std::optional<int64_t> limit; ///< of rows
  Ref<ViewObject> view;
};

/// One tensor of an entry. `filledBy` tells, for every element, which part has
/// written it (counted from 1), 0 if none has, and `filledAs` in which format.
/// An element that is wider than the entry's is kept in the first lane that it
/// takes.
struct Field {
  Format format = Format::F32;
  TileShape shape;
  Ref<Buffer> data;
  llvm::SmallVector<uint8_t, 0> filledBy;
  llvm::SmallVector<Format, 0> filledAs;
};

/// The place of an entry in memory.
struct Place {
  llvm::SmallVector<Field, 1> fields;
  llvm::SmallVector<PendingLoad, 1> pending;
};

/// A copy of a group that reads a ring; the group is null for the code that
/// creates the ring, where each role that has a group later is a reader.
struct RingReader {
  mlir::Operation *group;
  int64_t replica;
  mlir::Attribute role;
};

class RingObject final : public Object {
public:
  RingObject(mlir::Operation *op, warp::RingType type,
             llvm::SmallVector<RingReader> readers);

  mlir::Operation *op;
  warp::RingType type;
  Fifo fifo;
  std::vector<Place> places;
  llvm::SmallVector<RingReader> readers;
  /// Names of the groups that have a cursor on a side and part.
  llvm::SmallVector<std::string> writerNames, readerNames;

  Place &getPlace(int64_t position) { return places[fifo.getPlace(position)]; }
  /// Makes the contents of a place undefined.
  void clear(Place &place);
};

/// Turns of the replicas of a group.
class OrderObject final : public Object {
public:
  mlir::Operation *op = nullptr;
  /// By replica.
  llvm::SmallVector<int64_t> taken, passed;
};

class CursorObject final : public Object {
public:
  Ref<RingObject> ring;
  warp::Side side = warp::Side::read;
  int64_t position = 0;
  unsigned part = 0, reader = 0;
  /// Another replica writes for this one.
  bool isIdle = false;
};

class SlotObject final : public Object {
public:
  Ref<RingObject> ring;
  warp::Side side = warp::Side::read;
  int64_t position = 0;
  unsigned part = 0, reader = 0;
  /// Until it is published or released.
  bool held = true;
  /// Another replica writes for this one: what is done with it has no effect.
  bool isIdle = false;
  /// Asynchronous operations that read it through views.
  llvm::SmallVector<Ref<AsyncOp>> accesses;
};

/// Copies between a window and dense lanes. Reading checks that every element
/// was filled.
mlir::LogicalResult readWindow(const Context &c, mlir::Operation *op,
                               const ViewObject &view, void *lanes);
mlir::LogicalResult writeWindow(const Context &c, mlir::Operation *op,
                                const ViewObject &view, const void *lanes);

/// Checks that the slot of a view is held, for an operation that uses it now.
mlir::LogicalResult checkHeld(const Context &c, mlir::Operation *op,
                              const ViewObject &view);

/// Executes the loads into a place that have not landed.
mlir::LogicalResult landLoads(const Context &c, Place &place);

/// The elements of an operand of a product, a tile or a view, as floats; null
/// after a diagnostic. `storage` holds what is read or converted.
const float *getOperand(const Context &c, mlir::Operation *op, Object &operand,
                        bool isView, llvm::SmallVectorImpl<float> &storage);

/// Decodes tile.dot and tile.dot.async.
template <typename OpType>
mlir::LogicalResult decodeDot(Decoder &d, OpType op, mlir::RankedTensorType acc,
                              Handler handler) {
  mlir::RankedTensorType lhs = tile::getTileType(op.getLhs().getType());
  mlir::RankedTensorType rhs = tile::getTileType(op.getRhs().getType());
  mlir::FailureOr<Format> operand = d.getFormat(op, lhs);
  mlir::FailureOr<Format> format = d.getFormat(op, acc);
  if (failed(operand) || failed(format))
    return mlir::failure();
  constexpr unsigned kNarrow = 16; // integers that f32 holds exactly
  bool isKnown = isFloat(*operand)
                     ? getLane(*operand) == Lane::F32 && isFloat(*format)
                     : getIntegerBits(*operand) <= kNarrow && !isFloat(*format);
  if (!isKnown)
    return op->emitError("'")
           << op->getName() << "' of " << lhs.getElementType() << " with "
           << acc.getElementType()
           << " accumulator is not known to the interpreter";
  auto *extra = d.makeExtra<DotExtra>();
  extra->shape =
      tile::getDotShape(lhs, rhs, op.getLhsOrder(), op.getRhsOrder());
  extra->lhsIsView = llvm::isa<tile::ViewType>(op.getLhs().getType());
  extra->rhsIsView = llvm::isa<tile::ViewType>(op.getRhs().getType());
  extra->transposeLhs = op.getLhsOrder() == tile::LhsOrder::km;
  extra->transposeRhs = op.getRhsOrder() == tile::RhsOrder::nk;
  d.emit(op, handler, extra).format = *format;
  return mlir::success();
}

} // namespace fa3::interp

#endif // FA3_LIB_INTERP_TILE_RING_H
