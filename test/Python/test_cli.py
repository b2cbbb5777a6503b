# SPDX-License-Identifier: Apache-2.0
"""python -m fa3."""

import contextlib
import csv
import io
import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import support  # noqa: F401

from fa3 import bench, cli, demo


def run(*arguments):
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        code = cli.main(arguments)
    return code, output.getvalue(), errors.getvalue()


class CommandTest(unittest.TestCase):
    def test_info(self):
        code, text, _ = run("info", "--json")
        made = json.loads(text)
        self.assertEqual(code, 0)
        for name in ("fa3", "compiler", "driver", "devices", "ptxas", "cache", "torch"):
            self.assertIn(name, made)
        self.assertIn("ptx_version", run("info")[1])

    def test_info_says_whether_there_is_a_hopper(self):
        describe = cli._describe_hopper
        self.assertIn("no device", describe([]))
        self.assertIn("no: kernels need compute capability 9.0", describe([(8, 0), (10, 0)]))
        self.assertEqual(describe([(9, 0), (9, 0)]), "yes")
        self.assertEqual(describe([(8, 9), (9, 0)]), "yes, of the devices only 1")

    def test_info_names_the_commit(self):
        name = cli.describe_commit()
        self.assertRegex(name, "unknown|[0-9a-f]{7}|v[0-9]")
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder, "fa3")
            package.mkdir()
            with mock.patch.object(cli, "__file__", str(package / "cli.py")):
                self.assertEqual(cli.describe_commit(), "unknown")
                (package / "_commit.txt").write_text("v1.2-3-gabc\n")
                self.assertEqual(cli.describe_commit(), "v1.2-3-gabc")

    def test_demo(self):
        code, text, errors = run("demo")
        self.assertEqual((code, errors), (0, ""))
        self.assertRegex(text, r"the sum in Python [0-9.]+e-0[4-9]")
        self.assertRegex(text, r"[1-9][0-9]* x wgmma.mma_async")
        self.assertIn("all right", text)

    def test_demo_sees_a_wrong_result(self):
        zeros = [0.0] * (demo._QUERIES * demo._DIM)
        with mock.patch.object(demo, "_expected", lambda *arrays: zeros):
            code, text, _ = run("demo")
        self.assertEqual(code, 1)
        self.assertIn("WRONG", text)

    def test_mask(self):
        code, text, _ = run(
            "mask", "causal", "--queries", "8", "--keys", "12", "--block", "4"
        )
        self.assertEqual(code, 0)
        self.assertEqual(text.splitlines()[:2], ["+..", "#+."])
        self.assertIn("# full 1, + partial 2, . empty 3 of 6 blocks of 4 x 4", text)
        self.assertIn("37.5 % visible", text)

    def test_mask_of_a_file_as_a_picture(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "mods.py")
            source.write_text("def far(b, h, q, kv):\n    return q - kv > 3\n")
            picture = pathlib.Path(folder, "mask.png")
            code, text, _ = run(
                "mask", f"{source}:far", "--queries", "9", "--keys", "8", "--block",
                "4", "--png", str(picture),
            )  # fmt: skip
            self.assertEqual(code, 0)
            self.assertEqual(text.splitlines()[:3], ["..", "+.", "#+"])
            data = picture.read_bytes()
            self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
            self.assertEqual(data[16:24], b"\0\0\0\x08\0\0\0\x09")

    def test_mask_that_is_none(self):
        code, _, errors = run("mask", "diagonal")
        self.assertEqual(code, 1)
        self.assertIn("'diagonal', expected causal, window:LEFT", errors)

    def test_cache(self):
        with tempfile.TemporaryDirectory() as folder:
            with mock.patch.dict(os.environ, FA3_CACHE_DIR=folder):
                self.assertEqual(run("cache", "dir")[1].strip(), folder)
                self.assertIn("0 kernels", run("cache", "list")[1])
                self.assertIn("0 kernels removed", run("cache", "clear")[1])

    def test_bench_without_a_gpu(self):
        code, _, errors = run("bench")
        self.assertEqual(code, 1)
        self.assertIn("bench needs", errors)
        self.assertIn("'fast', expected cudnn", run("bench", "--with", "fast")[2])
        self.assertIn("a divisor of --heads", run("bench", "--key-heads", "3")[2])

    def test_bench_table(self):
        """With times that are not measured."""
        def times(case, peers):
            seconds = case.flops / 1e14
            return {"fa3": seconds, "cudnn": seconds * 2, "fa4": "ImportError: none"}

        case = bench.Case(4, 16, 2, 1024, 128, True, True, "bfloat16")
        self.assertEqual(case.flops, 3.5 * 2 * 4 * 16 * 1024**2 * 128)
        with tempfile.TemporaryDirectory() as folder:
            out, output = pathlib.Path(folder, "b.csv"), io.StringIO()
            with mock.patch.object(bench, "run", times):
                with contextlib.redirect_stdout(output):
                    bench.bench([case], ["cudnn", "fa4"], out, None)
            self.assertIn("    1024      4    100.0     50.0        -", output.getvalue())
            self.assertIn("fa4: ImportError: none", output.getvalue())
            (row,) = csv.DictReader(out.open())
            self.assertEqual((row["fa3"], row["fa4"], row["length"]), ("100.0", "", "1024"))


if __name__ == "__main__":
    unittest.main()
