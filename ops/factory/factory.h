// Functions that make new tensors.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Uninitialised elements, row-major unless `format` or the options name another memory format.
/// @throws Error for ChannelsLast of anything but four sizes
Tensor empty(IntArrayRef sizes, const TensorOptions& options = {}, std::optional<MemoryFormat> format = {});
/// Uninitialised elements that lie as x's do, of its sizes, dtype and device.
Tensor empty_like(const Tensor& x);
/// A copy, recorded: as x lies, or in the format given.
Tensor clone(const Tensor& x, MemoryFormat format = MemoryFormat::Preserve);
/// Uninitialised elements like x's. Of this and the other functions named _like: sizes are x's, and so are the dtype,
/// the device and the way in which the elements lie unless `format` or the options name them. Where x has gaps or
/// repeated elements, its order of dimensions is kept.
Tensor empty_like(const Tensor& x, const TensorOptions& options, std::optional<MemoryFormat> format = {});
/// Zeros, row-major, float32 on the CPU unless the options name another dtype, device or format.
Tensor zeros(IntArrayRef sizes, const TensorOptions& options = {});
/// Zeros as empty_like gives them.
Tensor zeros_like(const Tensor& x, const TensorOptions& options = {}, std::optional<MemoryFormat> format = {});
/// Ones, as zeros().
Tensor ones(IntArrayRef sizes, const TensorOptions& options = {});
/// Ones as empty_like gives them.
Tensor ones_like(const Tensor& x, const TensorOptions& options = {}, std::optional<MemoryFormat> format = {});
/// Every element is `value`, whose kind gives the dtype unless the options name one.
Tensor full(IntArrayRef sizes, const Scalar& value, const TensorOptions& options = {});
Tensor full_like(const Tensor& x, const Scalar& value, const TensorOptions& options = {},
                 std::optional<MemoryFormat> format = {});
/// The (n, m) matrix with ones on the diagonal; m is n unless given.
Tensor eye(int64_t n, const TensorOptions& options = {});
Tensor eye(int64_t n, int64_t m, const TensorOptions& options = {});
/// start, start + step, ... below end. int64 when all are integers.
Tensor arange(const Scalar& end, const TensorOptions& options = {});
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options);
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step = 1, const TensorOptions& options = {});
/// `steps` values from start to end, both included; of an integer dtype, both cut to integers first, then all between.
Tensor linspace(double start, double end, int64_t steps, const TensorOptions& options = {});

/// `steps` powers of `base`, whose exponents are linspace(start, end, steps).
Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base = 10.0,
                const TensorOptions& options = {});
/// arange with the end included, of the default dtype even where all are integers.
Tensor range(const Scalar& start, const Scalar& end, const TensorOptions& options);
Tensor range(const Scalar& start, const Scalar& end, const Scalar& step = 1, const TensorOptions& options = {});
/// A tensor of no dimension, of the default dtype unless the options name one.
Tensor scalar_tensor(const Scalar& value, const TensorOptions& options = {});
/// Uninitialised elements that lie with these strides.
Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});
/// Uninitialised elements that lie without gaps, with the dimensions in the order `physical_layout`, outermost first.
Tensor empty_permuted(IntArrayRef sizes, IntArrayRef physical_layout, const TensorOptions& options = {});
/// Whether `to` holds numbers of from's kind: any but a floating dtype as an integer, and a number as a bool.
bool can_cast(DType from, DType to);

// All draw from the device's generator (core/generator.h): manual_seed() makes them repeat.

/// Uniform in [0, 1).
Tensor rand(IntArrayRef sizes, const TensorOptions& options = {});
/// Uniform in [0, 1), of x's sizes, and its dtype and device unless the options name others.
Tensor rand_like(const Tensor& x, const TensorOptions& options = {}, std::optional<MemoryFormat> format = {});
/// Normal with mean 0 and variance 1.
Tensor randn(IntArrayRef sizes, const TensorOptions& options = {});
/// Normal with mean 0 and variance 1, of x's sizes.
Tensor randn_like(const Tensor& x, const TensorOptions& options = {}, std::optional<MemoryFormat> format = {});
/// Integers from 0, or low, to high - 1, int64 unless the options say otherwise.
Tensor randint(int64_t high, IntArrayRef sizes, const TensorOptions& options = {});
Tensor randint(int64_t low, int64_t high, IntArrayRef sizes, const TensorOptions& options = {});
/// Integers from 0, or low, to high - 1, of x's sizes and dtype.
Tensor randint_like(const Tensor& x, int64_t high, const TensorOptions& options = {},
                    std::optional<MemoryFormat> format = {});
Tensor randint_like(const Tensor& x, int64_t low, int64_t high, const TensorOptions& options = {},
                    std::optional<MemoryFormat> format = {});
/// The numbers 0 to n - 1 in an order drawn at random, int64 unless the options say otherwise.
Tensor randperm(int64_t n, const TensorOptions& options = {});

namespace detail {
/// A tensor of the values given: a number, a list, or nested lists of equal lengths.
class NestedList {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> NestedList(T value) : values_{Scalar(value)} {}
  NestedList(std::initializer_list<NestedList> rows);
  template <class T> NestedList(const std::vector<T>& list) : sizes_{static_cast<int64_t>(list.size())} {
    for (const auto& v : list) values_.push_back(Scalar(static_cast<T>(v)));
    if (list.empty()) kind_of_empty_ = Scalar(T{});
  }
  Tensor make(const TensorOptions& options) const;

 private:
  std::vector<Scalar> values_;
  Shape sizes_;
  Scalar kind_of_empty_ = 0.0;
};
}  // namespace detail
/// tensor(3.0), tensor({1, 2, 3}), tensor({{1.f, 2.f}, {3.f, 4.f}}). The dtype follows from the values' kind (int64,
/// bool, or the default floating dtype) unless the options name one.
Tensor tensor(const detail::NestedList& values, const TensorOptions& options = {});

}  // namespace tandem
