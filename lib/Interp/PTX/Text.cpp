//===- Text.cpp - statements of PTX text ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Text.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace fa3::interp::ptx;
using llvm::StringRef;
using llvm::Twine;

namespace {

/// A word (with the dots and `::` of opcodes), a number, a string or a
/// character (section 4, "Syntax").
struct Token {
  enum Kind : uint8_t { End, Word, Number, String, Character };
  Kind kind = End;
  StringRef text;
  uint32_t line = 0;
  bool is(char c) const { return kind == Character && text[0] == c; }
};

class Lexer {
public:
  explicit Lexer(StringRef text) : rest(text) {}
  Token next();

private:
  void skipBlanks();
  Token take(Token::Kind kind, size_t length) {
    Token token{kind, rest.take_front(length), line};
    rest = rest.drop_front(length);
    return token;
  }
  StringRef rest;
  uint32_t line = 1;
};

class Parser {
public:
  explicit Parser(StringRef text) : lexer(text) { token = lexer.next(); }
  bool parse(ModuleText &module);
  std::string error;

private:
  bool fail(const Twine &what) {
    if (error.empty())
      error = ("line " + Twine(token.line) + ": " + what).str();
    return false;
  }
  bool unexpected(const Twine &wanted) {
    return fail("expected " + wanted + ", got '" + token.text + "'");
  }
  void advance() { token = lexer.next(); }
  bool consumeIf(char c) {
    if (!token.is(c))
      return false;
    advance();
    return true;
  }
  bool expect(char c) {
    return consumeIf(c) || unexpected("'" + Twine(StringRef(&c, 1)) + "'");
  }
  bool skipTo(char end);
  bool parseInteger(int64_t &value);
  bool parseNumber(Arg &arg, bool negative);
  bool parseArg(Arg &arg);
  bool parseList(Arg &arg, char end);
  bool parseVariable(Variable &variable, char end);
  bool parseContents(Variable &variable, int64_t width);
  bool parseKernel(ModuleText &module);
  bool parseKernelOptions(KernelText &kernel);
  bool parseBody(ModuleText &module, KernelText &kernel);
  bool parseRegisters(Scope &scope);
  bool parseFile(ModuleText &module);
  bool parseLocation(SourceLocation &location);
  bool parseTopLevel(ModuleText &module);
  bool skipSection();

  Lexer lexer;
  Token token;
};

bool isWordStart(char c) {
  return llvm::isAlpha(c) || c == '_' || c == '$' || c == '%' || c == '.';
}
bool isWordPart(char c) { return isWordStart(c) || llvm::isDigit(c); }

/// Bytes of a type; 0 if it is none that memory holds.
int64_t getTypeSize(StringRef type) {
  return llvm::StringSwitch<int64_t>(type)
      .Cases({".b8", ".u8", ".s8"}, 1)
      .Cases({".b16", ".u16", ".s16", ".f16"}, 2)
      .Cases({".b32", ".u32", ".s32", ".f32"}, 4)
      .Cases({".b64", ".u64", ".s64", ".f64"}, 8)
      .Default(0);
}

} // namespace

void Lexer::skipBlanks() {
  while (!rest.empty()) {
    if (rest.starts_with("//")) {
      rest = rest.drop_until([](char c) { return c == '\n'; });
    } else if (rest.starts_with("/*")) {
      size_t end = std::min(rest.find("*/", 2), rest.size() - 2);
      line += rest.take_front(end).count('\n');
      rest = rest.drop_front(end + 2);
    } else if (llvm::isSpace(rest.front())) {
      line += rest.front() == '\n';
      rest = rest.drop_front();
    } else {
      return;
    }
  }
}

Token Lexer::next() {
  skipBlanks();
  if (rest.empty())
    return {Token::End, "end of text", line};
  char first = rest.front();
  if (llvm::isDigit(first)) {
    size_t length = 1;
    while (length < rest.size() &&
           (llvm::isAlnum(rest[length]) || rest[length] == '.' ||
            ((rest[length] == '-' || rest[length] == '+') &&
             !rest.starts_with("0") && llvm::toLower(rest[length - 1]) == 'e')))
      ++length;
    return take(Token::Number, length);
  }
  if (first == '"')
    return take(
        Token::String,
        std::min(rest.size(), std::max<size_t>(rest.find('"', 1), 1) + 1));
  if (!isWordStart(first))
    return take(Token::Character, 1);
  size_t length = 1;
  while (length < rest.size()) {
    if (isWordPart(rest[length]))
      ++length;
    else if (rest.substr(length).starts_with("::") &&
             length + 2 < rest.size() && isWordStart(rest[length + 2]))
      length += 2;
    else
      break;
  }
  return take(Token::Word, length);
}

bool Parser::skipTo(char end) {
  while (!token.is(end)) {
    if (token.kind == Token::End)
      return unexpected("'" + Twine(StringRef(&end, 1)) + "'");
    advance();
  }
  advance();
  return true;
}

bool Parser::parseInteger(int64_t &value) {
  Arg arg;
  bool negative = consumeIf('-');
  if (token.kind != Token::Number || !parseNumber(arg, negative) ||
      arg.kind != Arg::Int)
    return unexpected("an integer");
  value = arg.bits;
  return true;
}

/// Section 4.5, "Constants".
bool Parser::parseNumber(Arg &arg, bool negative) {
  StringRef text = token.text;
  if (text.starts_with_insensitive("0f") ||
      text.starts_with_insensitive("0d")) {
    arg.kind = Arg::Float;
    arg.isDouble = llvm::toLower(text[1]) == 'd';
    if (text.size() != (arg.isDouble ? 18u : 10u) ||
        text.drop_front(2).getAsInteger(16, arg.bits))
      return unexpected("a float constant");
    if (negative)
      arg.bits ^= uint64_t(1) << (arg.isDouble ? 63 : 31);
  } else if (text.contains('.')) {
    double value;
    if (text.getAsDouble(value))
      return unexpected("a float constant");
    arg.kind = Arg::Float;
    arg.isDouble = true;
    arg.bits = llvm::bit_cast<uint64_t>(negative ? -value : value);
  } else {
    arg.kind = Arg::Int;
    text.consume_back("U");
    if (text.getAsInteger(0, arg.bits))
      return unexpected("an integer constant");
    if (negative)
      arg.bits = -arg.bits;
  }
  advance();
  return true;
}

bool Parser::parseList(Arg &arg, char end) {
  do {
    if (!parseArg(arg.list.emplace_back()))
      return false;
  } while (consumeIf(','));
  return expect(end);
}

/// Section 6.4, "Using Addresses, Arrays, and Vectors".
bool Parser::parseArg(Arg &arg) {
  if (consumeIf('{')) {
    arg.kind = Arg::List;
    return parseList(arg, '}');
  }
  if (consumeIf('[')) {
    arg.kind = Arg::Memory;
    if (!parseArg(arg.list.emplace_back()))
      return false;
    std::swap(arg.offset, arg.list.front().offset);
    if (consumeIf(',') && !parseArg(arg.list.emplace_back()))
      return false;
    return expect(']');
  }
  arg.negated = consumeIf('!');
  bool negative = consumeIf('-');
  if (token.kind == Token::Number)
    return parseNumber(arg, negative);
  if (token.kind != Token::Word || negative)
    return unexpected("an operand");
  arg.kind = token.text == "_" ? Arg::Sink : Arg::Name;
  arg.name = token.text;
  advance();
  if (token.is('+') || token.is('-')) {
    bool minus = token.is('-');
    advance();
    if (!parseInteger(arg.offset))
      return false;
    if (minus)
      arg.offset = -arg.offset;
  } else if (consumeIf('|')) {
    return parseArg(arg.list.emplace_back());
  }
  return true;
}

bool Parser::parseContents(Variable &variable, int64_t width) {
  if (!expect('{'))
    return false;
  do {
    Arg arg;
    bool negative = consumeIf('-');
    if (token.kind != Token::Number || !parseNumber(arg, negative))
      return unexpected("a constant");
    for (int64_t i = 0; i < width; ++i)
      variable.contents.push_back(arg.bits >> (8 * i));
  } while (consumeIf(','));
  variable.contents.resize(variable.size);
  return expect('}');
}

/// What follows the state space of a parameter or variable (section 5.4).
bool Parser::parseVariable(Variable &variable, char end) {
  int64_t width = 0;
  int64_t count = 1;
  while (token.kind == Token::Word && token.text.starts_with(".")) {
    StringRef word = token.text;
    advance();
    if (word == ".align") {
      int64_t alignment;
      if (!parseInteger(alignment))
        return false;
      // Behind `.ptr` it is what the pointer has.
      if (!width)
        variable.alignment = alignment;
    } else if (int64_t size = getTypeSize(word)) {
      width = size;
      variable.alignment = std::max(variable.alignment, size);
    } else if (word != ".ptr" && word != ".global" && word != ".shared" &&
               word != ".const") {
      return fail("'" + word + "' of a variable is not known");
    }
  }
  if (token.kind != Token::Word || !width)
    return unexpected("a variable");
  variable.name = token.text.str();
  advance();
  while (consumeIf('[')) {
    int64_t extent = 0;
    if (!token.is(']') && !parseInteger(extent))
      return false;
    count *= extent;
    if (!expect(']'))
      return false;
  }
  variable.size = width * count;
  if (consumeIf('=') && !parseContents(variable, width))
    return false;
  return end == 0 || expect(end);
}

bool Parser::parseRegisters(Scope &scope) {
  StringRef type = token.text;
  advance();
  do {
    if (token.kind != Token::Word)
      return unexpected("a register");
    RegisterDecl decl{type, -1};
    StringRef name = token.text;
    advance();
    if (consumeIf('<') && (!parseInteger(decl.count) || !expect('>')))
      return false;
    scope.registers[name] = decl;
  } while (consumeIf(','));
  return expect(';');
}

/// Section 11.5.1, ".file": its number and name.
bool Parser::parseFile(ModuleText &module) {
  int64_t number;
  if (!parseInteger(number) || token.kind != Token::String)
    return unexpected("a file name");
  if (number < 0 || number > 1 << 16)
    return fail("file numbers go up to 65536, got " + Twine(number));
  if (module.files.size() <= size_t(number))
    module.files.resize(number + 1);
  module.files[number] = token.text.trim('"').str();
  advance();
  while (consumeIf(',')) // time and size
    advance();
  return true;
}

/// Section 11.5.3, ".loc".
bool Parser::parseLocation(SourceLocation &location) {
  int64_t file, line, column;
  uint32_t at = token.line;
  if (!parseInteger(file) || !parseInteger(line) || !parseInteger(column))
    return false;
  location = {uint32_t(file), uint32_t(line), uint32_t(column)};
  // `, function_name .., inlined_at ..` ends with the line.
  while (token.line == at && token.kind != Token::End)
    advance();
  return true;
}

bool Parser::parseBody(ModuleText &module, KernelText &kernel) {
  kernel.scopes.emplace_back();
  unsigned scope = 0;
  SourceLocation location;
  while (true) {
    if (token.kind == Token::End)
      return unexpected("'}'");
    if (consumeIf(';'))
      continue;
    if (consumeIf('{')) {
      Scope inner;
      inner.parent = scope;
      scope = kernel.scopes.size();
      kernel.scopes.push_back(std::move(inner));
      continue;
    }
    if (consumeIf('}')) {
      if (scope == 0)
        return true;
      scope = kernel.scopes[scope].parent;
      continue;
    }
    StringRef word = token.text;
    if (token.kind == Token::Word && word.starts_with(".")) {
      advance();
      bool ok = true;
      if (word == ".reg")
        ok = parseRegisters(kernel.scopes[scope]);
      else if (word == ".loc")
        ok = parseLocation(location);
      else if (word == ".shared")
        ok = parseVariable(kernel.shared.emplace_back(), ';');
      else if (word == ".pragma")
        ok = skipTo(';');
      else if (word == ".file")
        ok = parseFile(module);
      else
        ok = fail("directive '" + word + "' is not known in a kernel");
      if (!ok)
        return false;
      continue;
    }
    Statement statement;
    statement.line = token.line;
    statement.scope = scope;
    statement.location = location;
    if (consumeIf('@')) {
      statement.guard.emplace();
      if (!parseArg(*statement.guard))
        return false;
      word = token.text;
    }
    if (token.kind != Token::Word)
      return unexpected("an instruction");
    advance();
    if (!statement.guard && consumeIf(':')) {
      if (!kernel.scopes[scope]
               .labels.try_emplace(word, kernel.statements.size())
               .second)
        return fail("label '" + word + "' is there twice");
      continue;
    }
    statement.opcode = word;
    while (!token.is(';')) {
      if (!parseArg(statement.args.emplace_back()))
        return false;
      if (!consumeIf(',') && !token.is(';'))
        return unexpected("',' or ';'");
    }
    advance();
    kernel.statements.push_back(std::move(statement));
  }
}

/// Section 11.4, "Performance-Tuning Directives".
bool Parser::parseKernelOptions(KernelText &kernel) {
  while (token.kind == Token::Word) {
    StringRef word = token.text;
    advance();
    bool isThreads = word == ".maxntid" || word == ".reqntid";
    if (!isThreads && word != ".minnctapersm" && word != ".maxnreg" &&
        word != ".reqnctapercluster" && word != ".explicitcluster" &&
        word != ".maxclusterrank")
      return fail("directive '" + word + "' of a kernel is not known");
    int64_t product = 1, value;
    if (token.kind == Token::Number) {
      do {
        if (!parseInteger(value))
          return false;
        product *= value;
      } while (consumeIf(','));
    }
    if (isThreads)
      kernel.threads = product;
  }
  return true;
}

bool Parser::parseKernel(ModuleText &module) {
  KernelText kernel;
  kernel.line = token.line;
  kernel.name = token.text.str();
  advance();
  int64_t offset = 0;
  if (consumeIf('(') && !consumeIf(')')) {
    do {
      if (token.text != ".param")
        return unexpected("'.param'");
      advance();
      Variable &param = kernel.params.emplace_back();
      if (!parseVariable(param, 0))
        return false;
      param.offset = offset = llvm::alignTo(offset, param.alignment);
      offset += param.size;
    } while (consumeIf(','));
    if (!expect(')'))
      return false;
  }
  if (!parseKernelOptions(kernel) || !expect('{') || !parseBody(module, kernel))
    return false;
  module.kernels.push_back(std::move(kernel));
  return true;
}

bool Parser::skipSection() {
  while (!token.is('{'))
    if (token.kind == Token::End)
      return unexpected("'{'");
    else
      advance();
  return skipTo('}');
}

bool Parser::parseTopLevel(ModuleText &module) {
  StringRef word = token.text;
  uint32_t line = token.line;
  if (token.kind != Token::Word)
    return unexpected("a directive");
  advance();
  if (word == ".version" || word == ".target" || word == ".address_size") {
    while (token.line == line && token.kind != Token::End)
      advance();
    return true;
  }
  if (word == ".visible" || word == ".weak" || word == ".extern")
    return true;
  if (word == ".entry")
    return parseKernel(module);
  if (word == ".file")
    return parseFile(module);
  if (word == ".section")
    return skipSection();
  if (word == ".shared")
    return parseVariable(module.shared.emplace_back(), ';');
  if (word == ".global" || word == ".const")
    return parseVariable(module.global.emplace_back(), ';');
  return fail("directive '" + word + "' is not known");
}

bool Parser::parse(ModuleText &module) {
  while (token.kind != Token::End)
    if (!parseTopLevel(module))
      return false;
  return true;
}

std::optional<ModuleText> fa3::interp::ptx::parseText(StringRef text,
                                                      std::string &error) {
  ModuleText module;
  Parser parser(text);
  if (parser.parse(module))
    return module;
  error = std::move(parser.error);
  return std::nullopt;
}
