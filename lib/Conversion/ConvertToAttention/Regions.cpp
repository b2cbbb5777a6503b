//===- Regions.cpp - score and mask of attention.forward ------------------===//
//
// What a program adds to scores, or puts in their place, is code of the score
// or a condition. One that hides by the least number of a type is a condition
// only if every row has a visible key: of a row that has none torch gives the
// mean of v.
//
//===----------------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "AttentionProblem.h"
#include "Elements.h"
#include "Facts.h"
#include "Foreign.h"
#include "Softmax.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace fa3::convert;
using fa3::attention::ForwardOp;
using fa3::attention::ModContext;

namespace {
/// A part of a sum of masks: what is added, and the condition of a choice.
struct Part {
  Mask added;
  std::optional<Mask> condition;
};
} // namespace

/// What a sum of masks consists of, if some part of it is a choice.
static bool splitSum(Labels &labels, const State &state,
                     SmallVectorImpl<Part> &parts, unsigned depth = 0) {
  State last = peelRounds(labels, state).back();
  Type type = getTensorType(state.value).getElementType();
  if (auto choice = readChoice(labels, last, type)) {
    parts.push_back(
        {{state, false}, Mask{choice->first, true, choice->second}});
    return true;
  }
  if (depth < 8 && getElementName(last.value.getDefiningOp()) == "add") {
    auto terms = readTerms(labels, last);
    if (terms && llvm::all_of(*terms, [](const Term &term) {
          return static_cast<bool>(term.state.value);
        })) {
      SmallVector<Part, 1> inner;
      bool some = false;
      for (const Term &term : *terms)
        some |= splitSum(labels, term.state, inner, depth + 1);
      if (some) {
        parts.append(inner);
        return true;
      }
    }
  }
  parts.push_back({{state, false}, {}});
  return false;
}

namespace {
class Writer {
public:
  Writer(ForwardOp forward, AttentionProblem &problem, const Roles &roles,
         std::string &reason)
      : forward(forward), problem(problem), labels(problem.labels),
        roles(roles), reason(reason) {}
  void run();

private:
  Value join(PointBuilder &point, Value keep, Value condition);
  Value getConditions(PointBuilder &point);
  bool leavesKeys(Value keep, const ModContext &context);
  void writeMask();
  void writeScore();
  Facts getFacts(Block &block);
  void simplify(Region &region, bool hasScore);
  void nameBounds();

  ForwardOp forward;
  AttentionProblem &problem;
  Labels &labels;
  const Roles &roles;
  std::string &reason;
  llvm::SetVector<Value> tables;
  /// Conditions; what is one only if each row has a visible key; and what else
  /// is done to scores, from the outside to the inside.
  SmallVector<Mask, 1> sure;
  SmallVector<Part, 1> likely, edits;
};
} // namespace

Value Writer::join(PointBuilder &point, Value keep, Value condition) {
  if (!condition || !keep)
    return condition ? condition : keep;
  return arith::AndIOp::create(point.b, keep, condition);
}

/// The conditions that hold without a proof; null if there are none.
Value Writer::getConditions(PointBuilder &point) {
  Value keep;
  for (const Mask &mask : sure) {
    Value element;
    if (mask.choice.inBody || mask.choice.isNegated)
      element = point.getVisible(mask.state, mask.choice);
    else if ((element = point.getElement(mask.state)))
      element = point.toCondition(element);
    keep = join(point, keep, element);
  }
  for (auto &condition : problem.conditions)
    keep = join(point, keep, condition(point));
  return keep;
}

/// Whether each row has a visible key for certain: the first one, or that of
/// its own number, counted from the first or from the last.
bool Writer::leavesKeys(Value keep, const ModContext &context) {
  int64_t queries = labels.getExtent(roles.query),
          keys = labels.getExtent(roles.key);
  SmallVector<Linear> candidates = {{0, {}}};
  if (!ShapedType::isDynamic(queries) && !ShapedType::isDynamic(keys) &&
      queries <= keys) {
    candidates.push_back({0, {{context.query, 1}}});
    candidates.push_back({keys - queries, {{context.query, 1}}});
  }
  return llvm::any_of(candidates, [&](const Linear &key) {
    Facts facts;
    setRanges(facts, labels, roles, context);
    facts.setForm(context.key, key);
    return facts.getConstant(keep) == 1;
  });
}

void Writer::writeMask() {
  bool isLeft = false;
  if (sure.empty() && likely.empty() && problem.conditions.empty())
    return;
  forward.prependMaskMod(
      [&](ImplicitLocOpBuilder &b, const ModContext &context) -> Value {
        PointBuilder point(b, labels, roles, context, tables, reason);
        if (!likely.empty()) {
          auto compute = [&]() -> Value {
            Value keep = getConditions(point);
            for (const Part &part : likely) {
              const Mask &mask = *part.condition;
              Value visible = point.getVisible(mask.state, mask.choice);
              if (!visible)
                return {};
              keep = join(point, keep, visible);
            }
            return keep;
          };
          if (Value keep = point.attempt(compute, [&](Value value) {
                return reason.empty() && leavesKeys(value, context);
              }))
            return keep;
          isLeft = true;
        }
        return getConditions(point);
      });
  // Otherwise as the program has it, in its place.
  if (isLeft)
    return;
  for (Part &part : edits)
    if (part.condition)
      part.added = {part.condition->choice.rest, false};
  llvm::erase_if(edits,
                 [](const Part &part) { return !part.added.state.value; });
}

void Writer::writeScore() {
  if (problem.scores.empty() && edits.empty())
    return;
  forward.prependScoreMod([&](ImplicitLocOpBuilder &b,
                              const ModContext &context, Value score) -> Value {
    PointBuilder point(b, labels, roles, context, tables, reason);
    Value edited = score;
    for (auto &edit : problem.scores)
      if (Value next = edit(point, edited))
        edited = next;
    for (const Part &part : llvm::reverse(edits)) {
      const Mask &mask = part.added;
      if (mask.isCondition) {
        Value visible = point.getVisible(mask.state, mask.choice);
        if (visible)
          edited = arith::SelectOp::create(
              b, visible, edited,
              point.constant(mask.choice.hidden, b.getF32Type()));
        continue;
      }
      Value element = point.getElement(mask.state);
      if (!element)
        continue;
      if (!isa<FloatType>(element.getType())) {
        point.fail("its mask has elements of a type that is no float");
        continue;
      }
      Value sum = arith::AddFOp::create(b, edited, point.toF32(element));
      // Hidden scores are alike where the program rounds them.
      if (part.condition && mask.sumType && mask.sumType.isF16()) {
        Value visible =
            point.getVisible(part.condition->state, part.condition->choice);
        if (!visible)
          continue;
        Value rounded = point.toF32(point.toFloat(sum, mask.sumType));
        sum = arith::SelectOp::create(b, visible, sum, rounded);
      }
      edited = sum;
    }
    return edited;
  });
}

/// What is known of the indices that the block of a region has.
Facts Writer::getFacts(Block &block) {
  auto arguments = block.getArguments().take_back(4);
  ModContext context;
  context.batch = arguments[0], context.head = arguments[1];
  context.query = arguments[2], context.key = arguments[3];
  Facts facts;
  setRanges(facts, labels, roles, context);
  return facts;
}

/// Writes what is known of indices into a region; one that hides nothing, or
/// changes nothing, is none.
void Writer::simplify(Region &region, bool hasScore) {
  if (region.empty() || !reason.empty())
    return;
  Block &block = region.front();
  Facts facts = getFacts(block);
  facts.simplify(block);
  Value yielded = block.getTerminator()->getOperand(0);
  if (hasScore ? yielded == block.getArgument(0) : getInteger(yielded) == 1)
    block.erase();
}

/// The conditions that a value is the conjunction of.
static void getConjuncts(Value value, SmallVectorImpl<Value> &conjuncts) {
  auto both = value.getDefiningOp<arith::AndIOp>();
  if (!both) {
    conjuncts.push_back(value);
    return;
  }
  getConjuncts(both.getLhs(), conjuncts);
  getConjuncts(both.getRhs(), conjuncts);
}

/// The numbers between which a condition holds key - query; the least or the
/// greatest number for none.
static std::optional<std::pair<int64_t, int64_t>>
readBounds(Facts &facts, Value condition, Value query, Value key) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare || !compare.getLhs().getType().isIndex())
    return std::nullopt;
  Linear lhs = facts.getForm(compare.getLhs()),
         rhs = facts.getForm(compare.getRhs());
  // What is compared, as key - query + constant with 0.
  int64_t ofKey = 0, ofQuery = 0;
  for (auto [form, sign] : {std::pair(&lhs, 1), std::pair(&rhs, -1)})
    for (auto [atom, factor] : form->terms) {
      if (atom != key && atom != query)
        return std::nullopt;
      (atom == key ? ofKey : ofQuery) += sign * factor;
    }
  int64_t constant;
  if (ofKey != -ofQuery || (ofKey != 1 && ofKey != -1) ||
      llvm::SubOverflow(lhs.constant, rhs.constant, constant) ||
      std::abs(constant) > fa3::attention::kGreatestExtent)
    return std::nullopt;
  using arith::CmpIPredicate;
  CmpIPredicate predicate = compare.getPredicate();
  if (ofKey < 0) {
    constant = -constant;
    predicate = predicate == CmpIPredicate::slt   ? CmpIPredicate::sgt
                : predicate == CmpIPredicate::sle ? CmpIPredicate::sge
                : predicate == CmpIPredicate::sgt ? CmpIPredicate::slt
                : predicate == CmpIPredicate::sge ? CmpIPredicate::sle
                                                  : predicate;
  }
  constexpr int64_t least = std::numeric_limits<int64_t>::min(),
                    greatest = std::numeric_limits<int64_t>::max();
  switch (predicate) {
  case CmpIPredicate::slt:
    return std::pair(least, -constant - 1);
  case CmpIPredicate::sle:
    return std::pair(least, -constant);
  case CmpIPredicate::sgt:
    return std::pair(-constant + 1, greatest);
  case CmpIPredicate::sge:
    return std::pair(-constant, greatest);
  default:
    return std::nullopt;
  }
}

/// Causal masks and windows have names, which tuning tables know.
void Writer::nameBounds() {
  Region &region = forward.getMaskMod();
  if (region.empty() || !reason.empty())
    return;
  Block &block = region.front();
  Facts facts = getFacts(block);
  SmallVector<Value> conjuncts, others;
  Operation *yield = block.getTerminator();
  getConjuncts(yield->getOperand(0), conjuncts);
  constexpr int64_t least = std::numeric_limits<int64_t>::min(),
                    greatest = std::numeric_limits<int64_t>::max();
  int64_t left = least, right = greatest;
  for (Value condition : conjuncts) {
    auto bounds = readBounds(facts, condition, block.getArgument(2),
                             block.getArgument(3));
    if (!bounds || (bounds->first != least && bounds->first > 0) ||
        (bounds->second != greatest && bounds->second < 0)) {
      others.push_back(condition);
      continue;
    }
    left = std::max(left, bounds->first);
    right = std::min(right, bounds->second);
  }
  if (left == least && right == greatest)
    return;
  using namespace fa3::attention;
  MLIRContext *context = forward.getContext();
  int64_t queries = labels.getExtent(roles.query),
          keys = labels.getExtent(roles.key);
  Attribute mod = getCausal(context, queries, keys);
  Alignment align = cast<CausalAttr>(mod).getAlign();
  auto bound = [](int64_t number, int64_t none) {
    return number == none ? std::nullopt
                          : std::optional<int64_t>(std::abs(number));
  };
  if (left != least || right != 0)
    mod = WindowAttr::get(context, bound(left, least), bound(right, greatest),
                          align);
  SmallVector<Attribute> mods;
  if (ArrayAttr own = forward.getModsAttr())
    mods.append(own.begin(), own.end());
  mods.push_back(mod);
  forward.setModsAttr(ArrayAttr::get(context, mods));
  if (others.empty()) {
    block.erase();
    return;
  }
  ImplicitLocOpBuilder b(forward.getLoc(), yield);
  Value keep = others.front();
  for (Value other : llvm::drop_begin(others))
    keep = arith::AndIOp::create(b, keep, other);
  yield->setOperand(0, keep);
  facts.simplify(block);
}

void Writer::run() {
  for (const Mask &mask : problem.masks) {
    SmallVector<Part, 1> parts;
    if (mask.isCondition)
      parts.push_back({mask, mask});
    else
      splitSum(labels, mask.state, parts);
    for (Part &part : parts)
      part.added.sumType = mask.sumType;
    for (const Part &part : parts) {
      bool isSure = part.condition && std::isinf(part.condition->choice.hidden);
      if (isSure)
        sure.push_back(*part.condition);
      if (isSure && part.condition->choice.rest.value)
        edits.push_back({{part.condition->choice.rest, false}, {}});
      if (!isSure)
        edits.push_back(part);
      if (part.condition && !isSure)
        likely.push_back(part);
    }
  }
  writeMask();
  writeScore();
  simplify(forward.getMaskMod(), /*hasScore=*/false);
  simplify(forward.getScoreMod(), /*hasScore=*/true);
  nameBounds();
  // Tables of code that has become simpler.
  SmallVector<Value> unused;
  for (Value table : tables)
    if (llvm::none_of(table.getUsers(), [&](Operation *user) {
          return forward->isProperAncestor(user);
        }))
      unused.push_back(table);
  for (Value table : unused) {
    tables.remove(table);
    if (getDefiningName(table) == "torch_c.to_builtin_tensor")
      eraseDead(table.getDefiningOp());
  }
  forward.getAuxMutable().append(tables.getArrayRef());
}

void fa3::convert::buildRegions(ForwardOp forward, AttentionProblem &problem,
                                const Roles &roles, std::string &reason) {
  Writer(forward, problem, roles, reason).run();
}
