# SPDX-License-Identifier: Apache-2.0
"""The cache of compiled kernels on disk, and bundles of ready-made ones.

An entry is a folder `<key>` with kernel.ptx, kernel.json, kernel.cubin if it
was assembled, source.mlir, and meta.json, which holds the hash of each of them
and is read first. It is written under another name and renamed, so it is
either whole or not there. A bundle is a folder of the same form that is only
read. Keys hold values only: the text, the options, the build of the compiler.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import logging
import os
import pathlib
import shutil
import tempfile
import threading
import time
import zlib
from typing import Iterator

from .compiler import Code, CompileOptions, KernelUsage
from .errors import Diagnostic

logger = logging.getLogger("fa3")
SCHEMA = 1
_FILES = {"ptx": "kernel.ptx", "manifest": "kernel.json", "cubin": "kernel.cubin"}
_DEFAULT_LIMIT = 1 << 30
# A first call waits until all entries were looked at. With more than so many, one new
# entry of so many looks: the limit is not kept to the byte.
_FEW = 64


def default_folder() -> pathlib.Path | None:
    """$FA3_CACHE_DIR, else $XDG_CACHE_HOME/fa3, else ~/.cache/fa3; None with
    FA3_CACHE=0."""
    if os.environ.get("FA3_CACHE") == "0":
        return None
    chosen = os.environ.get("FA3_CACHE_DIR")
    if chosen:
        return pathlib.Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return pathlib.Path(base, "fa3")
    try:
        return pathlib.Path.home() / ".cache" / "fa3"
    except RuntimeError:  # no home folder
        return None


def make_key(text: str, options: CompileOptions, build_id: str) -> str:
    """The name of an entry. What ptxas is used does not matter: a kernel is the
    same, with or without a cubin."""
    fields = dataclasses.asdict(options)
    del fields["ptxas"], fields["source_name"]
    content = json.dumps([SCHEMA, build_id, fields, text], sort_keys=True)
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def _size(folder: pathlib.Path) -> int:
    """Bytes of the files in a folder; 0 where another process removes it."""
    try:
        with os.scandir(folder) as files:
            return sum(file.stat().st_size for file in files)
    except OSError:
        return 0


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


@dataclasses.dataclass(frozen=True)
class Entry:
    """What is known of an entry without reading its code."""

    key: str
    path: pathlib.Path
    size: int
    used: float
    function: str


class Cache:
    """A folder of entries. No method raises for what is wrong with the folder: an
    entry that cannot be read is a miss, and a folder that cannot be written is
    reported once."""

    def __init__(
        self,
        folder: pathlib.Path | str | None,
        *,
        limit: int | None = None,
        read_only: bool = False,
    ) -> None:
        self.folder = pathlib.Path(folder) if folder is not None else None
        if limit is None:
            limit = int(os.environ.get("FA3_CACHE_SIZE", _DEFAULT_LIMIT))
        self.limit, self.read_only = limit, read_only
        self._warned = False
        self._guard = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}

    def get(self, key: str) -> Code | None:
        """The code of an entry, or None if it is not there or damaged."""
        if self.folder is None:
            return None
        entry = self.folder / key
        try:
            meta = json.loads((entry / "meta.json").read_text())
            if meta["schema"] != SCHEMA:
                return None
            files: dict[str, bytes | None] = {}
            for name, file in _FILES.items():
                digest = meta["files"].get(name)
                data = (entry / file).read_bytes() if digest else None
                if data is not None and _digest(data) != digest:
                    raise ValueError(f"{file} is not what was written")
                files[name] = data
            ptx, manifest = files["ptx"], files["manifest"]
            if ptx is None or manifest is None:
                raise ValueError("no code")
            code = Code(
                ptx,
                manifest,
                files["cubin"],
                tuple(KernelUsage(**usage) for usage in meta["usage"]),
                tuple(Diagnostic(**one) for one in meta["diagnostics"]),
                meta.get("tile", ""),
            )
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            logger.warning("cache entry %s is ignored: %s", entry, error)
            return None
        if not self.read_only:
            with contextlib.suppress(OSError):
                os.utime(entry / "meta.json")
        return code

    def put(self, key: str, code: Code, text: str) -> None:
        """Writes an entry, in place of a damaged one."""
        if self.folder is None or self.read_only:
            return
        temporary = None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            temporary = pathlib.Path(
                tempfile.mkdtemp(prefix=".new-", dir=self.folder)
            )
            self._write(temporary, code, text)
            target = self.folder / key
            self._replace(temporary, target)
            self._evict(key)
        except OSError as error:
            if temporary is not None:
                shutil.rmtree(temporary, ignore_errors=True)
            self._warn(error)

    @contextlib.contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Held by the one thread and process that compiles a key. Where no file
        can be locked only threads of this process are kept out."""
        with self._guard:
            mine = self._locks.setdefault(key, threading.Lock())
        with mine, self._lock_file(key):
            yield

    def entries(self) -> list[Entry]:
        """The entries, those used last at the end."""
        made = []
        for path in self._folders():
            try:
                meta = json.loads((path / "meta.json").read_text())
                size = _size(path)
                used = (path / "meta.json").stat().st_mtime
                made.append(Entry(path.name, path, size, used, meta["function"]))
            except (OSError, ValueError, KeyError, TypeError):
                continue
        return sorted(made, key=lambda entry: entry.used)

    def clear(self) -> int:
        """Removes all entries; gives their number."""
        count = 0
        for path in self._folders():
            shutil.rmtree(path, ignore_errors=True)
            count += 1
        return count

    def _folders(self) -> list[pathlib.Path]:
        if self.folder is None or not self.folder.is_dir():
            return []
        return [path for path in self.folder.iterdir() if len(path.name) == 32]

    @staticmethod
    def _write(folder: pathlib.Path, code: Code, text: str) -> None:
        digests = {}
        for name, file in _FILES.items():
            data = getattr(code, name)
            if data is not None:
                (folder / file).write_bytes(data)
                digests[name] = _digest(data)
        (folder / "source.mlir").write_text(text)
        meta = {
            "schema": SCHEMA,
            "function": json.loads(code.manifest)["function"],
            "files": digests,
            "usage": [dataclasses.asdict(usage) for usage in code.usage],
            "diagnostics": [dataclasses.asdict(one) for one in code.diagnostics],
            "tile": code.tile,
        }
        (folder / "meta.json").write_text(json.dumps(meta, indent=1))

    def _replace(self, temporary: pathlib.Path, target: pathlib.Path) -> None:
        try:
            os.rename(temporary, target)
            return
        except OSError:
            if not target.exists():
                raise
        # Another process was faster, or the entry is damaged: move it away, since
        # a folder is not replaced by a rename.
        old = temporary.with_name(f".old-{temporary.name[5:]}")
        with contextlib.suppress(OSError):
            os.rename(target, old)
            shutil.rmtree(old, ignore_errors=True)
        os.rename(temporary, target)

    def _evict(self, keep: str) -> None:
        folders = self._folders()
        if len(folders) > _FEW and zlib.crc32(keep.encode()) % _FEW:
            return
        if sum(map(_size, folders)) <= self.limit:
            return
        entries = self.entries()
        total = sum(entry.size for entry in entries)
        for entry in entries:
            if total <= self.limit:
                return
            if entry.key == keep:
                continue
            shutil.rmtree(entry.path, ignore_errors=True)
            logger.info("cache: removed %s, %d bytes", entry.key, entry.size)
            total -= entry.size

    @contextlib.contextmanager
    def _lock_file(self, key: str) -> Iterator[None]:
        file = None
        try:
            import fcntl

            if self.folder is not None and not self.read_only:
                folder = self.folder / "locks"
                folder.mkdir(parents=True, exist_ok=True)
                file = open(folder / key, "w")
                fcntl.flock(file, fcntl.LOCK_EX)
        except (OSError, ImportError) as error:
            self._warn(error)
        try:
            yield
        finally:
            if file is not None:
                file.close()

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            logger.warning(
                "kernels are kept in memory only: cache %s: %s", self.folder, error
            )


def bundles() -> list[Cache]:
    """Folders of ready-made kernels: that in the package, and those that
    FA3_BUNDLE names, separated as in PATH ("0": none at all)."""
    named = os.environ.get("FA3_BUNDLE", "")
    if named == "0":
        return []
    folders = [pathlib.Path(__file__).resolve().parent / "_bundle"]
    folders += [pathlib.Path(path) for path in named.split(os.pathsep) if path]
    return [Cache(folder, read_only=True) for folder in folders if folder.is_dir()]


def age(entry: Entry) -> str:
    """How long ago an entry was used, for people."""
    seconds = max(0, int(time.time() - entry.used))
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"
