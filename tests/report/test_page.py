"""The page as a browser reads it: parsed, not matched."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pytest

from proxycal.report import pictures
from proxycal.report.helps import helps
from proxycal.report.page import render
from proxycal.result import EnvironmentColumn, Estimate, Finding, GateTerm
from proxycal.table.surface import speaking

HOSTILE = '<img src=x onerror="alert(1)">'


class Page(HTMLParser):
    """Tags, attributes, ids and visible text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.links, self.handlers = Counter(), [], [], []
        self.headings, self.text = [], []
        self._skip = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self._skip = tag in ("style", "script")
        if tag in ("h1", "h2", "h3"):
            self.headings.append(int(tag[1]))
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "xlink:href", "action", "data"):
                self.links.append(value)
            if name.startswith("on"):
                self.handlers.append((tag, name))

    def handle_endtag(self, tag):
        self._skip = False

    def handle_data(self, data):
        if not self._skip:
            self.text.append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


@pytest.fixture(scope="module")
def text(example):
    """The page about the known result."""
    return render(example())


@pytest.fixture
def without_figures(monkeypatch):
    """Pages for questions about their words: most of the time of a page goes into its figures."""
    monkeypatch.setattr(pictures, "svg", lambda plot, fit, wide=False: "")


def test_the_answer_stands_on_the_page(example, text):
    data = example()
    words = Page(text).words
    assert "bias found" in words
    assert "loss is over-reported by about 5.02 (95% interval 4.92 to 5.12)" in words
    for row in data.estimates:
        assert row.note in words
    assert "Add a proxy of the outcome." in words
    assert "seed 7" in words
    assert "--seed 7" in words


@pytest.mark.parametrize("verdict", ["no bias found", "not identified"])
def test_without_a_bias_the_page_says_that_nothing_was_changed(verdict, example):
    page = Page(render(example(verdict=verdict)))
    assert "loss is left as reported." in page.words
    assert "Reported against calibrated" not in page.words
    assert "Hardly." in page.words


def test_what_would_help_is_listed_where_nothing_is_identified(example, without_figures):
    fit = example(verdict="not identified")
    with speaking("shell"):
        page = Page(render(fit))
    assert "What would help, most helpful first" in page.words
    for item in helps(fit):
        assert (
            item.text.replace("`plan_audit`", "proxycal audit").replace("`band`", "proxycal band")
            in page.words
        )
        assert item.command in page.words
    assert "What would help" not in Page(render(example())).words


def test_a_remedy_is_worded_for_the_reader(example, without_figures):
    finding = Finding("Rows?", "few", "Too few.", "Fit with missing='impute', or ask `power()`.", ok=False)
    with speaking("shell"):
        text = render(example(findings=(finding,)))
    assert "Fit with --missing impute, or ask <code>proxycal power RUN</code>." in text


def test_a_statistic_that_its_reading_says_is_not_said_twice(example, without_figures):
    said = Finding("Sees?", "they explain 91%", "The proxies count: they explain 91% of it.", "", ok=False)
    unsaid = Finding("Fast?", "t = 2.5", "Quite.", "", ok=False)
    text = render(example(findings=(said, unsaid)))
    assert '<p class="stat">t = 2.5</p>' in text
    assert '<p class="stat">they explain' not in text


def test_the_causal_picture_names_the_columns_and_counts_those_left_out(example, without_figures):
    names = tuple(f"proxy_{i}" for i in range(9))
    text = render(example(proxies=names, direction="under"))
    drawing = text[text.index('<svg class="diagram"') :]
    drawing = drawing[: drawing.index("</svg>")]
    shown = re.findall(r'<text class="name"[^>]*>([^<]*)</text>', drawing)
    assert shown == ["hazard", "income", "proxy_0", "proxy_1", "proxy_2", "and 6 more", "loss"]
    assert "− alpha" in drawing
    assert drawing.count("<line") == 5
    assert "proxy_8" in drawing[: drawing.index(">")]


def test_what_was_asked_of_the_fit_stands_on_the_page(example, text, without_figures):
    words = Page(text).words
    assert "How much of the bias would a proxy have to carry" in words
    assert "The verdict changes once a proxy carries 25% of the bias." in words
    assert "detect a bias of 1.5 sd" in words
    without = Page(render(example(questions={}, gate=())))
    assert "Attempts to refute it" not in without.words
    assert "Odds ratio" not in without.words


def test_the_gate_is_a_table_of_odds(text):
    words = Page(text).words
    assert "Odds ratio" in words
    assert "hazard: wildfire, not flood 1.41 4.10 2.2 to 7.6" in words
    assert "income, 1 sd more" in words


def test_every_user_string_stays_text(example, refutation):
    row = Estimate(HOSTILE, 1.0, 0.1, 0.8, 1.2, HOSTILE)
    n = 400
    data = example(
        outcome=HOSTILE,
        proxies=(f"{HOSTILE} 1",),
        estimate=row,
        estimates=(row,),
        findings=(Finding(HOSTILE, HOSTILE, HOSTILE, HOSTILE, ok=False),),
        environment=(
            EnvironmentColumn(
                f"{HOSTILE} 2", np.arange(n) % 2.0, (HOSTILE, "</svg><script>alert(1)</script>")
            ),
            EnvironmentColumn('x" onload="alert(1)', np.arange(n, dtype=float)),
        ),
        cluster=f"{HOSTILE} 3",
        effect=f"by:{HOSTILE}",
        versions={HOSTILE: HOSTILE},
        gate=(GateTerm(HOSTILE, HOSTILE, HOSTILE, 2.0, 1.0, 3.0),),
        questions={HOSTILE: refutation(HOSTILE, False, HOSTILE, HOSTILE, {HOSTILE: HOSTILE})},
    )
    text = render(data)
    page = Page(text)
    assert page.tags["img"] == 0
    # Its own two, and the browser runs the one whose hash the policy names.
    assert page.tags["script"] == 2
    assert page.handlers == []
    assert HOSTILE not in text
    assert HOSTILE in page.words


def test_a_browser_runs_no_script_but_that_of_the_page(text):
    (script,) = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert not re.search(r"https?:|fetch|eval|innerHTML|import\b", script)


def test_the_rows_that_change_most_come_first_and_each_dot_has_its_row(example, text):
    data = example()
    listed = json.loads(re.findall(r'id="row-data">(.*?)</script>', text, flags=re.DOTALL)[0])
    assert listed["heading"] == "index"
    assert len(listed["data"]) == len(listed["dots"]) == 400
    shift = [abs(row[1] - row[2]) for row in listed["data"]]
    assert np.all(np.diff(shift) < 1e-3)  # the page rounds to six digits
    # Dots stand in the order of the rows of the fit.
    y = [listed["data"][line][1] for line in listed["dots"]]
    assert y == pytest.approx(data.rows.y_obs.tolist(), rel=1e-5)
    dots = re.findall(r'data-dots="([^"]*)"', text)
    assert [len(places.split()) for places in dots] == [800, 800]
    assert Page(text).words.count("100%") >= 1


def test_parts_of_pictures_say_their_values(text):
    tips = re.findall(r'data-tip="([^"]*)"', text)
    assert "match: 5.02, interval 4.92 to 5.12" in tips
    assert any(tip.endswith("biased") and " rows, of which " in tip for tip in tips)
    assert 'id="residual-tip' not in text


def test_nothing_is_fetched(text):
    page = Page(text)
    assert page.links
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in page.links)


def test_ids_are_unique_and_every_link_has_its_target(text):
    page = Page(text)
    assert [name for name, count in Counter(page.ids).items() if count > 1] == []
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)


def test_landmarks_headings_and_picture_texts(text):
    page = Page(text)
    for landmark in ("header", "nav", "main", "footer", "h1"):
        assert page.tags[landmark] == 1
    assert page.headings[0] == 1
    assert all(later - earlier <= 1 for earlier, later in zip(page.headings, page.headings[1:], strict=False))
    # Estimates, residual, content, calibrated, totals, who, gate, power, and the causal diagram.
    assert text.count('role="img" aria-label="') == 9
    # Those that take the whole page, residual and totals, are drawn for a narrow screen as well.
    assert page.tags["svg"] == 11


def test_totals_of_all_rows_and_of_groups_stand_in_a_table(text):
    assert '<th scope="row">All rows</th>' in text
    assert '<th scope="row">hazard: fire</th>' in text
    assert "hazard: overall" not in text
    assert "130 to 180" in text


def test_rows_that_enter_totals_as_reported_are_told(text):
    assert "3 rows have missing values and no answer" in Page(text).words


def test_figures_follow_the_theme(text):
    figures = text[text.index("<main") :]
    for colour in ("#1b1f24", "#5b6470", "#0072b2", "#d55e00"):
        assert colour not in figures
    assert "var(--biased)" in figures
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_same_data_same_bytes_and_a_size_one_can_mail(example):
    data = example(n=20_000)
    text = render(data)
    assert text == render(data)
    assert len(text.encode()) < 3_000_000


def test_a_sample_is_called_a_sample(example, without_figures):
    assert "random sample of 400 of the 1,000,000 rows" in Page(render(example(of=1_000_000))).words


def test_other_alphabets_render_without_a_warning(example, recwarn):
    page = Page(render(example(outcome="損失額")))
    assert "損失額" in page.words
    assert [str(warning.message) for warning in recwarn if "Glyph" in str(warning.message)] == []


def test_a_fit_without_numbers_still_makes_a_page(example):
    nothing = Estimate("match", *[float("nan")] * 4, "no groups")
    page = Page(
        render(example(verdict="not identified", estimate=nothing, estimates=(nothing,), findings=()))
    )
    assert "n/a" in page.words
    assert "no groups" in page.words
