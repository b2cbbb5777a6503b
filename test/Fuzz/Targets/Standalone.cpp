//===- Standalone.cpp - fuzzing where there is no libFuzzer ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs a target on files and folders and then on mutants of them, without
// looking at coverage. Takes those options of libFuzzer that scripts/fuzz.sh
// uses: -max_total_time= (seconds), -runs=, -seed=, -max_len=, -dict=,
// -artifact_prefix=. The input of a failure is written to a file.
//===----------------------------------------------------------------------===//

#include "Fuzz.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int *, char ***);
extern "C" __attribute__((weak)) void
__sanitizer_set_death_callback(void (*callback)());

static std::string current, artifactPrefix = "./";

/// The last words of the process.
static void writeCurrent() {
  std::string path = artifactPrefix + "crash-" +
                     std::to_string(std::hash<std::string>()(current));
  std::ofstream(path, std::ios::binary) << current;
  std::fprintf(stderr, "the input is in %s\n", path.c_str());
}

static void onSignal(int number) {
  std::signal(number, SIG_DFL);
  writeCurrent();
  std::raise(number);
}

static void run(const std::string &input) {
  current = input;
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(current.data()),
                         current.size());
}

static std::string readFile(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// The words of a dictionary of libFuzzer: name="text" with \xNN, \\ and \".
static std::vector<std::string> readDictionary(const std::string &path) {
  std::vector<std::string> words;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    size_t at = line.find('"'), end = line.rfind('"');
    if (line.empty() || line[0] == '#' || at == end)
      continue;
    std::string word;
    for (++at; at < end; ++at) {
      if (line[at] == '\\' && line[at + 1] == 'x') {
        word +=
            static_cast<char>(std::stoi(line.substr(at + 2, 2), nullptr, 16));
        at += 3;
      } else {
        word += line[at] == '\\' ? line[++at] : line[at];
      }
    }
    words.push_back(word);
  }
  return words;
}

namespace {
class Mutator {
public:
  Mutator(uint64_t seed, std::vector<std::string> words,
          const std::vector<std::string> &corpus, size_t maxLength)
      : random(seed), words(std::move(words)), corpus(corpus),
        maxLength(maxLength) {}

  std::string make() {
    std::string text = pick(corpus);
    for (size_t edits = 1 + below(5); edits > 0; --edits)
      edit(text);
    text.resize(std::min(text.size(), maxLength));
    return text;
  }

private:
  size_t below(size_t n) { return n ? random() % n : 0; }
  const std::string &pick(const std::vector<std::string> &from) {
    return from[below(from.size())];
  }

  void edit(std::string &text) {
    static const std::vector<std::string> numbers = {"0",
                                                     "1",
                                                     "-1",
                                                     "2",
                                                     "255",
                                                     "65536",
                                                     "2147483647",
                                                     "-2147483648",
                                                     "4294967296",
                                                     "4611686018427387904",
                                                     "9223372036854775807",
                                                     "-9223372036854775808",
                                                     "1e30"};
    size_t at = below(text.size() + 1);
    switch (below(8)) {
    case 0:
      if (at < text.size())
        text[at] = static_cast<char>(random());
      break;
    case 1:
      if (at < text.size())
        text[at] ^= static_cast<char>(1 << below(8));
      break;
    case 2:
      text.erase(at, 1 + below(20));
      break;
    case 3: // again, elsewhere
      text.insert(at, text.substr(below(text.size() + 1), below(60)));
      break;
    case 4: { // a piece of another input
      const std::string &other = pick(corpus);
      text.insert(at, other.substr(below(other.size() + 1), below(200)));
      break;
    }
    case 5: // a number in place of one
      while (at < text.size() && !std::isdigit(uint8_t(text[at])))
        ++at;
      text.replace(at, std::strspn(text.c_str() + at, "0123456789"),
                   pick(numbers));
      break;
    default:
      text.insert(at, words.empty() ? pick(numbers) : pick(words));
    }
  }

  std::mt19937_64 random;
  std::vector<std::string> words;
  const std::vector<std::string> &corpus;
  size_t maxLength;
};
} // namespace

int main(int argc, char **argv) {
  std::map<std::string, std::string> options;
  std::vector<std::string> corpus;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    size_t equals = argument.find('=');
    if (argument[0] == '-' && equals != std::string::npos) {
      options[argument.substr(1, equals - 1)] = argument.substr(equals + 1);
    } else if (std::filesystem::is_directory(argument)) {
      for (const auto &entry : std::filesystem::directory_iterator(argument))
        corpus.push_back(readFile(entry.path()));
    } else if (std::filesystem::exists(argument)) {
      corpus.push_back(readFile(argument));
    } else {
      std::fprintf(stderr, "no file '%s'\n", argv[i]);
      return 2;
    }
  }
  auto number = [&](const char *name, long long otherwise) {
    return options.count(name) ? std::stoll(options[name]) : otherwise;
  };
  if (options.count("artifact_prefix"))
    artifactPrefix = options["artifact_prefix"];
  if (__sanitizer_set_death_callback)
    __sanitizer_set_death_callback(writeCurrent);
  for (int signal : {SIGABRT, SIGALRM})
    std::signal(signal, onSignal);
  if (LLVMFuzzerInitialize)
    LLVMFuzzerInitialize(&argc, &argv);
  // The order of a folder is that of its file system.
  std::sort(corpus.begin(), corpus.end());
  for (const std::string &input : corpus)
    run(input);
  const size_t seeds = corpus.size();
  if (corpus.empty())
    corpus.push_back("");
  Mutator mutator(number("seed", 1), readDictionary(options["dict"]), corpus,
                  number("max_len", 1 << 14));
  auto seconds = std::chrono::seconds(number("max_total_time", 0));
  long long runs = number("runs", seconds.count() ? -1 : 0), done = 0;
  auto end = std::chrono::steady_clock::now() + seconds;
  for (; runs < 0 || done < runs; ++done) {
    if (seconds.count() && std::chrono::steady_clock::now() >= end)
      break;
    alarm(20); // none takes so long
    run(mutator.make());
  }
  alarm(0);
  std::printf("%zu seeds, %lld mutants, no failure\n", seeds, done);
  return 0;
}
