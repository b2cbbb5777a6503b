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

from fa3 import bench, cli


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
