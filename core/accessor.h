// Accessors: read and write elements of a tensor as a[i][j], for scalar loops.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tandem/core/array_ref.h"
#include "tandem/core/half.h"

namespace tandem {

/// Pointer type of an accessor: a plain pointer.
template <class T> struct DefaultPtrTraits { using PtrType = T*; };
/// Pointer type of an accessor: a restrict pointer, so that compilers may assume that no other pointer aliases the
/// elements.
template <class T> struct RestrictPtrTraits { using PtrType = T* __restrict__; };

/// An N-dimensional view for element access. a[i] is an accessor with one dimension less, or for N = 1 a reference to
/// the element. Indices are not checked. The accessor must not outlive the tensor.
template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
class TensorAccessor {
 public:
  using PtrType = typename PtrTraits<T>::PtrType;
  TANDEM_HD TensorAccessor(PtrType data, const index_t* sizes, const index_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  /// Size of dimension d; d is not checked.
  TANDEM_HD index_t size(index_t d) const { return sizes_[d]; }
  /// Stride of dimension d, in elements.
  TANDEM_HD index_t stride(index_t d) const { return strides_[d]; }
  ArrayRef<index_t> sizes() const { return {sizes_, N}; }      // one size for each dimension
  ArrayRef<index_t> strides() const { return {strides_, N}; }  // one stride for each dimension, in elements
  /// Address of the first element.
  TANDEM_HD PtrType data() const { return data_; }
  /// Returns element i if N is 1, else an accessor for the remaining dimensions. The index is not checked.
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

/// An accessor with copies of the sizes and strides, so that it can be passed to a GPU kernel. (On a GPU, only kernels
/// may access the elements.) 32-bit indices are faster on GPUs.
template <class T, size_t N, template <class> class PtrTraits, class index_t> class GenericPackedTensorAccessor {
 public:
  using PtrType = typename PtrTraits<T>::PtrType;
  GenericPackedTensorAccessor(PtrType data, const int64_t* sizes, const int64_t* strides) : data_(data) {
    for (size_t d = 0; d < N; ++d) {
      sizes_[d] = static_cast<index_t>(sizes[d]);
      strides_[d] = static_cast<index_t>(strides[d]);
    }
  }
  /// Size of dimension d; d is not checked.
  TANDEM_HD index_t size(index_t d) const { return sizes_[d]; }
  /// Stride of dimension d, in elements.
  TANDEM_HD index_t stride(index_t d) const { return strides_[d]; }
  /// Address of the first element.
  TANDEM_HD PtrType data() const { return data_; }
  /// Returns element i if N is 1, else an accessor for the remaining dimensions. The index is not checked.
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
