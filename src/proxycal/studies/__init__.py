"""The paper's three studies and ours: `proxycal experiment`."""
