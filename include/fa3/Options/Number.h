//===- Number.h - numbers of options ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A number outside of the range that Options.td gives its option is refused
// where the text is parsed, under the option's own name: of a pipeline and of a
// single pass. The default is always taken: mostly it is 0 and lets a pass
// choose.
//===----------------------------------------------------------------------===//

#ifndef FA3_OPTIONS_NUMBER_H
#define FA3_OPTIONS_NUMBER_H

#include "llvm/Support/CommandLine.h"
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

namespace mlir {
class Diagnostic;
} // namespace mlir

namespace fa3::options {

/// An int64_t whose parser has bounds.
struct Number {
  Number(int64_t value = 0) : value(value) {}
  operator int64_t() const { return value; }
  /// Else a diagnostic would take the number for a character. A template, since
  /// this header needs no more of diagnostics.
  template <typename Diagnostic,
            std::enable_if_t<std::is_same_v<Diagnostic, mlir::Diagnostic>> * =
                nullptr>
  friend Diagnostic &operator<<(Diagnostic &diagnostic, Number number) {
    return diagnostic << number.value;
  }
  int64_t value;
};

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
    option.getParser().setBounds(*this, option.getValue());
  }
};

/// Parses a number that has bounds.
class NumberParser : public llvm::cl::basic_parser<Number> {
public:
  using llvm::cl::basic_parser<Number>::basic_parser;
  bool parse(llvm::cl::Option &option, llvm::StringRef, llvm::StringRef text,
             Number &number) {
    if (text.getAsInteger(0, number.value))
      return option.error("expects a number, got '" + text + "'");
    std::optional<std::string> wrong = bounds.explain(number, init);
    return wrong && option.error(*wrong);
  }
  llvm::StringRef getValueName() const override { return "long"; }
  void printOptionDiff(const llvm::cl::Option &, Number,
                       const llvm::cl::OptionValue<Number> &, size_t) const {}
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
class llvm::cl::parser<fa3::options::Number>
    : public fa3::options::NumberParser {
  using NumberParser::NumberParser;
};

#endif // FA3_OPTIONS_NUMBER_H
