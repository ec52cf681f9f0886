// Random integers: randint, randint_like, random, random_.
#include "tandem/ops/random/randint.h"

#include <limits>

#include "tandem/kernels/fill.h"
#include "tandem/ops/factory/make_empty.h"
#include "tandem/ops/random/fill_random.h"

namespace tandem {

Tensor randint(int64_t high, IntArrayRef sizes, const TensorOptions& options) {
  return randint(0, high, sizes, options);
}
Tensor randint(int64_t low, int64_t high, IntArrayRef sizes, const TensorOptions& options) {
  TANDEM_CHECK(low < high, "randint: random_ expects 'from' to be less than 'to', but got from=", low, " >= to=", high);
  return make_empty("randint", sizes, options.dtype_or(kInt64), options).random_(low, high);
}
Tensor randint_like(const Tensor& x, int64_t high, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return randint_like(x, 0, high, options, format);
}
Tensor randint_like(const Tensor& x, const Tensor& high, const TensorOptions& options,
                    std::optional<MemoryFormat> format) {
  TANDEM_CHECK(high.dim() == 0 && high.is_cpu(),
               "randint_like: high must be a scalar tensor and on CPU, but has sizes ", high.sizes(), " and is on ",
               high.device());
  return randint_like(x, 0, high.item().to<int64_t>(), options, format);
}
Tensor randint_like(const Tensor& x, int64_t low, int64_t high, const TensorOptions& options,
                    std::optional<MemoryFormat> format) {
  TANDEM_CHECK(low < high, "randint_like: random_ expects 'from' to be less than 'to', but got from=", low,
               " >= to=", high);
  return apply_requires_grad(make_empty_like("randint_like", x, options, format).random_(low, high), options);
}
Tensor& Tensor::random_(int64_t low, int64_t high) const {
  TANDEM_CHECK(low < high, "random_ expects 'from' to be less than 'to', but got from=", low, " >= to=", high);
  if (!tandem::is_floating_point(dtype())) {
    const int64_t most = visit_dtype(dtype(), []<class T>() -> int64_t {
      if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::max();
      return 0;
    });
    const int64_t least = dtype() == kBool || dtype() == kUInt8 ? 0 : -most - 1;
    TANDEM_CHECK(low >= least && high - 1 <= most, "random_: ", low < least ? "from" : "to - 1",
                 " is out of bounds for ", dtype(), ": from is ", low, " and to is ", high, ", but the dtype holds ",
                 least, " to ", most);
  }
  return fill_random("random_", self(), [&](const RandomReservation& d, Tensor& y) {
    TANDEM_DISPATCH(y.device(), randint, low, high, d.state, d.offset, y);
  });
}
Tensor& Tensor::random_() const {
  if (dtype() == kFloat64) return random_(0, (int64_t{1} << 53) + 1);
  if (dtype() == kFloat32) return random_(0, (int64_t{1} << 24) + 1);
  if (dtype() == kFloat16) return random_(0, (int64_t{1} << 11) + 1);
  if (dtype() == kBFloat16) return random_(0, (int64_t{1} << 8) + 1);
  const int64_t most = visit_dtype(dtype(), []<class T>() -> int64_t {
    if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::max();
    return 0;
  });
  return random_(0, most == std::numeric_limits<int64_t>::max() ? most : most + 1);
}
Tensor random(const Tensor& x, int64_t from, std::optional<int64_t> to) {
  Tensor y = empty_like(x);
  if (to) return y.random_(from, *to);
  TANDEM_CHECK(from == 0, "random: from is ", from, ", but there is no to; without to, from must be 0");
  return y.random_();
}
Tensor random(const Tensor& x, int64_t to) { return empty_like(x).random_(0, to); }
Tensor random(const Tensor& x) { return empty_like(x).random_(); }

}  // namespace tandem
