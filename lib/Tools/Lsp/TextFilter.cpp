//===- TextFilter.cpp - what a language server gets to read ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "fa3/Tools/Lsp/TextFilter.h"
#include "fa3/Support/ModuleText.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/LSP/Protocol.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdio>
#include <thread>
#include <unistd.h>

using namespace mlir;
using namespace fa3;
using namespace fa3::lsp;

//===----------------------------------------------------------------------===//
// The line in place of a document
//===----------------------------------------------------------------------===//

namespace {
/// `fa3_text.fault "message"` is an error of that message.
class FaultDialect : public Dialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FaultDialect)

  explicit FaultDialect(MLIRContext *context)
      : Dialect(getDialectNamespace(), context, TypeID::get<FaultDialect>()) {}
  static StringRef getDialectNamespace() { return "fa3_text"; }

  std::optional<ParseOpHook>
  getParseOperationHook(StringRef name) const override {
    if (name != "fa3_text.fault")
      return std::nullopt;
    return ParseOpHook(parseFault);
  }

private:
  static ParseResult parseFault(OpAsmParser &parser, OperationState &) {
    std::string message;
    if (failed(parser.parseString(&message)))
      return failure();
    // The parser's own errors name the operation.
    return emitError(parser.getEncodedSourceLoc(parser.getNameLoc()), message);
  }
};
} // namespace

void fa3::lsp::registerFaultDialect(DialectRegistry &registry) {
  registry.insert<FaultDialect>();
}

/// The text, or the line at the place of its fault.
static std::string guard(StringRef text) {
  std::optional<TextFault> fault = findTextFault(text);
  if (!fault)
    return text.str();
  std::string made(fault->line - 1, '\n');
  made.append(fault->column - 1, ' ');
  llvm::raw_string_ostream os(made);
  os << "fa3_text.fault \"";
  os.write_escaped(fault->message) << "\"\n";
  return made;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

std::string TextFilter::filter(StringRef message) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(message);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return message.str();
  }
  llvm::json::Object *object = parsed->getAsObject();
  llvm::json::Object *params = object ? object->getObject("params") : nullptr;
  llvm::json::Object *document =
      params ? params->getObject("textDocument") : nullptr;
  std::optional<StringRef> uri =
      document ? document->getString("uri") : std::nullopt;
  std::optional<StringRef> method =
      uri ? object->getString("method") : std::nullopt;
  if (!method)
    return message.str();
  if (*method == "textDocument/didClose") {
    texts.erase(*uri);
    return message.str();
  }
  std::string name = uri->str();
  if (*method == "textDocument/didOpen") {
    std::optional<StringRef> text = document->getString("text");
    if (!text)
      return message.str();
    texts[name] = text->str();
    (*document)["text"] = guard(texts[name]);
  } else if (*method == "textDocument/didChange") {
    llvm::lsp::DidChangeTextDocumentParams change;
    llvm::json::Path::Root root;
    auto known = texts.find(name);
    if (known == texts.end() ||
        !llvm::lsp::fromJSON(llvm::json::Value(llvm::json::Object(*params)),
                             change, root) ||
        failed(llvm::lsp::TextDocumentContentChangeEvent::applyTo(
            change.contentChanges, known->second)))
      return message.str();
    // Whole, since the server may have seen another text.
    (*params)["contentChanges"] =
        llvm::json::Array{llvm::json::Object{{"text", guard(known->second)}}};
  } else {
    return message.str();
  }
  std::string made;
  llvm::raw_string_ostream(made) << *parsed;
  return made;
}

//===----------------------------------------------------------------------===//
// Standard input
//===----------------------------------------------------------------------===//

static bool readLine(std::FILE *file, std::string &line) {
  line.clear();
  for (int c; (c = std::fgetc(file)) != EOF;) {
    line.push_back(static_cast<char>(c));
    if (c == '\n')
      return true;
  }
  return !line.empty();
}

/// A message of either style; false at the end.
static bool readMessage(std::FILE *file, bool isDelimited,
                        std::string &message) {
  std::string line;
  message.clear();
  if (isDelimited) {
    while (readLine(file, line)) {
      StringRef text = StringRef(line).trim();
      if (text == "// -----")
        return true;
      if (!text.starts_with("//"))
        message += line;
    }
    return !message.empty();
  }
  size_t length = 0;
  bool isNumber = false;
  while (readLine(file, line)) {
    StringRef text = StringRef(line).trim();
    if (text.consume_front("Content-Length:"))
      isNumber = !text.trim().getAsInteger(10, length);
    else if (text.empty() && isNumber)
      break;
  }
  if (!isNumber)
    return false;
  // By pieces: what a header says is not to be believed.
  constexpr size_t kPiece = 1 << 16;
  char piece[kPiece];
  while (message.size() < length) {
    size_t got =
        std::fread(piece, 1, std::min(kPiece, length - message.size()), file);
    if (got == 0)
      return false;
    message.append(piece, got);
  }
  return true;
}

LogicalResult fa3::lsp::filterStandardInput(bool isDelimited) {
  int ends[2];
  int input = dup(STDIN_FILENO);
  if (input < 0 || pipe(ends) != 0 || dup2(ends[0], STDIN_FILENO) < 0)
    return failure();
  close(ends[0]);
  std::FILE *from = fdopen(input, "r"), *to = fdopen(ends[1], "w");
  if (!from || !to)
    return failure();
  std::thread([=]() {
    TextFilter filter;
    std::string message;
    while (readMessage(from, isDelimited, message)) {
      std::string made = filter.filter(message);
      if (!isDelimited)
        std::fprintf(to, "Content-Length: %zu\r\n\r\n", made.size());
      std::fwrite(made.data(), 1, made.size(), to);
      if (isDelimited)
        std::fputs("\n// -----\n", to);
      std::fflush(to);
    }
    std::fclose(to);
  }).detach();
  return success();
}
