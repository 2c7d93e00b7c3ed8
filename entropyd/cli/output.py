"""Standard output as a shell gives it: closed, or of an encoding that lacks letters."""

import io
import sys


def can_be_written() -> bool:
    r"""Have standard output take every letter; return whether there is one at all.

    A letter that its encoding lacks, such as the sign of a suit, is written as `\u2660`. An error
    in its place would come after the draw: recorded, and shown to nobody.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    # Python has no object for a closed one.
    stdout: io.TextIOBase | None = sys.stdout  # type: ignore[assignment]
    return stdout is not None
