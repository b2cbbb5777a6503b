# SPDX-License-Identifier: Apache-2.0
"""Attention as inference engines call it: sequences with lengths of their own,
packed or padded, keys in pages, few queries on long caches (docs/Serving.md).
Lengths, starts and tables are arrays that only the GPU reads."""

from __future__ import annotations

import functools
from typing import Any, Sequence

import torch

from ..build.compiler import parse_options, run_on_host
from ..calls.launch import Launcher, Maker, keep, makers, plans
from ..errors import ArgumentError, ArgumentTypeError, UnsupportedError
from ..kernels import checks, compiled, invariance
from ..kernels.serving_spec import ServingSpec
from ..kernels.spec import FLOATS_8, Regions, Spec
from ..support import native, outputs, tensors, watch
from ..support.tensors import CPU
from ..support.values import GREATEST_EXTENT
from . import append, cache_rows, mods as serving_mods
from . import qv as of_values

# Heads of a group are rows of a tile up to so many queries a sequence, and of packed
# queries up to so many in the mean: steps of decoding beside a prompt
# (docs/experiments/packed-tiles.md).
_FEW_QUERIES = 16
_FEW_IN_THE_MEAN = 256


#: Packed sequences that kernels look among (kMostPackedSequences in lib/Conversion/
#: AttentionToTile), and those that one of a known number may look among (tile.search).
FEW_SEQUENCES, MOST_SEQUENCES = 4095, 32768

#: fa3.torch.set_unused_rows
_zeroes_unused_rows = False



def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *,
    cu_q: torch.Tensor | None = None, cu_k: torch.Tensor | None = None,
    max_q: int | None = None, max_k: int | None = None,
    used_q: torch.Tensor | None = None, used_k: torch.Tensor | None = None,
    batch_index: torch.Tensor | None = None, leftpad: torch.Tensor | None = None,
    page_table: torch.Tensor | None = None, causal: bool = False, window: Any = None,
    softcap: float = 0.0, chunk: int = 0, scale: float | None = None,
    sinks: torch.Tensor | None = None, q_descale: Any = None, k_descale: Any = None,
    v_descale: Any = None, splits: int = 0, pack_heads: bool | None = None,
    return_lse: bool = False, out: torch.Tensor | None = None,
    k_new: torch.Tensor | None = None, v_new: torch.Tensor | None = None,
    rotary_cos: torch.Tensor | None = None, rotary_sin: torch.Tensor | None = None,
    rotary_interleaved: bool = False, rotary_at: torch.Tensor | None = None,
    cu_new: torch.Tensor | None = None, qv: torch.Tensor | None = None,
    batch_invariant: bool | int | None = None, score_mod: Any = None, mask_mod: Any = None,
    epilogue: Any = None, max_logits: bool = False, interpret: bool | str = False,
) -> Any:  # fmt: skip
    """o, or (o, lse) with `return_lse`, or o, lse and the largest score of every query
    with `max_logits`: as lse, -inf in rows that are no query's.

    q is (batch, queries, heads, d) and lse (batch, heads, queries); with cu_q,
    starts of sequences that lie one behind the other, q is (rows, heads, d) and lse
    (heads, rows), and `max_q` bounds the queries of a sequence. k and v are (batch,
    keys, key heads, d or dv), (rows, key heads, d) with cu_k, and with `page_table`
    (sequences, pages) they are (page, rows of a page, key heads, d). used_q and
    used_k say how many rows of a sequence count, leftpad how many keys in front do
    not, batch_index which batch of k and v is that of a sequence. All of them are
    int32 (sequences,), cu_q and cu_k one longer.

    causal, window and chunk go by the lengths of each sequence, aligned at its end.
    qv (as q, with v's head dim): scores are q k^T + qv v^T; k and v may be columns of
    one memory. splits: parts that keys are summed up in, 0 for what fills the GPU (max_k bounds
    the keys of a sequence, for that). pack_heads: heads of a group are rows of a
    tile; None: where queries are few. sinks, descales: as in fa3.attention.

    k_new and v_new, (batch, new keys, key heads, d or dv), are written into k and v
    first, behind the used_k rows of each sequence, and count. rotary_cos and
    rotary_sin (positions, pairs) turn them and the queries by their positions, which
    count from used_k, or from rotary_at. With cu_new, starts of the sequences' new keys,
    k_new is (rows, key heads, d). What the kernel that writes does not take is written
    by operations of torch in front of it (fa3.serving.cache_rows).

    batch_invariant: a sequence's results have the same bits in every batch and in every
    piece; True, or the number of keys that kernels sum up before they are merged
    (fa3.kernels.invariance). max_k bounds the keys of a sequence; None is what is set by
    invariance.set_batch_invariant.

    score_mod(score, b, h, q, kv) and mask_mod(b, h, q, kv) are functions as fa3.attention
    takes them, and so is epilogue(x, b, h, q, column), what is stored in place of an
    element x of o; b is the number of a sequence, q and kv count its queries and keys
    from 0.
    What they capture may change from call to call (fa3.serving.mods, fa3.masks)."""
    compiling = torch.compiler.is_compiling()
    if qv is not None and (compiling or watch.is_recorded()):
        q, k = of_values.join(q, qv, k, v)
        qv = None
    if not compiling and watch.is_watched():
        watch.check_underived(
            "attention to packed, padded or paged sequences", q, k, v, qv, sinks, q_descale,
            k_descale, v_descale, k_new, v_new, rotary_cos, rotary_sin, out,
        )  # fmt: skip
    if compiling or watch.is_recorded():
        # Dynamo does not trace what compiles kernels: that is in an operator.
        from .. import dynamo
        from . import operators

        more = {
            "batch_invariant": batch_invariant, "score_mod": score_mod,
            "mask_mod": mask_mod, "epilogue": epilogue, "max_logits": max_logits or None,
        }  # fmt: skip
        more = {name: one for name, one in more.items() if one is not None}
        eagerly = compiling and bool(out is not None or more or watch.is_derived())
        if more and not compiling:
            raise UnsupportedError(f"{' and '.join(more)} of a call that is recorded")
        door = dynamo.serve if eagerly else operators.serve
        return door(
            q, k, v, cu_q=cu_q, cu_k=cu_k, max_q=max_q, max_k=max_k, used_q=used_q,
            used_k=used_k, batch_index=batch_index, leftpad=leftpad,
            page_table=page_table, causal=causal, window=window, softcap=softcap,
            chunk=chunk, scale=scale, sinks=sinks, q_descale=q_descale,
            k_descale=k_descale, v_descale=v_descale, splits=splits,
            pack_heads=pack_heads, return_lse=return_lse, out=out, k_new=k_new,
            v_new=v_new, rotary_cos=rotary_cos, rotary_sin=rotary_sin,
            rotary_interleaved=rotary_interleaved, rotary_at=rotary_at, cu_new=cu_new,
            interpret=interpret,
            **more,
        )  # fmt: skip
    return_lse = return_lse or max_logits
    part = invariance.part_keys(batch_invariant)
    traced = serving_mods.trace(score_mod, mask_mod, epilogue)
    turns = rotary_cos is not None
    at_one = not causal and window is None and not chunk
    if k_new is not None and v_new is not None and cache_rows.is_apart(
        q, k, v, cu_q, k_new, cu_new, rotary_cos, at_one, page_table is not None
    ):  # fmt: skip
        append.check_pairs(k_new, v_new, rotary_cos, rotary_sin)
        q, used_k = cache_rows.write(
            q, (k, v), (k_new, v_new), cu_q, cu_new, used_k, batch_index, page_table,
            (rotary_cos, rotary_sin), bool(rotary_interleaved), rotary_at, at_one,
            (k_descale, v_descale),
        )  # fmt: skip
        k_new = v_new = rotary_cos = rotary_sin = rotary_at = None
    given = (
        q, k, v, cu_q, cu_k, used_q, used_k, batch_index, leftpad, page_table, sinks,
        k_new, v_new, rotary_cos, rotary_sin, rotary_at, q_descale, k_descale, v_descale,
        qv,
    )  # fmt: skip
    key: Any = None
    form = None
    if not interpret and (k_new is None or leftpad is None):
        form = native.form(*given)
    if form is not None and outputs.is_apart(out, given):
        # All that a call depends on but its numbers; the way of almost all calls.
        if type(window) is list:
            window = tuple(window)
        key = (
            "serve", form, causal, window, softcap, chunk, splits, pack_heads, max_q, max_k,
            return_lse, max_logits, rotary_interleaved, part, serving_mods.form(traced),
            None if out is None else native.form(out),
        )  # fmt: skip
        if traced is not None:
            given += traced.tensors
        again = plans.get(key)
        if again is not None:
            return again.again(given, scale, traced.scalars if traced else (), out)
    cu_q, cu_k, used_q, used_k = with_empty_sequences(cu_q, cu_k, used_q, used_k)
    if any(one is not other for one, other in zip(given[3:7], (cu_q, cu_k, used_q, used_k))):
        key = None  # longer ones are made for each call
    call = _Call(
        q, k, v,
        {"cu_q": cu_q, "cu_k": cu_k, "used_q": used_q, "used_k": used_k,
         "batch_index": batch_index, "leftpad": leftpad, "page_table": page_table},
        sinks, (q_descale, k_descale, v_descale), max_q, qv,
    )  # fmt: skip
    if traced is not None:
        serving_mods.add(call, traced)
    appended = append.check(
        call, k_new, v_new, rotary_cos, rotary_sin, bool(rotary_interleaved), rotary_at,
    )  # fmt: skip
    spec = Spec(
        *call.types, "bf16" if call.types[0] in FLOATS_8 else call.types[0],
        call.head_dim, call.head_dim_v, bool(causal), checks.check_window(window),
        checks.check_softcap(softcap), bool(return_lse), sinks=sinks is not None,
        regions=traced.regions if traced else Regions(), max_logits=max_logits,
    )  # fmt: skip
    by_row = serving_mods.reads_by_row(traced)
    may_pack = call.may_pack and not by_row
    if pack_heads and call.may_pack and not may_pack:
        raise UnsupportedError("pack_heads: tables of mods are read by query or head")
    few = call.most_queries <= _FEW_QUERIES
    packs = bool(few if pack_heads is None else pack_heads) and may_pack
    if not isinstance(splits, int) or splits < 0:
        raise ArgumentError("splits", f"{splits!r}, expected at least 0")
    if part:
        invariance.refuse(spec, splits, call.quantizes, turns, appended is not None)
        parts = invariance.count_parts(part, call.most_keys(max_k))
        count, in_parts = max(parts, 1), parts > 0
    else:
        count = splits or call.choose_splits(max_k, packs)
        # Of packed keys the launch knows all, not those of a sequence.
        parts = count if splits or "cu_k" in call.arrays else 0
        in_parts = count > 1
    chunk = check_chunk(chunk)
    group, short = None, False
    if pack_heads is None and not packs and (may_pack or not call.may_pack):
        masked = causal or window or chunk or (traced is not None and traced.regions.mask)
        group, short = call.choose_group(bool(masked))
    rows = 0
    if part:
        of_query = call.heads // call.key_heads if packs else 1
        rows = invariance.rows_of_tile(spec, call.most_queries * of_query, in_parts)
    serving = ServingSpec(
        spec, tuple(call.arrays), call.page, chunk, in_parts,
        (call.heads, call.key_heads) if packs else None, appended,
        call.scale_heads if packs or group else None, group, short, call.many,
        part, qv is not None, rows, by_row,
    )  # fmt: skip
    if out is not None:
        outputs.check({"out": out}, call.given)
        outputs.mark(out)
    if appended is not None:
        outputs.check({"k_cache": k}, {})
        outputs.check({"v_cache": v}, {})
        outputs.mark(k, v)
    made = call.outputs(spec, out)
    columns = call.head_dim + (0 if qv is None else call.head_dim_v)
    scale = checks.check_scale(scale, columns)
    values = [
        {"scale": scale, "max_q": max_q, "splits": parts}.get(name, call.given.get(name))
        for name in serving.inputs
    ]
    values += made
    if interpret:
        run_on_host(
            serving.to_mlir(), call.described(serving, values),
            parse_options(serving.options if part else {}), interpret,
        )  # fmt: skip
    else:
        if call.device == CPU:
            raise ArgumentError("q", "device is cpu, expected CUDA")
        plan = ("serving", serving, tuple(
            (one.shape, one.stride(), one.dtype) for one in values
            if isinstance(one, torch.Tensor)
            # The workspace is as large as the parts ask for, given or chosen.
        ), call.device, (parts, count, max_q) if in_parts else None)  # fmt: skip
        launcher = plans.get(plan)
        if launcher is None:
            kernel = compiled.get(serving, traced, **serving.options)
            with torch.cuda.device(call.device):
                launcher = keep(plan, lambda: Launcher(
                    kernel, call.device, call.described(serving, values), (),
                    _makers(spec, made), q.device,
                ))  # fmt: skip
        launcher.run(*values)
        if key is not None:
            keep(key, lambda: _Ready(
                launcher, serving.inputs, values[: len(serving.inputs)], given, columns,
            ))  # fmt: skip
    return tuple(made) if return_lse else made[0]


def _makers(spec: Spec, made: Sequence[Any]) -> tuple[Maker, ...]:
    """What makes the results of later calls: `made` are those of one."""
    first = makers(*made[:2])
    if not spec.max_logits:
        return first
    # Who reduces them must not see what was there in rows that are no query's.
    _, like, named = first[1]
    return *first, (torch.full_like, (*like, float("-inf")), named)


def known(
    given: tuple[Any, ...], *, causal: Any, window: Any, softcap: Any, chunk: Any,
    splits: Any, pack_heads: Any, max_q: Any, max_k: Any, return_lse: Any,
    rotary_interleaved: Any = False,
) -> _Ready | None:  # fmt: skip
    """A call of these tensors, in the order of NAMES, that was made before."""
    return plans.get((
        "serve", native.form(*given), causal, window, softcap, chunk, splits, pack_heads, max_q,
        max_k, return_lse, False, rotary_interleaved, invariance.part_keys(None), None,
        None,
    ))  # fmt: skip


class _Ready:
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
        self.read = [(n, at) for n, name, at in read if name not in (*_NEW, *_DESCALES)]
        self.new = [(n, at) for n, name, at in read if name in _NEW]
        self.descales = [(n, at) for n, name, at in read if name in _DESCALES]
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
        zeroes = _zeroes_unused_rows and self.has_unused_rows
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


#: Tensors of a call, in the order of `given`, by their names in kernels.
NAMES = (
    "q", "k", "v", "cu_q", "cu_k", "used_q", "used_k", "batch_index", "leftpad",
    "page_table", "sinks", "k_new", "v_new", "cos", "sin", "position", "q_descale",
    "k_descale", "v_descale", "qv",
)  # fmt: skip
_NEW, _DESCALES = ("k_new", "v_new"), ("q_descale", "k_descale", "v_descale")


def with_empty_sequences(
    cu_q: Any, cu_k: Any, used_q: Any, used_k: Any
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Starts and lengths of packed sequences; more than kernels look among by themselves
    get empty ones behind them, up to a number that a kernel is compiled for."""
    starts = cu_q if cu_q is not None else cu_k
    sequences = starts.numel() - 1 if isinstance(starts, torch.Tensor) else 0
    if sequences <= FEW_SEQUENCES or starts.dim() != 1:
        return cu_q, cu_k, used_q, used_k
    if sequences > MOST_SEQUENCES:
        raise ArgumentError(
            "cu_seqlens_q" if cu_q is not None else "cu_seqlens_k",
            f"{sequences} sequences, expected at most {MOST_SEQUENCES}",
        )  # fmt: skip
    more = (1 << (sequences - 1).bit_length()) - sequences

    def longer(one: Any, count: int, at_end: bool) -> Any:
        if one is None or one.dim() != 1 or one.numel() != count:
            return one  # which is an error
        return torch.cat((one, one[-1:].expand(more) if at_end else one.new_zeros(more)))

    return (
        longer(cu_q, sequences + 1, True), longer(cu_k, sequences + 1, True),
        longer(used_q, sequences, False), longer(used_k, sequences, False),
    )  # fmt: skip


def check_chunk(chunk: Any) -> int:
    if not isinstance(chunk, int) or not 0 <= chunk <= GREATEST_EXTENT:
        raise ArgumentError("attention_chunk", f"{chunk!r}, expected 0 to 2^30")
    return chunk


@functools.lru_cache(maxsize=None)
def _sms(device: int) -> int:
    if device == CPU:
        return 132
    return torch.cuda.get_device_properties(device).multi_processor_count


#: As FlashAttention-3's functions name them.
_SPELLED = {
    "cu_q": "cu_seqlens_q", "cu_k": "cu_seqlens_k", "used_q": "seqused_q",
    "used_k": "seqused_k",
}  # fmt: skip


class _Call:
    """The tensors of a call, checked."""

    def __init__(
        self, q: Any, k: Any, v: Any, arrays: dict[str, Any], sinks: Any,
        descales: tuple[Any, Any, Any], max_q: int | None, qv: Any = None,
    ) -> None:  # fmt: skip
        self.arrays = {name: one for name, one in arrays.items() if one is not None}
        for name, one in self.arrays.items():
            if not isinstance(one, torch.Tensor):
                raise ArgumentTypeError(
                    _SPELLED.get(name, name), f"{type(one).__name__}, expected a tensor"
                )
        self.views = {n: tensors.view(n, x) for n, x in zip("qkv", (q, k, v))}
        self.given: dict[str, Any] = {"q": q, "k": k, "v": v, **self.arrays}
        packed_q, packed_k = "cu_q" in self.arrays, "cu_k" in self.arrays
        paged = "page_table" in self.arrays
        if paged and packed_k:
            raise ArgumentError("page_table", "with packed keys (cu_seqlens_k)")
        for name, rank in (
            ("q", 3 if packed_q else 4), ("k", 3 if packed_k else 4),
            ("v", 3 if packed_k else 4),
        ):  # fmt: skip
            self._check_rows(name, rank)
        self.types = [self.views[name].type for name in "qkv"]
        #: Queries of 16 bits, which a kernel in front makes two numbers of 8 bits of.
        self.quantizes = self.types[0] in ("f16", "bf16") and self.types[1] in FLOATS_8
        checks.check_types(self.types[1] if self.quantizes else self.types[0], *self.types[1:])
        if self.quantizes and packed_q:
            raise UnsupportedError(
                f"packed queries (cu_seqlens_q) of {self.types[0]} with keys of "
                f"{self.types[1]}: quantize them, or pad"
            )
        self.heads, self.head_dim = q.shape[-2:]
        self.key_heads, self.head_dim_v = k.shape[-2], v.shape[-1]
        if k.shape[-1] != self.head_dim:
            raise ArgumentError("k", f"head dim {k.shape[-1]}, expected {self.head_dim} as q")
        if v.shape[:-1] != k.shape[:-1]:
            raise ArgumentError("v", f"shape {tuple(v.shape)}, expected {tuple(k.shape[:-1])} as k")
        if self.key_heads == 0 or self.heads % self.key_heads:
            raise ArgumentError(
                "k", f"{self.key_heads} heads, expected a divisor of q's {self.heads}"
            )
        checks.check_head_dims(self.head_dim, self.head_dim_v, self.types[2])
        self.page = k.shape[1] if paged else 0
        if packed_q:
            if not isinstance(max_q, int) or max_q < 0:
                raise ArgumentError("max_seqlen_q", f"{max_q!r}, expected at least 0")
            self.sequences = self.arrays["cu_q"].numel() - 1
            self.most_queries = max_q
        else:
            self.sequences, self.most_queries = q.shape[0], q.shape[1]
        #: Of so many sequences that a kernel has to know their number.
        self.many = self.sequences if self.sequences > FEW_SEQUENCES else None
        if qv is not None:
            of_values.check(q, qv, k, v)
            self.views["qv"], self.given["qv"] = tensors.view("qv", qv), qv
            self._check_rows("qv", len(q.shape))
        self._check_arrays()
        if not (packed_k or paged or "batch_index" in self.arrays) and (
            k.shape[0] != self.sequences
        ):
            raise ArgumentError("k", f"batch {k.shape[0]}, expected {self.sequences} as q")
        if sinks is not None:
            self._add("sinks", sinks, "f32", (self.heads,))
        self._add_descales(descales)
        self.device = self.views["q"].device
        for name, one in self.views.items():
            if one.device != self.device:
                raise ArgumentError(name, "is not on the device of q")

    def _check_rows(self, name: str, rank: int) -> None:
        one = self.views[name]
        if len(one.shape) != rank:
            raise ArgumentError(name, f"rank {len(one.shape)}, expected {rank}")
        if one.shape[-1] > 1 and one.strides[-1] != 1:
            raise ArgumentError(name, "last dimension is not contiguous")

    def _add(self, name: str, value: Any, type: str, shape: tuple[int, ...]) -> None:
        one = tensors.view(name, value)
        if one.type != type or one.shape != shape:
            raise ArgumentTypeError(
                name, f"{one.type} of shape {one.shape}, expected {type} {shape}"
            )
        tensors.check_dense(name, one)
        self.views[name], self.given[name] = one, value

    def _check_arrays(self) -> None:
        for name, value in self.arrays.items():
            one = tensors.view(_SPELLED.get(name, name), value)
            wanted: tuple[int, ...] = (self.sequences,)
            if name in ("cu_q", "cu_k"):
                wanted = (self.sequences + 1,)
            if name == "page_table" and len(one.shape) == 2:
                # With numbers of batches it has rows of sequences that are not here.
                rows = one.shape[0] if "batch_index" in self.arrays else self.sequences
                wanted = (rows, one.shape[1])
            if one.type != "i32" or one.shape != wanted:
                raise ArgumentTypeError(
                    _SPELLED.get(name, name),
                    f"{one.type} of shape {one.shape}, expected i32 {wanted}",
                )
            tensors.check_dense(_SPELLED.get(name, name), one)
            self.views[name] = one
        if "cu_q" in self.arrays and self.sequences < 1:
            raise ArgumentTypeError("cu_seqlens_q", "1 element, expected sequences + 1")

    def _add_descales(self, descales: tuple[Any, Any, Any]) -> None:
        names = ("q_descale", "k_descale", "v_descale")
        #: Heads of each, if there are any.
        self.scale_heads: tuple[int, ...] | None = None
        if self.types[2] not in FLOATS_8:
            for name, one in zip(names, descales):
                if one is not None:
                    raise ArgumentError(name, f"is for float8, q has {self.types[0]}")
            return
        if self.quantizes:
            if descales[0] is not None:
                raise ArgumentError("q_descale", f"is for float8, q has {self.types[0]}")
            names, descales = names[1:], descales[1:]
        for name, one in zip(names, descales):
            if one is None:
                one = torch.ones((1, 1), device=self.given["q"].device)
            if one.dim() != 2 or one.dtype != torch.float32:
                raise ArgumentTypeError(name, "expected float32 (batch, heads)")
            batch, heads = one.shape
            if not batch or not heads or self.sequences % batch or self.heads % heads:
                raise ArgumentError(
                    name, f"shape {(batch, heads)}, expected numbers that divide those of "
                    f"sequences ({self.sequences}) and heads ({self.heads})",
                )  # fmt: skip
            self.given[name] = one.unsqueeze(-1)
            self.views[name] = tensors.view(name, self.given[name])
        self.scale_heads = tuple(self.given[name].shape[1] for name in names)
        if self.quantizes:
            self.scale_heads = (1, *self.scale_heads)

    @property
    def may_pack(self) -> bool:
        """Whether heads of a group may be rows of a tile, whose queries share a scale."""
        shares = self.scale_heads is None or self.scale_heads[0] in (1, self.key_heads)
        return self.heads > self.key_heads and shares

    def choose_group(self, masked: bool) -> tuple[int | None, bool]:
        """Heads of each key head, if their being rows of a tile makes a better kernel
        of packed queries, and whether the compiler, which sees no lengths, is to be
        told so: because most sequences are short. It packs by itself where keys are
        masked by query (chooseGroupPacking in lib/Conversion/AttentionToTile)."""
        group = self.heads // self.key_heads
        one_scale = self.scale_heads is None or self.scale_heads[0] == 1
        if "cu_q" not in self.arrays or group == 1 or not one_scale:
            return None, False
        if masked and group & (group - 1) == 0 and self.head_dim_v <= 128:
            return group, False
        short = self.given["q"].shape[0] <= _FEW_IN_THE_MEAN * self.sequences
        return (group, True) if short else (None, False)

    def most_keys(self, max_k: int | None) -> int:
        """Keys that a sequence has at most, for parts of a number of keys: all of them
        are computed however many there are."""
        if max_k is not None:
            return max_k
        if "cu_k" in self.arrays:
            raise ArgumentError("max_k", "None with batch_invariant, expected a number")
        return self._room(None)

    def choose_splits(self, max_k: int | None, packs: bool) -> int:
        """Parts that fill the GPU, each of 256 keys at least, of 600 if more than 16."""
        keys = self._room(max_k)
        rows = self.most_queries * (self.heads // self.key_heads if packs else 1)
        heads = self.key_heads if packs else self.heads
        tiles = max(self.sequences * heads * -(-rows // 64), 1)
        sms = _sms(self.device)
        # Kernels that take parts are for few queries.
        if rows > 64 and tiles * 5 >= sms * 4:
            return 1
        # As launches choose (lib/Conversion/AttentionToTile/SplitCount.cpp).
        for waves in (1, 2, 4):
            count = waves * sms // tiles
            if count * tiles * 8 >= waves * sms * 7:
                break
        return max(1, min(count, max(min(keys // 256, 16), keys // 9600 * 16)))

    def _room(self, max_k: int | None) -> int:
        """Keys that there is room for."""
        if "page_table" in self.arrays:
            return self.arrays["page_table"].shape[1] * self.page
        return (max_k or 0) if "cu_k" in self.arrays else self.given["k"].shape[1]

    def outputs(self, spec: Spec, out: Any) -> list[Any]:
        """What a kernel writes, in its order."""
        q = self.given["q"]
        shape = (*q.shape[:-1], self.head_dim_v)
        dtype = tensors.torch_type(spec.out_type)
        if out is None:
            out = q.new_empty(shape, dtype=dtype)
        elif out.shape != shape or out.dtype != dtype or out.device != q.device:
            raise ArgumentError(
                "out", f"{out.dtype} of shape {tuple(out.shape)}, expected {dtype} {shape}"
            )
        has_unused_rows = "cu_q" in self.arrays or "used_q" in self.arrays
        zeroes = _zeroes_unused_rows and has_unused_rows
        if zeroes:
            out.zero_()
        if not spec.lse:
            return [out]
        rows = (self.heads, q.shape[0]) if q.dim() == 3 else (
            q.shape[0], self.heads, q.shape[1]
        )  # fmt: skip
        made = [out, q.new_empty(rows, dtype=torch.float32)]
        if zeroes:
            made[1].fill_(float("-inf"))
        if spec.max_logits:
            # Who reduces them must not see what was there.
            made.append(q.new_full(rows, float("-inf"), dtype=torch.float32))
        return made

    def described(self, serving: ServingSpec, values: list[Any]) -> list[Any]:
        """The arguments as arrays and (type, number)."""
        names = (*serving.inputs, *serving.attention.outputs)
        scalars = serving.attention.regions.scalars

        def describe(name: str, value: Any) -> Any:
            if name.startswith("arg"):
                return scalars[int(name[3:])], value
            if name in ("scale", "max_q", "splits", "new"):
                return "f32" if name == "scale" else "i32", value
            known = self.views[name] if name.startswith("aux") else None
            return (known or tensors.view(name, value)).array()

        return [describe(name, value) for name, value in zip(names, values)]
