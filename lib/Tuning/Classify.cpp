//===- Classify.cpp - the class of a module's attention -------------------===//

#include "fa3/Dialect/Attention/IR/Attention.h"
#include "fa3/Tuning/Table.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tuning;

/// Masks that are written as mods have a class; code of one's own has none.
static std::optional<Mask> getMask(attention::ForwardOp forward) {
  if (!forward.getScoreRegion().empty() || !forward.getKeepRegion().empty())
    return std::nullopt;
  Mask mask = Mask::Full;
  if (ArrayAttr mods = forward.getModsAttr())
    for (Attribute mod : mods) {
      if (isa<attention::WindowAttr>(mod))
        mask = Mask::Window;
      else if (!isa<attention::CausalAttr>(mod))
        return std::nullopt;
      else if (mask == Mask::Full)
        mask = Mask::Causal;
    }
  return mask;
}

static std::optional<ProblemClass> classifyForward(attention::ForwardOp op) {
  std::optional<Mask> mask = getMask(op);
  int64_t axis = op.getSequenceAxis();
  RankedTensorType queries = op.getQ().getType();
  // What is measured has as many queries as keys; few want other tiles. And it
  // has one number for an element of q.
  constexpr int64_t kFewQueries = 256;
  if (!mask || op.getQTerms() != 1 ||
      (!queries.isDynamicDim(axis) && queries.getDimSize(axis) < kFewQueries))
    return std::nullopt;
  ProblemClass problem;
  problem.bits = op.getElementType().getIntOrFloatBitWidth();
  problem.d = op.getHeadDim();
  problem.dv = op.getValueHeadDim();
  problem.mask = *mask;
  auto keys = cast<RankedTensorType>(op.getK().getType());
  if (!keys.isDynamicDim(axis))
    problem.length = getLengthClass(keys.getDimSize(axis));
  return problem;
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
