"""Receipts and notes to seats for docs/vectors/log.json: good ones, and ones that break one rule.

Texts are written line by line; what they say is made up, what they are is
sections 19 and 20 of docs/protocol.md.
"""

from tests.reference import naive_ed25519 as ed25519
from tests.reference.naive import sha256
from tests.reference.naive_log import EMPTY, key_text, percent, write

ORIGIN = "entropyd.example/log"
TIME = "2026-11-30T07:47:00.000Z"


def seed(name):
    """Return the secret of a key of the vectors: it is public, so is nobody's."""
    return sha256(b"entropyd vector: key " + name.encode("ascii"))


def key(name, label=None, key_type=1):
    return key_text(name, key_type, ed25519.public_key(seed(label or name)))


LOG_KEY, RECEIPTS_KEY = key(ORIGIN), key(ORIGIN + "/receipts")
NEXT_LOG_KEY = key(ORIGIN, "the next key of checkpoints")
NEXT_RECEIPTS_KEY = key(ORIGIN + "/receipts", "the next key of receipts")


def hash_of(label):
    return sha256(b"entropyd vector: " + label.encode("ascii")).hex()


def receipt(event, *lines, index=0, time=TIME, log=ORIGIN):
    head = [("entropyd-receipt", "v1"), ("log", log), ("index", str(index)), ("event", event)]
    return [*head, *lines, ("time", time)]


HAND = (("tenant", "acme"), ("table", "table-7"), ("hand", "42"), ("sequence", "17"))
O = ("O", hash_of("O"))  # noqa: E741 - the document's letter
RULES, N = ("rules", hash_of("rules")), ("n", "52")
C, D = ("C", hash_of("C")), ("D", hash_of("D"))
A, NO_SEATS = ("A", hash_of("A")), ("A", EMPTY)
POLICY = ("policy", percent("hardware=320 user=249 shortfall=cover"))


def source(
    name="hardware",
    kind="hardware",
    driver="quantis-usb",
    serial="1608072A410",
    numbers="54 324 18",
    health="healthy",
):
    samples, credited, age = numbers.split(" ")
    who = f"class={name} kind={kind} driver={percent(driver)} serial={percent(serial)}"
    return "source", f"{who} samples={samples} credited={credited} age={age} health={health}"


OS = source("os", "os", "", "", "64 0 0", "none")
USER = source("user", "user", "", "", "48 12 250", "none")


def good_receipts():
    """Yield label, lines."""
    settings = (("setting", "hardware_bits 320"), ("setting", "user.shortfall cover%20it"))
    table = (("tenant", "acme"), ("table", "table-7"))
    yield "a table", receipt("table", *table, POLICY, *settings)
    yield "a table without settings", receipt("table", *table, POLICY, index=2**63 - 2)
    for hands in (41, 2**64 - 2):
        before = ("setting", f"hands_before {hands}")
        label = f"a table that had {hands} hands before this log"
        yield label, receipt("table", *table, POLICY, before)
    opened = (*HAND, RULES, N, C, D, A, O)
    yield "an open hand", receipt("open", *opened, ("deadline", TIME), POLICY, source(), USER, OS)
    yield (
        "an open hand with everything",
        receipt(
            "open",
            *opened,
            ("deadline", "9999-12-31T23:59:59.999Z"),
            ("escrow", hash_of("escrow")),
            ("parent", hash_of("parent")),
            ("replaces", hash_of("replaces")),
            POLICY,
            source(
                "cover",
                "mock",
                "mock",
                "100% pure\u00e9 \u2660\n",
                "0 0 18446744073709551615",
                "lost",
            ),
            ("degraded", "yes"),
        ),
    )
    roll = (("contributions", "2"), ("R", hash_of("R")))
    yield "a roll", receipt("roll", *HAND, O, *roll, ("deadline", TIME))
    yield "a seal", receipt("seal", *HAND, O, *roll)
    nobody = (("contributions", "0"), ("R", EMPTY))
    yield "a seal without contributions", receipt("seal", *HAND, O, *nobody)
    dealt = (("dealt", "9"), ("deals", hash_of("deals")))
    yield "a close", receipt("close", *HAND, O, *dealt)
    yield "a close of nothing dealt", receipt("close", *HAND, O, ("dealt", "0"), ("deals", EMPTY))
    whole = (*HAND, RULES, N, C, D, NO_SEATS, O, ("delivery", "whole-deck"), ("dealt", "52"))
    yield "a shuffle", receipt("close", *whole, POLICY, source(), OS)
    batch = [source("batch-" + c, "os", "", "", "1 1 1", "none") for c in ("hardware", "os")]
    yield "a shuffle of a batch", receipt("close", *whole, POLICY, source(), *batch)
    yield "a void", receipt("void", *HAND, O, *dealt, ("reason", "unopened"))
    bare = (*HAND[:3], ("dealt", "0"), ("reason", percent("the draw failed: 128 tries")))
    yield "a void before anything was opened", receipt("void", *bare)
    drawn = (RULES, C, D, POLICY, source(), OS)
    match = (
        ("tenant", "acme"),
        ("match", "m-1"),
        ("draw", "d"),
        ("number", "18446744073709551615"),
    )
    yield "a draw of a match", receipt("draw", *match, *drawn)
    yield "a draw from a bag", receipt("draw", *match, *drawn[1:])
    yield "a draw from one seed", receipt("draw", *match, *drawn, ("seeds", "computational"))
    raffle = (("tenant", "acme"), ("raffle", "spring"), RULES, ("entries", hash_of("E")))
    yield "a sealed raffle", receipt("seal", *raffle)
    yield "a drawn raffle", receipt("draw", *raffle, *drawn[1:], ("degraded", "yes"))
    yield "a policy", receipt("policy", POLICY, *settings, time="2024-02-29T23:59:59.999Z")
    elsewhere = ("setting", "hands_before none")
    yield "a policy with a setting of that name", receipt("policy", POLICY, elsewhere)
    tenants = (("tenant", "acme"), ("reason", "reload"), POLICY)
    yield "a policy of a tenant", receipt("policy", *tenants)
    yield "the first key", receipt("key", ("key", LOG_KEY))
    change = (("reason", "yearly"), ("key", NEXT_RECEIPTS_KEY), ("previous", RECEIPTS_KEY))
    yield "a key of receipts that changes", receipt("key", *change)
    other = (("key", NEXT_LOG_KEY), ("previous", LOG_KEY))
    yield "a key of checkpoints that changes", receipt("key", *other)
    alarm = (("reason", "repetition%20count"), source(numbers="0 0 0", health="failed"))
    yield "an alarm", receipt("health", *alarm)
    version = (("version", "0.1.0"), ("digest", hash_of("wheel")))
    yield "a build", receipt("build", *version)
    adopted = (("reason", "x" * 1024), ("version", "%25"))
    yield "a build for a long reason", receipt("build", *adopted, time="1970-01-01T00:00:00.000Z")
    longest = (("tenant", "~" * 128), ("table", "!" * 128), POLICY)
    yield "longest ids", receipt("table", *longest, log="o" * 128)


def changed(lines, name, value):
    """Return the lines with one value changed, or its line left out."""
    return [(n, value if n == name else v) for n, v in lines if n != name or value is not None]


GOOD = dict(good_receipts())
SEAL, OPEN, CLOSE, VOID = GOOD["a seal"], GOOD["an open hand"], GOOD["a close"], GOOD["a void"]
SHUFFLE, MATCH, TABLE = GOOD["a shuffle"], GOOD["a draw of a match"], GOOD["a table"]
LATE_TABLE = GOOD["a table that had 41 hands before this log"]
ALARM = GOOD["an alarm"]
KEYS, BUILD = GOOD["a key of receipts that changes"], GOOD["a build"]


def wrong_values():
    """Yield reason, lines, name, value: every kind of value, spelt otherwise."""
    yield "another version", SEAL, "entropyd-receipt", "v2"
    yield "an origin with +", SEAL, "log", "a+b"
    yield "an id with a space", SEAL, "tenant", "ac me"
    yield "an id of 129 characters", SEAL, "hand", "x" * 129
    yield "an unknown event", SEAL, "event", "shut"
    yield "an event in capitals", SEAL, "event", "Seal"
    for value in ("01", "-1", "+1", "1.0", "1e3", " 1", "1 ", "0x1", str(2**63 - 1), "1" * 5000):
        yield f"index {value[:20]}", SEAL, "index", value
    yield "sequence 0", SEAL, "sequence", "0"
    yield "sequence 2^64", SEAL, "sequence", str(2**64)
    yield "contributions 2^32", SEAL, "contributions", str(2**32)
    good = hash_of("O")
    for reason, value in (
        ("upper-case hex", good.upper()),
        ("63 digits of hex", good[:-1]),
        ("65 digits of hex", good + "0"),
        ("no hex", "g" + good[1:]),
        ("a hash with a prefix", "0x" + good[2:]),
    ):
        yield reason, SEAL, "O", value
    for value in (
        "2026-11-30T07:47:00Z",
        "2026-11-30T07:47:00.000+00:00",
        "2026-11-30 07:47:00.000Z",
        "2026-11-30t07:47:00.000z",
        "2026-11-31T00:00:00.000Z",
        "2026-02-29T00:00:00.000Z",
        "2100-02-29T00:00:00.000Z",
        "2026-13-01T00:00:00.000Z",
        "2026-00-01T00:00:00.000Z",
        "2026-01-00T00:00:00.000Z",
        "2026-01-01T24:00:00.000Z",
        "2026-01-01T00:60:00.000Z",
        "2016-12-31T23:59:60.000Z",
        "1969-12-31T23:59:59.999Z",
        "10000-01-01T00:00:00.000Z",
        "2026-01-01T00:00:00.0000Z",
    ):
        yield f"time {value}", SEAL, "time", value
    for value in ("a b", "%2f", "%2F", "%", "%2", "%GG", "a%ZZ", "%FF", "%ED%A0%80", "%C3", "%61"):
        yield f"outside text {value}", VOID, "reason", value
    yield "outside text of 1025 bytes", VOID, "reason", "x" * 1025
    yield "another delivery", SHUFFLE, "delivery", "whole_deck"
    yield "a flag with another word", changed(SHUFFLE, "delivery", "whole-deck"), "n", "0"
    for value in ("hardware_bits", "hardware_bits ", "Bits 1", "hardware_bits  1", "x" * 65 + " 1"):
        yield f"setting {value[:20]!r}", GOOD["a policy"], "setting", value
    yield "settings out of order, and twice", TABLE, "setting", "hardware_bits 1"
    for value in ("0", "041", "-1", "+41", "4e1", "many", "%2041", str(2**64 - 1), "1" * 1024):
        yield f"hands_before {value[:20]}", LATE_TABLE, "setting", f"hands_before {value}"
    for reason, old, new in (
        ("a part left out", " age=18", ""),
        ("two spaces", " age", "  age"),
        ("parts in another order", "class=hardware kind=hardware", "kind=hardware class=hardware"),
        ("a part more", "health=healthy", "health=healthy more=1"),
        ("an unknown class", "class=hardware", "class=quantum"),
        ("an unknown kind", "kind=hardware", "kind=webcam"),
        ("an unknown health", "health=healthy", "health=fine"),
        ("samples with a zero in front", "samples=54", "samples=054"),
        ("no samples", "samples=54", "samples="),
        ("a serial with needless percent", "serial=1", "serial=%31"),
        ("credit above 2^64", "credited=324", f"credited={2**64}"),
    ):
        yield (
            f"source: {reason}",
            [*ALARM[:5], source(), *ALARM[6:]],
            "source",
            (source()[1].replace(old, new)),
        )
    yield (
        "a key with another id",
        KEYS,
        "key",
        NEXT_RECEIPTS_KEY.replace("/receipts+", "/receipts+0"),
    )
    yield "a key of another log", KEYS, "key", key("other.example/receipts")
    yield "a key of another name than the one before", KEYS, "key", NEXT_LOG_KEY
    yield "a key that replaces itself", KEYS, "key", RECEIPTS_KEY
    yield "a witness's key", KEYS, "key", key(ORIGIN + "/receipts", key_type=4)
    yield "a root of nothing for two contributions", SEAL, "R", EMPTY
    yield "a root of something for no contributions", SEAL, "contributions", "0"
    yield "a root of nothing for nine cards", CLOSE, "deals", EMPTY
    yield "a root of something for no cards", VOID, "dealt", "0"
    yield "a shuffle that did not deal everything", SHUFFLE, "dealt", "51"
    yield "a shuffle with seats", SHUFFLE, "A", hash_of("A")


def wrong_lines():
    """Yield reason, lines: what is missing, unknown or out of place."""
    for name in ("entropyd-receipt", "log", "index", "event", "time", "O", "R", "tenant"):
        yield f"{name} is missing", changed(SEAL, name, None)
    yield "an open hand without sources", changed(OPEN, "source", None)
    yield "a void without its reason", changed(VOID, "reason", None)
    yield "a draw without its result root", changed(MATCH, "D", None)
    yield "a drawn raffle without its rules", changed(GOOD["a drawn raffle"], "rules", None)
    yield "a void with O and without sequence", changed(VOID, "sequence", None)
    bare = GOOD["a void before anything was opened"]
    yield "cards of a hand that was never opened", changed(bare, "dealt", "1")
    yield "two lines exchanged", [SEAL[0], SEAL[2], SEAL[1], *SEAL[3:]]
    yield "a line twice", [*SEAL[:5], *SEAL[4:]]
    yield "an unknown line", [*SEAL[:-1], ("seat", "seat-3"), SEAL[-1]]
    yield "a line after the last", [*SEAL, ("seat", "seat-3")]
    yield "a line of another event", [*SEAL[:-1], ("reason", "why"), SEAL[-1]]
    yield "a hand that says it is a raffle", [*SEAL[:7], ("raffle", "spring"), *SEAL[7:]]
    yield "delivery in an open hand", [*OPEN[:15], ("delivery", "whole-deck"), *OPEN[15:]]
    yield (
        "a draw that is degraded before it is computational",
        [
            *MATCH[:-1],
            ("degraded", "yes"),
            ("seeds", "computational"),
            MATCH[-1],
        ],
    )
    yield "degraded: no", [*MATCH[:-1], ("degraded", "no"), MATCH[-1]]
    twice = [*LATE_TABLE[:-1], *LATE_TABLE[-2:]]
    yield "hands_before twice", twice
    after = [*TABLE[:-1], ("setting", "z 1"), ("setting", "hands_before 0"), TABLE[-1]]
    yield "hands_before out of order, and 0", after
    second = [*TABLE[:-3], ("setting", "a 1"), ("setting", "hands_before 0"), TABLE[-1]]
    yield "hands_before 0 after another setting", second
    yield "a source that stands apart", [*BUILD[:-1], source(), BUILD[-1]]


def refused_receipts():
    """Yield reason, bytes."""
    for reason, lines, name, value in wrong_values():
        yield reason, write(changed(lines, name, value))
    for reason, lines in wrong_lines():
        yield reason, write(lines)
    good = write(SEAL)
    yield "nothing", b""
    yield "one newline", b"\n"
    yield "the last newline is missing", good[:-1]
    yield "an empty line at the end", good + b"\n"
    yield "an empty line within", good.replace(b"event", b"\nevent")
    yield "CR LF", good.replace(b"\n", b"\r\n")
    yield "a tab", good.replace(b"tenant: ", b"tenant:\t")
    yield "two spaces after the colon", good.replace(b"tenant: ", b"tenant:  ")
    yield "no space after the colon", good.replace(b"tenant: ", b"tenant:")
    yield "a space before the colon", good.replace(b"tenant: ", b"tenant : ")
    yield "a value of nothing", good.replace(b"tenant: acme", b"tenant: ")
    yield "a space at the end of a line", good.replace(b"acme", b"acme ")
    yield "a name in capitals", good.replace(b"tenant", b"Tenant")
    yield "a byte order mark", b"\xef\xbb\xbf" + good
    yield "a byte above 0x7E", good.replace(b"acme", b"acm\xc3\xa9")
    yield "DEL", good.replace(b"acme", b"acm\x7f")
    yield "NUL", good.replace(b"acme", b"acm\x00")
    yield "another text", b"Dear player,\n"


NOTE = [
    ("entropyd-note", "v1"),
    ("log", ORIGIN),
    O,
    ("seat", "seat-3"),
    ("leaf", hash_of("leaf")),
    ("outcome", "accepted"),
]
REFUSAL = [*NOTE[:-1], ("outcome", "refused"), ("reason", "window-over")]


def refused_seat_notes():
    """Yield reason, bytes."""
    for name, _ in NOTE:
        yield f"{name} is missing", write(changed(NOTE, name, None))
    yield "a reason for nothing", write([*NOTE, ("reason", "window-over")])
    yield "a refusal without reason", write(REFUSAL[:-1])
    yield "another outcome", write(changed(NOTE, "outcome", "taken"))
    yield "a seat with a space", write(changed(NOTE, "seat", "seat 3"))
    yield "a leaf in capitals", write(changed(NOTE, "leaf", hash_of("leaf").upper()))
    yield "a line more", write([*NOTE, ("time", TIME)])
    yield "a receipt", write(SEAL)
