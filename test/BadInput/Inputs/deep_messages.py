# SPDX-License-Identifier: Apache-2.0
"""Prints messages of an editor: a document that nests too deeply, and one that edits
make so and mend."""
import json
import sys

DEEP = 100000


def opened(name, text):
    document = {"uri": f"test:///{name}.mlir", "languageId": "mlir", "version": 1, "text": text}
    return {"method": "textDocument/didOpen", "params": {"textDocument": document}}


def changed(name, version, *changes):
    document = {"uri": f"test:///{name}.mlir", "version": version}
    params = {"textDocument": document, "contentChanges": list(changes)}
    return {"method": "textDocument/didChange", "params": params}


def edit(end, text):
    begin = {"line": 0, "character": 31}
    return {"range": {"start": begin, "end": {"line": 0, "character": end}}, "text": text}


MESSAGES = [
    {"id": 0, "method": "initialize", "params": {"processId": 1, "capabilities": {}}},
    opened("deep", "module {\n" * DEEP + "}\n" * DEEP),
    opened("edited", "module attributes {test.list = []} {}\n"),
    changed("edited", 2, edit(31, ""), edit(33, "[" * DEEP + "]" * DEEP)),
    changed("edited", 3, edit(31 + 2 * DEEP, "[]")),
    {"id": 1, "method": "shutdown"},
    {"method": "exit"},
]
for message in MESSAGES:
    text = json.dumps({"jsonrpc": "2.0", **message})
    if "--headers" in sys.argv:
        sys.stdout.write(f"Content-Length: {len(text)}\r\n\r\n{text}")
    else:
        sys.stdout.write(text + "\n// -----\n")
