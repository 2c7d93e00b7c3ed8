"""Pages of rounds and pairs.

The largest has a thousand rounds with a shoe each, which takes 0.2 s to read
and to tell: whoever asks for one has it made apart.

Spec: AIP-158.
"""

import base64
import binascii
from collections.abc import Callable

from entropyd.encoding import check_id
from entropyd.errors import PairNotFoundError, RequestError
from entropyd.games.pair_line import PairLine
from entropyd.games.pair_steps import LineOwner
from entropyd.runtime.line_records import LineRecords
from entropyd.service.fair_messages import revealed_message, round_message
from entropyd.service.pages import number_of, page_size, token_after
from entropyd.v1 import fair_service_pb2 as pb


class FairPages:
    """Makes pages of what is recorded. Changes nothing; on any thread."""

    def __init__(
        self, records: LineRecords, pair: Callable[[LineOwner, PairLine], pb.Pair]
    ) -> None:
        """Make it.

        Args:
            records: reads lines.
            pair: makes a message of a line.
        """
        self._records = records
        self._pair = pair

    def rounds(self, request: pb.ListRoundsRequest, owner: LineOwner) -> pb.ListRoundsResponse:
        """Return rounds of one pair. Its token is the number of the last step that was told.

        Raises:
            RequestError: names `page_size` or `page_token`.
            PairNotFoundError: the player has no line here, or not so many pairs.
        """
        size, after = page_size(request.page_size), number_of(request.page_token)
        present = self._records.line(owner).pair
        if request.pair > present:
            raise PairNotFoundError(
                f"player {owner.player!r} has no pair {request.pair} yet; pair {present} is present"
            )
        pair = request.pair or present
        # One more than is told: whether there is another page.
        views = self._records.rounds(owner, pair, after, size + 1)
        more = len(views) > size
        return pb.ListRoundsResponse(
            rounds=[round_message(owner.player, view) for view in views[:size]],
            next_page_token=token_after(views[size - 1].number) if more else "",
        )

    def pairs_of(self, request: pb.ListPairsRequest, owner: LineOwner) -> pb.ListPairsResponse:
        """Return the revealed pairs of a player and, on the last page, the present one.

        Raises:
            RequestError: names `page_size` or `page_token`.
            PairNotFoundError: the player has no line here.
        """
        size, after = page_size(request.page_size), number_of(request.page_token)
        line = self._records.line(owner)
        numbers = range(after + 1, line.pair)[:size]
        found = [self._records.revealed(owner, number) for number in numbers]
        revealed = [revealed_message(owner.player, *one) for one in found if one is not None]
        if numbers and numbers[-1] + 1 < line.pair:
            return pb.ListPairsResponse(revealed=revealed, next_page_token=token_after(numbers[-1]))
        return pb.ListPairsResponse(revealed=revealed, present=[self._pair(owner, line)])

    def present_pairs(self, request: pb.ListPairsRequest, tenant: str) -> pb.ListPairsResponse:
        """Return the present pair of every player, in byte order of the players.

        Raises:
            RequestError: names `page_size` or `page_token`.
        """
        size, after = page_size(request.page_size), _player_of(request.page_token)
        found = list(self._records.lines(tenant, after, size + 1))
        pairs = [self._pair(LineOwner(tenant, player), line) for player, line in found[:size]]
        return pb.ListPairsResponse(
            present=[pair for pair in pairs if pair.overdue or not request.overdue_only],
            next_page_token=_token_after(pairs[-1].player) if len(found) > size else "",
        )


def _token_after(player: str) -> str:
    return base64.urlsafe_b64encode(player.encode("ascii")).decode("ascii")


def _player_of(token: str) -> str:
    if not token:
        return ""
    try:
        player = base64.b64decode(token, altchars=b"-_", validate=True).decode("ascii")
        check_id("page_token", player)
    except (binascii.Error, UnicodeDecodeError, RequestError):
        raise RequestError(
            "page_token", "is none; expected next_page_token of the page before, or nothing"
        ) from None
    return player
