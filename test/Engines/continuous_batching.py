#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""transformers' continuous batching (generate_batch) with fa3: python
test/Engines/continuous_batching.py [--cpu].

A small Llama and a small GPT-OSS (sinks, windows) of random weights generate from the same
prompts with transformers' own attention and with flash_fa3, by lengths and by pages: how
many tokens agree, and tokens a second. Of weights in bfloat16 rounding may choose another
token where two are about as likely; from there on a sequence goes its own way, so that of
each sequence the tokens in front of the first difference are counted, and it has failed if
the logits of the two tokens, of eager attention in float32, are further apart than --gap.

--cpu runs few tokens in the interpreter, with weights in float16."""

import argparse
import copy
import pathlib
import sys
import time

import torch

try:
    import fa3
except ImportError:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
    import fa3
import transformers
from transformers.generation.configuration_utils import ContinuousBatchingConfig


def models(small):
    sizes = {
        "hidden_size": 64 if small else 1024, "intermediate_size": 64 if small else 2048,
        "num_hidden_layers": 2 if small else 8, "num_attention_heads": 4 if small else 16,
        "num_key_value_heads": 2 if small else 4, "vocab_size": 97 if small else 32000,
        "head_dim": 16 if small else 64, "max_position_embeddings": 4096,
    }  # fmt: skip
    yield "Llama", transformers.LlamaConfig(**sizes), "sdpa"
    yield "GPT-OSS", transformers.GptOssConfig(
        **sizes, num_local_experts=4, num_experts_per_tok=2, sliding_window=32,
        layer_types=["sliding_attention", "full_attention"] * (sizes["num_hidden_layers"] // 2),
    ), "paged|eager"  # fmt: skip


def generate(model, name, prompts, count, blocks, small):
    model.set_attn_implementation(name)
    start = time.perf_counter()
    made = model.generate_batch(
        inputs=prompts, progress_bar=False, warmup=not small,
        generation_config=transformers.GenerationConfig(
            max_new_tokens=count, do_sample=False, eos_token_id=-1, pad_token_id=0
        ),
        continuous_batching_config=ContinuousBatchingConfig(
            page_size=16 if small else 256, num_blocks=32 if small else 512,
            max_batch_tokens=64 if small else 2048, max_blocks_per_request=blocks,
        ),
    )  # fmt: skip
    seconds = time.perf_counter() - start
    return [one.generated_tokens for _, one in sorted(made.items())], seconds


def gap(model, prompt, tokens, one, other):
    """How far apart the logits of two next tokens are, in float32."""
    device = next(model.parameters()).device
    ids = torch.tensor([[*prompt, *tokens]], device=device)
    logits = model(ids).logits[0, -1].float()
    return abs(float(logits[one] - logits[other]))


def compare(judge, prompts, made, expected, most):
    """Tokens that agree, of how many, and what is wrong."""
    equal = total = 0
    wrong = []
    for n, (a, b) in enumerate(zip(made, expected)):
        total += len(b)
        first = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), len(b))
        equal += first
        if first < len(b):
            apart = gap(judge, prompts[n], b[:first], a[first], b[first])
            if not apart <= most:
                wrong.append(f"sequence {n}, token {first}: logits are {apart:.3f} apart")
        if len(a) != len(b):
            wrong.append(f"sequence {n}: {len(a)} tokens, expected {len(b)}")
    return equal, total, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--gap", type=float, default=0.05)
    given = parser.parse_args()
    small, device = given.cpu, "cpu" if given.cpu else "cuda"
    fa3.hf.register(interpret=small)
    failed = 0
    for name, config, theirs in models(small):
        torch.manual_seed(0)
        dtype = torch.float16 if small else torch.bfloat16
        model = transformers.AutoModelForCausalLM.from_config(config).to(device, dtype).eval()
        # A configuration of its own, which names the attention.
        judge = transformers.AutoModelForCausalLM.from_config(
            copy.deepcopy(config), attn_implementation="eager"
        )
        judge = judge.to(device).eval()
        judge.load_state_dict(model.state_dict())
        lengths = (5, 17, 9) if small else [13 + 97 * n for n in range(32)]
        vocabulary = config.vocab_size
        prompts = [torch.randint(vocabulary, (n,)).tolist() for n in lengths]
        count = 4 if small else 128
        expected, seconds = generate(model, theirs, prompts, count, 0, small)
        rate = count * len(prompts) / seconds
        print(f"{name}: {theirs} {rate:.0f} tokens/s", flush=True)
        # By pages is a way of CUDA alone.
        for blocks in (0,) if small else (0, 16):
            made, seconds = generate(model, "flash_fa3", prompts, count, blocks, small)
            with torch.no_grad():
                equal, total, wrong = compare(judge, prompts, made, expected, given.gap)
            failed += len(wrong)
            how = "pages" if blocks else "lengths"
            print(
                f"{name}: flash_fa3 by {how} {count * len(prompts) / seconds:.0f} tokens/s, "
                f"{equal} of {total} tokens equal, wrong {len(wrong)}",
                flush=True,
            )
            print("".join(f"  {one}\n" for one in wrong[:5]), end="")
    print(f"failed {failed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
