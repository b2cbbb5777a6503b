# SPDX-License-Identifier: Apache-2.0
"""What tiles.mlir prints: attention that is not tiled."""

import math

from grouped import attend
from values import attention, flatten, noise, shape, swap


def get(seed, *dims):
    return shape(noise(math.prod(dims), seed), dims)


def tiles():
    q, k, v = get(1, 2, 4, 20, 16), get(2, 2, 2, 20, 16), get(3, 2, 2, 20, 16)
    groups = attention(q, k, v, causal=True)
    heads = attention(
        swap(get(1, 2, 20, 4, 16)), swap(get(2, 2, 20, 1, 16)),
        swap(get(3, 2, 20, 1, 16)),
        score=lambda s, b, h, i, j: s + (3 * b + h + 5 * (i - j)) / 32)
    keys = [20, 13]
    used = attend(q, k, v, lambda b, i: min(i, keys[b] - 1),
                  sinks=[0.5, -1.0, 1.5, 0.25])
    return [flatten(groups), flatten(swap(heads)), flatten(used), [0.0] * 2560]
