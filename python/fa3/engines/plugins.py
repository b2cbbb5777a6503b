# SPDX-License-Identifier: Apache-2.0
"""Entry points, which engines call in every process: vllm.general_plugins and
sglang.srt.plugins (pyproject.toml)."""

from __future__ import annotations


def register_vllm() -> None:
    """fa3 as vLLM's backend CUSTOM (`--attention-backend CUSTOM`), unless another package
    has registered one."""
    from vllm.v1.attention.backends import registry

    custom = registry.AttentionBackendEnum.CUSTOM
    if not registry._ATTN_OVERRIDES.get(custom):
        registry.register_backend(custom, "fa3.engines.vllm.Backend")


def register_sglang() -> None:
    """fa3 as SGLang's backend fa3_compiler (`--attention-backend fa3_compiler`); its own
    `fa3` is FlashAttention-3."""
    from sglang.srt.layers.attention import attention_registry
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType
    from sglang.srt.server_args import (
        add_attention_backend_choices,
        add_deterministic_attention_backend_choices,
    )

    if "fa3_compiler" in attention_registry.ATTENTION_BACKENDS:
        return

    @attention_registry.register_attention_backend("fa3_compiler")
    def create(runner):  # type: ignore[no-untyped-def]
        from .sglang import Backend

        return Backend(runner)

    def drafts(*args, **named):  # type: ignore[no-untyped-def]
        from .sglang import with_drafts

        return with_drafts(*args, **named)

    HookRegistry.register(
        "sglang.srt.speculative.draft_utils.DraftBackendFactory._create_backend", drafts,
        HookType.AROUND,
    )  # fmt: skip
    add_attention_backend_choices(["fa3_compiler"])
    add_deterministic_attention_backend_choices(["fa3_compiler"])
