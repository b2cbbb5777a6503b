# SPDX-License-Identifier: Apache-2.0
"""Gradients of tables that score code reads at computed indices, against autograd of the
formula, the same bits in two runs, and their time beside FlexAttention's."""

import torch
from torch.nn.attention import flex_attention as flex

import fa3
from fa3.bench import measure

from .common import DEVICE, check, compare, random
from .gradients import LIMIT


#: Tiles of FlexAttention, of which some do not fit beside a table's gradient.
FLEX_OPTIONS = (
    None,
    {"num_stages": 1},
    {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_M1": 32, "BLOCK_N1": 64, "BLOCK_M2": 64,
     "BLOCK_N2": 32, "num_stages": 1},
)  # fmt: skip


def bucket_of(distance):
    """T5's buckets of relative positions, in both directions, up to distance 128."""
    size = distance.abs()
    far = 8 + (torch.log(torch.clamp(size, min=8).float() / 8) * (8 / 2.772588722239781)).int()
    near = torch.where(size < 8, size.int(), torch.clamp(far, max=15))
    return near + torch.where(distance > 0, 16, 0).int()


def make(name, heads, queries, keys, batch, dtype=torch.float32):
    """A score_mod, the table that it reads, and what of the sequences it is for."""
    if name == "t5":
        table = torch.randn(32, heads, device=DEVICE)
        mod = lambda s, b, h, i, j: s + table[bucket_of(j - i), h]  # noqa: E731
    elif name == "distance":
        table = torch.randn(heads, queries + keys, device=DEVICE)
        mod = lambda s, b, h, i, j: s + table[h, i - j + keys]  # noqa: E731
    elif name == "swin":
        side = 14
        table = torch.randn((2 * side - 1) ** 2, heads, device=DEVICE)

        def mod(s, b, h, i, j):
            rows, columns = i // side - j // side + side - 1, i % side - j % side + side - 1
            return s + table[rows * (2 * side - 1) + columns, h]
    else:
        hops = torch.randint(0, 20, (batch, queries, keys), device=DEVICE)
        table = torch.randn(20, heads, device=DEVICE)
        mod = lambda s, b, h, i, j: s + table[hops[b, i, j], h]  # noqa: E731
    table = table.to(dtype).requires_grad_()
    return mod, table


def remake(mod, table):
    """The mod of another table."""
    cells = dict(zip(mod.__code__.co_freevars, mod.__closure__))
    cells["table"].cell_contents = table
    return mod


def check_values(notes, dtype, sizes, name, causal, table_type):
    b, h, hk, sq, sk, d, dv = sizes
    q, k = random(b, h, sq, d, dtype=dtype), random(b, hk, sk, d, dtype=dtype)
    v, do = random(b, hk, sk, dv, dtype=dtype), random(b, h, sq, dv, dtype=dtype)
    mod, table = make(name, h, sq, sk, b, table_type)
    at = [torch.arange(n, device=DEVICE) for n in (b, h, sq, sk)]
    at = [one.reshape([-1 if n == m else 1 for m in range(4)]) for n, one in enumerate(at)]
    given = [one.requires_grad_() for one in (q, k, v)]

    def ours():
        remake(mod, table)
        o = fa3.attention(q, k, v, score_mod=mod, causal=causal)
        return torch.autograd.grad(o, [*given, table], do)

    made, again = ours(), ours()
    wide = [one.detach().double().requires_grad_() for one in (*given, table)]
    remake(mod, wide[3])
    wk, wv = (one.repeat_interleave(h // hk, 1) for one in wide[1:3])
    s = mod(wide[0] @ wk.mT * d**-0.5, *at)
    if causal:
        s = s.masked_fill(at[3] > at[2] + sk - sq, float("-inf"))
    o = torch.softmax(s, -1).nan_to_num() @ wv
    wanted = torch.autograd.grad(o, wide, do.double())
    for one, exact in zip(made, wanted):
        exact = exact.nan_to_num()
        largest = max(1.0, exact.abs().max().item())
        compare(notes, one / largest, exact / largest, LIMIT[dtype])
    if not torch.equal(made[3], again[3]):
        raise AssertionError("two runs differ")


def part_tables(quick):
    """Values: types, head dims, groups, ends of both sequences, four kinds of tables."""
    torch.manual_seed(7)
    dims = [(64, 64), (128, 128), (192, 128), (256, 256)]
    shapes = {
        "t5": [(2, 4, 2, 1000, 700), (1, 8, 8, 130, 900)],
        "distance": [(2, 4, 1, 700, 1000), (1, 2, 2, 257, 64)],
        "swin": [(6, 4, 4, 196, 196)],
        "hops": [(3, 8, 8, 130, 130)],
    }
    for name, sizes in shapes.items():
        for dtype in (torch.float16, torch.bfloat16):
            for d, dv in dims[: 2 if quick else None]:
                for number, size in enumerate(sizes[: 1 if quick else None]):
                    causal = number == 0 and size[3] <= size[4]
                    table_type = dtype if number else torch.float32
                    what = f"{name} {dtype} {d}/{dv} {size} {'causal' if causal else ''}"
                    with check("tables", what.replace("torch.", "")) as notes:
                        check_values(notes, dtype, (*size, d, dv), name, causal, table_type)


def part_tables_speed(quick):
    """The gradient of q, k, v and the table beside that of q, k and v alone, and beside
    compiled FlexAttention's."""
    cases = [("t5", 1, 16, 4096, 64), ("distance", 1, 16, 4096, 64),
             ("t5", 1, 16, 4096, 128), ("swin", 512, 6, 196, 32),
             ("hops", 16, 32, 512, 64)]  # fmt: skip
    compiled = torch.compile(flex.flex_attention, dynamic=False)
    for name, b, h, n, d in cases[: 2 if quick else None]:
        with check("tables speed", f"{name} {b} x {h} x {n} x {d}") as notes:
            torch.manual_seed(1)
            q, k, v = (random(b, h, n, d, dtype=torch.bfloat16).requires_grad_() for _ in range(3))
            do = random(b, h, n, d, dtype=torch.bfloat16)
            mod, table = make(name, h, n, n, b)

            def time(o, inputs, do=do):
                return measure(
                    lambda: torch.autograd.grad(o, inputs, do, retain_graph=True)
                )  # fmt: skip

            o = fa3.attention(q, k, v, score_mod=mod)
            with_table = time(o, (q, k, v, table))
            table.requires_grad_(False)
            alone = time(fa3.attention(q, k, v, score_mod=mod), (q, k, v))
            table.requires_grad_(True)
            notes.append(f"fa3 {1e3 * with_table:.3f} ms, without {1e3 * alone:.3f} ms")
            theirs = []
            for options in FLEX_OPTIONS:
                try:
                    o = compiled(q, k, v, score_mod=mod, kernel_options=options)
                    theirs.append(time(o, (q, k, v, table)))
                except RuntimeError:  # its tiles do not fit into shared memory
                    torch._dynamo.reset()
            if theirs:
                best = min(theirs)
                notes.append(f"flex {1e3 * best:.3f} ms, {best / with_table:.2f}")
            else:
                notes.append("flex none")
