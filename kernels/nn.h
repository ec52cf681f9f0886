// Kernels of layers and losses: softmax, normalisation, pooling, indexing, optimizer steps; float32 and float64 unless
// a comment says otherwise, contiguous. One signature list for both backends.
#pragma once
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::kernels {
/// Of a 2-d pooling window, by (height, width).
struct PoolShape {
  int64_t kernel[2], stride[2], padding[2], dilation[2];
  bool count_include_pad;
};
struct AdamStep {
  double lr, beta1, beta2, eps, weight_decay;
  bool decoupled, amsgrad;  // decoupled: AdamW
};
struct SgdStep {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, first;
};
}  // namespace tandem::kernels

#define TANDEM_NN_KERNELS                                                                                             \
  /* along dimension 1 of (rows, n) or (outer, n, inner) */                                                           \
  void softmax(const Tensor& x, Tensor& y);                                                                           \
  void log_softmax(const Tensor& x, Tensor& y);                                                                       \
  void softmax_backward(const Tensor& dy, const Tensor& y, Tensor& dx);                                               \
  void log_softmax_backward(const Tensor& dy, const Tensor& y, Tensor& dx);                                           \
  /* losses[i] = -weight[t] log_prob[i, t], weights[i] = weight[t] (0 where t is ignore_index); weight may be         \
     undefined */                                                                                                     \
  void nll(const Tensor& log_prob, const Tensor& target, const Tensor& weight, int64_t ignore_index, Tensor& losses,  \
           Tensor& weights);                                                                                          \
  /* total = the sum of weights, loss = that of losses over it; both are single elements */                           \
  void nll_mean(const Tensor& losses, const Tensor& weights, Tensor& loss, Tensor& total);                            \
  /* dx[i, t] = -dloss[i] weights[i], zero elsewhere and in rows whose target is ignore_index */                      \
  void nll_backward(const Tensor& dloss, const Tensor& target, const Tensor& weights, int64_t ignore_index,           \
                    Tensor& dx);                                                                                      \
  /* nll of log_softmax in one read: losses[i] = weight[t] (log_sum[i] - x[i, t]), log_sum[i] = ln sum_j e^x[i, j] */ \
  void cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight, int64_t ignore_index,               \
                     Tensor& losses, Tensor& weights, Tensor& log_sum);                                               \
  /* dx[i, j] = dloss[i] weights[i] (e^(x[i, j] - log_sum[i]) - [j = t]), zero where the target is ignore_index */    \
  void cross_entropy_backward(const Tensor& dloss, const Tensor& x, const Tensor& target, const Tensor& weights,      \
                              const Tensor& log_sum, int64_t ignore_index, Tensor& dx);                               \
  /* x (N, C, L): mean and 1 / sqrt(var + eps) of each channel; var is returned too */                                \
  void batch_norm_stats(const Tensor& x, double eps, Tensor& mean, Tensor& var, Tensor& rstd);                        \
  /* y = (x - mean) * rstd * weight + bias; weight and bias may be undefined */                                       \
  void batch_norm_apply(const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight,                \
                        const Tensor& bias, Tensor& y);                                                               \
  /* sum_dy = sum dy, sum_dy_xhat = sum dy (x - mean) rstd; dx of training mode, or of evaluation mode */             \
  void batch_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd,                 \
                           const Tensor& weight, bool training, Tensor& sum_dy, Tensor& sum_dy_xhat, Tensor& dx);     \
  /* x (rows, n) */                                                                                                   \
  void layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, Tensor& y, Tensor& mean,     \
                  Tensor& rstd);                                                                                      \
  /* dweight and dbias (n) where they are defined */                                                                  \
  void layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd,                 \
                           const Tensor& weight, Tensor& dx, Tensor& dweight, Tensor& dbias);                         \
  /* x (planes, H, W); index holds h * W + w of the maximum, -1 where a window holds only padding */                  \
  void max_pool2d(const Tensor& x, const PoolShape& shape, Tensor& y, Tensor& index);                                 \
  /* dx[p, index[p, i]] += dy[p, i] over the last two dimensions, nowhere for an index of -1; index and shape as      \
     max_pool2d had them */                                                                                           \
  void max_pool2d_backward(const Tensor& dy, const Tensor& index, const PoolShape& shape, Tensor& dx);                \
  void avg_pool2d(const Tensor& x, const PoolShape& shape, Tensor& y);                                                \
  void avg_pool2d_backward(const Tensor& dy, const PoolShape& shape, Tensor& dx);                                     \
  /* windows from floor(i H / OH) to ceil((i + 1) H / OH) */                                                          \
  void adaptive_avg_pool2d(const Tensor& x, Tensor& y);                                                               \
  void adaptive_avg_pool2d_backward(const Tensor& dy, Tensor& dx);                                                    \
  /* any dtype: y (outer, m, inner) = x (outer, n, inner) at index (m); indices are checked, and an error names op */ \
  void index_select(const char* op, const Tensor& x, const Tensor& index, Tensor& y);                                 \
  /* y (outer, n, inner)[index[i]] += x (outer, m, inner)[i], in order of i */                                        \
  void index_add(const Tensor& x, const Tensor& index, Tensor& y);                                                    \
  /* y (outer, n, inner)[index[i]] = x (outer, m, inner)[i], in order of i */                                         \
  void index_copy(const char* op, const Tensor& x, const Tensor& index, Tensor& y);                                   \
  /* along the middle dimension, index of y's shape: y = x[.., index, ..] */                                          \
  void gather(const Tensor& x, const Tensor& index, Tensor& y);                                                       \
  /* y[.., index, ..] = or += source; index and source have one shape */                                              \
  void scatter(const char* op, const Tensor& index, const Tensor& source, bool add, Tensor& y);                       \
  /* places (hits, rank) int64, made here: where mask (contiguous, bool) is true, in its order */                     \
  void nonzero(const Tensor& mask, Tensor& places);                                                                   \
  /* one fused pass over all parameters; steps[i] counts from 1 */                                                    \
  void adam(const AdamStep& step, const std::vector<Tensor>& gradients, const std::vector<Tensor>& steps,             \
            std::vector<Tensor>& parameters, std::vector<Tensor>& exp_avgs, std::vector<Tensor>& exp_avg_sqs,         \
            std::vector<Tensor>& max_exp_avg_sqs);                                                                    \
  void sgd(const SgdStep& step, const std::vector<Tensor>& gradients, std::vector<Tensor>& parameters,                \
           std::vector<Tensor>& momenta);                                                                             \
  /* sum () float64 of the squares of all elements of contiguous tensors of one dtype */                              \
  void sum_of_squares(const std::vector<Tensor>& tensors, Tensor& sum);                                               \
  /* every element times the factor, or plus the number; contiguous tensors of one dtype */                           \
  void scale_all(double factor, std::vector<Tensor>& tensors);                                                        \
  void add_to_all(double number, std::vector<Tensor>& tensors);

namespace tandem::kernels::cpu {
TANDEM_NN_KERNELS
}
namespace tandem::kernels::cuda {
TANDEM_NN_KERNELS
}
