# SPDX-License-Identifier: Apache-2.0
"""Sequences with lengths and places of their own, against attention of each one.

Every sequence is computed alone in fp32 from the keys that its table names.
What no sequence uses holds NaN: pages, rows behind the end of a sequence, rows in
front of a padding's end, other batches of a cache. A sequence between others has the
same bits when those are NaN, or infinite.
"""

import itertools
import time

import torch

from . import build, kernels, memory, serving_cases, workers
from .serving_cases import LENGTHS
from .serving_oracle import FLOATS_8, attend, rotate, slack

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16}
SCALES = ["tensor", "sequence", "head"]


def module(case):
    """The text of a kernel."""
    t, h, hk = case.type, case.heads, case.key_heads
    if case.by_group:
        h = hk = "?"
    rows = "?" if case.packed else "?x?"
    page = str(case.page) if case.page else "?"
    of_result = "bf16" if case.is_small else t
    of_keys, in_element = ("i8", 2) if case.has_nibbles else (t, 1)
    q = f"tensor<{rows}x{h}x{case.d}x{t}>"
    o = f"tensor<{rows}x{h}x{case.dv}x{of_result}>"
    if case.packed:
        rows_k = f"?x{hk}"
    else:
        rows_k = f"?x{page}x{hk}"
    k, v = (f"tensor<{rows_k}x{d // in_element}x{of_keys}>" for d in (case.d, case.dv))
    lse = f"tensor<{h}x?xf32>" if case.packed else f"tensor<?x{h}x?xf32>"
    kn, vn = (f"tensor<?x?x{hk}x{d}x{t}>" for d in (case.d, case.dv))
    integers, table = "tensor<?xi32>", "tensor<?x?xi32>"
    arguments = [("q", q), ("k", k), ("v", v)]
    lines, mods, aux, clauses, said = [], [], [], "", ""
    query, key, value = "%q", "%k", "%v"
    if case.appends:
        arguments += [("k_new", kn), ("v_new", vn), ("first", integers)]
        new = "%k_new"
        if case.pairs:
            angles = f"tensor<?x{case.pairs}xf32>"
            arguments += [("cos", angles), ("sin", angles)]
            how = "interleaved " if case.interleaved else ""
            for name, source, type in (("tq", "%q", q), ("tk", "%k_new", kn)):
                lines.append(
                    f"%{name} = attention.rotary {source}, %cos, %sin at %first "
                    f"{how}layout bshd : {type}, {angles}, {integers}"
                )
            query, new = "%tq", "%tk"
        place = ""
        if case.page:
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
        said = """
lengths (%b) {
  %before = tensor.extract %first[%b] : tensor<?xi32>
  %old = arith.index_cast %before : i32 to index
  %new = attention.length query
  %keys = arith.addi %old, %new : index
  attention.yield %new, %keys : index, index
}"""
    elif case.packed:
        aux += [("cu_q", integers), ("cu_k", integers)]
        mods.append("#attention.packed<q = 0, k = 1>")
        arguments.append(("max_q", "index"))
    else:
        aux += [("used_q", integers), ("used_k", integers)]
        mods.append("#attention.used<q = 0, k = 1>")
    if case.form == "indexed":
        mods.append(f"#attention.batch_index<aux = {len(aux)}>")
        mods.append(f"#attention.leftpad<aux = {len(aux) + 1}>")
        aux += [("index", integers), ("pad", integers)]
    if case.page:
        mods.append(f"#attention.paged<table = {len(aux)}>")
        aux.append(("table", table))
    mods += {"causal": ["#attention.causal"], "none": [],
             "window": ["#attention.window<left = 100, right = 0>"],
             "softcap": ["#attention.softcap<5.0>", "#attention.causal"],
             }[case.mask]  # fmt: skip
    if case.has_nibbles:
        front, behind = ("", "?") if case.packed else ("?x", page)
        scale = f"tensor<{front}{hk}x{behind}xf32>"
        arguments += [("k_scale", scale), ("v_scale", scale)]
        clauses += f" nibbles(%k_scale, %v_scale : {scale}, {scale})"
    elif case.scales:
        extents = ["1x1", "?x1", f"?x{hk}"][SCALES.index(case.scales)]
        scale = f"tensor<{extents}x1xf32>"
        names = [f"{name}_scale" for name in "qkv"]
        arguments += [(name, scale) for name in names]
        clauses += (f" scales({', '.join('%' + name for name in names)} : "
                    f"{', '.join([scale] * 3)})")  # fmt: skip
    if case.packed:
        said = " max_q %max_q"
    if said:
        lines.append(f"%sequences = attention.sequences{said}")
        clauses += " sequences %sequences"
    if case.splits:
        arguments.append(("splits", "index"))
        clauses += " splits %splits"
    if case.sinks:
        arguments.append(("sinks", f"tensor<{h}xf32>"))
        clauses += f" sinks(%sinks : tensor<{h}xf32>)"
    if case.by_group:
        clauses += f" group {case.heads // case.key_heads}"
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
        f"      mods [{', '.join(mods)}] : ({q}, {k}, {v}) -> ({o}, {lse})\n"
        f"  return %o, %lse : {o}, {lse}\n}}\n"
    )


# --- Problems ----------------------------------------------------------------


def _random(shape, dtype, generator):
    return torch.randn(shape, generator=generator, device="cuda").to(dtype)


def _wide(x):
    return x.half() if x.element_size() == 1 else x


def _round_rows(x):
    """Rows as integers from -7 to 7, and their scales."""
    scale = x.float().abs().amax(-1, keepdim=True).clamp(min=2.0**-64) / 7
    return (x.float() / scale).round(), scale


def _pack_rows(x):
    """Bytes, of which each has a column of both halves, and scales, which end with
    (key heads, rows); those of rows without numbers are none either."""
    whole, scale = _round_rows(x)
    low, high = whole.nan_to_num(-8.0).to(torch.int8).chunk(2, -1)
    scale = scale[..., 0].transpose(-1, -2).contiguous()
    return (low & 15) | (high << 4), scale


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

    def __init__(self, case, plan):
        self.case, dtype = case, (TYPES | FLOATS_8)[case.type]
        batch, seed = plan.batch, plan.seed
        g = self.generator = torch.Generator(device="cuda").manual_seed(seed)
        keys = [LENGTHS[(n + seed) % len(LENGTHS)] for n in range(batch)]
        queries = [LENGTHS[(n * 5 + seed) % len(LENGTHS)] for n in range(batch)]
        if case.appends:
            queries = [plan.tokens] * batch
        elif not case.packed:
            queries = [min(n, 130) for n in queries]
        self.queries, self.keys = queries, keys
        self.sinks = _random((case.heads,), torch.float32, g) if case.sinks else None
        # 8-bit numbers in f16: torch lacks operations on them.
        make = lambda n, h, d: _wide(_random((n, h, d), dtype, g))  # noqa: E731
        self.q = [make(n, case.heads, case.d) for n in queries]
        self.k = [make(n, case.key_heads, case.d) for n in keys]
        self.v = [make(n, case.key_heads, case.dv) for n in keys]
        if case.has_nibbles:
            for rows in (self.k, self.v):
                rows[:] = [whole * scale for whole, scale in map(_round_rows, rows)]
        self.arguments, self.guards = {}, []
        if case.packed:
            self._pack(dtype)
        else:
            self._place(dtype, plan.table)
        if case.is_small:
            self._scale()
        if case.sinks:
            self.arguments["sinks"] = self.sinks
        if case.splits:
            self.arguments["splits"] = plan.splits

    def _scale(self):
        """Scales of q, k and v, which from here on have them."""
        case, batch = self.case, len(self.queries)
        kind = SCALES.index(case.scales)
        shape = (batch if kind else 1, case.key_heads if kind > 1 else 1, 1)
        for name in "qkv":
            scale = 0.5 + torch.rand(shape, generator=self.generator, device="cuda")
            self.arguments[f"{name}_scale"] = scale
            rows = getattr(self, name)
            for n, x in enumerate(rows):
                own = scale[n if kind else 0, :, 0]
                own = own.repeat_interleave(x.shape[1] // len(own))
                rows[n] = x.float() * own[:, None]

    def _output(self, rows, dtype):
        """o and lse, guarded."""
        case = self.case
        dtype = torch.bfloat16 if case.is_small else dtype
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

    def _keys(self, name, rows, dtype):
        """An array of keys or values, which may be packed."""
        if not self.case.has_nibbles:
            return self._input(name, rows.to(dtype))
        self.arguments[name], scale = _pack_rows(rows)
        self.arguments[f"{name}_scale"] = scale
        return self.arguments[name]

    def _pack(self, dtype):
        starts = lambda n: _integers([0, *itertools.accumulate(n)])  # noqa: E731
        self._input("q", torch.cat(self.q).to(dtype))
        for name, parts in (("k", self.k), ("v", self.v)):
            self._keys(name, torch.cat(parts), dtype)
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
        elif case.form == "indexed":
            count = batch + 2
            table = torch.randperm(count)[:batch, None]
            self.pads = [3 * (n % 7) for n in range(batch)]
            page = room + max(self.pads)
        else:
            count, table = batch, torch.arange(batch)[:, None]
        nan, wide = float("nan"), torch.float16 if case.is_small else dtype
        of_keys = torch.float32 if case.has_nibbles else wide
        heads = case.key_heads
        k = torch.full((count, page, heads, case.d), nan, dtype=of_keys, device="cuda")
        v = torch.full((count, page, heads, case.dv), nan, dtype=of_keys, device="cuda")
        self.used_table, self.page = table, page
        for cache, given in ((k, self.k), (v, self.v)):
            rows = cache.view(count * page, heads, cache.shape[-1])
            # Of a shared page the longest sequence has the last word.
            for n in sorted(range(batch), key=lambda n: self.keys[n]):
                rows[self._locate(n, 0, self.keys[n])] = given[n]
        if order == "wild" and case.page and not case.appends:
            # A number of no page is one of zeros.
            table = table.clone()
            for n in range(batch):
                slots = torch.arange(n % 2, pages, 3)
                table[n, slots] = torch.where(slots % 2 == 1, count + slots, -1 - slots)
                slot = torch.arange(self.keys[n], device="cuda") // page
                gone = (slot >= n % 2) & ((slot - n % 2) % 3 == 0)
                self.k[n][gone] = 0
                self.v[n][gone] = 0
        shape = batch, most_q, case.heads, case.d
        q = torch.full(shape, nan, dtype=wide, device="cuda")
        for n in range(batch):
            q[n, : self.queries[n]] = self.q[n]
        self._input("q", q.to(dtype))
        self.cache = self._keys("k", k, dtype), self._keys("v", v, dtype)
        if case.form == "indexed":
            self.arguments["index"] = table[:, 0].to(torch.int32).cuda()
            self.arguments["pad"] = _integers(self.pads)
        if case.page:
            self.arguments["table"] = table.to(torch.int32).cuda()
        if case.appends:
            self._append(dtype, most_q)
        else:
            self.arguments["used_q"] = _integers(self.queries)
            pads = self.pads if case.form == "indexed" else [0] * batch
            ends = [a + b for a, b in zip(self.keys, pads)]
            self.arguments["used_k"] = _integers(ends)
        self._output((batch, most_q), dtype)
        self.rows = [
            lambda x, n=n, m=m: x[n, :m] for n, m in enumerate(self.queries)
        ]
        self.lse_rows = [
            lambda x, n=n, m=m: x[n, :, :m] for n, m in enumerate(self.queries)
        ]

    def spoil(self, sequence, value):
        """Puts a number in place of all others of packed sequences."""
        behind = "_scale" if self.case.has_nibbles else ""
        for name, lengths in (
            ("q", self.queries), (f"k{behind}", self.keys), (f"v{behind}", self.keys),
        ):  # fmt: skip
            first = sum(lengths[:sequence])
            array = self.arguments[name]
            if array.dim() == 2:
                array = array.T  # scales of rows
            wide = _wide(array)
            wide[:first] = wide[first + lengths[sequence] :] = value
            array.copy_(wide.to(array.dtype))

    def _locate(self, n, first, end):
        """Rows of the cache in which keys of a sequence are."""
        keys = torch.arange(first, end)
        if self.case.form == "indexed":
            keys = keys + self.pads[n]
        rows = self.used_table[n, keys // self.page] * self.page + keys % self.page
        return rows.cuda()

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
            at = self._locate(n, self.keys[n], self.keys[n] + tokens)
            for cache, rows in zip(expected, (turned, new[1][n])):
                cache.view(-1, *cache.shape[2:])[at] = rows
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
            case = self.case
            low, _ = attend(case, q, k, v, self.sinks, (TYPES | FLOATS_8)[case.type])
            bound = 2 * (low - o).abs().max().item() + 2.0**-7 * o.abs().max().item()
            rounding, extra = slack(case, q, k, v, self.sinks)
            bound = max(bound, rounding + extra * o.abs().max().item())
            got = self.rows[n](self.o).float()
            error = (got - o).abs()
            if not (error <= bound + 1e-6).all():
                yield (f"sequence {n} ({len(q)} queries, {len(k)} keys): o is off by "
                       f"{error.nan_to_num(torch.inf).max():.2e}, bound {bound:.2e}")  # fmt: skip
            other = self.lse_rows[n](self.lse)
            wrong = ~((other == lse) | ((other - lse).abs() <= 1e-3 + extra))
            if wrong.any():
                yield f"sequence {n}: lse differs in {wrong.sum()} rows"


# --- Jobs --------------------------------------------------------------------


def _check(job):
    case, stem = job
    program = kernels.load(stem)
    for plan in serving_cases.plans(case):
        problem = Problem(case, plan)
        refused = kernels.launch(program, problem.arguments)
        found = [refused] if refused else list(problem.check())
        if not refused and not case.appends:
            first = problem.o.clone()
            kernels.launch(program, problem.arguments)
            if not torch.equal(first.view(torch.int16), problem.o.view(torch.int16)):
                found.append("a second launch gives other bits")
        yield str(plan), found
    if case.form in ("padded", "paged") and not case.sinks:
        yield from _invariance(job)
    if case.packed and not refused:
        yield "neighbors", list(_find_neighbors(case, program, plan))


def _find_neighbors(case, program, plan):
    """Sequences that what lies beside them reaches."""
    for n in range(min(plan.batch, 5)):
        problem = Problem(case, plan)
        kernels.launch(program, problem.arguments)
        before = problem.rows[n](problem.o).clone(), problem.lse_rows[n](problem.lse).clone()
        for value in (float("inf"), float("nan")):
            problem.spoil(n, value)
            kernels.launch(program, problem.arguments)
            after = problem.rows[n](problem.o), problem.lse_rows[n](problem.lse)
            for old, new in zip(before, after):
                if not torch.equal(old.view(torch.uint8), new.contiguous().view(torch.uint8)):
                    yield f"{value} beside sequence {n} reaches it"


def _invariance(job):
    """A sequence has the same bits alone and beside others; and a captured
    launch, replayed with other lengths, what a new one gives."""
    case, stem = job
    program = kernels.load(stem)
    plan = serving_cases.Plan(7, 3, "random", 0, 3)
    problem = Problem(case, plan)
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


def _listen(pool, arguments):
    """Counts what the workers say."""
    passed = failed = 0
    for (case, _), message in pool.run():
        if message is None:
            continue
        if isinstance(message, workers.Lost):
            what, found = "lost", [message.reason]
        else:
            what, found = message
        passed += not found
        for text in found:
            failed += 1
            if failed <= arguments.max_print:
                print(f"FAIL {case.name}: {what}: {text}")
    return passed, failed


def run(arguments):
    compiler = build.Compiler(arguments)
    chosen = serving_cases.kernels()
    if arguments.filter:
        chosen = [case for case in chosen if arguments.filter in case.name]
    pool = workers.Pool(arguments.workers, _check, kernels.setup, arguments.timeout)
    pool.expect(len(chosen))
    broken, start = [], time.monotonic()

    def give(case, done):
        # Runs in a thread of the compiler.
        if done.error:
            broken.append(f"FAIL {case.name}: not compiled: {done.error}")
        pool.give(None if done.error else (case, done.stem))

    for case in chosen:
        future = compiler.submit(case.name, module(case))
        future.add_done_callback(lambda done, case=case: give(case, done.result()))
    passed, failed = _listen(pool, arguments)
    for line in broken:
        print(line)
    failed += len(broken)
    compiler.shutdown()
    print(f"{len(chosen)} kernels, {time.monotonic() - start:.0f} s")
    print(f"passed {passed}, failed {failed}, compilations {compiler.count}")
    return 1 if failed else 0
