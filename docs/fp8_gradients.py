#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Errors of gradients whose scores, or gradients of weights, are products of 8-bit
numbers, beside those of bf16: the formula of attention.backward by numpy, with its
numbers rounded where a kernel rounds them. Prints the table of
docs/experiments/fp8-gradients.md.
"""

import numpy as np

LENGTH, D, HEADS = 1024, 128, 4
# Digits behind the first, least exponent and largest number.
FORMATS = {"e4m3": (3, -6, 448.0), "e5m2": (2, -14, 57344.0)}


def to_bf16(x):
    bits = np.float32(x).view(np.uint32)
    bits = bits + 0x7FFF + (bits >> 16 & 1) & np.uint32(0xFFFF0000)
    return bits.view(np.float32).astype(np.float64)


def to_8_bits(x, name):
    """Rounded in units of one scale, as attention.quantize does."""
    digits, least, largest = FORMATS[name]
    scale = np.abs(x).max() / largest
    y = x / scale
    exponent = np.maximum(np.frexp(y)[1] - 1, least)
    step = np.ldexp(1.0, exponent - digits)
    return np.clip(np.rint(y / step) * step, -largest, largest) * scale


def hadamard(d):
    matrix = np.ones((1, 1))
    while len(matrix) < d:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix / np.sqrt(d)


def weights(q, k, keep):
    s = np.where(keep, q @ k.T / np.sqrt(D), -np.inf)
    lse = np.log(np.exp(s - s.max(1, keepdims=True)).sum(1)) + s.max(1)
    return s, lse


def gradients(x, keep, forward, scores, of_weights, rounds=to_bf16):
    """dq, dk, dv: `forward` has q, k, v that o and lse are of, `scores` q and k,
    `of_weights` do and v of the other product."""
    q, k, _, do = x
    s, lse = weights(*forward[:2], keep)
    o = rounds(np.exp(s - lse[:, None]) @ forward[2])
    s, _ = weights(*scores, keep)
    p = rounds(np.exp(s - lse[:, None]))
    ds = rounds(p * (of_weights[0] @ of_weights[1].T - (do * o).sum(1)[:, None]))
    return ds @ k / np.sqrt(D), ds.T @ q / np.sqrt(D), p.T @ do


def variants(x):
    """Names, and what is given to `gradients`."""
    q, k, v, do = x
    turn = hadamard(D) * np.where(np.random.default_rng(5).random(D) < 0.5, -1, 1)[:, None]

    def copies(of, name="e4m3", turned=False):
        return tuple(to_8_bits(to_bf16(y @ turn) if turned else y, name) for y in of)

    q8, k8, v8, do8 = copies(x)
    tq, tk, tv, tdo = copies(x, turned=True)
    own, own8 = (q, k, v), (q8, k8, v8)
    yield "bf16", own, (q, k), (do, v)
    yield "scores in e4m3", own8, (q8, k8), (do, v)
    yield "gradients of weights in e4m3", own, (q, k), (do8, v8)
    yield "both in e4m3", own8, (q8, k8), (do8, v8)
    yield "both, lse and o of bf16", own, (q8, k8), (do8, v8)
    yield "both rotated", (tq, tk, v8), (tq, tk), (tdo, tv)
    yield "both in e5m2", copies((q, k, v), "e5m2"), copies((q, k), "e5m2"), copies((do, v), "e5m2")


def draw(generator, outliers):
    x = generator.standard_normal((4, LENGTH, D))
    if outliers:
        x += 10 * (generator.random(x.shape) < 1e-3) * generator.standard_normal(x.shape)
    return [to_bf16(y) for y in x]


def measure(outliers, causal):
    """Relative errors (Frobenius) by variant, the mean over heads."""
    keep = np.tril(np.ones((LENGTH, LENGTH), bool)) if causal else np.True_
    found = {}
    for head in range(HEADS):
        x = draw(np.random.default_rng(head), outliers)
        q, k, v, do = x
        exact = gradients(x, keep, (q, k, v), (q, k), (do, v), rounds=lambda y: y)
        for name, *given in variants(x):
            got = gradients(x, keep, *given)
            errors = [np.linalg.norm(g - e) / np.linalg.norm(e) for g, e in zip(got, exact)]
            found.setdefault(name, []).append(errors)
    return {name: np.mean(errors, axis=0) for name, errors in found.items()}


def main():
    columns = {
        (data, mask): measure(data == "outliers", mask == "causal")
        for data in ("normal", "outliers") for mask in ("full", "causal")
    }  # fmt: skip
    print("| dq, dk, dv | " + " | ".join(" ".join(c) for c in columns) + " |")
    print("|---" * (1 + len(columns)) + "|")
    for name in next(iter(columns.values())):
        cells = [", ".join(f"{100 * e:.2f}" for e in c[name]) for c in columns.values()]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
