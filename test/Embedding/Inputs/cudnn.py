# SPDX-License-Identifier: Apache-2.0
"""What cudnn.mlir prints: attention and its gradients, by their formulas."""

import math

from values import D, f16, flatten, noise, shape, swap


def get(seed, *dims):
    return shape(noise(math.prod(dims), seed), dims)


def zeros(x):
    return [zeros(y) for y in x] if isinstance(x, list) else 0.0


def dot(x, y):
    return sum(a * b for a, b in zip(x, y))


def axpy(factor, x, y):
    y[:] = [a * factor + b for a, b in zip(x, y)]


def attend(q, k, v, do, sees, bias=None, scale=1 / math.sqrt(D)):
    """o, dq, dk, dv and the gradient of the bias, on (b, h, s, d)."""
    o, dq, dk, dv = zeros(q), zeros(q), zeros(k), zeros(v)
    dbias = zeros(bias) if bias else None
    for b, batch in enumerate(q):
        group = len(batch) // len(k[b])
        for h, rows in enumerate(batch):
            keys, vals = k[b][h // group], v[b][h // group]
            for i, row in enumerate(rows):
                seen = [j for j in range(len(keys)) if sees(b, i, j)]
                if not seen:
                    continue
                scores = [scale * dot(row, keys[j])
                          + (bias[0][h][i][j] if bias else 0) for j in seen]
                top = max(scores)
                weights = [math.exp(s - top) for s in scores]
                total = sum(weights)
                for w, j in zip(weights, seen):
                    axpy(w / total, vals[j], o[b][h][i])
                o[b][h][i] = [f16(x) for x in o[b][h][i]]
                mean = dot(do[b][h][i], o[b][h][i])
                for w, j in zip(weights, seen):
                    p = w / total
                    change = p * (dot(do[b][h][i], vals[j]) - mean)
                    axpy(change * scale, keys[j], dq[b][h][i])
                    axpy(change * scale, row, dk[b][h // group][j])
                    axpy(p, do[b][h][i], dv[b][h // group][j])
                    if bias:
                        dbias[0][h][i][j] += change
    return [o, dq, dk, dv] + ([dbias] if bias else [])


def cudnn():
    q, do = swap(get(1, 2, 20, 4, 16)), swap(get(4, 2, 20, 4, 16))
    k, v = swap(get(2, 2, 20, 2, 16)), swap(get(3, 2, 20, 2, 16))
    x, y = swap(get(2, 2, 20, 4, 16)), swap(get(3, 2, 20, 4, 16))
    m, n = [20, 9], [17, 12]
    causal = attend(q, k, v, do, lambda b, i, j: j <= i)
    bias = attend(q, x, y, do, lambda b, i, j: True, get(5, 1, 4, 20, 20))
    lengths = attend(q, x, y, do,
                     lambda b, i, j: j <= i and i < m[b] and j < n[b])
    return [flatten(swap(z)) for z in causal + bias[:4]] + [flatten(bias[4])] + [
        flatten(swap(z)) for z in lengths]
