//===- Cost.h - work of one attention ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_PLAN_COST_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_PLAN_COST_H

#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa3 {

/// Floating-point operations of the two products, as index arithmetic of the
/// host function: 2 (d + dv) for every visible pair of query and key.
///
/// Of the mask_mod region count the bounds that are known at compile time and
/// tie the key to the query, j <= i + e and j >= i + e with e affine in the
/// lengths and the region their conjunction: causal masks and windows. Pairs
/// are counted as area, so that those on the diagonal count half. Whatever else
/// a region asks for is counted as if it held.
mlir::Value buildFlops(mlir::ImplicitLocOpBuilder &b,
                       attention::HostFunction &host);

/// Keys that a query sees at most, by the same bounds: those of a window; none
/// if they leave that open.
std::optional<int64_t> getWidthOfBand(attention::HostFunction &host);

/// The same for the five products of backward: 2 (3 d + 2 dv) for every visible
/// pair.
mlir::Value buildBackwardFlops(mlir::ImplicitLocOpBuilder &b,
                               attention::HostFunction &host);

/// The least bytes of global memory moved: every element of q, k, v, o and lse
/// once.
mlir::Value buildBytes(mlir::ImplicitLocOpBuilder &b,
                       attention::HostFunction &host);

/// The same for backward, with the gradients of q, k, v and o.
mlir::Value buildBackwardBytes(mlir::ImplicitLocOpBuilder &b,
                               attention::HostFunction &host);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_PLAN_COST_H
