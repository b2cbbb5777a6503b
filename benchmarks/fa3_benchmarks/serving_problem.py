# SPDX-License-Identifier: Apache-2.0
"""Tensors of a cell of serving on the device, what they must give, and kernels
of others on them."""

from __future__ import annotations

import itertools

import torch

from fa3_device import peers as device_peers
from fa3_device import serving as definition
from fa3_device import serving_cases

from .peers import Candidate, Unavailable
from .serving import DENSE, PLAIN

_MOST_ROWS = 64  # of a sequence, that are compared


def _integers(values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32, device="cuda")


def _starts(lengths) -> torch.Tensor:
    return _integers([0, *itertools.accumulate(lengths)])


class ServingProblem:
    """q is (rows, heads, d) if the cell is packed, else (batch, queries, heads,
    d). Pages lie in random order; what no sequence uses is NaN."""

    def __init__(self, cell):
        self.cell = cell
        self.dtype = (definition.TYPES | definition.FLOATS_8)[cell.type]
        self._generator = torch.Generator(device="cuda").manual_seed(cell.length)
        self.case = serving_cases.Case(
            "benchmark", cell.type, cell.d, cell.dv, cell.heads, cell.key_heads,
            mask="causal" if cell.causal else "none",
            scales="head" if cell.is_8_bit else "",
        )  # fmt: skip
        self.scale = cell.d**-0.5
        rows = (sum(cell.queries),) if cell.packed else (cell.batch, cell.queries[0])
        self.q = self._random(*rows, cell.heads, cell.d)
        self.o = torch.empty_like(
            self.q[..., : cell.dv].contiguous(),
            dtype=torch.bfloat16 if cell.is_8_bit else self.dtype,
        )
        self.descales = {
            name: 0.5 + torch.rand(
                cell.batch, cell.key_heads, 1, generator=self._generator, device="cuda"
            )
            for name in ("qkv" if cell.is_8_bit else "")
        }  # fmt: skip
        self._fill_keys()
        self._truth = None

    def _random(self, *shape) -> torch.Tensor:
        wide = torch.bfloat16 if self.cell.is_8_bit else self.dtype
        return torch.randn(
            shape, generator=self._generator, device="cuda", dtype=wide
        ).to(self.dtype)

    def _fill_keys(self) -> None:
        cell = self.cell
        shape = (cell.key_heads, cell.d)
        if not cell.page:
            rows = (sum(cell.keys),) if cell.packed else (cell.batch, cell.keys[0])
            self.k = self._random(*rows, *shape)
            self.v = self._values(lambda: self._random(*rows, *shape))
            self.table = None
            return
        pages = [-(-count // cell.page) for count in cell.keys]
        order = torch.randperm(
            sum(pages) + 3, generator=self._generator, device="cuda"
        )
        self.table = torch.zeros(
            cell.batch, max(pages), dtype=torch.int32, device="cuda"
        )
        first = 0
        for number, count in enumerate(pages):
            self.table[number, :count] = order[first : first + count]
            first += count
        caches = [self._random(len(order), cell.page, *shape) for _ in "kv"]
        for cache in caches:
            # A NaN of any type; torch does not index 8-bit floats.
            bits, nan = {1: (torch.uint8, 0x7F), 2: (torch.int16, 0x7FFF)}[
                cache.element_size()
            ]
            cache.view(bits)[order[first:]] = nan
        self.k = caches[0]
        self.v = self._values(lambda: caches[1])
        if cell.new:
            self._turn_new_keys(shape)

    def _values(self, make) -> torch.Tensor:
        """Columns of the keys, or what `make` gives."""
        return self.k[..., : self.cell.dv] if self.cell.value_dim else make()

    def _turn_new_keys(self, shape) -> None:
        """New keys, and what kernels of others see: queries that are turned and
        a cache that has the new keys."""
        cell = self.cell
        new = (cell.batch, cell.new, *shape)
        self.k_new, self.v_new = self._random(*new), self._random(*new)
        angles = 6 * torch.rand(
            cell.length, cell.d // 2, generator=self._generator, device="cuda"
        )
        self.cos, self.sin = angles.cos(), angles.sin()
        self.turned = self.q.clone()
        # By the definition, whose case has the pairs.
        case = serving_cases.Case("benchmark", pairs=cell.d // 2)
        for number, count in enumerate(cell.keys):
            old = count - cell.new
            tables = self.cos, self.sin, old
            self.turned[number] = definition.rotate(case, self.q[number], *tables)
            at = torch.arange(old, count, device="cuda")
            page = self.table[number, at // cell.page].long()
            rows = definition.rotate(case, self.k_new[number], *tables)
            self.k[page, at % cell.page] = rows
            self.v[page, at % cell.page] = self.v_new[number]

    # --- What kernels take -----------------------------------------------------

    def arguments(self, variant: str) -> dict:
        cell = self.cell
        if variant == DENSE:
            q, k, v, o = (
                x.view(cell.batch, cell.length, *x.shape[1:]).transpose(1, 2)
                for x in (self.q, self.k, self.v, self.o)
            )
            return {"q": q, "k": k, "v": v, "o": o}
        made = {"q": self.q, "k": self.k, "v": self.v, "o": self.o,
                "scale": self.scale}  # fmt: skip
        if cell.value_dim:
            made |= {
                "q": self.q[..., cell.dv :], "qv": self.q[..., : cell.dv],
                "k": self.k[..., cell.dv :],
            }  # fmt: skip
        old = [count - cell.new for count in cell.keys]
        arrays = {
            "cu_q": lambda: _starts(cell.queries), "cu_k": lambda: _starts(cell.keys),
            "used_k": lambda: _integers(old), "page_table": lambda: self.table,
        }  # fmt: skip
        made.update({name: arrays[name]() for name in cell.arrays})
        made.update({f"{name}_descale": x for name, x in self.descales.items()})
        if cell.packed:
            made["max_q"] = max(cell.queries)
        if cell.parts_of(variant) > 1:
            # 0: the launch chooses.
            made["splits"] = 0 if variant == PLAIN else cell.parts_of(variant)
        if cell.new:
            made.update(
                k_new=self.k_new, v_new=self.v_new, cos=self.cos, sin=self.sin,
                new=cell.new,
            )  # fmt: skip
        return made

    def result(self) -> torch.Tensor:
        return self.o

    def poison(self) -> None:
        self.o.fill_(torch.nan)

    # --- What is right ---------------------------------------------------------

    def sequence(self, number: int):
        """q, k and v of one sequence, those of 8 bits times their scales in f32."""
        given = self._stored(number)
        if not self.descales:
            return given
        return tuple(
            x.float() * self.descales[name][number].repeat_interleave(
                x.shape[1] // self.cell.key_heads, 0
            )
            for name, x in zip("qkv", given)
        )  # fmt: skip

    def _stored(self, number: int):
        cell, queries = self.cell, self.cell.queries
        q = self.turned if cell.new else self.q
        if cell.packed:
            first = sum(queries[:number])
            q = q[first : first + queries[number]]
        else:
            q = q[number]
        count = cell.keys[number]
        if cell.page:
            pages = self.table[number, : -(-count // cell.page)].long()
            return q, *(x[pages].flatten(0, 1)[:count] for x in (self.k, self.v))
        if cell.packed:
            first = sum(cell.keys[:number])
            return q, self.k[first : first + count], self.v[first : first + count]
        return q, self.k[number], self.v[number]

    def _rows(self, o, number: int):
        queries = self.cell.queries
        if not self.cell.packed:
            return o[number]
        first = sum(queries[:number])
        return o[first : first + queries[number]]

    def truth(self) -> list:
        """For some sequences: number, o of the last queries, and what rounding
        to the element type costs."""
        if self._truth is None:
            cell, self._truth = self.cell, []
            shortest = min(range(cell.batch), key=lambda n: cell.keys[n])
            for number in sorted({0, shortest, cell.batch - 1}):
                q, k, v = self.sequence(number)
                q = q[-_MOST_ROWS:]
                o, _ = definition.attend(self.case, q, k, v, None)
                low, _ = definition.attend(self.case, q, k, v, None, self.dtype)
                rounding, extra = definition.slack(self.case, q, k, v, None)
                # Half of what is allowed beside rounding of o.
                slack = (rounding + extra * o.abs().max().item()) / 2
                error = (low - o).abs().max().item()
                self._truth.append((number, o, max(error, slack)))
        return self._truth

    def check_ours(self) -> tuple[list[str], float]:
        complaints = []
        for number, want, low in self.truth():
            got = self._rows(self.o, number)[-len(want) :].float()
            bound = 2 * low + 2.0**-7 * want.abs().max().item()
            error = (got - want).abs().nan_to_num(torch.inf).max().item()
            if error > bound:
                complaints.append(
                    f"sequence {number}: o is off by {error:.2e}, bound {bound:.2e}"
                )
        if self.o.isnan().any():
            complaints.append("o: NaN or not written")
        return complaints, self.relative_error(self.o)

    def relative_error(self, o) -> float:
        difference = norm = 0.0
        for number, want, _ in self.truth():
            got = self._rows(o, number)[-len(want) :].float()
            difference += float((got - want).square().sum())
            norm += float(want.square().sum())
        return (difference / norm) ** 0.5 if norm else difference

    # --- The same for others ---------------------------------------------------

    def dense(self):
        """(batch, sequence, head, element), where all lengths are the same."""
        cell = self.cell
        if cell.is_8_bit:
            raise Unavailable("has no 8-bit operands")
        if len(set(cell.queries)) > 1 or len(set(cell.keys)) > 1:
            raise Unavailable("has sequences of one length only")
        if not (cell.page or cell.packed):
            return self.q, self.k, self.v
        parts = [self.sequence(number) for number in range(cell.batch)]
        return tuple(torch.stack(x) for x in zip(*parts))

    def packed(self):
        if self.cell.is_8_bit:
            raise Unavailable("has no 8-bit operands")
        parts = [self.sequence(number) for number in range(self.cell.batch)]
        return tuple(torch.cat(x) for x in zip(*parts))


def _sdpa(backend):
    def make(problem, _options) -> Candidate:
        cell = problem.cell
        q, k, v = problem.dense()
        causal = cell.causal and cell.queries[0] > 1
        if causal and cell.queries != cell.keys:
            raise Unavailable("has no causal mask that is aligned at the end")
        call = device_peers.sdpa(device_peers.BACKENDS[backend], q, k, v, causal)
        return Candidate(lambda: call().reshape(problem.q.shape))

    return make


def _flash(problem, options) -> Candidate:
    """Of torch: packed, where lengths differ or a causal mask ends behind the
    queries."""
    cell = problem.cell
    plain = len(set(cell.queries)) == len(set(cell.keys)) == 1
    if plain and (not cell.causal or cell.queries[0] == 1 or cell.is_balanced):
        return _sdpa("fa2")(problem, options)
    q, k, v = problem.packed()
    starts = _starts(cell.queries), _starts(cell.keys)
    forward = torch.ops.aten._flash_attention_forward

    def run():
        with torch.no_grad():
            o = forward(
                q, k, v, *starts, max(cell.queries), max(cell.keys), 0.0, cell.causal,
                False, scale=problem.scale,
            )[0]  # fmt: skip
        return o.view(problem.q.shape)

    return Candidate(run)


MAKERS = {"cudnn": _sdpa("cudnn"), "fa2": _flash}
