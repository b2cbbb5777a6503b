#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stands for a tool that fails on what holds some words: contains.py WORDS
FILE tells fa3-reduce (exit code 1) that the module is still of interest, and as
fuzz.py's tool it is a compiler with a fault."""
import sys

words = sys.argv[1].split("+")
path = next(a for a in sys.argv[2:] if a.endswith(".mlir"))
with open(path) as file:
    text = file.read()
if all(word in text for word in words):
    print("error: a fault", file=sys.stderr)
    sys.exit(1)
