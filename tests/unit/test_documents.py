"""What the documents point at is there: files, headings, and tests that are named as proof."""

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READMES = ("tests", "protos", "examples/player")
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / folder / "README.md" for folder in READMES),
    ]
)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
QUOTED_PATH = re.compile(
    r"`((?:entropyd|drivers|docs|tests|systemd|protos|monitoring|bench)/[\w./-]+\.[a-z]+)`"
)


def prose(path: Path) -> str:
    return FENCED.sub("", path.read_text("utf-8"))


def anchors(path: Path) -> set[str]:
    """The fragment of every heading, as the usual renderers make it."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(path):
    for target, fragment in LINK.findall(prose(path)):
        linked = (path.parent / target) if target else path
        assert linked.exists(), target
        if fragment:
            assert fragment in anchors(linked), f"{target}#{fragment}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_is_named_is_there(path):
    """From the root, or from the folder of a README."""
    named = QUOTED_PATH.findall(prose(path))
    bases = (ROOT, path.parent)
    missing = [name for name in named if not any((base / name).exists() for base in bases)]
    assert [] == missing


def test_the_threat_model_names_a_test_for_every_promise():
    """Ten of them, in order."""
    text = (ROOT / "docs" / "threat-model.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d+)\. .*?\|(.*?)\|", text, re.MULTILINE)
    assert list(range(1, 11)) == [int(number) for number, _ in rows]
    assert [] == [number for number, tests in rows if "../tests/" not in tests]


def test_verifiers_say_what_the_page_about_verifying_explains():
    """Each cause in its table is a text of theirs."""
    text = (ROOT / "docs" / "verifying.md").read_text("utf-8")
    said = "".join(path.read_text("utf-8") for path in (ROOT / "entropyd/verify").glob("*.py"))
    said = re.sub(r'"\s+f?"', "", said)  # literals that go on in the next line
    table = text.split("| what was found |")[1].split("\n## ")[0]
    causes = re.findall(r"^\| `(a [^`]+|the [^`]+|an [^`]+)` \|", table, re.MULTILINE)
    assert 4 <= len(causes)
    assert [] == [cause for cause in causes if cause not in said]


@pytest.mark.parametrize("changed", [False, True])
def test_a_signature_is_checked_by_openssl_as_auditors_are_told(tmp_path, changed):
    """On the receipt of the worked example, whose key the commands name."""
    verifying = (ROOT / "docs" / "verifying.md").read_text("utf-8")
    protocol = (ROOT / "docs" / "protocol.md").read_text("utf-8")
    (commands,) = re.findall(r"^```sh\n(.*?)^```$", verifying, re.MULTILINE | re.DOTALL)
    (note,) = re.findall(r"^note_3 = (.*)$", protocol, re.MULTILINE)
    text = json.loads(note)
    (tmp_path / "note.txt").write_text(text.replace("dealt: 32", "dealt: 33") if changed else text)
    done = subprocess.run(
        ["sh", "-e", "-c", commands], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (changed, not changed) == (done.returncode != 0, "Verified Success" in done.stdout)
