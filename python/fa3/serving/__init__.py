# SPDX-License-Identifier: Apache-2.0
"""Attention as inference engines call it: sequences with lengths of their own,
packed or padded, keys in pages, few queries on long caches (docs/Serving.md).
Lengths, starts and tables are arrays that only the GPU reads."""

from __future__ import annotations

from typing import Any

import torch

from ..errors import UnsupportedError
from ..kernels.arguments import Sequences
from ..support import values, watch
from . import qv as of_values
from .eager import refuse_gradients, run


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
    What they capture may change from call to call (fa3.serving.mods, fa3.masks).

    There are no gradients: where they are recorded, nothing may require one."""
    if not (type(causal) is type(return_lse) is type(rotary_interleaved) is bool):
        causal = values.flag("causal", causal)
        return_lse = values.flag("return_lse", return_lse)
        rotary_interleaved = values.flag("rotary_interleaved", rotary_interleaved)
    if type(max_logits) is not bool:
        max_logits = values.flag("max_logits", max_logits)
    asked = Sequences(
        cu_q, cu_k, max_q, max_k, used_q, used_k, batch_index, leftpad, page_table, causal,
        window, softcap, chunk, scale, sinks, q_descale, k_descale, v_descale, splits,
        pack_heads, return_lse, out, k_new, v_new, rotary_cos, rotary_sin,
        rotary_interleaved, rotary_at, cu_new, qv, batch_invariant, score_mod, mask_mod,
        epilogue, max_logits, interpret,
    )  # fmt: skip
    compiling = torch.compiler.is_compiling()
    if not compiling and not watch.is_watched():
        refuse_gradients(q, k, v, asked)
        return run(q, k, v, asked)
    if qv is not None and (compiling or watch.is_recorded()):
        q, k = of_values.join(q, qv, k, v)
        asked, qv = asked.replace(qv=None), None
    if not compiling:
        watch.check_underived(
            "attention to packed, padded or paged sequences", q, k, v, qv, sinks, q_descale,
            k_descale, v_descale, k_new, v_new, rotary_cos, rotary_sin, out,
        )  # fmt: skip
        if not watch.is_recorded():
            refuse_gradients(q, k, v, asked)
            return run(q, k, v, asked)
    more = {
        "batch_invariant": batch_invariant, "score_mod": score_mod, "mask_mod": mask_mod,
        "epilogue": epilogue, "max_logits": max_logits or None,
    }  # fmt: skip
    more = {name: one for name, one in more.items() if one is not None}
    if more and not compiling:
        raise UnsupportedError(f"{' and '.join(more)} of a call that is recorded")
    # Dynamo does not trace what compiles kernels: that is in an operator, or outside.
    if compiling and (out is not None or more or watch.is_derived()):
        from .. import dynamo

        return dynamo.run_eagerly(attention, (q, k, v), asked.named)
    from . import operators

    return operators.serve(q, k, v, asked)
