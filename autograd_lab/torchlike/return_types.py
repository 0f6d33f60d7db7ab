"""Results with named parts: x.max(0) gives (values, indices) with those names (torch.return_types)."""


def _result_type(name, fields):
    """A tuple class with named entries, which prints as PyTorch's does."""

    def new(cls, values):
        values = tuple(values)
        if len(values) != len(fields):
            raise TypeError(
                f"torch.return_types.{name}() takes a {len(fields)}-sequence ({len(values)}-sequence given)"
            )
        return tuple.__new__(cls, values)

    def show(self):
        parts = ",\n".join(f"{field}={value!r}" for field, value in zip(fields, self, strict=True))
        return f"torch.return_types.{name}(\n{parts})"

    def reduce(self):
        return type(self), (tuple(self),)

    body = {
        "__slots__": (),
        "__new__": new,
        "__repr__": show,
        "__reduce__": reduce,
        "n_fields": len(fields),
        "__module__": __name__,
    }
    for i, field in enumerate(fields):
        body[field] = property(lambda self, i=i: tuple.__getitem__(self, i), doc=f"Entry {i}.")
    return type(name, (tuple,), body)


_VALUES = ("values", "indices")

max = _result_type("max", _VALUES)
min = _result_type("min", _VALUES)
histogram = _result_type("histogram", ("hist", "bin_edges"))
sort = _result_type("sort", _VALUES)
topk = _result_type("topk", _VALUES)
median = _result_type("median", _VALUES)
nanmedian = _result_type("nanmedian", _VALUES)
mode = _result_type("mode", _VALUES)
kthvalue = _result_type("kthvalue", _VALUES)
cummax = _result_type("cummax", _VALUES)
cummin = _result_type("cummin", _VALUES)
aminmax = _result_type("aminmax", ("min", "max"))
frexp = _result_type("frexp", ("mantissa", "exponent"))
slogdet = _result_type("slogdet", ("sign", "logabsdet"))
triangular_solve = _result_type("triangular_solve", ("solution", "cloned_coefficient"))
linalg_slogdet = _result_type("linalg_slogdet", ("sign", "logabsdet"))
linalg_eigh = _result_type("linalg_eigh", ("eigenvalues", "eigenvectors"))
linalg_svd = _result_type("linalg_svd", ("U", "S", "Vh"))
linalg_qr = _result_type("linalg_qr", ("Q", "R"))
qr = _result_type("qr", ("Q", "R"))
svd = _result_type("svd", ("U", "S", "V"))
linalg_lu = _result_type("linalg_lu", ("P", "L", "U"))
linalg_lu_factor = _result_type("linalg_lu_factor", ("LU", "pivots"))
linalg_lu_factor_ex = _result_type("linalg_lu_factor_ex", ("LU", "pivots", "info"))
_lu_with_info = _result_type("_lu_with_info", ("LU", "pivots", "info"))
lu_unpack = _result_type("lu_unpack", ("P", "L", "U"))
linalg_cholesky_ex = _result_type("linalg_cholesky_ex", ("L", "info"))
linalg_inv_ex = _result_type("linalg_inv_ex", ("inverse", "info"))
linalg_solve_ex = _result_type("linalg_solve_ex", ("result", "info"))
geqrf = _result_type("geqrf", ("a", "tau"))
triangular_solve = _result_type("triangular_solve", ("solution", "cloned_coefficient"))
