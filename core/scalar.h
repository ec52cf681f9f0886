// A number that keeps its kind (bool, integer, floating point), so that `x * 2` leaves an integer tensor integer.
#pragma once
#include <cstdint>
#include <type_traits>

#include "tandem/core/dtype.h"

namespace tandem {

class Scalar {
 public:
  enum class Kind : uint8_t { boolean, integer, floating };
  Scalar() : Scalar(0) {}
  template <class T>
  requires std::is_arithmetic_v<T> Scalar(T value) {
    if constexpr (std::is_same_v<T, bool>)
      kind_ = Kind::boolean, integer_ = value;
    else if constexpr (std::is_integral_v<T>)
      kind_ = Kind::integer, integer_ = static_cast<int64_t>(value);
    else
      kind_ = Kind::floating, real_ = static_cast<double>(value);
  }
  Scalar(Half value) : Scalar(float(value)) {}
  Scalar(BFloat16 value) : Scalar(float(value)) {}

  Kind kind() const { return kind_; }
  bool is_floating_point() const { return kind_ == Kind::floating; }
  bool is_integral() const { return kind_ != Kind::floating; }
  bool is_boolean() const { return kind_ == Kind::boolean; }
  template <class T> T to() const {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      return T(to<float>());
    else
      return kind_ == Kind::floating ? static_cast<T>(real_) : static_cast<T>(integer_);
  }
  double to_double() const { return to<double>(); }
  int64_t to_int64() const { return to<int64_t>(); }
  /// The dtype of a tensor made of it: bool, int64, or the default floating dtype.
  DType dtype() const { return kind_ == Kind::boolean ? kBool : kind_ == Kind::integer ? kInt64 : get_default_dtype(); }
  /// As a loop of this dtype reads it.
  LoopScalar loop_scalar(DType dtype) const {
    LoopScalar s;
    if (tandem::is_floating_point(dtype))
      s.real = to_double();
    else
      s.integer = to_int64();
    return s;
  }
  friend std::ostream& operator<<(std::ostream& out, const Scalar& s) {
    return s.is_floating_point() ? out << s.real_ : out << s.integer_;
  }

 private:
  Kind kind_;
  union {
    double real_;
    int64_t integer_;
  };
};

}  // namespace tandem
