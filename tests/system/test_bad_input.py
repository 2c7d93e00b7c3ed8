"""Bad input: told with field, limit and remedy, and nothing spent by it."""

import re
import time

import grpc
import pytest

from entropyd.v1 import entropy_service_pb2, shuffle_service_pb2, types_pb2
from tests.system.harness import Daemon
from tests.system.wire import (
    PATIENCE_S,
    GetShuffleRequest,
    ShuffleRequest,
    Told,
    Wire,
    assert_numbers_have_no_gaps,
    claim_of,
    log_lines,
    order,
    question,
    rows,
    told,
)

Code = grpc.StatusCode
Deck = types_pb2.Deck
AddUserEntropyRequest = entropy_service_pb2.AddUserEntropyRequest
Event = entropy_service_pb2.UserEvent


def assert_bad(refusal: Told, field: str, *words: str) -> None:
    """The refusal blames `field`, in details and text, and says all of `words`."""
    assert refusal.code is Code.INVALID_ARGUMENT
    assert (refusal.reason, refusal.domain) == ("INVALID_REQUEST", "entropyd")
    assert list(refusal.fields) == [field]
    assert refusal.message.startswith(f"{field}: ")
    for word in words:
        assert word in refusal.message
    assert (refusal.retry_s, refusal.pushback_ms) == (None, None)


# --- decks and claims ------------------------------------------------------

BAD_DECKS = {
    "unknown": (Deck(name="standard53"), "deck.name", "standard52, standard54"),
    "other-case": (Deck(name="Standard52"), "deck.name", "standard52"),
    "nine-decks": (Deck(decks=9), "deck.decks", "1 to 8"),
    "4-billion-decks": (Deck(decks=2**32 - 1), "deck.decks", "1 to 8"),
    "removed-too-high": (Deck(removed=[52]), "deck.removed", "not in standard52"),
    "removed-not-in-short": (Deck(name="short36", removed=[0]), "deck.removed", "leave it out"),
    "removed-far-out": (Deck(removed=[2**32 - 1]), "deck.removed", "leave it out"),
    "removed-unsorted": (Deck(removed=[5, 4]), "deck.removed", "ascending"),
    "removed-twice": (Deck(removed=[4, 4]), "deck.removed", "each once"),
    "removed-all-but-one": (Deck(removed=range(51)), "deck.removed", "at least 2"),
    "removed-all": (Deck(removed=range(52)), "deck.removed", "at least 2"),
}


@pytest.mark.parametrize("name", BAD_DECKS)
def test_bad_deck(wire: Wire, name: str):
    """A deck that cannot be dealt is refused, and its hand can be drawn afterwards."""
    deck, field, word = BAD_DECKS[name]
    assert_bad(told(wire.shuffle, order(name, name, deck=deck)), field, word, "; ")
    assert wire.draw(name, name).sequence == 1


@pytest.mark.parametrize("length", [0, 1, 15, 17, 4096])
def test_bad_claim(wire: Wire, length: int):
    """A claim has 16 bytes, neither more nor less."""
    hand = f"claim-{length}"
    refusal = told(wire.shuffle, order("claims", hand, claim=bytes(length)))
    assert_bad(refusal, "claim", f"{length} bytes", "expected 16", "stored before the call")
    assert told(wire.get, question("claims", hand)).code is Code.NOT_FOUND


def test_no_decks_is_one_deck(wire: Wire):
    """`decks` 0, which is what a client that does not set it sends, means 1."""
    unset = wire.shuffle(order("t-decks", "unset", deck=Deck(name="", decks=0)))
    assert (unset.shuffle.deck.name, unset.shuffle.deck.decks) == ("standard52", 1)
    assert wire.shuffle(order("t-decks", "unset", deck=Deck(decks=1))).replayed


# --- ids -------------------------------------------------------------------

BAD_IDS = {
    "empty": ("", "is empty; expected 1 to 128"),
    "129": ("x" * 129, "has 129 characters; expected at most 128"),
    "60000": ("x" * 60_000, "has 60000 characters; expected at most 128"),
    "space": ("a b", "U+0020 at position 1; expected printable ASCII"),
    "newline": ("a\n", "U+000A at position 1"),
    "nul": ("\0", "U+0000 at position 0"),
    "delete": ("ab\x7f", "U+007F at position 2"),
    "umlaut": ("Tisch-ä", "U+00E4 at position 6"),
    "full-width": ("\uff21", "U+FF21 at position 0"),
    "128-characters-of-two-bytes": ("é" * 128, "U+00E9 at position 0"),
}


@pytest.mark.parametrize("name", BAD_IDS)
@pytest.mark.parametrize("field", ["key.table", "key.hand"])
def test_bad_id(wire: Wire, field: str, name: str):
    """An id outside the alphabet or too long is refused by both methods; nothing is drawn."""
    value, text = BAD_IDS[name]
    good = f"id-{field}-{name}"
    table, hand = (value, good) if field == "key.table" else (good, value)
    claim = bytes(16)
    assert_bad(told(wire.shuffle, order(table, hand, claim=claim)), field, text)
    assert_bad(told(wire.get, question(table, hand, claim=claim)), field, text)
    assert wire.draw(good, good).sequence == 1


def test_longest_ids(wire: Wire):
    """128 characters from one end of the alphabet to the other are an id."""
    longest = "!~" * 64
    assert wire.draw(longest, longest).key.hand == longest


def test_no_key(wire: Wire):
    """A request without a key names what is missing."""
    assert_bad(told(wire.shuffle, ShuffleRequest(claim=bytes(16))), "key.table")
    assert_bad(told(wire.get, GetShuffleRequest(claim=bytes(16))), "key.table")


# --- spent ids -------------------------------------------------------------


def test_a_spent_id_tells_nothing_of_its_parameters(wire: Wire):
    """Another deck, removal, table or claim: ALREADY_EXISTS, with one text for all of them."""
    deck = Deck(name="standard54", decks=3, removed=[7, 53])
    drawn = wire.shuffle(order("secret-table", "spent", deck=deck)).shuffle
    attempts = {
        "deck": order("secret-table", "spent", deck=Deck(name="short36", decks=3)),
        "decks": order("secret-table", "spent", deck=Deck(name="standard54", removed=[7, 53])),
        "removed": order("secret-table", "spent", deck=Deck(name="standard54", decks=3)),
        "default deck": order("secret-table", "spent"),
        "table": order("another-table", "spent", deck=deck),
        "claim": order("secret-table", "spent", deck=deck, claim=bytes(16)),
        "everything": order("another-table", "spent", claim=bytes(16)),
    }
    refusals = {name: told(wire.shuffle, request) for name, request in attempts.items()}
    assert {refusal.code for refusal in refusals.values()} == {Code.ALREADY_EXISTS}
    assert {r.reason for r in refusals.values()} == {"HAND_SPENT"}
    assert len({refusal.message for refusal in refusals.values()}) == 1, "the text says which"
    text = refusals["deck"].message
    for stored in ("secret-table", "standard54", "53", claim_of("spent").hex(), drawn.text[:8]):
        assert stored not in text
    assert "use a new hand id" in text
    assert all(not r.fields and not r.metadata for r in refusals.values())
    again = wire.shuffle(order("secret-table", "spent", deck=deck))
    assert (again.replayed, again.shuffle) == (True, drawn)


def test_a_second_table_for_a_spent_hand_gets_no_number(wire: Wire):
    """The refused table has not begun: its first hand is number 1."""
    wire.draw("first-table", "one-table-only")
    refusal = told(wire.shuffle, order("second-table", "one-table-only"))
    assert refusal.code is Code.ALREADY_EXISTS
    assert wire.draw("second-table", "another-hand").sequence == 1


# --- reading back ----------------------------------------------------------


def test_reading_never_draws(wire: Wire):
    """GetShuffle of a hand that was never drawn is NOT_FOUND, however often."""
    for _ in range(3):
        refusal = told(wire.get, question("t-read", "never-drawn"))
        assert (refusal.code, refusal.reason) == (Code.NOT_FOUND, "HAND_NOT_FOUND")
        assert "Shuffle draws it" in refusal.message
    assert wire.draw("t-read", "never-drawn").sequence == 1


def test_reading_takes_the_claim(wire: Wire, dealing: Daemon):
    """The claim reads the deck; another, or none, does not; the audit role needs none."""
    drawn = wire.draw("t-claim", "claimed")
    assert wire.get(question("t-claim", "claimed")) == drawn
    wrong = told(wire.get, question("t-claim", "claimed", claim=bytes(16)))
    assert (wrong.code, wrong.reason) == (Code.ALREADY_EXISTS, "HAND_SPENT")
    assert_bad(told(wire.get, question("t-claim", "claimed", claim=b"")), "claim", "16")
    with Wire(dealing, "audit.sock") as auditor:
        assert auditor.get(question("t-claim", "claimed", claim=b"")) == drawn
        wrong = told(auditor.get, question("t-claim", "claimed", claim=bytes(16)))
        assert wrong.code is Code.ALREADY_EXISTS
        for table, hand in (("t-other", "claimed"), ("t-claim", "unclaimed")):
            missing = told(auditor.get, question(table, hand, claim=b""))
            assert missing.code is Code.NOT_FOUND


def test_every_read_is_recorded(wire: Wire, dealing: Daemon):
    """Who read a deck back, and by which right, stands in the ledger."""
    wire.draw("t-reads", "read-twice")
    wire.get(question("t-reads", "read-twice"))
    with Wire(dealing, "audit.sock") as auditor:
        auditor.get(question("t-reads", "read-twice", claim=b""))
    wire.draw("t-reads", "the-next-commit")
    recorded = rows(dealing, "SELECT subject, detail FROM events WHERE kind = 'hand-read'")
    mine = [detail for subject, detail in recorded if subject == "acme/read-twice"]
    assert mine == ['{"role": "deal_all"}', '{"role": "audit"}']


def test_permission_comes_before_existence(wire: Wire, dealing: Daemon):
    """Without the role, a drawn, an undrawn and an impossible hand are refused alike."""
    wire.draw("t-roles", "exists")
    with Wire(dealing, "audit.sock") as auditor:
        asked = [order("t-roles", "exists"), order("t-roles", "does-not"), ShuffleRequest()]
        refusals = [told(auditor.shuffle, request) for request in asked]
        for refusal in refusals:
            assert (refusal.code, refusal.reason) == (Code.PERMISSION_DENIED, "ROLE_MISSING")
            assert "role deal_all" in refusal.message
            assert "`roles`" in refusal.message
        assert len({refusal.message for refusal in refusals}) == 1
        given = AddUserEntropyRequest(user="u", blob=b"x")
        refusal = told(auditor.entropy.AddUserEntropy, given, timeout=10)
        assert (refusal.code, refusal.reason) == (Code.PERMISSION_DENIED, "ROLE_MISSING")
    assert wire.draw("t-roles", "does-not").sequence == 2


def test_tenants_do_not_meet(wire: Wire, dealing: Daemon):
    """The same table, hand and claim of another tenant is another hand."""
    mine = wire.draw("t-tenant", "shared-name")
    with Wire(dealing, "other.sock") as other:
        assert told(other.get, question("t-tenant", "shared-name")).code is Code.NOT_FOUND
        theirs = other.draw("t-tenant", "shared-name")
    assert (mine.sequence, theirs.sequence) == (1, 1)
    assert mine.items != theirs.items
    assert wire.get(question("t-tenant", "shared-name")) == mine


# --- deadlines -------------------------------------------------------------


def test_no_deadline(wire: Wire):
    """A call that would wait for ever is refused, with a value that does."""
    refusal = told(wire.shuffle, order("t-time", "no-deadline"), timeout_s=None)
    assert_bad(refusal, "deadline", "10 s")
    assert wire.draw("t-time-none", "no-deadline").sequence == 1


def test_too_short_a_deadline(wire: Wire):
    """A deadline of 40 ms leaves no time to answer 50 ms before it: refused at once."""
    refusal = Told(Code.OK, "")
    for attempt in range(20):
        hand = f"40-ms-{attempt}"
        refusal = told(wire.shuffle, order("t-40ms", hand), timeout_s=0.04)
        assert told(wire.get, question("t-40ms", hand)).code is Code.NOT_FOUND
        if refusal.code is not Code.DEADLINE_EXCEEDED:  # on a busy machine 40 ms can pass unheard
            break
    assert_bad(refusal, "deadline", "expected more than 50 ms", "10 s")
    assert re.search(r"[0-9]+ ms are left", refusal.message)
    assert wire.draw("t-40ms", "40-ms-0").sequence == 1


def test_a_deadline_of_one_millisecond(wire: Wire):
    """Whatever the caller hears, a deadline of 1 ms draws nothing."""
    for attempt in range(20):
        request = order("t-1ms", f"1-ms-{attempt}")
        refusal = told(wire.shuffle, request, timeout_s=0.001)
        assert refusal.code in {Code.DEADLINE_EXCEEDED, Code.INVALID_ARGUMENT}
    assert [wire.draw("t-1ms", f"1-ms-{n}").sequence for n in range(20)] == list(range(1, 21))


def test_a_deadline_of_a_year(wire: Wire):
    """A far deadline is no error: `max_hold` bounds the wait."""
    assert wire.shuffle(order("t-year", "a-year"), timeout_s=3.2e7).shuffle.sequence == 1


# --- sizes and forms -------------------------------------------------------


def test_too_large_a_message(wire: Wire):
    """More than 2 MiB is refused before it is parsed, and the connection stays."""
    huge = AddUserEntropyRequest(user="u", blob=bytes(2049 * 1024))
    refusal = told(wire.entropy.AddUserEntropy, huge, timeout=10)
    assert refusal.code is Code.RESOURCE_EXHAUSTED
    assert "larger than max" in refusal.message
    huge_deck = order("t-size", "large", deck=Deck(removed=range(1_000_000)))
    assert told(wire.shuffle, huge_deck).code is Code.RESOURCE_EXHAUSTED
    assert wire.draw("t-size", "large").sequence == 1


def test_too_much_metadata(wire: Wire):
    """Metadata far beyond 8 KiB is refused, and the next call is answered."""
    request = order("t-metadata", "much")
    metadata = (("x-filler", "x" * 64 * 1024),)
    refusal = told(wire.shuffles.Shuffle, request, timeout=10, metadata=metadata)
    assert refusal.code in {Code.RESOURCE_EXHAUSTED, Code.UNAVAILABLE}
    assert wire.draw("t-metadata", "much").sequence == 1


GARBAGE = {
    "no-tag": b"\xff\xff\xff",
    "cut-short": b"\x0a\x7f",
    "latin-1": b"\x0a\x06K\xf6nig1",
}


@pytest.mark.parametrize("name", GARBAGE)
@pytest.mark.parametrize("method", ["ShuffleService/GetShuffle", "EntropyService/AddUserEntropy"])
def test_bytes_that_are_no_message(wire: Wire, dealing: Daemon, method: str, name: str):
    """What does not parse, such as ids in Latin-1, is a bad request and no line in the log."""
    call = wire.raw(method)
    logged = len(dealing.log)
    for _ in range(100):
        refusal = told(call, GARBAGE[name], timeout=10)
        assert_bad(refusal, "request", "no message of this method", "ids in ASCII")
    assert wire.status().can_deal
    assert len(log_lines(dealing, logged)) <= 2
    assert "Traceback" not in dealing.log


def test_unknown_fields_are_tolerated(wire: Wire):
    """A newer client's fields are ignored: same hand, same deck."""
    newer = order("t-newer", "newer").SerializeToString() + b"\xc0\x3e\x01"  # field 1000, 1
    answer = wire.raw("ShuffleService/Shuffle")(newer, timeout=10)
    first = shuffle_service_pb2.ShuffleResponse.FromString(answer)
    assert (first.replayed, first.shuffle.sequence) == (False, 1)
    assert wire.replay("t-newer", "newer") == first.shuffle


@pytest.mark.parametrize("method", ["Shuffles", "OpenHand", ""])
def test_unknown_method(wire: Wire, method: str):
    """A method that there is not is UNIMPLEMENTED."""
    assert told(wire.raw(f"ShuffleService/{method}"), b"", timeout=10).code is Code.UNIMPLEMENTED


# --- user entropy ----------------------------------------------------------

BAD_GIFTS = {
    "neither": (AddUserEntropyRequest(user="u"), "blob", "exactly one"),
    "both": (AddUserEntropyRequest(user="u", blob=b"x", events=[Event()]), "blob", "exactly one"),
    "long blob": (AddUserEntropyRequest(user="u", blob=bytes(1025)), "blob", "1 to 1024"),
    "many events": (AddUserEntropyRequest(user="u", events=[Event()] * 257), "events", "1 to 256"),
    "back in time": (
        AddUserEntropyRequest(user="u", events=[Event(time_us=2), Event(time_us=1)]),
        "events[1].time_us",
        "order of time",
    ),
    "no user": (AddUserEntropyRequest(blob=b"x"), "user", "1 to 128"),
    "long user": (AddUserEntropyRequest(user="x" * 129, blob=b"x"), "user", "at most 128"),
    "user with space": (AddUserEntropyRequest(user="x y", blob=b"x"), "user", "U+0020"),
    "user not in ASCII": (AddUserEntropyRequest(user="jörg", blob=b"x"), "user", "U+00F6"),
}


@pytest.mark.parametrize("name", BAD_GIFTS)
def test_bad_user_entropy(wire: Wire, name: str):
    """User entropy that is malformed is refused whole: the pool is as it was."""
    request, field, word = BAD_GIFTS[name]
    before = wire.status().user_pooled_millibits
    assert_bad(told(wire.entropy.AddUserEntropy, request, timeout=10), field, word)
    assert wire.status().user_pooled_millibits <= before


def test_repeated_user_entropy_counts_once(dealing: Daemon):
    """The same bytes again, from whomever, are worth nothing."""
    with Wire(dealing, "other.sock") as wire:
        blob = bytes(range(64))
        first = AddUserEntropyRequest(user="repeats-1", blob=blob)
        second = AddUserEntropyRequest(user="repeats-2", blob=blob)
        given = wire.entropy.AddUserEntropy(first, timeout=10)
        assert given.estimated_millibits > 0
        for again in (first, second):
            repeated = wire.entropy.AddUserEntropy(again, timeout=10)
            assert repeated.estimated_millibits == 0
            assert repeated.pooled_millibits <= given.pooled_millibits


def assert_limited(refusal: Told, *words: str) -> None:
    """Too much: RESOURCE_EXHAUSTED, which no client retries by itself, and when to come back."""
    assert (refusal.code, refusal.reason) == (Code.RESOURCE_EXHAUSTED, "OVERLOADED")
    assert refusal.domain == "entropyd"
    assert refusal.retry_s is not None
    assert refusal.retry_s > 0
    for word in words:
        assert word in refusal.message


def test_user_entropy_is_limited_in_rate(dealing: Daemon):
    """A user who sends at once what takes minutes is slowed down, others are not."""
    with Wire(dealing, "other.sock") as wire:

        def give(user: str, number: int) -> object:
            request = AddUserEntropyRequest(user=user, blob=f"{user}-{number}".encode())
            return wire.entropy.AddUserEntropy(request, timeout=10)

        def flood() -> object:
            for number in range(1000):
                give("rushes", number)
            return "a thousand at once"

        assert_limited(told(flood), "user: sent more than 16", "every 250 ms", "send less often")
        give("does-not", 0)


def test_user_entropy_is_limited_in_room(daemon: Daemon):
    """4,097 users fill the pool and are told so; a draw makes room for the next.

    On a daemon of its own, which remembers so many users for as long as it runs.
    """
    daemon.start()
    with Wire(daemon, "other.sock") as wire:
        give = wire.entropy.AddUserEntropy.future
        gifts = [AddUserEntropyRequest(user=f"crowd-{n}", blob=b"%064d" % n) for n in range(4097)]
        answers = [give(gift, timeout=PATIENCE_S) for gift in gifts]
        refused = [Told.by(error) for answer in answers if (error := answer.exception())]
        taken = len(answers) - len(refused)
        assert 900 <= taken <= 1024, "as many as the pool takes"
        assert_limited(refused[0], "1024", "send again after the next draw")
        assert {refusal.code for refusal in refused} == {Code.RESOURCE_EXHAUSTED}
        drawn = wire.draw("t-crowd", "crowd")
        users = [s for s in drawn.provenance.sources if s.source == "users"]
        assert users[0].samples >= 64
        wire.entropy.AddUserEntropy(
            AddUserEntropyRequest(user="crowd-0", blob=b"there is room again"), timeout=10
        )


# --- afterwards ------------------------------------------------------------


def test_bad_input_leaves_no_trace_in_the_numbers(wire: Wire, dealing: Daemon):
    """After refusals of every kind, every table counts from 1 without gaps."""
    began = time.monotonic()
    for deck, _, _ in BAD_DECKS.values():
        told(wire.shuffle, order("t-gaps", "gap", deck=deck))
    assert wire.draw("t-gaps", "gap").sequence == 1
    assert time.monotonic() - began < 30
    assert_numbers_have_no_gaps(dealing)
