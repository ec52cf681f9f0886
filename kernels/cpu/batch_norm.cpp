// Plans the CPU loops of batch normalisation, for planes (N, C, L) and for rows (N, C, 1). The channels of a row are
// adjacent in memory.
#include <algorithm>
#include <cmath>

#include "tandem/kernels/cpu/planner.h"
#include "tandem/kernels/functors/block_stats.h"
#include "tandem/kernels/norm.h"
#include "tandem/kernels/visit_floating.h"

namespace tandem::kernels::cpu {

TANDEM_DECLARE_LOOP(batch_norm_stats)
TANDEM_DECLARE_LOOP(batch_norm_apply)
TANDEM_DECLARE_LOOP(batch_norm_backward)
TANDEM_DECLARE_LOOP(batch_norm_row_stats)
TANDEM_DECLARE_LOOP(batch_norm_row_gradient_sums)
TANDEM_DECLARE_LOOP(batch_norm_apply_rows)
TANDEM_DECLARE_LOOP(batch_norm_backward_rows)
TANDEM_DECLARE_LOOP(norm_relu_pool)
TANDEM_DECLARE_LOOP(norm_relu_pool_gradient_sums)
TANDEM_DECLARE_LOOP(norm_relu_pool_backward)
namespace {

// Numbers of rows (kBlockLength) and channels (kBlockChannels) in one unit of work; equal to the constants in loops/.
constexpr int64_t kBlockLength = 2048, kBlockChannels = 32;

bool has_row_layout(const Tensor& x) { return x.size(2) == 1; }
int64_t num_row_blocks(int64_t rows) { return (rows + kBlockLength - 1) / kBlockLength; }
/// Runs a loop in which a unit of work is a block of kBlockLength rows and kBlockChannels channels.
void run_blocks(const char* name, const LoopTables& loops, TensorRefs writes, TensorRefs reads, DType dtype,
                std::initializer_list<LoopScalar> scalars) {
  const int64_t rows = scalars.begin()[0].integer, channels = scalars.begin()[1].integer;
  run(plan_rows(name, loops, dtype, writes, reads, scalars,
                num_row_blocks(rows) * ((channels + kBlockChannels - 1) / kBlockChannels),
                std::min(rows, kBlockLength) * std::min(channels, kBlockChannels)));
}

/// Numbers of blocks and channels, number of rows (count) and eps. They are needed to combine the sums over a channel's
/// blocks, of kBlockLength rows each, into the channel's statistics.
struct FinalReduction {
  int64_t blocks, channels;
  double count, eps;
  double sum_blocks(const double* sums, int64_t c) const {
    double all = 0;
    for (int64_t k = 0; k < blocks; ++k) all += sums[k * channels + c];
    return all;
  }
};
template <class Body>
void run_final_reduction(const FinalReduction& final_reduction, TensorRefs writes, TensorRefs reads, Body body) {
  run(plan_call("batch_norm_finish", kFloat64, writes, reads, final_reduction, body, final_reduction.channels, 4096));
}

/// Computes mean, var and rstd of each channel while reading x once. A channel's variance is the variance within the
/// blocks of rows plus the variance of the blocks' means.
void row_stats(const Tensor& x, double eps, Tensor& mean, Tensor& var, Tensor& rstd) {
  const FinalReduction final_reduction{num_row_blocks(x.size(0)), x.size(1), static_cast<double>(x.size(0)), eps};
  const Tensor sums = core::empty({final_reduction.blocks, final_reduction.channels}, kFloat64, x.device()),
               squares = core::empty(sums.sizes(), kFloat64, x.device());
  run_blocks("batch_norm_stats", loops::batch_norm_row_stats, {sums, squares}, {x}, x.dtype(),
             {integer(x.size(0)), integer(x.size(1))});
  visit_floating("batch_norm", mean.dtype(), [&]<class C>() {
    run_final_reduction(final_reduction, {mean, var, rstd}, {sums, squares},
                        [](const FinalReduction& f, const Loop& loop, int64_t begin, int64_t end) {
                          const double* const sums = data<const double>(loop, 3);
                          for (int64_t c = begin; c < end; ++c) {
                            math::BlockStats stats;
                            for (int64_t k = 0; k < f.blocks; ++k)
                              stats.add(std::min<double>(kBlockLength, f.count - static_cast<double>(k * kBlockLength)),
                                        sums[k * f.channels + c], data<const double>(loop, 4)[k * f.channels + c]);
                            const double variance = stats.squares / f.count;
                            data<C>(loop, 0)[c] = static_cast<C>(f.sum_blocks(sums, c) / f.count);
                            data<C>(loop, 1)[c] = static_cast<C>(variance);
                            data<C>(loop, 2)[c] = static_cast<C>(1.0 / std::sqrt(variance + f.eps));
                          }
                        });
  });
}
/// Computes sum_dy, sum_dy_xhat and dx from two callbacks. gradient_sums(sums, dot_sums) writes the sums of dy and of
/// dy (x - mean) over each block of rows. apply(totals) computes dx from the totals of these sums over all blocks.
template <class GradientSums, class Apply>
void finish_row_backward(int64_t rows, const Tensor& rstd, Tensor& sum_dy, Tensor& sum_dy_xhat,
                         GradientSums gradient_sums, Apply apply) {
  const FinalReduction final_reduction{num_row_blocks(rows), rstd.numel(), static_cast<double>(rows), 0};
  const Tensor sums = core::empty({final_reduction.blocks, final_reduction.channels}, kFloat64, rstd.device()),
               dot_sums = core::empty(sums.sizes(), kFloat64, rstd.device()),
               totals = core::empty({2, final_reduction.channels}, kFloat64, rstd.device());
  gradient_sums(sums, dot_sums);
  visit_floating("batch_norm", rstd.dtype(), [&]<class C>() {
    run_final_reduction(final_reduction, {sum_dy, sum_dy_xhat, totals}, {sums, dot_sums, rstd},
                        [](const FinalReduction& f, const Loop& loop, int64_t begin, int64_t end) {
                          double* const all = data<double>(loop, 2);
                          for (int64_t c = begin; c < end; ++c) {
                            all[c] = f.sum_blocks(data<const double>(loop, 3), c);
                            all[f.channels + c] = f.sum_blocks(data<const double>(loop, 4), c);
                            data<C>(loop, 0)[c] = static_cast<C>(all[c]);
                            data<C>(loop, 1)[c] =
                                static_cast<C>(all[f.channels + c] * static_cast<double>(data<const C>(loop, 5)[c]));
                          }
                        });
  });
  apply(totals);
}

void row_apply(const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight, const Tensor& bias,
               Tensor& y) {
  run(plan_rows("batch_norm_apply", loops::batch_norm_apply_rows, x.dtype(), {y}, {x, mean, rstd, weight, bias},
                {integer(x.size(0)), integer(x.size(1)), integer(1)}, x.size(0), x.size(1)));
}
void row_backward(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                  bool training, Tensor& sum_dy, Tensor& sum_dy_xhat, Tensor& dx) {
  const auto rows = integer(x.size(0)), channels = integer(x.size(1));
  const auto gradient_sums = [&](const Tensor& sums, const Tensor& dot_sums) {
    run_blocks("batch_norm_backward", loops::batch_norm_row_gradient_sums, {sums, dot_sums}, {dy, x, mean}, x.dtype(),
               {rows, channels});
  };
  const auto apply = [&](const Tensor& totals) {
    run(plan_rows("batch_norm_backward", loops::batch_norm_backward_rows, x.dtype(), {dx},
                  {dy, x, mean, rstd, weight, totals}, {rows, channels, integer(training)}, x.size(0), x.size(1)));
  };
  finish_row_backward(x.size(0), rstd, sum_dy, sum_dy_xhat, gradient_sums, apply);
}

void plane_stats(const Tensor& x, double eps, Tensor& mean, Tensor& var, Tensor& rstd) {
  run(plan_rows("batch_norm_stats", loops::batch_norm_stats, x.dtype(), {mean, var, rstd}, {x},
                {integer(x.size(0)), integer(x.size(1)), integer(x.size(2)), real(eps)}, x.size(1),
                x.size(0) * x.size(2) * 2));
}
void plane_apply(const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight, const Tensor& bias,
                 Tensor& y) {
  run(plan_rows("batch_norm_apply", loops::batch_norm_apply, x.dtype(), {y}, {x, mean, rstd, weight, bias},
                {integer(x.size(0)), integer(x.size(1)), integer(x.size(2))}, x.size(0) * x.size(1), x.size(2)));
}
void plane_backward(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                    bool training, Tensor& sum_dy, Tensor& sum_dy_xhat, Tensor& dx) {
  run(plan_rows("batch_norm_backward", loops::batch_norm_backward, x.dtype(), {sum_dy, sum_dy_xhat, dx},
                {dy, x, mean, rstd, weight},
                {integer(x.size(0)), integer(x.size(1)), integer(x.size(2)), integer(training)}, x.size(1),
                x.size(0) * x.size(2) * 3));
}

constexpr BatchNormKernels kRowKernels{row_stats, row_apply, row_backward},
    kPlaneKernels{plane_stats, plane_apply, plane_backward};
constexpr Implementation<const BatchNormKernels*, Tensor> kBatchNormImplementations[] = {
    {"rows", has_row_layout, [](const Tensor&) { return &kRowKernels; }},
    {"planes", supports_every_problem, [](const Tensor&) { return &kPlaneKernels; }},
};
}  // namespace

std::span<const Implementation<const BatchNormKernels*, Tensor>> batch_norm_implementations() {
  return kBatchNormImplementations;
}

void batch_norm_stats(const Tensor& x, double eps, Tensor& mean, Tensor& var, Tensor& rstd) {
  run_first_supported<kBatchNormImplementations>(x)->stats(x, eps, mean, var, rstd);
}
void batch_norm_apply(const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight, const Tensor& bias,
                      Tensor& y) {
  run_first_supported<kBatchNormImplementations>(x)->apply(x, mean, rstd, weight, bias, y);
}
void batch_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                         const Tensor& weight, bool training, Tensor& sum_dy, Tensor& sum_dy_xhat, Tensor& dx) {
  run_first_supported<kBatchNormImplementations>(x)->backward(dy, x, mean, rstd, weight, training, sum_dy, sum_dy_xhat,
                                                              dx);
}

void norm_relu_pool(const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight, const Tensor& bias,
                    int64_t kernel_h, int64_t kernel_w, Tensor& y, Tensor& chosen) {
  const int64_t rows = y.size(0) * y.size(2);
  run(plan_rows("norm_relu_pool", loops::norm_relu_pool, x.dtype(), {y, chosen}, {x, mean, rstd, weight, bias},
                {integer(x.numel() / x.size(1)), integer(x.size(1)), integer(0), integer(x.size(2)), integer(x.size(3)),
                 integer(y.size(2)), integer(y.size(3)), integer(kernel_h), integer(kernel_w)},
                rows, y.size(3) * x.size(1) * kernel_h * kernel_w));
}
void norm_relu_pool_backward(const Tensor& dy, const Tensor& chosen, const Tensor& x, const Tensor& mean,
                             const Tensor& rstd, const Tensor& weight, bool training, int64_t kernel_h,
                             int64_t kernel_w, Tensor& sum_dy, Tensor& sum_dy_xhat, Tensor& dx) {
  const int64_t pixels = x.numel() / x.size(1), channels = x.size(1);
  const std::initializer_list<LoopScalar> scalars = {integer(pixels),     integer(channels),  integer(training),
                                                     integer(x.size(2)),  integer(x.size(3)), integer(dy.size(2)),
                                                     integer(dy.size(3)), integer(kernel_h),  integer(kernel_w)};
  const auto gradient_sums = [&](const Tensor& sums, const Tensor& dot_sums) {
    run_blocks("norm_relu_pool_backward", loops::norm_relu_pool_gradient_sums, {sums, dot_sums}, {dy, chosen, x, mean},
               x.dtype(), scalars);
  };
  const auto apply = [&](const Tensor& totals) {
    run(plan_rows("norm_relu_pool_backward", loops::norm_relu_pool_backward, x.dtype(), {dx},
                  {dy, chosen, x, mean, rstd, weight, totals}, scalars, pixels, channels));
  };
  finish_row_backward(pixels, rstd, sum_dy, sum_dy_xhat, gradient_sums, apply);
}

}  // namespace tandem::kernels::cpu
