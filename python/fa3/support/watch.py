# SPDX-License-Identifier: Apache-2.0
"""Who looks on while a call is made: transforms of torch.func, dispatch modes
(make_fx, FakeTensorMode, FlopCounterMode), torch.jit.trace, dual numbers. They see
what torch's dispatcher sees. A launch goes past it, so that a watched call is one of
operators (fa3.autograd.watched), or refused by name."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, Sequence

import torch
from torch.autograd import forward_ad

from ..errors import ArgumentError, UnsupportedError
from .tensors import is_wrapped

# Older versions of torch have some of them not.
_transforms = getattr(torch._C, "_are_functorch_transforms_active", lambda: False)
_modes = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 0)
is_tracing = torch._C._is_tracing


def is_watched() -> bool:
    """Whether somebody looks on; asked in every call."""
    return bool(_modes() or _transforms() or is_tracing() or forward_ad._current_level >= 0)


def asked_in_c() -> tuple[Any, Any]:
    """What fa3_native asks in place of is_watched(): functions that have to say no, and
    attributes that have to be these."""
    return (_modes, _transforms, is_tracing), ((forward_ad, "_current_level", -1),)


def asked_in_backward(choices: Any) -> tuple[Any, Any]:
    """What it asks in a backward besides: else somebody derives it, or wants the same
    bits in every run. `choices` are fa3.calls.choices."""
    asks = torch.is_grad_enabled, torch._C._get_deterministic_algorithms
    return asks, ((choices, "backward", "fa3"),)


def is_recorded() -> bool:
    """Whether operators are recorded, counted or faked: a call has to be one."""
    return bool(_modes() or is_tracing())


def is_derived() -> bool:
    """Whether torch.func or dual numbers look on, for Dynamo, which can follow this."""
    return torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0


def is_fake(value: Any) -> bool:
    """Whether a tensor has no memory, but a meaning to operators."""
    return type(value).__name__ in ("FakeTensor", "FunctionalTensor")


def transforms() -> bool:
    """Whether there are transforms of torch.func that differentiate or map."""
    if not _transforms():
        return False
    kinds = torch._C._functorch.TransformType
    stack = torch._C._functorch.get_interpreter_stack() or ()
    return any(one.key() != kinds.Functionalize for one in stack)


def requires_grad(value: Any) -> bool:
    """Whether a tensor requires a gradient in any transform around."""
    if not isinstance(value, torch.Tensor):
        return False
    while not value.requires_grad:
        if not is_wrapped(value):
            return False
        value = torch._C._functorch.get_unwrapped(value)
    return True


def modes() -> list[Any]:
    """Dispatch modes, the innermost first."""
    if not _modes():
        return []
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

    return list(reversed(_get_current_dispatch_mode_stack()))


def check_tangents(what: str, *given: Any) -> None:
    """Raises where a tensor has a tangent."""
    if forward_ad._current_level < 0:
        return
    for one in given:
        if isinstance(one, torch.Tensor) and not is_wrapped(one):
            if forward_ad.unpack_dual(one).tangent is not None:
                raise forward_mode(what)


def check_gradients(what: str, do: Any, dlse: Any, *given: Any) -> None:
    """Raises where the gradients that come to a backward have tangents, or are several
    of torch.autograd.grad(.., is_grads_batched=True), which has no rules."""
    check_tangents(f"gradients of {what}", do, dlse, *given)
    for one in (do, dlse):
        if isinstance(one, torch.Tensor) and torch._C._functorch.is_legacy_batchedtensor(one):
            raise UnsupportedError(
                f"gradients of {what} with is_grads_batched; expected torch.func.vmap of "
                "torch.func.vjp"
            )


def is_special(gradient: Any) -> bool:
    """Whether a gradient is one that only operators take: several in one, or of the other
    sign in memory, or of a class of its own."""
    return gradient is not None and (
        type(gradient) is not torch.Tensor
        or gradient.is_neg()
        or torch._C._functorch.is_legacy_batchedtensor(gradient)
    )


def forward_mode(what: str) -> UnsupportedError:
    return UnsupportedError(
        f"forward-mode derivatives of {what} (dual numbers, torch.func.jvp); expected "
        "reverse mode: torch.autograd.grad, torch.func.vjp"
    )


def second_order(what: str) -> UnsupportedError:
    return UnsupportedError(f"second-order derivatives of {what}: its gradients have no gradients")


def refusal(error: Callable[[str], UnsupportedError], what: str) -> Any:
    """A rule that an autograd.Function has not."""

    @by_hand
    def rule(ctx: Any, *given: Any) -> Any:
        raise error(what)

    return staticmethod(rule)


def saves_nothing(ctx: Any, inputs: Any, output: Any) -> None:
    """The setup_context of one whose backward is a refusal."""


def check_underived(what: str, *given: Any) -> None:
    """Raises where a transform of torch.func or a tangent has part in `what`."""
    if any(isinstance(one, torch.Tensor) and is_wrapped(one) for one in given):
        raise UnsupportedError(f"{what} under torch.func (vmap, grad, vjp, jvp)")
    check_tangents(what, *given)


def check_output(name: str, made: Any, target: Any) -> None:
    """Of a result that is copied to where the caller wants it."""
    if target.shape != made.shape or target.dtype != made.dtype:
        raise ArgumentError(
            name, f"{target.dtype} of shape {tuple(target.shape)}, expected {made.dtype} "
            f"{tuple(made.shape)}",
        )  # fmt: skip


def one_by_one(apply: Callable[..., Any], info: Any, in_dims: Any, args: Sequence[Any]) -> Any:
    """vmap where there is no kernel for all at once: a call for each."""
    made = [
        apply(*(one if d is None else one.select(d, n) for one, d in zip(args, in_dims)))
        for n in range(info.batch_size)
    ]
    return tuple(torch.stack(ones) for ones in zip(*made)), (0,) * len(made[0])


def by_hand(function: Any) -> Any:
    """A function that Dynamo neither traces nor follows into: it meets tensors of
    transforms there that it cannot make again. As torch.compiler.disable, which imports
    Dynamo."""
    frames = torch._C._dynamo.eval_frame
    if hasattr(frames, "set_code_exec_strategy"):
        skip = frames._FrameAction.SKIP
        frames.set_code_exec_strategy(function.__code__, frames._FrameExecStrategy(skip, skip))
    return function


@contextlib.contextmanager
def unseen() -> Iterator[None]:
    """Nobody looks on: for what is found out in front of an operator, and in it."""
    from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
    from torch.utils._python_dispatch import _disable_current_modes

    with contextlib.ExitStack() as stack:
        if is_tracing():
            stack.enter_context(untraced())
        if _modes():
            stack.enter_context(_disable_current_modes())
        if _transforms():
            stack.enter_context(temporarily_clear_interpreter_stack())
        yield


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that the dispatcher calls, in which nobody looks on."""

    def run(*args: Any, **named: Any) -> Any:
        if not is_tracing():
            return function(*args, **named)
        with untraced():
            return function(*args, **named)

    return run


@contextlib.contextmanager
def untraced() -> Iterator[None]:
    """torch.jit.trace does not look: extents are numbers, nothing is recorded."""
    state = torch._C._get_tracing_state()
    torch._C._set_tracing_state(None)
    try:
        yield
    finally:
        torch._C._set_tracing_state(state)
