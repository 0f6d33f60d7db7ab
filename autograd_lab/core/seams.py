"""The doors through which other code extends the core. Each holds a function or a class, or None while nothing is registered.

PyTorch has more than the lesson needs: hooks on saved tensors, anomaly mode, forward mode, number types that mix. That code is not here. It
registers itself in these doors, puts fuller classes into CLASSES, or adds methods with `extend`.
"""


class Doors:
    """One attribute for each door.

    Used only while something unusual is going on (`State.special`):

    finish     fn(state, rule, inputs, outputs, node, args): an operation has run
    keep       fn(node, tensors): what a node saves instead of `tensors`

    Used where described:

    compute    fn(state, forward, x, y): the result of `forward` for two arrays that broadcast, or for an array and a number
    formula    fn(node, g, values, by_hand): run the rule of `node` on Tensors, in a recorded pass or for the user
    mixed      fn(rule, a, b): run an operation on two operands other than tensors of one type, or a float tensor and a float
    refuse     fn(t, node): raises for a tensor about to be saved whose version counter is negative
    tensor     the class of tensors that operations return
    """

    __slots__ = ("compute", "finish", "formula", "keep", "mixed", "refuse", "tensor")

    def __init__(self):
        for door in self.__slots__:
            setattr(self, door, None)


DOORS = Doors()

CLASSES: dict[str, type] = {}
"""The classes that the engine instantiates, by name: its own, or fuller ones that inherit from them."""


def extend(cls, **names):
    """Add methods and attributes to a class of the core. Raises TypeError if the class itself has one of that name.

    >>> class Point: pass
    >>> extend(Point, length=lambda self: 1)
    >>> Point().length()
    1
    >>> extend(Point, length=None)
    Traceback (most recent call last):
    TypeError: Point has a length of its own
    """
    for name, value in names.items():
        if name in vars(cls):
            raise TypeError(f"{cls.__name__} has a {name} of its own")
        setattr(cls, name, value)
