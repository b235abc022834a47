"""Every threshold that decides a verdict of the gradual method, with what it was measured on."""

# "Bias found" needs a joint test of b below this. At 0.01 rather than 0.05 because robust tests of ten
# coefficients reject somewhat too often in 500 rows: `proxycal bench gradual`, null worlds.
FOUND_P = 0.01
# Over-identification below this: a proxy that the environment reaches, or content that proxies do not span.
OVER_P = 0.01
# The proxies must go with the outcome, given the environment: otherwise all that the environment does to
# content would count as a bias. With shuffled proxies one was "found" in 20 of 20 tables without this test,
# in none of 20 with it.
RELEVANT_P = 0.01
# First-stage strength (Cragg-Donald F) below which 2SLS leans towards least squares (Staiger and Stock 1997).
WEAK_F = 10.0
# Information on the least determined direction of the system, in units where every parameter is of order one:
# 10 means a standard error of 0.3. Below it the normal approximation is not to be trusted.
LEAST_INFORMATION = 10.0
# Validated rows whose errors do not follow b(E) below this: exclusion is contradicted.
VALIDATED_P = 0.01
# Rows that an anchor needs before its own error can be estimated.
ANCHOR_ROWS = 5
VALIDATED_ROWS = 20
# Categories with more levels are shrunk towards their mean.
SHRINK_LEVELS = 6
# Share of rows that serves as reference where nobody vouches for any.
LEAST_BIASED = 0.1
# Rows, or clusters, for each coefficient that splines need; with fewer, straight lines. Set on the sigmoid
# worlds of `proxycal bench gradual` with seeds of their own, 4 proxies. With 250 rows the intervals of
# splines hold the truth in 94% of the rows, those of straight lines in 84% (16 tables); with 100 clusters in
# 94% and 87%; with 50 in 97% and 93%, but splines find the bias in 39 of 50 tables and lines in 45.
UNITS_PER_COLUMN = 8
CLUSTERS_PER_COLUMN = 5
# Clusters below which nothing was measured. With errors that leave each cluster out in turn (CR3) and
# shrinkage that does not believe the correlations of few clusters (`smoothed`), seeds of their own, intervals
# held the truth with 50 clusters in 93% (sigmoid) and 97% (none) of the rows, with 200 in 95 and 96%.
FEW_CLUSTERS = 50
# Slopes of the reduced form, proxies and outcome by columns of the basis, above which splines cost minutes.
MOST_SLOPES = 1500
# A category with more levels than this has no row for each of them in the summary.
LISTED_LEVELS = 12
