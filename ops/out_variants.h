// Out versions of operations that compute the result first and then copy it into the given tensors. name_out(out, ...)
// takes the arguments of name(...); ops/declare_op.h says what `out` must be. Out versions are not recorded by
// autograd, throw if a gradient is required, and are not cast under autocast. Operations whose kernels write into `out`
// directly declare their out versions beside the operation.
#pragma once
#include "tandem/core/autocast.h"
#include "tandem/ops/linalg/norm.h"
#include "tandem/ops/ops.h"
#include "tandem/ops/write_result.h"

namespace tandem {

// clang-format off
// One result.
#define TANDEM_OUT_VARIANTS(X)                                                                                            \
  X(adaptive_avg_pool1d) X(adaptive_avg_pool2d) X(adaptive_avg_pool3d) X(addbmm) X(addcdiv) X(addcmul) X(addmm)        \
  X(addmv) X(addr) X(affine_grid_generator) X(alias_copy) X(all) X(angle) X(any) X(argmax) X(argmin) X(argsort)        \
  X(as_strided_copy) X(as_strided_scatter) X(avg_pool1d) X(avg_pool2d) X(avg_pool3d) X(baddbmm) X(bernoulli)           \
  X(binary_cross_entropy) X(binary_cross_entropy_with_logits) X(bincount) X(binomial) X(bmm) X(bucketize)              \
  X(cauchy) X(celu) X(channel_shuffle) X(cholesky_inverse) X(cholesky_solve) X(clone) X(col2im) X(conj_physical)       \
  X(constant_pad_nd) X(copy) X(count_nonzero) X(cross) X(cumprod) X(cumsum) X(detach_copy) X(diag) X(diag_embed)       \
  X(diagonal_copy) X(diagonal_scatter) X(diff) X(dist) X(dot) X(elu) X(embedding) X(empty_like) X(expand_copy)         \
  X(exponential) X(fill) X(flip) X(frobenius_norm) X(full_like) X(gather) X(geometric) X(ger) X(glu)                   \
  X(grid_sampler_2d) X(grid_sampler_3d) X(hardshrink) X(hardsigmoid) X(hardswish) X(hardtanh) X(histc)                 \
  X(huber_loss) X(im2col) X(index) X(index_add) X(index_copy) X(index_fill) X(index_put) X(index_reduce)               \
  X(index_select) X(inner) X(inverse) X(isin) X(isinf) X(isnan) X(isneginf) X(isposinf) X(kron) X(leaky_relu)          \
  X(lerp) X(lift_fresh_copy) X(linalg_cholesky) X(linalg_cond) X(linalg_cross) X(linalg_det) X(linalg_eigvalsh)        \
  X(linalg_householder_product) X(linalg_inv) X(linalg_lu_solve) X(linalg_matmul) X(linalg_matrix_exp)                 \
  X(linalg_matrix_norm) X(linalg_matrix_power) X(linalg_matrix_rank) X(linalg_norm) X(linalg_pinv) X(linalg_solve)     \
  X(linalg_solve_triangular) X(linalg_svdvals) X(linalg_tensorinv) X(linalg_tensorsolve) X(linalg_vecdot)              \
  X(linalg_vector_norm) X(linear) X(log_normal) X(log_sigmoid) X(log_softmax) X(logcumsumexp) X(lu_solve)              \
  X(masked_fill) X(masked_scatter) X(masked_select) X(matmul) X(matrix_power) X(max) X(max_unpool2d)                   \
  X(max_unpool3d) X(median) X(min) X(mish) X(mm) X(mse_loss) X(msort) X(multi_margin_loss)                             \
  X(multilabel_margin_loss) X(multinomial) X(mv) X(nan_to_num) X(nanmean) X(nanmedian) X(nanquantile) X(nansum)        \
  X(narrow_copy) X(nll_loss) X(nll_loss2d) X(nonzero) X(nonzero_static) X(norm) X(normal) X(nuclear_norm)              \
  X(ones_like) X(orgqr) X(ormqr) X(outer) X(permute_copy) X(pixel_shuffle) X(pixel_unshuffle) X(poisson) X(prod)       \
  X(put) X(quantile) X(rand_like) X(randint_like) X(randn_like) X(random) X(reflection_pad1d) X(reflection_pad2d)      \
  X(reflection_pad3d) X(renorm) X(repeat_interleave) X(replication_pad1d) X(replication_pad2d)                         \
  X(replication_pad3d) X(resize) X(resize_as) X(roll) X(rot90) X(rsub) X(scatter) X(scatter_add) X(scatter_reduce)     \
  X(searchsorted) X(select_copy) X(select_scatter) X(signbit) X(slice_copy) X(slice_scatter) X(smooth_l1_loss)         \
  X(soft_margin_loss) X(softmax) X(softplus) X(softshrink) X(special_logsumexp) X(squeeze_copy) X(std) X(t_copy)       \
  X(take) X(take_along_dim) X(tensordot) X(threshold) X(trace) X(transpose_copy) X(tril) X(triu) X(unfold_copy)        \
  X(uniform) X(unsqueeze_copy) X(upsample_bicubic2d) X(upsample_bilinear2d) X(upsample_linear1d)                       \
  X(upsample_nearest1d) X(upsample_nearest2d) X(upsample_nearest3d) X(upsample_trilinear3d) X(var) X(vdot)             \
  X(view_copy) X(where) X(zero) X(zeros_like) X(conv_tbc) X(convolution) X(embedding_renorm)
// Out versions of functions whose second argument is a list of numbers, which callers may write in braces.
#define TANDEM_OUT_VARIANTS_OF_LISTS(X)                                                                                   \
  X(adaptive_avg_pool1d) X(adaptive_avg_pool2d) X(adaptive_avg_pool3d) X(affine_grid_generator) X(all) X(any)          \
  X(as_strided_copy) X(avg_pool1d) X(avg_pool2d) X(avg_pool3d) X(col2im) X(constant_pad_nd) X(count_nonzero)           \
  X(expand_copy) X(flip) X(frobenius_norm) X(im2col) X(nanmean) X(nansum) X(nuclear_norm) X(permute_copy)              \
  X(reflection_pad1d) X(reflection_pad2d) X(reflection_pad3d) X(replication_pad1d) X(replication_pad2d)                \
  X(replication_pad3d) X(resize) X(roll) X(special_logsumexp) X(squeeze_copy) X(std) X(upsample_bicubic2d)             \
  X(upsample_bilinear2d) X(upsample_linear1d) X(upsample_nearest1d) X(upsample_nearest2d) X(upsample_nearest3d)        \
  X(upsample_trilinear3d) X(var) X(view_copy)
// Out versions of functions of a list of tensors.
#define TANDEM_OUT_VARIANTS_OF_TENSORS(X)                                                                                 \
  X(block_diag) X(cat) X(chain_matmul) X(column_stack) X(concat) X(concatenate) X(dstack) X(hstack)                    \
  X(linalg_multi_dot) X(row_stack) X(stack) X(vstack)
// Out versions of functions that make a tensor of given sizes, with the dtype and device of `out`.
#define TANDEM_OUT_VARIANTS_OF_SIZES(X)                                                                                   \
  X(full) X(ones) X(rand) X(randn) X(zeros)
// Out versions of functions that make a tensor from numbers, with the dtype and device of `out`.
#define TANDEM_OUT_VARIANTS_OF_SCALARS(X)                                                                                 \
  X(arange) X(bartlett_window) X(blackman_window) X(eye) X(hamming_window) X(hann_window) X(kaiser_window)             \
  X(linspace) X(logspace) X(randint) X(randperm) X(range) X(scalar_tensor) X(tril_indices) X(triu_indices)
// Two results.
#define TANDEM_OUT_VARIANTS_OF_TWO_RESULTS(X)                                                                                        \
  X(adaptive_max_pool2d) X(adaptive_max_pool3d) X(aminmax) X(cummax) X(cummin) X(fractional_max_pool2d)                \
  X(fractional_max_pool3d) X(frexp) X(geqrf) X(histogram) X(kthvalue) X(linalg_cholesky_ex) X(linalg_eigh)             \
  X(linalg_inv_ex) X(linalg_lu_factor) X(linalg_qr) X(linalg_slogdet) X(linalg_solve_ex) X(max)                        \
  X(max_pool2d_with_indices) X(max_pool3d_with_indices) X(median) X(min) X(mode) X(nanmedian) X(native_dropout)        \
  X(slogdet) X(sort) X(std_mean) X(topk) X(triangular_solve) X(var_mean)
// Three results.
#define TANDEM_OUT_VARIANTS_OF_THREE_RESULTS(X)                                                                                      \
  X(linalg_lu) X(linalg_lu_factor_ex) X(linalg_svd) X(lu_unpack) X(native_batch_norm) X(native_group_norm)             \
  X(native_layer_norm) X(svd) X(unique_consecutive) X(unique_dim) X(unique_dim_consecutive)
// clang-format on

#define TANDEM_DECLARE_OUT(name)                                           \
  template <class... Args>                                                 \
  requires requires(const Args&... args) {                                 \
    { tandem::name(args...) } -> std::same_as<Tensor>;                     \
  }                                                                        \
  Tensor& name##_out(Tensor& out, const Args&... args) {                   \
    const detail::AutocastOffGuard uncast;                                 \
    return detail::write_result(#name "_out", out, tandem::name(args...)); \
  }
TANDEM_OUT_VARIANTS(TANDEM_DECLARE_OUT)
#undef TANDEM_DECLARE_OUT
#define TANDEM_DECLARE_OUT_OF_LIST(name)                                                                             \
  template <class... Args> Tensor& name##_out(Tensor& out, const Tensor& x, IntArrayRef list, const Args&... args) { \
    const detail::AutocastOffGuard uncast;                                                                           \
    return detail::write_result(#name "_out", out, tandem::name(x, list, args...));                                  \
  }
TANDEM_OUT_VARIANTS_OF_LISTS(TANDEM_DECLARE_OUT_OF_LIST)
#undef TANDEM_DECLARE_OUT_OF_LIST
#define TANDEM_DECLARE_OUT_OF_TENSORS(name)                                                           \
  template <class... Args> Tensor& name##_out(Tensor& out, TensorList tensors, const Args&... args) { \
    const detail::AutocastOffGuard uncast;                                                            \
    return detail::write_result(#name "_out", out, tandem::name(tensors, args...));                   \
  }
TANDEM_OUT_VARIANTS_OF_TENSORS(TANDEM_DECLARE_OUT_OF_TENSORS)
#undef TANDEM_DECLARE_OUT_OF_TENSORS
#define TANDEM_DECLARE_OUT_OF_SIZES(name)                                                            \
  template <class... Args> Tensor& name##_out(Tensor& out, IntArrayRef sizes, const Args&... args) { \
    return detail::write_result(#name "_out", out, tandem::name(sizes, args..., out.options()));     \
  }
TANDEM_OUT_VARIANTS_OF_SIZES(TANDEM_DECLARE_OUT_OF_SIZES)
#undef TANDEM_DECLARE_OUT_OF_SIZES
#define TANDEM_DECLARE_OUT_OF_SCALARS(name)                                               \
  template <class... Args> Tensor& name##_out(Tensor& out, const Args&... args) {         \
    return detail::write_result(#name "_out", out, tandem::name(args..., out.options())); \
  }
TANDEM_OUT_VARIANTS_OF_SCALARS(TANDEM_DECLARE_OUT_OF_SCALARS)
#undef TANDEM_DECLARE_OUT_OF_SCALARS
#define TANDEM_DECLARE_OUT_OF_TWO_RESULTS(name)                                                 \
  template <class... Args>                                                                      \
  requires requires(const Args&... args) {                                                      \
    { tandem::name(args...) } -> std::same_as<std::tuple<Tensor, Tensor>>;                      \
  }                                                                                             \
  std::tuple<Tensor&, Tensor&> name##_out(Tensor& first, Tensor& second, const Args&... args) { \
    const detail::AutocastOffGuard uncast;                                                      \
    const std::tuple<Tensor, Tensor> y = tandem::name(args...);                                 \
    return {detail::write_result(#name "_out", first, std::get<0>(y)),                          \
            detail::write_result(#name "_out", second, std::get<1>(y))};                        \
  }
TANDEM_OUT_VARIANTS_OF_TWO_RESULTS(TANDEM_DECLARE_OUT_OF_TWO_RESULTS)
#undef TANDEM_DECLARE_OUT_OF_TWO_RESULTS
#define TANDEM_DECLARE_OUT_OF_THREE_RESULTS(name)                                                \
  template <class... Args>                                                                       \
  std::tuple<Tensor&, Tensor&, Tensor&> name##_out(Tensor& first, Tensor& second, Tensor& third, \
                                                   const Args&... args) {                        \
    const detail::AutocastOffGuard uncast;                                                       \
    const std::tuple<Tensor, Tensor, Tensor> y = tandem::name(args...);                          \
    return {detail::write_result(#name "_out", first, std::get<0>(y)),                           \
            detail::write_result(#name "_out", second, std::get<1>(y)),                          \
            detail::write_result(#name "_out", third, std::get<2>(y))};                          \
  }
TANDEM_OUT_VARIANTS_OF_THREE_RESULTS(TANDEM_DECLARE_OUT_OF_THREE_RESULTS)
#undef TANDEM_DECLARE_OUT_OF_THREE_RESULTS
/// Writes each part into the tensor of `out` at the same position. @throws Error unless there are as many tensors as
/// parts
#define TANDEM_DECLARE_SPLIT_SIZES_OUT(name)                                                   \
  inline void name##_out(TensorList out, const Tensor& x, IntArrayRef list, int64_t dim = 0) { \
    detail::write_results(#name "_out", out, tandem::name(x, list, dim));                      \
  }
TANDEM_DECLARE_SPLIT_SIZES_OUT(split_with_sizes_copy)
TANDEM_DECLARE_SPLIT_SIZES_OUT(unsafe_split_with_sizes)
#undef TANDEM_DECLARE_SPLIT_SIZES_OUT
#define TANDEM_DECLARE_SPLIT_OUT(name)                                                     \
  inline void name##_out(TensorList out, const Tensor& x, int64_t size, int64_t dim = 0) { \
    detail::write_results(#name "_out", out, tandem::name(x, size, dim));                  \
  }
TANDEM_DECLARE_SPLIT_OUT(split_copy)
TANDEM_DECLARE_SPLIT_OUT(unsafe_split)
#undef TANDEM_DECLARE_SPLIT_OUT
/// Writes each slice of x along dim into the tensor of `out` at the same position. @throws Error unless there are as
/// many tensors as slices
inline void unbind_copy_out(TensorList out, const Tensor& x, int64_t dim = 0) {
  detail::write_results("unbind_copy_out", out, unbind_copy(x, dim));
}
/// Resizes `out` to these sizes; its elements are uninitialised.
inline Tensor& empty_out(Tensor& out, IntArrayRef sizes) {
  return detail::write_result("empty_out", out, empty(sizes, out.options()));
}
/// Resizes `out` to these sizes; its elements are uninitialised. The strides are ignored.
inline Tensor& empty_strided_out(Tensor& out, IntArrayRef sizes, IntArrayRef /*strides*/) {
  return empty_out(out, sizes);
}
/// Out version of norm over some dimensions.
template <class... Args>
Tensor& norm_out(Tensor& out, const Tensor& x, double p, IntArrayRef dims, const Args&... args) {
  return detail::write_result("norm_out", out, norm(x, p, dims, args...));
}
/// Resizes `out` to these sizes; its elements are uninitialised. The layout is ignored.
inline Tensor& empty_permuted_out(Tensor& out, IntArrayRef sizes, IntArrayRef /*physical_layout*/) {
  return empty_out(out, sizes);
}
/// Writes x, repeated `repeats` times along each dimension, into `out`.
inline Tensor& repeat_out(Tensor& out, const Tensor& x, IntArrayRef repeats) {
  return detail::write_result("repeat_out", out, x.repeat(repeats));
}

}  // namespace tandem
