//===- HopperDialect.cpp - dialect, types and attributes of hopper --------===//

#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa3;
using namespace fa3::hopper;

#include "fa3/Dialect/Hopper/IR/HopperDialect.cpp.inc"
#include "fa3/Dialect/Hopper/IR/HopperEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "fa3/Dialect/Hopper/IR/HopperAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "fa3/Dialect/Hopper/IR/HopperTypes.cpp.inc"

llvm::hash_code fa3::hash_value(const LinearLayout &layout) {
  auto hashBases = [](ArrayRef<LinearLayout::Basis> bases) {
    llvm::hash_code hash = llvm::hash_value(bases.size());
    for (const LinearLayout::Basis &basis : bases)
      hash = llvm::hash_combine(hash, llvm::hash_combine_range(basis));
    return hash;
  };
  llvm::hash_code hash = llvm::hash_combine(
      llvm::hash_combine_range(layout.getShape()),
      hashBases(layout.getRegisterBases()), hashBases(layout.getLaneBases()),
      hashBases(layout.getWarpBases()));
  for (const LinearLayout::Repeat &repeat : layout.getRepeats())
    hash = llvm::hash_combine(hash, repeat.dim, repeat.stride, repeat.count);
  return hash;
}

namespace {
/// Prints fragments as aliases: they are long and few.
struct HopperAsmInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attribute, raw_ostream &os) const final {
    auto fragment = dyn_cast<FragmentAttr>(attribute);
    if (!fragment)
      return AliasResult::NoAlias;
    os << "fragment";
    for (int64_t extent : fragment.getLayout().getShape())
      os << '_' << extent;
    return AliasResult::FinalAlias;
  }
};
} // namespace

void HopperDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fa3/Dialect/Hopper/IR/HopperAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "fa3/Dialect/Hopper/IR/HopperTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fa3/Dialect/Hopper/IR/HopperOps.cpp.inc"
      >();
  addInterfaces<HopperAsmInterface>();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

LogicalResult BarrierType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t count, int64_t arrivals) {
  if (count < 1 || arrivals < 1)
    return emitError() << "!hopper.barrier expects a count (" << count
                       << ") and arrivals (" << arrivals << ") of at least 1";
  return success();
}

static bool isSwizzle(int64_t bytes) {
  return bytes == 32 || bytes == 64 || bytes == 128;
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t slots, RankedTensorType tile,
                                 int64_t swizzle) {
  if (slots < 1)
    return emitError() << "!hopper.buffer expects at least 1 slot, got "
                       << slots;
  if (!isSwizzle(swizzle))
    return emitError()
           << "!hopper.buffer expects a swizzle of 32, 64 or 128 bytes, got "
           << swizzle;
  if (tile.getRank() != 2 || !tile.hasStaticShape() ||
      !tile.getElementType().isIntOrFloat() || tile.getDimSize(0) % 8 ||
      tile.getDimSize(1) * tile.getElementTypeBitWidth() / 8 % swizzle)
    return emitError() << "!hopper.buffer expects a tile of rank 2 with rows "
                          "that are a multiple of 8 and columns that fill "
                          "whole blocks of "
                       << swizzle << " bytes, got " << tile;
  return success();
}

int64_t BufferType::getByteOffset(int64_t row, int64_t column) const {
  int64_t byte = column * getElementBytes();
  int64_t block = byte / getSwizzle(), inBlock = byte % getSwizzle();
  int64_t address = block * getBlockBytes() + row * getSwizzle() + inBlock;
  // TMA swizzle modes: chunk bits are XORed with address bits 7 and up.
  int64_t mask = getSwizzle() / 16 - 1;
  return address ^ (((address >> 7) & mask) << 4);
}

LogicalResult
TensorMapType::verify(function_ref<InFlightDiagnostic()> emitError,
                      ArrayRef<int64_t> box, Type elementType,
                      int64_t swizzle) {
  if (box.empty() || box.size() > 5)
    return emitError() << "!hopper.tensormap expects 1 to 5 dimensions, got "
                       << box.size();
  for (int64_t extent : box)
    if (extent < 1 || extent > 256)
      return emitError()
             << "!hopper.tensormap expects box extents between 1 and 256, got "
             << extent;
  if (!elementType.isIntOrFloat() || !isSwizzle(swizzle) ||
      box.back() * elementType.getIntOrFloatBitWidth() / 8 > swizzle)
    return emitError() << "!hopper.tensormap expects a box of at most "
                       << swizzle << " bytes in the last dimension, got "
                       << box.back() << " of " << elementType;
  return success();
}

// The start of a chain that is complete from the beginning may go unused.
bool InflightType::mayDrop() const { return true; }

//===----------------------------------------------------------------------===//
// Fragment
//===----------------------------------------------------------------------===//

void FragmentAttr::print(AsmPrinter &printer) const {
  const LinearLayout &layout = getLayout();
  auto list = [&](StringRef name, ArrayRef<LinearLayout::Basis> bases) {
    printer << ", " << name << " = [";
    llvm::interleaveComma(bases, printer, [&](const auto &basis) {
      printer << '[';
      llvm::interleaveComma(basis, printer);
      printer << ']';
    });
    printer << ']';
  };
  printer << "<[";
  llvm::interleaveComma(layout.getShape(), printer);
  printer << ']';
  list("reg", layout.getRegisterBases());
  list("lane", layout.getLaneBases());
  list("warp", layout.getWarpBases());
  SmallVector<LinearLayout::Basis> repeats;
  for (const LinearLayout::Repeat &repeat : layout.getRepeats())
    repeats.push_back({repeat.dim, repeat.stride, repeat.count});
  list("repeat", repeats);
  printer << '>';
}

Attribute FragmentAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  using Basis = LinearLayout::Basis;
  auto parseBasis = [&](Basis &basis) {
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() {
      return parser.parseInteger(basis.emplace_back());
    });
  };
  auto parseList = [&](StringRef name, SmallVector<Basis> &bases) {
    if (parser.parseComma() || parser.parseKeyword(name) || parser.parseEqual())
      return failure();
    return LogicalResult(
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() {
          return parseBasis(bases.emplace_back());
        }));
  };
  Basis shape;
  SmallVector<Basis> reg, lane, warp, repeats;
  if (parser.parseLess() || parseBasis(shape) ||
      failed(parseList("reg", reg)) || failed(parseList("lane", lane)) ||
      failed(parseList("warp", warp)) || failed(parseList("repeat", repeats)) ||
      parser.parseGreater())
    return {};
  SmallVector<LinearLayout::Repeat> repeatList;
  for (const Basis &repeat : repeats) {
    if (repeat.size() != 3 || repeat[0] < 0 ||
        repeat[0] >= static_cast<int64_t>(shape.size()) || repeat[2] < 2) {
      parser.emitError(loc, "#hopper.fragment expects repeats of the form "
                            "[dimension, stride, count]");
      return {};
    }
    repeatList.push_back(
        {static_cast<unsigned>(repeat[0]), repeat[1], repeat[2]});
  }
  for (const auto *bases : {&reg, &lane, &warp})
    for (const Basis &basis : *bases)
      if (basis.size() != shape.size()) {
        parser.emitError(loc, "#hopper.fragment expects bases of rank ")
            << shape.size() << ", got " << basis.size();
        return {};
      }
  if (lane.size() != 5 || warp.size() > 5) {
    parser.emitError(loc, "#hopper.fragment expects 5 lane bits, got ")
        << lane.size();
    return {};
  }
  return FragmentAttr::get(parser.getContext(),
                           LinearLayout(shape, reg, lane, warp, repeatList));
}
