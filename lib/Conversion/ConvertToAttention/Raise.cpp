//===- Raise.cpp - softmax between two contractions -----------------------===//
//
// S = contraction(q, k), elementwise code on S, softmax along the keys, perhaps
// another type and another shape, contraction with v: in the operations of
// torch, StableHLO, TOSA and linalg alike. Scores and weights that the program
// rounds to 16 bits are not rounded by attention.forward.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "AttentionProblem.h"
#include "Contraction.h"
#include "Elements.h"
#include "Foreign.h"
#include "Softmax.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

using namespace mlir;
using namespace fa3::convert;

namespace {
/// Searches for the product that scores are computed of.
class Search {
public:
  Search(Labels &labels) : labels(labels) {}

  /// Whether at most one contraction, at one place, is in the code of `state`.
  bool visit(const State &state);
  /// Whether the code of `state` contains the product.
  bool contains(const State &state);

  std::optional<Contraction> product;
  Dims dims;

private:
  Labels &labels;
  unsigned count = 0;
};

/// Finds out what is an attention.
class Raiser {
public:
  Raiser(const Contraction &second, unsigned side, FloatType castType)
      : second(second), side(side), problem(second.op, castType),
        labels(problem.labels) {}

  Raised run();
  Operation *getSoftmax() const { return softmax->op; }

private:
  Raised refuseHere(const Twine &reason) {
    (void)refuse(softmax->op, reason);
    return Raised::refused;
  }
  bool splitMask(State &scores, Search &search);
  std::optional<std::pair<State, double>>
  splitFactor(State state, function_ref<bool(const State &)> ends);
  void splitScale(State &scores, const Search &search);
  Operation *takeInnerFactors(Operation *leaf);
  std::optional<std::string> readFirst(const Search &search);

  const Contraction &second;
  unsigned side;
  AttentionProblem problem;
  Labels &labels;
  std::optional<Softmax> softmax;
};
} // namespace

bool Search::visit(const State &given) {
  if (++count > 256)
    return false;
  State state = peelAll(labels, given).back();
  Operation *op = state.value.getDefiningOp();
  if (auto contraction = readContraction(op)) {
    Dims own = labels.resolve(state.dims);
    if (product && (product->op != op || dims != own))
      return false;
    product = contraction;
    dims = own;
    return true;
  }
  auto inputs = op ? readElements(labels, state) : std::nullopt;
  if (!inputs)
    return true;
  return llvm::all_of(*inputs,
                      [&](const State &input) { return visit(input); });
}

bool Search::contains(const State &given) {
  State state = peelAll(labels, given).back();
  if (state.value.getDefiningOp() == product->op)
    return true;
  auto inputs =
      state.value.getDefiningOp() ? readElements(labels, state) : std::nullopt;
  return inputs && llvm::any_of(*inputs, [&](const State &input) {
           return contains(input);
         });
}

/// The number that an operand is, or all of its elements are.
static std::optional<double> getConstant(Labels &labels, const Term &term) {
  return term.number
             ? term.number
             : getUniform(labels, peelRounds(labels, term.state).back());
}

/// Whether an operation does nothing with a tensor: it asks for an extent or a
/// type, or has results of its own that nobody uses.
static bool isIdle(Operation *op, unsigned &budget) {
  StringRef name = getName(op);
  if (name == "tensor.dim" || isAssertion(op))
    return true;
  if (budget == 0 || op->hasTrait<OpTrait::IsTerminator>() || !isEffectFree(op))
    return false;
  --budget;
  return llvm::all_of(op->getUsers(),
                      [&](Operation *user) { return isIdle(user, budget); });
}

/// Whether each tensor has one user that does something with it.
static bool isUsedOnce(ArrayRef<State> chain) {
  return llvm::all_of(chain, [](const State &state) {
    llvm::SmallPtrSet<Operation *, 4> users;
    unsigned budget = 32;
    for (Operation *user : state.value.getUsers())
      if (!isIdle(user, budget))
        users.insert(user);
    return users.size() == 1;
  });
}

/// Takes a mask from the outside of the code of scores: what is added to all
/// else, or what -inf is put in the place of by a condition.
bool Raiser::splitMask(State &scores, Search &search) {
  State state = peelRounds(labels, scores).back();
  Operation *op = state.value.getDefiningOp();
  StringRef name = getElementName(op);
  auto terms = op ? readTerms(labels, state) : std::nullopt;
  if (!terms)
    return false;
  auto hasProduct = [&](const Term &term) {
    return term.state.value && search.contains(term.state);
  };
  if (name == "add") {
    bool first = hasProduct((*terms)[0]);
    const Term &mask = (*terms)[first ? 1 : 0];
    if (first == hasProduct((*terms)[1]) || !mask.state.value)
      return false;
    problem.masks.push_back(
        {mask.state, false, {}, getTensorType(state.value).getElementType()});
    scores = (*terms)[first ? 0 : 1].state;
    return true;
  }
  bool fills = name == "masked_fill";
  if (!fills && name != "where")
    return false;
  // What is there where the condition holds, and elsewhere.
  const Term &condition = (*terms)[fills ? 1 : 0],
             &chosen = (*terms)[fills ? 2 : 1],
             &other = (*terms)[fills ? 0 : 2];
  Type type = getTensorType(state.value).getElementType();
  Choice choice;
  choice.isNegated = hides(getConstant(labels, chosen), type);
  auto hidden = getConstant(labels, choice.isNegated ? chosen : other);
  const Term &rest = choice.isNegated ? other : chosen;
  if (!hides(hidden, type) || !condition.state.value || !hasProduct(rest))
    return false;
  choice.hidden = *hidden;
  problem.masks.push_back({condition.state, true, choice});
  scores = rest.state;
  return true;
}

/// What a tensor is a constant multiple of, step by step up to where `ends`
/// holds, and the factor; nothing if there is another step.
std::optional<std::pair<State, double>>
Raiser::splitFactor(State state, function_ref<bool(const State &)> ends) {
  double factor = 1;
  while (true) {
    State last = peelRounds(labels, state).back();
    if (ends(last))
      break;
    Operation *op = last.value.getDefiningOp();
    StringRef name = getElementName(op);
    auto terms = op && (name == "mul" || name == "div")
                     ? readTerms(labels, last)
                     : std::nullopt;
    if (!terms)
      return std::nullopt;
    auto right = getConstant(labels, (*terms)[1]);
    auto left = name == "mul" ? getConstant(labels, (*terms)[0]) : std::nullopt;
    const Term &other = (*terms)[right ? 0 : 1];
    if (!(right || left) || !other.state.value)
      return std::nullopt;
    double number = right ? *right : *left;
    factor = name == "mul" ? factor * number : factor / number;
    state = other.state;
  }
  if (!std::isfinite(factor))
    return std::nullopt;
  return std::pair(state, factor);
}

/// Takes the factor of scores that have no other code, and those of q and k.
void Raiser::splitScale(State &scores, const Search &search) {
  auto factor = splitFactor(scores, [&](const State &state) {
    return state.value == search.product->tensors[2];
  });
  problem.scale = factor ? factor->second : 1;
  if (factor)
    scores = factor->first;
  for (State *state : {&problem.q, &problem.k}) {
    auto own = splitFactor(*state, [&](const State &step) {
      StringRef name = getElementName(step.value.getDefiningOp());
      return name != "mul" && name != "div";
    });
    bool isSameType = own && getTensorType(own->first.value).getElementType() ==
                                 getTensorType(state->value).getElementType();
    if (!isSameType)
      continue;
    *problem.scale *= own->second;
    *state = own->first;
  }
}

/// Takes constant factors right behind the product, whose scores have other
/// code as well. Gives the last operation of them.
Operation *Raiser::takeInnerFactors(Operation *leaf) {
  while (leaf->getResult(0).hasOneUse()) {
    Value score = leaf->getResult(0);
    Operation *user = *score.user_begin();
    StringRef name = getElementName(user);
    bool isFactor =
        (name == "mul" || name == "div") && getTensorType(user->getResult(0));
    auto terms = isFactor
                     ? readTerms(labels, makeState(labels, user->getResult(0)))
                     : std::nullopt;
    if (!terms)
      break;
    unsigned side = (*terms)[0].state.value == score ? 0 : 1;
    auto factor = getConstant(labels, (*terms)[1 - side]);
    if ((*terms)[side].state.value != score || !factor ||
        (name == "div" && side == 1))
      break;
    double scale =
        name == "mul" ? *problem.scale * *factor : *problem.scale / *factor;
    if (!std::isfinite(scale))
      break;
    problem.scale = scale;
    leaf = user;
  }
  return leaf;
}

std::optional<std::string> Raiser::readFirst(const Search &search) {
  const Contraction &first = *search.product;
  Dims loops(first.count);
  for (auto [number, loop] : llvm::enumerate(first.loops[2]))
    if (loop >= 0)
      loops[loop] = search.dims[number];
  for (Group &group : loops)
    if (group.empty())
      group.push_back(labels.create(ShapedType::kDynamic));
  auto lhs = first.getState(labels, 0, loops),
       rhs = first.getState(labels, 1, loops);
  if (failed(lhs) || failed(rhs))
    return "the shapes of the contraction in front of it do not fit";
  auto hasKey = [&](const State &state) {
    return llvm::any_of(state.dims, [&](const Group &group) {
      return labels.dropUnits(group) == labels.dropUnits(softmax->along);
    });
  };
  if (hasKey(*lhs) == hasKey(*rhs))
    return "its dimension is not that of one operand of the contraction in "
           "front of it";
  problem.q = hasKey(*lhs) ? *rhs : *lhs;
  problem.k = hasKey(*lhs) ? *lhs : *rhs;
  // Floats of a wider type have the values that they were made from.
  for (State *state : {&problem.q, &problem.k, &problem.v})
    for (const State &step : peelRounds(labels, *state, /*widens=*/true))
      if (getTensorType(step.value).getElementType() !=
          getTensorType(state->value).getElementType())
        *state = step;
  return std::nullopt;
}

Raised Raiser::run() {
  Dims loops;
  for (int64_t i = 0; i < second.count; ++i)
    loops.push_back({labels.create(ShapedType::kDynamic)});
  auto weights = second.getState(labels, side, loops),
       v = second.getState(labels, 1 - side, loops),
       o = second.getState(labels, 2, loops);
  if (failed(weights) || failed(v) || failed(o) ||
      second.tensors[0] == second.tensors[1])
    return Raised::none;
  SmallVector<State> chain = peelRounds(labels, *weights);
  for (size_t i = 0; i < chain.size() && !softmax; ++i)
    if ((softmax = readSoftmax(labels, chain[i])))
      chain.truncate(i + 1);
  if (!softmax)
    return Raised::none;
  Search search(labels);
  if (!search.visit(softmax->input) || !search.product)
    return refuseHere("its scores are not computed of one contraction by "
                      "elementwise code");
  if (!isUsedOnce(chain))
    return refuseHere("its result is not only used by a contraction");
  problem.v = *v;
  problem.o = *o;
  if (auto reason = readFirst(search))
    return refuseHere(*reason);
  State scores = softmax->input;
  while (splitMask(scores, search))
    ;
  splitScale(scores, search);
  Operation *leaf = search.product->op;
  if (peelRounds(labels, scores).back().value != search.product->tensors[2]) {
    leaf = takeInnerFactors(leaf);
    problem.scores.push_back([=](PointBuilder &point, Value score) -> Value {
      point.setElement(leaf, score);
      Value edited = point.getElement(scores);
      if (edited && !isa<FloatType>(edited.getType()))
        return point.fail("its scores are no floats");
      return edited ? point.toF32(edited) : Value();
    });
  }
  std::string what;
  llvm::raw_string_ostream(what)
      << "softmax of " << getTensorType(softmax->input.value)
      << " between two contractions became attention.forward, which keeps "
         "scores in f32";
  Location loc = softmax->op->getLoc();
  if (failed(assemble(problem)))
    return Raised::refused;
  remarkConverted(loc, what);
  return Raised::converted;
}

Raised fa3::convert::raise(Operation *op, FloatType castType,
                           llvm::SmallPtrSetImpl<Operation *> &seen) {
  auto second = readContraction(op);
  if (!second)
    return Raised::none;
  for (unsigned side : {0, 1}) {
    Raiser raiser(*second, side, castType);
    Raised raised = raiser.run();
    if (raised == Raised::refused)
      seen.insert(raiser.getSoftmax());
    if (raised != Raised::none)
      return raised;
  }
  return Raised::none;
}

/// Whether a contraction uses a tensor, or what a few operations make of it.
static bool reachesContraction(Value value) {
  llvm::SetVector<Operation *> work;
  work.insert(value.user_begin(), value.user_end());
  constexpr size_t kMost = 64;
  for (size_t i = 0; i < work.size() && i < kMost; ++i) {
    if (readContraction(work[i]))
      return true;
    for (Value result : work[i]->getResults())
      work.insert(result.user_begin(), result.user_end());
  }
  return false;
}

Raised fa3::convert::refuseSoftmax(Operation *op) {
  Labels labels;
  RankedTensorType type = getTensorType(getOperand(op, 0));
  Search search(labels);
  if (!type || !search.visit(makeState(labels, op->getOperand(0))) ||
      !search.product || !reachesContraction(op->getResult(0)))
    return Raised::none;
  Operation *user = *op->getResult(0).user_begin();
  (void)refuse(op, op->getResult(0).hasOneUse()
                       ? "its result is used by '" + getName(user) +
                             "', which is no contraction"
                       : Twine("its result is not only used by a contraction"));
  return Raised::refused;
}
