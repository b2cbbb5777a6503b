# SPDX-License-Identifier: Apache-2.0
"""Scores of every size: the cases of values.py."""

import math

import torch

LARGEST = torch.finfo(torch.float32).max
LOWEST = torch.finfo(torch.float32).min
INFINITY, NAN = math.inf, math.nan

#: Cases by name: functions of (element type, generator) that give the arguments.
CASES = {}
QUERIES, KEYS, DIM = 12, 21, 16


def case(name, *given, **named):
    def add(function):
        CASES[name] = lambda dtype: function(Problem(dtype), *given, **named)
        return function

    return add


class Problem:
    """Operands of a case."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.generator = torch.Generator().manual_seed(7)

    def random(self, *shape):
        return torch.randn(*shape, generator=self.generator)

    def qkv(self, queries=QUERIES, keys=KEYS, heads=2, key_heads=1, dim=DIM, factor=1.0):
        return {
            "q": (self.random(1, heads, queries, dim) * factor).to(self.dtype),
            "k": (self.random(1, key_heads, keys, dim) * factor).to(self.dtype),
            "v": self.random(1, key_heads, keys, dim).to(self.dtype),
        }


# -----------------------------------------------------------------------------
# Additive masks
# -----------------------------------------------------------------------------

VALUES = {
    "-1e4": -1e4, "-65504": -65504.0, "-1e6": -1e6, "-1e7": -1e7, "-1e9": -1e9,
    "-1e30": -1e30, "lowest": LOWEST, "1e5": 1e5, "1e9": 1e9, "1e30": 1e30, "1e38": 1e38,
    "largest": LARGEST,
}  # fmt: skip


def rows(given, value, dtype=torch.float32):
    """Whole rows of the value, half a row, and one key of it."""
    q, k = given["q"], given["k"]
    bias = torch.zeros(1, q.shape[1], q.shape[2], k.shape[2])
    bias[:, :, 5:8] = value
    bias[:, :, 2, 10:] = value
    bias[:, :, 3, 4] = value
    most = torch.finfo(dtype).max
    return bias.clamp(-most, most).to(dtype)


for _name, _value in VALUES.items():

    @case(f"bias {_name}", _value)
    def _(problem, value):
        given = problem.qkv()
        return {**given, "bias": rows(given, value)}


@case("bias of all -1e9")
def _(problem):
    given = problem.qkv()
    return {**given, "bias": torch.full((1, 1, QUERIES, KEYS), -1e9)}


@case("bias of both signs, largest")
def _(problem):
    given = problem.qkv()
    bias = rows(given, LOWEST)
    bias[:, :, 6, 3] = LARGEST
    bias[:, :, 7, 5:7] = 0.0
    bias[:, :, 8, ::2] = -1e30
    bias[:, :, 8, 1::2] = -2e30
    return {**given, "bias": bias}


@case("bias of the element type, lowest")
def _(problem):
    given = problem.qkv()
    lowest = torch.finfo(problem.dtype).min
    return {**given, "bias": rows(given, lowest, problem.dtype)}


@case("bias of the element type, -1e4, every key")
def _(problem):
    given = problem.qkv()
    bias = torch.full((1, 2, QUERIES, KEYS), -1e4).to(problem.dtype)
    return {**given, "bias": bias}


@case("bias between, -3000")
def _(problem):
    given = problem.qkv()
    bias = rows(given, -3000.0) + problem.random(1, 2, QUERIES, KEYS)
    return {**given, "bias": bias}


@case("bias -inf: some keys, and whole rows")
def _(problem):
    given = problem.qkv()
    return {**given, "bias": rows(given, -INFINITY)}


@case("bias -inf of the element type, beside -1e4")
def _(problem):
    given = problem.qkv()
    bias = rows(given, -1e4).to(problem.dtype)
    bias[:, :, 5, ::2] = -INFINITY
    bias[:, :, 6] = -INFINITY
    return {**given, "bias": bias}


@case("bias -inf beside lowest")
def _(problem):
    given = problem.qkv()
    bias = rows(given, LOWEST)
    bias[:, :, 5, ::2] = -INFINITY
    return {**given, "bias": bias}


@case("bias +inf")
def _(problem):
    given = problem.qkv()
    bias = rows(given, -1e9)
    bias[:, :, 9, 3] = INFINITY
    return {**given, "bias": bias, "forward_only": True}


@case("bias NaN")
def _(problem):
    given = problem.qkv()
    bias = rows(given, 0.0)
    bias[:, :, 9, 3] = NAN
    return {**given, "bias": bias, "forward_only": True}


@case("bias NaN, gradients")
def _(problem):
    given = problem.qkv()
    bias = rows(given, 0.0)
    bias[:, :, 9, 3] = NAN
    return {**given, "bias": bias}


@case("bias of denormal numbers")
def _(problem):
    given = problem.qkv()
    return {**given, "bias": rows(given, 1e-41)}


@case("bias -1e9, causal")
def _(problem):
    given = problem.qkv()
    return {**given, "bias": rows(given, -1e9), "causal": True}


@case("bias lowest, window")
def _(problem):
    given = problem.qkv()
    return {**given, "bias": rows(given, LOWEST), "window": (6, 2)}


@case("bias -1e9, softcap")
def _(problem):
    given = problem.qkv()
    return {**given, "bias": rows(given, -1e9), "softcap": 5.0}


@case("bias -1e9, sinks")
def _(problem):
    given = problem.qkv()
    sinks = torch.tensor([0.5, -2.0])
    return {**given, "bias": rows(given, -1e9), "sinks": sinks}


@case("bias 1e9, sinks of the same size")
def _(problem):
    given = problem.qkv()
    sinks = torch.tensor([1e9, -1e9])
    return {**given, "bias": rows(given, 1e9), "sinks": sinks, "forward_only": True}


@case("bias -1e9, many blocks of keys")
def _(problem):
    given = problem.qkv(keys=300)
    bias = torch.zeros(1, 1, QUERIES, 300)
    bias[:, :, 5:8] = -1e9
    bias[:, :, 8, :150] = LOWEST
    bias[:, :, 9, 150:] = -1e30
    return {**given, "bias": bias}


@case("bias that grows from block to block")
def _(problem):
    given = problem.qkv(keys=300)
    bias = torch.linspace(1e9, -1e9, 300).expand(1, 1, QUERIES, 300).contiguous()
    return {**given, "bias": bias}


@case("bias -1e9 with a gradient")
def _(problem):
    given = problem.qkv(keys=24)
    return {**given, "bias": rows(given, -1e9), "wanted": ("bias",)}


@case("bias lowest with a gradient")
def _(problem):
    given = problem.qkv(keys=24)
    return {**given, "bias": rows(given, LOWEST), "wanted": ("bias",)}


# -----------------------------------------------------------------------------
# Score code
# -----------------------------------------------------------------------------

MODS = {
    "where -1e9": lambda s, b, h, i, j: torch.where((i < 5) | (j > 9), s, -1e9),
    "where -1e4": lambda s, b, h, i, j: torch.where((i < 5) & (j > 3), s, -1e4),
    "where lowest": lambda s, b, h, i, j: torch.where(i < 5, s, LOWEST),
    "where -inf": lambda s, b, h, i, j: torch.where((i < 5) & (j > 3), s, -INFINITY),
    "added -1e9": lambda s, b, h, i, j: s + torch.where(i < 5, 0.0, -1e9),
    "added -1e30 by key": lambda s, b, h, i, j: s - 1e30 * (j > 9),
    "1e38 at a key": lambda s, b, h, i, j: torch.where(j == 7, 1e38, s),
    "distance times 1e7": lambda s, b, h, i, j: s - 1e7 * torch.abs(i - j + 40),
    "times 1e20": lambda s, b, h, i, j: s * 1e20,
    "times 1e-20": lambda s, b, h, i, j: s * 1e-20,
    "cube": lambda s, b, h, i, j: (s * 40) * (s * 40) * (s * 40),
    "softcap 1e30": lambda s, b, h, i, j: 1e30 * torch.tanh(s / 1e30),
    "clamp 1e9": lambda s, b, h, i, j: torch.clamp(s * 1e12, -1e9, 1e9),
}
# Gradients of scores beyond what the element type holds.
STEEP = ("times 1e20", "cube", "clamp 1e9")
for _name, _mod in MODS.items():

    @case(f"mod {_name}", _name, _mod)
    def _(problem, name, mod):
        forward_only = name in STEEP and problem.dtype == torch.float16
        return {**problem.qkv(), "score_mod": mod, "forward_only": forward_only}


@case("mod with a captured -1e9")
def _(problem):
    masked = -1e9
    return {
        **problem.qkv(), "score_mod":
        lambda s, b, h, i, j: torch.where((i < 5) | (j > 18), s, masked),
    }  # fmt: skip


@case("mod with a table of 1e8")
def _(problem):
    table = problem.random(KEYS) * 1e8
    return {
        **problem.qkv(), "table": table,
        "score_mod": lambda table: lambda s, b, h, i, j: s + table[j],
    }  # fmt: skip


@case("slopes of 1e7")
def _(problem):
    return {**problem.qkv(), "alibi_slopes": torch.tensor([1e7, 0.25])}


@case("softcap of 1e30")
def _(problem):
    return {**problem.qkv(), "softcap": 1e30}


# What torch documents or does where a derivative has a choice: at 0, at a limit, and
# where two numbers are equal. Half of the queries are 0, and so their scores.
TIES = {
    "abs": lambda s, b, h, i, j: torch.abs(s),
    "relu": lambda s, b, h, i, j: torch.relu(s),
    "maximum": lambda s, b, h, i, j: torch.maximum(s, s * 0.5),
    "minimum": lambda s, b, h, i, j: torch.minimum(s * 2.0, s),
    "clamp": lambda s, b, h, i, j: torch.clamp(s * 2.0, min=0.0),
    "clamp both": lambda s, b, h, i, j: torch.clamp(s * 3.0, 0.0, 2.0),
    "hardtanh": lambda s, b, h, i, j: torch.nn.functional.hardtanh(s * 3.0, 0.0, 1.5),
    "leaky_relu": lambda s, b, h, i, j: torch.nn.functional.leaky_relu(s, 0.2),
    "elu": lambda s, b, h, i, j: torch.nn.functional.elu(s),
    "sign": lambda s, b, h, i, j: torch.sign(s) + s,
    "square": lambda s, b, h, i, j: torch.square(s),
    "where": lambda s, b, h, i, j: torch.where(s >= 0, s, 2.0 * s),
}
for _name, _mod in TIES.items():

    @case(f"tie {_name}", _mod)
    def _(problem, mod):
        given = problem.qkv()
        given["q"][:, :, ::2] = 0
        return {**given, "score_mod": mod}


# -----------------------------------------------------------------------------
# Plain attention
# -----------------------------------------------------------------------------


@case("plain")
def _(problem):
    return problem.qkv()


@case("plain, causal, more queries than keys")
def _(problem):
    return {**problem.qkv(queries=21, keys=12), "causal": True}


@case("plain, large products")
def _(problem):
    return {**problem.qkv(factor=20.0)}


@case("plain, forward, products of 1e6")
def _(problem):
    return {**problem.qkv(factor=500.0), "forward_only": True}


@case("plain, q and k are denormal numbers")
def _(problem):
    return problem.qkv(factor=1e-7)


@case("plain, largest values")
def _(problem):
    given = problem.qkv()
    # Sums are in f32 before they are divided.
    most = min(torch.finfo(problem.dtype).max / 4, 2.0**100)
    given["v"] = given["v"].sign() * most
    return {**given, "forward_only": True}


@case("plain, a query of NaN")
def _(problem):
    given = problem.qkv()
    given["q"][:, 1, 3, 2] = NAN
    return given


@case("plain, a key of inf")
def _(problem):
    given = problem.qkv()
    given["q"] = given["q"].abs()
    given["k"][:, :, 3, 2] = INFINITY
    return {**given, "forward_only": True}


@case("plain, a key of -inf")
def _(problem):
    given = problem.qkv()
    given["q"] = given["q"].abs() + 0.1
    given["k"][:, :, 3, 2] = -INFINITY
    return {**given, "forward_only": True}


@case("plain, a value of NaN")
def _(problem):
    given = problem.qkv()
    given["v"][:, :, 3, 2] = NAN
    return {**given, "forward_only": True}


@case("plain, a value of inf")
def _(problem):
    given = problem.qkv()
    given["v"][:, :, 3, 2] = -INFINITY
    return {**given, "forward_only": True}


@case("plain, scale 50")
def _(problem):
    return {**problem.qkv(), "scale": 50.0}


@case("plain, forward, scale 1000")
def _(problem):
    return {**problem.qkv(), "scale": 1000.0, "forward_only": True}


@case("plain, scale 1e-30")
def _(problem):
    return {**problem.qkv(), "scale": 1e-30}


@case("rows without keys by a mask")
def _(problem):
    return {**problem.qkv(), "mask_mod": lambda b, h, i, j: (i != 4) & (j < i + 3)}


@case("rows without keys, and -1e9 in others")
def _(problem):
    given = problem.qkv()
    return {
        **given, "bias": rows(given, -1e9),
        "mask_mod": lambda b, h, i, j: (i != 6) & (j < i + 3),
    }  # fmt: skip


@case("no keys")
def _(problem):
    return problem.qkv(keys=0)


@case("no queries")
def _(problem):
    return problem.qkv(queries=0)


@case("no sequences")
def _(problem):
    return {name: one[:0] for name, one in problem.qkv().items()}


@case("one key, of 1e38")
def _(problem):
    given = problem.qkv(keys=1)
    return {**given, "bias": torch.full((1, 1, QUERIES, 1), 1e38)}
