# SPDX-License-Identifier: Apache-2.0
"""Masks of the gallery, as FlexAttention and fa3.attention take them: the first line
of the text of each is its caption."""


def causal(b, h, q, kv):
    """A query sees the keys up to its own place."""
    return q >= kv


def window(b, h, q, kv):
    """A causal window: the key itself and 24 before it."""
    return (q >= kv) & (q - kv <= 24)


def global_window(b, h, q, kv):
    """A window, and 16 keys that every query sees (sinks)."""
    return (q >= kv) & ((q - kv <= 24) | (kv < 16))


def prefix(b, h, q, kv):
    """A prefix of 40 keys without order, then causal."""
    return (q >= kv) | (kv < 40)


def documents(b, h, q, kv):
    """Documents of 48 tokens one after the other, causal in each."""
    return (q >= kv) & (q // 48 == kv // 48)


def block_causal(b, h, q, kv):
    """Blocks of 32: all of the own block, and all before (block diffusion)."""
    return q // 32 >= kv // 32


def chunks(b, h, q, kv):
    """Chunks of 64: causal, and never across a chunk's start."""
    return (q >= kv) & (kv >= q - q % 64)


def dilated(b, h, q, kv):
    """Every fourth key of a causal window of 96."""
    return (q >= kv) & (q - kv <= 96) & ((q - kv) % 4 == 0)


def neighborhood(b, h, q, kv):
    """An image of 16 x 16: neighbors at most 3 away in both directions."""
    rows = q // 16 - kv // 16
    columns = q % 16 - kv % 16
    return (rows <= 3) & (rows >= -3) & (columns <= 3) & (columns >= -3)


def two_streams(b, h, q, kv):
    """Even and odd tokens do not see each other."""
    return (q >= kv) & (q % 2 == kv % 2)
