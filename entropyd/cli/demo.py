"""`make demo`: the whole way on an emulated Quantis, device to deck, through a bad day and back.

A real daemon process on a temporary state directory, a real gRPC client. Only
the device is emulated, at the level of pyusb: the driver that reads it is the
one that reads a Quantis.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from entropyd.cli.cards import render_deal
from entropyd.client import Client, Deal, Refusal
from entropyd.entropy.source import MILLIBITS_PER_BIT

CONFIG = """\
[node]
name = "demo"
state_dir = "{home}/state"

[mode]
production = false

[[source]]
id = "quantis"
driver = "quantis-emulator"
claim_bits_per_sample = 6.0
claim_note = "default claim for a Quantis USB; here an emulator"
options = {{ serial = "DEMO0001", control = "{home}/faults" }}

[[listener]]
address = "unix:{home}/poker.sock"
tenant = "acme"
roles = ["deal_all", "contribute"]

[http]
address = "127.0.0.1:0"

[ledger]
min_free = "16MiB"

[keys]
at_rest = ""

[log]
level = "error"
format = "text"
"""

UNPLUGGED = "F9"
PATIENCE_S = 30.0
USERS = ("alice", "bob", "carol", "dave")

console = Console(highlight=False)


def main() -> None:
    """Play it, and end with `demo: ok`, or with what went wrong and exit code 1."""
    with (
        tempfile.TemporaryDirectory(prefix="entropyd-demo-") as home,
        _daemon(Path(home)) as daemon,
    ):
        with Client(f"unix:{home}/poker.sock", claim_key_file=Path(home) / "claim.key") as dealer:
            _start_up(dealer, daemon)
            _users_give(dealer)
            deals = _deal_three(dealer)
            _ask_again(dealer, deals[1])
            _unplug_and_back(dealer, Path(home) / "faults", deals[0])
        _stop(daemon)
    console.print("demo: ok")


def _start_up(dealer: Client, daemon: "subprocess.Popen[bytes]") -> None:
    _title("start: the device is opened, tested and assessed before anything is dealt from it")
    began = time.monotonic()
    _until("the daemon can deal", lambda: _can_deal(dealer), daemon)
    source = dealer.status().sources[0]
    console.print(
        f"can deal after {time.monotonic() - began:.1f} s: {source.source} (serial {source.serial})"
        f" passed its start-up tests; assessed at {source.assessed_millibits / 1000:.2f} bits a"
        f" sample, claimed and credited at {source.claimed_millibits / 1000:.2f}"
    )


def _users_give(dealer: Client) -> None:
    _title("four users play: what they do is mixed in, and never counts against the hardware")
    for user in USERS:
        now_us = time.time_ns() // 1000
        noise = os.getrandom(4 * 96)  # stands in for a hand on a mouse
        events = [
            (
                int.from_bytes(noise[4 * i : 4 * i + 2], "big"),
                int.from_bytes(noise[4 * i + 2 : 4 * i + 4], "big"),
                now_us + 16_000 * i + noise[4 * i] * 37,
            )
            for i in range(96)
        ]
        answer = dealer.add_user_entropy(user, events=events)
        console.print(
            f"{user}: {len(events)} events, estimated at"
            f" {answer.estimated_millibits // MILLIBITS_PER_BIT} bits; together"
            f" {answer.pooled_millibits // MILLIBITS_PER_BIT}"
        )


def _deal_three(dealer: Client) -> list[Deal]:
    deals = []
    for hand in ("hand-1", "hand-2", "hand-3"):
        _title(f"Shuffle {hand}")
        deal = dealer.shuffle("table-7", hand)
        console.print(render_deal(deal))
        deals.append(deal)
    return deals


def _ask_again(dealer: Client, first: Deal) -> None:
    _title(f"the same call again: {first.hand}")
    again = dealer.shuffle(first.table, first.hand)
    same = again.message.SerializeToString() == first.message.SerializeToString()
    _require(same and again.replayed, "the stored deck came back changed")
    console.print("identical, byte for byte, from the ledger")


def _unplug_and_back(dealer: Client, faults: Path, earlier: Deal) -> None:
    _title("unplug the device")
    faults.write_text(UNPLUGGED + "\n")
    began = time.monotonic()
    _until("dealing is held", lambda: not _can_deal(dealer))
    lost_after = time.monotonic() - began
    answer = dealer.status()
    console.print(
        f"held after {lost_after:.2f} s: {answer.hold_reason}: {answer.hold_text}", markup=False
    )
    try:
        dealer.shuffle("table-7", "hand-4", timeout_s=1.0)
        _require(condition=False, text="a hand was dealt without a device")
    except Refusal as refusal:
        console.print(f"Shuffle hand-4: {refusal}", markup=False)
        console.print(f"        ask again in {refusal.retry_after_s} s")
    replay = dealer.shuffle(earlier.table, earlier.hand)
    _require(replay.replayed, "a recorded hand was not replayed during a hold")
    console.print(f"{earlier.hand} is still answered from the ledger")
    _title("plug it in again")
    faults.write_text("")
    began = time.monotonic()
    _until("dealing resumes", lambda: _can_deal(dealer))
    resumed = dealer.shuffle("table-7", "hand-4")
    _require(not resumed.replayed, "hand-4 had been spent while dealing was held")
    console.print(
        f"resumed by itself after {time.monotonic() - began:.1f} s, start-up test repeated;"
        f" hand-4 is number {resumed.sequence} at its table"
    )


def _stop(daemon: "subprocess.Popen[bytes]") -> None:
    _title("stop: SIGTERM")
    began = time.monotonic()
    daemon.send_signal(signal.SIGTERM)
    code = daemon.wait(timeout=PATIENCE_S)
    _require(code == 0, f"the daemon ended with exit code {code}; expected 0 after SIGTERM")
    console.print(f"drained and gone in {time.monotonic() - began:.1f} s, exit code 0")


@contextmanager
def _daemon(home: Path) -> "Iterator[subprocess.Popen[bytes]]":
    config = home / "entropyd.toml"
    config.write_text(CONFIG.format(home=home))
    command = [sys.executable, "-m", "entropyd.cli.entropyd", "serve", "--config", str(config)]
    daemon = subprocess.Popen(command)
    try:
        yield daemon
    finally:
        if daemon.poll() is None:
            daemon.kill()
            daemon.wait()


def _can_deal(dealer: Client) -> bool:
    try:
        return dealer.status(timeout_s=1.0).can_deal
    except Refusal:
        return False


def _until(
    what: str, condition: Callable[[], bool], daemon: "subprocess.Popen[bytes] | None" = None
) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if daemon is not None and daemon.poll() is not None:
            _require(condition=False, text=f"the daemon ended with exit code {daemon.returncode}")
        _require(time.monotonic() < deadline, f"{what}: not within {PATIENCE_S:.0f} s")
        time.sleep(0.02)


def _title(text: str) -> None:
    console.print(f"\n[bold]-- {text}[/]")


def _require(condition: bool, text: str) -> None:
    if not condition:
        console.print(f"demo: failed: {text}", markup=False)
        sys.exit(1)


if __name__ == "__main__":
    main()
