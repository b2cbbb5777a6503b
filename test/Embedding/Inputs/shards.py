# SPDX-License-Identifier: Apache-2.0
"""What shards.mlir prints: attention on one device."""

import math

from grouped import attend
from values import attention, flatten, noise, shape


def get(seed, *dims):
    return shape(noise(math.prod(dims), seed), dims)


def shards():
    q, k, v = get(1, 2, 4, 20, 16), get(2, 2, 2, 20, 16), get(3, 2, 2, 20, 16)
    rows = attention(
        q, k, v, causal=True, score=lambda s, b, h, i, j: s + (3 * b + h + 5 * (i - j)) / 32
    )
    keys = [20, 13]
    used = attend(q, k, v, lambda b, i: min(i, keys[b] - 1), sinks=[0.5, -1.0, 1.5, 0.25])
    return [flatten(rows), flatten(used), [0.0] * 2560, [0.0] * 1280, [0.0] * 1280]
