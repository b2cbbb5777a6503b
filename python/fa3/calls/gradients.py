# SPDX-License-Identifier: Apache-2.0
"""Gradients by fa3's backward kernels, of torch tensors."""

from __future__ import annotations

import dataclasses
import logging
import os
import sys
import threading
from typing import Any, Sequence

from ..build import answers
from ..build.compiler import CompileOptions, run_on_host
from ..build.driver import default_ptx_version, find_ptxas, is_bundled, is_ready
from ..errors import ArgumentError, ArgumentTypeError, UnsupportedError
from ..kernels import compiled
from ..kernels.checks import DIMS, check_scale
from ..kernels.program import Program, parse
from ..kernels.spec import BackwardSpec, Regions, Spec
from ..support import forks, native, tensors
from ..support.tensors import CPU
from . import choices
from .call import device_guard
from .launch import Launcher, Maker, keep, maker, plans
from .request import Request, program_request

logger = logging.getLogger("fa3")

#: Those that are being compiled before a backward has asked for them.
_ahead: dict[tuple[BackwardSpec, bool], threading.Thread] = {}
forks.in_child(_ahead.clear)


def backward(
    do: Any, dlse: Any, saved: Sequence[Any], extras: Sequence[Any],
    numbers: Sequence[float], text: str, scale: float | None,
    into: Sequence[Any] | None = None, deterministic: bool | None = None,
) -> tuple[Any, Any, Any, list[Any]]:  # fmt: skip
    """dq, dk, dv, and the gradients of the extras that the program names, each with
    the type and the shape of what it is the gradient of, dq, dk and dv with its
    order in memory. do and dlse are the gradients of o and lse (dlse may be None);
    `saved` are q, k, v, o and lse; extras, numbers, text and scale are those of the
    forward. The same bits in every run if `deterministic`, None is is_deterministic(), or
    the program's backward is "deterministic". `into`: memory for dq, dk and dv."""
    q, k, v, o, lse = saved
    program = parse(text)
    if deterministic is None:
        deterministic = is_deterministic()
    same = program.backward == "deterministic" or deterministic
    rest = (*extras, *(into or ()))
    key = "backward", text, same, native.form(do, dlse, q, k, v, o, lse, *rest)
    launcher = plans.get(key)
    if launcher is None or (do.data_ptr() | o.data_ptr()) % 16:
        do, o = _suitable(do), _suitable(o)
        lse = lse.contiguous()
        dlse = None if dlse is None else dlse.contiguous()
        key = "backward", text, same, native.form(do, dlse, q, k, v, o, lse, *rest)
        launcher = plans.get(key)
    traced = program.traced(extras, numbers)
    buffers = _buffers(program, q, k, v, extras) if program.grads else {}
    scale = check_scale(scale, q.shape[3], gradients=True)
    # In the order of _names, which dq, dk and dv are the last of.
    values = (
        q, k, v, o, lse, do, dlse, scale, *extras,
        *[cut for _, cut in buffers.values()], *(traced.scalars if traced else ()),
    )  # fmt: skip
    if launcher is None:
        makers = _makers(q, k, v)
        grads = into or [make(*args, **named) for make, args, named in makers]
        request = program_request(q, k, v, extras, program, scale, traced)
        names = _names(program, extras, tuple(buffers), traced)
        named = dict(zip(names, (*values, *grads)))
        ones = _ones(request, {name: cut for name, (_, cut) in buffers.items()})
        spec, arrays = describe(request, named, tuple(buffers), ones)
        if program.interpret:
            interpret(spec, arrays, program)
            return *grads, [one.contiguous() for one, _ in buffers.values()]
        if request.device == CPU:
            raise ArgumentError("q", "device is cpu, expected CUDA")
        places = [names.index(name) for name in spec.arguments]
        launcher = keep(key, lambda: prepare(
            request, spec, arrays, same, places, makers, q.device
        ))  # fmt: skip
    if into:
        launcher.run(*values, *into)
    grads = into or launcher.run(*values)
    # Rows of a buffer may be padded: what is copied has to be there.
    return *grads, [one.contiguous() for one, _ in buffers.values()]


def remember(
    known: dict[Any, Any], do: Any, dlse: Any, q: Any, k: Any, v: Any, o: Any, lse: Any,
    text: str,
) -> None:  # fmt: skip
    """Keeps what launches a backward without extras that was just run, if it took its
    tensors as they are, by their form: for fa3_native."""
    launcher = plans.get(
        ("backward", text, False, native.form(do, dlse, q, k, v, o, lse))
    )
    if launcher is not None and launcher.in_c is not None:
        keep(native.form(q, k, v, o, lse, do, dlse), lambda: launcher.in_c, known)


def _makers(*given: Any) -> tuple[Maker, ...]:
    """What makes the gradients of tensors."""
    return tuple(maker(tuple(one.shape), _dense(one), one.dtype, one.device) for one in given)


def _names(
    program: Program, extras: Sequence[Any], buffers: tuple[str, ...], traced: Any
) -> list[str]:
    numbers = range(len(traced.scalars) if traced else 0)
    return [
        "q", "k", "v", "o", "lse", "do", "dlse", "scale", *extra_names(program, extras),
        *(f"d{name}" for name in buffers), *(f"arg{number}" for number in numbers),
        "dq", "dk", "dv",
    ]  # fmt: skip


def describe(
    request: Request, named: dict[str, Any], grads: tuple[str, ...] = (),
    ones: tuple[tuple[str, tuple[int, ...]], ...] = (),
) -> tuple[BackwardSpec, list[Any]]:  # fmt: skip
    """The kernel for a request and its arguments in order, of what `named` has by
    name; checked."""
    _check(request, named)
    any_group = dataclasses.replace(request.spec, group=1)
    spec = BackwardSpec(any_group, named.get("dlse") is not None, grads, ones)
    return spec, [
        _argument(request, name, named.get(name), "bias" in grads) for name in spec.arguments
    ]


def interpret(spec: BackwardSpec, arrays: Sequence[Any], program: Program) -> None:
    run_on_host(spec.to_mlir(), arrays, CompileOptions(), program.interpret)


def is_deterministic() -> bool:
    """Whether somebody has asked for the same bits in every run:
    torch.use_deterministic_algorithms(True), fa3.torch.set_backward("deterministic"),
    or xla_gpu_deterministic_ops or xla_gpu_exclude_nondeterministic_ops in XLA_FLAGS."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.are_deterministic_algorithms_enabled():
        return True
    if choices.backward == "deterministic":
        return True
    given = os.environ.get("XLA_FLAGS", "")
    if not given:
        return False
    flags = dict(one.lstrip("-").partition("=")[::2] for one in given.split())
    names = ("xla_gpu_deterministic_ops", "xla_gpu_exclude_nondeterministic_ops")
    return any(flags.get(name, "false") in ("", "1", "true") for name in names)


def compile_ahead(request: Request, program: Program) -> None:
    """Begins to compile the kernel of the gradients of a forward, which is about to
    compile its own. It is a guess: that there will be a backward, without a gradient
    of lse, and as deterministic as now. Gradients of extras are not guessed, since
    their kernel depends on shapes. What is wrong with it is said by the backward."""
    if program.backward not in ("fa3", "deterministic") or program.grads:
        return
    if program.interpret or request.device == CPU:
        return
    same = program.backward == "deterministic" or is_deterministic()
    # As the backward describes it, which makes no lse.
    plain = dataclasses.replace(request.spec, lse=False, max_logits=False, group=1)
    key = BackwardSpec(plain), same
    given = _options_of(request, key[0], same)
    if (key[0], given) in compiled.kernels or key in _ahead:
        return
    # Both ask the driver, in this thread, which has a context.
    options = {"ptx_version": default_ptx_version(), "ptxas": find_ptxas()}

    def run() -> None:
        try:
            compiled.get(key[0], request.traced, given, **options)
        except Exception as error:
            logger.debug("gradients compiled ahead: %s", error)

    # No daemon: a process must not end while its compiler runs.
    thread = threading.Thread(target=run, name="fa3-gradients")
    _ahead[key] = thread
    thread.start()


def prepare(
    request: Request, spec: BackwardSpec, arrays: Sequence[Any], deterministic: bool,
    order: Sequence[int] = (), made: Sequence[Maker] = (), place: Any = None,
) -> Launcher:  # fmt: skip
    """What launches the kernel; compiled at the first time. The last three as Launcher
    has them."""
    ahead = _ahead.pop((spec, deterministic), None)
    if ahead is not None:
        ahead.join()
    given = _options_of(request, spec, deterministic)
    kernel = compiled.get(spec, request.traced, given)
    with device_guard(request.values["q"], request.device):
        return Launcher(kernel, request.device, arrays, order, made, place)


def _options_of(request: Request, spec: BackwardSpec, deterministic: bool) -> compiled.Options:
    if spec.grads:
        return (("deterministic", deterministic),)
    longest = max(request.views[name].shape[DIMS[request.layout][2]] for name in "qk")
    return options_of(spec, spec.forward, longest, deterministic)


def options_of(
    spec: Any, forward: Spec, length: float, deterministic: bool
) -> compiled.Options:
    """What the kernels of gradients are compiled with: those of short sequences have the
    form that is faster for these, unless only the others are in a bundle. `length`: of
    queries or keys, whichever are more; of packed sequences their mean."""
    given: compiled.Options = (("deterministic", deterministic),)
    split = (*given, ("backward_form", "split"))
    if not _is_short(forward, length, deterministic):
        return given
    if (spec, split) in compiled.kernels:
        return split
    text = spec.to_mlir()
    only_others = is_bundled(text, **dict(given)) and not is_ready(text, **dict(split))
    return given if only_others else split


def _is_short(known: Spec, length: float, deterministic: bool) -> bool:
    """Whether queries and keys are so few. Nothing is known of masks and code of others."""
    if known.regions != Regions() or known.blocks or known.window or known.softcap or known.bias:
        return False
    if known.alibi or known.dropout:
        return False
    dims = known.head_dim, known.head_dim_v
    return length < answers.split_below(*dims, known.causal, deterministic)


def extra_names(program: Program, extras: Sequence[Any]) -> tuple[str, ...]:
    """The names of extras in a kernel."""
    rest = range(len(extras) - len(program.extras))
    return (*program.extras, *(f"aux{number}" for number in rest))


def _suitable(one: Any) -> Any:
    """A tensor that kernels take, copied where it is not: a gradient may be
    expanded or turned."""
    if not one.numel():
        return one.new_empty(one.shape)  # it is contiguous with any strides
    strides = one.stride()
    step = 16 // one.element_size()
    good = strides[3] == 1 and not one.data_ptr() % 16
    for extent, stride in zip(one.shape[:3], strides[:3]):
        good = good and (extent == 1 or (stride > 0 and stride % step == 0))
    return one if good else one.clone(memory_format=sys.modules["torch"].contiguous_format)


def _dense(like: Any) -> tuple[int, ...]:
    """Strides of the gradient of a tensor."""
    return tensors.dense_like(tuple(like.shape), like.stride())


# -----------------------------------------------------------------------------
# Gradients of extras
# -----------------------------------------------------------------------------


def _buffers(
    program: Program, q: Any, k: Any, v: Any, extras: Sequence[Any]
) -> dict[str, tuple[Any, Any]]:
    """By the name of an extra with a gradient: a tensor of its shape, and the part
    of it that is read, which the kernel writes."""
    torch = sys.modules["torch"]
    names = extra_names(program, extras)
    b, h, s = DIMS[program.layout]
    extents = {
        "b": q.shape[b], "h": q.shape[h], "i": q.shape[s], "j": k.shape[s],
        "c": v.shape[3],
    }  # fmt: skip
    made = {}
    for name in program.grads:
        like = extras[names.index(name)]
        shape = list(like.shape) or [1]
        uses: Sequence[str | None] = [None] * len(shape)
        if name.startswith("aux"):
            uses = program.uses[int(name[3:])]
        cut = [
            extent if use is None else min(extent, extents[use]) for extent, use in zip(shape, uses)
        ]
        # Rows of whole 16 bytes, which a tile is stored in.
        step = 16 // like.element_size()
        rows = [*shape[:-1], -(-shape[-1] // step) * step]
        new = torch.empty if cut == shape else torch.zeros
        buffer = new(rows, dtype=like.dtype, device=like.device)[..., : shape[-1]]
        part = buffer[tuple(slice(extent) for extent in cut)]
        made[name] = (buffer.reshape(()) if like.dim() == 0 else buffer, part)
    return made


def _ones(request: Request, parts: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """The dimensions of extras with a gradient whose extent of 1 serves all."""
    made = []
    for name, part in parts.items():
        ones = tuple(d for d, extent in enumerate(part.shape) if extent == 1)
        if name.startswith("aux") and request.traced is not None:
            uses = request.traced.uses[int(name[3:])]
            # One that is read at an index is as long as what the index counts.
            ones = tuple(d for d in ones if uses[d] is None)
        else:
            ones = tuple(d for d in ones if name == "bias" and d < 3)
        made.append((name, ones))
    return tuple(made)


# -----------------------------------------------------------------------------
# Arguments
# -----------------------------------------------------------------------------


def _check(request: Request, named: dict[str, Any]) -> None:
    type = request.spec.q_type
    if type not in ("f16", "bf16"):
        raise UnsupportedError(f"gradients of {type}")
    shape = list(request.views["q"].shape)
    shape[3] = request.head_dim_v
    rows = [shape[d] for d in DIMS[request.layout]]
    for name, wanted, expected in (
        ("o", shape, type), ("do", shape, type), ("lse", rows, "f32"),
        ("dlse", rows, "f32"),
    ):  # fmt: skip
        value = named.get(name)
        if value is None:
            continue
        one = tensors.view(name, value)
        if list(one.shape) != list(wanted):
            raise ArgumentError(name, f"shape {one.shape}, expected {tuple(wanted)}")
        if one.type != expected:
            raise ArgumentTypeError(name, f"element type {one.type}, expected {expected}")
        if one.device != request.device:
            raise ArgumentError(name, "is not on the device of q")


def _argument(request: Request, name: str, value: Any, keeps_ones: bool) -> Any:
    """An argument of the kernel: an array, or (type, number). A bias
    with a gradient keeps its extents of 1."""
    if name in request.spec.inputs and not (name == "bias" and keeps_ones):
        return request.kernel_value(name)
    one = tensors.view(name, value)
    if name in ("o", "do", "dq", "dk", "dv"):
        return request.in_order(one)
    return one.array()
