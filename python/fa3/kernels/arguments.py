# SPDX-License-Identifier: Apache-2.0
"""Descriptions of calls: all that they are given besides q, k and v. Dynamo follows them."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

_OF_ATTENTION = (
    "causal", "window", "softcap", "scale", "score_mod", "mask_mod", "epilogue", "block_mask",
    "bias", "alibi_slopes", "sinks", "q_descale", "k_descale", "v_descale", "out_dtype",
    "return_lse", "layout", "dropout_p", "rng_state", "generator", "out", "lse", "interpret",
    "previous",
)  # fmt: skip
#: Behind them: `backward` as fa3.torch.set_backward has it, None is what is set; `lists`
#: of a block_mask that was read; whether the largest score of every query is a result,
#: too, or where it is written; whether causal and window count from the first query and
#: key. A score_mod may be traced mods, with the mask_mod in them.
_OF_DOORS = ("backward", "lists", "max_logits", "top_left")
_DEFAULTS = {
    "causal": False, "softcap": 0.0, "return_lse": False, "layout": "bhsd", "dropout_p": 0.0,
    "interpret": False, "max_logits": False, "top_left": False, "chunk": 0, "splits": 0,
    "rotary_interleaved": False,
}  # fmt: skip


def _described(name: str, fields: tuple[str, ...]) -> Any:
    return namedtuple(name, fields, defaults=[_DEFAULTS.get(one) for one in fields])


class Arguments(_described("Arguments", (*_OF_ATTENTION, *_OF_DOORS))):  # type: ignore[misc]
    """What fa3.attention documents, and what doors ask for besides."""

    __slots__ = ()

    def replace(self, **named: Any) -> Arguments:
        """As _replace, whose result Dynamo cannot make behind a graph break."""
        return Arguments(**{**dict(zip(self._fields, self)), **named})

    @property
    def public(self) -> dict[str, Any]:
        """Those of fa3.attention, by name."""
        return dict(zip(_OF_ATTENTION, self))

    @property
    def extras(self) -> tuple[Any, ...]:
        """The tensors that operators take, in the order of fa3.kernels.program.EXTRAS."""
        given = (
            self.q_descale, self.k_descale, self.v_descale, self.bias, self.alibi_slopes,
            self.sinks, *(self.previous or (None, None)),
        )  # fmt: skip
        return (*given, self.rng_state) if self.dropout_p else given

    @property
    def has_outputs(self) -> bool:
        """Whether they are given."""
        return not (self.out is None and self.lse is None)


#: Starts, lengths and tables of sequences.
ARRAYS = (
    "cu_q", "cu_k", "used_q", "used_k", "batch_index", "leftpad", "page_table",
)  # fmt: skip
#: Tensors of Sequences by their names in kernels.
TENSORS = (
    *ARRAYS, "sinks", "k_new", "v_new", "cos", "sin", "position", "q_descale", "k_descale",
    "v_descale", "qv",
)  # fmt: skip


class Sequences(_described("Sequences", (  # type: ignore[misc]
    "cu_q", "cu_k", "max_q", "max_k", "used_q", "used_k", "batch_index", "leftpad",
    "page_table", "causal", "window", "softcap", "chunk", "scale", "sinks", "q_descale",
    "k_descale", "v_descale", "splits", "pack_heads", "return_lse", "out", "k_new", "v_new",
    "rotary_cos", "rotary_sin", "rotary_interleaved", "rotary_at", "cu_new", "qv",
    "batch_invariant", "score_mod", "mask_mod", "epilogue", "max_logits", "interpret",
))):  # fmt: skip
    """What fa3.serving.attention documents."""

    __slots__ = ()

    @property
    def named(self) -> dict[str, Any]:
        return dict(zip(self._fields, self))

    def replace(self, **named: Any) -> Sequences:
        """As Arguments.replace."""
        return Sequences(**{**self.named, **named})

    @property
    def tensors(self) -> tuple[Any, ...]:
        """Those that kernels read, as TENSORS has them."""
        return (
            self.cu_q, self.cu_k, self.used_q, self.used_k, self.batch_index, self.leftpad,
            self.page_table, self.sinks, self.k_new, self.v_new, self.rotary_cos,
            self.rotary_sin, self.rotary_at, self.q_descale, self.k_descale,
            self.v_descale, self.qv,
        )  # fmt: skip

    @property
    def at_one(self) -> bool:
        """Whether all queries of a sequence are turned by one position."""
        return not self.causal and self.window is None and not self.chunk
