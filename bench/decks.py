"""How much of what the device permits is dealt: credited bits that it sent against bits dealt.

At 500,000 B/s and 6 bits a byte a Quantis permits 9,375 decks a second at 320
bits, 5,272 where hardware also covers 249 missing user bits. As many callers
as it takes ask as fast as they are answered; what was sent is read from the
emulator's tape.
"""

from bench.daemon import dealing
from bench.generator import Generator
from bench.report import Line, Report

MILLIBITS_PER_BYTE = 6000
# (user_shortfall, bits a seed)
GATES = (("ignore", 320), ("cover", 320 + 249))
CALLERS = 128


def run(report: Report, *, quick: bool) -> None:
    """Saturate the daemon under both gates."""
    seconds = 3 if quick else 20
    lines = [_saturate(shortfall, bits, seconds) for shortfall, bits in GATES]
    report.add("decks", lines, *map(_sentence, lines))


def _saturate(shortfall: str, bits: int, seconds: int) -> Line:
    with dealing(shortfall=shortfall) as daemon, Generator(daemon) as generator:
        generator.run("closed", "shuffle", 1, in_flight=CALLERS)
        sent = daemon.sent_bytes()
        got = generator.run("closed", "shuffle", seconds, in_flight=CALLERS)
        # The answers that were under way at the end are few, and so is what was sent meanwhile.
        sent = daemon.sent_bytes() - sent
        dealt = got["answered"]
        cores = got["server_cpu_s"] / got["seconds"]
    permitted = sent * MILLIBITS_PER_BYTE / (bits * 1000)
    share = dealt / permitted
    return {
        "bits a seed": bits,
        "callers": CALLERS,
        "seconds": got["seconds"],
        "bytes sent": sent,
        "sent B/s": sent / got["seconds"],
        "decks permitted": round(permitted),
        "decks dealt": round(dealt),
        "decks/s": got["rate"],
        "% of permitted": share * 100,
        "server cores": cores,
        "server us": got["server_us"],
        "refused": round(got["refused"]),
        "limited by": "device" if share > 0.95 else "CPU",
    }


def _sentence(line: Line) -> str:
    return (
        f"{line['bits a seed']} bits a seed: {line['decks dealt']:,} decks of"
        f" {line['decks permitted']:,} that {line['bytes sent']:,} bytes permit"
        f" ({line['% of permitted']:.0f} %), {line['decks/s']:,.0f}/s; the limit is the"
        f" {line['limited by']} ({line['server cores']:.2f} cores)"
    )
