# SPDX-License-Identifier: Apache-2.0
"""libfa3.so beside the LLVM of jaxlib and torch in one process, imported in
either order."""

import importlib.util
import os
import subprocess
import sys
import unittest

from support import ROOT, needs_interpreter

OTHERS = {
    "jax": "jax.jit(lambda x: x * 2 + 1)(3.0)",
    "torch": "torch.ones(3) + 1",
}

SCRIPT = """
import hashlib, sys
sys.path.insert(0, {package!r})
def ours():
    global kernel
    import fa3
    kernel = fa3.compile(open({module!r}).read())
def theirs():
    import {name}
    {use}
for step in ({order}):
    step()
print(kernel.source, hashlib.sha256(kernel.ptx.encode()).hexdigest())
"""


@needs_interpreter
class Together(unittest.TestCase):
    def run_in_order(self, name, order):
        script = SCRIPT.format(
            package=str(ROOT / "python"),
            module=str(ROOT / "examples" / "causal_gqa.mlir"),
            name=name,
            use=OTHERS.get(name, "pass"),
            order=order,
        )
        environment = {**os.environ, "FA3_CACHE": "0", "JAX_PLATFORMS": "cpu"}
        return subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def test_order(self):
        alone = self.run_in_order("sys", "ours,")
        for name in OTHERS:
            if importlib.util.find_spec(name) is None:
                continue
            for order in ("ours, theirs, ours", "theirs, ours, theirs"):
                with self.subTest(name=name, order=order):
                    self.assertEqual(self.run_in_order(name, order), alone)


if __name__ == "__main__":
    unittest.main()
