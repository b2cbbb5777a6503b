# SPDX-License-Identifier: Apache-2.0
"""The runtime on a GPU, without torch. See device.test."""

import array
import json
import pathlib
import unittest

import fa3_runtime

PTX = (pathlib.Path(__file__).parent / "tile.ptx").read_text()
COLUMNS, BOX_ROWS = 64, 8


def program(args, launch):
    return fa3_runtime.Program(
        json.dumps(
            {
                "schema": 1,
                "producer": "device test",
                "function": launch["kernel"],
                "chip": "sm_90a",
                "ptx_isa": "8.0",
                "args": args,
                "requires": [],
                "launches": [launch],
                "workspaces": [],
                "ptx_hash": f"{fa3_runtime.hash(PTX.encode()):016x}",
            }
        ),
        PTX,
    )


def tensor(name, dims, access, type="i16"):
    return {"name": name, "kind": "tensor", "type": type, "dims": dims,
            "access": access}  # fmt: skip


def tile_program(cluster=1):
    return program(
        [
            tensor("x", ["n", COLUMNS], "read"),
            tensor("y", ["m", COLUMNS], "write"),
            {"name": "row", "kind": "scalar", "type": "i32"},
        ],
        {
            "kernel": "tile",
            "grid": f"ceildiv(y.shape[0], {BOX_ROWS})",
            "block": 64,
            "cluster": cluster,
            "smem": 0,
            "args": [
                {"kind": "tensormap", "source": "x", "type": "i16",
                 "swizzle": 0, "box": [COLUMNS, BOX_ROWS],
                 "dims": ["x.shape[1]", "x.shape[0]"],
                 "strides": ["2 * x.stride[0]"]},
                {"kind": "pointer", "source": "y"},
                {"kind": "i32", "value": "row"},
            ],
        },
    )  # fmt: skip


class DeviceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        fa3_runtime.device_initialize(0)

    def setUp(self):
        self.buffers = []

    def tearDown(self):
        for buffer in self.buffers:
            buffer.free()

    def buffer(self, size_or_data):
        self.buffers.append(fa3_runtime.Buffer(size_or_data))
        return self.buffers[-1]

    def copy(self, x, rows, first=0, cluster=1):
        """What `tile` makes of `rows` rows of x, starting at row `first`."""
        out = self.buffer(2 * rows * COLUMNS)
        out.fill(0xEE)
        tile_program(cluster)(x, out.array("i16", (rows, COLUMNS)), first)
        fa3_runtime.device_synchronize()
        result = array.array("h", out.download())
        return [result[i : i + COLUMNS].tolist()
                for i in range(0, len(result), COLUMNS)]  # fmt: skip

    def test_rows_with_a_stride(self):
        stride, rows = 80, 13
        data = array.array("h", range(rows * stride))
        x = self.buffer(data.tobytes()).array("i16", (rows, COLUMNS), (stride, 1))
        for cluster in (1, 2):
            result = self.copy(x, 16, first=0, cluster=cluster)
            for r in range(16):
                expected = [0] * COLUMNS
                if r < rows:
                    expected = data[r * stride : r * stride + COLUMNS].tolist()
                self.assertEqual(result[r], expected)
        self.assertEqual(self.copy(x, 8, first=5)[0][0], 5 * stride)

    def test_stride_of_extent_one(self):
        data = array.array("h", range(COLUMNS))
        x = self.buffer(data.tobytes()).array("i16", (1, COLUMNS), (3, 1))
        result = self.copy(x, 8)
        self.assertEqual(result[0], data.tolist())
        self.assertEqual(result[1:], [[0] * COLUMNS] * 7)

    def test_empty_reads_zeros(self):
        for stride in (COLUMNS, 1):
            x = fa3_runtime.Array(0, "i16", (0, COLUMNS), (stride, 1))
            self.assertEqual(self.copy(x, 16), [[0] * COLUMNS] * 16)

    def test_large_shared_memory(self):
        out = self.buffer(4)
        launch = program(
            [tensor("y", [1], "write", "i32"),
             {"name": "value", "kind": "scalar", "type": "i32"}],
            {"kernel": "large", "grid": "1", "block": 1, "smem": 102400,
             "args": [{"kind": "pointer", "source": "y"},
                      {"kind": "i32", "value": "value"}]},
        )  # fmt: skip
        launch(out.array("i32", (1,)), 42)
        fa3_runtime.device_synchronize()
        self.assertEqual(array.array("i", out.download())[0], 42)

    def test_refuses_code_with_other_parameters(self):
        with self.assertRaises(fa3_runtime.Error) as caught:
            program([], {"kernel": "tile", "grid": "1", "block": 1, "smem": 0,
                         "args": []})  # fmt: skip
        self.assertEqual(caught.exception.code, "mismatch")

    def test_refuses_a_missing_kernel(self):
        with self.assertRaises(fa3_runtime.Error) as caught:
            program([], {"kernel": "no", "grid": "1", "block": 1, "smem": 0,
                         "args": []})  # fmt: skip
        self.assertEqual(caught.exception.code, "mismatch")

    def test_zz_a_trap_is_sticky(self):
        """The last by name: no launch works in this process afterwards."""
        trapping = program([], {"kernel": "trapping", "grid": "1", "block": 1,
                              "smem": 0, "args": []})  # fmt: skip
        trapping()
        for call in (fa3_runtime.device_synchronize, trapping):
            with self.assertRaises(fa3_runtime.Error) as caught:
                call()
            self.assertEqual(caught.exception.code, "kernel")


if __name__ == "__main__":
    unittest.main()
