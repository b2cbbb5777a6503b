#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vLLM, the whole engine, with fa3 as its attention: a small Llama of random weights.

    test/Engines/vllm_engine.py [--cpu]

The engine schedules prompts in chunks beside decoding, allocates pages and samples the
likeliest token; on a GPU it captures graphs of decoding. Needed are vLLM's Python files, as
for vllm_tests.py; none of its compiled extensions, of which a Llama needs four operators,
here in torch. --cpu runs few tokens in the interpreter (VLLM_TARGET_DEVICE=cpu) and compares
with transformers' own eager attention; on a GPU the tokens and tokens a second of CUSTOM
are compared with those of TRITON_ATTN, each in a process of its own.

Tokens are judged as in continuous_batching.py: how far their logits, of eager attention in
float32 for the tokens in front of them, are below the greatest; in the mean at most 1.25
times what it is for the others."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import stand_ins
import vllm_tests

ROOT = pathlib.Path(__file__).resolve().parents[2]


def write_model(folder, small):
    """The model, and in `folder` its configuration and weights."""
    import torch
    import transformers

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=64 if small else 1024, intermediate_size=64 if small else 2048,
        num_hidden_layers=2 if small else 8, num_attention_heads=4 if small else 16,
        num_key_value_heads=2 if small else 4, vocab_size=97 if small else 32000,
        head_dim=16 if small else 64, max_position_embeddings=4096,
    )  # fmt: skip
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    model = model.to(torch.float16 if small else torch.bfloat16).eval()
    model.save_pretrained(folder)
    return model.float()


def on_cpu():
    """Operators that vLLM's extension for the CPU has, fa3 as the platform's attention, in
    the interpreter."""
    import torch
    from vllm.platforms import current_platform

    from fa3 import api, serving
    from fa3.serving import packed

    def slots(starts, positions, table, made, rows):
        tokens = int(starts[-1])
        requests = torch.repeat_interleave(
            torch.arange(starts.shape[0] - 1), (starts[1:] - starts[:-1]).long()
        )
        at = positions[:tokens]
        made[:tokens] = table[requests, at // rows] * rows + at % rows
        made[tokens:] = -1

    torch.ops._C.init_cpu_memory_env = lambda *args: None
    torch.ops._C.greedy_argmax = lambda logits: logits.argmax(-1).view(-1)
    torch.ops._C.compute_slot_mapping_kernel_impl = slots
    type(current_platform).get_attn_backend_cls = classmethod(
        lambda cls, *args, **named: "fa3.engines.vllm.Backend"
    )
    for module in (api, packed, serving):
        real = module.attention
        module.attention = lambda *args, real=real, **named: real(
            *args, **{"interpret": True, **named}
        )


def on_gpu():
    """Operators of vLLM's extension that a Llama asks for."""
    import torch

    def silu_and_mul(out, x):
        half = x.shape[-1] // 2
        out.copy_(torch.nn.functional.silu(x[..., :half]) * x[..., half:])

    def rms_norm(out, x, weight, epsilon):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon)
        out.copy_(wide.to(x.dtype) * weight)

    def fused_add_rms_norm(x, residual, weight, epsilon):
        residual.add_(x)
        rms_norm(x, residual, weight, epsilon)

    def weak_ref_tensor(one):
        return one

    for one in (silu_and_mul, rms_norm, fused_add_rms_norm, weak_ref_tensor):
        setattr(torch.ops._C, one.__name__, one)


def generate(folder, prompts, count, backend, small):
    """Tokens of every prompt, and seconds."""
    from vllm import LLM, SamplingParams

    engine = LLM(
        model=str(folder), skip_tokenizer_init=True, enforce_eager=small, block_size=16,
        max_model_len=128 if small else 4096, max_num_batched_tokens=32 if small else 2048,
        compilation_config={"custom_ops": ["none"], "mode": 0},
        **({} if small else {"attention_config": {"backend": backend}}),
        # Graphs of as many requests as there are prompts, at most.
        **({} if small else {"gpu_memory_utilization": 0.3, "max_num_seqs": 32}),
    )  # fmt: skip
    asked = [{"prompt_token_ids": one} for one in prompts]
    params = SamplingParams(temperature=0, max_tokens=count, ignore_eos=True, detokenize=False)
    if not small:
        engine.generate(asked, params, use_tqdm=False)
    start = time.perf_counter()
    made = engine.generate(asked, params, use_tqdm=False)
    seconds = time.perf_counter() - start
    return [list(one.outputs[0].token_ids) for one in made], seconds


def eager(model, prompts, count):
    import torch

    made = []
    for one in prompts:
        ids = list(one)
        with torch.no_grad():
            for _ in range(count):
                ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
        made.append(ids[len(one) :])
    return made


def prepare(small):
    os.environ |= {
        "HF_HUB_OFFLINE": "1", "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_PLUGINS": "",
        "VLLM_NO_USAGE_STATS": "1", "VLLM_USE_V2_MODEL_RUNNER": "0",
        "VLLM_USE_FLASHINFER_SAMPLER": "0",
    }  # fmt: skip
    if small:
        os.environ |= {"VLLM_TARGET_DEVICE": "cpu", "VLLM_CPU_KVCACHE_SPACE": "1"}
    stand_ins.install(vllm_tests.UNUSED)
    vllm_tests.prepare()
    (on_cpu if small else on_gpu)()


def run_alone(backend, folder):
    """The same in a process of its own."""
    subprocess.run([sys.executable, __file__, "--backend", backend, "--folder", folder], check=True)
    made = json.loads((pathlib.Path(folder) / f"{backend}.json").read_text())
    return made["tokens"], made["seconds"]


def judge(model, prompts, made, expected, small):
    """What is wrong; says how far tokens are below the greatest logit."""
    from continuous_batching import count_equal, judge_tokens, say

    if [len(one) for one in made] != [len(one) for one in expected]:
        return [f"{[len(one) for one in made]} tokens"]
    model = model if small else model.cuda()
    ours, theirs = (judge_tokens(model, prompts, one) for one in (made, expected))
    print(f"theirs {say(theirs)}\nCUSTOM {say(ours)}, {count_equal(made, expected)}")
    return [] if ours.mean() <= 1.25 * theirs.mean() + 1e-5 else ["further away"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--backend", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=pathlib.Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    try:
        import fa3  # noqa: F401
    except ImportError:
        sys.path.insert(0, str(ROOT / "python"))
    if given.backend:
        prepare(False)
        asked = json.loads((given.folder / "asked.json").read_text())
        tokens, seconds = generate(given.folder, *asked, given.backend, False)
        made = {"tokens": tokens, "seconds": seconds}
        (given.folder / f"{given.backend}.json").write_text(json.dumps(made))
        return 0
    if given.cpu:
        prepare(True)
    import torch

    with tempfile.TemporaryDirectory() as name:
        model = write_model(name, given.cpu)
        lengths = (5, 40, 9) if given.cpu else [13 + 97 * n for n in range(32)]
        count = 4 if given.cpu else 128
        vocabulary = model.config.vocab_size
        prompts = [torch.randint(vocabulary, (n,)).tolist() for n in lengths]
        total = count * len(prompts)
        if given.cpu:
            expected = eager(model, prompts, count)
            made, seconds = generate(name, prompts, count, "CUSTOM", True)
        else:
            (pathlib.Path(name) / "asked.json").write_text(json.dumps([prompts, count]))
            expected, seconds = run_alone("TRITON_ATTN", name)
            print(f"TRITON_ATTN {total / seconds:.0f} tokens/s", flush=True)
            made, seconds = run_alone("CUSTOM", name)
        print(f"CUSTOM {total / seconds:.0f} tokens/s", flush=True)
        wrong = judge(model, prompts, made, expected, given.cpu)
    print(f"failed {len(wrong)} {' '.join(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
