# SPDX-License-Identifier: Apache-2.0
"""What the programs of test/Embedding print, in Python, for run.py.

A function for every program. Tensors are nested lists; what a program holds in
f16 is rounded to f16.
"""

import math
import struct

B, H, S, D = 2, 2, 20, 16

# What a kernel may be off, where it rounds more than its result; by definition
# nothing is rounded in between.
TOLERANCE = {"backward": 1e-2, "cudnn": 1e-2, "differentiate": 1e-2, "float8": 6e-2}


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
                     for c in range(len(vals[0]))])
    return result


def gradients(q, k, v, o, do, causal=False, cap=None, scale=1 / math.sqrt(D)):
    """Of q, k and v; with a soft cap scores are cap * tanh(score / cap)."""
    def zeros(x):
        return [[[[0.0] * len(row) for row in head] for head in batch]
                for batch in x]

    def dot(x, y):
        return sum(a * b for a, b in zip(x, y))

    def axpy(factor, x, y):
        y[:] = [a * factor + b for a, b in zip(x, y)]

    dq, dk, dv = zeros(q), zeros(k), zeros(v)
    for b, batch in enumerate(q):
        group = len(batch) // len(k[b])
        for h, rows in enumerate(batch):
            keys, vals = k[b][h // group], v[b][h // group]
            for i, row in enumerate(rows):
                seen = i + 1 + len(keys) - len(rows) if causal else len(keys)
                raw = [scale * dot(row, key) for key in keys[:seen]]
                scores = [cap * math.tanh(s / cap) for s in raw] if cap else raw
                top = max(scores)
                total = sum(math.exp(s - top) for s in scores)
                mean = dot(do[b][h][i], o[b][h][i])
                for j, s in enumerate(scores):
                    weight = math.exp(s - top) / total
                    change = weight * (dot(do[b][h][i], vals[j]) - mean) * scale
                    change *= 1 - (s / cap) ** 2 if cap else 1
                    axpy(change, keys[j], dq[b][h][i])
                    axpy(change, row, dk[b][h // group][j])
                    axpy(weight, do[b][h][i], dv[b][h // group][j])
    return dq, dk, dv


def f8(x):
    """The nearest number of f8E4M3FN, ties to even."""
    if x == 0:
        return 0.0
    unit = 2.0 ** (max(math.frexp(x)[1] - 1, -6) - 3)
    return max(-448.0, min(448.0, round(x / unit) * unit))


def quantize(x):
    """What 8-bit numbers and a scale for every head stand for."""
    result = []
    for batch in x:
        scales = [max(abs(y) for y in flatten(head)) / 448 for head in batch]
        result.append([[[f8(y / scale) * scale for y in row] for row in head]
                       for head, scale in zip(batch, scales)])
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


def memrefs():
    x = shape(noise(B * S * 3 * H * D, 5), (B, S, 3, H, D))
    q, k, v = ([[row[i] for row in batch] for batch in x] for i in range(3))
    packed = flatten(swap(attention(swap(q), swap(k), swap(v), causal=True)))
    y = tensor(1)
    z = [[[list(row) for row in zip(*head)] for head in batch]
         for batch in shape(noise(B * H * D * S, 7), (B, H, D, S))]
    return [packed, flatten(attention(y, y, y, causal=True)),
            flatten(attention(z, z, z, causal=True))]


def backward():
    q, k, v = tensor(1), tensor(2, heads=1), tensor(3, heads=1)
    results = []
    for _ in range(2):
        o = attention(q, k, v, causal=True)
        dq, dk, dv = gradients(q, k, v, o, o, causal=True)
        results += [flatten(dk), flatten(dv)]
        q = shape([f16(x - f16(0.5 * f16(dx)))
                   for x, dx in zip(flatten(q), flatten(dq))], (B, H, S, D))
    return results + [flatten(q)]


def differentiate():
    q, k, v, do = (tensor(seed) for seed in (1, 2, 3, 4))
    o = attention(q, k, v, score=lambda s, b, h, i, j: 2 * math.tanh(s / 2))
    return [flatten(o)] + [flatten(x) for x in gradients(q, k, v, o, do, cap=2)]


def float8():
    q, k, v = (shape(noise(B * H * S * 32, seed), (B, H, S, 32))
               for seed in (1, 2, 3))
    scale = 1 / math.sqrt(32)
    q8, k8, v8 = map(quantize, (q, k, v))
    o = attention(q8, k8, v8, scale=scale)
    p = attention(k8, q8, v8, causal=True, scale=scale)
    return [flatten(o), flatten(p),
            flatten(attention(o, p, v, causal=True, scale=scale))]


def rotate(x, cos, sin, first, interleaved=False):
    def turn(row, p):
        pairs = len(cos[p])
        row = list(row)
        for i in range(pairs):
            a, b = (2 * i, 2 * i + 1) if interleaved else (i, i + pairs)
            row[a], row[b] = (f16(row[a] * cos[p][i] - row[b] * sin[p][i]),
                              f16(row[b] * cos[p][i] + row[a] * sin[p][i]))
        return row

    return [[[turn(row, start + t) for t, row in enumerate(head)]
             for head in batch] for batch, start in zip(x, first)]


def rotary():
    x, y, v = (tensor(seed) for seed in (1, 2, 3))
    tables = [shape(noise(320, seed), (40, 8)) for seed in (4, 5)]
    first = [3, 11]
    q, k = (rotate(z, *tables, first) for z in (x, y))
    u = rotate(v, *tables, first, interleaved=True)
    return [flatten(attention(q, k, v, causal=True, scale=0.1)),
            flatten(attention(u, y, v, scale=0.1)),
            flatten(attention(x, u, v, scale=0.1))]


def append():
    x, keys, vals = (tensor(seed) for seed in (1, 2, 3))
    tables = [shape(noise(320, seed), (40, 8)) for seed in (4, 5)]
    last = [[[[0.0] * D] for _ in range(H)] for _ in range(B)]
    for step in range(4):
        first = [4 + step, 9 + step]
        row = [[[head[step]] for head in batch] for batch in x]
        turned = rotate(row, *tables, first)
        for b, start in enumerate(first):
            for h in range(H):
                keys[b][h][start] = turned[b][h][0]
                vals[b][h][start] = row[b][h][0]
        o = [attention([row[b]], [[head[:n + 1] for head in keys[b]]],
                       [[head[:n + 1] for head in vals[b]]], scale=0.1)[0]
             for b, n in enumerate(first)]
        last = shape(add(flatten(last), flatten(o)), (B, H, 1, D))
    return [flatten(last), flatten(keys), flatten(vals)]
