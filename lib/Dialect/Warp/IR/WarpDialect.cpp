//===- WarpDialect.cpp - dialect and types of warp ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Dialect/Warp/IR/Warp.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FoldInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa3::warp;

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

/// `, parts = 2, initial = 1, scope = cta`, each where it is not the default.
static ParseResult parseRingOptions(AsmParser &parser, int64_t &parts,
                                    int64_t &initial, Scope &scope) {
  parts = 1;
  initial = 0;
  scope = Scope::cta;
  llvm::SmallDenseSet<StringRef> seen;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name, value;
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    if (!seen.insert(name).second)
      return parser.emitError(loc) << "'" << name << "' is given twice";
    if (name == "parts" || name == "initial") {
      if (parser.parseInteger(name == "parts" ? parts : initial))
        return failure();
    } else if (name == "scope") {
      SMLoc valueLoc = parser.getCurrentLocation();
      if (parser.parseKeyword(&value))
        return failure();
      std::optional<Scope> symbol = symbolizeScope(value);
      if (!symbol)
        return parser.emitError(valueLoc)
               << "expects scope 'cta' or 'cluster', got '" << value << "'";
      scope = *symbol;
    } else {
      return parser.emitError(loc)
             << "expects 'parts', 'initial' or 'scope', got '" << name << "'";
    }
  }
  return success();
}

static void printRingOptions(AsmPrinter &printer, int64_t parts,
                             int64_t initial, Scope scope) {
  if (parts != 1)
    printer << ", parts = " << parts;
  if (initial != 0)
    printer << ", initial = " << initial;
  if (scope != Scope::cta)
    printer << ", scope = " << stringifyScope(scope);
}

#include "fa3/Dialect/Warp/IR/WarpAttrInterfaces.cpp.inc"
#include "fa3/Dialect/Warp/IR/WarpDialect.cpp.inc"
#include "fa3/Dialect/Warp/IR/WarpEnums.cpp.inc"
#include "fa3/Dialect/Warp/IR/WarpOpInterfaces.cpp.inc"
#include "fa3/Dialect/Warp/IR/WarpTypeInterfaces.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "fa3/Dialect/Warp/IR/WarpTypes.cpp.inc"

namespace {
/// Keeps constants inside the group that uses them: a tile constant hoisted in
/// front of `warp.specialize` would be a captured tile.
struct WarpFoldInterface : DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;
  bool shouldMaterializeInto(Region *region) const final {
    return isa<GroupOp>(region->getParentOp());
  }
};
} // namespace

void WarpDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "fa3/Dialect/Warp/IR/WarpTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fa3/Dialect/Warp/IR/WarpOps.cpp.inc"
      >();
  addInterfaces<WarpFoldInterface>();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

int64_t fa3::warp::getPayloadBytes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return 0;
  if (auto storage =
          dyn_cast_or_null<StorageAttrInterface>(tensor.getEncoding()))
    return storage.getStorageBytes(tensor.getShape(), tensor.getElementType());
  return tensor.getNumElements() *
         llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
}

/// What an entry of a ring may hold.
static LogicalResult verifyPayload(function_ref<InFlightDiagnostic()> emitError,
                                   StringRef name, ArrayRef<Type> payload) {
  if (payload.empty())
    return emitError() << name << " expects a payload";
  for (Type type : payload) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    bool fits = tensor ? tensor.hasStaticShape() &&
                             tensor.getElementType().isIntOrFloat()
                       : isa<IntegerType, IndexType, TokenType>(type);
    if (!fits)
      return emitError() << name
                         << " expects payload types that are statically shaped "
                            "tensors, integers, index or !warp.token, got "
                         << type;
  }
  return success();
}

LogicalResult RingType::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t depth, ArrayRef<Type> payload,
                               int64_t parts, int64_t initial, Scope scope) {
  if (depth < 1)
    return emitError() << "!warp.ring expects a depth of at least 1, got "
                       << depth;
  if (failed(verifyPayload(emitError, "!warp.ring", payload)))
    return failure();
  if (parts < 1)
    return emitError() << "!warp.ring expects at least 1 part, got " << parts;
  if (initial < 0 || initial > depth)
    return emitError() << "!warp.ring expects initial entries (" << initial
                       << ") between 0 and the depth (" << depth << ")";
  if (scope != Scope::cta)
    return emitError() << "!warp.ring of scope 'cluster' is not supported";
  return success();
}

LogicalResult SlotType::verify(function_ref<InFlightDiagnostic()> emitError,
                               Side, ArrayRef<Type> payload) {
  return verifyPayload(emitError, "!warp.slot", payload);
}

int64_t RingType::getEntryBytes() const {
  int64_t bytes = 0;
  for (Type type : getPayload())
    bytes += getPayloadBytes(type);
  return bytes;
}

RingType RingType::withDepth(int64_t depth) const {
  return get(getContext(), depth, getPayload(), getParts(), getInitial(),
             getScope());
}

RingType RingType::withPayload(ArrayRef<Type> payload) const {
  return get(getContext(), getDepth(), payload, getParts(), getInitial(),
             getScope());
}

bool CursorType::mayDrop() const { return true; }
bool SlotType::mayDrop() const { return false; }
bool TurnType::mayDrop() const { return false; }
