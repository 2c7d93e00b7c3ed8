"""docs/vectors/games.json, from the naive reference of section 18.

`rounds` are round files with what they cover; `words` are rounds whose words are
made up, for what no seed that can be found does; `refused` is refused.
"""

from tests.reference import naive_games as naive
from tests.reference.naive import LP, Refused, sha256, sha512, u32, u64

CLIENT = "player-7"
TOP = 2**32 - 1

# (label, profile, game, machine, mines, nonce). Nonces of the last four were searched for.
ROUNDS = [
    *(
        (f"{machine or game} {mines or ''}".strip(), profile, game, machine, mines, nonce)
        for profile in ("v1", "v2")
        for nonce, (game, machine, mines) in enumerate(
            [
                ("roulette", None, None),
                ("slots", "classic", None),
                ("slots", "mini", None),
                ("slots", "high_roller", None),
                ("slots", "cascade", None),
                ("mines", None, 1),
                ("mines", None, 3),
                ("mines", None, 19),
                ("dice_poker", None, None),
                ("blackjack", None, None),
            ]
        )
    ),
    ("roulette, greatest nonce", "v1", "roulette", None, None, 2**64 - 1),
    ("roulette, greatest nonce", "v2", "roulette", None, None, 2**64 - 1),
    ("blackjack that rejects v1", "v1", "blackjack", None, None, 739_781),
    ("blackjack that rejects v2", "v2", "blackjack", None, None, 20_406),
    ("cascade with many refills v1", "v1", "slots", "cascade", None, 13_551),
    ("cascade with many refills v2", "v2", "slots", "cascade", None, 1_426),
]


def server_seed(label):
    """Return 32 bytes that anyone can make again."""
    return sha512(f"entropyd vector: server seed, {label}".encode("ascii"))[:32]


def branches(outcome, tries):
    """Return the names of what a round does that another might not."""
    taken = sum(len(words) for words in tries)
    seen = {f"block-{(taken - 1) // 8}"} if taken > 8 else set()
    if any(len(words) > 1 for words in tries):
        seen.add("rejected")
    if "grids" in outcome:
        seen.add(f"refills-{len(outcome['grids']) - 1}")
        if any(len(wins) > 1 for wins in outcome["wins"]):
            seen.add("two-symbols-win")
    return sorted(seen)


def rounds():
    """Yield round files, each with its label, words and branches."""
    for label, profile, game, machine, mines, nonce in ROUNDS:
        rules, seed = naive.rules_of(profile, game, machine, mines), server_seed(label)
        outcome, tries = naive.play(rules, seed, CLIENT, nonce)
        yield {
            "label": label,
            "covers": branches(outcome, tries),
            "file": {
                "entropyd": "round/v1",
                "rules": rules.decode("ascii"),
                "server_seed": seed.hex(),
                "server_hash": naive.server_hash(profile, seed).hex(),
                "client_seed": CLIENT,
                "nonce": str(nonce),
                "outcome": outcome,
            },
            "taken": sum(len(words) for words in tries),
        }


def hashes():
    """Yield seeds with all three hashes that the field takes of them."""
    for label in ("first", "second"):
        seed = server_seed(label)
        yield {
            "server_seed": seed.hex(),
            "v1": naive.server_hash("v1", seed).hex(),
            "v2": naive.server_hash("v2", seed).hex(),
            "of_bytes": sha256(seed).hex(),
        }


def blocks():
    """Yield blocks 0, 1, 9, 10 of rounds: where decimal text gets longer."""
    for client_seed in ("!", "~" * 64, CLIENT, "0"):
        for profile in ("v1", "v2"):
            for nonce in (0, 10, 2**64 - 1):
                rules, seed = naive.rules_of(profile, "mines", mines=3), server_seed("blocks")
                yield {
                    "rules": rules.decode("ascii"),
                    "server_seed": seed.hex(),
                    "client_seed": client_seed,
                    "nonce": str(nonce),
                    "blocks": {
                        str(c): naive.block(profile, seed, client_seed, nonce, rules, c).hex()
                        for c in (0, 1, 9, 10)
                    },
                }


def limit(k):
    """Return the first word that a draw below k rejects (2^32 if none)."""
    return 2**32 - 2**32 % k


def crafted():
    """Yield label, rules and runs [word, how often] of rounds that no seed is found for."""
    games = [
        ("roulette", None, None, 38),
        ("slots", "classic", None, 21),
        ("slots", "mini", None, 10),
        ("slots", "high_roller", None, 25),
        ("slots", "cascade", None, 100),
        ("mines", None, 19, 20),
        ("dice_poker", None, None, 6),
        ("blackjack", None, None, 312),
    ]
    for game, machine, mines, k in games:
        rules, name = naive.rules_of("v2", game, machine, mines), machine or game
        spread = [[word, 1] for word in spread_words(k)]
        first = [[limit(k), 1], [TOP, 2], [limit(k) - 1, 1]]
        yield f"{name}: the last word that is kept, after three that are not", rules, first + spread
        yield f"{name}: 127 rejections are borne", rules, [[TOP, 127], [0, 1], *spread]
        yield f"{name}: the 128th voids", rules, [[TOP, 128], [0, 1000]]
    cascade = naive.rules_of("v2", "slots", "cascade")
    yield "cascade: every cell is a clover, to the bound", cascade, [[0, 975]]
    yield "cascade: stars to the bound", cascade, [[99, 975]]
    yield "cascade: the last refill ends it", cascade, [[0, 960], *spread_runs(15)]
    yield "cascade: every band's ends", cascade, [[value, 1] for value in band_ends()]
    yield "cascade: two symbols at once, and what stands above them", cascade, two_at_once()
    for places in (0, 1, 2, 3):
        yield f"mines: tile {places} first", naive.rules_of("v2", "mines", mines=2), [[places, 2]]


def spread_words(k):
    """Return words that make a round of any game that ends by itself."""
    return [
        int.from_bytes(sha512(LP(b"spread") + u32(k) + u64(n))[:4], "big") % limit(k)
        for n in range(330)
    ]


def spread_runs(count):
    """Return words of cells among which nothing wins: no symbol five times in fifteen."""
    firsts = [0, 22, 41, 58, 72, 84, 94]
    return [[firsts[n % 7], 1] for n in range(count)]


def band_ends():
    """Return the first and last value of each band, then the first of the first again."""
    ends = [0, 21, 22, 40, 41, 57, 58, 71, 72, 83, 84, 93, 94, 99]
    return [*ends, 95]


def two_at_once():
    """Return a first grid in which clovers and horseshoes win, and refills that win nothing.

    clover  coin    bell    horseshoe  horseshoe
    ruby    clover  clover  horseshoe  crown
    clover  clover  horseshoe  star    horseshoe
    """
    clover, horseshoe, coin, bell, ruby, crown, star = 0, 22, 41, 58, 72, 84, 94
    grid = [
        *(clover, coin, bell, horseshoe, horseshoe),
        *(ruby, clover, clover, horseshoe, crown),
        *(clover, clover, horseshoe, star, horseshoe),
    ]
    new = [coin, bell, ruby, crown, star, coin, bell, ruby, crown, star]
    return [[value, 1] for value in grid + new]


def words():
    """Yield the crafted rounds: outcome null where a draw fails."""
    for label, rules, runs in crafted():
        stream = (word for word, times in runs for _ in range(times))
        draws = []
        try:
            outcome, tries = naive.play_words(rules, stream)
            draws = [len(of_draw) for of_draw in tries]
        except naive.Void:
            outcome, tries = None, []
        yield {
            "label": label,
            "covers": branches(outcome, tries) if outcome else ["void"],
            "rules": rules.decode("ascii"),
            "runs": used(runs, sum(draws) if outcome else 128),
            "outcome": outcome,
        }


def used(runs, count):
    """Return the first `count` words of runs, so that all that a file gives are taken."""
    left, kept = count, []
    for word, times in runs:
        if left:
            kept.append([word, min(times, left)])
            left -= kept[-1][1]
    return kept


def refused():
    """Yield what is refused, with the field; everything else about it is right."""
    mines = naive.rules_of("v2", "mines", mines=3).decode("ascii")
    slots = naive.rules_of("v2", "slots", "mini").decode("ascii")
    roulette = naive.rules_of("v2", "roulette").decode("ascii")
    data = mines.splitlines()[0]
    for field, text in [
        ("mines", mines.replace("mines=3", "mines=0")),
        ("mines", mines.replace("mines=3", "mines=20")),
        ("mines", mines.replace("mines=3", "mines=03")),
        ("mines", mines.replace("mines=3\n", "")),
        ("mines", roulette.replace("profile", "mines=3\nprofile")),
        ("machine", slots.replace("machine=mini", "machine=maxi")),
        ("machine", slots.replace("machine=mini\n", "")),
        ("machine", roulette.replace("profile", "machine=mini\nprofile")),
        ("data", slots.replace("machine=mini", "machine=classic")),
        ("data", roulette.replace(roulette.splitlines()[0], data)),
        ("data", mines.replace(data, data.upper().replace("DATA", "data"))),
        ("data", mines.replace(data, "data=" + "0" * 64)),
        ("data", mines.replace(data + "\n", "")),
        ("game", mines.replace("game=mines", "game=keno").replace("mines=3\n", "")),
        ("game", roulette.replace("game=roulette\n", "")),
        ("profile", mines.replace("v2", "v3")),
        ("profile", mines.replace("profile=v2\n", "")),
        ("sampler", mines + "sampler=word32\n"),
        ("rules", mines[:-1]),
        ("rules", mines.replace("\n", "\r\n")),
        ("rules", ""),
    ]:
        yield refusal(field, rules=text)
    for client_seed in ("", "a:b", ":", "a b", "a\n", "\n", "\x00", "\x7f", "é", "ﬁ", "x" * 65):
        yield refusal("client_seed", client_seed=client_seed)
    for nonce in ("", "-1", "+1", "01", "1.0", "1e3", " 1", "0x1", str(2**64), "٣"):
        yield refusal("nonce", nonce=nonce)


def refusal(field, **changed):
    """Return the inputs of a round, one changed, which the reference refuses by this field."""
    given = {
        "rules": naive.rules_of("v2", "mines", mines=3).decode("ascii"),
        "client_seed": CLIENT,
        "nonce": "0",
    } | changed
    try:
        naive.play(
            given["rules"].encode("ascii"),
            server_seed("first"),
            given["client_seed"],
            naive.nonce_of(given["nonce"]),
        )
    except Refused as error:
        if error.field == field:
            return {"field": field, **given}
    raise AssertionError(f"not refused by {field}: {changed}")


def games():
    """Return what stands in games.json."""
    return {
        "data": [
            {"name": name, "text": text, "sha256": sha256(text.encode("ascii")).hex()}
            for name, text in naive.data_files().items()
        ],
        "hashes": list(hashes()),
        "blocks": list(blocks()),
        "rounds": list(rounds()),
        "words": list(words()),
        "refused": list(refused()),
    }
