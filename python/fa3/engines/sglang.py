# SPDX-License-Identifier: Apache-2.0
"""SGLang's attention backend fa3_compiler, for the interfaces of SGLang 0.5.23: decoding,
extension, both in one batch, drafting of chains, verification of drafts that are chains or
trees, extension of drafts, by fa3.serving. Graphs are captured once for a number of
requests; nothing waits for the device."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from sglang.srt.layers.attention.base_attn_backend import AttentionBackend
from sglang.srt.layers.radix_attention import AttentionType
from sglang.srt.mem_cache.memory_pool import KVWriteLoc

from .. import masks
from ..errors import UnsupportedError
from . import calls

_FLOATS_8 = (torch.float8_e4m3fn, torch.float8_e5m2)


@dataclasses.dataclass
class Metadata:
    """A batch; `tree` is the mask of drafts that are one, with where each request's
    begins and how many keys it has."""

    batch: calls.Batch
    tree: tuple[Any, Any, Any] | None = None


class Backend(AttentionBackend):
    needs_cpu_seq_lens = False

    def __init__(self, model_runner: Any, step: int | None = None) -> None:
        """`step` is the number of keys that drafts have added when those of this backend
        are decoded; None where nothing is drafted."""
        super().__init__()
        config = model_runner.model_config
        pool = model_runner.token_to_kv_pool
        if getattr(model_runner, "use_mla_backend", False):
            raise UnsupportedError("fa3 in SGLang: latent attention (MLA) models")
        if config.is_encoder_decoder:
            raise UnsupportedError("fa3 in SGLang: encoder-decoder models")
        if getattr(config, "attention_chunk_size", None):
            raise UnsupportedError("fa3 in SGLang: attention_chunk_size")
        if hasattr(pool, "swa_kv_pool"):
            raise UnsupportedError(
                "fa3 in SGLang: a pool of its own for windows; --disable-hybrid-swa-memory"
            )
        self.token_to_kv_pool, self.page = pool, model_runner.page_size
        self.req_to_token = model_runner.req_to_token_pool.req_to_token
        self.most_keys = config.context_len
        self.device, self.step = model_runner.device, step
        arguments = model_runner.server_args
        self.width = getattr(arguments, "speculative_num_draft_tokens", None)
        deterministic = getattr(arguments, "enable_deterministic_inference", False)
        self.batch_invariant = True if deterministic else None
        self.forward_metadata: Any = None
        self._graphs: dict[Any, Metadata] = {}
        self._buffers: dict[str, Any] = {}

    # ------------------------------------------------------------------------------
    # Batches
    # ------------------------------------------------------------------------------

    def init_forward_metadata(self, forward_batch: Any) -> None:
        known = forward_batch.seq_lens_cpu
        most = self.most_keys
        if known is not None and known.numel():
            most = int(known.max()) + self._drafts(forward_batch)
            most += 0 if self.step is None else self.step + 1
        self.forward_metadata = self._describe(forward_batch, min(most, self.most_keys))

    def init_forward_metadata_out_graph(
        self, forward_batch: Any, in_capture: bool = False
    ) -> None:
        """Fills what the graph of so many requests reads."""
        count, drafts = forward_batch.batch_size, self._drafts(forward_batch)
        if not self._buffers:
            return self.init_forward_metadata(forward_batch)
        mode = forward_batch.forward_mode
        extends = mode.is_draft_extend_v2()
        if not mode.is_decode_or_idle() and not drafts and not extends:
            raise UnsupportedError(f"fa3 in SGLang: a graph of {mode}")
        made = self._describe(forward_batch, self.most_keys)
        kept = self._graphs.get((count, drafts, extends))
        if kept is None or in_capture:
            kept = self._graphs[count, drafts, extends] = self._in_buffers(made, count)
        for name in ("cu_q", "used_k", "table"):
            getattr(kept.batch, name).copy_(getattr(made.batch, name))
        if made.tree is not None:
            if kept.tree is None:
                raise UnsupportedError("fa3 in SGLang: a tree in a graph captured without")
            for one, other in zip(kept.tree[1:], made.tree[1:]):
                one.copy_(other)
            if kept.tree[0].data_ptr() != made.tree[0].data_ptr():
                bits = min(kept.tree[0].shape[0], made.tree[0].shape[0])
                kept.tree[0][:bits].copy_(made.tree[0][:bits])
        self.forward_metadata = kept

    def init_cuda_graph_state(self, max_bs: int, max_num_tokens: int) -> None:
        def zeros(*shape: int) -> Any:
            return torch.zeros(shape, dtype=torch.int32, device=self.device)

        pages = -(-self.most_keys // self.page)
        self._buffers = {
            "cu_q": zeros(max_bs + 1), "used_k": zeros(max_bs), "table": zeros(max_bs, pages)
        }  # fmt: skip
        self._most_bits = max_num_tokens * self.most_keys

    def get_cuda_graph_seq_len_fill_value(self) -> int:
        return 1

    def _in_buffers(self, made: Metadata, count: int) -> Metadata:
        """The same in memory that stays where it is."""
        batch = dataclasses.replace(
            made.batch, cu_q=self._buffers["cu_q"][: count + 1],
            used_k=self._buffers["used_k"][:count], table=self._buffers["table"][:count],
        )  # fmt: skip
        if made.tree is None:
            return Metadata(batch)
        mask, *rest = made.tree
        # A mask with room for all lengths is the engine's own memory; one that is as long
        # as these requests need is another tensor next time.
        if mask.shape[0] < count * batch.uniform * self.most_keys:
            if "tree" not in self._buffers:
                self._buffers["tree"] = torch.zeros(
                    self._most_bits, dtype=torch.bool, device=self.device
                )
            mask = self._buffers["tree"]
        return Metadata(batch, (mask, *map(torch.clone, rest)))

    @staticmethod
    def _drafts(forward_batch: Any) -> int:
        """Drafts of each request that are verified."""
        if not forward_batch.forward_mode.is_target_verify():
            return 0
        return int(forward_batch.spec_info.draft_token_num)

    def _describe(self, given: Any, most: int) -> Metadata:
        mode, count = given.forward_mode, given.batch_size
        lengths = given.seq_lens[:count].to(torch.int32)
        drafts, tree = self._drafts(given), None
        if mode.is_decode_or_idle():
            queries = 1
            if given.spec_info is not None:
                if self.step is None:
                    raise UnsupportedError("fa3 in SGLang: drafting by a backend of no step")
                lengths = lengths + (self.step + 1)
        elif drafts:
            queries, lengths = drafts, lengths + drafts
            mask = given.spec_info.custom_mask
            # n-grams are trees, and say nothing of it.
            if mask is not None and mask.numel() and getattr(given.spec_info, "topk", 2) > 1:
                sizes = lengths * drafts
                starts = (torch.cumsum(sizes, 0) - sizes).to(torch.int32)
                tree = (mask.view(torch.bool).flatten(), starts, lengths)
        else:
            queries = 0
        if queries:
            cu = torch.arange(0, (count + 1) * queries, queries, device=lengths.device)
            cu = cu[: count + 1].to(torch.int32)
        else:
            cu, queries = self._extension(given, count, most)
        slots = given.req_pool_indices[:count]
        rows = self.req_to_token[slots, : -(-most // self.page) * self.page]
        table = (rows[:, :: self.page] // self.page).to(torch.int32)
        batch = calls.Batch(
            cu, lengths, table, queries, most, True,
            queries if drafts or mode.is_decode_or_idle() else 0,
        )  # fmt: skip
        return Metadata(batch, tree)

    def _extension(self, given: Any, count: int, most: int) -> tuple[Any, int]:
        """Starts of new tokens, and the most of a request. What a graph of drafts is given
        has them beside the drafts."""
        new = getattr(given, "extend_seq_lens", None)
        known = getattr(given, "extend_seq_lens_cpu", None)
        if new is None:
            new = given.spec_info.extend_seq_lens_tensor
        cu = torch.cumsum(new[:count].to(torch.int32), 0, dtype=torch.int32)
        if known is not None:
            most = max([*map(int, known), 1])
        elif given.forward_mode.is_draft_extend_v2() and self.width:
            most = self.width
        return torch.nn.functional.pad(cu, (1, 0)), most

    # ------------------------------------------------------------------------------
    # Layers
    # ------------------------------------------------------------------------------

    def forward_decode(
        self, q: Any, k: Any, v: Any, layer: Any, forward_batch: Any,
        save_kv_cache: bool = True, sinks: Any = None, score_mod: Any = None,
        aux_tensors: Any = None, **others: Any,
    ) -> Any:  # fmt: skip
        return self._forward(
            q, k, v, layer, forward_batch, save_kv_cache, sinks,
            {"score_mod": score_mod, "aux_tensors": aux_tensors, **others},
        )  # fmt: skip

    forward_extend = forward_decode

    def _forward(
        self, q: Any, k: Any, v: Any, layer: Any, forward_batch: Any, save: bool, sinks: Any,
        others: dict[str, Any],
    ) -> Any:  # fmt: skip
        wants_lse = bool(others.pop("return_lse", False))
        for name, one in others.items():
            if one is not None and one is not False:
                raise UnsupportedError(f"fa3 in SGLang: {name}")
        if getattr(layer, "is_cross_attention", False):
            raise UnsupportedError("fa3 in SGLang: cross attention")
        if k is not None and save:
            self.token_to_kv_pool.set_kv_buffer(
                layer, KVWriteLoc.for_layer(forward_batch, layer), k, v, layer.k_scale,
                layer.v_scale,
            )  # fmt: skip
        given = self.forward_metadata
        keys, values = (
            one.view(-1, self.page, heads, dim)
            for one, heads, dim in zip(
                self.token_to_kv_pool.get_kv_buffer(layer.layer_id),
                (layer.tp_k_head_num, layer.tp_v_head_num), (layer.head_dim, layer.v_head_dim),
            )
        )  # fmt: skip
        causal = layer.attn_type not in (
            AttentionType.ENCODER_ONLY, AttentionType.DECODER_BIDIRECTIONAL
        )  # fmt: skip
        batch = dataclasses.replace(given.batch, causal=causal)
        mask_mod = None
        if given.tree is not None:
            mask_mod = masks.flat(*given.tree)
            batch = dataclasses.replace(batch, causal=False)
        descales = (None, None, None)
        if keys.dtype in _FLOATS_8 and layer.k_scale is not None:
            scales = (layer.k_scale, layer.v_scale)
            descales = (None, *(self._scale(one, q.device) for one in scales))
        made = calls.attend(
            self._constants(layer, causal), batch,
            q.view(-1, layer.tp_q_head_num, layer.head_dim), keys, values, sinks=sinks,
            descales=descales, mask_mod=mask_mod, return_lse=wants_lse,
        )  # fmt: skip
        o, lse = made if wants_lse else (made, None)
        o = o.view(-1, layer.tp_q_head_num * layer.v_head_dim)
        return (o, lse) if wants_lse else o

    @staticmethod
    def _scale(one: Any, device: Any) -> Any:
        if not isinstance(one, torch.Tensor):
            return torch.full((1, 1), float(one), device=device)
        return one.float().reshape(1, 1)

    def _constants(self, layer: Any, causal: bool) -> calls.Layer:
        size = layer.sliding_window_size
        # Keys in front of the query's own.
        window = (-1, -1) if size is None or size < 0 else (size, 0 if causal else size)
        return calls.Layer(
            float(layer.scaling), window, float(layer.logit_cap or 0.0), self.batch_invariant
        )


class Drafts:
    """Backends of the steps in which a chain is drafted, as SGLang calls them together."""

    needs_cpu_seq_lens = False
    forward_metadata = None

    def __init__(self, model_runner: Any, topk: int, steps: int) -> None:
        if topk > 1:
            raise UnsupportedError(
                f"fa3 in SGLang: drafting {topk} tokens a step; take another backend for it "
                "(--speculative-draft-attention-backend)"
            )
        self.attn_backends = [Backend(model_runner, step) for step in range(steps - 1)]
        self.attn_backend_list = self.attn_backends

    def init_forward_metadata(self, forward_batch: Any) -> None:
        for one in self.attn_backends:
            one.init_forward_metadata(forward_batch)

    def init_cuda_graph_state(self, max_bs: int, max_num_tokens: int) -> None:
        for one in self.attn_backends:
            one.init_cuda_graph_state(max_bs, max_num_tokens)

    def init_forward_metadata_out_graph(
        self, forward_batch: Any, in_capture: bool = False
    ) -> None:
        for one in self.attn_backends:
            one.init_forward_metadata_out_graph(forward_batch, in_capture)

    def init_forward_metadata_in_graph(self, forward_batch: Any) -> None:
        """Everything is filled in front of a graph."""


def with_drafts(
    create: Any, factory: Any, name: str, known: dict[str, Any], *args: Any, **named: Any
) -> Any:
    """Around DraftBackendFactory._create_backend, which chooses by a table of names."""
    runner = factory.draft_model_runner
    made = Backend
    if named.get("stamps_children"):

        def made(runner: Any) -> Any:  # type: ignore[no-redef]
            return Drafts(runner, factory.topk, factory.speculative_num_steps)

    known = {**known, "fa3_compiler": lambda: ("fa3_compiler", made(runner))}
    return create(factory, name, known, *args, **named)
