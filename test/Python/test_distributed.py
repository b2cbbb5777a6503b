# SPDX-License-Identifier: Apache-2.0
"""Several processes: torch's context_parallel and DTensor with fa3 behind
scaled_dot_product_attention, on CPUs, by the interpreter."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import support

if support.HAS_TORCH:
    import torch

HAS_ALL = support.HAS_TORCH and (
    torch.distributed.is_available() and hasattr(torch.library, "get_kernel")
)
SCRIPT = pathlib.Path(__file__).parent / "Inputs" / "distributed.py"


@support.needs_torch
@unittest.skipUnless(HAS_ALL, "needs torch.distributed and torch 2.9")
@support.needs_interpreter
class DistributedTest(unittest.TestCase):
    def test_ring_and_sharded(self):
        with tempfile.TemporaryDirectory() as folder:
            running = [
                subprocess.Popen(
                    [sys.executable, str(SCRIPT), str(rank), "2", f"{folder}/store"],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                )
                for rank in range(2)
            ]  # fmt: skip
            try:
                said = [one.communicate(timeout=300) for one in running]
            finally:
                for one in running:
                    one.kill()
            for one, (output, errors) in zip(running, said):
                self.assertEqual(one.returncode, 0, errors[-3000:])
                self.assertIn("ok ", output)


if __name__ == "__main__":
    unittest.main()
