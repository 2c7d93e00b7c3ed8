"""What the two clients send."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from entropyd.client.claims import ClaimKey
from entropyd.v1 import entropy_service_pb2, shuffle_service_pb2, types_pb2

Hand = tuple[str, str]  # table, hand
Event = tuple[int, int, int]  # x, y, time in microseconds

# A stream's messages cost a tenth of a call each; beyond a hundred hands nothing more is saved.
HANDS_A_MESSAGE = 100


class Requests:
    """Builds requests; keeps the claim key so that callers need not."""

    def __init__(self, claim_key: ClaimKey | None, claim_key_file: str | Path | None) -> None:
        if (claim_key is None) == (claim_key_file is None):
            raise ValueError("give exactly one of claim_key and claim_key_file")
        if claim_key is None:
            claim_key = ClaimKey.load_or_create(Path(str(claim_key_file)))
        self._claim_key = claim_key

    @property
    def claim_key(self) -> ClaimKey:
        """The game server's own key."""
        return self._claim_key

    def shuffle(
        self,
        table: str,
        hand: str,
        deck: str,
        decks: int,
        removed: Sequence[int],
        *,
        card_proofs: bool = False,
    ) -> shuffle_service_pb2.ShuffleRequest:
        """Return a request for one hand, with its claim."""
        return shuffle_service_pb2.ShuffleRequest(
            key=types_pb2.HandKey(table=table, hand=hand),
            deck=types_pb2.Deck(name=deck, decks=decks, removed=removed),
            claim=self._claim_key.claim(table, hand),
            card_proofs=card_proofs,
        )

    def get_shuffle(self, table: str, hand: str) -> shuffle_service_pb2.GetShuffleRequest:
        """Return a request to read a hand again."""
        return shuffle_service_pb2.GetShuffleRequest(
            key=types_pb2.HandKey(table=table, hand=hand),
            claim=self._claim_key.claim(table, hand),
        )

    @staticmethod
    def add_user_entropy(
        user: str, blob: bytes, events: Sequence[Event]
    ) -> entropy_service_pb2.AddUserEntropyRequest:
        """Return a request that forwards what one user did."""
        return entropy_service_pb2.AddUserEntropyRequest(
            user=user,
            blob=blob,
            events=[
                entropy_service_pb2.UserEvent(x=x, y=y, time_us=time_us) for x, y, time_us in events
            ],
        )

    def batch_shuffle(
        self, hands: Sequence[Hand], deck: str, decks: int, removed: Sequence[int]
    ) -> shuffle_service_pb2.BatchShuffleRequest:
        """Return a request for hands that are drawn together."""
        return shuffle_service_pb2.BatchShuffleRequest(
            hands=[self.shuffle(table, hand, deck, decks, removed) for table, hand in hands]
        )

    def stream_shuffles(
        self,
        hands: Iterable[Hand],
        deck: str,
        decks: int,
        removed: Sequence[int],
        *,
        hands_a_message: int,
        failures: list[Exception],
    ) -> Iterator[shuffle_service_pb2.StreamShufflesRequest]:
        """Yield messages of a stream. gRPC takes from here, in a thread or a task of its own.

        What `hands` raises, or a hand that is no id, goes into `failures` and
        ends the stream's sending side: gRPC would hide it.
        """
        coming = iter(hands)
        try:
            while some := list(islice(coming, hands_a_message)):
                yield shuffle_service_pb2.StreamShufflesRequest(
                    hands=[self.shuffle(table, hand, deck, decks, removed) for table, hand in some]
                )
        except Exception as error:  # noqa: BLE001  raised where the answers are taken
            failures.append(error)
