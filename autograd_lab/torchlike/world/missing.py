"""What PyTorch has and this library leaves out: so that a missing name says so, and is not taken for a typing error."""

from .aliases import find_place

_NAMES = {
    "": """
        angle clear_autocast_cache complex conj_physical
        conj_physical_ dequantize eig empty_quantized fft frobenius_norm from_dlpack from_file
        futures fx gcd_ histogramdd hub imag istft         lcm_ lobpcg lstsq matrix_rank multiprocessing nested nonzero_static
        nuclear_norm ormqr polar profiler quantization
        quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic resize_as_sparse_
        signal solve sparse sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor
        sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor stft symeig to_dlpack
        view_as_complex view_as_real
    """,
    "nn": """
        LinearCrossEntropyOptions
    """,
    "nn.functional": """
        grouped_mm native_channel_shuffle scaled_grouped_mm scaled_mm
    """,
    "optim": """
        SparseAdam swap_in_optimizer_params_and_state
    """,
    "overrides": """
        TorchFunctionMode enable_reentrant_dispatch get_ignored_functions get_overridable_functions get_testing_overrides redispatch_function
    """,
    "linalg": """
        eig eigvals ldl_factor ldl_factor_ex ldl_solve
    """,
    "special": """
        airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u
        chebyshev_polynomial_v chebyshev_polynomial_w erfcx hermite_polynomial_h
        hermite_polynomial_he i0e i1e laguerre_polynomial_l legendre_polynomial_p modified_bessel_i0 modified_bessel_i1
        modified_bessel_k0 modified_bessel_k1 ndtri shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u
        shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w spherical_bessel_j0 zeta
    """,
}

NAMES = {module: frozenset(names.split()) for module, names in _NAMES.items()}
"""The names by module ("" is torch itself)."""

NO_PROCESS_GROUP = (
    "torch.distributed: autograd_lab runs in one process, and there is no process group. Leave the call out"
)
"""What is said where a program asks other processes for something."""


def refuse(module, name):
    """Raise the AttributeError for `name`, asked of autograd_lab or one of its modules ("nn.functional", say)."""
    where = f"autograd_lab.{module}" if module else "autograd_lab"
    text = f"module '{where}' has no attribute '{name}'"
    if name in NAMES.get(module, ()):
        text += f": PyTorch has torch.{module + '.' if module else ''}{name}, autograd_lab leaves it out"
    raise AttributeError(text)


def finder(module):
    """The `__getattr__` of a module: it is asked for names that are not there."""

    def find(name):
        found = find_place(module, name)
        if found is None:
            refuse(module, name)
        return found

    return find


__all__ = ["NAMES", "NO_PROCESS_GROUP", "finder", "refuse"]
