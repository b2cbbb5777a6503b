# SPDX-License-Identifier: Apache-2.0
"""torch and FlexAttention, printed by torch-mlir."""
import importlib

from .common import H, HK, B, D, S, arrays, need


def torch_module(torch, function, inputs, name):
    """The text that torch-mlir prints for a function on tensors."""
    fx = importlib.import_module("torch_mlir.fx")

    class Module(torch.nn.Module):
        def forward(self, *args):
            return function(*args)

    tensors = tuple(torch.from_numpy(x.copy()) for x in inputs)
    program = torch.export.export(Module(), tensors, strict=False)
    module = fx.export_and_import(program, output_type="raw",
                                  decomposition_table={}, func_name=name)
    return module.operation.get_asm(print_generic_op_form=True)


def torch_forms():
    torch, np = need("torch"), need("numpy")
    need("torch_mlir")
    sdpa = torch.nn.functional.scaled_dot_product_attention
    q, kv, long = (B, H, S, D), (B, HK, S, D), (B, H, 72, D)
    bshd = (B, S, H, D)

    def repeat(x, n):
        b, h, s, d = x.shape
        return x[:, :, None].expand(b, h, n, s, d).reshape(b, h * n, s, d)

    def swap(x):
        return x.transpose(1, 2)

    forms = {
        "plain": (lambda q, k, v: sdpa(q, k, v), [q, q, q]),
        "causal": (lambda q, k, v: sdpa(q, k, v, is_causal=True), [q, q, q]),
        "causal_longer": (lambda q, k, v: sdpa(q, k, v, is_causal=True),
                          [q, long, long]),
        "scale": (lambda q, k, v: sdpa(q, k, v, scale=0.5), [q, q, q]),
        "bool_mask": (lambda q, k, v, m: sdpa(q, k, v, attn_mask=m),
                      [q, q, q, ("i1", (S, S))]),
        "bool_mask_4d": (lambda q, k, v, m: sdpa(q, k, v, attn_mask=m),
                         [q, long, long, ("i1", (B, 1, S, 72))]),
        "float_mask": (lambda q, k, v, m: sdpa(q, k, v, attn_mask=m),
                       [q, q, q, (B, 1, S, S)]),
        "float_mask_heads": (lambda q, k, v, m: sdpa(q, k, v, attn_mask=m),
                             [q, q, q, (1, H, S, S)]),
        "enable_gqa": (lambda q, k, v: sdpa(q, k, v, enable_gqa=True),
                       [q, kv, kv]),
        "repeat_kv": (lambda q, k, v: sdpa(q, repeat(k, 2), repeat(v, 2),
                                           is_causal=True), [q, kv, kv]),
        "repeat_interleave": (
            lambda q, k, v: sdpa(q, k.repeat_interleave(2, dim=1),
                                 v.repeat_interleave(2, dim=1)), [q, kv, kv]),
        "transposed": (lambda q, k, v: swap(sdpa(swap(q), swap(k), swap(v))),
                       [bshd, bshd, bshd]),
        "permuted": (lambda q, k, v: sdpa(
            q.permute(0, 2, 1, 3), k.permute(0, 2, 1, 3),
            v.permute(0, 2, 1, 3), is_causal=True).permute(0, 2, 1, 3),
                     [bshd, bshd, bshd]),
    }
    for name, (function, kinds) in forms.items():
        inputs = arrays(np, kinds)

        def answer(function=function, inputs=inputs):
            # 16 bits would be rounded more often than in a kernel.
            args = [torch.from_numpy(x) for x in inputs]
            args = [x.float() if x.is_floating_point() else x for x in args]
            return function(*args).numpy()

        yield name, torch_module(torch, function, inputs, name), answer, inputs


def flex_forms():
    torch, np = need("torch"), need("numpy")
    need("torch_mlir")
    flex = importlib.import_module("torch.nn.attention.flex_attention")
    attention, create = flex.flex_attention, flex.create_block_mask
    q, kv = (B, H, S, D), (B, HK, S, D)

    def block(function):
        return create(function, B=None, H=None, Q_LEN=S, KV_LEN=S,
                      device="cpu")

    def causal(b, h, i, j):
        return i >= j

    def window(b, h, i, j):
        return (i >= j) & (i - j <= 8)

    def prefix(b, h, i, j):
        return (j < 7) | (i >= j)

    def dilated(b, h, i, j):
        return ((i - j) % 3 == 0) & (i >= j)

    def chunks(b, h, i, j):
        return (i // 8) == (j // 8)

    def by_batch(b, h, i, j):
        return (j <= 20 + 10 * b) & (h >= 0)

    def cap(s, b, h, i, j):
        return 5.0 * torch.tanh(s / 5.0)

    def distance(s, b, h, i, j):
        return s + (j - i) * 0.125

    def alibi(s, b, h, i, j):
        return s - torch.exp2(-(h + 1.0) * 2.0) * torch.abs(i - j)

    def where(s, b, h, i, j):
        return torch.where((i + j) % 2 == 0, s * 0.5, s)

    plain = {
        "causal": dict(block_mask=causal),
        "window_cap": dict(block_mask=window, score_mod=cap),
        "prefix": dict(block_mask=prefix),
        "dilated": dict(block_mask=dilated),
        "chunks": dict(block_mask=chunks),
        "by_batch": dict(block_mask=by_batch),
        "distance": dict(block_mask=causal, score_mod=distance, scale=0.5),
        "alibi": dict(block_mask=causal, score_mod=alibi),
        "where": dict(block_mask=causal, score_mod=where),
        "gqa": dict(block_mask=causal, enable_gqa=True),
    }
    for name, options in plain.items():
        keys = kv if options.get("enable_gqa") else q
        inputs = arrays(np, [q, keys, keys])
        options = dict(options, block_mask=block(options["block_mask"]))

        def function(q, k, v, options=options):
            return attention(q, k, v, **options)

        def answer(function=function, inputs=inputs):
            return function(*[torch.from_numpy(x).float()
                              for x in inputs]).numpy()

        yield (name, torch_module(torch, function, inputs, name), answer,
               inputs)
