"""Frames to arrays: the only room that knows data frames."""
