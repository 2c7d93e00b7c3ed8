"""FairService, counting: a round by its game, when it is played and not when it is told again."""

from typing import Any, Protocol

from entropyd.games.round_rules import decode_rules
from entropyd.service.fair_core import FairCore
from entropyd.service.identity import Call
from entropyd.v1 import fair_service_pb2 as pb


class RoundObserver(Protocol):
    """Who counts rounds."""

    def played(self, game: str) -> None:
        """Note that a round was recorded. Called on the loop's thread; must not block."""
        ...


class CountedFair(FairCore):
    """A core that counts the rounds that it plays."""

    def __init__(self, *parts: Any, observer: RoundObserver, **settings: Any) -> None:
        """Make it of the parts of a core, and of who counts."""
        super().__init__(*parts, **settings)
        self._observer = observer

    async def play_round(self, request: pb.PlayRoundRequest, call: Call) -> pb.PlayRoundResponse:
        """Answer `PlayRound`."""
        answer = await super().play_round(request, call)
        if not answer.replayed:
            self._observer.played(decode_rules(answer.round.rules.encode("ascii")).game)
        return answer
