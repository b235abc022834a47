"""Counts and yes/no outcomes: a share of what happened is reported, by some rows less than by others."""
