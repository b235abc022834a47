"""The device without a GPU: a pretended one, on which no tensor may meet one that was not sent there."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

from proxycal.errors import SettingsError
from proxycal.methods.paper.content import fit_content, fit_content_file
from proxycal.methods.paper.networks import train as loop
from proxycal.methods.paper.networks.device import device_named, devices
from proxycal.methods.paper.networks.rows import write_rows
from proxycal.methods.paper.score import fit_bias_vae
from proxycal.methods.paper.settings import PaperSettings

GPU = torch.device("cuda:0")
# How a module moves its parameters.
MAY_MEET = {"_has_compatible_shallow_copy_type", "__set__"}
TINY = {"width": 4, "epochs": 2, "batch_size": 16, "min_steps": 0}


class Pretended(TorchFunctionMode):
    """Computes on the CPU, remembers which tensors were sent to the GPU, and refuses what a GPU would."""

    def __init__(self) -> None:
        super().__init__()
        self.steps_there = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        device = kwargs.pop(
            "device", next((value for value in args if isinstance(value, torch.device)), None)
        )
        if name == "to" and device is not None:
            return self._mark(args[0].clone(), device == GPU)
        if name == "cpu":
            return self._mark(args[0].clone(), False)
        inputs = _tensors([args, kwargs])
        there = {_is_there(tensor) for tensor in inputs if tensor.dim() > 0}
        if len(there) > 1 and name not in MAY_MEET:
            raise AssertionError(f"{name}: tensors of the CPU meet tensors of the GPU")
        if name == "numpy" and True in there:
            raise AssertionError("a tensor of the GPU has no numpy array")
        result = func(*args, **kwargs)
        if func == torch.Tensor.data.__set__:
            self._mark(args[0], _is_there(args[1]))
        if name == "backward":
            self.steps_there += _is_there(args[0])
        sent = device == GPU or any(_is_there(tensor) for tensor in inputs)
        for tensor in _tensors([result]):
            self._mark(tensor, sent)
        return result

    @staticmethod
    def _mark(tensor: torch.Tensor, there: bool) -> torch.Tensor:
        tensor.__dict__["there"] = there
        return tensor


def _is_there(tensor: torch.Tensor) -> bool:
    return bool(tensor.__dict__.get("there", False))


def _tensors(nested: Any) -> list[torch.Tensor]:
    if isinstance(nested, torch.Tensor):
        return [nested]
    inside = nested.values() if isinstance(nested, dict) else nested
    return (
        [tensor for value in inside for tensor in _tensors(value)]
        if isinstance(nested, dict | list | tuple)
        else []
    )


def _all_fits(folder: Path) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    P, E, y = rng.normal(size=(60, 3)), rng.normal(size=(60, 2)), rng.normal(size=60)
    w = rng.uniform(1, 2, 60)
    # Unequal numbers of rows, so that there is padding and a mask.
    train, validation = [np.arange(40), np.arange(41)], [np.arange(50, 60), np.arange(48, 60)]
    write_rows(folder / "rows", [np.column_stack([P, E, w])])
    content = PaperSettings(d_z=2, **TINY)
    fits = [
        *fit_content(P, E, w, train, validation, content, seed=0),
        fit_content_file(folder / "rows", (3, 2), train[0], validation[0], content, seed=0),
        *fit_bias_vae(y, P, E, w, train, validation, PaperSettings(norm="layer", **TINY), seed=0),
    ]
    return [fit.tensors for fit in fits]


def test_all_of_a_step_happens_on_the_device_and_the_fit_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_cpu = _all_fits(tmp_path)
    monkeypatch.setattr(loop, "device_named", lambda name: GPU)
    with Pretended() as gpu:
        on_gpu = _all_fits(tmp_path)
    # Two epochs of three steps, in three runs: two models, one from a file, and four of stage 2.
    assert gpu.steps_there == 3 * 2 * 3
    for there, here in zip(on_gpu, on_cpu, strict=True):
        for name, value in here.items():
            np.testing.assert_array_equal(there[name], value, err_msg=name)


def test_auto_is_the_first_gpu_and_else_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for gpus, mps, expected in (
        (0, False, ("cpu",)), (2, False, ("cuda:0", "cuda:1", "cpu")), (0, True, ("mps", "cpu")),
    ):  # fmt: skip
        monkeypatch.setattr(torch.cuda, "device_count", lambda gpus=gpus: gpus)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda mps=mps: mps)
        assert devices() == expected
        assert device_named("auto") == torch.device(expected[0])
        assert device_named("cpu") == torch.device("cpu")


def test_a_device_that_is_not_available_is_refused_with_those_that_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert device_named("cuda") == torch.device("cuda:0")
    assert device_named("cuda:1") == torch.device("cuda:1")
    for absent in ("cuda:2", "mps", "cuda:x", "tpu"):
        with pytest.raises(
            SettingsError, match=rf"'{absent}' is not available.*\"cuda:0\", \"cuda:1\", \"cpu\""
        ):
            device_named(absent)


def test_a_fit_asks_for_the_device_of_its_settings() -> None:
    rows = np.random.default_rng(0).normal(size=(20, 2))
    settings = PaperSettings(d_z=1, device="cuda:1000", **TINY)
    with pytest.raises(SettingsError, match="'cuda:1000' is not available"):
        fit_content(rows, rows, np.ones(20), [np.arange(15)], [np.arange(15, 20)], settings, seed=0)
