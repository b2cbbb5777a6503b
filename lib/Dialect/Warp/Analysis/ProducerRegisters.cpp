//===- ProducerRegisters.cpp - registers of groups that load --------------===//

#include "fa3/Dialect/Warp/Analysis/ProducerRegisters.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::warp;

int64_t fa3::warp::getProducerRegisters(int64_t consumers, bool isNested,
                                        bool converts) {
  // What a loader needs, plus what division by the number of consumers would
  // lose; or words that are converted, and their addresses.
  constexpr int64_t kConverting = 56;
  if (converts)
    return kConverting;
  switch (consumers) {
  case 1:
    return 56;
  case 2:
    return isNested ? 40 : 24;
  case 3:
  case 4:
    return 32;
  default:
    return 24;
  }
}

bool fa3::warp::hasNestedLoops(GroupOp group) {
  WalkResult result = group.walk([](scf::ForOp loop) {
    return loop->getParentOfType<scf::ForOp>() ? WalkResult::interrupt()
                                               : WalkResult::advance();
  });
  return result.wasInterrupted();
}
