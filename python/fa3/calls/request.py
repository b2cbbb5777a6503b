# SPDX-License-Identifier: Apache-2.0
"""A call of fa3.attention that is made for the first time: all checks, the kernel,
the arguments in its order."""

from __future__ import annotations

import sys
from typing import Any, Callable, Sequence

from ..build import answers
from ..build.compiler import CompileOptions, run_on_host
from ..errors import ArgumentError, ArgumentTypeError, UnsupportedError
from ..kernels import checks
from ..kernels.arguments import Arguments
from ..kernels.blocks import NAMES, Lists
from ..kernels.compiled import find
from ..kernels.program import Program, parse
from ..kernels.spec import FLOATS_8, Auxiliary, Blocks, Regions, Spec
from ..mods.trace import Traced, trace_mods
from ..support import native, outputs, tensors
from ..support.runtime import runtime
from ..support.tensors import CPU, View
from .call import Call, device_guard, ones
from .launch import keep, plans


class Request:
    """All that a call was given."""

    def __init__(
        self, q: Any, k: Any, v: Any, asked: Arguments, *, key: Any = None,
        options: Any = (), keeps_plain: bool = False,
    ) -> None:  # fmt: skip
        # Negative views are copied; what depends on their memory has no key.
        given = {"q": q, "k": k, "v": v}
        self.values = {name: tensors.resolved(one) for name, one in given.items()}
        self.views = {name: tensors.view(name, x) for name, x in self.values.items()}
        self.asked = asked
        # Behind lse is the largest score of every query.
        self.max_logits = asked.max_logits
        self.return_lse = bool(asked.return_lse) or self.max_logits is not False
        self.layout = checks.check_layout(asked.layout)
        copied = any(self.values[name] is not one for name, one in given.items())
        self.options, self.key = options, None if copied else key
        self.keeps_plain, self.plain = keeps_plain, None
        self.is_final = True  # the kernel: others are found again by the next call
        self._check_shapes()
        self.scale_value = checks.check_scale(asked.scale, self.head_dim)
        self.regions = Regions()
        self.scalars: tuple[int | float, ...] = ()
        self.traced: Any = None
        #: Tensors of the kernel that the caller has not given.
        self.filled: set[str] = set()
        self._add_descales((asked.q_descale, asked.k_descale, asked.v_descale))
        self._add_bias(asked.bias)
        self._add_per_head("alibi", "alibi_slopes", asked.alibi_slopes)
        self._add_per_head("sinks", "sinks", asked.sinks)
        if asked.previous is not None:
            self._add_previous(*asked.previous)
        self.dropout = checks.check_dropout(asked.dropout_p)
        if self.dropout:
            self._add_state(asked.rng_state)
        self.blocks: Blocks | None = None
        if asked.lists is not None:
            self._add_blocks(asked.lists.size, asked.lists.tensors)
        if not (asked.score_mod is asked.mask_mod is asked.epilogue is None):
            self._add_mods(asked.score_mod, asked.mask_mod, asked.epilogue)
        self._check_device()
        self.spec = self._make_spec()

    def run(self) -> Any:
        self._check_gradients()
        made = self._outputs()
        if self.asked.has_outputs:
            given = (self.asked.out, self.asked.lse)
            outputs.check(dict(zip(("out", "lse"), given)), self.values)
            outputs.mark(*given)
        if self.asked.interpret:
            self._interpret(made)
            return self._made(made)
        if self.device == CPU:
            raise ArgumentError(
                "q", "device is cpu, expected CUDA (interpret=True runs on the CPU)"
            )
        with device_guard(self.values["q"], self.device):
            call = self.make_call(*made)
            if tensors.is_torch(self.values["q"]):
                inputs = [self.values[n] for n in call.names]
                call.launch([*inputs, *made], self.scale_value, self.scalars)
                # A kernel that is there until the better one is has no plan.
                if self.key is not None and self.is_final:
                    keep(self.key, lambda: call)
            else:
                views = [tensors.view(n, self.values[n]) for n in call.names]
                views += [tensors.view("out", one) for one in made]
                call.launch_at([one.address for one in views], self.scale_value, self.scalars, 0)
        return self._made(made)

    @staticmethod
    def _made(made: Sequence[Any]) -> Any:
        return tuple(made) if len(made) > 1 else made[0]

    def _check_gradients(self) -> None:
        torch = sys.modules.get("torch")
        if torch is None or not torch.is_grad_enabled():
            return
        for name, value in self.values.items():
            if getattr(value, "requires_grad", False):
                raise UnsupportedError(
                    f"gradients: '{name}' requires some, and there are none with given "
                    "outputs or DLPack; use torch.no_grad()"
                )

    def _check_shapes(self) -> None:
        q, k, v = (self.views[name] for name in "qkv")
        for name in "qkv":
            rank = len(self.views[name].shape)
            if rank != 4:
                raise ArgumentError(name, f"rank {rank}, expected 4 ({self.layout})")
        checks.check_types(q.type, k.type, v.type)
        b, h, s = checks.DIMS[self.layout]
        for name in ("k", "v"):
            shape = self.views[name].shape
            if shape[b] != q.shape[b]:
                raise ArgumentError(name, f"batch {shape[b]}, expected {q.shape[b]} as q")
        if v.shape[h] != k.shape[h]:
            raise ArgumentError("v", f"{v.shape[h]} heads, expected {k.shape[h]} as k")
        if v.shape[s] != k.shape[s]:
            raise ArgumentError("v", f"{v.shape[s]} keys, expected {k.shape[s]} as k")
        if k.shape[3] != q.shape[3]:
            raise ArgumentError("k", f"head dim {k.shape[3]}, expected {q.shape[3]} as q")
        if k.shape[h] == 0 or q.shape[h] % k.shape[h]:
            raise ArgumentError("k", f"{k.shape[h]} heads, expected a divisor of q's {q.shape[h]}")
        checks.check_head_dims(q.shape[3], v.shape[3], v.type)
        self.batch, self.heads, self.queries = q.shape[b], q.shape[h], q.shape[s]
        self.keys, self.head_dim, self.head_dim_v = k.shape[s], q.shape[3], v.shape[3]

    def _add(self, name: str, value: Any, narrow: Sequence[int | None] = ()) -> View:
        """A further tensor, whose extents are cut to `narrow`."""
        given, value = value, tensors.resolved(value)
        if value is not given:
            self.key = None
        one = tensors.view(name, value)
        if narrow:
            shape = tuple(
                extent if wanted is None else wanted for extent, wanted in zip(one.shape, narrow)
            )
            one = View(one.address, one.type, shape, one.strides, one.device)
        self.values[name], self.views[name] = value, one
        return one

    def _add_descales(self, descales: tuple[Any, Any, Any]) -> None:
        names = ("q_descale", "k_descale", "v_descale")
        if self.views["v"].type not in FLOATS_8:
            for name, value in zip(names, descales):
                if value is not None:
                    raise ArgumentError(name, f"is for float8, q has {self.views['q'].type}")
            return
        for name, value in zip(names, descales):
            if value is None:
                value = self._ones()
                self.filled.add(name)
            one = tensors.view(name, value)
            if one.type != "f32":
                raise ArgumentTypeError(name, f"element type {one.type}, expected f32")
            shape, strides = one.shape, one.strides
            if len(shape) > 2:
                raise ArgumentError(name, f"rank {len(shape)}, expected 0 to 2")
            shape = (1,) * (2 - len(shape)) + shape
            strides = (1,) * (2 - len(strides)) + strides
            for extent, limit, what in (
                (shape[0], self.batch, "batch"), (shape[1], self.heads, "heads"),
            ):  # fmt: skip
                if extent < 1 or limit % extent:
                    raise ArgumentError(
                        name, f"extent {extent}, expected a divisor of {what} {limit}"
                    )
            self.values[name] = value
            self.views[name] = View(one.address, one.type, (*shape, 1), (*strides, 1), one.device)

    def _ones(self) -> Any:
        q = self.values["q"]
        if tensors.is_torch(q):
            torch = sys.modules["torch"]
            return ones(torch, q.device)
        raise ArgumentError("q_descale", "is needed for float8 without torch")

    def _add_bias(self, bias: Any) -> None:
        if bias is None:
            return
        one = self._add("bias", bias)
        if one.type not in ("f16", "bf16", "f32"):
            raise ArgumentTypeError("bias", f"element type {one.type}, expected f16, bf16 or f32")
        limits = (self.batch, self.heads, self.queries, self.keys)
        if len(one.shape) != 4:
            raise ArgumentError("bias", f"rank {len(one.shape)}, expected 4")
        strides = list(one.strides)
        tensors.check_dense("bias", one)
        for d, (extent, limit) in enumerate(zip(one.shape, limits)):
            if extent == limit:
                continue
            if extent != 1 or d == 3:
                raise ArgumentError(
                    "bias", f"extent {extent} of dimension {d}, expected {limit}"
                    + ("" if d == 3 else " or 1"),
                )  # fmt: skip
            strides[d] = 0
        self.views["bias"] = View(one.address, one.type, limits, tuple(strides), one.device)

    def _add_per_head(self, name: str, argument: str, value: Any) -> None:
        if value is None:
            return
        one = self._add(name, value)
        if one.type != "f32" or one.shape != (self.heads,):
            raise ArgumentError(
                argument,
                f"{one.type} of shape {one.shape}, expected f32 ({self.heads},)",
            )
        tensors.check_dense(argument, one)

    def _add_previous(self, o: Any, lse: Any) -> None:
        """o and lse of the same queries with other keys."""
        one = self._add("previous_o", o)
        shape = (*self.views["q"].shape[:3], self.head_dim_v)
        if one.type not in ("f16", "bf16", "f32"):
            raise ArgumentTypeError(
                "previous", f"o with element type {one.type}, expected f16, bf16 or f32"
            )
        if one.shape != shape:
            raise ArgumentError("previous", f"o of shape {one.shape}, expected {shape}")
        tensors.check_dense("previous", one)
        rows = self._add("previous_lse", lse)
        expected = (self.batch, self.heads, self.queries)
        if rows.type != "f32" or rows.shape != expected:
            raise ArgumentError(
                "previous", f"lse, {rows.type} of shape {rows.shape}, expected f32 {expected}"
            )
        tensors.check_dense("previous", rows)

    def _add_state(self, state: Any) -> None:
        if state is None:
            raise ArgumentError("rng_state", "is needed for dropout_p")
        one = self._add("rng_state", state)
        if one.type != "i64" or one.shape != (2,):
            raise ArgumentError(
                "rng_state", f"{one.type} of shape {one.shape}, expected i64 (2,): seed "
                "and offset",
            )  # fmt: skip

    def _add_blocks(self, size: tuple[int, int], lists: Sequence[Any]) -> None:
        """Lists of blocks, as fa3.kernels.blocks has checked them."""
        for name, value in zip(NAMES, lists):
            self._add(name, value)
        shape = self.views["block_count"].shape
        self.blocks = Blocks(*size, len(lists) == 4, (shape[0] == 1, shape[1] == 1))

    def _add_mods(self, score_mod: Any, mask_mod: Any, epilogue: Any) -> None:
        traced = score_mod
        if not isinstance(traced, Traced):
            traced = trace_mods(score_mod, mask_mod, epilogue)
        self.traced = traced
        self.regions, self.scalars = traced.regions, traced.scalars
        checks.check_scalars(traced.regions.scalars, traced.scalars)
        extents = {
            "b": self.batch, "h": self.heads, "i": self.queries, "j": self.keys,
            "c": self.head_dim_v,
        }  # fmt: skip
        for number, value in enumerate(traced.tensors):
            name = f"aux{number}"
            one = self._add(name, value)
            if not one.shape:
                one = View(one.address, one.type, (1,), (1,), one.device)
            shape = traced.cut(number, one.shape, extents)
            tensors.check_dense(traced.names[number], one)
            type = "i8" if one.type == "i1" else one.type
            self.views[name] = View(one.address, type, tuple(shape), one.strides, one.device)

    def _check_device(self) -> None:
        self.device = self.views["q"].device
        for name, one in self.views.items():
            if one.device != self.device:
                where = ["cpu" if d == CPU else f"cuda:{d}"
                         for d in (one.device, self.device)]  # fmt: skip
                raise ArgumentError(name, f"is on {where[0]}, expected {where[1]} as q")
        for name in "qkv":
            one = self.views[name]
            if one.shape[3] > 1 and one.strides[3] != 1:
                raise ArgumentError(
                    name, f"stride {one.strides[3]} of the last dimension, expected 1"
                )
            size = tensors.ELEMENT_SIZES[one.type]
            for d in range(3):
                if one.shape[d] > 1 and one.strides[d] * size % 16:
                    raise ArgumentError(
                        name,
                        f"stride {one.strides[d]} of dimension {d}, expected a "
                        f"multiple of {16 // size} elements",
                    )

    def _make_spec(self) -> Spec:
        asked, bias = self.asked, self.views.get("bias")
        types = [self.views[name].type for name in "qkv"]
        return Spec(
            *types,
            checks.out_type(asked.out_dtype, types[0], types[2], bool(self.regions.epilogue)),
            self.head_dim, self.head_dim_v, bool(asked.causal),
            checks.check_window(asked.window), checks.check_softcap(asked.softcap),
            self.return_lse, Auxiliary(bias.type, 4) if bias else None,
            "alibi" in self.views, "sinks" in self.views, bool(asked.top_left),
            self.regions, self.blocks, self.dropout, self.keeps_plain,
            self.max_logits is not False,
            self.views["previous_o"].type if "previous_o" in self.views else "",
            self._choose_group(),
        )  # fmt: skip

    def _choose_group(self) -> int:
        """Heads of each key head, where they make another kernel: without code and
        operands that differ between heads."""
        h = checks.DIMS[self.layout][1]
        group = self.heads // max(self.views["k"].shape[h], 1)
        is_plain = not (
            self.blocks or self.dropout or self.regions != Regions()
            or {"bias", "alibi", "previous_o", "q_descale"} & self.views.keys()
        )  # fmt: skip
        masked = bool(self.asked.causal) or self.asked.window is not None
        return group if is_plain and answers.of_group(group, self.head_dim_v, masked).packs else 1

    def _outputs(self) -> list[Any]:
        """The tensors that are written, in the order of the kernel."""
        b, h, s = checks.DIMS[self.layout]
        shape = list(self.views["q"].shape)
        shape[3] = self.head_dim_v
        o, lse = self.asked.out, self.asked.lse
        if o is None:
            strides = tensors.dense_like(tuple(shape), self.views["q"].strides)
            o = tensors.allocate(self.values["q"], self.spec.out_type, tuple(shape), strides)
        else:
            self._check_output("out", o, tuple(shape), self.spec.out_type)
        made = [o]
        rows = (self.batch, self.heads, self.queries)

        def of_rows() -> Any:
            return tensors.allocate(self.values["q"], "f32", rows, tensors.contiguous(rows))

        if self.return_lse:
            if lse is None:
                lse = of_rows()
            else:
                self._check_output("lse", lse, rows, "f32")
            made.append(lse)
        elif lse is not None:
            raise ArgumentError("lse", "is given, but return_lse is False")
        if self.keeps_plain:
            strides = tensors.dense_like(tuple(shape), self.views["q"].strides)
            self.plain = tensors.allocate(self.values["q"], self.spec.q_type, tuple(shape), strides)
            made.append(self.plain)
        if self.max_logits is True:
            made.append(of_rows())
        elif self.max_logits is not False:
            self._check_output("max_logits", self.max_logits, rows, "f32")
            made.append(self.max_logits)
        return made

    def _check_output(self, name: str, value: Any, shape: Any, type: str) -> None:
        one = tensors.view(name, value)
        if one.shape != shape:
            raise ArgumentError(name, f"shape {one.shape}, expected {shape}")
        if one.type != type:
            raise ArgumentTypeError(name, f"element type {one.type}, expected {type}")
        if one.device != self.device:
            raise ArgumentError(name, "is not on the device of q")
        tensors.check_dense(name, one)

    def _kernel_values(self, o: Any, *of_rows: Any) -> list[Any]:
        values = [self.kernel_value(name) for name in self.spec.inputs]
        values.append(self.in_order(tensors.view("out", o)))
        for one in of_rows:
            view = tensors.view("lse", one)
            values.append(self.in_order(view) if one is self.plain else view.array())
        return values

    def kernel_value(self, name: str) -> Any:
        """An argument of the kernel: an array, or (type, number)."""
        if name == "scale":
            return "f32", self.scale_value
        if name.startswith("arg"):
            number = int(name[3:])
            return self.regions.scalars[number], self.scalars[number]
        one = self.views[name]
        in_layout = name in ("q", "k", "v", "previous_o")
        return self.in_order(one) if in_layout else one.array()

    def in_order(self, one: View) -> Any:
        """As (batch, head, sequence, element), which is a matter of strides: one
        kernel serves all layouts."""
        order = (*checks.DIMS[self.layout], 3)
        return runtime.Array(
            one.address, one.type,
            [one.shape[d] for d in order], [one.strides[d] for d in order],
        )  # fmt: skip

    def _interpret(self, made: Sequence[Any]) -> None:
        if self.device != CPU:
            raise ArgumentError("interpret", "is for tensors in host memory")
        values = self._kernel_values(*made)
        run_on_host(self.spec.to_mlir(), values, CompileOptions(), self.asked.interpret)

    def make_call(self, *made: Any) -> "Call":
        kernel, self.is_final = find(self.spec, self.traced, self.options)
        kernel.program(self.device)  # whose errors are not those of arguments
        try:
            return Call(self, kernel, self._kernel_values(*made), made)
        except runtime.Error as error:
            if error.code in ("argument", "requirement"):
                raise ArgumentError("", str(error)) from error
            raise


def call_key(
    q: Any, k: Any, v: Any, causal: Any, window: Any, softcap: Any, out_dtype: Any,
    return_lse: Any, layout: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """All that a call of torch tensors without further arguments depends on. Negative
    views have no call: their memory has the other sign."""
    return (
        native.form(q, k, v), causal, window, softcap, out_dtype, return_lse, layout
    )  # fmt: skip


def run_again(
    q: Any, k: Any, v: Any, extras: Sequence[Any], numbers: Sequence[float], text: str,
    scale: float | None,
) -> Any:  # fmt: skip
    """What run_program gives where the same was run before, else None."""
    call = plans.get((text, native.form(q, k, v, *extras)))
    if call is None:
        return None
    if not (extras or call.scalars):
        return call(q, k, v, scale)
    program = parse(text)
    traced = program.traced(extras, numbers)
    return call.again(
        (q, k, v, *program.of_forward(extras)), scale, traced.scalars if traced else ()
    )


def run_program(
    q: Any, k: Any, v: Any, extras: Sequence[Any], numbers: Sequence[float], text: str,
    scale: float | None, out: Any = None, lse: Any = None,
    ahead: Callable[[Request, Program], None] | None = None,
) -> Any:  # fmt: skip
    """A call as operators make it: `text` is a Program. Gives o or (o, lse). `ahead`
    is called before a kernel is looked for."""
    outputs = [one for one in (out, lse) if one is not None]
    key = (text, native.form(q, k, v, *extras, *outputs))
    call = plans.get(key)
    program = parse(text)
    traced = program.traced(extras, numbers)
    if call is not None:
        return call.again(
            (q, k, v, *program.of_forward(extras)), scale,
            traced.scalars if traced else (), outputs,
        )  # fmt: skip
    request = program_request(
        q, k, v, extras, program, scale, traced, out=out, lse=lse,
        return_lse=program.return_lse, key=None if program.interpret else key,
        max_logits=program.max_logits,
    )  # fmt: skip
    if ahead is not None:
        ahead(request, program)
    return request.run()


def program_request(
    q: Any, k: Any, v: Any, extras: Sequence[Any], program: Program, scale: float | None,
    traced: Traced | None, key: Any = None, keeps_plain: bool = False, **named: Any,
) -> Request:  # fmt: skip
    """The request of a program; `named` are further Arguments."""
    given, lists = program.named(extras), None
    if program.block_size is not None:
        tensors_of = [given.get(name) for name in NAMES]
        lists = Lists(
            tuple(one for one in tensors_of if one is not None), program.block_size, True, 0, 0
        )
    if "previous_o" in given:
        named["previous"] = given["previous_o"], given["previous_lse"]
    asked = Arguments(
        program.causal, program.window, program.softcap, scale, traced,
        bias=given.get("bias"), alibi_slopes=given.get("alibi"), sinks=given.get("sinks"),
        q_descale=given.get("q_descale"), k_descale=given.get("k_descale"),
        v_descale=given.get("v_descale"), out_dtype=program.out_dtype,
        layout=program.layout, dropout_p=program.dropout, rng_state=given.get("rng_state"),
        interpret=program.interpret, lists=lists, top_left=program.top_left, **named,
    )  # fmt: skip
    return Request(q, k, v, asked, key=key, keeps_plain=keeps_plain)
