# SPDX-License-Identifier: Apache-2.0
"""Rules of ptx_harmless.py: each on a text where it holds, and on one where it must not."""
import unittest

import ptx_harmless

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
        lines = [FENCE, "$L1:", ">" + FENCE, PRODUCT, "add.f32 %f1, %f1, %f1;",
                 "@%p1 bra $L1;", "ret;"]
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
        self.assertFalse(find(self.EDIT, self.LINE, "@%p1 mov.b32 %r1, 0;",
                              "st.b32 [%rd1], %r1;", "ret;"))

    def test_other_result(self):
        self.assertFalse(find("add.s32 %r3, %r2, 7;", self.LINE, "mov.b32 %r1, 0;",
                              "st.b32 [%rd1], %r3;", "ret;"))


if __name__ == "__main__":
    unittest.main()
