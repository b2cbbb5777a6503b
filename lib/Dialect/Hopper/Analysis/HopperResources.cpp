//===- HopperResources.cpp - units that operations occupy -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Hopper/Analysis/HopperResources.h"
#include "fa3/Dialect/Hopper/IR/HopperExactOps.h"
#include "fa3/Machine/Chip.h"
#include "fa3/Scheduling/ElementCosts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

StringRef fa3::hopper::getName(Unit unit) {
  static constexpr llvm::StringLiteral names[kNumUnits] = {
      "issue", "fma", "alu", "sfu", "shared memory", "tensor core", "TMA"};
  return names[static_cast<unsigned>(unit)];
}

/// Registers per thread that an operation computes; 0 for scalars.
static int64_t countRegisters(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 0;
}

static ResourceUse makeUse(Unit unit, int64_t instructions,
                           int64_t cyclesPerInstruction) {
  ResourceUse use;
  use.issue = instructions;
  use.unit = unit;
  use.cycles = instructions * cyclesPerInstruction;
  return use;
}

/// Elementwise operations by the unit that executes them.
static ResourceUse getElementwiseUse(Operation *op, int64_t registers) {
  ElementCost cost = getElementCost(op, registers);
  ResourceUse use;
  use.issue = cost.instructions;
  use.unit = cost.unit == ElementCost::Unit::Fma   ? Unit::Fma
             : cost.unit == ElementCost::Unit::Alu ? Unit::Alu
                                                   : Unit::Sfu;
  use.cycles = cost.cycles;
  return use;
}

/// Accesses of shared memory by all threads of the group.
static ResourceUse getSharedUse(Operation *op, VectorType type) {
  const Chip &chip = getChip(op);
  auto group = op->getParentOfType<warp::GroupOp>();
  int64_t threads =
      (group ? int64_t(group.getWarps()) : 1) * chip.threadsPerWarp;
  int64_t bytes =
      type.getNumElements() * type.getElementTypeBitWidth() / 8 * threads;
  ResourceUse use;
  use.issue = llvm::divideCeil(bytes, threads * 16);
  use.unit = Unit::Shared;
  use.cycles = llvm::divideCeil(bytes, chip.sharedBytes);
  use.latency = chip.shuffleLatency;
  use.isAwaited = true;
  return use;
}

/// Reductions over the registers and the lanes of a fragment; nothing for
/// other operations.
static std::optional<ResourceUse> getReductionUse(Operation *op) {
  const Chip &chip = getChip(op);
  ResourceUse use;
  if (auto reduce = dyn_cast<FragmentReduceOp>(op)) {
    int64_t steps = countRegisters(reduce.getSource().getType()) -
                    countRegisters(reduce.getResult().getType());
    bool isSum = reduce.getKind() == Combine::add;
    return makeUse(isSum ? Unit::Fma : Unit::Alu, steps,
                   isSum ? chip.fmaCycles : chip.aluCycles);
  }
  if (auto reduce = dyn_cast<LaneReduceOp>(op)) {
    int64_t bits = reduce.getLaneBits().size();
    use = makeUse(Unit::Shared,
                  bits * countRegisters(reduce.getResult().getType()),
                  chip.shuffleCycles);
    use.latency = bits * chip.shuffleLatency;
    use.isAwaited = true;
    return use;
  }
  if (auto reduce = dyn_cast<DiagonalReduceOp>(op)) {
    // Two exchanges for every block of columns of both halves, less than one
    // for every block of diagonals.
    int64_t exchanges = countRegisters(reduce.getSource().getType()) +
                        3 * countRegisters(reduce.getResult().getType());
    use = makeUse(Unit::Shared, exchanges, chip.shuffleCycles);
    use.latency = 3 * chip.shuffleLatency;
    use.isAwaited = true;
    return use;
  }
  return std::nullopt;
}

static ResourceUse getHopperUse(Operation *op) {
  const Chip &chip = getChip(op);
  if (std::optional<ResourceUse> reduction = getReductionUse(op))
    return *reduction;
  if (auto add = dyn_cast<AddExactOp>(op)) {
    // The word and what it gets, beside the address.
    constexpr int64_t kInstructions = 12;
    int64_t terms = countRegisters(add.getValue().getType());
    return makeUse(Unit::Alu, kInstructions * terms, chip.aluCycles);
  }
  if (auto store = dyn_cast<SmemStoreOp>(op))
    return getSharedUse(op, cast<VectorType>(store.getValue().getType()));
  if (auto load = dyn_cast<SmemLoadOp>(op))
    return getSharedUse(op, cast<VectorType>(load.getResult().getType()));
  ResourceUse use;
  if (auto load = dyn_cast<FragmentLoadOp>(op)) {
    use.issue = countRegisters(load.getResult().getType());
    use.latency = chip.globalLatency;
    use.isAwaited = true;
  } else if (auto gather = dyn_cast<GatherOp>(op)) {
    use.issue = countRegisters(gather.getResult().getType());
    use.latency = chip.globalLatency;
    use.isAwaited = true;
  } else if (auto store = dyn_cast<FragmentStoreOp>(op)) {
    use.issue = countRegisters(store.getValue().getType());
  } else if (isa<SearchOp>(op)) {
    // Two rounds of a load, a vote and a count.
    use.latency = 2 * (chip.globalLatency + chip.shuffleLatency);
    use.isAwaited = true;
  } else if (isa<ClaimOp, ScalarLoadOp, LoadExactOp>(op)) {
    use.latency = chip.globalLatency;
    use.isAwaited = true;
  } else if (isa<VoteAnyOp, MailboxReadOp>(op)) {
    use.latency = chip.shuffleLatency;
    use.isAwaited = true;
  }
  return use;
}

ResourceUse fa3::hopper::getResourceUse(Operation *op) {
  if (isa_and_nonnull<HopperDialect>(op->getDialect()))
    return getHopperUse(op);
  if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
          op->getDialect()) ||
      op->getNumResults() != 1)
    return {};
  int64_t registers = countRegisters(op->getResult(0).getType());
  return registers ? getElementwiseUse(op, registers) : ResourceUse();
}

int64_t fa3::hopper::getTensorCycles(WgmmaOp product) {
  int64_t bits =
      product.getRhs().getType().getElementType().getIntOrFloatBitWidth();
  int64_t macs = int64_t(product.getM()) * product.getN() * product.getK();
  return llvm::divideCeil(macs * bits, getChip(product).tensorMacs16 * 16);
}

int64_t fa3::hopper::getNumInstructions(WgmmaOp product) {
  int64_t bits =
      product.getRhs().getType().getElementType().getIntOrFloatBitWidth();
  const Chip &chip = getChip(product);
  return int64_t(product.getM()) / chip.productRows *
         llvm::divideCeil(int64_t(product.getK()) * bits,
                          chip.productBytes * 8);
}

int64_t fa3::hopper::getCopyCycles(int64_t bytes, const Chip &chip) {
  return llvm::divideCeil(bytes, chip.copyBytes);
}
