"""Measurements, side by side in one run: ratios, since absolute numbers depend on the machine."""
