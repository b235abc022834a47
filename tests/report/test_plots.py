"""What the pictures draw, read back from the axes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from scipy.ndimage import gaussian_filter1d
from scipy.special import ndtr

from proxycal.errors import SettingsError
from proxycal.report import plots
from proxycal.report.plots.residual import PER_BAR, SMOOTH, smoothed
from proxycal.report.plots.who import MAX_COLUMNS
from proxycal.report.rows import MAX_ROWS
from proxycal.report.style import BIASED, MUTED, UNBIASED
from proxycal.report.summary import shares
from proxycal.result import Curve, EnvironmentColumn, Estimate, Gaps

# Validated rows, sizes that vary and graded biases are no part of the example: they are drawn elsewhere.
SHOWN = [kind for kind in plots.KINDS if kind not in ("gaps", "graded", "sizes")]


def texts(ax):
    return [text.get_text() for text in ax.texts] + [label.get_text() for label in ax.get_yticklabels()]


@pytest.mark.parametrize("kind", SHOWN)
def test_every_kind_draws_into_the_axes_it_is_given(kind, example):
    ax = Figure().add_subplot()
    assert plots.draw(kind, example(), ax) is ax
    assert ax.has_data()


@pytest.mark.parametrize("kind", SHOWN)
def test_every_kind_makes_its_own_figure_and_survives_few_rows(kind, example):
    ax = plots.draw(kind, example(n=3))
    ax.figure.canvas.draw()
    assert ax.figure.axes[0] is ax


def test_a_wrong_kind_lists_the_right_ones(example):
    with pytest.raises(
        SettingsError, match="estimates, gaps, graded, residual, sizes, calibrated, content, totals, who"
    ):
        plots.draw("pie", example())


def test_the_histogram_splits_rows_by_probability(example):
    data = example(weights=np.full(400, 2.0))
    ax = plots.draw("residual", data)
    bars = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    height = {
        colour: sum(bar.get_height() for bar in bars if np.allclose(bar.get_facecolor(), _rgba(colour)))
        for colour in (UNBIASED, BIASED)
    }
    assert height[UNBIASED] == pytest.approx(2 * np.sum(1 - data.rows.predicted.p_biased))
    assert height[BIASED] == pytest.approx(2 * np.sum(data.rows.predicted.p_biased))
    assert ax.get_ylabel() == "weight"


@pytest.mark.parametrize(("direction", "sign"), [("over", 1.0), ("under", -1.0)])
def test_the_estimate_is_marked_on_its_own_side(direction, sign, example):
    ax = plots.draw("residual", example(direction=direction))
    assert sign * 5.021 in [line.get_xdata()[0] for line in ax.lines]


def test_the_cloud_shows_reported_against_calibrated(example):
    data = example()
    points = plots.draw("calibrated", data).collections[0]
    assert np.array_equal(
        np.asarray(points.get_offsets()), np.column_stack([data.rows.y_obs, data.rows.predicted.y_cal])
    )
    likely = data.rows.predicted.p_biased > 0.5
    red, _, blue, _ = np.asarray(points.get_facecolors()).T
    assert (red > blue)[likely].all()
    assert (blue > red)[~likely].all()


def test_the_fitted_mixture_counts_rows_like_the_bars(example):
    data = example()
    ax = plots.draw("residual", data)
    bars = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    width = bars[0].get_width()
    curve = {line.get_label(): line for line in ax.lines}["fitted model"]
    x, y = curve.get_data()
    # Half of 400 rows lie around 0 and half around 5: the area under the curve, in bars, is all of them.
    assert np.trapezoid(y, x) / width == pytest.approx(400, rel=0.02)
    at_zero = 400 * 0.5 * (ndtr(width / 2 / 0.5) - ndtr(-width / 2 / 0.5))
    assert np.interp(0.0, x, y) == pytest.approx(at_zero, rel=0.02)


def test_the_fitted_curve_is_smooth_where_rows_share_one_value(example):
    # Half of the rows share one value; less their content, it is one step for each of them.
    at = np.linspace(-10.0, 20.0, 3001)
    steps = np.random.default_rng(1).normal(-4.0, 1.0, 60)
    spike = np.mean(at[:, None] >= steps, axis=1)
    ax = plots.draw("residual", example(curve=Curve(at, 0.5 * spike, 0.5 * ndtr((at - 5.0) / 0.5))))
    x, y = {line.get_label(): line for line in ax.lines}["fitted model"].get_data()
    turns = np.sum(np.diff(np.sign(np.diff(y[x < 0.0]))) != 0)
    assert turns <= 4, f"the curve turns {turns} times"
    assert (y >= 0.0).all()


def test_the_main_picture_is_the_histogram_or_the_errors_of_validated_rows(example):
    fit = example()
    assert plots.main_plot(fit).kind == "residual"
    gaps = Gaps(np.zeros(3), np.ones(3), np.ones(3))
    validated = replace(
        fit, method_fit=replace(fit.method_fit, details=replace(fit.method_fit.details, gaps=gaps))
    )
    assert plots.main_plot(validated).kind == "gaps"


def test_the_gate_marks_what_moves_the_odds(example):
    ax = plots.draw("gate", example())
    dots = {float(line.get_xdata()[0]): line for line in ax.lines if len(line.get_xdata()) == 1}
    assert [dots[odds].get_color() for odds in (1.9, 4.1, 0.97)] == [BIASED, BIASED, MUTED]
    assert ax.get_xscale() == "log"
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == ["hazard: tornado", "hazard: wildfire", "income, 1 sd more"]
    assert "reference level" in plots.KINDS["gate"].caption(example())


def test_pictures_that_a_result_lacks_say_what_to_do(example):
    with pytest.raises(SettingsError, match="method='exact'"):
        plots.draw("gate", example(gate=()))
    with pytest.raises(SettingsError, match=r"power\(\)"):
        plots.draw("power", example(questions={}))
    with pytest.raises(SettingsError, match="environment"):
        plots.draw("who", without_environment(example()))


def without_environment(fit):
    return replace(fit, rows=replace(fit.rows, environment=()))


def test_a_page_shows_what_a_result_has(example):
    def kinds(fit):
        return {plot.kind for plot in plots.plots_of(fit)}

    every = set(SHOWN)
    assert kinds(example()) == every
    assert kinds(example(questions={}, gate=())) == every - {"power", "gate"}
    assert kinds(without_environment(example())) == every - {"who"}
    left_alone = example(verdict="no bias found")
    assert kinds(left_alone) == every - {"calibrated", "content", "totals"}
    assert plots.draw("calibrated", left_alone).has_data()  # for those who ask for it


def test_without_a_bias_the_residuals_are_of_one_colour_around_zero(example):
    fit = example(verdict="no bias found", detectable=1.5)
    ax = plots.draw("residual", fit)
    assert {bar.get_facecolor() for bar in ax.patches} == {to_rgba(UNBIASED)}
    middle = sum(bar.get_height() * (bar.get_x() + bar.get_width() / 2) for bar in ax.patches) / fit.n
    assert middle == pytest.approx(0.0, abs=0.2)
    assert "would have been found" in texts(ax)
    assert any(list(line.get_xdata()) == [1.5, 1.5] for line in ax.lines)


def test_no_size_is_written_into_a_picture_where_none_is_identified(example):
    assert any("estimated bias 5.02" in text for text in texts(plots.draw("residual", example())))
    unclear = texts(plots.draw("residual", example(verdict="not identified")))
    assert "the bias, if there is one" in unclear
    assert not any("5.02" in text for text in unclear)


def test_sizes_are_drawn_only_where_they_differ(example):
    law = "who is biased depends on content too"
    with pytest.raises(SettingsError, match="all biased rows have a bias of the same size"):
        plots.draw("sizes", example(law=law))


def test_large_tables_are_thinned(example):
    points = plots.draw("content", example(n=10_000)).collections[0]
    assert len(np.asarray(points.get_offsets())) == MAX_ROWS


def test_who_shows_the_shares(example):
    data = example()
    ax = plots.draw("who", data)
    dots = [float(line.get_xdata()[0]) for line in ax.lines if line.get_marker() == "o"]
    assert sorted(dots) == pytest.approx(sorted(row.share for row in shares(data)))
    assert any("wildfire" in text for text in texts(ax))


def test_who_keeps_the_columns_that_matter(example):
    rng = np.random.default_rng(3)
    idle = [EnvironmentColumn(f"idle_{i}", rng.integers(0, 2, 400).astype(float)) for i in range(9)]
    telling = EnvironmentColumn("telling", (example().rows.predicted.p_biased > 0.5).astype(float))
    ax = plots.draw("who", example(environment=(*idle, telling)))
    assert "telling" in texts(ax)
    assert len([text for text in texts(ax) if text == "telling" or text.startswith("idle_")]) == MAX_COLUMNS


def test_an_estimator_without_an_answer_says_so(example):
    assert "no estimate" in texts(plots.draw("estimates", example()))


def test_infinite_ends_do_not_break_the_picture(example):
    row = Estimate("match", 2.0, float("nan"), float("-inf"), float("inf"))
    ax = plots.draw("estimates", example(estimate=row, estimates=(row,)))
    ax.figure.canvas.draw()
    assert np.isfinite(ax.get_xlim()).all()


def test_names_are_text_and_never_formulas(example):
    ax = plots.draw("calibrated", example(outcome=r"$\frac{1}{$"))
    ax.figure.canvas.draw()
    assert r"\$\frac{1}{\$" in ax.get_xlabel()


def test_the_fitted_curve_is_smoothed_as_by_scipy():
    heights = np.random.default_rng(0).random(500)
    np.testing.assert_allclose(smoothed(heights), gaussian_filter1d(heights, SMOOTH * PER_BAR), rtol=1e-12)


def test_drawing_leaves_pyplot_alone():
    code = "import sys, proxycal.report.plots; print('matplotlib.pyplot' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def _rgba(colour):
    from matplotlib.colors import to_rgba

    return to_rgba(colour)
