//===- TileOps.cpp - operations of tile -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Dialect/Warp/IR/CopyPlaces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

static ParseResult parsePlaces(OpAsmParser &parser,
                               warp::PlaceRegions &places) {
  return warp::parsePlaces(parser, places, parser.getBuilder().getIndexType());
}

static void printPlaces(OpAsmPrinter &printer, Operation *,
                        RegionRange places) {
  warp::printPlaces(printer, places);
}

#define GET_OP_CLASSES
#include "fa3/Dialect/Tile/IR/TileOps.cpp.inc"

bool fa3::tile::isElementwise(Operation *op) {
  if (isa<tensor::SplatOp>(op))
    return true;
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<RankedTensorType>(constant.getType());
  return OpTrait::hasElementwiseMappableTraits(op) &&
         llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

//===----------------------------------------------------------------------===//
// launch, grid
//===----------------------------------------------------------------------===//

LogicalResult LaunchOp::verify() {
  if (!getCost().empty() && getCost().size() != 2)
    return emitOpError("expects 'cost' to have 2 values (operations, bytes), "
                       "got ")
           << getCost().size();
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel =
      symbols.lookupNearestSymbolFrom<gpu::GPUFuncOp>(*this, getKernelAttr());
  if (!kernel || !kernel.isKernel())
    return emitOpError("expects ")
           << getKernelAttr() << " to name a gpu.func kernel";
  if (!llvm::equal(kernel.getArgumentTypes(), getKernelArgs().getTypes())) {
    InFlightDiagnostic diagnostic =
        emitOpError("expects operands of the kernel's argument types");
    diagnostic.attachNote(kernel.getLoc())
        << "the kernel takes " << kernel.getFunctionType();
    return diagnostic;
  }
  return success();
}

void GridOp::build(OpBuilder &builder, OperationState &state,
                   ValueRange upperBounds) {
  state.addOperands(upperBounds);
  Region *body = state.addRegion();
  Block &block = body->emplaceBlock();
  for (Value bound : upperBounds)
    block.addArgument(builder.getIndexType(), bound.getLoc());
  ensureTerminator(*body, builder, state.location);
}

void GridOp::print(OpAsmPrinter &printer) {
  printer << " (";
  printer.printOperands(getBody().getArguments());
  printer << ") in (";
  printer.printOperands(getUpperBounds());
  printer << ") ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/false);
  printer.printOptionalAttrDict((*this)->getAttrs());
}

ParseResult GridOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  SmallVector<OpAsmParser::Argument> indices;
  SmallVector<OpAsmParser::UnresolvedOperand> bounds;
  if (parser.parseArgumentList(indices, OpAsmParser::Delimiter::Paren) ||
      parser.parseKeyword("in") ||
      parser.parseOperandList(bounds, OpAsmParser::Delimiter::Paren) ||
      parser.resolveOperands(bounds, builder.getIndexType(), result.operands))
    return failure();
  for (OpAsmParser::Argument &index : indices)
    index.type = builder.getIndexType();
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, indices) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  ensureTerminator(*body, builder, result.location);
  return success();
}

LogicalResult GridOp::verify() {
  unsigned arguments = getBody().getNumArguments();
  if (arguments == 0 || arguments != getUpperBounds().size() ||
      !llvm::all_of(getBody().getArgumentTypes(),
                    [](Type type) { return type.isIndex(); }))
    return emitOpError("expects one index argument per upper bound (")
           << getUpperBounds().size() << "), got " << arguments;
  return success();
}

LogicalResult GridOp::verifyRegions() {
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield || yield.getNumOperands())
    return emitOpError("expects the body to end in a 'tile.yield' of nothing");
  return success();
}

//===----------------------------------------------------------------------===//
// dot, dot.async, pend, await
//===----------------------------------------------------------------------===//

DotShape fa3::tile::getDotShape(RankedTensorType lhs, RankedTensorType rhs,
                                LhsOrder lhsOrder, RhsOrder rhsOrder) {
  bool mk = lhsOrder == LhsOrder::mk, kn = rhsOrder == RhsOrder::kn;
  return {lhs.getDimSize(mk ? 0 : 1), rhs.getDimSize(kn ? 1 : 0),
          lhs.getDimSize(mk ? 1 : 0)};
}

/// The constraints C1 to C5 of a product.
template <typename DotOp>
static LogicalResult verifyDot(DotOp op) {
  RankedTensorType lhs = getTileType(op.getLhs().getType());
  RankedTensorType rhs = getTileType(op.getRhs().getType());
  RankedTensorType acc = getTileType(op.getAcc().getType());
  for (auto [name, type] : {std::pair("lhs", lhs), {"rhs", rhs}, {"acc", acc}})
    if (type.getRank() != 2)
      return op.emitOpError("expects ")
             << name << " of rank 2, got " << type.getRank();
  DotShape shape = getDotShape(lhs, rhs, op.getLhsOrder(), op.getRhsOrder());
  int64_t rhsK = rhs.getDimSize(op.getRhsOrder() == RhsOrder::kn ? 0 : 1);
  if (shape.k != rhsK)
    return op.emitOpError("expects K of lhs (")
           << shape.k << ") to equal K of rhs (" << rhsK << ")";
  if (acc.getDimSize(0) != shape.m || acc.getDimSize(1) != shape.n)
    return op.emitOpError("expects an accumulator of ")
           << shape.m << "x" << shape.n << ", got " << acc.getDimSize(0) << "x"
           << acc.getDimSize(1);
  if (lhs.getElementType() != rhs.getElementType())
    return op.emitOpError("expects lhs and rhs of one element type, got ")
           << lhs.getElementType() << " and " << rhs.getElementType();
  Type element = lhs.getElementType(), sum = acc.getElementType();
  bool fits = isa<FloatType>(element) ? isa<FloatType>(sum)
                                      : sum.isSignlessInteger() &&
                                            sum.getIntOrFloatBitWidth() >
                                                element.getIntOrFloatBitWidth();
  if (!fits)
    return op.emitOpError("expects an accumulator for products of ")
           << element << ", got one of " << sum;
  return success();
}

LogicalResult DotOp::verify() { return verifyDot(*this); }

LogicalResult DotAsyncOp::verify() {
  if (failed(verifyDot(*this)))
    return failure();
  if (getResult().getType().getTile() != getTileType(getAcc().getType()))
    return emitOpError("expects a pending result of the accumulator's tile, "
                       "got ")
           << getResult().getType();
  return success();
}

SmallVector<Value> DotAsyncOp::getReadViews() {
  SmallVector<Value> views;
  if (isa<ViewType>(getLhs().getType()))
    views.push_back(getLhs());
  if (isa<ViewType>(getRhs().getType()))
    views.push_back(getRhs());
  return views;
}
SmallVector<Value> DotAsyncOp::getWrittenViews() { return {}; }
warp::Completion DotAsyncOp::getCompletion() {
  return warp::Completion::MatrixGroup;
}
Value DotAsyncOp::getDoneToken() { return getDone(); }

LogicalResult PendOp::verify() {
  if (getResult().getType().getTile() != getValue().getType())
    return emitOpError("expects a pending result of the operand's tile, got ")
           << getResult().getType();
  return success();
}

LogicalResult AwaitOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  types.push_back(getTileType(adaptor.getPending().getType()));
  llvm::append_range(types, TypeRange(adaptor.getKeep()));
  return success();
}

//===----------------------------------------------------------------------===//
// reduce, broadcast, coord, where, any_possible
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::verify() {
  RankedTensorType source = getSource().getType();
  RankedTensorType result = getResult().getType();
  int64_t dim = getDim();
  if (dim < 0 || dim >= source.getRank())
    return emitOpError("expects dim (")
           << dim << ") less than the rank of the operand (" << source.getRank()
           << ")";
  SmallVector<int64_t> shape(source.getShape());
  if (std::optional<int64_t> modulo = getModulo()) {
    if (*modulo <= 0 || shape[dim] % *modulo)
      return emitOpError("expects modulo (")
             << *modulo << ") to divide the extent (" << shape[dim] << ")";
    shape[dim] = *modulo;
  } else {
    shape.erase(shape.begin() + dim);
  }
  if (result.getShape() != ArrayRef(shape))
    return emitOpError("expects a result of shape [")
           << shape << "], got [" << result.getShape() << "]";
  if (getInit() && getInit().getType() != result)
    return emitOpError("expects init of the result's type, got ")
           << getInit().getType();
  if (!isa<FloatType>(source.getElementType()) ||
      source.getElementType() != result.getElementType())
    return emitOpError("expects operand and result of one float element type, "
                       "got ")
           << source.getElementType() << " and " << result.getElementType();
  return success();
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType source = getSource().getType();
  RankedTensorType result = getResult().getType();
  if (source.getRank() != 1 || result.getRank() != 2)
    return emitOpError("expects an operand of rank 1 and a result of rank 2, "
                       "got ")
           << source.getRank() << " and " << result.getRank();
  int64_t dim = getDim();
  if (dim < 0 || dim > 1 || result.getDimSize(1 - dim) != source.getDimSize(0))
    return emitOpError("expects the result without dimension ")
           << dim << " to have extent " << source.getDimSize(0) << ", got ["
           << result.getShape() << "]";
  if (source.getElementType() != result.getElementType())
    return emitOpError("expects operand and result of one element type, got ")
           << source.getElementType() << " and " << result.getElementType();
  return success();
}

LogicalResult CoordOp::verify() {
  RankedTensorType result = getResult().getType();
  int64_t dim = getDim();
  if (dim < 0 || dim >= result.getRank())
    return emitOpError("expects dim (")
           << dim << ") less than the rank of the result (" << result.getRank()
           << ")";
  if (!result.getElementType().isIndex())
    return emitOpError("expects elements of type index, got ")
           << result.getElementType();
  APInt offset;
  if (matchPattern(getOffset(), m_ConstantInt(&offset)) && offset.isNegative())
    return emitOpError("expects an offset of at least 0, got ")
           << offset.getSExtValue();
  return success();
}

LogicalResult RelabelOp::verify() {
  RankedTensorType source = getSource().getType();
  RankedTensorType result = getResult().getType();
  int64_t dim = getDim();
  if (dim < 0 || dim >= source.getRank())
    return emitOpError("expects dim (")
           << dim << ") less than the rank of the operand (" << source.getRank()
           << ")";
  ArrayRef<int64_t> bits = getBits();
  if (!isPermutationVector(bits))
    return emitOpError("expects bits to be a permutation of 0 to ")
           << static_cast<int64_t>(bits.size()) - 1 << ", got [" << bits << "]";
  if (bits.size() > 30 || source.getDimSize(dim) % (int64_t(1) << bits.size()))
    return emitOpError("expects an extent that is a multiple of 2^")
           << bits.size() << ", got " << source.getDimSize(dim);
  if (source.getShape() != result.getShape() ||
      source.getElementType() != result.getElementType())
    return emitOpError("expects operand and result of one shape and element "
                       "type, got ")
           << source << " and " << result;
  return success();
}

LogicalResult TransposeOp::verify() {
  RankedTensorType source = getSource().getType();
  RankedTensorType result = getResult().getType();
  if (source.getRank() != 2 || result.getRank() != 2 ||
      source.getDimSize(0) != result.getDimSize(1) ||
      source.getDimSize(1) != result.getDimSize(0) ||
      source.getElementType() != result.getElementType())
    return emitOpError("expects an operand of rank 2 and a result of its "
                       "transposed shape and its element type, got ")
           << source << " and " << result;
  return success();
}

LogicalResult UnpackOp::verify() {
  RankedTensorType source = getSource().getType(),
                   result = getResult().getType();
  Type element = result.getElementType();
  if (source.getRank() != 2 || !source.getElementType().isSignlessInteger(8))
    return emitOpError("expects an operand of rank 2 and i8, got ") << source;
  if (result.getRank() != 2 || result.getDimSize(0) != source.getDimSize(0) ||
      result.getDimSize(1) != 2 * source.getDimSize(1) ||
      (!element.isF16() && !element.isBF16()))
    return emitOpError("expects a result of f16 or bf16 with twice the columns "
                       "of the operand, got ")
           << source << " and " << result;
  return success();
}

YieldOp WhereOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

LogicalResult WhereOp::verify() {
  RankedTensorType condition = getCondition().getType();
  if (!condition.getElementType().isInteger(1))
    return emitOpError("expects a condition of i1, got ")
           << condition.getElementType();
  for (Type type : getResultTypes()) {
    auto result = cast<RankedTensorType>(type);
    if (condition.getRank() > result.getRank() ||
        condition.getShape() !=
            result.getShape().take_front(condition.getRank()))
      return emitOpError("expects the shape of the condition [")
             << condition.getShape()
             << "] to be a prefix of the shape of the result ["
             << result.getShape() << "]";
  }
  return success();
}

LogicalResult WhereOp::verifyRegions() {
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield || yield.getOperandTypes() != getResultTypes())
    return emitOpError("expects the region to yield values of the types of the "
                       "results (")
           << getResultTypes() << ")";
  for (Operation &op : getBody().front().without_terminator())
    if (!isElementwise(&op) && !isa<BroadcastOp>(op) &&
        !op.hasTrait<OpTrait::ConstantLike>())
      return op.emitOpError("is not allowed in 'tile.where', which holds "
                            "elementwise operations only");
  return success();
}

LogicalResult AnyPossibleOp::verify() {
  if (!getMask().getType().getElementType().isInteger(1))
    return emitOpError("expects a mask of i1, got ")
           << getMask().getType().getElementType();
  return success();
}

//===----------------------------------------------------------------------===//
// view, read, write
//===----------------------------------------------------------------------===//

LogicalResult ViewOp::verify() {
  warp::SlotType slot = getSlot().getType();
  int64_t field = getField();
  if (field < 0 || field >= static_cast<int64_t>(slot.getPayload().size()) ||
      !isa<RankedTensorType>(slot.getPayload()[field]))
    return emitOpError("expects field (")
           << field << ") to name a tensor of the payload";
  auto entry = cast<RankedTensorType>(slot.getPayload()[field]);
  RankedTensorType window = getView().getType().getTile();
  if (static_cast<int64_t>(getOffsets().size()) != entry.getRank())
    return emitOpError("expects one offset per dimension of the entry (")
           << entry.getRank() << "), got " << getOffsets().size();
  if (window.getRank() != entry.getRank())
    return emitOpError("expects a window of the rank of the entry (")
           << entry.getRank() << "), got " << window.getRank();
  bool isReinterpreted = window.getElementType() != entry.getElementType();
  if (window.getEncoding() != entry.getEncoding() ||
      (isReinterpreted &&
       (window.getRank() != 2 || !entry.getElementType().isIntOrFloat() ||
        !window.getElementType().isIntOrFloat() ||
        window.getElementTypeBitWidth() % entry.getElementTypeBitWidth())))
    return emitOpError("expects element type and encoding of the entry, or "
                       "elements of a multiple of its bits in rank 2, got ")
           << window << " in " << entry;
  SmallVector<int64_t> most(entry.getShape());
  if (isReinterpreted)
    most.back() = most.back() * entry.getElementTypeBitWidth() /
                  window.getElementTypeBitWidth();
  for (auto [inner, outer] : llvm::zip(window.getShape(), most))
    if (inner > outer)
      return emitOpError("expects a window no larger than the entry [")
             << most << "], got [" << window.getShape() << "]";
  // C4, within the block.
  for (Operation *user : getSlot().getUsers()) {
    if (!isa<warp::PublishOp, warp::ReleaseOp>(user))
      continue;
    for (Operation *access : getView().getUsers())
      if (Operation *inBlock = user->getBlock()->findAncestorOpInBlock(*access))
        if (user->isBeforeInBlock(inBlock)) {
          InFlightDiagnostic diagnostic = access->emitOpError(
              "uses a view of a slot that is no longer held");
          diagnostic.attachNote(user->getLoc()) << "the slot ends here";
          return diagnostic;
        }
  }
  return success();
}

/// Read and write copy whole windows.
static LogicalResult verifyCopy(Operation *op, RankedTensorType view,
                                RankedTensorType value) {
  if (view.getShape() != value.getShape() ||
      view.getElementType() != value.getElementType())
    return op->emitOpError("expects view and value of one shape and element "
                           "type, got ")
           << view << " and " << value;
  return success();
}

LogicalResult ReadOp::verify() {
  return verifyCopy(*this, getView().getType().getTile(),
                    getResult().getType());
}
LogicalResult WriteOp::verify() {
  return verifyCopy(*this, getView().getType().getTile(), getValue().getType());
}

bool fa3::tile::isNumber(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getShape() == ArrayRef<int64_t>(1) &&
         tensor.getElementType().isInteger(32);
}

static LogicalResult verifyNumber(Operation *op, RankedTensorType view) {
  if (isNumber(view))
    return success();
  return op->emitOpError("expects a view of one i32, got ") << view;
}

LogicalResult PostOp::verify() {
  return verifyNumber(*this, getView().getType().getTile());
}
LogicalResult ReceiveOp::verify() {
  return verifyNumber(*this, getView().getType().getTile());
}

SmallVector<Value> PostOp::getReadViews() { return {}; }
SmallVector<Value> PostOp::getWrittenViews() { return {getView()}; }
warp::Completion PostOp::getCompletion() {
  return warp::Completion::Synchronous;
}
SmallVector<Value> ReceiveOp::getReadViews() { return {getView()}; }
SmallVector<Value> ReceiveOp::getWrittenViews() { return {}; }
warp::Completion ReceiveOp::getCompletion() {
  return warp::Completion::Synchronous;
}
SmallVector<Value> ReadOp::getReadViews() { return {getView()}; }
SmallVector<Value> ReadOp::getWrittenViews() { return {}; }
warp::Completion ReadOp::getCompletion() {
  return warp::Completion::Synchronous;
}
SmallVector<Value> WriteOp::getReadViews() { return {}; }
SmallVector<Value> WriteOp::getWrittenViews() { return {getView()}; }
warp::Completion WriteOp::getCompletion() {
  return warp::Completion::Synchronous;
}
