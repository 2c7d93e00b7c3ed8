"""Known answers of the draw: a whole hand, from its seed to its cards and commitment.

Run at start, after those of the generator: a sampler or a keystream that a bad
build broke must never deal. The hand is the first one of
tests/vectors/protocol/hands.json, which two implementations in two languages
computed independently of this one.

Spec: docs/protocol.md.
"""

from entropyd.draw.cards import Deck
from entropyd.hands.rules import Rules
from entropyd.hands.whole_deck import CommittedDeck, open_deck
from entropyd.rbg.kat import KnownAnswerTest

RULES = Rules(deck=Deck("standard52"), whole_deck_proof=False)
BINDING = bytes.fromhex(
    "00000010656e74726f7079642f68616e642f76310000000461636d6500000007"
    "7461626c652d37000000013100000020e70d4fe01bde645132f6c336cb857941"
    "ac579b7484b638015051ed4cb702e8df"
)
SEED = bytes.fromhex(
    "1f00ae5262a463a8746eac96cfa156c6663fd740e5771bc3cbe0e9d1f6056640"
    "f0a20af113c5ab184e639021e42abd2e0163864579c89b0c0edcc4992d151650"
)
BLINDING = bytes.fromhex("c888f6a302cb7385b07a78d68e6f0b2bb1d8e791a7c395a4b3fc5f81face327a")
SALT_KEY = bytes.fromhex("ea42a06d73caf0aa6727608db4204102d66db83f584aedd928d0891960cd807c")
ITEMS = bytes.fromhex(
    "33270d2e1700121e232b0e2030161826242c110a01192f092921030605321302"
    "1c2822080c0b102d1b2a070f0414151a251f1d31"
)
COMMITMENT = bytes.fromhex("26728ba648e968dfc4b1c05b200bc55a5cbd265599f11c309dc26338fabfe291")
DECK_ROOT = bytes.fromhex("a16cc8e048698a890ec1f64b95b24379bfb024f831e44b2fc90a25b6d0e7bd20")
OPEN_HASH = bytes.fromhex("e7504a590c580625fb72af3db52d88ffa72a657b24920bcd63a9016a1d830b87")


def draw_known_answers() -> tuple[KnownAnswerTest, ...]:
    """Return the tests, for `rbg.kat.run_known_answer_tests(more=...)`."""
    return (
        KnownAnswerTest("draw: order of 52 cards", lambda: bytes(_hand().items), ITEMS),
        KnownAnswerTest("hand: commitment C", lambda: _hand().commitment, COMMITMENT),
        KnownAnswerTest("hand: deck root D", lambda: _hand().deck_root, DECK_ROOT),
        KnownAnswerTest("hand: open hash O", lambda: _hand().at_sequence(1), OPEN_HASH),
    )


def _hand() -> CommittedDeck:
    return open_deck(RULES, BINDING, seeds=(SEED,), blinding=BLINDING, salt_key=SALT_KEY)
