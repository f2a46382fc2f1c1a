"""Ratios to the bare libraries, measured in one run: `make bench`."""
