"""The deck comes from the device: every seed and card, recomputed from what was recorded.

The production assembly runs as a process, with its driver, its health tests, its gate, its
generator, its ledger and its gRPC listeners, on three recordings (see `device_calls`): what the
device sends, what users forward, what getrandom gives. 100 hands are dealt over gRPC, and
`device_reference`, which shares no code with entropyd, works out from those three files and the
calls made what every one of them must have been.

Samples that grow old or are pushed out are stirred in ten times a second, so between which draws
depends on the clock, and no recording of these three holds it. So nothing does so here. A loss
of the device stirs in what was waiting, in one piece and before anything is dealt again: that
run is recomputed too, from the same files and from how far the device had been read.
"""

import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from entropyd.client import Deal
from tests.campaigns.device_calls import Files, Forward, Replug, planned, recorded
from tests.campaigns.device_flips import FLIPS, first_changed
from tests.campaigns.device_reference import CREDIT, DROPPED, Hand, Recomputed, recompute
from tests.campaigns.device_run import READ_BYTES, Played, play

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def files() -> Files:
    return recorded()


@pytest.fixture(scope="module")
def played(files) -> Played:
    """The run that all others are compared with."""
    return play(files, planned())


@pytest.fixture(scope="module")
def recomputed(files, played) -> Recomputed:
    return recompute(files, played.calls)


@pytest.fixture(scope="module")
def replugged(files) -> Played:
    """The same calls with a loss of the device in the middle; slower, so that little waits then."""
    return play(files, planned(replug_after=50), rate=100_000)


# --- every seed and every deck -------------------------------------------------------


def test_every_deck_follows_from_the_recordings(played, recomputed):
    """Cards, items, rules, numbers, C, D and O of all 100 answers are the recomputed ones."""
    assert len(played.answers) == 100
    assert [answered(deal) for deal in played.answers] == [
        (h.call.hand, h.rules, h.sequence, h.items, h.cards, h.text, h.C, h.D, h.O)
        for h in recomputed.hands
    ]


def test_every_seed_follows_from_the_recordings(played, recomputed):
    """S, r and K in the ledger are the recomputed ones, for each segment of each hand."""
    drafts = [record.draft for record in played.records]
    assert [(draft.seeds, draft.blinding, draft.salt_key) for draft in drafts] == [
        (hand.S, hand.r, hand.K) for hand in recomputed.hands
    ]


def test_every_deck_follows_through_a_loss_of_the_device(files, replugged):
    """Samples that a loss leaves undealt are stirred in once, and dealing goes on from there."""
    run = recompute(files, replugged.calls)
    (lost,) = [call for call in replugged.calls if isinstance(call, Replug)]
    (stirred,) = run.stirred
    # All that the daemon had read but for the read that the loss cut off.
    assert stirred.stop == lost.samples
    assert 0 <= lost.sent - lost.samples <= READ_BYTES
    assert 10_000 < len(stirred) < 2**20  # more would not be stirred, the oldest are forgotten
    assert replugged.decks == run.decks
    # It mattered: without the loss the later hands are others.
    assert first_changed(replugged.decks, recompute(files, planned()).decks) == 50


def test_the_run_takes_every_way_through_the_gate(recomputed):
    """Hands of one, two, three and ten segments; seeds with no, some and all user entropy."""
    assert {len(hand.made_from) for hand in recomputed.hands} == {1, 2, 3, 10}
    assert {hand.call.deck for hand in recomputed.hands} == {"standard52", "standard54", "short36"}
    seeds = [seed for hand in recomputed.hands for seed in hand.made_from]
    shapes = Counter((bool(seed.users), bool(seed.cover)) for seed in seeds)
    assert set(shapes) == {(False, True), (True, True), (True, False)}
    assert any(seed.users for hand in recomputed.hands for seed in hand.made_from[1:])
    forwarded = sum(isinstance(call, Forward) for call in planned())
    assert 0 < sum(len(seed.lines) for seed in seeds) < forwarded  # repetitions were thrown away


def test_the_reference_shares_no_code_with_entropyd():
    """Recordings, calls, reference and flips load and run where there is no entropyd."""
    program = (
        "import sys; sys.modules['entropyd'] = None\n"
        "from tests.campaigns import device_calls, device_reference, device_flips\n"
        "run = device_reference.recompute(device_calls.recorded(), device_calls.planned())\n"
        "print(len(run.hands))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ended.stdout == "100\n"


# --- each byte once ------------------------------------------------------------------------


def test_no_byte_enters_two_seeds(played, recomputed):
    """Seeds are made from pieces of the capture, one behind the other, none shared."""
    assert played.decks == recomputed.decks  # so these pieces are what they were made from
    spent = recomputed.spent
    assert spent[0].start == DROPPED
    assert all(one.stop == other.start for one, other in pairwise(spent))
    in_order = [seed for hand in recomputed.hands for seed in hand.made_from]
    pieces = [piece for seed in in_order for piece in (seed.hardware, seed.cover) if piece]
    assert pieces == spent[1:]
    random = [seed.getrandom for seed in in_order]
    assert all(one.stop == other.start for one, other in pairwise(random))
    lines = [line for seed in in_order for line in seed.lines]
    assert lines == sorted(set(lines))


def test_no_byte_enters_two_seeds_across_a_loss(files, replugged):
    """What was stirred in is dealt from no more, and neither is what was read before or dropped."""
    run = recompute(files, replugged.calls)
    assert replugged.decks == run.decks
    spent = run.spent
    gaps = [
        range(one.stop, other.start) for one, other in pairwise(spent) if one.stop != other.start
    ]
    (lost,) = [call for call in replugged.calls if isinstance(call, Replug)]
    assert gaps == [range(lost.samples, lost.sent + DROPPED)]


def test_the_device_sent_the_capture_and_nothing_else(files, played):
    """The tape of the emulated device is the beginning of the capture, to the byte."""
    assert played.tape == files.capture[: len(played.tape)]
    assert len(played.tape) < len(files.capture)


def test_provenance_adds_up_to_no_more_than_was_sent(played, recomputed):
    """Hardware and cover samples of all answers, and the instantiation, were on the tape."""
    told = Counter[str]()
    for answer in played.answers:
        told.update({use.use: use.samples for use in answer.sources})
    spent = told["hardware"] + told["cover"] + len(recomputed.instantiated)
    assert spent == sum(map(len, recomputed.spent))
    assert DROPPED + spent <= len(played.tape)


def test_each_answer_tells_what_it_was_made_from(played, recomputed):
    """Samples and credit of each class, hand by hand, are those of the accounting."""
    assert [told_by(answer) for answer in played.answers] == [
        accounted_for(hand) for hand in recomputed.hands
    ]


def test_every_sample_read_is_dropped_spent_or_waiting(played, recomputed):
    """Start-up test and first assessment drop 66,560 samples; credit is spent once, or waits."""
    (source,) = played.status.sources
    assert source.credited_samples == source.samples - 1_024 - 65_536
    waiting = source.credited_samples - sum(map(len, recomputed.spent))
    assert source.reservoir_millibits == CREDIT * waiting
    assert source.samples <= len(played.tape)
    assert source.assessed_millibits >= CREDIT  # so that the claim is what counts
    assert (source.alarms, source.reopens) == (0, 0)


# --- one bit -----------------------------------------------------------------------------------


@pytest.mark.parametrize("place", FLIPS)
def test_a_flipped_bit_changes_the_first_hand_that_takes_it(place, files, played, recomputed):
    """Hands before it are the same, it and all behind it are others, as recomputed.

    All behind it, because every seed is generated from the state that the ones before left.
    A bit that nothing is dealt from changes nothing.
    """
    flip = FLIPS[place](files, recomputed)
    flipped = flip.applied(files)
    after = play(flipped, planned())
    assert after.decks == recompute(flipped, after.calls).decks
    assert first_changed(played.decks, after.decks) == flip.hand
    if flip.hand is not None:
        changed = zip(played.decks[flip.hand :], after.decks[flip.hand :], strict=True)
        assert all(old != new for pair in changed for old, new in zip(*pair, strict=True))


def test_a_flip_in_the_second_segment_leaves_the_first_alone(files, recomputed):
    """A segment's seed is its own: the first one of the shoe, and all it draws, stay."""
    flip = FLIPS["hardware, second segment of a shoe"](files, recomputed)
    assert flip.hand is not None
    before = recomputed.hands[flip.hand]
    after = recompute(flip.applied(files), planned()).hands[flip.hand]
    same = [before.S[at : at + 64] == after.S[at : at + 64] for at in range(0, len(before.S), 64)]
    assert same == [True] + [False] * (len(same) - 1)


# --- helpers ---------------------------------------------------------------------------------


def answered(deal: Deal) -> tuple[object, ...]:
    message = deal.message
    return (
        deal.hand,
        message.rules.encode("ascii"),
        message.sequence,
        message.items,
        message.cards,
        message.text,
        message.commitment,
        message.deck_root,
        message.open_hash,
    )


def told_by(deal: Deal) -> dict[str, tuple[int, int]]:
    uses = deal.message.provenance.sources
    return {
        told.use: (use.samples, use.credited_millibits)
        for told, use in zip(deal.sources, uses, strict=True)
    }


def accounted_for(hand: Hand) -> dict[str, tuple[int, int]]:
    hardware = sum(len(seed.hardware) for seed in hand.made_from)
    cover = sum(len(seed.cover) for seed in hand.made_from)
    users = sum(len(taken) for seed in hand.made_from for taken in seed.users.values())
    estimate = sum(seed.estimate for seed in hand.made_from)
    found = {
        "hardware": (hardware, CREDIT * hardware),
        "cover": (cover, CREDIT * cover),
        "user": (users, estimate),
        "os": (64 * len(hand.made_from), 0),
    }
    return {name: use for name, use in found.items() if use[0]}
