# SPDX-License-Identifier: Apache-2.0
"""The shape of the package: folders of few files, functions of few parameters, no import
that leads back to where it began, at the top of a module or in a function."""

import ast
import pathlib
import re
import unittest

import support

ROOT = pathlib.Path(__file__).resolve().parents[2] / "python" / "fa3"
MOST_FILES, MOST_PARAMETERS = 12, 10

#: Functions that may have more parameters: those that docs/Python.md names,
PUBLIC = {
    "api": {"attention", "attention_kernel"},
    "flex": {"flex_attention"},
    "jax": {"attention"},
    "serving": {"attention"},
    "torch": {"attention"},
    "tuning": {"autotune"},
    # those that have the parameters of another package's functions or operators,
    "flash_attn_2": {
        "_flash_attn_backward", "_flash_attn_forward", "_flash_attn_varlen_backward",
        "_flash_attn_varlen_forward", "flash_attn_func", "flash_attn_varlen_func",
        "flash_attn_with_kvcache",
    },
    "flash_attn_3.ops": {
        "_bwd", "_bwd_fake", "_flash_attn_backward", "_flash_attn_forward", "_fwd",
    },
    "flash_attn_interface": {
        "flash_attn_func", "flash_attn_qkvpacked_func", "flash_attn_varlen_func",
        "flash_attn_with_kvcache", "get_scheduler_metadata",
    },
    "flash_mla": {"flash_mla_with_kvcache"},
    "sdpa.operators": {"cudnn_backward", "efficient_backward", "flash_backward"},
    "sdpa.packed": {"backward", "forward"},
    # and those that transformers and vLLM call.
    "engines.vllm": {"__init__"},
    "hf": {"attention_forward"},
    "hf.flash": {"flash_attn_varlen_func", "flash_attn_with_kvcache"},
}  # fmt: skip


def modules():
    """Files by the names of their modules, "" for the package itself."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name, path, known):
    """The modules of the package that one imports, its functions included."""
    package = name.split(".") if name else []
    if path.name != "__init__.py":
        package = package[:-1]
    made = set()

    def look(node):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            return
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            base += (node.module or "").split(".") if node.module else []
            for one in node.names:
                full = ".".join([*base, one.name])
                made.add(full if full in known else ".".join(base))
        for child in ast.iter_child_nodes(node):
            look(child)

    look(ast.parse(path.read_text()))
    return made & set(known)


def circle(edges):
    """Names that lead from one to the next and back to the first; [] if none do."""
    state, way = {}, []

    def visit(name):
        state[name] = "open"
        way.append(name)
        for other in sorted(edges[name]):
            if state.get(other) == "open":
                return way[way.index(other) :] + [other]
            if other not in state:
                found = visit(other)
                if found:
                    return found
        state[name] = "done"
        way.pop()
        return []

    for name in edges:
        if name not in state:
            found = visit(name)
            if found:
                return found
    return []


def wide_functions(text):
    """Names of functions that have more than MOST_PARAMETERS, self and *rest not counted."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            given = node.args
            names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            if len([one for one in names if one not in ("self", "cls")]) > MOST_PARAMETERS:
                found.add(node.name)
    return found


def floors(edges):
    """Of folders, those that the modules in them import."""
    folders = {name.partition(".")[0] for name in edges if "." in name}
    made = {folder: set() for folder in folders}
    for name, others in edges.items():
        folder = name.partition(".")[0]
        if folder in folders:
            made[folder] |= {one.partition(".")[0] for one in others} & folders - {folder}
    return made


class LayoutTest(unittest.TestCase):
    def test_a_folder_has_few_files(self):
        for folder in (ROOT, *(one for one in ROOT.rglob("*") if one.is_dir())):
            if folder.name == "__pycache__":
                continue
            files = sorted(one.name for one in folder.iterdir() if one.is_file())
            self.assertLessEqual(len(files), MOST_FILES, f"{folder.name}: {files}")

    def test_functions_have_few_parameters(self):
        wide = {name: wide_functions(path.read_text()) for name, path in modules().items()}
        self.assertEqual({name: one for name, one in wide.items() if one}, PUBLIC)

    def test_a_wide_function_is_found(self):
        names = ", ".join(f"a{n}" for n in range(11))
        self.assertEqual(wide_functions(f"def f({names}): pass"), {"f"})
        self.assertEqual(wide_functions(f"class A:\n  def f(self, *, {names}): pass"), {"f"})
        self.assertEqual(wide_functions(f"def f(self, {names[4:]}, *rest): pass"), set())

    def test_no_import_leads_back(self):
        known = modules()
        edges = {name: imports(name, path, known) for name, path in known.items()}
        self.assertEqual(circle(edges), [])
        self.assertEqual(circle(floors(edges)), [])
        self.assertIn("support", floors(edges)["serving"])

    def test_a_circle_is_found(self):
        self.assertEqual(circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}), ["b", "c", "b"])
        self.assertEqual(circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}), [])


def number_in(folder, pattern):
    """What stands for the group of a pattern in the one place of the C++ that has it."""
    found = {
        match[1]
        for path in (ROOT.parents[1] / folder).rglob("*") if path.is_file()
        for match in re.finditer(pattern, path.read_text())
    }  # fmt: skip
    (one,) = found
    return one


class SameTest(unittest.TestCase):
    """Numbers and words that Python has as well as the compiler, which nobody is asked
    for."""

    def test_greatest_extent(self):
        from fa3.support.values import GREATEST_EXTENT

        pattern = r"kGreatestExtent = int64_t\(1\) << (\d+);"
        shift = number_in("include/fa3/Dialect/Attention", pattern)
        self.assertEqual(GREATEST_EXTENT, 1 << int(shift))

    @support.needs_torch
    def test_packed_sequences(self):
        from fa3.serving.call import FEW_SEQUENCES, MOST_SEQUENCES

        few = number_in("lib/Conversion/AttentionToTile", r"kMostPackedSequences = (\d+);")
        most = number_in("include/fa3/Dialect/Tile/IR", r"IntMaxValue<(\d+)>\]>:\$most")
        self.assertEqual((FEW_SEQUENCES, MOST_SEQUENCES), (int(few), int(most)))

    def test_stages(self):
        from fa3.build.compiler import INTERPRETED

        words = number_in("include/fa3/Pipelines", r"kStageNames\[\] = \{([^}]*)\}")
        self.assertEqual(INTERPRETED, ("definition", *re.findall(r'"(\w+)"', words), "ptx"))


if __name__ == "__main__":
    unittest.main()
