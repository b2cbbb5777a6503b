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
from .calls import choices, merging
from .calls.launch import keep, plans
from .calls.request import Request, call_key
from .calls.traced import read, run_traced
from .errors import ArgumentError, UnsupportedError
from .kernels import blocks, checks
from .kernels.arguments import Arguments
from .kernels.program import to_text
from .kernels.spec import FLOATS_8, Regions, Spec
from .support import native, tensors, values
from .support.tensors import autocast, beside


def attention(
    q: Any, k: Any, v: Any, *, causal: bool = False,
    window: tuple[int | None, int | None] | None = None, softcap: float = 0.0,
    scale: float | None = None, score_mod: Callable[..., Any] | None = None,
    mask_mod: Callable[..., Any] | None = None,
    epilogue: Callable[..., Any] | None = None, block_mask: Any = None,
    bias: Any = None, alibi_slopes: Any = None, sinks: Any = None,
    q_descale: Any = None, k_descale: Any = None, v_descale: Any = None,
    out_dtype: Any = None, return_lse: bool = False, layout: str = "bhsd",
    dropout_p: float = 0.0, rng_state: Any = None, generator: Any = None,
    out: Any = None, lse: Any = None, return_max_logit: bool | str = False,
    previous: tuple[Any, Any] | None = None, interpret: bool | str = False,
) -> Any:  # fmt: skip
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
    compiling = torch is not None and torch.compiler.is_compiling()
    is_torch = torch is not None and isinstance(q, torch.Tensor)
    plain = (
        is_torch and type(q) is type(k) is type(v) is torch.Tensor
        and epilogue is None and bias is alibi_slopes is sinks is q_descale is k_descale
        is v_descale is out is lse is previous is None and not (interpret or dropout_p)
        and (return_max_logit is False or return_max_logit is None)
    )  # fmt: skip
    if plain and not (compiling or (_is_watched or _watch())()):
        if score_mod is None and mask_mod is None and block_mask is None:
            key = call_key(q, k, v, causal, window, softcap, out_dtype, return_lse, layout)
            if torch.is_grad_enabled() and (
                q.requires_grad or k.requires_grad or v.requires_grad
            ):
                return _with_gradients(key, q, k, v, scale)
            call = plans.get(key)
            if call is not None:
                return call(q, k, v, scale)
    asked = Arguments(
        causal, window, softcap, scale, score_mod, mask_mod, epilogue, block_mask, bias,
        alibi_slopes, sinks, q_descale, k_descale, v_descale, out_dtype, return_lse, layout,
        dropout_p, rng_state, generator, out, lse, interpret, previous,
    )  # fmt: skip
    if previous is not None:
        return _with_previous(q, k, v, return_max_logit, asked)
    if return_max_logit is not False and return_max_logit is not None:
        if epilogue is not None and is_torch:
            raise UnsupportedError("return_max_logit beside epilogue")
        return _with_max_logit(q, k, v, return_max_logit, asked)
    if is_torch:
        return _of_torch(q, k, v, asked, compiling, plain)
    if generator is not None:
        raise ArgumentError("generator", "is torch's, and q is no tensor of torch")
    asked = blocks.read_asked(q, k, asked)
    if asked.lists is not None and not asked.lists.fits:
        raise UnsupportedError(
            f"block_mask with blocks of {asked.lists.size}, without torch; expected "
            "multiples of (64, 16), for these lengths, and no causal or window beside full "
            "lists"
        )
    return Request(q, k, v, asked).run()


def _of_torch(q: Any, k: Any, v: Any, asked: Arguments, compiling: bool, plain: bool) -> Any:
    """A call of torch tensors; `plain`: which has no tensors but these and those of mods."""
    if asked.epilogue is not None:
        if compiling:
            return dynamo_door().run_edited(q, k, v, asked)
        from .autograd import epilogues

        return epilogues.attention(q, k, v, asked)
    if compiling and (watch().is_derived() or asked.dropout_p and asked.generator is not None):
        # Graphs know no generators.
        return dynamo_door().run_eagerly(attention, (q, k, v), asked.public)
    if not compiling and (
        (_is_watched or _watch())() or type(q) is not sys.modules["torch"].Tensor
        and watch().is_fake(q)
    ):  # fmt: skip
        from .autograd import watched

        return watched.attention(q, k, v, asked)
    if asked.dropout_p:
        state = torch_door().state_of(asked.dropout_p, q, asked.rng_state, asked.generator)
        asked = asked.replace(rng_state=state, generator=None)
    if compiling:
        return _compiled(q, k, v, asked)
    return _eager(q, k, v, asked, plain)


def _require(*given: Any) -> bool:
    """Whether one of them requires a gradient."""
    return any([getattr(one, "requires_grad", False) for one in given])


def _eager(q: Any, k: Any, v: Any, asked: Arguments, plain: bool) -> Any:
    asked, grads = read(q, k, v, asked, sys.modules["torch"].is_grad_enabled())
    traced = asked.score_mod
    if not (traced is asked.lists is None) and not grads:
        if traced is not None and traced.tensors:
            traced.tensors = tuple(beside(q, traced.tensors))
        if plain:
            return run_traced(*autocast(q, k, v), asked)
    # With a state that is drawn for each call, what is kept of a call is an operator's.
    if grads or asked.dropout_p and not (asked.interpret or asked.has_outputs):
        if asked.has_outputs:
            return Request(q, k, v, asked).run()  # which says what there is not
        return torch_door().run(q, k, v, asked)
    q, k, v = autocast(q, k, v)
    key = None
    if plain:
        key = call_key(
            q, k, v, asked.causal, asked.window, asked.softcap, asked.out_dtype,
            asked.return_lse, asked.layout,
        )  # fmt: skip
        call = plans.get(key)
        if call is not None:
            return call(q, k, v, asked.scale)
    made = Request(q, k, v, asked, key=key).run()
    if key is not None:
        _keep_in_c(key, q, k, v)
    return made


def _keep_in_c(key: Any, q: Any, k: Any, v: Any) -> None:
    """Keeps a call that was just made for native.call, if that can make it."""
    call = plans.get(key)
    in_c = call.in_c if call is not None else None
    name = native.identify(q, k, v, *key[1:])
    if in_c is not None and name is not None:
        keep(name, lambda: in_c)


def _compiled(q: Any, k: Any, v: Any, given: Arguments) -> Any:
    """Where Dynamo traces. What it cannot have in its graph is called outside of it."""
    torch = sys.modules["torch"]
    dynamo = dynamo_door()
    if given.has_outputs:
        return dynamo.run_eagerly(attention, (q, k, v), given.public)
    asked = blocks.read_asked(q, k, given)
    lists = asked.lists
    grads = torch.is_grad_enabled() and _require(q, k, v, *given.extras[:6])
    # A mask of tables is made inside of the graph.
    inside = lists is not None and (grads or not lists.fits)
    # Dynamo does not know whether two functions are one.
    if inside or asked.score_mod is not None or asked.mask_mod is not None:
        described = None
        if not inside:
            described = dynamo.describe(asked.score_mod, asked.mask_mod)
        if (
            not dynamo.are_guarded(asked.score_mod, asked.mask_mod)
            if described is None
            else lists is not None and torch.is_grad_enabled() and _require(*described.tensors)
        ):
            # What Dynamo would not guard, or a gradient of tables alone, by lists: the
            # graph breaks here.
            return dynamo.run_eagerly(attention, (q, k, v), given.public)
        if described is None:
            # Dynamo makes graphs of them.
            if dynamo.inside.operator is None:
                return dynamo.run_eagerly(attention, (q, k, v), given.public)
            return dynamo.inside.attention(q, k, v, asked)
        asked = asked.replace(score_mod=described, mask_mod=None)
    return torch_door().run(q, k, v, asked)


def _with_gradients(key: Any, q: Any, k: Any, v: Any, scale: float | None) -> Any:
    """A call of torch tensors without further arguments, some of which require
    gradients; `key` as call_key has it."""
    door = sys.modules.get(_DOOR) or torch_door()
    kind = choices.backward
    *_, causal, window, softcap, out_dtype, return_lse, layout = key
    made = door.nodes.again(q, k, v, (kind, key), scale)
    if made is None:
        asked = Arguments(
            causal, window, softcap, scale, out_dtype=out_dtype, return_lse=True, layout=layout
        )
        made = door.run(q, k, v, asked)
        door.nodes.remember(q, k, v, (kind, key), to_text(asked, backward=kind))
    return made if return_lse else made[0]


def _with_max_logit(q: Any, k: Any, v: Any, kind: Any, asked: Arguments) -> Any:
    from .calls import max_logit

    torch = sys.modules.get("torch")
    more = asked.replace(return_lse=True, max_logits=True)
    if torch is not None and torch.compiler.is_compiling():
        outside = any([one is not None for one in (
            asked.score_mod, asked.mask_mod, asked.block_mask, asked.out, asked.lse,
            asked.generator,
        )])  # fmt: skip
        if outside or watch().is_derived():
            return dynamo_door().run_eagerly(
                attention, (q, k, v), asked.public | {"return_max_logit": kind}
            )
        made = torch_door().run(q, k, v, more)
    elif torch is None or not isinstance(q, torch.Tensor):
        made = max_logit.without_torch(q, k, v, max_logit.check(kind), more)
    else:
        from .autograd import watched

        max_logit.check(kind)
        made = watched.attention(q, k, v, more)
    return max_logit.choose(made, max_logit.check(kind), asked.return_lse, 1)


def _with_previous(q: Any, k: Any, v: Any, max_logit: Any, asked: Arguments) -> Any:
    from .calls import previous

    torch = sys.modules.get("torch")
    if torch is not None and torch.compiler.is_compiling():
        outside = any([one not in (None, False) for one in (
            asked.score_mod, asked.mask_mod, asked.block_mask, asked.out, asked.lse,
            asked.generator, asked.epilogue, max_logit,
        )])  # fmt: skip
        if outside or watch().is_derived():
            return dynamo_door().run_eagerly(
                attention, (q, k, v), asked.public | {"return_max_logit": max_logit}
            )
        o, lse = asked.previous
        return torch_door().run(q, k, v, asked.replace(previous=(o, lse)))
    asked = previous.check(asked, max_logit)
    if torch is None or not isinstance(q, torch.Tensor):
        return previous.without_torch(q, k, v, asked)
    from .autograd import watched

    return watched.with_previous(q, k, v, asked)


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


def torch_door() -> Any:
    from . import torch as door

    return door


def dynamo_door() -> Any:
    from . import dynamo

    return dynamo


def merge(
    outs: Any, lses: Any, *, sinks: Any = None, layout: str = "bhsd",
    out_dtype: Any = None, out: Any = None, lse: Any = None, interpret: bool | str = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Attention of the same queries to disjoint sets of keys, as attention to all of
    them: (o, lse) in one kernel.

    outs is (parts, batch, heads, queries, d) or, without batch, (parts, heads, queries,
    d), of float16, bfloat16 or float32, d a multiple of 8; with layout="bshd" heads and
    queries change places. lses is (parts, batch, heads, queries), without batch (parts,
    heads, queries), in float32, natural logarithms as fa3.attention gives them; -inf
    says that a part has no keys, whatever is in outs. Both may be lists of torch tensors
    without the first dimension, which are stacked.

    sinks: (heads,), float32, a score more of every row, which no part has counted.
    out_dtype: the type of o, that of outs by default. out, lse: tensors to write into.
    interpret: run in host memory, slowly, for tests, as in fa3.attention.

    It has no gradients. Prefixes that sequences share, devices that hold parts of the
    keys (rings), kernels that split keys: whoever computes a part."""
    torch = tensors.torch_module()
    named = {
        "sinks": sinks, "layout": layout, "out_dtype": out_dtype, "out": out, "lse": lse,
        "interpret": interpret,
    }  # fmt: skip
    if torch is not None:
        compiling = torch.compiler.is_compiling()
        if not compiling and watch().is_watched():
            watch().check_underived("merge", *_each(outs), *_each(lses), sinks, out, lse)
        given = not (out is lse is None)
        if compiling and (given or watch().is_derived()):
            # Dynamo does not trace what compiles kernels: the graph breaks here.
            return dynamo_door().run_eagerly(merge, (outs, lses), named)
        if compiling or (watch().is_recorded() and all(map(tensors.is_torch, _each(outs)))):
            from .serving import operators

            made = operators.merge(outs, lses, sinks, layout, out_dtype, interpret)
            if not given:
                return made
            for name, one, target in zip(("out", "lse"), made, (out, lse)):
                if target is not None:
                    watch().check_output(name, one, target)
                    target.copy_(one)
            return tuple(one if target is None else target for one, target in zip(made, (out, lse)))  # type: ignore[return-value]
    return merging.run(outs, lses, **named)


def _each(given: Any) -> Any:
    return given if isinstance(given, (list, tuple)) else (given,)


def attention_kernel(
    q_dtype: str = "bf16", head_dim: int = 128, *, head_dim_v: int | None = None,
    k_dtype: str | None = None, v_dtype: str | None = None,
    out_dtype: str | None = None, causal: bool = False,
    window: tuple[int | None, int | None] | None = None, softcap: float = 0.0,
    return_lse: bool = False, regions: Regions = Regions(), **options: Any,
) -> Kernel:  # fmt: skip
    """The kernel that fa3.attention uses for these types (spelled f16, bf16,
    f8E4M3FN, f8E5M2), head dims and mods; `options` are those of fa3.compile."""
    spec = attention_spec(
        q_dtype, head_dim, (k_dtype, v_dtype, out_dtype), head_dim_v, causal=causal,
        window=window, softcap=softcap, return_lse=return_lse, regions=regions,
    )  # fmt: skip
    return compile(spec.to_mlir(), **options)


def attention_spec(
    q_dtype: str = "bf16", head_dim: int = 128, dtypes: Any = (None, None, None),
    head_dim_v: int | None = None, *, causal: bool = False, window: Any = None,
    softcap: float = 0.0, return_lse: bool = False, regions: Regions = Regions(),
) -> Spec:  # fmt: skip
    """What attention_kernel compiles; checked. `dtypes` are those of k, v and o."""
    k_dtype, v_dtype = (one or q_dtype for one in dtypes[:2])
    checks.check_types(q_dtype, k_dtype, v_dtype)
    out_dtype = dtypes[2] or ("bf16" if v_dtype in FLOATS_8 else q_dtype)
    head_dim_v = head_dim_v or head_dim
    checks.check_head_dims(head_dim, head_dim_v, v_dtype, ("head_dim", "head_dim_v"))
    return Spec(
        q_dtype, k_dtype, v_dtype, out_dtype, head_dim, head_dim_v,
        bool(causal), checks.check_window(window), checks.check_softcap(softcap),
        bool(return_lse), regions=regions,
    )  # fmt: skip
