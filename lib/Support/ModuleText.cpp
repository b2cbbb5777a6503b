//===- ModuleText.cpp - a look at a module before it is parsed ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A scanner of tokens that counts. It errs on no module that a person or a
// converter writes: of those the deepest seen nests 40 levels.
//===----------------------------------------------------------------------===//

#include "fa3/Support/ModuleText.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace fa3;

namespace {
/// Levels of brackets; a region has two of them.
constexpr size_t kMostLevels = 256;
/// Locations refer to each other in chains as long as a stack of calls.
constexpr size_t kMostLocations = 4096;
/// Characters of a number or a shape, digits of the width of an integer.
constexpr size_t kMostDigits = 1000, kMostWidthDigits = 5;
/// Tokens between two commas, as of an affine expression.
constexpr size_t kMostTokens = 4096;
/// Tokens of an alias with all aliases that it uses.
constexpr uint64_t kMostExpanded = 1 << 20;

/// An alias: what it adds to the levels around a use.
struct Alias {
  bool isLocation = false;
  size_t levels = 0;
  uint64_t tokens = 0;
};

class TextScanner {
public:
  explicit TextScanner(StringRef text) : text(text) {}
  std::optional<TextFault> scan();

private:
  char peek(size_t ahead = 0) const {
    return at + ahead < text.size() ? text[at + ahead] : '\0';
  }
  /// The rest of a token of characters of names. Names behind a sign, as
  /// `%a-b`, may have a minus.
  StringRef takeName(bool withMinus = false);
  void skipString();
  void skipComment();
  void open(char bracket);
  void close();
  void scanNumber();
  void scanWord();
  void scanAlias();
  void useAlias(StringRef name);
  void count();
  void fail(const Twine &message);

  StringRef text;
  size_t at = 0, tokenStart = 0;
  /// The open brackets, and the tokens since the last comma in each.
  SmallVector<std::pair<char, size_t>> levels;
  llvm::StringMap<Alias> aliases;
  /// The alias that is being defined.
  std::string defined;
  bool startsLine = true;
  size_t signs = 0;
  std::optional<TextFault> fault;
};
} // namespace

static bool isNameCharacter(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.';
}

void TextScanner::fail(const Twine &message) {
  if (fault)
    return;
  StringRef before = text.take_front(tokenStart);
  size_t line = before.count('\n') + 1;
  size_t column = tokenStart - (before.rfind('\n') + 1) + 1;
  fault = TextFault{unsigned(line), unsigned(column), message.str()};
}

/// A minus that begins an arrow does not belong to the name in front of it.
StringRef TextScanner::takeName(bool withMinus) {
  size_t start = at;
  while (at < text.size() && (isNameCharacter(text[at]) ||
                              (withMinus && text[at] == '-' && peek(1) != '>')))
    ++at;
  return text.slice(start, at);
}

void TextScanner::skipString() {
  for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
    if (text[at] == '\\')
      ++at;
  ++at;
}

void TextScanner::skipComment() {
  size_t end = text.find('\n', at);
  // Parts of a file are modules of their own.
  if (text.substr(at).starts_with("// -----"))
    levels.clear();
  at = end == StringRef::npos ? text.size() : end;
}

void TextScanner::count() {
  if (!levels.empty() && levels.back().first != '{' &&
      ++levels.back().second > kMostTokens)
    fail("has an item of more than " + Twine(kMostTokens) + " tokens");
  if (!defined.empty())
    ++aliases[defined].tokens;
}

void TextScanner::open(char bracket) {
  levels.push_back({bracket, 0});
  if (levels.size() > kMostLevels)
    fail("nests more than " + Twine(kMostLevels) + " brackets and regions");
  if (!defined.empty()) {
    Alias &alias = aliases[defined];
    alias.levels = std::max(alias.levels, levels.size());
  }
}

void TextScanner::close() {
  if (!levels.empty())
    levels.pop_back();
}

/// A number, or a shape: digits and letters without a space.
void TextScanner::scanNumber() {
  if (takeName().size() > kMostDigits)
    fail("has a number or a shape of more than " + Twine(kMostDigits) +
         " characters");
}

void TextScanner::scanWord() {
  bool isFirst = startsLine;
  StringRef word = takeName();
  StringRef digits = word;
  if (levels.empty() && isFirst && (word.contains('.') || word == "module"))
    defined.clear();
  if (word == "loc" && !defined.empty() && levels.empty())
    aliases[defined].isLocation = true;
  if (!digits.consume_front("si") && !digits.consume_front("ui") &&
      !digits.consume_front("i"))
    return;
  if (digits.size() > kMostWidthDigits && llvm::all_of(digits, llvm::isDigit))
    fail("has an integer of " + digits.take_front(20) + " bits");
}

void TextScanner::useAlias(StringRef name) {
  auto found = aliases.find(name);
  if (name == defined || found == aliases.end())
    return;
  Alias used = found->second;
  if (!used.isLocation && levels.size() + used.levels > kMostLevels)
    return fail("nests more than " + Twine(kMostLevels) +
                " brackets and regions with the alias '" + name + "'");
  if (defined.empty())
    return;
  Alias &alias = aliases[defined];
  alias.levels =
      std::max(alias.levels,
               used.isLocation ? used.levels + 1 : levels.size() + used.levels);
  alias.tokens = llvm::SaturatingAdd(alias.tokens, used.tokens);
  if (alias.isLocation && alias.levels > kMostLocations)
    fail("has a chain of more than " + Twine(kMostLocations) + " locations");
  if (!alias.isLocation && alias.tokens > kMostExpanded)
    fail("has an alias of more than " + Twine(kMostExpanded) + " tokens, '" +
         defined + "'");
}

/// An alias or a symbol of a dialect: `#name`, `!name`.
void TextScanner::scanAlias() {
  bool isFirst = startsLine;
  size_t start = at++;
  takeName(/*withMinus=*/true);
  StringRef name = text.slice(start, at);
  StringRef rest = text.substr(at).ltrim(" \t\r\n");
  if (levels.empty() && isFirst && rest.starts_with("=")) {
    defined = name.str();
    aliases[defined] = {};
    return;
  }
  useAlias(name);
}

std::optional<TextFault> TextScanner::scan() {
  while (at < text.size() && !fault) {
    char c = text[at];
    tokenStart = at;
    if (c == '\n')
      startsLine = true;
    if (llvm::isSpace(c) || c == '\0') {
      ++at;
      continue;
    }
    if (c == '/' && peek(1) == '/') {
      skipComment();
      continue;
    }
    count();
    signs = c == '-' && peek(1) != '>' ? signs + 1 : 0;
    if (signs > kMostLevels)
      fail("has more than " + Twine(kMostLevels) + " signs in a row");
    if (c == '"' || c == '%') {
      if (levels.empty() && startsLine)
        defined.clear();
      c == '"' ? skipString() : void(++at);
      if (c == '%')
        takeName(/*withMinus=*/true);
    } else if (c == '#' || c == '!') {
      scanAlias();
    } else if (c == '@' || c == '^') {
      ++at;
      takeName(/*withMinus=*/true);
    } else if (llvm::isDigit(c)) {
      scanNumber();
    } else if (llvm::isAlpha(c) || c == '_') {
      scanWord();
    } else if ((c == '-' || c == '>' || c == '<' || c == '=') &&
               (peek(1) == '>' || peek(1) == '=') &&
               StringRef("-> >= <= ==").contains(text.substr(at, 2))) {
      at += 2;
    } else {
      if (StringRef("([{<").contains(c))
        open(c);
      else if (StringRef(")]}>").contains(c))
        close();
      else if (c == ',' && !levels.empty())
        levels.back().second = 0;
      ++at;
    }
    startsLine = false;
  }
  return fault;
}

std::optional<TextFault> fa3::findTextFault(StringRef text) {
  return TextScanner(text).scan();
}

static bool isBytecode(StringRef buffer) {
  return buffer.starts_with("ML\xefR");
}

LogicalResult fa3::checkModuleText(llvm::MemoryBufferRef buffer,
                                   MLIRContext *context) {
  if (isBytecode(buffer.getBuffer()))
    return success();
  std::optional<TextFault> fault = findTextFault(buffer.getBuffer());
  if (!fault)
    return success();
  return emitError(FileLineColLoc::get(context, buffer.getBufferIdentifier(),
                                       fault->line, fault->column))
         << fault->message;
}

LogicalResult fa3::printModuleTextFault(llvm::MemoryBufferRef buffer) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(buffer),
                             llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  return checkModuleText(buffer, &context);
}

OwningOpRef<ModuleOp> fa3::parseModuleFile(StringRef path,
                                           MLIRContext *context) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(path, &message);
  if (!buffer) {
    emitError(UnknownLoc::get(context))
        << "could not open input file " << path << ": " << message;
    return nullptr;
  }
  if (failed(checkModuleText(*buffer, context)))
    return nullptr;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), SMLoc());
  return parseSourceFile<ModuleOp>(sources, ParserConfig(context));
}
