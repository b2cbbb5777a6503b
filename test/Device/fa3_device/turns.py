# SPDX-License-Identifier: Apache-2.0
"""Times of calls that are compared: by turns, so that a chip that gets hot is for all of
them alike. One after the other the same call has differed by 14 %."""

import torch


def times_of(calls, repeats=21):
    """Medians of captured calls by turns, each with a cold cache; milliseconds."""
    graphs = []
    for call in calls:
        for _ in range(2):
            call()
        graphs.append(torch.cuda.CUDAGraph())
        with torch.cuda.graph(graphs[-1]):
            call()
    cold = torch.empty(1 << 27, dtype=torch.uint8, device="cuda")
    times = [[] for _ in graphs]
    for _ in range(repeats):
        for graph, taken in zip(graphs, times):
            cold.zero_()
            a, b = (torch.cuda.Event(enable_timing=True) for _ in "ab")
            a.record()
            graph.replay()
            b.record()
            torch.cuda.synchronize()
            taken.append(a.elapsed_time(b))
    return [sorted(taken)[repeats // 2] for taken in times]
