// Numbers that C++ and Python generate identically from one integer formula (fixtures/formula.py has the Python side).
// A fixture commits no input values, only a description of each input (InputSpec), and only checksums of most results.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace tandem::test {

inline constexpr uint32_t kChecksumSalt = 7;
/// Salt of the upstream gradient of output 0; output j has salt 101 + j, and its values lie in [-1, 1). Input k of a
/// case
/// has salt k + 1.
inline constexpr uint32_t kOutputGradientSalt = 101;

/// Returns u(i, salt), a number in [0, 1). It is a multiple of 2^-24, so float represents it exactly.
inline double unit(int64_t i, uint32_t salt) {
  uint32_t x = static_cast<uint32_t>(i) * 2654435761u + salt * 2246822519u;
  x ^= x >> 15;
  x *= 2246822519u;
  x ^= x >> 13;
  x *= 3266489917u;
  x ^= x >> 16;
  return (x >> 8) * 0x1p-24;
}

/// Returns value(i, salt), a number in [-1, 1) that float represents exactly.
inline double value(int64_t i, uint32_t salt) { return 2.0 * unit(i, salt) - 1.0; }

/// Shape and kind of an input. A salt then determines its values.
struct InputSpec {
  enum class Kind { real, integer, boolean, permutation };
  std::vector<int64_t> shape;
  double lo = -1.0, hi = 1.0;
  Kind kind = Kind::real;
  int64_t n = 0;                     // integers lie in [0, n)
  std::optional<double> avoid = {};  // real numbers keep a distance of 0.05 from this value
  bool constant = false;             // real, but without a gradient, such as class weights and running statistics
  std::vector<double> listed = {};   // real numbers, repeated cyclically, used in place of the formula's numbers

  int64_t numel() const { return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()); }
  bool differentiable() const { return kind == Kind::real && !constant; }
  bool operator==(const InputSpec&) const = default;
};

/// Numbers lo + (hi - lo) * u, rounded to float, so that runs in float and double use the same numbers.
inline InputSpec real(std::vector<int64_t> shape, double lo = -1.0, double hi = 1.0) {
  return {.shape = std::move(shape), .lo = lo, .hi = hi};
}
/// Like real(), but numbers within 0.05 of c are raised by 0.1, so that no input lies near a kink or pole at c.
inline InputSpec away_from(double c, std::vector<int64_t> shape, double lo = -1.0, double hi = 1.0) {
  return {.shape = std::move(shape), .lo = lo, .hi = hi, .avoid = c};
}
/// Returns `spec` with gradients turned off; its numbers stay the same.
inline InputSpec constant(InputSpec spec) {
  spec.constant = true;
  return spec;
}
/// Real numbers from a list, such as kinks, ties, infinities and NaNs. The list is repeated until the shape is full.
inline InputSpec listed(std::vector<double> numbers, std::vector<int64_t> shape) {
  return {.shape = std::move(shape), .listed = std::move(numbers)};
}
/// int64 numbers floor(u * n), which lie in [0, n).
inline InputSpec integer(int64_t n, std::vector<int64_t> shape) {
  return {.shape = std::move(shape), .kind = InputSpec::Kind::integer, .n = n};
}
/// Boolean numbers: u > 1/2, as 0 and 1.
inline InputSpec boolean(std::vector<int64_t> shape) {
  return {.shape = std::move(shape), .kind = InputSpec::Kind::boolean};
}
/// int64 permutations: each row along the last dimension is the argsort of its numbers u.
inline InputSpec permutation(std::vector<int64_t> shape) {
  return {.shape = std::move(shape), .kind = InputSpec::Kind::permutation};
}

/// Returns the numbers defined by a spec and a salt, in row-major order.
inline std::vector<double> evaluate(const InputSpec& spec, uint32_t salt) {
  std::vector<double> v(static_cast<size_t>(spec.numel()));
  for (size_t i = 0; i < v.size(); ++i) {
    const double u = unit(static_cast<int64_t>(i), salt);
    switch (spec.kind) {
      case InputSpec::Kind::real:
        if (!spec.listed.empty()) {
          v[i] = spec.listed[i % spec.listed.size()];
          break;
        }
        v[i] = static_cast<float>(spec.lo + (spec.hi - spec.lo) * u);
        if (spec.avoid && std::abs(v[i] - *spec.avoid) < 0.05) v[i] = static_cast<float>(v[i] + 0.1);
        break;
      case InputSpec::Kind::integer: v[i] = std::floor(u * static_cast<double>(spec.n)); break;
      case InputSpec::Kind::boolean: v[i] = u > 0.5 ? 1.0 : 0.0; break;
      case InputSpec::Kind::permutation: v[i] = u; break;
    }
  }
  if (spec.kind != InputSpec::Kind::permutation || v.empty()) return v;
  const size_t row = spec.shape.empty() ? 1 : static_cast<size_t>(spec.shape.back());
  std::vector<size_t> order(row);
  for (size_t first = 0; first < v.size(); first += row) {
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return v[first + a] < v[first + b]; });
    std::copy(order.begin(), order.end(), v.begin() + static_cast<std::ptrdiff_t>(first));
  }
  return v;
}

/// Summary of a tensor that a fixture stores in place of its elements. Element i counts in row-major order.
struct Checksum {
  // weighted = sum_i v_i * value(i, kChecksumSalt): unlike the other sums, it changes if elements are permuted
  double sum = 0, abs_sum = 0, weighted = 0;
  std::vector<double> head;  // the first four elements, or all if there are fewer
};
inline Checksum checksum(const std::vector<double>& v) {
  Checksum c;
  for (size_t i = 0; i < v.size(); ++i) {
    c.sum += v[i];
    c.abs_sum += std::abs(v[i]);
    c.weighted += v[i] * value(static_cast<int64_t>(i), kChecksumSalt);
  }
  c.head.assign(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(v.size(), 4)));
  return c;
}

}  // namespace tandem::test
