"""Whether a Jacobian has the structure that the screen claims of it."""

import numpy as np


def holds(kind, formula, found, operands, out, i, dim=None):
    """Whether the matrix `found`, of operand `i` and a result of shape `out`, is what `kind` and `formula` say.

    operands   the arrays, by the letters of the rule's text a, b, c
    dim        of a rule that works along one
    """
    filled = found != 0
    rows, columns = found.shape
    one = bool((found[filled] == 1).all())
    match kind:
        case "zero":
            return not filled.any()
        case "number":
            return rows == columns == 1
        case "identity":
            return np.array_equal(found, np.eye(rows))
        case "diagonal":
            return rows == columns and not filled[~np.eye(rows, dtype=bool)].any()
        case "permutation":
            return one and rows == columns and (filled.sum(0) == 1).all() and (filled.sum(1) == 1).all()
        case "selection":
            return one and (filled.sum(1) <= 1).all() and (filled.sum(0) <= 1).all()
        case "copies":
            return (filled.sum(1) <= 1).all()
        case "sum":
            return one and (filled.sum(0) <= 1).all()
        case "groups":
            return (filled.sum(0) <= 1).all()
        case "row":
            return rows == 1
        case "column":
            return columns == 1
        case "pieces":
            return one and (filled.sum(0) == 1).all() and (filled.sum(1) <= 1).all()
        case "triangular":
            return rows == columns and not (np.triu(filled, 1).any() and np.tril(filled, -1).any())
        case "full":
            return bool(filled.all())
        case "blocks":
            return any(
                not filled[~_block_mask(n, rows, columns)].any() for n in range(2, min(rows, columns) + 1)
            )
        case "blocks along dim":
            other = [d for d in range(len(out)) if d != dim % len(out)]
            where = [np.indices(out)[d].reshape(-1) for d in other]
            apart = np.logical_or.reduce([w[:, None] != w for w in where], initial=False)
            return not (filled & apart).any()
        case "matrix":
            return np.allclose(found, operands["abc".index(formula)])
        case "Kronecker product":
            left, _, right = formula.partition(" kron ")
            return np.allclose(found, np.kron(_factor(left, operands), _factor(right, operands)))
    raise AssertionError(kind)


def _block_mask(n, rows, columns):
    if rows % n or columns % n:
        return np.zeros((rows, columns), bool)
    return np.kron(np.eye(n, dtype=bool), np.ones((rows // n, columns // n), bool))


def _factor(text, operands):
    if text.startswith("I_"):
        return np.eye(int(text[2:]))
    x = np.atleast_2d(operands["abc".index(text[0])])
    return (
        x
        if text.endswith("^T") and np.ndim(operands["abc".index(text[0])]) == 1
        else x.T
        if text.endswith("^T")
        else x
    )
