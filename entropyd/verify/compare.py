"""Where two values differ first: what was computed, and what a stranger says.

Python takes true for 1 and 1.0 for 1. A file in which they stand for each
other is not the file that was proved, so kinds are compared before values.
"""

from collections.abc import Sequence

from entropyd.errors import ProofMismatchError


def require_equal(
    path: str, computed: object, presented: object, *, causes: tuple[str, ...] = ()
) -> None:
    """Raise where the two differ first.

    Args:
        path: where the presented value stands in its file.
        computed: objects, lists, texts and numbers.
        presented: as parsed; its depth is bounded by the parser.
        causes: what explains a difference.

    Raises:
        ProofMismatchError: they differ; names the first place, what stands there and what should.
    """
    difference = first_difference(path, computed, presented)
    if difference is not None:
        raise ProofMismatchError(difference[1], field=difference[0], causes=causes)


def first_difference(path: str, computed: object, presented: object) -> tuple[str, str] | None:
    """Return the path of the first difference and what it is; None if there is none."""
    if type(computed) is not type(presented):
        return path, f"is {_short(presented)}; computed {_short(computed)}"
    if isinstance(computed, dict) and isinstance(presented, dict):
        return _in_members(path, computed, presented)
    if isinstance(computed, list) and isinstance(presented, list):
        return _in_places(path, computed, presented)
    if computed != presented:
        return path, f"is {_short(presented)}; computed {_short(computed)}"
    return None


def hex_difference(computed: bytes, presented: bytes) -> str:
    """Say at which byte two hashes of a length differ first, and what was computed."""
    pairs = zip(computed, presented, strict=True)
    place = next(place for place, (one, other) in enumerate(pairs) if one != other)
    return f"differs from byte {place} on; computed {computed.hex()}"


def _in_members(
    path: str, computed: dict[str, object], presented: dict[str, object]
) -> tuple[str, str] | None:
    for name, value in computed.items():
        if name not in presented:
            return f"{path}.{name}", "is missing"
        found = first_difference(f"{path}.{name}", value, presented[name])
        if found is not None:
            return found
    unknown = sorted(set(presented) - set(computed))
    if unknown:
        return f"{path}.{ascii(unknown[0][:40])[1:-1]}", "is no member of this outcome"
    return None


def _in_places(
    path: str, computed: Sequence[object], presented: Sequence[object]
) -> tuple[str, str] | None:
    for place, (one, other) in enumerate(zip(computed, presented, strict=False)):
        found = first_difference(f"{path}[{place}]", one, other)
        if found is not None:
            return found
    if len(computed) != len(presented):
        return path, f"has {len(presented)} entries; computed {len(computed)}"
    return None


def _short(value: object) -> str:
    """Return a value so that it cannot fill a screen or move a cursor."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return ascii(value)[:48]
