"""The exact engine: what a model may look like, how it is fitted, compared and judged."""
