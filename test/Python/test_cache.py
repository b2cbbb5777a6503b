# SPDX-License-Identifier: Apache-2.0
"""The cache on disk: entries, damage, races, limits. Needs no compiler."""

import logging
import multiprocessing
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import support

from fa3 import errors
from fa3.build import cache, compiler, driver
from fa3.build.compiler import Code, CompileOptions, Compiler

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
            self.assertEqual(self.driver().compile("a", CompileOptions()).source, "cache")

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
        with (
            mock.patch.object(cache, "_FEW", 8),
            mock.patch.object(cache, "_size", side_effect=cache._size) as size,
        ):
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
            threading.Thread(target=made.compile, args=("a", CompileOptions())) for _ in range(4)
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
            context.Process(target=compile_once, args=(self.folder, log)) for _ in range(4)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
            self.assertEqual(process.exitcode, 0)
        self.assertEqual(pathlib.Path(log).read_text(), "compiled\n")


class FolderTest(unittest.TestCase):
    """What is loaded, written and removed, where others have been at the folder."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.folder = self.scratch / "above" / "cache"
        self.code = Code(b"PTX", MANIFEST)
        self.key = f"{1:032x}"

    def made(self, **named):
        one = cache.Cache(self.folder, **named)
        one.put(self.key, self.code, "text")
        return one

    def refused(self, why, made=None):
        """Nothing is loaded, and a warning says why."""
        with self.assertLogs("fa3", logging.WARNING) as logs:
            self.assertIsNone((made or cache.Cache(self.folder)).get(self.key))
        self.assertIn(why, "\n".join(logs.output))

    def mode(self, path):
        return path.stat().st_mode & 0o777

    def test_modes_do_not_depend_on_the_umask(self):
        for mask in (0, 0o077):
            before = os.umask(mask)
            try:
                made = self.made()
                with made.lock(self.key):
                    self.assertEqual(self.mode(self.folder / "locks"), 0o700)
                    self.assertEqual(self.mode(self.folder / "locks" / self.key), 0o600)
            finally:
                os.umask(before)
            for path in (self.folder.parent, self.folder, self.folder / self.key):
                self.assertEqual(self.mode(path), 0o700, path)
            for path in (self.folder / self.key).iterdir():
                self.assertEqual(self.mode(path), 0o600, path)
            self.assertEqual(made.get(self.key), self.code)
            shutil.rmtree(self.folder.parent)

    def test_bundles_can_be_read_by_others(self):
        self.made(shared=True)
        self.assertEqual(self.mode(self.folder), 0o755)
        self.assertEqual(self.mode(self.folder / self.key), 0o755)
        self.assertEqual(self.mode(self.folder / self.key / "kernel.ptx"), 0o644)

    def test_what_others_may_write_is_not_loaded(self):
        for path in (".", self.key, f"{self.key}/kernel.ptx", f"{self.key}/meta.json"):
            for more in (0o002, 0o020):
                self.made()
                path = self.folder / path
                path.chmod(self.mode(path) | more)
                self.refused("may be written by others: mode")
                self.refused("may be written", cache.Cache(self.folder, read_only=True))
                path.chmod(self.mode(path) & ~more)
                self.assertEqual(cache.Cache(self.folder).get(self.key), self.code)
        self.folder.chmod(0o777)
        made = cache.Cache(self.folder)
        with self.assertLogs("fa3", logging.WARNING) as logs:
            made.put(f"{2:032x}", self.code, "text")
        self.assertIn("memory only", logs.output[0])
        self.assertEqual([one.name for one in self.folder.iterdir()], [self.key])

    def test_what_others_own_is_not_loaded(self):
        if os.geteuid() != 0:  # who cannot give files away is somebody else
            self.made()
            with mock.patch.object(os, "geteuid", return_value=os.geteuid() + 1):
                self.refused(f"belongs to user {os.getuid()}")
            return
        for path in (".", self.key, f"{self.key}/kernel.cubin", f"{self.key}/meta.json"):
            self.code = Code(b"PTX", MANIFEST, b"cubin")
            self.made()
            path = self.folder / path
            os.chown(path, 1234, -1)
            self.refused("belongs to user 1234")
            cache.Cache(self.folder).clear()
            self.assertTrue(path.exists())
            self.assertIsNotNone(
                cache.Cache(self.folder, read_only=True, trusted=True).get(self.key)
            )
            os.chown(path, 0, -1)
        link = self.scratch / "link"
        link.symlink_to(self.folder)
        self.assertEqual(cache.Cache(link).get(self.key), self.code)
        os.chown(link, 1234, -1, follow_symlinks=False)
        self.refused("is a link of user 1234", cache.Cache(link))

    def test_links_are_not_followed(self):
        target = self.scratch / "precious"
        target.write_text("precious")
        made = self.made()
        locks = self.folder / "locks"
        locks.mkdir(mode=0o700)
        (locks / self.key).symlink_to(target)
        with self.assertLogs("fa3", logging.WARNING), made.lock(self.key):
            pass
        self.assertEqual(target.read_text(), "precious")
        shutil.rmtree(locks)
        elsewhere = self.scratch / "elsewhere"
        elsewhere.mkdir(mode=0o700)
        locks.symlink_to(elsewhere)
        with self.assertLogs("fa3", logging.WARNING), cache.Cache(self.folder).lock("a"):
            pass
        self.assertEqual(list(elsewhere.iterdir()), [])
        (self.folder / self.key).rename(self.scratch / self.key)
        (self.folder / self.key).symlink_to(self.scratch / self.key)
        self.refused("")
        self.assertEqual(made.clear(), 0)
        self.assertTrue((self.scratch / self.key / "kernel.ptx").exists())
        (self.folder / self.key).unlink()
        self.made()
        code = self.folder / self.key / "kernel.ptx"
        code.rename(self.scratch / "kernel.ptx")
        code.symlink_to(self.scratch / "kernel.ptx")
        self.refused("")

    def test_pipes_are_not_waited_for(self):
        self.made()
        for name in ("kernel.ptx", "meta.json"):
            path = self.folder / self.key / name
            path.unlink()
            os.mkfifo(path, 0o600)
            self.refused("is no file")

    def test_entries_hold_their_key(self):
        self.made()
        other = f"{2:032x}"
        shutil.copytree(self.folder / self.key, self.folder / other)
        with self.assertLogs("fa3", logging.WARNING) as logs:
            self.assertIsNone(cache.Cache(self.folder).get(other))
        self.assertIn(f"it is the entry {self.key}", logs.output[0])
        cache.Cache(self.folder).put(other, self.code, "text")
        self.assertEqual(cache.Cache(self.folder).get(other), self.code)

    def test_clear_removes_nothing_of_others(self):
        self.made()
        kept = {
            "x" * 32: {"a": "text"}, f"{5:032x}": {"notes.txt": "text"},
            f"{6:032x}": {"kernel.ptx": "text", "mine": "text"}, f"{7:032x}": {},
            f"{8:032x}": {"meta.json": "{}"}, "project": {"kernel.ptx": "text"},
            ".new-folder": {"kernel.ptx": ""}, ".old-12345678": {"mine": ""},
        }  # fmt: skip
        for name, files in kept.items():
            (self.folder / name).mkdir(mode=0o700)
            for file, text in files.items():
                (self.folder / name / file).write_text(text)
        (self.folder / f"{9:032x}").write_text("a file")
        damaged = self.folder / f"{3:032x}"
        damaged.mkdir(mode=0o700)
        (damaged / "kernel.ptx").write_text("PTX")
        (damaged / "meta.json").write_text("{")
        made = cache.Cache(self.folder)
        self.assertEqual(made.clear(), 2)
        self.assertEqual(
            sorted(one.name for one in self.folder.iterdir()),
            sorted([*kept, f"{9:032x}"]),
        )
        for name, files in kept.items():
            self.assertEqual(sorted(os.listdir(self.folder / name)), sorted(files))
        # Nor does an entry take the place of another's folder.
        with self.assertLogs("fa3", logging.WARNING):
            made.put(f"{6:032x}", self.code, "text")
        self.assertTrue((self.folder / f"{6:032x}" / "mine").exists())

    def test_what_is_left_is_swept(self):
        made = self.made()
        old = time.time() - 7200
        locks = self.folder / "locks"
        for name in (".new-abcdefgh", ".old-0_1234ab"):
            (self.folder / name).mkdir(mode=0o700)
            (self.folder / name / "kernel.ptx").write_text("PTX")
        locks.mkdir(mode=0o700)
        for number in (7, 8):
            (locks / f"{number:032x}").touch(0o600)
        (locks / "other").touch()
        made.put(f"{2:032x}", self.code, "text")  # they are young
        self.assertEqual(len(list(locks.iterdir())), 3)
        for path in (*self.folder.glob(".*"), *locks.iterdir()):
            os.utime(path, (old, old))
        with cache.Cache(self.folder).lock(f"{8:032x}"):
            os.utime(locks / f"{8:032x}", (old, old))
            made.put(f"{3:032x}", self.code, "text")
            self.assertEqual(list(self.folder.glob(".*")), [])
            # One that is held stays.
            left = {one.name for one in locks.iterdir()}
            self.assertEqual(left, {"other", f"{8:032x}"})
        self.assertEqual({one.name for one in locks.iterdir()}, {"other"})

    def test_names_of_settings(self):
        for name, value, call in (
            ("FA3_CACHE_SIZE", "1G", lambda: cache.Cache(None)),
            ("FA3_CACHE_SIZE", "-1", lambda: cache.Cache(None)),
            ("FA3_CACHE", "no", cache.default_folder),
            ("FA3_PTX_VERSION", "8.0", driver.default_ptx_version.__wrapped__),
            ("FA3_PTX_VERSION", "8", driver.default_ptx_version.__wrapped__),
            ("FA3_PTXAS", "/no/such/ptxas", driver.find_ptxas.__wrapped__),
        ):
            with (
                mock.patch.dict(os.environ, {name: value}),
                self.assertRaisesRegex(errors.SettingError, f"{name}: '{value}'"),
            ):
                call()
        with mock.patch.dict(os.environ, FA3_CACHE_SIZE="10", FA3_PTX_VERSION="80"):
            self.assertEqual(cache.Cache(None).limit, 10)
            self.assertEqual(driver.default_ptx_version.__wrapped__(), 80)
        with mock.patch.dict(os.environ, FA3_BUNDLE="/no/such/folder"):
            with self.assertLogs("fa3", logging.WARNING) as logs:
                cache.bundles()
        self.assertIn("FA3_BUNDLE: /no/such/folder is no folder", logs.output[0])

    def test_variables_are_documented(self):
        package = support.ROOT / "python"
        used = set()
        for path in package.rglob("*.py"):
            used |= set(re.findall(r'"((?:FA3|XDG)_[A-Z_]+|CUDA_HOME)"', path.read_text()))
        manual = (support.ROOT / "docs" / "Python.md").read_text()
        security = (support.ROOT / "SECURITY.md").read_text()
        plain = {"FA3_CACHE", "FA3_CACHE_SIZE", "FA3_LOG", "FA3_NATIVE", "FA3_PTX_VERSION"}
        self.assertIn("FA3_BUNDLE", used)
        self.assertLess(plain, used)
        for name in used:
            self.assertIn(name, manual)
            if name not in plain:  # names code, or a folder that code is loaded from
                self.assertIn(f"`{name}`", security)


class DriverTest(unittest.TestCase):
    def test_ptx_version_of_a_driver(self):
        for version, expected in (
            (12000, 80), (12020, 82), (12060, 85), (12080, 87), (13000, 90), (13010, 90),
        ):  # fmt: skip
            self.assertEqual(driver.ptx_version_for(version), expected)
        with self.assertRaisesRegex(RuntimeError, "CUDA 11.8, fa3 needs"):
            driver.ptx_version_for(11080)

    def test_options(self):
        made = compiler.parse_options({"block_m": 128, "warp_specialize": False, "chip": "sm_90a"})
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
print(kernel.source, fa3.build.compiler._compiler is None)
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
