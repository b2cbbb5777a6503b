# SPDX-License-Identifier: Apache-2.0
"""What docs/Integrations.md says of other projects: torch's list as an installed wheel
fills it, and diffusers on the distribution of FlashAttention-3's name, where diffusers is
installed. ring-flash-attn is in test_flash_attn_2, kernels of the Hub in test_hub."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib
import unittest

import support

if support.HAS_TORCH:
    import torch

LIST = """
import sys, torch
assert "fa3-compiler" in torch.nn.attention.list_flash_attention_impls()
assert "fa3" in sys.modules and "fa3.torch" not in sys.modules
import fa3.torch
assert not fa3.torch.is_active()
"""

DIFFUSERS = """
import torch
from diffusers.models import attention_dispatch as dispatch
from unittest import mock
import fa3
from fa3 import api

assert dispatch._CAN_USE_FLASH_ATTN_3
assert dispatch.flash_attn_3_func is fa3.flash_attn_interface.flash_attn_func
# Its operator is for CUDA.
operator = dispatch._wrapped_flash_attn_3
operator.register_kernel("cpu")(operator._init_fn)
torch.manual_seed(0)
q, k = torch.randn(2, 20, 4, 16).half(), torch.randn(2, 30, 4, 16).half()
real = api.attention
with mock.patch.object(
    api, "attention", lambda *args, **named: real(*args, **named, interpret=True)
), mock.patch.object(dispatch, "_check_device_cuda_atleast_smXY", mock.Mock()):
    for causal in (False, True):
        made, lse = dispatch._flash_attention_3(
            q, k, k, is_causal=causal, scale=0.3, return_lse=True
        )
        wide = [one.double().transpose(1, 2) for one in (q, k)]
        scores = wide[0] @ wide[1].mT * 0.3
        if causal:
            hidden = torch.ones(20, 30, dtype=torch.bool).triu(11)
            scores = scores.masked_fill(hidden, -torch.inf)
        expected = (scores.softmax(-1) @ wide[1]).transpose(1, 2)
        torch.testing.assert_close(made.double(), expected, atol=4e-3, rtol=4e-3)
        torch.testing.assert_close(
            lse.double(), scores.logsumexp(-1).transpose(1, 2), atol=4e-3, rtol=4e-3
        )
"""


def distribution(folder, name, version, entries=""):
    """What pip writes of one."""
    info = pathlib.Path(folder, f"{name}-{version}.dist-info")
    info.mkdir()
    stated = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n"
    (info / "METADATA").write_text(stated)
    (info / "entry_points.txt").write_text(entries)


def run(program, *folders):
    path = os.pathsep.join([*map(str, folders), str(support.ROOT / "python"), *sys.path])
    subprocess.run(
        [sys.executable, "-c", program], check=True, env={**os.environ, "PYTHONPATH": path}
    )


@support.needs_torch
class RecipesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    @unittest.skipUnless(
        support.HAS_TORCH and hasattr(torch.nn.attention, "list_flash_attention_impls"),
        "needs torch 2.11",
    )
    def test_list(self):
        """By the entry point of the wheel, without an import of fa3."""
        project = tomllib.loads((support.ROOT / "pyproject.toml").read_text())["project"]
        groups = [
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in ones.items())
            for group, ones in project["entry-points"].items()
        ]  # fmt: skip
        distribution(self.folder, "fa3_compiler", "0.1", "".join(groups))
        run(LIST, self.folder)

    @support.needs_interpreter
    @unittest.skipUnless(importlib.util.find_spec("diffusers"), "needs diffusers")
    def test_diffusers(self):
        distribution(self.folder, "flash_attn_3", "3.0.0+fa3")
        run(DIFFUSERS, self.folder, support.ROOT / "python" / "drop_in")


if __name__ == "__main__":
    unittest.main()
