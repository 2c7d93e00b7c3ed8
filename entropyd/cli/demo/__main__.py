"""Play the demo, and end with `demo: ok`, or with what went wrong and exit code 1.

A real daemon process on a temporary state directory, real gRPC clients, players
that run software of their own, and a real browser. Only the device is emulated,
at the level of pyusb: the driver that reads it is the one that reads a Quantis.
"""

import tempfile
from pathlib import Path

from entropyd.cli.demo.checkout import find_checkout
from entropyd.cli.demo.checks import check_everything
from entropyd.cli.demo.day import deal_through_a_bad_day
from entropyd.cli.demo.house import open_house, stop, target_of
from entropyd.cli.demo.stage import say
from entropyd.cli.demo.table import play_a_hand
from entropyd.client import Client


def main() -> None:
    """Play all of it."""
    checkout = find_checkout()
    with tempfile.TemporaryDirectory(prefix="entropyd-demo-") as name:
        home = Path(name)
        with open_house(home) as daemon:
            with Client(target_of(home), claim_key_file=home / "claim.key") as dealer:
                deal_through_a_bad_day(dealer, home / "faults", daemon)
                played = play_a_hand(dealer, home, checkout)
                check_everything(played, dealer, home, checkout)
            stop(daemon)
    say("demo: ok")


if __name__ == "__main__":
    main()
