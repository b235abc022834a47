"""Every number that decides a verdict or a finding, once, with the reason or the measurement behind it.

The verdict and the words that explain it read the same names from here. p-values of checks were set on the
worlds of `proxycal bench violations` with other seeds than the benchmark reports: 0.001 or less where many
checks are made of every fit, larger only where a false alarm costs little.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Cut-offs of the verdict and the findings; see the comment above each field."""

    # --- the model comparison: with a bias against without ---

    # A bias that depends on E must beat the same bias without E in a likelihood ratio test at this p. The
    # two models are nested and regular, so the test is exact enough; BIC would charge log(n) for every
    # column of E and so deny a plain dependence wherever there are many columns.
    gate_test_p: float = 1e-3
    # Once there is a bias, sizes that vary replace one size if a likelihood ratio test rejects it at this p.
    # A dozen laws are tried: together they replace it by chance in one table of a hundred.
    sizes_test_p: float = 1e-3
    # A bias that trails by less than this part of what its parameters cost in BIC is a hint of one.
    hint_part: float = 0.25
    # A model this far (in BIC) behind does not catch up any more: its comparison is decided although it has
    # not converged.
    too_far_behind: float = 15.0
    # The lead of a bias over the best model without one is exact up to here (in BIC); a model without one
    # that is further behind is not maximised, since nothing depends on how much further.
    exact_lead: float = 1000.0
    # Log likelihood left to gain, by a quadratic, below which a fit is at its maximum.
    decrement: float = 1e-2

    # --- what makes a claimed bias doubtful ---

    # Partial R2 of the proxies given E below which they say nothing about the content of the outcome; and the
    # p-value below which what they explain is no accident.
    relevance: float = 0.01
    relevance_p: float = 0.01
    # Share of the biased rows inside the central 98% of the unbiased rows' content below which too few have
    # anything to be compared with.
    overlap: float = 0.5
    overlap_tail: float = 0.01
    # alpha in residual sds: below the first a shift is told from noise by E alone, so E must be strong, and
    # where the moments, which use nothing else, contradict two values, the bias must lead by `block_z` over
    # blocks of rows: noise whose spread goes with E led by 14 to 71 in BIC with 0.7 sds, but by z < 2, true
    # biases of one sd by z > 3.5; from the second on a mixture of two normals has two modes (at equal
    # shares), and rows stand apart.
    separation: float = 1.0
    apart: float = 2.0
    # With more of the rows than this called biased, the others may as well be outliers of honest reports.
    nearly_all: float = 0.95
    # The same where sizes vary by more than this many residual sds: then the few others are a tail of the
    # rest.
    nearly_all_loose: float = 0.85
    loose_sizes: float = 0.5
    # A share below this is a tail of the outcome unless its law is plain, it stands this many sds apart and
    # leads by `narrow_gain`.
    rare: float = 0.05
    rare_apart: float = 3.0
    # A lead in BIC up to this one (odds of 20 to 1) is a claim only of a bias of one size, this many sds
    # away. Sizes that vary are measured against what they leave as noise: in exponential noise one of 200
    # tables led by 1.6 with a third of the true size.
    narrow_gain: float = 6.0
    narrow_apart: float = 4.0
    # In fewer rows than these it grows as rows get fewer: of 100 tables of 100 rows without a bias one led
    # by 2 with three states, and among those with a bias of 3 sds one whose lead of 6 was real took y_cal
    # further from the truth than the report.
    few_rows: float = 200.0
    # A standard error above this part of the size leaves open whether it is twice or half of what is said.
    vague: float = 0.25
    # Validated rows too few to learn from contradict an answer below this p. One row in so many may be
    # anything, a slip of the audit or of the reporter: so one row never contradicts, and two do.
    truths_p: float = 1e-3
    slips: float = 0.02
    # Share of who is biased that E decides alone, 1 - mean(pi(1-pi)) / (pibar(1-pibar)): above, a bias
    # cannot be told from an effect of E on the true outcome.
    gate_alone: float = 0.85
    # Share of the biased whose size has the wrong sign: above, the law is a shape of the outcome.
    against: float = 0.03
    # Below this p the proxies say who is biased beyond E and content: a group of content, not of reporters.
    gate_proxies_p: float = 1e-4
    # Rows depend along their order if their residuals' autocorrelation exceeds both; a bias is then claimed
    # only if it leads by this z over blocks of rows.
    autocorrelation: float = 0.1
    autocorrelation_se: float = 5.0
    block_z: float = 3.0
    # Where columns of E times log n are more than this part of n, a gate cannot pay for itself.
    columns_part: float = 0.1
    # Staiger and Stock's rule of thumb: below this first-stage F, instrumental estimates and errors mislead.
    weak_f: float = 10.0
    # Moments and the exact answer cannot both be right this many standard errors, and this part of alpha,
    # apart.
    disagree_se: float = 4.0
    disagree_part: float = 0.3
    # Moments contradict the exact answer only where their own test of a two-valued bias does not reject at
    # this p. Laxer than their own verdict, below: moments that are in doubt are no witness.
    moments_heard_p: float = 0.05
    # Below this p of a two-valued bias the moments withdraw their own answer.
    moments_contradicted_p: float = 0.01

    # --- what could hide a bias where none is found ---

    # Two components of the residual are two humps if each has this share of the rows and their means are
    # `apart` sds of the wider one from each other.
    hump_share: float = 0.15
    # Where nine of ten such tables would show a bias only from this many residual sds on, "no bias found"
    # would say next to nothing.
    detectable: float = 3.0
    # Below these p the environment says who rounds, or who is on a spike, beyond the proxies: rounding
    # down, or not reporting at all, is then a bias that no shift describes.
    rounding_p: float = 1e-4
    spike_p: float = 1e-3
    # Below this p more rows lie far above the best model without a bias than it expects: a rare bias may
    # hide there.
    tail_p: float = 0.05
    # Below this p a proxy is moved by E other than through content. Laxer than `proxy_p`, which accuses
    # a proxy: here a false alarm costs no more than "no bias found".
    moved_p: float = 0.01
    # Gap between the 95% of one group and the 5% of another, in sds within: normal groups so far apart share
    # a twentieth of their content. A single hump, however flat, shows 0.35 at most.
    gap: float = 0.6
    # Share of who is in which group that E explains, from which on it tells the groups apart.
    told: float = 0.5

    # --- findings ---

    # Below this p the environment predicts who is biased.
    gate_p: float = 0.01
    # Below this p the size of the bias differs; 0.05 since a size that varies changes no verdict.
    constancy_p: float = 0.05
    # Two independent estimates differ by more than this many standard errors in one of 370 agreeing cases.
    agreement_se: float = 3.0
    # Chance of a false alarm of each test of the outcome (direct effect of E, normal noise, even noise): with
    # three of them, far under one in a hundred together.
    outcome_p: float = 1e-3
    noise_p: float = 1e-3
    # The same of all proxies together. Low, since an outcome that the model does not quite fit lets p_biased
    # go a little with the proxies.
    proxy_p: float = 1e-5
    # BIC gain from which a proxy, taken as an outcome, has a bias of its own; curved proxies reach a little.
    own_bias_gain: float = 15.0
    # Standard errors by which one row, or cluster, moves alpha. A wild one widens the error too: 1 is the
    # most.
    heavy_row: float = 0.7
    heavy_cluster: float = 0.8
    # Models this close in BIC to the best explain the table about as well. Their sizes agree if they differ
    # by no more than this many standard errors, or this part of the size.
    close_bic: float = 6.0
    close_se: float = 3.0
    close_part: float = 0.1

    # --- spikes: values of the outcome that many rows share, such as exact zeros ---

    # A value held by this share of the rows gets models with a spike. Low: a model that is not needed loses
    # the comparison, one that is not tried cannot win it. The audit of a table
    # warns from a higher share on (REPORTED_SPIKE in table/questions), which decides no verdict.
    modelled_spike: float = 0.03


THRESHOLDS = Thresholds()
