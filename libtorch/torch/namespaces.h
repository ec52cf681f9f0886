// The namespaces torch, at and c10. Each has a using-declaration for every public name of tandem, and torch has the
// namespaces below tandem, too. A program can therefore reopen them: `namespace torch::nn { ... }` adds the program's
// own declarations. (With a using-directive instead, `using namespace torch` would make `nn` ambiguous.)
// Written by ci/libtorch_namespaces.py; a check holds that no name is missing.
#pragma once

// clang-format off
#define TANDEM_NAMES_root(X) \
  X(ArrayRef) X(AutoDefaultDtypeMode) X(AutoGradMode) X(AutocastGuard) X(BFloat16) X(Backend) X(CheckpointManager) \
  X(CheckpointOptions) X(Context) X(CppTypeToScalarType) X(CudaError) X(DType) X(DataPtr) X(DefaultPtrTraits) \
  X(DeprecatedTypeProperties) X(Device) X(DeviceType) X(DeviceTypeName) X(Dict) X(Dtype) X(EnableGradGuard) X(Error) \
  X(ExpandingArray) X(Generator) X(GeneratorGuard) X(GenericPackedTensorAccessor) X(GradMode) X(Graph) X(Half) \
  X(IValue) X(IndexError) X(InferenceMode) X(IntArrayRef) X(InterpolationMode) X(Layout) X(LinAlgError) X(List) \
  X(MemoryFormat) X(MemoryStats) X(NamedTensors) X(NoGradGuard) X(NotImplementedError) X(OptionalArrayRef) \
  X(OptionalIntArrayRef) X(OrderedDict) X(OutOfMemoryError) X(PackedTensorAccessor32) X(PackedTensorAccessor64) \
  X(PaddingMode) X(Reduction) X(RestrictPtrTraits) X(SafetensorsMetadata) X(Scalar) X(ScalarType) X(Storage) \
  X(TempDir) X(TempFile) X(Tensor) X(TensorAccessor) X(TensorBase) X(TensorList) X(TensorOptions) X(TensorTree) \
  X(TraceEvent) X(TraceSpan) X(TraceTensor) X(Warning) X(WarningHandler) X(_unique2) X(abs) X(abs_) X(abs_out) \
  X(absolute) X(absolute_) X(absolute_out) X(acos) X(acos_) X(acos_out) X(acosh) X(acosh_) X(acosh_out) \
  X(adaptive_avg_pool1d) X(adaptive_avg_pool1d_out) X(adaptive_avg_pool2d) X(adaptive_avg_pool2d_out) \
  X(adaptive_avg_pool3d) X(adaptive_avg_pool3d_out) X(adaptive_max_pool1d) X(adaptive_max_pool2d) \
  X(adaptive_max_pool2d_out) X(adaptive_max_pool3d) X(adaptive_max_pool3d_out) X(add) X(add_out) X(addbmm) \
  X(addbmm_out) X(addcdiv) X(addcdiv_out) X(addcmul) X(addcmul_out) X(addmm) X(addmm_out) X(addmv) X(addmv_) \
  X(addmv_out) X(addr) X(addr_out) X(adjoint) X(affine_grid_generator) X(affine_grid_generator_out) X(alias) \
  X(alias_copy) X(alias_copy_out) X(all) X(all_out) X(allclose) X(alpha_dropout) X(alpha_dropout_) X(amax) \
  X(amax_out) X(amin) X(amin_out) X(aminmax) X(aminmax_out) X(angle) X(angle_out) X(any) X(any_out) X(arange) \
  X(arange_out) X(arccos) X(arccos_) X(arccos_out) X(arccosh) X(arccosh_) X(arccosh_out) X(arcsin) X(arcsin_) \
  X(arcsin_out) X(arcsinh) X(arcsinh_) X(arcsinh_out) X(arctan) X(arctan2) X(arctan2_out) X(arctan_) X(arctan_out) \
  X(arctanh) X(arctanh_) X(arctanh_out) X(are_deterministic_algorithms_enabled) X(argmax) X(argmax_out) X(argmin) \
  X(argmin_out) X(argsort) X(argsort_out) X(argwhere) X(as_strided) X(as_strided_) X(as_strided_copy) \
  X(as_strided_copy_out) X(as_strided_scatter) X(as_strided_scatter_out) X(asin) X(asin_) X(asin_out) X(asinh) \
  X(asinh_) X(asinh_out) X(atan) X(atan2) X(atan2_out) X(atan_) X(atan_out) X(atanh) X(atanh_) X(atanh_out) \
  X(atleast_1d) X(atleast_2d) X(atleast_3d) X(avg_pool1d) X(avg_pool1d_out) X(avg_pool2d) X(avg_pool2d_out) \
  X(avg_pool3d) X(avg_pool3d_out) X(backendToDeviceType) X(baddbmm) X(baddbmm_out) X(bartlett_window) \
  X(bartlett_window_out) X(batch_norm) X(bernoulli) X(bernoulli_out) X(bilinear) X(binary_cross_entropy) \
  X(binary_cross_entropy_out) X(binary_cross_entropy_with_logits) X(binary_cross_entropy_with_logits_out) X(bincount) \
  X(bincount_out) X(binomial) X(binomial_out) X(bitwise_and) X(bitwise_and_out) X(bitwise_left_shift) \
  X(bitwise_left_shift_out) X(bitwise_not) X(bitwise_not_) X(bitwise_not_out) X(bitwise_or) X(bitwise_or_out) \
  X(bitwise_right_shift) X(bitwise_right_shift_out) X(bitwise_xor) X(bitwise_xor_out) X(blackman_window) \
  X(blackman_window_out) X(block_diag) X(block_diag_out) X(bmm) X(bmm_out) X(broadcast_tensors) X(broadcast_to) \
  X(bucketize) X(bucketize_out) X(can_cast) X(cartesian_prod) X(cat) X(cat_out) X(cauchy) X(cauchy_out) X(cdist) \
  X(ceil) X(ceil_) X(ceil_out) X(celu) X(celu_) X(celu_out) X(chain_matmul) X(chain_matmul_out) X(channel_shuffle) \
  X(channel_shuffle_out) X(cholesky_inverse) X(cholesky_inverse_out) X(cholesky_solve) X(cholesky_solve_out) X(chunk) \
  X(clamp) X(clamp_) X(clamp_max) X(clamp_max_) X(clamp_max_out) X(clamp_min) X(clamp_min_) X(clamp_min_out) \
  X(clamp_out) X(clip) X(clip_) X(clip_out) X(clone) X(clone_out) X(col2im) X(col2im_out) X(column_stack) \
  X(column_stack_out) X(combinations) X(concat) X(concat_out) X(concatenate) X(concatenate_out) X(conj) \
  X(conj_physical) X(conj_physical_) X(conj_physical_out) X(constant_pad_nd) X(constant_pad_nd_out) X(conv1d) \
  X(conv2d) X(conv3d) X(conv_tbc) X(conv_tbc_out) X(conv_transpose1d) X(conv_transpose2d) X(conv_transpose3d) \
  X(convolution) X(convolution_out) X(copy) X(copy_out) X(copysign) X(copysign_out) X(corrcoef) X(cos) X(cos_) \
  X(cos_out) X(cosh) X(cosh_) X(cosh_out) X(cosine_embedding_loss) X(cosine_similarity) X(count_nonzero) \
  X(count_nonzero_out) X(cov) X(cpu_device_count) X(cross) X(cross_entropy) X(cross_entropy_loss) X(cross_out) \
  X(ctc_loss) X(cummax) X(cummax_out) X(cummin) X(cummin_out) X(cumprod) X(cumprod_out) X(cumsum) X(cumsum_out) \
  X(cumulative_trapezoid) X(default_generator) X(deg2rad) X(deg2rad_) X(deg2rad_out) X(det) X(detach) X(detach_) \
  X(detach_copy) X(detach_copy_out) X(device) X(deviceTypeToBackend) X(device_count) X(diag) X(diag_embed) \
  X(diag_embed_out) X(diag_out) X(diagflat) X(diagonal) X(diagonal_copy) X(diagonal_copy_out) X(diagonal_scatter) \
  X(diagonal_scatter_out) X(diff) X(diff_out) X(digamma) X(digamma_) X(digamma_out) X(dist) X(dist_out) X(div) \
  X(div_out) X(divide) X(divide_out) X(dot) X(dot_out) X(dropout) X(dropout2d) X(dropout_) X(dsplit) X(dstack) \
  X(dstack_out) X(dtype) X(einsum) X(elementSize) X(elu) X(elu_) X(elu_out) X(embedding) X(embedding_out) \
  X(embedding_renorm) X(embedding_renorm_) X(embedding_renorm_out) X(empty) X(empty_cache) X(empty_like) \
  X(empty_like_out) X(empty_out) X(empty_permuted) X(empty_permuted_out) X(empty_strided) X(empty_strided_out) X(eq) \
  X(eq_out) X(equal) X(erf) X(erf_) X(erf_out) X(erfc) X(erfc_) X(erfc_out) X(erfinv) X(erfinv_) X(erfinv_out) X(exp) \
  X(exp2) X(exp2_) X(exp2_out) X(exp_) X(exp_out) X(expand_copy) X(expand_copy_out) X(expm1) X(expm1_) X(expm1_out) \
  X(exponential) X(exponential_out) X(eye) X(eye_out) X(feature_alpha_dropout) X(feature_alpha_dropout_) \
  X(feature_dropout) X(feature_dropout_) X(fill) X(fill_) X(fill_out) X(fix) X(fix_) X(fix_out) X(flatten) \
  X(flatten_dense_tensors) X(flip) X(flip_out) X(fliplr) X(flipud) X(float_power) X(float_power_out) X(floor) \
  X(floor_) X(floor_divide) X(floor_divide_out) X(floor_out) X(fmax) X(fmax_out) X(fmin) X(fmin_out) X(fmod) \
  X(fmod_out) X(frac) X(frac_) X(frac_out) X(fractional_max_pool2d) X(fractional_max_pool2d_out) \
  X(fractional_max_pool3d) X(fractional_max_pool3d_out) X(frexp) X(frexp_out) X(frobenius_norm) X(frobenius_norm_out) \
  X(from_blob) X(full) X(full_like) X(full_like_out) X(full_out) X(gather) X(gather_out) X(gaussian_nll_loss) X(gcd) \
  X(gcd_) X(gcd_out) X(ge) X(ge_out) X(gelu) X(gelu_) X(gelu_out) X(geometric) X(geometric_out) X(geqrf) X(geqrf_out) \
  X(ger) X(ger_out) X(getDeprecatedTypeProperties) X(getNumGPUs) X(get_default_dtype) \
  X(get_default_dtype_as_scalartype) X(get_float32_matmul_precision) X(get_num_interop_threads) X(get_num_threads) \
  X(globalContext) X(glu) X(glu_out) X(gradient) X(greater) X(greater_equal) X(greater_equal_out) X(greater_out) \
  X(grid_sampler) X(grid_sampler_2d) X(grid_sampler_2d_out) X(grid_sampler_3d) X(grid_sampler_3d_out) X(group_norm) \
  X(gru_cell) X(gt) X(gt_out) X(hamming_window) X(hamming_window_out) X(hann_window) X(hann_window_out) X(hardshrink) \
  X(hardshrink_out) X(hardsigmoid) X(hardsigmoid_) X(hardsigmoid_out) X(hardswish) X(hardswish_) X(hardswish_out) \
  X(hardtanh) X(hardtanh_) X(hardtanh_out) X(hasCUDA) X(hasLAPACK) X(hasMKL) X(hasMPS) X(hasOpenMP) X(heaviside) \
  X(heaviside_out) X(hinge_embedding_loss) X(histc) X(histc_out) X(histogram) X(histogram_out) X(hsplit) X(hstack) \
  X(hstack_out) X(huber_loss) X(huber_loss_out) X(hypot) X(hypot_out) X(i0) X(i0_) X(i0_out) X(igamma) X(igamma_out) \
  X(igammac) X(igammac_out) X(im2col) X(im2col_out) X(index) X(index_add) X(index_add_out) X(index_copy) \
  X(index_copy_out) X(index_fill) X(index_fill_out) X(index_out) X(index_put) X(index_put_) X(index_put_out) \
  X(index_reduce) X(index_reduce_out) X(index_select) X(index_select_out) X(inner) X(inner_out) X(instance_norm) \
  X(inverse) X(inverse_out) X(irange) X(isComplexType) X(isFloatingType) X(isIntegralType) X(isReducedFloatingType) \
  X(isSignedType) X(is_complex) X(is_conj) X(is_distributed) X(is_floating_point) X(is_grad_enabled) X(is_hip) \
  X(is_hpu) X(is_inference) X(is_ipu) X(is_lazy) X(is_maia) X(is_meta) X(is_metal) X(is_mkldnn) X(is_mps) X(is_mtia) \
  X(is_neg) X(is_nested) X(is_nonzero) X(is_privateuseone) X(is_quantized) X(is_same_size) X(is_signed) X(is_sparse) \
  X(is_sparse_csr) X(is_ve) X(is_vulkan) X(is_xla) X(is_xpu) X(isclose) X(isfinite) X(isin) X(isin_out) X(isinf) \
  X(isinf_out) X(isnan) X(isnan_out) X(isneginf) X(isneginf_out) X(isposinf) X(isposinf_out) X(isreal) X(kArea) \
  X(kBFloat16) X(kBatchMean) X(kBicubic) X(kBilinear) X(kBool) X(kBorder) X(kByte) X(kCPU) X(kCUDA) X(kChannelsLast) \
  X(kChar) X(kCircular) X(kConstant) X(kContiguous) X(kConv1D) X(kConv2D) X(kConv3D) X(kConvTranspose1D) \
  X(kConvTranspose2D) X(kConvTranspose3D) X(kDouble) X(kF32) X(kF64) X(kFanIn) X(kFanOut) X(kFloat) X(kFloat16) \
  X(kFloat32) X(kFloat64) X(kGELU) X(kHalf) X(kInt) X(kInt16) X(kInt32) X(kInt64) X(kInt8) X(kLeakyReLU) X(kLinear) \
  X(kLong) X(kMax) X(kMean) X(kNearest) X(kNearestExact) X(kNone) X(kPreserve) X(kReLU) X(kReflect) X(kReflection) \
  X(kReplicate) X(kSame) X(kShort) X(kSigmoid) X(kStrided) X(kSum) X(kTanh) X(kTrilinear) X(kUInt8) X(kValid) \
  X(kZeros) X(kaiser_window) X(kaiser_window_out) X(kl_div) X(kron) X(kron_out) X(kthvalue) X(kthvalue_out) \
  X(l1_loss) X(layer_norm) X(layout) X(lcm) X(lcm_) X(lcm_out) X(ldexp) X(ldexp_) X(ldexp_out) X(le) X(le_out) \
  X(leaky_relu) X(leaky_relu_) X(leaky_relu_out) X(lerp) X(lerp_out) X(less) X(less_equal) X(less_equal_out) \
  X(less_out) X(lgamma) X(lgamma_) X(lgamma_out) X(lift) X(lift_fresh) X(lift_fresh_copy) X(lift_fresh_copy_out) \
  X(linalg_cholesky) X(linalg_cholesky_ex) X(linalg_cholesky_ex_out) X(linalg_cholesky_out) X(linalg_cond) \
  X(linalg_cond_out) X(linalg_cross) X(linalg_cross_out) X(linalg_det) X(linalg_det_out) X(linalg_diagonal) \
  X(linalg_eig) X(linalg_eigh) X(linalg_eigh_out) X(linalg_eigvals) X(linalg_eigvalsh) X(linalg_eigvalsh_out) \
  X(linalg_householder_product) X(linalg_householder_product_out) X(linalg_inv) X(linalg_inv_ex) X(linalg_inv_ex_out) \
  X(linalg_inv_out) X(linalg_lstsq) X(linalg_lu) X(linalg_lu_factor) X(linalg_lu_factor_ex) \
  X(linalg_lu_factor_ex_out) X(linalg_lu_factor_out) X(linalg_lu_out) X(linalg_lu_solve) X(linalg_lu_solve_out) \
  X(linalg_matmul) X(linalg_matmul_out) X(linalg_matrix_exp) X(linalg_matrix_exp_out) X(linalg_matrix_norm) \
  X(linalg_matrix_norm_out) X(linalg_matrix_power) X(linalg_matrix_power_out) X(linalg_matrix_rank) \
  X(linalg_matrix_rank_out) X(linalg_multi_dot) X(linalg_multi_dot_out) X(linalg_norm) X(linalg_norm_out) \
  X(linalg_pinv) X(linalg_pinv_out) X(linalg_qr) X(linalg_qr_out) X(linalg_slogdet) X(linalg_slogdet_out) \
  X(linalg_solve) X(linalg_solve_ex) X(linalg_solve_ex_out) X(linalg_solve_out) X(linalg_solve_triangular) \
  X(linalg_solve_triangular_out) X(linalg_svd) X(linalg_svd_out) X(linalg_svdvals) X(linalg_svdvals_out) \
  X(linalg_tensorinv) X(linalg_tensorinv_out) X(linalg_tensorsolve) X(linalg_tensorsolve_out) X(linalg_vander) \
  X(linalg_vecdot) X(linalg_vecdot_out) X(linalg_vector_norm) X(linalg_vector_norm_out) X(linear) X(linear_out) \
  X(linspace) X(linspace_out) X(load) X(load_module) X(load_safetensors) X(log) X(log10) X(log10_) X(log10_out) \
  X(log1p) X(log1p_) X(log1p_out) X(log2) X(log2_) X(log2_out) X(log_) X(log_normal) X(log_normal_out) X(log_out) \
  X(log_sigmoid) X(log_sigmoid_out) X(log_softmax) X(log_softmax_out) X(logaddexp) X(logaddexp2) X(logaddexp2_out) \
  X(logaddexp_out) X(logcumsumexp) X(logcumsumexp_out) X(logdet) X(logical_and) X(logical_and_out) X(logical_not) \
  X(logical_not_) X(logical_not_out) X(logical_or) X(logical_or_out) X(logical_xor) X(logical_xor_out) X(logit) \
  X(logit_) X(logit_out) X(logspace) X(logspace_out) X(logsumexp) X(logsumexp_out) X(lstm_cell) X(lt) X(lt_out) \
  X(lu_solve) X(lu_solve_out) X(lu_unpack) X(lu_unpack_out) X(make_tempdir) X(make_tempfile) X(manual_seed) \
  X(margin_ranking_loss) X(masked_fill) X(masked_fill_out) X(masked_scatter) X(masked_scatter_out) X(masked_select) \
  X(masked_select_out) X(matmul) X(matmul_out) X(matrix_exp) X(matrix_power) X(matrix_power_out) X(max) X(max_out) \
  X(max_pool1d) X(max_pool1d_with_indices) X(max_pool2d) X(max_pool2d_with_indices) X(max_pool2d_with_indices_out) \
  X(max_pool3d) X(max_pool3d_with_indices) X(max_pool3d_with_indices_out) X(max_unpool2d) X(max_unpool2d_out) \
  X(max_unpool3d) X(max_unpool3d_out) X(maximum) X(maximum_out) X(mean) X(mean_out) X(median) X(median_out) \
  X(memory_format) X(memory_stats) X(meshgrid) X(min) X(min_out) X(minimum) X(minimum_out) X(mish) X(mish_) \
  X(mish_out) X(mm) X(mm_out) X(mode) X(mode_out) X(moveaxis) X(movedim) X(mse_loss) X(mse_loss_out) X(msort) \
  X(msort_out) X(mul) X(mul_out) X(multi_margin_loss) X(multi_margin_loss_out) X(multilabel_margin_loss) \
  X(multilabel_margin_loss_out) X(multinomial) X(multinomial_out) X(multiply) X(multiply_out) X(mv) X(mv_out) \
  X(mvlgamma) X(mvlgamma_out) X(nan_to_num) X(nan_to_num_) X(nan_to_num_out) X(nanmean) X(nanmean_out) X(nanmedian) \
  X(nanmedian_out) X(nanquantile) X(nanquantile_out) X(nansum) X(nansum_out) X(narrow) X(narrow_copy) \
  X(narrow_copy_out) X(native_batch_norm) X(native_batch_norm_out) X(native_channel_shuffle) X(native_dropout) \
  X(native_dropout_out) X(native_group_norm) X(native_group_norm_out) X(native_layer_norm) X(native_layer_norm_out) \
  X(ne) X(ne_out) X(neg) X(neg_) X(neg_out) X(negative) X(negative_) X(negative_out) X(nextafter) X(nextafter_out) \
  X(nll_loss) X(nll_loss2d) X(nll_loss2d_out) X(nll_loss_nd) X(nll_loss_out) X(nonzero) X(nonzero_numpy) \
  X(nonzero_out) X(nonzero_static) X(nonzero_static_out) X(norm) X(norm_except_dim) X(norm_out) X(normal) \
  X(normal_out) X(not_equal) X(not_equal_out) X(nuclear_norm) X(nuclear_norm_out) X(nullopt) X(numel) X(one_hot) \
  X(ones) X(ones_like) X(ones_like_out) X(ones_out) X(optional) X(orgqr) X(orgqr_out) X(ormqr) X(ormqr_out) X(outer) \
  X(outer_out) X(pad) X(pad_sequence) X(pairwise_distance) X(parallel_for) X(parallel_reduce) X(pdist) X(permute) \
  X(permute_copy) X(permute_copy_out) X(pickle_load) X(pickle_save) X(pinned_memory) X(pinverse) X(pixel_shuffle) \
  X(pixel_shuffle_out) X(pixel_unshuffle) X(pixel_unshuffle_out) X(poisson) X(poisson_nll_loss) X(poisson_out) \
  X(polygamma) X(polygamma_out) X(positive) X(pow) X(pow_out) X(prelu) X(print) X(prod) X(prod_out) X(promote_types) \
  X(put) X(put_out) X(quantile) X(quantile_out) X(rad2deg) X(rad2deg_) X(rad2deg_out) X(rand) X(rand_like) \
  X(rand_like_out) X(rand_out) X(randint) X(randint_like) X(randint_like_out) X(randint_out) X(randn) X(randn_like) \
  X(randn_like_out) X(randn_out) X(random) X(random_out) X(randperm) X(randperm_out) X(range) X(range_out) X(ravel) \
  X(real) X(reciprocal) X(reciprocal_) X(reciprocal_out) X(reflection_pad1d) X(reflection_pad1d_out) \
  X(reflection_pad2d) X(reflection_pad2d_out) X(reflection_pad3d) X(reflection_pad3d_out) X(relu) X(relu6) X(relu6_) \
  X(relu_) X(relu_out) X(remainder) X(remainder_out) X(renorm) X(renorm_out) X(repeat_interleave) \
  X(repeat_interleave_out) X(repeat_out) X(replication_pad1d) X(replication_pad1d_out) X(replication_pad2d) \
  X(replication_pad2d_out) X(replication_pad3d) X(replication_pad3d_out) X(requires_grad) X(reset_peak_memory_stats) \
  X(reshape) X(resize) X(resize_) X(resize_as) X(resize_as_) X(resize_as_out) X(resize_out) X(resolve_conj) \
  X(resolve_neg) X(result_type) X(rms_norm) X(rnn_relu_cell) X(rnn_tanh_cell) X(roll) X(roll_out) X(rot90) \
  X(rot90_out) X(round) X(round_) X(round_out) X(row_stack) X(row_stack_out) X(rrelu) X(rrelu_) X(rsqrt) X(rsqrt_) \
  X(rsqrt_out) X(rsub) X(rsub_out) X(save) X(save_module) X(save_safetensors) X(scalarTypeToTypeMeta) \
  X(scalar_tensor) X(scalar_tensor_out) X(scalar_value_type) X(scaled_dot_product_attention) X(scatter) \
  X(scatter_add) X(scatter_add_out) X(scatter_out) X(scatter_reduce) X(scatter_reduce_out) X(searchsorted) \
  X(searchsorted_out) X(select) X(select_copy) X(select_copy_out) X(select_scatter) X(select_scatter_out) X(selu) \
  X(selu_) X(set_cpu_device_count) X(set_default_dtype) X(set_float32_matmul_precision) X(set_num_interop_threads) \
  X(set_num_threads) X(sgn) X(sgn_) X(sgn_out) X(sigmoid) X(sigmoid_) X(sigmoid_out) X(sign) X(sign_) X(sign_out) \
  X(signbit) X(signbit_out) X(silu) X(silu_) X(silu_out) X(sin) X(sin_) X(sin_out) X(sinc) X(sinc_) X(sinc_out) \
  X(sinh) X(sinh_) X(sinh_out) X(size) X(slice) X(slice_copy) X(slice_copy_out) X(slice_scatter) X(slice_scatter_out) \
  X(slogdet) X(slogdet_out) X(smooth_l1_loss) X(smooth_l1_loss_out) X(soft_margin_loss) X(soft_margin_loss_out) \
  X(softmax) X(softmax_out) X(softplus) X(softplus_out) X(softshrink) X(softshrink_out) X(softsign) X(softsign_) \
  X(softsign_out) X(sort) X(sort_out) X(special_airy_ai) X(special_airy_ai_out) X(special_bessel_j0) \
  X(special_bessel_j0_out) X(special_bessel_j1) X(special_bessel_j1_out) X(special_bessel_y0) \
  X(special_bessel_y0_out) X(special_bessel_y1) X(special_bessel_y1_out) X(special_chebyshev_polynomial_t) \
  X(special_chebyshev_polynomial_t_out) X(special_chebyshev_polynomial_u) X(special_chebyshev_polynomial_u_out) \
  X(special_chebyshev_polynomial_v) X(special_chebyshev_polynomial_v_out) X(special_chebyshev_polynomial_w) \
  X(special_chebyshev_polynomial_w_out) X(special_digamma) X(special_digamma_out) X(special_entr) X(special_entr_out) \
  X(special_erf) X(special_erf_out) X(special_erfc) X(special_erfc_out) X(special_erfcx) X(special_erfcx_out) \
  X(special_erfinv) X(special_erfinv_out) X(special_exp2) X(special_exp2_out) X(special_expit) X(special_expit_out) \
  X(special_expm1) X(special_expm1_out) X(special_gammainc) X(special_gammainc_out) X(special_gammaincc) \
  X(special_gammaincc_out) X(special_gammaln) X(special_gammaln_out) X(special_hermite_polynomial_h) \
  X(special_hermite_polynomial_h_out) X(special_hermite_polynomial_he) X(special_hermite_polynomial_he_out) \
  X(special_i0) X(special_i0_out) X(special_i0e) X(special_i0e_out) X(special_i1) X(special_i1_out) X(special_i1e) \
  X(special_i1e_out) X(special_laguerre_polynomial_l) X(special_laguerre_polynomial_l_out) \
  X(special_legendre_polynomial_p) X(special_legendre_polynomial_p_out) X(special_log1p) X(special_log1p_out) \
  X(special_log_ndtr) X(special_log_ndtr_out) X(special_log_softmax) X(special_logit) X(special_logit_out) \
  X(special_logsumexp) X(special_logsumexp_out) X(special_modified_bessel_i0) X(special_modified_bessel_i0_out) \
  X(special_modified_bessel_i1) X(special_modified_bessel_i1_out) X(special_modified_bessel_k0) \
  X(special_modified_bessel_k0_out) X(special_modified_bessel_k1) X(special_modified_bessel_k1_out) \
  X(special_multigammaln) X(special_multigammaln_out) X(special_ndtr) X(special_ndtr_out) X(special_ndtri) \
  X(special_ndtri_out) X(special_polygamma) X(special_polygamma_out) X(special_psi) X(special_psi_out) \
  X(special_round) X(special_round_out) X(special_scaled_modified_bessel_k0) X(special_scaled_modified_bessel_k0_out) \
  X(special_scaled_modified_bessel_k1) X(special_scaled_modified_bessel_k1_out) \
  X(special_shifted_chebyshev_polynomial_t) X(special_shifted_chebyshev_polynomial_t_out) \
  X(special_shifted_chebyshev_polynomial_u) X(special_shifted_chebyshev_polynomial_u_out) \
  X(special_shifted_chebyshev_polynomial_v) X(special_shifted_chebyshev_polynomial_v_out) \
  X(special_shifted_chebyshev_polynomial_w) X(special_shifted_chebyshev_polynomial_w_out) X(special_sinc) \
  X(special_sinc_out) X(special_softmax) X(special_spherical_bessel_j0) X(special_spherical_bessel_j0_out) \
  X(special_xlog1py) X(special_xlog1py_out) X(special_xlogy) X(special_xlogy_out) X(special_zeta) X(special_zeta_out) \
  X(split) X(split_copy) X(split_copy_out) X(split_with_sizes) X(split_with_sizes_copy) X(split_with_sizes_copy_out) \
  X(sqrt) X(sqrt_) X(sqrt_out) X(square) X(square_) X(square_out) X(squeeze) X(squeeze_copy) X(squeeze_copy_out) \
  X(stack) X(stack_out) X(start_trace) X(std) X(std_mean) X(std_mean_out) X(std_out) X(stop_trace) X(str) X(stride) \
  X(string_view) X(sub) X(sub_out) X(subtract) X(subtract_out) X(sum) X(sum_out) X(svd) X(svd_out) X(swapaxes) \
  X(swapdims) X(t) X(t_copy) X(t_copy_out) X(take) X(take_along_dim) X(take_along_dim_out) X(take_out) X(take_trace) \
  X(tan) X(tan_) X(tan_out) X(tanh) X(tanh_) X(tanh_out) X(tanhshrink) X(tensor) X(tensor_split) X(tensordot) \
  X(tensordot_out) X(threshold) X(threshold_) X(threshold_out) X(tile) X(toString) X(topk) X(topk_out) X(trace) \
  X(trace_out) X(transpose) X(transpose_copy) X(transpose_copy_out) X(trapezoid) X(trapz) X(triangular_solve) \
  X(triangular_solve_out) X(tril) X(tril_) X(tril_indices) X(tril_indices_out) X(tril_out) X(triplet_margin_loss) \
  X(triu) X(triu_) X(triu_indices) X(triu_indices_out) X(triu_out) X(true_divide) X(true_divide_out) X(trunc) \
  X(trunc_) X(trunc_out) X(try_make_tempdir) X(try_make_tempfile) X(typeMetaToScalarType) X(unbind) X(unbind_copy) \
  X(unbind_copy_out) X(unflatten) X(unflatten_dense_tensors) X(unfold_copy) X(unfold_copy_out) X(uniform) \
  X(uniform_out) X(unique_consecutive) X(unique_consecutive_out) X(unique_dim) X(unique_dim_consecutive) \
  X(unique_dim_consecutive_out) X(unique_dim_out) X(unsafe_chunk) X(unsafe_split) X(unsafe_split_out) \
  X(unsafe_split_with_sizes) X(unsafe_split_with_sizes_out) X(unsqueeze) X(unsqueeze_copy) X(unsqueeze_copy_out) \
  X(upsample_bicubic2d) X(upsample_bicubic2d_out) X(upsample_bilinear2d) X(upsample_bilinear2d_out) \
  X(upsample_linear1d) X(upsample_linear1d_out) X(upsample_nearest1d) X(upsample_nearest1d_out) X(upsample_nearest2d) \
  X(upsample_nearest2d_out) X(upsample_nearest3d) X(upsample_nearest3d_out) X(upsample_trilinear3d) \
  X(upsample_trilinear3d_out) X(use_deterministic_algorithms) X(vander) X(var) X(var_mean) X(var_mean_out) X(var_out) \
  X(vdot) X(vdot_out) X(view_copy) X(view_copy_out) X(vsplit) X(vstack) X(vstack_out) X(warn) X(where) X(where_out) \
  X(write_trace) X(xlogy) X(xlogy_) X(xlogy_out) X(zero) X(zero_) X(zero_out) X(zeros) X(zeros_like) \
  X(zeros_like_out) X(zeros_out)
#define TANDEM_NAMES_autograd(X) \
  X(AccumulateGrad) X(AnomalyMode) X(AutogradContext) X(DetectAnomalyGuard) X(Edge) X(Function) X(IndexRange) X(Node) \
  X(Variable) X(backward) X(detect_anomaly) X(grad) X(gradcheck) X(gradgradcheck) X(make_variable) X(tensor_list) \
  X(variable_list)
#define TANDEM_NAMES_cuda(X) \
  X(CUDAEvent) X(CUDAGraph) X(CUDAStream) X(CUDAStreamGuard) X(Event) X(MempoolId_t) X(Stream) X(StreamGuard) \
  X(cudnn_is_available) X(current_stream) X(default_stream) X(device_count) X(getCurrentCUDAStream) \
  X(getDefaultCUDAStream) X(getStreamFromPool) X(get_device_properties) X(graph_pool_handle) X(is_available) \
  X(is_current_stream_capturing) X(manual_seed) X(manual_seed_all) X(mem_get_info) X(setCurrentCUDAStream) \
  X(set_stream) X(synchronize)
#define TANDEM_NAMES_data(X) \
  X(BatchPart) X(ConcatDataset) X(CsvColumn) X(CsvOptions) X(CsvTable) X(DataLoader) X(DataLoaderBase) \
  X(DataLoaderOptions) X(Example) X(FullDataLoaderOptions) X(Iterator) X(MakeGridOptions) X(MissingValue) X(Progress) \
  X(StatefulDataLoader) X(StatelessDataLoader) X(Subset) X(TensorExample) X(WorkerException) X(make_data_loader) \
  X(make_grid) X(progress) X(random_split) X(read_csv) X(read_image) X(save_image)
#define TANDEM_NAMES_data_datasets(X) \
  X(BatchDataset) X(ChunkDataReader) X(ChunkDataset) X(ChunkDatasetOptions) X(ConcatDataset) X(Dataset) \
  X(FashionMNIST) X(ImageFolder) X(MNIST) X(MapDataset) X(SharedBatchDataset) X(StatefulDataset) X(StreamDataset) \
  X(Subset) X(TensorDataset) X(TensorPairDataset) X(make_shared_dataset) X(map) X(random_split)
#define TANDEM_NAMES_data_samplers(X) \
  X(BatchSize) X(CustomBatchRequest) X(DistributedRandomSampler) X(DistributedSampler) \
  X(DistributedSequentialSampler) X(LengthGroupedSampler) X(RandomSampler) X(Sampler) X(SequentialSampler) \
  X(ShardSampler) X(ShardSamplerOptions) X(StreamSampler) X(WeightedRandomSampler)
#define TANDEM_NAMES_data_transforms(X) \
  X(BatchLambda) X(BatchTransform) X(CenterCrop) X(Collate) X(Collation) X(ColorJitter) X(ColorJitterOptions) \
  X(Compose) X(Grayscale) X(ImageSize) X(JitterRange) X(Lambda) X(Normalize) X(RandomCrop) X(RandomCropOptions) \
  X(RandomErasing) X(RandomErasingOptions) X(RandomFlipOptions) X(RandomGrayscale) X(RandomGrayscaleOptions) \
  X(RandomHorizontalFlip) X(RandomResizedCrop) X(RandomResizedCropOptions) X(RandomRotation) X(RandomRotationOptions) \
  X(RandomVerticalFlip) X(Range) X(Resize) X(Stack) X(TensorLambda) X(TensorTransform) X(Transform)
#define TANDEM_NAMES_distributed(X) \
  X(About) X(CoalescingGuard) X(DeviceMesh) X(DistributedError) X(FileStore) X(GroupOptions) X(HashStore) \
  X(InitOptions) X(PrefixStore) X(ProcessGroup) X(ProcessGroupPtr) X(ReduceOp) X(Store) X(TCPStore) \
  X(TCPStoreOptions) X(Work) X(WorkPtr) X(all_gather) X(all_gather_bytes) X(all_gather_into_tensor) \
  X(all_gather_into_tensor_coalesced) X(all_reduce) X(all_reduce_coalesced) X(all_to_all) X(all_to_all_single) \
  X(barrier) X(broadcast) X(broadcast_bytes) X(default_group) X(destroy_process_group) X(gather) \
  X(gather_into_tensor) X(get_global_rank) X(get_group_rank) X(get_node_local_rank) X(get_process_group_ranks) \
  X(get_rank) X(get_world_size) X(init_device_mesh) X(init_process_group) X(irecv) X(is_gloo_available) \
  X(is_initialized) X(is_launched) X(is_nccl_available) X(isend) X(kDefaultTimeout) X(kNoTimeout) \
  X(monitored_barrier) X(new_group) X(recv) X(reduce) X(reduce_scatter) X(reduce_scatter_tensor) \
  X(reduce_scatter_tensor_coalesced) X(run_ranks) X(scatter) X(send) X(split_group) X(to_string) \
  X(write_flight_record)
#define TANDEM_NAMES_indexing(X) \
  X(Ellipsis) X(EllipsisIndexType) X(None) X(Slice) X(TensorIndex)
#define TANDEM_NAMES_linalg(X) \
  X(cholesky) X(cholesky_ex) X(cond) X(cross) X(det) X(diagonal) X(eig) X(eigh) X(eigvals) X(eigvalsh) \
  X(householder_product) X(inv) X(inv_ex) X(lstsq) X(lu) X(lu_factor) X(lu_factor_ex) X(lu_solve) X(matmul) \
  X(matrix_exp) X(matrix_norm) X(matrix_power) X(matrix_rank) X(multi_dot) X(norm) X(pinv) X(qr) X(slogdet) X(solve) \
  X(solve_ex) X(solve_triangular) X(svd) X(svdvals) X(tensorinv) X(tensorsolve) X(vander) X(vecdot) X(vector_norm)
#define TANDEM_NAMES_nn(X) \
  X(ASMoutput) X(AdaptiveAvgPool1d) X(AdaptiveAvgPool1dImpl) X(AdaptiveAvgPool1dOptions) X(AdaptiveAvgPool2d) \
  X(AdaptiveAvgPool2dImpl) X(AdaptiveAvgPool2dOptions) X(AdaptiveAvgPool3d) X(AdaptiveAvgPool3dImpl) \
  X(AdaptiveAvgPool3dOptions) X(AdaptiveLogSoftmaxWithLoss) X(AdaptiveLogSoftmaxWithLossImpl) \
  X(AdaptiveLogSoftmaxWithLossOptions) X(AdaptiveMaxPool1d) X(AdaptiveMaxPool1dImpl) X(AdaptiveMaxPool1dOptions) \
  X(AdaptiveMaxPool2d) X(AdaptiveMaxPool2dImpl) X(AdaptiveMaxPool2dOptions) X(AdaptiveMaxPool3d) \
  X(AdaptiveMaxPool3dImpl) X(AdaptiveMaxPool3dOptions) X(AdaptivePoolOptions) X(AlphaDropout) X(AlphaDropoutImpl) \
  X(AlphaDropoutOptions) X(AnyModule) X(AnyValue) X(AvgPool1d) X(AvgPool1dImpl) X(AvgPool1dOptions) X(AvgPool2d) \
  X(AvgPool2dImpl) X(AvgPool2dOptions) X(AvgPool3d) X(AvgPool3dImpl) X(AvgPool3dOptions) X(AvgPoolOptions) X(BCELoss) \
  X(BCELossImpl) X(BCELossOptions) X(BCEWithLogitsLoss) X(BCEWithLogitsLossImpl) X(BCEWithLogitsLossOptions) \
  X(BatchMean) X(BatchNorm1d) X(BatchNorm1dImpl) X(BatchNorm1dOptions) X(BatchNorm2d) X(BatchNorm2dImpl) \
  X(BatchNorm2dOptions) X(BatchNorm3d) X(BatchNorm3dImpl) X(BatchNorm3dOptions) X(BatchNormImplBase) \
  X(BatchNormOptions) X(Bilinear) X(BilinearImpl) X(BilinearOptions) X(CELU) X(CELUImpl) X(CELUOptions) X(CTCLoss) \
  X(CTCLossImpl) X(CTCLossOptions) X(ChannelShuffle) X(ChannelShuffleImpl) X(ChannelShuffleOptions) X(Cloneable) \
  X(ConstantPad1d) X(ConstantPad1dImpl) X(ConstantPad1dOptions) X(ConstantPad2d) X(ConstantPad2dImpl) \
  X(ConstantPad2dOptions) X(ConstantPad3d) X(ConstantPad3dImpl) X(ConstantPad3dOptions) X(ConstantPadOptions) \
  X(Conv1d) X(Conv1dImpl) X(Conv1dOptions) X(Conv2d) X(Conv2dImpl) X(Conv2dOptions) X(Conv3d) X(Conv3dImpl) \
  X(Conv3dOptions) X(ConvNdImpl) X(ConvOptions) X(ConvTranspose1d) X(ConvTranspose1dImpl) X(ConvTranspose1dOptions) \
  X(ConvTranspose2d) X(ConvTranspose2dImpl) X(ConvTranspose2dOptions) X(ConvTranspose3d) X(ConvTranspose3dImpl) \
  X(ConvTranspose3dOptions) X(ConvTransposeNdImpl) X(ConvTransposeOptions) X(CosineEmbeddingLoss) \
  X(CosineEmbeddingLossImpl) X(CosineEmbeddingLossOptions) X(CosineSimilarity) X(CosineSimilarityImpl) \
  X(CosineSimilarityOptions) X(CrossEntropyLoss) X(CrossEntropyLossImpl) X(CrossEntropyLossOptions) X(CrossMapLRN2d) \
  X(CrossMapLRN2dImpl) X(CrossMapLRN2dOptions) X(DataParallel) X(DataParallelOptions) X(Dropout) X(Dropout2d) \
  X(Dropout2dImpl) X(Dropout2dOptions) X(Dropout3d) X(Dropout3dImpl) X(Dropout3dOptions) X(DropoutImpl) \
  X(DropoutOptions) X(ELU) X(ELUImpl) X(ELUOptions) X(Embedding) X(EmbeddingBag) X(EmbeddingBagFromPretrainedOptions) \
  X(EmbeddingBagImpl) X(EmbeddingBagMode) X(EmbeddingBagOptions) X(EmbeddingFromPretrainedOptions) X(EmbeddingImpl) \
  X(EmbeddingOptions) X(FeatureAlphaDropout) X(FeatureAlphaDropoutImpl) X(FeatureAlphaDropoutOptions) X(Flatten) \
  X(FlattenImpl) X(FlattenOptions) X(Fold) X(FoldImpl) X(FoldOptions) X(FractionalMaxPool2d) \
  X(FractionalMaxPool2dImpl) X(FractionalMaxPool2dOptions) X(FractionalMaxPool3d) X(FractionalMaxPool3dImpl) \
  X(FractionalMaxPool3dOptions) X(FractionalMaxPoolOptions) X(Functional) X(FunctionalImpl) X(GELU) X(GELUImpl) \
  X(GELUOptions) X(GLU) X(GLUImpl) X(GLUOptions) X(GRU) X(GRUCell) X(GRUCellImpl) X(GRUCellOptions) X(GRUImpl) \
  X(GRUOptions) X(GaussianNLLLoss) X(GaussianNLLLossImpl) X(GaussianNLLLossOptions) X(GroupNorm) X(GroupNormImpl) \
  X(GroupNormOptions) X(Hardshrink) X(HardshrinkImpl) X(HardshrinkOptions) X(Hardsigmoid) X(HardsigmoidImpl) \
  X(HardsigmoidOptions) X(Hardswish) X(HardswishImpl) X(HardswishOptions) X(Hardtanh) X(HardtanhImpl) \
  X(HardtanhOptions) X(HingeEmbeddingLoss) X(HingeEmbeddingLossImpl) X(HingeEmbeddingLossOptions) X(HuberLoss) \
  X(HuberLossImpl) X(HuberLossOptions) X(Identity) X(IdentityImpl) X(InstanceNorm1d) X(InstanceNorm1dImpl) \
  X(InstanceNorm1dOptions) X(InstanceNorm2d) X(InstanceNorm2dImpl) X(InstanceNorm2dOptions) X(InstanceNorm3d) \
  X(InstanceNorm3dImpl) X(InstanceNorm3dOptions) X(InstanceNormImpl) X(InstanceNormOptions) X(KLDivLoss) \
  X(KLDivLossImpl) X(KLDivLossOptions) X(L1Loss) X(L1LossImpl) X(L1LossOptions) X(LPPool1d) X(LPPool1dImpl) \
  X(LPPool1dOptions) X(LPPool2d) X(LPPool2dImpl) X(LPPool2dOptions) X(LPPool3d) X(LPPool3dImpl) X(LPPool3dOptions) \
  X(LPPoolOptions) X(LSTM) X(LSTMCell) X(LSTMCellImpl) X(LSTMCellOptions) X(LSTMImpl) X(LSTMOptions) X(LayerNorm) \
  X(LayerNormImpl) X(LayerNormOptions) X(LeakyReLU) X(LeakyReLUImpl) X(LeakyReLUOptions) X(Linear) X(LinearImpl) \
  X(LinearOptions) X(LocalResponseNorm) X(LocalResponseNormImpl) X(LocalResponseNormOptions) X(LogSigmoid) \
  X(LogSigmoidImpl) X(LogSoftmax) X(LogSoftmaxImpl) X(LogSoftmaxOptions) X(MSELoss) X(MSELossImpl) X(MSELossOptions) \
  X(MarginRankingLoss) X(MarginRankingLossImpl) X(MarginRankingLossOptions) X(MaxPool1d) X(MaxPool1dImpl) \
  X(MaxPool1dOptions) X(MaxPool2d) X(MaxPool2dImpl) X(MaxPool2dOptions) X(MaxPool3d) X(MaxPool3dImpl) \
  X(MaxPool3dOptions) X(MaxPoolOptions) X(MaxUnpool1d) X(MaxUnpool1dImpl) X(MaxUnpool1dOptions) X(MaxUnpool2d) \
  X(MaxUnpool2dImpl) X(MaxUnpool2dOptions) X(MaxUnpool3d) X(MaxUnpool3dImpl) X(MaxUnpool3dOptions) \
  X(MaxUnpoolOptions) X(Mish) X(MishImpl) X(Module) X(ModuleDict) X(ModuleDictImpl) X(ModuleHolder) X(ModuleList) \
  X(ModuleListImpl) X(MultiLabelMarginLoss) X(MultiLabelMarginLossImpl) X(MultiLabelMarginLossOptions) \
  X(MultiLabelSoftMarginLoss) X(MultiLabelSoftMarginLossImpl) X(MultiLabelSoftMarginLossOptions) X(MultiMarginLoss) \
  X(MultiMarginLossImpl) X(MultiMarginLossOptions) X(MultiheadAttention) X(MultiheadAttentionImpl) \
  X(MultiheadAttentionOptions) X(NLLLoss) X(NLLLossImpl) X(NLLLossOptions) X(NamedAnyModule) X(NamedParameters) \
  X(NormImplBase) X(OutputRatios) X(OutputSizes) X(PReLU) X(PReLUImpl) X(PReLUOptions) X(PadOptions) X(Pads) \
  X(PairwiseDistance) X(PairwiseDistanceImpl) X(PairwiseDistanceOptions) X(ParameterDict) X(ParameterDictImpl) \
  X(ParameterList) X(ParameterListImpl) X(PixelShuffle) X(PixelShuffleImpl) X(PixelShuffleOptions) X(PixelUnshuffle) \
  X(PixelUnshuffleImpl) X(PixelUnshuffleOptions) X(PoissonNLLLoss) X(PoissonNLLLossImpl) X(PoissonNLLLossOptions) \
  X(RMSNorm) X(RMSNormImpl) X(RMSNormOptions) X(RNN) X(RNNCell) X(RNNCellImpl) X(RNNCellOptions) X(RNNImpl) \
  X(RNNOptions) X(RReLU) X(RReLUImpl) X(RReLUOptions) X(ReLU) X(ReLU6) X(ReLU6Impl) X(ReLU6Options) X(ReLUImpl) \
  X(ReLUOptions) X(ReflectionPad1d) X(ReflectionPad1dImpl) X(ReflectionPad1dOptions) X(ReflectionPad2d) \
  X(ReflectionPad2dImpl) X(ReflectionPad2dOptions) X(ReflectionPad3d) X(ReflectionPad3dImpl) \
  X(ReflectionPad3dOptions) X(ReflectionPadOptions) X(RemovableHandle) X(ReplicationPad1d) X(ReplicationPad1dImpl) \
  X(ReplicationPad1dOptions) X(ReplicationPad2d) X(ReplicationPad2dImpl) X(ReplicationPad2dOptions) \
  X(ReplicationPad3d) X(ReplicationPad3dImpl) X(ReplicationPad3dOptions) X(ReplicationPadOptions) X(SELU) X(SELUImpl) \
  X(SELUOptions) X(Sequential) X(SequentialImpl) X(SiLU) X(SiLUImpl) X(Sigmoid) X(SigmoidImpl) X(SmoothL1Loss) \
  X(SmoothL1LossImpl) X(SmoothL1LossOptions) X(SoftMarginLoss) X(SoftMarginLossImpl) X(SoftMarginLossOptions) \
  X(Softmax) X(Softmax2d) X(Softmax2dImpl) X(SoftmaxImpl) X(SoftmaxOptions) X(Softmin) X(SoftminImpl) \
  X(SoftminOptions) X(Softplus) X(SoftplusImpl) X(SoftplusOptions) X(Softshrink) X(SoftshrinkImpl) \
  X(SoftshrinkOptions) X(Softsign) X(SoftsignImpl) X(SyncBatchNorm) X(SyncBatchNormImpl) X(Tanh) X(TanhImpl) \
  X(Tanhshrink) X(TanhshrinkImpl) X(Threshold) X(ThresholdImpl) X(ThresholdOptions) X(Transformer) \
  X(TransformerDecoder) X(TransformerDecoderImpl) X(TransformerDecoderLayer) X(TransformerDecoderLayerImpl) \
  X(TransformerDecoderLayerOptions) X(TransformerDecoderOptions) X(TransformerEncoder) X(TransformerEncoderImpl) \
  X(TransformerEncoderLayer) X(TransformerEncoderLayerImpl) X(TransformerEncoderLayerOptions) \
  X(TransformerEncoderOptions) X(TransformerImpl) X(TransformerOptions) X(TripletMarginLoss) X(TripletMarginLossImpl) \
  X(TripletMarginLossOptions) X(TripletMarginWithDistanceLoss) X(TripletMarginWithDistanceLossImpl) \
  X(TripletMarginWithDistanceLossOptions) X(Unflatten) X(UnflattenImpl) X(UnflattenOptions) X(Unfold) X(UnfoldImpl) \
  X(UnfoldOptions) X(Upsample) X(UpsampleImpl) X(UpsampleOptions) X(ZeroPad1d) X(ZeroPad1dImpl) X(ZeroPad1dOptions) \
  X(ZeroPad2d) X(ZeroPad2dImpl) X(ZeroPad2dOptions) X(ZeroPad3d) X(ZeroPad3dImpl) X(ZeroPad3dOptions) \
  X(ZeroPadOptions) X(activation_t) X(convert_sync_batchnorm) X(layer_fusion) X(set_layer_fusion)
#define TANDEM_NAMES_nn_functional(X) \
  X(AdaptiveAvgPool1dFuncOptions) X(AdaptiveAvgPool2dFuncOptions) X(AdaptiveAvgPool3dFuncOptions) \
  X(AdaptiveMaxPool1dFuncOptions) X(AdaptiveMaxPool2dFuncOptions) X(AdaptiveMaxPool3dFuncOptions) \
  X(AlphaDropoutFuncOptions) X(AvgPool1dFuncOptions) X(AvgPool2dFuncOptions) X(AvgPool3dFuncOptions) \
  X(BatchNormFuncOptions) X(BinaryCrossEntropyFuncOptions) X(BinaryCrossEntropyWithLogitsFuncOptions) \
  X(CELUFuncOptions) X(CTCLossFuncOptions) X(Conv1dFuncOptions) X(Conv2dFuncOptions) X(Conv3dFuncOptions) \
  X(ConvFuncOptions) X(ConvTranspose1dFuncOptions) X(ConvTranspose2dFuncOptions) X(ConvTranspose3dFuncOptions) \
  X(ConvTransposeFuncOptions) X(CosineEmbeddingLossFuncOptions) X(CosineSimilarityFuncOptions) \
  X(CrossEntropyFuncOptions) X(Dropout2dFuncOptions) X(Dropout3dFuncOptions) X(DropoutFuncOptions) X(ELUFuncOptions) \
  X(EmbeddingBagFuncOptions) X(EmbeddingFuncOptions) X(FeatureAlphaDropoutFuncOptions) X(FoldFuncOptions) \
  X(FractionalMaxPool2dFuncOptions) X(FractionalMaxPool3dFuncOptions) X(GELUFuncOptions) X(GLUFuncOptions) \
  X(GaussianNLLLossFuncOptions) X(GridSampleFuncOptions) X(GroupNormFuncOptions) X(GumbelSoftmaxFuncOptions) \
  X(HardshrinkFuncOptions) X(HardsigmoidFuncOptions) X(HardswishFuncOptions) X(HardtanhFuncOptions) \
  X(HingeEmbeddingLossFuncOptions) X(HuberLossFuncOptions) X(InstanceNormFuncOptions) X(InterpolateFuncOptions) \
  X(KLDivFuncOptions) X(L1LossFuncOptions) X(LPPool1dFuncOptions) X(LPPool2dFuncOptions) X(LPPool3dFuncOptions) \
  X(LayerNormFuncOptions) X(LeakyReLUFuncOptions) X(LocalResponseNormFuncOptions) X(LogSoftmaxFuncOptions) \
  X(MSELossFuncOptions) X(MarginRankingLossFuncOptions) X(MaxPool1dFuncOptions) X(MaxPool2dFuncOptions) \
  X(MaxPool3dFuncOptions) X(MaxUnpool1dFuncOptions) X(MaxUnpool2dFuncOptions) X(MaxUnpool3dFuncOptions) \
  X(MaxUnpoolFuncOptions) X(MultiMarginLossFuncOptions) X(MultiheadAttentionForwardFuncOptions) \
  X(MultilabelMarginLossFuncOptions) X(MultilabelSoftMarginLossFuncOptions) X(NLLLossFuncOptions) \
  X(NormalizeFuncOptions) X(PadFuncOptions) X(PairwiseDistanceFuncOptions) X(PixelShuffleFuncOptions) \
  X(PixelUnshuffleFuncOptions) X(PoissonNLLLossFuncOptions) X(RReLUFuncOptions) X(ReLU6FuncOptions) \
  X(ReLUFuncOptions) X(SELUFuncOptions) X(SmoothL1LossFuncOptions) X(SoftMarginLossFuncOptions) X(SoftmaxFuncOptions) \
  X(SoftminFuncOptions) X(SoftplusFuncOptions) X(SoftshrinkFuncOptions) X(ThresholdFuncOptions) \
  X(TripletMarginLossFuncOptions) X(TripletMarginWithDistanceLossFuncOptions) X(UnfoldFuncOptions) \
  X(adaptive_avg_pool1d) X(adaptive_avg_pool2d) X(adaptive_avg_pool3d) X(adaptive_max_pool1d) \
  X(adaptive_max_pool1d_with_indices) X(adaptive_max_pool2d) X(adaptive_max_pool2d_with_indices) \
  X(adaptive_max_pool3d) X(adaptive_max_pool3d_with_indices) X(affine_grid) X(alpha_dropout) X(avg_pool1d) \
  X(avg_pool2d) X(avg_pool3d) X(batch_norm) X(bilinear) X(binary_cross_entropy) X(binary_cross_entropy_with_logits) \
  X(celu) X(channel_shuffle) X(conv1d) X(conv2d) X(conv3d) X(conv_transpose1d) X(conv_transpose2d) \
  X(conv_transpose3d) X(cosine_embedding_loss) X(cosine_similarity) X(cross_entropy) X(ctc_loss) X(dropout) \
  X(dropout2d) X(dropout3d) X(elu) X(embedding) X(embedding_bag) X(feature_alpha_dropout) X(fold) \
  X(fractional_max_pool2d) X(fractional_max_pool2d_with_indices) X(fractional_max_pool3d) \
  X(fractional_max_pool3d_with_indices) X(gaussian_nll_loss) X(gelu) X(glu) X(grid_sample) X(group_norm) \
  X(gumbel_softmax) X(hardshrink) X(hardsigmoid) X(hardswish) X(hardtanh) X(hinge_embedding_loss) X(huber_loss) \
  X(instance_norm) X(interpolate) X(kl_div) X(l1_loss) X(layer_norm) X(leaky_relu) X(linear) X(local_response_norm) \
  X(log_softmax) X(logsigmoid) X(lp_pool1d) X(lp_pool2d) X(lp_pool3d) X(margin_ranking_loss) X(max_pool1d) \
  X(max_pool1d_with_indices) X(max_pool2d) X(max_pool2d_with_indices) X(max_pool3d) X(max_pool3d_with_indices) \
  X(max_unpool1d) X(max_unpool2d) X(max_unpool3d) X(mish) X(mse_loss) X(multi_head_attention_forward) \
  X(multi_margin_loss) X(multilabel_margin_loss) X(multilabel_soft_margin_loss) X(nll_loss) X(normalize) X(one_hot) \
  X(pad) X(pairwise_distance) X(pdist) X(pixel_shuffle) X(pixel_unshuffle) X(poisson_nll_loss) X(prelu) X(relu) \
  X(relu6) X(rrelu) X(scaled_dot_product_attention) X(selu) X(sigmoid) X(silu) X(smooth_l1_loss) X(soft_margin_loss) \
  X(softmax) X(softmin) X(softplus) X(softshrink) X(softsign) X(tanh) X(tanhshrink) X(threshold) \
  X(triplet_margin_loss) X(triplet_margin_with_distance_loss) X(unfold)
#define TANDEM_NAMES_nn_init(X) \
  X(FanMode) X(FanModeType) X(Nonlinearity) X(NonlinearityType) X(calculate_fan_in_and_fan_out) X(calculate_gain) \
  X(constant_) X(dirac_) X(eye_) X(kaiming_normal_) X(kaiming_uniform_) X(normal_) X(ones_) X(orthogonal_) X(sparse_) \
  X(uniform_) X(xavier_normal_) X(xavier_uniform_) X(zeros_)
#define TANDEM_NAMES_nn_parallel(X) \
  X(CommFuture) X(CommHook) X(DDPLoggingData) X(DataParallel) X(DataParallelOptions) X(DistributedDataParallel) \
  X(DistributedDataParallelBase) X(DistributedDataParallelOptions) X(GradBucket) X(Join) X(JoinOptions) X(LossPart) \
  X(StepInBackward) X(StepInBackwardOptions) X(allreduce_hook) X(bf16_compress_hook) X(broadcast_coalesced) \
  X(bytes_moved) X(data_parallel) X(fp16_compress_hook) X(gather) X(kBucketCapFromLink) X(parallel_apply) \
  X(reduce_add_coalesced) X(replicate) X(scatter)
#define TANDEM_NAMES_nn_utils(X) \
  X(CheckpointOptions) X(GatherBlocks) X(checkpoint) X(clip_grad_norm_) X(clip_grad_value_) X(clip_grads_with_norm_) \
  X(get_total_norm) X(kNormBlock) X(parameters_to_vector) X(remove_spectral_norm) X(remove_weight_norm) \
  X(spectral_norm) X(vector_to_parameters) X(weight_norm)
#define TANDEM_NAMES_nn_utils_rnn(X) \
  X(PackedSequence) X(invert_permutation) X(pack_padded_sequence) X(pack_sequence) X(pad_packed_sequence) \
  X(pad_sequence) X(unpack_sequence) X(unpad_sequence)
#define TANDEM_NAMES_optim(X) \
  X(Adadelta) X(AdadeltaOptions) X(Adagrad) X(AdagradOptions) X(Adam) X(AdamOptions) X(AdamW) X(AdamWOptions) \
  X(Adamax) X(AdamaxOptions) X(ChainedScheduler) X(ConstantLR) X(CosineAnnealingLR) X(CosineAnnealingWarmRestarts) \
  X(ExponentialLR) X(LBFGS) X(LBFGSOptions) X(LRScheduler) X(LambdaLR) X(LinearLR) X(MultiStepLR) X(MultiplicativeLR) \
  X(NAdam) X(NAdamOptions) X(OneCycleLR) X(Optimizer) X(OptimizerCloneableOptions) X(OptimizerOptions) \
  X(OptimizerParamGroup) X(PolynomialLR) X(RAdam) X(RAdamOptions) X(RMSprop) X(RMSpropOptions) X(ReduceLROnPlateau) \
  X(ReduceLROnPlateauScheduler) X(Rprop) X(RpropOptions) X(SGD) X(SGDOptions) X(SequentialLR) X(StepLR) \
  X(get_cosine_schedule_with_warmup) X(get_cosine_with_min_lr_schedule_with_warmup) \
  X(get_linear_schedule_with_warmup)
#define TANDEM_NAMES_serialize(X) \
  X(InputArchive) X(OutputArchive)
#define TANDEM_NAMES_special(X) \
  X(airy_ai) X(airy_ai_out) X(bessel_j0) X(bessel_j0_out) X(bessel_j1) X(bessel_j1_out) X(bessel_y0) X(bessel_y0_out) \
  X(bessel_y1) X(bessel_y1_out) X(chebyshev_polynomial_t) X(chebyshev_polynomial_t_out) X(chebyshev_polynomial_u) \
  X(chebyshev_polynomial_u_out) X(chebyshev_polynomial_v) X(chebyshev_polynomial_v_out) X(chebyshev_polynomial_w) \
  X(chebyshev_polynomial_w_out) X(digamma) X(digamma_out) X(entr) X(entr_out) X(erf) X(erf_out) X(erfc) X(erfc_out) \
  X(erfcx) X(erfcx_out) X(erfinv) X(erfinv_out) X(exp2) X(exp2_out) X(expit) X(expit_out) X(expm1) X(expm1_out) \
  X(gammainc) X(gammainc_out) X(gammaincc) X(gammaincc_out) X(gammaln) X(gammaln_out) X(hermite_polynomial_h) \
  X(hermite_polynomial_h_out) X(hermite_polynomial_he) X(hermite_polynomial_he_out) X(i0) X(i0_out) X(i0e) X(i0e_out) \
  X(i1) X(i1_out) X(i1e) X(i1e_out) X(laguerre_polynomial_l) X(laguerre_polynomial_l_out) X(legendre_polynomial_p) \
  X(legendre_polynomial_p_out) X(log1p) X(log1p_out) X(log_ndtr) X(log_ndtr_out) X(log_softmax) X(logit) X(logit_out) \
  X(logsumexp) X(logsumexp_out) X(modified_bessel_i0) X(modified_bessel_i0_out) X(modified_bessel_i1) \
  X(modified_bessel_i1_out) X(modified_bessel_k0) X(modified_bessel_k0_out) X(modified_bessel_k1) \
  X(modified_bessel_k1_out) X(multigammaln) X(multigammaln_out) X(ndtr) X(ndtr_out) X(ndtri) X(ndtri_out) \
  X(polygamma) X(polygamma_out) X(psi) X(psi_out) X(round) X(round_out) X(scaled_modified_bessel_k0) \
  X(scaled_modified_bessel_k0_out) X(scaled_modified_bessel_k1) X(scaled_modified_bessel_k1_out) \
  X(shifted_chebyshev_polynomial_t) X(shifted_chebyshev_polynomial_t_out) X(shifted_chebyshev_polynomial_u) \
  X(shifted_chebyshev_polynomial_u_out) X(shifted_chebyshev_polynomial_v) X(shifted_chebyshev_polynomial_v_out) \
  X(shifted_chebyshev_polynomial_w) X(shifted_chebyshev_polynomial_w_out) X(sinc) X(sinc_out) X(softmax) \
  X(spherical_bessel_j0) X(spherical_bessel_j0_out) X(xlog1py) X(xlog1py_out) X(xlogy) X(xlogy_out) X(zeta) \
  X(zeta_out)

namespace torch {
#define TANDEM_USING(name) using tandem::name;
TANDEM_NAMES_root(TANDEM_USING)
#undef TANDEM_USING
namespace WarningUtils = tandem::WarningUtils;
namespace amp = tandem::amp;
namespace autocast = tandem::autocast;
namespace detail = tandem::detail;
namespace enumtype = tandem::enumtype;
namespace impl = tandem::impl;
namespace logs = tandem::logs;
namespace metrics = tandem::metrics;
namespace mps = tandem::mps;
namespace xpu = tandem::xpu;
namespace autograd {
#define TANDEM_USING(name) using tandem::autograd::name;
TANDEM_NAMES_autograd(TANDEM_USING)
#undef TANDEM_USING
namespace detail = tandem::autograd::detail;
namespace graph = tandem::autograd::graph;
namespace impl = tandem::autograd::impl;
}
namespace cuda {
#define TANDEM_USING(name) using tandem::cuda::name;
TANDEM_NAMES_cuda(TANDEM_USING)
#undef TANDEM_USING
namespace detail = tandem::cuda::detail;
}
namespace data {
#define TANDEM_USING(name) using tandem::data::name;
TANDEM_NAMES_data(TANDEM_USING)
#undef TANDEM_USING
namespace detail = tandem::data::detail;
namespace example = tandem::data::example;
}
namespace data::datasets {
#define TANDEM_USING(name) using tandem::data::datasets::name;
TANDEM_NAMES_data_datasets(TANDEM_USING)
#undef TANDEM_USING
namespace detail = tandem::data::datasets::detail;
}
namespace data::samplers {
#define TANDEM_USING(name) using tandem::data::samplers::name;
TANDEM_NAMES_data_samplers(TANDEM_USING)
#undef TANDEM_USING
namespace detail = tandem::data::samplers::detail;
}
namespace data::transforms {
#define TANDEM_USING(name) using tandem::data::transforms::name;
TANDEM_NAMES_data_transforms(TANDEM_USING)
#undef TANDEM_USING
namespace detail = tandem::data::transforms::detail;
namespace functional = tandem::data::transforms::functional;
}
namespace distributed {
#define TANDEM_USING(name) using tandem::distributed::name;
TANDEM_NAMES_distributed(TANDEM_USING)
#undef TANDEM_USING
}
namespace indexing {
#define TANDEM_USING(name) using tandem::indexing::name;
TANDEM_NAMES_indexing(TANDEM_USING)
#undef TANDEM_USING
}
namespace linalg {
#define TANDEM_USING(name) using tandem::linalg::name;
TANDEM_NAMES_linalg(TANDEM_USING)
#undef TANDEM_USING
}
namespace nn {
#define TANDEM_USING(name) using tandem::nn::name;
TANDEM_NAMES_nn(TANDEM_USING)
#undef TANDEM_USING
}
namespace nn::functional {
#define TANDEM_USING(name) using tandem::nn::functional::name;
TANDEM_NAMES_nn_functional(TANDEM_USING)
#undef TANDEM_USING
}
namespace nn::init {
#define TANDEM_USING(name) using tandem::nn::init::name;
TANDEM_NAMES_nn_init(TANDEM_USING)
#undef TANDEM_USING
}
namespace nn::parallel {
#define TANDEM_USING(name) using tandem::nn::parallel::name;
TANDEM_NAMES_nn_parallel(TANDEM_USING)
#undef TANDEM_USING
namespace detail = tandem::nn::parallel::detail;
}
namespace nn::utils {
#define TANDEM_USING(name) using tandem::nn::utils::name;
TANDEM_NAMES_nn_utils(TANDEM_USING)
#undef TANDEM_USING
}
namespace nn::utils::rnn {
#define TANDEM_USING(name) using tandem::nn::utils::rnn::name;
TANDEM_NAMES_nn_utils_rnn(TANDEM_USING)
#undef TANDEM_USING
}
namespace optim {
#define TANDEM_USING(name) using tandem::optim::name;
TANDEM_NAMES_optim(TANDEM_USING)
#undef TANDEM_USING
namespace detail = tandem::optim::detail;
}
namespace serialize {
#define TANDEM_USING(name) using tandem::serialize::name;
TANDEM_NAMES_serialize(TANDEM_USING)
#undef TANDEM_USING
}
namespace special {
#define TANDEM_USING(name) using tandem::special::name;
TANDEM_NAMES_special(TANDEM_USING)
#undef TANDEM_USING
}
}  // namespace torch
namespace at {
#define TANDEM_USING(name) using tandem::name;
TANDEM_NAMES_root(TANDEM_USING)
#undef TANDEM_USING
namespace WarningUtils = tandem::WarningUtils;
namespace amp = tandem::amp;
namespace autocast = tandem::autocast;
namespace detail = tandem::detail;
namespace enumtype = tandem::enumtype;
namespace impl = tandem::impl;
namespace logs = tandem::logs;
namespace metrics = tandem::metrics;
namespace mps = tandem::mps;
namespace xpu = tandem::xpu;
namespace cuda = tandem::cuda;
namespace indexing = tandem::indexing;
}  // namespace at
namespace c10 {
#define TANDEM_USING(name) using tandem::name;
TANDEM_NAMES_root(TANDEM_USING)
#undef TANDEM_USING
namespace WarningUtils = tandem::WarningUtils;
namespace amp = tandem::amp;
namespace autocast = tandem::autocast;
namespace detail = tandem::detail;
namespace enumtype = tandem::enumtype;
namespace impl = tandem::impl;
namespace logs = tandem::logs;
namespace metrics = tandem::metrics;
namespace mps = tandem::mps;
namespace xpu = tandem::xpu;
namespace cuda = tandem::cuda;
namespace indexing = tandem::indexing;
}  // namespace c10
namespace c10d = tandem::distributed;
#undef TANDEM_NAMES_root
#undef TANDEM_NAMES_autograd
#undef TANDEM_NAMES_cuda
#undef TANDEM_NAMES_data
#undef TANDEM_NAMES_data_datasets
#undef TANDEM_NAMES_data_samplers
#undef TANDEM_NAMES_data_transforms
#undef TANDEM_NAMES_distributed
#undef TANDEM_NAMES_indexing
#undef TANDEM_NAMES_linalg
#undef TANDEM_NAMES_nn
#undef TANDEM_NAMES_nn_functional
#undef TANDEM_NAMES_nn_init
#undef TANDEM_NAMES_nn_parallel
#undef TANDEM_NAMES_nn_utils
#undef TANDEM_NAMES_nn_utils_rnn
#undef TANDEM_NAMES_optim
#undef TANDEM_NAMES_serialize
#undef TANDEM_NAMES_special
// clang-format on
