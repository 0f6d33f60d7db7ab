"""Random numbers: a seed gives here what it gives in PyTorch, recorded on 2.13.0 and live.

To record: `python -m tests.record random`.
"""

import warnings

import numpy as np
import pytest
from recorded import check_live, differences, run, stored

import autograd_lab

START = "torch.manual_seed(3)\n"

PROGRAMS = {
    "uniform": "out['r'] = torch.rand(5), torch.rand(2, 3, dtype=torch.float64), torch.rand(3, dtype=torch.float16), torch.rand_like(torch.zeros(2))",
    "normal in every size": "out['r'] = [torch.randn(n, dtype=d) for n in (1, 2, 5, 15, 16, 17, 33) for d in (torch.float32, torch.float64)]",
    "normal, the second of a pair is kept": "out['r'] = torch.randn(3), torch.rand(2), torch.randn(2), torch.randn(20), torch.randn(1)",
    "normal of numbers and tensors": "out['r'] = torch.normal(1.0, 2.0, (20,)), torch.normal(torch.arange(20.0), 0.5 * torch.ones(20)), torch.normal(0.5, torch.arange(3.0))",
    "uniform between bounds, to the last bit": "out['r'] = [[x.hex() for x in torch.empty(50, dtype=d).uniform_(*b).tolist()] for d in (torch.float32, torch.float16) for b in ((-0.1, 0.1), (-3.3, 0.7))]",
    "randint": "out['r'] = torch.randint(10, (5,)), torch.randint(-3, 9, (2, 2)), torch.randint(0, 2**28 - 1, (3,)), torch.randint(0, 2**28, (3,)), torch.randint(-5, 2**40, (3,)), torch.rand(1)",
    "randperm": "out['r'] = [torch.randperm(n) for n in (0, 1, 2, 30)], torch.rand(1)",
    "bernoulli": "out['r'] = torch.bernoulli(torch.full((20,), 0.3)), torch.bernoulli(torch.zeros(20), 0.3), torch.zeros(20).bernoulli_(0.7), torch.zeros(5).bernoulli_(torch.full((5,), 0.4, dtype=torch.float64)), torch.rand(1)",
    "multinomial": "w = torch.tensor([[0.1, 0.2, 0.7], [1.0, 1.0, 3.0]]); out['r'] = w.multinomial(5, True), w.multinomial(2), w.multinomial(1, True), torch.rand(1)",
    "exponential and random": "out['r'] = torch.empty(5).exponential_(2.0), [torch.empty(3, dtype=d).random_() for d in (torch.float32, torch.float64, torch.int32, torch.int64, torch.uint8)], torch.empty(4).random_(5), torch.empty(4).random_(2, 9)",
    "in memory order": "a = torch.empty(5, 4).t(); out['r'] = a.normal_().clone(), a.uniform_(-1, 1).clone(), a.bernoulli_(0.5).clone(), a.random_(9).clone()",
    "dropout": "F = torch.nn.functional; x = torch.arange(1.0, 37.0).view(2, 3, 6); out['r'] = [f(x, 0.4, True) for f in (F.dropout, F.alpha_dropout, F.feature_alpha_dropout, F.dropout1d)], F.dropout2d(x[..., None], 0.5), F.rrelu(torch.linspace(-2, 2, 9), training=True), F.gumbel_softmax(torch.arange(4.0)), F.gumbel_softmax(torch.arange(4.0), hard=True)",
    "initialization": "I = torch.nn.init; out['r'] = [getattr(I, f)(torch.empty(s)) for f in ('xavier_uniform_', 'xavier_normal_', 'kaiming_uniform_', 'kaiming_normal_', 'orthogonal_', 'trunc_normal_', 'normal_', 'uniform_') for s in ((5, 7), (4, 2))], I.trunc_normal_(torch.empty(6, 6), a=-0.5, b=0.5), I.sparse_(torch.empty(6, 5), 0.4)",
    "layers": "out['r'] = [p for m in (nn.Linear(3, 4), nn.Linear(3, 2, bias=False), nn.Conv2d(2, 3, 3), nn.ConvTranspose2d(2, 3, 2), nn.Embedding(3, 4, padding_idx=1), nn.EmbeddingBag(4, 3), nn.Bilinear(2, 3, 2), nn.LSTM(2, 3, 2), nn.GRU(2, 3, bidirectional=True), nn.RNNCell(2, 2), nn.MultiheadAttention(4, 2), nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6), 2, enable_nested_tensor=False), nn.Transformer(4, 2, 1, 1, 6)) for p in m.parameters()]",
    "loaders": "D = torch.utils.data; d = D.TensorDataset(torch.arange(10.0)); g = torch.Generator().manual_seed(5); out['r'] = [(b[0], torch.rand(1)) for b in D.DataLoader(d, 4, shuffle=True)], [b[0] for b in D.DataLoader(d, 4, shuffle=True, generator=g)], [(b[0], torch.rand(1)) for b in D.DataLoader(d, 4)], D.random_split(d, [7, 3])[1].indices",
    "samplers": "D = torch.utils.data; d = D.TensorDataset(torch.arange(10.0)); out['r'] = [b[0] for b in D.DataLoader(d, 3, sampler=D.WeightedRandomSampler([0.1] * 5 + [0.9] * 5, 8))], [b[0] for b in D.DataLoader(d, batch_sampler=D.BatchSampler(D.SubsetRandomSampler([1, 4, 7]), 2, False))], list(D.RandomSampler(d, replacement=True, num_samples=40)), list(D.RandomSampler(d, num_samples=13)), list(D.WeightedRandomSampler([1, 2, 3], 3, replacement=False))",
    "states": "g = torch.Generator().manual_seed(9); a = torch.randn(3, generator=g), torch.rand(1, generator=g); s = g.get_state(); b = torch.randn(4, generator=g); g.set_state(s); out['r'] = a, b, torch.randn(4, generator=g), g.initial_seed(), s, torch.get_rng_state()",
    "seeds": "torch.manual_seed(-5); a = torch.initial_seed(), torch.rand(2); torch.manual_seed(2**33 + 3); out['r'] = a, torch.initial_seed(), torch.rand(2), torch.Generator().initial_seed(), torch.rand(2, generator=torch.Generator())",
    "states that fit not": "out['r'] = []\nfor s in (torch.zeros(3), torch.zeros(3, dtype=torch.uint8)):\n    try:\n        torch.set_rng_state(s)\n    except Exception as error:\n        out['r'].append(f'{type(error).__name__}: {error}')",
}  # fmt: skip
PROGRAMS = {name: START + code for name, code in PROGRAMS.items()}

STORED = stored(__file__)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_seed_gives_what_pytorch_gave(name):
    assert not differences(run(PROGRAMS[name], autograd_lab), STORED["results"][name])


def test_the_recorded_numbers_are_live_pytorchs():
    check_live(STORED, PROGRAMS)


def test_a_state_passes_between_the_libraries():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: nothing to pass a state to")
    autograd_lab.manual_seed(11)
    autograd_lab.randn(3)
    torch.set_rng_state(torch.from_numpy(autograd_lab.get_rng_state().numpy()))
    assert np.allclose(torch.randn(5).numpy(), autograd_lab.randn(5).numpy(), atol=1e-6)
    torch.rand(700)
    autograd_lab.set_rng_state(autograd_lab.from_numpy(torch.get_rng_state().numpy()))
    assert torch.rand(5).tolist() == autograd_lab.rand(5).tolist()


@pytest.mark.parametrize(("low", "high"), [(0, 2**24 + 1), (-(2**24), 1), (0, 2**24 + 2), (-(2**24) - 1, 1)])
def test_whole_numbers_that_a_float_does_not_hold_are_warned_of(low, high):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        autograd_lab.zeros(3).random_(low, high)
        autograd_lab.randint(low, high, (3,), dtype=autograd_lab.float32)
    beyond = "from" if low < -(2**24) else "to - 1" if high - 1 > 2**24 else None
    begin = f"{beyond} is out of bounds [-(2^24), 2^24]. Due to precision limitations float can"
    assert [str(w.message)[: len(begin)] for w in caught] == [begin] * 2 * (beyond is not None)
