#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls every function and method of torch in a mod and compares each element, in the
interpreter, with what torch gives, or with being refused by name.

    test/Fuzz/functions.py                      # all, 6 minutes
    test/Fuzz/functions.py --name fmod pow      # these
    test/Fuzz/functions.py --stage ptx --space torch F special      # as a GPU has them

Operands are elements of tensors of all types, and numbers beside them. What torch itself
refuses, what is random and what gives no scalar is left out; so is what is not finite and
no number of its type. FA3_LIBRARY names libfa3.so."""

import argparse
import collections
import pathlib
import sys
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python")]

import torch  # noqa: E402

import fa3  # noqa: E402

REFUSALS = (fa3.ArgumentError, fa3.UnsupportedError, fa3.TraceError)
SPACES = {"torch": torch, "F": torch.nn.functional, "special": torch.special,
          "Tensor": torch.Tensor}  # fmt: skip
#: Parts of names: random, of no element, of other devices and files, or quantized.
LEFT_OUT = (
    "rand", "empty", "dropout", "bernoulli", "normal", "poisson", "rrelu", "multinomial",
    "set_", "detach", "requires", "save", "compile", "seed", "cuda", "dense", "sparse",
    "share", "pin", "backward", "cpu", "xpu", "hpu", "ipu", "mtia", "name", "align", "print",
    "assert", "cauchy", "exponential", "geometric", "random", "uniform", "quant", "map",
    "apply", "register", "retain", "numpy", "storage", "tolist", "dlpack", "mkldnn",
    "bfloat16", "half",
)  # fmt: skip
COUNT = 64
ONE = ("f", "t", "u", "z", "c")
TWO = ("fg", "tT", "uU", "zZ", "ft", "tf", "uT", "cU", "zt")
THREE = ("zfg", "fgt", "tTf", "uUc", "zut", "fzt", "zzZ", "tzT", "uzf", "cut")


def make_tensors():
    torch.manual_seed(0)
    some = torch.tensor([0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, -3, 7.25, -7.25, 0.1, -0.1])
    others = torch.tensor([1, 1, 2, -2, 0.5, -1.5, 3, 2.5, -3, 2, 0.25, 1, -1, 2])
    rest = COUNT - len(some)
    return {
        "f": torch.cat([some, torch.randn(rest) * 3]),
        "g": torch.cat([others, torch.randn(rest) * 3]),
        "t": torch.randint(-9, 20, (COUNT,), dtype=torch.int32),
        "T": torch.randint(1, 9, (COUNT,), dtype=torch.int32),
        "u": torch.randint(0, 256, (COUNT,), dtype=torch.uint8),
        "U": torch.randint(1, 256, (COUNT,), dtype=torch.uint8),
        "c": torch.randint(-128, 128, (COUNT,), dtype=torch.int8),
        "z": torch.rand(COUNT) < 0.5,
        "Z": torch.rand(COUNT) < 0.5,
    }


def elements(mod, stage=True):
    """What a score_mod makes of a score of 0, for queries in front of one key: lse of a
    row of one score is that."""
    zeros = torch.zeros(1, 1, COUNT, 16).half()
    key = zeros[:, :, :1]
    _, lse = fa3.attention(zeros, key, key, score_mod=mod, return_lse=True, interpret=stage)
    return lse.flatten()


def expect(function, tensors):
    """Each element in f32, or None where that is none of this program's business."""
    try:
        whole = function(*(one.clone() for one in tensors))
        if not isinstance(whole, torch.Tensor) or whole.shape != (COUNT,) or whole.is_complex():
            return None
        each = [function(*(one[n].clone() for one in tensors)) for n in range(COUNT)]
        each = torch.stack([torch.as_tensor(one) for one in each])
        if each.shape != (COUNT,):
            return None
    except Exception:  # of whatever kind: torch does not take these operands
        return None
    whole, each = whole.float(), each.float()
    same = torch.allclose(whole, each, rtol=1e-4, atol=1e-4, equal_nan=True)
    return whole if same else None  # else of all elements together


def attempt(function, tensors, stage=True):
    """('right', 'refused', 'wrong' or 'left out', what is to be said)"""
    expected = expect(function, tensors)
    if expected is None:
        return "left out", ""
    tensors = [one.clone() for one in tensors]
    try:
        made = elements(lambda s, b, h, i, j: s + function(*(one[i] for one in tensors)), stage)
    except REFUSALS:
        return "refused", ""
    except Exception as error:
        return "wrong", f"{type(error).__name__}: {str(error)[:200]}"
    near = torch.isclose(made, expected, rtol=2e-4, atol=2e-4)
    near |= ~expected.isfinite()
    if near.all():
        return "right", ""
    n = int((~near).nonzero()[0])
    given = ", ".join(str(one[n].item()) for one in tensors)
    return "wrong", f"of {given}: {made[n].item()}, expected {expected[n].item()}"


def calls(function):
    """What a function is called with: how that is written, the call, types of tensors."""
    for types in (*ONE, *TWO, *THREE):
        yield ", ".join(types), function, types
    for types in ONE:
        for number in (2, -3, 0.5, True, 300):
            yield f"{types}, {number}", lambda x, n=number: function(x, n), types
            yield f"{number}, {types}", lambda x, n=number: function(n, x), types
        for pair in ((-1, 2), (0.5, 2.5)):
            yield f"{types}, {pair}", lambda x, p=pair: function(x, *p), types


def named(space):
    for name in sorted(dir(space)):
        function = getattr(space, name)
        is_left_out = name.startswith("_") or any(one in name for one in LEFT_OUT)
        if callable(function) and not isinstance(function, type) and not is_left_out:
            yield name, function


def run(names=None, say=print, stage=True, spaces=tuple(SPACES)):
    tensors, counts = make_tensors(), collections.Counter()
    chosen = [
        (f"{prefix}.{name}", function)
        for prefix in spaces
        for name, function in named(SPACES[prefix])
        if not names or name in names
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is out of date in torch
        for name, function in chosen:
            for words, call, types in calls(function):
                result, said = attempt(call, [tensors[one] for one in types], stage)
                counts[result] += 1
                if result == "wrong":
                    say(f"{name}({words}) {said}")
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--name", nargs="+", help="of functions, default: all")
    parser.add_argument("--stage", default=True, help="of fa3.attention's interpret")
    parser.add_argument("--space", nargs="+", default=tuple(SPACES), choices=SPACES)
    options = parser.parse_args()
    counts = run(options.name, stage=options.stage, spaces=options.space)
    print(
        f"functions: right {counts['right']}, refused {counts['refused']}, "
        f"wrong {counts['wrong']}, left out {counts['left out']}"
    )
    return 1 if counts["wrong"] or not counts["right"] else 0


if __name__ == "__main__":
    sys.exit(main())
