import math

import pytest
import torch

from proxycal.methods.paper.networks.gaussian import (
    LOG_VARIANCE_RANGE,
    kl_divergence,
    mean_and_log_variance,
    negative_log_likelihood,
    observed,
    sample,
)


def _t(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_kl_equals_its_monte_carlo_mean() -> None:
    mean_q, log_var_q, mean_p, log_var_p = _t(0.7, -1.0), _t(-0.5, 0.3), _t(0.2, 0.0), _t(0.4, -0.2)
    noise = torch.randn(100_000, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x = sample(mean_q, log_var_q, noise)
    log_ratio = negative_log_likelihood(x, mean_p, log_var_p) - negative_log_likelihood(x, mean_q, log_var_q)
    # The Monte-Carlo standard error of these two means is about 0.004.
    torch.testing.assert_close(
        kl_divergence(mean_q, log_var_q, mean_p, log_var_p), log_ratio.mean(0), atol=0.02, rtol=0
    )


def test_kl_is_zero_between_equals_and_known_from_the_standard_normal() -> None:
    assert kl_divergence(_t(1.5), _t(-2.0), _t(1.5), _t(-2.0)).item() == pytest.approx(0)
    # KL(N(2, 1) || N(0, 1)) = 2^2 / 2
    assert kl_divergence(_t(2.0), _t(0.0), _t(0.0), _t(0.0)).item() == pytest.approx(2.0)


def test_the_likelihood_is_torchs_own() -> None:
    x, mean, log_variance = _t(0.3, -2.0), _t(1.0, 0.5), _t(-1.0, 0.8)
    theirs = torch.distributions.Normal(mean, torch.exp(0.5 * log_variance)).log_prob(x)
    torch.testing.assert_close(negative_log_likelihood(x, mean, log_variance), -theirs)


def test_log_variances_are_kept_where_the_loss_stays_finite() -> None:
    mean, log_variance = mean_and_log_variance(torch.tensor([[[1.0], [2.0], [-1e9], [1e9]]]))
    assert mean.flatten().tolist() == [1.0, 2.0]
    assert log_variance.flatten().tolist() == list(LOG_VARIANCE_RANGE)
    assert math.isfinite(float(kl_divergence(mean, log_variance, mean * 0, mean * 0).sum()))


def test_a_decoder_states_its_variance_itself_or_shares_one() -> None:
    output = torch.tensor([[[1.0], [2.0], [0.5], [1e9]]])
    mean, log_variance = observed(output, None)
    assert mean.flatten().tolist() == [1.0, 2.0]
    assert log_variance.flatten().tolist() == [0.5, LOG_VARIANCE_RANGE[1]]
    mean, log_variance = observed(output, torch.tensor([[[-1e9]]]))
    assert mean is output
    assert log_variance.item() == LOG_VARIANCE_RANGE[0]
