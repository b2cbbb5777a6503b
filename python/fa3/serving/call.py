# SPDX-License-Identifier: Apache-2.0
"""The tensors of a call of fa3.serving, checked, and what is chosen for them."""

from __future__ import annotations

import functools
from typing import Any

import torch

from ..build import answers
from ..calls import choices
from ..errors import ArgumentError, ArgumentTypeError, UnsupportedError
from ..kernels import checks
from ..kernels.arguments import ARRAYS, Sequences
from ..kernels.serving_spec import ServingSpec
from ..kernels.spec import FLOATS_8, Spec
from ..support import tensors
from ..support.tensors import CPU
from ..support.values import GREATEST_EXTENT
from . import nibbles
from . import qv as of_values


#: Packed queries up to so many in the mean: steps of decoding beside a prompt, of which
#: heads of a group are rows of a tile (docs/experiments/packed-tiles.md).
_FEW_IN_THE_MEAN = 256

#: Packed sequences that kernels look among (kMostPackedSequences in lib/Conversion/
#: AttentionToTile), and those that one of a known number may look among (tile.search).
FEW_SEQUENCES, MOST_SEQUENCES = 4095, 32768


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


class Call:
    """The tensors of a call, checked."""

    def __init__(self, q: Any, k: Any, v: Any, asked: Sequences) -> None:
        arrays = zip(ARRAYS, asked.tensors)
        self.arrays = {name: one for name, one in arrays if one is not None}
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
        #: Keys and values of 4 bits, two in a byte.
        self.nibbles = nibbles.are_in(q, k)
        if not self.nibbles:
            checks.check_types(
                self.types[1] if self.quantizes else self.types[0], *self.types[1:]
            )
        if self.quantizes and packed_q:
            raise UnsupportedError(
                f"packed queries (cu_seqlens_q) of {self.types[0]} with keys of "
                f"{self.types[1]}: quantize them, or pad"
            )
        self.heads, self.head_dim = q.shape[-2:]
        in_element = 2 if self.nibbles else 1
        self.key_heads, self.head_dim_v = k.shape[-2], in_element * v.shape[-1]
        if in_element * k.shape[-1] != self.head_dim:
            raise ArgumentError(
                "k", f"head dim {in_element * k.shape[-1]}, expected {self.head_dim} as q"
            )
        if v.shape[:-1] != k.shape[:-1]:
            raise ArgumentError("v", f"shape {tuple(v.shape)}, expected {tuple(k.shape[:-1])} as k")
        if self.key_heads == 0 or self.heads % self.key_heads:
            raise ArgumentError(
                "k", f"{self.key_heads} heads, expected a divisor of q's {self.heads}"
            )
        if self.nibbles:
            nibbles.check(self, k, v, asked)
        else:
            checks.check_head_dims(self.head_dim, self.head_dim_v, self.types[2])
        self.page = k.shape[1] if paged else 0
        #: Rows of a sequence in a padded cache; 0 in other forms.
        self.padded_keys = 0 if paged or packed_k else k.shape[1]
        if packed_q:
            if not isinstance(asked.max_q, int) or asked.max_q < 0:
                raise ArgumentError("max_seqlen_q", f"{asked.max_q!r}, expected at least 0")
            self.sequences = self.arrays["cu_q"].numel() - 1
            self.most_queries = asked.max_q
        else:
            self.sequences, self.most_queries = q.shape[0], q.shape[1]
        #: Of so many sequences that a kernel has to know their number.
        self.many = self.sequences if self.sequences > FEW_SEQUENCES else None
        if asked.qv is not None:
            of_values.check(q, asked.qv, k, v)
            self.views["qv"], self.given["qv"] = tensors.view("qv", asked.qv), asked.qv
            self._check_rows("qv", len(q.shape))
        self._check_arrays()
        if not (packed_k or paged or "batch_index" in self.arrays) and (
            k.shape[0] != self.sequences
        ):
            raise ArgumentError("k", f"batch {k.shape[0]}, expected {self.sequences} as q")
        if asked.sinks is not None:
            self._add("sinks", asked.sinks, "f32", (self.heads,))
        self._add_descales((asked.q_descale, asked.k_descale, asked.v_descale))
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
        if self.nibbles:
            return  # scales of rows, which are checked
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
        told so: because most sequences are short."""
        group = self.heads // self.key_heads
        one_scale = self.scale_heads is None or self.scale_heads[0] == 1
        if "cu_q" not in self.arrays or group == 1 or not one_scale:
            return None, False
        if answers.of_group(group, self.head_dim_v, masked).packs:
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
        """Parts that fill the GPU; 1: by a kernel without parts."""
        extents = (self.sequences, self.most_queries, self._room(max_k))
        return answers.count_parts(
            *(min(one, GREATEST_EXTENT) for one in extents), self.heads, self.key_heads,
            _sms(self.device), packs,
        )  # fmt: skip

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
        zeroes = choices.zeroes_unused_rows and has_unused_rows
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
