# SPDX-License-Identifier: Apache-2.0
"""Time of calls on a hot card: back to back for seconds."""

from __future__ import annotations

import dataclasses
import statistics
import time

import torch

from fa3_device import timing

from .power import Meter

_PORTION = 0.04  # seconds of work that are launched at a time


@dataclasses.dataclass
class Sustained(timing.Time):
    watts: float = 0.0


def _events(count):
    return [torch.cuda.Event(enable_timing=True) for _ in range(count)]


def sustained(call, seconds: float = 2.0) -> Sustained:
    """Mean of all calls; median clock and power of the second half, as the
    meter of the card averages over the time before."""
    properties = torch.cuda.get_device_properties(0)
    meter = Meter(str(properties.uuid))
    start, end = _events(2)
    call()
    start.record()
    call()
    end.record()
    torch.cuda.synchronize()
    portion = max(int(_PORTION * 1e3 / start.elapsed_time(end)), 1)
    begin = time.monotonic()
    marks, readings = _events(1), []
    marks[0].record()
    while time.monotonic() - begin < seconds:
        for _ in range(portion):
            call()
        marks += _events(1)
        marks[-1].record()
        # One portion is always waiting behind the one that runs.
        if len(marks) > 2:
            marks[-2].synchronize()
            if time.monotonic() - begin > seconds / 2:
                readings.append(meter.read())
    torch.cuda.synchronize()
    times = [
        a.elapsed_time(b) / portion for a, b in zip(marks[:-1], marks[1:])
    ]
    readings = [r for r in readings if r]
    clock = watts = 0.0
    if readings:
        clock = statistics.median(r[0] for r in readings)
        watts = statistics.median(r[1] for r in readings)
    mean = marks[0].elapsed_time(marks[-1]) / (portion * len(times))
    return Sustained(mean, min(times), max(times), clock, watts)
