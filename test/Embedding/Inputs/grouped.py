# SPDX-License-Identifier: Apache-2.0
"""What grouped.mlir prints, by the formulas of ONNX Runtime and of ONNX.

GroupQueryAttention of com.microsoft: query t of a sequence stands at position
p = old + t, where old is the number of keys in its cache: seqlens_k + 1 - new
rows, at least 0. It sees keys 0 to p, of the last `window` ones; softcap comes
in front of the bias, a sink is one more score.
"""

import math

from values import D, f16, flatten, noise, rotate, shape, swap


def attend(q, k, v, position, window=None, cap=None, bias=None, sinks=None,
           scale=1 / math.sqrt(D), mask=lambda i, j: True):
    """On (b, h, s, d); `position(b, i)` is the key that a query stands at."""
    result = []
    for b, batch in enumerate(q):
        group = len(batch) // len(k[b])
        heads = []
        for h, rows in enumerate(batch):
            keys, vals = k[b][h // group], v[b][h // group]
            heads.append([])
            for i, row in enumerate(rows):
                p = position(b, i)
                least = 0 if window is None else max(0, p - window + 1)
                seen = [j for j in range(least, p + 1) if mask(i, j)]
                scores = []
                for j in seen:
                    s = scale * sum(x * y for x, y in zip(row, keys[j]))
                    s = cap * math.tanh(s / cap) if cap else s
                    scores.append(s + (bias[b][h][i][j] if bias else 0))
                extra = [] if sinks is None else [sinks[h]]
                top = max(scores + extra)
                weights = [math.exp(s - top) for s in scores]
                total = sum(weights) + sum(math.exp(s - top) for s in extra)
                heads[-1].append(
                    [f16(sum(w * vals[j][c] for w, j in zip(weights, seen))
                         / total) for c in range(D)])
        result.append(heads)
    return result


def fill(cache, rows, first):
    """`rows` at `first` of each sequence."""
    return [[head[:start] + new + head[start + len(new):]
             for head, new in zip(batch, fresh)]
            for batch, fresh, start in zip(cache, rows, first)]


def split(x, heads):
    """(b, s, h * d) as (b, h, s, d)."""
    return swap([[shape(row, (heads, D)) for row in batch] for batch in x])


def get(seed, *dims):
    return shape(noise(math.prod(dims), seed), dims)


def unpack(x):
    return (split([[row[:64] for row in batch] for batch in x], 4),
            split([[row[64:96] for row in batch] for batch in x], 2),
            split([[row[96:] for row in batch] for batch in x], 2))


def step(tables):
    q, k, v = unpack(get(1, 2, 1, 128))
    old = [4, 9]
    keys = fill(get(2, 2, 2, 20, 16), rotate(k, *tables, old), old)
    vals = fill(get(3, 2, 2, 20, 16), v, old)
    y = attend(rotate(q, *tables, old), keys, vals, lambda b, i: old[b] + i,
               window=6, cap=3.0, scale=0.1)
    return swap(y), keys, vals


def chunk(tables):
    q, k, v = (split(get(seed, 2, 3, columns), columns // D)
               for seed, columns in ((6, 64), (7, 32), (8, 32)))
    old = [3, 7]

    def longer(cache):
        zero = [[0.0] * D for _ in range(3)]
        return [[head + zero for head in batch] for batch in cache]

    keys = fill(longer(get(9, 2, 2, 7, 16)),
                rotate(k, *tables, old, interleaved=True), old)
    vals = fill(longer(get(10, 2, 2, 7, 16)), v, old)
    y = attend(rotate(q, *tables, old, interleaved=True), keys, vals,
               lambda b, i: old[b] + i, bias=get(11, 2, 4, 3, 10),
               sinks=get(12, 4))
    return swap(y), keys, vals


def turn(x, cos, sin):
    """Rows with cosines and sines of their own, (b, s, d / 2)."""
    return [[[rotate([[[row]]], [cos[b][t]], [sin[b][t]], [0])[0][0][0]
              for t, row in enumerate(head)] for head in batch]
            for b, batch in enumerate(x)]


def prompt(tables):
    q, k, v = unpack(get(13, 2, 5, 128))
    positions = [[0, 1, 2, 3, 4], [7, 9, 8, 39, 0]]
    own = [[[table[p] for p in row] for row in positions] for table in tables]
    q, k = turn(q, *own), turn(k, *own)
    y = attend(q, k, v, lambda b, i: i, sinks=[0.0] * 4)
    return swap(y), k, v


def past():
    q, k = (split(get(seed, 2, 3, columns), columns // D)
            for seed, columns in ((6, 64), (7, 32)))
    keys, vals = ([[old + new for old, new in zip(*heads)]
                   for heads in zip(get(seed, 2, 2, 7, 16), k)]
                  for seed in (9, 10))
    hidden = {(0, 3), (1, 1), (2, 0), (2, 8)}
    y = attend(q, keys, vals, lambda b, i: 7 + i,
               mask=lambda i, j: (i, j) not in hidden)
    return swap(y), vals


def parts():
    own = [get(seed, 2, 3, 8) for seed in (16, 17)]
    q, k = get(14, 2, 4, 3, 16), get(15, 2, 2, 3, 16)
    old = [4, 9]
    keys = fill(get(2, 2, 2, 20, 16), turn(k, *own), old)
    vals = fill(get(3, 2, 2, 20, 16), k, old)
    return attend(turn(q, *own), keys, vals, lambda b, i: old[b] + i), keys


def grouped():
    tables = [get(seed, 40, 8) for seed in (4, 5)]
    return [flatten(x) for results in (step(tables), chunk(tables),
                                       prompt(tables), past(), parts())
            for x in results]
