#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GroupQueryAttention with caches and rotation, against ONNX Runtime.

Each model is one operation, as exported decoders have it, with random operands of f16.
iree-import-onnx prints it; convert-to-attention, fa3 and Debian's mlir-opt with fa3's plugin
make a library of it, which is called. What ONNX Runtime (for Attention of ONNX: ONNX's
reference) computes in f32 of the same operands is what all results are compared with: of
caches the rows that are in use.

    onnx_runtime.py --build BUILD [--only NAME] [--ways definition,kernels]

By hand: needs onnx, onnxruntime, iree-base-compiler, numpy, and LLVM 22 with MLIR.
"""

import argparse
import ctypes
import importlib
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Both folders have a models.py; that of this one is meant.
sys.path[:0] = [str(HERE), str(HERE / "Inputs"),
                str(HERE.parent / "Conversion" / "ConvertToAttention" / "Inputs")]

import models  # noqa: E402
from forms.common import find_tool  # noqa: E402
from whole_model import descriptor  # noqa: E402

import numpy as np  # noqa: E402
import onnx  # noqa: E402

H, HK, D = 4, 2, 16
HELPER, KIND = onnx.helper, onnx.TensorProto
TYPES = {np.dtype(np.float16): KIND.FLOAT16, np.dtype(np.float32): KIND.FLOAT,
         np.dtype(np.int32): KIND.INT32, np.dtype(np.int64): KIND.INT64}
TOLERANCE = 4e-3


def group_query(seed, batch=2, rows=1, past=20, present=20, last=(4, 9), packed=True,
                rotary=True, bias=False, sinks=False, positions=None, **attributes):
    """(inputs by name, names of operands, shapes of results, attributes)."""
    random = np.random.default_rng(seed)

    def normal(*shape):
        return random.standard_normal(shape).astype(np.float16)

    inputs, names = {}, []

    def add(name, array):
        names.append(name if array is not None else "")
        if array is not None:
            inputs[name] = array

    if packed:
        add("Q", normal(batch, rows, (H + 2 * HK) * D))
        names += ["", ""]
    else:
        for name, heads in (("Q", H), ("K", HK), ("V", HK)):
            add(name, normal(batch, rows, heads * D))
    for name in ("PK", "PV"):
        add(name, normal(batch, HK, past, D) if past else None)
    add("last", np.array(last, np.int32))
    add("total", np.array([max(last) + 1], np.int32))
    if rotary:
        angle = np.arange(64)[:, None] / 10000 ** (np.arange(8) / 8)
        add("cos", np.cos(angle).astype(np.float16))
        add("sin", np.sin(angle).astype(np.float16))
        attributes["do_rotary"] = 1
    else:
        names += ["", ""]
    add("positions", None if positions is None else np.array(positions, np.int64))
    add("bias", normal(batch, H, rows, max(last) + 1) if bias else None)
    add("sinks", normal(H) if sinks else None)
    while not names[-1]:
        names.pop()
    cache = (batch, HK, present, D)
    return inputs, names, [(batch, rows, H * D), cache, cache], {
        "num_heads": H, "kv_num_heads": HK, **attributes}


MODELS = {
    "step": dict(),
    "step_interleaved": dict(rotary_interleaved=1),
    "step_apart": dict(packed=False),
    "step_plain": dict(rotary=False),
    "step_window": dict(local_window_size=4),
    "step_softcap": dict(softcap=2.0, scale=0.4),
    "step_smooth": dict(smooth_softmax=1),
    "step_sinks": dict(sinks=True),
    "step_bias": dict(past=9, present=10, last=(4, 9), bias=True),
    "step_positions": dict(positions=[[7], [3]]),
    "step_longer": dict(past=9, present=10),
    "chunk": dict(batch=1, rows=5, last=(11,)),
    "chunk_window": dict(batch=1, rows=5, last=(11,), local_window_size=3),
    "chunk_longer": dict(batch=1, rows=5, past=7, present=12, last=(11,)),
    "prompt": dict(rows=6, past=0, present=6, last=(5, 5)),
    "prompt_apart": dict(rows=6, past=0, present=6, last=(5, 5), packed=False),
    "prompt_padded": dict(rows=6, past=0, present=6, last=(5, 2)),
    "prompt_window": dict(rows=6, past=0, present=6, last=(5, 5), local_window_size=2),
    "prompt_cache": dict(rows=6, last=(5, 3)),
    "prompt_all": dict(rows=6, last=(5, 5), local_window_size=3, softcap=2.0, sinks=True,
                       rotary_interleaved=1),
}


def build(inputs, names, shapes, attributes, types):
    infos = [HELPER.make_tensor_value_info(n, types(x.dtype), x.shape)
             for n, x in inputs.items()]
    results = ["Y", "NK", "NV"]
    outs = [HELPER.make_tensor_value_info(n, types(np.dtype(np.float16)), shape)
            for n, shape in zip(results, shapes)]
    node = HELPER.make_node("GroupQueryAttention", names, results, domain="com.microsoft",
                            **attributes)
    graph = HELPER.make_graph([node], "f", infos, outs)
    imports = [HELPER.make_opsetid("", 24), HELPER.make_opsetid("com.microsoft", 1)]
    return HELPER.make_model(graph, opset_imports=imports, ir_version=10)


def print_model(proto):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "f.onnx")
        onnx.save(proto, path)
        text = models.call([find_tool("iree-import-onnx"), path])
    return models.call([find_tool("iree-opt"), "--mlir-print-op-generic", "-"], input=text)


def run_runtime(description):
    runtime = importlib.import_module("onnxruntime")

    def widen(dtype):
        return KIND.FLOAT if dtype == np.float16 else TYPES[dtype]

    proto = build(*description, widen)
    session = runtime.InferenceSession(proto.SerializeToString())
    return session.run(None, {n: x.astype(np.float32) if x.dtype == np.float16 else x
                              for n, x in description[0].items()})


def call_library(path, inputs, shapes):
    """The results of @f, which are memrefs of f16."""
    function = ctypes.CDLL(str(path))._mlir_ciface_f
    function.restype = None
    kinds = [descriptor(len(shape)) for shape in shapes]

    class Results(ctypes.Structure):
        _fields_ = [(f"r{i}", kind) for i, kind in enumerate(kinds)]

    def describe(array):
        kind = descriptor(array.ndim)
        strides = [s // array.itemsize for s in array.strides]
        return kind(array.ctypes.data, array.ctypes.data, 0, type(kind().sizes)(*array.shape),
                    type(kind().strides)(*strides))

    # The program may write into its caches.
    own = [np.ascontiguousarray(x).copy() for x in inputs]
    results = Results()
    described = [describe(x) for x in own]
    function(ctypes.byref(results), *[ctypes.byref(x) for x in described])
    arrays = []
    for i, shape in enumerate(shapes):
        one = getattr(results, f"r{i}")
        if tuple(one.sizes) != tuple(shape):
            sys.exit(f"result {i} has shape {tuple(one.sizes)}, expects {shape}")
        memory = (ctypes.c_uint16 * int(np.prod(shape))).from_address(
            one.aligned + 2 * one.offset)
        arrays.append(np.frombuffer(memory, np.float16).reshape(shape).astype(np.float32))
    return arrays


def compare(name, description, found, wanted):
    """The largest difference in what counts: no padding, no unused rows."""
    inputs, _, shapes, _ = description
    worst = 0
    rows = shapes[0][1]
    for b, last in enumerate(inputs["last"]):
        used = min(rows, last + 1)
        worst = max(worst, np.abs(found[0][b, :used] - wanted[0][b, :used]).max())
        for i in (1, 2):
            worst = max(worst, np.abs(found[i][b, :, :last + 1]
                                      - wanted[i][b, :, :last + 1]).max())
    return float(worst)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--llvm", default="/usr/lib/llvm-22")
    parser.add_argument("--only", help="models whose name has this in it")
    parser.add_argument("--ways", default="definition,kernels")
    args = parser.parse_args()
    os.environ["FA3_COMPILER_LIBRARY"] = f"{args.build}/lib/libfa3.so"
    ctypes.CDLL(f"{args.build}/lib/libfa3_runtime.so", mode=ctypes.RTLD_GLOBAL)
    failed = 0
    for seed, (name, options) in enumerate(MODELS.items()):
        if args.only and args.only not in name:
            continue
        description = group_query(seed, **options)
        wanted = run_runtime(description)
        printed = print_model(build(*description, TYPES.get))
        converted = models.call(
            [f"{args.build}/bin/fa3-opt", "--allow-unregistered-dialect",
             "--convert-to-attention", "-"], input=printed)
        if "attention.forward" not in converted:
            print(f"{name}: FAILED: is not converted")
            failed += 1
            continue
        for way in args.ways.split(","):
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder, "f.so")
                kernels = models.compile_library(args, converted, way, path)
                found = call_library(path, list(description[0].values()), description[2])
            off = compare(name, description, found, wanted)
            good = off <= TOLERANCE
            failed += not good
            print(f"{name}, {way}: {off:.2e}, {kernels} kernels"
                  f"{'' if good else ' FAILED'}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
