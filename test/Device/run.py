#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests and measurements of fa3 kernels on a Hopper GPU. See README.md."""

import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
for folder in (HERE, HERE.parents[1] / "python"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from fa3_device import arguments  # noqa: E402 (found by the lines above)


def _words(text):
    return text.split(",")


def _numbers(text):
    return [int(word) for word in text.split(",")]


def _pair(text):
    heads, key_heads = _numbers(text)
    return heads, key_heads


def _timed(parser, iterations):
    parser.add_argument("--modes", type=_words, default=["single"])
    parser.add_argument("--iterations", type=int, default=iterations)


def _matrix(commands):
    parser = commands.add_parser("matrix", help="feature sets on shapes")
    parser.add_argument("--types", type=_words)
    parser.add_argument("--dims", type=_words, help="such as 64,192x128")
    parser.add_argument("--masks", type=_words)
    parser.add_argument(
        "--layouts", default="both", help="both, alternate, bhsd or bshd"
    )
    parser.add_argument("--filter", help="part of a feature set's name")
    parser.add_argument("--shapes", type=_words, help="such as 113x203,1x147")
    parser.add_argument("--no-empty", action="store_true", help="no empty shapes")
    parser.add_argument("--groups", type=_words, help="of g1,g4,g5,g8,mqa")
    parser.add_argument("--heads", type=_pair, metavar="H,HK",
                        help="query and key heads that the compiler knows")  # fmt: skip
    parser.add_argument("--batches", type=_numbers)
    parser.add_argument("--full", action="store_true", help="the whole product")
    parser.add_argument("--workers", type=int, default=8, help="processes on the GPU")
    parser.add_argument("--retries", type=int, default=1, help="after a lost process")
    parser.add_argument("--budget", type=float, default=0, metavar="S",
                        help="time after which the rest fails")  # fmt: skip
    parser.add_argument("--max-print", type=int, default=60, help="failures printed")
    arguments.add_tools(parser)


def _backward(commands):
    parser = commands.add_parser("backward", help="gradients on shapes, or their time")
    parser.add_argument("--types", type=_words)
    parser.add_argument("--dims", type=_words, help="such as 64,192x128")
    parser.add_argument("--masks", type=_words)
    parser.add_argument("--filter", help="part of a feature set's name")
    parser.add_argument("--shapes", type=_words, help="such as 113x203,1x147")
    parser.add_argument("--no-empty", action="store_true", help="no empty shapes")
    parser.add_argument("--groups", type=_words, help="of g1,g4,g5,g8,mqa")
    parser.add_argument("--batches", type=_numbers)
    parser.add_argument("--max-print", type=int, default=60, help="failures printed")
    parser.add_argument("--time", action="store_true",
                        help="time beside cuDNN instead of the shapes")  # fmt: skip
    parser.add_argument("--lengths", type=_numbers, default=[512, 2048, 8192])
    parser.add_argument("--known-heads", action="store_true",
                        help="the compiler knows the heads of what is timed")
    parser.add_argument("--csv", metavar="FILE", help="for the times")
    parser.add_argument("--tolerance", type=float, default=2e-2,
                        help="relative difference from cuDNN")  # fmt: skip
    parser.add_argument("--repeat", type=int, default=20,
                        help="runs that have to be equal, with --time")  # fmt: skip
    _timed(parser, 11)
    arguments.add_tools(parser)


def _parser():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    _matrix(commands)
    repeat = commands.add_parser("repeat", help="repeated runs are bitwise equal")
    repeat.add_argument("--count", type=int, default=1000)
    repeat.add_argument(
        "--graphs", action="store_true", help="captured into CUDA graphs and replayed"
    )
    repeat.add_argument("--type", default="f16")
    repeat.add_argument("--d", type=int, default=128)
    repeat.add_argument(
        "--q-terms", type=int, default=1, help="8-bit floats in an element of q"
    )
    arguments.add_tools(repeat)
    quantize = commands.add_parser(
        "quantize", help="quantizing kernels, and attention that quantizes"
    )
    quantize.add_argument("--d", type=int, default=128)
    quantize.add_argument("--lengths", type=_numbers, default=[1024, 8192])
    _timed(quantize, 11)
    arguments.add_tools(quantize)
    _backward(commands)
    copies = commands.add_parser("copies", help="gradients with 8-bit copies")
    copies.add_argument("--time", action="store_true",
                        help="times and errors beside those of 16 bits")  # fmt: skip
    copies.add_argument("--train", type=int, metavar="STEPS", default=0,
                        help="a training run beside one with 16 bits, of hundreds")  # fmt: skip
    copies.add_argument("--lengths", type=_numbers, default=[2048, 8192])
    _timed(copies, 11)
    arguments.add_tools(copies)
    serving = commands.add_parser(
        "serving", help="packed, padded and paged sequences, new keys, splits"
    )
    serving.add_argument("--filter", help="part of a kernel's name")
    serving.add_argument("--max-print", type=int, default=20, help="failures printed")
    serving.add_argument("--workers", type=int, default=4, help="processes on the GPU")
    arguments.add_tools(serving)
    masks = commands.add_parser("masks", help="examples/masks, with and without lists")
    masks.add_argument("--filter", default="", help="part of a file's name")
    masks.add_argument("--seed", type=int, default=1, help="of lengths and inputs")
    masks.add_argument("--max-print", type=int, default=20, help="failures printed")
    masks.add_argument("--workers", type=int, default=4, help="processes on the GPU")
    arguments.add_tools(masks)
    gemm = commands.add_parser("gemm", help="examples/gemm.mlir beside cuBLAS")
    gemm.add_argument("--size", type=int, default=8192)
    _timed(gemm, 11)
    arguments.add_tools(gemm)
    first = commands.add_parser(
        "first-numbers", help="attention beside cuDNN, FA2 and given kernels"
    )
    first.add_argument("--types", type=_words, default=["f16"])
    first.add_argument("--d", type=_numbers, default=[64, 128, 256])
    first.add_argument("--masks", type=_words, default=["full", "causal"])
    first.add_argument("--lengths", type=_numbers, default=[2048, 4096, 8192, 16384])
    first.add_argument("--peer", help="Python file with class Reference, see peers.py")
    first.add_argument("--peer-kernels", type=_words, help="names, default: all")
    first.add_argument("--variant", action="append", metavar="OPTIONS",
                       help="pipeline options of a further kernel")  # fmt: skip
    first.add_argument("--tolerance", type=float, default=2e-2,
                       help="relative difference from cuDNN")  # fmt: skip
    _timed(first, 11)
    arguments.add_tools(first)
    return parser


def main():
    given = _parser().parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    arguments.prepare(given)
    # Torch is imported only for what runs.
    if given.command == "matrix":
        from fa3_device import matrix as command
    elif given.command == "repeat":
        from fa3_device import repeat as command
    elif given.command == "quantize":
        from fa3_device import quantize as command
    elif given.command == "backward":
        from fa3_device import backward as command
    elif given.command == "copies":
        from fa3_device import copies as command
    elif given.command == "serving":
        from fa3_device import serving as command
    elif given.command == "masks":
        from fa3_device import masks as command
    elif given.command == "gemm":
        from fa3_device import gemm as command
    else:
        from fa3_device import numbers as command
    return command.run(given)


if __name__ == "__main__":
    sys.exit(main())
