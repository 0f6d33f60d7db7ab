# [group] nan_found

# [case] sqrt_times_zero | the classic: sqrt at zero, silenced afterwards by a zero
x = torch.tensor([0.0], requires_grad=True)
out = {}
with torch.autograd.set_detect_anomaly(True):
    y = x.sqrt() * 0
    try:
        y.backward()
    except RuntimeError as e:
        out["error"] = e
out["g"] = x.grad

# [case] log_of_zero_masked | where() does not protect log; anomaly mode names it
x = torch.tensor([0.0, 1.0], requires_grad=True)
out = {}
with torch.autograd.set_detect_anomaly(True):
    y = torch.where(x > 0, x.log(), torch.zeros(2))
    try:
        y.sum().backward()
    except RuntimeError as e:
        out["error"] = e

# [case] second_output_named | the first nan among the outputs decides the index
a = torch.tensor([0.0], requires_grad=True)
b = torch.tensor([1.0], requires_grad=True)
out = {}
with torch.autograd.set_detect_anomaly(True):
    y = b * (a / a)
    try:
        y.backward()
    except RuntimeError as e:
        out["error"] = e

# [case] nan_in_forward_only | a nan in the forward pass alone is not an error
x = torch.tensor([-1.0, 4.0], requires_grad=True)
c = torch.tensor([float("nan"), 1.0])
with torch.autograd.set_detect_anomaly(True):
    (x + c).sum().backward()
out = dict(g=x.grad)

# [case] pow_zero_base | the power node is named with its kind
x = torch.tensor([0.0], requires_grad=True)
out = {}
with torch.autograd.set_detect_anomaly(True):
    y = (x ** 0.5) * 0
    try:
        y.backward()
    except RuntimeError as e:
        out["error"] = e

# [case] incoming_nan_gradient | a nan passed in by the user is found at the first node
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = {}
with torch.autograd.set_detect_anomaly(True):
    y = x * 2
    try:
        y.backward(torch.tensor([float("nan"), 1.0]))
    except RuntimeError as e:
        out["error"] = e
out["g"] = x.grad

# [group] switches

# [case] set_detect_anomaly_function | as a plain call it switches until told otherwise
seen = [torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()]
torch.autograd.set_detect_anomaly(True)
seen.append(torch.is_anomaly_enabled())
torch.autograd.set_detect_anomaly(True, check_nan=False)
seen.append(torch.is_anomaly_check_nan_enabled())
torch.autograd.set_detect_anomaly(False)
seen += [torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()]
out = dict(seen=seen)

# [case] nested_modes_restore | leaving the inner mode brings back the outer one
A = torch.autograd
seen = []
with A.set_detect_anomaly(True):
    with A.set_detect_anomaly(False):
        seen.append(torch.is_anomaly_enabled())
    seen.append(torch.is_anomaly_enabled())
seen.append(torch.is_anomaly_enabled())
out = dict(seen=seen)

# [case] restored_after_error | an exception restores the mode as well
seen = []
try:
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        seen.append((torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()))
        raise ValueError("x")
except ValueError:
    seen.append((torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()))
out = dict(seen=seen)

# [case] without_the_mode | without it nan just flows
x = torch.tensor([0.0], requires_grad=True)
(x.sqrt() * 0).backward()
out = dict(g=x.grad, on=torch.is_anomaly_enabled())

# [case] detect_anomaly_is_quiet_inside_set | the set_ form is silent when no error occurs
x = torch.tensor([1.0], requires_grad=True)
with torch.autograd.set_detect_anomaly(True):
    (x * 2).backward()
out = dict(g=x.grad)

# [group] tracebacks

# [case] forward_traceback_warning | with a recorded forward the warning shows where
x = torch.tensor([0.0], requires_grad=True)
out = {}
with torch.autograd.set_detect_anomaly(True):
    y = (x / x).sum()
    try:
        y.backward()
    except RuntimeError as e:
        out["error"] = e

# [case] autograd_grad_checked | autograd.grad is checked like backward
x = torch.tensor([0.0], requires_grad=True)
out = {}
with torch.autograd.set_detect_anomaly(True):
    y = x.sqrt() * 0
    try:
        torch.autograd.grad(y, x)
    except RuntimeError as e:
        out["error"] = e

# [case] inf_minus_inf | infinities that meet make the nan that is found
x = torch.tensor([0.0], requires_grad=True)
out = {}
with torch.autograd.set_detect_anomaly(True):
    y = (x.log() - x.log() * 1.0).sum()
    try:
        y.backward()
        out["g"] = x.grad
    except RuntimeError as e:
        out["error"] = e

# [case] error_in_backward_keeps_type | another error in backward is passed on, after the traceback warning
class Bad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1
    @staticmethod
    def backward(ctx, g):
        raise ValueError("mine")
x = torch.tensor([1.0], requires_grad=True)
out = {}
with torch.autograd.set_detect_anomaly(True):
    y = Bad.apply(x)
    try:
        y.backward()
    except ValueError as e:
        out["error"] = e

# [case] inplace_error_with_traceback | the saved-value error is explained as well
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = {}
with torch.autograd.set_detect_anomaly(True):
    y = x.exp()
    y.add_(1)
    try:
        y.sum().backward()
    except RuntimeError as e:
        out["error"] = e

# [case] metadata_of_nodes | nodes made in anomaly mode carry a traceback
x = torch.tensor([1.0], requires_grad=True)
with torch.autograd.set_detect_anomaly(True):
    y = x * 2
z = x * 2
out = dict(on=isinstance(y.grad_fn.metadata.get("traceback_"), list), off=z.grad_fn.metadata)

# [case] switch_takes_bools | the switch is a bool
out = {}
for name, args in dict(one=(1,), text=("yes",), nan=(True, 0)).items():
    try:
        torch.autograd.set_detect_anomaly(*args)
    except TypeError as e:
        out[name] = e
out["on"] = torch.is_anomaly_enabled()
