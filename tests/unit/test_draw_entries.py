"""Receipts of draws of matches and of raffles: what they say, and that answers name them."""

import asyncio
from dataclasses import replace
from hashlib import sha256
from itertools import product

import pytest

from entropyd.errors import LedgerDamagedError
from entropyd.games.bags import BagRules
from entropyd.games.draw_rules import decode
from entropyd.hands.binding import draw_binding
from entropyd.hands.rules import rules_hash
from entropyd.ledger.subjects import SubjectKind
from entropyd.log.events import Event
from entropyd.log.receipt import Receipt
from entropyd.log.source_line import SourceClass
from entropyd.service.draw_records import pack_index, read_draw, unpack_index
from entropyd.v1 import draw_service_pb2 as pb
from tests.fakes.dealing import MINE
from tests.unit.test_draw_core import Desk


def receipts(desk: Desk) -> list[Receipt]:
    return [Receipt.decode(entry.text) for entry in desk.table.ledger.log_entries(0, 100)]


def test_a_draw_of_a_match_has_its_receipt_and_says_where():
    async def run():
        desk = Desk()
        first, second = await desk.roll("1"), await desk.roll("2")
        one, two = receipts(desk)
        assert (first.draw.log_index, second.draw.log_index) == (0, 1)
        assert (Event.DRAW, "dc1", "room", "m", "1", 1) == (
            one.event,
            one.log,
            one.tenant,
            one.match,
            one.draw,
            one.number,
        )
        assert ("2", second.draw.number) == (two.draw, two.number)
        assert (two.commitment, two.deck_root) == (
            second.draw.commitment,
            second.draw.result_root,
        )
        assert rules_hash(second.draw.rules.encode()) == two.rules_hash
        assert second.draw.provenance.policy == two.policy
        assert [SourceClass.HARDWARE, SourceClass.COVER, SourceClass.OS] == [
            line.source_class for line in two.sources
        ]

    asyncio.run(run())


def test_a_raffle_has_a_receipt_when_it_is_sealed_and_one_when_it_is_drawn():
    async def run():
        desk = Desk()
        await desk.roll()
        sealed, drawn = await desk.seal(), await desk.draw()
        _, seal, draw = receipts(desk)
        assert (1, 1) == (sealed.raffle.log_index, drawn.raffle.log_index)
        assert 2 == drawn.raffle.result.log_index
        assert (Event.SEAL, "r", sealed.raffle.entries_hash) == (
            seal.event,
            seal.raffle,
            seal.entries,
        )
        assert (Event.DRAW, "r", drawn.raffle.result.result_root) == (
            draw.event,
            draw.raffle,
            draw.deck_root,
        )

    asyncio.run(run())


def test_who_asks_again_is_told_the_same_index_and_adds_no_entry():
    async def run():
        desk = Desk()
        await desk.roll("0")
        answers = [await desk.roll(), await desk.seal(), await desk.draw()]
        size = desk.table.ledger.log_size()
        again = [await desk.roll(), await desk.seal(), await desk.draw()]
        assert size == desk.table.ledger.log_size()
        assert answers[0].draw.log_index == again[0].draw.log_index == 1
        # Meanwhile it was drawn: of the seal the index is the same.
        assert answers[1].raffle.log_index == again[1].raffle.log_index == 2
        assert answers[2].raffle == again[2].raffle

    asyncio.run(run())


def test_no_receipt_holds_what_came_of_a_draw_or_who_was_in_it():
    async def run():
        desk = Desk()
        await desk.tiles("1")
        await desk.seal()
        await desk.draw()
        step = desk.table.ledger.step(SubjectKind.MATCH, "room", "m", "1")
        assert step is not None
        drawn = read_draw(step)
        secrets = (*drawn.seeds, drawn.blinding, drawn.salt_key)
        for entry in desk.table.ledger.log_entries(0, 100):
            for secret in secrets:
                assert secret.hex().encode() not in entry.text
            assert drawn.rules.encode() not in entry.text

    asyncio.run(run())


def fitting(entry: bytes, rules: BagRules) -> list[tuple[int, ...]]:
    """Return which contents of a bag a reader of the log finds by trying all of them.

    He knows all but the contents, and compares what he can compute with every hash of a receipt.
    """
    told = {line.rpartition(b" ")[2] for line in entry.split(b"\n")}
    found = []
    for counts in product(range(6), repeat=2):
        if sum(counts) < rules.m:
            continue
        tried = replace(rules, counts=counts)
        binding = draw_binding("room", "m", "2", rules_hash(tried.encode()))
        made = (rules_hash(tried.encode()), binding, sha256(binding).digest())
        if told & {each.hex().encode() for each in made}:
            found.append(counts)
    return found


def test_who_tries_all_contents_of_a_bag_finds_nothing_to_compare_them_with():
    """With the hash of the rules in the receipt he would find it, as the control shows."""

    async def run():
        desk = Desk()
        kinds = [pb.TileKind(label="red", count=5), pb.TileKind(label="blue", count=5)]
        request = pb.DrawFromBagRequest(
            claim=MINE, bag="b", contents=pb.BagContents(tiles=kinds), count=3
        )
        request.key.CopyFrom(pb.DrawKey(match="m", draw="1"))
        await desk.draws.draw_from_bag(request, desk.call())
        request.key.CopyFrom(pb.DrawKey(match="m", draw="2"))
        answer = await desk.draws.draw_from_bag(request, desk.call())
        rules = decode(answer.draw.rules.encode())
        assert isinstance(rules, BagRules)
        entry = desk.table.ledger.log_entries(0, 100)[1].text
        receipt = Receipt.decode(entry)
        assert ("2", None) == (receipt.draw, receipt.rules_hash)
        assert [] == fitting(entry, rules)
        told = replace(receipt, rules_hash=rules_hash(rules.encode()))
        assert [rules.counts] == fitting(told.encode(), rules)

    asyncio.run(run())


def test_raffles_and_draws_of_other_kinds_say_the_hash_of_their_rules():
    async def run():
        desk = Desk()
        rolled, sealed, drawn = await desk.roll(), await desk.seal(), await desk.draw()
        expected = [rolled.draw.rules, sealed.raffle.rules, drawn.raffle.rules]
        assert [rules_hash(rules.encode()) for rules in expected] == [
            receipt.rules_hash for receipt in receipts(desk)
        ]

    asyncio.run(run())


@pytest.mark.parametrize("index", [None, 0, 7, 2**63 - 1])
def test_an_index_is_read_as_it_was_kept(index):
    kept = pack_index(index)
    assert index == unpack_index([kept[4:]] if kept else [], "step")


@pytest.mark.parametrize("fields", [[b""], [b"seven b"], [bytes(9)], [bytes(8), bytes(8)]])
def test_what_is_no_index_is_damage(fields):
    with pytest.raises(LedgerDamagedError, match="index of the log"):
        unpack_index(fields, "step")
