# SPDX-License-Identifier: Apache-2.0
"""FlashAttention-2's functions and module paths, on fa3's kernels, for this process and
only where asked for:

    fa3.install_flash_attn_2()
    from flash_attn import flash_attn_func, flash_attn_varlen_func
    from flash_attn.flash_attn_interface import _flash_attn_forward, _flash_attn_backward

Every argument is honored or refused by its name. The weights that dropout drops are
FlashAttention-2's for a seed and an offset; the matrix of them, S_dmask, is not given
out."""

from __future__ import annotations

import types
from typing import Any

import torch

from . import api, serving
from . import flash_attn_interface as functions
from .autograd.operators import ops
from .calls import choices, gradients
from .errors import ArgumentError, UnsupportedError
from .kernels.arguments import Arguments
from .kernels.program import to_text
from .serving import operators, packed
from .support import forks, modules, values

MODULES = ("flash_attn", "flash_attn.flash_attn_interface")
VERSION = "2.8.4+fa3"

_interpret: bool | str = False

# -----------------------------------------------------------------------------
# What the functions have in common
# -----------------------------------------------------------------------------


def _named(q: Any, scale: Any, causal: Any, window: Any, softcap: Any) -> dict[str, Any]:
    softcap = max(values.real("softcap", softcap), 0.0)
    named = functions._named(q, scale, causal, window, softcap, 0)
    return named | {"interpret": _interpret}


def _slopes(slopes: Any) -> Any:
    if slopes is not None and slopes.dim() != 1:
        raise UnsupportedError(f"alibi_slopes of {slopes.dim()} dimensions, expected (heads,)")
    return slopes


def _refuse_in_sequences(function: str, **given: Any) -> None:
    for name, value in given.items():
        if value is not None and not (isinstance(value, (bool, float, int)) and not value):
            raise UnsupportedError(f"{function}: '{name}' of packed sequences")


def _result(made: Any, wants_all: Any, dropout: float = 0.0) -> Any:
    """out, or (out, softmax_lse, S_dmask), which is None without dropout."""
    if not wants_all:
        return made
    if dropout:
        raise UnsupportedError("return_attn_probs with dropout_p: S_dmask is not given out")
    return *made, None


# -----------------------------------------------------------------------------
# The functions, with gradients
# -----------------------------------------------------------------------------


def flash_attn_func(
    q: Any, k: Any, v: Any, dropout_p: float = 0.0, softmax_scale: float | None = None,
    causal: bool = False, window_size: Any = (-1, -1), softcap: float = 0.0,
    alibi_slopes: Any = None, deterministic: bool = False, return_attn_probs: bool = False,
) -> Any:  # fmt: skip
    """q (batch, queries, heads, d), k and v (batch, keys, key heads, d): out, or (out,
    softmax_lse, None) with `return_attn_probs`."""
    wants_all = values.flag("return_attn_probs", return_attn_probs)
    _result((), wants_all, dropout_p)

    def run(q: Any, k: Any, v: Any, named: dict[str, Any], grads: bool) -> Any:
        del named["chunk"]
        named |= {
            "layout": "bshd", "alibi_slopes": _slopes(alibi_slopes), "dropout_p": dropout_p
        }  # fmt: skip
        if deterministic and grads:
            from . import torch as door

            return door.attention(q, k, v, backward="deterministic", **named)
        return api.attention(q, k, v, **named)

    named = _named(q, softmax_scale, causal, window_size, softcap)
    made = functions._with_head_dims(q, k, v, named | {"return_lse": wants_all}, run)
    return _result(made, wants_all)


def flash_attn_kvpacked_func(q: Any, kv: Any, *args: Any, **named: Any) -> Any:
    """kv (batch, keys, 2, key heads, d)."""
    return flash_attn_func(q, *_parts("kv", kv, 2, 5), *args, **named)


def flash_attn_qkvpacked_func(qkv: Any, *args: Any, **named: Any) -> Any:
    """qkv (batch, sequence, 3, heads, d)."""
    return flash_attn_func(*_parts("qkv", qkv, 3, 5), *args, **named)


def _parts(name: str, one: Any, count: int, rank: int) -> Any:
    if one.dim() != rank or one.shape[-3] != count:
        raise ArgumentError(
            name, f"shape {tuple(one.shape)}, expected {rank} dimensions and {count} of "
            f"dimension {rank - 3}",
        )  # fmt: skip
    return one.unbind(dim=-3)


def flash_attn_varlen_func(
    q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, max_seqlen_q: int,
    max_seqlen_k: int, dropout_p: float = 0.0, softmax_scale: float | None = None,
    causal: bool = False, window_size: Any = (-1, -1), softcap: float = 0.0,
    alibi_slopes: Any = None, deterministic: bool = False, return_attn_probs: bool = False,
    block_table: Any = None,
) -> Any:  # fmt: skip
    """q (queries of all sequences, heads, d), k and v likewise, or pages with
    block_table: out, or (out, softmax_lse (heads, queries), None)."""
    _refuse_in_sequences(
        "flash_attn_varlen_func", dropout_p=dropout_p, alibi_slopes=alibi_slopes
    )
    wants_all = values.flag("return_attn_probs", return_attn_probs)
    max_q = values.whole("max_seqlen_q", max_seqlen_q)
    max_k = values.whole("max_seqlen_k", max_seqlen_k)

    def run(q: Any, k: Any, v: Any, named: dict[str, Any], grads: bool) -> Any:
        if grads and block_table is None:
            return packed.attention(
                q, k, v, cu_q=cu_seqlens_q, cu_k=cu_seqlens_k, max_q=max_q, max_k=max_k,
                deterministic=deterministic, **named,
            )  # fmt: skip
        if grads:
            raise UnsupportedError("flash_attn_varlen_func: gradients with 'block_table'")
        return serving.attention(
            q, k, v, cu_q=cu_seqlens_q, max_q=max_q, page_table=block_table,
            **_keys(cu_seqlens_k, max_k, block_table, None), **named,
        )  # fmt: skip

    named = _named(q, softmax_scale, causal, window_size, softcap)
    made = functions._with_head_dims(q, k, v, named | {"return_lse": wants_all}, run)
    return _result(made, wants_all)


def _keys(cu_k: Any, max_k: int, table: Any, used: Any) -> dict[str, Any]:
    """Where keys are; those of pages begin nowhere."""
    if table is None:
        return {"cu_k": cu_k, "max_k": max_k, "used_k": used}
    return {"used_k": (cu_k[1:] - cu_k[:-1]).to(torch.int32) if used is None else used}


def flash_attn_varlen_kvpacked_func(q: Any, kv: Any, *args: Any, **named: Any) -> Any:
    """kv (keys of all sequences, 2, key heads, d)."""
    return flash_attn_varlen_func(q, *_parts("kv", kv, 2, 4), *args, **named)


def flash_attn_varlen_qkvpacked_func(
    qkv: Any, cu_seqlens: Any, max_seqlen: int, *args: Any, **named: Any
) -> Any:
    """qkv (rows of all sequences, 3, heads, d)."""
    return flash_attn_varlen_func(
        *_parts("qkv", qkv, 3, 4), cu_seqlens, cu_seqlens, max_seqlen, max_seqlen, *args,
        **named,
    )  # fmt: skip


def flash_attn_with_kvcache(
    q: Any, k_cache: Any, v_cache: Any, k: Any = None, v: Any = None,
    rotary_cos: Any = None, rotary_sin: Any = None, cache_seqlens: Any = None,
    cache_batch_idx: Any = None, cache_leftpad: Any = None, block_table: Any = None,
    softmax_scale: float | None = None, causal: bool = False, window_size: Any = (-1, -1),
    softcap: float = 0.0, rotary_interleaved: bool = True, alibi_slopes: Any = None,
    num_splits: int = 0, return_softmax_lse: bool = False,
) -> Any:  # fmt: skip
    """As flash_attn_interface's function of FlashAttention-3 (fa3.flash_attn_interface)."""
    _refuse_in_sequences("flash_attn_with_kvcache", alibi_slopes=alibi_slopes)
    return functions.flash_attn_with_kvcache(
        q, k_cache, v_cache, k=k, v=v, rotary_cos=rotary_cos, rotary_sin=rotary_sin,
        cache_seqlens=cache_seqlens, cache_batch_idx=cache_batch_idx,
        cache_leftpad=cache_leftpad, page_table=block_table, softmax_scale=softmax_scale,
        causal=causal, window_size=window_size, softcap=max(values.real("softcap", softcap), 0.0),
        rotary_interleaved=rotary_interleaved, num_splits=num_splits,
        return_softmax_lse=return_softmax_lse,
    )  # fmt: skip


# -----------------------------------------------------------------------------
# Forward and backward by hand, as rings call them
# -----------------------------------------------------------------------------


def _flash_attn_forward(
    q: Any, k: Any, v: Any, dropout_p: float, softmax_scale: float | None, causal: bool,
    window_size_left: int, window_size_right: int, softcap: float, alibi_slopes: Any,
    return_softmax: bool,
) -> Any:  # fmt: skip
    """out, softmax_lse (batch, heads, queries), an empty tensor, and the state of the
    random numbers. Without gradients, as FlashAttention-2's."""
    if return_softmax:
        raise UnsupportedError("_flash_attn_forward: return_softmax: S_dmask is not given out")
    q, k, v = functions._contiguous(q, k, v)
    window = (window_size_left, window_size_right)
    named = _named(q, softmax_scale, causal, window, softcap)
    del named["chunk"]
    state = torch.zeros((2,), dtype=torch.int64, device=q.device)
    if dropout_p:
        state.random_(0, 2**63 - 1)
    with torch.no_grad():
        o, lse = api.attention(
            q, k, v, layout="bshd", return_lse=True, alibi_slopes=_slopes(alibi_slopes),
            dropout_p=dropout_p, rng_state=state if dropout_p else None, **named,
        )  # fmt: skip
    return o, lse, q.new_empty((0,)), state


def _flash_attn_varlen_forward(
    q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, max_seqlen_q: int,
    max_seqlen_k: int, dropout_p: float, softmax_scale: float | None, causal: bool,
    window_size_left: int = -1, window_size_right: int = -1, softcap: float = 0.0,
    alibi_slopes: Any = None, return_softmax: bool = False, block_table: Any = None,
    leftpad_k: Any = None, seqused_k: Any = None, zero_tensors: bool = False,
    num_splits: int = 0,
) -> Any:  # fmt: skip
    """As _flash_attn_forward; softmax_lse is (heads, queries of all sequences)."""
    _refuse_in_sequences(
        "_flash_attn_varlen_forward", dropout_p=dropout_p, alibi_slopes=alibi_slopes,
        return_softmax=return_softmax, zero_tensors=zero_tensors,
    )  # fmt: skip
    q, k, v = functions._contiguous(q, k, v)
    window = (window_size_left, window_size_right)
    with torch.no_grad():
        o, lse = serving.attention(
            q, k, v, cu_q=cu_seqlens_q, max_q=values.whole("max_seqlen_q", max_seqlen_q),
            **_keys(
                cu_seqlens_k, values.whole("max_seqlen_k", max_seqlen_k), block_table,
                seqused_k,
            ),
            page_table=block_table, leftpad=leftpad_k, splits=num_splits, return_lse=True,
            **_named(q, softmax_scale, causal, window, softcap),
        )  # fmt: skip
    state = torch.zeros((2,), dtype=torch.int64, device=q.device)
    return o, lse, q.new_empty((0,)), state


def _flash_attn_backward(
    dout: Any, q: Any, k: Any, v: Any, out: Any, softmax_lse: Any, dq: Any, dk: Any, dv: Any,
    dropout_p: float, softmax_scale: float | None, causal: bool, window_size_left: int,
    window_size_right: int, softcap: float, alibi_slopes: Any, deterministic: bool,
    rng_state: Any = None,
) -> Any:  # fmt: skip
    """Writes dq, dk and dv; gives softmax_d, (batch, heads, queries) in f32."""
    choices.check_own("flash_attn: backward")
    grads = list(functions._given_grads("", (dq, dk, dv), (q, k, v)).values())
    dout, q, k, v, out = functions._contiguous(dout, q, k, v, out)
    named = _named(q, softmax_scale, causal, (window_size_left, window_size_right), softcap)
    extras = {"alibi": _slopes(alibi_slopes)}
    if dropout_p:
        if rng_state is None:
            raise ArgumentError("rng_state", "is None, and dropout_p is not 0")
        extras["rng_state"] = rng_state.view(torch.int64)
    extras = {name: one for name, one in extras.items() if one is not None}
    asked = Arguments(
        named["causal"], named["window"], named["softcap"], return_lse=True, layout="bshd",
        dropout_p=dropout_p, interpret=_interpret,
    )  # fmt: skip
    text = to_text(
        asked, ",".join(extras), backward="deterministic" if deterministic else "fa3"
    )
    saved, rest = (q, k, v, out, softmax_lse), (list(extras.values()), [], text, named["scale"])
    with torch.no_grad():
        if torch.compiler.is_compiling():
            _copy(ops.backward(dout, None, *saved, *rest)[:3], grads)
        else:
            gradients.backward(dout, None, saved, *rest, into=grads)
        return _sums(dout, out).transpose(1, 2)


def _flash_attn_varlen_backward(
    dout: Any, q: Any, k: Any, v: Any, out: Any, softmax_lse: Any, dq: Any, dk: Any, dv: Any,
    cu_seqlens_q: Any, cu_seqlens_k: Any, max_seqlen_q: int, max_seqlen_k: int,
    dropout_p: float, softmax_scale: float | None, causal: bool, window_size_left: int,
    window_size_right: int, softcap: float, alibi_slopes: Any, deterministic: bool,
    rng_state: Any = None, zero_tensors: bool = False,
) -> Any:  # fmt: skip
    """As _flash_attn_backward; softmax_d is (heads, queries of all sequences). Rows of
    gradients that are of no sequence become 0."""
    _refuse_in_sequences(
        "_flash_attn_varlen_backward", dropout_p=dropout_p, alibi_slopes=alibi_slopes
    )
    choices.check_own("flash_attn: backward")
    grads = list(functions._given_grads("", (dq, dk, dv), (q, k, v)).values())
    dout, q, k, v, out = functions._contiguous(dout, q, k, v, out)
    named = _named(q, softmax_scale, causal, (window_size_left, window_size_right), softcap)
    with torch.no_grad():
        left, right = operators._ends(named["window"])
        made = ops.packed_backward(
            dout, None, q, k, v, out, softmax_lse.contiguous(), cu_seqlens_q, cu_seqlens_k,
            None, None, values.whole("max_seqlen_q", max_seqlen_q),
            values.whole("max_seqlen_k", max_seqlen_k), named["causal"], left, right,
            named["softcap"], 0, named["scale"],
            deterministic or gradients.is_deterministic(), operators._spelled(_interpret),
        )  # fmt: skip
        _copy(made, grads)
        return _sums(dout, out).T


def _copy(made: Any, grads: Any) -> None:
    for one, other in zip(made, grads):
        other.copy_(one)


def _sums(do: Any, o: Any) -> Any:
    """What every row of gradients of scores has subtracted."""
    return (do.float() * o).sum(-1)


# -----------------------------------------------------------------------------
# For a process
# -----------------------------------------------------------------------------

_lock = forks.lock()
_installed = modules.Installed()
_PUBLIC = (
    "flash_attn_func", "flash_attn_kvpacked_func", "flash_attn_qkvpacked_func",
    "flash_attn_varlen_func", "flash_attn_varlen_kvpacked_func",
    "flash_attn_varlen_qkvpacked_func", "flash_attn_with_kvcache",
)  # fmt: skip
_BY_HAND = (
    "_flash_attn_forward", "_flash_attn_backward", "_flash_attn_varlen_forward",
    "_flash_attn_varlen_backward",
)  # fmt: skip


def install_flash_attn_2(interpret: bool | str = False) -> None:
    """Makes FlashAttention-2's modules, `flash_attn` and `flash_attn.flash_attn_interface`,
    those of this file, in this process. What imported them before keeps what it has;
    where FlashAttention-2 itself is loaded it is an error. A second call does nothing.
    `interpret` as in fa3.attention, for tests."""
    global _interpret
    with _lock:
        modules.check(MODULES, "install_flash_attn_2", "FlashAttention-2")
        _interpret = interpret
        _installed.put(_modules())


def uninstall_flash_attn_2() -> None:
    """Undoes install_flash_attn_2(). Functions that were imported are still fa3's."""
    with _lock:
        _installed.remove()


def _modules() -> dict[str, types.ModuleType]:
    public = {name: globals()[name] for name in _PUBLIC}
    by_hand = {name: globals()[name] for name in _BY_HAND}
    by_hand |= {f"_wrapped{name}": one for name, one in by_hand.items()}
    inner = modules.make(MODULES[1], globals(), False, **public, **by_hand)
    whole = modules.make(
        MODULES[0], globals(), True, **public, __version__=VERSION, flash_attn_interface=inner
    )
    return dict(zip(MODULES, (whole, inner)))
