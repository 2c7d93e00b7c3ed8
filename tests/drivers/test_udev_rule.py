"""The udev rule: its grammar, and that it is about the devices that the drivers read."""

import re
from pathlib import Path

from entropyd_drivers.quantis_usb import PRODUCT_ID, VENDOR_ID

RULES = Path(__file__).parents[2] / "drivers/udev/60-entropyd.rules"
KEY = re.compile(r'([A-Z_]+(?:\{[^}]+\})?)\s*(==|!=|\+=|:=|=)\s*"([^"]*)"')


def rules():
    """Each rule as a list of (key, operator, value); every character must belong to one."""
    text = RULES.read_text().replace("\\\n", "")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    for line in lines:
        assert re.fullmatch(rf"\s*{KEY.pattern}(\s*,\s*{KEY.pattern})*\s*", line), line
    return [KEY.findall(line) for line in lines]


def test_quantis_may_be_opened_by_the_group_only():
    """Group entropyd, mode 0660, a unit for systemd and a name by serial number."""
    quantis = [
        ("ATTR{idVendor}", "==", f"{VENDOR_ID:04x}"),
        ("ATTR{idProduct}", "==", f"{PRODUCT_ID:04x}"),
    ]
    merged = [key for rule in rules() if all(key in rule for key in quantis) for key in rule]
    for wanted in (
        ("GROUP", "=", "entropyd"),
        ("MODE", "=", "0660"),
        ("TAG", "+=", "systemd"),
        ("SYMLINK", "+=", "entropyd/quantis-$attr{serial}"),
        ("ATTR{power/control}", "=", "on"),
    ):
        assert wanted in merged


def test_nothing_is_open_to_all():
    """No rule lets others read or write."""
    modes = {value for rule in rules() for key, _, value in rule if key == "MODE"}
    assert {"0660"} == modes


def test_modem_manager_leaves_the_serial_generators_alone():
    """The rule that says so applies to every device that the rules mark."""
    ignored = [rule for rule in rules() if ("ENV{ID_MM_DEVICE_IGNORE}", "=", "1") in rule]
    assert ignored == [
        [("ENV{ENTROPYD_SERIAL}", "==", "1"), ("ENV{ID_MM_DEVICE_IGNORE}", "=", "1")]
    ]


def test_every_jump_has_its_label():
    """A GOTO without a label makes udev drop the rule."""
    jumps = {value for rule in rules() for key, _, value in rule if key == "GOTO"}
    labels = {value for rule in rules() for key, _, value in rule if key == "LABEL"}
    assert jumps == labels
