"""The paper's studies and the benchmarks."""
