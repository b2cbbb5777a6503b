# SPDX-License-Identifier: Apache-2.0
"""What no sequence uses may hold anything: rows behind a length, in front of a
padding's end, of pages that nobody has, of other sequences. The bits of a sequence
are the same beside zeros, numbers, the largest ones, infinities and NaN."""

import unittest

import support
from sequences import OnCpu, i32, starts

if support.HAS_TORCH:
    import torch
    from torch.nn.attention import flex_attention as flex

    from fa3 import api
    from fa3 import flash_attn_interface as door
    from fa3 import serving
    from fa3.serving import packed
    from fa3 import torch as torch_door


def others(dtype):
    """What may lie beside a sequence; the first is what others are compared with."""
    yield 0.0
    yield "numbers"
    if dtype.is_floating_point:
        yield torch.finfo(dtype).max
        if dtype is not torch.float8_e4m3fn:
            yield float("inf")
        yield float("nan")


def put(array, is_used, other):
    """The array with `other` in the rows that are not used."""
    wide = array.float()
    beside = torch.full_like(wide, 0.0 if other == "numbers" else other)
    if other == "numbers":
        beside = 100 * torch.randn(wide.shape)
    shape = (*is_used.shape, *([1] * (wide.dim() - is_used.dim())))
    return torch.where(is_used.reshape(shape), wide, beside).to(array.dtype)


def bits(array):
    return array.contiguous().view(torch.uint8)


@support.needs_torch
@support.needs_interpreter
class BesideTest(OnCpu):
    def check(self, call, arrays, results):
        """`arrays`: name to array and which of its rows are used; `results`: for
        each result the same. A call is compared with one beside zeros."""
        dtype = next(iter(arrays.values()))[0].dtype
        expected = None
        for other in others(dtype):
            made = call(**{n: put(*one, other) for n, one in arrays.items()})
            made = [x.clone() for x in made]
            for x, is_used in zip(made, results):
                self.assertTrue(bool(torch.isfinite(x[is_used]).all()), other)
            if expected is None:
                expected = made
                continue
            for x, y, is_used in zip(made, expected, results):
                self.assertTrue(torch.equal(bits(x[is_used]), bits(y[is_used])), other)

    def used(self, shape, *slices):
        is_used = torch.zeros(shape, dtype=torch.bool)
        for one in slices:
            is_used[one] = True
        return is_used

    def test_packed(self):
        """The sequence in the middle, between others of all kinds."""
        for dtype in (torch.float16, torch.bfloat16, torch.float8_e4m3fn):
            for rows, keys in ((5, 33), (70, 130)):
                cu_q, cu_k = starts((20, rows, 40)), starts((7, keys, 60))
                q = self.random(int(cu_q[-1]), 4, 32, dtype=dtype)
                k, v = (self.random(int(cu_k[-1]), 2, 32, dtype=dtype) for _ in "kv")
                of_q = self.used(len(q), slice(20, 20 + rows))
                of_k = self.used(len(k), slice(7, 7 + keys))
                for causal, splits in ((True, 1), (False, 2)):
                    with self.subTest(dtype=dtype, rows=rows, splits=splits):
                        def call(q, k, v, causal=causal, splits=splits):
                            o, lse = door.flash_attn_varlen_func(
                                q, k, v, cu_q, cu_k, 70, 130, causal=causal,
                                return_attn_probs=True, num_splits=splits,
                            )  # fmt: skip
                            return o, lse.T

                        self.check(
                            call, {"q": (q, of_q), "k": (k, of_k), "v": (v, of_k)},
                            (of_q, of_q),
                        )  # fmt: skip

    def test_lengths(self):
        """Padded rows behind a length, and in front of a padding's end."""
        for dtype in (torch.bfloat16, torch.float8_e5m2):
            for queries, pad, splits in ((1, None, 1), (9, (5, 0), 1), (1, (3, 11), 3)):
                lengths = (41, 90)
                q = self.random(2, queries, 4, 32, dtype=dtype)
                k, v = (self.random(2, 96, 2, 32, dtype=dtype) for _ in "kv")
                first = pad or (0, 0)
                of_k = self.used(
                    (2, 96), *((n, slice(first[n], lengths[n])) for n in (0, 1))
                )
                given = {} if pad is None else {"cache_leftpad": i32(*pad)}
                of_q = self.used((2, queries), slice(None))

                def call(k, v, q=q, given=given, splits=splits):
                    o, lse = door.flash_attn_with_kvcache(
                        q, k, v, cache_seqlens=i32(*lengths), causal=True,
                        num_splits=splits, return_softmax_lse=True, **given,
                    )  # fmt: skip
                    return o, lse.transpose(1, 2)

                with self.subTest(dtype=dtype, queries=queries, pad=pad, splits=splits):
                    self.check(
                        call, {"k": (k, of_k), "v": (v, of_k)}, (of_q, of_q)
                    )

    def test_pages(self):
        """Stale rows of the last page, and pages that nobody has."""
        for dtype in (torch.float16, torch.float8_e4m3fn):
            for page in (1, 4, 16, 64, 256):
                lengths = (50, 3) if page < 16 else (130, 3)
                each = -(-max(lengths) // page)
                table = torch.randperm(2 * each + 2)[: 2 * each].view(2, each)
                # Copies of one row have at least 128 bytes.
                dim = 128 if page == 1 else 32
                k, v = (
                    self.random(2 * each + 2, page, 2, dim, dtype=dtype) for _ in "kv"
                )
                of_k = self.used((2 * each + 2, page))
                for n, length in enumerate(lengths):
                    for j in range(length):
                        of_k[table[n, j // page], j % page] = True
                for queries, splits in ((1, 2), (20, 1)):
                    q = self.random(2, queries, 4, dim, dtype=dtype)
                    of_q = self.used((2, queries), slice(None))

                    def call(k, v, q=q, splits=splits, table=table, lengths=lengths):
                        return (
                            door.flash_attn_with_kvcache(
                                q, k, v, cache_seqlens=i32(*lengths), causal=False,
                                page_table=table.to(torch.int32), num_splits=splits,
                            ),
                        )  # fmt: skip

                    with self.subTest(dtype=dtype, page=page, queries=queries):
                        self.check(call, {"k": (k, of_k), "v": (v, of_k)}, (of_q,))

    def test_unused_rows(self):
        """Rows of o that are no query's are as they were, or 0 if asked for."""
        cu, used = i32(3, 9, 20), i32(2, 11)
        q, k = self.random(25, 4, 16), self.random(25, 2, 16)
        of_q = self.used(25, slice(3, 5), slice(9, 20))

        def call(out):
            return serving.attention(
                q, k, k, cu_q=cu, cu_k=cu, used_q=used, max_q=11, out=out,
                return_lse=True,
            )  # fmt: skip

        kept, lse = call(torch.full_like(q, 7))
        self.assertTrue(bool((kept[~of_q] == 7).all()))
        torch_door.set_unused_rows("zero")
        self.addCleanup(torch_door.set_unused_rows, "kept")
        for out in (None, torch.full_like(q, float("nan"))):
            o, sums = call(out)
            self.assertTrue(torch.equal(o[of_q], kept[of_q]))
            self.assertTrue(torch.equal(sums.T[of_q], lse.T[of_q]))
            self.assertTrue(bool((o[~of_q] == 0).all()))
            self.assertTrue(bool((sums.T[~of_q] == float("-inf")).all()))
        padded = self.random(2, 9, 4, 16)
        o = serving.attention(
            padded, padded, padded, used_q=i32(4, 0), out=torch.full_like(padded, 7)
        )
        self.assertTrue(bool((o[0, 4:] == 0).all() and (o[1] == 0).all()))
        with self.assertRaisesRegex(ValueError, "expected 'kept' or 'zero'"):
            torch_door.set_unused_rows("none")

    def test_new_keys(self):
        """A cache that nobody has written but for the keys that there are."""
        lengths, new = (20, 37), 3
        q, added = self.random(2, new, 4, 32), self.random(2, new, 2, 32)
        k, v = (self.random(2, 64, 2, 32) for _ in "kv")
        of_k = self.used((2, 64), *((n, slice(0, lengths[n])) for n in (0, 1)))
        of_q = self.used((2, new), slice(None))
        self.check(
            lambda k, v: (door.flash_attn_with_kvcache(
                q, k, v, added, added, cache_seqlens=i32(*lengths), causal=True),),
            {"k": (k, of_k), "v": (v, of_k)}, (of_q,),
        )  # fmt: skip

    def test_masks(self):
        """What a mask hides from all rows that are looked at: keys of any content, values
        of any finite one (a weight of 0 times NaN is NaN, in torch's formula, too)."""
        at = torch.arange(150)
        for name, given, seen, rows in (
            ("mask_mod", lambda mask: {"mask_mod": mask}, at < 90, slice(None)),
            ("additive", lambda _: {"bias": torch.where(at < 90, 0.0, -torch.inf).expand(
                2, 4, 70, 150).contiguous()}, at < 90, slice(None)),
            ("causal", lambda _: {"causal": True}, at < 100, slice(0, 20)),
            ("window", lambda _: {"window": (16, 16)}, (at >= 84) & (at < 120), slice(20, 24)),
            ("block_mask", lambda mask: {"block_mask": flex.create_block_mask(
                mask, None, None, 70, 150, device="cpu", BLOCK_SIZE=(64, 32))},
             at < 90, slice(None)),
        ):  # fmt: skip
            for dtype in (torch.float16, torch.bfloat16):
                q, k, v = (self.random(2, n, s, 32, dtype=dtype) for n, s in (
                    (4, 70), (2, 150), (2, 150)))  # fmt: skip
                of_k = seen[None, None].expand(2, 2, -1)
                named = given(lambda b, h, i, j: j < 90)
                with self.subTest(name, dtype=dtype):
                    expected = None
                    for other in others(dtype):
                        value = other if other == "numbers" or abs(other) < 1e9 else 1e4
                        if name == "additive":
                            other = value  # -inf added to NaN is NaN
                        o, lse = api.attention(
                            q, put(k, of_k, other), put(v, of_k, value),
                            return_lse=True, **named,
                        )  # fmt: skip
                        made = o[:, :, rows].clone(), lse[:, :, rows].clone()
                        self.assertTrue(all(bool(torch.isfinite(x).all()) for x in made))
                        expected = expected or made
                        for x, y in zip(made, expected):
                            self.assertTrue(torch.equal(bits(x), bits(y)), other)

    def test_other_rows_of_gradients(self):
        """Rows and keys of other heads and batches, and rows that see other keys."""
        q, k, v, grad = (self.random(2, n, s, 32) for n, s in (
            (4, 70), (2, 130), (2, 130), (4, 70)))  # fmt: skip
        of_q, of_k = (self.used((2, n, s), (0, slice(m))) for n, s, m in (
            (4, 70, 2), (2, 130, 1)))  # fmt: skip

        def call(q, k, v, grad):
            given = [x.clone().requires_grad_() for x in (q, k, v)]
            return torch.autograd.grad(api.attention(*given, causal=True), given, grad)

        self.check(
            call, {"q": (q, of_q), "k": (k, of_k), "v": (v, of_k), "grad": (grad, of_q)},
            (of_q, of_k, of_k),
        )  # fmt: skip

    def test_gradients(self):
        for dtype, dim in ((torch.float16, 32), (torch.bfloat16, 64)):
            for used in (False, True):
                cu_q, cu_k = starts((20, 70, 40)), starts((7, 130, 60))
                q = self.random(130, 4, dim, dtype=dtype)
                k, v = (self.random(197, 2, dim, dtype=dtype) for _ in "kv")
                grad = self.random(130, 4, dim, dtype=dtype)
                rows, keys = (33, 65) if used else (70, 130)
                of_q = self.used(130, slice(20, 20 + rows))
                of_k = self.used(197, slice(7, 7 + keys))
                given = (i32(20, rows, 40), i32(7, keys, 60)) if used else (None, None)

                def call(q, k, v, grad, given=given):
                    given = [x.clone().requires_grad_() for x in (q, k, v)], given
                    arrays, lengths = given
                    o = packed.attention(
                        *arrays, cu_q=cu_q, cu_k=cu_k, max_q=70, max_k=130,
                        used_q=lengths[0], used_k=lengths[1], causal=True,
                        interpret=True,
                    )  # fmt: skip
                    return torch.autograd.grad(o, arrays, grad)

                with self.subTest(dtype=dtype, used=used):
                    self.check(
                        call,
                        {"q": (q, of_q), "k": (k, of_k), "v": (v, of_k),
                         "grad": (grad, of_q)},
                        (of_q, of_k, of_k),
                    )  # fmt: skip


if __name__ == "__main__":
    unittest.main()
