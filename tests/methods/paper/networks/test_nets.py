import pytest
import torch
from torch import nn

from proxycal.methods.paper.networks.nets import BatchNormLayer, LayerNormLayer, Mlp, draw_parameters
from proxycal.methods.paper.networks.train import generators_for


def _normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _drawn(module: nn.Module, n_models: int) -> nn.Module:
    draw_parameters(module, generators_for(range(n_models)))
    return module.double()


@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_a_network_is_its_layers_one_after_the_other(norm: str) -> None:
    net, apart = (_drawn(Mlp(2, 3, 2, width=8, depth=3, norm=norm), 2) for _ in range(2))
    x = _normal(2, 3, 30)
    y = x
    for layer in apart.hidden:
        y = layer(y, None)
    torch.testing.assert_close(net(x), apart.out(y))
    for name, value in apart.state_dict().items():
        torch.testing.assert_close(net.state_dict()[name], value)


def test_a_batch_norm_layer_equals_torch_in_training_and_afterwards() -> None:
    ours = _drawn(BatchNormLayer(2, 3, 5), 2)
    x = _normal(2, 3, 40)
    for f in range(2):
        theirs = nn.Sequential(nn.Linear(3, 5, bias=False), nn.BatchNorm1d(5), nn.ReLU()).double()
        theirs[0].weight.data = ours.weight.data[f].clone()
        fresh = BatchNormLayer(1, 3, 5).double()
        fresh.weight.data = ours.weight.data[f : f + 1].clone()
        for _ in range(3):
            torch.testing.assert_close(fresh(x[f : f + 1], None)[0].T, theirs(x[f].T))
        torch.testing.assert_close(fresh.train(False)(x[f : f + 1], None)[0].T, theirs.train(False)(x[f].T))


def test_a_layer_norm_layer_equals_torch() -> None:
    ours = _drawn(LayerNormLayer(1, 3, 5), 1)
    theirs = nn.Sequential(nn.Linear(3, 5), nn.LayerNorm(5), nn.ReLU()).double()
    theirs[0].weight.data, theirs[0].bias.data = ours.linear.weight.data[0], ours.linear.bias.data[0, :, 0]
    x = _normal(1, 3, 9)
    torch.testing.assert_close(ours(x, None)[0].T, theirs(x[0].T))


def test_padding_does_not_touch_the_rows_or_the_running_statistics() -> None:
    short = _normal(1, 3, 20)
    padded = torch.cat([short, 100 * torch.ones(1, 3, 4, dtype=torch.float64)], dim=2)
    mask = (torch.arange(24) < 20).double()[None, None, :]
    plain, with_mask = _drawn(BatchNormLayer(1, 3, 5), 1), _drawn(BatchNormLayer(1, 3, 5), 1)
    torch.testing.assert_close(with_mask(padded, mask)[:, :, :20], plain(short, None))
    torch.testing.assert_close(with_mask.running_mean, plain.running_mean)
    torch.testing.assert_close(with_mask.running_variance, plain.running_variance)


@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_the_models_of_a_batch_do_not_see_each_other(norm: str) -> None:
    together = _drawn(Mlp(3, 4, 2, width=8, depth=3, norm=norm), 3)
    x = _normal(3, 4, 30)
    before = together(x)
    x[0] = x[0] ** 2
    after = together(x)
    assert not torch.allclose(before[0], after[0])
    torch.testing.assert_close(before[1:], after[1:])


def test_a_models_parameters_do_not_depend_on_how_many_stand_beside_it() -> None:
    alone, beside = Mlp(1, 4, 2, 8, 2, "batch"), Mlp(3, 4, 2, 8, 2, "batch")
    draw_parameters(alone, generators_for([7]))
    draw_parameters(beside, generators_for([1, 7, 2]))
    for name, value in alone.state_dict().items():
        assert torch.equal(value[0], beside.state_dict()[name][1]), name


def test_depth_counts_weight_layers() -> None:
    assert len(Mlp(1, 4, 2, 8, 1, "batch").hidden) == 0
    assert [tuple(p.shape) for p in Mlp(1, 4, 2, 8, 2, "batch").parameters() if p.shape[-1] > 1] == [
        (1, 8, 4),
        (1, 2, 8),
    ]
