# SPDX-License-Identifier: Apache-2.0
"""Sequences with lengths and places of their own, against attention of each one.

Every sequence is computed alone in fp32 from the keys that its table names.
What no sequence uses holds NaN: pages, rows in front of a padding's end, other
batches of a cache. Rows behind the end of a sequence in its last page are finite,
as docs/Serving.md asks.
"""

import dataclasses
import itertools

import torch

from . import build, kernels, memory, workers

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16}
LENGTHS = [0, 1, 63, 64, 65, 127, 128, 129, 1000]
TABLES = ["identity", "reversed", "random", "shared", "wild"]
GARBAGE = 100.0


@dataclasses.dataclass(frozen=True)
class Case:
    """One kernel: `form` is packed, padded, paged, append or dense append."""

    form: str
    type: str = "bf16"
    d: int = 128
    dv: int = 128
    heads: int = 8
    key_heads: int = 2
    page: int = 0
    mask: str = "causal"
    splits: bool = False
    sinks: bool = False
    pairs: int = 0
    interleaved: bool = False

    @property
    def name(self):
        parts = ["serving", self.form, self.type, f"d{self.d}x{self.dv}",
                 f"h{self.heads}x{self.key_heads}", self.mask]  # fmt: skip
        parts += [f"page{self.page}"] if self.page else []
        parts += ["splits"] if self.splits else []
        parts += ["sinks"] if self.sinks else []
        if self.pairs:
            parts.append(f"rotary{self.pairs}{'i' if self.interleaved else ''}")
        return "-".join(parts)

    @property
    def appends(self):
        return self.form.endswith("append")

    @property
    def packed(self):
        return self.form == "packed"

    def module(self):
        t, h, hk = self.type, self.heads, self.key_heads
        rows = "?" if self.packed else "?x?"
        page = str(self.page) if self.page else "?"
        q, o = (f"tensor<{rows}x{h}x{d}x{t}>" for d in (self.d, self.dv))
        if self.packed:
            k, v = (f"tensor<?x{hk}x{d}x{t}>" for d in (self.d, self.dv))
        else:
            k, v = (f"tensor<?x{page}x{hk}x{d}x{t}>" for d in (self.d, self.dv))
        lse = f"tensor<{h}x?xf32>" if self.packed else f"tensor<?x{h}x?xf32>"
        kn, vn = (f"tensor<?x?x{hk}x{d}x{t}>" for d in (self.d, self.dv))
        integers, table = "tensor<?xi32>", "tensor<?x?xi32>"
        arguments = [("q", q), ("k", k), ("v", v)]
        lines, mods, aux, clauses, regions = [], [], [], "", ""
        query, key, value = "%q", "%k", "%v"
        if self.appends:
            arguments += [("k_new", kn), ("v_new", vn), ("first", integers)]
            new = "%k_new"
            if self.pairs:
                angles = f"tensor<?x{self.pairs}xf32>"
                arguments += [("cos", angles), ("sin", angles)]
                how = "interleaved " if self.interleaved else ""
                for name, source, type in (("tq", "%q", q), ("tk", "%k_new", kn)):
                    lines.append(
                        f"%{name} = attention.rotary {source}, %cos, %sin at %first "
                        f"{how}layout bshd : {type}, {angles}, {integers}"
                    )
                query, new = "%tq", "%tk"
            place = ""
            if self.page:
                place = (f" aux(%table : {table}) layout bshd "
                         "mods [#attention.paged<table = 0>]")  # fmt: skip
            else:
                place = " layout bshd"
            for name, source, cache, type, old in (
                ("k1", new, "%k", k, kn), ("v1", "%v_new", "%v", v, vn),
            ):  # fmt: skip
                lines.append(f"%{name} = attention.append {source}, {cache} at %first"
                             f"{place} : {old}, {type}, {integers}")  # fmt: skip
            key, value = "%k1", "%v1"
            aux.append(("first", integers))
            regions = """
    lengths (%b) {
      %before = tensor.extract %first[%b] : tensor<?xi32>
      %old = arith.index_cast %before : i32 to index
      %new = attention.length query
      %keys = arith.addi %old, %new : index
      attention.yield %new, %keys : index, index
    }"""
        elif self.packed:
            aux += [("cu_q", integers), ("cu_k", integers)]
            mods.append("#attention.packed<q = 0, k = 1>")
            arguments.append(("max_q", "index"))
            clauses += " max_q %max_q"
        else:
            aux += [("used_q", integers), ("used_k", integers)]
            mods.append("#attention.used<q = 0, k = 1>")
        if self.page:
            mods.append(f"#attention.paged<table = {len(aux)}>")
            aux.append(("table", table))
        mods += {"causal": ["#attention.causal"], "none": [],
                 "window": ["#attention.window<left = 100, right = 0>"],
                 "softcap": ["#attention.softcap<5.0>", "#attention.causal"],
                 }[self.mask]  # fmt: skip
        if self.splits:
            arguments.append(("splits", "index"))
            clauses += " splits %splits"
        if self.sinks:
            arguments.append(("sinks", f"tensor<{h}xf32>"))
            clauses += f" sinks(%sinks : tensor<{h}xf32>)"
        known = {name for name, _ in arguments}
        arguments += [(name, type) for name, type in aux if name not in known]
        names = ", ".join(f"%{name}" for name, _ in aux)
        types = ", ".join(type for _, type in aux)
        text = ", ".join(f'%{n}: {t} {{tile.name = "{n}"}}' for n, t in arguments)
        body = "".join(f"  {line}\n" for line in lines)
        return (
            f'func.func @serving({text}) -> ({o} {{tile.name = "o"}}, '
            f'{lse} {{tile.name = "lse"}}) {{\n{body}'
            f"  %o, %lse = attention.forward {query}, {key}, {value} "
            f"aux({names} : {types}){clauses} layout bshd\n"
            f"      mods [{', '.join(mods)}] : ({q}, {k}, {v}) -> ({o}, {lse}){regions}\n"
            f"  return %o, %lse : {o}, {lse}\n}}\n"
        )


# --- One sequence ------------------------------------------------------------


def attend(case, q, k, v, sinks, dtype=torch.float32):
    """o and lse of one sequence: q (queries, heads, d), k and v (keys, ...)."""
    queries, keys = q.shape[0], k.shape[0]
    group = case.heads // case.key_heads
    k = k.repeat_interleave(group, 1)
    v = v.repeat_interleave(group, 1)
    s = torch.einsum("ihd,jhd->hij", q.to(dtype), k.to(dtype)).float()
    s = s * case.d**-0.5
    if case.mask == "softcap":
        s = 5 * torch.tanh(s / 5)
    i = torch.arange(queries, device=q.device)[:, None] + keys - queries
    j = torch.arange(keys, device=q.device)[None]
    if case.mask in ("causal", "softcap"):
        s = s.masked_fill(j > i, -torch.inf)
    elif case.mask == "window":
        s = s.masked_fill((j > i) | (j < i - 100), -torch.inf)
    if sinks is not None:
        column = sinks[:, None, None].expand(-1, queries, 1)
        s = torch.cat([s, column.float()], 2)
        v = torch.cat([v, torch.zeros_like(v[:1])]) if keys else torch.zeros(
            1, case.heads, case.dv, device=q.device, dtype=q.dtype
        )
    if s.shape[2] == 0:
        o = torch.zeros(queries, case.heads, case.dv, device=q.device)
        return o, torch.full((case.heads, queries), -torch.inf, device=q.device)
    lse = torch.logsumexp(s, 2)
    p = torch.exp(s - lse[..., None]).nan_to_num(0.0)
    o = torch.einsum("hij,jhd->ihd", p.to(dtype).float(), v.float())
    return o, lse


def rotate(case, x, cos, sin, first):
    """Rows (.., rows, heads, d) turned from position `first` on, as f32 says."""
    if not case.pairs:
        return x
    rows = x.shape[0]
    at = (first + torch.arange(rows, device=x.device)).clamp(0, cos.shape[0] - 1)
    c, s = cos[at][:, None], sin[at][:, None]
    y = x.clone()
    n = case.pairs
    if case.interleaved:
        a, b = x[..., 0 : 2 * n : 2].float(), x[..., 1 : 2 * n : 2].float()
        y[..., 0 : 2 * n : 2] = (a * c - b * s).to(x.dtype)
        y[..., 1 : 2 * n : 2] = (b * c + a * s).to(x.dtype)
    else:
        a, b = x[..., :n].float(), x[..., n : 2 * n].float()
        y[..., :n] = (a * c - b * s).to(x.dtype)
        y[..., n : 2 * n] = (b * c + a * s).to(x.dtype)
    return y


# --- Problems ----------------------------------------------------------------


def _random(shape, dtype, generator):
    return torch.randn(shape, generator=generator, device="cuda").to(dtype)


def _integers(values):
    return torch.tensor(values, dtype=torch.int32, device="cuda")


def _guarded(tensor):
    """A copy among NaNs; of rank 3, a batch of 1 in front is taken off again."""
    shape = tuple(tensor.shape)
    logical = shape if len(shape) == 4 else (1, *shape)
    guarded = memory.Guarded(logical, tensor.dtype, "bhsd")
    guarded.tensor.copy_(tensor.view(logical))
    return guarded, guarded.tensor.view(shape)


class Problem:
    """Lengths, inputs and what is expected, by sequence."""

    def __init__(self, case, batch, seed, order="random", tokens=None):
        self.case, dtype = case, TYPES[case.type]
        g = self.generator = torch.Generator(device="cuda").manual_seed(seed)
        take = itertools.islice(itertools.cycle(LENGTHS), seed, seed + batch)
        keys = list(take)
        if case.packed:
            queries = [LENGTHS[(n * 5 + seed) % len(LENGTHS)] for n in range(batch)]
        else:
            limit = tokens or 70
            queries = [
                limit if tokens else min(LENGTHS[(n * 4 + seed) % 5], limit)
                for n in range(batch)
            ]
        self.queries, self.keys = queries, keys
        self.sinks = _random((case.heads,), torch.float32, g) if case.sinks else None
        make = lambda n, h, d: _random((n, h, d), dtype, g)  # noqa: E731
        self.q = [make(n, case.heads, case.d) for n in queries]
        self.k = [make(n, case.key_heads, case.d) for n in keys]
        self.v = [make(n, case.key_heads, case.dv) for n in keys]
        self.arguments, self.guards = {}, []
        if case.packed:
            self._pack(dtype)
        else:
            self._place(dtype, order)
        if case.sinks:
            self.arguments["sinks"] = self.sinks

    def _output(self, rows, dtype):
        """o and lse, guarded."""
        case = self.case
        batch = rows[0] if len(rows) == 2 else 1
        shape = batch, 1, rows[-1], case.heads * case.dv
        o = memory.Guarded(shape, dtype, "bhsd")
        self.o = o.tensor.view((*rows, case.heads, case.dv))
        lse = memory.Guarded((batch, case.heads, rows[-1]), torch.float32, "bhsd")
        self.lse = lse.tensor[0] if len(rows) == 1 else lse.tensor
        self.guards += [("o", o), ("lse", lse)]
        self.arguments.update(o=self.o, lse=self.lse)

    def _input(self, name, tensor):
        guard, view = _guarded(tensor)
        self.guards.append((name, guard))
        self.arguments[name] = view
        return view

    def _pack(self, dtype):
        starts = lambda n: _integers([0, *itertools.accumulate(n)])  # noqa: E731
        for name, parts in (("q", self.q), ("k", self.k), ("v", self.v)):
            self._input(name, torch.cat(parts))
        self.arguments.update(
            cu_q=starts(self.queries), cu_k=starts(self.keys), max_q=max(self.queries)
        )
        self._output((sum(self.queries),), dtype)
        ends = list(itertools.accumulate(self.queries))
        self.rows = [
            lambda x, a=end - n, b=end: x[a:b] for n, end in zip(self.queries, ends)
        ]
        self.lse_rows = [
            lambda x, a=end - n, b=end: x[:, a:b] for n, end in zip(self.queries, ends)
        ]

    def _place(self, dtype, order):
        case, batch = self.case, len(self.queries)
        most_q = max([1, *self.queries])
        new = self.queries if case.appends else [0] * batch
        room = max([1, *(k + n for k, n in zip(self.keys, new))])
        page = case.page or room
        pages = -(-room // page)
        if case.page:
            count = batch * pages + 3
            table = torch.arange(batch * pages).view(batch, pages)
            if order == "reversed":
                table = count - 1 - table
            elif order in ("random", "wild"):
                table = torch.randperm(count)[: batch * pages].view(batch, pages)
            elif order == "shared" and not case.appends:
                table = table[:1].expand(batch, pages).contiguous()
                longest = max(range(batch), key=lambda n: self.keys[n])
                for n in range(batch):
                    self.k[n] = self.k[longest][: self.keys[n]]
                    self.v[n] = self.v[longest][: self.keys[n]]
            self.table = table
        else:
            count, table = batch, torch.arange(batch)[:, None]
        nan = float("nan")
        heads = case.key_heads
        k = torch.full((count, page, heads, case.d), nan, dtype=dtype, device="cuda")
        v = torch.full((count, page, heads, case.dv), nan, dtype=dtype, device="cuda")
        wild = order == "wild" and case.page and not case.appends
        for n in range(batch):
            used = -(-(self.keys[n] + new[n]) // page)
            for slot in range(used):
                at = table[n, slot].item()
                a, b = slot * page, min((slot + 1) * page, self.keys[n])
                k[at] = v[at] = 0
                k[at].fill_(GARBAGE), v[at].fill_(GARBAGE)
                if b > a:
                    k[at, : b - a], v[at, : b - a] = self.k[n][a:b], self.v[n][a:b]
            if not case.page:
                k[n, self.keys[n] :], v[n, self.keys[n] :] = GARBAGE, GARBAGE
        if wild:  # a number of no page is one of zeros
            table = table.clone()
            for n in range(batch):
                for slot in range(n % 2, pages, 3):
                    table[n, slot] = count + slot if slot % 2 else -1 - slot
                    a = slot * page
                    self.k[n][a : a + page] = 0
                    self.v[n][a : a + page] = 0
        q = torch.zeros(batch, most_q, case.heads, case.d, dtype=dtype, device="cuda")
        for n in range(batch):
            q[n, : self.queries[n]] = self.q[n]
        self._input("q", q)
        self.cache = self._input("k", k), self._input("v", v)
        if case.page:
            self.arguments["table"] = table.to(torch.int32).cuda()
        self.used_table, self.page = table, page
        if case.appends:
            self._append(dtype, most_q)
        else:
            self.arguments["used_q"] = _integers(self.queries)
            self.arguments["used_k"] = _integers(self.keys)
        self._output((batch, most_q), dtype)
        self.rows = [
            lambda x, n=n, m=m: x[n, :m] for n, m in enumerate(self.queries)
        ]
        self.lse_rows = [
            lambda x, n=n, m=m: x[n, :, :m] for n, m in enumerate(self.queries)
        ]

    def _append(self, dtype, tokens):
        case, g, batch = self.case, self.generator, len(self.queries)
        shape = batch, tokens, case.key_heads
        new = [_random((*shape, d), dtype, g) for d in (case.d, case.dv)]
        self._input("k_new", new[0])
        self._input("v_new", new[1])
        self.arguments["first"] = _integers(self.keys)
        cos = sin = None
        if case.pairs:
            angles = torch.rand(1200, case.pairs, generator=g, device="cuda") * 6
            cos, sin = angles.cos(), angles.sin()
            self.arguments.update(cos=cos, sin=sin)
        expected = [x.clone() for x in self.cache]
        for n in range(batch):
            turned = rotate(case, new[0][n], cos, sin, self.keys[n])
            self.q[n] = rotate(case, self.q[n], cos, sin, self.keys[n])
            for t in range(tokens):
                key = self.keys[n] + t
                at = self.used_table[n, key // self.page].item()
                expected[0][at, key % self.page] = turned[t]
                expected[1][at, key % self.page] = new[1][n, t]
            self.k[n] = torch.cat([self.k[n], turned])
            self.v[n] = torch.cat([self.v[n], new[1][n]])
        self.expected = expected

    def check(self):
        """What is wrong, in words."""
        for name, guard in self.guards:
            if not guard.is_intact():
                yield f"memory beside {name} was written"
        if self.case.appends:
            for name, got, want in zip("kv", self.cache, self.expected):
                same = got.view(torch.int16) == want.view(torch.int16)
                if not same.all():
                    yield f"the cache {name} differs in {(~same).sum()} elements"
        for n, (q, k, v) in enumerate(zip(self.q, self.k, self.v)):
            if not len(q):
                continue
            o, lse = attend(self.case, q, k, v, self.sinks)
            low, _ = attend(self.case, q, k, v, self.sinks, q.dtype)
            bound = 2 * (low - o).abs().max().item() + 2.0**-7 * o.abs().max().item()
            got = self.rows[n](self.o).float()
            error = (got - o).abs()
            if not (error <= bound + 1e-6).all():
                yield (f"sequence {n} ({len(q)} queries, {len(k)} keys): o is off by "
                       f"{error.nan_to_num(torch.inf).max():.2e}, bound {bound:.2e}")  # fmt: skip
            other = self.lse_rows[n](self.lse)
            wrong = ~((other == lse) | ((other - lse).abs() <= 1e-3))
            if wrong.any():
                yield f"sequence {n}: lse differs in {wrong.sum()} rows"


# --- Jobs --------------------------------------------------------------------


def _problems(case):
    batches = [1, 2, 7, 33]
    for seed, batch in enumerate(batches):
        orders = TABLES if case.page and batch == 7 else ["random"]
        tokens = [1, 2, 17, 64] if case.appends else [None]
        for order, count in itertools.product(orders, tokens):
            for splits in [1, 2, 3, 7, 33] if case.splits and batch == 7 else [3]:
                what = f"batch {batch}, table {order}, tokens {count}, splits {splits}"
                yield what, batch, seed, order, count, splits


def _check(job):
    case, stem = job
    program = kernels.load(stem)
    for what, batch, seed, order, count, splits in _problems(case):
        problem = Problem(case, batch, seed, order, count)
        if case.splits:
            problem.arguments["splits"] = splits
        refused = kernels.launch(program, problem.arguments)
        yield what, [refused] if refused else list(problem.check())


def _invariance(job):
    """A sequence has the same bits alone and beside others; and a captured
    launch, replayed with other lengths, what a new one gives."""
    case, stem = job
    program = kernels.load(stem)
    problem = Problem(case, 7, 3)
    if case.splits:
        problem.arguments["splits"] = 3
    kernels.launch(program, problem.arguments)
    together = problem.o.clone()
    found = []
    for n in range(7):
        used = [length if m == n else 0 for m, length in enumerate(problem.keys)]
        problem.arguments["used_k"].copy_(_integers(used))
        kernels.launch(program, problem.arguments)
        alone, beside = problem.rows[n](problem.o), problem.rows[n](together)
        if not torch.equal(alone.view(torch.int16), beside.view(torch.int16)):
            found.append(f"sequence {n} depends on the others")
    yield "batch invariance", found
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        # Bound here: the stream that is captured is the current one.
        program.bind(**problem.arguments)()
    found = []
    for shift in range(3):
        used = [max(length - 17 * shift, 0) for length in problem.keys]
        problem.arguments["used_k"].copy_(_integers(used))
        graph.replay()
        torch.cuda.synchronize()
        replayed = problem.o.clone()
        kernels.launch(program, problem.arguments)
        if not torch.equal(replayed.view(torch.int16), problem.o.view(torch.int16)):
            found.append(f"a replay with lengths {used} differs")
    yield "graph replay", found


def _cases():
    yield Case("packed")
    yield Case("packed", "f16", mask="none", heads=8, key_heads=8)
    yield Case("packed", mask="window", sinks=True)
    yield Case("packed", "f16", 64, 64, 71, 1, mask="softcap")
    yield Case("packed", d=192, dv=128, mask="causal")
    yield Case("packed", d=256, dv=256, heads=4, key_heads=4)
    yield Case("padded")
    yield Case("padded", d=80, dv=80, heads=1, key_heads=1, mask="window")
    yield Case("padded", splits=True, sinks=True)
    yield Case("padded", "f16", 64, 64, 64, 8, splits=True, mask="none")
    for page in (16, 32, 64, 128, 256):
        yield Case("paged", page=page, splits=page % 3 == 1)
    yield Case("paged", "f16", 64, 64, 128, 1, page=16, mask="none")
    for page, pairs, interleaved in ((16, 0, False), (64, 64, False), (256, 32, True)):
        yield Case("append", page=page, pairs=pairs, interleaved=interleaved)
    yield Case("dense-append", "f16", 64, 64, pairs=16)
    yield Case("dense-append", d=80, dv=80, pairs=40, interleaved=True)


def run(arguments):
    compiler = build.Compiler(arguments)
    chosen = [c for c in _cases() if not arguments.filter or arguments.filter in c.name]
    futures = [(case, compiler.submit(case.name, case.module())) for case in chosen]
    passed = failed = 0
    for case, future in futures:
        done = future.result()
        complaints = []
        bodies = [_check]
        if case.form in ("padded", "paged") and not case.sinks:
            bodies.append(_invariance)
        if done.error:
            complaints = [f"not compiled: {done.error}"]
            bodies = []
        for body in bodies:
            try:
                for what, found in workers.run_one(
                    body, kernels.setup, (case, done.stem), arguments.timeout
                ):
                    complaints += [f"{what}: {text}" for text in found]
                    passed += not found
            except RuntimeError as error:
                complaints.append(str(error))
        failed += len(complaints)
        for complaint in complaints[: arguments.max_print]:
            print(f"FAIL {case.name}: {complaint}")
    compiler.shutdown()
    print(f"passed {passed}, failed {failed}, compilations {compiler.count}")
    return 1 if failed else 0
