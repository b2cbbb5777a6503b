//===- Table.cpp - options found by measurement ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tuning/Table.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace mlir;
using namespace fa3::tuning;

/// What kernels are compiled for.
static constexpr llvm::StringLiteral kDevice = "sm_90a";

std::string ProblemClass::str() const {
  std::string text = "d " + std::to_string(d);
  if (dv != d)
    text += " x " + std::to_string(dv);
  text += ", " + std::to_string(bits) + " bits, " + getName(mask, score) + ", ";
  return text + (length ? "length " + std::to_string(length)
                        : "length known at run time");
}

int64_t fa3::tuning::getLengthClass(int64_t keys) {
  return int64_t(1) << std::lround(std::log2(std::max<int64_t>(keys, 1)));
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

namespace {
/// Where the objects of the list `entries` begin. The parser of LLVM does not
/// keep places, so the text, which it has accepted, is scanned for brackets
/// outside of strings.
std::vector<size_t> findEntries(StringRef text) {
  std::vector<size_t> places;
  bool inString = false;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      i += c == '\\';
      inString = c != '"';
    } else if (c == '"') {
      inString = true;
    } else if (c == '{' || c == '[') {
      // The table, its list, an entry.
      if (c == '{' && depth == 2)
        places.push_back(i);
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return places;
}

class Parser {
public:
  Parser(MLIRContext *context, StringRef path, StringRef text,
         Table::Validator validate)
      : context(context), path(path), text(text), validate(validate) {}

  LogicalResult parse(std::vector<Entry> &entries, std::string &device,
                      std::string &measured);

private:
  Location getLocation(size_t offset) const {
    StringRef before = text.take_front(offset);
    unsigned line = before.count('\n') + 1;
    unsigned column = offset - (before.rfind('\n') + 1) + 1;
    return FileLineColLoc::get(context, path, line, column);
  }
  InFlightDiagnostic error(size_t offset) const {
    return emitError(getLocation(offset)) << "tuning table: ";
  }
  LogicalResult parseEntry(const llvm::json::Value &value, size_t place,
                           Entry &entry) const;

  MLIRContext *context;
  StringRef path, text;
  Table::Validator validate;
};
} // namespace

//===----------------------------------------------------------------------===//
// Parser
//===----------------------------------------------------------------------===//

LogicalResult Parser::parseEntry(const llvm::json::Value &value, size_t place,
                                 Entry &entry) const {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return error(place) << "expects an entry to be an object";
  for (auto &[key, unused] : *object)
    if (!llvm::is_contained({"bits", "d", "dv", "mask", "length", "below",
                             "from", "options", "tflops", "default"},
                            StringRef(key)))
      return error(place) << "unknown field '" << StringRef(key) << "'";
  for (auto [name, field] :
       {std::pair("bits", &entry.problem.bits),
        std::pair("d", &entry.problem.d), std::pair("dv", &entry.problem.dv),
        std::pair("length", &entry.problem.length)}) {
    std::optional<int64_t> number = object->getInteger(name);
    if (!number || *number < 0)
      return error(place) << "expects '" << name
                          << "' to be an integer of at least 0";
    *field = *number;
  }
  int64_t bits = entry.problem.bits, length = entry.problem.length;
  if (bits != 16 && bits != 8)
    return error(place) << "expects 'bits' to be 16 or 8, got " << bits;
  for (auto [name, dim] :
       {std::pair("d", entry.problem.d), std::pair("dv", entry.problem.dv)})
    if (dim < 8 || dim > 256 || dim % 8 != 0)
      return error(place) << "expects '" << name
                          << "' to be a multiple of 8 up to 256, got " << dim;
  if (length & (length - 1))
    return error(place) << "expects 'length' to be a power of two or 0, got "
                        << length;
  for (auto [name, field] :
       {std::pair("below", &entry.below), std::pair("from", &entry.from)}) {
    const llvm::json::Value *bound = object->get(name);
    if (!bound)
      continue;
    std::optional<int64_t> number = bound->getAsInteger();
    if (!number || *number < 1)
      return error(place) << "expects '" << name
                          << "' to be an integer of at least 1";
    if (length)
      return error(place) << "'" << name
                          << "' is for entries of 'length' 0, got " << length;
    *field = *number;
  }
  if (entry.below && entry.from)
    return error(place) << "expects 'below' or 'from', not both";
  std::optional<StringRef> mask = object->getString("mask");
  auto parsed = mask ? parseMask(*mask) : std::nullopt;
  if (!parsed)
    return error(place) << "expects 'mask' to be " << kMaskNames;
  std::tie(entry.problem.mask, entry.problem.score) = *parsed;
  std::optional<StringRef> options = object->getString("options");
  if (!options)
    return error(place) << "expects 'options' to be a text";
  entry.options = options->str();
  if (std::optional<std::string> wrong = validate(*options))
    return error(place) << "options '" << *options << "': " << *wrong;
  entry.tflops = object->getNumber("tflops").value_or(0);
  entry.byDefault = object->getNumber("default").value_or(0);
  return success();
}

LogicalResult Parser::parse(std::vector<Entry> &entries, std::string &device,
                            std::string &measured) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value) {
    // "[line:column, byte=offset]: message"
    std::string message = llvm::toString(value.takeError());
    size_t offset = 0;
    StringRef rest = StringRef(message).split("byte=").second;
    auto [number, what] = rest.split("]: ");
    if (number.getAsInteger(10, offset))
      what = message;
    return error(std::min(offset, text.size())) << what;
  }
  const llvm::json::Object *object = value->getAsObject();
  const llvm::json::Array *list =
      object ? object->getArray("entries") : nullptr;
  if (!list)
    return error(0) << "expects an object with a list 'entries'";
  if (object->getInteger("schema") != std::optional<int64_t>(1))
    return error(0) << "expects 'schema' to be 1";
  for (auto &[key, unused] : *object)
    if (!llvm::is_contained({"schema", "device", "measured", "entries"},
                            StringRef(key)))
      return error(0) << "unknown field '" << StringRef(key) << "'";
  device = object->getString("device").value_or("").str();
  if (!device.empty() && device != kDevice)
    return error(0) << "expects 'device' to be " << kDevice << ", got '"
                    << device << "'";
  measured = object->getString("measured").value_or("").str();
  std::vector<size_t> places = findEntries(text);
  for (auto [i, element] : llvm::enumerate(*list)) {
    size_t place = i < places.size() ? places[i] : 0;
    Entry entry;
    if (failed(parseEntry(element, place, entry)))
      return failure();
    for (auto [k, other] : llvm::enumerate(entries))
      if (other.problem == entry.problem && other.below == entry.below &&
          other.from == entry.from) {
        InFlightDiagnostic diagnostic = error(place) << "a second entry for "
                                                     << entry.problem.str();
        diagnostic.attachNote(getLocation(places[k])) << "the first one";
        return diagnostic;
      }
    entries.push_back(std::move(entry));
  }
  return success();
}

FailureOr<Table> Table::parse(MLIRContext *context, StringRef path,
                              StringRef text, Validator validate) {
  Table table;
  if (failed(Parser(context, path, text, validate)
                 .parse(table.entries, table.device, table.measured)))
    return failure();
  return table;
}

const Entry *Table::lookup(const ProblemClass &problem) const {
  for (const Entry &entry : entries)
    if (entry.problem == problem && !entry.below && !entry.from)
      return &entry;
  return nullptr;
}

llvm::SmallVector<const Entry *>
Table::lookupAll(const ProblemClass &problem) const {
  llvm::SmallVector<const Entry *> found;
  for (const Entry &entry : entries)
    if (entry.problem == problem)
      found.push_back(&entry);
  // First those for few keys, last those for many.
  auto getRank = [](const Entry *entry) {
    return std::tuple(entry->from, !entry->below, entry->below);
  };
  llvm::sort(found, [&](const Entry *a, const Entry *b) {
    return getRank(a) < getRank(b);
  });
  return found;
}

StringRef fa3::tuning::getShippedTable() {
  static constexpr char text[] =
#include "ShippedTable.inc"
      ;
  return text;
}
