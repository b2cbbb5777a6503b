# SPDX-License-Identifier: Apache-2.0
"""A session: compiles what a preset needs, then measures family by family."""

from __future__ import annotations

import dataclasses
import json
import math
import time
from typing import Optional

from fa3_device import build

from . import report
from .presets import Preset
from .rows import Row, row


@dataclasses.dataclass
class Kernel:
    """A compiled variant of a cell."""

    stem: str
    options: str
    block_m: int
    block_n: int


class Session:
    """Runs presets; `rows` are the measurements, `failures` lines of text."""

    def __init__(self, given):
        self.given = given
        self.rows: list[Row] = []
        self.failures: list[str] = []

    def run(self, preset: Preset) -> None:
        self.measure(preset, self.compile(preset))

    def measure(self, preset: Preset, kernels: dict) -> None:
        start = time.monotonic()
        families: dict = {}
        for cell in preset.cells:
            families.setdefault((cell.type, cell.process), []).append(cell)
        for cells in families.values():
            _Family(self, preset, cells, kernels).run()
        seconds = time.monotonic() - start
        print(f"measured {preset.name} in {seconds:.0f} s")

    def fail(self, text: str) -> None:
        print(f"FAIL {text}")
        self.failures.append(text)

    def compile(self, preset: Preset) -> dict[str, dict[str, Kernel]]:
        """Kernels by the names of cell and variant. It is a failure if the
        plain variant of a cell does not compile."""
        compiler = build.Compiler(self.given)
        start = time.monotonic()
        futures: dict = {}
        wanted = []
        for cell in preset.cells:
            for variant, more in preset.variants_of(cell).items():
                module = preset.module_of(cell, variant, self.given.dynamic)
                options = f"{self.given.pipeline_options} {more}".strip()
                key = module, options
                if key not in futures:
                    name = f"{cell.name}-{len(futures)}"
                    futures[key] = compiler.submit(name, module, options)
                wanted.append((cell, variant, options, futures[key]))
        kernels: dict = {cell.name: {} for cell in preset.cells}
        for cell, variant, options, future in wanted:
            done = future.result()
            if done.error:
                text = f"{cell.name} {variant}: not compiled: {done.error}"
                # Options of an alternative may not fit every head dim.
                if preset.variants_of(cell)[variant]:
                    print(text)
                else:
                    self.fail(text)
                continue
            sizes = tile_sizes(done.stem + ".json")
            kernels[cell.name][variant] = Kernel(done.stem, options, *sizes)
        compiler.shutdown()
        seconds = time.monotonic() - start
        print(
            f"compiled {len(futures)} kernels for {len(wanted)} variants of "
            f"{len(preset.cells)} cells in {seconds:.1f} s"
        )
        return kernels


def tile_sizes(manifest: str) -> tuple[int, int]:
    """Rows of Q and keys that the first kernel of a manifest with both loads at
    a time."""
    with open(manifest) as file:
        launches = json.load(file)["launches"]
    for launch in launches:
        boxes = {}
        for argument in launch["args"]:
            if argument["kind"] == "tensormap":
                boxes[argument["source"]] = math.prod(argument["box"][1:])
        if "q" in boxes and "k" in boxes:
            return boxes["q"], boxes["k"]
    return 0, 0


class _Family:
    """The processes of one family."""

    def __init__(self, session: Session, preset: Preset, cells, kernels):
        self._session, self._preset = session, preset
        self._cells = {cell.name: cell for cell in cells}
        self._kernels = kernels
        self._told: set = set()

    def _job(self):
        from . import measure

        given, preset = self._session.given, self._preset
        options = measure.Options(
            peers=preset.peers, modes=preset.modes,
            iterations=given.iterations, seconds=given.seconds,
            slow_lengths=preset.slow_lengths, peer=given.peer,
            peer_kernels=given.peer_kernels, triton_kernel=given.triton_kernel,
        )  # fmt: skip
        stems = {
            name: {v: k.stem for v, k in self._kernels[name].items()}
            for name in self._cells
        }
        return measure.Job(list(self._cells.values()), stems, options)

    def run(self) -> None:
        """A process that hangs or dies takes one kernel along; another process
        measures the rest without it."""
        from fa3_device import workers

        from . import measure

        job, timeout = self._job(), self._session.given.timeout
        while True:
            current: Optional[tuple] = None
            try:
                for message in workers.run_one(
                    measure.body, measure.setup, job, timeout
                ):
                    kind, cell, kernel = message[:3]
                    if kind == "begin":
                        current = cell, kernel
                    else:
                        job.done.add((cell, kernel))
                        self._take(message)
                return
            except RuntimeError as error:
                family = next(iter(self._cells.values())).family
                if current is None or not current[1]:
                    self._session.fail(f"{family}: {error}")
                    return
                self._complain(*current, str(error))
                job.dropped.add(current[1])

    def _complain(self, cell: str, kernel: str, text: str) -> None:
        """Only kernels of fa3 make a session fail."""
        if kernel in self._preset.variants_of(self._cells[cell]):
            self._session.fail(f"{cell} {kernel}: {text}")
        else:
            print(f"{cell} {kernel}: not measured: {text}")

    def _take(self, message) -> None:
        kind, cell_name, kernel, *rest = message
        cell = self._cells[cell_name]
        if kind == "wrong":
            self._complain(cell_name, kernel, rest[0])
        elif kind == "none":
            # The same reason at every length is told once.
            if (kernel, rest[0]) not in self._told:
                print(f"{cell_name} {kernel}: {rest[0]}")
                self._told.add((kernel, rest[0]))
        else:
            mode, time, error = rest
            more = {"watts": getattr(time, "watts", 0.0), "error": error}
            ours = self._kernels[cell_name].get(kernel)
            if ours:
                more.update(
                    options=ours.options, block_m=ours.block_m,
                    block_n=ours.block_n,
                )  # fmt: skip
            found = row(self._preset.name, cell, mode, kernel, time, **more)
            self._session.rows.append(found)
            print(report.progress(found), flush=True)
