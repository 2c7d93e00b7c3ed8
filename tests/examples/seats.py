"""The two players of examples/player/, each in a process that a whole test program shares."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from entropyd.hands.seats import Seat
from tests.examples.programs import NODE
from tests.fakes.hand_dealer import RECEIPTS, HandDealer, Message, plain
from tests.fakes.opened_hands import made

HERE = Path(__file__).parent
DRIVERS = {
    "python": [sys.executable, str(HERE / "player_driver.py")],
    "js": [str(NODE / "bin" / "node"), "--no-warnings", str(HERE / "player_driver.mjs")],
}
# As their readers run them.
PROGRAMS = {
    "python": [sys.executable, "python/play.py"],
    "js": [str(NODE / "bin" / "node"), "--no-warnings", "js/play.mjs"],
}
EXAMPLES = HERE.parents[1] / "examples" / "player"


class Driver:
    """A process that runs players of one language, one after the other."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._process = subprocess.Popen(
            DRIVERS[language], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE
        )

    def ask(self, **order: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def end(self) -> int:
        """Let it read to its end, and return its exit code."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        return self._process.wait(timeout=30)


@dataclass
class Sitting:
    """A seat of one hand, played by a driver.

    Attributes:
        driver: its process.
        seat: its id.
        secrets: where it keeps its value.
        keyed: whether it signs with a key of its own.
    """

    driver: Driver
    seat: str
    secrets: Path
    keyed: bool = True

    @property
    def key_seed(self) -> bytes:
        return made(f"key of {self.seat}", 32) if self.keyed else b""

    def public(self) -> Seat:
        if not self.keyed:
            return Seat(self.seat)
        key = Ed25519PrivateKey.from_private_bytes(self.key_seed)
        return Seat(self.seat, key.public_key().public_bytes_raw())

    def knows(self, dealer: HandDealer, **known: Any) -> dict[str, Any]:
        """Return what a player knows of its table before a hand."""
        return {
            "receipt_key": RECEIPTS.key.encode(),
            "tenant": "acme",
            "table": "table-7",
            "seat": self.seat,
            "rules": dealer.rules,
            **known,
        }

    def sit(self, dealer: HandDealer, **known: Any) -> None:
        self.driver.ask(
            do="sit",
            table=self.knows(dealer, **known),
            key_seed=self.key_seed.hex(),
            now_ms=dealer.ms + 500,
            secrets=str(self.secrets),
        )

    def take(self, message: Message) -> Any:
        """Give it a message that it takes, and return its answer."""
        out = self.driver.ask(do="take", message=plain(message))
        assert "refused" not in out, out
        return out["answer"]

    def refuses(self, message: Message) -> tuple[str, str]:
        """Give it a message that it does not take, and return the step and check that it names."""
        out = self.driver.ask(do="take", message=plain(message))
        assert "Do not act on this hand" in out["text"]
        step, check = out["refused"]
        return step, check

    def look(self) -> dict[str, Any]:
        return self.driver.ask(do="look")


def publics(seats: Sequence[Sitting]) -> list[Seat]:
    """Return the seats as a dealer names them."""
    return [seat.public() for seat in seats]


RECIPIENTS = ("seat-1", "seat-2", "seat-1", "seat-2", "burn", "board", "board")
# Whose cards are shown in the end: those of seat-2.
SHOWN = (1, 3)


class Game:
    """A dealer and its seats, who get one message after the other."""

    def __init__(self, dealer: HandDealer, *seats: "Sitting | Program", **known: Any) -> None:
        self.dealer, self.seats = dealer, seats
        self._answers: dict[str, Any] = {}
        self._steps = iter(("open", "accepted", "roll", "seal", "cards", "shown", "end"))
        for seat in seats:
            seat.sit(dealer, **known)

    def until(self, last: str) -> dict[str, Message]:
        """Play all steps before `last`, and return what its message is to each seat."""
        for step in self._steps:
            messages = self._messages(step)
            if step == last:
                return messages
            self.give(messages)
        raise AssertionError(f"no step {last}")

    def give(self, messages: dict[str, Message]) -> None:
        """Have the seats take a message each; what they answer is for the next step."""
        for seat in self.seats:
            if seat.seat in messages:
                self._answers[seat.seat] = seat.take(messages[seat.seat])

    def _messages(self, step: str) -> dict[str, Message]:
        dealer, names = self.dealer, [seat.seat for seat in self.seats]
        mode = dealer.hand.opened.rules.contributions.value
        if step == "accepted":
            spoken = {} if mode == "none" else self._answers
            return {name: dealer.accepted(answer) for name, answer in spoken.items()}
        if step == "roll":
            return dict.fromkeys(names, dealer.roll()) if mode == "sealed" else {}
        if step == "seal" and mode == "sealed":
            for answer in self._answers.values():
                assert "accepted" in dealer.accepted(answer)["note"]
        if step == "cards":
            dealer.deal(RECIPIENTS)
            return {name: dealer.cards(name) for name in names}
        messages = {
            "open": dealer.open,
            "seal": dealer.seal,
            "shown": lambda: dealer.shown(SHOWN),
            "end": dealer.close,
        }
        return dict.fromkeys(names, messages[step]())


class Program:
    """A seat as a process of its own, as a `Game` has seats."""

    def __init__(self, sitting: Sitting, dealer: HandDealer) -> None:
        self.seat, home = sitting.seat, sitting.secrets
        self.hand_file = home.parent / f"{self.seat}.hand.json"
        config = home.parent / f"{self.seat}.json"
        settings = {
            "table": sitting.knows(dealer),
            "key_seed": sitting.key_seed.hex(),
            "secrets": str(home),
            "hand_file": str(self.hand_file),
        }
        config.write_text(json.dumps(settings))
        command = PROGRAMS[sitting.driver.language]
        self._process = subprocess.Popen(
            [*command, str(config)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=EXAMPLES,
        )

    def say(self, message: Message) -> Any:
        return self.say_line(json.dumps(message))

    def say_line(self, line: str) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def sit(self, dealer: HandDealer, **known: Any) -> None:
        """Nothing to do: it knows its table from its configuration."""

    def take(self, message: Message) -> Any:
        return self.say(message)["answer"]

    def end(self) -> int:
        self._process.communicate(timeout=30)
        return self._process.returncode
