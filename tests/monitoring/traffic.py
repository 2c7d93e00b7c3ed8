"""Callers at a measured pace, who do not care how they are answered; one who plays; and a thief."""

import contextlib
import itertools
import threading
from types import TracebackType
from typing import Self

import grpc

from entropyd.client import ClaimKey, Client, HandAsk, Hands, Refusal
from tests.system.harness import Daemon
from tests.system.wire import Wire, order


class Traffic:
    """Some callers who each ask for hand after hand."""

    def __init__(
        self, daemon: Daemon, *, callers: int, pause_s: float, timeout_s: float = 2.0
    ) -> None:
        """Prepare them; entering the block starts them.

        Args:
            daemon: whom they ask.
            callers: how many.
            pause_s: between an answer and the next question of the same caller.
            timeout_s: deadline of a call.
        """
        self._wire = Wire(daemon)
        self._pause_s, self._timeout_s = pause_s, timeout_s
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._call, args=(number,)) for number in range(callers)
        ]

    def _call(self, caller: int) -> None:
        hand = 0
        while not self._stopping.wait(self._pause_s):
            hand += 1
            with contextlib.suppress(grpc.RpcError):
                self._wire.shuffle(order("t", f"{caller}-{hand}"), timeout_s=self._timeout_s)

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        self._wire.channel.close()


class Games:
    """One caller who draws numbers, rolls dice, takes tiles, plays rounds, and deals hands."""

    def __init__(self, daemon: Daemon, *, pause_s: float) -> None:
        """Prepare it; entering the block starts it.

        Args:
            daemon: whom it asks.
            pause_s: between a turn and the next: three draws, two rounds and two hands, of which
                one is void.
        """
        self._client = daemon.client()
        self._dealer = daemon.client(socket_name="dealer.sock")
        self._pause_s = pause_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._play)

    def _play(self) -> None:
        fair = self._client.fair()
        pair = fair.open_pair("ann")
        fair.set_client_seed("ann", "mine", server_hash=pair.server_hash)
        for turn in itertools.count():
            self._take(self._client, turn)
            self._deal(self._dealer.hands(), turn)
            if self._stopping.wait(self._pause_s):
                return

    @staticmethod
    def _take(client: Client, turn: int) -> None:
        draws, fair, match = client.draws(), client.fair(), f"evening/{turn}"
        draws.roll_dice(match, "throw", [(2, 6)])
        draws.sample(match, "lottery", 6, size=49)
        draws.draw_from_bag(match, "rack", "letters", 7, preset="english")
        fair.play_round("ann", f"spin-{turn}", "roulette")
        fair.play_round("ann", f"reels-{turn}", "slots", machine="cascade")

    @staticmethod
    def _deal(hands: Hands, turn: int) -> None:
        dealt, dropped = f"dealt-{turn}", f"dropped-{turn}"
        hands.open(HandAsk("evening", dealt))
        hands.deal("evening", dealt, 0, [("seat-1", 2), ("seat-2", 2)])
        hands.close("evening", dealt, following=HandAsk("evening", dropped))
        hands.void("evening", dropped, "misdeal")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._thread.join()
        self._client.close()
        self._dealer.close()


def deal_behind_a_thief(daemon: Daemon) -> None:
    """Ask for a card as its dealer, after somebody with another claim key was dealt it."""
    target = f"unix:{daemon.home}/dealer.sock"
    with (
        Client(target, claim_key=ClaimKey(bytes(32))) as thief,
        daemon.client(socket_name="dealer.sock") as dealer,
    ):
        dealer.hands().open(HandAsk("t", "robbed"))
        thief.hands().deal("t", "robbed", 0, [("seat-1", 1)])
        with contextlib.suppress(Refusal):
            dealer.hands().deal("t", "robbed", 0, [("seat-1", 1)])
