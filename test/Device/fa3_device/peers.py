# SPDX-License-Identifier: Apache-2.0
"""Other implementations, timed in the same process.

A peer file is a Python file with a class `Reference(name)` for each
`name.json` beside it: `cfg` has the entries `d`, `causal` and `fp8`, and
`bind(q, k, v, o)` gives a function that launches on torch's current stream.
Tensors are (batch, sequence, head, element) in fp16. Kernels of 8-bit operands
(`fp8`) take e4m3 without scales, k with heads in memory before rows and v
transposed, (batch, head, element, sequence).
"""

import importlib.util
import pathlib

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel


def sdpa(backend, q, k, v, causal):
    """A call of torch's attention on (batch, sequence, head, element); several
    query heads may share a key head."""
    grouped = q.shape[2] != k.shape[2]
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))

    def call():
        with sdpa_kernel(backend), torch.no_grad():
            return torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=causal, enable_gqa=grouped
            ).transpose(1, 2)

    return call


BACKENDS = {
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "fa2": SDPBackend.FLASH_ATTENTION,
}


class Kernels:
    """Those of one peer file for one head dim, mask and width of operands."""

    def __init__(self, path, names, d, causal, float8=False):
        self.references = {}
        if not path:
            return
        path = pathlib.Path(path)
        spec = importlib.util.spec_from_file_location("fa3_peer", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        names = names or sorted(p.stem for p in path.parent.glob("*.json"))
        for name in names:
            reference = module.Reference(name)
            cfg = reference.cfg
            kind = (cfg["d"], cfg["causal"], bool(cfg.get("fp8")))
            if kind == (d, causal, float8):
                self.references[name] = reference

    def calls(self, q, k, v):
        """A function for each kernel that runs it and gives its output."""
        calls = {}
        for name, reference in self.references.items():
            o = torch.full_like(q, torch.nan)
            launch = reference.bind(q, k, v, o)

            def call(launch=launch, o=o):
                launch()
                return o

            calls[name] = call
        return calls
