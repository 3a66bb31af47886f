"""Modules without memory, whose parameters and buffers are a bound set's. No device is needed."""

import numpy as np
import pytest
import troupe

torch = pytest.importorskip("torch")


def state_of(module):
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 8)
        self.second = torch.nn.Linear(8, 8)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


MAKES = {
    "linear": lambda: torch.nn.Linear(8, 3),
    "norm": lambda: torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8)),
    "tied": Tied,
    "shared": lambda: torch.nn.Sequential(*[torch.nn.Linear(8, 8)] * 3),
    "lstm": lambda: torch.nn.LSTM(8, 4, num_layers=2, batch_first=True),
    "transformer": lambda: torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True), 2,
        enable_nested_tensor=False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MAKES)
def test_a_skeleton_answers_as_the_module_does(name):
    skeleton = troupe.torch.skeleton(MAKES[name])
    x = torch.randn(5, 8) if name not in ("lstm", "transformer") else torch.randn(5, 6, 8)
    troupe.torch.warm_up(skeleton, x)
    assert all(one.is_meta for one in skeleton.state_dict().values())
    modules = [MAKES[name]().eval().requires_grad_(False) for _ in range(2)]
    sets = [state_of(one) for one in modules]
    for i in (0, 0, 1, 0, 1, 1):
        ours, theirs = troupe.torch.call(skeleton, sets[i], x), modules[i](x)
        if name == "lstm":
            ours, theirs = ours[0], theirs[0]
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)
        assert not ours.requires_grad


def test_one_name_is_enough_for_what_is_tied():
    skeleton, module = troupe.torch.skeleton(Tied), Tied().eval().requires_grad_(False)
    x, weights = torch.randn(5, 8), state_of(module)
    del weights["second.weight"]
    torch.testing.assert_close(troupe.torch.call(skeleton, weights, x), module(x))


def test_what_a_set_lacks_is_named():
    skeleton = troupe.torch.skeleton(MAKES["norm"])
    weights = state_of(MAKES["norm"]())
    del weights["1.running_mean"], weights["0.bias"]
    with pytest.raises(
        ValueError, match=r"the bound set has no 0.bias, 1.running_mean; buffers that"
    ):
        troupe.torch.call(skeleton, weights, torch.randn(5, 8))
    whole = state_of(MAKES["norm"]())
    troupe.torch.call(skeleton, whole, torch.randn(5, 8))
    # Weights of an earlier set are not taken for this one's.
    with pytest.raises(ValueError, match="the bound set has no 0.bias"):
        troupe.torch.call(skeleton, weights, torch.randn(5, 8))


def test_parts_with_memory_stay_what_they_are():
    module = MAKES["linear"]().eval().requires_grad_(False)
    x, other = torch.randn(5, 8), torch.zeros(3)
    before = module(x)
    bias = module.bias.clone()
    torch.testing.assert_close(troupe.torch.call(module, {"bias": other}, x), before - bias)
    torch.testing.assert_close(troupe.torch.call(module, {}, x), before)


def test_a_failing_first_run_is_told():
    skeleton = troupe.torch.skeleton(MAKES["linear"])
    with pytest.raises(RuntimeError, match="shapes"):
        troupe.torch.warm_up(skeleton, torch.randn(5, 9))
    assert skeleton.weight.is_meta
