"""Measurements, side by side in one run: ratios, since this machine is not yours."""
