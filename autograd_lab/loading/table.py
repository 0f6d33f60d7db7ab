"""Which module has which name. Made by `python -m autograd_lab.loading`; do not edit."""

PAGES = {
    "autograd_lab.torchlike.ops.activations": {
        "FUNCTIONS": """
            celu celu_ hardshrink prelu relu_ rrelu rrelu_ selu selu_ threshold threshold_
        """,
        "METHODS": """
            hardshrink prelu relu_
        """,
        "RULES": """
            CeluBackward0 CeluBackward1 EluBackward0 EluBackward1 EluBackwardBackward0 Gate GeluBackward0
            GeluBackwardBackward0 GluBackward0 GluBackwardBackward0 HardshrinkBackward0
            HardshrinkBackwardBackward0 HardsigmoidBackward0 HardsigmoidBackwardBackward0 HardswishBackward0
            HardswishBackwardBackward0 HardtanhBackward0 HardtanhBackwardBackward0 LeakyReluBackward0
            LeakyReluBackward1 LeakyReluBackwardBackward0 LogSigmoidBackward0 LogSigmoidBackwardBackward0
            MishBackward0 PreluKernelBackward0 PreluKernelBackwardBackward0 RreluWithNoiseBackward0
            RreluWithNoiseBackward1 RreluWithNoiseBackwardBackward0 SiluBackward0 SoftplusBackward0
            SoftplusBackwardBackward0 SoftshrinkBackward0 SoftshrinkBackwardBackward0 ThresholdBackward0
            ThresholdBackward1 ThresholdBackwardBackward0
        """,
    },
    "autograd_lab.torchlike.ops.arithmetic": {
        "FUNCTIONS": """
            add mul multiply neg_ negative pow reciprocal_ rsub sub subtract
        """,
        "METHODS": """
            add add_ mul_ multiply multiply_ neg_ negative negative_ pow pow_ reciprocal_ rsub sub sub_
            subtract subtract_
        """,
        "RULES": """
            PowBackward1 PowBackward2 RsubBackward0
        """,
    },
    "autograd_lab.torchlike.ops.attention": {
        "RULES": """
            ScaledDotProductFlashAttentionForCpuBackward0
        """,
    },
    "autograd_lab.torchlike.ops.bags": {
        "FUNCTIONS": """
            embedding_bag
        """,
        "RULES": """
            EmbeddingBagBackward0
        """,
    },
    "autograd_lab.torchlike.ops.broadcasting": {
        "FUNCTIONS": """
            absolute addcdiv addcmul arccos arccosh arcsin arcsinh arctan arctan2 arctanh atan2 clamp
            clamp_max clamp_min clip copysign div divide fix float_power floor_divide fmax fmin fmod heaviside
            hypot ldexp lerp logaddexp logaddexp2 maximum minimum nextafter remainder true_divide where xlogy
        """,
        "METHODS": """
            __abs__ __floordiv__ __ifloordiv__ __imod__ __mod__ __pos__ __rfloordiv__ __rmod__ absolute
            absolute_ addcdiv addcdiv_ addcmul addcmul_ arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh
            arcsinh_ arctan arctan2 arctan2_ arctan_ arctanh arctanh_ atan2 atan2_ clamp clamp_ clamp_max
            clamp_max_ clamp_min clamp_min_ clip clip_ copysign copysign_ div div_ divide divide_ fix fix_
            float_power float_power_ floor_divide floor_divide_ fmax fmin fmod fmod_ heaviside heaviside_
            hypot hypot_ ldexp ldexp_ lerp lerp_ logaddexp logaddexp2 maximum minimum nextafter nextafter_
            remainder remainder_ true_divide true_divide_ where xlogy xlogy_
        """,
        "RULES": """
            AddcdivBackward0 AddcmulBackward0 Atan2Backward0 ClampBackward0 ClampBackward1 ClampMaxBackward0
            ClampMaxBackward1 ClampMinBackward0 ClampMinBackward1 CopysignBackward0 CopysignBackward1
            DivBackward2 FmaxBackward0 FminBackward0 FmodBackward0 FmodBackward1 HypotBackward0 LdexpBackward0
            LerpBackward0 LerpBackward1 Logaddexp2Backward0 LogaddexpBackward0 MinimumBackward0
            NextafterBackward0 RemainderBackward0 RemainderBackward1 SpecialXlog1PyBackward0
            SpecialXlog1PyBackward1 SpecialXlog1PyBackward2 WhereBackward0 XlogyBackward0 XlogyBackward1
            XlogyBackward2
        """,
    },
    "autograd_lab.torchlike.ops.comparison": {
        "FUNCTIONS": """
            allclose bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor eq
            equal gcd ge greater greater_equal gt is_nonzero isclose isfinite isinf isnan isneginf isposinf
            isreal lcm le less less_equal logical_and logical_not logical_or logical_xor lt ne not_equal
            signbit
        """,
        "METHODS": """
            __and__ __eq__ __ge__ __gt__ __iand__ __ilshift__ __invert__ __ior__ __irshift__ __ixor__ __le__
            __lshift__ __lt__ __ne__ __or__ __rand__ __rlshift__ __ror__ __rrshift__ __rshift__ __rxor__
            __xor__ allclose bitwise_and bitwise_and_ bitwise_left_shift bitwise_left_shift_ bitwise_not
            bitwise_not_ bitwise_or bitwise_or_ bitwise_right_shift bitwise_right_shift_ bitwise_xor
            bitwise_xor_ eq eq_ equal gcd ge ge_ greater greater_ greater_equal greater_equal_ gt gt_
            is_nonzero isclose isfinite isinf isnan isneginf isposinf isreal lcm le le_ less less_ less_equal
            less_equal_ logical_and logical_and_ logical_not logical_not_ logical_or logical_or_ logical_xor
            logical_xor_ lt lt_ ne ne_ not_equal not_equal_ signbit
        """,
        "RULES": """
            EqBackward0 EqBackward1 GeBackward0 GeBackward1 GtBackward0 GtBackward1 LeBackward0 LeBackward1
            LtBackward0 LtBackward1 NeBackward0 NeBackward1 NotImplemented _bitwise_and _bitwise_left_shift
            _bitwise_not _bitwise_or _bitwise_right_shift _bitwise_xor _logical_and _logical_not _logical_or
            _logical_xor
        """,
    },
    "autograd_lab.torchlike.ops.composed": {
        "FUNCTIONS": """
            binary_cross_entropy_with_logits cosine_embedding_loss hinge_embedding_loss kl_div
            margin_ranking_loss pairwise_distance poisson_nll_loss triplet_margin_loss
        """,
    },
    "autograd_lab.torchlike.ops.concat": {
        "FUNCTIONS": """
            atleast_1d atleast_2d atleast_3d block_diag cartesian_prod cat column_stack combinations concat
            concatenate dstack flip fliplr flipud hstack meshgrid repeat_interleave roll rot90 row_stack stack
            tile tril triu vstack
        """,
        "METHODS": """
            combinations flip fliplr flipud repeat repeat_interleave roll rot90 tile tril tril_ triu triu_
        """,
        "RULES": """
            BlockDiagBackward0 CatBackward0 FlipBackward0 RepeatBackward0 RollBackward0 Rot90Backward0
            StackBackward0 TrilBackward0 TriuBackward0
        """,
    },
    "autograd_lab.torchlike.ops.convert": {
        "FUNCTIONS": """
            clone detach detach_ fill fill_ zero_
        """,
        "METHODS": """
            apply_ bool byte char clone contiguous copy_ cpu cuda dim_order double fill_ float get_device half
            int is_conj is_cpu is_cuda is_ipu is_meta is_mkldnn is_mps is_neg is_nested is_pinned is_quantized
            is_set_to is_shared is_sparse is_sparse_csr is_vulkan is_xpu layout long map2_ map_ new new_empty
            new_empty_strided new_full new_ones new_tensor new_zeros pin_memory share_memory_ short to
            to_dense type type_as zero_
        """,
        "PROPERTIES": """
            is_cpu is_cuda is_ipu is_meta is_mkldnn is_mps is_nested is_quantized is_sparse is_sparse_csr
            is_vulkan is_xpu layout
        """,
        "RULES": """
            FillBackward1 FillBackward3
        """,
    },
    "autograd_lab.torchlike.ops.convolution": {
        "FUNCTIONS": """
            affine_grid_generator conv_tbc grid_sampler grid_sampler_2d grid_sampler_3d
        """,
        "RULES": """
            AffineGridGeneratorBackward0 ChannelShuffleBackward0 Col2ImBackward0 ConstantPadNdBackward0
            ConvTbcBackward0 ConvolutionBackward0 ConvolutionBackwardBackward0 GridSampler2DBackward0
            GridSampler2DBackwardBackward0 GridSampler3DBackward0 GridSampler3DBackwardBackward0
            Im2ColBackward0 PixelShuffleBackward0 PixelUnshuffleBackward0 ReflectionPad1DBackward0
            ReflectionPad1DBackwardBackward0 ReflectionPad2DBackward0 ReflectionPad2DBackwardBackward0
            ReflectionPad3DBackward0 ReflectionPad3DBackwardBackward0 ReplicationPad1DBackward0
            ReplicationPad1DBackwardBackward0 ReplicationPad2DBackward0 ReplicationPad2DBackwardBackward0
            ReplicationPad3DBackward0 ReplicationPad3DBackwardBackward0 UpsampleBicubic2DAaBackward0
            UpsampleBicubic2DAaBackwardBackward0 UpsampleBicubic2DBackward0 UpsampleBicubic2DBackwardBackward0
            UpsampleBilinear2DAaBackward0 UpsampleBilinear2DAaBackwardBackward0 UpsampleBilinear2DBackward0
            UpsampleBilinear2DBackwardBackward0 UpsampleLanczos2DAaBackward0
            UpsampleLanczos2DAaBackwardBackward0 UpsampleLinear1DBackward0 UpsampleLinear1DBackwardBackward0
            UpsampleLinearBackward0 UpsampleLinearBackwardBackward0 UpsampleNearest1DBackward0
            UpsampleNearest1DBackwardBackward0 UpsampleNearest2DBackward0 UpsampleNearest2DBackwardBackward0
            UpsampleNearest3DBackward0 UpsampleNearest3DBackwardBackward0 UpsampleNearestBackward0
            UpsampleNearestExact1DBackward0 UpsampleNearestExact1DBackwardBackward0
            UpsampleNearestExact2DBackward0 UpsampleNearestExact2DBackwardBackward0
            UpsampleNearestExact3DBackward0 UpsampleNearestExact3DBackwardBackward0
            UpsampleTrilinear3DBackward0 UpsampleTrilinear3DBackwardBackward0 _ByPlace _NearestGradient
            _Resized _Unpadded
        """,
    },
    "autograd_lab.torchlike.ops.draws": {
        "FUNCTIONS": """
            bernoulli multinomial normal rand rand_like randint randint_like randn randn_like randperm
        """,
        "METHODS": """
            bernoulli bernoulli_ cauchy_ exponential_ geometric_ log_normal_ multinomial normal_ random_
            uniform_
        """,
        "RULES": """
            BernoulliBackward0 BernoulliBackward1 BernoulliBackward2 CauchyBackward0 DrawRule
            ExponentialBackward0 GeometricBackward0 LogNormalBackward0 NormalBackward0 NormalBackward1
            NormalBackward2 NormalBackward3 RandomBackward0 RandomBackward1 RandomBackward2 UniformBackward0
        """,
    },
    "autograd_lab.torchlike.ops.einsum": {
        "FUNCTIONS": """
            bilinear einsum
        """,
        "RULES": """
            TrilinearBackward0
        """,
    },
    "autograd_lab.torchlike.ops.embedding": {
        "FUNCTIONS": """
            alpha_dropout alpha_dropout_ dropout dropout_ embedding feature_alpha_dropout
            feature_alpha_dropout_ feature_dropout feature_dropout_
        """,
        "KERNELS": """
            dropout_mask kept
        """,
        "RULES": """
            EmbeddingBackward0 EmbeddingDenseBackwardBackward0
        """,
    },
    "autograd_lab.torchlike.ops.gather_scatter": {
        "FUNCTIONS": """
            argwhere diagonal_scatter gather index_add index_copy index_fill index_reduce index_select
            masked_fill masked_scatter masked_select nonzero put scatter scatter_add scatter_reduce
            select_scatter slice_scatter take take_along_dim unravel_index
        """,
        "METHODS": """
            argwhere diagonal_scatter gather index_add index_add_ index_copy index_copy_ index_fill
            index_fill_ index_reduce index_reduce_ index_select masked_fill masked_fill_ masked_scatter
            masked_scatter_ masked_select nonzero put put_ scatter scatter_ scatter_add scatter_add_
            scatter_reduce scatter_reduce_ select_scatter slice_scatter take take_along_dim
        """,
        "RULES": """
            DiagonalScatterBackward0 GatherBackward0 IndexAddBackward0 IndexCopyBackward0 IndexFillBackward0
            IndexFillBackward1 IndexReduceBackward0 IndexSelectBackward0 MaskedFillBackward0
            MaskedFillBackward1 MaskedScatterBackward0 MaskedScatterBackwardBackward0 MaskedSelectBackward0
            PutBackward0 ScatterAddBackward0 ScatterBackward0 ScatterBackward1 ScatterReduceBackward0
            SelectScatterBackward0 SliceScatterBackward0 TakeBackward0
        """,
    },
    "autograd_lab.torchlike.ops.general": {
        "RULES": """
            GeneralRule
        """,
    },
    "autograd_lab.torchlike.ops.incomplete": {
        "FUNCTIONS": """
            igamma igammac
        """,
        "METHODS": """
            igamma igamma_ igammac igammac_
        """,
        "RULES": """
            IgammaBackward0 IgammacBackward0
        """,
    },
    "autograd_lab.torchlike.ops.indexing": {
        "FUNCTIONS": """
            index_put
        """,
        "METHODS": """
            __delitem__ __getitem__ __setitem__ index_put index_put_
        """,
        "RULES": """
            IndexBackward0 IndexPutBackward0 IndexPutImplBackward0
        """,
    },
    "autograd_lab.torchlike.ops.linalg": {
        "FUNCTIONS": """
            cdist cholesky cholesky_inverse cholesky_solve cross det geqrf inverse linalg_matrix_norm logdet
            matrix_exp matrix_power orgqr pca_lowrank pdist pinverse qr slogdet svd svd_lowrank trace
            triangular_solve vander
        """,
        "METHODS": """
            cholesky cholesky_inverse cholesky_solve cross det geqrf inverse logdet matrix_exp matrix_power
            orgqr pinverse qr slogdet svd trace triangular_solve
        """,
        "RULES": """
            CdistBackward0 CdistBackwardBackward0 CholeskyBackward0 CholeskyInverseBackward0
            CholeskySolveBackward0 EuclideanDistBackward0 GeqrfBackward0 LinalgCholeskyExBackward0
            LinalgCrossBackward0 LinalgDetBackward0 LinalgEighBackward0 LinalgHouseholderProductBackward0
            LinalgInvExBackward0 LinalgLstsqBackward0 LinalgMatrixExpBackward0 LinalgPinvBackward0
            LinalgQrBackward0 LinalgSlogdetBackward0 LinalgSolveExBackward0 LinalgSolveTriangularBackward0
            LinalgSvdBackward0 PdistBackward0 PdistBackwardBackward0 TraceBackward0 TriangularSolveBackward0
            _Factored
        """,
    },
    "autograd_lab.torchlike.ops.losses": {
        "FUNCTIONS": """
            ctc_loss
        """,
        "RULES": """
            BinaryCrossEntropyBackward0 BinaryCrossEntropyBackwardBackward0
            BinaryCrossEntropyWithLogitsBackward0 CtcLossBackward0 HuberLossBackward0
            HuberLossBackwardBackward0 MseLossBackward0 MseLossBackwardBackward0 MultiMarginLossBackward0
            MultilabelMarginLossBackward0 NllLoss2DBackward0 NllLoss2DBackwardBackward0 NllLossBackward0
            NllLossBackwardBackward0 SmoothL1LossBackward0 SmoothL1LossBackwardBackward0
            SoftMarginLossBackward0 SoftMarginLossBackwardBackward0 _Gradient _Pointwise
        """,
    },
    "autograd_lab.torchlike.ops.lu": {
        "FUNCTIONS": """
            lu lu_solve lu_unpack
        """,
        "METHODS": """
            lu lu_solve
        """,
        "RULES": """
            LinalgLuBackward0 LinalgLuFactorExBackward0 LinalgLuSolveBackward0 LuUnpackBackward0
        """,
    },
    "autograd_lab.torchlike.ops.normalization": {
        "FUNCTIONS": """
            _weight_norm batch_norm group_norm instance_norm layer_norm norm_except_dim rms_norm
        """,
        "KERNELS": """
            moved_mean moved_var
        """,
        "RULES": """
            CrossMapLRN2dBackward NativeBatchNormBackward0 NativeBatchNormBackwardBackward0
            NativeGroupNormBackward0 NativeLayerNormBackward0 NativeLayerNormBackwardBackward0 NormBackward0
            WeightNormInterfaceBackward0
        """,
    },
    "autograd_lab.torchlike.ops.pointwise": {
        "FUNCTIONS": """
            abs abs_ acos acos_ acosh acosh_ asin asin_ asinh asinh_ atan atan_ atanh atanh_ ceil ceil_ cos
            cos_ cosh cosh_ deg2rad deg2rad_ digamma digamma_ erf erf_ erfc erfc_ erfinv erfinv_ exp2 exp2_
            exp_ expm1 expm1_ floor floor_ frac frac_ frexp i0 i0_ lgamma lgamma_ log10 log10_ log1p log1p_
            log2 log2_ log_ logit mvlgamma nan_to_num polygamma positive rad2deg rad2deg_ round round_ rsqrt
            rsqrt_ sgn sigmoid_ sign sign_ sin sin_ sinc sinc_ sinh sinh_ sqrt sqrt_ square tan tan_ tanh_
            trunc trunc_
        """,
        "METHODS": """
            abs abs_ acos acos_ acosh acosh_ asin asin_ asinh asinh_ atan atan_ atanh atanh_ ceil ceil_ cos
            cos_ cosh cosh_ deg2rad deg2rad_ digamma digamma_ erf erf_ erfc erfc_ erfinv erfinv_ exp2 exp2_
            exp_ expm1 expm1_ floor floor_ frac frac_ frexp i0 i0_ lgamma lgamma_ log10 log10_ log1p log1p_
            log2 log2_ log_ logit logit_ mvlgamma mvlgamma_ nan_to_num nan_to_num_ polygamma polygamma_
            positive rad2deg rad2deg_ round round_ rsqrt rsqrt_ sgn sgn_ sigmoid_ sign sign_ sin sin_ sinc
            sinc_ sinh sinh_ sqrt sqrt_ square square_ tan tan_ tanh_ trunc trunc_
        """,
        "RULES": """
            AbsBackward0 AcosBackward0 AcoshBackward0 AcoshBackward1 AsinBackward0 AsinhBackward0
            AsinhBackward1 AtanBackward0 AtanhBackward0 AtanhBackward1 CeilBackward0 CosBackward0
            CoshBackward0 Deg2RadBackward0 DigammaBackward0 ErfBackward0 ErfcBackward0 ErfinvBackward0
            Exp2Backward0 Expm1Backward0 Flat FloorBackward0 FracBackward0 FrexpBackward0 I0Backward0
            LgammaBackward0 Log10Backward0 Log1PBackward0 Log2Backward0 LogitBackward0 MvlgammaBackward0
            NanToNumBackward0 PolygammaBackward0 PolygammaBackward1 Rad2DegBackward0 RoundBackward0
            RoundBackward1 RsqrtBackward0 SgnBackward0 SigmoidBackwardBackward0 SignBackward0 SinBackward0
            SincBackward0 SinhBackward0 SpecialEntrBackward0 SpecialI1Backward0 SpecialLogNdtrBackward0
            SqrtBackward0 TanBackward0 TanhBackwardBackward0 TruncBackward0
        """,
    },
    "autograd_lab.torchlike.ops.pooling": {
        "FUNCTIONS": """
            adaptive_max_pool1d max_pool1d_with_indices
        """,
        "KERNELS": """
            window_samples
        """,
        "RULES": """
            AdaptiveAvgPool2DBackward0 AdaptiveAvgPool2DBackwardBackward0 AdaptiveAvgPool3DBackward0
            AdaptiveAvgPool3DBackwardBackward0 AdaptiveMaxPool2DBackward0 AdaptiveMaxPool2DBackwardBackward0
            AdaptiveMaxPool3DBackward0 AdaptiveMaxPool3DBackwardBackward0 Adjoint AvgPool2DBackward0
            AvgPool2DBackwardBackward0 AvgPool3DBackward0 AvgPool3DBackwardBackward0
            FractionalMaxPool2DBackward0 FractionalMaxPool2DBackwardBackward0 FractionalMaxPool3DBackward0
            FractionalMaxPool3DBackwardBackward0 MaxPool2DWithIndicesBackward0
            MaxPool2DWithIndicesBackwardBackward0 MaxPool3DWithIndicesBackward0
            MaxPool3DWithIndicesBackwardBackward0 MaxUnpool2DBackward0 MaxUnpool3DBackward0 _Winners
        """,
    },
    "autograd_lab.torchlike.ops.products": {
        "FUNCTIONS": """
            addbmm addmm addmv addr baddbmm bmm chain_matmul dot ger inner kron matmul mm mv outer spmm
            tensordot vdot
        """,
        "METHODS": """
            __matmul__ __rmatmul__ addbmm addbmm_ addmm addmm_ addmv addmv_ addr addr_ baddbmm baddbmm_ bmm
            dot ger inner kron matmul mm mv outer vdot
        """,
        "RULES": """
            AddbmmBackward0 AddmmBackward0 AddmvBackward0 AddrBackward0 BaddbmmBackward0 BmmBackward0
            DotBackward0 VdotBackward0
        """,
    },
    "autograd_lab.torchlike.ops.recurrent": {
        "FUNCTIONS": """
            gru gru_cell lstm lstm_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell
        """,
    },
    "autograd_lab.torchlike.ops.reductions": {
        "FUNCTIONS": """
            all amax amin aminmax any argmax argmin count_nonzero cummax cummin cumprod cumsum diff dist
            log_softmax logcumsumexp logsumexp max mean min nanmean nansum norm prod softmax std std_mean sum
            var var_mean
        """,
        "METHODS": """
            all amax amin aminmax any argmax argmin count_nonzero cummax cummin cumprod cumprod_ cumsum
            cumsum_ diff dist log_softmax logcumsumexp logsumexp max mean min nanmean nansum norm prod softmax
            std sum sum_to_size var
        """,
        "RULES": """
            AmaxBackward0 AminBackward0 AminmaxBackward0 CummaxBackward0 CumminBackward0 CumprodBackward0
            CumsumBackward0 DistBackward0 LinalgVectorNormBackward0 LogSoftmaxBackward0
            LogSoftmaxBackwardDataBackward0 LogcumsumexpBackward0 LogsumexpBackward0 MaxBackward0 MaxBackward1
            MeanBackward1 MinBackward0 MinBackward1 NansumBackward0 NormBackward1 ProdBackward0 ProdBackward1
            Reduction SafeSoftmaxBackward0 Selection SoftmaxBackward0 SoftmaxBackwardDataBackward0
            StdBackward0 StdMeanBackward0 VarBackward0 VarMeanBackward0
        """,
    },
    "autograd_lab.torchlike.ops.rule": {
        "FUNCTIONS": """
            exp log neg reciprocal relu sigmoid tanh
        """,
        "METHODS": """
            exp log mul neg reciprocal relu sigmoid tanh
        """,
        "RULES": """
            AddBackward0 CloneBackward0 CopyBackwards DivBackward0 ExpBackward0 ExpandBackward0 FillBackward0
            FillBackward2 LogBackward0 MaximumBackward0 MeanBackward0 MmBackward0 MulBackward0 MvBackward0
            NegBackward0 PowBackward0 ReciprocalBackward0 ReluBackward0 RsubBackward1 SelectBackward0
            SigmoidBackward0 SliceBackward0 SubBackward0 SumBackward0 SumBackward1 TBackward0 TanhBackward0
            ToCopyBackward0 TwoMatrices ViewBackward0 ZeroBackward0
        """,
    },
    "autograd_lab.torchlike.ops.samplers": {
        "FUNCTIONS": """
            _dirichlet_grad _sample_dirichlet _standard_gamma _standard_gamma_grad binomial poisson
        """,
        "RULES": """
            PoissonBackward0 StandardGammaBackward0 StandardGammaGradBackward0
        """,
    },
    "autograd_lab.torchlike.ops.scalars": {
        "RULES": """
            AddBackward1 DivBackward1 MulBackward1 SubBackward1
        """,
    },
    "autograd_lab.torchlike.ops.shapes": {
        "FUNCTIONS": """
            adjoint broadcast_shapes broadcast_tensors broadcast_to flatten moveaxis movedim numel permute
            ravel reshape resize_as_ squeeze swapaxes swapdims t transpose unflatten unsqueeze
        """,
        "METHODS": """
            H T _cdata _grad _storage_offset adjoint broadcast_to data_ptr dim element_size expand expand_as
            flatten imag is_contiguous is_same_size itemsize mH mT moveaxis movedim nbytes ndimension nelement
            numel permute ravel real reshape reshape_as resize_ resize_as_ set_ size squeeze squeeze_ storage
            storage_offset stride swapaxes swapaxes_ swapdims swapdims_ t t_ transpose transpose_ unflatten
            unsqueeze unsqueeze_ untyped_storage view view_as
        """,
        "PROPERTIES": """
            H T _cdata _grad imag itemsize mH mT nbytes real
        """,
        "RULES": """
            PermuteBackward0 ReshapeAliasBackward0 ShapeRule SqueezeBackward0 SqueezeBackward1
            SqueezeBackward2 SqueezeBackward3 SqueezeBackward4 SqueezeBackward5 TBackward1 TransposeBackward0
            TransposeBackward1 UnsafeViewBackward0 UnsqueezeBackward0 UnsqueezeBackward1
        """,
    },
    "autograd_lab.torchlike.ops.slicing": {
        "FUNCTIONS": """
            as_strided as_strided_ as_strided_scatter chunk diag diag_embed diagflat diagonal dsplit hsplit
            narrow select split split_with_sizes tensor_split unbind unsafe_chunk unsafe_split
            unsafe_split_with_sizes vsplit
        """,
        "METHODS": """
            __iter__ as_strided as_strided_ as_strided_scatter chunk diag diag_embed diagflat diagonal dsplit
            fill_diagonal_ hsplit narrow select split split_with_sizes tensor_split unbind unfold unsafe_chunk
            unsafe_split unsafe_split_with_sizes vsplit
        """,
        "RULES": """
            AliasBackward0 AsStridedBackward0 AsStridedBackward1 AsStridedScatterBackward0 DiagEmbedBackward0
            DiagonalBackward0 DiagonalBackward0_copy DiagonalBackwardBackward0 SelectBackwardBackward0
            SliceBackwardBackward0 SplitBackward0 SplitWithSizesBackward0 UnbindBackward0 UnfoldBackward0
            UnfoldBackwardBackward0 UnsafeSplitBackward0 UnsafeSplitWithSizesBackward0
        """,
    },
    "autograd_lab.torchlike.ops.sorting": {
        "FUNCTIONS": """
            argsort bincount bucketize histc histogram isin kthvalue median mode msort nanmedian nanquantile
            quantile searchsorted sort topk unique unique_consecutive
        """,
        "METHODS": """
            argsort bincount histc histogram isin kthvalue median mode msort nanmedian nanquantile quantile
            searchsorted sort topk unique unique_consecutive
        """,
        "RULES": """
            KthvalueBackward0 MedianBackward0 MedianBackward1 ModeBackward0 NanmedianBackward0
            NanmedianBackward1 Ordering SortBackward0 SortBackward1 TopkBackward0 Unique2Backward0
            UniqueConsecutiveBackward0 UniqueDimBackward0
        """,
    },
    "autograd_lab.torchlike.ops.statistics": {
        "FUNCTIONS": """
            addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ clamp_ clamp_max_ clamp_min_ clip_ conj
            corrcoef cov cumulative_trapezoid fix_ gradient index_put_ is_signed ldexp_ logit_ nan_to_num_
            negative_ real renorm resolve_conj resolve_neg square_ trapezoid trapz xlogy_
        """,
        "METHODS": """
            conj conj_physical corrcoef cov is_signed renorm renorm_ resolve_conj resolve_neg
        """,
        "RULES": """
            RenormBackward0
        """,
    },
    "autograd_lab.torchlike.ops.windows": {
        "FUNCTIONS": """
            bartlett_window blackman_window hamming_window hann_window kaiser_window
        """,
    },
    "autograd_lab.torchlike.tensor": {
        "FUNCTIONS": """
            is_inference
        """,
    },
}
"""{a module: {a book: what the module enters in it}}; of those in METHODS, which are properties."""

NAMES = {
    "": {
        "amp": "",
        "checks": "",
        "linalg": "",
        "machine": "",
        "nn": "",
        "ops.shapes": """
            TypedStorage UntypedStorage
        """,
        "optim": "",
        "serialization": """
            load save
        """,
        "special": "",
        "utils": "",
    },
    "nn": {
        "activation": """
            CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish
            PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmax2d Softmin Softplus Softshrink Softsign
            Tanh Tanhshrink Threshold
        """,
        "adaptive": """
            AdaptiveLogSoftmaxWithLoss
        """,
        "attention": """
            MultiheadAttention Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder
            TransformerEncoderLayer
        """,
        "containers": """
            Container ModuleDict ModuleList ParameterDict ParameterList Sequential
        """,
        "functional": "",
        "grad": "",
        "hooks": "",
        "init": "",
        "lazy": """
            LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d
            LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d
            LazyInstanceNorm3d LazyLinear
        """,
        "module": """
            Module
        """,
        "modules": """
            AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d
            AdaptiveMaxPool3d AlphaDropout AvgPool1d AvgPool2d AvgPool3d BCELoss BCEWithLogitsLoss BatchNorm1d
            BatchNorm2d BatchNorm3d Bilinear CTCLoss ChannelShuffle CircularPad1d CircularPad2d CircularPad3d
            ConstantPad1d ConstantPad2d ConstantPad3d Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d
            ConvTranspose3d CosineEmbeddingLoss CosineSimilarity CrossEntropyLoss CrossMapLRN2d Dropout
            Dropout1d Dropout2d Dropout3d Embedding EmbeddingBag FeatureAlphaDropout Flatten Fold
            FractionalMaxPool2d FractionalMaxPool3d GRUCell GaussianNLLLoss GroupNorm HingeEmbeddingLoss
            HuberLoss Identity InstanceNorm1d InstanceNorm2d InstanceNorm3d KLDivLoss L1Loss LPPool1d LPPool2d
            LPPool3d LSTMCell LayerNorm Linear LinearCrossEntropyLoss LocalResponseNorm MSELoss
            MarginRankingLoss MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d
            MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss NLLLoss2d PairwiseDistance
            PixelShuffle PixelUnshuffle PoissonNLLLoss RMSNorm RNNCell RNNCellBase ReflectionPad1d
            ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d SmoothL1Loss
            SoftMarginLoss SyncBatchNorm TripletMarginLoss TripletMarginWithDistanceLoss Unflatten Unfold
            Upsample UpsamplingBilinear2d UpsamplingNearest2d ZeroPad1d ZeroPad2d ZeroPad3d
        """,
        "parallel": """
            DataParallel
        """,
        "parameter": """
            Buffer Parameter UninitializedBuffer UninitializedParameter
        """,
        "recurrent": """
            GRU LSTM RNN RNNBase
        """,
        "utils": "",
    },
    "optim": {
        "further": """
            ASGD Adafactor NAdam RAdam Rprop
        """,
        "lbfgs": """
            LBFGS
        """,
        "lr_scheduler": "",
        "muon": """
            Muon
        """,
        "optimizer": """
            Optimizer
        """,
        "optimizers": """
            Adadelta Adagrad Adam AdamW Adamax RMSprop SGD
        """,
        "swa_utils": "",
    },
}
"""{a package: {a module inside it: the names that the package has from it}}"""

LISTED = {
    "checks": """
        _assert _check _check_index _check_is_size _check_not_implemented _check_tensor_all
        _check_tensor_all_with _check_type _check_value _check_with
    """,
    "machine": """
        Event ScriptModule Stream _C __config__ _dynamo accelerator amp autocast backends cpu cuda distributed
        get_device_module get_float32_matmul_precision is_autocast_enabled jit mps onnx
        set_float32_matmul_precision types version xpu
    """,
}
"""{a module: what it has in NAMES for the torch-like namespace}"""

MODULES = """
    _C _C._nn __config__ _dynamo _dynamo._trace_wrapped_higher_order_op accelerator backends backends.cuda
    backends.cuda.matmul backends.cudnn backends.mkl backends.mkldnn backends.mps backends.openmp
    backends.opt_einsum cpu cuda cuda.amp cuda.nvtx distributed distributed.nn jit mps onnx types
    utils.flop_counter version xpu
"""
"""The modules that world/devices.py makes."""
