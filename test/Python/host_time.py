#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Host time of calls without a GPU: tensors in host memory, launches by the fake driver.
Numbers mean something beside each other, and beside those of another commit.

    FA3_LIBCUDA=.. FA3_LIBRARY=.. FA3_RUNTIME_LIBRARY=.. test/Python/host_time.py

`--profile NAME` prints where a call's time goes."""

import argparse
import contextlib
import cProfile
import pstats
import sys
from unittest import mock

import support
import torch
from switch_case import NAMES

sys.path.insert(0, str(support.ROOT / "test" / "Device"))

from fa3_door import host  # noqa: E402

from fa3 import sdpa, serving  # noqa: E402

CUDNN = torch.ops.aten._scaled_dot_product_cudnn_attention


class Whole:
    """scaled_dot_product_attention as torch has it on a Hopper, where cuDNN is chosen."""

    @staticmethod
    def call_boxed(keys, q, k, v, mask, dropout, causal, *, scale, enable_gqa):
        grads = torch.is_grad_enabled() and q.requires_grad
        return CUDNN(q, k, v, mask, grads, dropout, causal, scale=scale)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--profile")
    options = parser.parse_args()
    stubs = torch.library.Library("aten", "IMPL")
    for name in NAMES:
        for kind in ("", "_backward"):
            stubs.impl(
                f"_scaled_dot_product_{name}_attention{kind}", lambda *_: None, "CPU"
            )
    device = mock.patch.object(torch.cuda, "device", contextlib.nullcontext)
    sms = mock.patch.object(serving.call, "_sms", lambda device: 132)
    with support.fake_gpu(), device, sms:
        switch = sdpa._Switch(True, "CPU")
        try:
            switch.whole = Whole
            all = {n: one for n, one in host.cases("cpu").items() if "sdpa" not in n}
            all |= host.switched("cpu")
            for name, (call, before) in all.items():
                if options.profile in (None, name):
                    print(f"{name:24} {host.median(call, before=before):8.1f} us", flush=True)
            if options.profile:
                call, before = all[options.profile]
                given = [before() for _ in range(2000)]
                profile = cProfile.Profile()
                profile.enable()
                for one in given:
                    call(*one)
                profile.disable()
                pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        finally:
            switch.remove()


if __name__ == "__main__":
    main()
