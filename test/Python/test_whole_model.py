# SPDX-License-Identifier: Apache-2.0
"""A model of transformers, lowered by torch-mlir, compiled and run without Python."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import unittest

MODELS = pathlib.Path(__file__).resolve().parents[1] / "Embedding" / "models.py"
LIBRARY = os.environ.get("FA3_LIBRARY")


@unittest.skipUnless(
    LIBRARY and importlib.util.find_spec("torch_mlir"), "needs FA3_LIBRARY and torch-mlir"
)
class WholeModelTest(unittest.TestCase):
    def test_llama_gives_the_logits_of_torch(self):
        """Attention as loops and as kernels in the interpreter; both layers are causal."""
        build = pathlib.Path(LIBRARY).resolve().parents[1]
        command = [sys.executable, MODELS, "llama", "--build", build]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for way in ("definition", "kernels"):
            self.assertIn(f"llama, {way}: ", done.stdout)
        self.assertIn("2 attentions, 2 with masks by name, 1 kernels", done.stdout)


if __name__ == "__main__":
    unittest.main()
