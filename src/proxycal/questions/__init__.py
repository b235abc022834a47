"""Questions put to a finished fit: each with its computation, record, wording and picture."""
