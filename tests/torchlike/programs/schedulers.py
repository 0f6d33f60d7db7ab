"""Learning rates over time: every scheduler in common use."""

import math

import torch
from torch.optim import lr_scheduler as S

p = torch.nn.Parameter(torch.zeros(2))


def rates(make, steps=10, momentum=False, metric=None, **kwargs):
    optimizer = torch.optim.SGD([p], lr=0.4, momentum=0.9)
    scheduler = make(optimizer, **kwargs)
    seen = []
    for step in range(steps):
        p.grad = torch.ones(2)
        optimizer.step()
        group = optimizer.param_groups[0]
        seen.append(
            round(group["lr"], 5) if not momentum else (round(group["lr"], 4), round(group["momentum"], 4))
        )
        scheduler.step(metric[step]) if metric else scheduler.step()
    return seen


def warmup_cosine(step, warmup=3, total=10):
    return (
        (step + 1) / warmup
        if step < warmup
        else 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))
    )


print("lambda", rates(S.LambdaLR, lr_lambda=warmup_cosine))
print("step", rates(S.StepLR, step_size=3))
print("multistep", rates(S.MultiStepLR, milestones=[2, 6], gamma=0.5))
print("exponential", rates(S.ExponentialLR, gamma=0.8))
print("cosine", rates(S.CosineAnnealingLR, T_max=6, eta_min=0.01))
print("restarts", rates(S.CosineAnnealingWarmRestarts, T_0=3, T_mult=2))
print("linear", rates(S.LinearLR, start_factor=0.25, total_iters=4))
print("constant", rates(S.ConstantLR, factor=0.1, total_iters=3))
print("polynomial", rates(S.PolynomialLR, total_iters=7, power=2.0))
print("one cycle", rates(S.OneCycleLR, max_lr=1.0, total_steps=12, momentum=True))
print("cyclic", rates(S.CyclicLR, base_lr=0.1, max_lr=0.5, step_size_up=3, mode="triangular2", momentum=True))
print(
    "range",
    rates(
        S.CyclicLR, base_lr=0.1, max_lr=0.5, step_size_up=2, mode="exp_range", gamma=0.9, cycle_momentum=False
    ),
)
print("plateau", rates(S.ReduceLROnPlateau, patience=1, factor=0.5, metric=[5, 4, 4, 4, 4, 3, 3, 3, 3, 3]))


def chain(optimizer):
    warm = S.LinearLR(optimizer, start_factor=0.1, total_iters=3)
    return S.SequentialLR(optimizer, [warm, S.CosineAnnealingLR(optimizer, T_max=5)], milestones=[3])


print("sequential", rates(chain))
print("chained", rates(lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)])))
optimizer = torch.optim.Adam([p], lr=1e-3)
scheduler = S.StepLR(optimizer, 1)
optimizer.step()
scheduler.step()
print(scheduler.get_last_lr(), sorted(scheduler.state_dict()))
