#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions that score code may have, on all kinds of numbers, down to the PTX.

Score code computes each function of scores of N(0, 1), of scores nine times as large, and
of their sizes, squeezes the results into [-2, 2] (0 for a NaN) and adds them. fa3-run
compares what the program gives before and after each pass and as PTX.

    functions.py --run build/bin/fa3-run
"""

import argparse
import subprocess
import sys

UNARY = [
    "absf", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh",
    "erf", "exp", "exp2", "expm1", "floor", "log", "log1p", "log2", "round", "roundeven",
    "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
]  # fmt: skip
#: With a constant: the score stands at {s}, the constant at {c}.
BINARY = [
    "math.atan2 {s}, {c}", "math.atan2 {c}, {s}", "math.copysign {c}, {s}",
    "math.copysign {s}, {c}", "arith.remf {s}, {c}", "arith.remf {c}, {s}",
    "arith.divf {c}, {s}", "arith.maximumf {s}, {c}", "arith.minnumf {s}, {c}",
]  # fmt: skip
CONSTANTS = (1.5, -2.0, 0.3)
#: Powers of scores, and powers with whole exponents that are known at run time only.
EXPONENTS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 7.0, -1.0, -2.0, -0.5, 65.0)
POWERS = [("math.powf {s}, {c}", c) for c in EXPONENTS]
POWERS += [("math.powf {c}, {f}", c) for c in (2.0, -2.0, -1.0, 1.0, 0.0, 1.5)]
POWERS += [("math.powf {s}, {f}", 0.0), ("math.powf {s}, {s}", 0.0)]


def write(jobs):
    """A module; jobs: (operation, constant)."""
    lines, total = [], "%s"

    def emit(text):
        lines.append(f"      %{len(lines)} = {text} : f32")
        return f"%{len(lines) - 1}"

    def constant(value):
        return emit(f"arith.constant {float(value)!r}")

    low, high, zero, nine = (constant(x) for x in (-2, 2, 0, 9))
    scores = ["%s", emit(f"arith.mulf %s, {nine}"), emit("math.absf %s")]
    whole = emit(f"math.floor {scores[1]}")
    for operation, number in jobs:
        given = constant(number)
        for s in scores:
            made = emit(operation.format(s=s, c=given, f=whole))
            lines.append(f"      %{len(lines)} = arith.cmpf uno, {made}, {made} : f32")
            is_nan = f"%{len(lines) - 1}"
            made = emit(f"arith.minimumf {made}, {high}")
            made = emit(f"arith.maximumf {made}, {low}")
            made = emit(f"arith.select {is_nan}, {zero}, {made}")
            total = emit(f"arith.addf {total}, {made}")
    body = "\n".join(lines)
    return f"""!x = tensor<1x2x40x16xf16>
!y = tensor<1x2x24x16xf16>
func.func @f(%q: !x, %k: !y, %v: !y) -> !x {{
  %o = attention.forward %q, %k, %v scale 0.125 : (!x, !y, !y) -> !x
    score_mod (%s, %b, %h, %i, %j) {{
{body}
      attention.yield {total} : f32
    }}
  return %o : !x
}}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--run", required=True)
    args = parser.parse_args()
    jobs = [(f"math.{name} {{s}}", 0.0) for name in UNARY]
    jobs += [(operation, c) for operation in BINARY for c in CONSTANTS] + POWERS
    step, failed = 6, 0
    for first in range(0, len(jobs), step):
        some = jobs[first : first + step]
        done = subprocess.run(
            [args.run, "--cpu", "--check-each-pass=block-m=64 block-n=16", "--check-ptx", "-"],
            input=write(some), capture_output=True, text=True)  # fmt: skip
        if done.returncode:
            failed += 1
            print(f"{some}:\n{done.stdout[-500:]}{done.stderr[-500:]}")
    print(f"{len(jobs)} functions, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
