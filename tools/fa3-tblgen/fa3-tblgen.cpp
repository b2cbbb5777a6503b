//===- fa3-tblgen.cpp - C++ of the options in Options.td ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Writes an enumeration for each `Words`, with its words and its parser, and a
// line FA3_PIPELINE_OPTION(...) for each `PipelineOption`.
//===----------------------------------------------------------------------===//

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/TableGen/Main.h"
#include "llvm/TableGen/Record.h"
#include "llvm/TableGen/TableGenBackend.h"

using namespace llvm;

/// The case of an enumeration: "longest-first" is LongestFirst.
static std::string getCase(StringRef word) {
  return convertToCamelFromSnakeCase(join(split(word, '-'), "_"),
                                     /*capitalizeFirst=*/true);
}

static void writeQuoted(raw_ostream &os, StringRef text) {
  os << '"';
  os.write_escaped(text) << '"';
}

static void writeWords(raw_ostream &os, const Record &record) {
  StringRef name = record.getValueAsString("cppName");
  std::vector<StringRef> words = record.getValueAsListOfStrings("words");
  os << "namespace fa3::options {\nenum class " << name << " { ";
  interleaveComma(words, os, [&](StringRef word) { os << getCase(word); });
  os << " };\ninline constexpr llvm::StringLiteral k" << name << "Words[] = {";
  interleaveComma(words, os, [&](StringRef word) { writeQuoted(os, word); });
  os << "};\ninline llvm::ArrayRef<llvm::StringLiteral> getWords(" << name
     << ") { return k" << name << "Words; }\n"
     << "inline llvm::raw_ostream &operator<<(llvm::raw_ostream &os, " << name
     << " value) { return os << getWord(value); }\n"
     << "} // namespace fa3::options\n"
     << "template <> class llvm::cl::parser<fa3::options::" << name
     << "> : public fa3::options::WordParser<fa3::options::" << name
     << "> { using WordParser::WordParser; };\n\n";
}

static void writeOption(raw_ostream &os, const Record &record) {
  StringRef init = record.getValueAsString("defaultValue");
  os << "FA3_PIPELINE_OPTION(" << record.getValueAsString("cppName") << ", ";
  writeQuoted(os, record.getValueAsString("argument"));
  os << ", " << record.getValueAsString("type") << ", "
     << (init.empty() ? "\"\"" : init) << ", ";
  writeQuoted(os, record.getValueAsString("description"));
  os << ", " << (record.getValueAsBit("tunable") ? "true" : "false") << ", "
     << record.getValueAsInt("least") << ", " << record.getValueAsInt("most")
     << ", " << record.getValueAsInt("step") << ")\n";
}

static bool write(raw_ostream &os, const RecordKeeper &records) {
  emitSourceFileHeader("Options of the pipelines", os, records);
  os << "#ifdef FA3_OPTION_WORDS\n#undef FA3_OPTION_WORDS\n";
  for (const Record *record : records.getAllDerivedDefinitions("Words"))
    writeWords(os, *record);
  os << "#endif // FA3_OPTION_WORDS\n\n#ifdef FA3_PIPELINE_OPTION\n";
  // In the order of the file.
  std::vector<const Record *> options(
      records.getAllDerivedDefinitions("PipelineOption"));
  llvm::sort(options, [](const Record *a, const Record *b) {
    return a->getID() < b->getID();
  });
  for (const Record *record : options)
    writeOption(os, *record);
  os << "#undef FA3_PIPELINE_OPTION\n#endif // FA3_PIPELINE_OPTION\n";
  return false;
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv);
  return TableGenMain(argv[0], &write);
}
