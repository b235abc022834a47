"""One likelihood of a row, whose predictors are sums of penalised terms; a family per kind of outcome.

terms        a predictor is a sum of terms: lines, curves, levels, products
model        the predictors of a family and where their coefficients stand
likelihood   rows -> log likelihood and derivatives, summed over chunks
curvature    the system of normal equations, with a block for each unit
maximise     Newton's steps, variances of the terms, evidence
families     normal, counts, binary: log density of a row with derivatives by predictor
"""
