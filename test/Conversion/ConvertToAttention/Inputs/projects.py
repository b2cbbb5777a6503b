#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention as other projects print it, converted, and the numbers compared.

Every form is written in a project's own language, printed by its tools in
generic form, converted by convert-to-attention and run by fa3-run --cpu after
attention-to-tile. The answer is compared with what the project computes on the
CPU. A project whose packages are not there is skipped, and said to be.

    projects.py PROJECT... --tools build/bin [--save FOLDER] [--tolerance X]

Projects: torch, flex, iree, tm_tensor, jax, jax_written, onnx, linalg, written. --save keeps
the printed forms, which the lit tests beside hold.
"""
import argparse
import os
import pathlib
import re
import sys
import tempfile
import warnings

from forms.common import Skip, need, run
from forms.iree import iree_forms, tm_tensor_forms
from forms.jax import jax_forms
from forms.jax_written import jax_written_forms
from forms.linalg import linalg_forms
from forms.onnx import onnx_forms
from forms.pytorch import flex_forms, torch_forms
from forms.written import look_alikes, written_forms

warnings.filterwarnings("ignore")

PROJECTS = {"torch": torch_forms, "flex": flex_forms, "iree": iree_forms,
            "tm_tensor": tm_tensor_forms, "jax": jax_forms,
            "jax_written": jax_written_forms, "onnx": onnx_forms,
            "linalg": linalg_forms, "written": written_forms}


def lift(text, inputs):
    """Reshapes of arguments and of the result become those of the arrays."""
    shapes = {}
    for match in re.finditer(
            r"^ *(%\w+) = tensor\.(?:expand|collapse)_shape (%arg(\d+)) .* into "
            r"(tensor<[^>]*>)\n", text, re.M):
        result, argument, number, kind = match.groups()
        text = text.replace(match.group(), "")
        text = re.sub(re.escape(argument) + r": tensor<[^>]*>",
                      f"{argument}: {kind}", text)
        text = re.sub(re.escape(result) + r"(?!\w)", argument, text)
        shapes[int(number)] = [int(n) for n in
                               re.findall(r"\d+(?=x)", kind)]
    end = re.search(r"^ *(%\w+) = tensor\.(?:expand|collapse)_shape (%o) .* : "
                    r"(tensor<[^>]*>) into (tensor<[^>]*>)\n", text, re.M)
    if end:
        text = text.replace(end.group(), "")
        text = re.sub(re.escape(end[1]) + r" : .*", f"%o : {end[3]}", text)
        text = re.sub(r"(func\.func .*\) -> )" + re.escape(end[4]),
                      rf"\g<1>{end[3]}", text, count=1)
    inputs = [x.reshape(shapes.get(i, x.shape)) for i, x in enumerate(inputs)]
    return text, inputs


def convert_and_run(tools, text, inputs, np):
    """What fa3 computes for a printed form."""
    text = run([f"{tools}/fa3-opt", "--allow-unregistered-dialect",
                "--convert-to-attention", "-"], text)
    if "attention.forward" not in text:
        raise RuntimeError("is not converted")
    text, inputs = lift(text, inputs)
    lowered = run([f"{tools}/fa3-opt", "--attention-expand-mods",
                   "--attention-to-tile", "-"], text)
    names = re.findall(r'tile.name = "(\w+)"', lowered.split(") {\n")[0])
    if "o" not in names or len(inputs) != names.index("o"):
        raise RuntimeError(f"expects {len(inputs)} arguments, got {names}")
    with tempfile.TemporaryDirectory() as folder:
        module = os.path.join(folder, "module.mlir")
        pathlib.Path(module).write_text(lowered)
        command = [f"{tools}/fa3-run", "--cpu", "--no-check", module]
        for name, array in zip(names, inputs):
            path = os.path.join(folder, name + ".npy")
            np.save(path, array)
            command.append(f"--input={name}={path}")
        result = os.path.join(folder, "o.npy")
        run(command + [f"--output=o={result}"])
        return np.load(result).astype(np.float32)


def check_look_alikes(tools):
    """How many programs that are no attention stay, and how many do not."""
    kept = changed = 0
    for name, text in look_alikes():
        done = run([f"{tools}/fa3-opt", "--allow-unregistered-dialect",
                    "--convert-to-attention", "-"], text)
        if "attention.forward" in done:
            print(f"look-alike {name}: FAILED: is converted")
            changed += 1
        else:
            kept += 1
    return kept, changed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("projects", nargs="*", default=list(PROJECTS))
    parser.add_argument("--tools", default="")
    parser.add_argument("--save")
    parser.add_argument("--only", help="forms whose name has this in it")
    parser.add_argument("--tolerance", type=float, default=4e-3)
    args = parser.parse_args()
    passed = failed = skipped = 0
    for project in args.projects:
        try:
            np = need("numpy")
            for name, text, answer, inputs in PROJECTS[project]():
                if args.only and args.only not in name:
                    continue
                if args.save:
                    folder = pathlib.Path(args.save) / project
                    folder.mkdir(parents=True, exist_ok=True)
                    (folder / f"{name}.mlir").write_text(text)
                try:
                    found = convert_and_run(args.tools, text, inputs, np)
                    wanted = np.asarray(answer()).astype(np.float32)
                    found = found.reshape(wanted.shape)
                    error = float(np.abs(found - wanted).max())
                    # A NaN is no small error.
                    good = error <= args.tolerance
                    print(f"{project} {name}: {error:.2e}"
                          f"{'' if good else ' FAILED'}")
                except RuntimeError as problem:
                    good = False
                    print(f"{project} {name}: FAILED: {problem}")
                passed += good
                failed += not good
        except Skip as reason:
            skipped += 1
            print(f"{project}: skipped: {reason}")
    if "written" in args.projects:
        kept, changed = check_look_alikes(args.tools)
        passed += kept
        failed += changed
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
