"""Every single-bit change of what proves a small hand, by two verifiers.

    python -m tests.campaigns.tamper            all of them; some minutes
    python -m tests.campaigns.tamper --step 97  every 97th bit

Each bit of each byte of a hand file (receipts, contributions, opened cards, their paths, the
reveal, notes to seats, inclusion), of a range of the log, and of each signed note as it is given
out. A verifier that takes one of them takes a lie. The keys are given, as a player gives them.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from entropyd.errors import ProofError
from entropyd.log.keys import VerifierKey
from entropyd.verify import check_proof
from tests.reference import hand_cases, log_file_cases
from tests.reference.hand_cases import RULES, SEATS, Log, Plan, Played
from tests.reference.javascript import run_node
from tests.reference.log_cases import LOG_KEY, RECEIPTS_KEY

TRUSTED = (LOG_KEY, RECEIPTS_KEY)
TAMPER = Path(hand_cases.__file__).parent / "js" / "tamper.mjs"
SMALL_HAND = Plan(
    "a hand to tamper with",
    RULES | hand_cases.SEALED | hand_cases.SMALL | hand_cases.REVEAL,
    SEATS,
    ("seat-1", "seat-2"),
    ("seat-1", "burn", "board"),
    show=(0, 2, 7),
    reveal=True,
    with_leaf_hashes=True,
    with_notes=True,
)


def files() -> dict[str, bytes]:
    """Return name -> bytes of everything whose bits are changed."""
    log = Log()
    played = Played(SMALL_HAND, log)
    hand = played.included(played.file(), log)
    # A cosignature under a key that nobody trusts means nothing, so its bits do not either.
    hand["checkpoint"] = log.checkpoint()
    entries = [log.sign(text) for text in log.entries[3:]]
    told = log_file_cases.log_file([*log_file_cases.texts(log)[:3], *entries], 3, 3, older=5)
    told["checkpoint"] = log.checkpoint()
    made = {"a hand file": as_bytes(hand), "a range of the log": as_bytes(told)}
    made |= {f"{name} receipt": note.encode() for name, note in hand["receipts"].items()}
    return made | {"a note to a seat": hand["notes"][0].encode()}


def as_bytes(file: dict[str, object]) -> bytes:
    # No escapes that have two spellings, and no space that means nothing.
    return json.dumps(file, ensure_ascii=False, separators=(",", ":")).encode()


def changes(data: bytes, step: int) -> Iterator[tuple[int, bytes]]:
    """Yield the number of a bit, and the bytes with that bit changed."""
    changed = bytearray(data)
    for bit in range(0, 8 * len(data), step):
        changed[bit >> 3] ^= 1 << (bit & 7)
        yield bit, bytes(changed)
        changed[bit >> 3] ^= 1 << (bit & 7)


def by_python(data: bytes, step: int) -> tuple[int, list[int]]:
    """Return how many changes were tried, and which bits were taken."""
    keys = [VerifierKey.decode(text) for text in TRUSTED]
    check_proof(data, keys)
    tried, accepted = 0, []
    for bit, changed in changes(data, step):
        tried += 1
        try:
            check_proof(changed, keys)
        except ProofError:
            continue
        accepted.append(bit)
    return tried, accepted


def by_javascript(data: bytes, step: int) -> tuple[int, list[int]]:
    """Return the same of the other verifier."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        code, lines = run_node(TAMPER, step, json.dumps(TRUSTED), file.name, timeout=3600)
    if code:
        raise RuntimeError("\n".join(lines))
    [found] = json.loads(lines[-1])
    return found["tried"], found["accepted"]


VERIFIERS = {"Python": by_python, "JavaScript": by_javascript}


def main(arguments: list[str]) -> int:
    """Print a line for each file and verifier, and the sums; exit 1 if anything was taken."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.tamper")
    parser.add_argument("--step", type=int, default=1)
    step = parser.parse_args(arguments).step
    totals = {name: [0, 0] for name in VERIFIERS}
    with ProcessPoolExecutor(max_workers=2) as pool:
        runs = [
            (label, name, pool.submit(verifier, data, step))
            for label, data in files().items()
            for name, verifier in VERIFIERS.items()
        ]
        for label, name, run in runs:
            tried, accepted = run.result()
            print(f"{name}: {label}: tried {tried}, accepted {len(accepted)} {accepted[:9] or ''}")
            totals[name][0] += tried
            totals[name][1] += len(accepted)
    for name, (tried, taken) in totals.items():
        print(f"{name}: tried {tried}, accepted {taken}")
    return 1 if any(taken for _, taken in totals.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
