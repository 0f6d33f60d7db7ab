"""Nested lists, tuples and dicts of values, taken apart into their leaves and put together again (torch.utils._pytree)."""

import typing
from collections import OrderedDict, defaultdict, deque, namedtuple

from ..dtypes import Size

PyTree = typing.Any
"""A nested value, in annotations."""


class TreeSpec:
    """How a nested value is built: the kind of its container, what is special about it (keys, a type), the specs of its children."""

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
        return SUPPORTED_NODES[self.type].unflatten_fn(parts, self.context)


class LeafSpec(TreeSpec):
    """The spec of a single value."""

    def __init__(self):
        super().__init__(None, None, [])


LEAF = LeafSpec()

# -- the containers -----------------------------------------------------------------------------------

NodeDef = namedtuple("NodeDef", "type flatten_fn unflatten_fn")
SUPPORTED_NODES = {}
"""By the kind of container: how to take one apart into (children, context), and how to put it together of both."""


def register_pytree_node(
    cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None, from_dumpable_context=None,
    flatten_with_keys_fn=None,
):  # fmt: skip
    """Let objects of the class `cls` count as containers (torch.utils._pytree.register_pytree_node).

    flatten_fn(object) gives (children, context), unflatten_fn(children, context) an object. The others are for files and paths,
    which are not here. Raises ValueError if the class is registered.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn)


def _get_node_type(tree):
    """The kind of container: the class, but one kind for all tuples with names."""
    kind = type(tree)
    return namedtuple if issubclass(kind, tuple) and _named(kind) else kind


def _named(kind):
    return hasattr(kind, "_fields") or hasattr(kind, "n_fields")  # of Python's, or of return_types


def _dict_flatten(d):
    return list(d.values()), list(d)


def _dict_unflatten(values, keys):
    return dict(zip(keys, values, strict=True))


def _dict_flatten_with_keys(d):
    return [(key, value) for key, value in d.items()], list(d)


for _kind in (list, tuple, Size):
    register_pytree_node(_kind, lambda x: (list(x), None), lambda parts, _, kind=_kind: kind(parts))
register_pytree_node(dict, _dict_flatten, _dict_unflatten)
register_pytree_node(
    OrderedDict,
    _dict_flatten,
    lambda parts, keys: OrderedDict(zip(keys, parts, strict=True)),
)
register_pytree_node(
    defaultdict,
    lambda d: (list(d.values()), [d.default_factory, list(d)]),
    lambda parts, context: defaultdict(context[0], zip(context[1], parts, strict=True)),
)
register_pytree_node(deque, lambda d: (list(d), d.maxlen), deque)
register_pytree_node(
    namedtuple,
    lambda x: (list(x), type(x)),
    lambda parts, kind: kind(*parts) if hasattr(kind, "_fields") else kind(parts),
)


def tree_flatten(tree, is_leaf=None):
    """(the leaves of a nested value in order, its TreeSpec). What is no list, tuple or dict is a leaf, None too."""
    leaves = []
    return leaves, _taken_apart(tree, is_leaf, leaves)


def _taken_apart(tree, is_leaf, leaves):
    kind = _get_node_type(tree)
    if (is_leaf is not None and is_leaf(tree)) or kind not in SUPPORTED_NODES:
        leaves.append(tree)
        return LEAF
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_taken_apart(child, is_leaf, leaves) for child in children])


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
    "SUPPORTED_NODES",
    "LeafSpec",
    "PyTree",
    "TreeSpec",
    "register_pytree_node",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_map_only",
    "tree_structure",
    "tree_unflatten",
]  # fmt: skip
