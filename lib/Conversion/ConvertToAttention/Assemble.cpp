//===- Assemble.cpp - from labels to attention.forward --------------------===//
//
// Labels tell the dimensions apart: those of q, k, v and o are batches or
// heads, those of q and o queries or heads of a group, and so on. Of the
// tensors that each operand is a view of, the ones are taken that need no
// transpose, or the fewest.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "AttentionProblem.h"
#include "Foreign.h"
#include "fa3/Dialect/Attention/IR/Attention.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

using namespace mlir;
using namespace fa3::convert;
using fa3::attention::ForwardOp;
using fa3::attention::Layout;

//===----------------------------------------------------------------------===//
// Roles of the labels
//===----------------------------------------------------------------------===//

namespace {
/// What the dimensions are, each list outermost first.
struct Parts {
  Group batch, keyHead, group, query, key, element, value;
  Group getHeads() const {
    Group heads = keyHead;
    heads.append(group);
    return heads;
  }
};

/// The dimensions that a tensor is to have: four lists of labels.
using Target = Dims;

/// A tensor, and the order in which its dimensions are those of a target; empty
/// where no transpose is needed.
struct Operand {
  State state;
  SmallVector<int64_t> order;
  size_t place = 0; ///< in the list of states
};

class Assembler {
public:
  Assembler(AttentionProblem &problem)
      : problem(problem), labels(problem.labels) {}
  LogicalResult run();

private:
  Group getLeaves(const State &state) const;
  void findShared(ArrayRef<const State *> states);
  std::optional<Parts> classify(const State &q, const State &k, const State &v,
                                const State &o);
  bool chooseStates();
  bool chooseLayout(ArrayRef<SmallVector<State>> states, bool mayTranspose);
  std::optional<Operand> chooseOperand(ArrayRef<State> list,
                                       const Target &target, Type element,
                                       bool mayTranspose) const;
  Target getTarget(const State &state, Layout layout) const;
  bool fits(const State &state, const Target &target) const;
  Value narrow(OpBuilder &b, Value tensor) const;
  bool readScale(OpBuilder &b, Type queryType, std::string &reason);
  ForwardOp createForward(OpBuilder &b, Value query, Value key, Value value);
  ForwardOp create(std::string &reason);
  Value convertResult(OpBuilder &b, Value result, const State &state,
                      const Target &target, ArrayRef<int64_t> order = {}) const;
  Value widen(OpBuilder &b, Value out, std::string &reason) const;
  void eraseFollowers();
  bool replace(ForwardOp forward, std::string &reason);

  AttentionProblem &problem;
  Labels &labels;
  Parts parts;
  Layout layout = Layout::bhsd;
  bool transposedV = false;
  Operand q, k, v, o;
  /// Of attention.forward: a number, a scalar, or neither for 1/sqrt(head dim).
  std::optional<double> scale;
  Value scaleValue;
  /// The result of the operation and what became of it in front of `o`.
  SmallVector<State> passed;
  Recorder recorder;
  /// Labels that more than one tensor has.
  llvm::DenseSet<Label> shared;
};
} // namespace

/// The labels of a tensor in order, without those of one element that no other
/// tensor has.
Group Assembler::getLeaves(const State &state) const {
  Group leaves;
  for (const Group &group : state.dims)
    leaves.append(labels.resolve(group));
  llvm::erase_if(leaves, [&](Label label) {
    return labels.getExtent(label) == 1 && !shared.contains(label);
  });
  return leaves;
}

std::optional<Parts> Assembler::classify(const State &q, const State &k,
                                         const State &v, const State &o) {
  Group inQ = getLeaves(q), inK = getLeaves(k), inV = getLeaves(v),
        inO = getLeaves(o);
  auto has = [](const Group &group, Label label) {
    return llvm::is_contained(group, label);
  };
  Parts parts;
  Group batch, rows;
  for (const Group *group : {&inQ, &inK, &inV, &inO})
    for (auto [i, label] : llvm::enumerate(*group))
      if (llvm::is_contained(ArrayRef(*group).take_front(i), label))
        return std::nullopt;
  for (Label label : inQ) {
    bool k = has(inK, label), v = has(inV, label), o = has(inO, label);
    if (k && v && o)
      batch.push_back(label);
    else if (!k && !v && o)
      rows.push_back(label);
    else if (k && !v && !o)
      parts.element.push_back(label);
    else
      return std::nullopt;
  }
  for (Label label : inK) {
    if (has(inQ, label))
      continue;
    if (!has(inV, label) || has(inO, label))
      return std::nullopt;
    parts.key.push_back(label);
  }
  for (Label label : inV) {
    if (has(inK, label))
      continue;
    if (has(inQ, label) || !has(inO, label))
      return std::nullopt;
    parts.value.push_back(label);
  }
  for (Label label : inO)
    if (!has(inQ, label) && !has(inV, label))
      return std::nullopt;
  if (batch.size() > 1)
    parts.keyHead.push_back(batch.pop_back_val());
  parts.batch = batch;
  if (parts.key.empty() || parts.element.empty() || parts.value.empty())
    return std::nullopt;
  // Rows behind the head are heads of a group if there are others, too.
  Group behind, elsewhere;
  auto *at =
      parts.keyHead.empty() ? nullptr : llvm::find(inQ, parts.keyHead.front());
  bool isBehind = at != nullptr;
  for (Label label : rows) {
    auto *own = llvm::find(inQ, label);
    if (isBehind && own == at + 1) {
      behind.push_back(label);
      at = own;
    } else {
      elsewhere.push_back(label);
    }
  }
  if (!elsewhere.empty() && !behind.empty()) {
    parts.group = behind;
    parts.query = elsewhere;
  } else {
    Group all = behind.empty() ? elsewhere : behind;
    if (all.size() > 1) {
      parts.query = {all.pop_back_val()};
      parts.group = all;
    } else {
      parts.query = all;
    }
  }
  return parts;
}

/// What a tensor looks like in a layout: the last labels that it has say
/// whether it is q, k, v or o.
Target Assembler::getTarget(const State &state, Layout layout) const {
  Group leaves = getLeaves(state);
  auto has = [&](const Group &group) {
    return llvm::any_of(
        group, [&](Label label) { return llvm::is_contained(leaves, label); });
  };
  bool isKey = has(parts.key);
  Group heads = isKey ? parts.keyHead : parts.getHeads();
  Group rows = isKey ? parts.key : parts.query;
  Group last = has(parts.value) ? parts.value : parts.element;
  if (layout == Layout::bhsd)
    return {parts.batch, heads, rows, last};
  return {parts.batch, rows, heads, last};
}

/// Whether a reshape makes one of the other: dimensions of one element may be
/// anywhere.
bool Assembler::fits(const State &state, const Target &target) const {
  Group own, wanted;
  for (const Group &group : state.dims)
    own.append(labels.dropUnits(group));
  for (const Group &group : target)
    wanted.append(labels.dropUnits(group));
  return own == wanted;
}

void Assembler::findShared(ArrayRef<const State *> states) {
  shared.clear();
  llvm::DenseSet<Label> seen;
  for (const State *state : states)
    for (const Group &group : state->dims)
      for (Label label : labels.resolve(group))
        if (!seen.insert(label).second)
          shared.insert(label);
}

/// Whether a result has the element type of q, or none has.
static bool isOfType(ArrayRef<State> results, size_t number, Type element) {
  auto has = [&](const State &state) {
    return getTensorType(state.value).getElementType() == element;
  };
  return has(results[number]) || llvm::none_of(results, has);
}

/// Finds out the parts, and takes a state of each tensor.
bool Assembler::chooseStates() {
  SmallVector<State> states[] = {
      peelAll(labels, problem.q), peelAll(labels, problem.k),
      peelAll(labels, problem.v), followAll(labels, problem.o)};
  auto classifyAll = [&]() -> bool {
    findShared({&states[0].back(), &states[1].back(), &states[2].back(),
                &states[3].front()});
    auto found = classify(states[0].back(), states[1].back(), states[2].back(),
                          states[3].front());
    if (found)
      parts = *found;
    return found.has_value();
  };
  if (!classifyAll()) {
    for (auto &list : states)
      list.truncate(1);
    if (!classifyAll())
      return false;
  }
  if (chooseLayout(states, /*mayTranspose=*/false))
    return true;
  Parts apart = parts;
  // Those are by batch and by head.
  if (!problem.keyLengths && !problem.sinks) {
    // Batches behind the rows are heads as well as others.
    parts.batch.append(parts.keyHead);
    parts.keyHead = std::move(parts.batch);
    parts.batch.clear();
    if (chooseLayout(states, /*mayTranspose=*/false))
      return true;
  }
  parts = apart;
  return chooseLayout(states, /*mayTranspose=*/true);
}

/// The state furthest from the operation that is a target's, or may become it.
std::optional<Operand> Assembler::chooseOperand(ArrayRef<State> list,
                                                const Target &target,
                                                Type element,
                                                bool mayTranspose) const {
  auto isOfElement = [&](size_t i) {
    return !element || isOfType(list, i, element);
  };
  for (size_t i = list.size(); i-- > 0;)
    if (fits(list[i], target) && isOfElement(i))
      return Operand{list[i], {}, i};
  for (size_t i = list.size(); mayTranspose && i-- > 0;)
    if (auto order = findOrder(labels, list[i].dims, target);
        order && isOfElement(i))
      return Operand{list[i], *order, i};
  return std::nullopt;
}

/// Takes, for the layout that needs the fewest transposes and is reached
/// furthest from the operation, a state of each tensor.
bool Assembler::chooseLayout(ArrayRef<SmallVector<State>> states,
                             bool mayTranspose) {
  Type element = getTensorType(problem.q.value).getElementType();
  std::optional<std::pair<int64_t, size_t>> best;
  for (bool transposed : {false, true}) {
    if (best)
      break;
    for (Layout candidate : {Layout::bhsd, Layout::bshd}) {
      std::pair<int64_t, size_t> score;
      Operand chosen[4];
      bool all = true;
      for (auto [number, list] : llvm::enumerate(states)) {
        // A state that surely has the labels and no others.
        bool isResult = number == 3;
        Target target =
            getTarget(isResult ? list.front() : list.back(), candidate);
        if (number == 2 && transposed)
          std::swap(target[candidate == Layout::bhsd ? 2 : 1], target[3]);
        std::optional<Operand> found = chooseOperand(
            list, target, isResult ? element : Type(), mayTranspose);
        all &= found.has_value();
        if (!all)
          break;
        score.first -= !found->order.empty();
        // No reshape at all decides between equals.
        score.second +=
            8 * found->place + (labels.resolve(found->state.dims) == target);
        chosen[number] = std::move(*found);
      }
      if (!all || (best && score <= *best))
        continue;
      best = score;
      layout = candidate;
      transposedV = transposed;
      q = chosen[0], k = chosen[1], v = chosen[2], o = chosen[3];
      passed.assign(states[3].begin(), states[3].begin() + o.place);
    }
  }
  return best.has_value();
}

//===----------------------------------------------------------------------===//
// The operation
//===----------------------------------------------------------------------===//

/// A tensor of f32 in the type that the caller of the pass asked for.
Value Assembler::narrow(OpBuilder &b, Value tensor) const {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!problem.castType || !type.getElementType().isF32())
    return tensor;
  return arith::TruncFOp::create(b, problem.op->getLoc(),
                                 type.clone(problem.castType), tensor);
}

/// Takes the scale of the problem as attention.forward has it.
bool Assembler::readScale(OpBuilder &b, Type queryType, std::string &reason) {
  Location loc = problem.op->getLoc();
  scale = problem.scale;
  scaleValue = problem.scaleValue;
  if (scaleValue) {
    if (std::optional<double> number = getNumber(scaleValue)) {
      scale = number;
      scaleValue = {};
    } else if (auto type = dyn_cast<FloatType>(scaleValue.getType());
               !type || type.getWidth() > 64) {
      reason = "its scale is no float";
      return false;
    } else if (type.getWidth() < 32) {
      scaleValue = arith::ExtFOp::create(b, loc, b.getF32Type(), scaleValue);
    } else if (type.getWidth() > 32) {
      scaleValue = arith::TruncFOp::create(b, loc, b.getF32Type(), scaleValue);
    }
  }
  auto query = cast<RankedTensorType>(queryType);
  // 1/sqrt(d) is what attention.forward has by itself.
  if (scale && !query.isDynamicDim(3) &&
      static_cast<float>(*scale) ==
          static_cast<float>(1.0 / std::sqrt(query.getDimSize(3))))
    scale = std::nullopt;
  return true;
}

/// The operation on operands of rank 4, with empty regions.
ForwardOp Assembler::createForward(OpBuilder &b, Value query, Value key,
                                   Value value) {
  auto queryType = cast<RankedTensorType>(query.getType());
  auto valueType = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> extents(queryType.getShape());
  extents.back() =
      valueType.getDimSize(transposedV ? (layout == Layout::bhsd ? 2 : 1) : 3);
  SmallVector<Attribute> mods;
  SmallVector<Value, 1> aux;
  if (problem.keyLengths) {
    aux.push_back(problem.keyLengths);
    mods.push_back(fa3::attention::UsedAttr::get(b.getContext(), std::nullopt,
                                                 std::optional<int64_t>(0)));
  }
  mods.append(problem.mods);
  auto forward = ForwardOp::create(b, problem.op->getLoc(), query, key, value,
                                   mods, aux, scaleValue, layout,
                                   /*withLse=*/bool(problem.lse.value));
  if (problem.sinks)
    forward.getSinksMutable().assign(problem.sinks);
  forward.getO().setType(
      RankedTensorType::get(extents, queryType.getElementType()));
  forward.setTransposedV(transposedV);
  if (scale)
    forward.setLiteralScaleAttr(b.getF32FloatAttr(*scale));
  return forward;
}

ForwardOp Assembler::create(std::string &reason) {
  Operation *op = problem.op;
  OpBuilder b(op, &recorder);
  Location loc = op->getLoc();
  auto shape = [&](const Operand &operand, bool isV) -> Value {
    const auto &[state, order, place] = operand;
    Value tensor = toBuiltin(b, loc, state.value);
    Target target = getTarget(state, layout);
    if (isV && transposedV)
      std::swap(target[layout == Layout::bhsd ? 2 : 1], target[3]);
    if (order.empty())
      return reshape(b, loc, labels, tensor, state.dims, target);
    tensor = transpose(b, loc, tensor, order);
    return reshape(b, loc, labels, tensor,
                   Dims(applyPermutation(ArrayRef(state.dims), order)), target);
  };
  Value query = shape(q, false), key = shape(k, false), value = shape(v, true);
  if (!query || !key || !value) {
    reason = "its shapes are not known well enough to be brought to rank 4";
    return {};
  }
  for (Value *tensor : {&query, &key, &value})
    *tensor = narrow(b, *tensor);
  if (!readScale(b, query.getType(), reason))
    return {};
  ForwardOp forward = createForward(b, query, key, value);
  // Dimensions of one element need no code.
  Roles roles{labels.dropUnits(parts.batch), labels.dropUnits(parts.getHeads()),
              labels.dropUnits(parts.query), labels.dropUnits(parts.key)};
  buildRegions(forward, problem, roles, reason);
  return forward;
}

//===----------------------------------------------------------------------===//
// Its results
//===----------------------------------------------------------------------===//

/// A result in the shape and type of `state`, whose dimensions are the target's
/// in this order; null if that is not possible.
Value Assembler::convertResult(OpBuilder &b, Value result, const State &state,
                               const Target &target,
                               ArrayRef<int64_t> order) const {
  Location loc = result.getLoc();
  RankedTensorType wanted = getTensorType(state.value);
  Value value = reshape(
      b, loc, labels, result, target,
      order.empty() ? state.dims
                    : Dims(applyPermutation(ArrayRef(state.dims), order)));
  if (!value)
    return {};
  if (!order.empty())
    value = transpose(b, loc, value, invertPermutationVector(order));
  if (value.getType() != wanted) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getElementType() != wanted.getElementType() ||
        !tensor::CastOp::areCastCompatible(type, wanted))
      return {};
    value = tensor::CastOp::create(b, loc, wanted, value);
  }
  return fromBuiltin(b, loc, value, state.value.getType());
}

/// The output in the element type that the program has; null if there is no
/// way.
Value Assembler::widen(OpBuilder &b, Value out, std::string &reason) const {
  Type wanted = getTensorType(o.state.value).getElementType();
  auto type = cast<RankedTensorType>(out.getType());
  if (problem.castType && wanted.isF32())
    return arith::ExtFOp::create(b, out.getLoc(), type.clone(b.getF32Type()),
                                 out);
  if (wanted == type.getElementType())
    return out;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "expects a result of the element type of q (" << type.getElementType()
     << "), got " << wanted;
  reason = text;
  return {};
}

/// Erases what stands between the operation and `o`.
void Assembler::eraseFollowers() {
  Operation *last = o.state.value.getDefiningOp();
  for (const State &state : llvm::reverse(passed)) {
    SmallVector<Operation *> others;
    for (Value operand : llvm::drop_begin(last->getOperands()))
      if (operand.getDefiningOp())
        others.push_back(operand.getDefiningOp());
    last->erase();
    eraseDead(others);
    last = state.value.getDefiningOp();
  }
}

/// Gives the users of the other project's results those of `forward`.
bool Assembler::replace(ForwardOp forward, std::string &reason) {
  OpBuilder b(forward->getContext(), &recorder);
  b.setInsertionPointAfter(forward);
  Value out = widen(b, forward.getO(), reason);
  if (!out)
    return false;
  Value result =
      convertResult(b, out, o.state, getTarget(o.state, layout), o.order);
  Value lse;
  if (problem.lse.value)
    lse = convertResult(b, forward.getLse(), problem.lse,
                        {parts.batch, parts.getHeads(), parts.query});
  if (!result || (problem.lse.value && !lse)) {
    reason = "the shape of its result is not known well enough";
    return false;
  }
  // Others may ask what stands between the operation and `o` for extents.
  SmallVector<std::pair<Value, Value>> asked;
  for (const State &state : passed) {
    if (state.value.hasOneUse())
      continue;
    Value same = convertResult(b, out, state, getTarget(state, layout));
    if (!same) {
      reason = "the shape of its result is not known well enough";
      return false;
    }
    asked.push_back({state.value, same});
  }
  o.state.value.replaceAllUsesWith(result);
  if (lse)
    problem.lse.value.replaceAllUsesWith(lse);
  for (auto [value, same] : asked)
    value.replaceUsesWithIf(same, [](OpOperand &use) {
      return getName(use.getOwner()) == "tensor.dim";
    });
  eraseFollowers();
  for (auto [value, same] : asked)
    if (same.use_empty() && same != out)
      eraseDead(same.getDefiningOp());
  return true;
}

LogicalResult Assembler::run() {
  Operation *op = problem.op;
  for (Value result : op->getResults())
    if (result != problem.o.value && result != problem.lse.value &&
        !result.use_empty())
      return refuse(op, "its result " +
                            Twine(cast<OpResult>(result).getResultNumber()) +
                            " is used, which attention.forward does not have");
  if (!chooseStates())
    return refuse(op, "its dimensions are not those of an attention");
  std::string reason;
  ForwardOp forward = create(reason);
  if (forward && reason.empty()) {
    ScopedDiagnosticHandler handler(
        op->getContext(), [&](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
              reason.empty())
            reason = diagnostic.str();
          return success();
        });
    if (failed(verify(forward, /*verifyRecursively=*/true)) && reason.empty())
      reason = "it makes no valid attention.forward";
  }
  if (!reason.empty() || !replace(forward, reason)) {
    SmallVector<Operation *> tables;
    if (forward)
      for (Value table : forward.getAux())
        if (getDefiningName(table) == "torch_c.to_builtin_tensor")
          tables.push_back(table.getDefiningOp());
    recorder.takeBack();
    eraseDead(tables);
    return refuse(op, reason);
  }
  llvm::SetVector<Operation *> sources;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *source = operand.getDefiningOp();
          source && !op->isAncestor(source))
        sources.insert(source);
  });
  op->erase();
  eraseDead(sources.getArrayRef());
  return success();
}

LogicalResult fa3::convert::assemble(AttentionProblem &problem) {
  return Assembler(problem).run();
}
