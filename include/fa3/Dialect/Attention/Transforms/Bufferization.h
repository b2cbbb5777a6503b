//===- Bufferization.h - calls of attention on memrefs ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_DIALECT_ATTENTION_TRANSFORMS_BUFFERIZATION_H
#define FA3_DIALECT_ATTENTION_TRANSFORMS_BUFFERIZATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fa3::attention {

/// Lets One-Shot Bufferize take `attention.call`: it reads its inputs and
/// writes its outs, whose contents before do not matter.
void registerBufferization(mlir::DialectRegistry &registry);

} // namespace fa3::attention

#endif // FA3_DIALECT_ATTENTION_TRANSFORMS_BUFFERIZATION_H
