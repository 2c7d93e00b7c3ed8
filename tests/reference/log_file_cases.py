"""Log files for docs/vectors/dealt_hands.json: ranges of one log, and such as MUST be refused."""

from tests.reference import log_cases, naive, naive_log
from tests.reference.hand_cases import RECEIPTS, made
from tests.reference.hand_tampering import other, resigned, to, wrong_log, wrong_signature
from tests.reference.log_cases import (
    LOG_KEY,
    NEXT_LOG_KEY,
    NEXT_RECEIPTS_KEY,
    ORIGIN,
    RECEIPTS_KEY,
    seed,
)

NEXT_RECEIPTS_SEED = seed("the next key of receipts")
NEXT_LOG_SEED = seed("the next key of checkpoints")
WITNESS = "witness.example/w1"


def receipts_note(text, *seeds):
    signers = [(RECEIPTS, each) for each in seeds or (seed(RECEIPTS),)]
    return naive_log.sign_note(text, *signers).decode()


def frontier(leaves):
    """The roots of the perfect subtrees, the largest first."""
    roots, at = [], 0
    for bit in range(62, -1, -1):
        if len(leaves) & 2**bit:
            roots.append(naive.merkle_root(leaves[at : at + 2**bit]).hex())
            at += 2**bit
    return roots


def checkpoint(leaves, signer=None, witness=False):
    text = naive_log.checkpoint_text(ORIGIN, len(leaves), naive.merkle_root(leaves))
    note = naive_log.sign_note(text, (ORIGIN, signer or seed(ORIGIN)))
    if witness:
        note += naive_log.cosignature_line(WITNESS, seed(WITNESS), text, 1_796_025_600)
    return note.decode()


def log_file(entries, first=0, count=None, older=None, keys=None, **how):
    """Return the file of a range. `entries` are texts or notes of the whole log."""
    leaves = [each.partition("\n\n")[0].rstrip("\n").encode() for each in entries]
    end = len(entries) if count is None else first + count
    grown = naive_log.consistency_proof(end, leaves) if end else []
    file = {
        "entropyd": "log/v1",
        "origin": ORIGIN,
        "keys": keys or [LOG_KEY, RECEIPTS_KEY],
        "first": str(first),
        "entries": entries[first:end],
        "frontier": frontier(leaves[:first]),
        "checkpoint": checkpoint(leaves, witness=True, **how),
        "consistency": [each.hex() for each in grown],
    }
    if older:
        proof = [each.hex() for each in naive_log.consistency_proof(older, leaves)]
        file["older"] = {"checkpoint": checkpoint(leaves[:older]), "consistency": proof}
    return file


def texts(log):
    return [text.decode("ascii") for text in log.entries]


def rotated(entries):
    """Return the log with both keys changed, and entries after that."""
    index = len(entries)

    def entry(place, event, *lines):
        return naive_log.write(log_cases.receipt(event, *lines, index=index + place))

    build = entry(2, "build", ("version", "0.2.0"))
    change = entry(0, "key", ("key", NEXT_RECEIPTS_KEY), ("previous", RECEIPTS_KEY))
    other_change = entry(1, "key", ("key", NEXT_LOG_KEY), ("previous", LOG_KEY))
    return [
        *entries,
        receipts_note(change, seed(RECEIPTS), NEXT_RECEIPTS_SEED),
        receipts_note(other_change, NEXT_RECEIPTS_SEED),
        receipts_note(build, NEXT_RECEIPTS_SEED),
    ]


def back_again():
    """Return a log whose receipts are signed by a second key for two entries, then by the first."""
    change = ("key", NEXT_RECEIPTS_KEY), ("previous", RECEIPTS_KEY)
    back = ("key", RECEIPTS_KEY), ("previous", NEXT_RECEIPTS_KEY)
    build = "build", ("version", "0.2.0")
    old, new = seed(RECEIPTS), NEXT_RECEIPTS_SEED
    signers = ((old, new), (new,), (new, old), (old,))
    texts = written([("key", *change), build, ("key", *back), build])
    return [receipts_note(text.encode(), *by) for text, by in zip(texts, signers, strict=True)]


def log_files(log):
    """Yield label, file, keys that a verifier may be given."""
    entries, given = texts(log), [LOG_KEY, RECEIPTS_KEY]
    signed = [receipts_note(text) for text in log.entries[3:9]]
    yield "a whole log", log_file(entries), given
    yield (
        "a range from its middle, signed",
        log_file([*entries[:3], *signed, *entries[9:]], 3, 6),
        given,
    )
    yield "the end, and an older checkpoint", log_file(entries, 20, older=13), given
    yield "one entry", log_file(entries[:5], 2, 1), given
    yield "two checkpoints", log_file(entries, 0, 0, older=16), given
    yield "both keys change", log_file(rotated(entries), signer=NEXT_LOG_SEED), given
    yield "a key that comes into force again", log_file(back_again()), given
    later = [NEXT_LOG_KEY, NEXT_RECEIPTS_KEY]
    yield (
        "after both keys changed",
        log_file(rotated(entries), len(entries) + 2, keys=later, signer=NEXT_LOG_SEED),
        later,
    )
    yield "draws and a shuffle", log_file(small_log()), given
    yield "a table that had hands before the log", log_file(small_log(), 11, 2), given
    yield "a table that had hands, after its entry", log_file(small_log(), 12), given


HAND = (("tenant", "acme"), ("table", "t"))
LATE = (("tenant", "acme"), ("table", "late"))
HASHES = (log_cases.C, log_cases.D)
FROM = (log_cases.POLICY, log_cases.OS)
ROLL = (("contributions", "1"), ("R", log_cases.hash_of("R")))
DEALT = (("dealt", "2"), ("deals", log_cases.hash_of("deals")))


def of_hand(hand, sequence, table=HAND):
    return (*table, ("hand", hand), ("sequence", str(sequence)))


def opening(hand, sequence, table=HAND):
    O = ("O", log_cases.hash_of(hand))  # noqa: E741
    fixed = (log_cases.RULES, log_cases.N, *HASHES, log_cases.A, O)
    return "open", *of_hand(hand, sequence, table), *fixed, *FROM


def step(event, hand, sequence, *lines):
    return event, *of_hand(hand, sequence), ("O", log_cases.hash_of(hand)), *lines


def shuffled(hand, sequence, table=HAND):
    O = ("O", log_cases.hash_of(hand))  # noqa: E741
    fixed = (log_cases.RULES, log_cases.N, *HASHES, log_cases.NO_SEATS, O)
    whole = (("delivery", "whole-deck"), ("dealt", "52"))
    return "close", *of_hand(hand, sequence, table), *fixed, *whole, *FROM


def drawn(number, *rules):
    match = (("tenant", "acme"), ("match", "m"), ("draw", f"d{number}"), ("number", str(number)))
    return "draw", *match, *rules, *HASHES, *FROM


def announced(raffle, entries):
    which = (("tenant", "acme"), ("raffle", raffle.replace(" ", "-")))
    return (*which, log_cases.RULES, ("entries", log_cases.hash_of(entries)))


def sealed(raffle, entries="a list"):
    return "seal", *announced(raffle, entries)


def raffled(raffle, entries="a list"):
    return "draw", *announced(raffle, entries), *HASHES, *FROM


def begun_late(*settings):
    told = [("setting", setting) for setting in settings]
    return "table", *LATE, log_cases.POLICY, *told


TABLE = ("table", *HAND, log_cases.POLICY)
TIMED = ("deadline", log_cases.TIME)
BARE = ("void", *HAND, ("hand", "never"), ("dealt", "0"), ("reason", "rejected"))
GOOD = [
    TABLE,
    opening("a", 1),
    shuffled("b", 2),
    drawn(1, log_cases.RULES),
    step("roll", "a", 1, *ROLL, TIMED),
    step("seal", "a", 1, *ROLL),
    BARE,
    opening("c", 3),
    step("close", "a", 1, *DEALT),
    drawn(2),
    step("void", "c", 3, ("dealt", "0"), ("deals", naive_log.EMPTY), ("reason", "expired")),
    begun_late("hands.per_table_open 2", "hands_before 41"),
    opening("e", 42, LATE),
    shuffled("f", 43, LATE),
    sealed("spring"),
    sealed("summer", "another list"),
    raffled("spring"),
    raffled("begun before"),
]


def written(events):
    return [
        naive_log.write(log_cases.receipt(event, *lines, index=index)).decode("ascii")
        for index, (event, *lines) in enumerate(events)
    ]


def small_log():
    return written(GOOD)


def tampered_logs(log, bases):
    yield from of_entries(bases)
    yield from of_stories()
    yield from of_trees(bases)
    yield from of_keys(log, bases)


def of_entries(bases):
    whole, middle = "a whole log", "a range from its middle, signed"
    entries = bases[whole]["file"]["entries"]
    yield (
        "an entry left out",
        whole,
        "entries[4]",
        False,
        [to(entries[:4] + entries[5:], "entries")],
    )
    swapped = [*entries[:4], entries[5], entries[4], *entries[6:]]
    yield "two entries exchanged", whole, "entries[4]", False, [to(swapped, "entries")]
    changed = entries[3].replace("samples=54", "samples=55")
    yield "an entry changed", whole, "consistency", False, [to(changed, "entries", 3)]
    yield "an entry that is no receipt", whole, "entries[1]", False, [to("hello\n", "entries", 1)]
    foreign = entries[3].replace(f"log: {ORIGIN}", "log: other.example/log")
    yield "an entry of another log", whole, "entries[3]", False, [to(foreign, "entries", 3)]
    yield "the last entry left out", whole, "consistency", False, [to(entries[:-1], "entries")]
    note = bases[middle]["file"]["entries"][2]
    yield (
        "a wrong signature",
        middle,
        "entries[2]",
        False,
        [to(wrong_signature(note), "entries", 2)],
    )
    stranger = resigned(note, seed("a stranger's key of receipts"))
    yield "an entry signed by a stranger", middle, "entries[2]", False, [to(stranger, "entries", 2)]
    yield "another first", middle, "entries[0]", False, [to("4", "first")]


def replaced(at, *events):
    """Return a whole log file like the good one but for one event."""
    return to(log_file(written([*GOOD[:at], *events, *GOOD[at + 1 :]])))


def of_stories():
    of = "draws and a shuffle"
    other_R = ("R", log_cases.hash_of("another R"))
    for reason, at, events in (
        ("a number left out", 2, [shuffled("b", 3)]),
        ("a number twice", 2, [shuffled("b", 1)]),
        ("a table that begins with number 2", 1, [opening("a", 2)]),
        ("a hand opened twice", 2, [shuffled("a", 2)]),
        ("a table twice", 2, [TABLE]),
        ("a hand before its table", 0, [opening("a", 1)]),
        ("a draw left out", 3, [drawn(2)]),
        ("a step of a hand that was never opened", 4, [step("seal", "x", 1, *ROLL)]),
        ("a step with another number", 4, [step("roll", "a", 2, *ROLL, TIMED)]),
        ("R of the seal is not the roll's", 5, [step("seal", "a", 1, ROLL[0], other_R)]),
        ("closed without a seal", 5, [step("close", "a", 1, *DEALT)]),
        (
            "rolled after the seal",
            5,
            [step("seal", "a", 1, *ROLL), step("roll", "a", 1, *ROLL, TIMED)],
        ),
        ("a step after the end", 9, [step("void", "a", 1, *DEALT, ("reason", "late"))]),
        ("a step of a hand dealt whole", 3, [step("seal", "b", 2, *ROLL)]),
        ("a table that had 41 hands and begins with 1", 12, [opening("e", 1, LATE)]),
        ("a table that had 41 hands and begins with 43", 12, [opening("e", 43, LATE)]),
        ("a table that had hands and does not say so", 11, [begun_late(), opening("e", 42, LATE)]),
        ("a hand of a table that had some, before its entry", 11, [opening("e", 42, LATE)]),
        ("a table that says twice what it had", 13, [begun_late("hands_before 42")]),
        ("a table that had no hands, and says so", 11, [begun_late("hands_before 0")]),
        ("a raffle sealed twice", 15, [sealed("spring")]),
        ("a raffle drawn twice", 17, [raffled("spring")]),
        ("a raffle sealed after it was drawn", 17, [sealed("spring")]),
        ("a raffle of another list than was sealed", 16, [raffled("summer")]),
        ("void before it was opened, and opened", 7, [("void", *HAND, ("hand", "a"), *BARE[4:])]),
    ):
        wrong = at + len(events) - 1
        yield reason, of, f"entries[{wrong}]", False, [replaced(at, *events)]


def of_trees(bases):
    whole, middle, end = (
        "a whole log",
        "a range from its middle, signed",
        "the end, and an older checkpoint",
    )
    file = bases[middle]["file"]
    hashes, proof = file["frontier"], file["consistency"]
    yield "another frontier", middle, "consistency", False, [to(other(hashes[0]), "frontier", 0)]
    yield "a frontier left out", middle, "frontier", False, [to(hashes[:-1], "frontier")]
    yield "a frontier where there is none", whole, "frontier", False, [to(hashes[:1], "frontier")]
    yield "another proof", middle, "consistency", False, [to(other(proof[0]), "consistency", 0)]
    yield "a proof cut off", middle, "consistency", False, [to(proof[:-1], "consistency")]
    yield "a proof of nothing", whole, "consistency", False, [to(proof[:1], "consistency")]
    note = file["checkpoint"]
    yield (
        "a checkpoint with a wrong signature",
        middle,
        "checkpoint",
        False,
        [to(wrong_log(note), "checkpoint")],
    )
    small = bases["one entry"]["file"]["checkpoint"]
    yield "a checkpoint before the range", middle, "checkpoint", False, [to(small, "checkpoint")]
    older = bases[end]["file"]["older"]
    forked = naive_log.checkpoint_text(ORIGIN, 13, made("root", 32))
    forked = naive_log.sign_note(forked, (ORIGIN, seed(ORIGIN))).decode()
    yield "a fork", end, "older", False, [to(forked, "older", "checkpoint")]
    proof = older["consistency"]
    yield (
        "another proof from the older one",
        end,
        "older",
        False,
        [to(proof[::-1], "older", "consistency")],
    )
    two = bases["two checkpoints"]["file"]
    yield (
        "two checkpoints of two histories",
        "two checkpoints",
        "older",
        False,
        [to(forked, "older", "checkpoint")],
    )
    swapped = [
        to(two["older"]["checkpoint"], "checkpoint"),
        to(two["checkpoint"], "older", "checkpoint"),
    ]
    yield "the older one is larger", "two checkpoints", "older", False, swapped
    yield "no entries, and a first", "two checkpoints", "frontier", False, [to("1", "first")]


def of_keys(log, bases):
    of = "both keys change"
    entries = bases[of]["file"]["entries"]
    index = len(log.entries)
    yield "one key left out", of, "keys", False, [to([LOG_KEY], "keys")]
    more = [LOG_KEY, RECEIPTS_KEY, *[log_cases.key(WITNESS, key_type=4)] * 15]
    yield "seventeen keys", of, "keys", False, [to(more, "keys")]
    yield "a key twice", of, "keys", False, [to([LOG_KEY, RECEIPTS_KEY, RECEIPTS_KEY], "keys")]
    yield "a key that is none", of, "keys", False, [to("hello", "keys", 0)]
    given = [LOG_KEY, NEXT_RECEIPTS_KEY]
    theirs = ("other.example/log", "other.example/log/receipts")
    changes = [to(theirs[0], "origin"), to([log_cases.key(name) for name in theirs], "keys")]
    yield "keys that were not given", "after both keys changed", "keys", True, changes
    text = entries[index].partition("\n\n")[0] + "\n"
    one = receipts_note(text.encode())
    part = f"entries[{index}]"
    yield "a change signed by the old key alone", of, part, False, [to(one, "entries", index)]
    one = receipts_note(text.encode(), NEXT_RECEIPTS_SEED)
    yield "a change signed by the new key alone", of, part, False, [to(one, "entries", index)]
    yield "a change that nobody signed", of, part, False, [to(text, "entries", index)]
    build = entries[index + 2]
    last, old = f"entries[{index + 2}]", resigned(build)
    yield "an entry signed by the key before", of, last, False, [to(old, "entries", index + 2)]
    yield "a key that a later entry puts in force", of, "entries[1]", False, [to(given, "keys")]
    stranger = log_cases.key(RECEIPTS, "a stranger's key of receipts")
    wrong = text.replace(f"previous: {RECEIPTS_KEY}", f"previous: {stranger}")
    wrong = receipts_note(wrong.encode(), seed(RECEIPTS), NEXT_RECEIPTS_SEED)
    yield "a change of a key that is not in force", of, part, False, [to(wrong, "entries", index)]
    whole = [text.encode() for text in entries]
    leaves = [each.partition(b"\n\n")[0].rstrip(b"\n") for each in whole]
    yield (
        "a checkpoint under the key before",
        of,
        "checkpoint",
        False,
        [to(checkpoint(leaves), "checkpoint")],
    )
    first = entries[0].replace(LOG_KEY, NEXT_LOG_KEY)
    yield "another key at the beginning", of, "entries[0]", False, [to(first, "entries", 0)]
    yield "a member less", of, "older", False, [to({"checkpoint": "", "consistency": []}, "older")]
