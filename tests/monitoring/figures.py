"""Draw the pictures of docs/operations.md from the scenes: `python -m tests.monitoring.figures`."""

import tempfile
from pathlib import Path

from monitoring.render import View, draw
from tests.monitoring.scenes import AILING, BIASED, DOWN, HEALTHY, STALLED, UNPLUGGED, World, played
from tests.monitoring.server import SCRAPE_S

PICTURES = Path(__file__).parents[2] / "docs" / "img"

FIRST = "Can we deal?"
# The rows of each picture; none stands for all of them.
ROWS: dict[str, tuple[str, ...]] = {
    HEALTHY: (),
    UNPLUGGED: (FIRST, "Sources", "Waits"),
    BIASED: (FIRST, "Sources"),
    STALLED: (FIRST, "Ledger", "Requests"),
    DOWN: (FIRST, "Sources"),
}


def picture(world: World, scene: str) -> bytes:
    """Return a scene's rows as a PNG."""
    instance = AILING if scene == DOWN else scene
    end = world.moments[scene]
    view = View(world.server, instance, end, end - world.began, SCRAPE_S)
    return draw(view, rows=ROWS[scene])


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ed-") as path, played(Path(path)) as world:
        for scene in ROWS:
            file = PICTURES / f"dashboard-{scene}.png"
            file.write_bytes(picture(world, scene))
            print(f"{file}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
