"""Seed pairs and games: section 18, as plainly as it can be written.

Beside `naive` and like it sharing nothing with entropyd; the data files are
read out of the document. A round is a function of words, and words come from a
stream or from a list that a test made up.
"""

import functools
import hashlib
import hmac
import re
from pathlib import Path

from tests.reference.naive import LP, Refused, rules_fields, sha256, u32, u64

DOCUMENT = Path(__file__).parents[2] / "docs/protocol.md"


# --- 18.5: the data files, from the document -----------------------------------


@functools.cache
def data_files():
    """Return name -> text."""
    text = DOCUMENT.read_text("utf-8")
    return dict(
        re.findall(
            r"\n`([a-z_]+-[0-9]+)`, SHA-256 `[0-9a-f]{64}`:\n\n```\n(.*?)```", text, re.DOTALL
        )
    )


@functools.cache
def fields_by_hash():
    """Return hash of a data file -> its fields."""
    known = {}
    for text in data_files().values():
        encoded = text.encode("ascii")
        known[sha256(encoded).hex()] = rules_fields(encoded)
    return known


# --- 18.1: server seed and hash -------------------------------------------------


def seed_hex(seed):
    if len(seed) != 32:
        raise Refused("server_seed")
    return seed.hex().encode("ascii")


def server_hash(profile, seed):
    text = seed_hex(seed)
    if profile == "v1":
        return sha256(text)
    return sha256(LP(b"entropyd/server-seed/v2") + LP(seed))


# --- 18.2: the stream -----------------------------------------------------------


def client_seed_bytes(client_seed):
    if not 1 <= len(client_seed) <= 64:
        raise Refused("client_seed")
    for character in client_seed:
        if not 0x21 <= ord(character) <= 0x7E or character == ":":
            raise Refused("client_seed")
    return client_seed.encode("ascii")


def nonce_of(text):
    if not re.fullmatch(r"0|[1-9][0-9]*", text) or int(text) > 2**64 - 1:
        raise Refused("nonce")
    return int(text)


def block(profile, seed, client_seed, nonce, rules, c):
    key, client = seed_hex(seed), client_seed_bytes(client_seed)
    if profile == "v1":
        message = client + b":" + str(nonce).encode("ascii") + b":" + str(c).encode("ascii")
        return hmac.new(key, message, hashlib.sha256).digest()
    message = LP(b"entropyd/round/v2") + LP(client) + u64(nonce) + LP(sha256(rules)) + u32(c)
    return hmac.new(seed, message, hashlib.sha256).digest()


def stream_words(profile, seed, client_seed, nonce, rules):
    c = 0
    while True:
        bytes_of_block = block(profile, seed, client_seed, nonce, rules, c)
        for start in range(0, 32, 4):
            yield int.from_bytes(bytes_of_block[start : start + 4], "big")
        c = c + 1


class Void(Exception):  # noqa: N818 - it says what became of the round
    """128 words of one draw were rejected."""


class Words:
    """Draws below k from an iterator of words. Keeps the tries of each draw."""

    def __init__(self, words):
        self.words = iter(words)
        self.tries = []

    def below(self, k):
        self.tries.append([])
        for _ in range(128):
            word = next(self.words)
            self.tries[-1].append(word)
            if word < 2**32 - 2**32 % k:
                return word % k
        raise Void


# --- 18.3: rules ----------------------------------------------------------------


def round_names(fields):
    own = {"mines": ["mines"], "slots": ["machine"]}.get(fields.get("game"), [])
    for name in ["data", "game", "profile", *own]:
        if name not in fields:
            raise Refused(name)
    for name in fields:
        if name not in ["data", "game", "profile", *own]:
            raise Refused(name)


def round_fields(rules):
    """Return the fields of rules (bytes) and those of their data file."""
    fields = rules_fields(rules)
    round_names(fields)
    game = fields["game"]
    if game not in {"blackjack", "dice_poker", "mines", "roulette", "slots"}:
        raise Refused("game")
    if fields["profile"] not in {"v1", "v2"}:
        raise Refused("profile")
    if game == "mines" and fields["mines"] not in [str(m) for m in range(1, 20)]:
        raise Refused("mines")
    if game == "slots" and fields["machine"] not in {"cascade", "classic", "high_roller", "mini"}:
        raise Refused("machine")
    data = fields_by_hash().get(fields["data"])
    if data is None or data["game"] != game or data.get("machine") != fields.get("machine"):
        raise Refused("data")
    return fields, data


# --- 18.4: games ----------------------------------------------------------------


def roulette(draws):
    return {"pocket": draws.below(38)}


def reels(draws, data, count):
    reel = data["reel"].split(",")
    stops = [draws.below(len(reel)) for _ in range(count)]
    return {"stops": stops, "symbols": [reel[stop] for stop in stops]}


def bands(data):
    """Return the symbol of every value from 0 to 99."""
    symbols: list[str] = []
    for entry in data["weights"].split(","):
        symbol, weight = entry.split(":")
        if int(weight) < 1:
            raise Refused("weights")
        symbols = symbols + [symbol] * int(weight)
    if len(symbols) != 100:
        raise Refused("weights")
    return symbols


def cascade(draws, data):
    symbol_of, order = bands(data), [entry.split(":")[0] for entry in data["weights"].split(",")]
    grid = [symbol_of[draws.below(100)] for _ in range(15)]
    grids, wins, refills = [], [], 0
    while True:
        won = [s for s in order if grid.count(s) >= int(data["cluster"])]
        grids.append(list(grid))
        wins.append([[s, grid.count(s)] for s in won])
        if won == [] or refills == int(data["refills"]):
            return {"grids": grids, "wins": wins}
        for cell in range(15):
            if grid[cell] in won:
                grid[cell] = None
        # A symbol falls by one row as long as the cell below it is empty.
        for _ in range(2):
            for cell in range(9, -1, -1):
                if grid[cell] is not None and grid[cell + 5] is None:
                    grid[cell + 5], grid[cell] = grid[cell], None
        for cell in range(15):
            if grid[cell] is None:
                grid[cell] = symbol_of[draws.below(100)]
        refills = refills + 1


def mines(draws, m):
    a = list(range(20))
    for i in range(m):
        j = i + draws.below(20 - i)
        a[i], a[j] = a[j], a[i]
    return {"mines": a[:m]}


def dice_poker(draws):
    dice = [draws.below(6) + 1 for _ in range(10)]
    return {"bot": dice[:5], "player": dice[5:]}


def blackjack(draws):
    a = []
    for _ in range(6):
        for suit in ["d", "h", "s", "c"]:
            for value in range(2, 15):
                a.append(str(value) + suit)
    for i in range(311, 0, -1):
        j = draws.below(i + 1)
        a[i], a[j] = a[j], a[i]
    shoe = [a[i] for i in range(311, -1, -1)]
    return {"shoe": shoe, "player": [shoe[0], shoe[2]], "dealer": [shoe[1], shoe[3]]}


def play_words(rules, words):
    """Return (outcome, tries of each draw) of rules (bytes) from an iterator of words."""
    fields, data = round_fields(rules)
    draws = Words(words)
    if fields["game"] == "roulette":
        outcome = roulette(draws)
    elif fields["game"] == "mines":
        outcome = mines(draws, int(fields["mines"]))
    elif fields["game"] == "dice_poker":
        outcome = dice_poker(draws)
    elif fields["game"] == "blackjack":
        outcome = blackjack(draws)
    elif fields["machine"] == "cascade":
        outcome = cascade(draws, data)
    else:
        outcome = reels(draws, data, 9 if fields["machine"] == "high_roller" else 3)
    return outcome, draws.tries


def play(rules, seed, client_seed, nonce):
    """Return (outcome, tries of each draw)."""
    fields, _ = round_fields(rules)
    words = stream_words(fields["profile"], seed, client_seed, nonce, rules)
    return play_words(rules, words)


def rules_of(profile, game, machine=None, mines=None):
    """Return the rules (bytes) of a round by the data file of version 1."""
    name = game if machine is None else game + "_" + machine
    lines = {"data": sha256(data_files()[name + "-1"].encode("ascii")).hex()}
    lines["game"], lines["profile"] = game, profile
    if machine is not None:
        lines["machine"] = machine
    if mines is not None:
        lines["mines"] = str(mines)
    return "".join(name + "=" + lines[name] + "\n" for name in sorted(lines)).encode("ascii")
