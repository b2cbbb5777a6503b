# SPDX-License-Identifier: Apache-2.0
"""Block masks: lists that a kernel reads, against FlexAttention on the CPU and
against what the lists say; tables where there are no kernels with lists."""

import unittest
from unittest import mock

import support

import fa3
from fa3.kernels import blocks, compiled as kernels

if support.HAS_TORCH:
    import torch
    from torch.nn.attention import flex_attention as flex


def reference(q, k, v, seen, score=None):
    """o and lse, where `seen` (batch, heads, queries, keys) says what is visible."""
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1).float() for x in (k, v))
    s = q.float() @ k.mT * q.shape[3] ** -0.5
    s = (s if score is None else score(s)).masked_fill(~seen, float("-inf"))
    return torch.softmax(s, -1).nan_to_num() @ v, torch.logsumexp(s, -1)


@support.needs_torch
@support.needs_interpreter
class BlocksTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.q, self.k, self.v = (
            torch.randn(2, heads, length, 16, dtype=torch.float16)
            for heads, length in ((4, 200), (2, 330), (2, 330))
        )

    def close(self, made, expected, tolerance=3e-3):
        torch.testing.assert_close(
            made.float(), expected.float(), atol=tolerance, rtol=tolerance
        )

    def run_flex(self, *args, **named):
        return fa3.flex_attention(
            *args, enable_gqa=True, return_lse=True, interpret=True, **named
        )

    def test_lists_made_in_inference_mode(self):
        # They have no count of writes.
        with torch.inference_mode():
            count = torch.ones((1, 1, 2), dtype=torch.int32)
            index = torch.zeros((1, 1, 2, 2), dtype=torch.int32)
        made = fa3.kernels.blocks._ascending(count, index)
        self.assertEqual(made[0, 0, :, 0].tolist(), [0, 0])

    def random_lists(self, b, h, rows, columns, seed=0, last=True):
        """A BlockMask without a mask_mod: partial and full blocks at random, some rows
        without any; entries behind the numbers are garbage."""
        made = torch.Generator().manual_seed(seed)
        kinds = torch.randint(0, 3, (b, h, rows, columns), generator=made)
        kinds[..., -1] = 2 if last else 0
        kinds[:, :, 1] = 0
        lists = []
        for kind in (1, 2):
            dense = kinds == kind
            count = dense.sum(-1).to(torch.int32)
            index = torch.argsort(~dense, dim=-1, stable=True).to(torch.int32)
            entry = torch.arange(columns)
            lists += [count, torch.where(entry < count[..., None], index, 10**6).int()]
        return kinds, lists

    def test_against_flex(self):
        document = (torch.arange(330) // 60).to(torch.int32)
        for size, mods in (
            (128, (None, lambda b, h, q, kv: q + 100 >= kv)),
            ((64, 128), (None, lambda b, h, q, kv: document[q] == document[kv])),
            (128, (lambda s, b, h, q, kv: s * 0.5 + h, lambda b, h, q, kv: kv % 3 != b)),
        ):
            score_mod, mask_mod = mods
            mask = flex.create_block_mask(
                mask_mod, 2, None, 200, 330, device="cpu", BLOCK_SIZE=size
            )
            expected, lse = flex.flex_attention(
                self.q.float(), self.k.float(), self.v.float(), score_mod, mask,
                enable_gqa=True, return_lse=True,
            )  # fmt: skip
            for options in ({}, {"BLOCKS": "mask"}):
                o, sums = self.run_flex(
                    self.q, self.k, self.v, score_mod, mask, kernel_options=options
                )
                self.close(o, expected)
                self.close(sums, lse)

    def test_lists_alone_say_what_is_visible(self):
        for b, h in ((1, 1), (2, 1), (1, 4), (2, 4)):
            kinds, lists = self.random_lists(b, h, 2, 3, seed=b + h)
            seen = (kinds > 0).repeat_interleave(128, 2).repeat_interleave(128, 3)
            expected, lse = reference(self.q, self.k, self.v, seen[:, :, :200, :330])
            mask = flex.BlockMask.from_kv_blocks(*lists, seq_lengths=(200, 330))
            o, sums = self.run_flex(self.q, self.k, self.v, block_mask=mask)
            self.close(o, expected)
            self.close(sums, lse)
            self.assertTrue((o[:, :, 128:] == 0).all())

    def test_order_and_sizes(self):
        """Full lists that do not ascend, blocks that kernels have no lists of, masks
        that are longer than the keys, one list."""
        kinds, lists = self.random_lists(1, 1, 4, 6, last=False)
        seen = (kinds > 0).repeat_interleave(64, 2).repeat_interleave(64, 3)
        expected, _ = reference(self.q, self.k, self.v, seen[:, :, :200, :330])
        count, index = lists[2:]
        # Those in front, turned around; twice, for the lists that are kept.
        entry = torch.arange(6)
        turned = torch.gather(
            index, 3, torch.where(entry < count[..., None], count[..., None] - 1 - entry, entry)
        )
        mask = fa3.BlockMask(*lists[:3], turned, BLOCK_SIZE=64)
        for _ in range(2):
            self.close(self.ours(mask), expected)
        turned.copy_(index)
        self.close(self.ours(mask), expected)
        one = fa3.BlockMask(*lists[:2], BLOCK_SIZE=64)
        wanted = (kinds == 1).repeat_interleave(64, 2).repeat_interleave(64, 3)
        self.close(
            self.ours(one), reference(self.q, self.k, self.v, wanted[:, :, :200, :330])[0]
        )
        # Of a longer mask, and of blocks of 40 x 24, with a mask_mod.
        longer = flex.create_block_mask(
            lambda b, h, q, kv: q + 128 >= kv, None, None, 512, 700, device="cpu"
        )
        i, j = torch.arange(200)[:, None], torch.arange(330)
        self.close(
            self.ours(longer), reference(self.q, self.k, self.v, i + 128 >= j)[0]
        )
        kinds, lists = self.random_lists(1, 4, 5, 14, seed=3)
        mask = fa3.BlockMask(
            *lists, BLOCK_SIZE=(40, 24), mask_mod=lambda b, h, q, kv: (q + kv) % 2 == 0
        )
        kinds = kinds.repeat_interleave(40, 2).repeat_interleave(24, 3)[:, :, :200, :330]
        seen = (kinds == 2) | ((kinds == 1) & ((i + j) % 2 == 0))
        self.close(self.ours(mask), reference(self.q, self.k, self.v, seen)[0])

    def ours(self, mask, **named):
        return fa3.attention(
            self.q, self.k, self.v, block_mask=mask, interpret=True, **named
        )

    def test_causal_beside_lists(self):
        """What is full in a list is not what causal leaves of it."""
        kinds, lists = self.random_lists(1, 1, 2, 3, seed=5)
        kinds[..., 0] = 2
        i, j = torch.arange(200)[:, None], torch.arange(330)
        for count in (4, 2):
            seen = (kinds > 0) if count == 4 else (kinds == 1)
            seen = seen.repeat_interleave(128, 2).repeat_interleave(128, 3)[:, :, :200, :330]
            if count == 4:
                full = (kinds == 2)
                lists[2] = full.sum(-1).to(torch.int32)
                lists[3] = torch.argsort(~full, dim=-1, stable=True).to(torch.int32)
                part = (kinds == 1)
                lists[0] = part.sum(-1).to(torch.int32)
                lists[1] = torch.argsort(~part, dim=-1, stable=True).to(torch.int32)
            for named, cut in (
                ({"causal": True}, j <= i + 130),
                ({"window": (50, 0)}, (j <= i + 130) & (j >= i + 80)),
            ):
                expected, _ = reference(self.q, self.k, self.v, seen & cut)
                self.close(self.ours(fa3.BlockMask(*lists[:count]), **named), expected)

    def test_gradients(self):
        _, lists = self.random_lists(2, 1, 4, 3, seed=1)
        bias = torch.rand(4)
        mod = lambda s, b, h, q, kv: s + bias[h]  # noqa: E731
        # Of the block that the end of the keys cuts the mask keeps all that there are.
        mask = fa3.BlockMask(
            *lists, BLOCK_SIZE=(64, 128),
            mask_mod=lambda b, h, q, kv: (q + 60 >= kv) | (kv >= 256),
        )  # fmt: skip
        i, j = torch.arange(200)[:, None], torch.arange(330)
        kinds, _ = self.random_lists(2, 1, 4, 3, seed=1)
        kinds = kinds.repeat_interleave(64, 2).repeat_interleave(128, 3)[:, :, :200, :330]
        seen = (kinds == 2) | ((kinds == 1) & ((i + 60 >= j) | (j >= 256)))
        weights = torch.linspace(-1, 1, 16)
        grads = []
        for ours in (True, False):
            q, k, v = (one.detach().clone().requires_grad_() for one in
                       (self.q, self.k, self.v))  # fmt: skip
            if ours:
                o = fa3.attention(
                    q, k, v, score_mod=mod, block_mask=mask, interpret=True
                )
            else:
                o = reference(q, k, v, seen, lambda s: s + bias[:, None, None])[0]
            (o.float() * weights).sum().backward()
            grads.append((q.grad, k.grad, v.grad))
        for made, expected in zip(*grads):
            self.close(made, expected, 1e-2)
        # Of a table only: there is no kernel with lists then either.
        bias.requires_grad_()
        o = fa3.attention(
            self.q, self.k, self.v, score_mod=mod, block_mask=mask, interpret=True
        )
        (o.float() * weights).sum().backward()
        self.assertEqual(bias.grad.shape, (4,))

    def lists_of_gradients(self, mask):
        """Gradients of q, and the text of the kernel that gave them."""
        texts = []
        real = fa3.calls.gradients.interpret

        def interpret(spec, *rest):
            texts.append(spec.to_mlir())
            return real(spec, *rest)

        q = self.q.clone().requires_grad_()
        with mock.patch.object(fa3.calls.gradients, "interpret", interpret):
            o = fa3.attention(q, self.k, self.v, block_mask=mask, interpret=True)
            (o.float() * torch.linspace(-1, 1, 16)).sum().backward()
        return q.grad, texts[0]

    def test_kernels_of_gradients_read_lists(self):
        """Those of torch's mask, or what is made of one direction; wrong ones change
        the answer."""
        document = (torch.arange(330) // 60).to(torch.int32)
        mask = flex.create_block_mask(
            lambda b, h, q, kv: document[q] == document[kv], 1, None, 200, 330,
            device="cpu",
        )  # fmt: skip
        expected, text = self.lists_of_gradients(mask)
        self.assertIn("queries = 128, keys = 128, by = key", text)
        names = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")
        alone = fa3.BlockMask(
            *(getattr(mask, name) for name in names), mask_mod=mask.mask_mod
        )
        made, text = self.lists_of_gradients(alone)
        self.assertIn("by = key", text)
        torch.testing.assert_close(made, expected, atol=0, rtol=0)
        found = blocks.for_gradients(blocks.read(alone, 2, 4, 200, 330)[0]).by_key
        for one, name in zip(found, names):
            given = getattr(mask, name.replace("kv", "q"))
            if name.endswith("blocks"):
                self.assertEqual(one.tolist(), given.tolist())
            else:
                counts = found[0 if name == "kv_indices" else 2][0, 0]
                for block, count in enumerate(counts.tolist()):
                    self.assertEqual(
                        one[0, 0, block, :count].tolist(), given[0, 0, block, :count].tolist()
                    )
        alone.kv_num_blocks = torch.zeros_like(alone.kv_num_blocks)
        self.assertGreater((self.lists_of_gradients(alone)[0] - expected).abs().max(), 0.01)
        # Sizes that no tile of gradients is made of.
        coarse = fa3.BlockMask(
            *(one.int() for one in self.random_lists(1, 1, 4, 7, last=False)[1]),
            BLOCK_SIZE=(64, 48),
        )
        self.assertNotIn("attention.blocks", self.lists_of_gradients(coarse)[1])

    def test_gradients_beside_cuts(self):
        """What is full in a list, for each batch and head, beside causal; blocks of
        sizes that no kernel has lists of. Heads of a group add up in dk and dv."""
        i, j = torch.arange(200)[:, None], torch.arange(330)
        causal = j <= i + 130
        weights = torch.linspace(-1, 1, 16)
        for size, b, h, named, cut in (
            ((64, 128), 2, 4, {"causal": True}, causal),
            ((40, 24), 1, 1, {"window": (50, 0)}, causal & (j >= i + 80)),
        ):
            kinds, lists = self.random_lists(
                b, h, -(-200 // size[0]), -(-330 // size[1]), seed=7
            )
            seen = kinds.repeat_interleave(size[0], 2).repeat_interleave(size[1], 3)
            seen = (seen[:, :, :200, :330] > 0) & cut
            grads = []
            for ours in (True, False):
                q, k, v = (one.detach().clone().requires_grad_() for one in
                           (self.q, self.k, self.v))  # fmt: skip
                if ours:
                    mask = fa3.BlockMask(*lists, BLOCK_SIZE=size)
                    o = fa3.attention(q, k, v, block_mask=mask, interpret=True, **named)
                else:
                    o = reference(q, k, v, seen)[0]
                (o.float() * weights).sum().backward()
                grads.append((q.grad, k.grad, v.grad))
            for made, expected in zip(*grads):
                self.close(made, expected, 1e-2)

    def test_numpy(self):
        import numpy

        kinds, lists = self.random_lists(1, 1, 2, 3, seed=2)
        mask = fa3.BlockMask(*(one.numpy() for one in lists))
        q, k, v = (one.numpy() for one in (self.q, self.k, self.v))
        out = numpy.zeros_like(q)
        fa3.attention(q, k, v, block_mask=mask, out=out, interpret=True)
        self.close(torch.from_numpy(out), self.ours(fa3.BlockMask(*lists)), 1e-6)
        mask.BLOCK_SIZE = (128, 120)
        with self.assertRaisesRegex(fa3.UnsupportedError, "blocks of .128, 120., without"):
            fa3.attention(q, k, v, block_mask=mask, interpret=True)

    def test_errors(self):
        _, lists = self.random_lists(1, 1, 2, 3)
        count, index = lists[:2]
        for given, named, error, expected in (
            ((count.long(), index), {}, TypeError, "kv_num_blocks is torch.int64, expec"),
            ((count[0], index), {}, ValueError, "kv_num_blocks has shape .1, 2., expected"),
            ((count, index[:, :, :1]), {}, ValueError, "kv_indices has shape .1, 1, 1, 3."),
            ((count, index, count), {}, ValueError, "full_kv_indices go together"),
            ((count, index), {"BLOCK_SIZE": 0}, ValueError, "BLOCK_SIZE .0, 0., expected"),
            ((count, index), {"BLOCK_SIZE": 64}, ValueError, "is for lengths .128, 330."),
            ((count.expand(3, 1, 2), index.expand(3, 1, 2, 3)), {}, ValueError,
             "extent 3 of batch, expected 2 or 1"),
            ((count.expand(1, 2, 2), index.expand(1, 2, 2, 3)), {}, ValueError,
             "extent 2 of heads, expected 4 or 1"),
        ):  # fmt: skip
            with self.subTest(expected), self.assertRaisesRegex(error, expected):
                self.ours(fa3.BlockMask(*given, **named))
        with self.assertRaisesRegex(ValueError, "'mask_mod': is given beside block_mask"):
            fa3.attention(
                self.q, self.k, self.v, block_mask=fa3.BlockMask(count, index),
                mask_mod=lambda b, h, q, kv: q >= kv,
            )  # fmt: skip
        with self.assertRaisesRegex(ValueError, "'block_mask': is builtins.int, expected"):
            self.ours(3)
        with self.assertRaisesRegex(ValueError, "q_indices has shape .1, 1, 3., expected"):
            self.ours(fa3.BlockMask(count, index, q_num_blocks=count[:, :, :1].expand(1, 1, 3),
                                    q_indices=index[:, :, 0]))  # fmt: skip
        with self.assertRaisesRegex(TypeError, "q_num_blocks is torch.int64, expected int32"):
            self.ours(fa3.BlockMask(count, index, q_num_blocks=count.long(), q_indices=index))
        q = self.q.clone().requires_grad_()
        with self.assertRaisesRegex(fa3.UnsupportedError, "torch's backward takes no lists"):
            fa3.torch.attention(
                q, self.k, self.v, backward="torch", interpret=True,
                lists=blocks.for_gradients(
                    blocks.read(fa3.BlockMask(count, index), 2, 4, 200, 330)[0]
                ),
            )  # fmt: skip
        with self.assertRaisesRegex(fa3.UnsupportedError, "that are for the forward"):
            fa3.torch.attention(
                q, self.k, self.v, interpret=True,
                lists=blocks.read(fa3.BlockMask(count, index), 2, 4, 200, 330)[0],
            )  # fmt: skip


@support.needs_torch
@support.needs_compiler
@support.needs_driver
class LaunchTest(unittest.TestCase):
    def test_launches(self):
        """One kernel for all lists; they are arguments, also of calls that are made
        again, and beside captured tables."""
        fake = support.fake_driver()
        q, k = torch.zeros(2, 4, 200, 64).half(), torch.zeros(2, 2, 330, 64).half()
        keep = torch.ones(330, dtype=torch.bool)
        mod = lambda b, h, q, kv: keep[kv]  # noqa: E731
        with support.fake_gpu():
            for n in range(4):
                lists = [torch.full(shape, 1, dtype=torch.int32) for shape in
                         2 * [(1, 1, 2), (1, 1, 2, 3)]]  # fmt: skip
                mask = fa3.BlockMask(*lists, mask_mod=None if n < 2 else mod)
                before = fake.fakeCudaNumLaunches()
                fa3.attention(q, k, k, block_mask=mask)
                self.assertEqual(fake.fakeCudaNumLaunches() - before, 1)
                params = list(fake.fakeCudaLaunch(before).contents.params)
                lists[3] = blocks._ascending(*lists[2:])
                for one in lists + ([keep] if n >= 2 else []):
                    self.assertIn(one.data_ptr(), params)
            self.assertEqual(len(kernels.kernels), 2)

    def test_descales_that_are_not_given(self):
        """Calls made again: descales of 1 are where the kernel expects them."""
        fake = support.fake_driver()
        q = torch.zeros(1, 2, 64, 64).to(torch.float8_e4m3fn)
        table = torch.rand(2)
        mod = lambda s, b, h, q, kv: s + table[h]  # noqa: E731
        with support.fake_gpu():
            made = []
            for _ in range(2):
                before = fake.fakeCudaNumLaunches()
                fa3.attention(q, q, q, score_mod=mod, out_dtype=torch.bfloat16)
                launch = fake.fakeCudaLaunch(before).contents
                params = list(launch.params)[: launch.num_params]
                self.assertIn(table.data_ptr(), params)
                made.append([one == table.data_ptr() for one in params])
            self.assertEqual(*made)


if __name__ == "__main__":
    unittest.main()
