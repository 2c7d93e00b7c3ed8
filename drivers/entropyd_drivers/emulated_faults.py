"""Faults of a Quantis by name.

The names are those of the project's fault list; each is tied to a report about
this or a comparable device. `FAULTS` is the registry: another fault is another
class with a name, and appears in the control file, the tests, the fault table
and the help by that alone. `F1:nak` is variant `nak` of fault F1; without one,
the first counts.
"""

from entropyd_drivers import emulated_stream_faults, emulated_transfer_faults  # noqa: F401
from entropyd_drivers.emulated_fault import REGISTERED, Fault

FAULTS = dict(sorted(REGISTERED.items(), key=lambda item: int(item[0].removeprefix("F"))))


def make_fault(spec: str) -> Fault:
    """Return a new fault from `NAME` or `NAME:variant`.

    Raises:
        ValueError: no such fault or variant; the text lists what there is.
    """
    name, _, variant = spec.partition(":")
    if name not in FAULTS:
        raise ValueError(f"unknown fault {spec!r}; expected one of " + ", ".join(FAULTS))
    kind = FAULTS[name]
    if variant and variant not in kind.variants:
        raise ValueError(
            f"unknown variant in {spec!r}; expected one of " + ", ".join(kind.variants)
        )
    return kind(variant or kind.variants[0])


def describe() -> str:
    """Return one line a fault: name, variants, meaning."""
    return "\n".join(
        f"{name:<4} {'|'.join(kind.variants):<22} {(kind.__doc__ or '').splitlines()[0]}"
        for name, kind in FAULTS.items()
    )
