//===- BoundedNumber.h - numbers of pipeline options ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A number outside of the range that Options.td gives its option is refused
// where the text is parsed, under the option's own name. The default is always
// taken: mostly it is 0 and lets a pass choose.
//===----------------------------------------------------------------------===//

#ifndef FA3_PIPELINES_BOUNDEDNUMBER_H
#define FA3_PIPELINES_BOUNDEDNUMBER_H

#include "fa3/Options/Options.h"
#include "mlir/Pass/PassOptions.h"
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

namespace fa3::options {

/// What an option takes besides its default.
struct Bounds {
  int64_t least, most, step;

  /// What is wrong with a number, if anything.
  std::optional<std::string> explain(int64_t number, int64_t init) const {
    if (number == init ||
        (number >= least && number <= most && number % step == 0))
      return std::nullopt;
    bool isInside = init >= least && init <= most && init % step == 0;
    std::string text = "expects a ";
    if (!isInside)
      text = "expects " + std::to_string(init) + " or a ";
    text += step == 1 ? "number" : "multiple of " + std::to_string(step);
    text += " from " + std::to_string(least);
    if (most != std::numeric_limits<int64_t>::max())
      text += " to " + std::to_string(most);
    else
      text += " on";
    return text + ", got " + std::to_string(number);
  }

  /// As a modifier of an option, behind its cl::init.
  template <typename Option>
  void apply(Option &option) const {
    if constexpr (std::is_same_v<std::decay_t<decltype(option.getValue())>,
                                 int64_t>)
      option.getParser().setBounds(*this, option.getValue());
  }
};

/// What a text becomes first; a type of its own has a parser of its own.
struct BoundedNumber {
  BoundedNumber(int64_t value = 0) : value(value) {}
  operator int64_t() const { return value; }
  int64_t value;
};

/// Parses a number that has bounds.
class NumberParser : public llvm::cl::basic_parser<BoundedNumber> {
public:
  using llvm::cl::basic_parser<BoundedNumber>::basic_parser;
  bool parse(llvm::cl::Option &option, llvm::StringRef, llvm::StringRef text,
             BoundedNumber &number) {
    if (text.getAsInteger(0, number.value))
      return option.error("expects a number, got '" + text + "'");
    std::optional<std::string> wrong = bounds.explain(number, init);
    return wrong && option.error(*wrong);
  }
  llvm::StringRef getValueName() const override { return "long"; }
  void setBounds(Bounds theBounds, int64_t theInit) {
    bounds = theBounds;
    init = theInit;
  }

private:
  Bounds bounds{0, std::numeric_limits<int64_t>::max(), 1};
  int64_t init = 0;
};

} // namespace fa3::options

template <>
class llvm::cl::parser<fa3::options::BoundedNumber>
    : public fa3::options::NumberParser {
  using NumberParser::NumberParser;
};

namespace fa3::options {

template <typename T>
using ParserOf = std::conditional_t<std::is_same_v<T, int64_t>,
                                    llvm::cl::parser<BoundedNumber>,
                                    mlir::detail::PassOptions::OptionParser<T>>;

} // namespace fa3::options

#endif // FA3_PIPELINES_BOUNDEDNUMBER_H
