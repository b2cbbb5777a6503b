# SPDX-License-Identifier: Apache-2.0
"""fa3 in torch without a GPU: the operator under torch.compile and opcheck, with
the definition of attention as its kernel on the CPU; gradients; the switch behind
scaled_dot_product_attention."""

import unittest
from unittest import mock

import support

import fa3

if support.HAS_TORCH:
    import torch
    from torch.nn import functional

    import fa3.torch as door

    def definition(q, k, v, program, scale=None):
        named = door._parse(program)
        o, lse = door._forward_fake(q, k, v, program, scale)
        groups = q.shape[1] // k.shape[1]
        k, v = (one.repeat_interleave(groups, 1).float() for one in (k, v))
        scores = q.float() @ k.mT * (scale or q.shape[3] ** -0.5)
        if named["causal"]:
            visible = torch.ones(scores.shape[2:], dtype=torch.bool)
            scores.masked_fill_(
                ~visible.tril(k.shape[2] - q.shape[2]), float("-inf")
            )
        o.copy_(torch.softmax(scores, -1) @ v)
        return o, torch.logsumexp(scores, -1) if named["return_lse"] else lse


@support.needs_torch
class OperatorTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.library = torch.library.Library("fa3", "IMPL")
        cls.library.impl("forward", definition, "CPU")

    @classmethod
    def tearDownClass(cls):
        cls.library._destroy()

    def setUp(self):
        torch.manual_seed(0)
        self.q = torch.randn(2, 4, 16, 32, dtype=torch.float16)
        self.k = torch.randn(2, 2, 24, 32, dtype=torch.float16)

    def test_program(self):
        text = door._program(True, (3, None), 30, torch.bfloat16, True, "bshd")
        self.assertEqual(
            door._parse(text),
            {"causal": True, "window": (3, None), "softcap": 30.0,
             "out_dtype": torch.bfloat16, "return_lse": True, "layout": "bshd"},
        )  # fmt: skip

    def test_compile_without_graph_break(self):
        for dynamic in (False, True):
            torch._dynamo.reset()
            compiled = torch.compile(
                lambda q, k: fa3.attention(q, k, k, causal=True, return_lse=True),
                fullgraph=True, backend="aot_eager", dynamic=dynamic,
            )  # fmt: skip
            for queries in (16, 9):
                q = self.q[:, :, :queries]
                o, lse = compiled(q, self.k)
                expected = definition(
                    q, self.k, self.k, door._program(True, None, 0, None, True, "bhsd")
                )
                torch.testing.assert_close(o, expected[0])
                torch.testing.assert_close(lse, expected[1])

    def test_opcheck(self):
        program = door._program(True, None, 0.0, None, True, "bhsd")
        for order in ((0, 1, 2), (0, 2, 1), (2, 0, 1)):
            back = [order.index(d) for d in range(3)]
            q = self.q.permute(*order, 3).contiguous().permute(*back, 3)
            torch.library.opcheck(
                torch.ops.fa3.forward.default, (q, self.k, self.k, program, 0.3)
            )

    def test_no_gradient_is_an_error(self):
        q = self.q.requires_grad_()
        with self.assertRaisesRegex(fa3.UnsupportedError, "no backward kernel yet"):
            fa3.attention(q, self.k, self.k)
        with torch.no_grad():
            with self.assertRaisesRegex(fa3.ArgumentError, "device is cpu"):
                fa3.attention(q, self.k, self.k)

    def test_where_the_backward_of_torch_is_valid(self):
        q, k = self.q.requires_grad_(), self.k
        for named, expected in (
            ({"causal": True}, "causal with 16 queries and 24 keys"),
            ({"softcap": 2.0}, "softcap 2.0"),
        ):
            with self.assertRaisesRegex(fa3.UnsupportedError, expected):
                door.attention(q, k, k, backward="torch", **named)
        with self.assertRaisesRegex(fa3.UnsupportedError, "head dims 32 and 16"):
            door.attention(q, k, k[..., :16], backward="torch")
        with self.assertRaisesRegex(fa3.ArgumentError, "'backward': 'x', expected"):
            door.attention(q, k, k, backward="x")

    def test_backward_of_torch(self):
        q = self.q.requires_grad_()
        calls = []

        def stub(grad, q, k, v, out, lse, *rest, **named):
            calls.append((grad.shape, q.shape, k.shape, lse.shape, rest, named))
            return tuple(torch.ones_like(one) for one in (q, k, v))

        packet = torch.ops.aten
        with mock.patch.object(packet, "_flash_attention_backward", stub):
            o = door.attention(
                q, self.k, self.k, window=(5, 0), scale=0.5, backward="torch"
            )
            o.sum().backward()
        ((grad, q_shape, k_shape, lse, rest, named),) = calls
        self.assertEqual(grad, (2, 16, 4, 32))
        self.assertEqual((q_shape, k_shape), ((2, 16, 4, 32), (2, 24, 2, 32)))
        self.assertEqual(lse, (2, 4, 16))
        self.assertEqual(rest[:6], (None, None, 16, 24, 0.0, False))
        self.assertEqual(
            named, {"scale": 0.5, "window_size_left": 5, "window_size_right": 0}
        )
        torch.testing.assert_close(q.grad, torch.ones_like(q))


@support.needs_torch
class SwitchTest(unittest.TestCase):
    def setUp(self):
        self.q = torch.randn(1, 4, 16, 32, dtype=torch.float16)
        door.report(reset=True)
        door._report = door.Report()
        self.switch = door._Switch.__new__(door._Switch)
        self.switch.strict = False
        self.stock = self.switch.stock = mock.Mock(return_value="stock")
        patch = mock.patch.object(door, "_capability", lambda device: (9, 0))
        patch.start()
        self.addCleanup(patch.stop)

    def run_switch(self, **named):
        given = {"query": self.q, "key": self.q, "value": self.q, **named}
        with mock.patch.object(
            fa3.api, "attention", return_value=(self.q, torch.zeros(1, 4, 16))
        ) as attention:
            made = self.switch.forward(
                given.pop("query"), given.pop("key"), given.pop("value"), **given
            )
        return made, attention

    def test_runs(self):
        made, attention = self.run_switch(is_causal=True, scale=0.5)
        self.assertEqual(len(made), 9)
        self.assertEqual(made[2:6], (None, None, 16, 16))
        self.assertEqual(
            attention.call_args.kwargs,
            {"causal": True, "scale": 0.5, "return_lse": True},
        )
        self.assertEqual(door.report().ran, 1)

    def test_declines(self):
        q = self.q
        for named, why in (
            ({"dropout_p": 0.5}, "dropout"),
            ({"query": q.float()}, "element type torch.float32"),
            ({"is_causal": True, "key": q[:, :, :8], "value": q[:, :, :8]}, "causal with"),
            ({"scale": -1.0}, "scale -1.0"),
            ({"query": q.mT.contiguous().mT}, "last dimension not contiguous"),
            ({"query": q[..., 1:25]}, "addresses that are no multiples"),
        ):
            made, attention = self.run_switch(**named)
            self.assertEqual(made, "stock")
            attention.assert_not_called()
            self.assertIn(why, str(door.report()))
        self.assertIn("fa3 ran 0 calls, torch 6", str(door.report()))
        self.switch.strict = True
        with self.assertRaisesRegex(fa3.UnsupportedError, "attention: dropout"):
            self.run_switch(dropout_p=0.5)

    def test_activate_and_deactivate(self):
        q = torch.randn(1, 2, 8, 16)
        before = functional.scaled_dot_product_attention(q, q, q)
        with mock.patch.object(door, "_stock_kernel", lambda: None):
            door.activate()
            try:
                self.assertTrue(door.is_active())
                if hasattr(torch.nn.attention, "current_flash_attention_impl"):
                    self.assertEqual(
                        torch.nn.attention.current_flash_attention_impl(),
                        door.IMPLEMENTATION,
                    )
                # Nothing changes for others.
                after = functional.scaled_dot_product_attention(q, q, q)
                torch.testing.assert_close(before, after)
            finally:
                door.deactivate()
        self.assertFalse(door.is_active())


if __name__ == "__main__":
    unittest.main()
