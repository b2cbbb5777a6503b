//===- CompareArrays.cpp - differences of arrays --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tools/Run/CompareArrays.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <cmath>

using namespace fa3;
using namespace fa3::interp;
using namespace fa3::run;

Comparison fa3::run::compare(const Array &array, const Array &reference,
                             Tolerance tolerance) {
  Comparison result;
  Format format = array.getFormat();
  double squares = 0;
  int64_t finite = 0;
  array.forEach([&](llvm::ArrayRef<int64_t> index, uint8_t *element) {
    const uint8_t *other = reference.at(index);
    ++result.elements;
    bool isWritten = !isFloat(format) || !Array::isPoison(format, element);
    bool isOtherWritten = !isFloat(format) || !Array::isPoison(format, other);
    if (!isWritten && !isOtherWritten) {
      ++result.unwritten;
      return;
    }
    double a = loadAsDouble(format, element), b = loadAsDouble(format, other);
    bool agrees = isWritten == isOtherWritten;
    if (std::isfinite(a) && std::isfinite(b)) {
      double difference = std::abs(a - b);
      result.maxAbsolute = std::max(result.maxAbsolute, difference);
      if (b != 0)
        result.maxRelative =
            std::max(result.maxRelative, difference / std::abs(b));
      squares += difference * difference;
      ++finite;
      agrees &= difference <= tolerance.atol + tolerance.rtol * std::abs(b);
    } else {
      agrees &= a == b || (std::isnan(a) && std::isnan(b));
    }
    if (agrees)
      return;
    if (result.mismatches++ == 0) {
      result.index.assign(index.begin(), index.end());
      result.value = a;
      result.reference = b;
      result.isWritten = isWritten;
      result.isReferenceWritten = isOtherWritten;
    }
  });
  if (finite)
    result.rootMeanSquare = std::sqrt(squares / finite);
  return result;
}

static void printShape(llvm::raw_ostream &os, const Array &array) {
  for (int64_t extent : array.getShape())
    os << extent << 'x';
  os << getName(array.getFormat());
}

void fa3::run::printSummary(llvm::raw_ostream &os, llvm::StringRef name,
                            const Array &array) {
  Format format = array.getFormat();
  double sum = 0, least = INFINITY, most = -INFINITY;
  int64_t special = 0, unwritten = 0;
  llvm::SmallVector<uint8_t, 0> bytes;
  array.forEach([&](llvm::ArrayRef<int64_t>, uint8_t *element) {
    bytes.append(element, element + getByteWidth(format));
    if (isFloat(format) && Array::isPoison(format, element)) {
      ++unwritten;
      return;
    }
    double value = loadAsDouble(format, element);
    if (!std::isfinite(value)) {
      ++special;
      return;
    }
    sum += value;
    least = std::min(least, value);
    most = std::max(most, value);
  });
  os << name << ": ";
  printShape(os, array);
  os << llvm::format(", sum %.9g, range [%.9g, %.9g]", sum, least, most);
  if (special)
    os << ", " << special << " not finite";
  if (unwritten)
    os << ", " << unwritten << " not written";
  os << ", checksum "
     << llvm::format_hex_no_prefix(llvm::xxh3_64bits(bytes), 16) << '\n';
}

void fa3::run::printElements(llvm::raw_ostream &os, llvm::StringRef name,
                             const Array &array) {
  os << name << ": ";
  printShape(os, array);
  Format format = array.getFormat();
  array.forEach([&](llvm::ArrayRef<int64_t> index, uint8_t *element) {
    if (index.empty() || index.back() == 0) {
      os << "\n[";
      llvm::interleaveComma(index.empty() ? index : index.drop_back(), os);
      os << "]:";
    }
    if (isFloat(format) && Array::isPoison(format, element))
      os << " not-written";
    else if (!isFloat(format))
      os << llvm::format(" %.0f", loadAsDouble(format, element));
    else
      os << llvm::format(" %.6g", loadAsDouble(format, element));
  });
  os << '\n';
}
