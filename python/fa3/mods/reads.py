# SPDX-License-Identifier: Apache-2.0
"""What the code of a function may read besides its arguments: globals and cells, with
the attributes that are asked of them at once. Of what no look at the code can prove,
`is_open` says so."""

from __future__ import annotations

import dis
import types

#: What changes its object: a mod that does so is run as it is.
_CHANGES = frozenset((
    "append", "extend", "insert", "pop", "popitem", "remove", "clear", "update",
    "setdefault", "sort", "reverse", "add", "discard",
))  # fmt: skip
#: What can tell a stand-in from a number or a tensor.
_INSPECTS = frozenset((
    "isinstance", "issubclass", "type", "callable", "hasattr", "getattr", "id", "hash",
    "repr", "vars", "dir",
))  # fmt: skip
_CALLS = ("LOAD_ATTR", "LOAD_METHOD")
_STORES = ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE", "STORE_ATTR", "DELETE_ATTR",
           "STORE_GLOBAL", "DELETE_GLOBAL", "MATCH_CLASS")  # fmt: skip
_CELLS = ("LOAD_DEREF", "LOAD_CLOSURE", "MAKE_CELL", "COPY_FREE_VARS")
_NAMES = frozenset(dis.opname[one] for one in dis.hasname)
_FREE = frozenset(dis.opname[one] for one in dis.hasfree)
_MAX_KNOWN = 4096

Chains = tuple[tuple[str, ...], ...]


class Reads:
    """Of one code object, with the functions in it. It is in keys of caches, as
    itself: there is one for a code object, which it keeps.

    `globals` and `cells` are names with the attributes that are read of them, ()
    where the object itself is used. `is_open`: it reads what a key cannot say.
    `as_it_is`: stand-ins for what it captured would change what it does."""

    __slots__ = ("code", "globals", "cells", "is_open", "as_it_is")

    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        self.is_open = self.as_it_is = False
        found: dict[str, dict[tuple[str, ...], None]] = {}
        cells: dict[str, dict[tuple[str, ...], None]] = {}
        self._look(code, frozenset(code.co_freevars), found, cells)
        self.globals = tuple((name, tuple(chains)) for name, chains in found.items())
        self.cells: tuple[Chains, ...] = tuple(
            tuple(cells.get(name, ())) for name in code.co_freevars
        )
        if self.as_it_is:
            self.is_open = True

    def _look(
        self, code: types.CodeType, free: frozenset[str],
        found: dict[str, dict[tuple[str, ...], None]],
        cells: dict[str, dict[tuple[str, ...], None]],
    ) -> None:  # fmt: skip
        steps = [one for one in dis.get_instructions(code) if one.opname != "EXTENDED_ARG"]
        for number, one in enumerate(steps):
            name = one.opname
            if name in _CALLS:
                attribute = str(one.argval)
                if attribute.startswith("__"):
                    self.is_open = True
                if attribute in _CHANGES:
                    self.as_it_is = True
            elif name == "LOAD_GLOBAL":
                if one.argval in _INSPECTS:
                    self.as_it_is = True
                found.setdefault(one.argval, {})[_chain(steps, number)] = None
            elif name in _STORES:
                self.as_it_is = True
            elif name in _NAMES:  # imports, names of a class, super()
                self.is_open = True
            elif name in _FREE and one.argval in free:
                if name == "LOAD_DEREF":
                    cells.setdefault(one.argval, {})[_chain(steps, number)] = None
                elif name not in _CELLS:
                    self.as_it_is = True
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._look(constant, free & frozenset(constant.co_freevars), found, cells)


def _chain(steps: list[dis.Instruction], number: int) -> tuple[str, ...]:
    """The attributes that are asked for right after a step."""
    names = []
    for one in steps[number + 1 :]:
        if one.opname not in _CALLS:
            break
        names.append(str(one.argval))
    return tuple(names)


_known: dict[int, Reads] = {}


def of(code: types.CodeType) -> Reads:
    made = _known.get(id(code))
    if made is None:
        if len(_known) >= _MAX_KNOWN:
            # Those in keys of caches stay, and are equal to no new one.
            _known.clear()
        made = _known[id(code)] = Reads(code)
    return made
