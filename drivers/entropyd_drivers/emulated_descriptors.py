"""The descriptors of a Quantis USB, byte for byte, and as the objects that pyusb wants.

The bytes are those of a real device as `lsusb -v` printed them, in
nicosp/network-rng rngd/quantisusb.c. The driver's own constants appear nowhere
here: a driver that expects something else must fail against them.
"""

import struct
from array import array
from types import SimpleNamespace

DEVICE = bytes.fromhex("12 01 00 02 ff 00 00 40 ba 0a 02 01 00 02 01 02 03 01")
CONFIGURATION = bytes.fromhex(
    "09 02 19 00 01 01 00 80 96  09 04 00 00 01 ff 00 00 00  07 05 86 02 00 02 00"
)
QUALIFIER = bytes.fromhex("0a 06 00 02 ff 00 00 40 01 00")

# String 3 is the serial number. The language table was not printed; 0x0409 is assumed.
LANGUAGES = bytes.fromhex("04 03 09 04")
MANUFACTURER = "id Quantique"
PRODUCT = "Quantis USB"

# A full-speed link has bulk packets of 64 bytes (QuantisUsb_Commands.h; Serjeo722/QuantisUSB).
HIGH_SPEED_PACKET = 512
FULL_SPEED_PACKET = 64

_INTERFACE_AT = 9
_ENDPOINT_AT = 18
_PACKET_SIZE_AT = 22

_DEVICE_FIELDS = (
    "<BBHBBBBHHHBBBB",
    (
        "bLength bDescriptorType bcdUSB bDeviceClass bDeviceSubClass bDeviceProtocol"
        " bMaxPacketSize0 idVendor idProduct bcdDevice iManufacturer iProduct iSerialNumber"
        " bNumConfigurations"
    ),
)
_CONFIGURATION_FIELDS = (
    "<BBHBBBBB",
    (
        "bLength bDescriptorType wTotalLength bNumInterfaces bConfigurationValue iConfiguration"
        " bmAttributes bMaxPower"
    ),
)
_INTERFACE_FIELDS = (
    "<BBBBBBBBB",
    (
        "bLength bDescriptorType bInterfaceNumber bAlternateSetting bNumEndpoints bInterfaceClass"
        " bInterfaceSubClass bInterfaceProtocol iInterface"
    ),
)
_ENDPOINT_FIELDS = (
    "<BBBBHB",
    "bLength bDescriptorType bEndpointAddress bmAttributes wMaxPacketSize bInterval",
)


def configuration_bytes(packet_bytes: int) -> bytes:
    """Return the configuration descriptor with everything in it, at one packet size."""
    size = packet_bytes.to_bytes(2, "little")
    return CONFIGURATION[:_PACKET_SIZE_AT] + size + CONFIGURATION[_PACKET_SIZE_AT + 2 :]


def string_bytes(text: str) -> bytes:
    """Return the string descriptor of `text`."""
    characters = text.encode("utf-16-le")
    return bytes((2 + len(characters), 3)) + characters


def device_object(**where: object) -> SimpleNamespace:
    """Return the device descriptor as pyusb reads it; `where` is bus, address, port, speed."""
    return SimpleNamespace(**_fields(_DEVICE_FIELDS, DEVICE, 0), **where)


def configuration_object(packet_bytes: int) -> SimpleNamespace:
    """Return the configuration descriptor as pyusb reads it."""
    return _described(_CONFIGURATION_FIELDS, packet_bytes, 0)


def interface_object(packet_bytes: int) -> SimpleNamespace:
    """Return the only interface descriptor as pyusb reads it."""
    return _described(_INTERFACE_FIELDS, packet_bytes, _INTERFACE_AT)


def endpoint_object(packet_bytes: int) -> SimpleNamespace:
    """Return the only endpoint descriptor as pyusb reads it."""
    endpoint = _described(_ENDPOINT_FIELDS, packet_bytes, _ENDPOINT_AT)
    # Audio devices alone have these two bytes; pyusb asks everybody for them.
    endpoint.bRefresh = endpoint.bSynchAddress = 0
    return endpoint


def _described(layout: tuple[str, str], packet_bytes: int, at: int) -> SimpleNamespace:
    fields = _fields(layout, configuration_bytes(packet_bytes), at)
    return SimpleNamespace(**fields, extra_descriptors=array("B"))


def _fields(layout: tuple[str, str], data: bytes, at: int) -> dict[str, int]:
    form, names = layout
    return dict(zip(names.split(), struct.unpack_from(form, data, at), strict=True))
