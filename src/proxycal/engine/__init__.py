"""One likelihood of a row, whose predictors are sums of penalised terms; a family per kind of outcome.

terms        a predictor is a sum of terms: lines, curves, levels, products
model        the predictors of a family and where their coefficients stand
likelihood   rows -> log likelihood and derivatives, summed over chunks
curvature    the system of normal equations, with a block for each unit
maximise     Newton's steps, variances of the terms, evidence
standard     a normal outcome in its units, and the terms of its predictors
spikes       values that many rows hold, and which of them a bias may have moved
search       the best model with a bias against the best without one
inference    the size of the bias and its error
average      the size over the models that explain the table about as well
families     normal, counts, binary: log density of a row with derivatives by predictor
"""
