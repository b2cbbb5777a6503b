# SPDX-License-Identifier: Apache-2.0
"""The cache on disk: entries, damage, races, limits. Needs no compiler."""

import logging
import multiprocessing
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import support

from fa3 import cache, compiler, driver
from fa3.compiler import Code, CompileOptions, Compiler

MANIFEST = b'{"function": "f", "args": []}'


class CountingCompiler(Compiler):
    name, version, build_id = "counting", "0", "build"

    def __init__(self, log=None):
        self.count, self.log = 0, log

    def compile(self, text, options):
        self.count += 1
        if self.log:
            with open(self.log, "a") as file:
                file.write("compiled\n")
            time.sleep(0.1)
        return Code(text.encode() + b" as PTX", MANIFEST)


def compile_once(folder, log):
    compiler.set_compiler(CountingCompiler(log))
    made = driver.Driver(cache.Cache(folder), [])
    assert made.compile("text", CompileOptions()).ptx == "text as PTX"


class CacheTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name, "cache")
        self.compiler = CountingCompiler()
        compiler.set_compiler(self.compiler)
        self.addCleanup(compiler.set_compiler, None)

    def driver(self, variants=1, **options):
        folder = cache.Cache(self.folder, **options)
        return driver.Driver(folder, [], variants=variants)

    def test_first_call_compiles_one_kernel_for_all_lengths(self):
        pipelines = []
        compile_ = self.compiler.compile

        def spy(text, options):
            pipelines.append(options.pipeline)
            return compile_(text, options)

        self.compiler.compile = spy
        self.driver().compile("a", CompileOptions())
        self.driver().compile("a", CompileOptions(pipeline="variants=3"))
        every = driver.Driver(cache.Cache(None), [], variants=0)
        every.compile("a", CompileOptions())
        self.assertEqual(pipelines, ["variants=1", "variants=3", ""])

    def test_second_process_finds_it(self):
        first = self.driver().compile("a", CompileOptions())
        second = self.driver().compile("a", CompileOptions())
        self.assertEqual((first.source, second.source), ("compiler", "cache"))
        self.assertEqual(first.ptx, second.ptx)
        self.assertEqual(self.compiler.count, 1)

    def test_memory_comes_first(self):
        made = self.driver()
        kernel = made.compile("a", CompileOptions())
        self.assertIs(made.compile("a", CompileOptions()), kernel)

    def test_key_has_all_that_matters(self):
        base = cache.make_key("a", CompileOptions(), "build")
        self.assertEqual(len(base), 32)
        for text, options, build in (
            ("b", CompileOptions(), "build"),
            ("a", CompileOptions(pipeline="block-m=128"), "build"),
            ("a", CompileOptions(ptx_version=80), "build"),
            ("a", CompileOptions(), "other"),
        ):
            self.assertNotEqual(cache.make_key(text, options, build), base)
        # What does not change the kernel.
        same = CompileOptions(ptxas="/bin/ptxas", source_name="x")
        self.assertEqual(cache.make_key("a", same, "build"), base)

    def test_damaged_entry_is_replaced(self):
        key = self.driver().compile("a", CompileOptions()).key
        for damage in (
            lambda entry: (entry / "kernel.ptx").write_bytes(b"short"),
            lambda entry: (entry / "kernel.json").unlink(),
            lambda entry: (entry / "meta.json").write_text("{"),
            lambda entry: (entry / "meta.json").write_text("[]"),
        ):
            damage(self.folder / key)
            again = self.driver().compile("a", CompileOptions())
            self.assertEqual(again.source, "compiler")
            self.assertEqual(
                self.driver().compile("a", CompileOptions()).source, "cache"
            )

    def test_folder_that_cannot_be_written(self):
        self.folder.parent.mkdir(exist_ok=True)
        self.folder.write_text("a file")
        made = self.driver()
        with self.assertLogs("fa3", logging.WARNING) as logs:
            made.compile("a", CompileOptions())
            made.compile("b", CompileOptions())
        said = [line for line in logs.output if "memory only" in line]
        self.assertEqual(len(said), 1)

    def test_no_cache(self):
        with mock.patch.dict(os.environ, FA3_CACHE="0"):
            self.assertIsNone(cache.default_folder())
        made = driver.Driver(cache.Cache(None), [])
        self.assertEqual(made.compile("a", CompileOptions()).source, "compiler")

    def test_few_new_entries_look_at_many(self):
        made, code = cache.Cache(self.folder, limit=10000), Code(b"PTX", MANIFEST)
        counts = []
        with mock.patch.object(cache, "_FEW", 8), mock.patch.object(
            cache, "_size", side_effect=cache._size
        ) as size:
            for number in range(300):
                made.put(f"{number:032x}", code, "text")
                counts.append(len(made._folders()))
        # About 20 are within the limit; between two looks there may be more.
        self.assertGreater(max(counts), 20)
        self.assertLess(max(counts), 80)
        self.assertLess(size.call_count, 4000)

    def test_limit(self):
        made = self.driver(limit=1500)
        for number in range(5):
            made.compile("x" * 100 + str(number), CompileOptions())
            time.sleep(0.01)
        left = made.cache.entries()
        self.assertLess(len(left), 5)
        self.assertLessEqual(sum(entry.size for entry in left), 1500)
        # The one used last is there.
        again = self.driver().compile("x" * 100 + "4", CompileOptions())
        self.assertEqual(again.source, "cache")

    def test_list_and_clear(self):
        made = self.driver()
        made.compile("a", CompileOptions())
        (entry,) = made.cache.entries()
        self.assertEqual(entry.function, "f")
        self.assertEqual(made.cache.clear(), 1)
        self.assertEqual(made.cache.entries(), [])

    def test_bundle_comes_first_and_is_not_written(self):
        key = self.driver(variants=0).compile("a", CompileOptions()).key
        bundle = cache.Cache(self.folder, read_only=True)
        before = (self.folder / key / "meta.json").stat().st_mtime_ns
        made = driver.Driver(cache.Cache(self.folder / "none"), [bundle])
        self.assertEqual(made.compile("a", CompileOptions()).source, "bundle")
        made.compile("b", CompileOptions())
        self.assertEqual(len(bundle.entries()), 1)
        after = (self.folder / key / "meta.json").stat().st_mtime_ns
        self.assertEqual(before, after)

    def test_threads_compile_once(self):
        log = self.folder.parent / "log"
        self.compiler.log = str(log)
        made = self.driver()
        threads = [
            threading.Thread(target=made.compile, args=("a", CompileOptions()))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.compiler.count, 1)

    def test_processes_compile_once(self):
        log = str(self.folder.parent / "log")
        context = multiprocessing.get_context("fork")
        processes = [
            context.Process(target=compile_once, args=(self.folder, log))
            for _ in range(4)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
            self.assertEqual(process.exitcode, 0)
        self.assertEqual(pathlib.Path(log).read_text(), "compiled\n")


class DriverTest(unittest.TestCase):
    def test_ptx_version_of_a_driver(self):
        for version, expected in (
            (12000, 80), (12020, 82), (12060, 85), (12080, 87), (13000, 90), (13010, 90),
        ):  # fmt: skip
            self.assertEqual(driver.ptx_version_for(version), expected)
        with self.assertRaisesRegex(RuntimeError, "CUDA 11.8, fa3 needs"):
            driver.ptx_version_for(11080)

    def test_options(self):
        made = compiler.parse_options(
            {"block_m": 128, "warp_specialize": False, "chip": "sm_90a"}
        )
        self.assertEqual(made.pipeline, "block-m=128 warp-specialize=false")
        with self.assertRaisesRegex(ValueError, "option mode: no value"):
            compiler.parse_options({"mode": "cta}, other{"})

    def test_usage_of_ptxas(self):
        (usage,) = compiler.parse_usage(
            "ptxas info    : Compiling entry function 'f' for 'sm_90a'\n"
            "ptxas info    : Function properties for f\n"
            "    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n"
            "ptxas info    : Used 168 registers, used 16 barriers\n"
        )
        self.assertEqual(usage, compiler.KernelUsage("f", 168, 16, 8, 4))


@support.needs_interpreter
class BuildIdTest(unittest.TestCase):
    """A kernel of the cache, in a process that does not open libfa3.so."""

    SCRIPT = """
import sys
sys.path.insert(0, {path!r})
import fa3
kernel = fa3.attention_kernel("f16", 64, ptx_version=90)
print(kernel.source, fa3.compiler._compiler is None)
"""

    def test_cache_hit_does_not_open_the_compiler(self):
        library = pathlib.Path(compiler.get_compiler().path)
        script = self.SCRIPT.format(path=str(support.ROOT / "python"))
        with tempfile.TemporaryDirectory() as folder:
            mine = pathlib.Path(folder, "libfa3.so")
            shutil.copy(library, mine)
            named = {**os.environ, "FA3_CACHE_DIR": folder + "/cache",
                     "FA3_LIBRARY": str(mine)}  # fmt: skip

            def run():
                done = subprocess.run(
                    [sys.executable, "-c", script], capture_output=True, text=True,
                    check=False, env=named,
                )  # fmt: skip
                self.assertEqual(done.returncode, 0, done.stderr)
                return done.stdout.split()

            self.assertEqual(run(), ["compiler", "False"])
            self.assertEqual(run(), ["cache", "True"])
            # Another file with the same code.
            mine.unlink()
            shutil.copy(library, mine)
            self.assertEqual(run(), ["cache", "True"])


if __name__ == "__main__":
    unittest.main()
