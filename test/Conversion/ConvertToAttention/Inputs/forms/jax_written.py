# SPDX-License-Identifier: Apache-2.0
"""Attention that JAX writes out: jax.nn.dot_product_attention by XLA, and einsum."""
import importlib

from .common import B, D, H, HK, S, arrays, need


def jax_written_forms():
    """StableHLO for CUDA; the answer is JAX's own, in f32."""
    np = need("numpy")
    jax = need("jax")
    jnp = importlib.import_module("jax.numpy")
    export = importlib.import_module("jax.export")
    ir = importlib.import_module("jaxlib.mlir.ir")
    make_context = importlib.import_module(
        "jax._src.interpreters.mlir").make_ir_context

    def attention(q, k, v, *rest, **named):
        return jax.nn.dot_product_attention(q, k, v, *rest, implementation="xla", **named)

    def by_einsum(q, k, v):
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / D ** 0.5
        seen = jnp.arange(S)[None, :] <= jnp.arange(S)[:, None]
        weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1)
        return jnp.einsum("bhqk,bkhd->bqhd", weights, v)

    def in_f32(q, k, v):
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k, preferred_element_type=jnp.float32)
        weights = jax.nn.softmax(scores * 0.25).astype(q.dtype)
        return jnp.einsum("bhqk,bkhd->bqhd", weights, v)

    q, kv = (B, S, H, D), (B, S, HK, D)
    forms = {
        "plain": (attention, [q, q, q]),
        "causal_gqa": (lambda q, k, v: attention(q, k, v, is_causal=True), [q, kv, kv]),
        "window": (lambda q, k, v: attention(q, k, v, is_causal=True,
                                             local_window_size=(8, 0)), [q, q, q]),
        "mask": (lambda q, k, v, m: attention(q, k, v, mask=m > 0),
                 [q, q, q, (B, 1, S, S)]),
        "bias": (lambda q, k, v, b: attention(q, k, v, bias=b), [q, q, q, (1, H, S, S)]),
        "lengths": (lambda q, k, v, n: attention(q, k, v, key_value_seq_lengths=n),
                    [q, q, q, ("len", S)]),
        "einsum_causal": (by_einsum, [q, q, q]),
        "einsum_f32": (in_f32, [q, q, q]),
    }
    for name, (function, kinds) in forms.items():
        inputs = arrays(np, kinds)
        shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in inputs]
        exported = export.export(jax.jit(function), platforms=["cuda"])(*shapes)
        module = ir.Module.parse(exported.mlir_module(), make_context())
        text = module.operation.get_asm(print_generic_op_form=True)

        def answer(function=function, inputs=inputs):
            args = [jnp.asarray(x.astype(np.float32))
                    if x.dtype == np.float16 else jnp.asarray(x)
                    for x in inputs]
            return np.asarray(function(*args))

        yield name, text, answer, inputs
