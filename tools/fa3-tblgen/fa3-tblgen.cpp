//===- fa3-tblgen.cpp - C++ of options and of effects of passes ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Writes an enumeration for each `Words`, with its words and its parser; for
// each `PipelineOption` a macro FA3_OPTION_<member>, which declares it in a
// struct of pass options, and a line FA3_PIPELINE_OPTION(...); and for those
// that a tuning table may set a line FA3_TUNABLE_OPTION(...).
// With --pass-effects, for each pass with an `Effect` a line
// FA3_PASS_EFFECT(argument, effect).
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

static StringRef getInit(const Record &record) {
  StringRef init = record.getValueAsString("defaultValue");
  return init.empty() ? "\"\"" : init;
}

static void writeDeclaration(raw_ostream &os, const Record &record) {
  StringRef member = record.getValueAsString("cppName");
  os << "#define FA3_OPTION_" << member << " Option<"
     << record.getValueAsString("type") << "> " << member << "{*this, ";
  writeQuoted(os, record.getValueAsString("argument"));
  os << ", llvm::cl::desc(";
  writeQuoted(os, record.getValueAsString("description"));
  os << "), llvm::cl::init(" << getInit(record) << ")";
  if (StringRef flags = record.getValueAsString("additionalOptFlags");
      !flags.empty())
    os << ", " << flags;
  os << "}\n";
}

static void writeTunable(raw_ostream &os, const Record &record) {
  os << "FA3_TUNABLE_OPTION(" << record.getValueAsString("cppName") << ", ";
  writeQuoted(os, record.getValueAsString("argument"));
  bool isNumber = record.getValueAsString("type") == "::fa3::options::Number";
  os << ", " << (isNumber ? "true" : "false") << ")\n";
}

static void writeOption(raw_ostream &os, const Record &record) {
  os << "FA3_PIPELINE_OPTION(" << record.getValueAsString("cppName") << ", ";
  writeQuoted(os, record.getValueAsString("argument"));
  os << ", " << record.getValueAsString("type") << ", " << getInit(record)
     << ", ";
  writeQuoted(os, record.getValueAsString("description"));
  os << ", " << (record.getValueAsBit("tunable") ? "true" : "false") << ", "
     << record.getValueAsInt("least") << ", " << record.getValueAsInt("most")
     << ", " << record.getValueAsInt("step") << ")\n";
}

static void writeEffects(raw_ostream &os, const RecordKeeper &records) {
  emitSourceFileHeader("Effects of passes", os, records);
  for (const Record *record : records.getAllDerivedDefinitions("Effect")) {
    os << "FA3_PASS_EFFECT(";
    writeQuoted(os, record->getValueAsString("argument"));
    os << ", " << record->getValueAsString("effect") << ")\n";
  }
  os << "#undef FA3_PASS_EFFECT\n";
}

static cl::opt<bool> passEffects("pass-effects",
                                 cl::desc("write the effects of passes"));

static bool write(raw_ostream &os, const RecordKeeper &records) {
  if (passEffects) {
    writeEffects(os, records);
    return false;
  }
  emitSourceFileHeader("Options of the pipelines", os, records);
  os << "#ifdef FA3_OPTION_WORDS\n#undef FA3_OPTION_WORDS\n";
  for (const Record *record : records.getAllDerivedDefinitions("Words"))
    writeWords(os, *record);
  // In the order of the file.
  std::vector<const Record *> options(
      records.getAllDerivedDefinitions("PipelineOption"));
  llvm::sort(options, [](const Record *a, const Record *b) {
    return a->getID() < b->getID();
  });
  for (const Record *record : options)
    writeDeclaration(os, *record);
  os << "#endif // FA3_OPTION_WORDS\n\n#ifdef FA3_PIPELINE_OPTION\n";
  for (const Record *record : options)
    writeOption(os, *record);
  os << "#undef FA3_PIPELINE_OPTION\n#endif // FA3_PIPELINE_OPTION\n\n"
        "#ifdef FA3_TUNABLE_OPTION\n";
  for (const Record *record : options)
    if (record->getValueAsBit("tunable"))
      writeTunable(os, *record);
  os << "#undef FA3_TUNABLE_OPTION\n#endif // FA3_TUNABLE_OPTION\n";
  return false;
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv);
  return TableGenMain(argv[0], &write);
}
