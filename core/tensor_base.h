// TensorBase: the part of Tensor that needs no operation: what a tensor is, where it lies, and its elements in memory.
#pragma once
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "tandem/core/accessor.h"
#include "tandem/core/array_ref.h"
#include "tandem/core/elementwise_ops.h"
#include "tandem/core/memory_format.h"
#include "tandem/core/rank_context.h"
#include "tandem/core/tensor_impl.h"
#include "tandem/core/tensor_options.h"

namespace tandem {

namespace cuda {
class Stream;
}

namespace detail {
[[noreturn]] void throw_dimension(const char* op, int64_t dim, int64_t rank, bool scalar_has_one);
/// dim counted from the end when negative. @throws IndexError that names op, dim and rank
inline int64_t wrap_dim(const char* op, int64_t dim, int64_t rank) {
  const int64_t limit = rank == 0 ? 1 : rank;  // a scalar is treated as having one dimension
  if (dim < -limit || dim >= limit) [[unlikely]]
    throw_dimension(op, dim, rank, /*scalar_has_one=*/true);
  return dim < 0 ? dim + limit : dim;
}
}  // namespace detail

/// What a tensor is and where it lies, as LibTorch's class of that name. Programs name Tensor, which adds the
/// operations.
class TensorBase {
 public:
  TensorBase() = default;
  explicit TensorBase(detail::Ref<detail::TensorImpl> impl) : impl_(std::move(impl)) {}

  // ---- what it is
  /// Whether it names elements; a default-constructed tensor does not, and most methods throw then.
  bool defined() const { return bool(impl_); }
  /// What the handle points at: for the library.
  detail::TensorImpl* impl() const { return impl_.get(); }
  /// Whether both handles are the same tensor, not only equal ones.
  bool is_same(const TensorBase& other) const { return impl_ == other.impl_; }
  /// How many handles name it.
  int64_t use_count() const { return impl_ ? impl_->use_count() : 0; }
  /// Lets go of the tensor: undefined from then on.
  void reset() { impl_ = {}; }
  /// The number of dimensions, at most 8.
  int64_t dim() const { return static_cast<int64_t>(checked().sizes.size()); }
  /// The size of each dimension.
  IntArrayRef sizes() const { return checked().sizes; }
  /// How many elements apart neighbours along each dimension are.
  IntArrayRef strides() const { return checked().strides; }
  /// @throws IndexError unless -dim() <= d < dim()
  int64_t size(int64_t d) const { return checked().sizes[dimension("size", d)]; }
  /// @throws IndexError unless -dim() <= d < dim()
  int64_t stride(int64_t d) const { return checked().strides[dimension("stride", d)]; }
  /// The number of elements.
  int64_t numel() const { return checked().numel; }
  /// Where its first element is in the storage, in elements.
  int64_t storage_offset() const { return checked().offset; }
  /// Bytes of one element.
  int64_t itemsize() const { return detail::element_size(dtype()); }
  /// Bytes of all elements, numel() * itemsize().
  int64_t nbytes() const { return numel() * itemsize(); }
  /// The type of the elements.
  DType dtype() const { return checked().dtype; }
  /// dtype() by LibTorch's name.
  DType scalar_type() const { return dtype(); }
  /// Where the elements are.
  Device device() const { return checked().storage->device; }
  /// Whether it is on a CPU device, a virtual one too.
  bool is_cpu() const { return device().is_cpu(); }
  /// Whether it is on a GPU.
  bool is_cuda() const { return device().is_cuda(); }
  /// Its dtype and device, to make others like it.
  TensorOptions options() const { return TensorOptions(dtype()).device(device()); }
  /// kStrided: there is no other.
  Layout layout() const { return kStrided; }
  /// itemsize() by LibTorch's name.
  int64_t element_size() const { return itemsize(); }
  /// Its number among the devices of its type, as a GPU has one; -1 on a CPU device.
  int64_t get_device() const { return is_cuda() ? device().index() : -1; }
  /// Whether its numbers may be negative: not those of uint8 and bool.
  bool is_signed() const { return dtype() != kBool && dtype() != kUInt8; }
  /// Whether both have the same sizes.
  bool is_same_size(const TensorBase& other) const { return sizes() == other.sizes(); }
  /// Whether both share one storage.
  bool is_alias_of(const TensorBase& other) const { return storage() == other.storage(); }
  /// Whether both are the same elements, in one shape and order.
  bool is_set_to(const TensorBase& other) const {
    return is_alias_of(other) && storage_offset() == other.storage_offset() && sizes() == other.sizes() &&
           strides() == other.strides();
  }
  /// Whether the elements lie row by row without gaps.
  bool is_contiguous() const { return checked().contiguous; }
  /// Whether the elements lie without gaps in that format. (N, 1, H, W) and (N, C, 1, 1) may do so in both.
  /// @throws Error for MemoryFormat::Preserve, and for ChannelsLast3d
  bool is_contiguous(MemoryFormat format) const;
  /// Whether its elements lie without gaps and none of them twice, in whatever order of the dimensions.
  bool is_non_overlapping_and_dense() const;
  /// ChannelsLast where the strides say so, which decide where sizes of 1 leave it open; else Contiguous.
  MemoryFormat suggest_memory_format() const {
    const detail::TensorImpl& x = checked();
    return !x.row_major && detail::core::suggests_channels_last(x.sizes, x.strides) ? MemoryFormat::ChannelsLast
                                                                                    : MemoryFormat::Contiguous;
  }
  /// Whether the dtype is float32, float64 or a half type.
  bool is_floating_point() const { return tandem::is_floating_point(dtype()); }
  /// What Tandem has not: no tensor is any of these.
#define TANDEM_ABSENT_KIND_METHOD(name) \
  bool name() const { return false; }
  TANDEM_ABSENT_KINDS(TANDEM_ABSENT_KIND_METHOD)
#undef TANDEM_ABSENT_KIND_METHOD
  /// defined() by LibTorch's name.
  bool has_storage() const { return defined(); }
  /// Whether this is the only handle.
  bool is_uniquely_owned() const { return use_count() == 1; }
  /// LibTorch's name of an unnamed variable.
  std::string name() const { return {}; }
  /// The memory that it is a part of.
  const Storage& storage() const { return checked().storage; }
  /// How often it was changed in place. @throws Error for an inference tensor, which keeps no count
  uint32_t _version() const {
    TANDEM_CHECK(!checked().inference, "_version: x of ", sizes(),
                 " is an inference tensor, whose version is not counted");
    return impl_->version().load(std::memory_order_relaxed);
  }
  /// Says that it was changed in place. @throws Error for an inference tensor outside of InferenceMode
  void bump_version() const {
    if (checked().inference && !InferenceMode::is_enabled()) [[unlikely]]
      detail::throw_inference_inplace("bump_version", sizes());
    impl_->version().fetch_add(1, std::memory_order_relaxed);
  }
  /// Whether it was made under an InferenceMode, or is a view of a tensor that was.
  bool is_inference() const { return checked().inference; }
  /// Says that work on `stream`, which is not the one that was current when the tensor was made, uses its memory: that
  /// is not given out again before what the stream holds when the last tensor on it is gone is done.
  void record_stream(const tandem::cuda::Stream& stream) const;
  /// Whether it lies in page-locked memory of the host.
  bool is_pinned() const;

  // ---- elements
  /// The address of the first element, in the memory of the tensor's device.
  void* data_ptr() const { return raw_data(); }
  /// The same as a T*. @throws Error unless T is the dtype's type
  template <class T> T* data_ptr() const {
    TANDEM_CHECK(detail::dtype_of<T>() == dtype(), "data_ptr: asked for ", detail::dtype_of<T>(), " of a tensor of ",
                 dtype());
    return static_cast<T*>(raw_data());
  }
  /// data_ptr(), to write to.
  void* mutable_data_ptr() const { return raw_data(); }
  /// data_ptr(), to read only.
  const void* const_data_ptr() const { return raw_data(); }
  /// data_ptr<T>(), to write to.
  template <class T> T* mutable_data_ptr() const { return data_ptr<T>(); }
  /// data_ptr<T>(), to read only.
  template <class T> const std::remove_const_t<T>* const_data_ptr() const { return data_ptr<std::remove_const_t<T>>(); }
  /// As data_ptr, without its check: for kernels.
  template <class T> T* data() const { return static_cast<T*>(raw_data()); }
  /// data_ptr() of a tensor that is known to be defined.
  void* raw_data() const {
    char* const begin = impl_->storage->data;
    return begin ? begin + impl_->offset * detail::element_size(impl_->dtype) : nullptr;  // null: no elements
  }
  /// The elements by a[i][j], unchecked. On a CPU device only. @throws Error unless dim() is N and T the dtype's type
  template <class T, size_t N> TensorAccessor<T, N> accessor() const {
    TANDEM_CHECK(is_cpu(), "accessor: the tensor is on ", device(), "; accepted: a CPU device");
    TANDEM_CHECK(dim() == static_cast<int64_t>(N), "accessor: asked for ", N, " dimensions of a tensor of ", sizes());
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  /// Accessors that hold the sizes and strides themselves, of a tensor on any device, with 32-bit or 64-bit indices.
  /// @throws Error unless dim() is N and T the dtype's type, and where 32 bits do not hold the number of elements
  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, PtrTraits> packed_accessor32() const {
    TANDEM_CHECK(numel() <= INT32_MAX, "packed_accessor32: the tensor has ", numel(),
                 " elements; accepted: fewer than 2^31; packed_accessor64 has no limit");
    return packed<PackedTensorAccessor32<T, N, PtrTraits>, T, N>("packed_accessor32");
  }
  /// packed_accessor32 with 64-bit indices and so without its limit.
  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, PtrTraits> packed_accessor64() const {
    return packed<PackedTensorAccessor64<T, N, PtrTraits>, T, N>("packed_accessor64");
  }

 protected:
  size_t dimension(const char* op, int64_t d) const {
    const int64_t rank = dim();
    if (d < -rank || d >= rank) [[unlikely]]
      detail::throw_dimension(op, d, rank, /*scalar_has_one=*/false);
    return static_cast<size_t>(d < 0 ? d + rank : d);
  }
  template <class Accessor, class T, size_t N> Accessor packed(const char* op) const {
    TANDEM_CHECK(dim() == static_cast<int64_t>(N), op, ": asked for ", N, " dimensions of a tensor of ", sizes());
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  const detail::TensorImpl& checked() const {
    TANDEM_CHECK(impl_, "this tensor is undefined (default-constructed, or a gradient that does not exist)");
    return *impl_;
  }
  detail::Ref<detail::TensorImpl> impl_;
};

}  // namespace tandem
