# SPDX-License-Identifier: Apache-2.0
"""iree_linalg_ext.attention as IREE prints it, and tm_tensor.attention as it makes
it of torch."""
from .common import B, D, H, HK, S, arrays, find_tool, need, run
from .pytorch import torch_forms


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
