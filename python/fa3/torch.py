# SPDX-License-Identifier: Apache-2.0
"""fa3 in torch: operators that torch.compile, autograd and opcheck know, and the
switch that puts fa3 behind scaled_dot_product_attention.

    fa3.torch.activate()      # F.scaled_dot_product_attention runs fa3 where it can
    fa3.torch.report()        # what ran, and why the rest did not
"""

from __future__ import annotations

import collections
import functools
import math
import threading
import warnings
from typing import Any

import torch

from . import api, checks, tensors
from .errors import ArgumentError, UnsupportedError
from .request import Request

IMPLEMENTATION = "fa3-compiler"

# -----------------------------------------------------------------------------
# Operators
# -----------------------------------------------------------------------------

# New arguments come at the end, with a default.
_library = torch.library.Library("fa3", "DEF")
_library.define(
    "forward(Tensor q, Tensor k, Tensor v, str program, float? scale=None)"
    " -> (Tensor, Tensor)",
    tags=(torch.Tag.pt2_compliant_tag, torch.Tag.needs_exact_strides),
)

_backward: str | None = None


def set_backward(kind: str | None) -> None:
    """How gradients are computed: "torch" by aten::_flash_attention_backward,
    where it computes the same attention; None (the default) not at all."""
    global _backward
    _backward = _check_backward(kind)


def _check_backward(kind: Any) -> str | None:
    if kind not in (None, "torch"):
        raise ArgumentError("backward", f"{kind!r}, expected None or 'torch'")
    return kind


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    causal: bool = False,
    window: tuple[int | None, int | None] | None = None,
    softcap: float = 0.0,
    scale: float | None = None,
    out_dtype: torch.dtype | None = None,
    return_lse: bool = False,
    layout: str = "bhsd",
    backward: str | None = None,
) -> Any:
    """fa3.attention as an operator of torch, torch.ops.fa3.forward: for
    torch.compile and for gradients. `backward` as set_backward has it."""
    backward = _check_backward(backward) or _backward
    needs_grad = torch.is_grad_enabled() and (
        q.requires_grad or k.requires_grad or v.requires_grad
    )
    if needs_grad:
        reason = _no_backward(q, k, v, causal, softcap, layout, backward)
        if reason:
            raise UnsupportedError(f"gradients of fa3.attention: {reason}")
    # A backward needs lse.
    program = _program(
        causal, window, softcap, out_dtype, return_lse or needs_grad, layout
    )
    o, lse = torch.ops.fa3.forward(q, k, v, program, scale)
    return (o, lse) if return_lse else o


@torch.compiler.disable
def run_outside(*args: Any) -> Any:
    """A call of fa3.attention with mods and the like, under torch.compile."""
    return Request(*args).run()


def _no_backward(
    q: Any, k: Any, v: Any, causal: Any, softcap: Any, layout: str, kind: str | None
) -> str:
    """Why there are no gradients; "" if there are."""
    if kind is None:
        return (
            "there is no backward kernel yet; call set_backward('torch') for that of "
            "torch, or use torch.no_grad()"
        )
    if q.dtype not in (torch.float16, torch.bfloat16):
        return f"element type {q.dtype}, torch's backward takes float16 and bfloat16"
    if q.shape[3] != v.shape[3]:
        return f"head dims {q.shape[3]} and {v.shape[3]}, torch's backward takes equal ones"
    if softcap:
        return f"softcap {softcap}, torch's backward takes none"
    _, _, s = checks.DIMS[layout]
    if causal and q.shape[s] != k.shape[s]:
        return (
            f"causal with {q.shape[s]} queries and {k.shape[s]} keys, torch's backward "
            "takes equal numbers"
        )
    return ""


def _program(
    causal: Any, window: Any, softcap: Any, out_dtype: Any, lse: Any, layout: str
) -> str:
    """What a call asks for, as text: a key of caches has values only. Simple enough
    for Dynamo to follow."""
    left, right = window if window is not None else (None, None)
    out = str(out_dtype)[6:] if out_dtype is not None else "None"
    return (
        f"causal={bool(causal)} left={left} right={right} softcap={float(softcap)} "
        f"out={out} lse={bool(lse)} layout={layout}"
    )


@functools.lru_cache(maxsize=1024)
def _parse(program: str) -> dict[str, Any]:
    """The arguments of fa3.attention that _program was given."""
    named = dict(one.split("=", 1) for one in program.split(" "))

    def end(text: str) -> int | None:
        return None if text == "None" else int(text)

    window = (end(named["left"]), end(named["right"]))
    return {
        "causal": named["causal"] == "True",
        "window": None if window == (None, None) else window,
        "softcap": float(named["softcap"]),
        "out_dtype": None if named["out"] == "None" else getattr(torch, named["out"]),
        "return_lse": named["lse"] == "True",
        "layout": named["layout"],
    }


def _forward_cuda(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, program: str,
    scale: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    named = _parse(program)
    with torch.no_grad():
        made = api.attention(q, k, v, scale=scale, **named)
    if named["return_lse"]:
        return made
    return made, q.new_empty((0,), dtype=torch.float32)


def _forward_fake(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, program: str,
    scale: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    named = _parse(program)
    shape = (*q.shape[:3], v.shape[3])
    dtype = named["out_dtype"] or q.dtype
    if named["out_dtype"] is None and q.element_size() == 1:
        dtype = torch.bfloat16
    o = torch.empty_strided(
        shape, tensors.dense_like(shape, q.stride()), dtype=dtype, device=q.device
    )
    rows: tuple[Any, ...] = (0,)
    if named["return_lse"]:
        b, h, s = checks.DIMS[named["layout"]]
        rows = (q.shape[b], q.shape[h], q.shape[s])
    return o, q.new_empty(rows, dtype=torch.float32)


def _setup_context(ctx: Any, inputs: Any, output: Any) -> None:
    q, k, v, program, scale = inputs
    o, lse = output
    ctx.save_for_backward(q, k, v, o, lse)
    ctx.set_materialize_grads(False)
    ctx.program, ctx.scale = program, scale
    ctx.mark_non_differentiable(lse)


def _backward_rule(ctx: Any, grad_o: Any, grad_lse: Any) -> Any:
    if grad_o is None:
        return None, None, None, None, None
    q, k, v, o, lse = ctx.saved_tensors
    named = _parse(ctx.program)
    reason = _no_backward(
        q, k, v, named["causal"], named["softcap"], named["layout"], "torch"
    )
    if reason or not named["return_lse"]:
        raise UnsupportedError(
            f"gradients of fa3.attention: {reason or 'lse was not kept'}"
        )
    swap = named["layout"] == "bhsd"
    given = [one.transpose(1, 2) if swap else one for one in (grad_o, q, k, v, o)]
    given = [one if one.stride(-1) == 1 else one.contiguous() for one in given]
    left, right = named["window"] or (None, None)
    state = torch.zeros((2,), dtype=torch.uint64, device=q.device)
    grads = torch.ops.aten._flash_attention_backward(
        *given, lse, None, None, given[1].shape[1], given[2].shape[1], 0.0,
        named["causal"], state, state[:1],
        scale=ctx.scale if ctx.scale is not None else 1.0 / math.sqrt(q.shape[3]),
        window_size_left=left, window_size_right=right,
    )  # fmt: skip
    made = [one.transpose(1, 2) if swap else one for one in grads]
    return (*made, None, None)


_library.impl("forward", _forward_cuda, "CUDA")
torch.library.register_fake("fa3::forward", _forward_fake, lib=_library)
torch.library.register_autograd(
    "fa3::forward", _backward_rule, setup_context=_setup_context, lib=_library
)

# -----------------------------------------------------------------------------
# Behind scaled_dot_product_attention
# -----------------------------------------------------------------------------

_FORWARD = "_scaled_dot_product_flash_attention"


class Report:
    """Calls of scaled_dot_product_attention that came to fa3: how many it ran,
    and how many went to torch's kernel, by reason."""

    def __init__(self) -> None:
        self.ran = 0
        self.declined: collections.Counter[str] = collections.Counter()

    def __str__(self) -> str:
        lines = [f"fa3 ran {self.ran} calls, torch {sum(self.declined.values())}"]
        lines += [f"{count:8} {why}" for why, count in self.declined.most_common()]
        return "\n".join(lines)

    __repr__ = __str__


_report = Report()
_lock = threading.Lock()
_active: "_Switch | None" = None


def report(reset: bool = False) -> Report:
    """What happened since activate(), or since the last reset."""
    global _report
    made = _report
    if reset:
        _report = Report()
    return made


class _Switch:
    """The override of torch's flash attention; remove() takes it away."""

    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.stock = _stock_kernel()
        self.library: Any = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            # That a kernel is overridden is what was asked for.
            warnings.simplefilter("ignore")
            self.library.impl(_FORWARD, self.forward, "CUDA")
        self.order = _prefer_flash()

    def remove(self) -> None:
        library, self.library = self.library, None
        if library is not None:
            library._destroy()
        if self.order is not None:
            torch._C._set_sdp_priority_order(self.order)
            self.order = None

    def forward(
        self, query: Any, key: Any, value: Any, dropout_p: float = 0.0,
        is_causal: bool = False, return_debug_mask: bool = False, *,
        scale: float | None = None,
    ) -> Any:  # fmt: skip
        why = _declines(query, key, value, dropout_p, is_causal, return_debug_mask, scale)
        if why:
            if self.strict:
                raise UnsupportedError(f"scaled_dot_product_attention: {why}")
            _report.declined[why] += 1
            return self.stock(
                query, key, value, dropout_p, is_causal, return_debug_mask, scale=scale
            )
        _report.ran += 1
        with torch.no_grad():
            o, lse = api.attention(
                query, key, value, causal=is_causal, scale=scale, return_lse=True
            )
        state = torch.zeros((2,), dtype=torch.uint64, device=query.device)
        offset = torch.zeros((), dtype=torch.uint64, device=query.device)
        mask = torch.empty((0,), dtype=query.dtype, device=query.device)
        return (
            o, lse, None, None, query.shape[2], key.shape[2], state, offset, mask
        )  # fmt: skip


def activate(strict: bool = False) -> None:
    """Puts fa3 behind scaled_dot_product_attention on CUDA, where torch would run
    FlashAttention: float16 and bfloat16, full and causal, no dropout. What fa3
    does not take goes to torch's kernel and is counted (report()); with `strict`
    it raises. Gradients are those of torch's own backward. FlashAttention becomes
    the first choice of scaled_dot_product_attention, where torch has an order."""
    global _active
    with _lock:
        if _active is not None:
            _active.strict = strict
            return
        attention_module = torch.nn.attention
        if hasattr(attention_module, "register_flash_attention_impl"):
            made: list[_Switch] = []

            def register() -> _Switch:
                made.append(_Switch(strict))
                return made[0]

            attention_module.register_flash_attention_impl(
                IMPLEMENTATION, register_fn=register
            )
            attention_module.activate_flash_attention_impl(IMPLEMENTATION)
            _active = made[0]
        else:
            _active = _Switch(strict)


def deactivate() -> None:
    """Undoes activate()."""
    global _active
    with _lock:
        if _active is None:
            return
        attention_module = torch.nn.attention
        current = getattr(attention_module, "current_flash_attention_impl", None)
        if current is not None and current() == IMPLEMENTATION:
            attention_module.restore_flash_attention_impl()
        else:
            _active.remove()
        _active = None


def is_active() -> bool:
    return _active is not None


def _stock_kernel() -> Any:
    """What runs now, to be called after it was overridden."""
    get_kernel = getattr(torch.library, "get_kernel", None)
    if get_kernel is not None:
        kernel = get_kernel(f"aten::{_FORWARD}", "CUDA")
        keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)
        return functools.partial(kernel.call_boxed, keys)
    return _stock_by_parts


def _stock_by_parts(
    query: Any, key: Any, value: Any, dropout_p: float, is_causal: bool,
    return_debug_mask: bool, *, scale: float | None,
) -> Any:  # fmt: skip
    """The stock kernel by the operator that it calls itself."""
    q, k, v = (one.transpose(1, 2) for one in (query, key, value))
    o, lse, state, offset, mask = torch.ops.aten._flash_attention_forward(
        q, k, v, None, None, q.shape[1], k.shape[1], dropout_p, is_causal,
        return_debug_mask, scale=scale,
    )  # fmt: skip
    return (
        o.transpose(1, 2), lse, None, None, q.shape[1], k.shape[1], state, offset, mask
    )  # fmt: skip


def _prefer_flash() -> Any:
    """Makes flash attention the first choice; gives the order before."""
    get = getattr(torch._C, "_get_sdp_priority_order", None)
    put = getattr(torch._C, "_set_sdp_priority_order", None)
    if get is None or put is None:
        return None
    order = list(get())
    flash = int(torch.nn.attention.SDPBackend.FLASH_ATTENTION.value)
    put([flash, *(one for one in order if one != flash)])
    return order


@functools.lru_cache(maxsize=None)
def _capability(device: int) -> tuple[int, int]:
    return torch.cuda.get_device_capability(device)


def _declines(
    q: Any, k: Any, v: Any, dropout: float, causal: bool, debug: bool,
    scale: float | None,
) -> str:  # fmt: skip
    """Why a call is torch's; "" if it is ours."""
    if dropout:
        return "dropout"
    if debug:
        return "return_debug_mask"
    if q.dtype not in (torch.float16, torch.bfloat16):
        return f"element type {q.dtype}"
    if q.dim() != 4:
        return f"rank {q.dim()}"
    if causal and q.shape[2] != k.shape[2]:
        return "causal with queries and keys of unequal number"
    if k.shape[1] == 0 or q.shape[1] % k.shape[1]:
        return "heads that key heads do not divide"
    for dim in (q.shape[3], v.shape[3]):
        if dim % 8 or not 8 <= dim <= checks.MAX_HEAD_DIM:
            return f"head dim {dim}"
    if scale is not None and not 0.0 < scale <= checks.MAX_SCALE:
        return f"scale {scale}"
    for one in (q, k, v):
        strides = one.stride()
        if strides[3] != 1:
            return "last dimension not contiguous"
        if any(
            stride % 8 and extent > 1 for stride, extent in zip(strides[:3], one.shape)
        ):
            return "strides that are no multiples of 16 bytes"
        if one.data_ptr() % 16:
            return "addresses that are no multiples of 16 bytes"
    if q.is_cuda and _capability(q.get_device()) != (9, 0):
        return "device of compute capability {}.{}".format(*_capability(q.get_device()))
    return ""
