"""Matched effects, the calibrated outcome and its uncertainty."""
