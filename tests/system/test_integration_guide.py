"""docs/integration.md does what it says: its code runs, in order, against a real daemon."""

import re
from pathlib import Path
from typing import Any

import grpc
import pytest

from entropyd.client import Client, Deal
from entropyd.errors import EntropydError, EntropyHoldError
from entropyd.service.error_table import TABLE
from tests.system.custom import custom_daemon
from tests.system.harness import Daemon, started, until

GUIDE = Path(__file__).parents[2] / "docs" / "integration.md"
TEXT = GUIDE.read_text("utf-8")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What the page calls them, and what they are here.
SOCKETS = "unix:/run/entropyd/"
KEY_DIRECTORY = "/var/lib/poker/"


def blocks(daemon: Daemon) -> list[tuple[int, str]]:
    """Line number and code of every block, with this daemon's places."""
    found = [(TEXT.count("\n", 0, each.start(1)), each[1]) for each in BLOCK.finditer(TEXT)]
    return [
        (
            line,
            code.replace(SOCKETS, f"unix:{daemon.home}/").replace(KEY_DIRECTORY, f"{daemon.home}/"),
        )
        for line, code in found
    ]


def run(daemon: Daemon) -> dict[str, Any]:
    """Run all blocks in one namespace; errors carry the page's own line numbers."""
    names: dict[str, Any] = {}
    for line, code in blocks(daemon):
        exec(compile("\n" * line + code, str(GUIDE), "exec"), names)
    return names


@pytest.fixture
def guide(dealing: Daemon):
    """What the page defines, after it ran."""
    names = run(dealing)
    yield names
    names["dealer"].close()
    names["tables"].close()


def test_every_block_runs_and_its_assertions_hold(guide: dict[str, Any]):
    """The names that the page ends with are what it says they are."""
    deck = guide["deck"]
    assert isinstance(deck, Deal)
    assert ("a/nl50/table-1", 52) == (deck.table, len(set(deck.cards)))
    assert 1 < len(guide["journal"])
    assert guide["voids"][0]["replaced_by"] in {hand for _, hand in guide["journal"]}
    assert not guide["fit_for_money"](deck)
    assert "closed" == guide["closed"].hand.state


def test_the_page_has_as_many_blocks_as_were_run(dealing: Daemon):
    """Every fence is a block that runs; nothing is shown in another form."""
    assert TEXT.count("```") == 2 * len(blocks(dealing))


def test_the_loop_of_the_page_waits_out_a_hold(guide: dict[str, Any], dealing: Daemon):
    """Unplugged: the table is told why, nothing is spent, and the hand comes when it can."""
    told: list[str] = []

    def tell_table(text: str) -> None:
        told.append(text)
        dealing.faults()

    dealing.faults("F9")
    try:
        until("dealing is held", lambda: dealing.http("/readyz")[0] == 503)
        hands = dealing.status().hands
        hand = guide["new_hand"](guide["journal"], "nl50/table-7")
        deck = guide["deal"](guide["dealer"], "nl50/table-7", hand, tell_table)
    finally:
        dealing.faults()
        dealing.wait_until_dealing()
    assert "dealing waits: ENTROPY_HOLD" == told[0]
    assert (hand, hands + 1) == (deck.hand, dealing.status().hands)


def test_the_loop_of_draws_waits_out_a_hold(guide: dict[str, Any], dealing: Daemon):
    """As that of hands: the players are told why, and the same request draws when it can."""
    told: list[str] = []

    def tell_players(text: str) -> None:
        told.append(text)
        dealing.faults()

    dealing.faults("F9")
    try:
        until("dealing is held", lambda: dealing.http("/readyz")[0] == 503)
        draws, match = guide["draws"], guide["match"]
        drawn = guide["until_drawn"](
            lambda: draws.roll_dice(match, "throw-held", [(1, 6)]), tell_players
        )
    finally:
        dealing.faults()
        dealing.wait_until_dealing()
    assert "drawing waits: ENTROPY_HOLD" == told[0]
    assert drawn.result == draws.roll_dice(match, "throw-held", [(1, 6)]).result


def test_a_refused_draw_leaves_the_loop(guide: dict[str, Any]):
    """What the page's match drew as two dice is never three."""
    with pytest.raises(guide["Refusal"], match="other parameters"):
        guide["until_drawn"](lambda: guide["draws"].roll_dice(guide["match"], "throw-1", [(3, 6)]))


def test_a_pair_that_had_its_rounds_is_revealed_by_the_daemon(home: Path):
    """What the page says of automatic reveal: an open round is voided, and both say `expired`."""
    daemon = custom_daemon(home, append="\n[fair]\nmax_rounds = 1\n")
    with started(daemon), daemon.client() as dealer:
        fair = dealer.fair()
        pair = fair.open_pair("ann")
        fair.set_client_seed("ann", "mine", server_hash=pair.server_hash)
        fair.play_round("ann", "field", "mines", mines=3)
        daemon.kill()
        daemon.start()  # It looks at once, and every 30 s.
        until("the daemon reveals it", lambda: 2 == fair.get_pair("ann").pair)
        [revealed] = fair.list_pairs("ann")
        voided = fair.get_round("ann", "field").round
        assert [] == list(fair.present_pairs(overdue_only=True))
    assert ("expired", ("field",)) == (revealed.reason, revealed.voided_rounds)
    assert ("voided", "expired") == (voided.state, voided.void_reason)
    assert pair.server_hash == revealed.server_hash


def test_recovery_finds_what_a_crash_left(guide: dict[str, Any], dealing: Daemon):
    """One hand that was drawn and one that was only written down: both have a deck afterwards."""
    drawn, written = (guide["new_hand"](guide["journal"], "nl50/table-7") for _ in range(2))
    before = guide["dealer"].shuffle("nl50/table-7", drawn)
    with Client(dealing.target, claim_key_file=dealing.home / "claim.key") as after_the_crash:
        decks = guide["recover"](after_the_crash, guide["journal"], finished=set())
    assert before.cards == decks[drawn].cards
    assert (True, False) == (decks[drawn].replayed, decks[written].replayed)
    assert {hand for _, hand in guide["journal"]} == set(decks)


def test_a_refusal_for_good_leaves_the_loop(guide: dict[str, Any]):
    """Waiting helps nobody whose request can never be right."""
    with pytest.raises(guide["Refusal"]) as refused:
        guide["deal"](guide["dealer"], "nl50/table-8", guide["hand"])
    assert grpc.StatusCode.ALREADY_EXISTS is refused.value.code


def test_holdem_takes_from_the_front_and_burns(guide: dict[str, Any]):
    """Numbers for cards: who gets which place of the deck."""
    hole, boards = guide["holdem"](range(52), seats=3, boards=2)
    assert [(0, 3), (1, 4), (2, 5)] == hole
    assert [[7, 8, 9, 11, 13], [15, 16, 17, 19, 21]] == boards


def test_the_table_of_errors_has_every_answer_that_a_caller_can_get():
    """Code and reason as the daemon tells them."""
    rows = re.findall(r"^\| `([A-Z_]+)` \| (.*?) \|", TEXT, re.MULTILINE)
    told = {
        (code.name, reason)
        for kind, code in TABLE
        if code is not grpc.StatusCode.INTERNAL
        for reason in _reasons(kind)
    }
    assert ("UNAVAILABLE", EntropyHoldError.reason) in told
    assert [] == [each for each in sorted(told) if not _stands(*each, rows=rows)]
    assert {code for code, _ in told} | {"DEADLINE_EXCEEDED", "INTERNAL"} == {c for c, _ in rows}


def _reasons(kind: type[EntropydError]) -> set[str]:
    """Return the reason of an error; of an abstract one, those of its kinds."""
    return {kind.reason} if kind.reason else set().union(*map(_reasons, kind.__subclasses__()))


def _stands(code: str, reason: str, *, rows: list[tuple[str, str]]) -> bool:
    return any(code == named and f"`{reason}`" in reasons for named, reasons in rows)
