# SPDX-License-Identifier: Apache-2.0
"""The switch that puts fa3 behind torch's scaled_dot_product_attention.

torch chooses one of its fused kernels (cuDNN first on Hopper, then FlashAttention,
then the memory-efficient one) in C++, by an order that it sets itself at the first
call. So the switch does not ask to be chosen: it takes the place of all three, and
of their gradients. What fa3 does not take runs the kernel that torch has chosen.
"""

from __future__ import annotations

import collections
import functools
import sys
import threading
import warnings
from typing import Any, Callable

import torch

from ..autograd import nodes
from ..calls import gradients
from ..calls.launch import keep, plans
from ..calls.request import call_key, run_program
from ..errors import Fa3Error, UnsupportedError
from ..kernels import checks
from ..kernels.program import to_text
from ..support import forks, native, watch
from ..support.tensors import is_wrapped
from . import packed as sdpa_packed
from . import ring
from .declines import (
    declines,
    declines_cudnn,
    declines_device,
    declines_dropout,
)

IMPLEMENTATION = "fa3-compiler"
_PREFIX = "_scaled_dot_product_"
_WHOLE = "scaled_dot_product_attention"
# Before, what a boolean mask hides came to cuDNN's operator as -65504, so that rows
# without visible keys saw all of them. Everywhere else they are 0.
_BOOLEANS_BECOME_FINITE = torch.__version__ < (2, 12)


class Report:
    """Calls of scaled_dot_product_attention that came to fa3: how many it ran, how
    many gradients it gave, and how many calls went to torch's kernels, by reason."""

    def __init__(self) -> None:
        self.ran = 0
        self.gradients = 0
        self.declined: collections.Counter[str] = collections.Counter()

    def __str__(self) -> str:
        lines = [
            f"fa3 ran {self.ran} calls and {self.gradients} gradients, torch "
            f"{sum(self.declined.values())}"
        ]
        lines += [f"{count:8} {why}" for why, count in self.declined.most_common()]
        return "\n".join(lines)

    __repr__ = __str__


_report = Report()
_lock = forks.lock()
_active: "_Switch | None" = None


def report(reset: bool = False) -> Report:
    """What happened since activate(), or since the last reset."""
    global _report
    made = _report
    if reset:
        _report = Report()
    return made


class _Switch:
    """The override of torch's fused kernels; remove() takes it away. `key` and
    `interpret` are for tests without a GPU."""

    def __init__(self, strict: bool, key: str = "CUDA", interpret: bool | str = False) -> None:
        self.strict, self.interpret = strict, interpret
        overrides: dict[str, Callable[..., Any]] = {
            "flash_attention": self.flash,
            "cudnn_attention": self.cudnn,
            "efficient_attention": self.efficient,
            "flash_attention_backward": self.flash_backward,
            "cudnn_attention_backward": self.cudnn_backward,
            "efficient_attention_backward": self.efficient_backward,
        }
        # What runs now, to be called after it was overridden.
        self.stock = {
            name: torch.library.get_kernel(f"aten::{_PREFIX}{name}", key) for name in overrides
        }
        # torch's own kernels call _flash_attention_forward.
        self.depth = threading.local()
        packed = {
            sdpa_packed.FORWARD: functools.partial(sdpa_packed.forward, self),
            sdpa_packed.BACKWARD: functools.partial(sdpa_packed.backward, self),
        }
        packed = {
            name: function
            for name, function in packed.items()
            if torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", key)
        }
        self.stock |= {name: torch.library.get_kernel(f"aten::{name}", key) for name in packed}
        self.device = key.lower()
        self.library: Any = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            # That a kernel is overridden is what was asked for.
            warnings.simplefilter("ignore")
            for name, function in overrides.items():
                self.library.impl(
                    _PREFIX + name, watch.kernel(function), key, with_keyset=True,
                    allow_override=True,
                )  # fmt: skip
            for name, function in packed.items():
                self.library.impl(
                    name, watch.kernel(function), key, with_keyset=True,
                    allow_override=True,
                )  # fmt: skip
            self.whole = torch.library.get_kernel(f"aten::{_WHOLE}", key)
            self.library.impl(
                _WHOLE, self.attention, "CompositeImplicitAutograd",
                with_keyset=True, allow_override=True,
            )  # fmt: skip
        self.rings = ring.Rings(self)
        self.rings.install()

    def remove(self) -> None:
        global _active
        if _active is self:
            _active = None
        self.rings.remove()
        library, self.library = self.library, None
        if library is not None:
            library._destroy()

    # -- masks --------------------------------------------------------------------

    def attention(
        self, keys: Any, query: Any, key: Any, value: Any, attn_mask: Any = None,
        dropout_p: float = 0.0, is_causal: bool = False, *, scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Any:  # fmt: skip
        """All of scaled_dot_product_attention, where torch chooses a kernel: what a
        boolean mask hides is -inf. torch's one kernel for wide heads takes no groups
        of them, so that its choice would be none. What it has chosen fa3's kernel for
        before is not asked again."""
        if type(query) is not torch.Tensor:
            self.rings.install()  # of DTensors, whose rings were not there before
        if attn_mask is None and not (dropout_p or enable_gqa):
            return self._at_once(keys, query, key, value, is_causal, scale)
        if enable_gqa and query.device.type == self.device and _are_wide_groups(
            query, key, value
        ):  # fmt: skip
            groups = query.shape[1] // key.shape[1]
            key, value = (one.repeat_interleave(groups, 1) for one in (key, value))
            enable_gqa = False
        if (
            _BOOLEANS_BECOME_FINITE
            and attn_mask is not None
            and attn_mask.dtype is torch.bool
            and query.device.type == self.device
        ):
            zero = attn_mask.new_zeros((), dtype=query.dtype)
            attn_mask = torch.where(attn_mask, zero, zero.new_full((), -torch.inf))
        return self.whole.call_boxed(
            keys,
            query,
            key,
            value,
            attn_mask,
            dropout_p,
            is_causal,
            scale=scale,
            enable_gqa=enable_gqa,
        )

    def _at_once(
        self, keys: Any, query: Any, key: Any, value: Any, causal: bool,
        scale: float | None,
    ) -> Any:  # fmt: skip
        """A call of the three tensors: past torch's choice, and its operators, where
        these came to fa3 in the same state before."""
        name = None
        given = (query, key, value)
        if type(query) is type(key) is type(value) is torch.Tensor and not (
            watch.is_watched()
            or any([is_wrapped(one) or one.is_neg() or one.is_nested for one in given])
        ):  # fmt: skip
            name = (
                _state(), torch.is_grad_enabled() and _require(*given), call_key(
                    *given, causal, None, 0.0, None, False, "bhsd"
                ),
            )  # fmt: skip
            known = plans.get(name)
            if known is not None and not _declines_now(query, key, value, scale):
                try:
                    return self._known(known, query, key, value, scale)
                except Fa3Error:
                    pass  # said by the longer way
        self.depth.ran = None
        made = self.whole.call_boxed(
            keys, query, key, value, None, 0.0, causal, scale=scale, enable_gqa=False
        )
        ran, self.depth.ran = self.depth.ran, None
        if name is not None and ran is not None:
            self._learn(name, ran, given, causal, made.requires_grad)
        return made

    def _learn(
        self, name: Any, ran: Any, given: tuple[Any, ...], causal: bool, grads: bool
    ) -> None:
        """Keeps the Call of an operator, if that was called with the same tensors."""
        call, *tensors = ran
        if causal and given[0].shape[2] != given[1].shape[2]:
            return  # operators differ in what that means
        for one, other in zip(given, tensors):
            if one.data_ptr() != other.data_ptr() or native.form(one) != native.form(other):
                return
        if not grads:
            keep(name, lambda: call)
        elif call.has_lse and not _declines_backward():
            text = to_text(causal, None, 0.0, None, True, "bhsd", backward=_kind())
            keep(name, lambda: nodes.made_again(text, call))

    def _known(self, known: Any, query: Any, key: Any, value: Any, scale: Any) -> Any:
        if type(known) is nodes.Asked:
            if scale is not None:
                known = nodes.with_scale(known, scale)
            made = _apply(query, key, value, known)[0]
        else:
            made = known(query, key, value, scale)
            if known.has_lse:
                made = made[0]
        _report.ran += 1
        return made

    # -- forward ------------------------------------------------------------------

    def flash(
        self, keys: Any, query: Any, key: Any, value: Any, dropout_p: float = 0.0,
        is_causal: bool = False, return_debug_mask: bool = False, *,
        scale: float | None = None,
    ) -> Any:  # fmt: skip
        made: Any = None
        _, state = _no_state(query.device)
        if not (dropout_p or return_debug_mask):
            made = self._again("flash", query, key, value, is_causal, scale, True)
        if made is None:
            made = "return_debug_mask" if return_debug_mask else declines(
                query, key, value, 0.0, scale
            )  # fmt: skip
            if dropout_p and not made:
                made = declines_dropout(dropout_p)
                state = torch.empty((2,), dtype=torch.uint64, device=query.device)
                state.view(torch.int64).random_(0, 2**63 - 1)
            made = made or self._run(
                query, key, value, None, is_causal, scale, True, dropout=dropout_p,
                state=state, name="flash",
            )  # fmt: skip
        if isinstance(made, str):
            return self.run_stock(
                made, "flash_attention", keys, query, key, value, dropout_p, is_causal,
                return_debug_mask, scale=scale,
            )  # fmt: skip
        o, lse = made
        offset, mask = state.new_empty(()), query.new_empty((0,))
        return (
            o, lse, None, None, query.shape[2], key.shape[2], state, offset, mask
        )  # fmt: skip

    def cudnn(
        self, keys: Any, query: Any, key: Any, value: Any, attn_bias: Any,
        compute_log_sumexp: bool, dropout_p: float = 0.0, is_causal: bool = False,
        return_debug_mask: bool = False, *, scale: float | None = None,
    ) -> Any:  # fmt: skip
        made: Any = None
        if attn_bias is None and not (dropout_p or return_debug_mask):
            made = self._again("cudnn", query, key, value, is_causal, scale, compute_log_sumexp)
        made = made or (
            "return_debug_mask" if return_debug_mask else declines_cudnn(
                query, key, value, attn_bias, dropout_p, is_causal, scale
            )
            or _declines_gradient(attn_bias)
            or self._run(
                query, key, value, attn_bias, is_causal, scale, compute_log_sumexp,
                name="cudnn",
            )
        )  # fmt: skip
        if isinstance(made, str):
            return self.run_stock(
                made, "cudnn_attention", keys, query, key, value, attn_bias,
                compute_log_sumexp, dropout_p, is_causal, return_debug_mask, scale=scale,
            )  # fmt: skip
        o, lse = made
        state, _ = _no_state(query.device)
        lse = None if lse is None else lse.unsqueeze(-1)
        return o, lse, None, None, query.shape[2], key.shape[2], state, state, None

    def efficient(
        self, keys: Any, query: Any, key: Any, value: Any, attn_bias: Any,
        compute_log_sumexp: bool, dropout_p: float = 0.0, is_causal: bool = False, *,
        scale: float | None = None,
    ) -> Any:  # fmt: skip
        made: Any = declines(query, key, value, dropout_p, scale, attn_bias)
        made = made or _declines_gradient(attn_bias)
        if not made:
            b, h, s, _ = query.shape
            # As torch's kernel leaves it.
            out = query.new_empty((b, s, h, value.shape[3])).transpose(1, 2)
            made = self._run(
                query, key, value, attn_bias, is_causal, scale, compute_log_sumexp,
                top_left=query.shape[2] != key.shape[2], out=out,
            )  # fmt: skip
        if isinstance(made, str):
            return self.run_stock(
                made, "efficient_attention", keys, query, key, value, attn_bias,
                compute_log_sumexp, dropout_p, is_causal, scale=scale,
            )  # fmt: skip
        o, lse = made
        if lse is None:
            lse = query.new_empty((b, h, 0), dtype=torch.float32)
        elif s % 32:
            lse = torch.nn.functional.pad(lse, (0, -s % 32), value=float("inf"))
        state, _ = _no_state(query.device)
        return o, lse, state, state

    def _run(
        self, query: Any, key: Any, value: Any, bias: Any, causal: bool,
        scale: float | None, wants_lse: bool, top_left: bool = False, out: Any = None,
        dropout: float = 0.0, state: Any = None, name: str = "",
    ) -> tuple[Any, Any] | str:  # fmt: skip
        """o and lse, or why there are none. Calls of an operator of that `name` are made
        again without asking."""
        text = to_text(
            causal, None, 0.0, None, wants_lse, "bhsd",
            _names(bias, dropout), interpret=self.interpret,
            top_left=causal and top_left, dropout=dropout,
        )  # fmt: skip
        extras = _extras(bias, query, key, dropout, state)
        try:
            with torch.no_grad():
                made = run_program(query, key, value, extras, (), text, scale, out)
        except Fa3Error as error:
            return _reason_of(error, self.strict)
        _report.ran += 1
        if name and not extras:
            call = plans.get((text, native.form(query, key, value)))
            if call is not None:
                self.depth.ran = (call, query, key, value)
                known = _key(name, query, key, value, causal, wants_lse)
                keep(known, lambda: call)
        return made if wants_lse else (made, None)

    def _again(
        self, name: str, query: Any, key: Any, value: Any, causal: bool,
        scale: float | None, wants_lse: bool,
    ) -> Any:  # fmt: skip
        """o and lse of a call of the three tensors that was not declined before."""
        call = plans.get(_key(name, query, key, value, causal, wants_lse))
        if call is None or _declines_now(query, key, value, scale):
            return None
        try:
            made = call(query, key, value, scale)
        except Fa3Error:
            return None  # said by the longer way
        self.depth.ran = (call, query, key, value)
        _report.ran += 1
        return made if wants_lse else (made, None)

    # -- backward -----------------------------------------------------------------

    def flash_backward(
        self, keys: Any, grad_out: Any, query: Any, key: Any, value: Any, out: Any,
        logsumexp: Any, cum_seq_q: Any, cum_seq_k: Any, max_q: int, max_k: int,
        dropout_p: float, is_causal: bool, philox_seed: Any, philox_offset: Any, *,
        scale: float | None = None,
    ) -> Any:  # fmt: skip
        made = (
            not _is_known("flash", query, key, value, is_causal, scale)
            and declines(query, key, value, 0.0, scale)
            or _declines_backward()
            or self._run_backward(
                grad_out, query, key, value, out, logsumexp, None, is_causal, scale,
                dropout=dropout_p, state=philox_seed,
            )
        )  # fmt: skip
        if isinstance(made, str):
            return self.run_stock(
                f"gradients: {made}", "flash_attention_backward", keys, grad_out, query,
                key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k,
                dropout_p, is_causal, philox_seed, philox_offset, scale=scale,
            )  # fmt: skip
        return made

    def cudnn_backward(
        self, keys: Any, grad_out: Any, query: Any, key: Any, value: Any, out: Any,
        logsumexp: Any, philox_seed: Any, philox_offset: Any, attn_bias: Any,
        cum_seq_q: Any, cum_seq_k: Any, max_q: int, max_k: int, dropout_p: float,
        is_causal: bool, *, scale: float | None = None,
    ) -> Any:  # fmt: skip
        rows = logsumexp.squeeze(-1) if logsumexp.dim() == 4 else logsumexp
        taken = attn_bias is None and not dropout_p and _is_known(
            "cudnn", query, key, value, is_causal, scale
        )  # fmt: skip
        made = (
            not taken
            and declines_cudnn(query, key, value, attn_bias, dropout_p, is_causal, scale)
            or _declines_backward()
            or self._run_backward(
                grad_out, query, key, value, out, rows, attn_bias, is_causal, scale
            )
        )  # fmt: skip
        if isinstance(made, str):
            return self.run_stock(
                f"gradients: {made}", "cudnn_attention_backward", keys, grad_out, query,
                key, value, out, logsumexp, philox_seed, philox_offset, attn_bias,
                cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, scale=scale,
            )  # fmt: skip
        return made

    def efficient_backward(
        self, keys: Any, grad_out: Any, query: Any, key: Any, value: Any,
        attn_bias: Any, out: Any, logsumexp: Any, philox_seed: Any, philox_offset: Any,
        dropout_p: float, grad_input_mask: Any, is_causal: bool = False, *,
        scale: float | None = None,
    ) -> Any:  # fmt: skip
        made: Any = declines(query, key, value, dropout_p, scale, attn_bias)
        if not made and grad_input_mask[3]:
            # Without a mask that is torch's error.
            made = _MASK_GRADIENT
        made = made or _declines_backward()
        if not made:
            made = self._run_backward(
                grad_out, query, key, value, out, logsumexp[:, :, : query.shape[2]],
                attn_bias, is_causal, scale, top_left=query.shape[2] != key.shape[2],
            )  # fmt: skip
        if isinstance(made, str):
            if attn_bias is not None:
                # Of rows without visible keys: weights of 0 for every kernel.
                logsumexp = logsumexp.masked_fill(logsumexp == -torch.inf, torch.inf)
            return self.run_stock(
                f"gradients: {made}", "efficient_attention_backward", keys, grad_out,
                query, key, value, attn_bias, out, logsumexp, philox_seed,
                philox_offset, dropout_p, grad_input_mask, is_causal, scale=scale,
            )  # fmt: skip
        return (*made, None)

    def _run_backward(
        self, do: Any, query: Any, key: Any, value: Any, o: Any, lse: Any, bias: Any,
        causal: bool, scale: float | None, top_left: bool = False, dropout: float = 0.0,
        state: Any = None,
    ) -> Any:  # fmt: skip
        text = to_text(
            causal, None, 0.0, None, True, "bhsd", _names(bias, dropout),
            interpret=self.interpret, top_left=causal and top_left, dropout=dropout,
        )  # fmt: skip
        extras = _extras(bias, query, key, dropout, state)
        try:
            with torch.no_grad():
                *made, _ = gradients.backward(
                    do, None, query, key, value, o, lse, extras, (), text, scale
                )
        except Fa3Error as error:
            return _reason_of(error, self.strict)
        _report.gradients += 1
        return tuple(made)

    # -- torch's ------------------------------------------------------------------

    def run_stock(self, why: str, name: str, keys: Any, *args: Any, **named: Any) -> Any:
        inside = self.runs_stock()
        if not inside:
            if self.strict:
                what = name if name.startswith("_flash") else "scaled_dot_product_attention"
                raise UnsupportedError(f"{what}: {why}")
            _report.declined[why] += 1
        self.depth.inside, self.depth.ran = True, None
        try:
            return self.stock[name].call_boxed(keys, *args, **named)
        finally:
            self.depth.inside = inside

    def runs_stock(self) -> str:
        """That one of torch's kernels, which calls this, was to run; "" if not."""
        return "called by torch's kernel" if getattr(self.depth, "inside", False) else ""

    def counted(self, run: Callable[..., Any], *args: Any, gradients: bool = False) -> Any:
        """What `run` gives, or why that is torch's."""
        try:
            with torch.no_grad():
                made = run(*args)
        except Fa3Error as error:
            return _reason_of(error, self.strict)
        if gradients:
            _report.gradients += 1
        else:
            _report.ran += 1
        return made

    def declines(self, q: Any, gradients: bool) -> str:
        """What any call of torch's FlashAttention is declined for."""
        return declines_device(q) or (_declines_backward() if gradients else "")


class _Node(nodes.Dense):
    """fa3.attention's, where the switch called it."""

    @staticmethod
    def count() -> None:
        _report.gradients += 1

    @staticmethod
    @watch.by_hand
    def backward(ctx: Any, do: Any, dlse: Any) -> Any:  # type: ignore[override]
        made = nodes.Dense.backward(ctx, do, dlse)
        _report.gradients += 1
        return made


#: _Node.apply without what it does for transforms, at which somebody looks.
_apply = super(torch.autograd.Function, _Node).apply


def run_in_c(door: Any) -> None:
    nodes.run_in_c(_Node, door)


_DOOR = f"{__package__.rpartition('.')[0]}.torch"


def _kind() -> Any:
    return sys.modules[_DOOR]._kind


def _state() -> tuple[Any, ...]:
    """What torch's choice of a kernel depends on besides the tensors, and what gradients
    do."""
    return (
        _c._get_flash_sdp_enabled(), _c._get_mem_efficient_sdp_enabled(),
        _c._get_cudnn_sdp_enabled(),
        _c._get_math_sdp_enabled(), _c._get_cudnn_enabled(),
        tuple(_c._get_sdp_priority_order()), _c._get_deterministic_algorithms(), _kind(),
    )  # fmt: skip


_c = torch._C
_MASK_GRADIENT = "the mask requires a gradient"


def _declines_backward() -> str:
    from .. import torch as door

    return "" if door._kind in door.OWN else "set_backward"


def _are_wide_groups(q: Any, k: Any, v: Any) -> bool:
    """Key heads of several heads each, with head dims that fa3 takes and torch's kernels
    for groups do not."""
    if not q.dim() == k.dim() == v.dim() == 4 or q.element_size() != 2:
        return False
    if checks.declines_head_dims(q.shape[3], v.shape[3]):
        return False
    return (
        max(q.shape[3], v.shape[3]) > checks.MAX_HEAD_DIM
        and 0 < k.shape[1] == v.shape[1] < q.shape[1]
        and q.shape[1] % k.shape[1] == 0
    )


def _key(name: str, q: Any, k: Any, v: Any, causal: bool, wants_lse: bool) -> tuple[Any, ...]:
    """All that a call without mask and dropout is declined for, but what _declines_now
    says."""
    return name, causal, wants_lse, native.form(q, k, v)


def _declines_now(q: Any, k: Any, v: Any, scale: float | None) -> bool:
    return bool((q.data_ptr() | k.data_ptr() | v.data_ptr()) % 16) or (
        scale is not None and not 0.0 < scale <= checks.MAX_SCALE_OF_GRADIENTS
    )


def _is_known(name: str, q: Any, k: Any, v: Any, causal: bool, scale: float | None) -> bool:
    """Whether the forward of this backward, or one like it, was not declined."""
    return _key(name, q, k, v, causal, True) in plans and not _declines_now(q, k, v, scale)


@functools.lru_cache(maxsize=None)
def _no_state(device: torch.device) -> tuple[Any, Any]:
    """Seed and offset of calls without dropout, which nobody reads: as cuDNN's and the
    memory-efficient operator give them, and as FlashAttention's does."""
    with torch.inference_mode(False):
        return (
            torch.empty((), dtype=torch.int64, device=device),
            torch.empty((2,), dtype=torch.uint64, device=device),
        )


def _require(*given: Any) -> bool:
    return any([one.requires_grad for one in given])


def _declines_gradient(bias: Any) -> str:
    """Forward and backward of such a mask are torch's, both."""
    return _MASK_GRADIENT if bias is not None and bias.requires_grad else ""


def _reason_of(error: Fa3Error, strict: bool) -> str:
    """Why a call that passed `declines` is torch's."""
    if strict:
        raise error
    return f"{type(error).__name__}: {error}".partition("\n")[0]


def _as_kernels_read(bias: Any, q: Any, k: Any) -> Any:
    """A mask (batch or 1, heads or 1, queries or 1, keys) whose keys lie one behind the
    other, of one that `declines_mask` lets pass."""
    bias = bias[(None,) * (4 - bias.dim())]
    if bias.shape[3] == k.shape[2] and (k.shape[2] <= 1 or bias.stride(3) == 1):
        return bias
    for d in range(3):
        # What is the same for all is not copied for each of them.
        if bias.stride(d) == 0 and bias.shape[d] > 1:
            bias = bias.narrow(d, 0, 1)
    return bias.expand(-1, -1, -1, k.shape[2]).contiguous()


def activate(strict: bool = False) -> None:
    """Puts fa3 behind scaled_dot_product_attention on CUDA, in place of cuDNN,
    FlashAttention and the memory-efficient kernel: float16 and bfloat16, full,
    causal, and with a mask; gradients by fa3's kernels (set_backward). What fa3 does
    not take goes to the kernel that torch has chosen and is counted (report()); with
    `strict` it raises. Needs torch 2.9."""
    global _active, _strict
    with _lock:
        if _active is not None:
            _active.strict = strict
            return
        if not hasattr(torch.library, "get_kernel"):
            raise UnsupportedError(
                f"activate() needs torch.library.get_kernel, torch {torch.__version__} has none"
            )
        if register():
            _strict = strict
            try:
                torch.nn.attention.activate_flash_attention_impl(IMPLEMENTATION)
            finally:
                _strict = False
        else:
            _active = _Switch(strict)


_strict = False


def register() -> bool:
    """Lists fa3 among torch.nn.attention.list_flash_attention_impls(), which
    activate_flash_attention_impl("fa3-compiler") is activate() of then. False where torch,
    before 2.11, has no such list. `import fa3` behind `import torch` does it."""
    attention_module = torch.nn.attention
    if not hasattr(attention_module, "register_flash_attention_impl"):
        return False
    attention_module.register_flash_attention_impl(IMPLEMENTATION, register_fn=_activated_by_torch)
    return True


def _activated_by_torch() -> _Switch:
    global _active
    _active = _Switch(_strict)
    return _active


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


def _names(bias: Any, dropout: float) -> str:
    """The extras of a call."""
    names = (() if bias is None else ("bias",), ("rng_state",) if dropout else ())
    return ",".join(names[0] + names[1])


def _extras(bias: Any, query: Any, key: Any, dropout: float, state: Any) -> tuple[Any, ...]:
    made = () if bias is None else (_as_kernels_read(bias, query, key),)
    # Seed and offset as FlashAttention-2's kernels have them, whose backward drops the
    # same weights.
    return (*made, state.view(torch.int64)) if dropout else made
