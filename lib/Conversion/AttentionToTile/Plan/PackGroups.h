//===- PackGroups.h - the heads of a group as rows --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What of an operation Tuning/GroupPacking.h chooses by, and views of arrays
// whose heads are rows.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_CONVERSION_ATTENTIONTOTILE_PLAN_PACKGROUPS_H
#define FA3_LIB_CONVERSION_ATTENTIONTOTILE_PLAN_PACKGROUPS_H

#include "fa3/Dialect/Attention/Contract/HostFunction.h"
#include "fa3/Options/Options.h"
#include "fa3/Tuning/GroupPacking.h"

namespace fa3 {

/// Whether, by the option "auto", "true" or "false", the heads of a group
/// become rows. Nothing if not; "true" fails with an error at the operation
/// where that is not possible. "auto" packs where that is better
/// (isPackingBetter).
mlir::FailureOr<std::optional<GroupPacking>>
chooseGroupPacking(const attention::HostFunction &host, options::Choice choice);

/// Heads that become rows where each is by itself, as in sums of parts: as many
/// as fill a tile of 64 rows best. Nothing if their number is not known, or two
/// of them do not fit into one.
std::optional<GroupPacking>
chooseHeadPacking(const attention::HostFunction &host);

/// How many queries of a sequence are computed at most, if that is known.
std::optional<int64_t> getStaticQueries(attention::ForwardOp forward);

/// A view of q or o, (batch, head, query, element), or of lse, without the last
/// dimension, as (batch, key head, query, head of the group, element): the
/// dimension `head` becomes two. On the host.
mlir::Value viewGroups(mlir::ImplicitLocOpBuilder &b, mlir::Value array,
                       unsigned head, const GroupPacking &packing);

} // namespace fa3

#endif // FA3_LIB_CONVERSION_ATTENTIONTOTILE_PLAN_PACKGROUPS_H
