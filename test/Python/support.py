# SPDX-License-Identifier: Apache-2.0
"""What the tests of the package share: where things are, and a GPU that is not
there: tensors in host memory that say they are on device 0, and the fake driver,
which records launches. With this imported, what is interpreted is compiled for a
GPU, too."""

import contextlib
import ctypes
import dataclasses
import importlib.util
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

HAS_TORCH = importlib.util.find_spec("torch") is not None
needs_torch = unittest.skipUnless(HAS_TORCH, "needs torch")
needs_jax = unittest.skipUnless(importlib.util.find_spec("jax"), "needs JAX")
needs_driver = unittest.skipUnless(
    "fake" in os.environ.get("FA3_LIBCUDA", ""), "needs FA3_LIBCUDA, the fake driver"
)


def run_two_processes(case, script, timeout=400):
    """Runs SCRIPT RANK 2 STORE for both ranks; each has to say ok."""
    with tempfile.TemporaryDirectory() as folder:
        running = [
            subprocess.Popen(
                [sys.executable, str(script), str(rank), "2", f"{folder}/store"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for rank in range(2)
        ]  # fmt: skip
        try:
            said = [one.communicate(timeout=timeout) for one in running]
        finally:
            for one in running:
                one.kill()
        for one, (output, errors) in zip(running, said):
            case.assertEqual(one.returncode, 0, errors[-3000:])
            case.assertIn("ok ", output)


def least_seconds(action, calls, limit, rounds=200):
    """The least processor time of one of `calls` calls, in seconds. What else the
    machine does makes some rounds longer, never all: one below `limit` is enough."""
    least = math.inf
    for _ in range(rounds):
        start = time.thread_time()
        for _ in range(calls):
            action()
        least = min(least, (time.thread_time() - start) / calls)
        if least < limit:
            break
    return least


def has_compiler():
    from fa3 import errors
    from fa3.build import compiler

    try:
        compiler.get_compiler()
    except errors.CompilerNotFoundError:
        return False
    return True


needs_compiler = unittest.skipUnless(has_compiler(), "needs a compiler")


def has_interpreter():
    from fa3.build import compiler

    return has_compiler() and hasattr(compiler.get_compiler(), "_c")


needs_interpreter = unittest.skipUnless(has_interpreter(), "needs libfa3.so")


_compiled = set()
_only_interpreted = False


def compile_too(compiler):
    """What the interpreter has run is compiled to PTX, too, once: a GPU gets another
    pipeline than the CPU."""
    real = type(compiler).interpret

    def interpret(self, text, args, options, stage=None):
        real(self, text, args, options, stage)
        if (text, options) not in _compiled and not _only_interpreted:
            _compiled.add((text, options))
            compile_for_gpu(text, options)

    type(compiler).interpret = interpret


def compile_for_gpu(text, options):
    """As fa3.kernels.compiled and its kin ask for it, without ptxas."""
    from fa3.build import driver

    pipeline = options.pipeline
    if "attention.forward" in text and "mask_mod (" in text:
        pipeline += " edges=together"
    return driver.get_driver().compile(
        text,
        dataclasses.replace(
            options, pipeline=pipeline.strip(), ptx_version=driver.default_ptx_version()
        ),
    )


@contextlib.contextmanager
def only_interpreted():
    """For many kernels of kinds that other tests compile."""
    global _only_interpreted
    _only_interpreted = True
    try:
        yield
    finally:
        _only_interpreted = False


if has_interpreter():
    from fa3.build import compiler as _module

    compile_too(_module.get_compiler())


def real_view(name, value, stream=None):
    """tensors.view as it is without fake_gpu()."""
    return _VIEW(name, value, stream)


from fa3.support.tensors import view as _VIEW  # noqa: E402


class FakeLaunch(ctypes.Structure):
    _fields_ = [
        ("kernel", ctypes.c_char * 64),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("smem", ctypes.c_uint32),
        ("max_smem", ctypes.c_uint32),
        ("cluster", ctypes.c_uint32),
        ("early", ctypes.c_uint32),
        ("num_params", ctypes.c_uint32),
        ("stream", ctypes.c_uint64),
        ("context", ctypes.c_uint64),
        ("params", ctypes.c_uint64 * 64),
    ]


def fake_driver():
    fake = ctypes.CDLL(os.environ["FA3_LIBCUDA"])
    fake.fakeCudaLaunch.restype = ctypes.POINTER(FakeLaunch)
    fake.fakeCudaLaunch.argtypes = [ctypes.c_size_t]
    fake.fakeCudaNumLaunches.restype = ctypes.c_size_t
    return fake


def plans(kind):
    """Those whose keys begin so."""
    from fa3.calls import launch

    return {key: one for key, one in launch.plans.items() if key[0] == kind}


def kernels():
    """Those without options of their own."""
    from fa3.kernels import compiled

    return [one for (_, given), one in compiled.kernels.items() if not given]


@contextlib.contextmanager
def fake_gpu():
    """Torch tensors in host memory count as on device 0, streams are 77."""
    import torch

    from fa3.calls import launch
    from fa3.kernels import compiled as kernels
    from fa3.support import tensors

    real = real_view

    def view(name, value, stream=None):
        one = real(name, value, stream)
        return tensors.View(one.address, one.type, one.shape, one.strides, 0)

    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(tensors, "view", view))
        for name, result in (
            ("_cuda_getCurrentRawStream", 77), ("_cuda_getDevice", 0),
        ):  # fmt: skip
            stack.enter_context(
                mock.patch.object(
                    torch._C, name, lambda *_, _result=result: _result, create=True
                )
            )
        launch.plans.clear()
        kernels.wait()
        kernels.kernels.clear()
        yield
        launch.plans.clear()
        kernels.wait()
        kernels.kernels.clear()
