#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a folder in the layout of the Hugging Face Hub's kernels of a wheel of fa3, for
`kernels` (0.17) to load from disk or from the Hub:

  scripts/hub_kernel.py dist/fa3_compiler-*.whl --out hub

  import kernels; fa3 = kernels.get_local_kernel(pathlib.Path("hub"))
  LOCAL_KERNELS=someone/fa3=hub python ..   # attn_implementation="someone/fa3"

The folder has the whole package inside, libraries too, under a name of its own: it works
beside an installed fa3, and beside another such folder. A folder `fa3` of a package is
taken in place of a wheel (its libraries are those of the environment then, if it has
none).
"""

import argparse
import hashlib
import json
import pathlib
import re
import shutil
import sys
import tempfile
import zipfile

INIT = '''# SPDX-License-Identifier: Apache-2.0
"""fa3, attention compiled for Hopper GPUs, as a kernel of the Hub: the functions of
FlashAttention-3, and all else as `.fa3`."""

from . import fa3
from .fa3.hf.hub import flash_attn_func, flash_attn_varlen_func, flash_attn_with_kvcache

__version__ = fa3.__version__
__all__ = [
    "fa3", "flash_attn_func", "flash_attn_varlen_func", "flash_attn_with_kvcache",
]  # fmt: skip
'''
#: What is of no use there, or of this machine.
LEFT_OUT = ("__pycache__", "*.pyc")


def unpack(source: pathlib.Path, folder: pathlib.Path) -> tuple[pathlib.Path, str]:
    """The package of a wheel, or of a checkout, and its version."""
    if source.is_dir():
        text = (source.resolve().parents[1] / "CMakeLists.txt").read_text()
        version = re.search(r"project\(fa3 VERSION ([0-9.]+)", text)
        return source, version.group(1) if version else ""
    version = re.match(r"fa3_compiler-([^-]+)-", source.name)
    if version is None:
        sys.exit(f"hub_kernel.py: {source.name} is no wheel of fa3-compiler")
    with zipfile.ZipFile(source) as wheel:
        wheel.extractall(folder)
    return folder / "fa3", version.group(1)


def hash_of(folder: pathlib.Path) -> str:
    """Of all files, by name: two builds have two names."""
    made = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            made.update(str(path.relative_to(folder)).encode() + b"\0")
            made.update(hashlib.sha256(path.read_bytes()).digest())
    return made.hexdigest()[:8]


def make(source: pathlib.Path, out: pathlib.Path) -> pathlib.Path:
    """The folder of the one variant: there is nothing of a version of torch or Python."""
    variant = out / "build" / "torch-cuda"
    if variant.exists():
        shutil.rmtree(variant)
    with tempfile.TemporaryDirectory() as folder:
        package, version = unpack(source, pathlib.Path(folder))
        ignored = shutil.ignore_patterns(*LEFT_OUT)
        shutil.copytree(package, variant / "fa3", ignore=ignored)
        beside = package.parent / "fa3_runtime"
        if not (variant / "fa3" / "fa3_runtime").exists() and beside.exists():
            shutil.copytree(beside, variant / "fa3" / "fa3_runtime", ignore=ignored)
    (variant / "fa3" / "VERSION").write_text(version + "\n")
    (variant / "__init__.py").write_text(INIT)
    described = {
        "name": "fa3", "id": f"_fa3_cuda_{hash_of(variant)}", "version": 1,
        "license": "Apache-2.0", "python-depends": [],
        "backend": {"type": "cuda", "archs": ["9.0a"]},
    }  # fmt: skip
    (variant / "metadata.json").write_text(json.dumps(described, indent=2) + "\n")
    return variant


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("source", type=pathlib.Path, help="a wheel, or a folder fa3")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    given = parser.parse_args()
    print(make(given.source, given.out))


if __name__ == "__main__":
    main()
