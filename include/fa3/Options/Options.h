//===- Options.h - enumerations of options ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The words that an option takes are an enumeration, made from Options.td. A
// wrong one is refused where the text is parsed, with the list of right ones.
//===----------------------------------------------------------------------===//

#ifndef FA3_OPTIONS_OPTIONS_H
#define FA3_OPTIONS_OPTIONS_H

#include "fa3/Machine/Chip.h"
#include "fa3/Options/Number.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include <algorithm>

namespace fa3::options {

/// The word of a value of an enumeration.
template <typename Enum>
llvm::StringRef getWord(Enum value) {
  return getWords(value)[static_cast<size_t>(value)];
}

/// "'a', 'b' or 'c'".
inline std::string listWords(llvm::ArrayRef<llvm::StringLiteral> words) {
  std::string text;
  for (auto [i, word] : llvm::enumerate(words)) {
    const char *between = i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    text += (llvm::Twine(between) + "'" + word + "'").str();
  }
  return text;
}

/// "; did you mean 'b'?" of what is nearest to a word, if anything is near.
inline std::string suggest(llvm::StringRef wrong,
                           llvm::ArrayRef<llvm::StringRef> right) {
  // A third of the letters, at most three of them, may be wrong.
  unsigned most = std::clamp<unsigned>(wrong.size() / 3, 1, 3) + 1;
  llvm::StringRef nearest;
  for (llvm::StringRef word : right) {
    unsigned distance =
        wrong.edit_distance(word, /*AllowReplacements=*/true, most);
    if (distance < most) {
      most = distance;
      nearest = word;
    }
  }
  return nearest.empty() ? "" : ("; did you mean '" + nearest + "'?").str();
}

/// Parses the words of an enumeration.
template <typename Enum>
class WordParser : public llvm::cl::basic_parser<Enum> {
public:
  WordParser(llvm::cl::Option &option)
      : llvm::cl::basic_parser<Enum>(option),
        name(llvm::join(getWords(Enum()), "|")) {}

  bool parse(llvm::cl::Option &option, llvm::StringRef, llvm::StringRef text,
             Enum &value) {
    llvm::ArrayRef<llvm::StringLiteral> words = getWords(Enum());
    const auto *found = llvm::find(words, text);
    if (found == words.end())
      return option.error("expects " + listWords(words) + ", got '" + text +
                          "'");
    value = static_cast<Enum>(found - words.begin());
    return false;
  }
  llvm::StringRef getValueName() const override { return name; }
  void printOptionDiff(const llvm::cl::Option &, Enum,
                       const llvm::cl::OptionValue<Enum> &, size_t) const {}

private:
  std::string name; ///< the words, for --help
};

} // namespace fa3::options

#define FA3_OPTION_WORDS
#include "fa3/Options/Options.h.inc"

#endif // FA3_OPTIONS_OPTIONS_H
