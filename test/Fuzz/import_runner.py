# SPDX-License-Identifier: Apache-2.0
"""Runs what convert-to-attention makes of a program: attention by fa3-run, and what is
left of the program, views and tables in straight-line code, by torch.

Text in MLIR's generic form is read a line at a time. What is not known here is no
fault of the converter: Unknown."""

import argparse
import ctypes
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import torch


EMBEDDING = pathlib.Path(__file__).resolve().parents[1] / "Embedding"


class Unknown(Exception):
    """An operation that is left of the program and has no meaning here."""


KINDS = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32,
         "f64": torch.float64, "i1": torch.bool, "i8": torch.int8, "i32": torch.int32,
         "i64": torch.int64, "si64": torch.int64, "si32": torch.int32,
         "index": torch.int64}  # fmt: skip
#: torch's numbers of types.
TORCH_KINDS = {3: torch.int32, 4: torch.int64, 5: torch.float16, 6: torch.float32,
               7: torch.float64, 11: torch.bool, 15: torch.bfloat16}  # fmt: skip
OPERATION = re.compile(
    r'(?:(?P<results>%[\w:, %]+) = )?"(?P<name>[\w.]+)"\((?P<operands>[^()]*)\)'
    r"(?: <\{(?P<attributes>.*)\}>)?(?: \{.*\})? : \((?P<given>.*)\) -> (?P<type>.*)$"
)


def type_of(text):
    """(shape, kind) of a tensor, of torch or builtin, or of a number."""
    match = re.search(r"vtensor<\[([\d,]*)\],(\w+)>", text)
    if match:
        return [int(n) for n in match[1].split(",") if n], KINDS[match[2]]
    match = re.search(r"tensor<((?:\d+x)*)(\w+)>", text)
    if not match:
        raise Unknown(f"type {text}")
    return [int(n) for n in match[1].split("x") if n], KINDS[match[2]]


def numbers_of(attributes, name):
    found = re.search(rf"{name} = (?:array<\w+(?:: )?([^>]*)>|dense<\[?([^>\]]*)\]?>|(-?\d+))",
                      attributes)  # fmt: skip
    if not found:
        raise Unknown(f"no {name} in {attributes}")
    text = next(one for one in found.groups() if one is not None)
    return [int(one) for one in text.split(",") if one.strip()]


def dense(attributes, type_text):
    shape, kind = type_of(type_text)
    text = re.search(r"dense<(.*?)> : ", attributes)
    if not text or text[1].startswith('"'):
        raise Unknown("elements as bytes")
    text = text[1].replace("true", "1").replace("false", "0")
    values = [number(one, kind) for one in re.findall(r"[-+\w.]+", text)]
    made = torch.tensor(values, dtype=kind)
    return made[0].expand(shape) if len(values) == 1 else made.reshape(shape)


def number(text, kind):
    if not text.startswith("0x"):
        return float(text) if kind.is_floating_point else int(text)
    code, width = {torch.float16: (np.float16, np.uint16), torch.float32: (np.float32, np.uint32),
                   torch.float64: (np.float64, np.uint64)}.get(kind, (None, None))  # fmt: skip
    if code is None:  # bfloat16 is the upper half of f32
        return float(np.array([int(text, 16) << 16], np.uint32).view(np.float32)[0])
    return float(np.array([int(text, 16)], width).view(code)[0])


COMPARE = {"LT": torch.lt, "LE": torch.le, "GT": torch.gt, "GE": torch.ge, "EQ": torch.eq,
           "NE": torch.ne}  # fmt: skip


def logic(on_booleans, on_numbers):
    return lambda x, y: (on_booleans if x.dtype == torch.bool else on_numbers)(x, y)


#: stablehlo, tosa and arith on tensors, by the name behind the dialect's.
ELEMENTWISE = {
    "add": torch.add, "subtract": torch.sub, "sub": torch.sub, "multiply": torch.mul,
    "maximum": torch.maximum, "minimum": torch.minimum, "tanh": torch.tanh, "exp": torch.exp,
    "exponential": torch.exp, "negate": torch.neg, "abs": torch.abs, "floor": torch.floor,
    "ceil": torch.ceil, "sign": torch.sign, "logistic": torch.sigmoid, "sigmoid": torch.sigmoid,
    "not": torch.bitwise_not, "logical_not": torch.logical_not, "bitwise_not": torch.bitwise_not,
    "and": torch.bitwise_and, "or": torch.bitwise_or, "logical_and": torch.logical_and,
    "logical_or": torch.logical_or, "select": torch.where, "reciprocal": torch.reciprocal,
    "remainder": torch.fmod, "greater": torch.gt, "greater_equal": torch.ge, "equal": torch.eq,
    "bitwise_and": torch.bitwise_and, "bitwise_or": torch.bitwise_or,
    "divide": lambda x, y: torch.div(
        x, y, rounding_mode=None if x.is_floating_point() else "trunc"),
    "intdiv": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
}  # fmt: skip


class Runner:
    def __init__(self, tools, text):
        self.tools = tools
        self.functions, name = {}, None
        for line in text.split("\n"):
            begin = re.match(r'  "func\.func"\(\) <\{.*sym_name = "(\w+)"', line)
            if begin:
                name = begin[1]
                self.functions[name] = []
            elif re.match(r"  \}\)", line):
                name = None
            elif name:
                self.functions[name].append(line)

    def call(self, name, inputs):
        lines = self.functions[name]
        values = {}
        arguments = re.findall(r"(%\w+): ([^%]*?)(?:, (?=%)|\):$)", lines[0].strip())
        if len(arguments) != len(inputs):
            raise Unknown(f"{len(arguments)} arguments")
        for (argument, _), value in zip(arguments, inputs):
            values[argument] = value
        at = 1
        while at < len(lines):
            last = at
            if lines[at].endswith("({"):  # to where its regions end
                indent = len(lines[at]) - len(lines[at].lstrip())
                last = at + 1
                while not re.match(rf" {{{indent}}}\}}\) ?(\{{.*\}} )?:", lines[last]):
                    last += 1
            text = "\n".join(lines[at : last + 1])
            at = last + 1
            if '"linalg.transpose"' in text.split("\n")[0]:  # its body says nothing
                text = re.sub(r" \(\{.*\n *\}\) :", " :", text, flags=re.S)
            if '"func.return"' in text:
                (result,) = re.findall(r"%\w+", text)
                return values[result]
            self.execute(text.strip(), values)
        raise Unknown("no return")

    def execute(self, text, values):
        if '"attention.forward"' in text.split("\n")[0]:
            return self.attend(text, values)
        match = OPERATION.match(text)
        if not match:
            raise Unknown(text.split("\n")[0][:60])
        name, attributes, kind = match["name"], match["attributes"] or "", match["type"]
        given = [values[one] for one in re.findall(r"%\w+", match["operands"])]
        made = self.compute(name, given, attributes, kind)
        if match["results"]:
            values[match["results"].strip()] = made
        return None

    def compute(self, name, given, attributes, kind):
        dialect, _, operation = name.partition(".")
        if dialect == "torch":
            return self.of_torch(operation, given, attributes, kind)
        if dialect == "torch_c" or name in ("builtin.unrealized_conversion_cast", "tensor.cast"):
            return given[0]
        if name in ("tensor.expand_shape", "tensor.collapse_shape"):
            return given[0].reshape(type_of(kind)[0])
        if name == "tensor.empty":
            return None
        if name == "linalg.transpose":
            return given[0].permute(numbers_of(attributes, "permutation"))
        if name == "func.call":
            return self.call(re.search(r"callee = @(\w+)", attributes)[1], given)
        if name in ("arith.extf", "arith.truncf"):
            return given[0].to(type_of(kind)[1])
        if dialect in ("stablehlo", "tosa") or name == "arith.constant":
            return self.of_tensors(operation, given, attributes, kind)
        raise Unknown(name)

    def of_tensors(self, operation, given, attributes, kind):
        if operation in ("const", "const_shape", "constant"):
            if "dense" not in attributes:
                return None  # a number: the size of something
            if operation == "const_shape":
                return None
            return dense(attributes, kind)
        shape, kind = type_of(kind)
        if operation == "transpose":
            name = "perms" if "perms" in attributes else "permutation"
            return given[0].permute(numbers_of(attributes, name))
        if operation == "reshape":
            return given[0].reshape(shape)
        if operation in ("convert", "cast"):
            return given[0].to(kind)
        if operation in ("iota", "dynamic_iota"):
            (along,) = numbers_of(attributes, "iota_dimension")
            view = [shape[along] if d == along else 1 for d in range(len(shape))]
            return torch.arange(shape[along], dtype=kind).reshape(view).expand(shape)
        if operation == "broadcast_in_dim":
            view = [1] * len(shape)
            for extent, d in zip(given[0].shape, numbers_of(attributes, "broadcast_dimensions")):
                view[d] = extent
            return given[0].reshape(view).expand(shape)
        if operation == "compare":
            found = re.search(r"comparison_direction (\w+)", attributes)[1]
            return COMPARE[found](*given)
        if operation == "mul":
            return given[0] * given[1]
        if operation == "identity":
            return given[0]
        if operation not in ELEMENTWISE:
            raise Unknown(operation)
        return ELEMENTWISE[operation](*given)

    def of_torch(self, operation, given, attributes, kind):
        if operation.startswith("constant."):
            return constant(operation[9:], attributes)
        if operation == "prim.ListConstruct":
            return given
        if operation == "vtensor.literal":
            return dense(attributes, kind)
        if not operation.startswith("aten."):
            raise Unknown(operation)
        names = operation[5:].split(".")
        if names[0].startswith("_assert") or names[0] == "to" and names[1:] == ["prim_Device"]:
            return None
        packet = getattr(torch.ops.aten, names[0])
        call = getattr(packet, names[1] if len(names) > 1 else "default")
        arguments, named = [], {}
        for schema, value in zip(call._schema.arguments, given):
            if str(schema.type) in ("Optional[int]", "int") and schema.name == "dtype":
                value = TORCH_KINDS.get(value, value)
            if schema.kwarg_only:
                named[schema.name] = value
            else:
                arguments.append(value)
        return call(*arguments, **named)

    def attend(self, text, values):
        """A function of what the attention takes, lowered to tiles and run."""
        defined = set(re.findall(r"(%\w+)(?: =|:)", text))
        result = re.match(r"(%\w+)", text)[1]
        kinds = dict(kinds_of_operands(text))
        outside = [one for one in dict.fromkeys(re.findall(r"%\w+", text)) if one not in defined]
        if any(one not in kinds for one in outside):
            raise Unknown("a value from outside in a region")
        if any(values[one] is None for one in outside):
            raise Unknown("an operand that is a number")
        kind = re.search(r"-> \(?(.*?)\)?$", text)[1].split(", ")[0]
        names = [f"x{n}" for n in range(len(outside))]
        marks = ", ".join(f'{{tile.name = "{name}"}}' for name in names)
        module = (
            f'"builtin.module"() ({{\n"func.func"() <{{arg_attrs = [{marks}], function_type = '
            f"({', '.join(kinds[one] for one in outside)}) -> {kind}, "
            f'res_attrs = [{{tile.name = "o"}}], sym_name = "site"}}> ({{\n'
            f"^bb0({', '.join(f'{one}: {kinds[one]}' for one in outside)}):\n{text}\n"
            f'"func.return"({result}) : ({kind}) -> ()\n}}) : () -> ()\n}}) : () -> ()\n'
        )
        module = call([f"{self.tools}/fa3-opt", "--attention-expand-mods", "--attention-to-tile",
                       "-"], module)  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "module.mlir")
            path.write_text(module)
            command = [f"{self.tools}/fa3-run", "--cpu", "--no-check", path]
            for name, one in zip(names, outside):
                file = pathlib.Path(folder, f"{name}.npy")
                np.save(file, as_array(values[one], kinds[one]))
                command.append(f"--input={name}={file}")
            file = pathlib.Path(folder, "o.npy")
            call([*command, f"--output=o={file}"])
            shape, type_ = type_of(kind)
            values[result] = torch.from_numpy(np.load(file)).to(type_).reshape(shape)


def kinds_of_operands(text):
    first, last = text.split("\n")[0], text.split("\n")[-1]
    operands = re.findall(r"%\w+", re.search(r'forward"\(([^)]*)\)', first)[1])
    kinds = re.search(r": \((.*)\) -> ", last)[1]
    return zip(operands, re.findall(r"tensor<[^>]*>|\w+", kinds))


def as_array(x, kind):
    if list(x.shape) != type_of(kind)[0]:
        raise RuntimeError(f"a tensor of {list(x.shape)} for {kind}")
    x = x.contiguous()
    return x.float().numpy() if x.dtype == torch.bfloat16 else x.numpy()


def constant(name, attributes):
    if name == "none":
        return None
    if name == "int":
        return int(re.search(r"value = (-?\d+)", attributes)[1])
    if name == "bool":
        return "true" in attributes
    if name == "float":
        return number(re.search(r"value = (\S+) :", attributes)[1], torch.float64)
    return re.search(r'value = "(.*)"', attributes)[1]


def call(command, text=None):
    done = subprocess.run([str(one) for one in command], input=text, capture_output=True,
                          text=True, timeout=120)  # fmt: skip
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line]
        raise RuntimeError("\n".join(lines[:3] or [done.stderr[-500:]]))
    return done.stdout


class Library:
    """A whole program in dialects of MLIR, compiled for this machine with attention by its
    definition (mlir-opt with fa3's plugin, as test/Embedding does)."""

    def __init__(self, build, text):
        sys.path[:0] = [str(EMBEDDING), str(EMBEDDING / "Inputs")]
        import models
        import whole_model

        self.whole_model = whole_model
        self.folder = tempfile.TemporaryDirectory()
        path = pathlib.Path(self.folder.name, "model.so")
        args = argparse.Namespace(build=build, llvm="/usr/lib/llvm-22")
        try:
            models.compile_library(args, text, "definition", path)
        except SystemExit as error:
            raise RuntimeError(str(error)[:600]) from error
        ctypes.CDLL(f"{build}/lib/libfa3_runtime.so", mode=ctypes.RTLD_GLOBAL)
        self.call = ctypes.CDLL(str(path))._mlir_ciface_function
        self.call.restype = None

    def run(self, inputs, shape, kind):
        inputs = [one.contiguous() for one in inputs]
        given = [self.whole_model.describe(one.data_ptr(), list(one.shape)) for one in inputs]
        result = self.whole_model.descriptor(len(shape))()
        self.call(ctypes.byref(result), *map(ctypes.byref, given))
        if list(result.sizes) != list(shape):
            raise RuntimeError(f"a result of {list(result.sizes)}, expected {list(shape)}")
        width = torch.tensor([], dtype=kind).element_size()
        extent = 1 + sum((n - 1) * s for n, s in zip(result.sizes, result.strides))
        data = ctypes.string_at(result.aligned + result.offset * width, extent * width)
        flat = torch.frombuffer(bytearray(data), dtype=kind)
        return flat.as_strided(list(result.sizes), list(result.strides)).clone()
