"""One file per source, each returning a Dataset."""
