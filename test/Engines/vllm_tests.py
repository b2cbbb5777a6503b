#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vLLM's own tests of attention backends with fa3 in the place of all of them, on one GPU.

    test/Engines/vllm_tests.py CHECKOUT [arguments of pytest]

CHECKOUT has vLLM's tests/ (a clone of its repository at the version that is installed, or
that folder alone). Needed are vllm (its Python files; the tests need none of its compiled
extensions), pytest, torch and transformers; no network: models are configurations that are
written here. Only tests/v1/attention is copied, so that the clone's vllm is not imported.

Runs the tests of correctness in test_attention_backends.py: all lists of backends to test
are CUSTOM alone, blocks of FlexAttention and tests of other backends' functions are left
out. Prints what was tested; the exit code is pytest's."""

import argparse
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

import stand_ins

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAME = "test_attention_backends"
#: What vLLM imports and these tests do not call: they run without.
UNUSED = (
    "vllm._C_stable_libtorch", "vllm._moe_C_stable_libtorch",
    "vllm.vllm_flash_attn._vllm_fa2_C", "vllm.vllm_flash_attn._vllm_fa3_C", "openai",
    "openai_harmony", "fastapi", "starlette", "xgrammar", "mistral_common", "mcp", "anthropic",
    "gguf", "compressed_tensors", "depyf", "llguidance", "outlines_core", "lark", "blake3",
    "pybase64", "zmq", "setproctitle", "watchfiles", "ijson", "partial_json_parser",
    "jsonschema", "lmformatenforcer", "orjson", "uvicorn",
    "prometheus_fastapi_instrumentator", "model_hosting_container_standards",
)  # fmt: skip
_LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
    "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
    "num_hidden_layers": 1, "vocab_size": 128256, "max_position_embeddings": 8192,
    "torch_dtype": "bfloat16", "rms_norm_eps": 1e-5,
}  # fmt: skip
#: What the tests read of models: heads, head dims, windows, types.
MODELS = {
    "meta-llama/Meta-Llama-3-8B": _LLAMA,
    "Qwen/Qwen3-0.6B": {
        **_LLAMA, "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3",
        "hidden_size": 1024, "intermediate_size": 3072, "num_attention_heads": 16,
        "head_dim": 128, "vocab_size": 151936, "max_position_embeddings": 40960,
    },
    "microsoft/Phi-tiny-MoE-instruct": {
        **_LLAMA, "architectures": ["MistralForCausalLM"], "model_type": "mistral",
        "num_attention_heads": 16, "num_key_value_heads": 4, "hidden_size": 2048,
        "vocab_size": 32064, "sliding_window": 2047,
    },
    "google/embeddinggemma-300m": {
        **_LLAMA, "architectures": ["MistralForCausalLM"], "model_type": "mistral",
        "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 1024,
        "head_dim": 256, "sliding_window": 257, "max_position_embeddings": 2048,
    },
}  # fmt: skip


def write_models(folder):
    """Folders of configurations, which have the names of models: where the tests run in
    `folder`, the names are paths."""
    for name, config in MODELS.items():
        path = folder / name
        path.mkdir(parents=True)
        (path / "config.json").write_text(json.dumps(config))


def copy_tests(checkout, folder):
    source = checkout / "tests" / "v1" / "attention"
    target = folder / "tests" / "v1" / "attention"
    target.mkdir(parents=True)
    for one in (folder / "tests", folder / "tests" / "v1", target):
        (one / "__init__.py").touch()
    for name in (f"{NAME}.py", "utils.py"):
        shutil.copy(source / name, target / name)
    return target / f"{NAME}.py"


def supports_nothing():
    """Extensions that stand in are asked at imports which kernels they have: none."""
    import torch
    import vllm

    text = (pathlib.Path(vllm.__file__).parent / "_custom_ops.py").read_text()
    for name in set(re.findall(r"torch\.ops\._C\.(\w*supports?\w*)\(", text)):
        if not hasattr(torch.ops._C, name):
            setattr(torch.ops._C, name, lambda *args: False)


def prepare():
    """fa3 in vLLM, which runs without its extensions."""
    from vllm.model_executor.models import registry

    from fa3.engines import plugins

    supports_nothing()
    # A process of its own would have no stand-ins.
    registry._run_in_subprocess = lambda call: call()
    plugins.register_vllm()


class Plugin:
    """Puts fa3 in the place of backends when the tests are imported; of n parts of the
    tests one is kept."""

    def __init__(self, part, parts):
        self.part, self.parts = part, parts

    def pytest_collection_modifyitems(self, session, config, items):
        # Tests of other backends' own functions.
        items[:] = [one for one in items if "backend_correctness" in one.name]
        items[:] = items[self.part - 1 :: self.parts]
        for module in {one.module for one in items}:
            self.patch(module)

    def patch(self, module):
        from vllm.v1.attention.backends.registry import AttentionBackendEnum

        custom = [AttentionBackendEnum.CUSTOM]
        lists = [name for name in vars(module) if name.endswith("BACKENDS_TO_TEST")]
        if not {"BACKENDS_TO_TEST", "SLIDING_WINDOW_BACKENDS_TO_TEST"} <= set(lists):
            sys.exit(f"{NAME}.py has {lists}: another version of vLLM")
        for name in lists:
            setattr(module, name, custom)
        module.is_torch_equal_or_newer = lambda version: False


def fixtures(pytest):
    class Fixtures:
        @pytest.fixture
        def default_vllm_config(self):
            from vllm.config import VllmConfig, set_current_vllm_config

            with set_current_vllm_config(VllmConfig()):
                yield

    return Fixtures()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--part", default="1/1", help="1/4 is the first of four parts")
    given, rest = parser.parse_known_args()
    import pytest

    os.environ["HF_HUB_OFFLINE"] = "1"
    stand_ins.install(UNUSED)
    try:
        import fa3  # noqa: F401
    except ImportError:
        sys.path.insert(0, str(ROOT / "python"))
    prepare()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        test = copy_tests(given.checkout, folder)
        write_models(folder)
        sys.path.insert(0, name)
        os.chdir(name)
        return pytest.main(
            [str(test), "-q", f"--rootdir={name}", "-p", "no:cacheprovider", *rest],
            plugins=[Plugin(*map(int, given.part.split("/"))), fixtures(pytest)],
        )


if __name__ == "__main__":
    sys.exit(main())
