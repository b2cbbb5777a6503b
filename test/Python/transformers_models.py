#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of transformers with random weights, small enough for the interpreter: what
fa3 computes in them beside what transformers' eager attention does.

    python3 test/Python/transformers_models.py [--only NAME,..] [--caches KIND,..]
        [--attention flash_fa3] [--device cuda] [--page docs/TransformersModels.md]

compares logits of prompts in one piece and in three, whole, padded in front and padded
behind, and the tokens of generate, for every model and every kind of cache that it has,
and prints a line for each pair. With flash_fa3 that is what transformers' own tests of
FlashAttention ask; what transformers has no FlashAttention for is refused.
"""

import argparse
import contextlib
import dataclasses
import inspect
import pathlib
import sys
import time
import traceback
from unittest import mock

import support  # noqa: F401, finds the package
import torch
import transformers
from transformers import cache_utils

import fa3

#: Kinds of cache, and what they are.
CACHES = {
    "none": "no cache",
    "dynamic": "a dynamic cache, with layers of windows where the model has such",
    "full": "a dynamic cache that keeps what a window has left behind",
    "static": "a static cache, with layers of windows where the model has such",
    "quantized": "groups that are rounded, and the last keys that are not yet",
    "fp8": "8-bit floats",
    "offloaded": "a dynamic cache whose layers leave the GPU",
    "offloaded_static": "a static cache whose layers leave the GPU",
    "beams": "a dynamic cache that a search for beams reorders",
}
#: Without windows "full" is "dynamic".
_PLAIN = tuple(kind for kind in CACHES if kind != "full")
LENGTH, SPLIT, NEW = 11, 7, 5
WINDOW = 6


@dataclasses.dataclass(frozen=True)
class Model:
    """A model by the names of its classes; `named` are arguments of its config."""

    config: str
    model: str
    named: dict
    kind: str = "causal"  # or encoder, encoder-decoder, image
    caches: tuple = _PLAIN


_SMALL = {
    "vocab_size": 96, "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
    "max_position_embeddings": 64, "initializer_range": 0.2, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
_HYBRID = {
    "sliding_window": WINDOW, "layer_types": ["sliding_attention", "full_attention"],
}  # fmt: skip
_EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
_OF_WINDOWS = tuple(CACHES)


def _causal(name, config="", /, caches=_PLAIN, without=(), **named):
    named = {**_SMALL, **named}
    for one in without:
        del named[one]
    return Model(
        config or f"{name}Config", f"{name}ForCausalLM", named, "causal", caches
    )


def _hybrid(name, config="", /, **named):
    return _causal(name, config, caches=_OF_WINDOWS, **{**_HYBRID, **named})


MODELS = {
    "llama": _causal("Llama"),
    "mistral": _causal("Mistral", caches=_OF_WINDOWS, sliding_window=WINDOW),
    "mixtral": _causal("Mixtral", sliding_window=None, **_EXPERTS),
    "qwen2": _causal("Qwen2"),
    "qwen3": _causal("Qwen3"),
    "qwen3_moe": _causal(
        "Qwen3Moe", num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32
    ),
    "gemma": _causal("Gemma"),
    "gemma2": _hybrid("Gemma2", query_pre_attn_scalar=24, attn_logit_softcapping=4.0),
    "gemma3": _hybrid("Gemma3", "Gemma3TextConfig"),
    "cohere2": _hybrid("Cohere2"),
    "gpt_oss": _hybrid("GptOss", **_EXPERTS),
    "smollm3": _causal("SmolLM3"),
    "olmo2": _causal("Olmo2"),
    "olmo3": _hybrid("Olmo3"),
    "exaone4": _hybrid("Exaone4"),
    "phi": _causal("Phi"),
    "phi3": _causal("Phi3", sliding_window=None),
    "granite": _causal("Granite", attention_multiplier=0.2),
    "starcoder2": _causal("Starcoder2", sliding_window=None),
    "stablelm": _causal("StableLm"),
    "glm4": _causal("Glm4"),
    "nemotron": _causal("Nemotron"),
    "gpt_neox": _causal("GPTNeoX"),
    "gpt2": Model("GPT2Config", "GPT2LMHeadModel", {
        "vocab_size": 96, "n_positions": 64, "n_embd": 64, "n_layer": 2, "n_head": 4,
        "initializer_range": 0.2, "bos_token_id": 1, "eos_token_id": 2,
    }),
    "opt": _causal("OPT", ffn_dim=64, word_embed_proj_dim=64),
    "falcon": _causal(
        "Falcon", without=("head_dim",), new_decoder_architecture=True, num_kv_heads=2
    ),
    "deepseek_v3": _causal(
        "DeepseekV3", without=("head_dim",), num_key_value_heads=4, n_routed_experts=4,
        num_experts_per_tok=2, moe_intermediate_size=32, first_k_dense_replace=1,
        kv_lora_rank=16, q_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=16,
        v_head_dim=16, n_group=1, topk_group=1,
    ),
    "llama4": _causal(
        "Llama4", "Llama4TextConfig", caches=_OF_WINDOWS, num_hidden_layers=2,
        attention_chunk_size=WINDOW, intermediate_size_mlp=64, num_local_experts=2,
        num_experts_per_tok=1, layer_types=["chunked_attention", "full_attention"],
        no_rope_layers=[1, 0],
    ),
    "modernbert_decoder": _hybrid("ModernBertDecoder", local_attention=WINDOW),
    "bart": Model("BartConfig", "BartForConditionalGeneration", {
        "vocab_size": 96, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2,
        "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64, "max_position_embeddings": 64, "init_std": 0.2,
        "forced_eos_token_id": None,
    }, "encoder-decoder"),
    "t5": Model("T5Config", "T5ForConditionalGeneration", {
        "vocab_size": 96, "d_model": 64, "d_kv": 16, "d_ff": 64, "num_layers": 2,
        "num_heads": 4, "decoder_start_token_id": 0, "initializer_factor": 1.0,
    }, "encoder-decoder"),
    # Without sdpa, its modules do not say whether they are causal.
    "bigbird_pegasus": Model("BigBirdPegasusConfig", "BigBirdPegasusForCausalLM", {
        "vocab_size": 96, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2,
        "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64, "max_position_embeddings": 64, "init_std": 0.2,
    }),
    "bert": Model("BertConfig", "BertForMaskedLM", _SMALL, "encoder", ("none",)),
    "modernbert": Model("ModernBertConfig", "ModernBertForMaskedLM", {
        **_SMALL, "local_attention": 2 * WINDOW, "global_attn_every_n_layers": 2,
    }, "encoder", ("none",)),
    "vit": Model("ViTConfig", "ViTForImageClassification", {
        "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "image_size": 16, "patch_size": 4,
        "initializer_range": 0.2,
    }, "image", ("none",)),
}  # fmt: skip


def make(one, device="cpu"):
    """A model with random weights, half precision."""
    torch.manual_seed(0)
    config = getattr(transformers, one.config)(**one.named)
    model = getattr(transformers, one.model)(config).eval()
    for parameter in model.parameters():
        if bool(torch.isnan(parameter).any()) or not bool(parameter.any()):
            # Sinks are made empty, biases 0.
            torch.nn.init.normal_(parameter, std=0.2)
    return model.to(torch.float16).to(device)


def cache_of(model, kind, length=48):
    config = model.config
    if kind == "none":
        return None
    offloading = kind.startswith("offloaded")
    if kind.endswith("static"):
        return cache_utils.StaticCache(
            config=config, max_cache_len=length, offloading=offloading
        )
    if kind in ("quantized", "fp8"):
        # transformers makes them for full attention alone; masks have the windows.
        layer = _Rounded if kind == "quantized" else _float8
        return cache_utils.Cache(layers=[layer() for _ in range(2)])
    return cache_utils.DynamicCache(
        config=None if kind == "full" else config, offloading=offloading
    )


class _NoStream:
    """A stream where there is no device."""

    def wait_stream(self, other):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        pass


@contextlib.contextmanager
def offloading():
    """Offloaded caches ask for streams; on a CPU all else is done as on a GPU."""
    with contextlib.ExitStack() as stack:
        if not torch.cuda.is_available():
            stack.enter_context(mock.patch.object(torch, "Stream", _NoStream))
            stack.enter_context(
                mock.patch.object(torch.cuda, "default_stream", lambda *_: _NoStream())
            )
        yield


def _float8():
    """The scale is that of the first keys: later ones, which are larger, are not NaN."""
    layer = cache_utils.Fp8QuantizedLayer()
    layer.fp8_max /= 8
    return layer


class _Rounded(cache_utils.QuantizedLayer):
    """A cache in steps of 1/64, since those of transformers need other packages."""

    def __init__(self):
        super().__init__(residual_length=2)

    def _quantize(self, tensor, axis):
        return (tensor * 64).round().to(torch.int16), tensor.dtype

    def _dequantize(self, made):
        return made[0].to(made[1]) / 64


def inputs_of(model, one):
    """Calls of the model: its arguments. Whole, padded in front, padded behind."""
    torch.manual_seed(1)
    if one.kind == "image":
        made = [{"pixel_values": torch.randn(2, 3, 16, 16, dtype=torch.float16)}]
    else:
        ids = torch.randint(3, 96, (2, LENGTH))
        seen = torch.ones_like(ids)
        seen[1, :4] = 0
        made = [
            {"input_ids": ids}, {"input_ids": ids, "attention_mask": seen},
            {"input_ids": ids, "attention_mask": seen.flip(1)},
        ]  # fmt: skip
    if one.kind == "encoder-decoder":
        made = [{**named, "decoder_input_ids": ids[:, :5] % 7 + 3} for named in made]
    return [{name: x.to(model.device) for name, x in named.items()} for named in made]


def logits_of(model, one, kind):
    """What a model says of prompts in one piece, and in two with a cache; padding
    is left out."""
    made = []
    with torch.no_grad():
        for named in inputs_of(model, one):
            seen = named.get("attention_mask")
            if one.kind in ("image", "encoder", "encoder-decoder"):
                logits = model(**named).logits
                if one.kind == "encoder":
                    logits = logits if seen is None else logits[seen.bool()]
                made.append(logits)
                continue
            cache = cache_of(model, kind)
            if cache is None:
                logits = model(**named, use_cache=False).logits
            else:
                parts = []
                for begin, end in ((0, SPLIT), (SPLIT, LENGTH - 1), (LENGTH - 1, LENGTH)):
                    part = {"input_ids": named["input_ids"][:, begin:end]}
                    if seen is not None:
                        part["attention_mask"] = seen[:, :end]
                    parts.append(
                        model(**part, **{_CACHE: cache}, use_cache=True).logits
                    )
                logits = torch.cat(parts, 1)
            made.append(logits if seen is None else logits[seen.bool()])
    return made


#: What a model's forward calls a cache.
_CACHE = (
    "past_key_values"
    if "past_key_values"
    in inspect.signature(transformers.LlamaForCausalLM.forward).parameters
    else "cache"
)


def tokens_of(model, one, kind):
    """What generate makes of prompts, and the scores of the best beams. Of 8-bit keys it
    makes nothing that can be compared: one that is rounded up here and down there leads
    to other tokens."""
    if one.kind in ("image", "encoder") or kind == "fp8":
        return []
    made = []
    for named in inputs_of(model, one)[:2]:
        named.pop("decoder_input_ids", None)
        if kind in ("quantized", "fp8", "full"):
            more = {_CACHE: cache_of(model, kind)}
            if one.kind == "encoder-decoder":
                more[_CACHE] = cache_utils.EncoderDecoderCache(
                    more[_CACHE], cache_utils.DynamicCache()
                )
        elif kind in ("none", "dynamic", "beams"):
            more = {"none": {"use_cache": False}, "beams": {"num_beams": 3}}.get(kind, {})
        else:
            more = {"cache_implementation": kind, "disable_compile": True}
        found = model.generate(
            **named, **more, max_new_tokens=NEW, min_new_tokens=NEW, do_sample=False,
            output_scores=True, return_dict_in_generate=True,
        )  # fmt: skip
        scores = getattr(found, "sequences_scores", None)
        made += [(tokens, None if scores is None else float(scores[row]))
                 for row, tokens in enumerate(found.sequences)]  # fmt: skip
    return made


class NotThere(Exception):
    """What transformers does not do with eager attention, either."""


class Refused(Exception):
    """A model that transformers does not give this attention."""


def compare(name, kind, attention="fa3", device="cpu"):
    """Raises AssertionError where a model is not what eager attention makes it. Keys
    that differ in the last bit of 16 may become different 8-bit floats."""
    one = MODELS[name]
    model = make(one, device)
    found = []
    for implementation in ("eager", attention):
        try:
            model.set_attn_implementation(implementation)
        except ValueError as error:
            raise Refused(str(error).partition(". ")[0]) from error
        try:
            with offloading():
                found.append((logits_of(model, one, kind), tokens_of(model, one, kind)))
        except Exception as error:
            if implementation == "eager":
                raise NotThere(f"{type(error).__name__}: {error}") from error
            if "Flash attention cannot handle" in str(error):
                raise Refused(str(error).partition(",")[0]) from error
            raise
    (logits, tokens), (ours, our_tokens) = found
    for expected, made in zip(logits, ours):
        expected, made = expected.float(), made.float()
        if not bool(torch.isfinite(expected).all()):
            raise NotThere("eager attention's logits are not finite")
        error = float((expected - made).abs().max() / expected.abs().max())
        if not error < (0.06 if kind == "fp8" else 0.02):
            raise AssertionError(f"logits differ by {error:.3f} of the largest")
    for (expected, score), (made, ours) in zip(tokens, our_tokens):
        # A search may leave one of two beams with about the same score.
        tie = score is not None and abs(score - ours) < 0.01
        if not (torch.equal(expected, made) or tie):
            raise AssertionError(f"tokens {made.tolist()}, expected {expected.tolist()}")


def outcome(name, kind, options):
    """(a word, what is said of it)"""
    try:
        compare(name, kind, options.attention, options.device)
        return "equal", ""
    except NotThere as error:
        return "-", f"not with eager attention, either: {error}"
    except (fa3.UnsupportedError, fa3.ArgumentError, Refused) as error:
        return "refused", str(error)
    except Exception as error:
        if options.trace:
            traceback.print_exc()
        return "WRONG", f"{type(error).__name__}: {error}"


_PAGE = """\
# Models of transformers

Made by `test/Python/transformers_models.py --page`: models of random weights, with `fa3` beside
eager attention. Logits of prompts in one piece and in three, whole, padded in front and padded
behind, differ by at most 0.02 of the largest (`fp8`: 0.06). `generate` makes the same tokens,
except with `fp8`, where a bit more or less in a key is another 8-bit float; beams that differ have
scores within 0.01. torch {torch}, transformers {transformers}, {where}.
{count}.

| cache | |
|---|---|
{kinds}

"""


def page(found, device):
    """The page of docs/ with a row for each model."""
    where = "in the interpreter" if device == "cpu" else torch.cuda.get_device_name()
    kinds = "\n".join(f"| `{kind}` | {what} |" for kind, what in CACHES.items())
    counts = _counted(found)
    lines = [_PAGE.format(
        torch=torch.__version__.partition("+")[0], transformers=transformers.__version__,
        where=where, count=counts, kinds=kinds,
    )]  # fmt: skip
    lines.append("| model | " + " | ".join(f"`{kind}`" for kind in CACHES) + " |\n")
    lines.append("|---|" + "---|" * len(CACHES) + "\n")
    for name in dict.fromkeys(name for name, _ in found):
        cells = [found.get((name, kind), ("",))[0] for kind in CACHES]
        lines.append(f"| {MODELS[name].model} | " + " | ".join(cells) + " |\n")
    notes = [
        f"* {MODELS[name].model}, `{kind}`:\n  {said}\n"
        for (name, kind), (_, said) in found.items() if said
    ]  # fmt: skip
    return "".join([*lines, "\n" if notes else "", *notes])


def _counted(found):
    words = [word for word, _ in found.values()]
    models = {name for (name, _), (word, _) in found.items() if word == "equal"}
    return (
        f"{words.count('equal')} pairs of {len(models)} models are equal, "
        f"{words.count('refused')} refused by name, {words.count('WRONG')} wrong, "
        f"{words.count('-')} not possible in transformers"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", default="", help="models, with commas between")
    parser.add_argument("--caches", default="", help="kinds, with commas between")
    parser.add_argument("--device", default="cpu", help="cpu: in the interpreter")
    parser.add_argument("--attention", default="fa3", help="or flash_fa3")
    parser.add_argument("--page", type=pathlib.Path, help="writes the table, as Markdown")
    parser.add_argument("--trace", action="store_true", help="tracebacks")
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    fa3.hf.register("fa3", interpret=options.device == "cpu")
    names = [one for one in options.only.split(",") if one] or list(MODELS)
    found = {}
    for name in names:
        for kind in MODELS[name].caches:
            if options.caches and kind not in options.caches.split(","):
                continue
            start = time.perf_counter()
            word, said = found[name, kind] = outcome(name, kind, options)
            print(f"{name:20}{kind:18} {time.perf_counter() - start:6.1f} s  {word}  {said}",
                  flush=True)  # fmt: skip
    print(_counted(found))
    if options.page:
        options.page.write_text(page(found, options.device))
    words = [word for word, _ in found.values()]
    return 1 if "WRONG" in words or "equal" not in words else 0


if __name__ == "__main__":
    sys.exit(main())
