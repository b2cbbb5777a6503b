//===- RecordPoints.h - where a kernel writes down the time -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The borders of stages in a kernel, and what a reader of the records has to
// know of each. Names are for people and come from arguments of the host.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_HOPPER_TRANSFORMS_RECORDPOINTS_H
#define FA3_LIB_DIALECT_HOPPER_TRANSFORMS_RECORDPOINTS_H

#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/MapVector.h"

namespace fa3::hopper {

/// Events around an operation, as numbers in the table.
struct RecordPoints {
  llvm::SmallVector<int64_t, 2> before, after;
};

class RecordTable {
public:
  /// Finds the points of all groups of a kernel that `launch` starts.
  RecordTable(mlir::gpu::GPUFuncOp kernel, LaunchOp launch);

  /// Points at an operation; null if it has none.
  const RecordPoints *lookup(mlir::Operation *op) const {
    auto it = points.find(op);
    return it == points.end() ? nullptr : &it->second;
  }
  /// Whether there are points inside an operation.
  bool holdsPoints(mlir::Operation *op) const { return holders.contains(op); }
  /// Begin and end of a group.
  RecordPoints getRole(warp::GroupOp group) const {
    return roles.lookup(group);
  }
  llvm::ArrayRef<mlir::Attribute> getEvents() const { return events; }

private:
  enum class Phase { Begin, End, Instant };
  int64_t add(llvm::StringRef kind, Phase phase, llvm::StringRef name,
              llvm::ArrayRef<mlir::NamedAttribute> more = {});
  void addSpan(mlir::Operation *first, mlir::Operation *last,
               llvm::StringRef kind, llvm::StringRef name,
               llvm::ArrayRef<mlir::NamedAttribute> more = {});
  void addInstant(mlir::Operation *op, llvm::StringRef kind,
                  llvm::StringRef name,
                  llvm::ArrayRef<mlir::NamedAttribute> more = {});

  void nameBuffers(mlir::gpu::GPUFuncOp kernel, LaunchOp launch);
  void nameBarriers(mlir::gpu::GPUFuncOp kernel);
  void addBlock(mlir::Block &block);
  void addOperation(mlir::Operation *op);
  mlir::NamedAttribute number(llvm::StringRef name, int64_t value) const;
  mlir::NamedAttribute barrierNumber(mlir::Value barrier);
  std::string getProductName(WgmmaOp product) const;

  mlir::MLIRContext *context;
  llvm::SmallVector<mlir::Attribute> events;
  llvm::DenseMap<mlir::Operation *, RecordPoints> points;
  llvm::DenseMap<mlir::Operation *, RecordPoints> roles;
  llvm::SmallPtrSet<mlir::Operation *, 8> holders;
  llvm::DenseMap<mlir::Value, std::string> names; ///< of buffers and barriers
  llvm::MapVector<mlir::Value, int64_t> barriers;
};

} // namespace fa3::hopper

#endif // FA3_LIB_DIALECT_HOPPER_TRANSFORMS_RECORDPOINTS_H
