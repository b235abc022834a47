"""The exact method on one model of a row. It does not answer yet: `proxycal bench one-model` compares it.

compare    rows in the units of the engine, the best models with and without a bias
law        a fitted model as rows are answered with it
collect    every number that the verdict reads -> evidence -> findings
fit        all of it; in_pieces: the same for a table that is read in pieces
"""
