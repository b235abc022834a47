from __future__ import annotations

from matplotlib.figure import Figure

from proxycal.report.style import WIDTH, label, plain, short, styled


def test_axes_that_were_given_are_used_and_others_are_made_at_column_width():
    given = Figure().add_subplot()
    assert styled(given, 3.0) is given
    own = styled(None, 3.0)
    assert own.figure.get_size_inches().tolist() == [WIDTH, 3.0]
    for ax in (given, own):
        assert not ax.spines["top"].get_visible()
        assert ax.spines["left"].get_visible()


def test_a_column_name_is_text_on_one_line_and_never_a_formula():
    ax = styled(None, 3.0)
    label(ax, "price\nin $x$", "")
    ax.figure.canvas.draw()
    assert ax.get_xlabel() == plain("price\nin $x$") == r"price in \$x\$"
    assert ax.get_ylabel() == ""


def test_a_long_name_is_cut_to_its_limit_and_a_short_one_is_not():
    assert short("abcdef", 6) == "abcdef"
    assert short("abcdefg", 6) == "abcde…"
    assert len(short("x" * 100)) == 24
