"""Carries out the script of an induced failure against the production health machine.

A method for each kind of line; README.md says what they mean. What is not as
the script says raises SelfTestError with file and line.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count

from entropyd.entropy.credited import CreditedBlock
from entropyd.entropy.entropy_source import EntropySource, HealthAlarm
from entropyd.entropy.health_history import HealthPolicy
from entropyd.entropy.rate import RateChange
from entropyd.entropy.source import NoiseSourceInfo, SourceKind
from entropyd.errors import SelfTestError

# As in production, but that the first assessment comes after 2,048 samples: so a file stays short.
POLICY = HealthPolicy(first_assessment_samples=2048, assessment_window_samples=8192)

# How a stretch of samples is cut into calls of the health machine.
Cut = Callable[[bytes], Iterable[bytes]]


@dataclass(frozen=True)
class Script:
    """One induced failure.

    Attributes:
        name: of its file.
        paragraph: what fires, where, why, and what stays silent; for people.
        lines: words of each line, the first of which are about the source.
    """

    name: str
    paragraph: str
    lines: tuple[tuple[str, ...], ...]

    def alarms(self) -> list[tuple[str, str, str]]:
        """Return (test, severity, sample index or measured rate) of each alarm that it expects."""
        return [
            ("rate", line[1], line[2]) if line[0] == "rate" else (line[1], line[2], line[3])
            for line in self.lines
            if line[0] in {"alarm", "rate"}
        ]


def parse_script(name: str, text: str) -> Script:
    """Return the script in a file: a paragraph, an empty line, and a command a line."""
    paragraph, _, commands = text.partition("\n\n")
    return Script(name, paragraph, tuple(tuple(line.split()) for line in commands.splitlines()))


def whole(samples: bytes) -> Iterator[bytes]:
    """Cut nowhere."""
    yield samples


def made_up(samples: int, label: str) -> bytes:
    """Return so many bytes of SHA-512 over a counter: another stream for each label. No entropy."""
    blocks = -(-samples // 64)
    stream = (hashlib.sha512(f"{label}/{n}".encode()).digest() for n in count())
    return b"".join(next(stream) for _ in range(blocks))[:samples]


class Replay:
    """Carries out one script.

    Attributes:
        alarms: what fired, in order.
        rates: changes of the rate, in order.
    """

    def __init__(self, script: Script, cut: Cut = whole) -> None:
        """Carry it out, from the first line to the last.

        Raises:
            SelfTestError: something is not as the script says.
        """
        self.alarms: list[HealthAlarm] = []
        self.rates: list[RateChange] = []
        self._script = script
        self._cut = cut
        self._now_ns = 0
        self._waiting = b""
        self._expected = 0
        self._expected_rates = 0
        self._held: list[CreditedBlock] = []
        first, *others = script.lines
        self._line = 1
        self._source = self._make_source(*first)
        for self._line, line in enumerate(others, 2):
            self._carry_out(*line)
        self._demand("nothing more", "samples", not self._waiting)
        self._do_silent()

    def _make_source(self, word: str, bits: str, claim: str, rate: str = "0") -> EntropySource:
        self._demand("source", word, word == "source")
        self._bits = int(bits)
        return EntropySource(
            NoiseSourceInfo(
                source_id=self._script.name,
                driver="replay",
                kind=SourceKind.REPLAY,
                sample_bits=self._bits,
                claimed_millibits=int(claim),
                claim_note="README.md",
                nominal_rate=int(rate),
            ),
            POLICY,
        )

    def _carry_out(self, word: str, *rest: str) -> None:
        if word in {"noise", "biased", "repeat", "cycle"}:
            self._waiting += getattr(self, f"_{word}")(*rest)
            return
        # Neighbouring lines of samples are one stretch: uncut, all of it is one call.
        self._feed(self._waiting)
        self._waiting = b""
        getattr(self, "_do_" + word.replace("-", "_"))(*rest)

    def _feed(self, samples: bytes) -> None:
        for piece in self._cut(samples) if samples else ():
            result = self._source.feed(piece, self._now_ns)
            if result.alarms:
                self._held.clear()
            self._held += result.blocks
            self.alarms += result.alarms
            self.rates += [] if result.rate is None else [result.rate]

    def _demand(self, expected: object, found: object, is_so: bool) -> None:  # noqa: FBT001
        if not is_so:
            raise SelfTestError(
                f"induced failure {self._script.name}, command {self._line}: expected {expected},"
                f" found {found}"
            )

    # --- samples ---

    def _noise(self, samples: str, *label: str) -> bytes:
        stream = made_up(int(samples), " ".join(label))
        return stream if self._bits == 8 else bytes(sample & 1 for sample in stream)

    def _biased(self, samples: str, every: str, *label: str) -> bytes:
        stream = self._noise(samples, *label)
        if self._bits == 1:
            return bytes(1 if place % int(every) == 0 else bit for place, bit in enumerate(stream))
        # So many bytes hold eight bits that are set, and then the pattern comes again.
        pattern = sum(1 << bit for bit in range(0, 8 * int(every), int(every)))
        mask = pattern.to_bytes(int(every), "little") * (len(stream) // int(every) + 1)
        return bytes(sample | more for sample, more in zip(stream, mask, strict=False))

    @staticmethod
    def _repeat(sample: str, times: str) -> bytes:
        return bytes.fromhex(sample) * int(times)

    @staticmethod
    def _cycle(samples: str, times: str) -> bytes:
        return bytes.fromhex(samples) * int(times)

    # --- events ---

    def _do_open(self) -> None:
        self._source.on_opened(self._now_ns)

    def _do_lost(self) -> None:
        self._source.on_lost(self._now_ns)
        self._held.clear()

    def _do_reset(self, *reason: str) -> None:
        self._source.reset(self._now_ns, " ".join(reason))

    def _do_seconds(self, seconds: str) -> None:
        self._now_ns += int(seconds) * 10**9

    # --- expectations ---

    def _do_alarm(self, test: str, severity: str, index: str) -> None:
        told = [
            (str(alarm.test), str(alarm.severity), str(alarm.sample_index))
            for alarm in self.alarms[self._expected :]
        ]
        self._demand((test, severity, index), told[:3], told[:1] == [(test, severity, index)])
        self._expected += 1

    def _do_rate(self, rate: str, measured: str) -> None:
        told = [(str(c.rate), str(c.samples_per_s)) for c in self.rates[self._expected_rates :]]
        self._demand((rate, measured), told, told[:1] == [(rate, measured)])
        self._expected_rates += 1

    def _do_silent(self) -> None:
        alarms = [str(alarm.test) for alarm in self.alarms[self._expected :]]
        rates = [str(change.rate) for change in self.rates[self._expected_rates :]]
        self._demand("silence", alarms + rates, not alarms and not rates)

    def _do_state(self, state: str) -> None:
        self._demand(state, self._source.state, state == str(self._source.state))

    def _do_credited(self, samples: str) -> None:
        held = sum(len(block.samples) for block in self._held)
        self._demand(f"{samples} credited", held, int(samples) == held)

    def _do_failed_startups(self, number: str) -> None:
        failures = self._source.history.startup_failures
        self._demand(f"{number} failed start-ups", failures, int(number) == failures)

    def _do_latch(self, reason: str) -> None:
        self._demand(reason, self._source.history.latch, reason == self._source.history.latch)
