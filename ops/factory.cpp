#include "tandem/ops/factory.h"

#include <cmath>

#include "tandem/core/dispatch.h"
#include "tandem/core/generator.h"
#include "tandem/core/run_loop.h"
#include "tandem/core/thread_pool.h"
#include "tandem/kernels/fill.h"
#include "tandem/ops/argument.h"

namespace tandem {
namespace {

/// Uninitialised, of another dtype than the options' perhaps.
Tensor make_empty(const char* op, IntArrayRef sizes, DType dtype, const TensorOptions& options) {
  if (!options.pinned_memory()) return core::empty(sizes, dtype, options.device(), op);
  checked_bytes(op, sizes, dtype);
  return core::empty_pinned(sizes, dtype, options.device());
}
Tensor finish(Tensor t, const TensorOptions& options) {
  if (options.requires_grad()) t.requires_grad_();
  return t;
}
Tensor make_filled(const char* op, IntArrayRef sizes, const Scalar& value, DType dtype, const TensorOptions& options) {
  detail::check_holds(op, dtype, value);
  Tensor out = make_empty(op, sizes, dtype, options);
  TANDEM_DISPATCH(out.device(), fill, value, out);
  return finish(out, options);
}

}  // namespace

Tensor empty(IntArrayRef sizes, const TensorOptions& options) {
  return finish(make_empty("empty", sizes, options.dtype(), options), options);
}
namespace {
/// Options with x's dtype and device where they leave these open.
TensorOptions as(const Tensor& x, const TensorOptions& options) {
  return options.dtype(options.dtype_or(x.dtype())).device(options.device_or(x.device()));
}
}  // namespace
Tensor empty_like(const Tensor& x) { return core::empty(x.sizes(), x.dtype(), x.device()); }
Tensor empty_like(const Tensor& x, const TensorOptions& options) { return empty(x.sizes(), as(x, options)); }
Tensor zeros(IntArrayRef sizes, const TensorOptions& options) {
  return make_filled("zeros", sizes, 0, options.dtype(), options);
}
Tensor zeros_like(const Tensor& x, const TensorOptions& options) { return zeros(x.sizes(), as(x, options)); }
Tensor ones(IntArrayRef sizes, const TensorOptions& options) {
  return make_filled("ones", sizes, 1, options.dtype(), options);
}
Tensor ones_like(const Tensor& x, const TensorOptions& options) { return ones(x.sizes(), as(x, options)); }
Tensor full(IntArrayRef sizes, const Scalar& value, const TensorOptions& options) {
  return make_filled("full", sizes, value, options.dtype_or(value.dtype()), options);
}
Tensor full_like(const Tensor& x, const Scalar& value, const TensorOptions& options) {
  return full(x.sizes(), value, as(x, options));
}

Tensor eye(int64_t n, const TensorOptions& options) { return eye(n, n, options); }
Tensor eye(int64_t n, int64_t m, const TensorOptions& options) {
  TANDEM_CHECK(n >= 0 && m >= 0, "eye: ", n, " rows and ", m, " columns; neither may be negative");
  Tensor out = zeros({n, m}, options.requires_grad(false));
  const int64_t diagonal = std::min(n, m);
  if (diagonal > 0) core::as_strided(out, {diagonal}, {m + 1}, 0).fill_(1);
  return finish(out, options);
}

Tensor arange(const Scalar& end, const TensorOptions& options) { return arange(0, end, 1, options); }
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options) {
  return arange(start, end, 1, options);
}
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options) {
  const bool integral = start.is_integral() && end.is_integral() && step.is_integral();
  const double distance = end.to_double() - start.to_double(), by = step.to_double();
  TANDEM_CHECK(by != 0 && distance * by >= 0, "arange: from ", start, " to ", end, " does not go by ", step);
  int64_t count = 0, span = 0;
  if (integral && !__builtin_sub_overflow(end.to_int64(), start.to_int64(), &span)) {
    count = span / step.to_int64() + (span % step.to_int64() != 0);
  } else {
    const double steps = std::ceil(distance / by);
    TANDEM_CHECK(steps < 0x1p62, "arange: from ", start, " to ", end, " by ", step, " there are ", steps,
                 " numbers, more than a tensor holds");
    count = static_cast<int64_t>(steps);
  }
  Tensor out = make_empty("arange", {count}, options.dtype_or(integral ? kInt64 : get_default_dtype()), options);
  TANDEM_DISPATCH(out.device(), arange, start, step, out);
  return finish(out, options);
}
namespace {
/// Both ends cut to integers first, and then what lies between them, as in PyTorch: counted from the nearer end.
Tensor integer_linspace(double start, double end, int64_t steps, const TensorOptions& options) {
  Tensor host = core::empty({steps}, options.dtype(), kCPU);
  if (steps == 0) return host.to(options.device());
  visit_dtype(host.dtype(), [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      const auto first = static_cast<double>(Scalar(start).to<T>()), last = static_cast<double>(Scalar(end).to<T>());
      const double step = steps > 1 ? (last - first) / static_cast<double>(steps - 1) : 0.0;
      for (int64_t i = 0; i < steps; ++i)
        host.data<T>()[i] = static_cast<T>(i < steps / 2 ? first + step * static_cast<double>(i)
                                                         : last - step * static_cast<double>(steps - 1 - i));
    }
  });
  if (steps == 1) host.fill_(start);
  return host.to(options.device());
}
}  // namespace
Tensor linspace(double start, double end, int64_t steps, const TensorOptions& options) {
  TANDEM_CHECK(steps >= 0, "linspace: steps is ", steps, "; it must not be negative");
  TANDEM_CHECK(options.dtype() != kBool || steps < 2, "linspace: dtype is bool; accepted: numbers");
  if (!is_floating_point(options.dtype())) return finish(integer_linspace(start, end, steps, options), options);
  Tensor out = make_empty("linspace", {steps}, options.dtype(), options);
  TANDEM_DISPATCH(out.device(), arange, start, steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0.0, out);
  if (steps > 1) core::select(out, 0, -1).fill_(end);  // exactly, whatever the step rounds to
  return finish(out, options);
}

namespace {
/// Of no elements any dtype can be asked for, as in PyTorch.
Tensor drawn(const char* op, IntArrayRef sizes, const TensorOptions& options, Tensor& (*fill)(Tensor&)) {
  Tensor out = make_empty(op, sizes, options.dtype(), options);
  return finish(out.numel() == 0 ? out : fill(out), options);
}
}  // namespace
Tensor rand(IntArrayRef sizes, const TensorOptions& options) {
  return drawn("rand", sizes, options, [](Tensor& x) -> Tensor& { return x.uniform_(); });
}
Tensor rand_like(const Tensor& x, const TensorOptions& options) { return rand(x.sizes(), as(x, options)); }
Tensor randn(IntArrayRef sizes, const TensorOptions& options) {
  return drawn("randn", sizes, options, [](Tensor& x) -> Tensor& { return x.normal_(); });
}
Tensor randn_like(const Tensor& x, const TensorOptions& options) { return randn(x.sizes(), as(x, options)); }
Tensor randint(int64_t high, IntArrayRef sizes, const TensorOptions& options) {
  return randint(0, high, sizes, options);
}
Tensor randint(int64_t low, int64_t high, IntArrayRef sizes, const TensorOptions& options) {
  TANDEM_CHECK(low < high, "randint: from ", low, " to ", high, " holds no integer");
  return make_empty("randint", sizes, options.dtype_or(kInt64), options).random_(low, high);
}
Tensor randperm(int64_t n, const TensorOptions& options) {
  TANDEM_CHECK(n >= 0, "randperm: n is ", n, "; it must not be negative");
  check_not_recorded("randperm", "the host makes the permutation");
  // Fisher-Yates on the host, from the device's stream: the same permutation wherever it is asked for.
  Tensor order = core::empty({n}, kInt64, kCPU);
  Tensor draws = core::empty({n}, kInt64, kCPU);
  {
    const GeneratorGuard guard(default_generator(options.device()));
    draws.random_(0, std::numeric_limits<int64_t>::max());
  }
  auto* p = order.data<int64_t>();
  auto* r = draws.data<int64_t>();
  parallel_for(n, 8192, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) p[i] = i, r[i] %= i + 1;
  });
  constexpr int64_t kAhead = 16;  // partners are anywhere: the next ones are fetched while these are swapped
  for (int64_t i = n - 1; i > 0; --i) {
    if (i > kAhead) __builtin_prefetch(p + r[i - kAhead], 1);
    std::swap(p[i], p[r[i]]);
  }
  return finish(order.to(options.dtype(options.dtype_or(kInt64))), options);
}

NestedList::NestedList(std::initializer_list<NestedList> rows) : sizes_{static_cast<int64_t>(rows.size())} {
  for (const NestedList& row : rows) {
    TANDEM_CHECK(row.sizes_ == rows.begin()->sizes_, "tensor: a row of ", row.sizes_, " among rows of ",
                 rows.begin()->sizes_);
    values_.insert(values_.end(), row.values_.begin(), row.values_.end());
  }
  if (rows.size())
    for (const int64_t s : rows.begin()->sizes_) sizes_.push_back(s);
}
Tensor NestedList::make(const TensorOptions& options) const {
  Scalar::Kind kind = values_.empty() ? kind_of_empty_.kind() : Scalar::Kind::boolean;
  for (const Scalar& v : values_) kind = std::max(kind, v.kind());
  const DType inferred = kind == Scalar::Kind::boolean   ? kBool
                         : kind == Scalar::Kind::integer ? kInt64
                                                         : get_default_dtype();
  Tensor host =
      make_empty("tensor", sizes_, options.dtype_or(inferred), options.pinned_memory() ? options : TensorOptions());
  visit_dtype(host.dtype(), [&]<class T>() {
    for (size_t i = 0; i < values_.size(); ++i) {
      detail::check_holds("tensor", host.dtype(), values_[i]);
      host.data<T>()[i] = values_[i].to<T>();
    }
  });
  return finish(host.to(options.device()), options);
}
Tensor tensor(const NestedList& values, const TensorOptions& options) { return values.make(options); }

}  // namespace tandem
