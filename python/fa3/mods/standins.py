# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for the arguments of a mod and for the tensors that it captures: they
record what is done with them.

A stand-in overloads Python's operators and takes part in torch's functions by
__torch_function__. What needs a value while tracing (`if`, `and`, float())
raises TraceError with the user's file and line.
"""

from __future__ import annotations

import math
import threading
from typing import Any, Callable, Iterator, Sequence

from ..errors import TraceError
from ..support import tensors
from .capture import is_numpy_number
from .scalars.division import to_whole, truncating
from .scalars.functions import ALIASES, FUNCTIONS
from .scalars.graph import BOOL, FLOAT, INDEX, INT8, INT16, UINT8, Graph, Node, value_of
from .scalars.places import EndsGradient, NeedsNumber, ReadsElements, current_place, error_here


class Session:
    """One run of mods that have captured these numbers."""

    def __init__(self, numbers: Sequence[int | float] = ()) -> None:
        self.numbers = numbers
        self.graph = Graph()
        self.tensors: list[Any] = []
        self.tensor_names: list[str] = []
        self.found: list[Any] = []
        self.uses: list[tuple[str | None, ...]] = []
        #: What mods have read of tensors besides their elements.
        self.reads: list[tuple[Any, str, Any]] = []
        #: Captured numbers that are indices of dimensions of tensors.
        self.indices: list[tuple[int, Any, int]] = []
        #: Whether what is computed has a gradient.
        self.has_gradient = False

    def check_gradient(self) -> None:
        """Raises in torch.no_grad(), which the forward of an autograd.Function is in."""
        if self.has_gradient:
            torch = tensors.torch_module()
            if torch is not None and not torch.is_grad_enabled():
                raise EndsGradient("torch.no_grad, or a torch.autograd.Function")

    def read(self, tensor: Any, what: str) -> Any:
        """A property of a tensor, on which the trace then depends."""
        value = PROPERTIES[what](tensor)
        if not any(one is tensor and name == what for one, name, _ in self.reads):
            self.reads.append((tensor, what, value))
        return value

    def aux(self, tensor: Any, name: str, uses: tuple[str | None, ...]) -> int:
        """The number of a tensor that is read in this way, for both mods."""
        for number, known in enumerate(self.tensors):
            if known is tensor and self.uses[number] == uses:
                return number
        self.tensors.append(tensor)
        self.tensor_names.append(name)
        self.uses.append(uses)
        return len(self.tensors) - 1


PROPERTIES: dict[str, Callable[[Any], Any]] = {
    "shape": lambda tensor: tuple(tensor.shape),
    "stride": lambda tensor: tensor.stride(),
    "requires_grad": lambda tensor: tensor.requires_grad,
}

current = threading.local()


def _session() -> Session:
    session = getattr(current, "session", None)
    if session is None:
        raise error_here("a traced value is used after its mod has returned")
    session.graph.place = current_place()
    return session


def _binary(name: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if not is_value(other):
            return NotImplemented
        return apply(name, (other, self) if swapped else (self, other), {})

    return operator


def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **named: Any) -> Any:
        return apply(name, (self, *args), named)

    return method


class Operators:
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

    def __str__(self) -> str:
        return str(self._refuse("str() or a format", "compare numbers"))

    def __format__(self, how: str) -> str:
        return format(self._refuse("str() or a format", "compare numbers"), how)

    def __iter__(self) -> Iterator[Any]:
        raise error_here("a traced value is a scalar, it cannot be iterated")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        known = ALIASES.get(name, name) in FUNCTIONS or name in _FILLS
        if known or name in ("to", "type"):
            return lambda *args, **named: apply(name, (self, *args), named)
        raise error_here(f"a traced value has no attribute or method '{name}'")

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return apply(func.__name__, args, kwargs or {})


class Value(Operators):
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
        if self.node.narrow:
            return {INT8: torch.int8, UINT8: torch.uint8, INT16: torch.int16}[
                self.node.narrow
            ]
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


class Table(Operators):
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
            raise ReadsElements(
                f"tensor '{self.name}' of {rank} dimensions where a scalar is "
                "needed; index it", *current_place(),
            )  # fmt: skip
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

    def _refuse(self, what: str, instead: str) -> Any:
        try:
            return super()._refuse(what, instead)
        except TraceError as error:
            raise ReadsElements(error.message, error.file, error.line) from None

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except TraceError as error:
            raise ReadsElements(error.message, error.file, error.line) from None

    def _read(self, what: str) -> Any:
        return _session().read(self.tensor, what)

    @property
    def shape(self) -> Any:
        return type(self.tensor.shape)(self._read("shape")[len(self.indices) :])

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[int(dim)]

    def stride(self, dim: int | None = None) -> Any:
        strides = self._read("stride")[len(self.indices) :]
        return strides if dim is None else strides[int(dim)]

    def numel(self) -> int:
        return math.prod(self.shape)

    nelement = numel

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a tensor without dimensions")
        return self.shape[0]

    @property
    def requires_grad(self) -> bool:
        return self._read("requires_grad")


def is_value(value: Any) -> bool:
    return (
        isinstance(value, (Operators, bool, int, float)) or tensors.is_torch(value)
        or is_numpy_number(value) or _is_symbol(value)
    )  # fmt: skip


def _is_symbol(value: Any) -> bool:
    """A number that torch.export does not know."""
    torch = tensors.torch_module()
    return torch is not None and isinstance(value, (torch.SymInt, torch.SymFloat))


def _symbol(value: Any) -> "Table":
    """As a tensor that the graph makes; where nobody records, there is no graph."""
    torch = tensors.torch_module()
    if not torch._C._len_torch_dispatch_stack():
        raise error_here("a number that is not known (SymInt) is captured")
    dtype = torch.int32 if isinstance(value, torch.SymInt) else torch.float32
    return found_table(torch.full((), value, dtype=dtype))


def _load(table: Table, index: tuple[Any, ...]) -> Any:
    _session().check_gradient()
    nodes: list[Node] = []
    for one in index:
        node = to_node(one) if is_value(one) else None
        if node is None or node.type != INDEX:
            raise error_here(
                f"tensor '{table.name}' is indexed by {one!r}; only whole numbers "
                "are traced"
            )
        dim = len(table.indices) + len(nodes)
        if dim < table.tensor.dim():
            _check_number(table, node, dim)
        if node.is_constant and dim < table.tensor.dim():
            extent = _session().read(table.tensor, "shape")[dim]
            if not -extent <= value_of(node) < extent:
                raise error_here(
                    f"index {value_of(node)} of dimension {dim} of tensor "
                    f"'{table.name}', which has extent {extent}"
                )
            node = _session().graph.constant(value_of(node) % extent)
        nodes.append(node)
    indices = (*table.indices, *nodes)
    if len(indices) > table.tensor.dim():
        raise error_here(
            f"{len(indices)} indices of tensor '{table.name}', which has "
            f"{table.tensor.dim()} dimensions"
        )
    made = Table(table.tensor, table.name, indices)
    return made if made.ndim else Value(_load_element(made))


def _check_number(table: Table, node: Node, dim: int) -> None:
    """A captured number may be an index while it counts from the start."""
    if node.is_constant or node.varies:
        return
    session = _session()
    number = node.operands[0] if node.op == "arith.index_cast" else node
    if number.op == "number":
        value = session.numbers[number.attribute]
        if 0 <= value < table.tensor.shape[dim]:
            session.indices.append((number.attribute, table.tensor, dim))
            return
    raise NeedsNumber(node.numbers)


def _load_element(table: Table) -> Node:
    session = _session()
    indices = table.indices or (session.graph.constant(0),)
    uses = tuple(one.attribute if one.op == "argument" else None for one in indices)
    number = session.aux(table.tensor, table.name, uses)
    type = tensors.element_type(table.name, table.tensor)
    if type == "i1":
        return session.graph.load(number, "i8", indices, BOOL)
    if type in ("f16", "bf16", "f32"):
        return session.graph.load(number, type, indices, FLOAT)
    if type in ("i8", "i16", "i32", "i64"):
        unsigned = str(table.tensor.dtype) == "torch.uint8"
        kind = "unsigned" if unsigned else INDEX
        return session.graph.load(number, type, indices, kind)
    raise error_here(f"tensor '{table.name}' has elements of {type}")


def to_node(value: Any) -> Node:
    graph = _session().graph
    if isinstance(value, Operators):
        return value._node()
    if isinstance(value, (bool, int, float)):
        return graph.constant(value)
    if is_numpy_number(value):
        return graph.constant(value.item())
    if tensors.is_torch(value):
        if is_constant(value):
            return graph.constant(value.item())
        return found_table(value)._node()
    if _is_symbol(value):
        return _symbol(value)._node()
    raise error_here(f"cannot trace a value of type {tensors.type_name(value)}")


def is_constant(tensor: Any) -> bool:
    """Whether a tensor that a mod has made or found can be a number of the kernel."""
    return (
        tensor.dim() == 0 and tensor.device.type == "cpu" and not tensor.requires_grad
        and not tensors.is_wrapped(tensor)
    )  # fmt: skip


def found_table(tensor: Any) -> Table:
    """A tensor that the mod reaches otherwise than by its closure."""
    session = _session()
    session.found.append(tensor)
    return Table(tensor, f"tensor of shape {tuple(tensor.shape)}")


# -----------------------------------------------------------------------------
# Calls
# -----------------------------------------------------------------------------


def apply(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A function of torch, an operator or a method, on stand-ins."""
    _session().check_gradient()
    stripped = name.strip("_") if name.startswith("__") else name
    if stripped == "getitem":
        table = args[0]
        if tensors.is_torch(table):
            table = found_table(table)
        return table[args[1]]
    if stripped in _FILLS:
        return _fill(stripped, *args, **named)
    if stripped in ("to", "type"):
        return (_convert if stripped == "to" else _type)(*args, **named)
    if stripped == "get":  # a property of a tensor
        raise error_here("a property of a traced value that fa3 does not know")
    if stripped == "div" and named.get("rounding_mode"):
        mode = named.pop("rounding_mode")
        if mode not in ("floor", "trunc"):
            raise error_here(f"rounding_mode '{mode}', expected 'floor' or 'trunc'")
        if mode == "floor":
            stripped = "floor_divide"
        else:
            graph = _session().graph
            return Value(truncating(graph, *map(to_node, args)))
    if stripped in ("truediv", "and", "or", "xor", "floordiv", "mod", "invert",
                    "lshift", "rshift", "radd", "rmul", "rtruediv", "rdiv",
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
    nodes: list[Any] = [None if one is None else to_node(one) for one in args]
    nodes_named = {
        key: None if one is None else to_node(one) for key, one in named.items()
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
    made = Value(to_node(number))
    return _convert(made, like if dtype is None else dtype)


_WHOLE = {"int8": INT8, "uint8": UINT8, "int16": INT16, "int32": "", "int64": ""}
_FLOATS = ("float16", "bfloat16", "float32", "float64")


def _convert(value: Any, *args: Any, **named: Any) -> Any:
    """x.to(dtype), or to that of another number. Devices are ignored."""
    node = to_node(value)
    dtype = None
    for one in (*args, named.get("dtype"), named.get("other")):
        if type(one).__name__ == "dtype" or isinstance(one, type):
            dtype = one
        elif isinstance(one, Operators) or tensors.is_torch(one):
            dtype = one.dtype
    if dtype is None:
        return Value(node)
    name = str(dtype).rpartition(".")[2] if not isinstance(dtype, type) else dtype.__name__
    graph = _session().graph
    if name == "bool":
        return Value(graph.cast(node, BOOL))
    if name in _WHOLE or name == "int":
        return Value(to_whole(graph, node, _WHOLE.get(name, "")))
    if name in _FLOATS or name == "float":
        return Value(graph.cast(node, FLOAT))
    raise error_here(f"a conversion to {dtype} cannot be traced")


def _type(value: Any, dtype: Any = None, **named: Any) -> Any:
    """x.type(dtype)."""
    if dtype is None or isinstance(dtype, str):
        raise error_here(f"type({dtype or ''}) of a traced value; use to() and dtype")
    return _convert(value, dtype)
