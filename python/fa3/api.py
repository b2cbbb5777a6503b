# SPDX-License-Identifier: Apache-2.0
"""fa3.attention, and the kernel that it uses.

The first call with new shapes checks everything and makes a Plan; later calls
find it by one look-up. No kernel is compiled for lengths, batch, heads or
strides.
"""

from __future__ import annotations

import sys
from typing import Any, Callable

from .build.driver import Kernel, compile
from .calls.launch import keep, plans
from .calls.request import Request, call_key, run_traced
from .errors import ArgumentError, UnsupportedError
from .kernels import blocks
from .kernels.checks import (
    DIMS,
    check_head_dims,
    check_layout,
    check_softcap,
    check_types,
    check_window,
)
from .kernels.spec import FLOATS_8, Regions, Spec
from .mods.trace import trace_mods
from .support import native, values
from .support.tensors import autocast, beside


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    window: tuple[int | None, int | None] | None = None,
    softcap: float = 0.0,
    scale: float | None = None,
    score_mod: Callable[..., Any] | None = None,
    mask_mod: Callable[..., Any] | None = None,
    epilogue: Callable[..., Any] | None = None,
    block_mask: Any = None,
    bias: Any = None,
    alibi_slopes: Any = None,
    sinks: Any = None,
    q_descale: Any = None,
    k_descale: Any = None,
    v_descale: Any = None,
    out_dtype: Any = None,
    return_lse: bool = False,
    layout: str = "bhsd",
    dropout_p: float = 0.0,
    rng_state: Any = None,
    generator: Any = None,
    out: Any = None,
    lse: Any = None,
    return_max_logit: bool | str = False,
    previous: tuple[Any, Any] | None = None,
    interpret: bool | str = False,
) -> Any:
    """Scaled dot-product attention: o, or (o, lse) with `return_lse`, or either with a
    head's largest logit behind it, with `return_max_logit`.

    q is (batch, heads, queries, d), k is (batch, key heads, keys, d), v is
    (batch, key heads, keys, dv); with layout="bshd" heads and sequence change
    places. Key heads divide heads. Element types are float16, bfloat16, or
    float8 (e4m3fn, e5m2) with descales; d and dv may differ, and are multiples of 8
    up to 576 (dv: 512; float8: of 16 up to 256). The last dimension is contiguous,
    other strides are multiples of 16 bytes. o has q's type
    (float8: bfloat16, or `out_dtype`) and order in memory; lse is (batch, heads,
    queries), float32, natural logarithm.

    causal: key j is visible to query i if j <= i + keys - queries (aligned at
      the bottom right).
    window: keys before and after that a query sees, (left, right); None, or -1,
      is unbounded.
    softcap: cap * tanh(score / cap), 0 for none.
    scale: of q k^T; 1/sqrt(d). Positive, at most 2^16, with gradients 2^10.
    score_mod, mask_mod: functions as FlexAttention takes them, score_mod(score,
      b, h, q, kv) and mask_mod(b, h, q, kv), traced once; indices are those of
      the tensors, from 0. Tensors that they read are arguments of the kernel.
    epilogue: a function epilogue(x, b, h, q, column), traced once: what is stored in
      place of an element x of o, float32: gates, residuals, scales. With one out_dtype
      may be any float type, also of 8 bits.
    block_mask: FlexAttention's BlockMask, or fa3.BlockMask: lists of the blocks of
      keys that a block of queries looks at, with a mask_mod. Others are not loaded.
    bias: (batch or 1, heads or 1, queries, keys), added to scores.
    alibi_slopes: (heads,), float32: score - slope * |i + keys - queries - j|.
    sinks: (heads,), float32: a score more in every row of a head, without a value;
      it counts in lse.
    q_descale, k_descale, v_descale: what float8 numbers are in units of, float32
      (batch or 1, heads or key heads or 1); None is 1.
    dropout_p: the probability with which a weight is dropped, less than 1; others are
      multiplied by 1 / (1 - dropout_p). lse is that without dropout. rng_state: seed
      and offset, int64 (2,), in memory, of which the weights that are dropped are a
      function: FlashAttention-2's. Without it `generator`, or torch's own, draws them.
    out, lse: tensors to write into, in no operand's memory.
    out_dtype: the type of o; float32 for 16 bits, too, without gradients.
    previous: (o, lse) of the same queries with other keys, which the kernel takes in:
      the results are those of all keys. o is float32 (what steps of a ring want, with
      out_dtype=torch.float32), float16 or bfloat16; lse of -inf says that there were no
      keys, whatever o is. Not beside epilogue and return_max_logit.
    return_max_logit: True, or "head": the largest score of each head, float32 (heads,), as
      QK-clip wants it: of visible keys and behind all that changes scores, -inf where
      there are none; without sinks, and without a gradient. "row": that of each query,
      (batch, heads, queries).
    interpret: run on tensors in host memory, slowly, for tests: True or a stage
      (tile to hopper) in the interpreter, "ptx" by the PTX itself, with all its
      checks (docs/Interpreter.md), "definition" by the definition.

    Tensors of torch that require gradients get them, q, k, v and sinks, from o and
    lse (fa3.torch.set_backward), the same bits in every run under
    torch.use_deterministic_algorithms(True).

    Raises ArgumentError (a ValueError; ArgumentTypeError is a TypeError too),
    UnsupportedError, TraceError, CompileError, fa3_runtime.Error."""
    torch = sys.modules.get("torch")
    if (
        torch is not None
        and not torch.compiler.is_compiling()
        and score_mod is mask_mod is epilogue is block_mask is bias is alibi_slopes is sinks
        is q_descale is k_descale is v_descale is rng_state is generator is out is lse
        is previous is None
        and not (dropout_p or interpret or return_max_logit)
    ):  # fmt: skip
        # The way of almost all calls.
        made = native.call(
            plans, scale, q, k, v, causal, window, softcap, out_dtype, return_lse, layout
        )
        if made is not None:
            return made
    if type(causal) is not bool:
        causal = values.flag("causal", causal)
    if scale is not None and type(scale) is not float and values.is_tensor(scale):
        scale = values.number("scale", scale)
    if type(return_lse) is not bool:
        return_lse = values.flag("return_lse", return_lse)
    if type(window) is list:
        window = (window[0], window[1]) if len(window) == 2 else window
    if previous is not None:
        return _with_previous(
            q, k, v, previous, causal=causal, window=window, softcap=softcap, scale=scale,
            score_mod=score_mod, mask_mod=mask_mod, epilogue=epilogue,
            block_mask=block_mask, bias=bias, alibi_slopes=alibi_slopes, sinks=sinks,
            q_descale=q_descale, k_descale=k_descale, v_descale=v_descale,
            out_dtype=out_dtype, return_lse=return_lse, layout=layout, out=out, lse=lse,
            interpret=interpret, dropout_p=dropout_p, rng_state=rng_state,
            generator=generator, return_max_logit=return_max_logit,
        )  # fmt: skip
    if epilogue is not None and torch is not None and isinstance(q, torch.Tensor):
        if return_max_logit is not False and return_max_logit is not None:
            raise UnsupportedError("return_max_logit beside epilogue")
        door = dynamo_door().run_edited if torch.compiler.is_compiling() else edited_door()
        return door(
            q, k, v, epilogue, causal=causal, window=window, softcap=softcap, scale=scale,
            score_mod=score_mod, mask_mod=mask_mod, block_mask=block_mask, bias=bias,
            alibi_slopes=alibi_slopes, sinks=sinks, q_descale=q_descale,
            k_descale=k_descale, v_descale=v_descale, out_dtype=out_dtype,
            return_lse=return_lse, layout=layout, out=out, lse=lse, interpret=interpret,
            dropout_p=dropout_p, rng_state=rng_state, generator=generator,
        )  # fmt: skip
    if return_max_logit is not False and return_max_logit is not None:
        return _with_max_logit(
            q, k, v, return_max_logit, return_lse, causal=causal, window=window,
            softcap=softcap, scale=scale, score_mod=score_mod, mask_mod=mask_mod,
            block_mask=block_mask, bias=bias, alibi_slopes=alibi_slopes, sinks=sinks,
            q_descale=q_descale, k_descale=k_descale, v_descale=v_descale,
            out_dtype=out_dtype, layout=layout, out=out, lse=lse, interpret=interpret,
            dropout_p=dropout_p, rng_state=rng_state, generator=generator,
        )  # fmt: skip
    if torch is not None and isinstance(q, torch.Tensor):
        compiling = torch.compiler.is_compiling()
        if (
            watch().is_derived()
            if compiling
            else (_is_watched or _watch())() or type(q) is not torch.Tensor and watch().is_fake(q)
        ):
            door = dynamo_door().run_eagerly if compiling else watched_door()
            return door(
                q, k, v, causal=causal, window=window, softcap=softcap, scale=scale,
                score_mod=score_mod, mask_mod=mask_mod, block_mask=block_mask, bias=bias,
                alibi_slopes=alibi_slopes, sinks=sinks, q_descale=q_descale,
                k_descale=k_descale, v_descale=v_descale, out_dtype=out_dtype,
                return_lse=return_lse, layout=layout, out=out, lse=lse,
                interpret=interpret, dropout_p=dropout_p, rng_state=rng_state,
                generator=generator,
            )  # fmt: skip
        if dropout_p:
            if compiling and generator is not None:
                # Graphs know no generators.
                return dynamo_door().run_eagerly(
                    q, k, v, causal=causal, window=window, softcap=softcap, scale=scale,
                    score_mod=score_mod, mask_mod=mask_mod, block_mask=block_mask,
                    bias=bias, alibi_slopes=alibi_slopes, sinks=sinks,
                    q_descale=q_descale, k_descale=k_descale, v_descale=v_descale,
                    out_dtype=out_dtype, return_lse=return_lse, layout=layout, out=out,
                    lse=lse, interpret=interpret, dropout_p=dropout_p,
                    rng_state=rng_state, generator=generator,
                )  # fmt: skip
            rng_state = torch_door().state_of(dropout_p, q, rng_state, generator)
    if generator is not None and (torch is None or not isinstance(q, torch.Tensor)):
        raise ArgumentError("generator", "is torch's, and q is no tensor of torch")
    key = lists = None
    rest = (bias, alibi_slopes, sinks, q_descale, k_descale, v_descale)
    if block_mask is not None:
        if mask_mod is not None:
            raise ArgumentError("mask_mod", "is given beside block_mask, which has one")
        lists, mask_mod = blocks.read(
            block_mask, *extents(q, k, layout), causal or window is not None
        )
    if torch is not None and isinstance(q, torch.Tensor):
        plain = (
            type(q) is type(k) is type(v) is torch.Tensor
            and bias is alibi_slopes is sinks is q_descale is k_descale is v_descale
            is out is lse is None and not (interpret or dropout_p)
        )  # fmt: skip
        asked: dict[str, Any] = {}
        if compiling:
            asked = {
                "causal": causal, "window": window, "softcap": softcap, "scale": scale,
                "score_mod": score_mod, "block_mask": block_mask, "bias": bias,
                "mask_mod": mask_mod if block_mask is None else None, "sinks": sinks,
                "alibi_slopes": alibi_slopes, "q_descale": q_descale,
                "k_descale": k_descale, "v_descale": v_descale, "out_dtype": out_dtype,
                "return_lse": return_lse, "layout": layout, "out": out, "lse": lse,
                "interpret": interpret, "dropout_p": dropout_p, "rng_state": rng_state,
            }  # fmt: skip
        grads = torch.is_grad_enabled() and (
            q.requires_grad or k.requires_grad or v.requires_grad if plain
            else any(getattr(one, "requires_grad", False) for one in (q, k, v, *rest))
        )  # fmt: skip
        # Where Dynamo traces, a mask of tables is made inside of the graph.
        inside = compiling and lists is not None and (grads or not lists.fits)
        if lists is not None and not inside and (grads or not lists.fits):
            others = any(getattr(one, "requires_grad", False) for one in (bias, alibi_slopes))
            found = blocks.for_gradients(lists, others) if grads else None
            if found is None:
                mask_mod = blocks.as_mask(lists, mask_mod)
            lists = found
        if score_mod is None and mask_mod is None and lists is None:
            if plain and not compiling:
                key = call_key(q, k, v, causal, window, softcap, out_dtype, return_lse, layout)
                if grads:
                    return _with_gradients(key, q, k, v, scale)
                call = plans.get(key)
                if call is not None:
                    return call(q, k, v, scale)
        elif not compiling:
            traced = None
            if score_mod is not None or mask_mod is not None:
                traced = trace_mods(score_mod, mask_mod)
            if (
                traced is not None
                and torch.is_grad_enabled()
                and any(one.requires_grad for one in traced.tensors)
            ):
                grads = True
                if lists is not None:
                    mask_mod, lists = blocks.as_mask(lists, mask_mod), None
                    traced = trace_mods(score_mod, mask_mod)
            score_mod, mask_mod = traced, None
            if traced is not None and not grads and traced.tensors:
                traced.tensors = tuple(beside(q, traced.tensors))
            if plain and not grads:
                q, k, v = autocast(q, k, v)
                return run_traced(
                    q, k, v, causal, window, softcap, scale, traced, out_dtype,
                    return_lse, layout, lists,
                )  # fmt: skip
        named = {
            "causal": causal, "window": window, "softcap": softcap, "scale": scale,
            "score_mod": score_mod, "mask_mod": mask_mod, "bias": bias, "sinks": sinks,
            "q_descale": q_descale, "k_descale": k_descale, "v_descale": v_descale,
            "out_dtype": out_dtype, "return_lse": return_lse, "layout": layout,
            "interpret": interpret, "lists": lists, "dropout_p": dropout_p,
            "rng_state": rng_state,
        }  # fmt: skip
        if compiling and not (out is lse is None):
            return dynamo_door().run_eagerly(q, k, v, **asked)
        # With a state that is drawn for each call, what is kept of a call is an operator's.
        by_operator = dropout_p and not interpret and out is lse is None
        if compiling or grads or by_operator:
            if compiling and (inside or score_mod is not None or mask_mod is not None):
                described = None
                if not inside:
                    described = dynamo_door().describe(score_mod, mask_mod)
                if (
                    not dynamo_door().are_guarded(score_mod, mask_mod)
                    if described is None
                    else lists is not None
                    and torch.is_grad_enabled()
                    and any(one.requires_grad for one in described.tensors)
                ):
                    # What Dynamo would not guard, or a gradient of tables alone, by
                    # lists: the graph breaks here.
                    return dynamo_door().run_eagerly(q, k, v, **asked)
                if described is None:
                    # Dynamo makes graphs of them.
                    named["alibi_slopes"] = alibi_slopes
                    return dynamo_door().run_inside(q, k, v, lists, named, asked)
                named["score_mod"], named["mask_mod"] = described, None
            if not (out is lse is None):
                return dynamo_door().run_outside(
                    q, k, v, alibi=alibi_slopes, out=out, lse=lse, **named
                )
            door = torch_door()
            return door.attention(q, k, v, alibi_slopes=alibi_slopes, **named)
        given = q
        q, k, v = autocast(q, k, v)
        if key is not None and q is not given:
            key = call_key(q, k, v, causal, window, softcap, out_dtype, return_lse, layout)
            call = plans.get(key)
            if call is not None:
                return call(q, k, v, scale)
    elif lists is not None and not lists.fits:
        raise UnsupportedError(
            f"block_mask with blocks of {lists.size}, without torch; expected multiples "
            "of (64, 16), for these lengths, and no causal or window beside full lists"
        )
    made = Request(
        q, k, v, causal=causal, window=window, softcap=softcap, scale=scale,
        score_mod=score_mod, mask_mod=mask_mod, bias=bias, alibi=alibi_slopes,
        sinks=sinks, q_descale=q_descale, k_descale=k_descale, v_descale=v_descale,
        out_dtype=out_dtype, return_lse=return_lse, layout=layout, out=out, lse=lse,
        interpret=interpret, key=key, dropout_p=dropout_p, rng_state=rng_state,
        epilogue=epilogue, **(lists.named if lists is not None else {}),
    ).run()  # fmt: skip
    if key is not None:
        call = plans.get(key)
        in_c = call.in_c if call is not None else None
        name = native.identify(q, k, v, causal, window, softcap, out_dtype, return_lse, layout)
        if in_c is not None and name is not None:
            keep(name, lambda: in_c)
    return made


def _with_gradients(key: Any, q: Any, k: Any, v: Any, scale: float | None) -> Any:
    """A call of torch tensors without further arguments, some of which require
    gradients; `key` as call_key has it."""
    door = sys.modules.get(_DOOR) or torch_door()
    kind = door._kind
    *_, causal, window, softcap, out_dtype, return_lse, layout = key
    made = door.nodes.again(q, k, v, (kind, key), scale)
    if made is None:
        made = door.attention(
            q, k, v, causal=causal, window=window, softcap=softcap, scale=scale,
            out_dtype=out_dtype, return_lse=True, layout=layout,
        )  # fmt: skip
        text = door.to_text(causal, window, softcap, out_dtype, True, layout, backward=kind)
        door.nodes.remember(q, k, v, (kind, key), text)
    return made if return_lse else made[0]


def _with_max_logit(q: Any, k: Any, v: Any, kind: Any, return_lse: bool, **named: Any) -> Any:
    from .calls import max_logit

    torch = sys.modules.get("torch")
    named["return_lse"] = True
    if torch is not None and torch.compiler.is_compiling():
        made = None
        if not watch().is_derived():
            made = max_logit.traced(q, k, v, kind, return_lse, named)
        if made is None:
            made = dynamo_door().run_eagerly(
                q, k, v, return_max_logit=kind, **named | {"return_lse": return_lse}
            )
        return made
    return max_logit.attention(q, k, v, kind, return_lse, named)


def _with_previous(q: Any, k: Any, v: Any, given: Any, **named: Any) -> Any:
    from .calls import previous

    torch = sys.modules.get("torch")
    if torch is not None and torch.compiler.is_compiling():
        made = None
        if not watch().is_derived():
            made = previous.traced(q, k, v, given, named)
        if made is None:
            made = dynamo_door().run_eagerly(q, k, v, previous=given, **named)
        return made
    return previous.attention(q, k, v, given, named)


_DOOR = f"{__package__}.torch"

#: fa3.support.watch.is_watched, once there is torch.
_is_watched: Any = None


def _watch() -> Any:
    global _is_watched
    _is_watched = watch().is_watched
    return _is_watched


def watch() -> Any:
    from .support import watch

    return watch


def extents(q: Any, k: Any, layout: Any) -> tuple[int, int, int, int]:
    """Batch, heads, queries and keys of a call."""
    b, h, s = DIMS[check_layout(layout)]
    for name, one in (("q", q), ("k", k)):
        if len(one.shape) != 4:
            raise ArgumentError(name, f"rank {len(one.shape)}, expected 4 ({layout})")
    return q.shape[b], q.shape[h], q.shape[s], k.shape[s]


def torch_door() -> Any:
    from . import torch as door

    return door


def watched_door() -> Any:
    from .autograd.watched import attention

    return attention


def edited_door() -> Any:
    from .autograd.epilogues import attention

    return attention


def dynamo_door() -> Any:
    from . import dynamo

    return dynamo


def attention_kernel(
    q_dtype: str = "bf16",
    head_dim: int = 128,
    *,
    head_dim_v: int | None = None,
    k_dtype: str | None = None,
    v_dtype: str | None = None,
    out_dtype: str | None = None,
    causal: bool = False,
    window: tuple[int | None, int | None] | None = None,
    softcap: float = 0.0,
    return_lse: bool = False,
    regions: Regions = Regions(),
    **options: Any,
) -> Kernel:
    """The kernel that fa3.attention uses for these types (spelled f16, bf16,
    f8E4M3FN, f8E5M2), head dims and mods; `options` are those of fa3.compile."""
    spec = attention_spec(
        q_dtype, head_dim, head_dim_v=head_dim_v, k_dtype=k_dtype, v_dtype=v_dtype,
        out_dtype=out_dtype, causal=causal, window=window, softcap=softcap,
        return_lse=return_lse, regions=regions,
    )  # fmt: skip
    return compile(spec.to_mlir(), **options)


def attention_spec(
    q_dtype: str = "bf16", head_dim: int = 128, *, head_dim_v: int | None = None,
    k_dtype: str | None = None, v_dtype: str | None = None, out_dtype: str | None = None,
    causal: bool = False, window: Any = None, softcap: float = 0.0,
    return_lse: bool = False, regions: Regions = Regions(),
) -> Spec:  # fmt: skip
    """What attention_kernel compiles; checked."""
    k_dtype = k_dtype or q_dtype
    v_dtype = v_dtype or q_dtype
    check_types(q_dtype, k_dtype, v_dtype)
    out_dtype = out_dtype or ("bf16" if v_dtype in FLOATS_8 else q_dtype)
    head_dim_v = head_dim_v or head_dim
    check_head_dims(head_dim, head_dim_v, v_dtype, ("head_dim", "head_dim_v"))
    return Spec(
        q_dtype, k_dtype, v_dtype, out_dtype, head_dim, head_dim_v,
        bool(causal), check_window(window), check_softcap(softcap),
        bool(return_lse), regions=regions,
    )  # fmt: skip
