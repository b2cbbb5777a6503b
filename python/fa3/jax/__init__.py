# SPDX-License-Identifier: Apache-2.0
"""fa3 in JAX, by the FFI of XLA:

    o = jax.jit(lambda q, k, v: fa3.jax.attention(q, k, v, causal=True))(q, k, v)

The handler is a function of Python that XLA calls through ctypes: it reads the
call, finds the plan made by an earlier one, and launches on XLA's stream.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Callable

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

from ..calls import gradients, max_logit
from ..calls.launch import keep, plans
from ..calls.request import Request, program_request
from ..errors import ArgumentError, UnsupportedError
from ..kernels import blocks
from ..kernels.arguments import Arguments
from ..kernels.checks import DIMS, check_scale
from ..kernels.program import mods_text, parse, to_text
from ..support import forks, values
from ..support.tensors import CPU, View, contiguous
from . import sharding as jax_sharding
from .ffi import CALL, Frame

_NAMES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "int32": "i32"}
_INTERNAL, _INVALID_ARGUMENT, _UNIMPLEMENTED = 13, 3, 12

# -----------------------------------------------------------------------------
# The handlers
# -----------------------------------------------------------------------------


def _handle(address: int, execute: Callable[..., None], interpret: bool) -> int:
    frame = Frame(address)
    if frame.is_registration() or not frame.is_execution():
        return 0
    try:
        execute(frame, interpret)
        return 0
    except UnsupportedError as error:
        return frame.error(f"fa3: {error}", _UNIMPLEMENTED)
    except ValueError as error:
        return frame.error(f"fa3: {error}", _INVALID_ARGUMENT)
    except BaseException as error:  # none may pass into XLA
        return frame.error(f"fa3: {type(error).__name__}: {error}", _INTERNAL)


def _scale(text: str) -> float | None:
    return None if text == "None" else float(text)


def _forward(frame: Frame, interpret: bool) -> None:
    device = CPU if interpret else frame.device()
    given = frame.operands(device)
    extras, made = given[3:], frame.results(device)
    lse = made[1] if len(made) > 1 else None
    largest = made[2] if len(made) > 2 else False
    text, scale = frame.text("program"), frame.text("scale")
    views = [*given, *made]
    key = ("jax", text, scale, device, tuple((one.shape, one.type) for one in views))
    found = None if interpret else plans.get(key)
    if found is None:
        program = parse(text)
        request = program_request(
            *given[:3], extras, program, _scale(scale), program.traced(extras, ()),
            return_lse=lse is not None, out=made[0], lse=lse, max_logits=largest,
        )  # fmt: skip
        if interpret:
            request.run()
            return
        found = request.make_call(*made), request.scale_value
        # A kernel that is there until the better one is: the next call asks again.
        if request.is_final:
            keep(key, lambda: found)
    call, value = found
    with frame.scratch(call.workspace_size) as workspace:
        call.launch_at([one.address for one in views], value, (), frame.stream(), workspace)


def _backward(frame: Frame, interpret: bool) -> None:
    device = CPU if interpret else frame.device()
    program = parse(frame.text("program"))
    names = ["do", "q", "k", "v", "o", "lse", *(["dlse"] if program.grads else [])]
    given = frame.operands(device)
    extras = given[len(names) :]
    named: dict[str, Any] = {
        **dict(zip(names, given)),
        **dict(zip(("dq", "dk", "dv"), frame.results(device))),
        **dict(zip(gradients.extra_names(program, extras), extras)),
    }  # fmt: skip
    text, scale = frame.text("program"), frame.text("scale")
    key = ("jax backward", text, scale, device, tuple(
        (one.shape, one.type) for one in named.values()
    ))  # fmt: skip
    found = None if interpret else plans.get(key)
    if found is None:
        request = program_request(
            named["q"], named["k"], named["v"], extras, program, _scale(scale),
            program.traced(extras, ()), return_lse=True,
        )  # fmt: skip
        spec, arrays = gradients.describe(request, named)
        if interpret:
            gradients.interpret(spec, arrays, program)
            return
        found = keep(key, lambda: (
            gradients.prepare(request, spec, arrays, gradients.is_deterministic()),
            spec.arguments,
            request.scale_value,
        ))  # fmt: skip
    launcher, arguments, value = found
    with frame.scratch(launcher.workspace_size) as workspace:
        launcher.at(
            [value if name == "scale" else named[name].address for name in arguments],
            frame.stream(), workspace,
        )  # fmt: skip


_lock = forks.lock()
_registered: dict[str, Any] = {}


def _register(execute: Callable[..., None], interpret: bool) -> str:
    """The name of a handler, registered at the first use."""
    name = "fa3" + execute.__name__ + ("_interpreted" if interpret else "")
    with _lock:
        if name not in _registered:
            handler = CALL(lambda address: _handle(address, execute, interpret))
            jax.ffi.register_ffi_target(
                name, jax.ffi.pycapsule(handler),
                platform="cpu" if interpret else "CUDA",
            )  # fmt: skip
            _registered[name] = handler
    return name


# -----------------------------------------------------------------------------
# The function
# -----------------------------------------------------------------------------


def attention(
    q: Any, k: Any, v: Any, *, causal: bool = False,
    window: tuple[int | None, int | None] | None = None, softcap: float = 0.0,
    scale: float | None = None, score_mod: Callable[..., Any] | None = None,
    mask_mod: Callable[..., Any] | None = None, block_mask: Any = None,
    bias: Any = None, alibi_slopes: Any = None, sinks: Any = None,
    return_lse: bool = False, layout: str = "bhsd",
    return_max_logit: bool | str = False, interpret: bool = False,
) -> Any:  # fmt: skip
    """fa3.attention of JAX arrays, float16 or bfloat16, under jit, vmap, grad and
    shard_map. `scale` is a number, not an array. score_mod and mask_mod are
    functions of jax.numpy on scalars, traced by their jaxpr; block_mask is a
    fa3.BlockMask of arrays, whose lists ascend. Gradients are those of q, k, v and
    sinks, from o and lse, without a block_mask; largest logits (`return_max_logit`) have
    none. `interpret` runs on the CPU backend, for tests."""
    views = []
    for name, value in (("q", q), ("k", k), ("v", v)):
        dtype = str(value.dtype)
        if dtype not in ("float16", "bfloat16"):
            raise ArgumentError(name, f"element type {dtype}, expected float16 or bfloat16")
        views.append(_abstract(value))
    causal = values.flag("causal", causal)
    wants_lse = values.flag("return_lse", return_lse)
    kind = max_logit.check(return_max_logit)
    return_lse = wants_lse or bool(kind)
    if scale is not None and not isinstance(scale, (int, float)):
        raise ArgumentError("scale", f"{type(scale).__name__}, expected a number")
    asked = blocks.read_asked(q, k, Arguments(
        causal, window, softcap, scale, mask_mod=mask_mod, block_mask=block_mask,
        layout=layout, interpret=interpret, max_logits=bool(kind),
    ))  # fmt: skip
    traced, lists, mask_mod = None, asked.lists, asked.mask_mod
    asked = asked.replace(mask_mod=None, lists=None)
    if lists is not None and not lists.fits:
        raise UnsupportedError(
            f"block_mask with blocks of {lists.size}, expected multiples of (64, 16), "
            "for these lengths, and no causal or window beside full lists"
        )
    if score_mod is not None or mask_mod is not None:
        from .trace import trace_mods

        traced = trace_mods(score_mod, mask_mod)
    more = {"bias": bias, "alibi": alibi_slopes, "sinks": sinks}
    more = {name: one for name, one in more.items() if one is not None}
    if lists is not None:
        more |= dict(zip(blocks.NAMES, lists.tensors))
    # All checks, now; the kernel is made when it runs.
    Request(*views, asked.replace(
        score_mod=None if traced is None else dataclasses.replace(
            traced, tensors=tuple(
                View(16, aux.type, tuple(one.shape), contiguous(tuple(one.shape)), 0)
                for aux, one in zip(traced.regions.aux, traced.tensors)
            ),
        ),
        return_lse=return_lse, interpret=False, max_logits=False,
        lists=None if lists is None else dataclasses.replace(
            lists, tensors=tuple(_abstract(one) for one in lists.tensors)
        ),
        **{name: None if one is None else _abstract(one) for name, one in (
            ("bias", bias), ("alibi_slopes", alibi_slopes), ("sinks", sinks)
        )},
    ))  # fmt: skip
    arrays = tuple(more.values()) + (traced.tensors if traced is not None else ())
    text = functools.partial(
        to_text, extras=",".join(more), mods=mods_text(traced),
        block_size=None if lists is None else lists.size,
    )  # fmt: skip
    with_lse = asked.replace(return_lse=True)
    call = _Static(
        text(asked.replace(return_lse=return_lse)), text(with_lse),
        text(with_lse, grads="dlse"), str(scale), return_lse, interpret, tuple(more),
    )  # fmt: skip
    o, lse, rows = _differentiable(q, k, v, arrays, call)
    made = (o, lse) if wants_lse else (o,)
    if kind:
        rows = jax.lax.stop_gradient(rows)
        if kind == max_logit.PER_HEAD:
            rows = rows.max((0, 2), initial=-jnp.inf)
        made = (*made, rows)
    return made if len(made) > 1 else o


def _abstract(value: Any) -> View:
    dtype = str(value.dtype)
    if dtype not in _NAMES:
        raise ArgumentError("bias", f"element type {dtype}, expected a float")
    shape = tuple(value.shape)
    return View(16, _NAMES[dtype], shape, contiguous(shape), 0)


@dataclasses.dataclass(frozen=True)
class _Static:
    """What a call asks for, without its arrays."""

    program: str
    with_lse: str
    with_dlse: str
    scale: str
    return_lse: bool
    interpret: bool
    extras: tuple[str, ...]


def _call_directly(
    execute: Callable[..., None], call: _Static, program: str, *operands: Any
) -> Any:
    if execute is _backward:
        made = [jax.ShapeDtypeStruct(one.shape, one.dtype) for one in operands[1:4]]
    else:
        q, _, v = operands[:3]
        named = parse(program)
        made = [jax.ShapeDtypeStruct((*q.shape[:3], v.shape[3]), q.dtype)]
        if named.return_lse:
            rows = tuple(q.shape[d] for d in DIMS[named.layout])
            made.append(jax.ShapeDtypeStruct(rows, jnp.float32))
            made += made[1:] if named.max_logits else []
    return jax.ffi.ffi_call(_register(execute, call.interpret), tuple(made))(
        *operands, program=program, scale=call.scale
    )


@functools.partial(jax.custom_vjp, nondiff_argnums=(4,))
def _differentiable(q: Any, k: Any, v: Any, arrays: Any, call: _Static) -> Any:
    made = _call_forward(q, k, v, arrays, call, call.program, call.return_lse)
    return _results(made, call)


def _results(made: Any, call: _Static) -> Any:
    """o, and lse and the largest scores of queries or None."""
    lse = made[1] if call.return_lse else None
    return made[0], lse, made[2] if len(made) > 2 else None


def _call_forward(
    q: Any, k: Any, v: Any, arrays: Any, call: _Static, program: str, lse: bool
) -> Any:
    return _call(_forward, call, program, 3, q, k, v, *arrays)


def _call(
    execute: Callable[..., None], call: _Static, program: str, batched: int,
    *operands: Any,
) -> Any:  # fmt: skip
    """Calls a handler. What vmap adds to the first `batched` operands is batch."""
    direct = jax_sharding.partitioned(
        functools.partial(_call_directly, execute, call, program), parse(program),
        batched, tuple(one.shape for one in operands),
    )  # fmt: skip

    @jax.custom_batching.custom_vmap
    def run(*operands: Any) -> Any:
        return direct(*operands)

    @run.def_vmap
    def rule(size: int, is_batched: Any, *operands: Any) -> Any:
        if any(is_batched[batched:]):
            raise UnsupportedError("arrays of a mod, bias, slopes or sinks under vmap")
        folded = []
        for number, (one, has) in enumerate(zip(operands, is_batched)):
            if number < batched:
                if not has:
                    one = jnp.broadcast_to(one[None], (size, *one.shape))
                one = one.reshape(size * one.shape[1], *one.shape[2:])
            folded.append(one)
        made = run(*folded)
        made = tuple(one.reshape(size, one.shape[0] // size, *one.shape[1:]) for one in made)
        return made, tuple(True for _ in made)

    return run(*operands)


def _rule_forward(q: Any, k: Any, v: Any, arrays: Any, call: _Static) -> Any:
    if blocks.NAMES[0] in call.extras:
        raise UnsupportedError("gradients of fa3.jax.attention with a block_mask")
    for number, one in enumerate(arrays):
        name = call.extras[number] if number < len(call.extras) else ""
        if one.perturbed and name != "sinks":
            raise UnsupportedError(
                f"gradients of fa3.jax.attention: '{name or 'an array of a mod'}' requires one"
            )
    q, k, v = q.value, k.value, v.value
    check_scale(_scale(call.scale), q.shape[3], gradients=True)
    given = tuple(one.value for one in arrays)
    made = _call_forward(q, k, v, given, call, call.with_lse, True)
    return _results(made, call), (q, k, v, given, *made[:2])


def _rule_backward(call: _Static, kept: Any, cotangents: Any) -> Any:
    q, k, v, arrays, o, lse = kept
    # The last one is that of the largest scores, whose gradient is stopped.
    do, dlse = (
        None if one is None or isinstance(one, SymbolicZero) else one for one in cotangents[:2]
    )
    do = jnp.zeros_like(o) if do is None else do
    rows = (do, q, k, v, o, lse, *(() if dlse is None else (dlse,)))
    dq, dk, dv = _call(
        _backward, call, call.with_lse if dlse is None else call.with_dlse, len(rows),
        *rows, *arrays,
    )  # fmt: skip
    grads = []
    for number, one in enumerate(arrays):
        is_sinks = number < len(call.extras) and call.extras[number] == "sinks"
        if is_sinks:
            grads.append(_of_sinks(one, do, dlse, o, lse, call))
        elif jnp.issubdtype(one.dtype, jnp.floating):
            grads.append(jnp.zeros_like(one))  # nobody asks for it
        else:
            grads.append(None)
    return dq, dk, dv, tuple(grads)


def _of_sinks(sinks: Any, do: Any, dlse: Any, o: Any, lse: Any, call: _Static) -> Any:
    """A sink is a score without a value."""
    delta = (do.astype(jnp.float32) * o.astype(jnp.float32)).sum(-1)
    if parse(call.program).layout == "bshd":
        delta = delta.swapaxes(1, 2)
    if dlse is not None:
        delta = delta - dlse
    return -(jnp.exp(sinks[None, :, None] - lse) * delta).sum((0, 2))


_differentiable.defvjp(_rule_forward, _rule_backward, symbolic_zeros=True)
