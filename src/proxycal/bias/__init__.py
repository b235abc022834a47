"""Stage 2: outcome, content and environment to alpha and P(A=1)."""
