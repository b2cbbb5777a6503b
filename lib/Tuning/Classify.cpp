//===- Classify.cpp - the class of a module's attention -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "fa3/Tuning/Table.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tuning;

/// Whether a bias has 16 bits and a number for every query and key.
static bool isTypical(attention::ForwardOp forward, attention::BiasAttr bias) {
  auto type = cast<RankedTensorType>(forward.getAux()[bias.getAux()].getType());
  ArrayRef<int64_t> plane = type.getShape().take_back(2);
  return type.getElementTypeBitWidth() == 16 && !llvm::is_contained(plane, 1);
}

static std::optional<Score> getScore(attention::ForwardOp forward,
                                     Attribute mod) {
  if (isa<attention::SoftcapAttr>(mod))
    return Score::Softcap;
  if (isa<attention::AlibiAttr>(mod))
    return Score::Alibi;
  auto bias = dyn_cast<attention::BiasAttr>(mod);
  if (bias && isTypical(forward, bias))
    return Score::Bias;
  return std::nullopt;
}

/// Masks and score code that are written as mods have a class, if at most one
/// edits scores; code of one's own has none.
static std::optional<std::pair<Mask, Score>>
getMask(attention::ForwardOp forward) {
  if (!forward.getScoreMod().empty() || !forward.getMaskMod().empty() ||
      !forward.getKeepMod().empty())
    return std::nullopt;
  Mask mask = Mask::Full;
  Score score = Score::Plain;
  if (ArrayAttr mods = forward.getModsAttr())
    for (Attribute mod : mods) {
      if (isa<attention::WindowAttr>(mod)) {
        mask = Mask::Window;
      } else if (isa<attention::CausalAttr>(mod)) {
        mask = mask == Mask::Full ? Mask::Causal : mask;
      } else {
        std::optional<Score> edit = getScore(forward, mod);
        if (!edit || score != Score::Plain)
          return std::nullopt;
        score = *edit;
      }
    }
  return std::pair(mask, score);
}

static std::optional<ProblemClass> classifyForward(attention::ForwardOp op) {
  auto mask = getMask(op);
  int64_t axis = op.getSequenceAxisOf(op.getQ());
  RankedTensorType queries = op.getQ().getType();
  // What is measured has as many queries as keys; few want other tiles. And it
  // has one number for an element of q, and no lists of blocks, which tiles
  // have to divide.
  constexpr int64_t kFewQueries = 256;
  if (!mask || op.getQTerms() != 1 || op.hasNibbles() || op.hasLengths() ||
      op.getSizesOfBlocks() ||
      (!queries.isDynamicDim(axis) && queries.getDimSize(axis) < kFewQueries))
    return std::nullopt;
  ProblemClass problem;
  problem.bits = op.getElementType().getIntOrFloatBitWidth();
  problem.d = op.getHeadDim();
  problem.dv = op.getValueHeadDim();
  std::tie(problem.mask, problem.score) = *mask;
  auto keys = cast<RankedTensorType>(op.getK().getType());
  if (!keys.isDynamicDim(axis))
    problem.length = getLengthClass(keys.getDimSize(axis));
  return problem;
}

/// Keys between the ends of a window; a causal mask is an end, too.
static std::optional<int64_t> getWindow(attention::ForwardOp op) {
  std::optional<int64_t> left, right;
  auto narrow = [](std::optional<int64_t> &end, std::optional<int64_t> other) {
    if (other && (!end || *other < *end))
      end = other;
  };
  if (ArrayAttr mods = op.getModsAttr())
    for (Attribute mod : mods) {
      if (auto window = dyn_cast<attention::WindowAttr>(mod)) {
        narrow(left, window.getLeft());
        narrow(right, window.getRight());
      } else if (isa<attention::CausalAttr>(mod)) {
        narrow(right, 0);
      }
    }
  return left && right ? std::optional<int64_t>(*left + *right + 1)
                       : std::nullopt;
}

KnownExtents fa3::tuning::getKnownExtents(attention::ForwardOp op) {
  auto get = [](Value array, int64_t axis) -> std::optional<int64_t> {
    auto type = cast<RankedTensorType>(array.getType());
    return type.isDynamicDim(axis)
               ? std::nullopt
               : std::optional<int64_t>(type.getDimSize(axis));
  };
  int64_t row = op.getSequenceAxisOf(op.getQ());
  return {get(op.getQ(), 0), get(op.getQ(), op.getHeadAxisOf(op.getQ())),
          get(op.getQ(), row), get(op.getK(), row), getWindow(op)};
}

std::optional<ProblemClass> fa3::tuning::classify(ModuleOp module) {
  std::optional<ProblemClass> result;
  bool isUniform = true;
  module.walk([&](attention::ForwardOp op) {
    std::optional<ProblemClass> found = classifyForward(op);
    isUniform &= found && (!result || *result == *found);
    result = found;
  });
  return isUniform ? result : std::nullopt;
}
