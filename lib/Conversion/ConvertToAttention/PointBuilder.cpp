//===- PointBuilder.cpp - code of one score -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "PointBuilder.h"
#include "Elements.h"
#include "Foreign.h"
#include "Moves.h"
#include "ScalarCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace fa3::convert;

void fa3::convert::setRanges(Facts &facts, Labels &labels, const Roles &roles,
                             const fa3::attention::ModContext &context) {
  const std::pair<const Group *, Value> all[] = {{&roles.batch, context.batch},
                                                 {&roles.head, context.head},
                                                 {&roles.query, context.query},
                                                 {&roles.key, context.key}};
  for (auto [role, index] : all) {
    int64_t extent = labels.getExtent(*role);
    bool isKnown = !ShapedType::isDynamic(extent) && extent > 0;
    // Indices have 32 bits in a kernel.
    facts.setRange(index, 0, (isKnown ? extent : int64_t(1) << 31) - 1);
  }
}

PointBuilder::PointBuilder(ImplicitLocOpBuilder &b, Labels &labels,
                           const Roles &roles,
                           const fa3::attention::ModContext &context,
                           llvm::SetVector<Value> &tables, std::string &problem)
    : b(b), labels(labels), roles(roles), context(context), tables(tables),
      problem(problem) {
  setRanges(facts, labels, roles, context);
}

Value PointBuilder::fail(const Twine &reason) {
  if (problem.empty())
    problem = reason.str();
  return {};
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value PointBuilder::constant(double number, Type type) {
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(b, b.getFloatAttr(type, number));
  return arith::ConstantOp::create(
      b, b.getIntegerAttr(type, static_cast<int64_t>(number)));
}

Value PointBuilder::constantIndex(int64_t number) {
  return arith::ConstantIndexOp::create(b, number);
}

Value PointBuilder::toIndex(Value value) {
  if (value.getType().isIndex())
    return value;
  if (!isa<IntegerType>(value.getType()))
    return fail("its code uses a float as an index");
  if (value.getType().isInteger(1))
    return arith::IndexCastUIOp::create(b, b.getIndexType(), value);
  return arith::IndexCastOp::create(b, b.getIndexType(), value);
}

Value PointBuilder::toFloat(Value value, Type type) {
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

Value PointBuilder::toType(Value value, Type type) {
  Type own = value.getType();
  if (own == type)
    return value;
  if (isa<FloatType>(type))
    return toFloat(value, type);
  if (type.isIndex())
    return toIndex(value);
  if (!isa<IntegerType>(type) || isa<FloatType>(own))
    return fail("its code uses a float as an integer");
  if (type.isInteger(1))
    return fail("its code uses a number as a condition");
  if (own.isIndex())
    return arith::IndexCastOp::create(b, type, value);
  if (own.isInteger(1))
    return arith::ExtUIOp::create(b, type, value);
  if (own.getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
    return arith::ExtSIOp::create(b, type, value);
  return arith::TruncIOp::create(b, type, value);
}

Value PointBuilder::toF32(Value value) {
  return toFloat(value, b.getF32Type());
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// `index` counts over all labels of a role, the last one fastest.
Value PointBuilder::getIndexOf(Label label, const Group &role, Value index) {
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

Value PointBuilder::getIndex(ArrayRef<Label> group) {
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
  SmallVector<std::pair<Group, Value>> all = {
      {resolve(roles.batch), context.batch},
      {resolve(roles.head), context.head},
      {resolve(roles.query), context.query},
      {resolve(roles.key), context.key}};
  for (auto [label, index] : bound)
    all.push_back({resolve({label}), index});
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

Value PointBuilder::load(Value tensor, ValueRange indices) {
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

Label PointBuilder::bind(Value index, int64_t extent) {
  Label label = labels.create(extent);
  bound.push_back({label, index});
  return label;
}

Value PointBuilder::attempt(function_ref<Value()> compute,
                            function_ref<bool(Value)> accepts) {
  Block *block = b.getInsertionBlock();
  auto getLast = [&]() -> Operation * {
    auto at = b.getInsertionPoint();
    return at == block->begin() ? nullptr : &*std::prev(at);
  };
  Operation *last = getLast();
  size_t tableCount = tables.size(), boundCount = bound.size();
  unsigned countBefore = count;
  std::string before = problem;
  Value result = compute();
  if (result && accepts(result))
    return result;
  problem = before;
  count = countBefore;
  elements.clear();
  facts.forget();
  bound.truncate(boundCount);
  while (Operation *made = getLast()) {
    if (made == last)
      break;
    made->erase();
  }
  while (tables.size() > tableCount) {
    Operation *cast = tables.pop_back_val().getDefiningOp();
    if (fa3::convert::getName(cast) == "torch_c.to_builtin_tensor")
      eraseDead(cast);
  }
  return {};
}

/// Scores have 32 bits, so has what is computed for them.
static Type narrow(Type type) {
  return type.isF64() ? Float32Type::get(type.getContext()) : type;
}

/// An element of a table that code reads by itself.
Value PointBuilder::extract(Operation *op, Block *block,
                            function_ref<Value(Value)> resolve,
                            llvm::DenseMap<Value, Value> &known) {
  Value table = op->getOperand(0);
  if (table.getParentBlock() == block)
    return fail("its code reads a table that it makes");
  State state{table, {}};
  for (auto [dim, operand] :
       llvm::enumerate(llvm::drop_begin(op->getOperands()))) {
    Value index = clone(operand, block, resolve, known);
    if (!index)
      return {};
    if (isStrict && !facts.isOfArguments(index))
      return fail("its code reads a table at an index that is computed");
    int64_t extent = cast<RankedTensorType>(table.getType()).getDimSize(dim);
    state.dims.push_back({bind(index, extent)});
  }
  Value element = getElement(state);
  return element ? toType(element, narrow(op->getResult(0).getType()))
                 : Value();
}

Value PointBuilder::clone(Value value, Block *block,
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
      result = isa<FloatAttr>(attribute)
                   ? constant(cast<FloatAttr>(attribute).getValueAsDouble(),
                              narrow(value.getType()))
                   : arith::ConstantOp::create(b, cast<TypedAttr>(attribute))
                         .getResult();
    else if (value.getType().isIntOrIndexOrFloat())
      result = value;
    else
      return fail("its code uses a value from outside that is no scalar");
  } else if (isa_and_nonnull<tensor::ExtractOp>(op)) {
    result = extract(op, block, resolve, known);
    if (!result)
      return {};
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
      if (copy.getType() != narrow(operand.getType()))
        return fail("its code has operands of types that are not known");
      mapping.map(operand, copy);
    }
    if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
      result =
          toFloat(mapping.lookup(op->getOperand(0)), narrow(value.getType()));
    } else {
      Operation *copy = b.clone(*op, mapping);
      copy->setDiscardableAttrs(b.getDictionaryAttr({}));
      for (Value own : copy->getResults())
        own.setType(narrow(own.getType()));
      if (auto number = dyn_cast<arith::ConstantOp>(copy))
        if (auto wide = dyn_cast<FloatAttr>(number.getValue()))
          number.setValueAttr(
              b.getFloatAttr(number.getType(), wide.getValueAsDouble()));
      result = copy->getResult(cast<OpResult>(value).getResultNumber());
    }
  }
  known[value] = result;
  return result;
}

Value PointBuilder::clone(Value value, Block *block,
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

Value PointBuilder::getGenericElement(Operation *op, const State &state,
                                      Value wanted) {
  Block &block = op->getRegion(0).front();
  Dims loops = getLoops(op, state);
  SmallVector<State> inputs = getInputs(labels, op, state);

  auto resolve = [&](Value value) -> Value {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Value element = getElement(inputs[argument.getArgNumber()]);
      return element ? toType(element, narrow(argument.getType())) : Value();
    }
    Operation *inner = value.getDefiningOp();
    if (getName(inner) != "linalg.index")
      return {};
    std::optional<int64_t> dim = getInteger(inner->getAttr("dim"));
    if (!dim || *dim < 0 || *dim >= static_cast<int64_t>(loops.size()))
      return {};
    return getIndex(loops[*dim]);
  };
  return clone(wanted, &block, resolve);
}

Value PointBuilder::getElement(const State &wanted) {
  State state = peelAll(labels, wanted).back();
  RankedTensorType type = getTensorType(state.value);
  if (!type || type.getRank() != static_cast<int64_t>(state.dims.size()))
    return fail("its mask is no tensor of known rank");
  Dims own = llvm::map_to_vector<5>(
      state.dims, [&](const Group &group) { return labels.dropUnits(group); });
  for (const auto &[dims, element] : elements.lookup(state.value))
    if (dims == own)
      return element;
  ++depth;
  Value element = depth > 64 ? loadElement(state) : evaluate(state);
  --depth;
  if (element)
    elements[state.value].push_back({own, element});
  return element;
}

Value PointBuilder::loadElement(const State &state) {
  SmallVector<Value> indices;
  for (const Group &group : state.dims) {
    indices.push_back(getIndex(group));
    if (!indices.back())
      return {};
  }
  return load(state.value, indices);
}

Value PointBuilder::evaluate(const State &state) {
  Value value = state.value;
  Operation *op = value.getDefiningOp();
  Type type = getTensorType(value).getElementType();
  // Code of linalg has types; all other code computes in f32.
  if (op && op == given.first)
    return getName(op).starts_with("linalg.") ? toFloat(given.second, type)
                                              : given.second;
  if (getName(op) == "linalg.fill" || getName(op) == "tensor.splat") {
    Value scalar = getOperand(op, 0);
    if (scalar && scalar.getType() == type) {
      if (auto number = getNumber(scalar))
        return constant(*number, scalar.getType());
      return scalar;
    }
  }
  if (auto number = getNumber(value); number && type.isIntOrIndexOrFloat())
    return constant(*number, type);
  if (op && isElementwise(op)) {
    // A terminator that is not registered is none for `without_terminator`.
    Block &body = op->getRegion(0).front();
    bool isScalar = llvm::all_of(body, [](Operation &other) {
      return getName(&other) == "linalg.index" ||
             getName(&other) == "linalg.yield" ||
             isa<tensor::ExtractOp>(other) ||
             isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
                 other.getDialect());
    });
    auto compute = [&] {
      return getGenericElement(op, state, body.back().getOperand(0));
    };
    bool reads = llvm::any_of(
        body, [](Operation &other) { return isa<tensor::ExtractOp>(other); });
    if (isScalar && !reads)
      return compute();
    if (isScalar) {
      llvm::SaveAndRestore strict(isStrict, true);
      if (Value element = attempt(compute))
        return element;
    }
    return loadElement(state);
  }
  if (op && isCounting(op))
    return computeCount(*this, state);
  if (op && op->getNumResults() == 1)
    if (auto inputs = readElements(labels, state))
      return fa3::convert::computeElement(*this, state, *inputs);
  if (Value moved = computeMoved(*this, state))
    return moved;
  return loadElement(state);
}

Value PointBuilder::getVisible(const State &state, const Choice &choice) {
  Value element = choice.inBody ? getGenericElement(state.value.getDefiningOp(),
                                                    state, choice.inBody)
                                : getElement(state);
  if (!element)
    return {};
  if (!element.getType().isInteger(1))
    return fail("its mask chooses by what is no boolean");
  return choice.isNegated ? negate(element) : element;
}

Value PointBuilder::negate(Value condition) {
  return arith::XOrIOp::create(
      b, condition, arith::ConstantOp::create(b, b.getBoolAttr(true)));
}

Value PointBuilder::toCondition(Value element) {
  Type type = element.getType();
  if (type.isInteger(1))
    return element;
  if (!type.isIntOrIndex())
    return fail("its mask has elements of a type that is no integer");
  return arith::CmpIOp::create(
      b, arith::CmpIPredicate::ne, element,
      arith::ConstantOp::create(b, b.getIntegerAttr(type, 0)));
}
