# SPDX-License-Identifier: Apache-2.0
"""Unit tests of benchmarks/; the first argument is the source folder."""

import math
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else pathlib.Path()
for folder in ("benchmarks", "test/Device", "python"):
    sys.path.insert(0, str(ROOT / folder))

from fa3_benchmarks import cells, minima, presets, report  # noqa: E402
from fa3_benchmarks import rows, tables  # noqa: E402
from fa3_device.features import Mask  # noqa: E402


def time(ms):
    return types.SimpleNamespace(
        ms=ms, low=ms, high=ms, mhz=1980.0, tflops=lambda f: f / ms / 1e9
    )


def measured(preset, cell, kernel, ms, **more):
    return rows.row(preset, cell, "single", kernel, time(ms), **more)


class Cells(unittest.TestCase):
    def test_table_is_complete(self):
        found = presets.PRESETS["table"]().cells
        self.assertEqual(len(found), 3 * 2 * 6)
        self.assertEqual(len({c.name for c in found}), len(found))
        for c in found:
            self.assertEqual(c.batch * c.length, 16384)
            self.assertEqual(c.heads * c.d, 2048)

    def test_names_are_unique_in_every_preset(self):
        for name, preset in presets.PRESETS.items():
            found = [c.name for c in preset().cells]
            self.assertEqual(len(set(found)), len(found), name)

    def test_flops(self):
        full = presets.cell("f16", 128, "full", 4096)
        self.assertEqual(full.flops, 4 * 4 * 16 * 4096 * 4096 * 128)
        causal = presets.cell("f16", 128, "causal", 4096)
        self.assertEqual(2 * causal.flops, full.flops)
        uneven = presets.cell("f16", 192, "full", 4096, dv=128, heads=16)
        self.assertEqual(uneven.flops, 2 * 4 * 16 * 4096 * 4096 * 320)

    def test_visible_scores_by_definition(self):
        length = 37
        for mask in (
            Mask(),
            Mask(causal=True),
            Mask(window=(5, 3)),
            Mask(window=(None, 3)),
            Mask(causal=True, window=(6, None)),
            Mask(causal=True, window=(6, 4)),
        ):
            left, right = mask.window or (None, None)
            count = sum(
                (not mask.causal or j <= i)
                and (left is None or j >= i - left)
                and (right is None or j <= i + right)
                for i in range(length)
                for j in range(length)
            )
            self.assertEqual(cells.visible_scores(mask, length), count)
            # Tiles of one score are the scores.
            touched = cells.touched_scores(mask, length, 1, 1)
            self.assertEqual(touched, count)

    def test_touched_tiles(self):
        causal = Mask(causal=True)
        # Of 4 x 4 tiles, 10 lie on or below the diagonal.
        self.assertEqual(cells.touched_scores(causal, 256, 64, 64), 10 * 4096)
        # 2 tiles of 128 rows: 2 and 4 of 64 keys.
        self.assertEqual(cells.touched_scores(causal, 256, 128, 64), 6 * 8192)
        window = Mask(causal=True, window=(64, None))
        self.assertEqual(cells.touched_scores(window, 256, 64, 64), 7 * 4096)

    def test_static_and_dynamic_modules(self):
        cell = presets.cell("bf16", 64, "causal", 8192, batch=2, key_heads=8)
        static, dynamic = cell.module(), cell.module(dynamic=True)
        self.assertIn("%q: tensor<2x32x8192x64xbf16>", static)
        self.assertIn("%k: tensor<2x8x8192x64xbf16>", static)
        self.assertIn("tensor<2x32x8192xf32>", static)
        self.assertIn("%q: tensor<?x?x?x64xbf16>", dynamic)
        for text in (static, dynamic):
            self.assertIn("mods [#attention.causal]", text)

    def test_models_know_heads_only(self):
        preset = presets.PRESETS["models"]()
        self.assertGreaterEqual(len(preset.cells), 40)
        self.assertEqual(len({c.family for c in preset.cells}), len(preset.cells))
        self.assertEqual({c.process for c in preset.cells}, {"models"})
        self.assertEqual(preset.unknown, {"fa3": "lengths"})
        cell = next(c for c in preset.cells if c.model == "Gemma-3 1B, local")
        text = cell.module(dynamic=True, knows_heads=True)
        self.assertIn("%q: tensor<?x4x?x256xbf16>", text)
        self.assertIn("%k: tensor<?x1x?x256xbf16>", text)
        self.assertIn("#attention.window<left = 511>", text)

    def test_lengths_compare_what_is_known(self):
        preset = presets.PRESETS["lengths"]()
        self.assertEqual(len(preset.cells), 36 + 5)
        given = types.SimpleNamespace(
            types=None, dims=None, masks=None, lengths=[512],
            variant=["mode=cta"], peers=None, modes=None, slow_lengths=None,
        )  # fmt: skip
        narrowed = presets.narrow(preset, given)
        self.assertEqual(
            narrowed.unknown,
            {"lengths": "lengths", "extents": "extents", "mode=cta": "lengths"},
        )

    def test_serving(self):
        decode = presets.PRESETS["decode"]()
        cell = next(c for c in decode.cells if c.keys == (32768,) * 8 and c.key_heads == 8)
        # K and V of 8 heads in bf16, read once; 4 operations for each element.
        self.assertEqual(cell.bytes, 8 * 32768 * 8 * 128 * 2 * 2)
        self.assertEqual(cell.flops, 8 * 32768 * 32 * 128 * 4)
        self.assertEqual(cell.parts, (2, 4, 1))
        self.assertEqual(list(decode.variants_of(cell)), ["fa3", "4 parts", "1 parts"])
        self.assertIn("splits %splits_index", decode.module_of(cell, "fa3", False))
        self.assertNotIn("splits", decode.module_of(cell, "1 parts", False))
        mix, balanced = presets.PRESETS["varlen"]().cells[:2]
        self.assertEqual((len(mix.keys), sum(mix.keys)), (24, 65480))
        self.assertEqual(mix.bytes, 0)
        self.assertEqual(list(mix.variants()), ["fa3", "unknown heads"])
        self.assertIn("dense", balanced.variants())
        self.assertEqual(balanced.flops, balanced.dense_cell().flops)
        self.assertIn("tensor<?x8x?x128xbf16>", balanced.module("dense"))
        self.assertIn("tensor<?x?x128xbf16>", balanced.module("unknown heads"))
        wide, small = presets.PRESETS["paged"]().cells[::5]
        self.assertEqual(wide.bytes, 2 * small.bytes)
        self.assertIn("%k_descale: tensor<?x8x1xf32>", small.module())
        small = presets.PRESETS["varlen"]().cells[5]
        self.assertEqual(small.flops, balanced.flops)
        self.assertEqual(list(small.variants()), ["fa3", "unknown heads"])
        self.assertIn("-> (tensor<?x32x128xbf16> ", small.module())
        self.assertIn("%q_descale: tensor<?x?x1xf32>", small.module("unknown heads"))
        whole, *halves = presets.PRESETS["mixed"]().cells
        self.assertEqual(whole.flops, sum(c.flops for c in halves))
        self.assertEqual(whole.arrays, ("cu_q", "used_k", "page_table"))
        for c in presets.PRESETS["append"]().cells:
            self.assertIn("attention.append", c.module())

    def test_packed_gradients(self):
        preset = presets.PRESETS["backward-varlen"]()
        mix, balanced, narrow = preset.cells
        self.assertEqual(mix.flops, 2 * narrow.flops)
        forward = presets.PRESETS["varlen"]().cells[0]
        self.assertEqual(2 * mix.flops, 5 * forward.flops)
        self.assertEqual(list(preset.variants_of(mix)), ["fa3", "split", "fused"])
        self.assertIn("dense", preset.variants_of(balanced))
        self.assertEqual(balanced.flops, balanced.dense_cell().flops)
        text = preset.module_of(mix, "split", False)
        self.assertIn("attention.backward %q, %k, %v, %o, %lse, %do", text)
        self.assertIn("#attention.packed<q = 0, k = 1>", text)
        self.assertIn("%q: tensor<?x32x128xbf16>", text)
        dense = preset.module_of(balanced, "dense", False)
        self.assertIn("%k: tensor<?x8x?x128xbf16>", dense)

    def test_narrow(self):
        given = types.SimpleNamespace(
            types=None, dims=["192x128"], masks=["causal"], lengths=None,
            variant=["mode=cta"], peers=[], modes=["burst"],
            slow_lengths=None,
        )  # fmt: skip
        preset = presets.narrow(presets.PRESETS["head-dims"](), given)
        self.assertEqual(
            [c.name for c in preset.cells],
            ["f16-d192x128-causal-b2-h16-s8192"],
        )
        self.assertEqual(preset.variants, {"fa3": "", "mode=cta": "mode=cta"})
        self.assertEqual((preset.peers, preset.modes), ((), ("burst",)))


class Rows(unittest.TestCase):
    def setUp(self):
        cell = presets.cell("f16", 128, "full", 4096)
        longer = presets.cell("f16", 128, "full", 8192)
        self.rows = [
            measured("table", cell, "cudnn", 1.0, error=2e-4),
            measured("table", cell, "fa3", 0.8, block_m=192, block_n=80),
            measured("table", longer, "fa3", 2.0),
        ]
        rows.add_ratios(self.rows)

    def test_ratio_is_of_throughputs_of_one_problem(self):
        found = [r.of_cudnn for r in self.rows]
        self.assertAlmostEqual(found[0], 1.0)
        self.assertAlmostEqual(found[1], 1.25)
        self.assertEqual(found[2], 0.0)

    def test_file_round_trip(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rows.csv"
            rows.write(path, self.rows)
            again = rows.read(path)
            done = subprocess.run(
                [sys.executable, str(ROOT / "benchmarks" / "attention.py"),
                 "--from-csv", str(path)], capture_output=True, text=True,
            )  # fmt: skip
        self.assertEqual([r.problem for r in again],
                         [r.problem for r in self.rows])  # fmt: skip
        self.assertEqual((again[1].block_m, again[1].block_n), (192, 80))
        self.assertAlmostEqual(again[1].of_cudnn, 1.25, places=3)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("holds: d128 full 4096 over cuDNN 1.250 >= 1.07",
                      done.stdout)  # fmt: skip

    def test_many_families_of_one_length_have_a_line_each(self):
        preset = presets.PRESETS["models"]()
        found = [
            rows.row("models", c, "single", kernel, time(ms))
            for c in preset.cells
            for kernel, ms in (("cudnn", 2.0), ("fa3", 1.0))
        ]
        text = "\n".join(report.tables(found, "cudnn"))
        self.assertEqual(len(text.splitlines()), 2 + len(preset.cells))
        line = next(t for t in text.splitlines() if t.startswith("T5 11B"))
        self.assertIn("1000.0 us", line)
        self.assertTrue(line.endswith("2.00"))

    def test_few_queries_have_bytes(self):
        cell = presets.PRESETS["decode"]().cells[0]
        row = measured("decode", cell, "fa3", 0.25)
        self.assertAlmostEqual(row.gbps, cell.bytes / 0.25 / 1e6)
        text = "\n".join(report.tables([row], "cudnn"))
        self.assertIn("8 x 32768 keys", text)
        self.assertIn("250.0 us 4295 GB/s", text)

    def test_table(self):
        text = report.table(self.rows, "length", "cudnn", "title")
        lines = [line.split() for line in text.splitlines()]
        self.assertEqual(lines[1], ["kernel", "4096", "8192"])
        self.assertEqual(lines[2][0::2], ["cudnn", "1.00"])
        self.assertEqual(lines[2][3], "-")
        self.assertEqual(lines[3][:1] + lines[3][2:3], ["fa3", "1.25"])
        self.assertEqual(len({len(x) for x in text.splitlines()[1:]}), 1)


class Minima(unittest.TestCase):
    def by_name(self, preset, measurements):
        return {v.what: v for v in minima.verdicts(preset, measurements)}

    def test_table_has_a_minimum_for_each_cell(self):
        found = minima.verdicts("table", [])
        named = {v.what for v in found}
        for c in presets.PRESETS["table"]().cells:
            self.assertIn(f"{c.family} {c.length} over cuDNN", named)
        self.assertTrue(all(v.holds is None for v in found))

    def test_table_and_aims(self):
        measurements = []
        for length, ms in ((8192, 0.8), (16384, 0.95)):
            cell = presets.cell("f16", 128, "causal", length)
            for kernel, t in (("cudnn", 1.0), ("fa3", ms), ("cO80w_si", 0.9)):
                measurements.append(measured("table", cell, kernel, t))
        found = self.by_name("table", measurements)
        self.assertTrue(found["d128 causal 8192 over cuDNN"].holds)
        self.assertFalse(found["d128 causal 16384 over cuDNN"].holds)
        self.assertTrue(found["d128 causal 8192 over cO80w_si"].holds)
        self.assertFalse(found["d128 causal 16384 over cO80w_si"].holds)
        self.assertAlmostEqual(found["share of cells at the aim"].value, 0.5)

    def test_other_modes_do_not_count(self):
        cell = presets.cell("f16", 128, "causal", 8192)
        some = [measured("table", cell, k, 1.0) for k in ("fa3", "cudnn")]
        for r in some:
            r.mode = "burst"
        found = self.by_name("table", some)
        self.assertIsNone(found["d128 causal 8192 over cuDNN"].holds)

    def test_bf16(self):
        some = [
            measured("bf16", presets.cell(t, 64, "full", 512), "fa3", ms)
            for t, ms in (("f16", 1.0), ("bf16", 1.03))
        ]
        found = self.by_name("bf16", some)["d64 full 512 bf16 over f16"]
        self.assertAlmostEqual(found.value, 1 / 1.03)
        self.assertFalse(found.holds)

    def test_fp8(self):
        cell = presets.cell("f8E4M3FN", 128, "full", 4096)
        for tflops, holds in ((990, True), (970, False)):
            some = [measured("fp8", cell, "fa3", cell.flops / tflops * 1e-9)]
            found = self.by_name("fp8", some)["d128 full 4096 8-bit TFLOP/s"]
            self.assertAlmostEqual(found.value, tflops)
            self.assertEqual(found.holds, holds)

    def test_window(self):
        cells_of = {c.mask_name: c for c in presets.PRESETS["window"]().cells}
        causal, window = cells_of["causal"], cells_of["causal-window"]
        tile = {"block_m": 192, "block_n": 80}
        share = cells.touched_scores(window.mask, 16384, 192, 80)
        share /= cells.touched_scores(causal.mask, 16384, 192, 80)
        self.assertTrue(0.12 < share < 0.16)
        for factor, holds in ((1.1, True), (1.2, False)):
            some = [
                measured("window", causal, "fa3", 3.0, **tile),
                measured("window", window, "fa3", 3.0 * share * factor, **tile),
            ]
            name = "causal-window time over share of tiles"
            found = self.by_name("window", some)[name]
            self.assertAlmostEqual(found.value, factor)
            self.assertEqual(found.holds, holds)

    def test_mods_and_head_dims(self):
        mods = presets.PRESETS["mods"]().cells
        times = {(True, "causal"): 1.0, (False, "causal"): 0.95}
        some = [
            measured("mods", c, "fa3", times.get((c.lse, c.mask_name), 1.07))
            for c in mods
        ]
        found = self.by_name("mods", some)
        self.assertTrue(found["causal-softcap time over causal"].holds)
        self.assertFalse(found["causal-softcap no lse time over causal"].holds)
        self.assertFalse(found["causal-alibi time over causal"].holds)
        self.assertEqual(len(found), 4)
        dims = presets.PRESETS["head-dims"]().cells
        some = [measured("head-dims", c, "fa3", 1e-12 * c.flops) for c in dims]
        found = minima.verdicts("head-dims", some)
        self.assertEqual(len(found), 12)
        self.assertTrue(all(math.isclose(v.value, 1.0) for v in found))

    def test_presets_without_minima_say_so(self):
        cell = presets.cell("f16", 128, "full", 16384)
        text = report.summary([measured("sustained", cell, "fa3", 1)], "cudnn")
        self.assertIn("minima of sustained: none known", text)


class Tables(unittest.TestCase):
    """Tuning tables from measured rows."""

    def rows(self):
        found = []
        for length, speeds in ((1024, (2.0, 1.0, 1.9)), (4096, (1.0, 1.2))):
            cell = presets.cell("f16", 128, "full", length)
            names = ("fa3", "block-n=64", "rescale=eager")
            for name, ms in zip(names, speeds):
                found.append(measured("tune", cell, name, ms))
        return found

    def test_the_fastest_point_is_chosen_if_it_gains(self):
        short, long = tables.choose(self.rows(), 1.01)
        self.assertEqual(short["options"], "block-n=64")
        self.assertAlmostEqual(short["tflops"] / short["default"], 2, 2)
        self.assertEqual((long["length"], long["options"]), (4096, ""))

    def test_points_of_unknown_lengths_serve_all_of_them(self):
        (entry,) = tables.choose(self.rows(), 1.01, dynamic=True)
        # 2 * 1 against 1 * 1.2: rescale=eager was not measured everywhere.
        self.assertEqual((entry["length"], entry["options"]), (0, "block-n=64"))
        (entry,) = tables.choose(self.rows(), 1.5, dynamic=True)
        self.assertEqual(entry["options"], "")

    def test_ranges_of_unknown_lengths_have_points_of_their_own(self):
        some = self.rows()
        short, long = tables.choose(some, 1.01, dynamic=True, ranges=3)
        self.assertEqual((short["length"], short["below"]), (0, 2048))
        self.assertEqual(short["options"], "block-n=64")
        self.assertAlmostEqual(short["tflops"] / short["default"], 2, 2)
        self.assertEqual((long["options"], "below" in long), ("", False))
        self.assertEqual(long["tflops"], long["default"])
        text = tables.report(some, [short, long], dynamic=True)
        self.assertIn("full below 2048: block-n=64", text)
        self.assertIn("full any: no option", text)
        # 1.2 at one of two lengths is less than 10 % in the mean.
        (entry,) = tables.choose(some, 1.1, dynamic=True, ranges=3)
        self.assertEqual(entry["options"], "block-n=64")
        # Ranges take the place of what there was of their class.
        kept = [dict(entry, below=512), dict(long, length=1024)]
        merged = tables.merge(kept, [short, long])
        self.assertEqual(merged, [kept[1], short, long])

    def test_entries_know_the_width_of_the_elements(self):
        rows = self.rows()
        cell = presets.cell("f8E4M3FN", 128, "full", 1024)
        rows.append(measured("tune", cell, "fa3", 1.0))
        entries = tables.choose(rows, 1.01)
        self.assertEqual([e["bits"] for e in entries], [16, 16, 8])
        self.assertIn("2 of 3", tables.report(rows, entries))

    def test_report_counts_what_the_cost_model_misses(self):
        entries = tables.choose(self.rows(), 1.01)
        text = tables.report(self.rows(), entries)
        self.assertIn("d 128 full 1024: block-n=64: ", text)
        self.assertIn("within 5 % of the best point: 1 of 2", text)

    def test_tables_are_written_and_merged(self):
        entries = tables.choose(self.rows(), 1.01)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "t.json"
            tables.write(path, entries, "here")
            self.assertEqual(tables.read(path), entries)
            tables.write(path, [], "here")
            self.assertEqual(tables.read(path), [])
        other = dict(entries[0], options="stages=1")
        self.assertEqual(tables.merge([other], entries), entries)
        other["d"] = 64
        self.assertEqual(tables.merge([other], entries), [other, *entries])


if __name__ == "__main__":
    unittest.main()
