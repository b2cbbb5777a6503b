#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs FlashAttention-3's own hopper/test_flash_attn.py on fa3.install_flash_attn_3().

    flash_attn_tests.py CHECKOUT --ids 3000 --seed 1 --out results.jsonl

CHECKOUT is a clone of github.com/Dao-AILab/flash-attention. Test ids, as pytest spells
them, are drawn at random, as many of each function as there are, and run in processes
of their own, which share the GPU; a process that dies or that is late is replaced, and
its id counts as failed. Ids that had no memory are run once more, one at a time. What
fa3 refuses by name is told from what fails; a table comes last. The exit code is 1 if
one failed.

It needs torch, einops, pytest and a Hopper GPU. --list only draws, also on a CPU.
"""

import argparse
import importlib
import json
import math
import os
import pathlib
import random
import sys
import tempfile
import time

from fa3_device import test_processes

ROOT = pathlib.Path(__file__).resolve().parents[2]

# -----------------------------------------------------------------------------
# The file of tests
# -----------------------------------------------------------------------------


def load(checkout, folder):
    """The module of tests, on fa3's modules and operators."""
    checkout = pathlib.Path(checkout).resolve()
    folder = pathlib.Path(folder)
    # The rotary embedding that tests compare with, without the package around it,
    # which needs compiled modules.
    package = folder / "flash_attn"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text(f"__path__.append({str(checkout / 'flash_attn')!r})\n")
    sys.path[:0] = [str(folder), str(ROOT / "python"), str(checkout / "hopper")]
    import torch

    import fa3

    if not torch.cuda.is_available():
        torch.cuda.get_device_capability = lambda *_: (9, 0)
    fa3.install_flash_attn_3()
    module = importlib.import_module("test_flash_attn")
    real = module.parse_schema
    # What bwd gives by test_flash3_bw_compatibility it gave until 2025-07; since then
    # FlashAttention-3's own flash_api.cpp has five results, none of them an argument.
    eight = "(Tensor(dq!), Tensor(dk!), Tensor(dv!)" + ", Tensor" * 5 + ")"
    module.parse_schema = lambda text: real(
        text.replace(eight, "(Tensor, Tensor, Tensor, Tensor, Tensor)")
    )
    return module


class Function:
    """A function of tests with its parameters."""

    def __init__(self, name, function):
        self.name, self.function = name, function
        marks = getattr(function, "pytestmark", [])
        #: (names, values) in the order in which pytest spells them.
        self.axes = []
        for mark in marks:
            if mark.name == "parametrize":
                names = mark.args[0]
                names = names.split(",") if isinstance(names, str) else names
                self.axes.append(([one.strip() for one in names], list(mark.args[1])))
        self.count = math.prod(len(values) for _, values in self.axes)

    def case(self, number):
        """The id of a combination, and its arguments."""
        named, spelled = {}, []
        for names, values in self.axes:
            number, at = divmod(number, len(values))
            value = values[at]
            for name, one in zip(names, value if len(names) > 1 else (value,)):
                named[name] = one
                plain = one is None or isinstance(one, (str, int, float, bool))
                spelled.append(str(one) if plain else f"{name}{at}")
        return f"{self.name}[{'-'.join(spelled)}]" if spelled else self.name, named


def functions_of(module):
    return {
        name: Function(name, one) for name, one in vars(module).items()
        if name.startswith("test_") and callable(one)
    }  # fmt: skip


def draw(functions, count, seed, limits):
    """(name, number) of `count` ids, evenly over functions, which have `limits`."""
    generator = random.Random(seed)
    left, made = count, []
    most = {name: min(one.count, limits.get(name, count)) for name, one in functions.items()}
    for rest, name in enumerate(sorted(functions, key=lambda name: (most[name], name))):
        share = min(most[name], left // (len(functions) - rest))
        left -= share
        numbers = generator.sample(range(functions[name].count), share)
        made += [(name, number) for number in numbers]
    generator.shuffle(made)
    return made


# -----------------------------------------------------------------------------
# A process that runs ids, one a line
# -----------------------------------------------------------------------------


def work(checkout, load_gib):
    # What tests print is not what this prints.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    with tempfile.TemporaryDirectory() as folder:
        functions = functions_of(load(checkout, folder))
        import torch

        real = torch.empty

        def empty(*args, **named):
            # Memory that a test fills to load the GPU is for a process that is alone.
            if args and isinstance(args[0], int) and args[0] > load_gib << 30:
                args = (load_gib << 30, *args[1:])
            return real(*args, **named)

        torch.empty = empty
        torch.zeros(1, device="cuda")
        print(json.dumps({"ready": True}), file=out, flush=True)
        for line in sys.stdin:
            name, number = json.loads(line)
            begin = time.monotonic()
            outcome, why = run_one(functions[name], number)
            print(
                json.dumps({"outcome": outcome, "why": why,
                            "seconds": round(time.monotonic() - begin, 3)}),
                file=out, flush=True,
            )  # fmt: skip
            if outcome == "broken":
                return
            if torch.cuda.memory_reserved() > 3 << 30 or outcome == "memory":
                torch.cuda.empty_cache()


def run_one(function, number):
    """(outcome, why)."""
    import pytest
    import torch

    from fa3 import errors

    _, named = function.case(number)
    try:
        function.function(**named)
        torch.cuda.synchronize()
        return "passed", ""
    except pytest.skip.Exception as skipped:
        return "skipped", str(skipped)
    except torch.cuda.OutOfMemoryError:
        return "memory", ""
    except (errors.UnsupportedError, errors.ArgumentError) as error:
        return "refused", str(error)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        trace = error.__traceback__
        while trace.tb_next is not None and "test_flash_attn" in str(
            trace.tb_next.tb_frame.f_code.co_filename
        ):
            trace = trace.tb_next
        text = f"line {trace.tb_lineno}: {text}"
        if "out of memory" in text.lower():
            return "memory", text
        try:
            torch.cuda.synchronize()
        except Exception:
            return "broken", text
        return ("broken" if "CUDA error" in text else "failed"), text


# -----------------------------------------------------------------------------
# All of them
# -----------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout")
    parser.add_argument("--ids", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--from", type=int, default=0, dest="first",
                        help="leave out so many of those that are drawn")  # fmt: skip
    parser.add_argument("--only", default="", help="names of functions, with commas between")
    parser.add_argument("--most", default="test_flash_attn_race_condition=60",
                        help="NAME=COUNT, with commas between")  # fmt: skip
    parser.add_argument("--rerun", help="a file of results: what failed in it, instead")
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds of an id")
    parser.add_argument("--seconds", type=float, default=1e9,
                        help="begin no id after so many")  # fmt: skip
    parser.add_argument("--load", type=int, default=1,
                        help="GiB, at most, that a test may fill to load the GPU")  # fmt: skip
    parser.add_argument("--out", help="a file for results, a line of JSON each")
    parser.add_argument("--list", action="store_true", help="print the ids, run none")
    parser.add_argument("--work", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work is not None:
        return work(options.checkout, options.work)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        functions = functions_of(load(options.checkout, folder))
    if options.only:
        functions = {name: functions[name] for name in options.only.split(",")}
    limits = dict(one.split("=") for one in options.most.split(",") if one)
    cases = draw(
        functions, options.ids, options.seed, {name: int(n) for name, n in limits.items()}
    )[options.first :]
    if options.rerun:
        with open(options.rerun) as lines:
            known = [json.loads(line) for line in lines]
        failed = {one["id"] for one in known if one["outcome"] == "failed"}
        cases = [(n, x) for n, x in cases if functions[n].case(x)[0] in failed]
    total = sum(one.count for one in functions.values())
    print(f"{len(cases)} of {total} ids, seed {options.seed}, {options.processes} processes")
    if options.list:
        for name, number in cases:
            print(functions[name].case(number)[0])
        return 0
    out = open(options.out, "w") if options.out else None
    command = [sys.executable, __file__, options.checkout, "--work"]
    results, left = test_processes.run_all(
        options, lambda case: (functions[case[0]].case(case[1])[0], case[0]), cases,
        [*command, str(options.load)], [*command, "70"], out,
    )  # fmt: skip
    test_processes.table(results, left, time.monotonic() - begin)
    return 1 if any(one["outcome"] == "failed" for one in results) else 0


if __name__ == "__main__":
    sys.exit(main())
