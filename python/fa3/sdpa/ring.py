# SPDX-License-Identifier: Apache-2.0
"""Ring attention of torch's context_parallel by fewer steps: where the switch (fa3.sdpa)
is active, these functions are in the place of torch's rings. Collectives are torch's.

Each process has a part of the queries and of the keys. Of every other process's keys a
kernel takes the results so far, in float32, and gives those with these keys: nothing is
merged afterwards. Gradients of keys go straight to the process that has the keys, in the
type in which kernels give them, while the next step runs."""

from __future__ import annotations

import sys
from typing import Any, Callable, Iterator

import torch

from ..calls import gradients
from ..calls.request import run_program
from ..kernels.arguments import Arguments
from ..kernels.program import to_text
from . import counts
from .declines import declines
from .operators import _declines_backward, _no_state, _no_state_of_flash

_MODULE = "torch.distributed.tensor.experimental._context_parallel._attention"
_PREFIX = "_scaled_dot_product_ring_"
_KINDS = ("flash", "cudnn", "efficient")
#: What the module has to have for its rings to be replaced.
_NEEDED = (
    *(f"{_PREFIX}{kind}_attention{end}" for kind in _KINDS for end in ("", "_backward")),
    "_cp_options", "_RotateMethod",
)  # fmt: skip


class Rings:
    """The functions of torch's module that are replaced; `switch` is a _Switch."""

    def __init__(self, switch: Any) -> None:
        self.switch = switch
        self.stock: dict[str, Callable[..., Any]] = {}

    def install(self) -> None:
        """Replaces them if the module is loaded, once."""
        module = sys.modules.get(_MODULE)
        if self.stock or module is None or not all([hasattr(module, n) for n in _NEEDED]):
            return
        for kind in _KINDS:
            for end, make in (("", _forward), ("_backward", _backward)):
                name = f"{_PREFIX}{kind}_attention{end}"
                self.stock[name] = getattr(module, name)
                setattr(module, name, make(self, module, kind, self.stock[name]))

    def remove(self) -> None:
        module = sys.modules.get(_MODULE)
        for name, function in self.stock.items():
            setattr(module, name, function)
        self.stock = {}


def _forward(rings: Rings, module: Any, kind: str, stock: Callable[..., Any]) -> Any:
    def ring(mesh: Any, query: Any, key: Any, value: Any, *args: Any, **named: Any) -> Any:
        asked = dict(zip(_ARGUMENTS[kind], args)) | named
        made: Any = _declines(module, mesh, query, key, value, asked)
        if not made:
            one = Ring(rings.switch, module, mesh, query, asked)
            made = rings.switch.counted(one.forward, query, key, value)
            _count(one, made, "ran")
        if isinstance(made, str):
            return stock(mesh, query, key, value, *args, **named)
        return _as_operator(kind, query, *made)

    return ring


def _backward(rings: Rings, module: Any, kind: str, stock: Callable[..., Any]) -> Any:
    names = ("grad_out", "query", "key", "value", *_ARGUMENTS[f"{kind}_backward"])

    def ring(mesh: Any, *args: Any, **named: Any) -> Any:
        asked = dict(zip(names, args)) | named
        q, k, v, o, lse, do = (
            asked[name] for name in ("query", "key", "value", "out", "logsumexp", "grad_out")
        )
        made: Any = _declines(module, mesh, q, k, v, asked) or _declines_backward()
        if not made:
            lse = lse.squeeze(-1) if lse.dim() == 4 else lse[:, :, : q.shape[2]]
            one = Ring(rings.switch, module, mesh, q, asked)
            made = rings.switch.counted(one.backward, do, q, k, v, o, lse, gradients=True)
            _count(one, made, "gradients")
        if isinstance(made, str):
            return stock(mesh, *args, **named)
        return (*made, None) if kind == "efficient" else made

    return ring


def _count(one: Ring, made: Any, what: str) -> None:
    """The steps of a ring behind the first, which is counted."""
    if not isinstance(made, str):
        steps = sum([one.parts(step) is not None for step in range(one.size)])
        setattr(counts.report(), what, getattr(counts.report(), what) + steps - 1)


#: Behind query, key and value.
_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "flash": ("dropout_p", "is_causal", "return_debug_mask"),
    "cudnn": ("attn_bias", "compute_log_sumexp", "dropout_p", "is_causal", "return_debug_mask"),
    "efficient": ("attn_bias", "compute_log_sumexp", "dropout_p", "is_causal"),
    "flash_backward": (
        "out", "logsumexp", "cum_seq_q", "cum_seq_k", "max_q", "max_k", "dropout_p",
        "is_causal", "philox_seed", "philox_offset",
    ),
    "cudnn_backward": (
        "out", "logsumexp", "philox_seed", "philox_offset", "attn_bias", "cum_seq_q",
        "cum_seq_k", "max_q", "max_k", "dropout_p", "is_causal",
    ),
    "efficient_backward": (
        "bias", "out", "logsumexp", "philox_seed", "philox_offset", "dropout_p",
        "grad_input_mask", "is_causal",
    ),
}  # fmt: skip


def _declines(module: Any, mesh: Any, q: Any, k: Any, v: Any, asked: dict[str, Any]) -> str:
    """Why torch's ring runs, which says itself what is wrong with a call."""
    given = ("attn_bias", "bias", "return_debug_mask", "dropout_p")
    for name in given:
        one = asked.get(name)
        if one is not None and (isinstance(one, torch.Tensor) or one):
            return name
    if not type(q) is type(k) is type(v) is torch.Tensor or torch.compiler.is_compiling():
        return "tensors of another kind"
    balanced = module._cp_options.enable_load_balance
    if q.shape[2] != k.shape[2] or balanced and (not asked.get("is_causal") or q.shape[2] % 2):
        return "lengths"
    return declines(q, k, v, 0.0, asked.get("scale"))


def _as_operator(kind: str, q: Any, o: Any, lse: Any) -> tuple[Any, ...]:
    """What torch's operator of that kind gives."""
    queries = q.shape[2]
    if kind == "flash":
        mask = q.new_empty((0,))
        return o, lse, None, None, queries, queries, *_no_state_of_flash(q), mask
    if kind == "cudnn":
        return o, lse.unsqueeze(-1), None, None, queries, queries, *_no_state(q), None
    if queries % 32:
        lse = torch.nn.functional.pad(lse, (0, -queries % 32), value=float("inf"))
    return o, lse, *_no_state(q)


class Ring:
    """One call of a ring."""

    def __init__(self, switch: Any, module: Any, mesh: Any, q: Any, asked: dict[str, Any]) -> None:
        import torch.distributed as dist

        self.dist, self.group = dist, mesh.get_group()
        self.rank, self.size = dist.get_rank(self.group), dist.get_world_size(self.group)
        self.causal, self.scale = bool(asked.get("is_causal")), asked.get("scale")
        #: Each process has two pieces, as far from one end of the sequence as from the
        #: other.
        self.balanced = bool(module._cp_options.enable_load_balance)
        self.rotates = module._cp_options.rotate_method == module._RotateMethod.ALL_TO_ALL
        self.interpret, self.half = switch.interpret, q.shape[2] // 2

    # -- steps --------------------------------------------------------------------

    def parts(self, step: int, rank: int | None = None) -> tuple[Any, Any] | None:
        """The queries and the keys of a step as slices, None for a step without any. Step n
        is that with the keys of the process n places in front."""
        rank = self.rank if rank is None else rank
        everything = slice(None)
        if step == 0 or not self.causal:
            return everything, everything
        if not self.balanced:
            return (everything, everything) if step <= rank else None
        if step <= rank:
            return everything, slice(0, self.half)
        return slice(self.half, None), everything

    def text(self, causal: bool, lse: bool = True, **named: Any) -> str:
        out = named.pop("out", None)
        asked = Arguments(causal, out_dtype=out, return_lse=lse, interpret=self.interpret)
        return to_text(asked, **named)

    def keys(self, k: Any, v: Any) -> Iterator[tuple[Any, Any]]:
        """Keys and values of all processes, in the order of the steps, which are on the
        way while the caller is busy with those before."""
        k, v = k.contiguous(), v.contiguous()
        if self.rotates:
            yield from self._rotated(k, v)
            return
        # Straight from each process to each other one: faster than a collective that
        # passes them on.
        coming = []
        for step in range(1, self.size):
            others = torch.empty_like(k), torch.empty_like(v)
            coming.append((others, self.exchange((k, v), others, step)))
        yield k, v
        for others, works in coming:
            for work in works:
                work.wait()
            yield others

    def _rotated(self, k: Any, v: Any) -> Iterator[tuple[Any, Any]]:
        for step in range(self.size):
            if step + 1 < self.size:
                following = torch.empty_like(k), torch.empty_like(v)
                works = self.exchange((k, v), following, 1)
            yield k, v
            if step + 1 < self.size:
                for work in works:
                    work.wait()
                k, v = following

    def exchange(self, sent: Any, received: Any, places: int) -> list[Any]:
        """Begins to send to the process so many places behind, and to receive from the one
        so many in front."""
        dist = self.dist
        to = dist.get_global_rank(self.group, (self.rank + places) % self.size)
        source = dist.get_global_rank(self.group, (self.rank - places) % self.size)
        ops = [dist.P2POp(dist.isend, one, to, group=self.group) for one in sent]
        ops += [dist.P2POp(dist.irecv, one, source, group=self.group) for one in received]
        return dist.batch_isend_irecv(ops) if ops else []

    # -- forward ------------------------------------------------------------------

    def forward(self, q: Any, k: Any, v: Any) -> tuple[Any, Any]:
        steps = [n for n in range(self.size) if self.parts(n) is not None]
        o = q.new_empty((*q.shape[:3], v.shape[3]))
        lse = q.new_empty(q.shape[:3], dtype=torch.float32)
        # Results of earlier steps, and where the next ones go.
        before: Any = None
        spare: list[tuple[Any, Any]] = []

        def take() -> tuple[Any, Any]:
            if spare:
                return spare.pop()
            return torch.empty_like(o, dtype=torch.float32), torch.empty_like(lse)

        whole = slice(None)
        covered = whole  # queries that `before` is of
        for step, (keys, values) in enumerate(self.keys(k, v)):
            if step not in steps:
                continue
            rows, columns = self.parts(step)
            if rows != covered:
                # The first half has seen all its keys.
                first = slice(0, self.half)
                o[:, :, first].copy_(before[0][:, :, first])
                lse[:, :, first].copy_(before[1][:, :, first])
                covered = rows
            is_last = step == steps[-1]
            after = (o, lse) if is_last else take()
            extras: tuple[Any, ...] = ()
            if before is not None:
                extras = tuple(one[:, :, rows] for one in before)
            text = self.text(
                self.causal and step == 0, out=None if is_last else torch.float32,
                extras="previous_o,previous_lse" if extras else "",
            )  # fmt: skip
            run_program(
                q[:, :, rows], keys[:, :, columns], values[:, :, columns], extras, (), text,
                self.scale, after[0][:, :, rows], after[1][:, :, rows],
            )  # fmt: skip
            if before is not None:
                spare.append(before)
            before = after
        return o, lse

    # -- backward -----------------------------------------------------------------

    def backward(
        self, do: Any, q: Any, k: Any, v: Any, o: Any, lse: Any
    ) -> tuple[Any, Any, Any]:
        """The gradients that others wait for come first, and heads whose gradients are of
        own keys alone last, while those of other processes arrive."""
        mine = [torch.empty_like(one) for one in (q, k, v)]
        groups = q.shape[1] // k.shape[1]
        # Enough for all multiprocessors on either side.
        early = k.shape[1]
        if self.size > 1 and k.shape[1] > 1 and q.shape[1] * q.shape[2] >= _MUCH:
            early = (k.shape[1] + 1) // 2
        sums = [Sum(self.size, one) for one in mine]

        def add_own(first: int, last: int) -> None:
            of_q, of_k = slice(first * groups, last * groups), slice(first, last)
            self._gradients(
                *(one[:, of_q] for one in (do, q)), k[:, of_k], v[:, of_k],
                *(one[:, of_q] for one in (o, lse)), self.causal,
                into=tuple(one[:, of_n] for one, of_n in zip(mine, (of_q, of_k, of_k))),
            )  # fmt: skip

        coming: list[tuple[Any, Any, list[Any]]] = []
        for step, (keys, values) in enumerate(self.keys(k, v)):
            if step == 0:
                add_own(0, early)
                continue
            parts = self.parts(step)
            made: tuple[Any, ...] = ()
            if parts is not None:
                rows, columns = parts
                dq, *made = self._gradients(  # type: ignore[assignment]
                    do[:, :, rows], q[:, :, rows], keys[:, :, columns], values[:, :, columns],
                    o[:, :, rows], lse[:, :, rows], False,
                )  # fmt: skip
                sums[0].add(dq, rows)
            # Our keys are those of this step for the process so many places behind.
            theirs = self.parts(step, (self.rank + step) % self.size)
            received: tuple[Any, ...] = ()
            if theirs is not None:
                extent = len(range(k.shape[2])[theirs[1]])
                received = tuple(
                    one.new_empty((*one.shape[:2], extent, one.shape[3])) for one in (k, v)
                )
            works = self.exchange([one.contiguous() for one in made], received, -step)
            coming.append((theirs, received, works))
        if early < k.shape[1]:
            add_own(early, k.shape[1])
        for theirs, received, works in coming:
            for work in works:
                work.wait()
            for total, one in zip(sums[1:], received):
                total.add(one, theirs[1])
        return tuple(total.get() for total in sums)  # type: ignore[return-value]

    def _gradients(
        self, do: Any, q: Any, k: Any, v: Any, o: Any, lse: Any, causal: bool,
        into: Any = None,
    ) -> tuple[Any, ...]:  # fmt: skip
        *made, _ = gradients.backward(
            do, None, (q, k, v, o, lse), (), (), self.text(causal), self.scale, into
        )
        return tuple(made)


#: Queries of all heads from which on heads are computed apart.
_MUCH = 1 << 17


class Sum:
    """A sum of parts and a process's own: of two in their type, which rounds once, of more
    in float32."""

    def __init__(self, most: int, own: Any) -> None:
        self.most, self.own = most, own
        self.parts: list[tuple[Any, slice]] = []
        self.total: Any = None

    def add(self, one: Any, rows: slice) -> None:
        if self.most <= 2:
            self.parts.append((one, rows))
            return
        if self.total is None:
            self.total = torch.zeros_like(self.own, dtype=torch.float32)
        self.total[:, :, rows].add_(one)

    def get(self) -> Any:
        """With the own part, which is there by now."""
        if self.total is not None:
            return self.total.add_(self.own).to(self.own.dtype)
        for one, rows in self.parts:
            self.own[:, :, rows].add_(one)
        return self.own
