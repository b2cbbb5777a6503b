# SPDX-License-Identifier: Apache-2.0
"""Launches of a kernel with arguments of fixed types, shapes and strides."""

from __future__ import annotations

import copy
import sys
from typing import Any, Callable, Sequence

from ..build.driver import Kernel
from ..support import native, tensors
from .plan import Plan, raise_error, raw_address

ALIGNMENT = 256  # of a workspace
_MOST_PLANS = 1 << 14

#: What calls leave for later ones: calls that can be made again and launchers, of all
#: doors, by all that they depend on. Keys of the doors begin in different ways.
plans: dict[Any, Any] = {}

#: What is made anew for each call: a function, its arguments and its named ones.
Maker = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class Launcher:
    """`values` are the arguments in the order of the kernel: runtime.Array, whose
    addresses do not matter, or (type, number).

    run(*given) takes torch tensors and numbers, and launches on the current stream of
    their device: argument n is given[order[n]]. Behind the given values are those that
    are `made` for each call, which run() gives, one or a tuple; with these given as
    well it makes none. `place` is the torch.device of tensors."""

    def __init__(
        self, kernel: Kernel, device: int, values: Sequence[Any],
        order: Sequence[int] = (), made: Sequence[Maker] = (), place: Any = None,
    ) -> None:  # fmt: skip
        self.kernel, self.device = kernel, device
        self.plan = Plan(kernel.program(device), values)
        self.made, self.place = tuple(made), place
        #: Is called with all that was made, in front of the launch.
        self.finish: Callable[[Any], Any] | None = None
        self.types = [value[0] if isinstance(value, tuple) else "" for value in values]
        #: Bytes to pass as workspace, whose address need not be aligned.
        self.workspace_size = self.plan.workspace_size
        if self.workspace_size:
            self.workspace_size += ALIGNMENT
        self._arrange(order or range(len(values)))

    def rearranged(
        self, order: Sequence[int], made: Sequence[Maker] | None = None, finish: Any = None
    ) -> Launcher:
        """The same launches, of values in another order, with what is made for them."""
        other = copy.copy(self)
        vars(other).pop("run", None)
        other.made = self.made if made is None else tuple(made)
        other.finish = finish
        other._arrange(order)
        return other

    def _arrange(self, order: Sequence[int]) -> None:
        self.num_given = max([*order, -1]) + 1 - len(self.made)
        places = list(zip(self.plan.slots, order, self.types))
        #: Where the arrays go, those of f32 and of other numbers, and which values they are.
        self.arrays = tuple((slot, n) for slot, n, type in places if not type)
        self.reals = tuple((slot, n) for slot, n, type in places if type == "f32")
        self.numbers = tuple((slot, n) for slot, n, type in places if type and type != "f32")
        self.in_c = None if self.place is None else self._make_in_c(self.place)
        if self.in_c is not None:
            self.run = self.in_c.run  # type: ignore[method-assign]

    def _make_in_c(self, place: Any) -> Any:
        """The same in C, if there is that."""
        module = native.module()
        if module is None or len(self.made) > module.MOST_MADE:
            return None
        plan, torch = self.plan, sys.modules["torch"]
        numbers = {slot: n for n, slot in enumerate(plan.slots)}
        places = [
            tuple((numbers[slot], n) for slot, n in ones)
            for ones in (self.arrays, self.reals, self.numbers)
        ]
        workspace = maker((self.workspace_size,), (1,), torch.uint8, place)
        return module.Launch(
            plan, raise_error, raw_address("launch_again"), plan.handle.value,
            plan.content, plan.memo_size, self.device, *places, self.num_given,
            self.made, self.finish, plan.workspace_size, workspace,
        )  # fmt: skip

    def at(self, values: Sequence[int | float], stream: int, workspace: int = 0) -> None:
        """With addresses in the places of arrays, and numbers, of all values."""
        self._launch(self.filled(values), stream, workspace)

    def filled(self, values: Sequence[int | float]) -> Any:
        """A frame of the plan with addresses and numbers."""
        frame = self.plan.acquire()
        words, reals = frame.words, frame.numbers
        for slot, n in self.arrays:
            words[slot] = values[n]
        for slot, n in self.reals:
            reals[slot] = values[n]
        for slot, n in self.numbers:
            words[slot] = values[n]
        return frame

    def run(self, *values: Any) -> Any:
        if len(values) not in (self.num_given, self.num_given + len(self.made)):
            raise TypeError(f"{len(values)} values, expected {self.num_given}")
        torch = sys.modules["torch"]
        if torch._C._cuda_getDevice() != self.device:
            with torch.cuda.device(self.device):
                return self._run(torch, values)
        return self._run(torch, values)

    def _run(self, torch: Any, values: Sequence[Any]) -> Any:
        made: tuple[Any, ...] = ()
        if len(values) == self.num_given:
            made = tuple([make(*args, **named) for make, args, named in self.made])
            if self.finish is not None:
                self.finish(made)
            values = (*values, *made)
        workspace = None
        if self.workspace_size:
            # Freed in the order of the stream.
            workspace = torch.empty(self.workspace_size, dtype=torch.uint8, device=values[0].device)
        addresses = list(values)
        for _, n in self.arrays:
            addresses[n] = values[n].data_ptr()
        self._launch(
            self.filled(addresses), torch._C._cuda_getCurrentRawStream(self.device),
            workspace.data_ptr() if workspace is not None else 0,
        )  # fmt: skip
        return made[0] if len(made) == 1 else made or None

    def _launch(self, frame: Any, stream: int, workspace: int) -> None:
        address = -(-workspace // ALIGNMENT) * ALIGNMENT
        plan = self.plan
        try:
            plan.run(frame, stream, address if plan.workspace_size else None)
        finally:
            plan.release(frame)


def keep(key: Any, make: Callable[[], Any], known: dict[Any, Any] = plans) -> Any:
    """Adds what `make` gives to the plans, or to what is `known` of one of them."""
    if len(known) >= _MOST_PLANS:
        known.clear()
    made = known[key] = make()
    return made


def makers(*like: Any) -> tuple[Maker, ...]:
    """What makes contiguous tensors like those that are not None."""
    return tuple(
        maker(tuple(one.shape), tensors.contiguous(tuple(one.shape)), one.dtype, one.device)
        for one in like if one is not None
    )  # fmt: skip


def maker(shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any, device: Any) -> Maker:
    """What makes a dense tensor. It is made like another one, which takes a third of the
    host time of torch.empty: one element that stands for all, whose like is contiguous.
    Its memory is given back: nobody reads it, and it may be of the pool of a CUDA graph,
    whose owner (torch.compile(mode="reduce-overhead")) refuses what outlives the call."""
    torch = sys.modules["torch"]
    with torch.inference_mode(False):
        like = torch.empty((), dtype=dtype, device=device).expand(shape)
        like.untyped_storage().resize_(0)
    if torch.empty_like(like, device="meta").stride() == strides:
        return torch.empty_like, (like,), {}
    return torch.empty_strided, (shape, strides), {"dtype": dtype, "device": device}
