#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package on a GPU: values through every door against fp32, latencies
of first calls, overhead of a call. Prints a table at the end; exits with 1 if
anything failed.

    python3 test/Device/python_door.py [--quick] [--only PART] [--json FILE]

Needs torch; JAX and transformers where they are installed. Runs from a checkout,
an unpacked archive, or with fa3 installed.
"""

import argparse
import json
import pathlib
import sys
import traceback

import torch

from fa3_door import (
    common,
    forward,
    gradients,
    host,
    latency,
    listed,
    models,
    operators,
    serving,
    speed,
    switch,
    tables,
)

import fa3

PARTS = {
    name[5:]: function
    for module in (
        forward,
        gradients,
        listed,
        tables,
        switch,
        operators,
        serving,
        models,
        latency,
        speed,
        host,
    )
    for name, function in vars(module).items()
    if name.startswith("part_")
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="a quarter of the matrix")
    parser.add_argument("--only", action="append", choices=sorted(PARTS))
    parser.add_argument("--json", help="also writes the table to this file")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("python_door.py: no CUDA device", file=sys.stderr)
        return 1
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}, fa3 "
          f"{fa3.__version__} by {fa3.build.compiler.get_compiler().name}, "
          f"ptxas {fa3.build.driver.find_ptxas() or 'none'}")  # fmt: skip
    for name in options.only or PARTS:
        try:
            PARTS[name](options.quick)
        except Exception as error:
            traceback.print_exc()
            common.row(name, "the part itself", "FAILED", str(error).split("\n")[0][:120])
    print("\n" + "-" * 100)
    for one in common.ROWS:
        print("{:12} {:58} {:6} {}".format(*one))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(common.ROWS, indent=1))
    failed = sum(1 for one in common.ROWS if one[2] == "FAILED")
    print(f"{sum(1 for one in common.ROWS if one[2] == 'ok')} ok, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
