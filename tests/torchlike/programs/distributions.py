"""torch.distributions: sampling, log-probabilities, entropies, divergences, and gradients through rsample."""

import torch
import torch.distributions as D

torch.manual_seed(15)
mu = torch.tensor([0.0, 1.0], requires_grad=True)
sigma = torch.tensor([1.0, 2.0], requires_grad=True)
n = D.Normal(mu, sigma)
s = n.rsample((3,))
(s**2).sum().backward()
print(s.shape, mu.grad, sigma.grad, n.log_prob(torch.tensor(0.5)), n.entropy(), n.cdf(torch.tensor(1.0)))
print(D.kl_divergence(n, D.Normal(0.0, 1.0)), n.mean, n.stddev, n.variance, n.sample().requires_grad)
c = D.Categorical(probs=torch.tensor([[0.2, 0.3, 0.5], [1.0, 1.0, 2.0]]))
a = c.sample()
print(a, c.log_prob(a), c.entropy(), c.probs, c.logits[0])
b = D.Bernoulli(logits=torch.tensor([0.0, 2.0]))
print(b.sample((2,)), b.log_prob(torch.ones(2)), b.entropy(), b.mean)
u = D.Uniform(torch.tensor(-1.0), torch.tensor(3.0))
print(u.sample((2,)), u.log_prob(torch.tensor(0.0)), u.entropy())
e = D.Exponential(torch.tensor(2.0))
print(e.sample(), e.log_prob(torch.tensor(0.3)), e.entropy(), e.rsample((2,)))
diag = D.Independent(D.Normal(torch.zeros(3), torch.ones(3)), 1)
print(diag.batch_shape, diag.event_shape, diag.log_prob(torch.ones(3)))
cov = torch.tensor([[2.0, 0.5], [0.5, 1.0]])
mvn = D.MultivariateNormal(torch.zeros(2), cov)
print(mvn.log_prob(torch.ones(2)), mvn.entropy(), mvn.sample((2,)))
ln = D.LogNormal(0.0, 0.5)
print(ln.sample(), ln.log_prob(torch.tensor(1.5)), ln.mean)
print(n, c)
oh = D.OneHotCategorical(torch.tensor([0.1, 0.9]))
print(
    oh.sample((2,)),
    D.kl_divergence(D.Categorical(torch.tensor([0.5, 0.5])), D.Categorical(torch.tensor([0.9, 0.1]))),
)
