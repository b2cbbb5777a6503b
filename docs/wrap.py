# SPDX-License-Identifier: Apache-2.0
"""Wraps the lines of Markdown.

A paragraph or an item of a list with a line of more than WIDTH characters is
filled again; everything else stays as it is. Tables, headings, comments and code
may be wider. Spans of code are not broken.
"""

import re

WIDTH = 100

FENCE = re.compile(r"^\s*(```+|~~~+)")
ITEM = re.compile(r"^(\s*)([-*+]|\d+[.)])(\s+)")
# Lines that belong to no paragraph, and words that would make a line one.
OTHER = re.compile(r"^\s*(```|~~~|\||#|<|>)")
MARKER = re.compile(r"^([-+*]|\d+[.)]|=+|-+|[|#>].*|```.*)$")
LONGEST_SPAN = 80


def words_of(text):
    """Words; a span of code is part of one."""
    words, word, at = [], "", 0
    while at < len(text):
        ticks = re.match(r"`+", text[at:])
        if text[at] == " ":
            if word:
                words.append(word)
            word, at = "", at + 1
            continue
        end = at + 1
        if ticks:
            close = text.find(ticks.group(), at + len(ticks.group()))
            if 0 <= close - at < LONGEST_SPAN:
                end = close + len(ticks.group())
        word, at = word + text[at:end], end
    return words + [word] if word else words


def fill(text, first, rest):
    lines, line, is_empty = [], first, True
    for word in words_of(text):
        if is_empty:
            line, is_empty = line + word, False
        elif len(line) + 1 + len(word) <= WIDTH:
            line += " " + word
        elif MARKER.match(word):
            # It would start a list or a heading: the word before goes along.
            line, _, last = line.rpartition(" ")
            lines.append(line)
            line = f"{rest}{last} {word}"
        else:
            lines.append(line)
            line = rest + word
    return lines + [line]


def take_block(lines, start):
    """Index behind the paragraph or item that starts at `start`."""
    end = start + 1
    while end < len(lines):
        line = lines[end]
        is_break = lines[end - 1].endswith(("  ", "\\"))
        if is_break or not line.strip() or ITEM.match(line) or OTHER.match(line):
            break
        end += 1
    return end


def wrap(text):
    lines, result, at = text.split("\n"), [], 0
    fence, in_comment = None, False
    while at < len(lines):
        line = lines[at]
        mark = FENCE.match(line)
        in_comment = in_comment or line.startswith("<!--")
        is_plain = not (fence or mark or in_comment or OTHER.match(line))
        if fence and mark and line.strip().startswith(fence):
            fence = None
        elif mark and not fence:
            fence = mark.group(1)
        in_comment = in_comment and "-->" not in line
        if not is_plain or not line.strip():
            result.append(line)
            at += 1
            continue
        end = take_block(lines, at)
        block = lines[at:end]
        if max(map(len, block)) > WIDTH:
            item = ITEM.match(line)
            first = item.group() if item else re.match(r"\s*", line).group()
            rest = " " * len(first)
            block[0] = line[len(first):]
            block = fill(" ".join(part.strip() for part in block), first, rest)
        result += block
        at = end
    return "\n".join(result)


def long_lines(text):
    """Numbers of lines that wrapping would change."""
    wrapped = set(wrap(text).split("\n"))
    return [number for number, line in enumerate(text.split("\n"), 1)
            if len(line) > WIDTH and line not in wrapped]
