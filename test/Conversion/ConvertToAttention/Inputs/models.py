#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention of transformers' models, converted, and the numbers compared.

Each architecture, tiny, with random weights of f16, goes through torch.export and
torch-mlir, as it calls scaled_dot_product_attention (`sdpa`) or writes attention out
(`eager`), in torch's form (`raw`) or lowered to linalg. Every attention of the program is
to become attention.forward. Each is run by fa3-run --cpu on inputs of N(0, 1) and compared
with softmax(q k^T scale + mask) v in f32, with the mask that the model has computed in
torch. Says of each which of the masks are code that skips blocks.

    models.py [MODEL...] --tools build/bin [--kinds sdpa.raw,sdpa.linalg,eager.raw,..]

Needs torch, torch-mlir, transformers and numpy.
"""
import argparse
import os
import pathlib
import re
import sys
import tempfile
import warnings

from forms.architectures import ARCHITECTURES, print_program, watch_masks
from forms.common import run

import numpy as np

warnings.filterwarnings("ignore")
KINDS = ("sdpa.raw", "sdpa.linalg", "eager.raw", "eager.linalg")


def get_sites(text):
    """The text of each attention.forward with its regions."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if re.search(r"= attention\.forward ", line):
            indent = len(line) - len(line.lstrip())
            last = number + 1
            while (lines[last].startswith(" " * (indent + 1)) or
                   lines[last].strip() == "}" and
                   len(lines[last]) - 1 == indent):
                last += 1
            yield "\n".join(lines[number:last])


def make_module(site):
    """A function around an attention; the types of its arguments and the layout."""
    head = site.split("\n")[0]
    operands = re.search(r"attention\.forward (%\w+), (%\w+), (%\w+)", head).groups()
    kinds = re.search(r" : \((tensor<[^)]*)\) -> (tensor<[^ ,)]*>)", head)
    types = kinds[1].split(", ")
    aux = re.search(r"aux\(([^:]*) : ([^)]*)\)", head)
    extra = list(zip(aux[1].split(", "), aux[2].split(", "))) if aux else []
    body = re.sub(r"%o(_\d+)? = attention", "%o = attention", site)
    names = dict(zip(operands, ("%q", "%k", "%v")))
    if len(names) < 3:
        raise RuntimeError("q, k and v are not three tensors")
    arguments = [f"%{n}: {t} {{tile.name = \"{n}\"}}" for n, t in zip("qkv", types)]
    for i, (value, kind) in enumerate(extra):
        names[value] = f"%table{i}"
        arguments.append(f"%table{i}: {kind} {{tile.name = \"table{i}\"}}")
    body = re.sub(r"%\w+", lambda m: names.get(m[0], m[0]), body)
    module = (f"func.func @site({', '.join(arguments)}) -> ({kinds[2]} "
              f"{{tile.name = \"o\"}}) {{\n{body}\n  return %o : {kinds[2]}\n}}\n")
    return module, types, [kind for _, kind in extra], "layout bshd" in head


def attend(q, k, v, scale, mask, cap):
    """In f32, of (b, h, s, d). Rows that see no key give 0."""
    scores = np.einsum("bhid,bhjd->bhij", q, k) * scale
    if cap:
        scores = np.tanh(scores / cap) * cap
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = weights.sum(-1, keepdims=True)
    return np.einsum("bhij,bhjd->bhid", weights / np.where(total > 0, total, 1), v)


def check_site(tools, site, mask, tables, cap):
    """The largest difference of an attention from what its mask says."""
    module, types, extra, is_bshd = make_module(site)
    random = np.random.default_rng(1)
    shapes = [[int(n) for n in re.findall(r"\d+(?=x)", kind)] for kind in types]
    arrays = [random.standard_normal(shape).astype(np.float16) for shape in shapes]
    q, k, v = (x.astype(np.float32).swapaxes(1, 2) if is_bshd else
               x.astype(np.float32) for x in arrays)
    k, v = (x.repeat(q.shape[1] // x.shape[1], 1) for x in (k, v))
    # The scores' own scale is in a number or in q.
    scale = 1 / np.sqrt(q.shape[-1])
    own = re.search(r" scale ([-+.\de]+)", site)
    own = float(own[1]) * (cap or 1) if own else scale
    if mask is not None and mask.dtype != bool:
        tables = [*tables, mask.astype(np.float16)[0].transpose(1, 2, 0)]
    if "arith.mulf" in site and " scale 1.0" in site:
        own = scale  # The code has it.
    if mask is not None and mask.ndim == 4 and (len(mask), mask.shape[1]) != q.shape[:2]:
        # Heads are batches.
        mask = np.broadcast_to(mask, (1, *q.shape[:1], *mask.shape[2:])).swapaxes(0, 1) \
            if q.shape[1] == 1 else mask
    arrays[0] = (arrays[0].astype(np.float32) * (scale / own)).astype(np.float16)
    for kind in extra:
        shape = tuple(int(n) for n in re.findall(r"\d+(?=x)", kind))
        found = [t for t in tables if t.shape == shape]
        if not found:
            raise RuntimeError(f"no table of {kind}")
        arrays.append(found[-1])
    wanted = attend(q, k, v, scale, mask, cap)
    lowered = run([f"{tools}/fa3-opt", "--attention-expand-mods",
                   "--attention-to-tile", "-"], module)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "module.mlir")
        pathlib.Path(path).write_text(lowered)
        names = ["q", "k", "v"] + [f"table{i}" for i in range(len(extra))]
        command = [f"{tools}/fa3-run", "--cpu", "--no-check", path]
        for name, array in zip(names, arrays):
            file = os.path.join(folder, name + ".npy")
            np.save(file, array)
            command.append(f"--input={name}={file}")
        run(command + [f"--output=o={folder}/o.npy"])
        found = np.load(f"{folder}/o.npy").astype(np.float32)
    found = found.swapaxes(1, 2) if is_bshd else found
    # Rows without a visible key are padding: torch has the mean of v or 0.
    rows = np.ones(found.shape[:3], bool)
    if mask is not None:
        seen = mask if mask.dtype == bool else mask > -1e4
        rows &= np.broadcast_to(seen.any(-1), rows.shape)
    return float(np.abs(found - wanted)[rows].max())


def describe(site):
    mods = re.search(r"mods \[(.*?)\] ", site)
    parts = [mods[1].replace("#attention.", "")] if mods else []
    parts += [region for region in ("mask_mod", "score_mod") if region in site]
    return ", ".join(parts) or "full"


def check(tools, name, kind, masks, tables, expected):
    """(passed, attentions) of one program."""
    implementation, form = kind.split(".")
    text = run([f"{tools}/fa3-opt", "--allow-unregistered-dialect",
                "--convert-to-attention", "-"], print_program(name, implementation, form))
    sites = list(get_sites(text))
    good = len(sites) == expected
    notes = [] if good else [f"{len(sites)} of {expected} found"]
    worst = 0.0
    for number, site in enumerate(sites if good else []):
        try:
            worst = max(worst, check_site(tools, site, masks[number][0], tables,
                                          masks[number][1]))
        except RuntimeError as problem:
            notes.append(str(problem).split("\n")[0])
            good = False
    good = good and worst <= 4e-3
    kinds = "; ".join(dict.fromkeys(describe(site) for site in sites))
    print(f"{name} {kind}: {worst:.1e} {kinds} {'' if good else 'FAILED ' + str(notes)}",
          flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(ARCHITECTURES))
    parser.add_argument("--tools", required=True)
    parser.add_argument("--kinds", default=",".join(KINDS))
    args = parser.parse_args()
    passed, failed = 0, []
    for name in args.models or list(ARCHITECTURES):
        masks, tables = watch_masks(name)
        for kind in args.kinds.split(","):
            if kind.split(".")[0] not in ARCHITECTURES[name].implementations:
                continue
            try:
                good = check(args.tools, name, kind, masks, tables, len(masks))
            except Exception as problem:  # Tools of others may fail in many ways.
                print(f"{name} {kind}: not printed: {str(problem)[:120]!r}", flush=True)
                good = False
            passed += good
            failed += [] if good else [f"{name} {kind}"]
    print(f"{passed} passed, {len(failed)} failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
