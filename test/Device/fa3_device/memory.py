# SPDX-License-Identifier: Apache-2.0
"""Tensors whose surroundings are watched.

Every tensor lies in a larger buffer that is filled with a NaN: what a kernel
reads from outside an input spoils its results, what it writes outside an output
is seen, and so is what it does not write inside.
"""

import torch

_GUARD = 4096  # elements on either side, a multiple of every alignment
_PATTERNS = {1: (torch.uint8, 0x7F), 2: (torch.int16, 0x7FFF), 4: (torch.int32, 0x7FFFFFFF)}

# Order of the dimensions in memory, outermost first; elements between rows,
# of which bulk copies want multiples of 16 bytes.
_ORDERS = {
    "bhsd": ((0, 1, 2), 0),
    "bshd": ((0, 2, 1), 0),
    "sbhd": ((2, 0, 1), 0),
    "padded": ((0, 1, 2), 24),
}


class Guarded:
    """A tensor (batch, head, sequence[, element]) of a given order in memory;
    `tensor` is the view, with its dimensions in logical order. Rows start at
    multiples of `alignment` elements."""

    def __init__(self, shape, dtype, memory, device="cuda", alignment=1):
        order, padding = _ORDERS[memory]
        strides = [0] * len(shape)
        running = 1
        if len(shape) == 4:
            strides[3] = 1
            running = shape[3] + (padding if dtype.itemsize > 1 else 2 * padding)
            running = -(-running // alignment) * alignment
        else:  # rows of statistics are contiguous, whatever holds the elements
            order = (0, 1, 2)
        for dim in reversed(order):
            strides[dim] = running
            running *= max(shape[dim], 1)
        self._type, self._pattern = _PATTERNS[dtype.itemsize]
        self._flat = torch.full(
            (running + 2 * _GUARD,), self._pattern, dtype=self._type, device=device
        )
        self._shape, self._strides = tuple(shape), tuple(strides)
        self.tensor = self._view(self._flat).view(dtype)

    def _view(self, flat):
        return flat.as_strided(self._shape, self._strides, _GUARD)

    def fill(self, values):
        self.tensor.copy_(values)
        return self

    def poison(self):
        self._flat.fill_(self._pattern)

    def is_intact(self):
        """Whether nothing outside the tensor was written."""
        rest = self._flat.clone()
        self._view(rest).fill_(self._pattern)
        return bool((rest == self._pattern).all())

    def bits(self):
        """A copy of the elements as integers."""
        return self._view(self._flat).clone()
