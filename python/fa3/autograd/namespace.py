# SPDX-License-Identifier: Apache-2.0
"""Where torch keeps fa3's operators: torch.ops.fa3, or, where another copy of the
package has made these in this process, a namespace of this copy's own."""

from __future__ import annotations

import hashlib
from typing import Any

import torch


def _find() -> str:
    taken = {
        name.partition("::")[0] for name in torch._C._dispatch_get_all_op_names()
        if name.startswith("fa3")
    }  # fmt: skip
    if "fa3" not in taken:
        return "fa3"
    made = "fa3_" + hashlib.sha256(f"{__name__} {__file__}".encode()).hexdigest()[:8]
    if made in taken:
        raise ImportError(f"torch.ops.{made} is there already, of {__file__}")
    return made


NAME = _find()
ops: Any = getattr(torch.ops, NAME)
