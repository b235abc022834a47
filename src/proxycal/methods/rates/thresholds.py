"""The numbers that decide a verdict on counts and on yes/no outcomes, each with what it was measured on."""

from __future__ import annotations

# Evidence by which a report must lead what the environment could do to the truth itself, and by which it must
# lead content alone where the user states that the environment acts on the truth only through content. The
# figures stand in benchmarks/counts.md: tables without a bias, of Poisson and negative binomial counts and of
# yes/no outcomes, with noisy, skewed and leaking proxies, direct effects of all kinds.
LEAD = 4.0
# Share of the variance of who is biased that the environment decides: above it, the biased are a group, and a
# factor on that group's truth would look the same. Where the truth itself makes a step along the environment,
# leads of 5 to 9 came with 0.77 to 0.86; where rows of a logistic gate report half, with 0.12 to 0.35.
MOST_DRIVEN = 0.7
# Least and greatest share of biased rows, and what the biased report at most.
SHARES, MOST_REPORTED = (0.03, 0.97), 0.93
# p below which the environment moves reports beyond content, and below which it moves a proxy so.
BEYOND_P, PROXY_P = 1e-3, 0.01
# Validated rows, and events, from which on they decide, as method="validated" needs; wrong ones among them
# from which on there is a bias: of complete reports none is wrong.
LEAST_VALIDATED, LEAST_WRONG = 30, 5
