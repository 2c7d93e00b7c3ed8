"""Pages of hands, in byte order of table and then by number.

Spec: AIP-158.
"""

import asyncio
import base64
import binascii

from entropyd.encoding import check_id
from entropyd.errors import RequestError
from entropyd.hands.hand import HandState
from entropyd.runtime.hand_store import HandStore
from entropyd.runtime.kept_hands import KeptHand
from entropyd.service.hand_messages import STATES, HandMessages
from entropyd.service.pages import page_size, told_number
from entropyd.v1 import hand_service_pb2 as pb

# A page ends with the hand that brings it above this. The largest hand, of 64 seats and eight decks
# of 54, has some 40 KiB; an answer has room for 4 MiB.
PAGE_BYTES = 1024 * 1024
# So many are read, and their receipts signed, before others have their turn: some 5 ms.
HANDS_A_TURN = 16

_LABELS: dict[pb.HandState.ValueType, HandState | None] = {
    pb.HAND_STATE_UNSPECIFIED: None,
    **{message: state for state, message in STATES.items()},
}


class HandPages:
    """Makes pages of what is recorded. Changes nothing."""

    def __init__(self, store: HandStore, messages: HandMessages) -> None:
        """Make it.

        Args:
            store: reads hands.
            messages: makes messages of them.
        """
        self._store = store
        self._messages = messages

    async def page(self, request: pb.ListHandsRequest, tenant: str) -> pb.ListHandsResponse:
        """Return a page. Its token names table and number of the last hand of it.

        Raises:
            RequestError: names `table_prefix`, `state`, `page_size` or `page_token`.
        """
        if request.table_prefix:
            check_id("table_prefix", request.table_prefix)
        if request.state not in _LABELS:
            raise RequestError("state", f"is {request.state}; expected a state of hands")
        left, after = page_size(request.page_size), _after(request.page_token)
        answer, told_bytes = pb.ListHandsResponse(), 0
        while left and told_bytes < PAGE_BYTES:
            wanted = min(left, HANDS_A_TURN)
            found = self._store.page(
                tenant, request.table_prefix, _LABELS[request.state], after, wanted
            )
            for kept in found:
                hand = self._messages.hand(kept)
                told_bytes += hand.ByteSize()
                answer.hands.append(hand)
            if len(found) < wanted:
                return answer
            after, left = _place_of(found[-1]), left - wanted
            await asyncio.sleep(0)
        answer.next_page_token = _token(after)
        return answer


def _place_of(kept: KeptHand) -> tuple[str, int]:
    return kept.hand.opened.table, kept.hand.opened.sequence


def _token(after: tuple[str, int]) -> str:
    table, sequence = after
    return base64.urlsafe_b64encode(f"{sequence} {table}".encode()).decode("ascii")


def _after(token: str) -> tuple[str, int]:
    """Return the place that a page begins after.

    Raises:
        RequestError: the token is none of ours; names `page_token`.
    """
    if not token:
        return "", 0
    try:
        text = base64.b64decode(token, altchars=b"-_", validate=True).decode("ascii")
        digits, _, table = text.partition(" ")
        check_id("page_token", table)
    except (binascii.Error, ValueError, RequestError):
        digits, table = "", ""
    return table, told_number(digits)
