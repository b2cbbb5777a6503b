# SPDX-License-Identifier: Apache-2.0
"""Numbers of mods that jax.numpy writes are JAX's: each element is compared, in the
interpreter."""

import unittest

import support
from test_jax import HAS_JAX

from fa3.errors import TraceError

if HAS_JAX:
    import jax
    import jax.numpy as jnp
    import numpy as np

    import fa3.jax
    from fa3.jax import trace


@unittest.skipUnless(HAS_JAX, "needs JAX")
@support.needs_interpreter
class NumbersTest(unittest.TestCase):
    def elements(self, function, count):
        """What a score_mod makes of a score of 0, for queries in front of one key: lse of
        a row of one score is that."""
        zeros = jnp.zeros((1, 1, count, 16), jnp.float16)
        _, lse = fa3.jax.attention(
            zeros, zeros[:, :, :1], zeros[:, :, :1], return_lse=True, interpret=True,
            score_mod=lambda s, b, h, i, j: s + function(i),
        )  # fmt: skip
        return np.asarray(lse).reshape(-1)

    def test_elements(self):
        rng = np.random.default_rng(0)
        byte = jnp.asarray(rng.integers(0, 256, 64), jnp.uint8)
        signed = jnp.asarray(rng.integers(-128, 128, 64), jnp.int8)
        short = jnp.asarray(rng.integers(-(2**15), 2**15, 64), jnp.int16)
        flags = jnp.asarray(rng.random(64) < 0.5)
        for number, function in enumerate((
            lambda i: byte[i] - byte[63 - i],
            lambda i: byte[i] + jnp.uint8(200),
            lambda i: ~byte[i],
            lambda i: signed[i] * jnp.int8(3),
            lambda i: short[i] + short[63 - i],
            lambda i: byte[i].astype(jnp.int32) - byte[63 - i],
            lambda i: (i * 7).astype(jnp.int8),
            lambda i: (i * 1000).astype(jnp.int16),
            lambda i: (i * 13.0 - 400).astype(jnp.uint8),
            lambda i: (i * 13.0 - 400).astype(jnp.int8),
            lambda i: i.astype(jnp.uint32),
            lambda i: ((i > 3) + flags[i]).astype(jnp.float32),
            lambda i: (~((i > 3) * flags[i])).astype(jnp.float32),
            lambda i: jnp.floor(i * 41 / 41),
            lambda i: (i * 49 / 49).astype(jnp.int32),
            lambda i: jnp.round(i / 10),
            lambda i: jnp.where(i / 41 >= 1, 1.0, 0.0),
            lambda i: i**0,
        )):  # fmt: skip
            with self.subTest(function=number):
                made = self.elements(function, 64)
                # XLA takes products for quotients, and 41 / 41 is less than 1 then.
                with jax.disable_jit():
                    expected = np.float32([function(jnp.int32(n)) for n in range(64)])
                np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-5)

    def test_what_cannot_be_traced_is_named(self):
        for function, said in (
            (jax.lax.round, "halves go to the even number"),
            (lambda s: s.astype(jnp.float8_e4m3fn), "conversion to float8_e4m3fn"),
            (lambda s: s.astype(jnp.uint16), "conversion to uint16"),
            (lambda s: s.astype(jnp.uint32), "conversion to uint32"),
            (lambda s: jax.lax.shift_right_arithmetic(s.astype(jnp.uint8), jnp.uint8(1)),
             "shift_right_arithmetic of unsigned numbers"),
        ):
            with self.assertRaisesRegex(TraceError, said):
                trace.trace_mods(lambda s, b, h, i, j: function(s), None)


if __name__ == "__main__":
    unittest.main()
