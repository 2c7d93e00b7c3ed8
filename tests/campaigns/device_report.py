"""Prints the figures of the campaign: python -m tests.campaigns.device_report."""

from tests.campaigns.device_calls import Files, Replug, planned, recorded
from tests.campaigns.device_flips import FLIPS, first_changed
from tests.campaigns.device_reference import DROPPED, Recomputed, recompute
from tests.campaigns.device_run import Played, play


def main() -> None:
    """Play every run, compare, print. Ends with exit code 1 if anything differs."""
    files = recorded()
    played = play(files, planned())
    run = recompute(files, played.calls)
    right = _show_run("undisturbed", files, played, run)
    _show_bytes(played, run)
    print("one bit flipped: first hand that changed, of which each later one changed too")
    for place in FLIPS:
        right &= _show_flip(place, files, played, run)
    replugged = play(files, planned(replug_after=50), rate=100_000)
    lossy = recompute(files, replugged.calls)
    right &= _show_run("with a loss after 50 hands", files, replugged, lossy)
    (lost,) = [call for call in replugged.calls if isinstance(call, Replug)]
    print(f"  stirred in at the loss: {len(lossy.stirred[0]):,} of {lost.samples:,} bytes read")
    print("from the device:", "ok" if right else "DIFFERS")
    raise SystemExit(not right)


def _show_run(name: str, files: Files, played: Played, run: Recomputed) -> bool:
    seeds = sum(len(hand.made_from) for hand in run.hands)
    differing = first_changed(played.decks, run.decks)
    print(
        f"{name}: {len(played.answers)} hands of {seeds} seeds; all recomputed from"
        f" {len(files.capture):,} + {len(files.users):,} + {len(files.getrandom):,} bytes recorded:"
        f" {'yes' if differing is None else f'no, from hand {differing + 1} on'}"
    )
    return differing is None


def _show_bytes(played: Played, run: Recomputed) -> None:
    told = sum(
        use.samples
        for answer in played.answers
        for use in answer.sources
        if use.use in {"hardware", "cover"}
    )
    (source,) = played.status.sources
    print(f"  sent by the device: {len(played.tape):,} bytes; read by then: {source.samples:,}")
    print(f"  dropped (start-up test, first assessment): {DROPPED:,}")
    print(f"  spent: {told:,} in provenance, {len(run.instantiated)} to instantiate")


def _show_flip(place: str, files: Files, played: Played, run: Recomputed) -> bool:
    flip = FLIPS[place](files, run)
    flipped = flip.applied(files)
    after = play(flipped, planned())
    changed = first_changed(played.decks, after.decks)
    later = [one != other for one, other in zip(played.decks, after.decks, strict=True)]
    right = changed == flip.hand and after.decks == recompute(flipped, after.calls).decks
    right &= changed is None or all(later[changed:])
    hand = "none" if changed is None else f"hand {changed + 1}"
    where = f"{flip.file}[{flip.offset:,}]"
    print(f"  {place:44} {where:18} {hand:9} {'as expected' if right else 'NOT AS EXPECTED'}")
    return right


if __name__ == "__main__":
    main()
