"""Every induced failure fires where its file says, whole, split and byte by byte."""

from collections.abc import Iterator
from importlib.resources import files

import pytest

from entropyd.entropy.health import HealthTest, Verdict
from entropyd.entropy.induced.script import Replay, Script, parse_script, whole
from entropyd.errors import SelfTestError

SCRIPTS = {
    path.name.removesuffix(".txt"): parse_script(path.name, path.read_text())
    for path in files("entropyd.entropy.induced").iterdir()
    if path.name.endswith(".txt")
}
NAMES = sorted(SCRIPTS)
# A test of samples looks at them however they come; a stretch this long is cut so at its begin.
BYTEWISE = 8192


def split(samples: bytes) -> Iterator[bytes]:
    """Cut at 1, 5, 26, 131, ...: within runs, windows and the start-up test."""
    position, length = 0, 1
    while position < len(samples):
        yield samples[position : position + length]
        position += length
        length = length * 5 % 641


def byte_by_byte(samples: bytes) -> Iterator[bytes]:
    for sample in samples[:BYTEWISE]:
        yield bytes([sample])
    for start in range(BYTEWISE, len(samples), 509):
        yield samples[start : start + 509]


@pytest.mark.parametrize("cut", [whole, split, byte_by_byte], ids=lambda cut: cut.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_it_fires_where_its_file_says(name, cut):
    """The paragraph's alarms at the paragraph's samples, and no others."""
    replay = Replay(SCRIPTS[name], cut)
    assert replay.alarms or replay.rates


def test_every_test_and_severity_has_a_file_of_its_own():
    """Of bytes and of bits; and its file makes it fire twice, so that it is alive afterwards."""
    for prefix in ("", "bits-"):
        for test in HealthTest:
            for severity in Verdict:
                kinds = [alarm[:2] for alarm in SCRIPTS[f"{prefix}{test}-{severity}"].alarms()]
                assert kinds.count((str(test), str(severity))) == 2


@pytest.mark.parametrize("kind", ["slow", "fast"])
def test_every_rate_has_a_file_that_reports_it_twice(kind):
    assert [alarm[1] for alarm in SCRIPTS[f"rate-{kind}"].alarms()].count(kind) == 2


@pytest.mark.parametrize("name", NAMES)
def test_the_paragraph_names_the_first_sample_that_fires(name):
    """Readers can rely on the prose: it gives the index, or the rate, that the script expects."""
    script = SCRIPTS[name]
    alarms = [alarm for alarm in script.alarms() if alarm[1] != "steady"]
    assert alarms[0][2] in {word.strip(",.;:") for word in script.paragraph.split()}


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("open\nnoise 3072 x\nalarm rct intermittent 5\nsilent", "command 4: expected ('rct', "),
        ("open\nrepeat 5a 8\nsilent", "expected silence, found ['rct']"),
        ("open\nnoise 3072 x\nstate failed", "expected failed, found healthy"),
        ("open\nnoise 3584 x\ncredited 0", "expected 0 credited, found 512"),
        ("open\nnoise 10 x", "expected nothing more"),
        ("open\nlatch permanent-failure", "expected permanent-failure, found None"),
        ("open\nrate slow 1", "expected ('slow', '1'), found []"),
        ("open\nfailed-startups 1", "expected 1 failed start-ups, found 0"),
    ],
)
def test_what_is_not_as_a_script_says_is_said(lines, text):
    """A replay that could not fail would show nothing."""
    script = parse_script("a.txt", f"A paragraph.\n\nsource 8 6000\n{lines}")
    with pytest.raises(SelfTestError) as caught:
        Replay(script)
    assert text in str(caught.value)


def test_a_script_is_a_value():
    first = parse_script("a.txt", "Prose,\nmore.\n\nsource 8 6000\nopen\n")
    assert Script("a.txt", "Prose,\nmore.", (("source", "8", "6000"), ("open",))) == first
