# SPDX-License-Identifier: Apache-2.0
"""vLLM's attention backend CUSTOM, for the interfaces of vLLM 0.33 (v1): prefill, decoding
and both in one batch, on pages with K and V side by side, by fa3.serving. Graphs of any
batch can be captured; nothing waits for the device."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import torch
from vllm import envs
from vllm.v1.attention.backend import (
    AttentionBackend,
    AttentionCGSupport,
    AttentionImpl,
    AttentionMetadataBuilder,
    AttentionType,
    MultipleOf,
)

from .. import masks
from ..errors import UnsupportedError
from ..kernels.checks import MAX_HEAD_DIM, MAX_VALUE_DIM
from . import calls

_FLOATS_8 = {
    "fp8": torch.float8_e4m3fn, "fp8_e4m3": torch.float8_e4m3fn, "fp8_e5m2": torch.float8_e5m2
}  # fmt: skip
_ENCODERS = (AttentionType.ENCODER, AttentionType.ENCODER_ONLY)


class Backend(AttentionBackend):
    supported_dtypes: ClassVar[list[torch.dtype]] = [torch.float16, torch.bfloat16]
    supported_kv_cache_dtypes: ClassVar[list[Any]] = [
        "auto", "float16", "bfloat16", *_FLOATS_8
    ]  # fmt: skip
    forward_includes_kv_cache_update: bool = False
    supports_kv_cache_update_bypass: bool = True

    @staticmethod
    def get_name() -> str:
        return "CUSTOM"

    @staticmethod
    def get_impl_cls() -> type["Impl"]:
        return Impl

    @staticmethod
    def get_builder_cls() -> type["Builder"]:
        return Builder

    @staticmethod
    def get_supported_kernel_block_sizes(kv_cache_spec: Any = None) -> list[Any]:
        return [MultipleOf(8)]

    @classmethod
    def supports_head_size(cls, head_size: int) -> bool:
        return head_size % 8 == 0 and 8 <= head_size <= MAX_VALUE_DIM

    @classmethod
    def supports_sink(cls) -> bool:
        return True

    @classmethod
    def supports_sliding_window(cls) -> bool:
        return True

    @classmethod
    def supports_non_causal(cls) -> bool:
        return True

    @classmethod
    def supports_mm_prefix(cls) -> bool:
        return True

    @classmethod
    def supports_batch_invariance(cls) -> bool:
        return True

    @classmethod
    def supports_attn_type(cls, attn_type: str) -> bool:
        return attn_type in (
            AttentionType.DECODER, AttentionType.ENCODER_DECODER, *_ENCODERS
        )  # fmt: skip

    @classmethod
    def supports_compute_capability(cls, capability: Any) -> bool:
        return capability.major == 9

    @classmethod
    def supports_combination(
        cls, head_size: int, dtype: torch.dtype, kv_cache_dtype: Any, block_size: int | None,
        use_mla: bool, has_sink: bool, use_sparse: bool, use_mm_prefix: bool,
        device_capability: Any,
    ) -> str | None:  # fmt: skip
        if kv_cache_dtype in _FLOATS_8 and (head_size % 16 or head_size > MAX_HEAD_DIM):
            return (
                f"head size {head_size} with kv_cache_dtype {kv_cache_dtype}: expected a "
                f"multiple of 16 up to {MAX_HEAD_DIM}"
            )
        return None


@dataclasses.dataclass
class Metadata:
    """A batch, with the ranges of images of its requests, if there are some."""

    num_actual_tokens: int
    batch: calls.Batch
    slot_mapping: Any
    ranges: tuple[Any, Any] | None = None


class Builder(AttentionMetadataBuilder):
    _cudagraph_support: ClassVar[Any] = AttentionCGSupport.ALWAYS
    supports_update_block_table: bool = True

    def __init__(
        self, kv_cache_spec: Any, layer_names: list[str], vllm_config: Any, device: Any
    ) -> None:  # fmt: skip
        super().__init__(kv_cache_spec, layer_names, vllm_config, device)

    def build(
        self, common_prefix_len: int, common_attn_metadata: Any, fast_build: bool = False
    ) -> Metadata:  # fmt: skip
        given = common_attn_metadata
        most, requests = given.max_query_len, given.num_reqs
        uniform = most if most * requests == given.num_actual_tokens else 0
        batch = calls.Batch(
            given.query_start_loc, given.seq_lens, given.block_table_tensor, most,
            given.max_seq_len, given.causal, uniform,
        )  # fmt: skip
        return Metadata(
            given.num_actual_tokens, batch, given.slot_mapping,
            _ranges(given.mm_req_doc_ranges, requests, given.query_start_loc.device),
        )  # fmt: skip

    def update_block_table(
        self, metadata: Metadata, blk_table: Any, slot_mapping: Any
    ) -> Metadata:
        batch = dataclasses.replace(metadata.batch, table=blk_table)
        return dataclasses.replace(metadata, batch=batch, slot_mapping=slot_mapping)


def _ranges(given: Any, requests: int, device: Any) -> tuple[Any, Any] | None:
    """First tokens and ends of ranges, which vLLM gives with their last tokens."""
    kept = {n: [(a, b) for a, b in one if a < b] for n, one in (given or {}).items()}
    most = max((len(one) for one in kept.values()), default=0)
    if not most:
        return None
    rows = [[*kept.get(n, ()), *[(0, -1)] * (most - len(kept.get(n, ())))] for n in range(requests)]
    both = torch.tensor(rows, dtype=torch.int32)
    both[..., 1] += 1
    if device.type == "cuda":
        both = both.pin_memory()
    both = both.to(device, non_blocking=True)
    return both[..., 0].contiguous(), both[..., 1].contiguous()


class Impl(AttentionImpl):
    def __init__(
        self, num_heads: int, head_size: int, scale: float, num_kv_heads: int | None = None,
        alibi_slopes: list[float] | None = None, sliding_window: int | None = None,
        kv_cache_dtype: str = "auto", logits_soft_cap: float | None = None,
        attn_type: str = AttentionType.DECODER,
        kv_sharing_target_layer_name: str | None = None, sinks: Any = None,
    ) -> None:  # fmt: skip
        self.num_heads, self.head_size, self.scale = num_heads, head_size, float(scale)
        self.num_kv_heads = num_kv_heads or num_heads
        self.kv_cache_dtype, self.attn_type = kv_cache_dtype, attn_type
        self.kv_sharing_target_layer_name = kv_sharing_target_layer_name
        self.sinks = sinks
        if sinks is not None and sinks.shape[0] != num_heads:
            raise ValueError(f"sinks of shape {tuple(sinks.shape)}, expected ({num_heads},)")
        self.slopes = None
        if alibi_slopes is not None:
            self.slopes = torch.tensor(alibi_slopes, dtype=torch.float32)
        window = (-1, -1)
        if sliding_window is not None:
            after = sliding_window - 1 if attn_type in _ENCODERS else 0
            window = (sliding_window - 1, after)
        # Queries of a cache of 8 bits come in 8 bits, as FlashAttention-3 has them.
        self.supports_quant_query_input = kv_cache_dtype in _FLOATS_8
        self.layer = calls.Layer(
            self.scale, window, float(logits_soft_cap or 0.0),
            True if envs.VLLM_BATCH_INVARIANT else None,
        )  # fmt: skip

    def forward(
        self, layer: Any, query: Any, key: Any, value: Any, kv_cache: Any,
        attn_metadata: Metadata, output: Any, output_scale: Any = None,
        output_block_scale: Any = None,
    ) -> Any:  # fmt: skip
        """query (tokens, heads, d) into output, of the same tokens; kv_cache (blocks, key
        heads, rows, 2 d)."""
        if output_scale is not None or output_block_scale is not None:
            raise UnsupportedError("fa3 in vLLM: fused output quantization")
        if attn_metadata is None:
            return output.fill_(0)
        count = attn_metadata.num_actual_tokens
        batch = attn_metadata.batch
        query = query[:count]
        out = output.view(-1, self.num_heads, output.shape[-1]) if output.dim() == 3 else (
            output.view(-1, self.num_heads, self.head_size)
        )  # fmt: skip
        out = out[:count]
        if self.attn_type in _ENCODERS:
            if self.slopes is not None:
                raise UnsupportedError("fa3 in vLLM: alibi_slopes of encoders")
            calls.attend_packed(
                self.layer, batch.cu_q, batch.max_q, query, key[:count], value[:count],
                out=out, sinks=self.sinks,
            )  # fmt: skip
            return output
        keys, values = self._caches(kv_cache)
        descales = (None, None, None)
        if keys.dtype in _FLOATS_8.values():
            scales = (layer._q_scale, layer._k_scale, layer._v_scale)
            descales = tuple(one.view(1, 1) for one in scales)  # type: ignore[assignment]
            if query.dtype not in _FLOATS_8.values():
                descales = (None, *descales[1:])
        wanted, constants = self._code(layer, attn_metadata)
        calls.attend(
            constants, wanted.pop("batch"), query, keys, values, out=out, sinks=self.sinks,
            descales=descales, **wanted,
        )  # fmt: skip
        return output

    def _code(self, layer: Any, given: Metadata) -> tuple[dict[str, Any], calls.Layer]:
        """Mask and score code of a layer, the batch and the layer beside it."""
        made: dict[str, Any] = {"batch": given.batch}
        constants = self.layer
        if self.slopes is not None:
            self.slopes = self.slopes.to(given.batch.cu_q.device)
            made["score_mod"] = calls.alibi(self.slopes, given.batch.first())
        if given.ranges is not None and given.batch.causal is True:
            if getattr(layer, "mm_prefix_clamp_sliding_window", False):
                raise UnsupportedError("fa3 in vLLM: mm_prefix_clamp_sliding_window")
            # The window does not hold inside of a range.
            left = constants.window[0]
            made["mask_mod"] = masks.ranges(*given.ranges, given.batch.first(), left)
            made["batch"] = dataclasses.replace(given.batch, causal=False)
            constants = dataclasses.replace(constants, window=(-1, -1))
        return made, constants

    def do_kv_cache_update(
        self, layer: Any, key: Any, value: Any, kv_cache: Any, slot_mapping: Any
    ) -> None:  # fmt: skip
        if self.attn_type in _ENCODERS or key is None or value is None:
            return
        scales = (layer._k_scale, layer._v_scale)
        calls.write((key, value), self._caches(kv_cache), slot_mapping, scales)

    def _caches(self, kv_cache: Any) -> tuple[Any, Any]:
        """K and V, (blocks, rows, key heads, d), which lie side by side; in older versions
        one behind the other, (blocks, 2, rows, key heads, d)."""
        wanted = _FLOATS_8.get(self.kv_cache_dtype)
        if wanted is not None and kv_cache.dtype != wanted:
            kv_cache = kv_cache.view(wanted)
        if kv_cache.dim() == 5:
            return kv_cache[:, 0], kv_cache[:, 1]
        made = kv_cache.transpose(1, 2)
        return made[..., : self.head_size], made[..., self.head_size :]
