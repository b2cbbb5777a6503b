#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the innermost loops of PTX that hold exponentials and products.

A loop is a label and the first branch back to it. One line each: whether A of
a product comes from registers, and whether selects by a mask are among the
instructions (a few selects are those of row statistics).
"""
import re
import sys

FEW = 10
lines = sys.stdin.read().splitlines()
labels = {}
for number, line in enumerate(lines):
    label = re.match(r"\s*(\$?[\w$]+):", line)
    if label:
        labels[label.group(1)] = number
found = set()
for number, line in enumerate(lines):
    branch = re.search(r"\bbra(?:\.uni)?\s+(\$?[\w$]+);", line)
    start = labels.get(branch.group(1)) if branch else None
    if start is None or start >= number:
        continue
    # Not a loop around one of them.
    if any(start <= inner < number for inner in found):
        continue
    body = lines[start:number]
    if not any("ex2" in text for text in body):
        continue
    found.add(start)
    products = [text for text in body if "wgmma.mma_async" in text]
    # A from registers: a second list in braces, not a descriptor.
    registers = any(text.count("{") == 2 for text in products)
    selects = sum("selp" in text for text in body)
    print(f"loop: {'masked' if selects > FEW else 'unmasked'},"
          f" {'has' if products else 'no'} products,"
          f" {'A from registers' if registers else 'A from memory'}")
