# SPDX-License-Identifier: Apache-2.0
"""What came to fa3 behind scaled_dot_product_attention: how much of it ran, and why the
rest did not."""

from __future__ import annotations

import collections


class Report:
    """Calls of scaled_dot_product_attention that came to fa3: how many it ran, how
    many gradients it gave, and how many calls went to torch's kernels, by reason."""

    def __init__(self) -> None:
        self.ran = 0
        self.gradients = 0
        self.declined: collections.Counter[str] = collections.Counter()

    def __str__(self) -> str:
        lines = [
            f"fa3 ran {self.ran} calls and {self.gradients} gradients, torch "
            f"{sum(self.declined.values())}"
        ]
        lines += [f"{count:8} {why}" for why, count in self.declined.most_common()]
        return "\n".join(lines)

    __repr__ = __str__


current = Report()


def report(reset: bool = False) -> Report:
    """What happened since activate(), or since the last reset."""
    global current
    made = current
    if reset:
        current = Report()
    return made
