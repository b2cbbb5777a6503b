# SPDX-License-Identifier: Apache-2.0
"""The Python binding of the runtime, through the fake driver; needs no GPU and
no torch. FA3_RUNTIME_LIBRARY and FA3_LIBCUDA name the two shared libraries."""

import ctypes
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import fa3_runtime  # noqa: E402

PTX = """.version 9.0
.target sm_90a
.visible .entry scale(
  .param .align 64 .b8 scale_param_0[128],
  .param .u64 scale_param_1,
  .param .f32 scale_param_2,
  .param .u32 scale_param_3
) { ret; }
"""


def manifest(**changes):
    document = {
        "schema": 1,
        "producer": "test",
        "function": "scale",
        "chip": "sm_90a",
        "ptx_isa": "9.0",
        "args": [
            {"name": "x", "kind": "tensor", "type": "f16",
             "dims": ["n", 64], "access": "read"},
            {"name": "y", "kind": "tensor", "type": "f16",
             "dims": ["n", 64], "access": "write"},
            {"name": "factor", "kind": "scalar", "type": "f32"},
            {"name": "first", "kind": "scalar", "type": "i32"},
        ],
        "requires": [{"that": "first < x.shape[0]", "message": "first too large"}],
        "launches": [
            {"kernel": "scale", "grid": "ceildiv(x.shape[0], 8)", "block": 128,
             "smem": 1024,
             "args": [
                 {"kind": "tensormap", "source": "x", "type": "f16",
                  "swizzle": 128, "box": [64, 8],
                  "dims": ["x.shape[1]", "x.shape[0]"],
                  "strides": ["2 * x.stride[0]"]},
                 {"kind": "pointer", "source": "y"},
                 {"kind": "f32", "value": "factor"},
                 {"kind": "i32", "value": "first"},
             ]},
        ],
        "workspaces": [],
        "flops": "64 * x.shape[0]",
        "bytes": "256 * x.shape[0]",
        "ptx_hash": f"{fa3_runtime.hash(PTX.encode()):x}",
    }  # fmt: skip
    document.update(changes)
    return json.dumps(document)


class FakeLaunch(ctypes.Structure):
    _fields_ = [
        ("kernel", ctypes.c_char * 64),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("smem", ctypes.c_uint32),
        ("max_smem", ctypes.c_uint32),
        ("cluster", ctypes.c_uint32),
        ("early", ctypes.c_uint32),
        ("num_params", ctypes.c_uint32),
        ("stream", ctypes.c_uint64),
        ("context", ctypes.c_uint64),
        ("params", ctypes.c_uint64 * 64),
    ]


class FakeTensor:
    """What the binding uses of a torch tensor."""

    def __init__(self, address, dtype, shape, stride, is_cuda=True, device=0):
        self._address, self.dtype = address, "torch." + dtype
        self.shape, self._stride, self.is_cuda = shape, stride, is_cuda
        self.device = types.SimpleNamespace(index=device if is_cuda else None)

    def is_contiguous(self):
        return self._stride[-1] == 1

    def data_ptr(self):
        return self._address

    def stride(self):
        return self._stride

    def numel(self):
        return math.prod(self.shape)

    def element_size(self):
        return {"uint8": 1, "float16": 2}[self.dtype.rpartition(".")[2]]


def arrays():
    return tuple(
        fa3_runtime.Array(address, "f16", (16, 64)) for address in (0x1000, 0x2000)
    )


class RuntimeTest(unittest.TestCase):
    def setUp(self):
        self.fake = ctypes.CDLL(os.environ["FA3_LIBCUDA"])
        self.fake.fakeCudaLaunch.restype = ctypes.POINTER(FakeLaunch)
        self.fake.fakeCudaLaunch.argtypes = [ctypes.c_size_t]
        self.fake.fakeCudaNumLaunches.restype = ctypes.c_size_t
        self.fake.fakeCudaReset()

    def error(self, code, function, *args, **named):
        with self.assertRaises(fa3_runtime.Error) as caught:
            function(*args, **named)
        self.assertEqual(caught.exception.code, code)
        return str(caught.exception)

    def test_describes(self):
        program = fa3_runtime.Program(manifest())
        self.assertEqual(program.function, "scale")
        self.assertEqual(program.chip, "sm_90a")
        self.assertEqual(
            program.args[0],
            fa3_runtime.Argument("x", "tensor", "f16", "read", ("n", 64)),
        )
        self.assertEqual(program.args[3].kind, "scalar")
        self.assertEqual(
            program.launches, [fa3_runtime.Launch("scale", 128, 1, 1024, 4)]
        )
        program.check_ptx(PTX)
        self.error("mismatch", program.check_ptx, PTX + " ")

    def test_launches_torch_tensors(self):
        program = fa3_runtime.Program(manifest(), PTX)
        x = FakeTensor(0x1000, "float16", (20, 64), (128, 1))
        y = FakeTensor(0x8000, "float16", (20, 64), (64, 1))
        program(x, y, 0.5, first=3, stream=77)
        self.assertEqual(self.fake.fakeCudaNumLaunches(), 1)
        launch = self.fake.fakeCudaLaunch(0).contents
        self.assertEqual(launch.kernel, b"scale")
        self.assertEqual(list(launch.grid), [3, 1, 1])
        self.assertEqual(list(launch.block), [128, 1, 1])
        self.assertEqual(launch.stream, 77)
        self.assertEqual(launch.params[1], 0x8000)
        self.assertEqual(launch.params[2], 0x3F000000)
        self.assertEqual(launch.params[3], 3)

    def test_launches_arrays_again_and_again(self):
        with fa3_runtime.Program(manifest(), PTX) as program:
            x, y = arrays()
            run = program.bind(x, y, 1, 0)
            for _ in range(3):
                run()
        self.assertEqual(self.fake.fakeCudaNumLaunches(), 3)
        self.assertEqual(self.fake.fakeCudaLaunch(2).contents.stream, 0)
        self.assertRaises(ValueError, program, x, y, 1, 0)

    def test_lends_workspaces(self):
        document = json.loads(manifest())
        document["workspaces"] = [
            {"name": "w", "type": "f16", "shape": ["x.shape[0]", "64"]}
        ]
        document["launches"][0]["args"][1]["source"] = "w"
        program = fa3_runtime.Program(json.dumps(document), PTX)
        x, y = arrays()
        self.assertEqual(program.workspace_size(x, y, 1.0, 0), 2048)
        fa3_runtime.device_initialize(0)
        buffer = fa3_runtime.Buffer(2048)
        memory = FakeTensor(0x3000, "uint8", (4096,), (1,))
        for workspace, address in (
            (buffer, buffer.address), (memory, 0x3000), ((0x5000, 2048), 0x5000),
        ):  # fmt: skip
            self.fake.fakeCudaReset()
            program(x, y, 1.0, 0, workspace=workspace)
            launch = self.fake.fakeCudaLaunch(0).contents
            self.assertEqual(launch.params[1], address)
        self.assertRaises(TypeError, program, x, y, 1.0, 0)
        self.error("argument", program, x, y, 1.0, 0, workspace=(0x5000, 2047))
        run = program.bind(x, y, 1.0, 0)  # memory of its own
        run()
        buffer.free()
        fa3_runtime.device_release(0)
        self.fake.fakeCudaSetCurrent(0)

    def test_checks(self):
        program = fa3_runtime.Program(manifest(), device_sms=132)
        x, y = arrays()
        program.validate(x, y, 1.0, 0)
        self.assertEqual(program.flops(x, y, 1.0, 0), 1024)
        self.assertEqual(program.bytes(x=x, y=y, factor=1.0, first=0), 4096)
        self.assertEqual(program.grid(x, y, 1.0, 0), 2)
        message = self.error("requirement", program.validate, x, y, 1.0, 16)
        self.assertIn("first too large", message)
        wrong = fa3_runtime.Array(0x1000, "bf16", (16, 64))
        message = self.error("argument", program.validate, wrong, y, 1.0, 0)
        self.assertEqual(message, "argument 'x': element type bf16, expected f16")
        self.error("argument", program, x, y, 1.0, 0)  # no code
        self.error("argument", program.validate, 1.0, y, 1.0, 0)
        self.error("argument", program.validate, x, y, 1.0, 2**40)

    def test_refuses_python_values(self):
        program = fa3_runtime.Program(manifest())
        x, y = arrays()
        for args, named in (
            ((x, y, 1.0), {}),
            ((x, y, 1.0, 0, 0), {}),
            ((x, y, 1.0, 0), {"first": 0}),
            ((x, y, 1.0, 0), {"last": 0}),
            ((x, y, 1.0, 0.5), {}),
            ((x, y, "1", 0), {}),
            ((x, None, 1.0, 0), {}),
            ((FakeTensor(1, "float16", (1, 64), (64, 1), False), y, 1.0, 0), {}),
            ((FakeTensor(1, "complex64", (1, 64), (64, 1)), y, 1.0, 0), {}),
        ):
            self.assertRaises(TypeError, program.validate, *args, **named)
        self.assertRaises(OverflowError, program.validate, x, y, 1.0, 2**63)

    def test_refuses_numbers_beyond_64_bits(self):
        """ctypes cuts them without a word: 2**64 + 0x1000 was address 0x1000."""
        program = fa3_runtime.Program(manifest())
        x, y = arrays()

        def x_like(address=0x1000, shape=(16, 64), strides=(64, 1)):
            return fa3_runtime.Array(address, "f16", shape, strides)

        program.validate(x_like(), y, 1.0, 0)
        for wrong in (
            x_like(2**64 + 0x1000),
            x_like(-16),
            x_like(shape=(2**64 + 16, 64)),
            x_like(strides=(2**64 + 64, 1)),
        ):
            self.assertRaises(OverflowError, program.validate, wrong, y, 1.0, 0)
        self.assertRaises(
            TypeError, program.validate, x_like(shape=(16.5, 64)), y, 1.0, 0
        )
        loaded = fa3_runtime.Program(manifest(), PTX)
        for named in (
            {"stream": 2**64},
            {"workspace": (2**64, 16)},
            {"workspace": (0x5000, 2**64)},
        ):
            self.assertRaises(OverflowError, loaded, x, y, 1.0, 0, **named)
        self.assertEqual(self.fake.fakeCudaNumLaunches(), 0)

    def test_refuses_other_devices(self):
        program = fa3_runtime.Program(manifest(), PTX)
        x = FakeTensor(0x1000, "float16", (20, 64), (64, 1))
        y = FakeTensor(0x2000, "float16", (20, 64), (64, 1), device=1)
        for args in ((x, y), (y, x)):
            with self.assertRaises(ValueError) as caught:
                program(*args, 0.5, 3, stream=0)
            self.assertIn("on device 1, the program on 0", str(caught.exception))
        _, y = arrays()
        for workspace in (
            FakeTensor(0x3000, "uint8", (4096,), (1,), device=1),
            FakeTensor(0x3000, "uint8", (4096,), (1,), is_cuda=False),
            FakeTensor(0x3000, "uint8", (4096,), (2,)),
        ):
            with self.assertRaisesRegex((TypeError, ValueError), "^workspace: "):
                x = fa3_runtime.Array(0x1000, "f16", (16, 64))
                program(x, y, 0.5, 3, stream=0, workspace=workspace)
        self.assertEqual(self.fake.fakeCudaNumLaunches(), 0)

    def test_a_bound_call_outlives_nothing(self):
        """What a bound call needs may have gone since: that is an error, not a
        use of freed memory."""
        x, y = arrays()
        program = fa3_runtime.Program(manifest(), PTX)
        fa3_runtime.device_initialize(0)
        buffer = fa3_runtime.Buffer(64)
        run = program.bind(x, y, 1.0, 0, workspace=buffer)
        run()
        buffer.free()
        self.assertRaises(ValueError, run)
        fa3_runtime.device_release(0)
        self.fake.fakeCudaSetCurrent(0)
        run = program.bind(x, y, 1.0, 0)
        run()
        program.close()
        self.assertRaises(ValueError, run)
        self.assertEqual(self.fake.fakeCudaNumLaunches(), 2)

    def test_refuses_results_on_arguments(self):
        program = fa3_runtime.Program(manifest())
        x, _ = arrays()
        message = self.error("argument", program.validate, x, x, 1.0, 0)
        self.assertIn("'y': is written, and shares memory with 'x'", message)

    def test_errors_of_loading(self):
        self.error("manifest", fa3_runtime.Program, "{")
        self.error("mismatch", fa3_runtime.Program, manifest(), PTX + " ")
        self.error("image", fa3_runtime.Program, manifest(), b"x", cubin=True)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            stem = pathlib.Path(folder) / "a.b"
            pathlib.Path(f"{stem}.json").write_text(manifest())
            pathlib.Path(f"{stem}.ptx").write_text(PTX)
            for path in (stem, f"{stem}.json", f"{stem}.ptx"):
                self.assertEqual(fa3_runtime.Program.load(path).function, "scale")

    def test_a_failed_kernel(self):
        program = fa3_runtime.Program(manifest(), PTX)
        x, y = arrays()
        self.fake.fakeCudaPoison(719)
        try:
            message = self.error("kernel", program, x, y, 1.0, 0)
        finally:
            self.fake.fakeCudaPoison(0)
        self.assertIn("719", message)

    def test_device_helpers(self):
        self.assertEqual(fa3_runtime.device_count(), 2)
        info = fa3_runtime.device_info(0)
        self.assertEqual(info.sms, 132)
        self.assertEqual(info.compute_capability, (9, 0))
        fa3_runtime.device_initialize(0)
        buffer = fa3_runtime.Buffer(b"abcd")
        self.assertEqual(buffer.download(), b"abcd")
        buffer.fill(1)
        self.assertEqual(buffer.download(), b"\1\1\1\1")
        self.assertRaises(ValueError, buffer.upload, b"abcde")
        self.assertEqual(buffer.array("i8", (4,)).address, buffer.address)
        buffer.free()
        self.assertEqual(fa3_runtime.Buffer(0).download(), b"")
        start, end = fa3_runtime.Event(), fa3_runtime.Event()
        start.record()
        end.record()
        end.synchronize()
        self.assertEqual(start.elapsed_ms(end), 1.5)
        start.destroy()
        end.destroy()
        fa3_runtime.device_synchronize()
        fa3_runtime.device_release(0)
        self.fake.fakeCudaSetCurrent(0)

    def test_without_driver(self):
        script = (
            "import fa3_runtime\n"
            "try:\n"
            "  fa3_runtime.device_count()\n"
            "except fa3_runtime.Error as error:\n"
            "  print(error.code, error)\n"
        )
        for path, expected in (
            ("/nonexistent/libcuda.so", "no_driver cannot open the CUDA driver"),
            (os.environ["FA3_RUNTIME_LIBRARY"], "no_driver the CUDA driver"),
        ):
            environment = dict(os.environ, FA3_LIBCUDA=path)
            environment["PYTHONPATH"] = str(ROOT / "python")
            result = subprocess.run(
                [sys.executable, "-c", script],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            self.assertTrue(result.stdout.startswith(expected), result.stdout)


if __name__ == "__main__":
    unittest.main()
