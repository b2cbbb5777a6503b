//===- ProtocolTrace.h - what happened before what --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The operations of one way through a kernel with the edges that order them:
// arrival to wait, copy to wait, product to wait, meeting at a named barrier.
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_PROTOCOLTRACE_H
#define FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_PROTOCOLTRACE_H

#include "mlir/IR/Operation.h"
#include <map>
#include <vector>

namespace fa3::hopper {

struct ProtocolTrace {
  struct Event {
    unsigned process;
    mlir::Operation *op;
    /// What this event waited for, and the number of its mbarrier or slot.
    std::vector<unsigned> sources;
    int64_t number = -1;
    /// Times that each choice of the process had gone on by then.
    std::vector<unsigned> taken;
  };
  std::vector<Event> events;

  void add(unsigned process, mlir::Operation *op,
           const std::vector<unsigned> &taken);

  /// What the next event of a process waits for; set by the machine.
  std::vector<unsigned> sources;
  int64_t number = -1;
  /// Events of the open and the last completed phase of every barrier, and of
  /// every group of products of every process.
  std::map<unsigned, std::vector<unsigned>> open, completed;
  std::map<std::pair<unsigned, int64_t>, std::vector<unsigned>> products;
};

inline void ProtocolTrace::add(unsigned process, mlir::Operation *op,
                               const std::vector<unsigned> &taken) {
  events.push_back({process, op, std::move(sources), number, taken});
  sources.clear();
  number = -1;
}

} // namespace fa3::hopper

#endif // FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_PROTOCOLTRACE_H
