# SPDX-License-Identifier: Apache-2.0
"""Tracing of score_mod, mask_mod and epilogue: the functions run once on stand-ins
for their arguments (standins.py), which record what is done with them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import traceback
from typing import Any, Callable, Mapping, Sequence

from ..errors import ArgumentError, TraceError
from ..support import tensors
from .capture import Capture
from .copies import Copies
from .scalars.graph import BOOL, FLOAT, INDEX, Graph, Node
from .scalars.places import EndsGradient, NeedsNumber, ReadsElements, is_ours
from .scalars.printer import Printer
from .regions import Auxiliary, Regions
from .standins import (
    PROPERTIES, Operators, Session, Table, Value, apply, current, found_table,
    is_constant, is_value, to_node,
)  # fmt: skip

_ARGUMENTS = ("b", "h", "i", "j")
#: What each is called with: a number, if any, and indices; and what it is to return.
_SIGNATURES = {
    "score_mod": ("score", _ARGUMENTS, "score"),
    "mask_mod": (None, _ARGUMENTS, "truth value"),
    "epilogue": ("x", ("b", "h", "i", "c"), "number"),
}
_MAX_I32 = 2**31 - 1
_MAX_RANK = 8  # of an argument of a launch


@dataclasses.dataclass
class Traced:
    """Traced mods with what they captured, in the order of the regions'
    arguments. `uses` says for every tensor which of b, h, i, j, c is the index of
    each of its dimensions, None where it is another one. A tensor that is read in
    two ways is there twice."""

    regions: Regions
    tensors: tuple[Any, ...]
    scalars: tuple[int | float, ...]
    uses: tuple[tuple[str | None, ...], ...]
    names: tuple[str, ...]
    places: dict[str, list[tuple[str, int]]]

    def cut(
        self, number: int, shape: Sequence[int], extents: Mapping[str, int | None]
    ) -> list[int]:
        """What is read of tensor `number`, whose extents may be larger; `extents` has those
        of indices, None where nobody knows. Raises ArgumentError."""
        made = list(shape)
        for d, index in enumerate(self.uses[number]):
            limit = None if index is None else extents[index]
            if limit is None:
                continue
            if made[d] < limit:
                raise ArgumentError(
                    self.names[number],
                    f"{made[d]} elements of dimension {d} are read at {limit} indices",
                )
            made[d] = limit
        return made

    def place_of(self, text: str, line: int) -> tuple[str, int]:
        """The user's file and line behind a line of the module, or ("", 0)."""
        lines = text.splitlines()
        if not 1 <= line <= len(lines):
            return "", 0
        for name, region in (
            ("score_mod", self.regions.score), ("mask_mod", self.regions.mask),
            ("epilogue", self.regions.epilogue),
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
    as arguments in this order. `reads` are the extents, strides and the like of
    captured tensors that the mods have read, as (tensor, what, value), `indices` the
    numbers that are indices, as (number, tensor, dimension)."""

    constants: dict[int, int | float]
    numbers: tuple[int, ...]
    tensors: tuple[int, ...]
    reads: tuple[tuple[int, str, Any], ...]
    indices: tuple[tuple[int, int, int], ...]
    traced: Traced

    def is_of(self, capture: Capture) -> bool:
        # As text: zeros have signs, NaN is NaN.
        return (
            all(repr(capture.numbers[n]) == repr(x) for n, x in self.constants.items())
            and all(PROPERTIES[what](capture.tensors[n]) == value for n, what, value in self.reads)
            and all(
                0 <= capture.numbers[n] < capture.tensors[t].shape[d] for n, t, d in self.indices
            )
        )


_entries: dict[Any, list[_Entry]] = {}
#: Of all mods, and of those that differ only in constants and extents.
_MAX_ENTRIES, _MAX_ALIKE = 1024, 32


Mods = dict[str, Any]


def trace_mods(score_mod: Any, mask_mod: Any, epilogue: Any = None) -> Traced:
    """The regions of a score_mod(score, b, h, q, kv), a mask_mod(b, h, q, kv) and an
    epilogue(x, b, h, q, column), each of which may be None."""
    mods = {"score_mod": score_mod, "mask_mod": mask_mod, "epilogue": epilogue}
    for name, mod in mods.items():
        if mod is not None and not callable(mod):
            raise TraceError(f"{name} is {tensors.type_name(mod)}, expected a function")
    capture = Capture(*mods.values())
    entry, is_new = find_entry(capture, mods)
    if is_new or not (entry.tensors or entry.numbers):
        return entry.traced
    return dataclasses.replace(
        entry.traced,
        tensors=tuple(capture.tensors[n] for n in entry.tensors),
        scalars=tuple(capture.numbers[n] for n in entry.numbers),
    )


def find_entry(capture: Capture, mods: Mods) -> tuple["_Entry", bool]:
    """The trace of mods, and whether it was just made: then it has its tensors."""
    if not capture.volatile:
        for entry in _entries.get(capture.key, ()):
            if entry.is_of(capture):
                return entry, False
    entry = _trace_anew(capture, mods)
    if not capture.volatile:
        alike = _entries.setdefault(capture.key, [])
        if len(alike) >= _MAX_ALIKE:
            alike.pop(0)
        if len(_entries) > _MAX_ENTRIES:
            _entries.pop(next(iter(_entries)), None)
        # Tensors belong to the call.
        kept = dataclasses.replace(entry.traced, tensors=())
        alike.append(dataclasses.replace(entry, traced=kept))
    return entry, True


def _trace_anew(capture: Capture, mods: Mods) -> "_Entry":
    constants: dict[int, int | float] = {
        n: x for n, x in enumerate(capture.numbers)
        if isinstance(x, int) and abs(x) > _MAX_I32
    }  # fmt: skip
    while True:
        try:
            return _trace(capture, mods, constants)
        except NeedsNumber as needed:
            constants = {**constants, **{n: capture.numbers[n] for n in needed.numbers}}


def _trace(capture: Capture, mods: Mods, constants: dict[int, int | float]) -> _Entry:
    session = Session(capture.numbers)
    nodes: dict[str, Node] = {}
    position = [0, 0]  # of captured numbers and tensors, over all mods

    def number(value: Any) -> Any:
        place = position[0]
        position[0] += 1
        value = capture.numbers[place]
        if place in constants:
            return value
        type = "i32" if isinstance(value, int) else FLOAT
        return Value(session.graph.number(place, type))

    def table(tensor: Any) -> Any:
        position[1] += 1
        return Table(tensor, capture.tensor_names[position[1] - 1])

    copies = Copies(number, table)
    for name, mod in mods.items():
        if mod is None:
            continue
        session.graph = Graph()
        copy = mod if capture.as_it_is else copies.of(mod)
        try:
            nodes[name] = _run(session, name, copy)
        except TraceError as error:
            nodes[name] = _run_otherwise(session, capture, name, mod, constants, error)
    return _finish(capture, session, nodes, constants)


def _run_otherwise(
    session: Session, capture: Capture, name: str, mod: Any,
    constants: dict[int, int | float], error: TraceError,
) -> Node:  # fmt: skip
    """What stand-ins for what is captured cannot take: by make_fx, or without those, so
    that elements of tensors can be read. Raises `error` if nothing can."""
    if isinstance(error, EndsGradient):
        raise error
    ways: list[Callable[[], Node]] = [
        lambda: _run_by_torch(session, capture, name, mod, constants),
        lambda: _run_as_it_is(session, capture, name, mod),
    ]
    if isinstance(error, ReadsElements):
        ways.reverse()
    for way in ways:
        session.graph = Graph()
        try:
            return way()
        except EndsGradient:
            raise
        except Exception:  # the first error is the one that the user understands
            continue
    raise error


def _run_as_it_is(session: Session, capture: Capture, name: str, mod: Any) -> Node:
    made = _run(session, name, mod)
    capture.volatile = True
    return made


def _run_by_torch(
    session: Session, capture: Capture, name: str, mod: Any,
    constants: dict[int, int | float],
) -> Node:  # fmt: skip
    from . import fx_trace

    known = {id(one): called for one, called in zip(capture.tensors, capture.tensor_names)}

    plain: dict[int, Any] = {}

    def without_transform(tensor: Any) -> Any:
        """make_fx cannot look at tensors of torch.func: of another one of their form it
        learns the same, unless it looks at numbers."""
        if not tensors.is_wrapped(tensor):
            return tensor
        made = sys.modules["torch"].zeros(
            tensor.shape, dtype=tensor.dtype, device=tensor.device,
            requires_grad=tensor.requires_grad,
        )  # fmt: skip
        plain[id(made)] = tensor, made
        return made

    if any(tensors.is_torch(one) and tensors.is_wrapped(one) for one in capture.tensors):
        mod = Copies(lambda value: value, without_transform).of(mod)

    def table(tensor: Any) -> Any:
        tensor, _ = plain.get(id(tensor), (tensor, None))
        called = known.get(id(tensor))
        if called is not None:
            return Table(tensor, called)
        if plain:
            raise TraceError(f"{name}: a tensor of torch.func is no plain table")
        return tensor.item() if is_constant(tensor) else found_table(tensor)

    args = _arguments(session, name)
    previous = getattr(current, "session", None)
    current.session = session
    try:
        result, is_closed = fx_trace.run(name, mod, args, apply, table)
        node = to_node(result)
        made = session.graph.cast(node, BOOL if name == "mask_mod" else FLOAT)
    finally:
        current.session = previous
    missing = set(range(len(capture.numbers))) - set(constants)
    if missing:
        # Their values are in the graph.
        raise NeedsNumber(frozenset(missing))
    if not is_closed:
        if plain:
            raise TraceError(f"{name}: a number of a tensor of torch.func is read")
        capture.volatile = True
    for tensor in capture.tensors:
        # torch's own code may have read them.
        for what in PROPERTIES:
            session.read(tensor, what)
    return made


def _arguments(session: Session, name: str) -> list[Any]:
    """Stand-ins for what a mod is called with."""
    graph = session.graph
    number, indices, _ = _SIGNATURES[name]
    args = [Value(graph.argument(one, INDEX)) for one in indices]
    if number:
        args.insert(0, Value(graph.argument(number, FLOAT)))
    return args


def _run(session: Session, name: str, mod: Any) -> Node:
    graph = session.graph
    args = _arguments(session, name)
    previous = getattr(current, "session", None)
    current.session = session
    try:
        with _torch_mode(name != "mask_mod"):
            session.has_gradient = name != "mask_mod"
            result = mod(*args)
        if not is_value(result):
            raise TraceError(
                f"{name} returns {tensors.type_name(result)}, expected a " + _SIGNATURES[name][2]
            )
        node = to_node(result)
        return graph.cast(node, BOOL if name == "mask_mod" else FLOAT)
    except TraceError:
        raise
    except Exception as error:
        file, line = "", 0
        for frame in traceback.extract_tb(error.__traceback__):
            if not is_ours(frame.filename):
                file, line = frame.filename, frame.lineno or 0
        raise TraceError(f"{name}: {type(error).__name__}: {error}", file, line) from error
    finally:
        current.session, session.has_gradient = previous, False


def _torch_mode(has_gradient: bool) -> Any:
    """Makes tensor[traced] come to us, which asks only the tensor otherwise; what has a
    gradient is computed where there are some."""
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

    stack = contextlib.ExitStack()
    stack.enter_context(Mode())
    if has_gradient:
        stack.enter_context(torch.enable_grad())
    return stack


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
        type = tensors.element_type("", tensor)
        auxiliaries.append(Auxiliary("i8" if type == "i1" else type, max(1, tensor.dim())))
    texts, places = {}, {}
    for name, node in nodes.items():
        printer = Printer([one.mlir for one in auxiliaries])
        texts[name] = _renumber(printer.print(name, node), numbers)
        places[name] = printer.places
    order = {id(tensor): n for n, tensor in enumerate(capture.tensors)}
    known = [*session.tensors, *(one for one, _, _ in session.reads),
             *(one for _, one, _ in session.indices)]  # fmt: skip
    if any(id(tensor) not in order for tensor in known):
        capture.volatile = True
    regions = Regions(
        texts.get("score_mod", ""),
        texts.get("mask_mod", ""),
        tuple(auxiliaries),
        tuple("i32" if isinstance(capture.numbers[n], int) else FLOAT for n in numbers),
        texts.get("epilogue", ""),
    )
    traced = Traced(
        regions, tuple(session.tensors), tuple(capture.numbers[n] for n in numbers),
        tuple(session.uses), tuple(session.tensor_names), places,
    )  # fmt: skip
    return _Entry(
        dict(constants), tuple(numbers),
        tuple(order.get(id(tensor), -1) for tensor in session.tensors),
        tuple((order.get(id(one), -1), what, value) for one, what, value in session.reads),
        tuple((n, order.get(id(one), -1), dim) for n, one, dim in session.indices), traced,
    )  # fmt: skip


def _renumber(text: str, numbers: list[int]) -> str:
    """Captured numbers by their position among those that are used."""
    import re

    position = {number: index for index, number in enumerate(numbers)}
    return re.sub(r"%arg(\d+)", lambda found: f"%arg{position[int(found.group(1))]}", text)
