# SPDX-License-Identifier: Apache-2.0
"""From text to a kernel: what the device and its driver ask for, the bundle, the
cache on disk, the compiler; and Kernel, which is what comes out."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import glob
import importlib.util
import json
import logging
import math
import os
import shutil
import time
from typing import Any

from ..errors import ArgumentError, Diagnostic, SettingError
from ..support import forks, settings, tensors
from ..support.runtime import runtime
from . import cache as caches
from .compiler import (
    STAGES,
    Code,
    CompileOptions,
    KernelUsage,
    build_id,
    get_compiler,
    parse_options,
)
from .tiles import try_tiles

logger = logging.getLogger("fa3")

# The PTX ISA that drivers take, by CUDA version as cuDriverGetVersion has it.
_PTX_OF_DRIVER = (
    (13000, 90), (12090, 88), (12080, 87), (12070, 86), (12050, 85), (12040, 84),
    (12030, 83), (12020, 82), (12010, 81), (12000, 80),
)  # fmt: skip
DEFAULT_PTX_VERSION = 90


def ptx_version_for(driver_version: int) -> int:
    """The newest PTX ISA, times ten, that a driver takes and the compiler
    writes."""
    for driver, version in _PTX_OF_DRIVER:
        if driver_version >= driver:
            return version
    raise RuntimeError(
        f"the driver is for CUDA {driver_version // 1000}."
        f"{driver_version % 1000 // 10}, fa3 needs one for CUDA 12.0 or newer"
    )


@functools.lru_cache(maxsize=1)
def default_ptx_version() -> int:
    """FA3_PTX_VERSION (such as 80), else by the driver of this machine, else the
    newest."""
    chosen = settings.number("FA3_PTX_VERSION", 0, "a PTX ISA times ten", 80, 90)
    if chosen:
        return chosen
    try:
        version = runtime.device_info().driver_version
    except (runtime.Error, OSError):
        return DEFAULT_PTX_VERSION
    return ptx_version_for(version)


@functools.lru_cache(maxsize=1)
def find_ptxas() -> str:
    """Path of an assembler, or "": $FA3_PTXAS ("0": none), PATH, CUDA_HOME and
    /usr/local/cuda, the packages of NVIDIA on PyPI, that of triton."""
    chosen = os.environ.get("FA3_PTXAS")
    if chosen == "0":
        return ""
    if chosen:
        if not (os.path.isfile(chosen) and os.access(chosen, os.X_OK)):
            raise SettingError("FA3_PTXAS", f"'{chosen}' is no program, expected one or 0")
        return chosen
    candidates = [shutil.which("ptxas")]
    for home in (os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        if home:
            candidates.append(os.path.join(home, "bin", "ptxas"))
    for package, pattern in (
        ("nvidia", "cu*/bin/ptxas"),
        ("nvidia", "cuda_nvcc/bin/ptxas"),
        ("triton", "backends/nvidia/bin/ptxas"),
    ):
        for folder in _package_folders(package):
            candidates += sorted(glob.glob(os.path.join(folder, pattern)))
    for path in candidates:
        if path and os.access(path, os.X_OK):
            return path
    return ""


def _package_folders(name: str) -> list[str]:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return []
    return list(spec.submodule_search_locations or []) if spec else []


class Kernel:
    """A compiled module: code, manifest and what is known of them. Programs are
    loaded once per device, when first asked for."""

    def __init__(
        self, text: str, options: CompileOptions, code: Code, key: str, source: str
    ) -> None:
        if code.tile:
            options = dataclasses.replace(
                options, pipeline=f"{options.pipeline} {code.tile}".strip()
            )
        self.text, self.options, self.key = text, options, key
        #: Where it came from: "bundle", "cache" or "compiler".
        self.source = source
        self._code = code
        self._programs: dict[Any, Any] = {}
        self._lock = forks.lock()

    def __repr__(self) -> str:
        return f"<fa3.Kernel {self.name} {self.key[:8]} from {self.source}>"

    @property
    def code(self) -> Code:
        """What the compiler made."""
        return self._code

    @functools.cached_property
    def manifest(self) -> dict[str, Any]:
        """How it is launched (docs/Design.md)."""
        return json.loads(self._code.manifest)

    @property
    def name(self) -> str:
        return self.manifest["function"]

    @property
    def ptx(self) -> str:
        return self._code.ptx.decode()

    @property
    def cubin(self) -> bytes | None:
        """Machine code, if a ptxas was found when it was compiled."""
        return self._code.cubin

    @property
    def usage(self) -> tuple[KernelUsage, ...]:
        """What ptxas said about the kernels."""
        return self._code.usage

    @property
    def registers(self) -> dict[str, int] | None:
        """Registers per thread by kernel; None if no ptxas was found."""
        if not self._code.usage:
            return None
        return {one.name: one.registers for one in self._code.usage}

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Remarks and warnings of the compiler."""
        return self._code.diagnostics

    def ir(self, stage: str) -> str:
        """The module at the end of a stage: attention, tile, specialize,
        pipeline, layout, hopper, nvvm, llvm or ptx."""
        if stage == "ptx":
            return self.ptx
        if stage not in STAGES:
            raise ValueError(
                f"argument 'stage': '{stage}', expected {', '.join(STAGES)} or ptx"
            )
        return get_compiler().lower(self.text, stage, self.options)

    def timeline(self, *, sms: int = 132, **dims: int | float) -> dict[str, Any]:
        """What the warp groups, products and copies of the first thread block do
        when, as predicted for these extents (and numbers, by their names), on a GPU
        of so many multiprocessors: a trace in the form that Perfetto reads. Arrays
        hold zeros, lengths too. Needs libfa3.so."""
        args = self.manifest["args"]
        values: list[Any] = []
        names = [d for arg in args for d in arg.get("dims", ()) if isinstance(d, str)]
        names += [arg["name"] for arg in args if arg["kind"] == "scalar"]
        for name in dims:
            if name not in names:
                raise ArgumentError(
                    name, f"is no extent of the kernel: {', '.join(dict.fromkeys(names))}"
                )
        for arg in args:
            if arg["kind"] == "scalar":
                default = 0.1 if arg["type"].startswith("f") else 1
                values.append((arg["type"], dims.get(arg["name"], default)))
                continue
            shape = [_extent(arg["name"], one, dims) for one in arg["dims"]]
            count = max(1, math.prod(shape)) * tensors.ELEMENT_SIZES[arg["type"]]
            memory = ctypes.create_string_buffer(count)
            array = runtime.Array(
                ctypes.addressof(memory), arg["type"], shape,
                tensors.contiguous(tuple(shape)),
            )  # fmt: skip
            array.memory = memory  # kept as long as the array
            values.append(array)
        options = dataclasses.replace(self.options, ptxas="")
        return json.loads(get_compiler().trace(self.text, values, options, sms))

    def parse(self, device_sms: int = 132) -> Any:
        """A program without a device: describes itself and checks arguments."""
        return runtime.Program(self._code.manifest, device_sms=device_sms)

    def program(self, device: Any = 0) -> Any:
        """The program of a device (any hashable name of it), loaded into the
        context that is current at the first call."""
        found = self._programs.get(device)
        if found is not None:
            return found
        with self._lock:
            if device not in self._programs:
                self._programs[device] = self._load()
            return self._programs[device]

    def _load(self) -> Any:
        start = time.perf_counter()
        program = None
        if self._code.cubin is not None:
            try:
                program = runtime.Program(
                    self._code.manifest, self._code.cubin, cubin=True
                )
            except runtime.Error as error:
                # An assembler newer than the driver.
                if error.code != "image":
                    raise
                logger.warning("%s: the driver compiles the PTX: %s", self, error)
        if program is None:
            program = runtime.Program(self._code.manifest, self._code.ptx)
        logger.info("%s: loaded, %.1f ms", self, 1e3 * (time.perf_counter() - start))
        return program


def _extent(argument: str, extent: Any, dims: dict[str, Any]) -> int:
    """An extent of the manifest, by number or name."""
    value = dims.get(extent) if isinstance(extent, str) else extent
    if not isinstance(value, int) or not 0 <= value < 1 << 31:
        raise ArgumentError(
            str(extent), f"{value!r}, expected an extent of '{argument}' of at least 0"
        )
    return value


class Driver:
    """Compiles what is in no bundle and in no cache.

    variants: kernels of one function for ranges of lengths, at most; 0 leaves it to
    the compiler. A first call waits for what is compiled, so it is one unless the
    options say otherwise; kernels of bundles have all.
    """

    def __init__(
        self,
        cache: caches.Cache | None = None,
        bundles: list[caches.Cache] | None = None,
        variants: int = 1,
    ) -> None:
        self.variants = variants
        if cache is None:
            cache = caches.Cache(caches.default_folder())
        self.cache = cache
        self.bundles = caches.bundles() if bundles is None else bundles
        self._kernels: dict[str, Kernel] = {}

    def compile(self, text: str, options: CompileOptions) -> Kernel:
        key = caches.make_key(text, options, build_id())
        kernel = self._kernels.get(key)
        if kernel is None or (options.ptxas and kernel.cubin is None):
            kernel = self._find(key, text, options)
            self._kernels[key] = kernel
        return kernel

    def is_bundled(self, text: str, options: CompileOptions) -> bool:
        """Whether a bundle has the kernel."""
        key = caches.make_key(text, options, build_id())
        return any(one.get(key) for one in self.bundles)

    def is_ready(self, text: str, options: CompileOptions) -> bool:
        """Whether there is nothing to compile."""
        key = caches.make_key(text, options, build_id())
        if key in self._kernels or self.is_bundled(text, options):
            return True
        if self._look_up(_tuned_key(text, options), text, options) is not None:
            return True
        options = self._with_variants(options)
        key = caches.make_key(text, options, build_id())
        return self._look_up(key, text, options) is not None

    def keep(self, text: str, options: CompileOptions, kernel: Kernel) -> None:
        """From now on, in later processes too, `compile` gives this kernel of the same
        text, whatever options it was compiled with."""
        key = _tuned_key(text, options)
        self.cache.put(key, kernel.code, text)
        self._kernels[caches.make_key(text, options, build_id())] = kernel

    def forget(self, text: str, options: CompileOptions) -> bool:
        """Takes `keep` back; whether there was something."""
        self._kernels.pop(caches.make_key(text, options, build_id()), None)
        return self.cache.remove(_tuned_key(text, options))

    def _find(self, key: str, text: str, options: CompileOptions) -> Kernel:
        tuned = self._look_up(_tuned_key(text, options), text, options)
        if tuned is not None:
            return tuned
        for bundle in self.bundles:
            code = bundle.get(key)
            if code is not None:
                return Kernel(text, options, code, key, "bundle")
        options = self._with_variants(options)
        key = caches.make_key(text, options, build_id())
        found = self._look_up(key, text, options)
        if found is not None:
            return found
        with self.cache.lock(key):
            found = self._look_up(key, text, options)
            if found is not None:
                return found
            start = time.perf_counter()
            code = _compile_by_tile(text, options)
            seconds = time.perf_counter() - start
            self.cache.put(key, code, text)
        kernel = Kernel(text, options, code, key, "compiler")
        level = logging.WARNING if seconds > 5 else logging.INFO
        logger.log(level, "%r: compiled in %.0f ms", kernel, 1e3 * seconds)
        for one in code.diagnostics:
            logger.info("%r: %s", kernel, one)
        return kernel

    def _with_variants(self, options: CompileOptions) -> CompileOptions:
        if not self.variants or "variants=" in options.pipeline:
            return options
        pipeline = f"{options.pipeline} variants={self.variants}".strip()
        return dataclasses.replace(options, pipeline=pipeline)

    def _look_up(self, key: str, text: str, options: CompileOptions) -> Kernel | None:
        code = self.cache.get(key)
        if code is None or (options.ptxas and code.cubin is None):
            return None
        return Kernel(text, options, code, key, "cache")


def _tuned_key(text: str, options: CompileOptions) -> str:
    """The entry of a kernel that fa3.autotune has kept."""
    return caches.make_key(f"// tuned\n{text}", options, build_id())


def _compile_by_tile(text: str, options: CompileOptions) -> Code:
    """Compiles, with a smaller tile where need be, which a remark says."""
    code, tile = try_tiles(options, lambda chosen: get_compiler().compile(text, chosen))
    if not tile:
        return code
    remark = Diagnostic("remark", f"registers ran out: compiled with {tile}")
    return dataclasses.replace(code, diagnostics=(*code.diagnostics, remark), tile=tile)


_driver: Driver | None = None
_lock = forks.lock()


def get_driver() -> Driver:
    global _driver
    with _lock:
        if _driver is None:
            _driver = Driver()
        return _driver


def set_driver(driver: Driver | None) -> None:
    """Sets the driver of this process, for tests; None makes one anew."""
    global _driver
    with _lock:
        _driver = driver


def compile(text: str, **options: Any) -> Kernel:
    """Compiles a module of MLIR text.

    Options are chip, ptx_version (by the installed driver if not given), ptxas
    (found if not given; "" for none), function, llvm_passes and all options of
    fa3-lower-to-nvvm-pipeline, with underscores: block_m=128.

    Raises CompileError, whose diagnostics have line and column."""
    if not isinstance(text, str):
        raise TypeError(f"argument 'text': {type(text).__name__}, expected str")
    return get_driver().compile(text, _choose(options))


def is_ready(text: str, **options: Any) -> bool:
    """Whether `compile` finds a kernel in this process, a bundle or the cache."""
    return get_driver().is_ready(text, _choose(options))


def is_bundled(text: str, **options: Any) -> bool:
    """Whether `compile` finds a kernel in a bundle."""
    return get_driver().is_bundled(text, _choose(options))


def _choose(options: dict[str, Any]) -> CompileOptions:
    chosen = parse_options(options)
    if "ptx_version" not in options:
        chosen = dataclasses.replace(chosen, ptx_version=default_ptx_version())
    if "ptxas" not in options:
        chosen = dataclasses.replace(chosen, ptxas=find_ptxas())
    return chosen
