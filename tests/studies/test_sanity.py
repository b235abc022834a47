"""Sanity pages: the metrics against closed forms, and the files."""

from __future__ import annotations

import numpy as np
import pytest

from proxycal.datasets import load_jobs
from proxycal.studies.protocol import Truth, truth_of
from proxycal.studies.sanity import core_metrics, latents_page, write_pages
from proxycal.testing.simulation import inject_bias, simulate


def test_metrics_of_a_world_whose_r2_are_known():
    rng = np.random.default_rng(0)
    n = 200_000
    z = rng.normal(size=(n, 2))
    y = z[:, 0] + rng.normal(size=n)
    a = (rng.random(n) < 0.5).astype(float)
    P = np.column_stack([y + rng.normal(size=n) * np.sqrt(2), y + 4.0 * a])
    core = core_metrics(y + 4.0 * a, P, Truth(y, a, z, 4.0))
    assert core.y_true_by_z == pytest.approx(1 / 2, abs=0.01)
    assert core.y_true_by_each_z == pytest.approx([1 / 2, 0.0], abs=0.01)
    assert core.y_obs_by_y_true == pytest.approx(2 / (2 + 4), abs=0.01)  # var(4a) = 4
    assert core.gain_of_a == pytest.approx(4 / 6, abs=0.01)
    assert core.proxy_alignment == pytest.approx([np.sqrt(1 / 2), np.sqrt(2 / 6)], abs=0.01)
    assert core.proxy_leak == pytest.approx([0.0, 1.0], abs=0.01), "the second proxy saw the report"
    assert core.names == ("Z_1", "Z_2", "A", "Y_true", "Y_obs")
    assert core.correlation[3, 0] == pytest.approx(np.sqrt(1 / 2), abs=0.01)


def test_recovered_latents_are_drawn_on_the_true_scale():
    z = np.random.default_rng(1).normal(size=(50, 2))
    figure = latents_page(z, np.column_stack([-9.0 * z[:, 1], 2.0 + z[:, 0]]), "t")
    for k in range(2):
        drawn = figure.axes[k].lines[0].get_xydata()
        np.testing.assert_allclose(drawn[:, 0], z[:, k])
        np.testing.assert_allclose(drawn[:, 1], z[:, k], atol=1e-9)


def test_the_title_of_a_page_with_one_latent_is_not_cut_off():
    z = np.random.default_rng(0).normal(size=(50, 1))
    figure = latents_page(z, z, "dataset synthetic, n 10000, d_z 1, alpha 10, noise gaussian")
    figure.canvas.draw()
    title = next(text for text in figure.texts if text.get_text() == figure.get_suptitle())
    extent = title.get_window_extent(figure.canvas.get_renderer())
    assert 0 <= extent.x0 < extent.x1 <= figure.bbox.width


def test_all_four_pages_are_written_as_pdf_and_png(tmp_path):
    sim = simulate(n=60, d_z=2, d_e=2, n_proxies=2)
    curve = np.linspace(3.0, 1.0, 4)
    history = {
        f"{stage}.{rows}_{term}": curve
        for stage in ("content", "bias")
        for rows in ("train", "validation")
        for term in ("reconstruction", "kl", "loss")
    }
    paths = write_pages(sim, 5.0, tmp_path / "new", truth_of(sim, 5.0).z, history)
    assert [path.name for path in paths] == [
        "sanity.pdf",
        "sanity-1-histograms.png",
        "sanity-2-core.png",
        "sanity-3-latents.png",
        "sanity-4-elbo.png",
    ]
    assert paths[0].read_bytes().count(b"/Count 4") == 1
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths[1:])


def test_without_true_latents_two_pages_are_left(tmp_path):
    jobs = load_jobs()
    paths = write_pages(inject_bias(jobs.table, jobs.roles), 1.0, tmp_path)
    assert [path.name for path in paths[1:]] == ["sanity-1-histograms.png", "sanity-2-core.png"]
