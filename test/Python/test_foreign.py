# SPDX-License-Identifier: Apache-2.0
"""fa3.compile_program: programs of other compilers to kernels.

What is converted is compared with attention.forward written by hand: the same PTX,
of which other tests compare the values."""

import json
import pathlib
import tempfile
import unittest

import support

import fa3
from fa3.build.compiler import CompileOptions, ToolCompiler, get_compiler

FORMS = support.ROOT / "test" / "Conversion" / "ConvertToAttention"
THREE = pathlib.Path(__file__).parent / "Inputs" / "three_kinds.mlir"
WINDOW = """ mask_mod (%b, %h, %i, %j) {
    %d = arith.subi %i, %j : index
    %c = arith.constant 8 : index
    %far = arith.cmpi sgt, %d, %c : index
    %ahead = arith.cmpi sgt, %j, %i : index
    %hidden = arith.ori %far, %ahead : i1
    %true = arith.constant true
    %m = arith.xori %hidden, %true : i1
    attention.yield %m : i1
  }"""


def by_hand(name, keys=40, *, words="", region="", q="2x4x40x16", layout=""):
    query, key = f"tensor<{q}xf16>", f"tensor<2x4x{keys}x16xf16>"
    if layout:
        key = query
    return f"""func.func private @{name}(%q: {query}, %k: {key}, %v: {key}) -> {query} {{
  %o = attention.forward %q, %k, %v {words} {layout}
    : ({query}, {key}, {key}) -> {query}{region}
  return %o : {query}
}}"""


def first_form(file, name):
    """A program of a test of the converter, as its project's tool printed it."""
    parts = (FORMS / file).read_text().split("// -----")
    found = [part for part in parts if f'sym_name = "{name}"' in part]
    return found[0]


@support.needs_interpreter
class ForeignTest(unittest.TestCase):
    def expect_same(self, code, text):
        made = get_compiler().compile(text, CompileOptions())
        self.assertEqual(code.ptx, made.ptx)
        self.assertEqual(code.manifest, made.manifest)

    def test_three_kinds_give_three_kernels(self):
        made = fa3.compile_program(THREE.read_text())
        names = ["main_attention", "main_attention_1", "main_attention_2"]
        self.assertEqual(list(made.functions), names)
        kinds = [
            by_hand(names[0], words="mods [#attention.causal]"),
            by_hand(names[1], 24),
            by_hand(names[2], words="scale 0.125", region=WINDOW),
        ]
        for code, text in zip(made.functions.values(), kinds):
            self.expect_same(code, text)
        self.assertEqual(len({code.ptx for code in made.functions.values()}), 3)
        # The program calls them, and keeps what is not attention.
        for name in names:
            self.assertIn('"attention.call"', made.text)
            self.assertIn(f"callee = @{name}", made.text)
        self.assertIn('"torch.aten.matmul"', made.text)
        self.assertNotIn('"torch.aten.scaled_dot_product_attention"', made.text)
        self.assertNotIn('"torch.aten.softmax.int"', made.text)
        self.assertIn("became attention.forward", made.diagnostics[0].message)
        with tempfile.TemporaryDirectory() as folder:
            paths = made.save(folder)
            self.assertEqual([path.name for path in paths], [f"{n}.ptx" for n in names])
            for path, code in zip(paths, made.functions.values()):
                self.assertEqual(path.read_bytes(), code.ptx)
                self.assertEqual(path.with_suffix(".json").read_bytes(), code.manifest)
                self.assertIn("grid", json.dumps(json.loads(code.manifest)))
            self.assertEqual(pathlib.Path(folder, "program.mlir").read_text(), made.text)

    def test_every_project(self):
        causal = "mods [#attention.causal]"
        wide = {"q": "2x40x4x16", "layout": "layout bshd"}
        for file, form, name, options in [
            ("torch.mlir", "causal", "causal", {"words": causal}),
            ("onnx.mlir", "causal", "causal", {"words": causal}),
            ("stablehlo.mlir", "plain", "plain", wide),
            ("iree.mlir", "plain", "plain", {}),
        ]:
            with self.subTest(file):
                made = fa3.compile_program(first_form(file, form))
                self.assertEqual(list(made.functions), [name])
                self.expect_same(made.functions[name], by_hand(name, **options))

    def test_a_program_of_our_own(self):
        made = fa3.compile_program(by_hand("f"), foreign=False)
        self.expect_same(made.functions["f"], by_hand("f"))

    def test_refusals(self):
        empty = "func.func @f() { return }"
        with self.assertRaisesRegex(fa3.CompileError, "expects attention in the program"):
            fa3.compile_program(empty)
        # Remarks say why nothing was found.
        with self.assertRaisesRegex(fa3.CompileError, "found none"):
            fa3.compile_program(first_form("torch.mlir", "causal").replace(
                '"torch.aten.scaled_dot_product_attention"', '"torch.aten.other"'))
        with self.assertRaisesRegex(fa3.CompileError, "unregistered dialect|Dialect `torch'"):
            fa3.compile_program(THREE.read_text(), foreign=False)
        with self.assertRaisesRegex(fa3.CompileError, "convert_options 'no-such=1'.*no-such"):
            fa3.compile_program(empty, convert="no-such=1")
        with self.assertRaisesRegex(fa3.ArgumentError, "foreign"):
            fa3.compile_program(empty, foreign=False, convert="raise=false")
        with self.assertRaisesRegex(fa3.CompilerNotFoundError, "libfa3.so"):
            ToolCompiler.compile_program(None, empty, CompileOptions(), True, "")

    def test_options_of_the_conversion(self):
        made = fa3.compile_program(THREE.read_text(), convert="raise=false")
        self.assertEqual(len(made.functions), 2)
        self.assertIn('"torch.aten.softmax.int"', made.text)


if __name__ == "__main__":
    unittest.main()
