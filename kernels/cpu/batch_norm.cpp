// Planners of batch normalisation: of planes, and of rows, in which channels lie side by side.
#include <algorithm>
#include <cmath>

#include "tandem/kernels/cpu/planner.h"
#include "tandem/kernels/norm.h"
#include "tandem/kernels/visit_floating.h"

namespace tandem::kernels::cpu {

TANDEM_DECLARE_LOOP(batch_norm_stats)
TANDEM_DECLARE_LOOP(batch_norm_apply)
TANDEM_DECLARE_LOOP(batch_norm_backward)
TANDEM_DECLARE_LOOP(batch_norm_row_sums)
TANDEM_DECLARE_LOOP(batch_norm_row_slope_sums)
TANDEM_DECLARE_LOOP(batch_norm_apply_rows)
TANDEM_DECLARE_LOOP(batch_norm_backward_rows)
namespace {

constexpr int64_t kFold = 2048, kColumns = 32;  // rows and channels of one unit, as the loops have them

bool is_rows(const Tensor& x) { return x.size(2) == 1; }
int64_t blocks_of(const Tensor& x) { return (x.size(0) + kFold - 1) / kFold; }
/// Sums over the blocks of rows.
Tensor partial_sums(const Tensor& x) { return core::empty({blocks_of(x), x.size(1)}, kFloat64, x.device()); }
void run_blocks(const char* name, const LoopTables& rows, TensorRefs writes, TensorRefs reads, const Tensor& x) {
  run(plan_rows(name, rows, x.dtype(), writes, reads, {integer(x.size(0)), integer(x.size(1))},
                blocks_of(x) * ((x.size(1) + kColumns - 1) / kColumns),
                std::min(x.size(0), kFold) * std::min(x.size(1), kColumns)));
}

/// What turns the sums of one channel's blocks into its numbers.
struct Finish {
  int64_t blocks, channels;
  double count, eps;
  double total(const double* sums, int64_t c) const {
    double all = 0;
    for (int64_t k = 0; k < blocks; ++k) all += sums[k * channels + c];
    return all;
  }
};
template <class Body> void run_finish(const Finish& finish, TensorRefs writes, TensorRefs reads, Body body) {
  run(plan_call("batch_norm_finish", kFloat64, writes, reads, finish, body, finish.channels, 4096));
}

void row_stats(const Tensor& x, double eps, Tensor& mean, Tensor& var, Tensor& rstd) {
  const Tensor sums = partial_sums(x), no_center;
  const Finish finish{blocks_of(x), x.size(1), static_cast<double>(x.size(0)), eps};
  run_blocks("batch_norm_stats", loops::batch_norm_row_sums, {sums}, {x, no_center}, x);
  visit_floating("batch_norm", mean.dtype(), [&]<class C>() {
    run_finish(finish, {mean}, {sums}, [](const Finish& f, const Loop& loop, int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c)
        data<C>(loop, 0)[c] = static_cast<C>(f.total(data<const double>(loop, 1), c) / f.count);
    });
    run_blocks("batch_norm_stats", loops::batch_norm_row_sums, {sums}, {x, mean}, x);
    run_finish(finish, {var, rstd}, {sums}, [](const Finish& f, const Loop& loop, int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const double variance = f.total(data<const double>(loop, 2), c) / f.count;
        data<C>(loop, 0)[c] = static_cast<C>(variance);
        data<C>(loop, 1)[c] = static_cast<C>(1.0 / std::sqrt(variance + f.eps));
      }
    });
  });
}
void row_backward(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                  bool training, Tensor& sum_dy, Tensor& sum_dy_xhat, Tensor& dx) {
  const Tensor sums = partial_sums(x), slopes = partial_sums(x);
  const Tensor totals = core::empty({2, x.size(1)}, kFloat64, x.device());
  const Finish finish{blocks_of(x), x.size(1), static_cast<double>(x.size(0)), 0};
  run_blocks("batch_norm_backward", loops::batch_norm_row_slope_sums, {sums, slopes}, {dy, x, mean}, x);
  visit_floating("batch_norm", mean.dtype(), [&]<class C>() {
    run_finish(finish, {sum_dy, sum_dy_xhat, totals}, {sums, slopes, rstd},
               [](const Finish& f, const Loop& loop, int64_t begin, int64_t end) {
                 double* const all = data<double>(loop, 2);
                 for (int64_t c = begin; c < end; ++c) {
                   all[c] = f.total(data<const double>(loop, 3), c);
                   all[f.channels + c] = f.total(data<const double>(loop, 4), c);
                   data<C>(loop, 0)[c] = static_cast<C>(all[c]);
                   data<C>(loop, 1)[c] =
                       static_cast<C>(all[f.channels + c] * static_cast<double>(data<const C>(loop, 5)[c]));
                 }
               });
  });
  run(plan_rows("batch_norm_backward", loops::batch_norm_backward_rows, x.dtype(), {dx},
                {dy, x, mean, rstd, weight, totals}, {integer(x.size(0)), integer(x.size(1)), integer(training)},
                x.size(0), x.size(1)));
}

}  // namespace

void batch_norm_stats(const Tensor& x, double eps, Tensor& mean, Tensor& var, Tensor& rstd) {
  if (is_rows(x)) return row_stats(x, eps, mean, var, rstd);
  run(plan_rows("batch_norm_stats", loops::batch_norm_stats, x.dtype(), {mean, var, rstd}, {x},
                {integer(x.size(0)), integer(x.size(1)), integer(x.size(2)), real(eps)}, x.size(1),
                x.size(0) * x.size(2) * 2));
}
void batch_norm_apply(const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight, const Tensor& bias,
                      Tensor& y) {
  const bool rows = is_rows(x);
  run(plan_rows("batch_norm_apply", rows ? loops::batch_norm_apply_rows : loops::batch_norm_apply, x.dtype(), {y},
                {x, mean, rstd, weight, bias}, {integer(x.size(0)), integer(x.size(1)), integer(x.size(2))},
                rows ? x.size(0) : x.size(0) * x.size(1), rows ? x.size(1) : x.size(2)));
}
void batch_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                         const Tensor& weight, bool training, Tensor& sum_dy, Tensor& sum_dy_xhat, Tensor& dx) {
  if (is_rows(x)) return row_backward(dy, x, mean, rstd, weight, training, sum_dy, sum_dy_xhat, dx);
  run(plan_rows("batch_norm_backward", loops::batch_norm_backward, x.dtype(), {sum_dy, sum_dy_xhat, dx},
                {dy, x, mean, rstd, weight},
                {integer(x.size(0)), integer(x.size(1)), integer(x.size(2)), integer(training)}, x.size(1),
                x.size(0) * x.size(2) * 3));
}

}  // namespace tandem::kernels::cpu
