# SPDX-License-Identifier: Apache-2.0
"""Which problems each kernel is run on."""

import dataclasses
import itertools

# (queries, keys): less than a tile, no multiple of any tile, more queries than
# keys, and long ones; then nothing to read and nothing to write.
SHAPES = [
    (1, 1), (1, 147), (64, 128), (113, 203), (128, 217), (108, 256),
    (256, 512), (384, 256), (640, 128), (512, 256), (1024, 1024),
    (1023, 1024), (1024, 1023), (2048, 2048), (4096, 4096),
]  # fmt: skip
EMPTY_SHAPES = [(5, 0), (130, 0), (0, 5)]
BATCHES = (1, 9)
# (query heads, key heads); one key head serves all in "mqa".
GROUPS = {"g1": (3, 3), "g4": (8, 2), "g5": (10, 2), "g8": (16, 2), "mqa": (6, 1)}
_FEW_HEADS = {"g1": (2, 2), "g4": (4, 1), "g5": (5, 1), "g8": (8, 1), "mqa": (3, 1)}
# Where a tensor's elements lie; see memory.py.
MEMORIES = ("bhsd", "bshd", "padded", "sbhd")
DISTRIBUTIONS = ("normal", "outlier", "falling")


@dataclasses.dataclass(frozen=True)
class Case:
    batch: int
    heads: int
    key_heads: int
    queries: int
    keys: int
    memory: str
    distribution: str

    @property
    def name(self):
        return (
            f"b{self.batch} h{self.heads}/{self.key_heads} "
            f"sq{self.queries} sk{self.keys} {self.memory} {self.distribution}"
        )


def _case(group, shape, batch, memory, distribution):
    queries, keys = shape
    # The oracle holds all scores of some heads; long sequences have few heads,
    # unless the kernel is for a number of them.
    heads = group
    if isinstance(group, str):
        heads = (_FEW_HEADS if queries * keys >= 1 << 21 else GROUPS)[group]
    return Case(batch, *heads, queries, keys, memory, distribution)


def covering(number, groups, shapes, batches):
    """The cases of kernel `number`: every shape with every batch; groups (names,
    or numbers of query and key heads), orders in memory and distributions rotate
    from shape to shape and from kernel to kernel, with periods that have no
    common factor, so that all pairs of them occur."""
    cases = []
    for (s, shape), (b, batch) in itertools.product(
        enumerate(shapes), enumerate(batches)
    ):
        turn = number + s + 2 * b
        cases.append(
            _case(
                groups[turn % len(groups)],
                shape,
                batch,
                MEMORIES[turn % len(MEMORIES)],
                DISTRIBUTIONS[turn % len(DISTRIBUTIONS)],
            )
        )
    return cases


def product(number, groups, shapes, batches):
    """Every group, shape and batch with every kernel."""
    return [
        _case(
            group,
            shape,
            batch,
            MEMORIES[(number + turn) % len(MEMORIES)],
            DISTRIBUTIONS[(number + turn) % len(DISTRIBUTIONS)],
        )
        for turn, (group, shape, batch) in enumerate(
            itertools.product(groups, shapes, batches)
        )
    ]
