"""The numbers that decide a verdict on several reports, as benchmarks/reporters.md measured them."""

from __future__ import annotations

# Evidence by which a bias of a reporter must lead all that has none: no second state, wider errors of some
# rows, and a second state that the environment does not drive. And by how much without the last, where only
# the reports themselves tell which of them are biased.
LEAD, LEAD_APART = 4.0, 7.0
# Least size, in sds of what is left of the report beside the others: of a bias whose rows the environment
# tells, and of one that only the reports themselves tell, which a long tail of errors would look like.
LEAST_SIZE, LEAST_SIZE_APART = 1.15, 3.0
# Size, in the same sds, that is found in nine tables of ten of 500 rows, and the power with which it falls
# with more of them. Where only the reports themselves tell it, by so much more as the least sizes differ.
DETECTABLE, FALLS = 2.0, 0.2
# Least and greatest share of biased reports; and the least of those that only the reports themselves tell: of
# 100 tables of heavy tails a rarer one led by 7.0 in one, by chance more of the tail on one side.
SHARES, LEAST_SHARE_APART = (0.01, 0.95), 0.05
# Part of who is biased that the environment decides: above it, a difference by environment looks the same.
MOST_DRIVEN = 0.85
# Evidence by which a model must lead to be kept.
PAYS = 1.0
# Evidence from which on the environment moves the difference of the reports gradually, and from which on
# exact agreement is a state of its own.
GRADED, AGREED = 4.0, 8.0
