// Accessors: elements of a tensor by a[i][j], for loops over single numbers.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tandem/core/array_ref.h"
#include "tandem/core/half.h"

namespace tandem {

/// The kinds of pointer that an accessor may hold: a plain one, and one that promises to be the only way to its
/// elements. GPUs' compilers read through the second ahead of writes.
template <class T> struct DefaultPtrTraits { using PtrType = T*; };
/// Pointers that the compiler may take to be the only ones to their elements.
template <class T> struct RestrictPtrTraits { using PtrType = T* __restrict__; };

/// N dimensions of a tensor; indexing takes one off, and the last gives a reference to the element. Indices are not
/// checked. It must not outlive the tensor.
template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
class TensorAccessor {
 public:
  using PtrType = typename PtrTraits<T>::PtrType;
  TANDEM_HD TensorAccessor(PtrType data, const index_t* sizes, const index_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  /// The number of elements in dimension d, which is not checked.
  TANDEM_HD index_t size(index_t d) const { return sizes_[d]; }
  /// How many elements apart neighbours in dimension d are.
  TANDEM_HD index_t stride(index_t d) const { return strides_[d]; }
  ArrayRef<index_t> sizes() const { return {sizes_, N}; }      // of its N dimensions
  ArrayRef<index_t> strides() const { return {strides_, N}; }  // in elements
  /// The address of the first element.
  TANDEM_HD PtrType data() const { return data_; }
  /// Element i of one dimension; of more, an accessor of the rest. Not checked.
  TANDEM_HD decltype(auto) operator[](index_t i) const {
    if constexpr (N == 1)
      return (data_[i * strides_[0]]);
    else
      return TensorAccessor<T, N - 1, PtrTraits, index_t>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1);
  }

 private:
  PtrType data_;
  const index_t *sizes_, *strides_;
};

/// The same with copies of the sizes and strides, so that it can be an argument of a kernel: on a GPU, only kernels may
/// read and write the elements. With 32-bit indices it is faster there.
template <class T, size_t N, template <class> class PtrTraits, class index_t> class GenericPackedTensorAccessor {
 public:
  using PtrType = typename PtrTraits<T>::PtrType;
  GenericPackedTensorAccessor(PtrType data, const int64_t* sizes, const int64_t* strides) : data_(data) {
    for (size_t d = 0; d < N; ++d) {
      sizes_[d] = static_cast<index_t>(sizes[d]);
      strides_[d] = static_cast<index_t>(strides[d]);
    }
  }
  /// The number of elements in dimension d, which is not checked.
  TANDEM_HD index_t size(index_t d) const { return sizes_[d]; }
  /// How many elements apart neighbours in dimension d are.
  TANDEM_HD index_t stride(index_t d) const { return strides_[d]; }
  /// The address of the first element.
  TANDEM_HD PtrType data() const { return data_; }
  /// An accessor of the remaining dimensions, or the element. Not checked.
  TANDEM_HD decltype(auto) operator[](index_t i) const {
    return TensorAccessor<T, N, PtrTraits, index_t>(data_, sizes_, strides_)[i];
  }

 private:
  PtrType data_;
  index_t sizes_[N], strides_[N];
};
template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, PtrTraits, int32_t>;
template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, PtrTraits, int64_t>;

}  // namespace tandem
