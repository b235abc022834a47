"""Several reports of one truth: their differences hold no truth, so that an unseen cause cannot mislead."""
