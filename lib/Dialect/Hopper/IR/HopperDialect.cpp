//===- HopperDialect.cpp - dialect, types and attributes of hopper --------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Hopper/IR/Hopper.h"
#include "fa3/Dialect/Hopper/IR/HopperExactOps.h"
#include "fa3/Dialect/Hopper/IR/ProgressOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
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
  addOperations<
#define GET_OP_LIST
#include "fa3/Dialect/Hopper/IR/HopperExactOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fa3/Dialect/Hopper/IR/HopperProgressOps.cpp.inc"
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
  if (arrivals > kSm90a.maxBarrierCount)
    return emitError() << "!hopper.barrier expects at most "
                       << kSm90a.maxBarrierCount << " arrivals, got "
                       << arrivals;
  return success();
}

static bool isSwizzle(int64_t bytes) {
  return bytes == 32 || bytes == 64 || bytes == 128;
}

/// Whether shared memory can hold elements of `type`: whole bytes.
static bool isElement(Type type) {
  return type.isIntOrFloat() &&
         llvm::is_contained({8u, 16u, 32u}, type.getIntOrFloatBitWidth());
}

LogicalResult MailboxType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t slots) {
  if (slots < 1)
    return emitError() << "!hopper.mailbox expects at least 1 slot, got "
                       << slots;
  return success();
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
      !isElement(tile.getElementType()) || tile.getNumElements() == 0 ||
      tile.getDimSize(0) % 8 ||
      tile.getDimSize(1) * tile.getElementTypeBitWidth() / 8 % swizzle)
    return emitError() << "!hopper.buffer expects a tile of rank 2 with "
                          "elements of 8, 16 or 32 bits, rows that are a "
                          "multiple of 8 and columns that fill whole blocks of "
                       << swizzle << " bytes, got " << tile;
  return success();
}

BufferType BufferType::withElementType(Type element) const {
  RankedTensorType tile = getTile();
  int64_t columns = tile.getDimSize(1) * tile.getElementTypeBitWidth() /
                    element.getIntOrFloatBitWidth();
  return BufferType::get(
      getContext(), getSlots(),
      RankedTensorType::get({tile.getDimSize(0), columns}, element),
      getSwizzle());
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
  if (!isSwizzle(swizzle))
    return emitError()
           << "!hopper.tensormap expects a swizzle of 32, 64 or 128 "
              "bytes, got "
           << swizzle;
  if (!isElement(elementType))
    return emitError() << "!hopper.tensormap expects elements of 8, 16 or 32 "
                          "bits, got "
                       << elementType;
  int64_t bytes = box.back() * elementType.getIntOrFloatBitWidth() / 8;
  if (bytes % 16 || bytes > swizzle)
    return emitError() << "!hopper.tensormap expects a last dimension of a "
                          "multiple of 16 bytes up to "
                       << swizzle << ", got " << bytes;
  return success();
}

LogicalResult DescType::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t rows, Type elementType, int64_t swizzle,
                               Major) {
  if (rows < 8 || rows % 8)
    return emitError() << "!hopper.desc expects rows that are a positive "
                          "multiple of 8, got "
                       << rows;
  if (!isSwizzle(swizzle))
    return emitError()
           << "!hopper.desc expects a swizzle of 32, 64 or 128 bytes, got "
           << swizzle;
  if (!isElement(elementType))
    return emitError()
           << "!hopper.desc expects elements of 8, 16 or 32 bits, got "
           << elementType;
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

using Basis = LinearLayout::Basis;

/// C1 to C3 of what was parsed. `emitError` starts a message.
static LogicalResult
verifyFragment(function_ref<InFlightDiagnostic()> emitError,
               ArrayRef<int64_t> shape, ArrayRef<Basis> reg,
               ArrayRef<Basis> lane, ArrayRef<Basis> warp,
               ArrayRef<Basis> repeats) {
  constexpr int64_t kMaxExtent = 1 << 16, kMaxRegisters = 1024;
  int64_t rank = shape.size();
  if (rank < 1 || rank > 3)
    return emitError() << "a shape of rank 1 to 3, got rank " << rank;
  for (int64_t extent : shape)
    if (extent < 1 || extent > kMaxExtent)
      return emitError() << "extents between 1 and " << kMaxExtent << ", got "
                         << extent;
  for (ArrayRef<Basis> bases : {reg, lane, warp})
    for (const Basis &basis : bases)
      if (static_cast<int64_t>(basis.size()) != rank)
        return emitError() << "bases of rank " << rank << ", got "
                           << basis.size();
  if (lane.size() != 5)
    return emitError() << "5 lane bits, got " << lane.size();
  if (warp.size() > 3)
    return emitError() << "at most 3 warp bits, got " << warp.size();
  for (const Basis &repeat : repeats)
    if (repeat.size() != 3 || repeat[0] < 0 || repeat[0] >= rank ||
        repeat[2] < 3 || repeat[2] % 2 == 0)
      return emitError()
             << "repeats of the form [dimension, stride, odd count]";
  int64_t registers = reg.size() > 10 ? kMaxRegisters + 1 : 1 << reg.size();
  for (const Basis &repeat : repeats)
    if (registers <= kMaxRegisters)
      registers *= std::min(repeat[2], kMaxRegisters + 1);
  if (registers > kMaxRegisters)
    return emitError() << "at most " << kMaxRegisters << " registers";

  // The largest coordinates that bits and repeats reach together.
  SmallVector<int64_t, 2> last(rank, 0);
  auto reach = [&](int64_t dim, int64_t stride, int64_t count) {
    if (stride < 0 || stride > kMaxExtent)
      return false;
    last[dim] += stride * (count - 1);
    return last[dim] < shape[dim];
  };
  bool fits = true;
  for (ArrayRef<Basis> bases : {reg, lane, warp})
    for (const Basis &basis : bases)
      for (auto [dim, stride] : llvm::enumerate(basis))
        fits = fits && reach(dim, stride, 2);
  for (const Basis &repeat : repeats)
    fits = fits && reach(repeat[0], repeat[1], repeat[2]);
  if (!fits)
    return emitError() << "elements inside the shape [" << shape << "]";
  return success();
}

Attribute FragmentAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
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
  auto emitError = [&]() {
    return parser.emitError(loc, "#hopper.fragment expects ");
  };
  if (failed(verifyFragment(emitError, shape, reg, lane, warp, repeats)))
    return {};
  SmallVector<LinearLayout::Repeat> repeatList;
  for (const Basis &repeat : repeats)
    repeatList.push_back(
        {static_cast<unsigned>(repeat[0]), repeat[1], repeat[2]});
  return FragmentAttr::get(parser.getContext(),
                           LinearLayout(shape, reg, lane, warp, repeatList));
}
