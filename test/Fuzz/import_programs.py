# SPDX-License-Identifier: Apache-2.0
"""Random programs with attention that is written out, as source of Python that torch and
JAX both run: views in front of it, scale, score code, masks, ways to write a softmax, and
what only looks like attention.

A program is a function of `n`, the names of a library, and of arrays; classes of
import_libraries.py are such names. Rows that see no key are left out of what is compared.
"""

import dataclasses

#: How q, k, v lie: dimensions, and source that makes (b, h, s, d) of `{x}`.
LAYOUTS = {
    "bhsd": ("b{h} h s d", "{x}"),
    "bshd": ("b s h d", "n.permute({x}, (0, 2, 1, 3))"),
    "bhds": ("b h d s", "n.permute({x}, (0, 1, 3, 2))"),
    "sbhd": ("s b h d", "n.permute({x}, (1, 2, 0, 3))"),
    "bsw": ("b s w", "n.permute(n.reshape({x}, (b, {s}, {h}, {d})), (0, 2, 1, 3))"),
}


#: What scores may go through.
CURVES = (
    "n.maximum(x, 0.0)", "x * x * 0.5", "n.abs(x)", "-x", "x + 1.0", "1.5 - x", "n.sigmoid(x)",
    "n.exp(x * 0.25)", "n.minimum(x, 1.5)", "n.maximum(x, -2.0)", "n.clip(x, -1.0, 2.0)",
    "2.0 / (n.abs(x) + 1.0)", "n.relu(x)", "n.silu(x)", "n.gelu(x)", "n.softplus(x)", "x ** 2",
    "x ** 3", "n.sqrt(n.abs(x))", "n.sign(x) * n.sqrt(n.abs(x))", "n.log1p(n.abs(x))",
    "n.erf(x)", "n.where(x > 0.5, x, x * 0.25)", "n.rsqrt(n.abs(x) + 1.0)", "n.exp2(x * 0.5)",
    "n.leaky_relu(x)", "n.hardtanh(x)", "n.expm1(x * 0.25)", "n.cos(x)", "n.square(x) * 0.25",
    "x - 0.5 * n.sin(x)",
)  # fmt: skip
#: Conditions of a query and a key; {v} is another condition, {c} one of NUMBERS.
CONDITIONS = (
    "({j} <= {i})", "({i} >= {j})", "({j} < {i} + 1)", "({j} < {i})",
    "n.tril(s, t, 0)", "n.tril(s, t, 1)", "n.tril(s, t, -1)", "n.tril(s, t, 3)",
    "(({j} <= {i}) & ({i} - {j} < {c}))", "(n.abs({i} - {j}) <= {c})",
    "(({j} > {i} - {c}) & ({j} <= {i}))",
    "(n.floordiv({i}, {c}) == n.floordiv({j}, {c}))", "(({j} < {c}) | ({j} <= {i}))",
    "(({i} - {j}) % {c} == 0)", "(({j} - {i}) % {c} != 1)", "(({i} * 7 + {j}) % {c} < 1)",
    "(({j} * 3 - {i} * 2) % {c} >= 1)", "(n.floordiv({i} - {j}, {c}) <= -1)",
    "(n.floordiv({j} - {i}, {c}) > 0)", "(n.floordiv({i} + {j} - 9, {c}) >= 2)",
    "({v} ^ {v})", "(n.i32({v}) + n.i32({v}) >= 1)", "(n.i32({v}) + n.i32({v}) != 1)",
    "(n.f32({i} - {j}) * 0.1 <= 1.1)", "(n.f32({i} - {j}) * -0.25 <= 3.3)",
)  # fmt: skip
NUMBERS = (2, 3, 5, 8, 16)


@dataclasses.dataclass
class Program:
    lines: list  # of the function's body
    arrays: list  # (name, kind, shape): "x" the element type, "f32", "i1", "i32"
    element: str  # "f16" or "bf16"
    is_attention: bool  # else a converter may leave it alone, and nothing else

    @property
    def source(self):
        names = "".join(f", {name}" for name, _, _ in self.arrays)
        return "\n    ".join([f"def function(n{names}):", *self.lines]) + "\n"

    def function(self):
        made = {}
        exec(self.source, made)  # noqa: S102  a program that was just written
        return made["function"]


class Writer:
    def __init__(self, drawn):
        self.r, self.lines, self.arrays = drawn, [], []
        self.is_attention = True
        self.batch = drawn.choice([1, 1, 2, 3])
        self.group = drawn.choice([1, 1, 1, 2, 3])
        self.heads_kv = drawn.choice([1, 2, 3])
        self.heads = self.group * self.heads_kv
        self.queries = drawn.choice([1, 7, 16, 33, 40, 64])
        self.keys = self.queries if drawn.random() < 0.6 else drawn.choice([5, 16, 48, 70])
        self.dim = drawn.choice([8, 16, 16, 32])
        self.dim_v = self.dim if drawn.random() < 0.85 else drawn.choice([8, 16, 32])
        self.element = "f16" if drawn.random() < 0.8 else "bf16"
        self.sizes = {"b": self.batch, "h": self.heads, "g": self.group,
                      "hk": self.heads_kv, "s": self.queries, "t": self.keys,
                      "d": self.dim, "e": self.dim_v}  # fmt: skip

    def chance(self, p):
        return self.r.random() < p

    def say(self, line):
        self.lines.append(line)

    def array(self, kind, shape):
        name = f"a{len(self.arrays)}"
        self.arrays.append((name, kind, tuple(shape)))
        return name

    # Operands

    def operand(self, name, heads, rows, dim):
        layout = self.r.choice(list(LAYOUTS))
        extents = {"b": self.batch, "h": heads, "s": rows, "d": dim, "w": heads * dim}
        shape = [extents[c[0]] for c in LAYOUTS[layout][0].split()]
        self.arrays.append((name, "x", tuple(shape)))
        view = LAYOUTS[layout][1].format(x=name, s=rows, h=heads, d=dim)
        if view != name:
            self.say(f"{name} = {view}")

    def operands(self):
        self.say("; ".join(f"{name} = {value}" for name, value in self.sizes.items()))
        self.operand("q", self.heads, self.queries, self.dim)
        self.operand("k", self.heads_kv, self.keys, self.dim)
        if self.dim == self.dim_v and self.chance(0.05):
            self.say("v = k")
        else:
            self.operand("v", self.heads_kv, self.keys, self.dim_v)
        if self.group > 1 or self.chance(0.1):
            self.repeat()

    def repeat(self):
        way = self.r.choice(["expand", "expand", "repeat", "tile", "grouped"])
        if way == "tile":  # key head h is that of query heads h, h + hk, ..
            forms = "n.reshape(n.broadcast({x}[:, None], (b, g, hk, t, {d})), (b, h, t, {d}))"
        elif way == "expand":
            forms = "n.reshape(n.broadcast({x}[:, :, None], (b, hk, g, t, {d})), (b, h, t, {d}))"
        elif way == "repeat":
            forms = "n.repeat({x}, g, 1)"
        else:
            self.say("q = n.reshape(q, (b, hk, g, s, d))")
            self.say("k, v = k[:, :, None], v[:, :, None]")
            self.is_grouped = True
            return
        self.say("k = " + forms.format(x="k", d="d"))
        self.say("v = " + forms.format(x="v", d="e"))

    is_grouped = False

    # Scores

    def product(self):
        f32 = "f32" if self.chance(0.25) else ""
        if f32:
            self.say("q, k = n.f32(q), n.f32(k)")
        if self.is_grouped:
            ways = ["n.matmul(q, n.swap(k, -1, -2))"]
        else:
            ways = [
                "n.matmul(q, n.swap(k, -1, -2))",
                "n.matmul(q, n.permute(k, (0, 1, 3, 2)))",
                "n.einsum('bhid,bhjd->bhij', q, k)",
                "n.swap(n.matmul(k, n.swap(q, -1, -2)), -1, -2)",
                "n.reshape(n.matmul(n.reshape(q, (b * h, s, d)),"
                " n.swap(n.reshape(k, (b * h, t, d)), -1, -2)), (b, h, s, t))",
            ]
        self.say(f"x = {self.r.choice(ways)}")
        if not f32 and self.chance(0.3):
            self.say("x = n.f32(x)")

    def scores(self):
        self.root = self.dim**-0.5
        where = self.r.choice(["before", "both", "k", "after", "after", "after", "none"])
        if where == "before":
            self.say(f"q = q * {self.root:.6g}")
        if where == "k":
            self.say(f"k = k * {self.root:.6g}")
        if where == "both":
            self.say(f"q, k = q * {self.root**0.5:.6g}, k * {self.root**0.5:.6g}")
        self.product()
        count = self.r.choice([0, 1, 1, 2, 3])
        edits = [getattr(self, self.r.choice(self.EDITS)) for _ in range(count)]
        if where == "after":
            place = self.r.choice([0, 0, len(edits)]) if edits else 0
            edits.insert(place, self.scaled)
        elif where == "none":
            edits.insert(0, self.halved)
        for edit in edits:
            edit()

    def scaled(self):
        if self.chance(0.5):
            self.say(f"x = x * {self.root:.6g}")
        else:
            self.say(f"x = x / {1 / self.root:.6g}")

    def halved(self):
        self.say("x = x * 0.25")

    def shape_of_table(self):
        shape = [self.batch, self.heads, self.queries, self.keys]
        for d in range(4):
            if self.chance((0.5, 0.4, 0.15, 0.1)[d]):
                shape[d] = 1
        while len(shape) > 2 and shape[0] == 1 and self.chance(0.4):
            shape.pop(0)
        return shape

    def fit(self, name, shape):
        """A table for (b, h, s, t) as one for grouped scores."""
        if not self.is_grouped or len(shape) < 3:
            return name
        shape = [1] * (4 - len(shape)) + list(shape)
        heads = "1, 1" if shape[1] == 1 else "hk, g"
        return f"n.reshape({name}, ({shape[0]}, {heads}, {shape[2]}, {shape[3]}))"

    def bias(self):
        shape = self.shape_of_table()
        name = self.array(self.r.choice(["x", "x", "f32"]), shape)
        sign = self.r.choice("+++-")
        self.say(f"x = x {sign} {self.fit(name, shape)}")

    def factor(self):
        shape = self.shape_of_table()
        name = self.array("x", shape)
        self.say(f"x = x * {self.fit(name, shape)}")

    def softcap(self):
        cap = self.r.choice([2.0, 5.0, 30.0])
        self.say(f"x = {cap} * n.tanh(x / {cap})")

    def curve(self):
        self.say(f"x = {self.r.choice(CURVES)}")

    def positions(self):
        i, j = "n.arange(s)[:, None]", "n.arange(t)[None]"
        if self.chance(0.3):
            i = f"({i} + {self.r.choice(['t - s', '3', '(t - s)'])})"
        return i, j

    def alibi(self):
        name = self.array("f32", [self.heads])
        i, j = self.positions()
        shape = "(hk, g, 1, 1)" if self.is_grouped else "(h, 1, 1)"
        self.say(f"x = x - n.reshape({name}, {shape}) * n.like(x, n.abs({i} - {j}))")

    def visible(self):
        """The source of a condition that is true where a key is seen."""
        ones = "1, " * self.is_grouped
        kind = self.r.choice(["code"] * 6 + ["table", "keys", "lengths"])
        if kind == "table":
            shape = self.shape_of_table()
            return self.fit(self.array("i1", shape), shape)
        if kind == "keys":
            name = self.array("i1", [self.batch, self.keys])
            return f"n.reshape({name}, (b, 1, {ones}1, t))"
        i, j = self.positions()
        if kind == "lengths":
            name = self.array("i32", [self.batch])
            return f"({j} < n.reshape({name}, (b, 1, {ones}1, 1)))"
        text = self.r.choice(CONDITIONS).replace("{i}", i).replace("{j}", j)
        text = text.replace("{c}", str(self.r.choice(NUMBERS)))
        while "{v}" in text:
            text = text.replace("{v}", self.visible(), 1)
        return text

    def mask(self):
        seen = self.visible()
        while self.chance(0.25):
            seen = f"({seen} {self.r.choice('&&|')} {self.visible()})"
        if self.chance(0.1):
            seen = f"(~{seen})"
        low = self.r.choice(["-n.inf", "-n.inf", "-1e4", "-65504.0", "-100.0", "-2.0"])
        way = self.r.choice(["where", "where", "added", "added", "filled", "multiplied"])
        if way == "where":
            self.say(f"x = n.where({seen}, x, {low})")
        elif way == "filled":
            self.say(f"x = n.where(~{seen}, {low}, x)")
        elif way == "added":
            self.say(f"x = x + n.where({seen}, n.like(x, 0.0), {low})")
        else:
            self.say(f"x = x + (1.0 - n.like(x, {seen})) * -1e4")

    EDITS = ["bias", "factor", "softcap", "curve", "alibi"] + ["mask"] * 4

    # Softmax

    def softmax(self):
        way = self.r.choice(
            ["named"] * 16
            + ["wide"] * 8
            + ["written", "bare", "late", "shifted", "one", "epsilon", "wrong", "by_max", "log"]
        )
        if way == "named":
            self.say("p = n.softmax(x, -1)")
        elif way == "wide":
            self.say("p = n.softmax(n.f32(x), -1)")
        elif way == "wrong":
            self.is_attention = False
            self.say("p = n.softmax(x, -2)")
        elif way == "log":
            self.say("p = n.exp(n.log_softmax(x, -1))")
        else:
            x = "x" if way == "bare" else "x - n.max(x, -1)"
            if way == "by_max":
                x = "x - n.minimum(n.max(x, -1), 4.0)"
            self.say(f"w = n.exp(n.f32({x}))")
            total = "n.sum(w, -1)"
            if way == "one":
                total = f"({total} + 1.0)"
            if way == "epsilon":
                total = f"({total} + 1e-6)"
            if way == "shifted":
                total = f"({total} + n.exp(0.0 - n.f32(n.max(x, -1))))"
            if way in ("one", "shifted", "epsilon"):
                self.is_attention = False
            if way == "late":
                self.say(f"z = {total}")
                self.say("p = w")
                self.late = True
            else:
                self.say(f"p = w / {total}")

    late = False

    def weights(self):
        if self.chance(0.05):
            self.is_attention = False
            self.say("p = " + self.r.choice([
                "p * 0.5", "n.where(n.tril(s, t, 0), p, 0.0)", "p * p", "p + 0.01",
            ]))  # fmt: skip

    def output(self):
        self.say("p = n.element(p)")
        if self.is_grouped:
            ways = ["n.matmul(p, v)"]
        else:
            ways = ["n.matmul(p, v)", "n.einsum('bhij,bhjd->bhid', p, v)",
                    "n.swap(n.matmul(n.swap(v, -1, -2), n.swap(p, -1, -2)), -1, -2)"]  # fmt: skip
        self.say(f"o = {self.r.choice(ways)}")
        if self.late:
            self.say("o = o / n.element(z)")
        if self.is_grouped:
            self.say("o = n.reshape(o, (b, h, s, e))")
        if self.chance(0.4):
            self.say("o = n.permute(o, (0, 2, 1, 3))")
            self.is_turned = True
        self.say("return n.element(o)")

    is_turned = False

    def write(self):
        self.operands()
        self.scores()
        self.say("x = n.note(x)")
        self.softmax()
        self.weights()
        self.output()
        return Program(self.lines, self.arrays, self.element, self.is_attention)


def write(drawn):
    return Writer(drawn).write()
