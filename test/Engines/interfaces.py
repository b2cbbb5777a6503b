#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the backends of fa3.engines were made for, beside what an engine has.

    test/Engines/interfaces.py vllm PATH       # a wheel, an unpacked one, or site-packages
    test/Engines/interfaces.py sglang PATH
    test/Engines/interfaces.py vllm PATH --update

Classes are read as text, so nothing of an engine is imported. interfaces.json has, of the
files that backends depend on, the parameters of methods, the fields of data classes and
the words of enumerations; test/Python/engine_stubs.py makes stand-ins of it. What is
missing or has other parameters is printed, and the exit code is 1."""

import argparse
import ast
import json
import pathlib
import sys
import zipfile

DATA = pathlib.Path(__file__).with_name("interfaces.json")
#: Files and the classes that are looked at; None stands for functions of the module.
LOOKED_AT = {
    "vllm": {
        "vllm/v1/attention/backend.py": (
            "AttentionBackend", "AttentionMetadataBuilder", "AttentionImplBase", "AttentionImpl",
            "CommonAttentionMetadata", "AttentionCGSupport", "AttentionType", "MultipleOf",
        ),
        "vllm/v1/attention/backends/registry.py": (None,),
    },
    "sglang": {
        "sglang/srt/layers/attention/base_attn_backend.py": ("AttentionBackend",),
        "sglang/srt/layers/attention/attention_registry.py": (None,),
        "sglang/srt/layers/radix_attention.py": ("AttentionType",),
        "sglang/srt/mem_cache/memory_pool.py": ("KVWriteLoc",),
        "sglang/srt/plugins/hook_registry.py": ("HookRegistry", "HookType"),
        "sglang/srt/speculative/draft_utils.py": ("DraftBackendFactory",),
    },
}  # fmt: skip
#: Of classes that are called and no base, the methods that are called.
CALLED = {"HookRegistry": ("register",), "DraftBackendFactory": ("_create_backend",)}
#: Functions of modules that are called.
FUNCTIONS = ("register_backend", "register_attention_backend")


def read(path, name):
    """The text of a file of a wheel or a folder."""
    if path.is_dir():
        return (path / name).read_text()
    with zipfile.ZipFile(path) as wheel:
        return wheel.read(name).decode()


def version(path, engine):
    if path.is_dir():
        names = [one.name for one in path.glob(f"{engine}-*.dist-info")]
    else:
        names = [path.name]
    return names[0].split("-")[1].removesuffix(".dist") if names else ""


def parameters(function):
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return [*names, *(["*"] if given.vararg else []), *(["**"] if given.kwarg else [])]


def is_abstract(function):
    return any("abstractmethod" in ast.dump(one) for one in function.decorator_list)


def describe(text, classes):
    """By class: methods with parameters, abstract ones, and fields or words."""
    made = {}
    tree = ast.parse(text)
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    if None in classes:
        made[""] = {"methods": {
            one.name: parameters(one) for one in tree.body
            if isinstance(one, functions) and one.name in FUNCTIONS
        }}  # fmt: skip
    for node in tree.body:
        if not isinstance(node, ast.ClassDef) or node.name not in classes:
            continue
        methods = [
            one for one in node.body
            if isinstance(one, functions) and one.name in CALLED.get(node.name, (one.name,))
        ]  # fmt: skip
        fields = [one.target.id for one in node.body if isinstance(one, ast.AnnAssign)]
        fields += [
            one.targets[0].id for one in node.body
            if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
        ]
        made[node.name] = {
            "methods": {one.name: parameters(one) for one in methods},
            "abstract": [one.name for one in methods if is_abstract(one)],
            "fields": fields,
        }
    return made


def compare(known, found):
    """Sentences on what fa3 was made for and is not there."""
    for file, classes in known.items():
        for name, one in classes.items():
            where = f"{file}: {name or 'the module'}"
            other = found[file].get(name)
            if other is None:
                yield f"{where} is missing"
                continue
            for method, given in one["methods"].items():
                if other["methods"].get(method) != given:
                    yield f"{where}.{method}: {other['methods'].get(method)}, was {given}"
            for field in one.get("fields", ()):
                if field not in other["fields"]:
                    yield f"{where}.{field} is missing"
            for method in set(other.get("abstract", ())) - set(one.get("abstract", ())):
                yield f"{where}.{method} is abstract, and was not"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("engine", choices=LOOKED_AT)
    parser.add_argument("path", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    given = parser.parse_args()
    found = {
        file: describe(read(given.path, file), classes)
        for file, classes in LOOKED_AT[given.engine].items()
    }
    data = json.loads(DATA.read_text()) if DATA.exists() else {}
    if given.update:
        data[given.engine] = {"version": version(given.path, given.engine), "files": found}
        DATA.write_text(json.dumps(data, indent=1) + "\n")
        return 0
    known = data[given.engine]
    wrong = list(compare(known["files"], found))
    print("\n".join(wrong))
    print(f"made for {known['version']}, this is {version(given.path, given.engine)}: "
          f"{len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
