#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SGLang's own tests of its fa3 backend with this fa3 in its place, on one GPU.

    test/Engines/sglang_tests.py CHECKOUT [arguments of unittest]

CHECKOUT has SGLang's test/ (a clone of its repository at the version that is installed, or
that folder alone). Needed are sglang, whose wheel has the kits of these tests, with what it
imports, and torch; no network and no weights.

Runs test/registered/attention/unittest/dense/test_fa3.py: the registry's "fa3" creates the
backend of fa3.engines.sglang. A case that it refuses by name (UnsupportedError: drafting,
extension of drafts) is counted as refused and is no failure."""

import argparse
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = "test/registered/attention/unittest/dense"


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkout", type=pathlib.Path)
    given, rest = parser.parse_known_args()
    try:
        import fa3  # noqa: F401
    except ImportError:
        sys.path.insert(0, str(ROOT / "python"))
    from sglang.srt.layers.attention import attention_registry

    def create(runner):
        from fa3.engines.sglang import Backend

        return Backend(runner)

    attention_registry.ATTENTION_BACKENDS["fa3"] = create
    sys.path.insert(0, str(given.checkout / FOLDER))
    made = unittest.main(
        "test_fa3", argv=["test_fa3", *rest], exit=False,
        testRunner=unittest.TextTestRunner(resultclass=Result, verbosity=2),
    ).result  # fmt: skip
    wrong = len(made.failures) + len(made.errors)
    print(f"tests {made.testsRun}, refused {made.refused}, failed {wrong}")
    return 1 if wrong or not made.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
