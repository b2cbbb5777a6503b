# SPDX-License-Identifier: Apache-2.0
"""Tracing of mods by torch itself (make_fx), for code that stand-ins cannot take:
functions that torch has a decomposition of, operations in place. Captured numbers
are constants then; lines of errors are those of the mod's call."""

from __future__ import annotations

from typing import Any, Callable

from . import tensors
from .errors import TraceError

# What leaves a scalar as it is.
_SAME = ("alias", "clone", "contiguous", "copy", "detach", "expand", "lift_fresh",
         "lift_fresh_copy", "reshape", "squeeze", "unsqueeze", "view")  # fmt: skip
_NAMES = {"convert_element_type": "to", "_to_copy": "to"}


#: Answers of tensors that are no tensors, and are part of a Capture's key.
_KEYED = ("dtype", "device", "ndim")


def run(
    name: str, mod: Callable[..., Any], args: list[Any], apply: Any, table: Any
) -> tuple[Any, bool]:
    """The value of a mod of these stand-ins: `apply(name, args, kwargs)` is a function
    of torch on them, `table(tensor)` stands for a tensor. And whether it has asked
    tensors for nothing that is a number, as item() is."""
    torch = tensors.torch_module()
    if torch is None:
        raise TraceError(f"{name}: needs torch")
    graph, is_closed = _graph(torch, name, mod, len(args))
    values: dict[Any, Any] = {}
    given = iter(args)

    def read(one: Any) -> Any:
        if isinstance(one, torch.fx.Node):
            return values[one]
        if isinstance(one, (list, tuple)):
            return [read(part) for part in one]
        return one

    for node in graph.graph.nodes:
        if node.op == "placeholder":
            values[node] = next(given)
        elif node.op == "get_attr":
            values[node] = table(getattr(graph, node.target))
        elif node.op == "output":
            return read(node.args[0]), is_closed
        else:
            values[node] = _call(node, read, apply)
    raise TraceError(f"{name}: gives nothing")


def _graph(
    torch: Any, name: str, mod: Callable[..., Any], count: int
) -> tuple[Any, bool]:
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.overrides import TorchFunctionMode

    asked = []

    class Indexing(TorchFunctionMode):
        """table[index] as an operator, where torch would ask for the value."""

        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func is torch.Tensor.__getitem__:
                index = args[1] if isinstance(args[1], tuple) else (args[1],)
                if all(isinstance(one, torch.Tensor) for one in index):
                    return torch.ops.aten.index.Tensor(args[0], list(index))
            made = func(*args, **(kwargs or {}))
            if not isinstance(made, torch.Tensor):
                asked.append(func)
            return made

    def called(*given: Any) -> Any:
        with Indexing():
            return mod(*given)

    examples = [torch.zeros((), dtype=torch.int32) for _ in range(4)]
    if count == 5:
        examples.insert(0, torch.zeros(()))
    with torch.no_grad():
        graph = make_fx(
            torch.func.functionalize(called),
            decomposition_table=torch._decomp.decomposition_table,
        )(*examples)
    keyed = {getattr(torch.Tensor, one).__get__ for one in _KEYED} | {torch.Tensor.dim}
    return graph, all(one in keyed for one in asked)


def _call(node: Any, read: Callable[[Any], Any], apply: Any) -> Any:
    target = node.target
    base = target._schema.name.partition("::")[2]
    args = [read(one) for one in node.args]
    named = {key: read(one) for key, one in node.kwargs.items()}
    for key in ("layout", "device", "pin_memory", "non_blocking", "memory_format"):
        named.pop(key, None)
    if base == "index":
        return args[0][tuple(args[1])]
    if base == "detach" and _depends(node):
        raise TraceError("detach: gradients that end in a mod are not supported")
    if base in _SAME or (base == "_to_copy" and named.get("dtype") is None):
        return args[-1] if base == "copy" else args[0]
    if base in ("scalar_tensor", "full"):
        return args[0] if base == "scalar_tensor" else args[1]
    return apply(_NAMES.get(base, base), tuple(args), named)


def _depends(node: Any) -> bool:
    """Whether a node is computed from what the mod is given."""
    work, seen = [node], set()
    while work:
        one = work.pop()
        if one.op == "placeholder":
            return True
        if one not in seen:
            seen.add(one)
            work += one.all_input_nodes
    return False
