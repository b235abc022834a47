"""Benchmarks of the package: code beside the pages that it wrote. Run by `proxycal bench` from a clone."""
