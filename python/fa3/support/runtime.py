# SPDX-License-Identifier: Apache-2.0
"""fa3_runtime, the ctypes binding of the launcher, wherever it lies: in the
package as it is installed, beside the package in a checkout."""

from __future__ import annotations

import os
import pathlib
from types import ModuleType

_HERE = pathlib.Path(__file__).resolve().parents[1]


def _import() -> ModuleType:
    try:
        from .. import fa3_runtime  # type: ignore[attr-defined]

        return fa3_runtime
    except ImportError:
        pass
    try:
        import fa3_runtime  # type: ignore[no-redef]

        return fa3_runtime
    except ImportError:
        pass
    import importlib.util
    import sys

    path = _HERE.parent / "fa3_runtime" / "__init__.py"
    spec = importlib.util.spec_from_file_location("fa3_runtime", path)
    if spec is None or spec.loader is None or not path.exists():
        raise ImportError("fa3_runtime is neither in the package nor beside it")
    module = importlib.util.module_from_spec(spec)
    sys.modules["fa3_runtime"] = module
    spec.loader.exec_module(module)
    return module


def find_file(name: str, variable: str, *folders: str) -> str | None:
    """Path of a file: what the environment says, in the package, in a build
    tree or an unpacked archive that the package lies in."""
    override = os.environ.get(variable)
    if override:
        return override
    root = _HERE.parent.parent
    for folder in (_HERE / "_lib", *(root / folder for folder in folders)):
        if (folder / name).exists():
            return str(folder / name)
    return None


runtime = _import()
_library = find_file("libfa3_runtime.so", "FA3_RUNTIME_LIBRARY", "lib", "build/lib")
if _library is not None:
    runtime.interface.library_path = _library
