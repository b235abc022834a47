import numpy as np
import pytest
from scipy.stats import norm

from proxycal.engine.families.densities import of_point, of_range, of_report

C, V = np.array([0.3, -1.0, 2.0, 0.0]), np.array([0.5, 1.5, 1.0, 0.8])
LOW, HIGH = np.array([0.0, -np.inf, 6.0, -0.5]), np.array([1.0, -0.5, np.inf, 0.5])


def of_any(kind, c, v):
    return of_point(LOW.clip(-1, 7), c, v) if kind == "point" else of_range(LOW, HIGH, c, v)


def test_a_point_and_a_range_are_those_of_the_normal():
    np.testing.assert_allclose(of_point(C, 0.1, V).log, norm.logpdf(C, 0.1, np.sqrt(V)))
    sd = np.sqrt(V)
    np.testing.assert_allclose(
        of_range(LOW, HIGH, C, V).log, np.log(norm.cdf(HIGH, C, sd) - norm.cdf(LOW, C, sd))
    )


@pytest.mark.parametrize("kind", ["point", "range"])
def test_derivatives(kind):
    here, h = of_any(kind, C, V), 1e-5
    for name, move in (("c", (h, 0.0)), ("v", (0.0, h))):
        up, down = of_any(kind, C + move[0], V + move[1]), of_any(kind, C - move[0], V - move[1])
        np.testing.assert_allclose(getattr(here, name), (up.log - down.log) / (2 * h), rtol=1e-5, atol=1e-9)
        for other in "cv":
            curve = getattr(here, "".join(sorted(name + other)))
            np.testing.assert_allclose(
                curve, (getattr(up, other) - getattr(down, other)) / (2 * h), rtol=1e-4
            )


def test_a_range_far_out_has_digits():
    far = of_range(np.array([30.0, -41.0]), np.array([31.0, -40.0]), np.zeros(2), np.ones(2))
    np.testing.assert_allclose(far.log, [norm.logsf(30.0), norm.logcdf(-40.0)], rtol=1e-6)
    # The mean of the range pulls the centre as a point at its near end would.
    np.testing.assert_allclose(far.c, [30.0, -40.0], rtol=2e-3)


def test_a_report_without_a_range_is_a_point():
    low, high = np.array([0.0, 0.4, 6.0, -0.5]), np.array([1.0, 0.4, np.inf, -0.5])
    mixed, points, ranges = (
        of_report(low, high, C, V),
        of_point(low, C, V),
        of_range(low, np.where(low == high, high + 1.0, high), C, V),
    )
    np.testing.assert_allclose(mixed.log[[1, 3]], points.log[[1, 3]])
    np.testing.assert_allclose(mixed.vv[[0, 2]], ranges.vv[[0, 2]])
