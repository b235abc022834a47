"""What was found of a count or of a yes/no outcome, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxycal.methods.rates.thresholds import BEYOND_P, LEAD, LEAST_WRONG, PROXY_P
from proxycal.result import Finding

if TYPE_CHECKING:
    from proxycal.methods.rates.claims import Evidence, Found
    from proxycal.methods.rates.record import Name
    from proxycal.result import Estimate

NOTHING = "Nothing to do."
EXCLUSION = "if the environment acts on the truth only through content"
BEST_TENTH = "the tenth of the rows that report best"


def in_print(p: float) -> str:
    """A p-value for reading.

    >>> in_print(0.0123), in_print(1e-9)
    ('p = 0.012', 'p < 0.001')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def law(found: Found) -> str:
    """What the model says of the bias beyond one size."""
    return "" if found.gated else "the share that is reported changes with the environment"


def claim(name: Name, sign: float, e: Evidence, found: Found) -> str:
    """What follows the size: of what it is a share, relative to whom, under which assumption."""
    whole = f"in {found.share_biased:.0%} of the rows" if found.gated else f"relative to {BEST_TENTH}"
    known = e.grade == "validated"
    if name == "counts" and known and not found.gated:
        whole = "of the truth on average"
    if name == "binary":
        whole = f"of those whose true answer is {'no' if sign > 0.0 else 'yes'}"
        whole += "" if known else f", relative to {BEST_TENTH}"
    if known:
        return f"{whole}, as validated reports show"
    return whole if e.first else f"{whole}, {EXCLUSION}"


def findings(
    name: Name, sign: float, e: Evidence, found: Found, estimate: Estimate, n: int, events: float
) -> tuple[Finding, ...]:
    """The reason for the verdict first, then what it rests on."""
    if e.validated.enough:
        return validation(name, e), rows_and_events(name, n, events)
    made = [comparison(name, e, found)]
    if e.stated:
        made.append(exclusion(e))
    made += [beyond(e), instead(name, e, found)] if e.grade != "none" else [beyond(e)]
    if not found.gated and e.grade != "none":
        made.append(level(name))
    made.append(proxies(e))
    made.append(rows_and_events(name, n, events))
    return tuple(made)


def validation(name: Name, e: Evidence) -> Finding:
    """What the truths that are known say of the reports."""
    known, parts = e.validated, []
    if known.rows:
        parts.append(f"{known.wrong:,} of {known.rows:,} validated rows differ from their report")
    if known.checked:
        what = "events" if name == "counts" else "answers"
        parts.append(f"{known.confirmed:,.0f} of {known.checked:,.0f} checked {what} were confirmed")
    said = " and ".join(parts)
    shown = (
        "The share that is reported is learned from them, for rows like them"
        if known.shows_bias
        else f"That is no reporting bias ({LEAST_WRONG} errors are asked for)"
    )
    return Finding(
        question="What do validated reports show?",
        statistic=said,
        reading=f"{said[0].upper()}{said[1:]}. {shown}.",
        remedy="Nothing to do, if who was validated was chosen without a look at the report.",
        ok=True,
        topic="validated",
        value=float(known.errors),
    )


def comparison(name: Name, e: Evidence, found: Found) -> Finding:
    """The verdict and its grade."""
    what = "counts" if name == "counts" else "answers"
    through = e.stated and not e.first
    lead = e.lead_through_content if through else e.lead
    remedy = NOTHING
    if e.grade == "first":
        reading = (
            f"A reporting bias explains the {what} better than any effect that the environment could have "
            "on the "
            f"truth (log evidence {e.lead:+.1f}; {LEAD:g} is needed)."
        )
    elif e.grade == "second":
        reading = (
            f"Found {EXCLUSION}, as exclusion=True states: the environment moves the reported {what} beyond "
            f"content ({in_print(e.beyond_p)}, log evidence {lead:+.1f}). The {what} alone do not tell such "
            "a bias "
            "from an effect on the truth."
        )
        remedy = "Ask whether an environment column can act on the true outcome other than through content."
    elif e.verdict == "no bias found":
        reading = (
            f"Content explains the {what} as well without a reporting bias (log evidence {lead:+.1f}; "
            f"{LEAD:g} is "
            "needed). A share that everybody misses alike cannot be seen."
        )
    elif not e.stated and (e.moves_beyond or e.direct_lead >= LEAD):
        reading = (
            f"The environment moves the reported {what} beyond content ({e.direct_lead:+.1f}): by a "
            f"reporting bias or through an effect on the truth, and the {what} do not tell which (log "
            "evidence for a "
            f"bias {e.lead:+.1f}; {LEAD:g} is needed)."
        )
        remedy = (
            "If the environment can act on the true outcome only through content, state it with "
            "exclusion=True; "
            "else validate some rows (role truth)."
        )
    else:
        reading = (
            f"{_why_not(e, found)}, so nothing can be said about a reporting bias (log evidence {lead:+.1f})."
        )
        remedy = "Validate some rows (role truth), or mark reports known to be complete (role trusted)."
    return Finding(
        question=f"Does a reporting bias explain the {what} better than anything else?",
        statistic=f"log evidence {lead:+.1f}",
        reading=reading,
        remedy=remedy,
        ok=e.verdict != "not identified",
        topic="comparison",
        value=lead,
    )


def _why_not(e: Evidence, found: Found) -> str:
    if e.stated and not e.exclusion_stands:
        return "The data contradict the statement that the environment acts on the truth only through content"
    if not e.free.plausible:
        return (
            "What looks like a bias may as well be an effect of the environment on a group of rows "
            f"({e.free.share_biased:.0%} of the rows, {e.free.driven:.0%} of who is among them decided by "
            "the "
            "environment)"
        )
    return "The environment moves reports beyond content, but not as a bias would"


def exclusion(e: Evidence) -> Finding:
    """Whether the user's statement stands."""
    if e.exclusion_stands:
        reading = (
            "You state that the environment acts on the truth only through content (exclusion=True). "
            "Nothing in the "
            "table contradicts it, and nothing in it could show that it holds."
        )
    elif e.proxy_p < PROXY_P:
        reading = (
            "You state that the environment acts on the truth only through content, but it moves a proxy "
            "other than "
            f"through content ({in_print(e.proxy_p)}): content is not what the proxies have in common."
        )
    elif e.proxy_p != e.proxy_p:
        reading = (
            "You state that the environment acts on the truth only through content, but a single proxy does "
            "not "
            "tell content from its own noise."
        )
    else:
        reading = (
            "You state that the environment acts on the truth only through content, but an effect of its own "
            f"explains the reports better than a bias (log evidence {e.against_content:+.1f})."
        )
    return Finding(
        question="Does the environment act on the truth only through content?",
        statistic="stated",
        reading=reading,
        remedy=NOTHING
        if e.exclusion_stands
        else "Leave the proxy out that the environment moves, add proxies of its content, or fit without "
        "exclusion=True.",
        ok=e.exclusion_stands,
        topic="exclusion",
        value=e.against_content,
    )


def beyond(e: Evidence) -> Finding:
    """Whether the environment moves reports beyond content."""
    moved = e.moves_beyond
    return Finding(
        question="Does the environment move reports beyond content?",
        statistic=in_print(e.beyond_p),
        reading=f"The environment {'moves' if moved else 'does not move'} reports beyond content "
        f"({in_print(e.beyond_p)}; {BEYOND_P:g} is asked for).",
        remedy=NOTHING,
        ok=True,
        topic="beyond-content",
        value=e.beyond_p,
    )


def instead(name: Name, e: Evidence, found: Found) -> Finding:
    """What else would do the same: always said beside a claim."""
    if not found.gated:
        reading = (
            f"An effect of the environment on the truth itself that changes it to {found.reported:.0%} on "
            "average "
            "would look the same."
            if name == "counts"
            else "An effect of the environment on the truth itself would look nearly the same."
        )
    else:
        reading = (
            f"An unmeasured cause that the environment makes more or less frequent, present in "
            f"{found.share_biased:.0%} of the rows, and that multiplies the truth by {found.reported:.2g}, "
            "would look "
            "the same."
        )
    return Finding(
        question="What else would look like this bias?",
        statistic=f"{found.share_biased:.0%} of the rows, {found.reported:.0%}",
        reading=reading,
        remedy="Ask whether such a cause exists; validated rows (role truth) would tell.",
        ok=True,
        topic="instead",
    )


def level(name: Name) -> Finding:
    """Relative to what a graded report is."""
    return Finding(
        question="Relative to what is the share that is reported?",
        statistic=BEST_TENTH,
        reading=f"How much is reported is relative to {BEST_TENTH}: what these miss as well cannot be seen.",
        remedy="Mark reports known to be complete (role trusted), or validate some rows (role truth).",
        ok=True,
        topic="level",
    )


def proxies(e: Evidence) -> Finding:
    """Whether proxies see content alone."""
    alone = e.proxy_p != e.proxy_p
    fine = alone or e.proxy_p >= PROXY_P
    return Finding(
        question="Does the environment move the proxies through content alone?",
        statistic="one proxy" if alone else in_print(e.proxy_p),
        reading="A single proxy is taken as the content itself: with two or more its noise would be known."
        if alone
        else f"The environment moves the proxies {'as' if fine else 'other than'} through one content "
        f"({in_print(e.proxy_p)}).",
        remedy="Add a second proxy of the same content." if alone else NOTHING,
        ok=True,
        topic="proxies",
        value=None if alone else e.proxy_p,
    )


def rows_and_events(name: Name, n: int, events: float) -> Finding:
    """How much there is to learn from: of counts and of rare answers, events more than rows."""
    what = "events" if name == "counts" else "rows of value 1"
    return Finding(
        question="How much do the reports hold?",
        statistic=f"{n:,} rows, {events:,.0f} {what}",
        reading=f"The reports hold {events:,.0f} {what} in {n:,} rows: what can be found depends on both.",
        remedy=NOTHING,
        ok=True,
        topic="events",
        value=events,
    )


def no_fit(name: Name) -> Finding:
    """Where no model could be fitted."""
    return Finding(
        question="Could the outcome be fitted?",
        statistic="no model",
        reading=f"No model of {'counts' if name == 'counts' else 'yes and no'} could be fitted to the rows.",
        remedy="Drop collinear or nearly constant columns, or set family='normal'.",
        ok=False,
        topic="comparison",
    )
