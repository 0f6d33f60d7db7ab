"""What PyTorch has and this library leaves out: so that a missing name says so, and is not taken for a typing error."""

from .places import find_place

_NAMES = {
    "": """
        adaptive_max_pool1d addmv_ affine_grid_generator alpha_dropout alpha_dropout_ angle as_strided_ bartlett_window batch_norm
        binary_cross_entropy_with_logits binomial blackman_window clear_autocast_cache complex
        conj_physical conj_physical_ conv_tbc cosine_embedding_loss dequantize eig
        empty_permuted empty_quantized feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_ fft
        frobenius_norm from_dlpack from_file futures fx gcd_ gradient gru gru_cell hamming_window
        hann_window hinge_embedding_loss histogramdd hub igamma igammac imag index_put_ instance_norm istft
        kaiser_window kl_div layer_norm lcm_ lobpcg lstm lstm_cell lstsq margin_ranking_loss
        matrix_rank max_pool1d_with_indices multiprocessing negative_ nested nonzero_static norm_except_dim nuclear_norm
        ormqr overrides pca_lowrank pdist poisson poisson_nll_loss polar profiler quantization
        quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic resize_as_sparse_ resolve_conj
        resolve_neg rms_norm rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell signal solve sparse sparse_bsc_tensor
        sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor stft
        svd_lowrank symeig to_dlpack triangular_solve triplet_margin_loss unsafe_split_with_sizes view_as_complex
        view_as_real
    """,
    "nn": """
        AdaptiveLogSoftmaxWithLoss CrossMapLRN2d
        FeatureAlphaDropout FractionalMaxPool2d FractionalMaxPool3d LPPool1d LPPool2d LPPool3d
        LinearCrossEntropyLoss LinearCrossEntropyOptions MaxUnpool1d MaxUnpool2d MaxUnpool3d
        NLLLoss2d RNNCellBase SyncBatchNorm
    """,
    "nn.functional": """
        adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices
        adaptive_max_pool3d_with_indices conv_tbc fractional_max_pool2d
        fractional_max_pool2d_with_indices fractional_max_pool3d fractional_max_pool3d_with_indices linear_cross_entropy
        lp_pool3d max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices max_unpool1d max_unpool2d
        max_unpool3d pdist rrelu_ upsample_bilinear upsample_nearest
    """,
    "optim": """
        Muon SparseAdam
    """,
    "linalg": """
        eig eigvals ldl_factor ldl_factor_ex ldl_solve
    """,
    "special": """
        airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u
        chebyshev_polynomial_v chebyshev_polynomial_w erfcx gammainc gammaincc hermite_polynomial_h
        hermite_polynomial_he i0e i1e laguerre_polynomial_l legendre_polynomial_p modified_bessel_i0 modified_bessel_i1
        modified_bessel_k0 modified_bessel_k1 ndtri shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u
        shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w spherical_bessel_j0 zeta
    """,
    "nn.utils": """
        clip_grad_norm fuse_conv_bn_eval fuse_conv_bn_weights skip_init stateless
    """,
    "utils.data": """
        DistributedSampler
    """,
}

NAMES = {module: frozenset(names.split()) for module, names in _NAMES.items()}
"""The names by module ("" is torch itself)."""


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


__all__ = ["NAMES", "finder", "refuse"]
