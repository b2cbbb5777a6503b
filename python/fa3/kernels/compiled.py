# SPDX-License-Identifier: Apache-2.0
"""The kernels of calls of attention, compiled when they are first asked for.

A caller's mask at wide heads is what an assembler takes longest for. So a first call
gets a kernel whose steps all have the mask: half the code, up to a tenth slower. A
thread compiles the one that leaves the mask out of blocks that are visible as a
whole, and later calls get that. Both give the same bits. Calls that are captured in a
CUDA graph wait for the second one."""

from __future__ import annotations

import dataclasses
import logging
import re
import sys
import threading
from typing import Any

from ..build.driver import Kernel, compile, default_ptx_version, find_ptxas, is_bundled, is_ready
from ..errors import CompileError, TraceError
from ..mods.trace import Traced
from ..support import forks
from .spec import Spec

logger = logging.getLogger("fa3")

_COMPARED = re.compile(r"arith\.cmpi \w+, .* : i64$", re.MULTILINE)
_WIDE_HEADS = 128  # wider ones have a quick kernel before the one that is meant

Options = tuple[tuple[str, Any], ...]
#: The kernels of all doors, by what they are for, and options that others have not.
kernels: dict[tuple[Any, Options], Kernel] = {}
#: Of those for the time being.
_QUICK: Options = (("edges", "none"),)
_pending: dict[Spec, threading.Thread] = {}
_failed: set[Spec] = set()
_lock = forks.lock()
# A forked child has none of its parent's threads.
forks.in_child(_pending.clear)


def compile_traced(text: str, traced: Traced | None, **options: Any) -> Kernel:
    """Compiles a module; what is wrong with a mod is said of the user's line.
    `options` are those of fa3.compile."""
    try:
        return compile(text, **options)
    except CompileError as error:
        for one in error.diagnostics:
            file, line = traced.place_of(text, one.line) if traced else ("", 0)
            if one.severity == "error" and file:
                raise TraceError(one.message, file, line) from error
        raise


def get(spec: Any, traced: Traced | None = None, given: Options = (), **options: Any) -> Kernel:
    """The kernel of a specification, compiled at the first time, with the options by
    which it differs from others, and those that follow from what it is."""
    kernel = kernels.get((spec, given))
    if kernel is None:
        kernel = compile_traced(spec.to_mlir(), traced, **{**options, **dict(given)})
        kernels[spec, given] = kernel
    return kernel


def options_of(spec: Spec) -> dict[str, Any]:
    """What a kernel is compiled with first."""
    # Less code where a caller's mask has steps in front of those that need no mask
    # and behind: 20 % less to compile, and as fast.
    options: dict[str, Any] = {"edges": "together"} if spec.regions.mask else {}
    if _compares_64_bits(spec):
        # Three groups of 64 rows have no registers for them.
        options["block_m"] = 128
    return options


def find(
    spec: Spec, traced: Traced | None, given: Options = ()
) -> tuple[Kernel, bool]:
    """The kernel for a call, and whether it is the one for later calls, too. `given`
    are options of fa3.compile that the caller has chosen."""
    if given:
        return get(spec, traced, given, **options_of(spec)), True
    kernel = kernels.get((spec, ()))
    if kernel is not None:
        return kernel, True
    options = options_of(spec)
    text = spec.to_mlir()
    if spec.group > 1 and not is_ready(text, **options):
        # A bundle's kernel for any group is there at once, and where nothing compiles.
        of_any = dataclasses.replace(spec, group=1)
        if is_bundled(of_any.to_mlir(), **options):
            kernels[spec, ()] = kernel = get(of_any, traced, **options)
            return kernel, True
    if "block_m" in options:
        try:
            return get(spec, traced, **options), True
        except (CompileError, TraceError):
            del options["block_m"]  # a smaller tile yet, or what is wrong is said
    if not _has_quick(spec) or is_ready(text, **options):
        return get(spec, traced, **options), True
    if spec not in _failed:
        thread = _compile_meanwhile(spec, traced, options)
        if _is_capturing():
            thread.join()
            kernel = kernels.get((spec, ()))
            if kernel is not None:
                return kernel, True
    return get(spec, traced, _QUICK), spec in _failed


def wait() -> None:
    """Until no kernel is compiled for later calls."""
    for thread in list(_pending.values()):
        thread.join()


def _compares_64_bits(spec: Spec) -> bool:
    code = spec.regions.score + spec.regions.mask
    narrow = max(spec.head_dim, spec.head_dim_v) <= _WIDE_HEADS
    return narrow and spec.blocks is None and bool(_COMPARED.search(code))


def _has_quick(spec: Spec) -> bool:
    wide = max(spec.head_dim, spec.head_dim_v) > _WIDE_HEADS
    return bool(spec.regions.mask) and wide and spec.blocks is None


def _compile_meanwhile(
    spec: Spec, traced: Traced | None, options: dict[str, Any]
) -> threading.Thread:
    # Both ask the driver, in this thread, which has a context.
    options = {**options, "ptx_version": default_ptx_version(), "ptxas": find_ptxas()}

    def run() -> None:
        try:
            get(spec, traced, **options)
            kernels.pop((spec, _QUICK), None)
        except Exception as error:
            # The quick one stays; if that cannot be compiled either, it says why.
            logger.warning("the kernel for later calls: %s", error)
            _failed.add(spec)
        finally:
            _pending.pop(spec, None)

    with _lock:
        thread = _pending.get(spec)
        if thread is None:
            # No daemon: a process must not end while its compiler runs.
            thread = threading.Thread(target=run, name="fa3-kernel")
            _pending[spec] = thread
            thread.start()
    return thread


def _is_capturing() -> bool:
    torch = sys.modules.get("torch")
    return (
        torch is not None
        and torch.cuda.is_initialized()
        and torch.cuda.is_current_stream_capturing()
    )
