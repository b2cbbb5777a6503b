# SPDX-License-Identifier: Apache-2.0
"""Tracing of score_mod and mask_mod: the functions run once on stand-ins for
their arguments, which record what is done with them.

A stand-in overloads Python's operators and takes part in torch's functions by
__torch_function__. What needs a value while tracing (`if`, `and`, float())
raises TraceError with the user's file and line.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import traceback
from typing import Any, Callable, Iterator

from . import tensors
from .capture import Capture
from .errors import TraceError
from .functions import (
    ALIASES,
    FUNCTIONS,
    NeedsNumber,
    current_place,
    error_here,
    is_ours,
    truncating,
)
from .graph import BOOL, FLOAT, INDEX, Graph, Node, Printer, value_of
from .spec import Auxiliary, Regions

_ARGUMENTS = ("b", "h", "i", "j")
_MAX_I32 = 2**31 - 1


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


# -----------------------------------------------------------------------------
# Stand-ins
# -----------------------------------------------------------------------------


class _Session:
    """One run of a mod."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.tensors: list[Any] = []
        self.tensor_names: list[str] = []
        self.found: list[Any] = []
        self.uses: list[tuple[str | None, ...]] = []

    def aux(self, tensor: Any, name: str, uses: tuple[str | None, ...]) -> int:
        """The number of a tensor that is read in this way, for both mods."""
        for number, known in enumerate(self.tensors):
            if known is tensor and self.uses[number] == uses:
                return number
        self.tensors.append(tensor)
        self.tensor_names.append(name)
        self.uses.append(uses)
        return len(self.tensors) - 1


_local = threading.local()


def _session() -> _Session:
    session = getattr(_local, "session", None)
    if session is None:
        raise error_here("a traced value is used after its mod has returned")
    session.graph.place = current_place()
    return session


def _binary(name: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if not _is_value(other):
            return NotImplemented
        return _apply(name, (other, self) if swapped else (self, other), {})

    return operator


def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **named: Any) -> Any:
        return _apply(name, (self, *args), named)

    return method


class _Operators:
    """What a stand-in for a number can do."""

    __array_priority__ = 1000
    __array_ufunc__ = None

    __add__, __radd__ = _binary("add"), _binary("add", True)
    __sub__, __rsub__ = _binary("sub"), _binary("sub", True)
    __mul__, __rmul__ = _binary("mul"), _binary("mul", True)
    __truediv__, __rtruediv__ = _binary("div"), _binary("div", True)
    __floordiv__, __rfloordiv__ = (
        _binary("floor_divide"), _binary("floor_divide", True))  # fmt: skip
    __mod__, __rmod__ = _binary("remainder"), _binary("remainder", True)
    __pow__, __rpow__ = _binary("pow"), _binary("pow", True)
    __and__, __rand__ = _binary("bitwise_and"), _binary("bitwise_and", True)
    __or__, __ror__ = _binary("bitwise_or"), _binary("bitwise_or", True)
    __xor__, __rxor__ = _binary("bitwise_xor"), _binary("bitwise_xor", True)
    __lshift__, __rlshift__ = (
        _binary("bitwise_left_shift"), _binary("bitwise_left_shift", True))  # fmt: skip
    __rshift__, __rrshift__ = (
        _binary("bitwise_right_shift"), _binary("bitwise_right_shift", True))  # fmt: skip
    __lt__, __le__ = _binary("lt"), _binary("le")
    __gt__, __ge__ = _binary("gt"), _binary("ge")
    __eq__ = _binary("eq")  # type: ignore[assignment]
    __ne__ = _binary("ne")  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]
    __neg__, __pos__ = _method("neg"), _method("positive")
    __abs__, __invert__ = _method("abs"), _method("bitwise_not")
    __floor__, __ceil__ = _method("floor"), _method("ceil")
    __trunc__, __round__ = _method("trunc"), _method("round")

    def _node(self) -> Node:
        raise NotImplementedError

    def _refuse(self, what: str, instead: str) -> Any:
        node = self._node()
        if node.is_constant:
            return value_of(node)
        if node.numbers and not node.varies:
            raise NeedsNumber(node.numbers)
        raise error_here(f"{what} needs a value that is not known when traced; {instead}")

    def __bool__(self) -> bool:
        return bool(
            self._refuse(
                "`if`, `and`, `or`, `not`, min() or a chained comparison",
                "use torch.where, &, |, ~, torch.minimum",
            )
        )

    def __index__(self) -> int:
        return int(
            self._refuse("an index into a list or range()", "use a torch tensor")
        )

    def __int__(self) -> int:
        return int(self._refuse("int()", "use .to(torch.int32)"))

    def __float__(self) -> float:
        return float(
            self._refuse(
                "float() or a function of math", "use .to(torch.float32), torch.exp"
            )
        )

    def __iter__(self) -> Iterator[Any]:
        raise error_here("a traced value is a scalar, it cannot be iterated")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        known = ALIASES.get(name, name) in FUNCTIONS or name in _FILLS
        if known or name in ("to", "type"):
            return lambda *args, **named: _apply(name, (self, *args), named)
        raise error_here(f"a traced value has no attribute or method '{name}'")

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return _apply(func.__name__, args, kwargs or {})


class Value(_Operators):
    """A stand-in for a number: an argument of a mod, or what is computed."""

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        self.node = node

    def _node(self) -> Node:
        return self.node

    def __repr__(self) -> str:
        return f"<traced {self.node.type}>"

    @property
    def dtype(self) -> Any:
        torch = tensors.torch_module()
        if torch is None:
            return {INDEX: int, FLOAT: float, BOOL: bool}[self.node.type]
        return {INDEX: torch.int32, FLOAT: torch.float32, BOOL: torch.bool}[
            self.node.type
        ]

    @property
    def device(self) -> Any:
        return None

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    ndim = 0

    def dim(self) -> int:
        return 0


class Table(_Operators):
    """A stand-in for a captured tensor, of which some leading dimensions may have
    been indexed."""

    __slots__ = ("tensor", "name", "indices")

    def __init__(self, tensor: Any, name: str, indices: tuple[Node, ...] = ()) -> None:
        self.tensor, self.name, self.indices = tensor, name, indices

    def __repr__(self) -> str:
        return f"<traced tensor '{self.name}'>"

    def __getitem__(self, index: Any) -> Any:
        return _load(self, index if isinstance(index, tuple) else (index,))

    def _node(self) -> Node:
        """As a number, which a tensor of one element is."""
        rank = self.tensor.dim() - len(self.indices)
        if rank:
            raise error_here(
                f"tensor '{self.name}' of {rank} dimensions where a scalar is "
                "needed; index it"
            )
        return _load_element(self)

    @property
    def dtype(self) -> Any:
        return self.tensor.dtype

    @property
    def device(self) -> Any:
        return self.tensor.device

    @property
    def ndim(self) -> int:
        return self.tensor.dim() - len(self.indices)

    def dim(self) -> int:
        return self.ndim

    @property
    def shape(self) -> Any:
        raise _ReadsShape

    def size(self, dim: int | None = None) -> Any:
        raise _ReadsShape

    def __len__(self) -> int:
        raise _ReadsShape


class _ReadsShape(Exception):
    """A mod reads the extents of a captured tensor."""


def _is_value(value: Any) -> bool:
    return isinstance(value, (_Operators, bool, int, float)) or tensors.is_torch(value)


def _load(table: Table, index: tuple[Any, ...]) -> Any:
    nodes: list[Node] = []
    for one in index:
        node = _to_node(one) if _is_value(one) else None
        if node is None or node.type != INDEX:
            raise error_here(
                f"tensor '{table.name}' is indexed by {one!r}; only whole numbers "
                "are traced"
            )
        if node.is_constant and value_of(node) < 0:
            extent = table.tensor.shape[len(table.indices) + len(nodes)]
            node = _session().graph.constant(value_of(node) + extent)
        nodes.append(node)
    indices = (*table.indices, *nodes)
    if len(indices) > table.tensor.dim():
        raise error_here(
            f"{len(indices)} indices of tensor '{table.name}', which has "
            f"{table.tensor.dim()} dimensions"
        )
    made = Table(table.tensor, table.name, indices)
    return made if made.ndim else Value(_load_element(made))


def _load_element(table: Table) -> Node:
    session = _session()
    indices = table.indices or (session.graph.constant(0),)
    uses = tuple(one.attribute if one.op == "argument" else None for one in indices)
    number = session.aux(table.tensor, table.name, uses)
    one = tensors.view(table.name, table.tensor)
    if one.type == "i1":
        return session.graph.load(number, "i8", indices, BOOL)
    if one.type in ("f16", "bf16", "f32"):
        return session.graph.load(number, one.type, indices, FLOAT)
    if one.type in ("i8", "i16", "i32", "i64"):
        unsigned = str(table.tensor.dtype) == "torch.uint8"
        kind = "unsigned" if unsigned else INDEX
        return session.graph.load(number, one.type, indices, kind)
    raise error_here(f"tensor '{table.name}' has elements of {one.type}")


def _to_node(value: Any) -> Node:
    graph = _session().graph
    if isinstance(value, _Operators):
        return value._node()
    if isinstance(value, (bool, int, float)):
        return graph.constant(value)
    if tensors.is_torch(value):
        if value.dim() == 0 and value.device.type == "cpu":
            return graph.constant(value.item())
        return _found_table(value)._node()
    raise error_here(f"cannot trace a value of type {tensors.type_name(value)}")


def _found_table(tensor: Any) -> Table:
    """A tensor that the mod reaches otherwise than by its closure."""
    session = _session()
    session.found.append(tensor)
    return Table(tensor, f"tensor of shape {tuple(tensor.shape)}")


# -----------------------------------------------------------------------------
# Calls
# -----------------------------------------------------------------------------


def _apply(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A function of torch, an operator or a method, on stand-ins."""
    stripped = name.strip("_") if name.startswith("__") else name
    if stripped == "getitem":
        table = args[0]
        if tensors.is_torch(table):
            table = _found_table(table)
        return table[args[1]]
    if stripped in _FILLS:
        return _fill(stripped, *args, **named)
    if stripped in ("to", "type"):
        return _convert(*args, **named)
    if stripped == "get":  # a property of a tensor
        raise error_here("a property of a traced value that fa3 does not know")
    if stripped == "div" and named.get("rounding_mode"):
        mode = named.pop("rounding_mode")
        if mode == "floor":
            stripped = "floor_divide"
        else:
            graph = _session().graph
            return Value(truncating(graph, *map(_to_node, args))[0])
    if stripped in ("truediv", "and", "or", "xor", "floordiv", "mod", "invert",
                    "lshift", "rshift", "radd", "rsub", "rmul", "rtruediv", "rdiv",
                    "rfloordiv", "rmod", "rpow", "rand", "ror", "rxor"):  # fmt: skip
        swapped = stripped.startswith("r") and stripped != "rshift"
        base = stripped[1:] if swapped else stripped
        stripped = {
            "truediv": "div", "and": "bitwise_and", "or": "bitwise_or",
            "xor": "bitwise_xor", "floordiv": "floor_divide", "mod": "remainder",
            "invert": "bitwise_not", "lshift": "bitwise_left_shift",
            "rshift": "bitwise_right_shift",
        }.get(base, base)  # fmt: skip
        args = args[::-1] if swapped else args
    stripped = ALIASES.get(stripped, stripped)
    function = FUNCTIONS.get(stripped)
    if function is None:
        raise error_here(f"function '{name}' of torch cannot be traced")
    graph = _session().graph
    named.pop("dtype", None)
    nodes: list[Any] = [None if one is None else _to_node(one) for one in args]
    nodes_named = {
        key: None if one is None else _to_node(one) for key, one in named.items()
    }
    for old, new in (("other", "b"), ("input", "x"), ("alpha", "alpha")):
        if old in nodes_named and old != new:
            nodes_named[new] = nodes_named.pop(old)
    try:
        return Value(function(graph, *nodes, **nodes_named))
    except TypeError as error:
        raise error_here(f"arguments of '{name}' cannot be traced: {error}") from error


# What makes a tensor of a number: torch's own or_masks uses new_zeros.
_FILLS = {"new_zeros": 0, "new_ones": 1, "new_full": None, "new_tensor": None,
          "zeros_like": 0, "ones_like": 1, "full_like": None}  # fmt: skip


def _fill(name: str, like: Any, *args: Any, **named: Any) -> Any:
    number = _FILLS[name]
    if number is None:
        number = named["fill_value"] if "fill_value" in named else args[-1]
    if name.startswith("new") and name != "new_tensor" and args and tuple(args[0]):
        raise error_here(f"{name} of shape {tuple(args[0])}; only scalars are traced")
    dtype = named.get("dtype")
    made = Value(_to_node(number))
    return _convert(made, like if dtype is None else dtype)


def _convert(value: Any, *args: Any, **named: Any) -> Any:
    """x.to(dtype)."""
    node = _to_node(value)
    dtype = named.get("dtype")
    for one in args:
        if type(one).__name__ == "dtype":
            dtype = one
        elif isinstance(one, _Operators):
            dtype = one.dtype
    if dtype is None:
        return Value(node)
    name = str(dtype).rpartition(".")[2]
    graph = _session().graph
    if name == "bool":
        return Value(graph.cast(node, BOOL))
    if name.startswith(("int", "long", "uint", "short")):
        return Value(graph.cast(node, INDEX))
    return Value(graph.cast(node, FLOAT))


# -----------------------------------------------------------------------------
# A trace
# -----------------------------------------------------------------------------


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
    if is_new:
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
        except _ReadsShape:
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
    session = _Session()
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
        if not capture.recursive:
            mod = Capture.substitute(mod, replace)
        nodes[name] = _run(session, name, mod)
        graphs.append(session.graph)
    return _finish(capture, session, nodes, constants)


def _run(session: _Session, name: str, mod: Any) -> Node:
    graph = session.graph
    args = [Value(graph.argument(one, INDEX)) for one in _ARGUMENTS]
    if name == "score_mod":
        args.insert(0, Value(graph.argument("score", FLOAT)))
    previous = getattr(_local, "session", None)
    _local.session = session
    try:
        with _torch_mode():
            result = mod(*args)
        if not _is_value(result):
            raise TraceError(
                f"{name} returns {tensors.type_name(result)}, expected a "
                + ("score" if name == "score_mod" else "truth value")
            )
        node = _to_node(result)
        return graph.cast(node, FLOAT if name == "score_mod" else BOOL)
    except (TraceError, NeedsNumber, _ReadsShape):
        raise
    except Exception as error:
        file, line = "", 0
        for frame in traceback.extract_tb(error.__traceback__):
            if not is_ours(frame.filename):
                file, line = frame.filename, frame.lineno or 0
        raise TraceError(f"{name}: {type(error).__name__}: {error}", file, line) from error
    finally:
        _local.session = previous


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
            if any(isinstance(one, _Operators) for one in flat):
                return _apply(func.__name__, args, kwargs or {})
            return func(*args, **(kwargs or {}))

    return Mode()


def _finish(
    capture: Capture, session: _Session, nodes: dict[str, Node],
    constants: dict[int, int | float],
) -> _Entry:  # fmt: skip
    numbers = sorted(set().union(*(node.numbers for node in nodes.values())))
    if session.found:
        capture.volatile = True
    auxiliaries = []
    for tensor in session.tensors:
        type = tensors.view("", tensor).type
        auxiliaries.append(
            Auxiliary("i8" if type == "i1" else type, max(1, tensor.dim()))
        )
    texts, places = {}, {}
    for name, node in nodes.items():
        printer = Printer([one.mlir for one in auxiliaries])
        texts[name] = _renumber(printer.print(node), numbers)
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
