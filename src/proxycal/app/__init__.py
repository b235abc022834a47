"""The local page: calibrate a table without writing code. It calls the public API and computes nothing."""
