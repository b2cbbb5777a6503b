// SPDX-License-Identifier: Apache-2.0
// A dialect of one's own that extends fa3, in a program of one's own.
#ifndef EMBED_DIALECT_H
#define EMBED_DIALECT_H

#include "mlir/IR/DialectRegistry.h"

namespace embed {

// Adds the dialect `embed`:
//   #embed.atan      a modification of attention: scores become their atan
//   embed.look       an operation that reads a slot of a ring
// and the derivative of math.atan, which fa3 does not know.
void registerDialect(mlir::DialectRegistry &registry);

} // namespace embed

#endif // EMBED_DIALECT_H
