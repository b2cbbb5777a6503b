# SPDX-License-Identifier: Apache-2.0
"""Shapes, tools and random arrays that the projects share."""
import importlib
import pathlib
import subprocess
import sys

B, H, HK, S, D = 2, 4, 2, 40, 16


class Skip(Exception):
    """A project that is not there."""


def need(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Skip(f"{name} is not installed") from error


def run(command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line]
        raise RuntimeError("\n".join(lines[:3] or [done.stderr[-500:]]))
    return done.stdout


def find_tool(name):
    """A tool of a Python package, beside the interpreter or in PATH."""
    import shutil
    beside = pathlib.Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if not found:
        raise Skip(f"{name} is not installed")
    return found


def arrays(np, kinds, seed=0):
    """Random arrays: a shape is f16, ("i1", shape) booleans with a key for every
    query, ("len", highest) lengths of batches."""
    rng = np.random.default_rng(seed)
    result = []
    for kind in kinds:
        if kind[0] == "i1":
            mask = rng.random(kind[1]) < 0.6
            mask[..., 0] = True
            result.append(mask)
        elif kind[0] == "len":
            result.append(rng.integers(1, kind[1] + 1, B).astype(np.int32))
        else:
            result.append(rng.standard_normal(kind).astype(np.float16))
    return result
