//===- fa3-tools.cpp - several tools in one program -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// It is the tool whose name it is called by, as by a link of that name, or that
// the first argument names: `fa3-tools fa3-opt --help`.
//===----------------------------------------------------------------------===//

#include <cstdio>
#include <cstring>

extern "C" {
#define TOOL(name, main) int main(int argc, char **argv);
#include "fa3-tools.inc"
#undef TOOL
}

static const struct {
  const char *name;
  int (*main)(int argc, char **argv);
} tools[] = {
#define TOOL(name, main) {name, main},
#include "fa3-tools.inc"
#undef TOOL
};

/// The exit code of the tool that the first argument names, by its last part.
static bool run(int argc, char **argv, int &exitCode) {
  const char *slash = argc > 0 ? std::strrchr(argv[0], '/') : nullptr;
  for (const auto &tool : tools)
    if (argc > 0 && !std::strcmp(slash ? slash + 1 : argv[0], tool.name)) {
      exitCode = tool.main(argc, argv);
      return true;
    }
  return false;
}

int main(int argc, char **argv) {
  int exitCode = 0;
  if (run(argc, argv, exitCode) || run(argc - 1, argv + 1, exitCode))
    return exitCode;
  std::fputs("fa3-tools: error: expected a tool as first argument:", stderr);
  for (const auto &tool : tools)
    std::fprintf(stderr, " %s", tool.name);
  std::fputc('\n', stderr);
  return 1;
}
