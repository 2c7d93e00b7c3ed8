"""No fault of the list is missing for a driver, and the table says what the tests play."""

import subprocess
import sys

import pytest

from entropyd_drivers.emulated_faults import FAULTS
from tests.drivers.expected import FAULTS_OF_THE_LIST, NOT_POSSIBLE, QUANTIS
from tests.drivers.fault_table import DRIVERS, cell, number_of


def test_the_list_has_no_gap():
    """F1 to F21, in order."""
    assert list(range(1, 22)) == list(FAULTS_OF_THE_LIST)


@pytest.mark.parametrize("number", FAULTS_OF_THE_LIST)
@pytest.mark.parametrize("driver", DRIVERS)
def test_every_fault_is_played_or_impossible(driver, number):
    """Never both, and never neither."""
    is_played = number in {number_of(spec) for spec in DRIVERS[driver]}
    assert is_played != ((driver, number) in NOT_POSSIBLE)
    assert cell(driver, number)


def test_the_emulator_has_every_fault_of_the_quantis_column():
    """Each variant that can be switched on is in the table, and the other way round."""
    registered = {
        f"{name}:{variant}".rstrip(":")
        for name, kind in FAULTS.items()
        for variant in kind.variants
    }
    assert registered == set(QUANTIS)


def test_the_command_prints_a_row_a_fault():
    """`python -m tests.drivers.fault_table`, as documentation takes it."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.drivers.fault_table"],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [line for line in ran.stdout.splitlines() if line.startswith("| F")]
    assert len(FAULTS_OF_THE_LIST) == len(rows)
    assert "21 faults x 2 drivers" in ran.stdout
