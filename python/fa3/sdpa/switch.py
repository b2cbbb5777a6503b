# SPDX-License-Identifier: Apache-2.0
"""The override of torch's fused kernels, of their gradients, and of the choice among
them."""

from __future__ import annotations

import functools
import threading
import warnings
from typing import Any, Callable

import torch

from ..autograd import nodes, operators  # noqa: F401 (which nodes call)
from ..calls import choices
from ..calls.launch import keep, plans
from ..calls.request import call_key
from ..errors import Fa3Error
from ..kernels import checks
from ..kernels.arguments import Arguments
from ..kernels.program import to_text
from ..support import native, watch
from ..support.tensors import is_wrapped
from . import counts
from . import packed as sdpa_packed
from . import ring
from .operators import Operators, _declines_backward, _declines_now, warns_only

_PREFIX = "_scaled_dot_product_"
_WHOLE = "scaled_dot_product_attention"
# Before, what a boolean mask hides came to cuDNN's operator as -65504, so that rows
# without visible keys saw all of them. Everywhere else they are 0.
_BOOLEANS_BECOME_FINITE = torch.__version__ < (2, 12)


class Switch(Operators):
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
        self.rings.remove()
        library, self.library = self.library, None
        if library is not None:
            library._destroy()

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
            keys, query, key, value, attn_mask, dropout_p, is_causal, scale=scale,
            enable_gqa=enable_gqa,
        )  # fmt: skip

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
            or warns_only()  # which operators do
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
            asked = Arguments(causal, return_lse=True)
            text = to_text(asked, backward=choices.backward)
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
        counts.current.ran += 1
        return made


class _Node(nodes.Dense):
    """fa3.attention's, where the switch called it."""

    @staticmethod
    def count() -> None:
        counts.current.gradients += 1

    @staticmethod
    @watch.by_hand
    def backward(ctx: Any, do: Any, dlse: Any) -> Any:  # type: ignore[override]
        made = nodes.Dense.backward(ctx, do, dlse)
        counts.current.gradients += 1
        return made


#: _Node.apply without what it does for transforms, at which somebody looks.
_apply = super(torch.autograd.Function, _Node).apply

nodes.run_in_c(_Node)


_c = torch._C


def _state() -> tuple[Any, ...]:
    """What torch's choice of a kernel depends on besides the tensors, and what gradients
    do."""
    return (
        _c._get_flash_sdp_enabled(), _c._get_mem_efficient_sdp_enabled(),
        _c._get_cudnn_sdp_enabled(),
        _c._get_math_sdp_enabled(), _c._get_cudnn_enabled(),
        tuple(_c._get_sdp_priority_order()), _c._get_deterministic_algorithms(),
        choices.backward,
    )  # fmt: skip


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


def _require(*given: Any) -> bool:
    return any([one.requires_grad for one in given])
