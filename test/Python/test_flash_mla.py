# SPDX-License-Identifier: Apache-2.0
"""FlashMLA's functions against their definition, dense and sparse, and what they refuse."""

import unittest

import support
from sequences import OnCpu, i32

if support.HAS_TORCH:
    import torch

    import fa3
    from fa3.flash_mla import flash_mla_with_kvcache, get_mla_metadata


def definition(q, keys, dv, scale, causal=False):
    """One sequence: q (queries, heads, d), keys (keys, d). o, lse (heads, queries)."""
    s = torch.einsum("ihd,jd->hij", q.float(), keys.float()) * scale
    if causal:
        i, j = torch.arange(q.shape[0])[:, None], torch.arange(len(keys))[None]
        s = s.masked_fill(j > i + len(keys) - q.shape[0], -torch.inf)
    weights = torch.softmax(s, -1).nan_to_num()
    return torch.einsum("hij,jd->ihd", weights, keys[:, :dv].float()), s.logsumexp(-1)


@support.needs_torch
@support.needs_interpreter
class FlashMlaTest(OnCpu):
    def random(self, *shape):
        return torch.randn(*shape).bfloat16()

    def close(self, made, expected, tolerance=2e-2):
        super().close(made, expected, tolerance)

    def test_dense(self):
        table, used = i32(2, 0, 3, 1).view(2, 2), i32(40, 70)
        for d, dv, heads, queries, causal in (
            (576, 512, 4, 1, False), (576, 512, 3, 2, True), (512, 512, 4, 1, False),
        ):  # fmt: skip
            with self.subTest(f"{d} {dv} {heads} {queries}"):
                q, cache = self.random(2, queries, heads, d), self.random(4, 64, 1, d)
                o, lse = flash_mla_with_kvcache(
                    q, cache, table, used, dv, *get_mla_metadata(used, queries * heads, 1),
                    causal=causal,
                )  # fmt: skip
                for b in range(2):
                    keys = cache[table[b].long()].flatten(0, 2)[: used[b]]
                    wanted, sums = definition(q[b], keys, dv, d**-0.5, causal)
                    self.close(o[b], wanted)
                    self.close(lse[b], sums)

    def test_sparse(self):
        """Rows of any pages, numbers that are none between them, and none at all."""
        q, cache = self.random(2, 2, 4, 576), self.random(3, 32, 1, 576)
        indices = torch.full((2, 2, 20), -1, dtype=torch.int32)
        indices[0, 0, ::2] = i32(*range(0, 90, 9))
        indices[0, 1, :3] = i32(95, 96, 4)  # 96 is behind the last row
        indices[1, 0, 4:] = i32(*range(60, 76))
        length = i32(20, 10)
        sink = torch.tensor([0.5, -1.0, 3.0, 0.0])
        for of_sink in (None, sink):
            o, lse = flash_mla_with_kvcache(
                q, cache, None, None, 512, get_mla_metadata()[0], softmax_scale=0.05,
                indices=indices, topk_length=length, attn_sink=of_sink,
            )  # fmt: skip
            for b in range(2):
                for i in range(2):
                    named = [n for n in indices[b, i, : length[b]].tolist() if 0 <= n < 96]
                    keys = cache.flatten(0, 2)[named]
                    wanted, sums = definition(q[b, i : i + 1], keys, 512, 0.05)
                    if of_sink is not None and named:
                        wanted = wanted * torch.sigmoid(sums[:, 0] - sink)[:, None]
                    self.close(o[b, i], wanted[0])
                    self.close(lse[b, :, i], sums[:, 0])

    def test_refusals(self):
        q, cache = self.random(2, 1, 4, 576), self.random(4, 64, 1, 576)
        table, used = i32(2, 0, 3, 1).view(2, 2), i32(40, 70)
        indices = torch.zeros((2, 1, 8), dtype=torch.int32)

        def refused(text, error=ValueError, *, q=q, cache=cache, table=table, used=used,
                    dv=512, **named):  # fmt: skip
            with self.assertRaisesRegex(error, text):
                flash_mla_with_kvcache(q, cache, table, used, dv, **named)

        for name in ("extra_k_cache", "extra_indices_in_kvcache", "extra_topk_length"):
            refused(f"'{name}'", NotImplementedError, **{name: used})
        refused("'is_fp8_kvcache'", NotImplementedError, is_fp8_kvcache=True)
        refused("'k_cache' of torch.float8_e4m3fn", NotImplementedError,
                cache=cache.to(torch.float8_e4m3fn))  # fmt: skip
        refused("'head_dim_v': 577, expected 1 to 576", dv=577)
        refused("'block_table': is None", table=None)
        refused("'cache_seqlens': is None", used=None)
        refused("'topk_length': is for 'indices'", topk_length=used)
        refused("'attn_sink': is for 'indices'", attn_sink=torch.zeros(4))
        refused("'causal': is True", indices=indices, causal=True)
        refused("'indices': torch.int64", indices=indices.long())
        refused("'k_cache': pages 73728 elements apart, expected 36864", indices=indices,
                cache=self.random(4, 128, 1, 576)[:, :64])  # fmt: skip
        refused("'q': rank 3, expected 4", q=q[0])
        refused("gradients, and 'q' requires some", fa3.UnsupportedError,
                q=q.clone().requires_grad_())  # fmt: skip


if __name__ == "__main__":
    unittest.main()
