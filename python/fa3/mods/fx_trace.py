# SPDX-License-Identifier: Apache-2.0
"""Tracing of mods by torch itself (make_fx), for code that stand-ins cannot take:
functions that torch has a decomposition of, operations in place. Captured numbers
are constants then; lines of errors are those of the mod's call."""

from __future__ import annotations

from typing import Any, Callable

from ..errors import TraceError
from ..support import tensors
from .scalars.places import EndsGradient, error_here

# What leaves a scalar as it is.
_SAME = ("alias", "clone", "contiguous", "expand", "lift_fresh",
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

    asked: list[Any] = []
    inside: list[Any] = []

    class Indexing(TorchFunctionMode):
        """table[index] as an operator, where torch would ask for the value."""

        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if not inside:  # and not in what torch makes of the mod's calls
                if func in _detaches(torch):
                    return _detached(torch, args[0])
                if (
                    has_gradient and not torch.is_grad_enabled()
                    and func is not torch._C._set_grad_enabled
                ):  # fmt: skip
                    raise EndsGradient("torch.no_grad, or a torch.autograd.Function")
            if func is torch.Tensor.__getitem__:
                index = args[1] if isinstance(args[1], tuple) else (args[1],)
                if all(isinstance(one, torch.Tensor) for one in index):
                    return torch.ops.aten.index.Tensor(args[0], list(index))
            inside.append(func)
            made = func(*args, **(kwargs or {}))
            inside.pop()
            if not isinstance(made, torch.Tensor):
                asked.append(func)
            return made

    # That of a mask has none.
    has_gradient = count == 5

    def called(*given: Any) -> Any:
        with torch.set_grad_enabled(has_gradient), Indexing():
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


def _detaches(torch: Any) -> tuple[Any, ...]:
    return (
        torch.Tensor.detach, torch.detach, torch.Tensor.detach_, torch.detach_,
        torch.Tensor.requires_grad_, torch.Tensor.data.__get__,
    )  # fmt: skip


def _detached(torch: Any, tensor: Any) -> Any:
    """A captured tensor without its gradient is another tensor."""
    if torch._is_functional_tensor(tensor):
        raise EndsGradient("detach")
    from ..support import watch

    with watch.unseen(), torch._C.DisableTorchFunction():
        return tensor.detach()


def _call(node: Any, read: Callable[[Any], Any], apply: Any) -> Any:
    target = node.target
    base = target._schema.name.partition("::")[2]
    args = [read(one) for one in node.args]
    named = {key: read(one) for key, one in node.kwargs.items()}
    for key in ("layout", "device", "pin_memory", "non_blocking", "memory_format"):
        named.pop(key, None)
    if base == "index":
        return args[0][tuple(args[1])]
    if str(target) == "aten.view.dtype":
        raise error_here(f"view({args[1]}), the bits of a number as another one")
    if base == "copy":
        # Into memory that has its type.
        return apply("to", (args[1], args[0].dtype), {})
    if str(target) == "prims.div.default" and not node.meta["val"].is_floating_point():
        return apply("div", tuple(args), {"rounding_mode": "trunc"})
    if base in _SAME or (base == "_to_copy" and named.get("dtype") is None):
        return args[0]
    if base in ("scalar_tensor", "full"):
        return args[0] if base == "scalar_tensor" else args[1]
    return apply(_NAMES.get(base, base), tuple(args), named)

