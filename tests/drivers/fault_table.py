"""Prints which driver makes what of which fault: `python -m tests.drivers.fault_table`.

The cells are what the tests play and compare, not a description of it.
"""

from collections.abc import Mapping

from tests.drivers.expected import (
    FAULTS_OF_THE_LIST,
    NOT_POSSIBLE,
    QUANTIS,
    SEEN_BY,
    SERIAL,
    Outcome,
)

DRIVERS: dict[str, Mapping[str, tuple[Outcome, Outcome]]] = {
    "quantis-usb": QUANTIS,
    "serial": SERIAL,
}


def number_of(spec: str) -> int:
    """Return the number in the list of a fault such as `F9:idle`."""
    return int(spec.partition(":")[0].removeprefix("F"))


def word(outcome: Outcome) -> str:
    """Return what a reader of the table sees of an outcome."""
    return (
        "delivered"
        if outcome is None
        else outcome.__name__.removeprefix("Source").removesuffix("Error").lower()
    )


def cell(driver: str, number: int) -> str:
    """Return what a driver makes of a fault: each variant while open / while opening, or why not.

    Raises:
        KeyError: neither is known. That is a gap.
    """
    played = {
        spec.partition(":")[2]: outcomes
        for spec, outcomes in DRIVERS[driver].items()
        if number_of(spec) == number
    }
    if not played:
        return f"not possible: {NOT_POSSIBLE[driver, number]}"
    return "; ".join(
        f"{variant} {word(reading)} / {word(opening)}".lstrip() + seen(f"F{number}:{variant}")
        for variant, (reading, opening) in played.items()
    )


def seen(spec: str) -> str:
    """Return who sees what is delivered in spite of a fault."""
    tests = SEEN_BY.get(spec.rstrip(":"))
    if tests is None:
        return ""
    return f" (seen by {', '.join(sorted(tests))})" if tests else " (worth its claim)"


def rows() -> list[tuple[str, ...]]:
    """Return the table, a row for each fault of the list, a column for each driver."""
    return [
        (f"F{number}", title, *(cell(driver, number) for driver in DRIVERS))
        for number, title in FAULTS_OF_THE_LIST.items()
    ]


def main() -> None:
    """Print the table as Markdown, and how much of it is played."""
    print("Outcome of a read of an open device / of opening, for each variant.\n")
    print("| fault | what | " + " | ".join(DRIVERS) + " |")
    print("|---|---|" + "---|" * len(DRIVERS))
    for row in rows():
        print("| " + " | ".join(row) + " |")
    cells = sum(len(played) for played in DRIVERS.values())
    print(f"\n{len(FAULTS_OF_THE_LIST)} faults x {len(DRIVERS)} drivers, {cells} variants played")


if __name__ == "__main__":
    main()
