#include "tandem/ops/factory/factory.h"

#include <cmath>

#include "tandem/core/dispatch.h"
#include "tandem/core/generator.h"
#include "tandem/core/loop/run_loop.h"
#include "tandem/core/threads/thread_pool.h"
#include "tandem/kernels/fill.h"
#include "tandem/ops/argument.h"

namespace tandem {
namespace {

/// Uninitialised, of another dtype than the options' perhaps.
Tensor make_empty(const char* op, IntArrayRef sizes, DType dtype, const TensorOptions& options) {
  const MemoryFormat format = options.memory_format_opt().value_or(MemoryFormat::Contiguous);
  if (!options.pinned_memory() && format == MemoryFormat::Contiguous) [[likely]]
    return core::empty(sizes, dtype, options.device(), op);
  checked_bytes(op, sizes, dtype);
  const Shape strides = core::strides_of(op, sizes, format);
  return options.pinned_memory() ? core::empty_pinned(sizes, dtype, options.device(), &strides)
                                 : core::empty_dense(sizes, strides, dtype, options.device());
}
/// Options with x's dtype and device where they leave these open.
TensorOptions as(const Tensor& x, const TensorOptions& options) {
  return options.dtype(options.dtype_or(x.dtype())).device(options.device_or(x.device()));
}
/// As x is, but for what the options say.
Tensor make_like(const char* op, const Tensor& x, const TensorOptions& given, std::optional<MemoryFormat> format) {
  const TensorOptions options = as(x, given);
  const MemoryFormat wanted = format.value_or(options.memory_format_opt().value_or(MemoryFormat::Preserve));
  if (!options.pinned_memory()) return core::empty_like(x, options.dtype(), options.device(), wanted);
  checked_bytes(op, x.sizes(), options.dtype());
  const Shape strides = core::strides_like(x, wanted);
  return core::empty_pinned(x.sizes(), options.dtype(), options.device(), &strides);
}
Tensor finish(Tensor t, const TensorOptions& options) {
  if (options.requires_grad()) t.requires_grad_();
  return t;
}
Tensor filled(const char* op, Tensor out, const Scalar& value, const TensorOptions& options) {
  detail::check_holds(op, out.dtype(), value);
  TANDEM_DISPATCH(out.device(), fill, value, out);
  return finish(out, options);
}
Tensor make_filled(const char* op, IntArrayRef sizes, const Scalar& value, DType dtype, const TensorOptions& options) {
  return filled(op, make_empty(op, sizes, dtype, options), value, options);
}

}  // namespace

Tensor empty(IntArrayRef sizes, const TensorOptions& options, std::optional<MemoryFormat> format) {
  const TensorOptions all = format ? options.memory_format(*format) : options;
  return finish(make_empty("empty", sizes, all.dtype(), all), all);
}
Tensor empty_like(const Tensor& x) { return core::empty_like(x, x.dtype(), x.device()); }
Tensor empty_like(const Tensor& x, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return finish(make_like("empty_like", x, options, format), options);
}
Tensor zeros(IntArrayRef sizes, const TensorOptions& options) {
  return make_filled("zeros", sizes, 0, options.dtype(), options);
}
Tensor zeros_like(const Tensor& x, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return filled("zeros_like", make_like("zeros_like", x, options, format), 0, options);
}
Tensor ones(IntArrayRef sizes, const TensorOptions& options) {
  return make_filled("ones", sizes, 1, options.dtype(), options);
}
Tensor ones_like(const Tensor& x, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return filled("ones_like", make_like("ones_like", x, options, format), 1, options);
}
Tensor full(IntArrayRef sizes, const Scalar& value, const TensorOptions& options) {
  const DType dtype = options.dtype_or(value.dtype());
  if (is_half(dtype) && numel_of(sizes) == 1)  // one number may become infinite, as in PyTorch
    return make_filled("full", sizes, core::scalar(value, dtype, kCPU).item(), dtype, options);
  return make_filled("full", sizes, value, dtype, options);
}
Tensor full_like(const Tensor& x, const Scalar& value, const TensorOptions& options,
                 std::optional<MemoryFormat> format) {
  return filled("full_like", make_like("full_like", x, options, format), value, options);
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
  TANDEM_CHECK(by != 0 && distance * by >= 0, "arange: steps of ", step, " do not lead from ", start, " to ", end);
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
Tensor drawn(Tensor out, const TensorOptions& options, Tensor& (*fill)(Tensor&)) {
  return finish(out.numel() == 0 ? out : fill(out), options);
}
Tensor& uniform(Tensor& x) { return x.uniform_(); }
Tensor& normal(Tensor& x) { return x.normal_(); }
}  // namespace
Tensor rand(IntArrayRef sizes, const TensorOptions& options) {
  return drawn(make_empty("rand", sizes, options.dtype(), options), options, uniform);
}
Tensor rand_like(const Tensor& x, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return drawn(make_like("rand_like", x, options, format), options, uniform);
}
Tensor randn(IntArrayRef sizes, const TensorOptions& options) {
  return drawn(make_empty("randn", sizes, options.dtype(), options), options, normal);
}
Tensor randn_like(const Tensor& x, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return drawn(make_like("randn_like", x, options, format), options, normal);
}
Tensor randint(int64_t high, IntArrayRef sizes, const TensorOptions& options) {
  return randint(0, high, sizes, options);
}
Tensor randint(int64_t low, int64_t high, IntArrayRef sizes, const TensorOptions& options) {
  TANDEM_CHECK(low < high, "randint: from ", low, " to ", high, " holds no integer");
  return make_empty("randint", sizes, options.dtype_or(kInt64), options).random_(low, high);
}
Tensor randint_like(const Tensor& x, int64_t high, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return randint_like(x, 0, high, options, format);
}
Tensor randint_like(const Tensor& x, int64_t low, int64_t high, const TensorOptions& options,
                    std::optional<MemoryFormat> format) {
  TANDEM_CHECK(low < high, "randint_like: from ", low, " to ", high, " holds no integer");
  return finish(make_like("randint_like", x, options, format).random_(low, high), options);
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
    const bool mixed = !values_.empty() && !row.values_.empty() && values_.front().kind() != row.values_.front().kind();
    TANDEM_CHECK(!mixed, "tensor: the lists hold ", values_.front().dtype(), " and ", row.values_.front().dtype(),
                 "; accepted: numbers of one type");
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
      if (!is_floating_point(host.dtype())) detail::check_holds("tensor", host.dtype(), values_[i]);
      host.data<T>()[i] = values_[i].to<T>();
    }
  });
  return finish(host.to(options.device()), options);
}
Tensor tensor(const NestedList& values, const TensorOptions& options) { return values.make(options); }

}  // namespace tandem
