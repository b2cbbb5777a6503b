# SPDX-License-Identifier: Apache-2.0
"""What a release says of itself: scripts/wheel_contents.py, release_notes.py."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import release_notes  # noqa: E402
import wheel_contents as contents  # noqa: E402

URL, REF = "https://example.org/a/b", "v1.0"
HEAD = """\
Metadata-Version: 2.4
Name: x
License-Expression: Apache-2.0
License-File: LICENSE
Requires-Python: >=3.10

"""


class WheelContentsTest(unittest.TestCase):
    def test_links_are_absolute(self):
        text = "a ![plot](docs/a.svg), [page](docs/P.md#part), [site](https://x.org)"
        self.assertEqual(
            contents.absolute(text, URL, REF),
            f"a ![plot]({URL}/raw/{REF}/docs/a.svg), [page]({URL}/blob/{REF}/docs/P.md#part)"
            ", [site](https://x.org)",
        )

    def test_without_a_url_words_stay(self):
        text = "a ![plot](docs/a.svg), [page](docs/P.md#part), [site](https://x.org)"
        self.assertEqual(
            contents.absolute(text, "", REF), "a , page, [site](https://x.org)"
        )

    def test_no_link_of_the_readme_stays_relative(self):
        text = (ROOT / "README.md").read_text()
        for url in ("", URL):
            made = contents.absolute(text, url, REF)
            targets = [target for *_, target in contents.LINK.findall(made)]
            self.assertEqual([one for one in targets if not one.startswith("https:")], [])
            self.assertEqual(bool(targets), bool(url))

    def test_metadata(self):
        made = contents.describe(HEAD + "[page](docs/P.md)", URL, REF)
        lines = made.split("\n\n")[0].split("\n")
        (license,) = [one for one in lines if one.startswith("License-Expression: ")]
        self.assertIn("Apache-2.0 AND Apache-2.0 WITH LLVM-exception AND", license)
        self.assertIn("License-File: THIRD-PARTY-NOTICES.txt", lines)
        self.assertIn(f"Project-URL: Changelog, {URL}/blob/{REF}/CHANGELOG.md", lines)
        self.assertTrue(made.endswith(f"[page]({URL}/blob/{REF}/docs/P.md)"))
        self.assertNotIn("Project-URL", contents.describe(HEAD, "", REF))


class ExcludedTest(unittest.TestCase):
    def test_nothing_of_the_package(self):
        """What is left out of wheels is named from the root: `build` alone is any folder of
        that name."""
        text = (ROOT / "pyproject.toml").read_text()
        (listed,) = re.findall(r"^sdist\.exclude = \[(.*)\]$", text, re.MULTILINE)
        names = {one.name for one in (ROOT / "python" / "fa3").rglob("*")}
        self.assertIn("build", names)
        self.assertEqual(set(re.findall(r'"([^"]*)"', listed)) & names, set())


class ReleaseNotesTest(unittest.TestCase):
    CMAKE = "x\nproject(fa3 VERSION 1.2.0 LANGUAGES C)\n"

    def test_notes(self):
        text = "# C\n\n## Unreleased\n\na\n\n## 1.2.0\n\nb\n\n### Added\n\nc\n\n## 1.1.0\n\nd\n"
        made = release_notes.notes("v1.2.0", self.CMAKE, text)
        self.assertEqual(made, "b\n\n### Added\n\nc")

    def test_what_does_not_agree(self):
        for tag, text, words in (
            ("v1.3.0", "## 1.3.0\nx", "the version of CMakeLists.txt 1.2.0"),
            ("v1.2.0", "## Unreleased\nx", "no heading for 1.2.0"),
            ("v1.2.0", "## 1.2.0\n\n## 1.1.0\nx", "says nothing about 1.2.0"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                release_notes.notes(tag, self.CMAKE, text)


if __name__ == "__main__":
    unittest.main()
