# SPDX-License-Identifier: Apache-2.0
"""Rules of ptx_harmless.py: each on a text where it holds, and on one where it must not."""

import unittest

import ptx_harmless
import ptx_slices

PRODUCT = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2}, %rd1, %rd2, p, 1, 1, 0, 0;"
FENCE = "wgmma.fence.sync.aligned;"
COMMIT = "wgmma.commit_group.sync.aligned;"


def wait(count):
    return f"wgmma.wait_group.sync.aligned {count};"


def find(edit, *lines):
    """The rule for an edit of the line that is marked with '>'."""
    number = next(i for i, line in enumerate(lines) if line.startswith(">"))
    text = ["{", *(line.lstrip(">") for line in lines), "}"]
    return ptx_harmless.Rules(text).find("", number + 1, edit)


class Products(unittest.TestCase):
    def test_second_fence(self):
        self.assertTrue(find("//", ">" + FENCE, FENCE, PRODUCT, "ret;"))
        self.assertTrue(find("//", FENCE, PRODUCT, ">" + FENCE, PRODUCT, "ret;"))

    def test_only_fence(self):
        self.assertFalse(find("//", ">" + FENCE, PRODUCT, "ret;"))

    def test_register_between(self):
        access = "add.f32 %f3, %f1, %f1;"
        self.assertFalse(find("//", FENCE, access, ">" + FENCE, PRODUCT, "ret;"))
        other = "add.f32 %f3, %f4, %f4;"
        self.assertTrue(find("//", FENCE, other, ">" + FENCE, PRODUCT, "ret;"))

    def test_one_of_two_paths(self):
        lines = ["@%p1 bra $L1;", FENCE, "$L1:", ">" + FENCE, PRODUCT, "ret;"]
        self.assertFalse(find("//", *lines))

    def test_around_a_loop(self):
        lines = [
            FENCE,
            "$L1:",
            ">" + FENCE,
            PRODUCT,
            "add.f32 %f1, %f1, %f1;",
            "@%p1 bra $L1;",
            "ret;",
        ]
        self.assertFalse(find("//", *lines))


class Groups(unittest.TestCase):
    def test_joined(self):
        lines = [PRODUCT, ">" + COMMIT, PRODUCT, COMMIT]
        self.assertTrue(find("//", *lines, wait(0), "ret;"))
        self.assertFalse(find("//", *lines, wait(1), "ret;"))

    def test_last_commit(self):
        self.assertFalse(find("//", PRODUCT, ">" + COMMIT, wait(0), "ret;"))

    def test_waits(self):
        lines = [PRODUCT, COMMIT, PRODUCT, COMMIT]
        self.assertTrue(find(wait(0), *lines, ">" + wait(1), "ret;"))
        self.assertFalse(find(wait(1), *lines, ">" + wait(0), "ret;"))
        self.assertFalse(find("//", *lines, ">" + wait(1), "ret;"))
        self.assertTrue(find("//", *lines, ">" + wait(2), "ret;"))

    def test_stores(self):
        store = "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16;"
        commit = "@%p1 cp.async.bulk.commit_group;"
        last = "@%p1 cp.async.bulk.wait_group.read 0;"
        self.assertFalse(find("//", store, commit, ">" + last, "ret;"))
        self.assertTrue(find("//", ">" + last, store, commit, last, "ret;"))
        self.assertFalse(find("//", "$L1:", ">" + last, store, commit, "bra $L1;"))
        self.assertTrue(find(last[5:], store, commit, ">" + last, "ret;"))
        self.assertFalse(find(last.replace("@", "@!"), store, commit, ">" + last, "ret;"))


class Unread(unittest.TestCase):
    EDIT = "add.s32 %r1, %r2, 8;"
    LINE = ">add.s32 %r1, %r2, 7;"

    def test_overwritten(self):
        self.assertTrue(find(self.EDIT, self.LINE, "mov.b32 %r1, 0;", "st.b32 [%rd1], %r1;"))

    def test_read(self):
        self.assertFalse(find(self.EDIT, self.LINE, "st.b32 [%rd1], %r1;", "ret;"))
        self.assertFalse(
            find(self.EDIT, self.LINE, "@%p1 mov.b32 %r1, 0;", "st.b32 [%rd1], %r1;", "ret;")
        )

    def test_other_result(self):
        self.assertFalse(
            find(
                "add.s32 %r3, %r2, 7;", self.LINE, "mov.b32 %r1, 0;", "st.b32 [%rd1], %r3;", "ret;"
            )
        )


class Values(unittest.TestCase):
    USE = "st.b32 [%rd1], %r1;"

    def test_bits_that_a_shift_made(self):
        for shift, holds in ((4, True), (0, False)):
            lines = [f"shl.b32 %r2, %r3, {shift};", ">and.b32 %r1, %r2, 32;", self.USE]
            self.assertEqual(bool(find("and.b32 %r1, %r2, 33;", *lines)), holds)
        two = ["@%p1 mov.b32 %r2, 1;", *lines]
        self.assertFalse(find("and.b32 %r1, %r2, 33;", *two))

    def test_signs(self):
        edit, line = "shr.s32 %r1, %r2, 32;", ">shr.s32 %r1, %r2, 31;"
        self.assertTrue(find(edit, line, self.USE))
        self.assertFalse(find("shr.s32 %r1, %r2, 30;", line, self.USE))
        self.assertFalse(find(edit.replace("s32", "u32"), line.replace("s32", "u32"), self.USE))

    def test_low_bits(self):
        def lines(mask):
            return ">add.s32 %r2, %r3, -4;", f"and.b32 %r1, %r2, {mask};", self.USE

        self.assertTrue(find("sub.s32 %r2, %r3, -4;", *lines(7)))
        self.assertFalse(find("sub.s32 %r2, %r3, -4;", *lines(8)))
        self.assertFalse(find("sub.s32 %r2, %r3, -4;", *lines(7), "st.b32 [%rd1], %r2;"))
        self.assertFalse(find("add.s32 %r2, %r3, -3;", *lines(7)))

    def test_butterfly(self):
        def lines(operation, first):
            return (
                f"shfl.sync.bfly.b32 %r2, %r3, {first}, 31, -1;",
                f"{operation} %r4, %r3, %r2;",
                ">shfl.sync.bfly.b32 %r1, %r4, 2, 31, -1;",
                self.USE,
            )

        edit = "shfl.sync.bfly.b32 %r1, %r4, 3, 31, -1;"
        self.assertTrue(find(edit, *lines("max.ftz.f32", 1)))
        self.assertTrue(find(edit, *lines("add.rn.f32", 1)))
        self.assertFalse(find(edit, *lines("sub.f32", 1)))
        self.assertFalse(find(edit, *lines("max.ftz.f32", 4)))
        joined = [*lines("max.ftz.f32", 1)]
        joined.insert(2, "$L1:")
        self.assertFalse(find(edit, *joined, "bra $L1;"))

    def test_broadcast(self):
        edit = "shfl.sync.idx.b32 %r1, %r2, -1, 31, -1;"
        line = ">shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;"
        load = "ld.shared.b32 %r2, [%r3+8];"
        self.assertTrue(find(edit, "mov.b32 %r3, smem;", load, line, self.USE))
        self.assertFalse(find(edit, "mov.u32 %r3, %tid.x;", load, line, self.USE))
        branch = [
            "mov.b32 %r3, smem;",
            "mov.u32 %r4, %tid.x;",
            "setp.ne.b32 %p1, %r4, 0;",
            "@%p1 bra $L1;",
        ]
        self.assertFalse(find(edit, *branch, load, "$L1:", line, self.USE))
        self.assertTrue(find(edit, *branch, "$L1:", load, line, self.USE))
        self.assertTrue(
            find(edit, *branch, load, line, self.USE, "bra $L2;", "$L1:", "ret;", "$L2:", "ret;")
        )

    def test_lower_threshold(self):
        def lines(last="@%p4 bra $L1;", compare="setp.ge.s32 %p2, %r9, %r3;"):
            return (
                ">add.rn.ftz.f32 %r1, %r8, 0f40FC0000;",
                "mul.ftz.f32 %r2, %r1, 0f40B17218;",
                "setp.ge.ftz.f32 %p1, %r2, 0f00000000;",
                "selp.b32 %r3, %r2, -2147483648, %p1;",
                compare,
                "vote.sync.any.pred %p3, %p2, -1;",
                "not.pred %p4, %p3;",
                last,
                "$L1:",
                "ret;",
            )

        def jumps(edit, text):
            rules = ptx_harmless.Rules(["{", *(line.lstrip(">") for line in text), "}"])
            return rules.careful_jumps(1, edit)

        edit = "sub.rn.ftz.f32 %r1, %r8, 0f40FC0000;"
        self.assertEqual(jumps(edit, lines()), [8])
        self.assertFalse(jumps(edit, lines(last="@!%p4 bra $L1;")))
        self.assertFalse(jumps(edit, lines(compare="setp.ge.s32 %p2, %r3, %r9;")))
        self.assertFalse(jumps(edit, [*lines(), self.USE]))
        self.assertFalse(jumps("sub.rn.ftz.f32 %r1, %r8, 0f40FD0000;", lines()))

    def test_block_of_zeros(self):
        def lines(start="0fF1800000", bound="0f41000000", old="0f00000000"):
            return (
                "mul.f32 %r5, %r9, 0f3E38AA3B;",
                "fma.rn.ftz.f32 %r6, %r9, 0f3E38AA3B, 0f71800000;",
                f"setp.gt.ftz.f32 %p1, %r6, {bound};",
                "selp.f32 %r7, %r5, 0fF1800000, %p1;",
                f"mov.b32 %r1, {old};",
                ">@%p2 bra $L1;",
                f"mov.b32 %r2, {start};",
                "sub.ftz.f32 %r3, %r2, %r7;",
                "ex2.approx.ftz.f32 %r4, %r3;",
                "mul.ftz.f32 %r8, %r4, 0f00000000;",
                "selp.f32 %r1, %r8, 0f00000000, %p1;",
                "$L1:",
                self.USE,
            )

        edit = "@!%p2 bra $L1;"
        self.assertTrue(find(edit, *lines()))
        self.assertFalse(find(edit, *lines(start="0f71800000")))
        self.assertFalse(find(edit, *lines(bound="0fC1000000")))
        self.assertFalse(find(edit, *lines(old="0f3F800000")))
        self.assertFalse(find(edit, *lines(), "st.b32 [%rd1], %r4;"))


class Names(unittest.TestCase):
    def lines(self, edited="bar.sync %r3, 128;", other="bar.sync 0;"):
        group = ["shr.u32 %r2, %r1, 2;", ">add.s32 %r3, %r2, 1;"]
        return [*group, other, "bar.sync %r3, 128;", edited, "ret;"]

    def test_names(self):
        self.assertTrue(find("add.s32 %r3, %r2, 2;", *self.lines()))
        self.assertFalse(find("add.s32 %r3, %r2, 0;", *self.lines()))

    def test_taken(self):
        edit = "add.s32 %r3, %r2, 2;"
        for other in ("bar.sync 1;", "bar.sync %r4, 128;", "add.s32 %r4, %r3, 1;"):
            self.assertFalse(find(edit, *self.lines(other=other)), other)
        self.assertFalse(find(edit, *self.lines("bar.sync %r3, %r3;")))


class Signs(unittest.TestCase):
    def test_read_high(self):
        lines = [">shr.s32 %r2, %r1, 31;", "shr.u32 %r3, %r2, 27;", "st.b32 [%rd1], %r3;"]
        self.assertTrue(find("shr.s32 %r2, %r1, 30;", *lines, "ret;"))
        self.assertTrue(find("shr.s32 %r2, %r1, 4;", *lines, "ret;"))
        self.assertFalse(find("shr.s32 %r2, %r1, 3;", *lines, "ret;"))
        self.assertFalse(find("shr.s32 %r2, %r1, 30;", *lines, "st.b32 [%rd1], %r2;", "ret;"))


class Stronger(unittest.TestCase):
    """Texts that are run to show an edit to be harmless."""

    def test_lanes(self):
        rules = ptx_harmless.Rules(["{", "shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;", "}"])
        for amount, clamp, count in ((1, 30, 3), (1, 27, 0), (2, 30, 0)):
            edit = f"shfl.sync.bfly.b32 %r2, %r1, {amount}, {clamp}, -1;"
            self.assertEqual(len(rules.dead_lanes(1, edit)), count, edit)

    def test_choice(self):
        rules = ptx_harmless.Rules(["{", "selp.b32 %r3, %r1, %r2, %p1;", "}"])
        check = rules.unequal(1, "selp.b32 %r3, %r2, %r1, %p1;")
        self.assertIn("setp.ne.b32 q, %r1, %r2; @q trap;", check)
        self.assertFalse(rules.unequal(1, "selp.b32 %r3, %r2, %r2, %p1;"))

    def test_lowest(self):
        lines = ["{", "add.s32 %r2, %r1, 1;", "selp.b32 %r3, %r2, %r1, %p1;"]
        more = ["max.s32 %r4, %r3, %r5;", "min.s32 %r6, %r4, %r7;", "st.b32 [%rd1], %r6;", "}"]
        rules = ptx_harmless.Rules(lines + more)
        for edit, found in (
            ("sub.s32 %r2, %r1, 1;", True), ("add.s32 %r2, %r1, 0;", True),
            ("add.s32 %r2, %r1, 2;", False), ("sub.s32 %r2, %r3, 1;", False),
        ):  # fmt: skip
            self.assertEqual(bool(rules.lowest(1, edit)), found, edit)
        other = ptx_harmless.Rules([*lines, "st.b32 [%rd1], %r3;", *more])
        self.assertFalse(other.lowest(1, "sub.s32 %r2, %r1, 1;"))


class Barriers(unittest.TestCase):
    """Of a warp group, with the name %r3."""

    GROUP = ["shr.u32 %r2, %r1, 2;", "add.s32 %r3, %r2, 1;"]
    BARRIER = ">bar.sync %r3, 128;"
    LOAD, STORE = "ld.shared.b32 %r4, [%r5];", "st.shared.b32 [%r5], %r4;"
    RELEASE = "@%p1 mbarrier.arrive.shared::cta.b64 _, [%r6];"
    TRY = "mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r7], 0;"

    def drop(self, *lines, edit="//"):
        places = ["mov.b32 %r9, smem;", "add.s32 %r6, %r9, 64;", "add.s32 %r7, %r9, 72;"]
        return find(edit, *self.GROUP, *places, *lines, "ret;")

    def test_products(self):
        product = [FENCE, PRODUCT, COMMIT]
        done = [self.LOAD, *product, wait(0)]
        self.assertTrue(self.drop(*done, self.BARRIER, self.RELEASE))
        self.assertFalse(self.drop(*product, self.LOAD, wait(0), self.BARRIER, self.RELEASE))
        self.assertFalse(self.drop(self.LOAD, *product, wait(1), self.BARRIER, self.RELEASE))
        self.assertFalse(self.drop(self.LOAD, self.BARRIER, self.RELEASE))
        # Behind the barrier, and around it.
        self.assertTrue(self.drop(self.TRY, self.BARRIER, *product, wait(0), self.RELEASE))
        self.assertTrue(self.drop(self.LOAD, *product, self.BARRIER, wait(0), self.RELEASE))
        # Products may read what threads have written.
        self.assertFalse(self.drop(self.STORE, self.BARRIER, *product, wait(0), self.RELEASE))

    def test_one_of_two_paths(self):
        product = [FENCE, PRODUCT, COMMIT, wait(0)]
        lines = [self.LOAD, "@%p4 bra $L1;", *product, "$L1:", self.BARRIER, self.RELEASE]
        self.assertFalse(self.drop(*lines))

    def test_other_barrier(self):
        for other, holds in (
            ("bar.sync %r3, 128;", True), ("bar.sync 0;", True), ("bar.sync %r3, 64;", False),
            ("bar.sync %r8, 128;", False), ("bar.arrive %r3, 128;", False),
            ("@%p1 bar.sync %r3, 128;", False),
        ):  # fmt: skip
            found = self.drop(self.LOAD, other, self.BARRIER, self.RELEASE)
            self.assertEqual(bool(found), holds, other)

    def test_waits_and_arrivals(self):
        # Who is waiting may miss a phase that others let end.
        self.assertFalse(self.drop(self.TRY, self.BARRIER, self.RELEASE))
        self.assertTrue(self.drop(self.TRY, self.BARRIER, self.TRY, "bar.sync 0;", self.RELEASE))
        # An arrival orders itself, but for those who wait for the same mbarrier.
        again = self.RELEASE.replace("r6", "r7")
        self.assertTrue(self.drop(self.RELEASE, self.BARRIER, again))
        self.assertFalse(self.drop(again, self.BARRIER, self.RELEASE, self.TRY))

    def test_half(self):
        product = [FENCE, PRODUCT, COMMIT, wait(0)]
        half = "bar.sync %r3, 64;"
        lines = [self.LOAD, *product, self.BARRIER, self.RELEASE]
        self.assertTrue(self.drop(*lines, *product, "bar.sync %r3, 128;", edit=half))
        # Two warps may be at the next one already.
        self.assertFalse(self.drop(*lines, "bar.sync %r3, 128;", edit=half))
        self.assertTrue(self.drop(*lines, "bar.sync %r3, 128;"))
        self.assertFalse(self.drop(*lines, edit="bar.sync %r3, 256;"))

    def test_name(self):
        lines = ["shr.u32 %r2, %r1, 3;", "add.s32 %r3, %r2, 1;", self.BARRIER, "ret;"]
        self.assertFalse(find("//", *lines))
        lines[0] = self.GROUP[0]
        self.assertTrue(find("//", *lines))
        self.assertFalse(find("//", *lines[:2], ">@%p1 bar.sync %r3, 128;", "ret;"))

    def own(self, stride, *more):
        """Rows of 16 bytes, a warp's `stride` behind those of the one before."""
        load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r24];"
        store = "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r24], {%r10, %r11, %r12, %r13};"
        lines = [
            "mov.u32 %r20, %tid.x;", "and.b32 %r21, %r20, 31;", "shl.b32 %r22, %r21, 4;",
            "shr.u32 %r1, %r20, 5;", f"shl.b32 %r23, %r1, {stride};", "add.s32 %r25, %r22, %r23;",
            "add.s32 %r24, %r25, 1024;", *self.GROUP, load, ">bar.sync %r3, 128;", store, *more,
        ]  # fmt: skip
        text = ["{", *(line.lstrip(">") for line in lines), "ret;", "}", ".maxntid 128, 1, 1"]
        return ptx_harmless.Rules(text).find("", lines.index(">bar.sync %r3, 128;") + 1, "//")

    def test_own_rows(self):
        self.assertTrue(self.own(9))
        self.assertFalse(self.own(8))
        self.assertFalse(self.own(9, "mov.b32 %r30, 1024;", "ld.shared.b32 %r31, [%r30];"))
        self.assertFalse(self.own(9, "mov.b32 %r30, 1024;", "shr.u32 %r31, %r30, 4;"))
        store = "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r30], 16;"
        self.assertFalse(self.own(9, "mov.b32 %r30, 1024;", "bar.sync 0;", store))


class Fences(unittest.TestCase):
    PLACES = [
        f"mov.b32 %r{i}, {place};"
        for i, place in ((1, 1024), (2, 2048), (3, 4096), (4, 4104), (5, 5000))
    ]
    COPY = (
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%r{}], [%rd1, {{%r8, %r9}}], [%r7];"
    )
    TRY = "mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r{}], 0;"
    ARRIVE = "mbarrier.arrive.shared::cta.b64 _, [%r{}];"
    READ = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r10, %r11, %r12, %r13}}, [%r{}];"
    LAST = "fence.acq_rel.cta;"

    def drop(self, *lines, loader=()):
        loads = ["@%p5 bra $L2;", self.TRY.format(3), self.COPY.format(1), "$L2:"]
        loads += [self.TRY.format(4), self.COPY.format(2)]
        branch = ["@%p1 bra $L1;", "$L0:", *(loader or loads), "bra $L0;", "$L1:"]
        return find("//", *self.PLACES, *branch, *lines, "ret;")

    def test_other_array(self):
        def lines(array, last=self.LAST):
            here = self.READ.format(2), ">" + self.LAST, self.ARRIVE.format(array)
            return *here, last, self.ARRIVE.format(4)

        self.assertTrue(self.drop(*lines(3)))
        self.assertFalse(self.drop(*lines(4)))
        self.assertFalse(self.drop(*lines(3, "@%p1 " + self.LAST)))
        self.assertFalse(self.drop(*lines(3, "//")))
        # A copy that does not wait each time.
        copy = [self.TRY.format(4), self.COPY.format(2), self.COPY.format(2)]
        self.assertFalse(self.drop(*lines(3), loader=copy))

    def test_two_arrays(self):
        # Of two that a copy waits for, either may be the last.
        loads = [self.TRY.format(3), self.TRY.format(4), self.COPY.format(2)]
        lines = self.READ.format(2), ">" + self.LAST, self.ARRIVE.format(3), self.LAST
        self.assertFalse(self.drop(*lines, loader=loads))

    def test_behind_mbarriers(self):
        lines = self.READ.format(5), ">" + self.LAST, self.ARRIVE.format(4)
        self.assertTrue(self.drop(*lines))

    def test_read_before_another(self):
        lines = self.READ.format(2), self.LAST, ">" + self.LAST, self.ARRIVE.format(4)
        self.assertTrue(self.drop(*lines))


class Registers(unittest.TestCase):
    def test_pool(self):
        def drop(*lines):
            return find("//", *lines, "ret;")

        more, less = "setmaxnreg.inc.sync.aligned.u32 232;", "setmaxnreg.dec.sync.aligned.u32 40;"
        self.assertTrue(drop("@%p1 bra $L1;", less, "ret;", "$L1:", ">" + more))
        self.assertFalse(drop("@%p1 bra $L1;", ">" + less, "ret;", "$L1:", more))
        self.assertTrue(drop("@%p1 bra $L1;", ">" + less, "ret;", "$L1:", less))
        self.assertFalse(drop(">" + more, less))


class Slices(unittest.TestCase):
    TEXT = [
        "{",
        "shr.u64 %rd2, %rd1, 32;",
        "and.b64 %rd3, %rd1, 4294967295;",
        "cvt.u64.u32 %rd4, %r1;",
        "mul.lo.s64 %rd5, %rd4, %rd3;",
        "shr.u64 %rd6, %rd5, 32;",
        "mad.lo.s64 %rd7, %rd4, %rd2, %rd6;",
        "shr.u64 %rd8, %rd7, 30;",
        "st.b64 [%rd9], %rd8;",
        "}",
    ]

    def test_quotients(self):
        rules = ptx_harmless.Rules(self.TEXT)
        for line, edit, differs in (
            (5, "shr.u64 %rd6, %rd5, 31;", True), (5, "shr.u64 %rd6, %rd5, 64;", True),
            (2, "and.b64 %rd3, %rd1, 4294967294;", True), (7, "shr.u64 %rd8, %rd7, 31;", True),
            (2, "and.b64 %rd3, %rd1, 8589934591;", True), (5, self.TEXT[5], False),
            (8, "st.b64 [%rd9], %rd7;", False),
        ):  # fmt: skip
            self.assertEqual(bool(ptx_slices.find(rules, line, edit)), differs, edit)


if __name__ == "__main__":
    unittest.main()
