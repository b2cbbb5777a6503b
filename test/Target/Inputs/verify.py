#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What -verify-diagnostics is to fa3-opt, for fa3-translate: of each part of a
file between `// -----`, followed by the file of kernels, the expected error has
to come, at its line, with exit code 1 and without any output."""
import os
import re
import subprocess
import sys

EXPECTED = re.compile(r"// expected-error @(below|unknown) \{\{(.*)\}\}")


def check(path, first, text, kernels, output):
    source, target = output + ".mlir", output + ".ptx"
    with open(source, "w") as file:
        file.write(text + kernels)
    result = subprocess.run(
        ["fa3-translate", "--mlir-to-ptx", source, "-o", target],
        capture_output=True, text=True)
    for line, content in enumerate(text.split("\n"), 2):
        for where, message in EXPECTED.findall(content):
            at = line if where == "below" else 0
            errors = re.findall(rf"{re.escape(source)}:{at}:\d+: error: (.*)",
                                result.stderr)
            if result.returncode != 1 or not any(message in e for e in errors):
                print(f"{path}:{first + line - 1}: expected '{message}', got "
                      f"{result.returncode}\n{result.stderr}")
                return False
    written = [f for f in (target, output + ".json") if os.path.exists(f)]
    if written:
        print(f"{path}:{first}: writes {written}")
    return not written and EXPECTED.search(text) is not None


def main(path, kernels, output):
    with open(path) as file, open(kernels) as other:
        parts, rest = file.read().split("// -----\n"), other.read()
    first, passed = 1, 0
    for part in parts:
        passed += check(path, first, part, rest, output)
        first += part.count("\n") + 1
    print(f"{passed} of {len(parts)} as expected")
    sys.exit(passed != len(parts))


if __name__ == "__main__":
    main(*sys.argv[1:])
