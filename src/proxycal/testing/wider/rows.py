"""The plain world at all sizes, in both directions, with a bias and without."""

from __future__ import annotations

from proxycal.testing.wider.recipe import Bias, Recipe, pair, world

FAMILY = "number of rows"

WORLDS = (
    *pair(FAMILY, "100 rows", "the plain world", Recipe(), n=100, hard=True),
    world(FAMILY, "100 rows, 5 sd", "the plain world, five sds", Recipe(), Bias(5.0), n=100),
    *pair(FAMILY, "200 rows", "the plain world", Recipe(), Bias(3.0, "under"), n=200),
    *pair(FAMILY, "500 rows", "the plain world", Recipe(), n=500),
    world(FAMILY, "1000 rows, no bias", "the plain world without a bias", Recipe(), Bias(0.0)),
    world(FAMILY, "2000 rows, no bias", "the same, under", Recipe(), Bias(0.0, "under"), n=2000),
    *pair(FAMILY, "5000 rows", "the plain world", Recipe(), Bias(2.0), n=5000),
)
