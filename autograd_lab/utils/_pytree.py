"""Nested lists, tuples and dicts of values, taken apart into their leaves and put together again (torch.utils._pytree)."""

import typing
from collections import OrderedDict, defaultdict, deque

from ..dtypes import Size

PyTree = typing.Any
"""A nested value, in annotations."""


class TreeSpec:
    """How a nested value is built: its container, what is special about it (keys, a type), the specs of its children."""

    def __init__(self, type, context, children):
        self.type, self.context, self.children_specs = type, context, children
        self.num_leaves = sum(child.num_leaves for child in children) if type is not None else 1

    def is_leaf(self):
        """Whether it is a single value."""
        return self.type is None

    def __eq__(self, other):
        mine = (self.type, self.context, self.children_specs)
        return isinstance(other, TreeSpec) and mine == (other.type, other.context, other.children_specs)

    __hash__ = None

    def __repr__(self):
        return (
            "*"
            if self.type is None
            else f"TreeSpec({self.type.__name__}, {self.context}, {self.children_specs})"
        )

    def unflatten(self, leaves):
        """The nested value with these leaves. Raises ValueError if there are not as many as it takes."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds "
                f"{self.num_leaves} items ({self})."
            )
        return self._join(iter(leaves))

    def _join(self, leaves):
        if self.type is None:
            return next(leaves)
        parts = [child._join(leaves) for child in self.children_specs]
        if self.type in _REGISTERED:
            return _REGISTERED[self.type][1](parts, self.context)
        if self.type is defaultdict:
            factory, keys = self.context
            return defaultdict(factory, zip(keys, parts, strict=True))
        if issubclass(self.type, dict):
            return self.type(zip(self.context, parts, strict=True))
        if self.type is deque:
            return deque(parts, maxlen=self.context)
        return self.type(*parts) if hasattr(self.type, "_fields") else self.type(parts)


LEAF = TreeSpec(None, None, [])
_REGISTERED = {}  # by class: (how to take one apart, how to put it together)


def register_pytree_node(
    cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None, from_dumpable_context=None,
    flatten_with_keys_fn=None,
):  # fmt: skip
    """Let objects of the class `cls` count as containers (torch.utils._pytree.register_pytree_node).

    flatten_fn(object) gives (children, context), unflatten_fn(children, context) an object. The others are for files and paths,
    which are not here. Raises ValueError if the class is registered.
    """
    if cls in _REGISTERED or cls in (list, tuple, dict, OrderedDict, defaultdict, deque):
        raise ValueError(f"{cls} is already registered as pytree node.")
    _REGISTERED[cls] = flatten_fn, unflatten_fn


def _dict_flatten_with_keys(d):
    return [(key, value) for key, value in d.items()], list(d)


def _dict_unflatten(values, keys):
    return dict(zip(keys, values, strict=True))


def _children(tree):
    """(context, children) of a container; None for a leaf."""
    kind = type(tree)
    if kind in _REGISTERED:
        children, context = _REGISTERED[kind][0](tree)
        return context, list(children)
    if kind in (dict, OrderedDict):
        return list(tree), list(tree.values())
    if kind is defaultdict:
        return [tree.default_factory, list(tree)], list(tree.values())
    if kind is deque:
        return tree.maxlen, list(tree)
    if kind in (list, tuple, Size) or (
        isinstance(tree, tuple) and (hasattr(kind, "_fields") or hasattr(kind, "n_fields"))
    ):
        return None, list(tree)
    return None


def tree_flatten(tree, is_leaf=None):
    """(the leaves of a nested value in order, its TreeSpec). What is no list, tuple or dict is a leaf, None too."""
    leaves = []
    return leaves, _taken_apart(tree, is_leaf, leaves)


def _taken_apart(tree, is_leaf, leaves):
    found = None if is_leaf is not None and is_leaf(tree) else _children(tree)
    if found is None:
        leaves.append(tree)
        return LEAF
    context, children = found
    return TreeSpec(type(tree), context, [_taken_apart(child, is_leaf, leaves) for child in children])


def tree_unflatten(leaves, treespec):
    """The nested value that `treespec` describes, with these leaves."""
    return treespec.unflatten(leaves)


def tree_leaves(tree, is_leaf=None):
    """The leaves of a nested value."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree, is_leaf=None):
    """How a nested value is built."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    """The same structure with func(leaf, ...) for each leaf, the others from further values of the same structure."""
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [tree_leaves(rest, is_leaf) for rest in rests]
    return spec.unflatten([func(*row) for row in zip(leaves, *columns, strict=True)])


def tree_map_only(type_or_types, func, tree, is_leaf=None):
    """The same with func applied to the leaves of these types only."""
    return tree_map(lambda x: func(x) if isinstance(x, type_or_types) else x, tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether `pred` holds for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether `pred` holds for any leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


__all__ = [
    "PyTree", "TreeSpec", "register_pytree_node", "tree_all", "tree_any", "tree_flatten", "tree_leaves", "tree_map", "tree_map_only", "tree_structure",
    "tree_unflatten",
]  # fmt: skip
