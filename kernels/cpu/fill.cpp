// Plans the CPU loops that fill tensors with constants, sequences or random numbers, and the loop of dropout.
#include "tandem/kernels/fill.h"

#include <cstring>

#include "tandem/kernels/cpu/planner.h"
#include "tandem/kernels/elementwise.h"

namespace tandem::kernels::cpu {
namespace {

LoopScalar bits_to_scalar(uint64_t value) { return integer(static_cast<int64_t>(value)); }

/// Fills y with random numbers in logical (row-major) order. If y is not contiguous, fills a contiguous temporary and
/// copies it to y.
void fill_random(const char* name, const LoopTables& tables, LoopScalar a, LoopScalar b, const Tensor& state,
                 uint64_t offset, Tensor& y) {
  Tensor target = y.is_contiguous() ? y : core::empty(y.sizes(), y.dtype(), y.device());
  run(plan_raw(name, select_body(tables, y.dtype(), name), y.dtype(), {target}, {state}, {a, b, bits_to_scalar(offset)},
               y.numel(), 8192));
  if (!target.is_same(y)) copy(target, y);
}

}  // namespace

TANDEM_DECLARE_LOOP(fill)
void fill(const Scalar& value, Tensor& y) {
  run(plan_elementwise("fill", loops::fill, {y}, {}, {value.loop_scalar(y.dtype())}));
}
TANDEM_DECLARE_LOOP(arange)
void arange(const Scalar& start, const Scalar& step, Tensor& y) {
  run(plan_raw("arange", select_body(loops::arange, y.dtype(), "arange"), y.dtype(), {y}, {},
               {start.loop_scalar(y.dtype()), step.loop_scalar(y.dtype())}, y.numel(), kElementwiseGrain));
}
TANDEM_DECLARE_LOOP(uniform)
void uniform(double low, double high, const Tensor& state, uint64_t offset, Tensor& y) {
  fill_random("uniform", loops::uniform, real(low), real(high), state, offset, y);
}
TANDEM_DECLARE_LOOP(normal)
void normal(double mean, double std, const Tensor& state, uint64_t offset, Tensor& y) {
  fill_random("normal", loops::normal, real(mean), real(std), state, offset, y);
}
TANDEM_DECLARE_LOOP(bernoulli)
void bernoulli(double p, const Tensor& state, uint64_t offset, Tensor& y) {
  fill_random("bernoulli", loops::bernoulli, real(p), real(0), state, offset, y);
}
TANDEM_DECLARE_LOOP(randint)
void randint(int64_t low, int64_t high, const Tensor& state, uint64_t offset, Tensor& y) {
  fill_random("randint", loops::randint, integer(low), integer(high), state, offset, y);
}
TANDEM_DECLARE_LOOP(dropout)
void dropout(const Tensor& x, double keep, double scale, const Tensor& state, uint64_t offset, Tensor& y,
             Tensor& mask) {
  run(plan_raw("dropout", select_body(loops::dropout, x.dtype(), "dropout"), x.dtype(), {y, mask}, {x, state},
               {real(keep), real(scale), bits_to_scalar(offset)}, x.numel(), 8192));
}
void store_words(ArrayRef<uint64_t> words, Tensor& y) {
  std::memcpy(y.raw_data(), words.begin(), words.size() * sizeof(uint64_t));
}

}  // namespace tandem::kernels::cpu
