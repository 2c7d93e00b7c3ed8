"""`make demo`: everything that the product is for, on an emulated device, in a minute."""
