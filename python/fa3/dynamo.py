# SPDX-License-Identifier: Apache-2.0
"""What torch.compile must not trace, and what it may take for constant. Imported only
while something is traced: torch.compiler.disable and assume_constant_result import
torch._dynamo, which takes more than half as long as torch itself."""

from __future__ import annotations

from typing import Any

import torch

from . import packed, serving, trace
from .blocks import Lists
from .request import Request

plan_mods = torch.compiler.assume_constant_result(trace.plan_mods)
describe_mods = torch.compiler.assume_constant_result(trace.describe_mods)


@torch.compiler.disable
def run_outside(*args: Any, lists: Lists | None = None, **named: Any) -> Any:
    """A call of fa3.attention with mods and the like."""
    return Request(*args, **named, **(lists.named if lists is not None else {})).run()


@torch.compiler.disable
def run_eagerly(*args: Any, **named: Any) -> Any:
    """A call of fa3.attention, as if nothing were compiled."""
    from .api import attention

    return attention(*args, **named)


@torch.compiler.disable
def serve(*args: Any, **named: Any) -> Any:
    """A call of serving.attention."""
    return serving.attention(*args, **named)


@torch.compiler.disable
def run_packed(*args: Any, **named: Any) -> Any:
    """A call of packed.attention."""
    return packed.attention(*args, **named)
