# SPDX-License-Identifier: Apache-2.0
"""Models of ONNX and of ONNX Runtime."""
import importlib
import os
import tempfile

from .common import B, D, H, HK, S, arrays, find_tool, need, run


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
