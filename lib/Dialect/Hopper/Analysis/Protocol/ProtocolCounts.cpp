//===- ProtocolCounts.cpp - barriers as counters --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ProtocolCounts.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

struct ProtocolCounts::State : warp::MachineState {
  struct Count {
    int64_t waits = 0, arrivals = 0;
    int64_t bytes = 0; ///< of the last arrival, not yet copied
  };
  std::vector<Count> counts;      ///< by array and process
  std::map<int64_t, Count> turns; ///< by id of the named barrier

  std::unique_ptr<warp::MachineState> clone() const override {
    return std::make_unique<State>(*this);
  }
};

bool ProtocolCounts::isInstruction(Operation *op) const {
  return model.isTurn(op) ||
         isa<BarrierWaitOp, BarrierArriveOp, BarrierExpectTxOp, TmaLoadOp>(op);
}

std::unique_ptr<warp::MachineState> ProtocolCounts::start() {
  auto state = std::make_unique<State>();
  for (const auto &[id, threads] : model.namedBarriers)
    state->turns[id];
  state->counts.resize(model.barriers.size() * processes.size());
  return state;
}

warp::Machine::Step ProtocolCounts::execute(warp::JointState &joint, unsigned p,
                                            Operation *op) {
  auto &state = static_cast<State &>(*joint.machine);
  // One replica waits and one arrives, turn by turn.
  if (std::optional<NamedBarrierUse> use = getNamedBarrierUse(op)) {
    int64_t id = evaluateScalar(use->id, [&](Value leaf) {
      return leaf == processes[p].group.getReplica() ? processes[p].replica
                                                     : warp::kUnknown;
    });
    State::Count &count = state.turns[id];
    if (use->waits && count.arrivals <= count.waits)
      return Step::Blocked;
    ++(use->waits ? count.waits : count.arrivals);
    return Step::Done;
  }
  auto getCount = [&](Value barrier) -> State::Count & {
    return state.counts[get(model.barrierOf.lookup(barrier), p)];
  };
  if (auto arrive = dyn_cast<BarrierArriveOp>(op)) {
    ++getCount(arrive.getBarrier()).arrivals;
    return Step::Done;
  }
  if (auto expect = dyn_cast<BarrierExpectTxOp>(op)) {
    State::Count &count = getCount(expect.getBarrier());
    ++count.arrivals;
    count.bytes = expect.getBytes();
    return Step::Done;
  }
  if (auto load = dyn_cast<TmaLoadOp>(op)) {
    getCount(load.getBarrier()).bytes -= getCopiedBytes(load);
    return Step::Done;
  }
  auto wait = cast<BarrierWaitOp>(op);
  unsigned array = model.barrierOf.lookup(wait.getBarrier());
  State::Count &count = state.counts[get(array, p)];
  // The first waits of who finds empty slots are for nothing.
  int64_t phase = count.waits - lags.lookup({array, processes[p].group});
  for (unsigned q = 0; q < processes.size(); ++q) {
    if (!arrives(array, q))
      continue;
    const State::Count &there = state.counts[get(array, q)];
    if (there.arrivals - (there.bytes != 0) <= phase)
      return Step::Blocked;
  }
  ++count.waits;
  return Step::Done;
}

void ProtocolCounts::serialize(const warp::JointState &joint,
                               std::vector<int64_t> &key) const {
  const auto &state = static_cast<const State &>(*joint.machine);
  for (const auto &[id, count] : state.turns)
    key.push_back(count.arrivals - count.waits);
  for (unsigned array = 0; array < model.barriers.size(); ++array) {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (unsigned p = 0; p < processes.size(); ++p) {
      const State::Count &count = state.counts[get(array, p)];
      if (arrives(array, p))
        least = std::min(least, count.arrivals);
      if (waits(array, p))
        least = std::min(least, count.waits);
    }
    for (unsigned p = 0; p < processes.size(); ++p) {
      const State::Count &count = state.counts[get(array, p)];
      if (waits(array, p))
        key.push_back(count.waits - least);
      if (arrives(array, p)) {
        key.push_back(count.arrivals - least);
        key.push_back(count.bytes);
      }
    }
  }
}

std::optional<bool> ProtocolCounts::decide(const warp::JointState &, unsigned p,
                                           Operation *op) {
  return decideByReplica(op, processes[p].group, processes[p].replica);
}

void ProtocolCounts::explain(const warp::JointState &joint, unsigned p,
                             InFlightDiagnostic &diagnostic) {
  Operation *op = joint.processes[p].getInstruction().op;
  diagnostic.attachNote(op->getLoc())
      << warp::Explorer::getName(joint.processes[p])
      << " waits here for a phase that does not complete";
}
