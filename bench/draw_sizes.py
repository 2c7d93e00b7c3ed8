"""What draws, raffles and rounds cost in a ledger, in bytes.

Each kind is recorded many times over gRPC by a daemon of its own. The file is measured before and
after, once its write-ahead log was written back: rows, indexes, log entries, what pages leave free.

    bytes  growth of the file, a call (a raffle: sealing and drawing; a pair: each rotation)
"""

import hashlib
from collections.abc import Callable

from bench.daemon import BenchDaemon, dealing
from bench.file_size import file_bytes
from bench.report import Line, Report
from entropyd.client import ClaimKey, Client, Draws, Fair, Large

# Many rows a page of 4 KiB, so that the last page of each table counts for little.
CALLS = 1_000
LARGE_CALLS = 20
QUICK_CALLS = 5
# As many as an English bag gives seven tiles for.
DRAWS_A_MATCH = 14
ENTRIES = tuple(f"ticket {number:05}" for number in range(1_000))
PLAYERS = 10
KEY = ClaimKey(hashlib.sha256(b"entropyd/bench/draw-sizes").digest())

Ask = Callable[[int], object]


def run(report: Report, *, quick: bool) -> None:
    """Measure every kind."""
    lines: list[Line] = []
    for name, (calls, make) in _KINDS.items():
        count = min(calls, QUICK_CALLS) if quick else calls
        with dealing() as daemon, Client(daemon.target, claim_key=KEY) as client:
            lines.append({"recorded": name, "bytes": _grown(daemon, make(client), count)})
    report.add("draw-sizes", lines, "; ".join(f"{one['recorded']} {one['bytes']}" for one in lines))


def _grown(daemon: BenchDaemon, ask: Ask, count: int) -> int:
    ask(-1)  # Tables, players and first pages are there.
    before = file_bytes(daemon.home)
    for number in range(count):
        ask(number)
    return (file_bytes(daemon.home) - before) // count


def _match(number: int) -> tuple[str, str]:
    return f"evening/{number // DRAWS_A_MATCH}", f"draw-{number}"


def _of_draws(draw: Callable[[Draws, str, str], object]) -> Callable[[Client], Ask]:
    def make(client: Client) -> Ask:
        draws = client.draws(large=Large.WAIT, timeout_s=60)
        return lambda number: draw(draws, *_match(number))

    return make


def _raffles(client: Client) -> Ask:
    raffles = client.raffles(timeout_s=60)

    def ask(number: int) -> None:
        name = f"raffle/{number}"
        sealed = raffles.seal_entries(name, ENTRIES, winners=3, alternates=2)
        raffles.draw_raffle(name, entries_hash=sealed.entries_hash)

    return ask


def _player(fair: Fair, number: int) -> str:
    player = f"player-{number % PLAYERS}"
    pair = fair.open_pair(player)
    if not pair.client_seed:
        fair.set_client_seed(player, "chosen-by-the-player", server_hash=pair.server_hash)
    return player


def _rounds(game: str, *, machine: str | None = None, mines: int = 0) -> Callable[[Client], Ask]:
    def make(client: Client) -> Ask:
        fair = client.fair(timeout_s=60)
        players = [_player(fair, number) for number in range(PLAYERS)]

        def ask(number: int) -> None:
            player = players[number % PLAYERS]
            played = fair.play_round(player, f"round-{number}", game, machine=machine, mines=mines)
            if played.state == "open":
                fair.close_round(player, played.round)

        return ask

    return make


def _rotations(client: Client) -> Ask:
    fair = client.fair(timeout_s=60)

    def ask(number: int) -> None:
        player = _player(fair, number)
        fair.rotate_pair(player, fair.get_pair(player).pair)

    return ask


_KINDS: dict[str, tuple[int, Callable[[Client], Ask]]] = {
    "dice 2d6": (CALLS, _of_draws(lambda draws, m, d: draws.roll_dice(m, d, [(2, 6)]))),
    "one number": (CALLS, _of_draws(lambda draws, m, d: draws.draw_integers(m, d, bound=100))),
    "6 of 49": (CALLS, _of_draws(lambda draws, m, d: draws.sample(m, d, 6, size=49))),
    "order of 52": (CALLS, _of_draws(lambda draws, m, d: draws.shuffle_items(m, d, size=52))),
    "7 of an English bag": (
        CALLS,
        _of_draws(lambda draws, m, d: draws.draw_from_bag(m, d, "main", 7, preset="english")),
    ),
    "order of 10,000": (
        LARGE_CALLS,
        _of_draws(lambda draws, m, d: draws.shuffle_items(m, d, size=10_000)),
    ),
    "raffle of 1,000 entries": (LARGE_CALLS * 5, _raffles),
    "round of roulette": (CALLS, _rounds("roulette")),
    "round of the cascade": (CALLS, _rounds("slots", machine="cascade")),
    "round of mines": (CALLS, _rounds("mines", mines=3)),
    "round of blackjack": (CALLS, _rounds("blackjack")),
    "rotation of a pair": (CALLS, _rotations),
}
