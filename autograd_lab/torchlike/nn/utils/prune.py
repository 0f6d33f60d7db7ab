"""Pruning: a weight is multiplied by a mask of zeros and ones, which a hook does anew before each forward (torch.nn.utils.prune).

The parameter `name` becomes `name`_orig, the mask is the buffer `name`_mask, and `name` itself the product of both. Methods that
prune the same parameter one after the other are kept in a PruningContainer: each chooses among what is still there.
"""

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable

from ...creation import FACTORIES
from ...ops.rule import FUNCTIONS, METHODS
from . import parameters_to_vector

ones_like = FACTORIES["ones_like"]

_ENTRIES, _SLICES = "unstructured", "structured"


class BasePruningMethod(ABC):
    """How to choose what is pruned: a subclass defines `compute_mask`, and says as PRUNING_TYPE what it chooses among.

    "unstructured": single elements;  "structured": slices along its `dim`;  "global": all there is, pruned or not.
    """

    _tensor_name: str

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """The mask: `default_mask` (zeros for what is pruned already) with further zeros, chosen by the importance `t` of each entry."""

    def apply_mask(self, module):
        """The pruned tensor: the original one times its mask."""
        if not hasattr(self, "_tensor_name"):
            raise AssertionError(f"Module {module} has to be pruned")
        mask = getattr(module, self._tensor_name + "_mask")
        original = getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prune module.<name> now and before each forward; `args` are those of the method's constructor. Returns the hook.

        importance_scores: what to choose by instead of the values themselves, in the tensor's shape. Raises AssertionError for
        another shape, and what the method raises for an amount that is not there; the module is then as it was.
        """
        method = cls(*args, **kwargs)
        method._tensor_name = name
        key, earlier = _hook_of(module, name)
        value = getattr(module, name)
        if importance_scores is None:
            importance_scores = value
        elif importance_scores.shape != value.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got "
                f"{importance_scores.shape} vs {value.shape}"
            )
        if earlier is None:
            mask = method.compute_mask(importance_scores, default_mask=ones_like(value))
            del module._parameters[name]
            module.register_parameter(name + "_orig", value)
        else:
            former = earlier if isinstance(earlier, PruningContainer) else PruningContainer(earlier)
            container = PruningContainer(*former._pruning_methods, method)
            container._tensor_name = name
            old = getattr(module, name + "_mask").detach().clone()
            mask = container.compute_mask(importance_scores, default_mask=old)
            method = container
            del module._forward_pre_hooks[key]
        module.register_buffer(name + "_mask", mask)
        method(module, None)
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """A pruned copy of the tensor `t`; nothing is registered."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        if default_mask is None:
            default_mask = ones_like(t)
        return t * self.compute_mask(importance_scores, default_mask=default_mask)

    def remove(self, module):
        """Make the pruned tensor a plain parameter: what was pruned stays zero."""
        if not hasattr(self, "_tensor_name"):
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        name = self._tensor_name
        original = module._parameters.pop(name + "_orig")
        original.data = (module._buffers.pop(name + "_mask").to(dtype=original.dtype) * original).data
        if hasattr(module, name):
            delattr(module, name)
        setattr(module, name, original)


def _hook_of(module, name):
    """(key, hook) of what prunes module.<name>; (None, None) if nothing does."""
    found = [
        (key, hook)
        for key, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    ]
    return found[0] if found else (None, None)


class PruningContainer(BasePruningMethod):
    """Methods that prune one tensor, in order."""

    def __init__(self, *args):
        self._pruning_methods = ()
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Add a method for the same tensor. Raises TypeError for what is no method, ValueError for one of another tensor."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer {self}. "
                f"Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, i):
        return self._pruning_methods[i]

    def compute_mask(self, t, default_mask):
        """The mask of the latest method, which chooses among what `default_mask` has left."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype).clone()
        where = self._left(method, mask, t)
        mask[where] = method.compute_mask(t[where], default_mask[where]).to(dtype=mask.dtype)
        return mask

    def _left(self, method, mask, t):
        """The index of what the method may choose among."""
        kind = method.PRUNING_TYPE
        if kind == _ENTRIES:
            return mask == 1
        if kind == "global":
            return (slice(None),) * t.dim()
        if kind != _SLICES:
            raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
        if not hasattr(method, "dim"):
            raise AttributeError(
                "Pruning methods of PRUNING_TYPE 'structured' need to have the attribute `dim` defined."
            )
        dim = method.dim % t.dim()
        kept = mask.sum([d for d in range(t.dim()) if d != dim]) != 0
        return (*[slice(None)] * dim, kept)


class Identity(BasePruningMethod):
    """Prunes nothing, but makes the mask and the hook."""

    PRUNING_TYPE = _ENTRIES

    def compute_mask(self, t, default_mask):
        return default_mask

    @classmethod
    def apply(cls, module, name):
        return super().apply(module, name)


class _Amount(BasePruningMethod):
    """A method that prunes a number of entries or slices (int) or a share of them (float)."""

    def __init__(self, amount):
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _count(self, size):
        count = _compute_nparams_toprune(self.amount, size)
        _validate_pruning_amount(count, size)
        return count


class RandomUnstructured(_Amount):
    """Prunes elements at random."""

    PRUNING_TYPE = _ENTRIES

    def compute_mask(self, t, default_mask):
        count = self._count(t.nelement())
        mask = default_mask.clone()
        if count:
            chosen = FUNCTIONS["rand_like"](t).view(-1).topk(count).indices
            mask.view(-1)[chosen] = 0
        return mask

    @classmethod
    def apply(cls, module, name, amount):
        return super().apply(module, name, amount=amount)


class L1Unstructured(_Amount):
    """Prunes the elements that are smallest in absolute value."""

    PRUNING_TYPE = _ENTRIES

    def compute_mask(self, t, default_mask):
        count = self._count(t.nelement())
        mask = default_mask.clone()
        if count:
            chosen = t.abs().view(-1).topk(count, largest=False).indices
            mask.view(-1)[chosen] = 0
        return mask

    @classmethod
    def apply(cls, module, name, amount, importance_scores=None):
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Slices(_Amount):
    """A method that prunes whole slices along `dim`."""

    PRUNING_TYPE = _SLICES

    def __init__(self, amount, dim=-1):
        super().__init__(amount)
        self.dim = dim

    def kept(self, t, count):
        """Which slices stay, as a mask in one dim, if `count` of them go."""
        raise NotImplementedError

    def compute_mask(self, t, default_mask):
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        count = self._count(t.shape[self.dim])
        if not count:
            return default_mask
        shape = [1] * t.dim()
        shape[self.dim] = -1
        return default_mask * self.kept(t, count).to(dtype=t.dtype).view(shape)


class RandomStructured(_Slices):
    """Prunes slices at random."""

    def kept(self, t, count):
        chances = FUNCTIONS["rand"](t.shape[self.dim])
        return chances > chances.kthvalue(k=count).values

    @classmethod
    def apply(cls, module, name, amount, dim=-1):
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Slices):
    """Prunes the slices whose n-norm is smallest."""

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount, dim)
        self.n = n

    def kept(self, t, count):
        norm = _compute_norm(t, self.n, self.dim)
        mask = norm.new_zeros(norm.shape)
        mask[norm.topk(t.shape[self.dim] - count).indices] = 1
        return mask

    @classmethod
    def apply(cls, module, name, amount, n, dim, importance_scores=None):
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module, name, mask):
        return super().apply(module, name, mask=mask)


# -- as functions -------------------------------------------------------------------------------------


def identity(module, name):
    """Make the mask and the hook without pruning anything. Returns the module, as all of these do."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prune `amount` elements (or that share of them) at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prune the `amount` smallest elements."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prune `amount` slices along `dim` at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prune the `amount` slices along `dim` of the smallest n-norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    """Prune by a mask."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prune elements of several tensors, chosen among those of all of them.

    parameters         pairs (module, name)
    pruning_method     a class whose PRUNING_TYPE is "unstructured"; `kwargs` are its constructor's
    importance_scores  {(module, name): what to choose by instead of the values}

    Raises TypeError for another kind of method, and if parameters or scores are no collection and no dict.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    importance_scores = {} if importance_scores is None else importance_scores
    if not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    parameters = list(parameters)
    scores = parameters_to_vector([importance_scores.get(pair, getattr(*pair)) for pair in parameters])
    masks = [getattr(m, name + "_mask", ones_like(getattr(m, name))) for m, name in parameters]
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != _ENTRIES:
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. '
            f"Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    method._tensor_name = "all of them"
    chosen = PruningContainer(method).compute_mask(scores, parameters_to_vector(masks))
    start = 0
    for module, name in parameters:
        value = getattr(module, name)
        custom_from_mask(module, name, chosen[start : start + value.numel()].view_as(value))
        start += value.numel()


def remove(module, name):
    """Make a pruned tensor a plain parameter. Raises ValueError if it is not pruned."""
    key, hook = _hook_of(module, name)
    if hook is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    hook.remove(module)
    del module._forward_pre_hooks[key]
    return module


def is_pruned(module):
    """Whether anything in the module is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for part in module.modules()
        for hook in part._forward_pre_hooks.values()
    )


# -- amounts ------------------------------------------------------------------------------------------


def _validate_pruning_amount_init(amount):
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (not isinstance(amount, numbers.Integral) and amount > 1):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
        )


def _validate_pruning_amount(amount, tensor_size):
    if isinstance(amount, numbers.Integral) and amount > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}"
        )


def _validate_structured_pruning(t):
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
            f"{t.shape} with {t.dim()} dims"
        )


def _validate_pruning_dim(t, dim):
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_nparams_toprune(amount, tensor_size):
    return amount if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def _compute_norm(t, n, dim):
    """The n-norm of each slice along `dim`."""
    return METHODS["norm"](t, n, [d for d in range(t.dim()) if d != dim % t.dim()])


__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]
