# SPDX-License-Identifier: Apache-2.0
"""torch's kernels behind scaled_dot_product_attention, for tests of the switch."""

import unittest

import support

if support.HAS_TORCH:
    import torch

    from fa3 import sdpa

NAMES = ("flash", "cudnn", "efficient")


class SwitchCase(unittest.TestCase):
    """The switch on the CPU, in front of kernels that say that they ran: `calls`."""

    def setUp(self):
        torch.manual_seed(0)
        self.calls = []
        stubs = torch.library.Library("aten", "IMPL")
        for name in NAMES:
            for kind in ("", "_backward"):
                stubs.impl(
                    f"_scaled_dot_product_{name}_attention{kind}",
                    self.stub(name + kind), "CPU",
                )  # fmt: skip
        self.addCleanup(stubs._destroy)
        sdpa.report(reset=True)
        self.switch = sdpa._Switch(False, "CPU", interpret=True)
        self.addCleanup(self.switch.remove)

    def stub(self, name):
        """A kernel of torch that says that it ran: outputs are 7."""

        def run(*args, **named):
            self.calls.append(name)
            if name.endswith("backward"):
                first = 1
                made = [torch.full_like(one, 7) for one in args[first : first + 3]]
                return (*made, None) if "efficient" in name else tuple(made)
            q = args[0]
            o, lse = torch.full_like(q, 7), q.new_zeros(q.shape[:3], dtype=torch.float32)
            state = torch.zeros((), dtype=torch.int64)
            if name == "efficient":
                return o, lse, state, state
            return o, lse, None, None, q.shape[2], args[1].shape[2], state, state, None

        return run
