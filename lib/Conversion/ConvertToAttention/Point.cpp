//===- Point.cpp - code of one score --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Point.h"
#include "Elements.h"
#include "Foreign.h"
#include "ScalarCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace fa3::convert;

Value Point::fail(const Twine &reason) {
  if (problem.empty())
    problem = reason.str();
  return {};
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value Point::constant(double number, Type type) {
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(b, b.getFloatAttr(type, number));
  return arith::ConstantOp::create(
      b, b.getIntegerAttr(type, static_cast<int64_t>(number)));
}

Value Point::constantIndex(int64_t number) {
  return arith::ConstantIndexOp::create(b, number);
}

Value Point::toIndex(Value value) {
  if (value.getType().isIndex())
    return value;
  if (!isa<IntegerType>(value.getType()))
    return fail("its code uses a float as an index");
  if (value.getType().isInteger(1))
    return arith::IndexCastUIOp::create(b, b.getIndexType(), value);
  return arith::IndexCastOp::create(b, b.getIndexType(), value);
}

Value Point::toFloat(Value value, Type type) {
  Type own = value.getType();
  if (own == type)
    return value;
  if (!isa<FloatType>(own)) {
    if (own.isIndex())
      value = arith::IndexCastOp::create(b, b.getI32Type(), value);
    if (own.isInteger(1))
      return arith::UIToFPOp::create(b, type, value);
    return arith::SIToFPOp::create(b, type, value);
  }
  unsigned from = own.getIntOrFloatBitWidth(),
           to = type.getIntOrFloatBitWidth();
  if (from < to)
    return arith::ExtFOp::create(b, type, value);
  if (from > to)
    return arith::TruncFOp::create(b, type, value);
  return toFloat(toFloat(value, b.getF32Type()), type);
}

Value Point::toF32(Value value) { return toFloat(value, b.getF32Type()); }

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// `index` counts over all labels of a role, the last one fastest.
Value Point::getIndexOf(Label label, const Group &role, Value index) {
  if (role.size() == 1)
    return index;
  size_t position = llvm::find(role, label) - role.begin();
  int64_t inner =
      labels.getExtent(ArrayRef<Label>(role).drop_front(position + 1));
  int64_t extent = labels.getExtent(label);
  if (ShapedType::isDynamic(inner) || inner < 1)
    return fail("its code asks for a part of a dimension whose extent is not "
                "known");
  if (inner != 1)
    index = arith::DivSIOp::create(b, index, constantIndex(inner));
  if (position == 0)
    return index;
  if (ShapedType::isDynamic(extent) || extent < 1)
    return fail("its code asks for a part of a dimension whose extent is not "
                "known");
  return arith::RemSIOp::create(b, index, constantIndex(extent));
}

Value Point::getIndex(ArrayRef<Label> group) {
  Group leaves = labels.resolve(group);
  llvm::erase_if(leaves,
                 [&](Label label) { return labels.getExtent(label) == 1; });
  // Labels may have been split since.
  auto resolve = [&](const Group &role) {
    Group own = labels.resolve(role);
    llvm::erase_if(own,
                   [&](Label label) { return labels.getExtent(label) == 1; });
    return own;
  };
  const std::pair<Group, Value> all[] = {{resolve(roles.batch), context.batch},
                                         {resolve(roles.head), context.head},
                                         {resolve(roles.query), context.query},
                                         {resolve(roles.key), context.key}};
  if (leaves.empty())
    return constantIndex(0);
  Value sum;
  for (const auto &[role, index] : all)
    if (leaves == role)
      return index;
  for (Label label : leaves) {
    Value own;
    for (const auto &[role, index] : all)
      if (llvm::is_contained(role, label))
        own = getIndexOf(label, role, index);
    if (!own)
      return fail("its code asks for a position along a dimension that scores "
                  "do not have");
    if (!sum) {
      sum = own;
      continue;
    }
    int64_t extent = labels.getExtent(label);
    if (ShapedType::isDynamic(extent))
      return fail("its code collapses dimensions whose extents are not known");
    sum = arith::MulIOp::create(b, sum, constantIndex(extent));
    sum = arith::AddIOp::create(b, sum, own);
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Elements of tensors
//===----------------------------------------------------------------------===//

Value Point::load(Value tensor, ValueRange indices) {
  RankedTensorType type = getTensorType(tensor);
  if (!type || type.getRank() != static_cast<int64_t>(indices.size()))
    return fail("its code reads a tensor of another rank");
  Value builtin = tensor;
  if (!isa<RankedTensorType>(tensor.getType())) {
    auto *cast = llvm::find_if(tables, [&](Value table) {
      return getDefiningName(table) == "torch_c.to_builtin_tensor" &&
             table.getDefiningOp()->getOperand(0) == tensor;
    });
    Operation *attention = b.getInsertionBlock()->getParentOp();
    OpBuilder outside(attention);
    builtin = cast != tables.end()
                  ? *cast
                  : toBuiltin(outside, attention->getLoc(), tensor);
  }
  tables.insert(builtin);
  return tensor::ExtractOp::create(b, builtin, indices);
}

Value Point::clone(Value value, Block *block,
                   function_ref<Value(Value)> resolve,
                   llvm::DenseMap<Value, Value> &known) {
  if (Value done = known.lookup(value))
    return done;
  Operation *op = value.getDefiningOp();
  Value result;
  if (value.getParentBlock() != block) {
    // Constants come along, other scalars are captured.
    Attribute attribute;
    if (op && matchPattern(value, m_Constant(&attribute)) &&
        isa<TypedAttr>(attribute) && value.getType().isIntOrIndexOrFloat())
      result = arith::ConstantOp::create(b, cast<TypedAttr>(attribute));
    else if (value.getType().isIntOrIndexOrFloat())
      result = value;
    else
      return fail("its code uses a value from outside that is no scalar");
  } else if (!op || !isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
                        op->getDialect())) {
    result = resolve(value);
    if (!result)
      return op ? fail("its code has '" + getName(op) + "'")
                : fail("its code uses an argument that is not known");
  } else {
    if (++count > attention::kMostOperations || ++depth > 256)
      return fail("its code is too long");
    llvm::scope_exit leave([&] { --depth; });
    IRMapping mapping;
    for (Value operand : op->getOperands()) {
      Value copy = clone(operand, block, resolve, known);
      if (!copy)
        return {};
      if (copy.getType() != operand.getType())
        return fail("its code has operands of types that are not known");
      mapping.map(operand, copy);
    }
    Operation *copy = b.clone(*op, mapping);
    copy->setDiscardableAttrs(b.getDictionaryAttr({}));
    result = copy->getResult(cast<OpResult>(value).getResultNumber());
  }
  known[value] = result;
  return result;
}

Value Point::clone(Value value, Block *block,
                   function_ref<Value(Value)> resolve) {
  llvm::DenseMap<Value, Value> known;
  return clone(value, block, resolve, known);
}

bool fa3::convert::isElementwise(Operation *op) {
  if (fa3::convert::getName(op) != "linalg.generic" ||
      op->getNumResults() != 1 || op->getNumRegions() != 1 ||
      op->getNumOperands() == 0 || !llvm::hasSingleElement(op->getRegion(0)))
    return false;
  auto maps = dyn_cast_or_null<ArrayAttr>(op->getAttr("indexing_maps"));
  Block &block = op->getRegion(0).front();
  if (!maps || maps.size() != op->getNumOperands() ||
      block.getNumArguments() != op->getNumOperands() || block.empty() ||
      fa3::convert::getName(&block.back()) != "linalg.yield" ||
      block.back().getNumOperands() != 1)
    return false;
  unsigned dims = 0;
  for (auto [number, attribute] : llvm::enumerate(maps)) {
    auto map = dyn_cast<AffineMapAttr>(attribute);
    RankedTensorType type = fa3::convert::getTensorType(op->getOperand(number));
    if (!map || !type || map.getValue().getNumResults() != type.getRank())
      return false;
    dims = map.getValue().getNumDims();
  }
  return cast<AffineMapAttr>(maps[maps.size() - 1])
             .getValue()
             .isPermutation() &&
         llvm::all_of(maps.getAsRange<AffineMapAttr>(), [&](AffineMapAttr map) {
           return map.getValue().getNumDims() == dims &&
                  map.getValue().isProjectedPermutation(
                      /*allowZeroInResults=*/true);
         });
}

AffineMap fa3::convert::getMap(Operation *op, unsigned number) {
  auto maps = cast<ArrayAttr>(op->getAttr("indexing_maps"));
  return cast<AffineMapAttr>(maps[number]).getValue();
}

/// The labels of the loops, by the map of the result.
static Dims getLoops(Operation *op, const State &result) {
  AffineMap out = getMap(op, op->getNumOperands() - 1);
  Dims loops(out.getNumDims());
  for (auto [number, expr] : llvm::enumerate(out.getResults()))
    loops[cast<AffineDimExpr>(expr).getPosition()] = result.dims[number];
  return loops;
}

SmallVector<State> fa3::convert::getInputs(Labels &labels, Operation *op,
                                           const State &result) {
  Dims loops = getLoops(op, result);
  SmallVector<State> inputs;
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    State &input = inputs.emplace_back(State{operand, {}});
    for (AffineExpr expr : getMap(op, number).getResults()) {
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        input.dims.push_back(loops[dim.getPosition()]);
      else
        input.dims.push_back({labels.create(1)});
    }
  }
  return inputs;
}

/// What decides between 0 and -inf; and whether it is the other way round.
static std::pair<Value, bool> matchChoice(Value value) {
  auto select = value.getDefiningOp<arith::SelectOp>();
  if (!select)
    return {};
  auto isHidden = [](Value number) {
    APFloat constant(0.0);
    return matchPattern(number, m_ConstantFloat(&constant)) &&
           constant.isInfinity() && constant.isNegative();
  };
  auto isZero = [](Value number) {
    return matchPattern(number, m_AnyZeroFloat());
  };
  if (isZero(select.getTrueValue()) && isHidden(select.getFalseValue()))
    return {select.getCondition(), false};
  if (isHidden(select.getTrueValue()) && isZero(select.getFalseValue()))
    return {select.getCondition(), true};
  return {};
}

Value Point::getGenericElement(Operation *op, const State &state,
                               bool condition) {
  Block &block = op->getRegion(0).front();
  Dims loops = getLoops(op, state);
  SmallVector<State> inputs = getInputs(labels, op, state);

  Value wanted = block.back().getOperand(0);
  bool negated = false;
  if (condition) {
    std::tie(wanted, negated) = matchChoice(wanted);
    if (!wanted)
      return {};
  }
  auto resolve = [&](Value value) -> Value {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return getElement(inputs[argument.getArgNumber()]);
    Operation *inner = value.getDefiningOp();
    if (getName(inner) != "linalg.index")
      return {};
    std::optional<int64_t> dim = getInteger(inner->getAttr("dim"));
    if (!dim || *dim < 0 || *dim >= static_cast<int64_t>(loops.size()))
      return {};
    return getIndex(loops[*dim]);
  };
  Value result = clone(wanted, &block, resolve);
  return result && negated ? negate(result) : result;
}

Value Point::getElement(const State &wanted) {
  if (++depth > 32)
    return fail("its mask is computed in too many steps");
  llvm::scope_exit leave([&] { --depth; });
  State state = peelAll(labels, wanted).back();
  Operation *op = state.value.getDefiningOp();
  RankedTensorType type = getTensorType(state.value);
  if (!type || type.getRank() != static_cast<int64_t>(state.dims.size()))
    return fail("its mask is no tensor of known rank");
  Value value = state.value;
  // Code of linalg has types; all other code computes in f32.
  if (op && op == given.first)
    return getName(op).starts_with("linalg.")
               ? toFloat(given.second, type.getElementType())
               : given.second;
  if (getName(op) == "linalg.fill" || getName(op) == "tensor.splat") {
    Value scalar = getOperand(op, 0);
    if (scalar && scalar.getType() == type.getElementType()) {
      if (auto number = getNumber(scalar))
        return constant(*number, scalar.getType());
      return scalar;
    }
  }
  if (auto number = getNumber(value);
      number && type.getElementType().isIntOrIndexOrFloat())
    return constant(*number, type.getElementType());
  if (op && isElementwise(op)) {
    // A terminator that is not registered is none for `without_terminator`.
    bool inner = llvm::all_of(op->getRegion(0).front(), [](Operation &other) {
      return getName(&other) == "linalg.index" ||
             getName(&other) == "linalg.yield" ||
             isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
                 other.getDialect());
    });
    if (inner)
      return getGenericElement(op, state, /*condition=*/false);
  }
  if (op && !isElementwise(op)) {
    if (isCounting(op))
      return computeCount(*this, state);
    if (auto inputs = readElements(labels, state))
      return computeElement(*this, state, *inputs);
  }
  SmallVector<Value> indices;
  for (const Group &group : state.dims) {
    indices.push_back(getIndex(group));
    if (!indices.back())
      return {};
  }
  return load(value, indices);
}

Value Point::getCondition(const State &wanted) {
  State state = peelAll(labels, wanted).back();
  auto choice = readChoice(labels, state);
  if (!choice)
    return getGenericElement(state.value.getDefiningOp(), state,
                             /*condition=*/true);
  Value element = getElement(choice->first);
  if (element && !element.getType().isInteger(1))
    return fail("its mask chooses by what is no boolean");
  return element && choice->second ? negate(element) : element;
}

Value Point::negate(Value condition) {
  return arith::XOrIOp::create(
      b, condition, arith::ConstantOp::create(b, b.getBoolAttr(true)));
}

bool fa3::convert::isCondition(Labels &labels, const State &given) {
  State state = peelAll(labels, given).back();
  Operation *op = state.value.getDefiningOp();
  if (readChoice(labels, state))
    return true;
  return op && isElementwise(op) &&
         matchChoice(op->getRegion(0).front().back().getOperand(0)).first;
}
