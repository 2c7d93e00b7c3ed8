"""Every induced failure fires where its file says, whole, split and byte by byte."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from entropyd.entropy.entropy_source import CreditedBlock, EntropySource, HealthAlarm, HealthPolicy
from entropyd.entropy.health import HealthTest, Verdict
from entropyd.entropy.source import NoiseSourceInfo, SourceKind
from tests.fakes.noise import noise

FILES = sorted(Path(__file__).parent.glob("*.txt"))
POLICY = HealthPolicy(first_assessment_samples=2048, assessment_window_samples=8192)

Cut = Callable[[bytes], Iterator[bytes]]


def whole(samples: bytes) -> Iterator[bytes]:
    yield samples


def split(samples: bytes) -> Iterator[bytes]:
    """Cut at 1, 5, 26, 131, ...: within runs, windows and the start-up test."""
    position, length = 0, 1
    while position < len(samples):
        yield samples[position : position + length]
        position += length
        length = length * 5 % 641


def byte_by_byte(samples: bytes) -> Iterator[bytes]:
    for sample in samples:
        yield bytes([sample])


def script_of(path: Path) -> tuple[str, list[list[str]]]:
    """Return the paragraph and the lines of words of an induced failure."""
    paragraph, _, script = path.read_text().partition("\n\n")
    return paragraph, [line.split() for line in script.splitlines()]


class Replay:
    """Carries out a script against the production machine. One method a line; see README.md."""

    def __init__(self, script: list[list[str]], cut: Cut) -> None:
        word, bits, claim = script[0]
        assert word == "source"
        self.bits = int(bits)
        info = NoiseSourceInfo(
            "induced", "replay", SourceKind.REPLAY, self.bits, int(claim), "README.md"
        )
        self.source = EntropySource(info, POLICY)
        self.cut = cut
        self.waiting = b""
        self.alarms: list[HealthAlarm] = []
        self.expected = 0
        self.held: list[CreditedBlock] = []
        self.run(script[1:])

    def run(self, script: list[list[str]]) -> None:
        for word, *rest in script:
            if word in {"noise", "repeat", "cycle"}:
                self.waiting += getattr(self, word)(*rest)
                continue
            # Neighbouring lines of samples are one stretch: "whole" means all of it in one call.
            self.feed(self.waiting)
            self.waiting = b""
            getattr(self, "do_" + word.replace("-", "_"))(*rest)
        assert self.waiting == b"", "the script ends with samples that nothing is expected of"
        self.do_silent()

    def feed(self, samples: bytes) -> None:
        for piece in self.cut(samples) if samples else ():
            result = self.source.feed(piece, 0)
            if result.alarms:
                self.held.clear()
            self.held += result.blocks
            self.alarms += result.alarms

    def noise(self, samples: str, *label: str) -> bytes:
        stream = noise(int(samples), " ".join(label))
        return stream if self.bits == 8 else bytes(sample & 1 for sample in stream)

    @staticmethod
    def repeat(sample: str, times: str) -> bytes:
        return bytes.fromhex(sample) * int(times)

    @staticmethod
    def cycle(samples: str, times: str) -> bytes:
        return bytes.fromhex(samples) * int(times)

    def do_open(self) -> None:
        self.source.on_opened(0)

    def do_lost(self) -> None:
        self.source.on_lost(0)
        self.held.clear()

    def do_reset(self, *reason: str) -> None:
        self.source.reset(0, " ".join(reason))

    def do_alarm(self, test: str, severity: str, index: str) -> None:
        told = [(a.test, a.severity, a.sample_index) for a in self.alarms[self.expected :]]
        assert (HealthTest(test), Verdict(severity), int(index)) in told[:1], told
        self.expected += 1

    def do_silent(self) -> None:
        assert self.alarms[self.expected :] == []

    def do_state(self, state: str) -> None:
        assert str(self.source.state) == state

    def do_credited(self, samples: str) -> None:
        assert sum(len(block.samples) for block in self.held) == int(samples)

    def do_failed_startups(self, count: str) -> None:
        assert self.source.history.startup_failures == int(count)

    def do_latch(self, reason: str) -> None:
        assert str(self.source.history.latch) == reason


@pytest.mark.parametrize("cut", [whole, split, byte_by_byte], ids=lambda cut: cut.__name__)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_fires_where_its_file_says(path, cut):
    """The paragraph's alarms at the paragraph's samples, and no others."""
    _, script = script_of(path)
    assert Replay(script, cut).alarms != []


def alarm_lines(path):
    _, script = script_of(path)
    return [tuple(rest) for word, *rest in script if word == "alarm"]


def test_every_test_and_severity_has_a_file_of_its_own():
    """Of bytes and of bits; and its file makes it fire twice, so that it is alive afterwards."""
    stems = {path.stem: path for path in FILES}
    for prefix in ("", "bits-"):
        for test in HealthTest:
            for severity in Verdict:
                kinds = [line[:2] for line in alarm_lines(stems[f"{prefix}{test}-{severity}"])]
                assert kinds.count((str(test), str(severity))) == 2


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_paragraph_names_the_first_sample_that_fires(path):
    """Readers can rely on the prose: it gives the index that the script expects."""
    paragraph, _ = script_of(path)
    assert alarm_lines(path)[0][2] in {word.strip(",.;:") for word in paragraph.split()}
