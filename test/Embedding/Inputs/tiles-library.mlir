// How tiles.mlir is tiled: batches, heads, queries.
// SPDX-License-Identifier: Apache-2.0
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %groups = transform.structured.match ops{["attention.forward"]} attributes {by = "groups"} in %root : (!transform.any_op) -> !transform.any_op
    %0, %1:3 = transform.structured.tile_using_for %groups tile_sizes [1, 2, 8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %heads = transform.structured.match ops{["attention.forward"]} attributes {by = "heads"} in %root : (!transform.any_op) -> !transform.any_op
    %2, %3:2 = transform.structured.tile_using_for %heads tile_sizes [1, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %used = transform.structured.match ops{["attention.forward"]} attributes {by = "used"} in %root : (!transform.any_op) -> !transform.any_op
    %4, %5:3 = transform.structured.tile_using_for %used tile_sizes [1, 2, 5] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %dropped = transform.structured.match ops{["attention.forward"]} attributes {by = "dropped"} in %root : (!transform.any_op) -> !transform.any_op
    %6, %7:3 = transform.structured.tile_using_for %dropped tile_sizes [1, 1, 10] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
