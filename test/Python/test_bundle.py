# SPDX-License-Identifier: Apache-2.0
"""Ready-made kernels: that real calls ask for those of the list, that a first call
finds them without a compiler and at once, what a bundle says of itself."""

import contextlib
import io
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import support

import fa3
from fa3 import bundle, cli
from fa3.build import answers, cache, compiler, driver, elf
from fa3.calls import launch
from fa3.kernels import compiled as kernels
from fa3.kernels.serving_spec import ServingBackwardSpec
from fa3.kernels.spec import BackwardSpec

if support.HAS_TORCH:
    import torch
    from fa3 import flash_attn_interface, serving


def run(*arguments):
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        code = cli.main(arguments)
    return code, output.getvalue(), errors.getvalue()


@contextlib.contextmanager
def first_calls(bundles):
    """Nothing is kept but the bundles; on a GPU that is not there, with PTX 9.0."""
    driver.set_driver(driver.Driver(cache.Cache(None), bundles))
    with (
        support.fake_gpu(), mock.patch.dict(os.environ, FA3_PTX_VERSION="90"),
        mock.patch.object(torch.cuda, "device", lambda _: contextlib.nullcontext()),
    ):  # fmt: skip
        yield


class Recorder(compiler.Compiler):
    """Notes the texts that are asked for; compiles nothing. Plans are those of `real`."""

    name, version, build_id = "recorder", "0", "build"

    def __init__(self, real=None):
        self.texts = set()
        if real is not None:
            self.plan_group, self.plan_parts = real.plan_group, real.plan_parts
            self.plan_gradients = real.plan_gradients

    def compile(self, text, options):
        self.texts.add((options.pipeline, text))
        return compiler.Code(b"", b'{"function": "f", "args": []}')


class Asked(Exception):
    pass


class ListTest(unittest.TestCase):
    def setUp(self):
        self.recorder = Recorder(compiler.get_compiler() if support.has_interpreter() else None)
        compiler.set_compiler(self.recorder)
        driver.set_driver(driver.Driver(cache.Cache(None), []))
        self.addCleanup(compiler.set_compiler, None)
        self.addCleanup(driver.set_driver, None)

    def test_all_kernels_are_different_and_known(self):
        listed = bundle.common_kernels()
        for one in listed:
            bundle.make_kernel(**one)
        self.assertEqual(len(self.recorder.texts), len(listed))
        self.assertGreaterEqual(len(listed), 64)

    def test_expand(self):
        made = bundle.expand([{"a": 1, "each": {"b": [2, 3], "c": [4, 5]}}, {"d": [6, 7]}])
        self.assertEqual(len(made), 5)
        self.assertIn({"a": 1, "b": 3, "c": 4}, made)
        self.assertEqual(made[-1], {"d": [6, 7]})
        for wrong in ({}, [1]):
            with self.assertRaisesRegex(ValueError, "expected a list of kernels"):
                bundle.expand(wrong)
        with self.assertRaisesRegex(ValueError, "kernel 'sideways', expected forward"):
            bundle.make_kernel(kernel="sideways")

    def asked(self, call):
        """What a call asks the compiler for; it goes no further than that."""
        self.recorder.texts = set()
        driver.set_driver(driver.Driver(cache.Cache(None), []))
        with mock.patch.object(driver.Kernel, "program", side_effect=Asked):
            with self.assertRaises(Asked):
                call()
        (one,) = self.recorder.texts
        return one

    @support.needs_torch
    @support.needs_interpreter
    def test_calls_ask_for_those_of_the_list(self):
        """attention, the switch, gradients, packed sequences, decoding."""
        from fa3 import flash_attn_interface as door
        from fa3 import sdpa, serving
        from fa3.calls import gradients
        from fa3.kernels import program
        from fa3.kernels.arguments import Arguments

        for one in bundle.common_kernels():
            bundle.make_kernel(**one)
        listed = set(self.recorder.texts)
        q = torch.zeros(2, 32, 33, 128, dtype=torch.bfloat16)
        k = torch.zeros(2, 8, 33, 128, dtype=torch.bfloat16)
        lse = torch.zeros(2, 32, 33)
        rows, keys = (one[0].transpose(0, 1).contiguous() for one in (q, k))
        cu = torch.tensor([0, 33], dtype=torch.int32)
        pages = torch.zeros(9, 64, 8, 128, dtype=torch.bfloat16)
        table, used = torch.zeros(2, 4).int(), torch.ones(2).int()
        one_query = torch.zeros(2, 1, 32, 128, dtype=torch.bfloat16)
        switch = mock.Mock(spec=sdpa._Switch, interpret=False)
        switch._text = lambda asked: sdpa._Switch._text(switch, asked)
        text = program.to_text(Arguments(True, return_lse=True))
        with (
            support.fake_gpu(),
            mock.patch.object(torch.cuda, "device", lambda _: contextlib.nullcontext()),
            mock.patch.object(serving.call, "_sms", lambda _: 132),
        ):
            for n, call in enumerate((
                lambda: fa3.attention(q, k, k),
                lambda: fa3.attention(q, k, k, causal=True, softcap=30.0),
                lambda: fa3.attention(q, k, k, causal=True, return_lse=True),
                lambda: fa3.attention(
                    *(one.transpose(1, 2) for one in (q, k, k)), layout="bshd"
                ),
                lambda: sdpa._Switch._run(switch, q, k, k, Arguments(True, return_lse=True)),
                lambda: sdpa._Switch._run(switch, q, k, k, Arguments()),
                lambda: gradients.backward(q, None, (q, k, k, q, lse), (), (), text, None),
                lambda: door.flash_attn_func(rows[None], keys[None], keys[None]),
                lambda: flash_attn_interface.flash_attn_varlen_func(
                    rows, keys, keys, cu, cu, 33, 33, causal=True
                ),
                lambda: door.flash_attn_with_kvcache(
                    one_query, pages, pages, cache_seqlens=used, page_table=table,
                    causal=True, num_splits=1,
                ),
                lambda: door.flash_attn_with_kvcache(
                    one_query, pages, pages, cache_seqlens=used, page_table=table,
                    causal=True, num_splits=4,
                ),
            )):  # fmt: skip
                with self.subTest(n):
                    kernels.kernels.clear()
                    launch.plans.clear()
                    self.assertIn(self.asked(call), listed)
            kernels.kernels.clear()


FIRST_CALL = """
import contextlib, os, sys, time
sys.path[:0] = {path!r}
import support, torch, fa3
from fa3.build import compiler
from fa3.kernels import compiled as kernels
from fa3.kernels.serving_spec import ServingBackwardSpec
from fa3.kernels.spec import BackwardSpec
compiler.set_compiler(None)  # which support has opened
q = torch.zeros(1, 4, 40, 64, dtype=torch.float16)
with support.fake_gpu():
    start = time.process_time()
    {call}
    spent = time.process_time() - start
    (kernel,) = kernels.kernels.values()
print(kernel.source, compiler._compiler is None, support.fake_driver().fakeCudaNumLaunches(),
      1e3 * spent, os.path.exists(os.environ["FA3_CACHE_DIR"]))
"""


@support.needs_interpreter
class BundleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        folder = pathlib.Path(cls.scratch.name)
        cls.spec, cls.folder = folder / "spec.json", folder / "bundle"
        cls.spec.write_text('[{"each": {"q_dtype": ["f16"], "head_dim": [64, 128]}}]')
        assert cls.warm()[0] == 0
        # One kernel less: a bundle holds what was asked for last.
        cls.spec.write_text(
            '[{"q_dtype": "f16", "head_dim": 64},'
            ' {"q_dtype": "f16", "head_dim": 64, "causal": true, "group": 2}]'
        )
        cls.made = cls.warm()

    @classmethod
    def warm(cls):
        try:
            return run("warm", "--spec", str(cls.spec), "--out", str(cls.folder),
                       "--ptx-version", "90")  # fmt: skip
        finally:
            driver.set_driver(None)

    def test_what_it_holds(self):
        code, text, _ = self.made
        self.assertEqual(code, 0)
        self.assertIn("2 kernels in", text)
        self.assertEqual(len(cache.Cache(self.folder).entries()), 2)
        index = json.loads((self.folder / "bundle.json").read_text())
        self.assertEqual((index["kernels"], index["ptx_versions"]), (2, [90]))
        library = compiler.get_compiler()
        self.assertEqual(index["build_id"], library.build_id)
        said = {key: compiler.GroupPlan(*one) for key, one in index["groups"].items()}
        self.assertEqual(said, {
            f"2 64 {int(masked)}": library.plan_group(2, 64, masked) for masked in (False, True)
        })  # fmt: skip

    def test_answers(self):
        """Of a bundle of this build; of libfa3 where there is none, once."""
        library = compiler.get_compiler()
        kept = cache.Cache(self.folder, read_only=True)
        self.addCleanup(driver.set_driver, None)
        self.addCleanup(answers._read_index.cache_clear)
        expected = library.plan_group(2, 64, True)
        self.assertTrue(expected.packs)
        for bundles, build, asked in (
            ([kept], library.build_id, 0), ([kept], "other", 1), ([], library.build_id, 1),
        ):  # fmt: skip
            driver.set_driver(driver.Driver(cache.Cache(None), bundles))
            with (
                mock.patch.object(library, "plan_group", wraps=library.plan_group) as plan,
                mock.patch.object(answers, "build_id", lambda build=build: build),
                mock.patch.dict(answers._groups, clear=True),
            ):  # fmt: skip
                for _ in range(2):
                    self.assertEqual(answers.of_group(2, 64, True), expected)
                self.assertEqual(plan.call_count, asked)

    def test_nobody_to_ask(self):
        """fa3-translate has no plans, nor has a library of before."""
        self.addCleanup(answers._warn.cache_clear)
        self.addCleanup(driver.set_driver, None)
        driver.set_driver(driver.Driver(cache.Cache(None), []))
        library = compiler.get_compiler()
        for made, why in (
            (compiler.Compiler(), "plans need libfa3.so"),
            (library, "libfa3.so is older than this package"),
        ):  # fmt: skip
            answers._warn.cache_clear()
            with (
                mock.patch.object(library, "_has_plans", False),
                mock.patch.object(answers, "get_compiler", lambda made=made: made),
                mock.patch.dict(answers._groups, clear=True),
                self.assertLogs("fa3", "WARNING") as said,
            ):  # fmt: skip
                self.assertFalse(answers.of_group(2, 64, True).packs)
                self.assertEqual(answers.count_parts(1, 1, 123456, 8, 2, 132, True), 1)
            self.assertEqual(len(said.output), 1)
            self.assertIn(why, said.output[0])
        self.assertEqual(answers.count_parts(1, 1, 123456, 8, 2, 132, True), 66)
        with self.assertRaisesRegex(ValueError, "no plan of group for heads 0, value_head_dim 64"):
            answers.of_group(0, 64, True)

    @support.needs_torch
    @support.needs_driver
    def test_gradients_of_any_length(self):
        """A bundle that has gradients for any length serves short ones, which would be
        compiled in their form; one that has these, too, says for which lengths they are."""
        library = compiler.get_compiler()
        below = library.plan_gradients(64, 64, True)
        any_length = '{"kernel": "backward", "q_dtype": "f16", "head_dim": 64, "causal": true}'
        short = any_length.replace("}", ', "backward_form": "split"}')
        q = torch.zeros(1, 2, 40, 64, dtype=torch.float16, requires_grad=True)
        self.addCleanup(driver.set_driver, None)
        self.addCleanup(answers._read_index.cache_clear)
        for listed, source, form, asked in (
            ([any_length], "bundle", "grads", 0), ([any_length, short], "bundle", "dkdv", 0),
            ([], "compiler", "dkdv", 1),
        ):  # fmt: skip
            with self.subTest(listed), tempfile.TemporaryDirectory() as folder:
                bundles = []
                if listed:
                    self.spec.write_text(f"[{', '.join(listed)}]")
                    run("warm", "--spec", str(self.spec), "--out", folder, "--ptx-version", "90")
                    index = json.loads((pathlib.Path(folder) / "bundle.json").read_text())
                    self.assertEqual(index["gradients"]["64 64 1 0"], below)
                    same = library.plan_gradients(64, 64, True, True)
                    self.assertEqual(index["gradients"]["64 64 1 1"], same)
                    bundles = [cache.Cache(pathlib.Path(folder), read_only=True)]
                with (
                    first_calls(bundles),
                    mock.patch.object(library, "plan_gradients", wraps=library.plan_gradients)
                    as plan, mock.patch.dict(answers._gradients, clear=True),
                ):  # fmt: skip
                    fa3.attention(q, q, q, causal=True).sum().backward()
                    (kernel,) = (
                        one for (spec, _), one in kernels.kernels.items()
                        if isinstance(spec, BackwardSpec)
                    )
                self.assertEqual(plan.call_count, asked)
                self.assertEqual(kernel.source, source)
                self.assertIn(
                    f"attention_backward_{form}",
                    [one["kernel"] for one in kernel.manifest["launches"]],
                )

    @support.needs_torch
    @support.needs_driver
    def test_gradients_of_packed_sequences(self):
        """Short ones, by their mean length, have the form of short gradients."""
        below = compiler.get_compiler().plan_gradients(64, 64, True)
        self.addCleanup(driver.set_driver, None)
        for lengths, form in (
            ((below - 1, below - 1), "dkdv"), ((below + 8, below - 8), "grads"), ((40,), "dkdv"),
        ):  # fmt: skip
            with self.subTest(lengths):
                driver.set_driver(driver.Driver(cache.Cache(None), []))
                kernels.kernels.clear()
                launch.plans.clear()
                q = torch.zeros(sum(lengths), 2, 64, dtype=torch.float16, requires_grad=True)
                starts = torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32)
                with (
                    support.fake_gpu(), mock.patch.dict(os.environ, FA3_PTX_VERSION="90"),
                    mock.patch.object(torch.cuda, "device", lambda _: contextlib.nullcontext()),
                    mock.patch.object(serving.call, "_sms", lambda _: 132),
                ):  # fmt: skip
                    flash_attn_interface.flash_attn_varlen_func(
                        q, q, q, starts, starts, max(lengths), max(lengths), causal=True
                    ).sum().backward()
                    (kernel,) = (
                        one for (spec, _), one in kernels.kernels.items()
                        if isinstance(spec, ServingBackwardSpec)
                    )
                self.assertIn(
                    f"attention_serving_backward_{form}",
                    [one["kernel"] for one in kernel.manifest["launches"]],
                )

    @support.needs_torch
    @support.needs_driver
    def test_first_call(self):
        """With an empty cache: the compiler is not opened, nothing is written, and it
        takes at most 100 ms of a processor, most of which loads modules (40 ms where
        nothing else runs; the driver's time is not in it). To compile takes 230."""
        path = [str(pathlib.Path(__file__).parent), str(support.ROOT / "python")]
        # What becomes of a group is an answer of the bundle.
        calls = ("fa3.attention(q, q, q)", "fa3.attention(q, q[:, :2], q[:, :2], causal=True)")
        times = []
        for n, call in enumerate(calls * 2):
            named = {
                **os.environ, "FA3_BUNDLE": str(self.folder), "FA3_PTX_VERSION": "90",
                "FA3_CACHE_DIR": f"{self.scratch.name}/empty{n}",
            }  # fmt: skip
            done = subprocess.run(
                [sys.executable, "-c", FIRST_CALL.format(path=path, call=call)], text=True,
                capture_output=True, check=False, env=named,
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            source, closed, launches, spent, written = done.stdout.split()
            self.assertEqual((source, closed, launches, written), ("bundle", "True", "1", "False"))
            times.append(float(spent))
        self.assertLess(min(times), 100.0)

    @support.needs_torch
    @support.needs_driver
    def test_any_group(self):
        """A bundle that has a kernel for any group serves calls with groups, which would
        be compiled for theirs."""
        q = torch.zeros(1, 4, 40, 64, dtype=torch.float16)
        self.spec.write_text('[{"q_dtype": "f16", "head_dim": 64, "causal": true}]')
        with tempfile.TemporaryDirectory() as folder:
            run("warm", "--spec", str(self.spec), "--out", folder, "--ptx-version", "90")
            self.addCleanup(driver.set_driver, None)
            for bundles, source, group in (
                ([cache.Cache(pathlib.Path(folder), read_only=True)], "bundle", False),
                ([], "compiler", True),
            ):  # fmt: skip
                with first_calls(bundles):
                    fa3.attention(q, q[:, :2], q[:, :2], causal=True)
                    (kernel,) = set(kernels.kernels.values())
                self.assertEqual(kernel.source, source)
                self.assertEqual("group 2" in kernel.text, group)
        kernels.kernels.clear()
        launch.plans.clear()

    def test_what_it_says(self):
        kept = cache.Cache(self.folder, read_only=True)
        build = compiler.get_compiler().build_id
        self.assertRegex(bundle.describe(kept, build, 90), r", 2 kernels, \d cubins$")
        self.assertIn("another build", bundle.describe(kept, "0", 90))
        self.assertIn(
            "not used: made for PTX 9.0, this driver has 8.4",
            bundle.describe(kept, build, 84),
        )
        with mock.patch.object(cache, "bundles", lambda: []):
            self.assertIn("none: every kernel is compiled", run("info")[1])
        with mock.patch.object(cache, "bundles", lambda: [kept]):
            self.assertIn(str(self.folder), run("info")[1])

    def test_folders(self):
        named = os.pathsep.join(["", str(self.folder), "/nonexistent"])
        with mock.patch.dict(os.environ, FA3_BUNDLE=named):
            self.assertEqual(cache.bundles()[-1].folder, self.folder)
            self.assertTrue(all(one.read_only for one in cache.bundles()))
        with mock.patch.dict(os.environ, FA3_BUNDLE="0"):
            self.assertEqual(cache.bundles(), [])

    def test_build_id_of_a_file(self):
        library = compiler.get_compiler()
        self.assertEqual(elf.build_id(library.path), library.build_id)
        damaged = self.folder.parent / "damaged.so"
        for content in (b"", b"\x7fELF\x02\x01" + b"\xff" * 200):
            damaged.write_bytes(content)
            self.assertEqual(elf.build_id(damaged), "")
        self.assertEqual(elf.build_id(self.folder / "none"), "")


if __name__ == "__main__":
    unittest.main()
