# SPDX-License-Identifier: Apache-2.0
"""Tracing of score_mod and mask_mod that are written with jax.numpy: through
their jaxpr, whose primitives become nodes of the graph. Captured arrays become
auxiliary operands, captured numbers constants."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr

from ..errors import TraceError
from ..mods.scalars.graph import BOOL, FLOAT, INDEX, INT8, INT16, UINT8, Graph, Node
from ..mods.scalars.printer import Printer
from ..mods.regions import Auxiliary, Regions
from ..mods.scalars import division, functions
from ..mods.trace import Traced

_TYPES = {
    "bool": "i8", "int8": "i8", "uint8": "i8", "int16": "i16", "int32": "i32",
    "int64": "i64", "float16": "f16", "bfloat16": "bf16", "float32": "f32",
}  # fmt: skip
_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr",
          "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr",
          "remat": "jaxpr", "checkpoint": "jaxpr"}  # fmt: skip
# Values pass through: extents are 1, gradients do not matter.
_SAME = ("copy", "stop_gradient", "squeeze", "reshape", "broadcast_in_dim",
         "expand_dims", "reduce_precision")  # fmt: skip
_PLAIN = {
    "add": "add", "sub": "sub", "mul": "mul", "max": "maximum", "min": "minimum",
    "neg": "neg", "abs": "abs", "sign": "sign", "floor": "floor", "ceil": "ceil",
    "exp": "exp", "exp2": "exp2", "log": "log", "log1p": "log1p", "expm1": "expm1",
    "tanh": "tanh", "logistic": "sigmoid", "sqrt": "sqrt", "rsqrt": "rsqrt",
    "sin": "sin", "cos": "cos", "erf": "erf", "atan2": "atan2", "square": "square",
    "pow": "pow", "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt",
    "ge": "ge", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "not": "bitwise_not", "shift_left": "bitwise_left_shift",
    "shift_right_arithmetic": "bitwise_right_shift",
}  # fmt: skip


@dataclasses.dataclass
class _Array:
    """A captured array of which leading dimensions have been indexed."""

    number: int
    value: Any
    indices: tuple[Node, ...] = ()


class _Session:
    def __init__(self) -> None:
        self.arrays: list[Any] = []
        self.loads: dict[tuple[int, tuple[str | None, ...]], int] = {}
        self.graph = Graph()
        #: Whether what is traced has a gradient.
        self.has_gradient = False

    def array(self, value: Any) -> int:
        for number, known in enumerate(self.arrays):
            if known is value:
                return number
        self.arrays.append(value)
        return len(self.arrays) - 1

    def load(self, array: _Array) -> Node:
        """An element; an array that is read in two ways is two operands."""
        indices = array.indices or (self.graph.constant(0),)
        uses = tuple(
            one.attribute if one.op == "argument" else None for one in indices
        )
        number = self.loads.setdefault((array.number, uses), len(self.loads))
        dtype = str(array.value.dtype)
        if dtype not in _TYPES:
            raise TraceError(f"a captured array has elements of {dtype}")
        kind = BOOL if dtype == "bool" else FLOAT if "float" in dtype else INDEX
        if dtype == "uint8":
            kind = "unsigned"
        return self.graph.load(number, _TYPES[dtype], indices, kind)


def trace_mods(score_mod: Any, mask_mod: Any) -> Traced:
    """As fa3.mods.trace.trace_mods, for functions of jax.numpy."""
    session = _Session()
    texts: dict[str, str] = {}
    nodes: dict[str, Node] = {}
    for name, mod in (("score_mod", score_mod), ("mask_mod", mask_mod)):
        if mod is not None:
            session.graph, session.has_gradient = Graph(), name == "score_mod"
            nodes[name] = _trace(session, name, mod)
    auxiliaries, tensors, uses = [], [], []
    for number, indices in session.loads:
        value = session.arrays[number]
        auxiliaries.append(Auxiliary(_TYPES[str(value.dtype)], max(1, value.ndim)))
        tensors.append(value)
        uses.append(indices)
    for name, node in nodes.items():
        texts[name] = Printer([one.mlir for one in auxiliaries]).print(name, node)
    regions = Regions(
        texts.get("score_mod", ""), texts.get("mask_mod", ""), tuple(auxiliaries)
    )
    names = tuple(f"captured array of shape {one.shape}" for one in tensors)
    return Traced(regions, tuple(tensors), (), tuple(uses), names, {
        name: [] for name in texts
    })  # fmt: skip


def _trace(session: _Session, name: str, mod: Callable[..., Any]) -> Node:
    index = jax.ShapeDtypeStruct((), jnp.int32)
    score = [jax.ShapeDtypeStruct((), jnp.float32)] if name == "score_mod" else []
    try:
        # JAX keeps the trace of a function, and of jitted ones that it calls: a new
        # function has none, and without jit those are run.
        with jax.disable_jit():
            closed = jax.make_jaxpr(lambda *given: mod(*given))(*score, *4 * [index])
    except Exception as error:
        raise TraceError(f"{name}: {type(error).__name__}: {error}") from error
    graph = session.graph
    given = [graph.argument("score", FLOAT)] if score else []
    given += [graph.argument(one, INDEX) for one in ("b", "h", "i", "j")]
    results = _run(session, closed, given)
    if len(results) != 1 or isinstance(results[0], _Array):
        raise TraceError(f"{name}: expected one scalar as its result")
    return graph.cast(results[0], FLOAT if name == "score_mod" else BOOL)


def _constant(session: _Session, value: Any) -> Any:
    if np.ndim(value) == 0 and not isinstance(value, jax.core.Tracer):
        number = np.asarray(value).item()
        return session.graph.constant(number)
    return _Array(session.array(value), value)


def _run(session: _Session, closed: Any, given: list[Any]) -> list[Any]:
    jaxpr = closed.jaxpr
    values: dict[Any, Any] = {}
    for variable, value in zip(jaxpr.constvars, closed.consts):
        values[variable] = _constant(session, value)
    values.update(zip(jaxpr.invars, given))

    def read(one: Any) -> Any:
        if hasattr(one, "val"):
            return _constant(session, one.val)
        return values[one]

    for equation in jaxpr.eqns:
        operands = [read(one) for one in equation.invars]
        made = _apply(session, equation, operands)
        values.update(zip(equation.outvars, made))
    return [read(one) for one in jaxpr.outvars]


def _apply(session: _Session, equation: Any, operands: list[Any]) -> list[Any]:
    name, named, graph = equation.primitive.name, equation.params, session.graph
    if name in _CALLS:
        inner = named[_CALLS[name]]
        if not hasattr(inner, "consts"):
            inner = ClosedJaxpr(inner, ())
        if name == "custom_jvp_call" and _is_relu(inner.jaxpr):
            return [functions.FUNCTIONS["relu"](graph, operands[0])]
        if name.startswith("custom") and session.has_gradient:
            source = _source(inner.jaxpr)
            if not source[1].startswith(os.path.dirname(jax.__file__) + os.sep):
                raise TraceError(
                    f"{name}: gradients that a mod gives itself are not supported"
                )
            if source[0] == "relu6":
                limits = (graph.constant(0.0), graph.constant(6.0))
                return [functions.FUNCTIONS["hardtanh"](graph, operands[0], *limits)]
        return _run(session, inner, operands)
    if name == "dynamic_slice":
        return [_slice(session, operands[0], operands[1:], named["slice_sizes"])]
    whole = isinstance(operands[0], Node) and operands[0].type != FLOAT
    if name == "stop_gradient" and session.has_gradient and not whole:
        raise TraceError("stop_gradient: gradients that end in a mod are not supported")
    if name in _SAME:
        # A slice of an array keeps only what was not indexed.
        return [operands[0]]
    nodes = [
        session.load(one)
        if isinstance(one, _Array) and np.ndim(one.value) == len(one.indices)
        else one
        for one in operands
    ]
    if any(isinstance(one, _Array) for one in nodes):
        raise TraceError(f"{name} of a captured array; only its elements are read")
    return [_scalar(graph, name, named, nodes)]


def _source(jaxpr: Any) -> tuple[str, str]:
    """Name and file of the function that a jaxpr is of."""
    said = str(getattr(jaxpr.debug_info, "func_src_info", None) or "")
    name, _, place = said.partition(" at ")
    return name, place


def _is_relu(jaxpr: Any) -> bool:
    """Whether this is the code of jax.nn.relu, whose own derivative is 0 at 0: that of
    a maximum is a half."""
    while len(jaxpr.eqns) == 1 and jaxpr.eqns[0].primitive.name in ("pjit", "jit"):
        jaxpr = jaxpr.eqns[0].params["jaxpr"].jaxpr
    if len(jaxpr.eqns) != 1 or jaxpr.eqns[0].primitive.name != "max":
        return False
    limits = [one.val for one in jaxpr.eqns[0].invars if hasattr(one, "val")]
    return len(jaxpr.invars) == 1 and limits == [0]


def _slice(session: _Session, array: Any, starts: list[Node], sizes: Any) -> Any:
    if not isinstance(array, _Array):
        raise TraceError("dynamic_slice of what is no captured array")
    done = len(array.indices)
    extents = array.value.shape[done:]
    # Dimensions of extent 1 that were indexed before may still be there.
    starts, sizes = starts[-len(extents) :], tuple(sizes)[-len(extents) :]
    indices: list[Node] = []
    for start, size, extent in zip(starts, sizes, extents):
        if size != 1 or (extent == 1 and len(indices) + done < np.ndim(array.value) - 1):
            break
        indices.append(start)
    rest = sizes[len(indices) :]
    if rest != tuple(extents[len(indices) :]):
        raise TraceError(f"a slice {tuple(sizes)} of an array of shape {extents}")
    made = _Array(array.number, array.value, (*array.indices, *indices))
    return made if rest else session.load(made)


def _scalar(graph: Graph, name: str, named: Any, nodes: list[Node]) -> Node:
    if name == "shift_right_arithmetic" and nodes[0].narrow.startswith("u"):
        raise TraceError("shift_right_arithmetic of unsigned numbers, of which JAX takes a sign")
    if name in _PLAIN:
        return functions.FUNCTIONS[_PLAIN[name]](graph, *nodes)
    if name == "div":
        if FLOAT in (nodes[0].type, nodes[1].type):
            return graph.divide(*nodes)
        return division.truncating(graph, *nodes)
    if name == "rem":
        return division.fmod(graph, *nodes)
    if name == "select_n" and len(nodes) == 3:
        return graph.select(graph.cast(nodes[0], BOOL), nodes[2], nodes[1])
    if name == "clamp":
        # As hardtanh: JAX has no gradient at the limits.
        return functions.FUNCTIONS["hardtanh"](graph, nodes[1], nodes[0], nodes[2])
    if name == "integer_pow":
        exponent = int(named["y"])
        made = functions.FUNCTIONS["pow"](graph, nodes[0], graph.constant(abs(exponent)))
        return made if exponent >= 0 else graph.divide(graph.constant(1.0), made)
    if name == "convert_element_type":
        return _convert(graph, nodes[0], str(named["new_dtype"]))
    if name == "round":
        if named["rounding_method"] != jax.lax.RoundingMethod.TO_NEAREST_EVEN:
            raise TraceError("round: halves go to the even number only, as jnp.round has it")
        return functions.FUNCTIONS["round"](graph, nodes[0])
    raise TraceError(f"primitive '{name}' of JAX cannot be traced")


_NARROW = {"int8": INT8, "uint8": UINT8, "int16": INT16}


def _convert(graph: Graph, node: Node, dtype: str) -> Node:
    if dtype == "bool":
        return graph.cast(node, BOOL)
    if dtype in ("float16", "bfloat16", "float32", "float64"):
        return graph.cast(node, FLOAT)
    known = (*_NARROW, "int32", "int64")
    # What has no sign is the same number.
    if dtype not in known and not (dtype == "uint32" and node.nonnegative):
        raise TraceError(f"a conversion to {dtype} cannot be traced")
    if node.type == FLOAT and dtype in _NARROW:
        # XLA takes the nearest number that there is.
        limits = np.iinfo(dtype)
        node = graph.arithmetic("maximum", node, graph.constant(float(limits.min)))
        node = graph.arithmetic("minimum", node, graph.constant(float(limits.max)))
    return division.to_whole(graph, node, _NARROW.get(dtype, ""))
