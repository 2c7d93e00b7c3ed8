"""The first act: device to deck, through a bad day and back."""

import os
import subprocess
import time
from pathlib import Path

from entropyd.cli.cards import render_deal
from entropyd.cli.demo.stage import can_deal, console, fail, require, title, until
from entropyd.client import Client, Deal, Refusal
from entropyd.entropy.source import MILLIBITS_PER_BIT

UNPLUGGED = "F9"
USERS = ("alice", "bob", "carol", "dave")


def deal_through_a_bad_day(dealer: Client, faults: Path, daemon: "subprocess.Popen[bytes]") -> None:
    """Start, mix in users, deal whole decks, unplug the device and plug it in again.

    Args:
        dealer: the game server's client.
        faults: the file that puts faults of the emulated device in force.
        daemon: watched while it starts.
    """
    _start_up(dealer, daemon)
    _users_give(dealer)
    deals = _deal_three(dealer)
    _ask_again(dealer, deals[1])
    _unplug_and_back(dealer, faults, deals[0])


def _start_up(dealer: Client, daemon: "subprocess.Popen[bytes]") -> None:
    title("start: the device is opened, tested and assessed before anything is dealt from it")
    began = time.monotonic()
    until("the daemon can deal", lambda: can_deal(dealer), daemon)
    source = dealer.status().sources[0]
    console.print(
        f"can deal after {time.monotonic() - began:.1f} s: {source.source} (serial {source.serial})"
        f" passed its start-up tests; assessed at {source.assessed_millibits / 1000:.2f} bits a"
        f" sample, claimed and credited at {source.claimed_millibits / 1000:.2f}"
    )


def _users_give(dealer: Client) -> None:
    title("four users play: what they do is mixed in, and never counts against the hardware")
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
        title(f"Shuffle {hand}")
        deal = dealer.shuffle("table-7", hand)
        console.print(render_deal(deal))
        deals.append(deal)
    return deals


def _ask_again(dealer: Client, first: Deal) -> None:
    title(f"the same call again: {first.hand}")
    again = dealer.shuffle(first.table, first.hand)
    same = again.message.SerializeToString() == first.message.SerializeToString()
    require(same and again.replayed, "the stored deck came back changed")
    console.print("identical, byte for byte, from the ledger")


def _unplug_and_back(dealer: Client, faults: Path, earlier: Deal) -> None:
    title("unplug the device")
    faults.write_text(UNPLUGGED + "\n")
    began = time.monotonic()
    until("dealing is held", lambda: not can_deal(dealer))
    lost_after = time.monotonic() - began
    answer = dealer.status()
    console.print(
        f"held after {lost_after:.2f} s: {answer.hold_reason}: {answer.hold_text}", markup=False
    )
    try:
        dealer.shuffle("table-7", "hand-4", timeout_s=1.0)
        fail("a hand was dealt without a device")
    except Refusal as refusal:
        console.print(f"Shuffle hand-4: {refusal}", markup=False)
        console.print(f"        ask again in {refusal.retry_after_s} s")
    replay = dealer.shuffle(earlier.table, earlier.hand)
    require(replay.replayed, "a recorded hand was not replayed during a hold")
    console.print(f"{earlier.hand} is still answered from the ledger")
    title("plug it in again")
    faults.write_text("")
    began = time.monotonic()
    until("dealing resumes", lambda: can_deal(dealer))
    resumed = dealer.shuffle("table-7", "hand-4")
    require(not resumed.replayed, "hand-4 had been spent while dealing was held")
    console.print(
        f"resumed by itself after {time.monotonic() - began:.1f} s, start-up test repeated;"
        f" hand-4 is number {resumed.sequence} at its table"
    )
