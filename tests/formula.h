// Numbers that C++ and Python make alike: one integer formula, evaluated in both (fixtures/formula.py). A fixture
// commits no inputs, only what an input looks like (InputSpec), and of results only checksums.
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
/// Input k of a case has salt k + 1; the upstream gradient of its output j has salt 101 + j and lies in [-1, 1).
inline constexpr uint32_t kOutputGradientSalt = 101;

/// u(i, salt) in [0, 1): a multiple of 2^-24, exact in float.
inline double unit(int64_t i, uint32_t salt) {
  uint32_t x = static_cast<uint32_t>(i) * 2654435761u + salt * 2246822519u;
  x ^= x >> 15;
  x *= 2246822519u;
  x ^= x >> 13;
  x *= 3266489917u;
  x ^= x >> 16;
  return (x >> 8) * 0x1p-24;
}

/// value(i, salt) in [-1, 1): exact in float.
inline double value(int64_t i, uint32_t salt) { return 2.0 * unit(i, salt) - 1.0; }

/// What an input looks like; which numbers it holds follows from a salt.
struct InputSpec {
  enum class Kind { real, integer, boolean, permutation };
  std::vector<int64_t> shape;
  double lo = -1.0, hi = 1.0;
  Kind kind = Kind::real;
  int64_t n = 0;                     // integers lie in [0, n)
  std::optional<double> avoid = {};  // real numbers keep 0.05 away from it
  bool constant = false;             // real, yet takes no gradient: class weights, running statistics
  std::vector<double> listed = {};   // real: these numbers, again and again, in place of the formula's

  int64_t numel() const { return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()); }
  bool differentiable() const { return kind == Kind::real && !constant; }
  bool operator==(const InputSpec&) const = default;
};

/// lo + (hi - lo) u, rounded to float, so that runs in float and double see the same numbers.
inline InputSpec real(std::vector<int64_t> shape, double lo = -1.0, double hi = 1.0) {
  return {.shape = std::move(shape), .lo = lo, .hi = hi};
}
/// As real; what is closer to c than 0.05 is raised by 0.1: no kink or pole at c is met.
inline InputSpec away_from(double c, std::vector<int64_t> shape, double lo = -1.0, double hi = 1.0) {
  return {.shape = std::move(shape), .lo = lo, .hi = hi, .avoid = c};
}
/// The same numbers, without a gradient.
inline InputSpec constant(InputSpec spec) {
  spec.constant = true;
  return spec;
}
/// Real numbers that are listed, for kinks, ties, infinities and NaNs; repeated until the shape is full.
inline InputSpec listed(std::vector<double> numbers, std::vector<int64_t> shape) {
  return {.shape = std::move(shape), .listed = std::move(numbers)};
}
/// floor(u n): int64 in [0, n).
inline InputSpec integer(int64_t n, std::vector<int64_t> shape) {
  return {.shape = std::move(shape), .kind = InputSpec::Kind::integer, .n = n};
}
/// u > 1/2, as 0 and 1.
inline InputSpec boolean(std::vector<int64_t> shape) {
  return {.shape = std::move(shape), .kind = InputSpec::Kind::boolean};
}
/// int64: each row along the last dimension is the order that sorts its u.
inline InputSpec permutation(std::vector<int64_t> shape) {
  return {.shape = std::move(shape), .kind = InputSpec::Kind::permutation};
}

/// The numbers that a spec and a salt stand for, in row-major order.
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

/// What a fixture keeps of a tensor; element i counts in row-major order.
struct Checksum {
  double sum = 0, abs_sum = 0, weighted = 0;  // weighted = sum_i v_i value(i, 7): it sees a permutation too
  std::vector<double> head;                   // the first four, or fewer
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
