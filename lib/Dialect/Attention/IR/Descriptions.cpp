//===- Descriptions.cpp - what operations are told as values --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// attention.sequences and attention.blocks hold code of those that take them:
// who takes which, and which code an operation has in all.
//===----------------------------------------------------------------------===//

#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fa3::attention;

bool fa3::attention::isDescription(Operation *op) {
  return isa<SequencesOp, BlocksOp>(op);
}

SmallVector<Operation *> fa3::attention::getDescriptions(Operation *op) {
  SmallVector<Operation *> descriptions;
  for (Value operand : op->getOperands())
    if (Operation *source = operand.getDefiningOp();
        source && isDescription(source))
      descriptions.push_back(source);
  return descriptions;
}

void fa3::attention::ownDescriptions(Operation *op) {
  OpBuilder builder(op);
  for (OpOperand &operand : op->getOpOperands()) {
    Operation *source = operand.get().getDefiningOp();
    if (!source || !isDescription(source))
      continue;
    if (source->hasOneUse())
      source->moveBefore(op);
    else
      operand.set(builder.clone(*source)->getResult(0));
  }
}

void fa3::attention::eraseWithDescriptions(Operation *op) {
  SmallVector<Operation *> descriptions = getDescriptions(op);
  op->erase();
  for (Operation *description : descriptions)
    if (description->use_empty())
      description->erase();
}

/// Appends what is there of a region.
static void append(SmallVector<Region *> &code, Region *region) {
  if (region)
    code.push_back(region);
}

static void appendSequences(SmallVector<Region *> &code, ScoredOpInterface op) {
  append(code, op.findLengths());
  append(code, op.findPlace(Sequence::query));
  append(code, op.findPlace(Sequence::key));
}

SmallVector<Region *> ForwardOp::listCode() {
  SmallVector<Region *> code = {&getScoreMod(), &getMaskMod()};
  appendSequences(code, *this);
  append(code, findList(Sequence::query));
  code.append({&getKeepMod(), &getEpilogue()});
  return code;
}

SmallVector<Region *> BackwardOp::listCode() {
  SmallVector<Region *> code = {&getScoreMod(), &getScoreGradRegion(),
                                &getMaskMod()};
  appendSequences(code, *this);
  code.push_back(&getKeepMod());
  append(code, findList(Sequence::query));
  append(code, findList(Sequence::key));
  code.append({&getEpilogue(), &getEpilogueGradRegion()});
  return code;
}

SmallVector<Region *> fa3::attention::listCode(Operation *op) {
  if (auto scored = dyn_cast<ScoredOpInterface>(op))
    return scored.listCode();
  SmallVector<Region *> code;
  if (auto update = dyn_cast<AppendOp>(op))
    append(code, update.findPlace());
  for (Region &region : op->getRegions())
    code.push_back(&region);
  return code;
}
