# SPDX-License-Identifier: Apache-2.0
"""The text of a CUDA program of JAX that calls cuDNN."""
import functools
import importlib

from .common import B, D, H, HK, S, arrays, need


def jax_forms():
    """The text of a CUDA program that calls cuDNN; the answer is jax's own."""
    np = need("numpy")
    jax = need("jax")
    jnp = importlib.import_module("jax.numpy")
    export = importlib.import_module("jax.export")
    cudnn = importlib.import_module(
        "jax._src.cudnn.fused_attention_stablehlo")
    # cuDNN itself is asked for its version; no call is ever made.
    cudnn.check_cudnn_version = lambda *args, **options: 91000
    cudnn.check_compute_capability = lambda *args, **options: True
    ir = importlib.import_module("jaxlib.mlir.ir")
    make_context = importlib.import_module(
        "jax._src.interpreters.mlir").make_ir_context
    attention = jax.nn.dot_product_attention
    q, kv, long = (B, S, H, D), (B, S, HK, D), (B, 72, H, D)
    forms = {
        "plain": (lambda q, k, v, **o: attention(q, k, v, **o), [q, q, q]),
        "longer": (lambda q, k, v, **o: attention(q, k, v, **o),
                   [q, long, long]),
        "causal_gqa": (lambda q, k, v, **o: attention(
            q, k, v, is_causal=True, **o), [q, kv, kv]),
        "scale": (lambda q, k, v, **o: attention(q, k, v, scale=0.5, **o),
                  [q, q, q]),
        "bias": (lambda q, k, v, b, **o: attention(q, k, v, bias=b, **o),
                 [q, q, q, (1, H, S, S)]),
        "bias_batch": (lambda q, k, v, b, **o: attention(
            q, k, v, bias=b, is_causal=True, **o), [q, q, q, (B, H, S, S)]),
        "lengths": (lambda q, k, v, m, n, **o: attention(
            q, k, v, query_seq_lengths=m, key_value_seq_lengths=n, **o),
                    [q, q, q, ("len", S), ("len", S)]),
        "lengths_causal": (lambda q, k, v, m, n, **o: attention(
            q, k, v, query_seq_lengths=m, key_value_seq_lengths=n,
            is_causal=True, **o), [q, q, q, ("len", S), ("len", S)]),
        "window": (lambda q, k, v, **o: attention(
            q, k, v, is_causal=True, local_window_size=(8, 0), **o),
                   [q, q, q]),
    }
    names = ["__cudnn$fmhaSoftmax", "__cudnn$fmhaScaleBiasSoftmax"]
    for name, (function, kinds) in forms.items():
        inputs = arrays(np, kinds)
        shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in inputs]
        exported = export.export(
            jax.jit(functools.partial(function, implementation="cudnn")),
            platforms=["cuda"], disabled_checks=[
                export.DisabledSafetyCheck.custom_call(n) for n in names])(
                    *shapes)
        module = ir.Module.parse(exported.mlir_module(), make_context())
        text = module.operation.get_asm(print_generic_op_form=True)

        def answer(function=function, inputs=inputs):
            args = [jnp.asarray(x.astype(np.float32))
                    if x.dtype == np.float16 else jnp.asarray(x)
                    for x in inputs]
            return np.asarray(function(*args, implementation="xla"))

        yield name, text, answer, inputs
