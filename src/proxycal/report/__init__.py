"""Results to text, figures and pages; computes nothing."""
