//===- ScalarRegions.cpp - regions of scalar code -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Syntax, constraints and growth of the regions that forward and backward have.
//===----------------------------------------------------------------------===//

#include "ScalarRegions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace fa3::attention;

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

void fa3::attention::printRegion(OpAsmPrinter &printer, StringRef keyword,
                                 Region &region) {
  if (region.empty())
    return;
  printer.printNewline();
  printer << "  " << keyword << " (";
  printer.printOperands(region.getArguments());
  printer << ") ";
  printer.printRegion(region, /*printEntryBlockArgs=*/false);
}

ParseResult fa3::attention::parseKeptScale(OpAsmParser &parser,
                                           OperationState &result,
                                           StringAttr name) {
  FloatAttr scale;
  if (failed(parser.parseOptionalKeyword("kept_scale")))
    return success();
  return parser.parseAttribute(scale, parser.getBuilder().getF32Type(), name,
                               result.attributes);
}

void fa3::attention::printKeptScale(OpAsmPrinter &printer,
                                    ScoredOpInterface op) {
  FloatAttr scale = op.getKeptScaleAttr();
  if (!scale)
    return;
  printer << " kept_scale ";
  printer.printAttributeWithoutType(scale);
}

ParseResult fa3::attention::parseRegion(OpAsmParser &parser, Region &region,
                                        ArrayRef<Type> types,
                                        StringRef keyword) {
  SmallVector<OpAsmParser::Argument> arguments;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren))
    return failure();
  if (arguments.size() != types.size())
    return parser.emitError(loc)
           << "expects " << types.size() << " arguments in '" << keyword
           << "', got " << arguments.size();
  for (auto [argument, type] : llvm::zip(arguments, types))
    argument.type = type;
  return parser.parseRegion(region, arguments);
}

ParseResult fa3::attention::parseOptionalRegion(OpAsmParser &parser,
                                                Region &region,
                                                ArrayRef<Type> types,
                                                StringRef keyword) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  return parseRegion(parser, region, types, keyword);
}

ParseResult fa3::attention::parseTypedOperands(
    OpAsmParser &parser, StringRef keyword,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands,
    SmallVectorImpl<Type> &types, SMLoc &loc) {
  loc = parser.getCurrentLocation();
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  return failure(parser.parseLParen() || parser.parseOperandList(operands) ||
                 parser.parseColonTypeList(types) || parser.parseRParen());
}

ParseResult fa3::attention::parseGroup(OpAsmParser &parser,
                                       OperationState &result,
                                       StringAttr name) {
  int64_t group;
  if (failed(parser.parseOptionalKeyword("group")))
    return success();
  if (parser.parseInteger(group))
    return failure();
  result.addAttribute(name, parser.getBuilder().getI64IntegerAttr(group));
  return success();
}

ParseResult fa3::attention::parseLayout(OpAsmParser &parser,
                                        OperationState &result,
                                        StringAttr name) {
  if (failed(parser.parseOptionalKeyword("layout")))
    return success();
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Layout> layout = symbolizeLayout(keyword);
  if (!layout)
    return parser.emitError(loc)
           << "expects layout 'bhsd' or 'bshd', got '" << keyword << "'";
  result.addAttribute(name, LayoutAttr::get(parser.getContext(), *layout));
  return success();
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

double fa3::attention::getGreatestScale(Operation *op) {
  return isa<BackwardOp>(op) ? 0x1p10 : 0x1p16;
}

LogicalResult fa3::attention::verifyScaleAndMods(ScoredOpInterface op) {
  FloatAttr scale;
  if (auto forward = dyn_cast<ForwardOp>(op.getOperation()))
    scale = forward.getLiteralScaleAttr();
  if (scale && op.getScale())
    return op->emitOpError("expects one scale, got a value and a number");
  if (scale ||
      (op.getScale() && matchPattern(op.getScale(), m_Constant(&scale)))) {
    double greatest = getGreatestScale(op), value = scale.getValueAsDouble();
    if (!(value > 0 && value <= greatest))
      return op->emitOpError("expects a positive scale of at most 2^")
             << std::ilogb(greatest) << ", got " << value;
  }
  if (ArrayAttr mods = op.getModsAttr()) {
    if (mods.size() > kMostMods)
      return op->emitOpError("expects at most ")
             << kMostMods << " mods, got " << mods.size();
    for (Attribute attribute : mods) {
      auto mod = dyn_cast<ModAttrInterface>(attribute);
      if (!mod)
        return op->emitOpError("expects mods of the attention dialect, got ")
               << attribute;
      if (failed(mod.verifyMod(op)))
        return failure();
    }
  }
  return success();
}

bool fa3::attention::isComputedIndex(Operation *read, Value index) {
  Region *region = read->getParentRegion();
  if (isOfSequences(region))
    return false;
  auto argument = dyn_cast<BlockArgument>(index);
  bool isGiven = argument && isa<ScoredOpInterface, BlocksOp, ListBlocksOp>(
                                 argument.getOwner()->getParentOp());
  // Of blocks of queries and of entries the host knows no number.
  if (isOfBlocks(region) && isGiven)
    isGiven = argument.getArgNumber() < 2;
  return !isGiven && !matchPattern(index, m_Constant());
}

bool fa3::attention::isPreparation(Operation *op) {
  return isa<QuantizeOp, RotaryOp, AppendOp, ListBlocksOp, MergeOp>(op);
}

bool fa3::attention::isDivision(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp,
             arith::CeilDivUIOp, arith::FloorDivSIOp, arith::RemSIOp,
             arith::RemUIOp>(op);
}

Value fa3::attention::buildDivisor(OpBuilder &builder, Location loc,
                                   Value divisor) {
  Attribute constant;
  bool isConstant = matchPattern(divisor, m_Constant(&constant));
  if (isConstant && !matchPattern(divisor, m_Zero()))
    return divisor;
  Type type = divisor.getType();
  Value one = arith::ConstantOp::create(
      builder, loc, cast<TypedAttr>(builder.getOneAttr(type)));
  if (isConstant)
    return one;
  Value zero = arith::ConstantOp::create(
      builder, loc, cast<TypedAttr>(builder.getZeroAttr(type)));
  Value isZero = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       divisor, zero);
  return arith::SelectOp::create(builder, loc, isZero, one, divisor);
}

/// C22 of forward, C15 of backward.
static LogicalResult verifyMath(Operation *op, StringRef region) {
  static constexpr StringLiteral known[] = {
      "absf",  "absi",  "acos",  "acosh", "asin",     "asinh", "atan",
      "atan2", "atanh", "cbrt",  "ceil",  "copysign", "cos",   "cosh",
      "ctlz",  "ctpop", "erf",   "exp",   "exp2",     "expm1", "floor",
      "fma",   "log",   "log1p", "log2",  "powf",     "round", "roundeven",
      "rsqrt", "sin",   "sinh",  "sqrt",  "tan",      "tanh",  "trunc"};
  StringRef name = op->getName().stripDialect();
  if (!llvm::is_contained(known, name))
    return op->emitOpError("is not allowed in '")
           << region << "', which may have of math: "
           << llvm::join(ArrayRef(known), ", ");
  Type type = op->getResult(0).getType();
  if (isa<FloatType>(type) && type.getIntOrFloatBitWidth() > 32)
    return op->emitOpError("in '")
           << region << "' expects floats of at most 32 bits, got " << type;
  return success();
}

/// What bufferization makes of a read of an auxiliary operand, which is memory
/// already: attention-outline takes it back.
bool fa3::attention::readsMemory(Operation &op) {
  return isa<memref::LoadOp, memref::DimOp>(op);
}

bool fa3::attention::isMemoryOf(Value memory, ValueRange aux) {
  return llvm::any_of(aux, [&](Value value) {
    auto tensor = value.getDefiningOp<bufferization::ToTensorOp>();
    return tensor && tensor.getBuffer() == memory;
  });
}

LogicalResult fa3::attention::verifyScalarRegion(Operation *op,
                                                 std::optional<ValueRange> aux,
                                                 Region &region, StringRef name,
                                                 ArrayRef<Type> arguments,
                                                 ArrayRef<Type> results) {
  if (region.empty())
    return success();
  Block &block = region.front();
  if (block.getArgumentTypes() != TypeRange(arguments))
    return op->emitOpError("expects '")
           << name << "' to take (" << arguments << "), got ("
           << block.getArgumentTypes() << ")";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (results.empty()) {
    if (!yield ||
        !llvm::all_of(yield.getValues().getTypes(), llvm::IsaPred<IndexType>))
      return op->emitOpError("expects '") << name << "' to yield indices";
    if (yield.getValues().size() < 2)
      return op->emitOpError("expects '")
             << name << "' to yield two indices or more";
    if (*std::prev(yield.getValues().end(), 2) != block.getArgument(1))
      return op->emitOpError("expects '")
             << name << "' to yield the head that it takes last but one";
  } else if (!yield || yield.getValues().getTypes() != TypeRange(results)) {
    return op->emitOpError("expects '") << name << "' to yield " << results;
  }

  if (size_t count = block.getOperations().size(); count > kMostOperations)
    return op->emitOpError("expects at most ")
           << kMostOperations << " operations in '" << name << "', got "
           << count;
  for (Operation &inner : block.without_terminator()) {
    if (isa<tensor::ExtractOp, tensor::DimOp>(inner)) {
      if (aux && !llvm::is_contained(*aux, inner.getOperand(0)))
        return inner.emitOpError("in '")
               << name << "' reads a tensor that is not an auxiliary operand";
    } else if (readsMemory(inner)) {
      if (aux && !isMemoryOf(inner.getOperand(0), *aux))
        return inner.emitOpError("in '")
               << name << "' reads memory that is not an auxiliary operand";
    } else if (isa<math::MathDialect>(inner.getDialect())) {
      if (failed(verifyMath(&inner, name)))
        return failure();
    } else if (inner.getNumResults() > 1) {
      return inner.emitOpError("is not allowed in '")
             << name << "', whose operations have one result";
    } else if (!isa<LengthOp, HeadsOp>(inner) && !isDivision(&inner) &&
               !inner.hasTrait<OpTrait::ConstantLike>() &&
               !(isPure(&inner) &&
                 OpTrait::hasElementwiseMappableTraits(&inner))) {
      return inner.emitOpError("is not allowed in '")
             << name << "', which holds pure elementwise scalar operations";
    }
    for (Value operand : inner.getOperands())
      // What is used before its definition may be nowhere yet.
      if (operand.getParentRegion() &&
          !region.isAncestor(operand.getParentRegion()) &&
          !operand.getType().isIntOrIndexOrFloat() &&
          !isa<tensor::ExtractOp, tensor::DimOp>(inner) && !readsMemory(inner))
        return inner.emitOpError("in '")
               << name << "' captures a value of type " << operand.getType()
               << "; only scalars and auxiliary operands may be captured";
    for (Type type : inner.getResultTypes())
      if (!type.isIntOrIndexOrFloat())
        return inner.emitOpError("is not allowed in '")
               << name << "': its result type " << type << " is no scalar";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

/// Gives `region` its block if it has none. `first` are the types in front of
/// the indices of batch, head, query and key.
static Block &getOrCreateBlock(ScoredOpInterface op, Region &region,
                               TypeRange first) {
  if (!region.empty())
    return region.front();
  Block &block = region.emplaceBlock();
  for (Type type : first)
    block.addArgument(type, op->getLoc());
  for (unsigned i = 0; i < 4; ++i)
    block.addArgument(IndexType::get(op->getContext()), op->getLoc());
  return block;
}

static ModContext getContextOf(ScoredOpInterface op, Block &block) {
  auto index = block.getArguments().take_back(4);
  return {index[0], index[1], index[2], index[3], op.getAux()};
}

void fa3::attention::prependScoreMod(Operation *operation,
                                     ScoreModBuilder build) {
  auto op = cast<ScoredOpInterface>(operation);
  Type f32 = Float32Type::get(op->getContext());
  Region &region = op.getScoreMod();
  bool isNew = region.empty();
  Block &block = getOrCreateBlock(op, region, f32);
  auto b = ImplicitLocOpBuilder::atBlockBegin(op->getLoc(), &block);
  Value score = block.getArgument(0);
  // The user's code works on the edited score; found before `build` adds uses.
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : score.getUses())
    uses.push_back(&use);
  Value edited = build(b, getContextOf(op, block), score);
  for (OpOperand *use : uses)
    use->set(edited);
  if (!isNew)
    return;
  if (edited == score)
    region.front().erase();
  else
    YieldOp::create(b, edited);
}

/// Puts a condition in front of that of a region; both must hold. Gives whether
/// there is one.
static bool prependCondition(ScoredOpInterface op, Region &region,
                             MaskModBuilder build) {
  bool isNew = region.empty();
  Block &block = getOrCreateBlock(op, region, {});
  auto b = ImplicitLocOpBuilder::atBlockBegin(op->getLoc(), &block);
  Value keep = build(b, getContextOf(op, block));
  if (isNew) {
    if (keep)
      YieldOp::create(b, keep);
    else
      region.front().erase();
    return keep != nullptr;
  }
  if (!keep)
    return false;
  auto yield = cast<YieldOp>(block.getTerminator());
  b.setInsertionPoint(yield);
  yield.getValueMutable().assign(
      arith::AndIOp::create(b, keep, yield.getValue()));
  return true;
}

void fa3::attention::prependMaskMod(Operation *operation,
                                    MaskModBuilder build) {
  auto op = cast<ScoredOpInterface>(operation);
  prependCondition(op, op.getMaskMod(), build);
}

void fa3::attention::prependKeepMod(Operation *operation, MaskModBuilder build,
                                    float factor) {
  auto op = cast<ScoredOpInterface>(operation);
  if (!prependCondition(op, op.getKeepMod(), build))
    return;
  op.setKeptScaleAttr(
      Builder(op->getContext()).getF32FloatAttr(op.getFactorOfKept() * factor));
}

LogicalResult fa3::attention::verifyKeepMod(ScoredOpInterface op) {
  Builder builder(op->getContext());
  Type index = builder.getIndexType();
  if (FloatAttr scale = op.getKeptScaleAttr()) {
    APFloat value = scale.getValue();
    if (!value.isNormal() || value.isNegative())
      return op->emitOpError("expects a positive 'kept_scale' that is a normal "
                             "number of f32, got ")
             << scale;
    if (op.getKeepMod().empty())
      return op->emitOpError("expects 'keep_mod' beside 'kept_scale'");
  }
  return verifyScalarRegion(op, op.getKeepMod(), "keep_mod",
                            {index, index, index, index}, builder.getI1Type());
}
