"""Questions put to a finished fit."""
