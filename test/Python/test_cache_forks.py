# SPDX-License-Identifier: Apache-2.0
"""The cache on disk and locks in a child that is forked. Needs no compiler."""

import os
import pathlib
import tempfile
import threading
import time
import unittest

from test_cache import CountingCompiler

from fa3.build import cache, compiler, driver
from fa3.build.compiler import CompileOptions


@unittest.skipUnless(hasattr(os, "fork"), "needs fork")
class ForkTest(unittest.TestCase):
    """A child that is forked while its parent compiles."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name, "cache")
        self.addCleanup(compiler.set_compiler, None)
        self.inside, self.go_on = threading.Event(), threading.Event()
        waiting = self

        class Slow(CountingCompiler):
            def compile(self, text, options):
                waiting.inside.set()
                waiting.go_on.wait(20)
                return super().compile(text, options)

        compiler.set_compiler(Slow())

    def fork(self, run):
        """The exit code of a child, which has 20 s; -9 if it hangs."""
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = run()
            finally:
                os._exit(code)
        return child

    def wait(self, child, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        os.kill(child, 9)
        os.waitpid(child, 0)
        return "hangs"

    def parent(self, made):
        thread = threading.Thread(target=made.compile, args=("a", CompileOptions()))
        thread.start()
        self.assertTrue(self.inside.wait(20))
        return thread

    def test_child_asks_for_what_its_parent_compiles(self):
        for folder in (self.folder, None):
            self.inside.clear()
            self.go_on.clear()
            made = driver.Driver(cache.Cache(folder), [])
            thread = self.parent(made)

            def run(made=made):
                compiler.set_compiler(CountingCompiler())
                kernel = made.compile("a", CompileOptions())
                return 10 + ("compiler", "cache").index(kernel.source)

            child = self.fork(run)
            time.sleep(0.1)
            self.go_on.set()
            thread.join()
            self.assertEqual(self.wait(child), 10 if folder is None else 11)

    def test_child_does_not_keep_the_lock(self):
        made = driver.Driver(cache.Cache(self.folder), [])
        thread = self.parent(made)
        child = self.fork(lambda: time.sleep(30) or 0)
        self.addCleanup(self.wait, child, 0)
        self.go_on.set()
        thread.join()
        # Neither after its parent has gone on ...
        start = time.monotonic()
        kernel = made.compile("a", CompileOptions())
        with cache.Cache(self.folder).lock(kernel.key):
            self.assertLess(time.monotonic() - start, 5)

    def test_lock_of_a_parent_that_died(self):
        # ... nor after it has died with the lock.
        reader, writer = os.pipe()

        def parent():
            held = cache.Cache(self.folder).lock(self.id_of_key)
            held.__enter__()
            if os.fork() == 0:
                os.write(writer, b"%d\n" % os.getpid())
                time.sleep(30)
                os._exit(0)
            time.sleep(0.2)
            return 5

        self.id_of_key = f"{1:032x}"
        self.assertEqual(self.wait(self.fork(parent)), 5)
        grandchild = int(os.read(reader, 20))
        self.addCleanup(os.kill, grandchild, 9)
        start = time.monotonic()
        with cache.Cache(self.folder).lock(self.id_of_key):
            self.assertLess(time.monotonic() - start, 5)

    def test_locks_of_modules(self):
        for lock in (driver._lock, compiler._lock):
            with lock:
                child = self.fork(lambda lock=lock: 0 if lock.acquire(timeout=5) else 3)
                self.assertEqual(self.wait(child), 0)


if __name__ == "__main__":
    unittest.main()
