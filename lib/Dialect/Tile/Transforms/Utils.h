//===- Utils.h - shared by the passes on tile -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_TILE_TRANSFORMS_UTILS_H
#define FA3_LIB_DIALECT_TILE_TRANSFORMS_UTILS_H

#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Machine/Chip.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fa3::tile {

/// Runs `transform` on every kernel inside `root`.
llvm::LogicalResult forEachKernel(
    mlir::Operation *root,
    llvm::function_ref<llvm::LogicalResult(mlir::gpu::GPUFuncOp)> transform);

/// A loop body that does nothing unless a guard holds: the `scf.if` on
/// `tile.any_possible` whose results the loop carries, with the carried values
/// themselves as the alternative.
struct GuardedBody {
  mlir::scf::IfOp guard;
  AnyPossibleOp condition;
};

/// The guard of a loop of step 1 if its body is of that form; operations with
/// effects other than those on rings must be inside the guard.
std::optional<GuardedBody> matchGuardedBody(mlir::scf::ForOp loop);

/// Moves scalars that do not change in the loop in front of it, so that bounds
/// can be computed from them. Tiles stay: they would occupy registers.
void hoistScalars(mlir::scf::ForOp loop);

/// `loop` again, right before it, over [lower, upper) and with these start
/// values; the body is a copy.
mlir::scf::ForOp cloneLoop(mlir::OpBuilder &builder, mlir::scf::ForOp loop,
                           mlir::Value lower, mlir::Value upper,
                           mlir::ValueRange inits);

/// `loop` with further carried values, which it yields unchanged until somebody
/// changes the terminator. Replaces the loop.
mlir::scf::ForOp appendIterArgs(mlir::scf::ForOp loop, mlir::ValueRange inits);

/// `branch` with further results: `values` from both arms. Replaces the branch.
mlir::scf::IfOp appendResults(mlir::scf::IfOp branch, mlir::ValueRange values);

/// Gives every use of a tile that repeats one scalar, and of a line that
/// follows from coordinates and such tiles alone, its own copy: rows and
/// columns of the same number may share it, and go different ways.
void separateSplats(mlir::Operation *root);

/// Calls `visit` for the values that `value` becomes or comes from at control
/// flow: results, what a loop carries, and what branches yield. False if `op`
/// is none.
bool visitCarried(mlir::Operation *op, mlir::Value value,
                  llvm::function_ref<void(mlir::Value)> visit);

/// Calls `visit` for the source and the result of a transpose or a broadcast if
/// dimension `dim` of `value`, which is one of them, is in both; with where it
/// is in each. False if `op` is neither.
bool visitRenamed(mlir::Operation *op, mlir::Value value, int64_t dim,
                  llvm::function_ref<void(mlir::Value, int64_t)> visit);

/// Whether the operation makes another tile of a loaded one on its way to
/// products, which a role of its own can do between two rings.
bool isConversion(mlir::Operation *op);

/// Whether the operation is a product, or such a conversion in front of one: a
/// tile that only these take is no element code's.
bool isProductOrConversion(mlir::Operation *op);

/// Whether the flags of an operation on floats allow its operands to be added
/// or multiplied in another order.
bool mayReassociate(mlir::Operation *op);

/// The layout that a tile has, or will have by default, in shared memory.
SmemAttr getStorage(mlir::RankedTensorType type);
inline int64_t getStorageBytes(mlir::RankedTensorType type) {
  return getStorage(type).getStorageBytes(type.getShape(),
                                          type.getElementType());
}

/// The layout with the widest swizzle that needs no padding, or the default
/// where each does.
SmemAttr getUnpaddedStorage(mlir::RankedTensorType type);

/// Bytes of shared memory for constant right operands of the kernel's products.
int64_t getConstantBytes(mlir::gpu::GPUFuncOp kernel);

/// How many loops are around the innermost acquire of an entry of the ring.
unsigned getLoopDepth(warp::RingOp ring);

/// Whether products read entries of the ring.
bool feedsProducts(warp::RingOp ring);

/// Whether all that is read from entries of the ring goes to element code.
bool feedsElementCode(warp::RingOp ring);

/// Where a tile that was read meets another: what converts it alone on the way
/// is done with the use.
mlir::Operation *findMeeting(ReadOp read);

/// Registers per thread that the group leaves unused, by the estimate; less
/// than 0 if it needs more than there are.
int64_t getSpareRegisters(warp::GroupOp group);

/// Whether element code of the group computes with numbers of rows or columns.
bool usesCoordinates(warp::GroupOp group);

/// Whether the loop uses coordinates that change from step to step.
bool changesCoordinates(mlir::scf::ForOp loop);

/// Whether steps of the loop are told where they are by who copies their tiles
/// (tile-post-numbers).
bool receivesNumbers(mlir::scf::ForOp loop);

/// Whether numbers of more columns than ptxas finds registers for beside late
/// products meet the tiles of a loop.
bool meetsWideNumbers(mlir::scf::ForOp loop);

/// The product of the same block that adds to what this one leaves pending.
DotAsyncOp findNextInChain(DotAsyncOp dot);

/// The await of a product, or of the last one that adds to it, in the product's
/// block, if there is one.
AwaitOp findAwait(DotAsyncOp dot);

/// Carries `values`, defined at the top of the kernel or group, or in the block
/// `from` around `site`, through the loops and branches in between: replaces
/// them by their values at the site.
llvm::LogicalResult threadTo(mlir::Operation *site,
                             llvm::SmallVectorImpl<mlir::Value> &values,
                             mlir::Block *from = nullptr);

/// Lets the control flow around `site`, which `threadTo` prepared, carry `next`
/// on instead of the values it came with. Gives what it has become in the block
/// `to`, the kernel's or the group's if there is none.
llvm::SmallVector<mlir::Value> threadFrom(mlir::Operation *site,
                                          llvm::SmallVector<mlir::Value> next,
                                          mlir::Block *to = nullptr);

/// Rows of a product that one warp group computes with one wgmma.
inline constexpr int64_t kRowsPerReplica = kSm90a.productRows;

/// Whether `value` is the constant 1.
bool isOne(mlir::Value value);

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_TRANSFORMS_UTILS_H
