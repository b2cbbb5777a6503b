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
from fa3.cli import demo


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
            with mock.patch.object(cli, "__file__", str(package / "cli" / "__init__.py")):
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
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "mods.py")
            source.write_text("def far(b, h, q, kv):\n    return q - kv > 3\n")
            broken = pathlib.Path(folder, "broken.py")
            broken.write_text("def far(:\n")
            for mod, expected in (
                ("casual", "did you mean 'causal'?"),
                ("window:wide", "'wide', expected a number from 0 on"),
                (f"{folder}/none.py:far", "there is no file"),
                (f"{source}:fra", "has no function 'fra'; did you mean 'far'?"),
                (f"{broken}:far", "SyntaxError"),
            ):
                with self.subTest(mod):
                    self.assertIn(expected, run("mask", mod)[2])

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
        for expected, *arguments in (
            ("3, expected a divisor of --heads, 16", "--key-heads", "3"),
            ("100, expected a multiple of 8 up to 512", "--head-dim", "100"),
            ("520, expected a multiple of 8 up to 512", "--head-dim", "520", "--backward"),
            ("there is none with --kind decode", "--backward", "--kind", "decode"),
            ("there is no folder", "--out", "/no/such/folder/b.csv"),
        ):
            with self.subTest(expected):
                self.assertIn(expected, run("bench", *arguments)[2])

    def test_numbers_are_numbers(self):
        for arguments in (
            ("bench", "--lengths", "1024,many"), ("bench", "--tokens", "0"),
            ("mask", "causal", "--block", "-4"), ("mask", "causal", "--keys", "x"),
        ):  # fmt: skip
            errors = io.StringIO()
            with self.subTest(arguments), contextlib.redirect_stderr(errors):
                with self.assertRaises(SystemExit):
                    cli.main(arguments)
                self.assertIn("expected a number from 1 on", errors.getvalue())

    def test_every_option_has_a_help_text(self):
        for command in ("info", "demo", "warm", "cache", "bench", "mask"):
            output = io.StringIO()
            with contextlib.redirect_stdout(output), self.assertRaises(SystemExit):
                cli.main([command, "--help"])
            lines = output.getvalue().splitlines()
            for line, after in zip(lines, [*lines[1:], ""]):
                if line.startswith("  -"):
                    with self.subTest(command=command, option=line):
                        said = "  " in line.strip() or after.startswith(" " * 20)
                        self.assertTrue(said, line)

    @support.needs_torch
    @support.needs_interpreter
    def test_bench_calls_of_every_kind(self):
        """Each call of fa3 by values, in the interpreter."""
        import torch

        from fa3 import api, serving
        from fa3.serving import packed

        seen = []
        for module in (api, packed, serving):
            real = module.attention
            patch = mock.patch.object(
                module, "attention",
                lambda *args, real=real, **named: real(*args, **{"interpret": True, **named}),
            )  # fmt: skip
            patch.start()
            self.addCleanup(patch.stop)
        with mock.patch.object(bench, "measure", lambda call: seen.append(call()) or 1.0), \
                mock.patch.object(bench, "through_the_call", lambda *_: 1.0):  # fmt: skip
            for kind in bench.KINDS:
                for window in (None, 5):
                    for dtype in ("bfloat16", bench.FLOAT_8):
                        case = bench.Case(
                            3, 2, 1, 16, 32, True, False, dtype, kind, window
                        )
                        with self.subTest(case):
                            torch.manual_seed(0)
                            made = bench.run(case, (), "cpu")
                            self.assertEqual(made["fa3"], 1.0)
                            torch.manual_seed(0)
                            self.compare(case, bench.operands(case, "cpu"), seen[-1])

    def compare(self, case, operands, made):
        import torch

        q, k, v = (one.detach().float() for one in operands)
        rows = 1 if case.kind == "decode" else case.length
        if case.kind == "varlen":
            q, k, v = (one.split(case.lengths) for one in (q, k, v))
            wanted = torch.cat([
                self.attend(case, *(x.transpose(0, 1) for x in one)).transpose(0, 1)
                for one in zip(q, k, v)
            ])  # fmt: skip
        else:
            wanted = self.attend(case, q, k, v)
            if case.kind == "decode":
                wanted = wanted.transpose(1, 2)
            self.assertEqual(q.shape[2], rows)
        torch.testing.assert_close(made.float(), wanted, atol=0.1, rtol=0.1)

    def attend(self, case, q, k, v):
        import torch

        i = torch.arange(q.shape[-2])[:, None] + k.shape[-2] - q.shape[-2]
        j = torch.arange(k.shape[-2])
        keep = (j <= i) & (i - j <= (case.window or case.length * 2))
        s = q @ k.repeat_interleave(2, -3).mT * q.shape[-1] ** -0.5
        return s.masked_fill(~keep, -torch.inf).softmax(-1) @ v.repeat_interleave(2, -3)

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
