# SPDX-License-Identifier: Apache-2.0
"""A few programs of test/Fuzz/imports.py, as torch-mlir and JAX print them: what is
converted gives what the program says."""

import os
import pathlib
import sys
import unittest

import support

sys.path.insert(0, str(support.ROOT / "test" / "Fuzz"))
TOOLS = pathlib.Path(os.environ.get("FA3_LIBRARY", "/none/lib")).parent.parent / "bin"


def has(*names):
    return all(support.importlib.util.find_spec(name) for name in names)


@unittest.skipUnless(has("torch", "torch_mlir", "jax"), "needs torch, torch-mlir and JAX")
@unittest.skipUnless((TOOLS / "fa3-opt").exists(), "needs fa3-opt beside FA3_LIBRARY")
class ImportsTest(unittest.TestCase):
    def test_programs(self):
        import imports

        wrong = []
        counts, _ = imports.run_all(
            TOOLS, range(5), seed=29, say=lambda *words, **_: wrong.append(" ".join(words))
        )
        self.assertEqual(wrong, [])
        for form in imports.FORMS:
            self.assertGreaterEqual(counts[form, "right"], 2, dict(counts))


if __name__ == "__main__":
    unittest.main()
