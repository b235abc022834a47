"""Calibration learned from validated rows: candidates compared out of fold, intervals, totals."""
