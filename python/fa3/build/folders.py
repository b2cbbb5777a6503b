# SPDX-License-Identifier: Apache-2.0
"""Folders whose files are loaded as code: what the user or root owns and nobody else
may write. Everything is opened below the folder that was looked at, by its
descriptor, and no link in it is followed."""

from __future__ import annotations

import contextlib
import os
import pathlib
import secrets
import stat
from typing import Iterator

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Opening a pipe waits for nobody.
_FILE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class UntrustedError(PermissionError):
    """A file or folder that others own or may write."""


def check(what: os.stat_result, name: object) -> None:
    """Raises UntrustedError."""
    if what.st_uid not in (os.geteuid(), 0):
        raise UntrustedError(f"{name} belongs to user {what.st_uid}")
    if what.st_mode & 0o022:
        raise UntrustedError(
            f"{name} may be written by others: mode {what.st_mode & 0o7777:o}, expected "
            f"{what.st_mode & 0o7755:o}"
        )


@contextlib.contextmanager
def opened(path: pathlib.Path, trusted: bool = False) -> Iterator[int]:
    """The descriptor of a folder. That it is a link may be said by its user only.
    `trusted`: whoever owns it."""
    link = os.lstat(path)
    if stat.S_ISLNK(link.st_mode) and link.st_uid not in (os.geteuid(), 0) and not trusted:
        raise UntrustedError(f"{path} is a link of user {link.st_uid}")
    with _closing(os.open(path, _FOLDER)) as made:
        if not trusted:
            check(os.fstat(made), path)
        yield made


@contextlib.contextmanager
def opened_below(above: int, name: str, trusted: bool = False) -> Iterator[int]:
    """The descriptor of a folder in a folder."""
    with _closing(os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=above)) as made:
        if not trusted:
            check(os.fstat(made), name)
        yield made


@contextlib.contextmanager
def _closing(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def read(above: int, name: str, trusted: bool = False) -> bytes:
    """The bytes of a file in a folder."""
    with os.fdopen(os.open(name, os.O_RDONLY | _FILE, dir_fd=above), "rb") as file:
        what = os.fstat(file.fileno())
        if not stat.S_ISREG(what.st_mode):
            raise UntrustedError(f"{name} is no file")
        if not trusted:
            check(what, name)
        return file.read()


def write(above: int, name: str, data: bytes, mode: int = 0o600) -> None:
    """A new file in a folder."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE
    with os.fdopen(os.open(name, flags, 0o600, dir_fd=above), "wb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(data)


def make(path: pathlib.Path, mode: int = 0o700) -> None:
    """A folder and those above it, none of which others may write, whatever the
    umask is. One that is there stays as it is."""
    missing = []
    for one in (path, *path.parents):
        if one.exists():
            break
        missing.append(one)
    for one in reversed(missing):
        with contextlib.suppress(FileExistsError):
            os.mkdir(one, 0o700)
            os.chmod(one, mode)


def make_below(above: int, name: str, mode: int = 0o700) -> None:
    """A folder in a folder; FileExistsError if it is there."""
    os.mkdir(name, 0o700, dir_fd=above)
    with _closing(os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=above)) as made:
        os.fchmod(made, mode)


def make_temporary(above: int, prefix: str, mode: int = 0o700) -> str:
    while True:
        name = prefix + secrets.token_hex(4)
        with contextlib.suppress(FileExistsError):
            make_below(above, name, mode)
            return name


def remove(above: int, name: str, known: frozenset[str]) -> bool:
    """Removes a folder in a folder, if it holds none but files of these names, of the
    user or root; says whether it did."""
    try:
        with opened_below(above, name) as folder:
            with os.scandir(folder) as files:
                found = {
                    one.name: one.is_file(follow_symlinks=False)
                    and one.stat(follow_symlinks=False).st_uid in (os.geteuid(), 0)
                    for one in files
                }
            if not (found.keys() <= known and all(found.values())):
                return False
            for file in found:
                os.unlink(file, dir_fd=folder)
        os.rmdir(name, dir_fd=above)
    except OSError:
        return False
    return True
