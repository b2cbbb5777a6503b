//===- TileDialect.cpp - dialect, types and attributes of tile ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Tile/IR/OrderedOps.h"
#include "fa3/Dialect/Tile/IR/Tile.h"
#include "fa3/Dialect/Tile/IR/TileExactOps.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"
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
  addOperations<
#define GET_OP_LIST
#include "fa3/Dialect/Tile/IR/TileExactOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fa3/Dialect/Tile/IR/TileOrderedOps.cpp.inc"
      >();
}

/// Those who load, who convert, who store and who compute; of the last there
/// may be several with different work.
static bool isRole(StringRef role) {
  if (role.consume_front("math"))
    return llvm::all_of(role, llvm::isDigit);
  return role == "load" || role == "convert" || role == "store";
}

LogicalResult TileDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == kRoleAttrName) {
    auto role = dyn_cast<StringAttr>(attribute.getValue());
    if (!role || !isRole(role))
      return op->emitOpError("expects '")
             << name << "' to be \"load\", \"convert\", \"store\", \"math\" or "
             << "\"math\" with a number, got " << attribute.getValue();
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

LogicalResult TileDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                    unsigned number,
                                                    NamedAttribute attribute) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  if (name == kNameAttrName && !isa<StringAttr>(value))
    return op->emitOpError("expects '")
           << name << "' to be a string, got " << value;
  if (name != kDimsAttrName)
    return success();
  auto dims = dyn_cast<ArrayAttr>(value);
  if (!dims || !llvm::all_of(dims, llvm::IsaPred<StringAttr>))
    return op->emitOpError("expects '")
           << name << "' to be an array of strings, got " << value;
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || number >= function.getNumArguments())
    return success();
  auto shaped = dyn_cast<ShapedType>(function.getArgumentTypes()[number]);
  if (!shaped || !shaped.hasRank() ||
      shaped.getRank() != static_cast<int64_t>(dims.size()))
    return op->emitOpError("expects as many '")
           << name << "' as argument " << number << " has dimensions, got "
           << dims.size() << " for " << function.getArgumentTypes()[number];
  return success();
}

//===----------------------------------------------------------------------===//
// Layout encodings
//===----------------------------------------------------------------------===//

/// A shape for a message.
static std::string toText(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(shape, os, [&](int64_t extent) {
    if (ShapedType::isDynamic(extent))
      os << '?';
    else
      os << extent;
  });
  return text;
}

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
                     << toText(shape) << "]";
}

LogicalResult SliceAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t dim, Attribute parent) {
  if (dim != 0 && dim != 1)
    return emitError() << "#tile.slice expects dim 0 or 1, got " << dim;
  if (!isa<LayoutAttrInterface>(parent))
    return emitError() << "#tile.slice expects the layout of a tile, got "
                       << parent;
  return success();
}

std::optional<LinearLayout> SliceAttr::toLinear(ArrayRef<int64_t> shape,
                                                unsigned bits) const {
  auto parent = cast<LayoutAttrInterface>(getParent());
  if (shape.size() != 1)
    return std::nullopt;
  // The extent along the dropped dimension does not matter; take the least
  // that exists.
  constexpr int64_t kRows = 64, kMostColumns = 256;
  std::optional<LinearLayout> linear;
  if (getDim() == 0)
    linear = parent.toLinear({kRows, shape[0]}, bits);
  for (int64_t columns = 8; getDim() == 1 && !linear && columns <= kMostColumns;
       columns *= 2)
    linear = parent.toLinear({shape[0], columns}, bits);
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
                     << "> does not exist for a tile of shape ["
                     << toText(shape) << "]";
}

LogicalResult OperandAAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t bits) {
  if (bits != 8 && bits != 16)
    return emitError() << "#tile.operand_a expects 8 or 16 bits, got " << bits;
  return success();
}

std::optional<LinearLayout> OperandAAttr::toLinear(ArrayRef<int64_t> shape,
                                                   unsigned) const {
  if (shape.size() != 2)
    return std::nullopt;
  return LinearLayout::operandA(shape[0], shape[1], getBits());
}

LogicalResult OperandAAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type elementType,
    function_ref<InFlightDiagnostic()> emitError) const {
  if (toLinear(shape, getBits()))
    return success();
  return emitError() << "#tile.operand_a<" << getBits()
                     << "> expects rows that are a power-of-two multiple of 64 "
                        "and columns that are a multiple of "
                     << 256 / getBits() << ", got [" << toText(shape) << "]";
}

std::optional<LinearLayout> TransposingAttr::toLinear(ArrayRef<int64_t> shape,
                                                      unsigned bits) const {
  if (shape.size() != 2 || (bits != 8 && bits != 16))
    return std::nullopt;
  return LinearLayout::transposing(shape[0], shape[1]);
}

LogicalResult TransposingAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type elementType,
    function_ref<InFlightDiagnostic()> emitError) const {
  if (elementType.isIntOrFloat() &&
      toLinear(shape, elementType.getIntOrFloatBitWidth()))
    return success();
  return emitError() << "#tile.transposing expects elements of 8 or 16 bits, "
                        "rows that are a multiple of 32 and columns that are a "
                        "multiple of 16, got ["
                     << toText(shape) << "] of " << elementType;
}

/// Bits of a coordinate that can be permuted.
static constexpr size_t kMostBits = 30;

/// Whether a layout made from another one exists for a tile.
static LogicalResult
verifyExists(LayoutAttrInterface layout, ArrayRef<int64_t> shape,
             Type elementType, function_ref<InFlightDiagnostic()> emitError) {
  // Only integers and floats have a width that a layout depends on.
  unsigned bits =
      elementType.isIntOrFloat() ? elementType.getIntOrFloatBitWidth() : 32;
  if (layout.toLinear(shape, bits))
    return success();
  return emitError() << layout << " does not exist for a tile of shape ["
                     << toText(shape) << "]";
}

LogicalResult
RelabeledAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t dim,
                      ArrayRef<int64_t> bits, Attribute parent) {
  if (dim != 0 && dim != 1)
    return emitError() << "#tile.relabeled expects dim 0 or 1, got " << dim;
  if (bits.size() > kMostBits || !isPermutationVector(bits))
    return emitError() << "#tile.relabeled expects a permutation of bits, got ["
                       << bits << "]";
  if (!isa<LayoutAttrInterface>(parent))
    return emitError() << "#tile.relabeled expects the layout of a tile, got "
                       << parent;
  return success();
}

std::optional<LinearLayout> RelabeledAttr::toLinear(ArrayRef<int64_t> shape,
                                                    unsigned bits) const {
  std::optional<LinearLayout> linear =
      cast<LayoutAttrInterface>(getParent()).toLinear(shape, bits);
  if (!linear || getDim() >= static_cast<int64_t>(shape.size()) ||
      shape[getDim()] % (int64_t(1) << getBits().size()))
    return std::nullopt;
  return linear->relabeled(getDim(), getBits());
}

LogicalResult RelabeledAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type elementType,
    function_ref<InFlightDiagnostic()> emitError) const {
  return verifyExists(*this, shape, elementType, emitError);
}

LogicalResult
TransposedAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                       Attribute parent) {
  if (!isa<LayoutAttrInterface>(parent))
    return emitError() << "#tile.transposed expects the layout of a tile, got "
                       << parent;
  return success();
}

std::optional<LinearLayout> TransposedAttr::toLinear(ArrayRef<int64_t> shape,
                                                     unsigned bits) const {
  if (shape.size() != 2)
    return std::nullopt;
  std::optional<LinearLayout> linear =
      cast<LayoutAttrInterface>(getParent())
          .toLinear({shape[1], shape[0]}, bits);
  if (!linear)
    return std::nullopt;
  return linear->transposed();
}

LogicalResult TransposedAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type elementType,
    function_ref<InFlightDiagnostic()> emitError) const {
  return verifyExists(*this, shape, elementType, emitError);
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
  // A single row is the first of the eight that a swizzle repeats after.
  int64_t rows = shape.size() == 1 ? kSwizzleRows : shape[0];
  return rows * getPaddedColumns(shape.back(), elementType) *
         elementType.getIntOrFloatBitWidth() / 8;
}

LogicalResult
SmemAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                         function_ref<InFlightDiagnostic()> emitError) const {
  bool fits = llvm::all_of(shape, [](int64_t extent) { return extent > 0; }) &&
              (shape.size() == 1 ||
               (shape.size() == 2 && shape[0] % kSwizzleRows == 0));
  if (!fits)
    return emitError() << "#tile.smem expects a tile of rank 1, or of rank 2 "
                          "whose rows are a multiple of 8, got ["
                       << toText(shape) << "]";
  if (!elementType.isIntOrFloat() ||
      !llvm::is_contained({8u, 16u, 32u}, elementType.getIntOrFloatBitWidth()))
    return emitError() << "#tile.smem expects elements of 8, 16 or 32 bits, "
                          "got "
                       << elementType;
  return success();
}

SmemAttr fa3::tile::getDefaultStorage(RankedTensorType type) {
  int64_t bytes = type.getShape().back() * type.getElementTypeBitWidth() / 8;
  int64_t swizzle = bytes > 64 ? 128 : bytes > 32 ? 64 : 32;
  if (type.getRank() == 1)
    return SmemAttr::get(type.getContext(), swizzle);
  // Tiles of 8-bit elements have few columns: padding would cost a good part.
  // Of others only copies in blocks of 32 bytes cost more.
  if (type.getElementTypeBitWidth() == 8)
    while (swizzle > 32 && bytes % swizzle)
      swizzle /= 2;
  else if (bytes % swizzle && bytes % 64 == 0)
    swizzle = 64;
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

/// The shapes and elements of tiles, wherever they live.
static bool hasTileShape(RankedTensorType tensor) {
  return tensor.hasStaticShape() && tensor.getRank() >= 1 &&
         tensor.getRank() <= 2 && tensor.getElementType().isIntOrIndexOrFloat();
}

bool fa3::tile::isTile(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && hasTileShape(tensor) &&
         !isa_and_nonnull<warp::StorageAttrInterface>(tensor.getEncoding());
}

LogicalResult ViewType::verify(function_ref<InFlightDiagnostic()> emitError,
                               RankedTensorType tile) {
  if (!hasTileShape(tile))
    return emitError() << "!tile.view expects a statically shaped tensor of "
                          "rank 1 or 2, got "
                       << tile;
  return success();
}

bool PendingType::mayDrop() const { return false; }

LogicalResult PendingType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  RankedTensorType tile) {
  if (!isTile(tile))
    return emitError() << "!tile.pending expects a tile, got " << tile;
  return success();
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
