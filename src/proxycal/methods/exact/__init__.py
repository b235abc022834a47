"""The exact method: the bias is summed out of the likelihood."""
