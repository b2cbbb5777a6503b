# SPDX-License-Identifier: Apache-2.0
"""The cache of compiled kernels on disk, and bundles of ready-made ones.

An entry is a folder `<key>` with kernel.ptx, kernel.json, kernel.cubin if it
was assembled, source.mlir, and meta.json, which holds the key and the hash of each
of them and is read first. It is written under another name and renamed, so it is
either whole or not there. A bundle is a folder of the same form that is only
read. Keys hold values only: the text, the options, the build of the compiler.

Kernels are code. What is loaded belongs to the user or to root and nobody else may
write it, the folder, the entry and each of its files (fa3.build.folders).
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import logging
import os
import pathlib
import re
import time
import zlib
from typing import Any, Iterator

from ..errors import Diagnostic
from ..support import forks, settings
from . import folders
from .compiler import Code, CompileOptions, KernelUsage

try:
    import fcntl
except ImportError:  # no locks between processes
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger("fa3")
SCHEMA = 1
_FILES = {"ptx": "kernel.ptx", "manifest": "kernel.json", "cubin": "kernel.cubin"}
_META, _SOURCE = "meta.json", "source.mlir"
_KNOWN = frozenset((*_FILES.values(), _META, _SOURCE))
_KEY = re.compile("[0-9a-f]{32}")
# What a process leaves that was killed, and how many seconds nobody is writing it.
_LEFT = re.compile(r"\.(new|old)-[0-9a-z_]{8}")
_OLD = 3600
_DEFAULT_LIMIT = 1 << 30
# A first call waits until all entries were looked at. With more than so many, one new
# entry of so many looks: the limit is not kept to the byte.
_FEW = 64


def default_folder() -> pathlib.Path | None:
    """$FA3_CACHE_DIR, else $XDG_CACHE_HOME/fa3, else ~/.cache/fa3; None with
    FA3_CACHE=0."""
    if not settings.flag("FA3_CACHE", True):
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


#: Files that are locked by this process.
_locked: set[int] = set()


@forks.in_child
def _forget_locks() -> None:
    # Closed, not unlocked: they are the parent's.
    for descriptor in _locked:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _locked.clear()


class Cache:
    """A folder of entries. No method raises for what is wrong with the folder: an
    entry that cannot be read is a miss, and a folder that cannot be written, or that
    others may write, is reported once. `trusted`: a part of the package, whoever owns
    that. `shared`: others may read what is written."""

    def __init__(
        self,
        folder: pathlib.Path | str | None,
        *,
        limit: int | None = None,
        read_only: bool = False,
        trusted: bool = False,
        shared: bool = False,
    ) -> None:
        self.folder = pathlib.Path(folder) if folder is not None else None
        if limit is None:
            limit = settings.number("FA3_CACHE_SIZE", _DEFAULT_LIMIT, "bytes", 0)
        self.limit, self.read_only, self.trusted = limit, read_only, trusted
        self._modes = (0o755, 0o644) if shared else (0o700, 0o600)
        self._warned = False
        self._guard = forks.lock()
        self._locks: dict[str, Any] = {}

    def get(self, key: str) -> Code | None:
        """The code of an entry, or None if it is not there or damaged."""
        if self.folder is None:
            return None
        try:
            with folders.opened(self.folder, self.trusted) as root:
                try:
                    with folders.opened_below(root, key, self.trusted) as entry:
                        return self._read(key, entry)
                except FileNotFoundError:
                    return None
                except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                    logger.warning(
                        "cache entry %s is ignored: %s", self.folder / key, error
                    )
                    return None
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn(error)
            return None

    def _read(self, key: str, entry: int) -> Code | None:
        meta = json.loads(folders.read(entry, _META, self.trusted))
        if meta["schema"] != SCHEMA or "key" not in meta:
            return None  # of another version
        if meta["key"] != key:
            raise ValueError(f"it is the entry {meta['key']}")
        files: dict[str, bytes | None] = {}
        for name, file in _FILES.items():
            digest = meta["files"].get(name)
            data = folders.read(entry, file, self.trusted) if digest else None
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
        if not self.read_only:
            with contextlib.suppress(OSError):
                os.utime(_META, dir_fd=entry, follow_symlinks=False)
        return code

    def put(self, key: str, code: Code, text: str) -> None:
        """Writes an entry, in place of a damaged one."""
        if self.folder is None or self.read_only:
            return
        try:
            folders.make(self.folder, self._modes[0])
            with folders.opened(self.folder) as root:
                temporary = folders.make_temporary(root, ".new-", self._modes[0])
                try:
                    with folders.opened_below(root, temporary) as entry:
                        self._write(entry, key, code, text)
                    self._replace(root, temporary, key)
                finally:
                    folders.remove(root, temporary, _KNOWN)  # if it is still there
                self._evict(root, key)
        except OSError as error:
            self._warn(error)

    @contextlib.contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Held by the one thread and process that compiles a key. Where no file
        can be locked only threads of this process are kept out. A forked child holds
        none of its parent's."""
        with self._guard:
            mine = self._locks.setdefault(key, forks.lock())
        process = os.getpid()
        mine.acquire()
        try:
            with self._lock_file(key):
                yield
        finally:
            if process == os.getpid():
                mine.release()

    def entries(self) -> list[Entry]:
        """The entries, those used last at the end."""
        made = []
        for path in self._folders():
            try:
                meta = json.loads((path / _META).read_text())
                size = _size(path)
                used = (path / _META).stat().st_mtime
                made.append(Entry(path.name, path, size, used, meta["function"]))
            except (OSError, ValueError, KeyError, TypeError):
                continue
        return sorted(made, key=lambda entry: entry.used)

    def clear(self) -> int:
        """Removes all entries, and what was left of some, but no folder that holds
        anything else; gives the number of entries."""
        if self.folder is None or self.read_only:
            return 0
        try:
            with folders.opened(self.folder) as root:
                self._sweep(root, 0)
                return sum(self._remove(root, path.name) for path in self._folders())
        except FileNotFoundError:
            return 0
        except OSError as error:
            self._warn(error)
            return 0

    def remove(self, key: str) -> bool:
        """Removes an entry."""
        if self.folder is None or self.read_only:
            return False
        with folders.opened(self.folder) as root:
            return self._remove(root, key)

    @staticmethod
    def _remove(root: int, name: str) -> bool:
        """An empty folder, or one without any of an entry's own files, is not ours."""
        try:
            with folders.opened_below(root, name) as entry:
                found = set(os.listdir(entry))
                if found == {_META}:
                    found |= set(json.loads(folders.read(entry, _META))["files"].values())
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return False
        return len(found) > 1 and folders.remove(root, name, _KNOWN)

    def _folders(self) -> list[pathlib.Path]:
        if self.folder is None or not self.folder.is_dir():
            return []
        with os.scandir(self.folder) as found:
            return [
                pathlib.Path(self.folder, one.name) for one in found
                if _KEY.fullmatch(one.name) and one.is_dir(follow_symlinks=False)
            ]  # fmt: skip

    def _sweep(self, root: int, age: float) -> None:
        """What killed processes left, if nobody touched it for so many seconds."""
        before = time.time() - age
        with os.scandir(root) as found:
            left = [
                one.name for one in found
                if _LEFT.fullmatch(one.name) and one.is_dir(follow_symlinks=False)
                and one.stat(follow_symlinks=False).st_mtime <= before
            ]  # fmt: skip
        for name in left:
            folders.remove(root, name, _KNOWN)
        with contextlib.suppress(OSError), folders.opened_below(root, "locks") as locks:
            for name in os.listdir(locks):
                if _KEY.fullmatch(name):
                    self._sweep_lock(locks, name, before)

    @staticmethod
    def _sweep_lock(locks: int, name: str, before: float) -> None:
        with contextlib.suppress(OSError):
            what = os.stat(name, dir_fd=locks, follow_symlinks=False)
            if fcntl is None or what.st_size or what.st_mtime > before:
                return
            descriptor = _open_lock(locks, name)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_file(descriptor, locks, name):
                    os.unlink(name, dir_fd=locks)
            finally:
                os.close(descriptor)

    def _write(self, entry: int, key: str, code: Code, text: str) -> None:
        digests = {}
        for name, file in _FILES.items():
            data = getattr(code, name)
            if data is not None:
                folders.write(entry, file, data, self._modes[1])
                digests[name] = _digest(data)
        folders.write(entry, _SOURCE, text.encode(), self._modes[1])
        meta = {
            "schema": SCHEMA,
            "key": key,
            "function": json.loads(code.manifest)["function"],
            "files": digests,
            "usage": [dataclasses.asdict(usage) for usage in code.usage],
            "diagnostics": [dataclasses.asdict(one) for one in code.diagnostics],
            "tile": code.tile,
        }
        folders.write(entry, _META, json.dumps(meta, indent=1).encode(), self._modes[1])

    def _replace(self, root: int, temporary: str, key: str) -> None:
        with contextlib.suppress(OSError):
            os.rename(temporary, key, src_dir_fd=root, dst_dir_fd=root)
            return
        # Another process was faster, or the entry is damaged: it goes away, since a
        # folder is not replaced by a rename.
        self._remove(root, key)
        os.rename(temporary, key, src_dir_fd=root, dst_dir_fd=root)

    def _evict(self, root: int, keep: str) -> None:
        found = self._folders()
        if len(found) > _FEW and zlib.crc32(keep.encode()) % _FEW:
            return
        self._sweep(root, _OLD)
        if sum(map(_size, found)) <= self.limit:
            return
        entries = self.entries()
        total = sum(entry.size for entry in entries)
        for entry in entries:
            if total <= self.limit:
                return
            if entry.key == keep:
                continue
            self._remove(root, entry.key)
            logger.info("cache: removed %s, %d bytes", entry.key, entry.size)
            total -= entry.size

    @contextlib.contextmanager
    def _lock_file(self, key: str) -> Iterator[None]:
        descriptor, process = None, os.getpid()
        if self.folder is not None and not self.read_only and fcntl is not None:
            try:
                descriptor = self._lock(key)
            except OSError as error:
                self._warn(error)
        try:
            yield
        finally:
            if descriptor is not None and process == os.getpid():
                self._unlock(key, descriptor)

    def _lock(self, key: str) -> int:
        """The descriptor of the file `locks/<key>`, which is locked."""
        assert self.folder is not None
        folders.make(self.folder, self._modes[0])
        while True:
            with folders.opened(self.folder) as root:
                with contextlib.suppress(FileExistsError):
                    folders.make_below(root, "locks")
                with folders.opened_below(root, "locks") as locks:
                    descriptor = _open_lock(locks, key)
                    _locked.add(descriptor)
                    try:
                        fcntl.flock(descriptor, fcntl.LOCK_EX)
                        # Who had it has removed it.
                        if _is_file(descriptor, locks, key):
                            return descriptor
                    except BaseException:
                        self._close(descriptor)
                        raise
            self._close(descriptor)

    def _unlock(self, key: str, descriptor: int) -> None:
        assert self.folder is not None
        with contextlib.suppress(OSError), folders.opened(self.folder) as root:
            with folders.opened_below(root, "locks") as locks:
                if _is_file(descriptor, locks, key):
                    os.unlink(key, dir_fd=locks)
        with contextlib.suppress(OSError):
            # Also where a child that was not forked by Python has it open.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        self._close(descriptor)

    @staticmethod
    def _close(descriptor: int) -> None:
        _locked.discard(descriptor)
        with contextlib.suppress(OSError):
            os.close(descriptor)

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            logger.warning(
                "kernels are kept in memory only: cache %s: %s", self.folder, error
            )


def _open_lock(locks: int, name: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    return os.open(name, flags, 0o600, dir_fd=locks)


def _is_file(descriptor: int, folder: int, name: str) -> bool:
    """Whether a file is that of this name."""
    try:
        there = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(descriptor), there)


def bundles() -> list[Cache]:
    """Folders of ready-made kernels: that in the package, and those that
    FA3_BUNDLE names, separated as in PATH ("0": none at all)."""
    named = os.environ.get("FA3_BUNDLE", "")
    if named == "0":
        return []
    made = []
    own = pathlib.Path(__file__).resolve().parents[1] / "_bundle"
    if own.is_dir():
        made.append(Cache(own, read_only=True, trusted=True))
    for path in filter(None, named.split(os.pathsep)):
        if os.path.isdir(path):
            made.append(Cache(path, read_only=True))
        else:
            logger.warning("FA3_BUNDLE: %s is no folder", path)
    return made


def age(entry: Entry) -> str:
    """How long ago an entry was used, for people."""
    seconds = max(0, int(time.time() - entry.used))
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"
