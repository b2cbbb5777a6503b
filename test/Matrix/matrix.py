#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles attention for every configuration of a matrix, with ptxas strict.

A configuration fails if the pipeline or ptxas reports an error: no spill, no
local memory, no serialized product is tolerated. One line per failure; the
exit code is 1 if there is any. With --entries the configurations are those of a
tuning table, at the lengths that its entries are for.
"""
import argparse
import concurrent.futures
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time

DIMS = [32, 40, 64, 72, 80, 96, 112, 128, 136, 160, 192, 256, (192, 128)]
TYPES = ["f16", "bf16"]
DIMS_8_BIT = [32, 64, 96, 128, 192, 256, (192, 128)]
# Of q and k; v has the same, or f8E4M3FN beside i8.
TYPES_8_BIT = ["f8E4M3FN", "f8E5M2", "i8"]
# Whose elements of q are sums of two numbers.
DIMS_TWO_TERMS = [64, 128, 256, (192, 128)]
TWO_TERMS = "2f8E4M3FN"
MASKS = ["full", "causal"]
MOD_DIMS = DIMS
MODS = {
    "full": "",
    "causal": "#attention.causal",
    "window": "#attention.window<left = 1024, right = 0>",
    "both-sides": "#attention.window<left = 256, right = 256>",
    "prefix": "#attention.prefix<128>",
    "softcap": "#attention.softcap<50.0>",
    "causal-softcap": "#attention.softcap<50.0>, #attention.causal",
    "alibi": "#attention.alibi<aux = 0>",
    "causal-alibi": "#attention.alibi<aux = 0>, #attention.causal",
    "bias": "#attention.bias<aux = 0>",
    "causal-bias": "#attention.bias<aux = 0>, #attention.causal",
}
# Gradients: of what attention.backward takes. Behind `grad` is an operand that
# has one, too.
BACKWARD = "backward-"
DIMS_BACKWARD = [32, 64, 72, 80, 96, 112, 128, 160, 192, 256, (192, 128), (64, 128),
                 320, 512, (576, 512), (64, 512), (192, 512)]
MASKS_BACKWARD = ["full", "causal", "window", "prefix", "softcap", "causal-softcap",
                  "alibi", "bias", "causal-bias", "grad-alibi", "grad-bias",
                  "causal-grad-bias"]


def mods_of(mask):
    """Of a name in MODS, or of several."""
    parts = [mask] if mask in MODS else mask.replace("grad-", "").split("-")
    return ", ".join(MODS[part] for part in parts)


def module(dim, mask, element, layout="bhsd", known=None, has_lse=True):
    """The text of one function with one attention.forward; `known` are batch,
    heads, queries, keys and key heads, unless they are the heads, if the
    compiler knows them."""
    if mask.startswith(BACKWARD):
        return backward_module(dim, mask.removeprefix(BACKWARD), element, layout,
                               known)
    d, dv = dim if isinstance(dim, tuple) else (dim, dim)
    b, h, sq, sk, *hk = known or "????"
    hk = hk[0] if hk else h
    terms = 2 if element == TWO_TERMS else 1
    element = element.removeprefix("2")
    q = f"tensor<{b}x{h}x{sq}x{terms * d}x{element}>"
    k = f"tensor<{b}x{hk}x{sk}x{d}x{element}>"
    of_values = "f8E4M3FN" if element == "i8" else element
    v = f"tensor<{b}x{hk}x{sk}x{dv}x{of_values}>"
    mods = f" mods [{mods_of(mask)}]" if mods_of(mask) else ""
    aux_type = ""
    if "alibi" in mask:
        aux_type = f"tensor<{h}xf32>"
    elif "bias" in mask:
        wide = "f16" if element in TYPES_8_BIT else element
        aux_type = f"tensor<{b}x{h}x{sq}x{sk}x{wide}>"
    aux_arg = f", %aux: {aux_type} {{tile.name = \"aux\"}}" if aux_type else ""
    aux = f" aux(%aux : {aux_type})" if aux_type else ""
    o, scales, scale_args = f"tensor<{b}x{h}x{sq}x{dv}x{element}>", "", ""
    if element in TYPES_8_BIT:
        o = o.replace(element, "f16")
        names = [name + "_scale" for name in "qkv"]
        scale_args = "".join(f', %{name}: tensor<1x1x1xf32> {{tile.name = "{name}"}}'
                             for name in names)
        scales = (f" scales({', '.join('%' + name for name in names)} : "
                  f"{', '.join(['tensor<1x1x1xf32>'] * 3)})")
        if terms != 1:
            scales += f" q_terms {terms}"
    results = {"o": o} | (
        {"lse": f"tensor<{b}x{h}x{sq}xf32>"} if has_lse else {})
    named = ", ".join(f'{type} {{tile.name = "{name}"}}'
                      for name, type in results.items())
    values = ", ".join("%" + name for name in results)
    types = ", ".join(results.values())
    return f"""func.func @kernel(
    %q: {q} {{tile.name = "q"}}, %k: {k} {{tile.name = "k"}},
    %v: {v} {{tile.name = "v"}}{aux_arg}{scale_args})
    -> ({named}) {{
  {values} = attention.forward %q, %k, %v{aux}{scales} layout {layout}{mods}
    : ({q}, {k}, {v})
    -> ({types})
  return {values} : {types}
}}
"""


def backward_module(dim, mask, element, layout="bhsd", known=None):
    """The text of one function with one attention.backward."""
    d, dv = dim if isinstance(dim, tuple) else (dim, dim)
    b, h, sq, sk, *hk = known or "????"
    hk = hk[0] if hk else h
    def array(heads, rows, last):
        inner = (heads, rows) if layout == "bhsd" else (rows, heads)
        return f"tensor<{b}x{inner[0]}x{inner[1]}x{last}x{element}>"
    q, k, v, o = array(h, sq, d), array(hk, sk, d), array(hk, sk, dv), array(h, sq, dv)
    types = {"q": q, "k": k, "v": v, "o": o, "lse": f"tensor<{b}x{h}x{sq}xf32>",
             "do": o}
    gradients = {"dq": q, "dk": k, "dv": v}
    clauses = ""
    if "alibi" in mask or "bias" in mask:
        # All sequences share a bias.
        aux = (f"tensor<{h}xf32>" if "alibi" in mask else
               f"tensor<1x{h}x{sq}x{sk}x{element}>")
        clauses += f" aux(%aux : {aux})"
        if "grad" in mask:
            clauses += " grad_aux [0]"
            gradients["daux"] = aux
    mods = f" mods [{mods_of(mask)}]" if mods_of(mask) else ""
    arguments = dict(types, aux=aux) if clauses else types
    named = [", ".join(f'{sign}{type} {{tile.name = "{name}"}}'
                       for name, type in group.items()
                       for sign in [f"%{name}: " * is_argument])
             for group, is_argument in ((arguments, 1), (gradients, 0))]
    values = ", ".join("%" + name for name in gradients)
    results = ", ".join(gradients.values())
    return f"""func.func @kernel({named[0]})
    -> ({named[1]}) {{
  {values} = attention.backward %q, %k, %v, %o, %lse, %do{clauses} layout {layout}{mods}
    : ({", ".join(types.values())})
    -> ({results})
  return {values} : {results}
}}
"""


def configurations():
    seen = set()
    for key in itertools.chain(
        itertools.product(DIMS, MASKS, TYPES),
        itertools.product(MOD_DIMS, MODS, TYPES),
        itertools.product(DIMS_8_BIT, MODS, TYPES_8_BIT),
        itertools.product(DIMS_TWO_TERMS, MODS, [TWO_TERMS]),
        itertools.product(DIMS_BACKWARD, [BACKWARD + mask for mask in MASKS_BACKWARD],
                          TYPES),
    ):
        if key not in seen:
            seen.add(key)
            yield key


def configurations_of(table):
    """(dim, mask, element, known) for every entry of a tuning table and every
    type of its width; of entries of a class that only differ in their lengths, the
    first. Heads are as many as in what entries were measured with."""
    with open(table) as file:
        entries = json.load(file)["entries"]
    seen = set()
    for entry in entries:
        same = tuple(entry[name] for name in ("bits", "d", "dv", "mask", "options"))
        if same in seen:
            continue
        seen.add(same)
        d, dv, length = entry["d"], entry["dv"], entry["length"]
        mask = entry["mask"].removeprefix("full-")
        known = None
        if length:
            heads = max(2048 // d, 1)
            known = [max(16384 // length, 1), heads, length, length]
        for element in TYPES if entry["bits"] == 16 else TYPES_8_BIT:
            yield d if d == dv else (d, dv), mask, element, known


def distinct(keys):
    """Of every dim, mask and width one length and one type, another one each
    time."""
    groups = {}
    for key in keys:
        dim, mask, element, _ = key
        groups.setdefault((dim, mask, element in TYPES), []).append(key)
    for number, group in enumerate(groups.values()):
        yield group[number % len(group)]


def name_of(dim, mask, element, known=None):
    d = f"{dim[0]}-{dim[1]}" if isinstance(dim, tuple) else str(dim)
    length = f"-{known[3]}" if known else ""
    return f"d{d}-{mask}-{element}{length}"


def compile_one(args, folder, key):
    """(name, passed, seconds, registers, first message)"""
    name = name_of(*key)
    *what, known = key
    source = os.path.join(folder, name + ".mlir")
    with open(source, "w") as file:
        file.write(module(*what, known=known, has_lse=not args.no_lse))
    start = time.time()
    pipeline = "builtin.module(fa3-lower-to-nvvm-pipeline{%s})" % args.options
    command = [args.translate, source, f"--pass-pipeline={pipeline}"]
    if args.ptx:
        command += ["--mlir-to-ptx", "--no-manifest",
                    "-o", os.path.join(folder, name + ".ptx")]
    else:
        command += ["--mlir-to-cubin", "--ptxas-strict", "--ptxas-usage",
                    "-o", os.path.join(folder, name + ".cubin")]
    try:
        run = subprocess.run(command, capture_output=True, text=True,
                             timeout=args.timeout)
        code, text = run.returncode, run.stderr
    except subprocess.TimeoutExpired:
        code, text = 124, f"error: no answer in {args.timeout} s"
    used = re.search(r"uses (\d+) registers", text)
    errors = re.findall(r"error: .*", text) or text.strip().splitlines()[-1:]
    return (name, code == 0, time.time() - start,
            used.group(1) if used else "-",
            "" if code == 0 else f"exit {code}: " + " | ".join(errors[:2]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--translate", default="fa3-translate")
    parser.add_argument("--filter", default="", help="regular expression")
    parser.add_argument("--options", default="", help="of the pipeline")
    parser.add_argument(
        "--known", metavar="B,H,SQ,SK[,HK]",
        type=lambda text: text.split(","),
        help="batch, heads, queries, keys and key heads that the compiler "
        "knows")
    parser.add_argument("--entries", metavar="TABLE",
                        help="what the entries of a tuning table are for, "
                        "with their options")
    parser.add_argument("--distinct", action="store_true",
                        help="of entries for one dim and mask only one")
    parser.add_argument("--ptx", action="store_true",
                        help="to PTX only, without ptxas")
    parser.add_argument("--no-lse", action="store_true",
                        help="attention without its second result")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=int, default=120)
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    if args.entries and (args.known or "tuning-table" in args.options):
        parser.error("--entries says which lengths and which table")
    if args.entries:
        table = os.path.abspath(args.entries)
        args.options = f"{args.options} tuning-table={table}".strip()
    everything = (configurations_of(args.entries) if args.entries else
                  ((*key, args.known) for key in configurations()))
    if args.distinct:
        everything = distinct(everything)
    keys = [key for key in everything if re.search(args.filter, name_of(*key))]
    if not keys:
        sys.exit(f"no configuration matches '{args.filter}'")
    failed = 0
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, passed, seconds, registers, message in pool.map(
                lambda key: compile_one(args, folder, key), keys):
            failed += not passed
            if not passed or args.verbose:
                print(f"{'pass' if passed else 'FAIL'} {name} {seconds:.1f} s "
                      f"registers {registers} {message}".rstrip(), flush=True)
    print(f"{len(keys) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
