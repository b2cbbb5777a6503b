# SPDX-License-Identifier: Apache-2.0
"""Prints a module that an unguarded parser does not survive."""
import sys

DEEP = 100000


def attribute(text):
    return f"func.func @f() attributes {{a = {text}}} {{ return }}\n"


def argument(text):
    return f"func.func private @f(%a: {text})\n"


def aliases(use, count):
    lines = ["#a0 = [1]"]
    lines += [f"#a{i + 1} = [{use.format(i)}]" for i in range(count)]
    return "\n".join(lines) + "\n" + attribute(f"#a{count}")


FINE = [
    attribute('"' + "[" * 1000 + '"'),
    "// " + "[" * 1000 + "\nmodule {}\n",
    attribute("[" + ", ".join(["-1"] * 20000) + "]"),
    attribute("dense<[" + ", ".join(["[1, 2]"] * 5000) + "]> : tensor<5000x2xi32>"),
    "#loc0 = loc(unknown)\n" + "".join(
        f"#loc{i + 1} = loc(callsite(unknown at #loc{i}))\n" for i in range(1000))
    + "module {} loc(#loc1000)\n",
    "module {\n" * 100 + "}\n" * 100,
]
TEXTS = {
    "module": "module {\n" * DEEP + "}\n" * DEEP,
    "array": attribute("[" * DEEP + "]" * DEEP),
    "alias": aliases("#a{0}", DEEP),
    "twice": aliases("#a{0}, #a{0}", 60),
    "digits": f"func.func @f() {{ %c = arith.constant {'9' * DEEP} : i32\n return }}\n",
    "shape": f"func.func @f(%a: tensor<{'1x' * DEEP}f32>) {{ return }}\n",
    "width": "func.func @f(%a: i1000000) { return }\n",
    "signs": attribute(f"affine_map<(d0) -> ({'-' * DEEP}d0)>"),
    "tokens": attribute(f"affine_map<(d0) -> (d0{' + 1' * DEEP})>"),
    "fine": "// -----\n".join(FINE),
}
sys.stdout.write(TEXTS[sys.argv[1]])
