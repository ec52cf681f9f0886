// TensorAccessor: elements of a CPU tensor by a[i][j], for loops over single numbers.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tandem {

/// N dimensions of a tensor; indexing takes one off, and the last gives a reference to the element. Indices are not
/// checked. It must not outlive the tensor.
template <class T, size_t N> class TensorAccessor {
 public:
  TensorAccessor(T* data, const int64_t* sizes, const int64_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  int64_t size(int64_t d) const { return sizes_[d]; }
  int64_t stride(int64_t d) const { return strides_[d]; }
  T* data() const { return data_; }
  decltype(auto) operator[](int64_t i) const {
    if constexpr (N == 1)
      return (data_[i * strides_[0]]);
    else
      return TensorAccessor<T, N - 1>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1);
  }

 private:
  T* data_;
  const int64_t *sizes_, *strides_;
};

}  // namespace tandem
