# SPDX-License-Identifier: Apache-2.0
"""transformers and JAX."""

import importlib.util

import torch

import fa3

from .common import DEVICE, check, compare, package_path, row, run_python


def part_transformers(quick):
    if importlib.util.find_spec("transformers") is None:
        row("transformers", "not installed", "-")
        return
    import transformers

    fa3.hf.register()
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=512, hidden_size=512, intermediate_size=512, num_hidden_layers=3,
        num_attention_heads=8, num_key_value_heads=2, max_position_embeddings=1024,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config).to(DEVICE, torch.bfloat16).eval()
    ids = torch.randint(0, 512, (2, 300), device=DEVICE)
    padded = torch.ones_like(ids)
    padded[1, :77] = 0
    for name, mask in (("", None), (", padded", padded)):
        with check("transformers", f"logits of a Llama equal sdpa's{name}") as notes:
            logits = []
            for implementation in ("sdpa", "fa3"):
                model.set_attn_implementation(implementation)
                with torch.no_grad():
                    made = model(input_ids=ids, attention_mask=mask).logits
                logits.append(made if mask is None else made[1, 77:])
            compare(notes, logits[1], logits[0], 4e-2)
    with check("transformers", "generate() gives the same tokens as sdpa"):
        tokens = []
        for implementation in ("sdpa", "fa3"):
            model.set_attn_implementation(implementation)
            tokens.append(model.generate(ids[:1, :50], max_new_tokens=8, do_sample=False))
        # bf16 may part two equal logits; the first tokens have to agree.
        if not torch.equal(tokens[0][:, :52], tokens[1][:, :52]):
            raise AssertionError(f"{tokens[0][0, 50:]} and {tokens[1][0, 50:]}")


JAX_SCRIPT = """
import sys, numpy as np
sys.path.insert(0, {path!r})
import jax, jax.numpy as jnp, fa3.jax
rng = np.random.default_rng(0)
q, k, v = (jnp.asarray(rng.normal(size=(2, h, n, 64)), jnp.bfloat16)
           for h, n in ((4, 300), (2, 400), (2, 400)))
def reference(q, k, v):
    k, v = (jnp.repeat(x.astype(jnp.float32), 2, axis=1) for x in (k, v))
    s = jnp.einsum("bhid,bhjd->bhij", q.astype(jnp.float32), k, precision="highest") / 8
    i, j = jnp.arange(300)[:, None] + 100, jnp.arange(400)[None]
    s = jnp.where(j <= i, s, -jnp.inf)
    return jnp.einsum("bhij,bhjd->bhid", jax.nn.softmax(s), v, precision="highest")
f = jax.jit(lambda q, k, v: fa3.jax.attention(q, k, v, causal=True) * 1)
for _ in range(3):
    o = f(q, k, v)
worst = float(jnp.abs(o.astype(jnp.float32) - reference(q, k, v)).max())
assert worst < 3e-2, worst
o = jax.jit(jax.vmap(lambda q, k, v: fa3.jax.attention(q, k, v, causal=True)))(
    q[None], k[None], v[None])
assert float(jnp.abs(o[0].astype(jnp.float32) - reference(q, k, v)).max()) < 3e-2
slopes = jnp.asarray([0.5, 0.25, 0.1, 0.05], jnp.float32)
o = jax.jit(lambda q, k, v: fa3.jax.attention(
    q, k, v, score_mod=lambda s, b, h, i, j: s - slopes[h] * jnp.abs(i - j),
    mask_mod=lambda b, h, i, j: j <= i + 100))(q, k, v)
assert bool(jnp.isfinite(o.astype(jnp.float32)).all())
grads = []
for g in (lambda *x: fa3.jax.attention(*x, causal=True), reference):
    grads.append(jax.jit(jax.grad(
        lambda *x: jnp.sin(g(*x).astype(jnp.float32)).sum(), (0, 1, 2)))(q, k, v))
for a, c in zip(*grads):
    a, c = (x.astype(jnp.float32) for x in (a, c))
    assert float(jnp.abs(a - c).max()) < 4e-2 * max(1.0, float(jnp.abs(c).max()))
print(f"{{worst:.1e}} on {{jax.devices()[0]}}")
"""


def part_jax(quick):
    if importlib.util.find_spec("jax") is None:
        row("jax", "not installed", "-")
        return
    if importlib.util.find_spec("fa3.jax") is None:
        row("jax", "fa3.jax is not in this package", "-")
        return
    with check("jax", "attention under jit, vmap and grad, with mods") as notes:
        notes.append(run_python(JAX_SCRIPT.format(path=package_path())))
