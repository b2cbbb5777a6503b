# SPDX-License-Identifier: Apache-2.0
"""What a forked child has to forget: locks that threads of its parent held, which it
does not have, and files that its parent has locked."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Callable

_locks: "weakref.WeakSet[Any]" = weakref.WeakSet()
_in_child: list[Callable[[], None]] = []


def lock() -> Any:
    """A threading.Lock that is free in a forked child."""
    made = threading.Lock()
    _locks.add(made)
    return made


def in_child(function: Callable[[], None]) -> Callable[[], None]:
    """Has a function called in a forked child, before anything else runs there."""
    _in_child.append(function)
    return function


def _forget() -> None:
    for one in list(_locks):
        one._at_fork_reinit()
    for function in _in_child:
        function()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
