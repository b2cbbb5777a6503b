# SPDX-License-Identifier: Apache-2.0
"""A call of fa3.attention that can be made again: a Plan with what is around it."""

from __future__ import annotations

import contextlib
import math
import sys
from typing import TYPE_CHECKING, Any, Sequence

from ..build.driver import Kernel
from ..errors import UnsupportedError
from ..kernels.checks import MAX_SCALE, check_scalars, check_scale
from ..support import tensors
from .launch import Launcher, maker

if TYPE_CHECKING:
    from .request import Request

_all_ones: dict[Any, Any] = {}


def ones(torch: Any, device: Any) -> Any:
    if device not in _all_ones:
        _all_ones[device] = torch.ones((1, 1), dtype=torch.float32, device=device)
    return _all_ones[device]


@contextlib.contextmanager
def device_guard(like: Any, device: int) -> Any:
    if tensors.is_torch(like) and like.is_cuda:
        with sys.modules["torch"].cuda.device(device):
            yield
    else:
        yield


class Call:
    """A launcher with what is around it: outputs, descales that are not given. Values
    are tensors in the order of `names`, the scale, captured numbers, outputs."""

    def __init__(
        self, request: Request, kernel: Kernel, arguments: Sequence[Any], outputs: Sequence[Any]
    ) -> None:  # fmt: skip
        self.kernel, self.device = kernel, request.device
        inputs = request.spec.inputs
        self.names = tuple(n for n in inputs if n != "scale" and not n.startswith("arg"))
        #: Types of captured numbers.
        self.scalars = tuple(request.regions.scalars)
        self.default_scale = 1.0 / math.sqrt(request.head_dim)
        self.has_lse = request.return_lse
        #: Descales that are not given: they are 1.
        self._filled = tuple(n for n, name in enumerate(self.names) if name in request.filled)
        order = {name: n for n, name in enumerate(self.names)}
        order["scale"] = len(order)
        order |= {f"arg{n}": len(self.names) + 1 + n for n in range(len(self.scalars))}
        made, place = (), None
        if tensors.is_torch(request.values["q"]):
            place = request.values["q"].device
            made = tuple(
                maker(tuple(one.shape), one.stride(), one.dtype, one.device) for one in outputs
            )
        places = range(len(order), len(order) + len(outputs))
        self.launcher = Launcher(
            kernel, self.device, arguments, (*(order[name] for name in inputs), *places),
            made, place,
        )  # fmt: skip
        #: Bytes for launch_at, at any address.
        self.workspace_size = self.launcher.workspace_size
        self._run = self.launcher.run

    @property
    def in_c(self) -> Any:
        """For native.call; None where that cannot make this call."""
        launch, filled = self.launcher.in_c, len(self._filled)
        if (
            launch is None or self.scalars or len(self.names) != 3 + filled
            or self._filled != tuple(range(3, 3 + filled))
        ):  # fmt: skip
            return None
        more = (ones(sys.modules["torch"], self.launcher.place),) * filled if filled else ()
        return launch, self.default_scale, MAX_SCALE, more

    def __call__(self, q: Any, k: Any, v: Any, scale: float | None) -> Any:
        """Once more, with tensors of the same types, shapes and strides."""
        if scale is None:
            scale = self.default_scale
        elif not (isinstance(scale, float) and 0.0 < scale <= MAX_SCALE):
            scale = check_scale(scale, 1)
        if self._filled:
            return self.again((q, k, v), scale, ())
        return self._run(q, k, v, scale)

    def again(
        self, inputs: Sequence[Any], scale: float | None, scalars: Sequence[Any],
        outputs: Sequence[Any] = (),
    ) -> Any:  # fmt: skip
        """Once more, with all tensors that the kernel reads, captured numbers, and
        the tensors that it writes, if they are not to be made."""
        scale = self.default_scale if scale is None else check_scale(scale, 1)
        given = [*inputs]
        for number in self._filled:
            given.insert(number, ones(sys.modules["torch"], given[0].device))
        check_scalars(self.scalars, scalars)
        if not outputs:
            return self._run(*given, scale, *scalars)
        for make, args, named in self.launcher.made[len(outputs) :]:
            outputs = (*outputs, make(*args, **named))
        self._run(*given, scale, *scalars, *outputs)
        return tuple(outputs) if self.has_lse else outputs[0]

    def launch(self, given: Sequence[Any], scale: float, scalars: Sequence[Any]) -> None:
        """With torch tensors in the order of the kernel, outputs last, on the
        current stream of their device."""
        check_scalars(self.scalars, scalars)
        count = len(self.names)
        self._run(*given[:count], scale, *scalars, *given[count:])

    def launch_at(
        self, addresses: Sequence[int], scale: float, scalars: Sequence[Any],
        stream: int, workspace: int = 0,
    ) -> None:  # fmt: skip
        if self.workspace_size and not workspace:
            raise UnsupportedError(f"a workspace of {self.workspace_size} bytes, without torch")
        check_scalars(self.scalars, scalars)
        count = len(self.names)
        self.launcher.at(
            [*addresses[:count], scale, *scalars, *addresses[count:]], stream, workspace
        )
