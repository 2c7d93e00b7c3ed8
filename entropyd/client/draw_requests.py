"""What the clients send to DrawService and RaffleService."""

from collections.abc import Sequence
from enum import StrEnum

from entropyd.client.claims import ClaimKey
from entropyd.v1 import draw_service_pb2 as draws
from entropyd.v1 import raffle_service_pb2 as raffles

Dice = tuple[int, int]  # count, faces
Tile = tuple[str, int]  # label, count


class Large(StrEnum):
    """What is to be done with a draw that takes very many seeds."""

    REFUSE = "refuse"
    WAIT = "wait"
    COMPUTATIONAL = "computational"


class SamplerName(StrEnum):
    """The rule by which bits become numbers."""

    MASKED = "masked"
    WORD32 = "word32"


_LARGE = {
    Large.REFUSE: draws.LARGE_UNSPECIFIED,
    Large.WAIT: draws.LARGE_WAIT,
    Large.COMPUTATIONAL: draws.LARGE_COMPUTATIONAL,
}
_SAMPLERS = {
    SamplerName.MASKED: draws.SAMPLER_MASKED,
    SamplerName.WORD32: draws.SAMPLER_WORD32,
}


class DrawRequests:
    """Builds requests; keeps the claim key, and says once for all draws how they are made."""

    def __init__(
        self,
        claim_key: ClaimKey,
        *,
        sampler: SamplerName = SamplerName.MASKED,
        large: Large = Large.REFUSE,
    ) -> None:
        """Claim with `claim_key`."""
        self._claim_key = claim_key
        self._sampler = _SAMPLERS[SamplerName(sampler)]
        self._large = _LARGE[Large(large)]

    def draw_integers(
        self, match: str, draw: str, count: int, low: int, bound: int
    ) -> draws.DrawIntegersRequest:
        """Return a request for numbers."""
        return draws.DrawIntegersRequest(
            key=draws.DrawKey(match=match, draw=draw),
            claim=self._claim_key.match_claim(match),
            count=count,
            low=low,
            bound=str(bound),
            sampler=self._sampler,
            large=self._large,
        )

    def roll_dice(self, match: str, draw: str, dice: Sequence[Dice]) -> draws.RollDiceRequest:
        """Return a request for a roll."""
        return draws.RollDiceRequest(
            key=draws.DrawKey(match=match, draw=draw),
            claim=self._claim_key.match_claim(match),
            dice=[draws.Dice(count=count, faces=faces) for count, faces in dice],
            sampler=self._sampler,
            large=self._large,
        )

    def shuffle_items(
        self, match: str, draw: str, size: int, labels: Sequence[str]
    ) -> draws.ShuffleItemsRequest:
        """Return a request for an order of a list."""
        return draws.ShuffleItemsRequest(
            key=draws.DrawKey(match=match, draw=draw),
            claim=self._claim_key.match_claim(match),
            n=size,
            labels=labels,
            sampler=self._sampler,
            large=self._large,
        )

    def sample(
        self, match: str, draw: str, count: int, size: int, labels: Sequence[str]
    ) -> draws.SampleRequest:
        """Return a request for some of a list."""
        return draws.SampleRequest(
            key=draws.DrawKey(match=match, draw=draw),
            claim=self._claim_key.match_claim(match),
            n=size,
            labels=labels,
            count=count,
            sampler=self._sampler,
            large=self._large,
        )

    def draw_from_bag(
        self,
        match: str,
        draw: str,
        bag: str,
        count: int,
        *,
        preset: str | None,
        tiles: Sequence[Tile],
        returns: Sequence[int],
    ) -> draws.DrawFromBagRequest:
        """Return a request for tiles."""
        request = draws.DrawFromBagRequest(
            key=draws.DrawKey(match=match, draw=draw),
            claim=self._claim_key.match_claim(match),
            bag=bag,
            count=count,
            returns=returns,
            sampler=self._sampler,
            large=self._large,
        )
        if preset is not None or tiles:
            kinds = [draws.TileKind(label=label, count=number) for label, number in tiles]
            request.contents.CopyFrom(draws.BagContents(preset=preset or "", tiles=kinds))
        return request

    def list_draws(self, match: str, page_token: str) -> draws.ListDrawsRequest:
        """Return a request for a page of summaries."""
        return draws.ListDrawsRequest(
            match=match, claim=self._claim_key.match_claim(match), page_token=page_token
        )

    def replay_match(
        self, match: str, page_token: str, *, openings: bool
    ) -> draws.ReplayMatchRequest:
        """Return a request for a page of draws as they were recorded."""
        return draws.ReplayMatchRequest(
            match=match,
            claim=self._claim_key.match_claim(match),
            openings=openings,
            page_token=page_token,
        )

    def seal_entries(
        self, raffle: str, entries: Sequence[str], winners: int, alternates: int
    ) -> raffles.SealEntriesRequest:
        """Return a request that fixes a raffle."""
        return raffles.SealEntriesRequest(
            raffle=raffle,
            claim=self._claim_key.raffle_claim(raffle),
            entries=entries,
            winners=winners,
            alternates=alternates,
            sampler=self._sampler,
            large=self._large,
        )

    def draw_raffle(self, raffle: str, entries_hash: bytes) -> raffles.DrawRequest:
        """Return a request for the winners."""
        return raffles.DrawRequest(
            raffle=raffle,
            claim=self._claim_key.raffle_claim(raffle),
            entries_hash=entries_hash,
        )

    def get_raffle(self, raffle: str, *, entries: bool, opening: bool) -> raffles.GetRaffleRequest:
        """Return a request to read a raffle back."""
        return raffles.GetRaffleRequest(
            raffle=raffle,
            claim=self._claim_key.raffle_claim(raffle),
            entries=entries,
            opening=opening,
        )
