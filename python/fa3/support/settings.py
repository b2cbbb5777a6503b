# SPDX-License-Identifier: Apache-2.0
"""Settings that are numbers, in the environment."""

from __future__ import annotations

import os

from ..errors import SettingError


def number(name: str, default: int, unit: str, least: int, most: int = 1 << 62) -> int:
    """A whole number; raises SettingError, which names the variable."""
    text = os.environ.get(name)
    if not text:
        return default
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        limit = f"{least} to {most}" if most < 1 << 62 else f"at least {least}"
        raise SettingError(name, f"{text!r}, expected {unit}, a number of {limit}")
    return value


def flag(name: str, default: bool) -> bool:
    """0 or 1."""
    text = os.environ.get(name)
    if text not in (None, "", "0", "1"):
        raise SettingError(name, f"{text!r}, expected 0 or 1")
    return text == "1" if text else default
