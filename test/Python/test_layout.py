# SPDX-License-Identifier: Apache-2.0
"""The shape of the package: folders of few files, no import that leads back to where it
began."""

import ast
import pathlib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2] / "python" / "fa3"
MOST_FILES = 12


def modules():
    """Files by the names of their modules, "" for the package itself."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name, path, known, inside=False):
    """The modules of the package that one imports when it is imported; `inside`: those
    that its functions import, too."""
    package = name.split(".") if name else []
    if path.name != "__init__.py":
        package = package[:-1]
    made = set()

    def look(node):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)) and not inside:
            return
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

    def test_no_import_leads_back(self):
        known = modules()
        edges = {name: imports(name, path, known) for name, path in known.items()}
        self.assertEqual(circle(edges), [])
        self.assertEqual(circle(floors(edges)), [])
        self.assertIn("support", floors(edges)["serving"])

    def test_a_circle_is_found(self):
        self.assertEqual(circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}), ["b", "c", "b"])
        self.assertEqual(circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}), [])


if __name__ == "__main__":
    unittest.main()
