//===- Interfaces.h - what other compilers ask of attention -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_DIALECT_ATTENTION_TRANSFORMS_INTERFACES_H
#define FA3_DIALECT_ATTENTION_TRANSFORMS_INTERFACES_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fa3::attention {

/// Extents of results in terms of operands (ReifyRankedShapedTypeOpInterface):
/// attention.forward, backward, merge, rotary and append.
void registerShapeReification(mlir::DialectRegistry &registry);

/// Tiles of batches, heads and queries (TilingInterface): attention.forward and
/// attention.merge.
void registerTiling(mlir::DialectRegistry &registry);

/// Shards of batches, heads and queries (ShardingInterface), where the shard
/// dialect is: attention.forward and attention.backward.
void registerSharding(mlir::DialectRegistry &registry);

} // namespace fa3::attention

#endif // FA3_DIALECT_ATTENTION_TRANSFORMS_INTERFACES_H
