# SPDX-License-Identifier: Apache-2.0
"""A folder in the layout of the Hub's kernels (scripts/hub_kernel.py), and fa3.hf.hub: loaded
as `kernels` does, beside the package, with values in the interpreter; by `kernels` itself
and by transformers where these are installed."""

import importlib.util
import inspect
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import support

if support.HAS_TORCH:
    import torch

    import fa3
    from fa3 import api, serving
    from fa3.hf import hub

SCRIPT = support.ROOT / "scripts" / "hub_kernel.py"


def make_folder(test):
    folder = tempfile.TemporaryDirectory()
    test.addCleanup(folder.cleanup)
    out = pathlib.Path(folder.name, "hub")
    subprocess.run(
        [sys.executable, SCRIPT, support.ROOT / "python" / "fa3", "--out", out],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return out


def run(program, *args, **environment):
    """In a process of its own: what is loaded stays."""
    path = os.pathsep.join([str(support.ROOT / "python"), *sys.path])
    subprocess.run(
        [sys.executable, "-c", program, *map(str, args)], check=True,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )  # fmt: skip


LOAD = """
import importlib.util, json, pathlib, sys
import torch

def load(variant):
    name = json.loads((variant / "metadata.json").read_text())["id"]
    spec = importlib.util.spec_from_file_location(name, variant / "__init__.py")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
"""

TWO = LOAD + """
import fa3, fa3.torch, fa3.serving.packed

kernel = load(pathlib.Path(sys.argv[1]))
theirs = kernel.fa3
assert theirs is not fa3 and theirs.__version__ == fa3.__version__ == kernel.__version__
assert kernel.flash_attn_func.__module__.startswith(kernel.__name__)
torch.manual_seed(0)
q = torch.randn(1, 4, 20, 16).half().requires_grad_()
k, slopes = torch.randn(1, 2, 30, 16).half(), torch.rand(4)
cu = torch.tensor([0, 12, 20], dtype=torch.int32)
made = []
for one in (fa3, theirs):
    def attend(q, k):
        mod = lambda s, b, h, i, j: s + slopes[h]
        return one.attention(q, k, k, causal=True, score_mod=mod, interpret=True)

    o = attend(q, k)
    grads = torch.autograd.grad(o.float().square().sum(), q)
    compiled = torch.compile(attend, backend="aot_eager", fullgraph=True)(q, k)
    packed = one.serving.packed.attention(
        q[0].transpose(0, 1), *[q[0, :2].transpose(0, 1)] * 2, cu_q=cu, cu_k=cu,
        max_q=12, max_k=12, causal=True, interpret=True,
    )
    made.append((o, *grads, compiled, packed, *torch.autograd.grad(packed.float().sum(), q)))
for one, other in zip(*made):
    assert torch.equal(one, other)
assert torch.equal(made[0][0], made[0][2])
names = {name.partition("::")[0] for name in torch._C._dispatch_get_all_op_names()}
assert sorted(names & {fa3.autograd.namespace.NAME, theirs.autograd.namespace.NAME}) == sorted(
    ["fa3", theirs.autograd.namespace.NAME]
), names
listed = getattr(torch.nn.attention, "list_flash_attention_impls", lambda: ["fa3-compiler"])
assert listed().count("fa3-compiler") == 1
"""

ALONE = LOAD + """
kernel = load(pathlib.Path(sys.argv[1]))
assert kernel.fa3.autograd.namespace.NAME == "fa3" and "fa3" not in sys.modules
q = torch.zeros(1, 8, 2, 16, dtype=torch.float16)
try:
    kernel.flash_attn_func(q, q, q)
except kernel.fa3.ArgumentError as error:
    assert "device is cpu, expected CUDA" in str(error)
else:
    raise AssertionError("ran on the CPU")
"""

BY_KERNELS = """
import kernels, pathlib, sys
kernel = kernels.get_local_kernel(pathlib.Path(sys.argv[1]))
assert kernel.fa3.attention and kernel.flash_attn_varlen_func, kernel
"""

BY_TRANSFORMERS = """
import kernels, torch
from transformers import MistralConfig, MistralForCausalLM

kernel = kernels.get_kernel("someone/fa3", version=1)
calls, on_cpu = [], kernel.fa3.hf.flash._Functions(True)
for name in ("flash_attn_func", "flash_attn_varlen_func"):
    def call(*args, real=getattr(on_cpu, name), **named):
        calls.append(sorted(named))
        return real(*args, **named)
    call.__signature__ = getattr(kernel, name).__signature__
    setattr(kernel, name, call)
torch.manual_seed(0)
model = MistralForCausalLM(MistralConfig(
    hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, vocab_size=100, sliding_window=6,
)).half().eval()
ids, mask = torch.randint(0, 100, (2, 11)), torch.ones(2, 11, dtype=torch.long)
mask[0, :4] = 0
made = []
with torch.no_grad():
    for name in ("eager", "someone/fa3"):
        model.set_attn_implementation(name)
        made.append(model(ids, attention_mask=mask).logits[mask.bool()])
torch.testing.assert_close(*made, atol=4e-3, rtol=4e-3)
assert len(calls) == 2 and "window_size" in calls[0], calls
"""


def has_kernels_for_transformers():
    if not all(importlib.util.find_spec(one) for one in ("kernels", "transformers")):
        return False
    from transformers.integrations import hub_kernels

    return getattr(hub_kernels, "is_kernels_available", lambda: False)()


@support.needs_torch
class FolderTest(unittest.TestCase):
    def test_layout(self):
        out = make_folder(self)
        (variant,) = (out / "build").iterdir()
        described = json.loads((variant / "metadata.json").read_text())
        self.assertEqual(variant.name, "torch-cuda")
        self.assertEqual(described["backend"], {"type": "cuda", "archs": ["9.0a"]})
        self.assertRegex(described["id"], "^_fa3_cuda_[0-9a-f]{8}$")
        self.assertEqual(
            {one.name for one in variant.iterdir()}, {"__init__.py", "fa3", "metadata.json"}
        )
        self.assertTrue((variant / "fa3" / "fa3_runtime" / "__init__.py").exists())
        self.assertEqual(list(variant.rglob("__pycache__")), [])

    @support.needs_interpreter
    def test_two_copies(self):
        out = make_folder(self)
        run(TWO, out / "build" / "torch-cuda")
        run(ALONE, out / "build" / "torch-cuda")

    @unittest.skipUnless(importlib.util.find_spec("kernels"), "needs kernels")
    def test_kernels(self):
        run(BY_KERNELS, make_folder(self))

    # By hand: no version of kernels that PyPI has for Python 3.11 is one that
    # transformers takes. Where there is none, there is no test.
    if has_kernels_for_transformers():

        @support.needs_interpreter
        def test_transformers(self):
            out = make_folder(self)
            run(BY_TRANSFORMERS, LOCAL_KERNELS=f"someone/fa3={out}")


@support.needs_torch
@support.needs_interpreter
class FunctionsTest(unittest.TestCase):
    """fa3.hf.hub: FlashAttention-3's functions, with s_aux and dropout_p."""

    def setUp(self):
        for module in (api, serving):
            real = module.attention
            patch = mock.patch.object(
                module, "attention",
                lambda *args, real=real, **named: real(*args, **named | {"interpret": True}),
            )  # fmt: skip
            patch.start()
            self.addCleanup(patch.stop)
        torch.manual_seed(0)

    def test_signatures(self):
        for name in ("flash_attn_func", "flash_attn_varlen_func", "flash_attn_with_kvcache"):
            ours = list(inspect.signature(getattr(hub, name)).parameters)
            theirs = list(
                inspect.signature(getattr(fa3.flash_attn_interface, name)).parameters
            )
            self.assertEqual(ours, [*theirs, "s_aux", "dropout_p"])

    def test_values(self):
        q, k, sinks = torch.randn(1, 20, 4, 16), torch.randn(1, 20, 2, 16), torch.rand(4)
        q, k = q.half(), k.half()
        wide = [one.double().transpose(1, 2) for one in (q, k.repeat_interleave(2, 2))]
        scores = wide[0] @ wide[1].mT * 0.3
        hidden = torch.ones(20, 20, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(hidden, -torch.inf)
        cu = torch.tensor([0, 20], dtype=torch.int32)
        for with_sinks in (False, True):
            extra = sinks.double()[None, :, None, None].expand(1, 4, 20, 1)
            weights = torch.cat((scores, extra), -1) if with_sinks else scores
            expected = (weights.softmax(-1)[..., :20] @ wide[1]).transpose(1, 2)
            named = {"softmax_scale": 0.3, "causal": True, "dropout_p": 0.0}
            named["s_aux"] = sinks if with_sinks else None
            made = [
                hub.flash_attn_func(q, k, k, num_splits=1, **named),
                hub.flash_attn_varlen_func(
                    q[0], k[0], k[0], cu, cu, 20, 20, deterministic=False, **named
                )[None],
                hub.flash_attn_with_kvcache(
                    q, k, k, cache_seqlens=torch.tensor([20], dtype=torch.int32), **named
                ),
            ]  # fmt: skip
            for one in made:
                torch.testing.assert_close(one.double(), expected, atol=4e-3, rtol=4e-3)

    def test_refused(self):
        q = torch.randn(1, 20, 4, 16).half()
        with self.assertRaisesRegex(NotImplementedError, "'qv' with s_aux"):
            hub.flash_attn_func(q, q, q, qv=q, s_aux=torch.rand(4))
        with self.assertRaisesRegex(NotImplementedError, "'attention_chunk' with dropout_p"):
            hub.flash_attn_func(q, q, q, attention_chunk=4, dropout_p=0.5)
        with self.assertRaisesRegex(NotImplementedError, "dropout 0.5"):
            hub.flash_attn_func(q, q, q, dropout_p=0.5)
        with self.assertRaisesRegex(TypeError, "'anything'"):
            hub.flash_attn_func(q, q, q, anything=1)


if __name__ == "__main__":
    unittest.main()
