# SPDX-License-Identifier: Apache-2.0
"""Several processes: torch's context_parallel and DTensor with fa3 behind
scaled_dot_product_attention, on CPUs, by the interpreter."""

import pathlib
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
        support.run_two_processes(self, SCRIPT)


if __name__ == "__main__":
    unittest.main()
