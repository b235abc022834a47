"""Stage 1: proxies and environment to the content z_hat."""
