# SPDX-License-Identifier: Apache-2.0
"""The kernels of gradients of packed sequences, and their launches."""

from __future__ import annotations

from typing import Any, Sequence

import torch

from ..build.compiler import CompileOptions, run_on_host
from ..calls import choices
from ..calls.gradients import options_of
from ..calls.launch import Launcher, keep, plans
from ..errors import UnsupportedError
from ..kernels import checks, compiled
from ..kernels.arguments import Sequences
from ..kernels.serving_spec import ServingBackwardSpec, ServingSpec
from ..kernels.spec import Spec
from ..support import native, tensors
from .call import FEW_SEQUENCES, with_empty_sequences


#: The tensors that a backward reads and writes.
ARRAYS = ("cu_q", "cu_k", "used_q", "used_k")
READ = ("q", "k", "v", *ARRAYS, "o", "lse", "do", "dlse")
GRADS = ("dq", "dk", "dv")
TENSORS = (*READ, *GRADS)


def gradients(
    do: Any, dlse: Any, saved: Sequence[Any], grads: Any, asked: Sequences, deterministic: bool
) -> None:
    """Writes dq, dk and dv, `grads`, whose rows that are none of a sequence stay as they
    are, of `saved`: q, k, v, o and lse."""
    choices.check_own("gradients of packed sequences")
    with torch.no_grad():
        arrays = with_empty_sequences(asked.cu_q, asked.cu_k, asked.used_q, asked.used_k)
        values = dict(zip(ARRAYS, arrays)) | dict(zip(("q", "k", "v", "o", "lse"), saved))
        run(values | as_read(do, dlse) | dict(zip(GRADS, grads)), asked, deterministic)


def as_read(do: Any, dlse: Any) -> dict[str, Any]:
    """Gradients as kernels read them."""
    return {
        "do": do.resolve_neg().contiguous(),
        "dlse": None if dlse is None else dlse.resolve_neg().contiguous(),
    }


def key_of(values: dict[str, Any], asked: Sequences, deterministic: bool) -> Any:
    """All that a backward depends on but addresses and numbers."""
    return (
        "packed backward", native.form(*[values[name] for name in TENSORS]), deterministic,
        asked.causal, tuple(asked.window) if asked.window else None, asked.softcap,
        asked.chunk, asked.interpret,
    )  # fmt: skip


def run(values: dict[str, Any], asked: Sequences, deterministic: bool) -> None:
    """Computes dq, dk and dv, which are among the values by name."""
    key = key_of(values, asked, deterministic)
    ready = plans.get(key)
    scale = checks.check_scale(asked.scale, values["q"].shape[-1], gradients=True)
    numbers = {"scale": scale, "max_q": asked.max_q}
    if ready is not None:
        launcher, names = ready
        launcher.run(*[numbers[n] if n in numbers else values[n] for n in names])
        return
    backward = _describe(values, asked)
    names = (*backward.inputs, *backward.outputs)
    given = [numbers[n] if n in numbers else values[n] for n in names]
    described = [
        ("f32" if name == "scale" else "i32", value) if name in numbers
        else tensors.view(name, value).array()
        for name, value in zip(names, given)
    ]  # fmt: skip
    if asked.interpret:
        run_on_host(backward.to_mlir(), described, CompileOptions(), asked.interpret)
        return
    options: compiled.Options = (("deterministic", deterministic),)
    if not deterministic:  # those are split, whatever their lengths are
        options = options_of(backward, backward.forward.attention, _mean_length(values), False)
    kernel = compiled.get(backward, None, options)
    device = values["q"].get_device()
    with torch.cuda.device(device):
        launcher, _ = keep(
            key,
            lambda: (Launcher(kernel, device, described, place=values["q"].device), names),
        )
    launcher.run(*given)


def _mean_length(values: dict[str, Any]) -> float:
    """Of queries or keys, whichever are more: rows of the tensors for each sequence."""
    made = []
    for side, rows in (("q", values["q"]), ("k", values["k"])):
        starts = values["cu_" + side]
        made.append(rows.shape[1] if starts is None else rows.shape[0] / (starts.numel() - 1))
    return max(made)


def _describe(values: dict[str, Any], asked: Sequences) -> ServingBackwardSpec:
    """The kernel of a call, which is checked."""
    q, v = values["q"], values["v"]
    types = [tensors.view(name, values[name]).type for name in "qkv"]
    if types[0] not in ("f16", "bf16"):
        raise UnsupportedError(f"gradients of {types[0]}")
    spec = Spec(
        types[0], types[1], types[2], types[0], q.shape[-1], v.shape[-1],
        bool(asked.causal), checks.check_window(asked.window),
        checks.check_softcap(asked.softcap), True,
    )  # fmt: skip
    arrays = tuple(
        name for name in ("cu_q", "cu_k", "used_q", "used_k") if values[name] is not None
    )
    starts = values["cu_q"]
    sequences = q.shape[0] if starts is None else starts.numel() - 1
    return ServingBackwardSpec(
        ServingSpec(
            spec, arrays, chunk=asked.chunk,
            heads=(q.shape[-2], values["k"].shape[-2]),
            many=sequences if starts is not None and sequences > FEW_SEQUENCES else None,
        ),
        values["dlse"] is not None,
    )  # fmt: skip
