#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""transformers' continuous batching (generate_batch) with fa3: python
test/Engines/continuous_batching.py [--cpu].

A small Llama and a small GPT-OSS (sinks, windows) of random weights generate from the same
prompts with transformers' own attention and with flash_fa3, by lengths and by pages: how
many tokens agree, and tokens a second of a second run, when kernels and graphs are there.

Of weights in bfloat16 rounding may choose another token where two are about as likely;
from there on a sequence goes its own way. So every token is judged by the logits that
eager attention in float32 gives for the tokens in front of it in its own sequence: how far
its logit is below the greatest, 0 without rounding. That of fa3's tokens has to be, in the
mean, at most 1.25 times that of transformers' own. A router that takes all experts flips
none by rounding; sinks are as large as scores, so that leaving them out shows. A request
that is not finished, or that another function than the one asked for has computed, has
failed.

--cpu runs few tokens in the interpreter, with weights in float16."""

import argparse
import collections
import copy
import functools
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
from fa3.hf import flash as hf_flash
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
        **sizes, num_local_experts=4, num_experts_per_tok=4,
        sliding_window=8 if small else 32,
        layer_types=["sliding_attention", "full_attention"] * (sizes["num_hidden_layers"] // 2),
    ), "paged|eager"  # fmt: skip


class Failed(Exception):
    """A request that was not finished, or not by the function asked for."""


def count_calls():
    """Calls of the functions that transformers has of fa3, by their names."""
    calls = collections.Counter()

    def counted(function):
        @functools.wraps(function)
        def call(*args, **named):
            calls[function.__name__] += 1
            return function(*args, **named)

        return call

    hf_flash._names["flash_fa3"] = tuple(map(counted, hf_flash._names["flash_fa3"]))
    return calls


def generate(model, name, prompts, count, blocks, small):
    """Tokens of each prompt, in their order."""
    model.set_attn_implementation(name)
    made = model.generate_batch(
        inputs=prompts, progress_bar=False, warmup=not small,
        generation_config=transformers.GenerationConfig(
            max_new_tokens=count, do_sample=False, eos_token_id=-1, pad_token_id=0
        ),
        continuous_batching_config=ContinuousBatchingConfig(
            page_size=16 if small else 256, num_blocks=32 if small else 512,
            max_batch_tokens=64 if small else 2048, max_blocks_per_request=blocks,
            # Another FlashAttention is not to stand in for sdpa.
            auto_switch_to_flash=False,
        ),
    )  # fmt: skip
    if model.config._attn_implementation != name:
        raise Failed(f"attention is {model.config._attn_implementation}, expected {name}")
    if len(made) != len(prompts):
        raise Failed(f"{len(made)} results of {len(prompts)} requests")
    # They are in the order of the prompts, which that of their names is not.
    for n, (one, prompt) in enumerate(zip(made.values(), prompts)):
        if one.error or list(one.prompt_ids) != prompt or len(one.generated_tokens) != count:
            raise Failed(
                f"request {n}: {len(one.generated_tokens)} tokens, expected {count}: {one.error}"
            )
    return [one.generated_tokens for one in made.values()]


@torch.no_grad()
def judge_tokens(judge, prompts, made):
    """How far the logit of each token is below the greatest, in float32."""
    device, apart = next(judge.parameters()).device, []
    for prompt, tokens in zip(prompts, made):
        ids = torch.tensor([[*prompt, *tokens]], device=device)
        logits = judge(ids, logits_to_keep=len(tokens) + 1).logits[0, :-1].float()
        chosen = logits.gather(1, ids[0, len(prompt) :, None])[:, 0]
        apart.append(logits.max(1).values - chosen)
    return torch.cat(apart)


def say(apart):
    return f"{apart.mean():.5f} below the greatest logit (most {apart.max():.3f})"


def count_equal(made, expected):
    """Tokens in front of the first that differs, and whole sequences."""
    equal = [
        next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), len(b))
        for a, b in zip(made, expected)
    ]
    total = sum(map(len, expected))
    same = sum(one == len(b) for one, b in zip(equal, expected))
    return f"{sum(equal)} of {total} tokens, {same} of {len(expected)} sequences equal"


class Comparison:
    """A model, by transformers' own attention and by fa3."""

    def __init__(self, name, config, theirs, small):
        self.name, self.theirs, self.small = name, theirs, small
        device, dtype = ("cpu", torch.float16) if small else ("cuda", torch.bfloat16)
        torch.manual_seed(0)
        model = transformers.AutoModelForCausalLM.from_config(config)
        for layer in model.model.layers:
            if hasattr(layer.self_attn, "sinks"):
                torch.nn.init.normal_(layer.self_attn.sinks, 0, 2)
        model.to(device, dtype)
        # A configuration of its own, which names the attention.
        judge = transformers.AutoModelForCausalLM.from_config(
            copy.deepcopy(config), attn_implementation="eager"
        )
        self.model, self.judge = model.eval(), judge.to(device).eval()
        self.judge.load_state_dict(model.state_dict())
        lengths = (5, 17, 9) if small else [13 + 97 * n for n in range(32)]
        self.prompts = [torch.randint(config.vocab_size, (n,)).tolist() for n in lengths]
        self.count = 4 if small else 128
        # By pages is a way of CUDA alone, for models without windows.
        self.ways = (0,) if small or getattr(config, "layer_types", None) else (0, 16)

    def measure(self, name, blocks):
        """Tokens, how far they are from the greatest logit, and what is to be said."""
        given = self.model, name, self.prompts, self.count, blocks, self.small
        made, start = generate(*given), time.perf_counter()
        if not self.small:
            made = generate(*given)
        rate = self.count * len(self.prompts) / (time.perf_counter() - start)
        apart = judge_tokens(self.judge, self.prompts, made)
        return made, apart, ("" if self.small else f"{rate:.0f} tokens/s, ") + say(apart)

    def run(self, calls):
        """How many ways failed."""
        try:
            expected, allowed, said = self.measure(self.theirs, 0)
        except Failed as error:
            print(f"{self.name}: {self.theirs} failed: {error}", flush=True)
            return 1
        print(f"{self.name}: {self.theirs} {said}", flush=True)
        failed = 0
        for blocks in self.ways:
            calls.clear()
            how = f"{self.name}: flash_fa3 by {'pages' if blocks else 'lengths'}"
            wanted = "flash_attn_with_kvcache" if blocks else "flash_attn_varlen_func"
            try:
                made, apart, said = self.measure("flash_fa3", blocks)
                if not calls[wanted]:
                    raise Failed(f"{wanted} was not called, but {dict(calls)}")
                if not apart.mean() <= 1.25 * allowed.mean() + 1e-5:
                    raise Failed(f"tokens are {say(apart)}, {self.theirs}'s {say(allowed)}")
            except Failed as error:
                failed += 1
                print(f"{how} failed: {error}", flush=True)
                continue
            print(f"{how} {said}, {count_equal(made, expected)}", flush=True)
        return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--only", default="", help="of these models: Llama, GPT-OSS")
    given = parser.parse_args()
    fa3.hf.register(interpret=given.cpu)
    calls = count_calls()
    failed = sum(Comparison(*one, given.cpu).run(calls) for one in models(given.cpu)
                 if given.only in one[0])  # fmt: skip
    print(f"failed {failed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
