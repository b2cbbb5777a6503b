# SPDX-License-Identifier: Apache-2.0
"""Time of calls on the device.

single: the device idles before each call, so that its clock stays at the
maximum; the launch itself is hidden behind a kernel that spins, whose length in
cycles also tells the clock. burst: calls back to back. Both write the L2 cache
over before each call.
"""

import dataclasses
import statistics
import time

import torch

_SPIN = 3_000_000  # cycles, about 1.5 ms
_flushed = None


@dataclasses.dataclass
class Time:
    ms: float  # median
    low: float
    high: float
    mhz: float = 0.0  # clock of the multiprocessors, 0 if not measured

    @property
    def cycles(self):
        return self.ms * self.mhz * 1e3

    def tflops(self, flops):
        return flops / self.ms / 1e9


def _flush():
    global _flushed
    if _flushed is None:
        _flushed = torch.empty(64 << 20, dtype=torch.int32, device="cuda")
    _flushed.zero_()


def _events(count):
    return [torch.cuda.Event(enable_timing=True) for _ in range(count)]


def _summary(times, mhz=0.0):
    return Time(statistics.median(times), min(times), max(times), mhz)


def single(call, iterations=11, gap=0.012):
    """Calls one at a time at full clock, after two that are not counted."""
    call()
    torch.cuda.synchronize()
    times, clocks = [], []
    for number in range(iterations + 2):
        time.sleep(gap)
        _flush()
        begin, start, end = _events(3)
        # The first spin hides the launch of the second.
        torch.cuda._sleep(_SPIN // 10)
        begin.record()
        torch.cuda._sleep(_SPIN)
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        if number >= 2:
            times.append(start.elapsed_time(end))
            clocks.append(_SPIN / begin.elapsed_time(start) / 1e3)
    return _summary(times, statistics.median(clocks))


def burst(call, iterations=20):
    """Calls back to back, after three that are not counted."""
    for _ in range(3):
        call()
    pairs = [_events(2) for _ in range(iterations)]
    for start, end in pairs:
        _flush()
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return _summary([start.elapsed_time(end) for start, end in pairs])


MODES = {"single": single, "burst": burst}
