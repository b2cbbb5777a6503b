# SPDX-License-Identifier: Apache-2.0
"""The installed package beside torch and JAX: every order of imports in a process of
its own, in which all three work and fa3 compiles what it compiles alone.

beside.py <module>
"""

import itertools
import os
import pathlib
import subprocess
import sys
import sysconfig

USE = {
    "fa3": """
import fa3
assert pathlib.Path(fa3.__file__).is_relative_to(home), fa3.__file__
ptx = fa3.compile(module).ptx
""",
    "torch": """
import torch
x = torch.ones(2, 3) @ torch.ones(3, 2)
assert x.sum().item() == 12
""",
    "jax": """
import jax
assert jax.jit(lambda x: 2 * x + 1)(3.0).item() == 7
""",
}
START = """
import hashlib, pathlib, sys
home, module = {home!r}, {module!r}
"""
END = """
assert ("torch" in sys.modules) == {torch}, "torch"
assert ("jax" in sys.modules) == {jax}, "jax"
{check}
print(hashlib.sha256(fa3.compile(module).ptx.encode() + ptx.encode()).hexdigest())
"""
WITH_TORCH = """
torch.manual_seed(0)
q, k, v = (torch.randn(1, 2, 40, 16, dtype=torch.float16) for _ in range(3))
o = fa3.attention(q, k, v, causal=True, interpret=True)
expected = torch.nn.functional.scaled_dot_product_attention(
    q.float(), k.float(), v.float(), is_causal=True)
torch.testing.assert_close(o.float(), expected, atol=2e-3, rtol=2e-3)
"""


def run(order, home, module):
    script = START.format(home=home, module=module)
    script += "".join(USE[name] for name in order)
    script += END.format(
        torch="torch" in order, jax="jax" in order,
        check=WITH_TORCH if "torch" in order else "",
    )  # fmt: skip
    environment = {**os.environ, "FA3_CACHE": "0", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{' then '.join(order)}:\n{done.stderr}")
    return done.stdout


def main():
    home, module = sysconfig.get_path("purelib"), pathlib.Path(sys.argv[1]).read_text()
    alone = run(("fa3",), home, module)
    orders = [
        order
        for others in (("torch",), ("jax",), ("torch", "jax"))
        for order in itertools.permutations(("fa3", *others))
    ]
    for order in orders:
        if run(order, home, module) != alone:
            sys.exit(f"{' then '.join(order)}: other PTX than alone")
    print(f"{len(orders)} orders of imports: the same kernel in all")


if __name__ == "__main__":
    main()
