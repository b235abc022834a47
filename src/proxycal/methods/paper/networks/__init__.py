"""Batched networks and their training loop, shared by the two stages."""
