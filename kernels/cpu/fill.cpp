// Planners of constants, sequences, random fills and dropout.
#include "tandem/kernels/fill.h"

#include "tandem/kernels/cpu/planner.h"
#include "tandem/kernels/elementwise.h"

namespace tandem::kernels::cpu {
namespace {

LoopScalar bits(uint64_t value) { return integer(static_cast<int64_t>(value)); }

/// Fills y, through a contiguous stand-in where y has gaps: numbers follow the logical order.
void random_fill(const char* name, const LoopTables& rows, LoopScalar a, LoopScalar b, PhiloxState random, Tensor& y) {
  Tensor target = y.is_contiguous() ? y : core::empty(y.sizes(), y.dtype(), y.device());
  run(plan_raw(name, pick(rows, y.dtype(), name), y.dtype(), {target}, {},
               {a, b, bits(random.seed), bits(random.stream), bits(random.offset)}, y.numel(), 8192));
  if (!target.is_same(y)) copy(target, y);
}

}  // namespace

TANDEM_DECLARE_LOOP(fill)
void fill(const Scalar& value, Tensor& y) {
  run(plan_elementwise("fill", loops::fill, {y}, {}, {value.loop_scalar(y.dtype())}));
}
TANDEM_DECLARE_LOOP(arange)
void arange(const Scalar& start, const Scalar& step, Tensor& y) {
  run(plan_raw("arange", pick(loops::arange, y.dtype(), "arange"), y.dtype(), {y}, {},
               {start.loop_scalar(y.dtype()), step.loop_scalar(y.dtype())}, y.numel(), kElementwiseGrain));
}
TANDEM_DECLARE_LOOP(uniform)
void uniform(double low, double high, PhiloxState random, Tensor& y) {
  random_fill("uniform", loops::uniform, real(low), real(high), random, y);
}
TANDEM_DECLARE_LOOP(normal)
void normal(double mean, double std, PhiloxState random, Tensor& y) {
  random_fill("normal", loops::normal, real(mean), real(std), random, y);
}
TANDEM_DECLARE_LOOP(bernoulli)
void bernoulli(double p, PhiloxState random, Tensor& y) {
  random_fill("bernoulli", loops::bernoulli, real(p), real(0), random, y);
}
TANDEM_DECLARE_LOOP(randint)
void randint(int64_t low, int64_t high, PhiloxState random, Tensor& y) {
  random_fill("randint", loops::randint, integer(low), integer(high), random, y);
}
TANDEM_DECLARE_LOOP(dropout)
void dropout(const Tensor& x, double keep, double scale, PhiloxState random, Tensor& y, Tensor& mask) {
  run(plan_raw("dropout", pick(loops::dropout, x.dtype(), "dropout"), x.dtype(), {y, mask}, {x},
               {real(keep), real(scale), bits(random.seed), bits(random.stream), bits(random.offset)}, x.numel(),
               8192));
}

}  // namespace tandem::kernels::cpu
