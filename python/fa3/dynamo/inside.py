# SPDX-License-Identifier: Apache-2.0
"""Mods that torch.compile meets where they are made, as FlexAttention's are used: over
parameters, buffers and tensors of the function that is compiled. Dynamo makes a graph of
each, with what it captures as inputs, by the rule that it has for FlexAttention; the
graph is run on stand-ins, and what is left of the call are operators of fa3.

Dynamo has no public way for this. Where this version of torch has not what is taken
here, `operator` is None, and the graph breaks."""

from __future__ import annotations

import types
from typing import Any

import torch

from ..autograd.operators import ops
from ..autograd.prepare import prepare
from ..errors import TraceError, UnsupportedError
from ..kernels import blocks, checks
from ..kernels.arguments import Arguments
from ..mods.scalars.graph import BOOL, FLOAT, INDEX, Graph
from ..mods.standins import Session, Table, Value, current, to_node
from ..mods.trace import _ARGUMENTS, Traced, _finish, _torch_mode, trace_mods
from ..support import tensors, watch

# -----------------------------------------------------------------------------
# A graph on stand-ins
# -----------------------------------------------------------------------------


def _call(node: Any, read: Any) -> Any:
    args = [read(one) for one in node.args]
    named = {name: read(one) for name, one in node.kwargs.items()}
    if node.op == "call_method":
        return getattr(args[0], node.target)(*args[1:], **named)
    if node.op != "call_function":
        raise TraceError(f"a mod with {node.op} {node.target}")
    return node.target(*args, **named)


def _run(graph: Any, given: Any, known: dict[Any, Any]) -> Any:
    """The value of a graph of Dynamo; that of some nodes is `known`."""
    values: dict[Any, Any] = {}
    rest = iter(given)

    def read(one: Any) -> Any:
        return torch.fx.node.map_arg(one, values.__getitem__)

    for node in graph.graph.nodes:
        if node.op == "placeholder":
            values[node] = next(rest)
        elif node in known:
            one = known[node]
            values[node] = Table(one, node.name) if isinstance(one, torch.Tensor) else one
        elif node.op == "get_attr":
            values[node] = getattr(graph, node.target)
        elif node.op == "output":
            (made,) = node.args
            return read(made[0] if isinstance(made, (tuple, list)) else made)
        else:
            values[node] = _call(node, read)
    raise TraceError("a mod gives nothing")


def _computed(graph: Any, tables: tuple[Any, ...]) -> dict[Any, Any]:
    """What a mod computes of whole tensors, the same for all scores: in front of the
    call."""
    inputs = [one for one in graph.graph.nodes if one.op == "placeholder"]
    values = dict(zip(inputs[len(inputs) - len(tables) :], tables))
    made = {}
    for node in graph.graph.nodes:
        needed = node.all_input_nodes
        if node.op not in ("call_function", "call_method") or not needed:
            continue
        if all(one in values for one in needed):
            made[node] = values[node] = _call(
                node, lambda one: torch.fx.node.map_arg(one, values.__getitem__)
            )
    return made


def _tables(q: Any, lifted: Any) -> tuple[Any, ...]:
    """What a mod has captured, as tensors: numbers that change are tensors of one
    element."""
    made: list[Any] = []
    for one in lifted:
        if isinstance(one, (torch.SymInt, int)):
            one = torch.full((), one, dtype=torch.int32, device=q.device)
        elif isinstance(one, (torch.SymFloat, float)):
            one = torch.full((), one, dtype=torch.float32, device=q.device)
        elif one.dtype == torch.float64:
            one = one.to(torch.float32)
        made.append(one)
    return tuple(made)


def _mod(graph: Any, tables: tuple[Any, ...], known: dict[Any, Any]) -> Any:
    """A mod that runs its graph."""
    inputs = [one.target for one in graph.graph.nodes if one.op == "placeholder"]
    captured = list(zip(tables, inputs[len(inputs) - len(tables) :]))

    def mod(*given: Any) -> Any:
        return _run(graph, [*given, *[Table(*one) for one in captured]], known)

    return mod


def _trace(score_mod: Any, mask_mod: Any) -> Traced:
    session = Session()
    nodes = {}
    previous = getattr(current, "session", None)
    current.session = session
    try:
        for name, mod in (("score_mod", score_mod), ("mask_mod", mask_mod)):
            if mod is None:
                continue
            has_score = name == "score_mod"
            session.graph = Graph()
            args = [Value(session.graph.argument(one, INDEX)) for one in _ARGUMENTS]
            if has_score:
                args.insert(0, Value(session.graph.argument("score", FLOAT)))
            with _torch_mode(has_score):
                node = to_node(mod(*args))
            nodes[name] = session.graph.cast(node, FLOAT if has_score else BOOL)
    finally:
        current.session = previous
    capture: Any = types.SimpleNamespace(numbers=[], tensors=session.tensors, volatile=True)
    return _finish(capture, session, nodes, {}).traced


# -----------------------------------------------------------------------------
# The call
# -----------------------------------------------------------------------------


def _attention(
    q: Any, k: Any, v: Any, score: Any, mask: Any, given: Any, lists: Any, how: Any
) -> Any:  # fmt: skip
    """o and lse. `score` and `mask`: a graph and what it captures, or (None, ()), or, where
    the graph has broken, the mods themselves; `lists`: those of blocks, their size, and
    whether kernels can read them."""
    if isinstance(score, tuple):
        mods = [(graph, _tables(q, lifted)) for graph, lifted in (score, mask)]
        captured = mods[0][1]

        def trace(table_of: Any) -> Traced | None:
            return _traced(mods, table_of)
    else:
        captured = trace_mods(score, mask).tensors

        def trace(table_of: Any) -> Traced | None:
            return trace_mods(score, blocks.as_mask(table_of, mask) if table_of else mask)

    return _launch(q, k, v, trace, captured, given, lists, [_plain(one) for one in how])


def _launch(
    q: Any, k: Any, v: Any, trace: Any, captured: Any, given: Any, lists: Any, how: Any
) -> Any:  # fmt: skip
    (causal, left, right, softcap, scale, out_dtype, return_lse, layout, interpret,
     dropout_p) = how  # fmt: skip
    window = None if left is right is None else (left, right)
    grads = torch.is_grad_enabled() and any([
        one.requires_grad for one in (q, k, v, *given, *captured) if one is not None
    ])  # fmt: skip
    found = None
    if lists is not None:
        made, size, fits = lists
        queries, keys = (one.shape[checks.DIMS[layout][2]] for one in (q, k))
        found = blocks.Lists(tuple(made), tuple(size), fits, queries, keys)
    is_table = found is not None and (grads or not found.fits)
    traced = trace(found if is_table else None)
    with watch.unseen(), torch.set_grad_enabled(grads):
        extras, numbers, program, needs_grad = prepare(q, k, v, Arguments(
            causal, window, softcap, scale, traced, out_dtype=out_dtype,
            return_lse=return_lse, layout=layout, interpret=interpret, dropout_p=dropout_p,
            lists=None if is_table else found, **dict(zip(_GIVEN, given)),
        ))  # fmt: skip
    call = ops.forward if needs_grad else ops.inference
    return call(q, k, v, tensors.beside(q, extras), numbers, program, scale)


def _plain(value: Any) -> Any:
    """A number of a kernel's text, which the graph is then for."""
    if isinstance(value, torch.SymInt):
        return int(value)
    return float(value) if isinstance(value, torch.SymFloat) else value


def _traced(mods: Any, table_of: blocks.Lists | None) -> Traced | None:
    """Both mods, and a table of blocks; where stand-ins cannot take what they do with
    tensors, that is computed in front of the call."""
    has_mask = mods[1][0] is not None or table_of is not None
    if mods[0][0] is None and not has_mask:
        return None
    for is_last in (False, True):
        functions = [
            None if graph is None
            else _mod(graph, tables, _computed(graph, tables) if is_last else {})
            for graph, tables in mods
        ]  # fmt: skip
        if table_of is not None:
            functions[1] = blocks.as_mask(table_of, functions[1])
        try:
            with watch.unseen():
                return _trace(*functions)
        except TraceError:
            if is_last:
                raise
    return None


_GIVEN = (
    "q_descale", "k_descale", "v_descale", "bias", "alibi_slopes", "sinks", "rng_state",
)  # fmt: skip


def attention(q: Any, k: Any, v: Any, asked: Arguments) -> Any:
    """fa3.torch.attention of mods that Dynamo has no cells of, where Dynamo traces."""
    given = (*asked.extras[:6], asked.rng_state)
    left, right = (None, None) if asked.window is None else asked.window
    scale, lists = asked.scale, asked.lists
    if isinstance(scale, torch.Tensor):
        raise UnsupportedError("'scale' as a tensor under torch.compile")
    how = (
        asked.causal, left, right, asked.softcap, scale, asked.out_dtype, asked.return_lse,
        asked.layout, asked.interpret, asked.dropout_p,
    )  # fmt: skip
    q, k, v = tensors.autocast(q, k, v)
    found = None
    if lists is not None:
        found = (tuple(lists.tensors), tuple(lists.size), lists.fits)
    o, lse = operator(q, k, v, asked.score_mod, asked.mask_mod, given, found, how)
    return (o, lse) if asked.return_lse else o


def _make_operator() -> Any:
    """What Dynamo puts into its graph in place of `attention`: a function with a rule of
    its own in Dynamo. None where torch has it not."""
    try:
        from torch._dynamo import exc
        from torch._dynamo.variables import builder, higher_order_ops
        from torch._ops import HigherOrderOperator

        flex = higher_order_ops.FlexAttentionHigherOrderVariable
        rules = higher_order_ops._hop_name_to_variable_class
        make_node, as_proxies = flex.create_wrapped_node, higher_order_ops.proxy_args_kwargs
        wrap = builder.wrap_fx_proxy
    except (ImportError, AttributeError):
        return None

    class Attention(HigherOrderOperator):
        def __init__(self) -> None:
            super().__init__("fa3_attention")

        def __call__(self, *args: Any) -> Any:
            return _attention(*args)

    class Rule(flex):  # type: ignore[misc,valid-type]
        _HOP_NAME = "fa3_attention"

        def _call(self, tx: Any, args: Any, kwargs: Any) -> Any:
            try:
                return self._made(tx, args)
            except exc.Unsupported:
                raise
            except Exception as error:
                # The call is an eager one, which says what is wrong, if it is that.
                raise exc.Unsupported(f"fa3.attention: {error}") from error

        def _made(self, tx: Any, args: Any) -> Any:
            q, k, v, score_mod, mask_mod, *rest = args
            graphs = [
                (None, ()) if mod.is_python_constant() and mod.as_python_constant() is None
                else make_node(self, tx, q, mod, name)
                for mod, name in ((score_mod, "score_mod"), (mask_mod, "mask_fn"))
            ]  # fmt: skip
            (q, k, v, *rest), _ = as_proxies([q, k, v, *rest], {})
            proxy = tx.output.create_proxy(
                "call_function", self.value, args=(q, k, v, *graphs, *rest), kwargs={}
            )
            return wrap(tx=tx, proxy=proxy, example_value=None)

    # The name that versions of torch look for.
    setattr(Rule, "_call_function" if hasattr(flex, "_call_function") else "call_function",
            Rule._call)  # fmt: skip
    rules["fa3_attention"] = Rule
    return Attention()


operator = _make_operator()
