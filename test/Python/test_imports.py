# SPDX-License-Identifier: Apache-2.0
"""What is imported when, and libfa3's LLVM beside those of torch and JAX."""

import importlib.util
import itertools
import os
import subprocess
import sys
import unittest

import support

PRELUDE = f"import sys; sys.path.insert(0, {str(support.ROOT / 'python')!r})\n"
USE = {
    "fa3": "import fa3; fa3.attention_kernel('f16', 64, ptxas='', causal=True)\n",
    "torch": "import torch; torch.compile(lambda x: x + 1, backend='aot_eager')"
             "(torch.ones(2))\n",
    "jax": "import jax; jax.jit(lambda x: x + 1)(1.0).block_until_ready()\n",
}  # fmt: skip


def run(script):
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + script], capture_output=True, text=True,
        check=False, env={**os.environ, "JAX_PLATFORMS": "cpu", "FA3_CACHE": "0"},
    )  # fmt: skip
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout


class ImportTest(unittest.TestCase):
    def test_imports_nothing_of_others(self):
        script = (
            "import fa3, fa3.mods.trace, fa3.api, fa3.build.driver\n"
            "print(sorted({'torch', 'jax', 'numpy', 'transformers'} & set(sys.modules)))"
        )
        self.assertEqual(run(script).strip(), "[]")

    @support.needs_torch
    @support.needs_interpreter
    def test_without_dynamo_where_nothing_is_compiled(self):
        # It takes half as long to import as torch.
        script = (
            "import sys, torch, fa3, fa3.hf, fa3.serving.packed, fa3.flash_attn_interface\n"
            "fa3.torch.activate()\n"
            "q = torch.randn(1, 2, 9, 16, dtype=torch.float16, requires_grad=True)\n"
            "fa3.attention(q, q, q, interpret=True).sum().backward()\n"
            "print(q.grad.shape, 'torch._dynamo' in sys.modules)"
        )
        self.assertEqual(run(script).strip(), "torch.Size([1, 2, 9, 16]) False")

    @support.needs_torch
    @support.needs_interpreter
    def test_gradients_import_neither_the_switch_nor_serving(self):
        """They are half of what a first gradient would take to import; what fa3.torch has
        of the switch is there all the same."""
        script = (
            "import sys, torch, fa3\n"
            "q = torch.randn(1, 2, 9, 16, dtype=torch.float16, requires_grad=True)\n"
            "fa3.attention(q, q, q, interpret=True).sum().backward()\n"
            "print([n for n in sys.modules if n.startswith(('fa3.sdpa', 'fa3.serving'))])\n"
            "import fa3.torch\n"
            "print(fa3.torch.is_active(), fa3.torch.Report is fa3.sdpa.Report)\n"
            "print(hasattr(fa3.torch, 'nothing'))"
        )
        self.assertEqual(run(script).splitlines(), ["[]", "False True", "False"])

    @support.needs_torch
    @support.needs_interpreter
    def test_who_looks_on_finds_operators(self):
        """Where fa3.torch was not imported, too."""
        script = (
            "import torch, fa3\n"
            "from torch.fx.experimental.proxy_tensor import make_fx\n"
            "q = torch.randn(1, 2, 9, 16, dtype=torch.float16)\n"
            "call = lambda q: fa3.attention(q, q, q, interpret=True)\n"
            "print('fa3.torch' in sys.modules, 'fa3.inference' in make_fx(call)(q).code)"
        )
        self.assertEqual(run(script).strip(), "False True")

    @support.needs_compiler
    def test_any_order(self):
        there = [
            name for name in USE
            if name == "fa3" or importlib.util.find_spec(name) is not None
        ]  # fmt: skip
        for order in itertools.permutations(there):
            if len(order) == 3 and order[0] == "torch":
                continue  # the others say as much
            with self.subTest(order):
                run("".join(USE[name] for name in order) + "print('done')")


if __name__ == "__main__":
    unittest.main()
