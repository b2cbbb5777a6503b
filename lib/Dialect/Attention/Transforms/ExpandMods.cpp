//===- ExpandMods.cpp - modifications become code -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// attention-expand-mods: the one-line forms of attention turn into the code
// that a user would write in its score_mod and mask_mod regions.
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Attention/IR/Attention.h"
#include "fa3/Dialect/Attention/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace fa3::attention {
#define GEN_PASS_DEF_EXPANDMODS
#include "fa3/Dialect/Attention/Transforms/Passes.h.inc"
} // namespace fa3::attention

using namespace mlir;
using namespace fa3::attention;

void fa3::attention::expandMods(ScoredOpInterface op) {
  ArrayAttr mods = op.getModsAttr();
  if (!mods)
    return;
  op.removeModsAttr();
  op.prependScoreMod(
      [&](ImplicitLocOpBuilder &b, const ModContext &context, Value score) {
        for (auto mod : mods.getAsRange<ModAttrInterface>())
          score = mod.buildScoreMod(b, context, score);
        return score;
      });
  op.prependMaskMod([&](ImplicitLocOpBuilder &b, const ModContext &context) {
    Value keep;
    for (auto mod : mods.getAsRange<ModAttrInterface>())
      if (Value other = mod.buildMaskMod(b, context))
        keep = keep ? arith::AndIOp::create(b, keep, other).getResult() : other;
    return keep;
  });
  for (auto mod : mods.getAsRange<ModAttrInterface>())
    op.prependKeepMod(
        [&](ImplicitLocOpBuilder &b, const ModContext &context) {
          return mod.buildKeepMod(b, context);
        },
        mod.getFactorOfKept());
  op.appendLengths([&](ImplicitLocOpBuilder &b, const ModContext &context,
                       Value queries, Value keys) {
    for (auto mod : mods.getAsRange<ModAttrInterface>())
      std::tie(queries, keys) = mod.buildLengths(b, context, queries, keys);
    return std::pair(queries, keys);
  });
  for (auto mod : mods.getAsRange<ModAttrInterface>())
    if (auto sizes = mod.getBlockSizes())
      op.addBlocks(mod.getListedBy(), *sizes,
                   [&](ImplicitLocOpBuilder &b, const ModContext &context) {
                     return mod.buildBlocks(b, context);
                   });
  for (Sequence sequence : {Sequence::query, Sequence::key})
    op.appendPlace(sequence, [&](ImplicitLocOpBuilder &b,
                                 const ModContext &context, ValueRange given) {
      SmallVector<Value> place(given);
      for (auto mod : mods.getAsRange<ModAttrInterface>())
        place = mod.buildPlace(b, context, sequence, place);
      return place;
    });
}

/// Those that say where keys are.
static void expandPlaces(AppendOp op) {
  ArrayAttr mods = op.getModsAttr();
  if (!mods)
    return;
  op.removeModsAttr();
  op.appendPlace([&](ImplicitLocOpBuilder &b, const ModContext &context,
                     ValueRange given) {
    SmallVector<Value> place(given);
    for (auto mod : mods.getAsRange<ModAttrInterface>())
      place = mod.buildPlace(b, context, Sequence::key, place);
    return place;
  });
}

namespace {
struct ExpandMods : fa3::attention::impl::ExpandModsBase<ExpandMods> {
  void runOnOperation() override {
    getOperation()->walk([&](AppendOp op) {
      if (ArrayAttr mods = op.getModsAttr())
        numMods += mods.size();
      expandPlaces(op);
    });
    WalkResult result = getOperation()->walk([&](ScoredOpInterface op) {
      if (ArrayAttr mods = op.getModsAttr())
        numMods += mods.size();
      auto countScoreOps = [&] {
        Region &region = op.getScoreMod();
        return region.empty() ? 0 : region.front().getOperations().size();
      };
      size_t before = countScoreOps();
      expandMods(op);
      auto backward = dyn_cast<BackwardOp>(op.getOperation());
      if (!backward || backward.getScoreGradRegion().empty() ||
          countScoreOps() == before)
        return WalkResult::advance();
      op->emitOpError("has mods that edit scores beside 'score_grad', which is "
                      "not the derivative of what they make");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
