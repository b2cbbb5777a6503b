# SPDX-License-Identifier: Apache-2.0
"""Random calls of the doors of the Python package, each with its answer in f64.

One generator for each door: `forward` and `gradients` of fa3.attention, and `serving`
of fa3.serving.attention. About every tenth call has an argument that the door has to
refuse. Needs torch, and fa3 in the path."""

import dataclasses
import functools
import itertools
import math
from typing import Any, Callable

import torch

import fa3
from fa3 import serving as serving_door
from fa3.serving import nibbles

import mod_calls
from door_definition import attend, off, off_in_the_mean, off_largest, off_lse

TYPES = [torch.bfloat16, torch.float16]
#: Of o, as a part of its largest element; of gradients, in the mean.
ROUNDING = {torch.bfloat16: 2e-2, torch.float16: 4e-3}
GRADIENT_ROUNDING = {torch.bfloat16: 3e-2, torch.float16: 6e-3}


@dataclasses.dataclass
class Call:
    """What is asked of a door. `run` gives its results, `define` pairs of what they have
    to be and a function that says how far one is off, in parts of what is allowed."""

    words: str
    run: Callable[[], list[Any]]
    define: Callable[[], list[tuple[Any, Callable[[Any, Any], float]]]]
    #: Why the door has to refuse it, if it has to.
    spoiled: str = ""


# --- What dense calls have ---------------------------------------------------


def strided(r, shape, dtype):
    """Random rows: contiguous, with something beside them, or in another order."""
    rows = torch.randn(shape).to(dtype)
    how = r.choice(["dense", "dense", "padded", "sliced", "permuted", "expanded"])
    if how == "padded":
        wide = torch.randn(*shape[:3], shape[3] + 8 * r.randint(1, 3)).to(dtype)
        wide[..., : shape[3]] = rows
        return wide[..., : shape[3]]
    if how == "sliced":
        wide = torch.randn(shape[0], shape[1] * 2, shape[2] + 3, shape[3]).to(dtype)
        return wide[:, ::2, 3:].copy_(rows)
    if how == "permuted":
        return rows.permute(2, 0, 1, 3).contiguous().permute(1, 2, 0, 3)
    return rows[:1].expand(*shape) if how == "expanded" else rows


def score_mod(r, heads, keys):
    """A function of scores, or None. Its table is as long as caches have rows."""
    slopes, table = torch.randn(heads), torch.randn(keys + 20)
    return r.choice([None] * 6 + [
        lambda s, b, h, i, j: s + slopes[h] * (i - j) * 0.01,
        lambda s, b, h, i, j: torch.where(i >= j, s * 0.5 + table[j], s),
        lambda s, b, h, i, j: torch.maximum(s, s * 0.1) - (h % 2) * 0.5,
        lambda s, b, h, i, j: s + slopes[h] * (j % 7) * 0.1,
    ])  # fmt: skip


def mask_mod(r, rows):
    documents = torch.randint(0, 3, (rows + 20,))
    return r.choice([None] * 9 + [
        lambda b, h, i, j: documents[i] == documents[j],
        lambda b, h, i, j: (j - i) % 3 != 1,
        lambda b, h, i, j: (j <= i) | (j < 7),
        lambda b, h, i, j: (j + b) % 3 != 1,
    ])  # fmt: skip


def options(r, heads, queries, keys):
    """What all doors take."""
    given = {
        "causal": True if r.random() < 0.4 else None,
        "window": r.choice([None] * 3 + [
            (r.choice([None, -1, 0, 3, 70]), r.choice([None, -1, 0, 5, 90]))]),
        "softcap": r.choice([None] * 4 + [1.0, 20.0]),
        "scale": r.choice([None] * 4 + [0.5, 0.01]),
        "score_mod": score_mod(r, heads, keys),
        "mask_mod": mask_mod(r, max(queries, keys)),
        "sinks": torch.randn(heads) if r.random() < 0.15 else None,
        "return_lse": True if r.random() < 0.5 else None,
    }  # fmt: skip
    return {name: one for name, one in given.items() if one is not None}


def dense(r):
    """q, k, v and arguments of fa3.attention."""
    d = r.choice([8, 16, 40, 64, 64, 72, 96, 128, 128, 136, 192, 256])
    dv = d if r.random() < 0.7 else r.choice([16, 32, 64, 128])
    b, key_heads, groups = r.choice([1, 2]), r.choice([1, 2, 3]), r.choice([1, 1, 2, 3, 4])
    queries = r.choice([1, 2, 5, 33, 64, 65, 100, 130])
    keys = r.choice([1, 3, 17, 64, 64, 65, 127, 150, 200])
    heads, dtype, layout = key_heads * groups, r.choice(TYPES), r.choice(["bhsd", "bhsd", "bshd"])
    shapes = (heads, queries, d), (key_heads, keys, d), (key_heads, keys, dv)
    if layout == "bshd":
        shapes = tuple((rows, h, width) for h, rows, width in shapes)
    q, k, v = (strided(r, (b, *shape), dtype) for shape in shapes)
    a = {**options(r, heads, queries, keys), "layout": layout}
    if a.get("scale") and r.random() < 0.3:
        a["scale"] = torch.tensor(0.3)
    if r.random() < 0.2:
        shape = (r.choice([1, b]), r.choice([1, heads]), queries, keys)
        a["bias"] = torch.randn(shape).to(r.choice([dtype, torch.float32]))
    if r.random() < 0.12:
        a["alibi_slopes"] = torch.rand(heads)
    return q, k, v, a


def in_words(q, k, v, a):
    """Arguments, without elements and code."""
    said = [
        f"{name} {tuple(one.shape)} {str(one.dtype)[6:]} {one.stride()}"
        for name, one in zip("qkv", (q, k, v))
    ]
    for name, one in a.items():
        plain = isinstance(one, (str, int, float)) or name == "window"
        said.append(f"{name}={one}" if plain else name)
    return ", ".join(said)


def define_dense(q, k, v, a):
    rows = (x.transpose(1, 2) for x in (q, k, v)) if a["layout"] == "bshd" else (q, k, v)
    o, lse, largest = attend(*rows, a)
    return o.transpose(1, 2) if a["layout"] == "bshd" else o, lse, largest


#: What no call may have, and an argument that has it.
SPOILED = {
    "head dims that differ": lambda q, k, v, a: {"k": k[..., :-1]},
    "a head dim that is no multiple of 8": lambda q, k, v, a: {"q": q[..., :4], "k": k[..., :4]},
    "types that differ": lambda q, k, v, a: {"v": v.float()},
    "a softcap below 0": lambda q, k, v, a: {"softcap": -1.0},
    "a word for a scale": lambda q, k, v, a: {"scale": "0.5"},
    "a scale of 0": lambda q, k, v, a: {"scale": 0.0},
    "a flag of 2": lambda q, k, v, a: {"causal": 2},
    "sinks in another type": lambda q, k, v, a: {"sinks": torch.zeros(q.shape[-3]).half()},
    "sinks of no head": lambda q, k, v, a: {"sinks": torch.zeros(0)},
    "elements of a row apart": lambda q, k, v, a: {
        "q": q.repeat_interleave(2, -1)[..., ::2], "score_mod": None},
}  # fmt: skip


def spoil(r, q, k, v, a, more):
    """About every tenth call: the arguments, and why they have to be refused."""
    if r.random() >= 0.1:
        return q, k, v, a, ""
    why, change = r.choice(sorted((SPOILED | more).items()))
    a = {"q": q, "k": k, "v": v, **a, **change(q, k, v, a)}
    q, k, v = (a.pop(name) for name in "qkv")
    return q, k, v, a, why


# --- The doors ---------------------------------------------------------------

SPOILED_DENSE = {
    "a bias of one key more": lambda q, k, v, a: {"bias": torch.zeros(1, 1, 1, 1001)},
    "a layout that is none": lambda q, k, v, a: {"layout": "sbhd"},
    "a dropout of 1": lambda q, k, v, a: {"dropout_p": 1.0},
    "a type that o cannot have": lambda q, k, v, a: {"out_dtype": torch.int8},
}


def forward(r):
    q, k, v, a = dense(r)
    if r.random() < 0.1:
        a["return_max_logit"] = True
    elif r.random() < 0.12:
        gate = torch.randn(v.shape[-1])
        a["epilogue"] = lambda x, b, h, i, c: x * gate[c] + (h % 2) * 0.25
    elif r.random() < 0.14:
        sums = q.shape[:2] if a["layout"] == "bshd" else (q.shape[0], q.shape[2])
        heads = q.shape[2] if a["layout"] == "bshd" else q.shape[1]
        sums = torch.randn(sums[0], heads, sums[1])
        a["previous"] = (torch.randn(*q.shape[:3], v.shape[-1]), sums)
    if r.random() < 0.1:
        a["out_dtype"] = torch.float32
    stage = r.choice([True, "ptx", "hopper", "tile", "definition"])
    q, k, v, a, spoiled = spoil(r, q, k, v, a, SPOILED_DENSE)

    def run():
        made = fa3.attention(q, k, v, interpret=stage, **a)
        return list(made) if isinstance(made, tuple) else [made]

    def define():
        o, lse, largest = define_dense(q, k, v, a)
        expected = [(o, functools.partial(off, ROUNDING[q.dtype], 1.0))]
        expected += [(lse, off_lse)] if a.get("return_lse") else []
        if a.get("return_max_logit"):
            expected.append((largest.amax((0, 2)), off_largest))
        return expected

    return Call(f"{in_words(q, k, v, a)}, interpret={stage}", run, define, spoiled)


def gradients(r):
    q, k, v, a = dense(r)
    wanted = [q, k, v]
    for name in ("sinks", "bias"):
        if name in a and r.random() < 0.6:
            wanted.append(a[name])
    stage = r.choice(["hopper", "tile", "ptx"])
    of_lse = a.get("return_lse") and r.random() < 0.7
    q, k, v, a, spoiled = spoil(r, q, k, v, a, SPOILED_DENSE)
    for one in wanted:
        one.requires_grad_()
    ends = {}

    def run():
        made = fa3.attention(q, k, v, interpret=stage, **a)
        made = list(made) if isinstance(made, tuple) else [made]
        ends["o"] = torch.randn(made[0].shape).to(made[0].dtype)
        outputs, weights = [made[0]], [ends["o"]]
        if of_lse:
            ends["lse"] = torch.where(made[1].isfinite(), torch.randn(made[1].shape), 0.0)
            outputs.append(made[1])
            weights.append(ends["lse"])
        return list(torch.autograd.grad(outputs, wanted, weights, allow_unused=True))

    def define():
        o, lse, _ = define_dense(q, k, v, a)
        total = (o * ends["o"].double()).sum()
        if of_lse:
            total = total + torch.where(lse.isfinite(), lse * ends["lse"].double(), 0.0).sum()
        compare = functools.partial(off_in_the_mean, GRADIENT_ROUNDING[q.dtype])
        return [(one, compare) for one in torch.autograd.grad(total, wanted, allow_unused=True)]

    return Call(f"{in_words(q, k, v, a)}, interpret={stage}", run, define, spoiled)


def starts(lengths):
    return torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32)


def i32(values):
    return torch.tensor(values, dtype=torch.int32)


class Cache:
    """Keys and values of sequences as a call has them: packed, padded or in pages."""

    def __init__(self, r, lengths, key_heads, dims, dtype, of_4_bits):
        self.r, self.lengths, self.key_heads = r, lengths, key_heads
        self.most, self.batch = max(lengths), len(lengths)
        self.named = {}
        self.form = r.choice(["packed", "padded", "pages", "pages"])
        shape = getattr(self, f"make_{self.form}")()
        wide = [torch.randn(*shape, key_heads, dim).to(dtype) for dim in dims]
        if of_4_bits:
            made = [nibbles.pack(one.float()) for one in wide]
            self.k, self.v = (packed for packed, _ in made)
            self.named |= {"k_descale": made[0][1], "v_descale": made[1][1]}
            wide = [nibbles.unpack(*one) for one in made]
        else:
            self.k, self.v = wide
            if dims[0] == dims[1] and r.random() < 0.3:
                # Columns of one memory.
                self.k, self.v = torch.cat(wide, -1).chunk(2, -1)
        self.rows = wide

    def make_packed(self):
        self.named["cu_k"] = starts(self.lengths)
        if self.r.random() < 0.5:
            self.named["max_k"] = self.most
        self.find = lambda one, n: one[slice(*self.named["cu_k"][n : n + 2].tolist())]
        return (sum(self.lengths) + 2,)

    def make_padded(self):
        pad, index, batch = [0] * self.batch, list(range(self.batch)), self.batch
        if self.r.random() < 0.3:
            batch += 2
            index = self.r.sample(range(batch), self.batch)
            self.named["batch_index"] = i32(index)
        if self.r.random() < 0.25:
            pad = [self.r.choice([0, 3, 9]) for _ in self.lengths]
            self.named["leftpad"] = i32(pad)
        self.named["used_k"] = i32([n + more for n, more in zip(self.lengths, pad)])
        self.find = lambda one, n: one[index[n], pad[n] : pad[n] + self.lengths[n]]
        return batch, self.most + 9 + self.r.choice([0, 8])

    def make_pages(self):
        rows = self.r.choice([1, 8, 16, 64, 100, 256])
        each = -(-max(self.most, 1) // rows) + 1
        table = torch.randperm(self.batch * each + 3)[: self.batch * each]
        table = table.view(self.batch, each).to(torch.int32)
        self.named |= {"page_table": table, "used_k": i32(self.lengths)}
        if self.r.random() < 0.5:
            self.named["max_k"] = self.most
        self.find = lambda one, n: one[table[n].long()].flatten(0, 1)[: self.lengths[n]]
        return self.batch * each + 3, rows

    def get(self, n):
        """Keys and values of a sequence, (key heads, keys, d)."""
        return [self.find(one, n).transpose(0, 1) for one in self.rows]


SPOILED_SERVING = {
    "a number of parts below 0": lambda q, k, v, a: {"splits": -1},
    "a chunk below 0": lambda q, k, v, a: {"chunk": -1},
    "a scale for queries that are not of 8 bits": lambda q, k, v, a: {
        "q_descale": torch.ones(1, 1)},
    "lengths of int64": lambda q, k, v, a: {"used_k": torch.zeros(1, dtype=torch.int64)},
    "lengths in a list": lambda q, k, v, a: {"used_k": [1]},
    "positions without a table": lambda q, k, v, a: {"rotary_at": i32([0])},
    "new keys without values": lambda q, k, v, a: {"k_new": k[:1]},
}  # fmt: skip


def serving(r):
    of_4_bits = r.random() < 0.2
    d = r.choice([32, 64, 128, 256] if of_4_bits else [16, 64, 64, 96, 128, 128, 192, 256])
    dv = d if r.random() < 0.8 else r.choice([64, 128])
    key_heads, groups, dtype = r.choice([1, 2]), r.choice([1, 2, 3, 4, 8]), r.choice(TYPES)
    batch, heads = r.choice([1, 2, 3, 5]), key_heads * groups
    queries = [r.choice([0, 1, 1, 2, 7, 33, 70]) if r.random() < 0.6 else 1 for _ in range(batch)]
    keys = [r.choice([0, 1, 5, 64, 65, 130, 200]) for _ in range(batch)]
    cache = Cache(r, keys, key_heads, (d, dv), dtype, of_4_bits)
    a = options(r, heads, max(queries), max(keys))
    if "window" not in a and r.random() < 0.1:
        a["chunk"] = r.choice([16, 50])
    rows = [torch.randn(n, heads, d).to(dtype) for n in queries]
    is_packed = cache.form == "packed" or r.random() < 0.5
    named = {**a, **cache.named}
    if is_packed:
        behind = torch.randn(r.choice([0, 0, 3]), heads, d).to(dtype)
        q = torch.cat([*rows, behind])
        named |= {"cu_q": starts(queries), "max_q": max(max(queries), 1) + r.choice([0, 5])}
    else:
        q = torch.randn(batch, max(max(queries), 1), heads, d).to(dtype)
        for n, one in enumerate(rows):
            q[n, : len(one)] = one
        named["used_q"] = i32(queries)
    chosen = r.random()
    if chosen < 0.3:
        named |= {"splits": r.choice([1, 2, 3, 7]), "max_k": max(keys)}
    elif chosen < 0.4:
        named |= {"batch_invariant": r.choice([True, 128, 256]), "max_k": max(keys)}
    if r.random() < 0.3:
        named["pack_heads"] = r.choice([True, False])
    stage = r.choice(["hopper", "tile", "ptx"])
    q, k, v, named, spoiled = spoil(r, q, cache.k, cache.v, named, SPOILED_SERVING)

    def pieces(one, of_heads):
        """Of each sequence, (heads, queries, ..)."""
        at = starts(queries).tolist()
        for n, count in enumerate(queries):
            if is_packed:
                part = one[:, at[n] : at[n] + count] if of_heads else one[at[n] : at[n] + count]
            else:
                part = one[n, :, :count] if of_heads else one[n, :count]
            yield part if of_heads else part.transpose(0, 1)

    def run():
        made = serving_door.attention(q, k, v, interpret=stage, **named)
        o, lse = made if isinstance(made, tuple) else (made, None)
        return list(pieces(o, False)) + ([] if lse is None else list(pieces(lse, True)))

    def define():
        made = [
            attend(one.transpose(0, 1)[None], *(x[None] for x in cache.get(n)), a, n)
            for n, one in enumerate(rows)
        ]
        compare = functools.partial(off, ROUNDING[dtype], 1.0)
        expected = [(o[0], compare) for o, _, _ in made]
        if a.get("return_lse"):
            expected += [(lse[0], functools.partial(off, 2e-3, 20.0)) for _, lse, _ in made]
        return expected

    words = f"{in_words(q, k, v, named)}, queries {queries}, keys {keys}, interpret={stage}"
    return Call(words, run, define, spoiled)


def mods(r):
    """Small calls of long functions: a wrong element of a mask shows."""
    heads, queries, keys = r.choice([1, 2, 3]), r.choice([5, 20, 64, 90]), r.choice([3, 17, 50])
    shapes = (1, heads, queries, 16), (1, heads, keys, 16), (1, heads, keys, 16)
    q, k, v = (torch.randn(shape).half() for shape in shapes)
    a, sources = mod_calls.mods(r, (heads, queries, keys))
    stage = r.choice(["ptx", "hopper", "tile", "definition", "grad", "grad ptx"])
    do = torch.randn(shapes[0])
    compare = functools.partial(off, 4e-3, 1.0)

    def run():
        if "grad" not in stage:
            return list(fa3.attention(q, k, v, interpret=stage, return_lse=True, **a))
        wanted = [one.clone().requires_grad_() for one in (q, k, v)]
        o = fa3.attention(*wanted, interpret="ptx" if "ptx" in stage else True, **a)
        return [o, *torch.autograd.grad(o, wanted, do.half())]

    def define():
        wanted = [one.double().requires_grad_() for one in (q, k, v)]
        o, lse, _ = attend(*wanted, a)
        if lse.isnan().any():
            o, lse = o * math.nan, lse * math.nan  # nobody promises which
        if "grad" not in stage:
            return [(o, compare), (lse, off_lse)]
        made = torch.autograd.grad((o * do).sum(), wanted, allow_unused=True)
        made = [torch.zeros_like(x) if one is None else one for one, x in zip(made, wanted)]
        in_the_mean = functools.partial(off_in_the_mean, GRADIENT_ROUNDING[torch.float16])
        return [(o, compare), *((one, in_the_mean) for one in made)]

    return Call("; ".join([*sources, f"interpret={stage}"]), run, define)


DOORS = {"forward": forward, "gradients": gradients, "serving": serving, "mods": mods}
