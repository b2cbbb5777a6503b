# SPDX-License-Identifier: Apache-2.0
"""torch's fused kernels and their gradients, by fa3's; what fa3 does not take runs the
kernel that torch has chosen."""

from __future__ import annotations

import threading
import warnings
from typing import Any, Callable

import torch

from ..calls import choices, gradients
from ..calls.launch import keep, plans
from ..calls.request import run_program
from ..errors import Fa3Error, UnsupportedError
from ..kernels import checks
from ..kernels.arguments import Arguments
from ..kernels.program import to_text
from ..support import native
from . import counts
from .declines import declines, declines_cudnn, declines_device, declines_dropout


class Operators:
    """The functions that take the place of torch's; `stock` are these by name, `depth`
    says in which of them a thread is."""

    strict: bool
    interpret: bool | str
    stock: dict[str, Any]
    depth: threading.local

    def flash(
        self, keys: Any, query: Any, key: Any, value: Any, dropout_p: float = 0.0,
        is_causal: bool = False, return_debug_mask: bool = False, *,
        scale: float | None = None,
    ) -> Any:  # fmt: skip
        made: Any = None
        state, offset = _no_state_of_flash(query)
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
            made = made or self._run(query, key, value, Arguments(
                is_causal, scale=scale, return_lse=True, dropout_p=dropout_p,
                rng_state=state,
            ), "flash")  # fmt: skip
        if isinstance(made, str):
            return self.run_stock(
                made, "flash_attention", keys, query, key, value, dropout_p, is_causal,
                return_debug_mask, scale=scale,
            )  # fmt: skip
        o, lse = made
        mask = query.new_empty((0,))
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
            or self._run(query, key, value, Arguments(
                is_causal, scale=scale, bias=attn_bias, return_lse=compute_log_sumexp
            ), "cudnn")
        )  # fmt: skip
        if isinstance(made, str):
            return self.run_stock(
                made, "cudnn_attention", keys, query, key, value, attn_bias,
                compute_log_sumexp, dropout_p, is_causal, return_debug_mask, scale=scale,
            )  # fmt: skip
        o, lse = made
        lse = None if lse is None else lse.unsqueeze(-1)
        state = _no_state(query)
        return o, lse, None, None, query.shape[2], key.shape[2], *state, None

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
            made = self._run(query, key, value, Arguments(
                is_causal, scale=scale, bias=attn_bias, return_lse=compute_log_sumexp,
                top_left=query.shape[2] != key.shape[2], out=out,
            ))  # fmt: skip
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
        return o, lse, *_no_state(query)

    def _run(
        self, query: Any, key: Any, value: Any, asked: Arguments, name: str = ""
    ) -> tuple[Any, Any] | str:
        """o and lse, or why there are none. Calls of an operator of that `name` are made
        again without asking."""
        extras = _extras(query, key, asked)
        try:
            with torch.no_grad():
                made = run_program(
                    query, key, value, extras, (), self._text(asked), asked.scale, asked.out
                )
        except Fa3Error as error:
            return _reason_of(error, self.strict)
        counts.current.ran += 1
        if name and not extras:
            call = plans.get((self._text(asked), native.form(query, key, value)))
            if call is not None:
                self.depth.ran = (call, query, key, value)
                known = _key(name, query, key, value, asked.causal, asked.return_lse)
                keep(known, lambda: call)
        return made if asked.return_lse else (made, None)

    def _text(self, asked: Arguments) -> str:
        return to_text(
            asked.replace(interpret=self.interpret, top_left=asked.causal and asked.top_left),
            _names(asked),
        )

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
        counts.current.ran += 1
        return made if wants_lse else (made, None)

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
            or self._run_backward(grad_out, (query, key, value, out, logsumexp), Arguments(
                is_causal, scale=scale, dropout_p=dropout_p, rng_state=philox_seed
            ), "Flash Attention")
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
            or self._run_backward(grad_out, (query, key, value, out, rows), Arguments(
                is_causal, scale=scale, bias=attn_bias
            ), "cuDNN Attention")
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
            saved = (query, key, value, out, logsumexp[:, :, : query.shape[2]])
            made = self._run_backward(grad_out, saved, Arguments(
                is_causal, scale=scale, bias=attn_bias,
                top_left=query.shape[2] != key.shape[2],
            ), "Memory Efficient attention")  # fmt: skip
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

    def is_deterministic(self, kernel: str) -> bool:
        """Whether gradients have the same bits in every run; as torch's kernels, which warn,
        they have not where torch is to warn only. `kernel` is torch's name of one."""
        if choices.backward == "deterministic" or not warns_only():
            return gradients.is_deterministic()
        warnings.warn(
            f"{kernel} defaults to a non-deterministic algorithm. To explicitly enable "
            "determinism call torch.use_deterministic_algorithms(True, warn_only=False).",
            stacklevel=2,
        )
        return False

    def _run_backward(self, do: Any, saved: Any, asked: Arguments, kernel: str) -> Any:
        asked = asked.replace(return_lse=True)
        extras = _extras(saved[0], saved[1], asked)
        try:
            with torch.no_grad():
                *made, _ = gradients.backward(
                    do, None, saved, extras, (), self._text(asked), asked.scale,
                    deterministic=self.is_deterministic(kernel),
                )  # fmt: skip
        except Fa3Error as error:
            return _reason_of(error, self.strict)
        counts.current.gradients += 1
        return tuple(made)

    def run_stock(self, why: str, name: str, keys: Any, *args: Any, **named: Any) -> Any:
        inside = self.runs_stock()
        if not inside:
            if self.strict:
                what = name if name.startswith("_flash") else "scaled_dot_product_attention"
                raise UnsupportedError(f"{what}: {why}")
            counts.current.declined[why] += 1
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
            counts.current.gradients += 1
        else:
            counts.current.ran += 1
        return made

    def declines(self, q: Any, gradients: bool) -> str:
        """What any call of torch's FlashAttention is declined for."""
        return declines_device(q) or (_declines_backward() if gradients else "")


def warns_only() -> bool:
    """Whether torch warns of what is not deterministic, and does it."""
    return torch._C._get_deterministic_algorithms() and (
        torch.is_deterministic_algorithms_warn_only_enabled()
    )


_MASK_GRADIENT = "the mask requires a gradient"


def _declines_backward() -> str:
    return "" if choices.backward in choices.OWN else "set_backward"


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


def _no_state(q: Any) -> tuple[Any, Any]:
    """Seed and offset of calls without dropout, which nobody reads, as cuDNN's and the
    memory-efficient operator give them. New ones in every call: they may be of the pool of
    a CUDA graph (torch.compile(mode="reduce-overhead")), which is to hold nothing else."""
    return q.new_empty((), dtype=torch.int64), q.new_empty((), dtype=torch.int64)


def _no_state_of_flash(q: Any) -> tuple[Any, Any]:
    """As FlashAttention's operator gives them."""
    return q.new_empty((2,), dtype=torch.uint64), q.new_empty((), dtype=torch.uint64)


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


def _names(asked: Arguments) -> str:
    """The extras of a call."""
    names = (("bias", asked.bias is not None), ("rng_state", asked.dropout_p))
    return ",".join(name for name, is_there in names if is_there)


def _extras(query: Any, key: Any, asked: Arguments) -> tuple[Any, ...]:
    made = () if asked.bias is None else (_as_kernels_read(asked.bias, query, key),)
    # Seed and offset as FlashAttention-2's kernels have them, whose backward drops the
    # same weights.
    return (*made, asked.rng_state.view(torch.int64)) if asked.dropout_p else made
