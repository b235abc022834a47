"""Every number that decides the verdict or a finding of the paper's method, with the reason for it.

The least first-stage F, and how far two estimates may be apart, are those of all methods: see
`proxycal.methods.crosschecks`.
"""

from __future__ import annotations

# Mean KL in nats below which a content latent says no more about a unit than its prior: 0.01 nats is the
# information of a correlation of 0.14.
ACTIVE_KL = 0.01
# The same of the score of stage 2; below it, the score is empty.
COLLAPSED_KL = 0.01
# Share of the outcome's variance that the score moves in the decoder, below which the decoder ignores it:
# a shift of 0.2 sd of the outcome, of half of the rows, is a share of 0.01.
COLLAPSED_SHARE = 0.01
# BIC of one group less BIC of two: BIC already charges the second group for its parameters.
TWO_GROUPS_GAIN = 0.0
# A stage whose best epoch is this one learned nothing after its first pass over the rows.
UNTRAINED_EPOCH = 1
# Share of the nearest rows that an approximate search should find; in place of a row that it misses stands
# one slightly farther away.
ENOUGH_RECALL = 0.95
