# SPDX-License-Identifier: Apache-2.0
"""What the programs of test/Embedding print, in Python, for run.py.

A function for every program. Tensors are nested lists; what a program holds in
f16 is rounded to f16.
"""

import math
import struct

B, H, S, D = 2, 2, 20, 16


def f16(x):
    return struct.unpack("e", struct.pack("e", x))[0]


def noise(n, seed):
    return [((37 * i + 11 * (i * i % 101) + seed) % 61 - 30) / 16
            for i in range(n)]


def shape(flat, dims):
    if len(dims) == 1:
        return list(flat)
    step = len(flat) // dims[0]
    return [shape(flat[i * step:(i + 1) * step], dims[1:])
            for i in range(dims[0])]


def flatten(x):
    return [y for part in x for y in flatten(part)] if isinstance(x, list) else [x]


def swap(x):
    """(b, s, h, d) to (b, h, s, d) and back."""
    return [[list(rows) for rows in zip(*batch)] for batch in x]


def tensor(seed, heads=H, rows=S):
    return shape(noise(B * heads * rows * D, seed), (B, heads, rows, D))


def attention(q, k, v, causal=False, score=lambda s, b, h, i, j: s,
              scale=1 / math.sqrt(D)):
    """On (b, h, s, d); fewer heads of k are shared."""
    result = []
    for b, batch in enumerate(q):
        group = len(batch) // len(k[b])
        result.append([])
        for h, rows in enumerate(batch):
            keys, vals = k[b][h // group], v[b][h // group]
            result[-1].append([])
            for i, row in enumerate(rows):
                seen = i + 1 + len(keys) - len(rows) if causal else len(keys)
                scores = [score(scale * sum(x * y for x, y in zip(row, key)),
                                b, h, i, j)
                          for j, key in enumerate(keys[:seen])]
                top = max(scores)
                weights = [math.exp(s - top) for s in scores]
                total = sum(weights)
                result[-1][-1].append(
                    [f16(sum(w * val[c] for w, val in zip(weights, vals)) / total)
                     for c in range(D)])
    return result


def add(x, y):
    return [f16(a + b) for a, b in zip(x, y)]


def two():
    q, k, v = tensor(1), tensor(2, heads=1), tensor(3, heads=1)
    first = attention(q, k, v, causal=True)
    return [flatten(attention(first, k, v, causal=True)),
            flatten(attention(first, k, v))]


def control():
    x, k, v = tensor(1), tensor(2), tensor(3)
    results = []
    for count in (3, 0):
        y = x
        for _ in range(count):
            y = attention(y, k, v)
        results.append(flatten(attention(y, v, k) if count else y))
    return results


def called():
    x, y = tensor(1), tensor(2)
    first = attention(x, y, y)
    return [flatten(attention(first, x, x)), flatten(first)]


def packed():
    x = shape(noise(B * S * 3 * H * D, 5), (B, S, 3, H, D))
    q, k, v = ([[row[i] for row in batch] for batch in x] for i in range(3))
    o = flatten(swap(attention(swap(q), swap(k), swap(v), causal=True)))
    bias = noise(H * D, 9)
    return [add(o, bias * (B * S))]


def rows():
    q, k, v = (swap(shape(noise(B * S * H * D, seed), (B, S, H, D)))
               for seed in (1, 2, 3))
    return [flatten(swap(attention(q, k, v)))]


def captures():
    q, k, v = tensor(1), tensor(2), tensor(3)
    bias = shape(noise(H * S * S, 4), (H, S, S))
    results = []
    for slope in (0.5, -0.25):
        results.append(flatten(attention(
            q, k, v, scale=0.5,
            score=lambda s, b, h, i, j: s + slope * (j - i) + bias[h][i][j])))
    return results


def layers():
    x = tensor(1)
    for _ in range(32):
        x = shape(add(flatten(x), flatten(attention(x, x, x))), (B, H, S, D))
        x = shape([f16(y / 2) for y in flatten(x)], (B, H, S, D))
    return [flatten(x)]
