// IValue: a value of one of several types, under one roof. What a custom Function keeps for its backward.
#pragma once
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

/// Nothing, a bool, an integer, a floating-point number, a string, a tensor, or a list of integers, floating-point
/// numbers or tensors. Each accessor throws Error unless the value is of its type; numbers do not convert into one
/// another.
class IValue {
 public:
  IValue() = default;
  template <class T>
  requires std::is_arithmetic_v<T> IValue(T value) {
    if constexpr (std::is_same_v<T, bool>)
      value_ = value;
    else if constexpr (std::is_integral_v<T>)
      value_ = static_cast<int64_t>(value);
    else
      value_ = static_cast<double>(value);
  }
  IValue(const char* value) : value_(std::string(value)) {}
  IValue(std::string value) : value_(std::move(value)) {}
  IValue(Tensor value) : value_(std::move(value)) {}
  IValue(std::vector<int64_t> value) : value_(std::move(value)) {}
  IValue(std::vector<double> value) : value_(std::move(value)) {}
  IValue(std::vector<Tensor> value) : value_(std::move(value)) {}

  bool isNone() const { return value_.index() == 0; }
  bool isBool() const { return std::holds_alternative<bool>(value_); }
  bool isInt() const { return std::holds_alternative<int64_t>(value_); }
  bool isDouble() const { return std::holds_alternative<double>(value_); }
  bool isString() const { return std::holds_alternative<std::string>(value_); }
  bool isTensor() const { return std::holds_alternative<Tensor>(value_); }

  bool toBool() const { return get<bool>("a bool"); }
  int64_t toInt() const { return get<int64_t>("an integer"); }
  double toDouble() const { return get<double>("a floating-point number"); }
  const std::string& toStringRef() const { return get<std::string>("a string"); }
  const Tensor& toTensor() const { return get<Tensor>("a tensor"); }
  std::vector<int64_t> toIntVector() const { return get<std::vector<int64_t>>("a list of integers"); }
  std::vector<double> toDoubleVector() const { return get<std::vector<double>>("a list of floating-point numbers"); }
  std::vector<Tensor> toTensorVector() const { return get<std::vector<Tensor>>("a list of tensors"); }

 private:
  template <class T> const T& get(const char* wanted) const {
    static constexpr const char* kinds[] = {
        "nothing",          "a bool",   "an integer",         "a floating-point number",
        "a string",         "a tensor", "a list of integers", "a list of floating-point numbers",
        "a list of tensors"};
    const T* const held = std::get_if<T>(&value_);
    TANDEM_CHECK(held, "IValue: asked for ", wanted, ", but it holds ", kinds[value_.index()]);
    return *held;
  }
  std::variant<std::monostate, bool, int64_t, double, std::string, Tensor, std::vector<int64_t>, std::vector<double>,
               std::vector<Tensor>>
      value_;
};

}  // namespace tandem
