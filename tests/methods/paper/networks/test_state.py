import pytest
import torch

from proxycal.errors import StoreError
from proxycal.methods.paper.networks.nets import Mlp, draw_parameters
from proxycal.methods.paper.networks.state import frozen, state_of
from proxycal.methods.paper.networks.train import generators_for


def test_a_state_that_does_not_fit_is_refused_by_name() -> None:
    state = state_of(Mlp(2, 3, 1, 8, 2, "batch"), 1)
    with pytest.raises(StoreError, match=r"hidden\.0\.weight.*\(8, 4\).*\(8, 3\)"):
        frozen(Mlp(1, 4, 1, 8, 2, "batch"), state)
    state.pop("out.bias")
    with pytest.raises(StoreError, match=r"out\.bias"):
        frozen(Mlp(1, 3, 1, 8, 2, "batch"), state)


def test_one_model_of_several_answers_alone_as_it_did_in_company() -> None:
    company = Mlp(3, 2, 1, 8, 2, "batch")
    draw_parameters(company, generators_for(range(3)))
    alone = Mlp(1, 2, 1, 8, 2, "batch")
    frozen(alone, state_of(company, 2))
    x = torch.randn(3, 2, 5, generator=torch.Generator().manual_seed(0))
    # A batch of three products and one of one may add in another order; answers are of size one.
    torch.testing.assert_close(alone(x[2:]), company.train(False)(x)[2:], rtol=0.0, atol=1e-6)
