//===- ProtocolCounts.h - barriers as counters ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The abstract machine that shows that groups do not wait for each other: every
// array of mbarriers is used slot by slot in turn, so that what matters of it
// is how often each process has waited and arrived. That this is so is shown
// for every part before. See docs/Protocol.md, "Parts".
//===----------------------------------------------------------------------===//

#ifndef FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_PROTOCOLCOUNTS_H
#define FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_PROTOCOLCOUNTS_H

#include "ProtocolMachine.h"

namespace fa3::hopper {

class ProtocolCounts : public warp::Machine {
public:
  ProtocolCounts(const ProtocolModel &model, const ArrayLags &lags)
      : model(model), lags(lags) {}

  bool isInstruction(mlir::Operation *op) const;
  /// Announces process `p`, the next one.
  void addProcess(warp::GroupOp group, int64_t replica) {
    processes.push_back({group, replica});
  }

  std::unique_ptr<warp::MachineState> start() override;
  Step execute(warp::JointState &state, unsigned p,
               mlir::Operation *op) override;
  int64_t evaluate(const warp::JointState &, unsigned, mlir::Value) override {
    return warp::kUnknown;
  }
  std::optional<bool> decide(const warp::JointState &state, unsigned p,
                             mlir::Operation *op) override;
  mlir::LogicalResult end(warp::JointState &, unsigned) override {
    return mlir::success();
  }
  void serialize(const warp::JointState &state,
                 std::vector<int64_t> &key) const override;
  void explain(const warp::JointState &state, unsigned p,
               mlir::InFlightDiagnostic &diagnostic) override;

private:
  struct State;
  unsigned get(unsigned array, unsigned p) const {
    return array * processes.size() + p;
  }
  bool arrives(unsigned array, unsigned p) const {
    return model.barriers[array].arriving.contains(processes[p].group,
                                                   processes[p].replica);
  }
  bool waits(unsigned array, unsigned p) const {
    return model.barriers[array].waiting.contains(processes[p].group,
                                                  processes[p].replica);
  }

  const ProtocolModel &model;
  const ArrayLags &lags;
  struct ProcessInfo {
    mutable warp::GroupOp group; ///< operations have no const methods
    int64_t replica;
  };
  std::vector<ProcessInfo> processes;
};

} // namespace fa3::hopper

#endif // FA3_LIB_DIALECT_HOPPER_ANALYSIS_PROTOCOL_PROTOCOLCOUNTS_H
