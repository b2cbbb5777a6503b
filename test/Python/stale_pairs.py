# SPDX-License-Identifier: Apache-2.0
"""Pairs of a mod and a change of what it reads: those of tables, and others. A pair is a
generator that gives the mod, changes something, and gives the mod after that. See
test_stale_mods.py."""

from stale_others import OTHERS
from stale_tables import HOLDERS, SIZE, VALUES

__all__ = ["OTHERS", "SIZE", "pairs"]


def pairs():
    """Names and generators."""
    for holder, hold in HOLDERS.items():
        for what, (expression, old, new) in VALUES.items():
            yield f"{what} in {holder}", hold(old)(expression, new)
    for name, made in OTHERS.items():
        yield name, made()
