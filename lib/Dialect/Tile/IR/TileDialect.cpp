//===- TileDialect.cpp - dialect, types and attributes of tile ------------===//

#include "fa3/Dialect/Tile/IR/Tile.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::tile;

#include "fa3/Dialect/Tile/IR/TileAttrInterfaces.cpp.inc"
#include "fa3/Dialect/Tile/IR/TileDialect.cpp.inc"
#include "fa3/Dialect/Tile/IR/TileEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "fa3/Dialect/Tile/IR/TileAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "fa3/Dialect/Tile/IR/TileTypes.cpp.inc"

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fa3/Dialect/Tile/IR/TileAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "fa3/Dialect/Tile/IR/TileTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fa3/Dialect/Tile/IR/TileOps.cpp.inc"
      >();
}

LogicalResult TileDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == kRoleAttrName) {
    auto role = dyn_cast<StringAttr>(attribute.getValue());
    if (!role || (role != "load" && role != "math"))
      return op->emitOpError("expects '")
             << name << "' to be \"load\" or \"math\", got "
             << attribute.getValue();
    return success();
  }
  if (name == kSlottingAttrName) {
    auto slotting = dyn_cast<SlottingAttr>(attribute.getValue());
    if (!slotting || slotting.getStage() < 0)
      return op->emitOpError("expects '")
             << name
             << "' to be #tile.slotting with a stage of at least 0, got "
             << attribute.getValue();
    return success();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Layout encodings
//===----------------------------------------------------------------------===//

std::optional<LinearLayout> AccAttr::toLinear(ArrayRef<int64_t> shape,
                                              unsigned) const {
  if (shape.size() != 2)
    return std::nullopt;
  return LinearLayout::accumulator(shape[0], shape[1]);
}

LogicalResult
AccAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                        function_ref<InFlightDiagnostic()> emitError) const {
  if (toLinear(shape, 0))
    return success();
  return emitError() << "#tile.acc expects rows that are a power-of-two "
                        "multiple of 64 and columns that are a multiple of 8, "
                        "got ["
                     << shape << "]";
}

std::optional<LinearLayout> SliceAttr::toLinear(ArrayRef<int64_t> shape,
                                                unsigned bits) const {
  auto parent = dyn_cast<LayoutAttrInterface>(getParent());
  if (!parent || shape.size() != 1 || getDim() < 0 || getDim() > 1)
    return std::nullopt;
  // The extent along the dropped dimension does not matter; take the least.
  SmallVector<int64_t> full = getDim() == 1
                                  ? SmallVector<int64_t>{shape[0], 8}
                                  : SmallVector<int64_t>{64, shape[0]};
  std::optional<LinearLayout> linear = parent.toLinear(full, bits);
  if (!linear)
    return std::nullopt;
  return linear->slice(getDim());
}

LogicalResult
SliceAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                          function_ref<InFlightDiagnostic()> emitError) const {
  if (toLinear(shape, 32))
    return success();
  return emitError() << "#tile.slice<" << getDim() << ", " << getParent()
                     << "> does not exist for a tile of shape [" << shape
                     << "]";
}

LogicalResult SmemAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t swizzle) {
  if (swizzle != 32 && swizzle != 64 && swizzle != 128)
    return emitError() << "#tile.smem expects a swizzle of 32, 64 or 128 "
                          "bytes, got "
                       << swizzle;
  return success();
}

int64_t SmemAttr::getBlockColumns(Type elementType) const {
  return getSwizzle() * 8 / elementType.getIntOrFloatBitWidth();
}

int64_t SmemAttr::getPaddedColumns(int64_t columns, Type elementType) const {
  return llvm::alignTo(columns, getBlockColumns(elementType));
}

int64_t SmemAttr::getStorageBytes(ArrayRef<int64_t> shape,
                                  Type elementType) const {
  return shape[0] * getPaddedColumns(shape[1], elementType) *
         elementType.getIntOrFloatBitWidth() / 8;
}

LogicalResult
SmemAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                         function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != 2 || shape[0] % 8)
    return emitError() << "#tile.smem expects a tile of rank 2 whose rows are "
                          "a multiple of 8, got ["
                       << shape << "]";
  return success();
}

SmemAttr fa3::tile::getDefaultStorage(RankedTensorType type) {
  int64_t bytes = type.getShape().back() * type.getElementTypeBitWidth() / 8;
  int64_t swizzle = bytes > 64 ? 128 : bytes > 32 ? 64 : 32;
  return SmemAttr::get(type.getContext(), swizzle);
}

std::optional<LinearLayout> fa3::tile::getLinearLayout(RankedTensorType type) {
  auto layout = dyn_cast_or_null<LayoutAttrInterface>(type.getEncoding());
  if (!layout)
    return std::nullopt;
  unsigned bits =
      type.getElementType().isIndex() ? 32 : type.getElementTypeBitWidth();
  return layout.toLinear(type.getShape(), bits);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool PendingType::mayDrop() const { return false; }

bool fa3::tile::isTile(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getRank() >= 1 &&
         tensor.getRank() <= 2 && tensor.getElementType().isIntOrIndexOrFloat();
}

RankedTensorType fa3::tile::getTileType(Type type) {
  if (auto view = dyn_cast<ViewType>(type))
    return view.getTile();
  if (auto pending = dyn_cast<PendingType>(type))
    return pending.getTile();
  return dyn_cast<RankedTensorType>(type);
}

Type fa3::tile::withTileType(Type like, RankedTensorType tile) {
  if (isa<ViewType>(like))
    return ViewType::get(tile);
  if (isa<PendingType>(like))
    return PendingType::get(tile);
  return tile;
}
