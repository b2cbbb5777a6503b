//===- Npy.cpp - reading and writing .npy files ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tools/Run/Npy.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace fa3;
using namespace fa3::interp;
using llvm::Error;
using llvm::Expected;
using llvm::SmallVector;
using llvm::SmallVectorImpl;
using llvm::StringRef;

static constexpr StringRef kMagic("\x93NUMPY", 6);

template <typename... Parts>
static Error makeError(const char *format, Parts... parts) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), format,
                                 parts...);
}

static std::string str(llvm::ArrayRef<int64_t> shape) {
  std::string text = "(";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(shape, os);
  os << ')';
  return text;
}

namespace {
/// The dictionary of a file.
struct Header {
  char kind = 0; ///< f, i, u, b or V
  int64_t bytes = 0;
  bool isFortran = false;
  SmallVector<int64_t> shape;
};

/// Reads the literal of a Python dictionary with three known keys.
class HeaderParser {
public:
  explicit HeaderParser(StringRef text) : rest(text) {}

  Expected<Header> parse() {
    Header header;
    bool hasDescr = false, hasOrder = false, hasShape = false;
    if (!consume("{"))
      return makeError("malformed header: expected a dictionary");
    while (!consume("}")) {
      StringRef key;
      if (!parseString(key) || !consume(":"))
        return makeError("malformed header: expected a key");
      if (key == "descr") {
        StringRef descr;
        if (!parseString(descr))
          return makeError("malformed header: 'descr' is no string (structured "
                           "types are not supported)");
        if (Error error = setDescr(descr, header))
          return std::move(error);
        hasDescr = true;
      } else if (key == "fortran_order") {
        header.isFortran = consume("True");
        if (!header.isFortran && !consume("False"))
          return makeError("malformed header: 'fortran_order' is no boolean");
        hasOrder = true;
      } else if (key == "shape") {
        if (!parseShape(header.shape))
          return makeError("malformed header: 'shape' is no tuple of extents");
        hasShape = true;
      } else {
        return makeError("malformed header: unknown key '%s'",
                         key.str().c_str());
      }
      consume(",");
    }
    if (!hasDescr || !hasOrder || !hasShape)
      return makeError("malformed header: expected the keys 'descr', "
                       "'fortran_order' and 'shape'");
    return header;
  }

private:
  bool consume(StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }

  bool parseString(StringRef &value) {
    rest = rest.ltrim();
    if (rest.empty() || (rest.front() != '\'' && rest.front() != '"'))
      return false;
    size_t end = rest.find(rest.front(), 1);
    if (end == StringRef::npos)
      return false;
    value = rest.slice(1, end);
    rest = rest.drop_front(end + 1);
    return true;
  }

  bool parseShape(SmallVectorImpl<int64_t> &shape) {
    if (!consume("("))
      return false;
    int64_t elements = 1;
    while (!consume(")")) {
      int64_t extent;
      rest = rest.ltrim();
      if (rest.consumeInteger(10, extent) || extent < 0)
        return false;
      if (llvm::MulOverflow(elements, extent, elements))
        return false;
      shape.push_back(extent);
      rest = rest.ltrim();
      if (!rest.starts_with(")") && !consume(","))
        return false;
    }
    return true;
  }

  static Error setDescr(StringRef descr, Header &header) {
    StringRef text = descr;
    if (text.consume_front(">"))
      return makeError("big-endian data ('%s') is not supported",
                       descr.str().c_str());
    if (!text.consume_front("<") && !text.consume_front("|"))
      text.consume_front("=");
    header.kind = text.empty() ? 0 : text.front();
    bool isNumber =
        !text.drop_front(!text.empty()).getAsInteger(10, header.bytes);
    bool isKnown =
        isNumber &&
        ((header.kind == 'f' &&
          (header.bytes == 2 || header.bytes == 4 || header.bytes == 8)) ||
         ((header.kind == 'i' || header.kind == 'u') &&
          (header.bytes == 1 || header.bytes == 2 || header.bytes == 4 ||
           header.bytes == 8)) ||
         (header.kind == 'b' && header.bytes == 1) ||
         (header.kind == 'V' && (header.bytes == 1 || header.bytes == 2)));
    if (!isKnown)
      return makeError("element type '%s' is not supported",
                       descr.str().c_str());
    return Error::success();
  }

  StringRef rest;
};
} // namespace

/// Splits a file into its header and its data.
static Expected<Header> parseFile(StringRef contents, StringRef &data) {
  if (!contents.starts_with(kMagic))
    return makeError("not an .npy file: the magic number is missing");
  if (contents.size() < 10)
    return makeError("truncated: the file ends before the header");
  unsigned version = static_cast<uint8_t>(contents[6]);
  if (version < 1 || version > 3)
    return makeError("version %u is not supported", version);
  size_t lengthBytes = version == 1 ? 2 : 4;
  size_t start = 8 + lengthBytes;
  if (contents.size() < start)
    return makeError("truncated: the file ends before the header");
  const char *at = contents.data() + 8;
  size_t length = version == 1 ? llvm::support::endian::read16le(at)
                               : llvm::support::endian::read32le(at);
  if (contents.size() - start < length)
    return makeError(
        "truncated: a header of %zu bytes is announced, %zu are there", length,
        contents.size() - start);
  Expected<Header> header =
      HeaderParser(contents.substr(start, length)).parse();
  if (!header)
    return header.takeError();
  data = contents.drop_front(start + length);
  int64_t wanted = header->bytes;
  for (int64_t extent : header->shape)
    if (llvm::MulOverflow(wanted, extent, wanted))
      return makeError("malformed header: the shape is too large");
  if (static_cast<int64_t>(data.size()) < wanted)
    return makeError(
        "truncated: %lld bytes of data are announced, %zu are there",
        static_cast<long long>(wanted), data.size());
  return header;
}

/// One number of the file.
static double readNumber(const Header &header, const uint8_t *at) {
  switch (header.kind) {
  case 'f': {
    Format format = header.bytes == 2   ? Format::F16
                    : header.bytes == 4 ? Format::F32
                                        : Format::F64;
    return loadAsDouble(format, at);
  }
  case 'i': {
    Format format = header.bytes == 1   ? Format::I8
                    : header.bytes == 2 ? Format::I16
                    : header.bytes == 4 ? Format::I32
                                        : Format::I64;
    return loadAsDouble(format, at);
  }
  default: {
    uint64_t value = 0;
    std::memcpy(&value, at, header.bytes);
    return static_cast<double>(value);
  }
  }
}

/// An integer of the file as one of `format`; false if that cannot hold it.
static bool storeInteger(const Header &header, const uint8_t *at, Format format,
                         uint8_t *element) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, header.bytes);
  if (header.kind == 'i')
    bits = llvm::SignExtend64(bits, 8 * header.bytes);
  auto value = static_cast<int64_t>(bits);
  if (wrapTo(format, value) != value || (header.kind != 'i' && value < 0))
    return false;
  encode(format, &value, 1, 0, element);
  return true;
}

Error run::readNpy(StringRef contents, const Array &array) {
  StringRef data;
  Expected<Header> header = parseFile(contents, data);
  if (!header)
    return header.takeError();
  if (llvm::ArrayRef<int64_t>(header->shape) != array.getShape())
    return makeError("the file has shape %s, the argument %s",
                     str(header->shape).c_str(), str(array.getShape()).c_str());
  Format format = array.getFormat();
  bool isRaw = header->kind == 'V';
  if (isRaw && (header->bytes != getByteWidth(format) || !isFloat(format)))
    return makeError(
        "the file has raw elements of %lld bytes, the argument is %s",
        static_cast<long long>(header->bytes), getName(format).data());
  if (!isFloat(format) && header->kind == 'f')
    return makeError("the file has floats, the argument is %s",
                     getName(format).data());
  SmallVector<int64_t> strides(header->shape.size());
  int64_t stride = header->bytes;
  for (size_t i = 0; i < strides.size(); ++i) {
    size_t dim = header->isFortran ? i : strides.size() - 1 - i;
    strides[dim] = stride;
    stride *= header->shape[dim];
  }
  bool fits = true;
  array.forEach([&](llvm::ArrayRef<int64_t> index, uint8_t *element) {
    int64_t position = 0;
    for (auto [i, s] : llvm::zip(index, strides))
      position += i * s;
    const uint8_t *at =
        reinterpret_cast<const uint8_t *>(data.data()) + position;
    // Integers of the same width keep all their bits.
    if (isRaw || (!isFloat(format) && header->bytes == getByteWidth(format)))
      std::memcpy(element, at, header->bytes);
    else if (!isFloat(format) && format != Format::I1)
      fits &= storeInteger(*header, at, format, element);
    else
      storeAsDouble(format, readNumber(*header, at), element);
  });
  if (!fits)
    return makeError("the file has numbers that the argument, %s, cannot hold",
                     getName(format).data());
  return Error::success();
}

Expected<SmallVector<int64_t>> run::readNpyShape(StringRef contents) {
  StringRef data;
  Expected<Header> header = parseFile(contents, data);
  if (!header)
    return header.takeError();
  return SmallVector<int64_t>(header->shape.begin(), header->shape.end());
}

std::string run::writeNpy(const Array &array) {
  Format format = array.getFormat();
  bool widen = isFloat(format) && format != Format::F64 &&
               format != Format::F32 && format != Format::F16;
  int64_t bytes = widen ? 4 : getByteWidth(format);
  std::string header = "{'descr': '";
  llvm::raw_string_ostream os(header);
  if (format == Format::I1)
    os << "|b1";
  else
    os << (bytes == 1 ? '|' : '<') << (isFloat(format) ? 'f' : 'i') << bytes;
  os << "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : array.getShape())
    os << extent << ", ";
  os << "), }";
  // The data starts at a multiple of 64 bytes; the header ends with a newline.
  size_t total = llvm::alignTo(10 + header.size() + 1, 64);
  header.append(total - 10 - header.size() - 1, ' ');
  header += '\n';
  std::string contents(kMagic);
  contents += '\x01';
  contents += '\0';
  contents += static_cast<char>(header.size() & 0xff);
  contents += static_cast<char>(header.size() >> 8);
  contents += header;
  array.forEach([&](llvm::ArrayRef<int64_t>, uint8_t *element) {
    if (widen) {
      float value = static_cast<float>(loadAsDouble(format, element));
      contents.append(reinterpret_cast<const char *>(&value), 4);
    } else {
      contents.append(reinterpret_cast<const char *>(element), bytes);
    }
  });
  return contents;
}
