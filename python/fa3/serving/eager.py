# SPDX-License-Identifier: Apache-2.0
"""Attention of fa3.serving, of tensors whose memory is there; calls are kept, to be made
again, by all that they depend on."""

from __future__ import annotations

from typing import Any, Sequence

import torch

from ..build.compiler import parse_options, run_on_host
from ..calls import choices
from ..calls.launch import Launcher, Maker, keep, makers, plans
from ..errors import ArgumentError, UnsupportedError
from ..kernels import checks, compiled, invariance
from ..kernels.arguments import TENSORS, Sequences
from ..kernels.serving_spec import ServingSpec
from ..kernels.spec import FLOATS_8, Regions, Spec
from ..mods.trace import Traced
from ..support import native, outputs
from ..support.tensors import CPU
from . import append, cache_rows, mods
from .call import Call, check_chunk, with_empty_sequences

# Heads of a group are rows of a tile up to so many queries a sequence.
_FEW_QUERIES = 16


#: Arguments whose gradients nobody computes.
_NAMES = (
    "sinks", "q_descale", "k_descale", "v_descale", "k_new", "v_new", "rotary_cos", "rotary_sin",
    "qv",
)  # fmt: skip


def refuse_gradients(q: Any, k: Any, v: Any, asked: Sequences) -> None:
    """Nothing of a call may require a gradient, where gradients are recorded."""
    if not torch.is_grad_enabled():
        return
    traced = mods.trace(asked.score_mod, asked.mask_mod, asked.epilogue)
    captured = (("a tensor of a mod", one) for one in traced.tensors) if traced else ()
    named = ((f"'{name}'", getattr(asked, name)) for name in _NAMES)
    for name, one in (("'q'", q), ("'k'", k), ("'v'", v), *named, *captured):
        if getattr(one, "requires_grad", False):
            raise UnsupportedError(
                f"gradients of fa3.serving.attention, and {name} requires some "
                "(fa3.serving.packed.attention has those of packed sequences)"
            )


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, asked: Sequences) -> Any:
    """What fa3.serving.attention gives."""
    part = invariance.part_keys(asked.batch_invariant)
    traced = mods.trace(asked.score_mod, asked.mask_mod, asked.epilogue)
    turns = asked.rotary_cos is not None
    if asked.k_new is not None and asked.v_new is not None and cache_rows.is_apart(q, k, v, asked):
        append.check_pairs(asked)
        q, used_k = cache_rows.write(q, k, v, asked)
        asked = asked.replace(
            used_k=used_k, k_new=None, v_new=None, rotary_cos=None, rotary_sin=None,
            rotary_at=None,
        )  # fmt: skip
    given = (q, k, v, *asked.tensors)
    key: Any = None
    form, out = None, asked.out
    if not asked.interpret and (asked.k_new is None or asked.leftpad is None):
        form = native.form(*given)
    if form is not None and outputs.is_apart(out, given):
        # The way of almost all calls.
        if type(asked.window) is list:
            asked = asked.replace(window=tuple(asked.window))
        key = key_of(form, asked, part, traced, None if out is None else native.form(out))
        if traced is not None:
            given += traced.tensors
        again = plans.get(key)
        if again is not None:
            return again.again(given, asked.scale, traced.scalars if traced else (), out)
    longer = with_empty_sequences(asked.cu_q, asked.cu_k, asked.used_q, asked.used_k)
    if any(one is not other for one, other in zip(given[3:7], longer)):
        key = None  # longer ones are made for each call
        cu_q, cu_k, used_q, used_k = longer
        asked = asked.replace(cu_q=cu_q, cu_k=cu_k, used_q=used_q, used_k=used_k)
    call = Call(q, k, v, asked)
    if traced is not None:
        mods.add(call, traced)
    serving, parts, count = _specify(call, asked, traced, part, turns)
    made, ready = _launch(call, asked, serving, traced, parts, count)
    if ready is not None and key is not None:
        launcher, values, columns = ready
        keep(key, lambda: Ready(launcher, serving.inputs, values, given, columns))
    return tuple(made) if asked.return_lse or asked.max_logits else made[0]


def _specify(
    call: Call, asked: Sequences, traced: Traced | None, part: int, turns: bool
) -> tuple[ServingSpec, int, int]:
    """The kernel of a call, which is checked, the parts that keys are summed up in, as
    the launch is told, and how many there are."""
    appended = append.check(call, asked)
    spec = Spec(
        *call.types, "bf16" if call.types[0] in FLOATS_8 else call.types[0],
        call.head_dim, call.head_dim_v, bool(asked.causal),
        checks.check_window(asked.window), checks.check_softcap(asked.softcap),
        bool(asked.return_lse or asked.max_logits), sinks=asked.sinks is not None,
        regions=traced.regions if traced else Regions(), max_logits=asked.max_logits,
    )  # fmt: skip
    splits, pack_heads = asked.splits, asked.pack_heads
    by_row = mods.reads_by_row(traced)
    may_pack = call.may_pack and not by_row
    if pack_heads and call.may_pack and not may_pack:
        raise UnsupportedError("pack_heads: tables of mods are read by query or head")
    few = call.most_queries <= _FEW_QUERIES
    packs = bool(few if pack_heads is None else pack_heads) and may_pack
    if not isinstance(splits, int) or splits < 0:
        raise ArgumentError("splits", f"{splits!r}, expected at least 0")
    if part:
        invariance.refuse(spec, splits, call.quantizes, turns, appended is not None)
        parts = invariance.count_parts(part, call.most_keys(asked.max_k))
        count, in_parts = max(parts, 1), parts > 0
    else:
        count = splits or call.choose_splits(asked.max_k, packs)
        # Of packed keys the launch knows all, not those of a sequence.
        parts = count if splits or "cu_k" in call.arrays else 0
        in_parts = count > 1
    chunk = check_chunk(asked.chunk)
    group, short = None, False
    if pack_heads is None and not packs and (may_pack or not call.may_pack):
        masked = asked.causal or asked.window or chunk or spec.regions.mask
        group, short = call.choose_group(bool(masked))
    rows = 0
    if part:
        of_query = call.heads // call.key_heads if packs else 1
        rows = invariance.rows_of_tile(spec, call.most_queries * of_query, in_parts)
    return ServingSpec(
        spec, tuple(call.arrays), call.page, chunk, in_parts,
        (call.heads, call.key_heads) if packs else None, appended,
        call.scale_heads if packs or group else None, group, short, call.many,
        part, asked.qv is not None, rows, by_row,
    ), parts, count  # fmt: skip


def _launch(
    call: Call, asked: Sequences, serving: ServingSpec, traced: Traced | None, parts: int,
    count: int,
) -> tuple[list[Any], Any]:  # fmt: skip
    """What a call gives, and the launcher, its values and the columns of q, by which it
    can be made again."""
    spec, out = serving.attention, asked.out
    if out is not None:
        outputs.check({"out": out}, call.given)
        outputs.mark(out)
    if serving.append is not None:
        k, v = call.given["k"], call.given["v"]
        outputs.check({"k_cache": k}, {})
        outputs.check({"v_cache": v}, {})
        outputs.mark(k, v)
    made = call.outputs(spec, out)
    columns = call.head_dim + (0 if asked.qv is None else call.head_dim_v)
    numbers = {
        "scale": checks.check_scale(asked.scale, columns), "max_q": asked.max_q,
        "splits": parts,
    }  # fmt: skip
    values = [numbers.get(name, call.given.get(name)) for name in serving.inputs]
    values += made
    if asked.interpret:
        run_on_host(
            serving.to_mlir(), call.described(serving, values),
            parse_options(serving.options if serving.part else {}), asked.interpret,
        )  # fmt: skip
        return made, None
    if call.device == CPU:
        raise ArgumentError("q", "device is cpu, expected CUDA")
    plan = ("serving", serving, tuple(
        (one.shape, one.stride(), one.dtype) for one in values
        if isinstance(one, torch.Tensor)
        # The workspace is as large as the parts ask for, given or chosen.
    ), call.device, (parts, count, asked.max_q) if serving.splits else None)  # fmt: skip
    launcher = plans.get(plan)
    if launcher is None:
        kernel = compiled.get(serving, traced, **serving.options)
        with torch.cuda.device(call.device):
            launcher = keep(plan, lambda: Launcher(
                kernel, call.device, call.described(serving, values), (),
                _makers(spec, made), call.given["q"].device,
            ))  # fmt: skip
    launcher.run(*values)
    return made, (launcher, values[: len(serving.inputs)], columns)


def _makers(spec: Spec, made: Sequence[Any]) -> tuple[Maker, ...]:
    """What makes the results of later calls: `made` are those of one."""
    first = makers(*made[:2])
    if not spec.max_logits:
        return first
    # Who reduces them must not see what was there in rows that are no query's.
    _, like, named = first[1]
    return *first, (torch.full_like, (*like, float("-inf")), named)


# -----------------------------------------------------------------------------
# Calls that were made before
# -----------------------------------------------------------------------------

#: Tensors of a call, in the order of `given`, by their names in kernels.
NAMES = ("q", "k", "v", *TENSORS)
_NEW, _DESCALES = ("k_new", "v_new"), ("q_descale", "k_descale", "v_descale")


def key_of(
    form: Any, asked: Sequences, part: int, traced: Traced | None = None, of_out: Any = None
) -> tuple[Any, ...]:
    """All that a call depends on but its numbers; `form` is that of its tensors."""
    return (
        "serve", form, asked.causal, asked.window, asked.softcap, asked.chunk, asked.splits,
        asked.pack_heads, asked.max_q, asked.max_k, asked.return_lse, asked.max_logits,
        asked.rotary_interleaved, part, mods.form(traced), of_out,
    )  # fmt: skip


def known(given: tuple[Any, ...], asked: Sequences) -> Ready | None:
    """A call of these tensors, in the order of NAMES, that was made before."""
    return plans.get(key_of(native.form(*given), asked, invariance.part_keys(None)))


class Ready:
    """A call that was checked, to be made again with other tensors of the same form."""

    def __init__(
        self, launcher: Launcher, names: tuple[str, ...], values: list[Any],
        given: tuple[Any, ...], head_dim: int,
    ) -> None:  # fmt: skip
        self.launcher = launcher
        self.default_scale = head_dim**-0.5
        tables = [f"aux{n}" for n in range(len(given) - len(NAMES))]
        places = {name: n for n, name in enumerate((*NAMES, *tables))}
        read = [
            (number, name, places[name]) for number, name in enumerate(names)
            if name in places and given[places[name]] is not None
        ]  # fmt: skip
        #: What a call leaves out is what it was: scales of 1.
        self.values = values.copy()
        for number, _, _ in read:
            self.values[number] = None
        #: Arguments, and which tensors of the call they are: as they are, as kernels read
        #: new keys, and as they read descales.
        self.new = [(n, at) for n, name, at in read if name in _NEW]
        self.descales = [
            (n, at) for n, name, at in read
            if name in _DESCALES and values[n].dim() > given[at].dim()
        ]  # fmt: skip
        rest = {n for n, _ in (*self.new, *self.descales)}
        self.read = [(n, at) for n, _, at in read if n not in rest]
        self.scale_at = names.index("scale")
        self._rearrange(names, read, given)
        self.numbers_at = tuple(n for n, one in enumerate(names) if one.startswith("arg"))
        self.has_unused_rows = "cu_q" in names or "used_q" in names

    def _rearrange(
        self, names: tuple[str, ...], read: list[tuple[int, str, int]], given: tuple[Any, ...]
    ) -> None:
        """Where values are the tensors of the call as they are: `run` takes these, the
        scale, and what is the same in each call."""
        self.run: Any = None
        copied = [at for _, name, at in read if name in _NEW and not given[at].is_contiguous()]
        if copied or any(one.startswith("arg") for one in names):
            return
        order = {number: at for number, _, at in read}
        order[self.scale_at] = len(given)
        rest = [number for number in range(len(names)) if number not in order]
        self.constants = tuple(self.values[number] for number in rest)
        order |= {number: len(given) + 1 + n for n, number in enumerate(rest)}
        behind = len(given) + 1 + len(rest)
        made = range(behind, behind + len(self.launcher.made))
        places = [order[number] for number in range(len(names))]
        self.run = self.launcher.rearranged([*places, *made]).run

    def again(
        self, given: tuple[Any, ...], scale: float | None, numbers: tuple[Any, ...] = (),
        out: Any = None,
    ) -> Any:  # fmt: skip
        zeroes = choices.zeroes_unused_rows and self.has_unused_rows
        if self.run is not None and out is None and not zeroes:
            if self.new:
                outputs.mark(given[1], given[2])
            scale = self.default_scale if scale is None else checks.check_scale(scale, 1)
            return self.run(*given, scale, *self.constants)
        values = self.values.copy()
        for number, place in self.read:
            values[number] = given[place]
        values[self.scale_at] = (
            self.default_scale if scale is None else checks.check_scale(scale, 1)
        )
        for place, number in zip(self.numbers_at, numbers):
            values[place] = number
        for number, place in self.descales:
            values[number] = given[place].unsqueeze(-1)
        if out is not None:
            outputs.mark(out)
        if self.new:
            outputs.mark(given[1], given[2])
            for number, place in self.new:
                values[number] = given[place].contiguous()
        if out is None and not zeroes:
            return self.launcher.run(*values)
        made = [make(*args, **named) for make, args, named in self.launcher.made]
        if out is not None:
            made[0] = out
        if zeroes:
            for one, value in zip(made, (0.0, float("-inf"))):
                one.fill_(value)
        self.launcher.run(*values, *made)
        return tuple(made) if len(made) > 1 else made[0]
