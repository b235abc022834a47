"""Every number that decides the verdict of validated rows, once, with the reason behind it."""

# From this many validated rows on, method="auto" learns from them: regression on a handful of columns needs
# about three rows for each, and five folds of six rows still judge it.
LEAST_ROWS = 30
# The mean gap of validated rows shows a bias from this many standard errors on (two-sided p of 0.01).
SHOWN_T = 2.58
# Where the model comparison finds a bias as well, this many standard errors are agreement (one-sided p of
# 0.05: they confirm a direction that was stated before).
AGREED_T = 1.64
# Validated rows contradict a bias that the model found where the upper end of their mean gap lies below this
# part of what the model would take off.
CONTRADICTED_PART = 0.5
# Folds of the comparison.
FOLDS = 5
# Copies of a row share a fold, and each fold is asked about some row that the others do not hold.
LEAST_DIFFERENT = 2 * FOLDS
# Rows without a truth that teach the candidates the shape of the reports; more add nothing but time.
MOST_OTHERS = 2_000
# Rows up to which counts are written out, one after the other; with more they are weights.
WRITTEN_OUT = 20_000
# Rows that the graded bias is estimated from.
MOST_GRADED = 20_000
