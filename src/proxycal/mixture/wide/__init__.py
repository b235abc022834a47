"""Models that the plain comparison does not hold: sizes that vary, gates by content, what E does to all."""
