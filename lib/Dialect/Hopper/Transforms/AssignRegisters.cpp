//===- AssignRegisters.cpp - registers of every warp group ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Hopper/Transforms/Passes.h"
#include "fa3/Dialect/Warp/Analysis/Control.h"
#include "fa3/Machine/RegisterModel.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

namespace fa3::hopper {
#define GEN_PASS_DEF_ASSIGNREGISTERS
#include "fa3/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace fa3::hopper

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

/// Whether the group works on fragments.
static bool holdsFragments(warp::GroupOp group) {
  WalkResult result = group.walk([](Operation *op) {
    auto isFragment = [](Type type) {
      return isa<VectorType, InflightType>(type);
    };
    return llvm::any_of(op->getResultTypes(), isFragment) ||
                   llvm::any_of(op->getOperandTypes(), isFragment)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Whether the group computes: one of less than a warp group that works on
/// fragments converts a few elements at a time on their way.
static bool isConsumer(warp::GroupOp group) {
  return int64_t(group.getWarps()) >= getChip(group).warpsPerWarpgroup &&
         holdsFragments(group);
}

/// The width of the elements that groups make which convert, or 8; 0 if there
/// is no such group.
static unsigned getConvertedBits(ArrayRef<warp::GroupOp> groups) {
  unsigned bits = 0;
  for (warp::GroupOp group : groups) {
    if (isConsumer(group) || !holdsFragments(group))
      continue;
    bits = std::max(bits, 8u);
    // Others that write what is as wide have read it so.
    unsigned read = 0, written = 0;
    group.walk([&](Operation *op) {
      if (auto load = dyn_cast<SmemLoadOp>(op))
        read = std::max(
            read,
            getElementTypeOrSelf(load.getResult()).getIntOrFloatBitWidth());
      if (auto store = dyn_cast<SmemStoreOp>(op))
        written = std::max(
            written,
            getElementTypeOrSelf(store.getValue()).getIntOrFloatBitWidth());
    });
    if (written > read && read)
      bits = std::max(bits, written);
  }
  return bits;
}

/// Whether the group tells others where the steps of a list are.
static bool postsNumbers(warp::GroupOp group) {
  return group
      .walk([](MailboxPostOp post) {
        bool isClaim = post.getValue().getDefiningOp<ClaimOp>() != nullptr;
        return isClaim ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

namespace {
struct AssignRegisters : hopper::impl::AssignRegistersBase<AssignRegisters> {
  using AssignRegistersBase::AssignRegistersBase;

  void runOnOperation() override {
    auto specialized = getOperation().getOps<warp::SpecializeOp>();
    for (warp::SpecializeOp specialize : specialized)
      if (failed(assign(specialize)))
        return signalPassFailure();
  }

  LogicalResult assign(warp::SpecializeOp specialize) {
    std::optional<ArrayRef<int32_t>> size = getOperation().getKnownBlockSize();
    if (!size)
      return getOperation().emitOpError(
          "expects 'known_block_size' (see hopper-pack-warpgroups)");
    int64_t threads = 1;
    for (int32_t extent : *size)
      threads *= extent;
    const Chip &chip = getChip(specialize);
    const RegisterModel &model = getRegisterModel(chip);
    int64_t warps = chip.warpsPerWarpgroup,
            perGroup = chip.getThreadsPerWarpgroup();
    int64_t warpgroups = llvm::divideCeil(threads, perGroup);
    if (warpgroups == 1)
      return success();

    // A warp group computes if one of its groups does.
    SmallVector<bool> computes(warpgroups, false);
    SmallVector<warp::GroupOp> groups(specialize.getOps<warp::GroupOp>());
    auto forEachWarpgroup = [&](warp::GroupOp group, auto callback) {
      int64_t first = *group.getFirstWarp();
      int64_t last = first + group.getWarps() * group.getReplicas() - 1;
      for (int64_t i = first / warps; i <= last / warps; ++i)
        callback(i);
    };
    for (warp::GroupOp group : groups) {
      if (!group.getFirstWarp())
        return group.emitOpError(
            "expects a place (see hopper-pack-warpgroups)");
      int64_t end =
          *group.getFirstWarp() + group.getWarps() * group.getReplicas();
      if (end > warpgroups * warps)
        return group.emitOpError("ends at warp ")
               << end << ", the block has " << warpgroups * warps;
    }
    // A group has one register count for all its replicas, and so have the
    // groups that share one of its warp groups.
    bool changed = true;
    while (changed) {
      changed = false;
      for (warp::GroupOp group : groups) {
        bool computing = isConsumer(group);
        forEachWarpgroup(group, [&](int64_t i) { computing |= computes[i]; });
        forEachWarpgroup(group, [&](int64_t i) {
          changed |= computing && !computes[i];
          computes[i] = computes[i] || computing;
        });
      }
    }
    int64_t consumers = llvm::count(computes, true);
    int64_t producers = warpgroups - consumers;
    if (consumers == 0 || producers == 0)
      return success();

    // Of lists, most is the same for all threads, and in uniform registers.
    auto loadsInNest = [](warp::GroupOp group) {
      return !isConsumer(group) && warp::hasNestedLoops(group) &&
             !postsNumbers(group);
    };
    // Groups that compute different things have rings of their own, whose
    // places a loader keeps.
    bool keepsMuch = llvm::any_of(groups, loadsInNest) ||
                     llvm::count_if(groups, isConsumer) > 1;
    // Registers per thread, summed over warp groups.
    int64_t entry = chip.getEntryRegisters(warpgroups * perGroup);
    int64_t pool = entry * warpgroups;
    int64_t producer =
        producerRegisters != 0
            ? producerRegisters
            : model.getProducerRegisters(consumers, keepsMuch,
                                         getConvertedBits(groups));
    int64_t consumer = consumerRegisters;
    if (consumer == 0)
      consumer = std::min<int64_t>(
          llvm::alignDown(
              std::max<int64_t>((pool - producer * producers) / consumers, 0),
              chip.registerGranule),
          model.mostOfConsumer);
    int64_t wanted = producer * producers + consumer * consumers;
    if (wanted > pool)
      return specialize.emitOpError("needs ")
             << wanted * perGroup << " registers (" << producers
             << " warp groups with " << producer << " per thread, " << consumers
             << " with " << consumer << "), the block has " << pool * perGroup;
    for (int64_t count : {producer, consumer})
      if (count < chip.leastRegisters || count > 256 ||
          count % chip.registerGranule)
        return specialize.emitOpError(
                   "expects registers per thread that are a multiple of 8 "
                   "between 24 and 256, got ")
               << count;

    for (warp::GroupOp group : groups) {
      bool computing = false;
      forEachWarpgroup(group, [&](int64_t i) { computing |= computes[i]; });
      int64_t count = computing ? consumer : producer;
      for (auto old : llvm::make_early_inc_range(
               group.getBodyBlock()->getOps<SetMaxRegistersOp>()))
        old.erase();
      if (count == entry)
        continue;
      auto builder = OpBuilder::atBlockBegin(group.getBodyBlock());
      SetMaxRegistersOp::create(builder, group.getLoc(), count,
                                /*increase=*/count > entry);
    }
    registers += consumer;
    return success();
  }
};
} // namespace
