"""DrawService and RaffleService in memory: real rules and draws, seeds that are no secret."""

import contextlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from entropyd.draw.samplers import Sampler
from entropyd.errors import DrawSpentError, EntropydError, MatchTakenError, RaffleSealedError
from entropyd.games.bags import BagRules, BagState, after_draw, custom_tiles
from entropyd.games.draw_kind import DrawRules
from entropyd.games.draw_rules import DiceRules, IntegersRules, ItemsRules, SampleRules
from entropyd.games.draws import Outcome, binding_of, draw
from entropyd.games.labels import labels_hash
from entropyd.games.presets import PRESETS
from entropyd.games.raffle import RAFFLE_DRAW, RaffleRules, canonical_entries
from entropyd.service.error_table import answer
from entropyd.v1 import (
    draw_service_pb2,
    draw_service_pb2_grpc,
    raffle_service_pb2,
    raffle_service_pb2_grpc,
    types_pb2,
)
from tests.fakes.proofs import bytes_of

TENANT = "acme"
# Small, so that tests see more than one page.
PAGE = 2


@dataclass
class Recorded:
    """A draw, and what it was asked with."""

    request: bytes
    message: draw_service_pb2.RecordedDraw
    opening: draw_service_pb2.DrawOpening


def drawn(rules: DrawRules, match: str, name: str) -> tuple[Outcome, draw_service_pb2.DrawOpening]:
    opening = draw_service_pb2.DrawOpening(
        seeds=[bytes_of(f"{match} {name} {place}") for place in range(rules.seeds_needed())],
        blinding=bytes_of(f"r {name}", 32),
        salt_key=bytes_of(f"K {name}", 32),
    )
    outcome = draw(
        rules,
        binding_of(rules, TENANT, match, name),
        seeds=list(opening.seeds),
        blinding=opening.blinding,
        salt_key=opening.salt_key,
    )
    return outcome, opening


class DrawingServicer(
    draw_service_pb2_grpc.DrawServiceServicer, raffle_service_pb2_grpc.RaffleServiceServicer
):
    """Draws once for each id, keeps it, and asks for the claim of whoever came first.

    Attributes:
        requests: what came.
    """

    def __init__(self, *, mock: bool = False) -> None:
        self.requests: list[Any] = []
        self._provenance = types_pb2.Provenance(mock=mock)
        self._claims: dict[str, bytes] = {}
        self._matches: dict[str, dict[str, Recorded]] = {}
        self._bags: dict[tuple[str, str], tuple[BagState, Sequence[str]]] = {}
        self._raffles: dict[str, Any] = {}

    # --- DrawService ---------------------------------------------------------------------

    def DrawIntegers(self, request: Any, context: Any) -> Any:
        rules = IntegersRules(
            bound=int(request.bound),
            count=request.count,
            low=request.low,
            sampler=_sampler(request),
        )
        return self._answer(
            draw_service_pb2.DrawIntegersResponse, request, context, rules, (), wide=True
        )

    def RollDice(self, request: Any, context: Any) -> Any:
        groups = tuple((dice.count, dice.faces) for dice in request.dice)
        rules = DiceRules(groups=groups, sampler=_sampler(request))
        return self._answer(
            draw_service_pb2.RollDiceResponse, request, context, rules, (), wide=True
        )

    def ShuffleItems(self, request: Any, context: Any) -> Any:
        labels = list(request.labels)
        named = labels_hash(labels, len(labels)) if labels else b""
        size = request.n or len(labels)
        rules = ItemsRules(n=size, labels_hash=named, sampler=_sampler(request))
        return self._answer(draw_service_pb2.ShuffleItemsResponse, request, context, rules, labels)

    def Sample(self, request: Any, context: Any) -> Any:
        labels = list(request.labels)
        named = labels_hash(labels, len(labels)) if labels else b""
        size = request.n or len(labels)
        rules = SampleRules(n=size, m=request.count, labels_hash=named, sampler=_sampler(request))
        return self._answer(draw_service_pb2.SampleResponse, request, context, rules, labels)

    def DrawFromBag(self, request: Any, context: Any) -> Any:
        place = (request.key.match, request.bag)
        state, labels = self._bags.get(place, (None, ()))
        if state is None:
            tiles, first, labels = _contents(request.contents)
        else:
            tiles, first = state.tiles, state.counts_after(request.returns)
        recorded = self._matches.get(request.key.match, {}).get(request.key.draw)
        rules = BagRules(bag=request.bag, counts=first, m=request.count, tiles=tiles)
        answered = self._answer(
            draw_service_pb2.DrawFromBagResponse, request, context, rules, labels
        )
        if recorded is None:
            self._bags[place] = (after_draw(state, rules, answered.draw.items), labels)
        return answered

    def ListDraws(self, request: Any, context: Any) -> Any:
        page, token = self._page(request, context)
        summaries = [
            draw_service_pb2.DrawSummary(
                key=one.message.key, number=one.message.number, rules=one.message.rules
            )
            for one in page
        ]
        return draw_service_pb2.ListDrawsResponse(draws=summaries, next_page_token=token)

    def ReplayMatch(self, request: Any, context: Any) -> Any:
        page, token = self._page(request, context)
        draws = [
            draw_service_pb2.ReplayedDraw(
                draw=one.message, opening=one.opening if request.openings else None
            )
            for one in page
        ]
        return draw_service_pb2.ReplayMatchResponse(
            draws=draws, next_page_token=token, tenant=TENANT
        )

    # --- RaffleService -------------------------------------------------------------------

    def SealEntries(self, request: Any, context: Any) -> Any:
        entries = canonical_entries(list(request.entries))
        rules = RaffleRules(
            entries=entries.digest,
            n=len(entries),
            winners=request.winners,
            alternates=request.alternates,
            sampler=_sampler(request),
        )
        sealed = raffle_service_pb2.Raffle(
            raffle=request.raffle,
            number=len(self._raffles) + 1,
            entries_hash=entries.digest,
            n=len(entries),
            winners=request.winners,
            alternates=request.alternates,
            rules=rules.encode().decode("ascii"),
        )
        replayed = request.raffle in self._raffles
        kept = self._raffles.setdefault(
            request.raffle, (request.claim, sealed, rules, entries.texts)
        )
        if (kept[0], kept[2]) != (request.claim, rules):
            _refuse(context, RaffleSealedError("the raffle was sealed with another list"))
        return raffle_service_pb2.SealEntriesResponse(raffle=kept[1], replayed=replayed)

    def Draw(self, request: Any, context: Any) -> Any:
        self.requests.append(request)
        claim, sealed, rules, texts = self._raffles[request.raffle]
        if claim != request.claim or request.entries_hash != sealed.entries_hash:
            _refuse(context, RaffleSealedError("the raffle was sealed with another claim"))
        outcome, _ = drawn(rules, request.raffle, RAFFLE_DRAW)
        names = [texts[number] for number in outcome.result]
        replayed = sealed.HasField("result")
        sealed.result.CopyFrom(
            raffle_service_pb2.RaffleResult(
                items=outcome.result,
                winners=names[: rules.winners],
                alternates=names[rules.winners :],
                commitment=outcome.commitment,
                result_root=outcome.result_root,
                provenance=self._provenance,
            )
        )
        return raffle_service_pb2.DrawResponse(raffle=sealed, replayed=replayed)

    def GetRaffle(self, request: Any, context: Any) -> Any:
        _, sealed, rules, texts = self._raffles[request.raffle]
        _, opening = drawn(rules, request.raffle, RAFFLE_DRAW)
        return raffle_service_pb2.GetRaffleResponse(
            raffle=sealed,
            entries=texts if request.entries else [],
            opening=opening if request.opening else None,
            tenant=TENANT,
        )

    # --- what they have in common --------------------------------------------------------

    def _answer(
        self,
        response: Any,
        request: Any,
        context: Any,
        rules: DrawRules,
        labels: Sequence[str],
        *,
        wide: bool = False,
    ) -> Any:
        self.requests.append(request)
        key = request.key
        if self._claims.setdefault(key.match, request.claim) != request.claim:
            _refuse(context, MatchTakenError("the match is another claim's"))
        match = self._matches.setdefault(key.match, {})
        if key.draw in match:
            if match[key.draw].request != request.SerializeToString(deterministic=True):
                _refuse(context, DrawSpentError("the draw was made with other parameters"))
            return response(draw=match[key.draw].message, replayed=True)
        outcome, opening = drawn(rules, key.match, key.draw)
        message = draw_service_pb2.RecordedDraw(
            key=key,
            number=len(match) + 1,
            rules=rules.encode().decode("ascii"),
            values=outcome.result if wide else [],
            items=[] if wide else outcome.result,
            labels=labels,
            left=sum(rules.counts) - rules.m if isinstance(rules, BagRules) else 0,
            commitment=outcome.commitment,
            result_root=outcome.result_root,
            provenance=self._provenance,
        )
        asked = request.SerializeToString(deterministic=True)
        match[key.draw] = Recorded(asked, message, opening)
        return response(draw=message)

    def _page(self, request: Any, context: Any) -> tuple[list[Recorded], str]:
        if self._claims[request.match] != request.claim:
            _refuse(context, MatchTakenError("the match is another claim's"))
        everything = list(self._matches[request.match].values())
        start = int(request.page_token or 0)
        more = start + PAGE < len(everything)
        return everything[start : start + PAGE], str(start + PAGE) if more else ""

    def add_to(self, server: Any) -> None:
        draw_service_pb2_grpc.add_DrawServiceServicer_to_server(self, server)
        raffle_service_pb2_grpc.add_RaffleServiceServicer_to_server(self, server)


def _contents(contents: Any) -> tuple[str, tuple[int, ...], Sequence[str]]:
    if contents.preset:
        preset = PRESETS[contents.preset]
        return contents.preset, preset.counts, preset.labels
    labels = [kind.label for kind in contents.tiles]
    return custom_tiles(labels), tuple(kind.count for kind in contents.tiles), labels


def _sampler(request: Any) -> Sampler:
    word32 = request.sampler == draw_service_pb2.SAMPLER_WORD32
    return Sampler.WORD32 if word32 else Sampler.MASKED


def _refuse(context: Any, error: EntropydError) -> None:
    told = answer(error, left_s=context.time_remaining())
    context.set_trailing_metadata(told.trailers)
    context.abort(told.code, told.message)


@contextlib.contextmanager
def drawing(servicer: DrawingServicer, home: Path) -> Iterator[str]:
    """Serve for the length of a block; yields the target."""
    target = f"unix:{home}/draws.sock"
    server = grpc.server(ThreadPoolExecutor(2))
    servicer.add_to(server)
    server.add_insecure_port(target)
    server.start()
    try:
        yield target
    finally:
        server.stop(0).wait()
