"""Tables whose truth is known, to try the package on and to test code that uses it.

simulate        the synthetic design of the paper: a Simulation with table, roles and truth
inject_bias     a known bias added to a table of your own: a Simulation too
draw_world      a World of a named kind (skewed, clustered, zero-inflated, ...), as arrays and as a table
draw_violation  a World whose table violates one assumption of the method (VIOLATIONS lists them)
wider_worlds    more than a hundred kinds of data: sizes that vary, clusters, rating scales, counts, ...
ReportedWorld   counts and yes/no outcomes of which a share is reported; its `draw` returns a Reported
SeveralReports  several reports of one truth, some of them biased; its `draw` returns a DrawnReports
wider_world     one of them by name; its `draw` returns a DrawnWorld with table, roles and truth

>>> sim = simulate(n=100, alpha=2.0, random_state=1)
>>> bool((sim.truth["a"] == 1).any())
True
>>> draw_world("exponential", n=100, alpha_sd=3.0, seed=1).table().shape
(100, 11)
"""

from proxycal.testing.reported import Reported, ReportedWorld
from proxycal.testing.reports import DrawnReports, SeveralReports
from proxycal.testing.simulation import Simulation, inject_bias, simulate
from proxycal.testing.violations import VIOLATIONS, draw_violation
from proxycal.testing.wider import DrawnWorld, WiderWorld, wider_world, wider_worlds
from proxycal.testing.worlds import KINDS, World, draw_world

__all__ = [
    "KINDS",
    "VIOLATIONS",
    "DrawnReports",
    "DrawnWorld",
    "Reported",
    "ReportedWorld",
    "SeveralReports",
    "Simulation",
    "WiderWorld",
    "World",
    "draw_violation",
    "draw_world",
    "inject_bias",
    "simulate",
    "wider_world",
    "wider_worlds",
]
