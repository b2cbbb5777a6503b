# SPDX-License-Identifier: Apache-2.0
"""Tracing of score_mod and mask_mod: the functions run once on stand-ins for
their arguments (standins.py), which record what is done with them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import traceback
from typing import Any

from . import tensors
from .capture import Capture
from .errors import TraceError
from .functions import NeedsNumber, is_ours
from .graph import BOOL, FLOAT, INDEX, Graph, Node, Printer
from .spec import Auxiliary, Regions
from .standins import (
    Operators,
    ReadsShape,
    Session,
    Table,
    Value,
    apply,
    current,
    found_table,
    is_value,
    to_node,
)

_ARGUMENTS = ("b", "h", "i", "j")
_MAX_I32 = 2**31 - 1
_MAX_RANK = 8  # of an argument of a launch


@dataclasses.dataclass
class Traced:
    """Traced mods with what they captured, in the order of the regions'
    arguments. `uses` says for every tensor which of b, h, i, j is the index of
    each of its dimensions, None where it is another one. A tensor that is read in
    two ways is there twice."""

    regions: Regions
    tensors: tuple[Any, ...]
    scalars: tuple[int | float, ...]
    uses: tuple[tuple[str | None, ...], ...]
    names: tuple[str, ...]
    places: dict[str, list[tuple[str, int]]]

    def place_of(self, text: str, line: int) -> tuple[str, int]:
        """The user's file and line behind a line of the module, or ("", 0)."""
        lines = text.splitlines()
        if not 1 <= line <= len(lines):
            return "", 0
        for name, region in (
            ("score_mod", self.regions.score), ("mask_mod", self.regions.mask)
        ):  # fmt: skip
            start = text.find(region) if region else -1
            if start < 0:
                continue
            first = text.count("\n", 0, start) + 1
            places = self.places.get(name, ())
            if first <= line < first + len(places):
                return places[line - first]
        return "", 0


@dataclasses.dataclass
class _Entry:
    """A trace in the cache: with these captured numbers as constants, the others
    as arguments in this order."""

    constants: dict[int, int | float]
    numbers: tuple[int, ...]
    tensors: tuple[int, ...]
    traced: Traced


_entries: dict[Any, list[_Entry]] = {}
_MAX_ENTRIES = 1024


def trace_mods(score_mod: Any, mask_mod: Any) -> Traced:
    """The regions of a score_mod(score, b, h, q, kv) and a mask_mod(b, h, q, kv),
    either of which may be None."""
    for name, mod in (("score_mod", score_mod), ("mask_mod", mask_mod)):
        if mod is not None and not callable(mod):
            raise TraceError(f"{name} is {tensors.type_name(mod)}, expected a function")
    capture = Capture(score_mod, mask_mod)
    entry, is_new = _find_entry(capture, score_mod, mask_mod)
    if is_new or not (entry.tensors or entry.numbers):
        return entry.traced
    return dataclasses.replace(
        entry.traced,
        tensors=tuple(capture.tensors[n] for n in entry.tensors),
        scalars=tuple(capture.numbers[n] for n in entry.numbers),
    )


def _find_entry(
    capture: Capture, score_mod: Any, mask_mod: Any
) -> tuple["_Entry", bool]:
    """The trace of mods, and whether it was just made: then it has its tensors."""
    if not capture.volatile:
        try:
            found = _entries.get(capture.key, ())
        except TypeError:  # something in a closure has no hash
            capture.volatile, found = True, ()
        for entry in found:
            if all(capture.numbers[n] == x for n, x in entry.constants.items()):
                return entry, False
    constants: dict[int, int | float] = {
        n: x for n, x in enumerate(capture.numbers)
        if isinstance(x, int) and abs(x) > _MAX_I32
    }  # fmt: skip
    while True:
        try:
            entry = _trace(capture, score_mod, mask_mod, constants)
            break
        except NeedsNumber as needed:
            constants = {**constants, **{n: capture.numbers[n] for n in needed.numbers}}
        except ReadsShape:
            capture.volatile = capture.recursive = True
    if not capture.volatile:
        if len(_entries) >= _MAX_ENTRIES:
            _entries.clear()
        # Tensors belong to the call.
        kept = dataclasses.replace(entry.traced, tensors=())
        _entries.setdefault(capture.key, []).append(
            dataclasses.replace(entry, traced=kept)
        )
    return entry, True


def plan_mods(score_mod: Any, mask_mod: Any) -> Any:
    """For torch.compile: where the numbers and tensors of mods are, as paths for
    fa3.capture.follow; None where not all of what matters can be followed."""
    try:
        capture = Capture(score_mod, mask_mod)
        hash(capture.key)
    except TypeError:
        return None
    if capture.volatile or capture.reads_globals:
        return None
    if None in capture.number_paths or None in capture.tensor_paths:
        return None
    return tuple(capture.number_paths), tuple(capture.tensor_paths)


def describe_mods(score_mod: Any, mask_mod: Any) -> Any:
    """For torch.compile: traced mods as text; which of the captured tensors and
    numbers are arguments, in order; and the numbers that are constants of the
    kernel, with their values. None if not all tensors are captured ones."""
    from .program import mods_text

    capture = Capture(score_mod, mask_mod)
    entry, _ = _find_entry(capture, score_mod, mask_mod)
    if capture.volatile or -1 in entry.tensors:
        return None
    return (
        mods_text(entry.traced), entry.tensors, entry.numbers,
        tuple(entry.constants.items()),
    )  # fmt: skip


def _trace(
    capture: Capture, score_mod: Any, mask_mod: Any, constants: dict[int, int | float]
) -> _Entry:
    session = Session()
    nodes: dict[str, Node] = {}
    graphs = []
    position = [0, 0]  # of captured numbers and tensors, over both mods

    def replace(value: Any) -> Any:
        if tensors.is_torch(value):
            position[1] += 1
            return Table(value, capture.tensor_names[position[1] - 1])
        number = position[0]
        position[0] += 1
        if number in constants:
            return value
        type = "i32" if isinstance(value, int) else FLOAT
        return Value(session.graph.number(number, type))

    for name, mod in (("score_mod", score_mod), ("mask_mod", mask_mod)):
        if mod is None:
            continue
        session.graph = Graph()
        original = mod
        if not capture.recursive:
            mod = Capture.substitute(mod, replace)
        try:
            nodes[name] = _run(session, name, mod)
        except TraceError as error:
            nodes[name] = _run_by_torch(
                session, capture, name, original, constants, error
            )
        graphs.append(session.graph)
    return _finish(capture, session, nodes, constants)


def _run_by_torch(
    session: Session, capture: Capture, name: str, mod: Any,
    constants: dict[int, int | float], error: TraceError,
) -> Node:  # fmt: skip
    """What stand-ins cannot take, by make_fx; raises `error` if that cannot either."""
    from . import fx_trace

    known = {
        id(one): called for one, called in zip(capture.tensors, capture.tensor_names)
    }

    def table(tensor: Any) -> Any:
        called = known.get(id(tensor))
        return found_table(tensor) if called is None else Table(tensor, called)

    session.graph = Graph()
    args = [Value(session.graph.argument(one, INDEX)) for one in _ARGUMENTS]
    if name == "score_mod":
        args.insert(0, Value(session.graph.argument("score", FLOAT)))
    previous = getattr(current, "session", None)
    current.session = session
    try:
        node = to_node(fx_trace.run(name, mod, args, apply, table))
        made = session.graph.cast(node, FLOAT if name == "score_mod" else BOOL)
    except Exception:  # the first error is the one that the user understands
        raise error from None
    finally:
        current.session = previous
    missing = set(range(len(capture.numbers))) - set(constants)
    if missing:
        # Their values are in the graph.
        raise NeedsNumber(frozenset(missing))
    return made


def _run(session: Session, name: str, mod: Any) -> Node:
    graph = session.graph
    args = [Value(graph.argument(one, INDEX)) for one in _ARGUMENTS]
    if name == "score_mod":
        args.insert(0, Value(graph.argument("score", FLOAT)))
    previous = getattr(current, "session", None)
    current.session = session
    try:
        with _torch_mode():
            result = mod(*args)
        if not is_value(result):
            raise TraceError(
                f"{name} returns {tensors.type_name(result)}, expected a "
                + ("score" if name == "score_mod" else "truth value")
            )
        node = to_node(result)
        return graph.cast(node, FLOAT if name == "score_mod" else BOOL)
    except (TraceError, NeedsNumber, ReadsShape):
        raise
    except Exception as error:
        file, line = "", 0
        for frame in traceback.extract_tb(error.__traceback__):
            if not is_ours(frame.filename):
                file, line = frame.filename, frame.lineno or 0
        raise TraceError(f"{name}: {type(error).__name__}: {error}", file, line) from error
    finally:
        current.session = previous


def _torch_mode() -> Any:
    """Makes tensor[traced] come to us, which asks only the tensor otherwise."""
    torch = tensors.torch_module()
    if torch is None:
        return contextlib.nullcontext()
    from torch.overrides import TorchFunctionMode

    class Mode(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            flat = list(args)
            for one in args:
                if isinstance(one, (tuple, list)):
                    flat += one
            flat += (kwargs or {}).values()
            if any(isinstance(one, Operators) for one in flat):
                return apply(func.__name__, args, kwargs or {})
            return func(*args, **(kwargs or {}))

    return Mode()


def _finish(
    capture: Capture, session: Session, nodes: dict[str, Node],
    constants: dict[int, int | float],
) -> _Entry:  # fmt: skip
    numbers = sorted(set().union(*(node.numbers for node in nodes.values())))
    if session.found:
        capture.volatile = True
    auxiliaries = []
    for tensor, called in zip(session.tensors, session.tensor_names):
        if tensor.dim() > _MAX_RANK:
            raise TraceError(
                f"tensor '{called}' has rank {tensor.dim()}, expected at most {_MAX_RANK}"
            )
        type = tensors.view("", tensor).type
        auxiliaries.append(
            Auxiliary("i8" if type == "i1" else type, max(1, tensor.dim()))
        )
    texts, places = {}, {}
    for name, node in nodes.items():
        printer = Printer([one.mlir for one in auxiliaries])
        texts[name] = _renumber(printer.print(name, node), numbers)
        places[name] = printer.places
    order = {id(tensor): n for n, tensor in reversed(list(enumerate(capture.tensors)))}
    if any(id(tensor) not in order for tensor in session.tensors):
        capture.volatile = True
    regions = Regions(
        texts.get("score_mod", ""),
        texts.get("mask_mod", ""),
        tuple(auxiliaries),
        tuple("i32" if isinstance(capture.numbers[n], int) else FLOAT for n in numbers),
    )
    traced = Traced(
        regions, tuple(session.tensors), tuple(capture.numbers[n] for n in numbers),
        tuple(session.uses), tuple(session.tensor_names), places,
    )  # fmt: skip
    return _Entry(
        dict(constants), tuple(numbers),
        tuple(order.get(id(tensor), -1) for tensor in session.tensors), traced,
    )  # fmt: skip


def _renumber(text: str, numbers: list[int]) -> str:
    """Captured numbers by their position among those that are used."""
    import re

    position = {number: index for index, number in enumerate(numbers)}
    return re.sub(
        r"%arg(\d+)", lambda found: f"%arg{position[int(found.group(1))]}", text
    )
