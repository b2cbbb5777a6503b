#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention as other projects print it, converted, and the numbers compared.

Every form is written in a project's own language, printed by its tools in
generic form, converted by convert-to-attention and run by fa3-run --cpu after
attention-to-tile. The answer is compared with what the project computes on the
CPU. A project whose packages are not there is skipped, and said to be.

    projects.py PROJECT... --tools build/bin [--save FOLDER] [--tolerance X]

Projects: torch, flex, iree, tm_tensor, jax, onnx, linalg. --save keeps the printed
forms, which the lit tests beside hold.
"""
import argparse
import functools
import importlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
B, H, HK, S, D = 2, 4, 2, 40, 16


class Skip(Exception):
    """A project that is not there."""


def need(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Skip(f"{name} is not installed") from error


def run(command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line]
        raise RuntimeError("\n".join(lines[:3] or [done.stderr[-500:]]))
    return done.stdout


def find_tool(name):
    """A tool of a Python package, beside the interpreter or in PATH."""
    import shutil
    beside = pathlib.Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if not found:
        raise Skip(f"{name} is not installed")
    return found


def arrays(np, kinds, seed=0):
    """Random arrays: a shape is f16, ("i1", shape) booleans with a key for every
    query, ("len", highest) lengths of batches."""
    rng = np.random.default_rng(seed)
    result = []
    for kind in kinds:
        if kind[0] == "i1":
            mask = rng.random(kind[1]) < 0.6
            mask[..., 0] = True
            result.append(mask)
        elif kind[0] == "len":
            result.append(rng.integers(1, kind[1] + 1, B).astype(np.int32))
        else:
            result.append(rng.standard_normal(kind).astype(np.float16))
    return result


#===-----------------------------------------------------------------------===#
# Projects: each yields (name, printed text, function, inputs), where the
# function computes the answer from the inputs.
#===-----------------------------------------------------------------------===#


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


def iree_run(text, name, inputs, np):
    """The answer of IREE's llvm-cpu back end."""
    compiler = need("iree.compiler")
    runtime = need("iree.runtime")
    flat = compiler.compile_str(
        text, target_backends=["llvm-cpu"], input_type="auto",
        extra_args=["--iree-llvmcpu-target-cpu=host"])
    config = runtime.Config("local-task")
    context = runtime.SystemContext(config=config)
    context.add_vm_module(runtime.VmModule.copy_buffer(
        context.instance, flat))
    module = context.modules.module
    return np.asarray(module[name](*inputs).to_host())


def iree_forms():
    """Written as IREE prints them, run by IREE."""
    np = need("numpy")
    need("iree.compiler")
    need("iree.runtime")
    opt = find_tool("iree-opt")

    def form(maps, types, result, region="iree_linalg_ext.yield %s : f32",
             scale="0.25"):
        names = [f"%a{i}" for i in range(len(types))]
        args = ", ".join(f"{n}: {t}" for n, t in zip(names, types))
        operands = names[:3] + ["%scale"] + names[3:]
        operand_types = types[:3] + ["f32"] + types[3:]
        affine = ", ".join(f"affine_map<{m}>" for m in maps)
        return f"""func.func @f({args}) -> {result} {{
  %scale = arith.constant {scale} : f32
  %empty = tensor.empty() : {result}
  %r = iree_linalg_ext.attention <indexing_maps = [{affine}]>
    ins({", ".join(operands)} : {", ".join(operand_types)})
    outs(%empty : {result}) {{
    ^bb0(%s: f32):
      {region}
  }} -> {result}
  return %r : {result}
}}"""

    four = "(b, h, m, n, k, l)"  # k: keys, l: elements of a query
    q, k = f"{four} -> (b, h, m, l)", f"{four} -> (b, h, k, l)"
    v, o = f"{four} -> (b, h, k, n)", f"{four} -> (b, h, m, n)"
    s = f"{four} -> ()"
    t, long = f"tensor<{B}x{H}x{S}x{D}xf16>", f"tensor<{B}x{H}x72x{D}xf16>"
    bshd = f"tensor<{B}x{S}x{H}x{D}xf16>"
    t3 = f"tensor<{H}x{S}x{D}xf16>"
    shape, longer = (B, H, S, D), (B, H, 72, D)
    grouped = "(b, h, g, m, n, k, l)"
    forms = {
        "plain": (form([q, k, v, s, o], [t, t, t], t), [shape] * 3),
        "longer": (form([q, k, v, s, o], [t, long, long], t),
                   [shape, longer, longer]),
        "bshd": (form([f"{four} -> (b, m, h, l)", f"{four} -> (b, k, h, l)",
                       f"{four} -> (b, k, h, n)", s,
                       f"{four} -> (b, m, h, n)"], [bshd] * 3, bshd),
                 [(B, S, H, D)] * 3),
        "bool_mask": (form([q, k, v, s, f"{four} -> (m, k)", o],
                           [t, t, t, f"tensor<{S}x{S}xi1>"], t),
                      [shape] * 3 + [("i1", (S, S))]),
        "float_mask": (form([q, k, v, s, f"{four} -> (b, m, k)", o],
                            [t, t, t, f"tensor<{B}x{S}x{S}xf16>"], t),
                       [shape] * 3 + [(B, S, S)]),
        "head_mask": (form([q, k, v, s, f"{four} -> (b, h, m, k)", o],
                           [t, t, t, f"tensor<{B}x{H}x{S}x{S}xf16>"], t),
                      [shape] * 3 + [(B, H, S, S)]),
        "region": (form([q, k, v, s, o], [t, t, t], t,
                        "%c = arith.constant 2.0 : f32\n"
                        "      %x = arith.divf %s, %c : f32\n"
                        "      %y = math.tanh %x : f32\n"
                        "      %z = arith.mulf %y, %c : f32\n"
                        "      iree_linalg_ext.yield %z : f32"), [shape] * 3),
        "index": (form([q, k, v, s, o], [t, t, t], t,
                       "%i = iree_linalg_ext.index 2 : index\n"
                       "      %j = iree_linalg_ext.index 4 : index\n"
                       "      %c = arith.cmpi sge, %i, %j : index\n"
                       "      %no = arith.constant 0xFF800000 : f32\n"
                       "      %x = arith.select %c, %s, %no : f32\n"
                       "      iree_linalg_ext.yield %x : f32"), [shape] * 3),
        "mqa": (form([q, f"{four} -> (b, k, l)", f"{four} -> (b, k, n)", s, o],
                     [t] + [f"tensor<{B}x{S}x{D}xf16>"] * 2, t),
                [shape, (B, S, D), (B, S, D)]),
        "grouped": (form(
            [f"{grouped} -> (b, h, g, m, l)", f"{grouped} -> (b, h, k, l)",
             f"{grouped} -> (b, h, k, n)", f"{grouped} -> ()",
             f"{grouped} -> (b, h, g, m, n)"],
            [f"tensor<{B}x{HK}x2x{S}x{D}xf16>",
             f"tensor<{B}x{HK}x{S}x{D}xf16>",
             f"tensor<{B}x{HK}x{S}x{D}xf16>"],
            f"tensor<{B}x{HK}x2x{S}x{D}xf16>"),
            [(B, HK, 2, S, D), (B, HK, S, D), (B, HK, S, D)]),
        "rank3": (form(["(b, m, n, k, l) -> (b, m, l)",
                        "(b, m, n, k, l) -> (b, k, l)",
                        "(b, m, n, k, l) -> (b, k, n)",
                        "(b, m, n, k, l) -> ()", "(b, m, n, k, l) -> (b, m, n)"],
                       [t3] * 3, t3), [(H, S, D)] * 3),
    }
    for name, (text, kinds) in forms.items():
        inputs = arrays(np, kinds)
        printed = run([opt, "--mlir-print-op-generic", "-"], text)

        def answer(text=text, inputs=inputs, name=name):
            if name == "index":
                # IREE's CPU back end does not compile it: by definition.
                q, k, v = [x.astype(np.float32) for x in inputs]
                score = 0.25 * np.einsum("bhic,bhjc->bhij", q, k)
                score[..., np.triu(np.ones((S, S), bool), 1)] = -np.inf
                weight = np.exp(score - score.max(-1, keepdims=True))
                weight /= weight.sum(-1, keepdims=True)
                return np.einsum("bhij,bhjc->bhic", weight, v)
            return iree_run(text, "f", inputs, np)

        yield name, printed, answer, inputs


# From torch to tm_tensor.attention, as IREE's torch plugin does it.
TO_TM_TENSOR = (
    "builtin.module(func.func(torch-iree-set-strict-symbolic-shapes),"
    "func.func(convert-torch-to-tmtensor),func.func(convert-torch-to-linalg),"
    "func.func(convert-torch-to-tensor),func.func(convert-torch-to-arith),"
    "torch-func-backend-type-conversion,func.func(canonicalize),"
    "func.func(torch-finalizing-backend-type-conversion),"
    "func.func(canonicalize,cse))")


def tm_tensor_forms():
    opt = find_tool("iree-opt")
    for name, text, answer, inputs in torch_forms():
        try:
            printed = run([opt, "--mlir-print-op-generic",
                           f"--pass-pipeline={TO_TM_TENSOR}", "-"], text)
        except RuntimeError as error:
            print(f"tm_tensor {name}: not printed: {error}")
            continue
        yield name, printed, answer, inputs


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


def onnx_forms():
    """Models, printed by torch-mlir's importer; the answer is that of ONNX's
    reference, or of ONNX Runtime for com.microsoft."""
    np, onnx = need("numpy"), need("onnx")
    importer = find_tool("iree-import-onnx")
    opt = find_tool("iree-opt")
    helper, kind = onnx.helper, onnx.TensorProto
    types = {np.dtype(np.float16): kind.FLOAT16, np.dtype(bool): kind.BOOL,
             np.dtype(np.int32): kind.INT32, np.dtype(np.int64): kind.INT64}

    def model(inputs, names, result, attributes, operator, domain):
        infos = [helper.make_tensor_value_info(n, types[x.dtype], x.shape)
                 for n, x in zip([n for n in names if n], inputs)]
        out = helper.make_tensor_value_info("Y", kind.FLOAT16, result)
        node = helper.make_node(operator, names, ["Y"], domain=domain,
                                **attributes)
        graph = helper.make_graph([node], "f", infos, [out])
        imports = [helper.make_opsetid("", 24)]
        if domain:
            imports.append(helper.make_opsetid(domain, 1))
        return helper.make_model(graph, opset_imports=imports, ir_version=10)

    def import_model(proto):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "f.onnx")
            onnx.save(proto, path)
            return run([opt, "--mlir-print-op-generic", "-"],
                       run([importer, path]))

    def widen(proto):
        """The model in f32, which rounds no scores."""
        wide = onnx.ModelProto()
        wide.CopyFrom(proto)
        for info in [*wide.graph.input, *wide.graph.output]:
            if info.type.tensor_type.elem_type == kind.FLOAT16:
                info.type.tensor_type.elem_type = kind.FLOAT
        return wide

    q, kv, long = (B, H, S, D), (B, HK, S, D), (B, H, 72, D)
    qkv = ["Q", "K", "V"]
    forms = {
        "plain": ([q, q, q], qkv, {}),
        "causal": ([q, q, q], qkv, dict(is_causal=1)),
        "causal_longer": ([q, long, long], qkv, dict(is_causal=1)),
        "scale_softcap": ([q, q, q], qkv, dict(scale=0.5, softcap=5.0)),
        "gqa": ([q, kv, kv], qkv, dict(is_causal=1)),
        "bool_mask": ([q, q, q, ("i1", (S, S))], qkv + ["M"], {}),
        "float_mask": ([q, q, q, (B, 1, S, S)], qkv + ["M"], {}),
        "mask_softcap": ([q, q, q, (B, H, S, S)], qkv + ["M"],
                         dict(softcap=3.0)),
        "mask_causal": ([q, q, q, (S, S)], qkv + ["M"], dict(is_causal=1)),
        "lengths": ([q, q, q, ("len", S)], qkv + ["", "", "", "N"], {}),
        "flat": ([(B, S, H * D), (B, S, HK * D), (B, S, HK * D)], qkv,
                 dict(q_num_heads=H, kv_num_heads=HK, is_causal=1)),
    }
    grouped = {
        "group_query": {},
        "group_query_window": dict(local_window_size=8, scale=0.5),
        "group_query_softcap": dict(softcap=5.0),
        "group_query_scale": dict(scale=0.125),
        "group_query_window_softcap": dict(local_window_size=16, softcap=2.0),
        "group_query_all": dict(local_window_size=5, softcap=3.0, scale=0.3),
        "multi_head": dict(kv_num_heads=H),
        "multi_query": dict(kv_num_heads=1),
        "multi_query_window": dict(kv_num_heads=1, local_window_size=1),
    }
    for name, attributes in grouped.items():
        attributes = {"num_heads": H, "kv_num_heads": HK, **attributes}
        key_heads = attributes["kv_num_heads"]
        # All lengths are whole: what rows behind them hold is not specified.
        flat = [(B, S, H * D), *[(B, S, key_heads * D)] * 2]
        inputs = arrays(np, flat) + [np.full(B, S - 1, np.int32),
                                     np.full(1, S, np.int32)]
        names = qkv + ["", "", "last", "total"]
        proto = model(inputs, names, flat[0], attributes,
                      "GroupQueryAttention", "com.microsoft")
        printed = import_model(proto)

        def answer(proto=proto, inputs=inputs, names=names,
                   key_heads=key_heads):
            runtime = need("onnxruntime")
            wide = widen(proto)
            # ONNX Runtime's operator always has these results.
            node = wide.graph.node[0]
            node.output.extend(["PK", "PV"])
            for result in ("PK", "PV"):
                wide.graph.output.append(helper.make_tensor_value_info(
                    result, kind.FLOAT, (B, key_heads, S, D)))
            session = runtime.InferenceSession(wide.SerializeToString())
            feed = {n: x.astype(np.float32) if x.dtype == np.float16 else x
                    for n, x in zip([n for n in names if n], inputs)}
            return session.run(["Y"], feed)[0]

        yield name, printed, answer, inputs
    for name, (kinds, names, attributes) in forms.items():
        inputs = arrays(np, kinds)
        if name == "lengths":
            inputs[3] = inputs[3].astype(np.int64)
        proto = model(inputs, names, kinds[0], attributes, "Attention", "")
        printed = import_model(proto)

        def answer(proto=proto, inputs=inputs, names=names):
            reference = importlib.import_module("onnx.reference")
            wide = widen(proto)
            feed = {n: x.astype(np.float32) if x.dtype == np.float16 else x
                    for n, x in zip([n for n in names if n], inputs)}
            return reference.ReferenceEvaluator(wide).run(None, feed)[0]

        yield name, printed, answer, inputs


# Softmax becomes loops; then what is left of linalg does.
LINALG_TO_LLVM = (
    "transform-interpreter,one-shot-bufferize{bufferize-function-boundaries},"
    "convert-linalg-to-loops,convert-scf-to-cf,expand-strided-metadata,"
    "lower-affine,convert-math-to-libm,convert-to-llvm,"
    "reconcile-unrealized-casts")
DECOMPOSE = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op) {
    %s = transform.structured.match ops{["linalg.softmax"]} in %m
      : (!transform.any_op) -> !transform.any_op
    %d = transform.structured.decompose_interface %s
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
"""


def linalg_forms():
    """The functions of linalg.mlir, as mlir-opt prints them; the answer is what
    they compute in f32, in MLIR's ExecutionEngine."""
    np = need("numpy")
    opt, runner = find_tool("mlir-opt"), find_tool("mlir-runner")
    libraries = pathlib.Path(opt).resolve().parents[1] / "lib"
    source = pathlib.Path(__file__).parents[1] / "linalg.mlir"
    header, *functions = re.split(r"(?=^func\.func )", source.read_text(),
                                  flags=re.M)
    for function in functions:
        name = re.match(r"func\.func @(\w+)", function)[1]
        signature = function.split("\n")[0]
        if name in ("returned", "other"):  # These stay.
            continue
        shapes = [[int(n) for n in re.findall(r"\d+(?=x)", kind)] for kind in
                  re.findall(r"tensor<[^>]*>", signature)]
        inputs = arrays(np, [tuple(shape) for shape in shapes[:-1]])
        # Code between the contractions rounds scores to f16, which matters
        # where they are large.
        inputs[0] = inputs[0] / np.float16(4)
        text = run([opt, "-mlir-print-op-generic"], header + function)

        def answer(function=function, name=name, inputs=inputs,
                   shapes=shapes):
            wide = function.replace("f16", "f32").replace("0xFC00",
                                                          "0xFF800000")
            wide = re.sub(r"arith\.(?:extf|truncf) (%\w+) : f32 to f32",
                          r"arith.maximumf \1, \1 : f32", wide)
            types = [f"tensor<{'x'.join(map(str, shape))}xf32>"
                     for shape in shapes]
            lines = ["func.func private @printMemrefF32(tensor<*xf32>)",
                     "func.func @main() {"]
            for i, x in enumerate(inputs):
                data = x.astype("<f4").tobytes().hex()
                lines.append(f'  %{i} = arith.constant dense<"0x{data}"> : '
                             + types[i])
            names = ", ".join(f"%{i}" for i in range(len(inputs)))
            lines += [f"  %r = call @{name}({names}) : "
                      f"({', '.join(types[:-1])}) -> {types[-1]}",
                      f"  %u = tensor.cast %r : {types[-1]} to tensor<*xf32>",
                      "  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()",
                      "  return", "}", "}"]
            lowered = run(
                [opt, f"--pass-pipeline=builtin.module({LINALG_TO_LLVM})"],
                header + DECOMPOSE + wide + "\n".join(lines))
            # mlir-runner does not know the dialect.
            lowered = re.sub(
                r"transform\.named_sequence.*?transform\.yield *\n *\}|"
                r"attributes \{transform\.with_named_sequence\}", "", lowered,
                flags=re.S)
            printed = run(
                [runner, "-e", "main", "-entry-point-result=void",
                 "--shared-libs=" + ",".join(
                     str(libraries / f"libmlir_{which}runner_utils.so")
                     for which in ("", "c_"))], lowered)
            numbers = printed[printed.index("data ="):]
            return np.array([float(x) for x in re.findall(
                r"-?[\d.]+(?:e[-+]?\d+)?|nan", numbers)]).reshape(shapes[-1])

        yield name, text, answer, inputs


PROJECTS = {"torch": torch_forms, "flex": flex_forms, "iree": iree_forms,
            "tm_tensor": tm_tensor_forms, "jax": jax_forms,
            "onnx": onnx_forms, "linalg": linalg_forms}

#===-----------------------------------------------------------------------===#
# Comparison
#===-----------------------------------------------------------------------===#


def lift(text, inputs):
    """Reshapes of arguments and of the result become those of the arrays."""
    shapes = {}
    for match in re.finditer(
            r"^ *(%\w+) = tensor\.(?:expand|collapse)_shape (%arg(\d+)) .* into "
            r"(tensor<[^>]*>)\n", text, re.M):
        result, argument, number, kind = match.groups()
        text = text.replace(match.group(), "")
        text = re.sub(re.escape(argument) + r": tensor<[^>]*>",
                      f"{argument}: {kind}", text)
        text = re.sub(re.escape(result) + r"(?!\w)", argument, text)
        shapes[int(number)] = [int(n) for n in
                               re.findall(r"\d+(?=x)", kind)]
    end = re.search(r"^ *(%\w+) = tensor\.(?:expand|collapse)_shape (%o) .* : "
                    r"(tensor<[^>]*>) into (tensor<[^>]*>)\n", text, re.M)
    if end:
        text = text.replace(end.group(), "")
        text = re.sub(re.escape(end[1]) + r" : .*", f"%o : {end[3]}", text)
        text = re.sub(r"(func\.func .*\) -> )" + re.escape(end[4]),
                      rf"\g<1>{end[3]}", text, count=1)
    inputs = [x.reshape(shapes.get(i, x.shape)) for i, x in enumerate(inputs)]
    return text, inputs


def convert_and_run(tools, text, inputs, np):
    """What fa3 computes for a printed form."""
    convert = "--convert-to-attention"
    if "linalg.softmax" in text:
        convert += "=raise-linalg"
    text = run([f"{tools}/fa3-opt", "--allow-unregistered-dialect", convert,
                "-"], text)
    if "attention.forward" not in text:
        raise RuntimeError("is not converted")
    text, inputs = lift(text, inputs)
    lowered = run([f"{tools}/fa3-opt", "--attention-expand-mods",
                   "--attention-to-tile", "-"], text)
    names = re.findall(r'tile.name = "(\w+)"', lowered.split(") {\n")[0])
    if "o" not in names or len(inputs) != names.index("o"):
        raise RuntimeError(f"expects {len(inputs)} arguments, got {names}")
    with tempfile.TemporaryDirectory() as folder:
        module = os.path.join(folder, "module.mlir")
        pathlib.Path(module).write_text(lowered)
        command = [f"{tools}/fa3-run", "--cpu", "--no-check", module]
        for name, array in zip(names, inputs):
            path = os.path.join(folder, name + ".npy")
            np.save(path, array)
            command.append(f"--input={name}={path}")
        result = os.path.join(folder, "o.npy")
        run(command + [f"--output=o={result}"])
        return np.load(result).astype(np.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("projects", nargs="*", default=list(PROJECTS))
    parser.add_argument("--tools", default="")
    parser.add_argument("--save")
    parser.add_argument("--only", help="forms whose name has this in it")
    parser.add_argument("--tolerance", type=float, default=4e-3)
    args = parser.parse_args()
    passed = failed = skipped = 0
    for project in args.projects:
        try:
            np = need("numpy")
            for name, text, answer, inputs in PROJECTS[project]():
                if args.only and args.only not in name:
                    continue
                if args.save:
                    folder = pathlib.Path(args.save) / project
                    folder.mkdir(parents=True, exist_ok=True)
                    (folder / f"{name}.mlir").write_text(text)
                try:
                    found = convert_and_run(args.tools, text, inputs, np)
                    wanted = np.asarray(answer()).astype(np.float32)
                    found = found.reshape(wanted.shape)
                    error = float(np.abs(found - wanted).max())
                    # A NaN is no small error.
                    good = error <= args.tolerance
                    print(f"{project} {name}: {error:.2e}"
                          f"{'' if good else ' FAILED'}")
                except RuntimeError as problem:
                    good = False
                    print(f"{project} {name}: FAILED: {problem}")
                passed += good
                failed += not good
        except Skip as reason:
            skipped += 1
            print(f"{project}: skipped: {reason}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
