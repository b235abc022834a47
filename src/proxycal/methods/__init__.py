"""The three estimators as whole fits, each composed from the rooms."""
