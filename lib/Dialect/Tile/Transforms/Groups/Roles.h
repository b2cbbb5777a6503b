//===- Roles.h - who performs an operation ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_DIALECT_TILE_TRANSFORMS_GROUPS_ROLES_H
#define FA3_LIB_DIALECT_TILE_TRANSFORMS_GROUPS_ROLES_H

#include "fa3/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace fa3::tile {

/// The group of the role that stores what others have written.
inline constexpr llvm::StringLiteral kStoreGroup = "store";

/// The role of an operation, "math" without an attribute.
llvm::StringRef getRole(mlir::Operation *op);

/// The roles of the kernel that compute: "math", and those of further sums in
/// the order of their names.
llvm::SmallVector<llvm::StringRef> getComputingRoles(mlir::gpu::GPUFuncOp);

/// A tile that a loop carries from a product's result to its accumulator.
struct CarriedSum {
  DotOp dot;
  mlir::scf::ForOp loop;
  unsigned index;
};

/// The sums of the loops of a kernel, in the order of the products.
llvm::SmallVector<CarriedSum> findCarriedSums(mlir::gpu::GPUFuncOp kernel);

/// Values that depend on others through operations, loops and branches, and the
/// operations that define or use them. Conditions and bounds are followed as
/// uses, not into what they choose.
struct Dependents {
  llvm::DenseSet<mlir::Value> values;
  llvm::SetVector<mlir::Operation *> operations;
};
Dependents findDependents(llvm::ArrayRef<mlir::Value> starts);

} // namespace fa3::tile

#endif // FA3_LIB_DIALECT_TILE_TRANSFORMS_GROUPS_ROLES_H
