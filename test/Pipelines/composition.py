#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether options reach the passes that they are for, for all options and passes.

An option of the whole pipeline arrives at every pass that has an option of its name;
if none has one, it changes which passes run. Every pass runs in the pipeline, or is
one of those below, which are called by name.
"""
import re
import subprocess
import sys
import tempfile

WHOLE = "fa3-lower-to-nvvm-pipeline"
# What is not of a pipeline: of a user's own, for tests, and of host functions.
BY_NAME = {
    "attention-differentiate", "attention-quantize", "attention-to-reference",
    "convert-to-attention", "fa3-hopper-to-llvm", "fa3-lower-host", "fa3-merge-variants",
    "hopper-mutate", "tile-mutate",
}  # fmt: skip
# They choose between whole pipelines.
OF_TABLES = {"tuning-table", "variants"}
DIALECTS = ("attention-", "tile-", "warp-", "hopper-", "fa3-", "convert-")
VALUES = {
    "long": ("1", "2", "16", "24", "64"), "number": ("2",), "string": ("1", "none"),
    "": ("true", "false"),
}  # fmt: skip


class Tool:
    def __init__(self, opt):
        self.opt = opt
        self.file = tempfile.NamedTemporaryFile("w", suffix=".mlir")
        self.file.write("module {}\n")
        self.file.flush()

    def run(self, *arguments):
        return subprocess.run([self.opt, *arguments], capture_output=True, text=True)

    def describe(self):
        """Options of every pass and pipeline, each with what its value may be."""
        names = {}
        for line in self.run("--help").stdout.splitlines():
            if match := re.match(r" {6}--([\w-]+)", line):
                own = names.setdefault(match[1], {})
            elif match := re.match(r" {8}--([\w-]+)(?:=<(.*?)>)? ", line):
                own[match[1]] = match[2] or ""
        return names

    def compose(self, options=""):
        """Passes of the pipeline, in order, with their options; None if refused."""
        run = self.run(self.file.name, f"--{WHOLE}=tuning-table=none {options}",
                       "--dump-pass-pipeline", "-o", "/dev/null")
        if run.returncode:
            return None
        passes = re.findall(r"^ +([a-z0-9-]+)(?:\{(.*)\})?,?$", run.stderr, re.M)
        return [(name, dict(one.split("=", 1) for one in given.split()))
                for name, given in passes]


def check_option(tool, name, kind, default, describes):
    """What is wrong with an option, or None."""
    values = kind.split("|") if "|" in kind else VALUES[kind]
    for value in values:
        given = tool.compose(f"{name}={value}")
        if given is not None and given != default:
            break
    else:
        return f"no value of {values} changes a pass"
    takers = [(one, own) for one, own in given if name in describes.get(one, {})]
    if not takers:
        same = [one for one, _ in given] == [one for one, _ in default]
        return "no pass has it, and the same passes run" if same else None
    for one, own in takers:
        got = own[name]
        if got != value and not (kind == "number" and float(got) == float(value)):
            return f"{one} got '{got}', not '{value}'"
    return None


def main():
    tool = Tool(sys.argv[1])
    describes = tool.describe()
    default = tool.compose()
    wrong = []
    for name, kind in describes[WHOLE].items():
        if name in OF_TABLES:
            continue
        if message := check_option(tool, name, kind, default, describes):
            wrong.append(f"option {name}: {message}")
    run = {one for one, _ in tool.compose("record=1 join-rings=true")}
    for name in describes:
        own = name.startswith(DIALECTS) and "pipeline" not in name
        if own and name not in run | BY_NAME and not describes[name].keys() >= {"block-m"}:
            wrong.append(f"pass {name} is in no pipeline")
    wrong += [f"pass {name} is in a pipeline" for name in sorted(run & BY_NAME)]
    wrong += [f"there is no pass {name}" for name in sorted(BY_NAME - describes.keys())]
    print("\n".join(wrong))
    print(f"{len(describes[WHOLE]) - len(OF_TABLES)} options, {len(run)} passes, "
          f"{len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
