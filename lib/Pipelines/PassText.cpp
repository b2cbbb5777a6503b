//===- PassText.cpp - names in texts of pipelines -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Pipelines/PassText.h"
#include "fa3/Pipelines/Pipelines.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include <mutex>

using namespace mlir;
using namespace fa3;

/// The end of a word: a space outside of quotes and brackets, or the end.
static size_t findEnd(StringRef text) {
  unsigned depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\'' || c == '"') {
      i = text.find(c, i + 1);
      if (i == StringRef::npos)
        break;
    } else if (c == '{' || c == '(' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ')' || c == ']') {
      if (depth == 0)
        return i;
      --depth;
    } else if (depth == 0 && c == ' ') {
      return i;
    }
  }
  return text.size();
}

/// `name=value ..` word by word, up to a bracket that closes more than it
/// opens.
static SmallVector<StringRef> splitOptions(StringRef text) {
  SmallVector<StringRef> words;
  for (text = text.ltrim(); !text.empty(); text = text.ltrim()) {
    size_t end = findEnd(text);
    if (end == 0)
      break;
    words.push_back(text.take_front(end));
    text = text.drop_front(end);
  }
  return words;
}

static SmallVector<StringRef> getOptionNames(StringRef text) {
  return llvm::map_to_vector(
      splitOptions(text), [](StringRef word) { return word.split('=').first; });
}

//===----------------------------------------------------------------------===//
// Options of the pipelines
//===----------------------------------------------------------------------===//

/// The words of an option of this type, none if it takes others than words.
template <typename T>
static ArrayRef<llvm::StringLiteral> getWordsOf() {
  if constexpr (std::is_enum_v<T>)
    return getWords(T());
  else
    return {};
}

/// What is wrong with the text of an option of this type, if it is a number.
template <typename T>
static std::optional<std::string> explainNumber(options::Bounds bounds,
                                                StringRef text, T init) {
  if constexpr (std::is_same_v<T, options::Number>) {
    int64_t number;
    if (!text.getAsInteger(0, number))
      return bounds.explain(number, init);
  }
  return std::nullopt;
}

ArrayRef<StringRef> fa3::getPipelineOptionNames() {
  static constexpr StringRef kNames[] = {
#define FA3_PIPELINE_OPTION(member, name, ...) name,
#include "fa3/Options/Options.h.inc"
  };
  return kNames;
}

std::optional<std::string> fa3::explainWrongOption(StringRef text) {
  for (StringRef setting : splitOptions(text)) {
    auto [name, word] = setting.split('=');
    word = word.trim("'\"");
    ArrayRef<llvm::StringLiteral> words;
    std::optional<std::string> wrong;
    bool isKnown = false;
#define FA3_PIPELINE_OPTION(member, itsName, type, init, text, isTunable,      \
                            least, most, step)                                 \
  if (name == itsName) {                                                       \
    isKnown = true;                                                            \
    words = getWordsOf<type>();                                                \
    wrong = explainNumber<type>({least, most, step}, word, type(init));        \
  }
#include "fa3/Options/Options.h.inc"
    if (!isKnown)
      return ("there is no option '" + name + "'" +
              options::suggest(name, getPipelineOptionNames()))
          .str();
    if (wrong)
      return (name + Twine(" ") + *wrong).str();
    if (!words.empty() && !llvm::is_contained(words, word))
      return (name + Twine(" expects ") + options::listWords(words) +
              ", got '" + word + "'" +
              options::suggest(word, llvm::to_vector_of<StringRef>(words)))
          .str();
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// The names of a pass's options, from what it prints of itself.
static std::optional<std::string> printPass(const PassRegistryEntry &entry) {
  OpPassManager manager(OpPassManager::Nesting::Implicit);
  auto ignore = [](const Twine &) { return failure(); };
  if (failed(entry.addToPipeline(manager, "", ignore)))
    return std::nullopt;
  std::string text;
  llvm::raw_string_ostream os(text);
  manager.printAsTextualPipeline(os);
  size_t begin = text.find(entry.getPassArgument().str() + "{");
  if (begin == std::string::npos)
    return "";
  return text.substr(begin + entry.getPassArgument().size() + 1);
}

/// Whether a pass has no option of that name. One that is a list is not printed
/// where it is empty.
static bool refusesName(const PassRegistryEntry &entry, StringRef word) {
  OpPassManager manager(OpPassManager::Nesting::Implicit);
  bool isUnknown = false;
  auto look = [&](const Twine &message) {
    isUnknown |= StringRef(message.str()).contains("no such option");
    return failure();
  };
  (void)entry.addToPipeline(manager, word, look);
  return isUnknown;
}

/// All names of passes and pipelines. MLIR gives them to parsers of command
/// lines alone; one is made where the tool has none.
static SmallVector<StringRef> getPassNames() {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (!llvm::cl::getRegisteredOptions().contains("attention-to-tile"))
    (void)new PassNameCLParser("", ""); // the options live as long
  SmallVector<StringRef> names(getPipelineNames());
  for (const auto &[name, option] : llvm::cl::getRegisteredOptions())
    if (PassInfo::lookup(name))
      names.push_back(name);
  llvm::sort(names);
  return names;
}

/// What is wrong with the options of a pass or pipeline.
static std::optional<std::string> explainOptions(StringRef name,
                                                 StringRef options) {
  SmallVector<StringRef> known;
  std::optional<std::string> text;
  const PassInfo *pass = nullptr;
  if (llvm::is_contained(getPipelineNames(), name)) {
    known.assign(getPipelineOptionNames().begin(),
                 getPipelineOptionNames().end());
  } else if ((pass = PassInfo::lookup(name))) {
    text = printPass(*pass);
    if (!text)
      return std::nullopt;
    known = getOptionNames(*text);
  } else {
    return std::nullopt;
  }
  for (StringRef word : splitOptions(options)) {
    StringRef option = word.split('=').first;
    if (!llvm::is_contained(known, option) &&
        (!pass || refusesName(*pass, word)))
      return ("'" + name + "' has no option '" + option + "'" +
              options::suggest(option, known))
          .str();
  }
  // What is no near miss is said by the parser, in its own words.
  if (std::optional<std::string> wrong;
      !text && (wrong = explainWrongOption(options)) &&
      StringRef(*wrong).contains("did you mean"))
    return wrong;
  return std::nullopt;
}

std::optional<std::string> fa3::explainPipelineText(StringRef text) {
  while (true) {
    text = text.ltrim(" \t\n\r,)");
    if (text.empty())
      return std::nullopt;
    StringRef name = text.take_until(
        [](char c) { return StringRef("{}(), \t\r\n").contains(c); });
    text = text.drop_front(name.size());
    // What comes is no list of names; the parser says so.
    if (name.empty())
      return std::nullopt;
    StringRef behind = text.ltrim();
    if (behind.consume_front("(")) {
      text = behind;
      continue;
    }
    if (!PassInfo::lookup(name) && !PassPipelineInfo::lookup(name))
      return ("'" + name + "' is no pass or pipeline" +
              options::suggest(name, getPassNames()))
          .str();
    if (!behind.consume_front("{"))
      continue;
    size_t end = 0;
    while (end < behind.size() && behind[end] != '}') {
      end += std::max<size_t>(findEnd(behind.drop_front(end)), 1);
    }
    if (std::optional<std::string> wrong =
            explainOptions(name, behind.take_front(end)))
      return wrong;
    text = behind.drop_front(std::min(end + 1, behind.size()));
  }
}

std::optional<std::string>
fa3::explainPassArguments(ArrayRef<const char *> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef argument = arguments[i];
    if (!argument.consume_front("-"))
      continue;
    argument.consume_front("-");
    auto [name, value] = argument.split('=');
    std::optional<std::string> wrong;
    if (name != "pass-pipeline")
      wrong = explainOptions(name, value);
    else if (argument.size() > name.size())
      wrong = explainPipelineText(value);
    else if (i + 1 < arguments.size())
      wrong = explainPipelineText(arguments[++i]);
    if (wrong)
      return wrong;
  }
  return std::nullopt;
}
