#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SGLang's own tests of its fa3 backend with this fa3 in its place, on one GPU.

    test/Engines/sglang_tests.py CHECKOUT [arguments of unittest]

CHECKOUT has SGLang's test/ (a clone of its repository at the version that is installed, or
that folder alone). Needed are sglang's Python files, whose wheel has the kits of these
tests, pydantic, msgspec, torch and transformers; no extensions, network or weights.

Runs test/registered/attention/unittest/dense/test_fa3.py: the registry's "fa3" creates the
backend of fa3.engines.sglang, and the factory's "fa3" those of drafts. A case that it refuses
by name (UnsupportedError) is counted as refused and is no failure."""

import argparse
import pathlib
import sys
import unittest

import stand_ins

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = "test/registered/attention/unittest/dense"

#: What SGLang imports and these tests do not call: they run without.
UNUSED = (
    "sgl_kernel", "starlette", "fastapi", "uvicorn", "zmq", "IPython", "compressed_tensors",
    "gguf", "openai", "partial_json_parser", "tvm_ffi", "setproctitle", "datasets",
)  # fmt: skip


class Result(unittest.TextTestResult):
    """Tells what is refused from what fails."""

    def __init__(self, *args, **named):
        super().__init__(*args, **named)
        self.refused = 0

    def addError(self, test, error):  # noqa: N802
        if self.is_refusal(error[1]):
            self.refused += 1
        else:
            super().addError(test, error)

    def addSubTest(self, test, subtest, error):  # noqa: N802
        if error is not None and self.is_refusal(error[1]):
            self.refused += 1
            error = None
        super().addSubTest(test, subtest, error)

    @staticmethod
    def is_refusal(error):
        from fa3.errors import UnsupportedError

        while error is not None:
            if isinstance(error, UnsupportedError):
                return True
            error = error.__cause__ or error.__context__
        return False


def hook_drafts():
    """The factory's "fa3" of drafting and of extension of drafts."""
    from sglang.srt.speculative.draft_utils import DraftBackendFactory

    create = DraftBackendFactory._create_backend

    def ours(factory, name, known, *args, **named):
        from fa3.engines.sglang import with_drafts

        def rename(factory, name, known, *args, **named):
            known = {**known, "fa3": known["fa3_compiler"]}
            return create(factory, name, known, *args, **named)

        return with_drafts(rename, factory, name, known, *args, **named)

    DraftBackendFactory._create_backend = ours


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkout", type=pathlib.Path)
    given, rest = parser.parse_known_args()
    finder = stand_ins.install(UNUSED)
    try:
        import fa3  # noqa: F401
    except ImportError:
        sys.path.insert(0, str(ROOT / "python"))
    import torch
    from sglang.srt.layers.attention import attention_registry

    def create(runner):
        from fa3.engines.sglang import Backend

        return Backend(runner)

    attention_registry.ATTENTION_BACKENDS["fa3"] = create
    hook_drafts()
    if "tvm_ffi" in finder.used:
        # Kernels that tvm_ffi would build: a cache is written by torch instead.
        from sglang.srt.mem_cache import memory_pool

        memory_pool.can_use_store_cache = lambda *args: False
    sys.path.insert(0, str(given.checkout / FOLDER))
    # Their caches are written by kernels that no gradient knows; torch's writes ask.
    with torch.no_grad():
        made = unittest.main(
            "test_fa3", argv=["test_fa3", *rest], exit=False,
            testRunner=unittest.TextTestRunner(resultclass=Result, verbosity=2),
        ).result  # fmt: skip
    wrong = len(made.failures) + len(made.errors)
    print(f"tests {made.testsRun}, refused {made.refused}, failed {wrong}")
    return 1 if wrong or not made.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
