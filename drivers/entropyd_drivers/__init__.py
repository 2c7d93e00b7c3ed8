"""Drivers that ship with entropyd, one device family a file, their emulators beside them."""
