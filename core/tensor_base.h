// TensorBase: the part of Tensor that needs no operation: sizes, strides, dtype, device, storage, and access to
// elements.
#pragma once
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "tandem/core/accessor.h"
#include "tandem/core/array_ref.h"
#include "tandem/core/elementwise_ops.h"
#include "tandem/core/memory_format.h"
#include "tandem/core/tensor_impl.h"
#include "tandem/core/tensor_options.h"
#include "tandem/core/thread_context.h"

namespace tandem {

namespace cuda {
class Stream;
}

namespace detail {
[[noreturn]] void throw_dim_out_of_range(const char* op, int64_t dim, int64_t rank, bool scalar_has_one);
/// Returns dim, or dim + rank if dim is negative. @throws IndexError that names op, dim and rank
inline int64_t wrap_dim(const char* op, int64_t dim, int64_t rank) {
  const int64_t limit = rank == 0 ? 1 : rank;  // a 0-dim tensor is treated as having one dimension
  if (dim < -limit || dim >= limit) [[unlikely]]
    throw_dim_out_of_range(op, dim, rank, /*scalar_has_one=*/true);
  return dim < 0 ? dim + limit : dim;
}
}  // namespace detail

/// A tensor without operations, as LibTorch's class of the same name. Programs use Tensor, which adds the operations.
class TensorBase {
 public:
  TensorBase() = default;
  explicit TensorBase(detail::IntrusivePtr<detail::TensorImpl> impl) : impl_(std::move(impl)) {}

  // ---- properties
  /// Whether this handle refers to a tensor. A default-constructed one does not; most of its methods throw.
  bool defined() const { return bool(impl_); }
  /// The tensor that this handle refers to; null if undefined. For use by the library only.
  detail::TensorImpl* impl() const { return impl_.get(); }
  /// Returns impl(), under LibTorch's name.
  detail::TensorImpl* unsafeGetTensorImpl() const { return impl_.get(); }
  /// Whether both handles refer to the same tensor. Tensors that are merely equal, or aliases, are not the same.
  bool is_same(const TensorBase& other) const { return impl_ == other.impl_; }
  /// Number of handles on this tensor; 0 if undefined.
  int64_t use_count() const { return impl_ ? impl_->use_count() : 0; }
  /// Releases the tensor; this handle is undefined afterwards.
  void reset() { impl_ = {}; }
  /// Number of dimensions, at most 8.
  int64_t dim() const { return static_cast<int64_t>(checked_impl().sizes.size()); }
  /// Size of each dimension.
  IntArrayRef sizes() const { return checked_impl().sizes; }
  /// Stride of each dimension, in elements.
  IntArrayRef strides() const { return checked_impl().strides; }
  /// Size of dimension d, which counts from the end if negative. @throws IndexError unless -dim() <= d < dim()
  int64_t size(int64_t d) const { return checked_impl().sizes[wrap_dim_index("size", d)]; }
  /// Stride of dimension d, in elements. @throws IndexError unless -dim() <= d < dim()
  int64_t stride(int64_t d) const { return checked_impl().strides[wrap_dim_index("stride", d)]; }
  /// Number of elements.
  int64_t numel() const { return checked_impl().numel; }
  /// Offset of the first element from the start of the storage, in elements.
  int64_t storage_offset() const { return checked_impl().offset; }
  /// Size of one element in bytes.
  int64_t itemsize() const { return detail::element_size(dtype()); }
  /// Size of all elements in bytes, numel() * itemsize().
  int64_t nbytes() const { return numel() * itemsize(); }
  /// Type of the elements.
  DType dtype() const { return checked_impl().dtype; }
  /// dtype() by LibTorch's name.
  DType scalar_type() const { return dtype(); }
  /// Device that holds the elements.
  Device device() const { return checked_impl().storage->device; }
  /// Whether the tensor is on a CPU device, virtual ones included.
  bool is_cpu() const { return device().is_cpu(); }
  /// Whether the tensor is on a GPU.
  bool is_cuda() const { return device().is_cuda(); }
  /// Options with the dtype and device of this tensor, to create similar ones.
  TensorOptions options() const { return TensorOptions(dtype()).device(device()); }
  /// Always kStrided, the only layout.
  Layout layout() const { return kStrided; }
  /// itemsize() by LibTorch's name.
  int64_t element_size() const { return itemsize(); }
  /// Index of the GPU that the tensor is on; -1 on a CPU device.
  int64_t get_device() const { return is_cuda() ? device().index() : -1; }
  /// Whether the dtype has negative values: false for uint8 and bool.
  bool is_signed() const { return dtype() != kBool && dtype() != kUInt8; }
  /// Whether both tensors have the same sizes.
  bool is_same_size(const TensorBase& other) const { return sizes() == other.sizes(); }
  /// Whether both tensors share one storage.
  bool is_alias_of(const TensorBase& other) const { return storage() == other.storage(); }
  /// Whether both tensors have the same storage, offset, sizes and strides.
  bool is_set_to(const TensorBase& other) const {
    return is_alias_of(other) && storage_offset() == other.storage_offset() && sizes() == other.sizes() &&
           strides() == other.strides();
  }
  /// Whether the elements are row-major without gaps.
  bool is_contiguous() const { return checked_impl().contiguous; }
  /// Whether the elements are contiguous in `format`. (N, 1, H, W) and (N, C, 1, 1) can be contiguous in both formats.
  /// @throws Error for MemoryFormat::Preserve and ChannelsLast3d
  bool is_contiguous(MemoryFormat format) const;
  /// Whether the elements fill a block of memory without gaps or overlaps, in any order of the dimensions.
  bool is_non_overlapping_and_dense() const;
  /// Returns ChannelsLast if the strides are channels-last, else Contiguous. If sizes of 1 make both possible, the
  /// strides of these dimensions decide.
  MemoryFormat suggest_memory_format() const {
    const detail::TensorImpl& x = checked_impl();
    return !x.row_major && detail::core::suggests_channels_last(x.sizes, x.strides) ? MemoryFormat::ChannelsLast
                                                                                    : MemoryFormat::Contiguous;
  }
  /// Whether the dtype is float32, float64 or a half type.
  bool is_floating_point() const { return tandem::is_floating_point(dtype()); }
  /// Methods is_complex(), is_sparse() and others that return false, because Tandem has no such tensors.
#define TANDEM_UNSUPPORTED_KIND_METHOD(name) \
  bool name() const { return false; }
  TANDEM_UNSUPPORTED_KIND_PREDICATES(TANDEM_UNSUPPORTED_KIND_METHOD)
#undef TANDEM_UNSUPPORTED_KIND_METHOD
  /// Whether the tensor is defined: every defined tensor has a storage.
  bool has_storage() const { return defined(); }
  /// Whether this is the only handle on the tensor.
  bool is_uniquely_owned() const { return use_count() == 1; }
  /// Always empty: tensors have no names.
  std::string name() const { return {}; }
  /// The memory that holds the elements, shared with views.
  const Storage& storage() const { return checked_impl().storage; }
  /// Number of in-place changes so far, to this tensor and its views. @throws Error for an inference tensor, whose
  /// version is not counted
  uint32_t _version() const {
    TANDEM_CHECK(!checked_impl().is_inference, "Inference tensors do not track version counter. The tensor is ",
                 sizes(), "; a clone() made outside InferenceMode has a version");
    return impl_->version().load(std::memory_order_relaxed);
  }
  /// Marks the tensor as changed in place, by raising its version. @throws Error for an inference tensor outside of
  /// InferenceMode
  void bump_version() const {
    if (checked_impl().is_inference && !InferenceMode::is_enabled()) [[unlikely]]
      detail::throw_inference_inplace("bump_version", sizes());
    impl_->version().fetch_add(1, std::memory_order_relaxed);
  }
  /// Whether the tensor was made under an InferenceMode, or is a view of such a tensor.
  bool is_inference() const { return checked_impl().is_inference; }
  /// Tells the allocator that work on `stream` uses this tensor's memory. Call it for a stream other than the one on
  /// which the tensor was allocated: after the tensor is freed, the memory is reused only when the work that is then
  /// queued on `stream` is done. @throws Error if the tensor is neither on a GPU nor in page-locked memory
  void record_stream(const tandem::cuda::Stream& stream) const;
  /// Whether the tensor is in page-locked host memory.
  bool is_pinned() const;

  // ---- elements
  /// Address of the first element, in the memory of the tensor's device.
  void* data_ptr() const { return raw_data(); }
  /// Address of the first element as a T*. @throws Error unless T is the C++ type of the dtype
  template <class T> T* data_ptr() const {
    TANDEM_CHECK(detail::dtype_of<T>() == dtype(), "data_ptr: expected scalar type ", detail::dtype_of<T>(),
                 " but found ", dtype());
    return static_cast<T*>(raw_data());
  }
  /// data_ptr(), for writing.
  void* mutable_data_ptr() const { return raw_data(); }
  /// data_ptr(), for reading only.
  const void* const_data_ptr() const { return raw_data(); }
  /// data_ptr<T>(), for writing.
  template <class T> T* mutable_data_ptr() const { return data_ptr<T>(); }
  /// data_ptr<T>(), for reading only.
  template <class T> const std::remove_const_t<T>* const_data_ptr() const { return data_ptr<std::remove_const_t<T>>(); }
  /// data_ptr<T>() without checks: for kernels.
  template <class T> T* data() const { return static_cast<T*>(raw_data()); }
  /// data_ptr() without the check that the tensor is defined.
  void* raw_data() const {
    char* const begin = impl_->storage->data;
    // If the storage is empty, its address is null.
    return begin ? begin + impl_->offset * detail::element_size(impl_->dtype) : nullptr;
  }
  /// An accessor for unchecked access to elements by a[i][j], on CPU devices. @throws Error unless dim() is N, T is the
  /// C++ type of the dtype and the tensor is on a CPU device
  template <class T, size_t N> TensorAccessor<T, N> accessor() const {
    TANDEM_CHECK(is_cpu(), "accessor: the tensor is on ", device(), "; accepted: a CPU device");
    TANDEM_CHECK(dim() == static_cast<int64_t>(N), "accessor: TensorAccessor expected ", N, " dims but tensor has ",
                 dim(), "; the tensor is ", sizes());
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  /// An accessor that holds copies of the sizes and strides, with 32-bit indices; for tensors on any device.
  /// @throws Error unless dim() is N and T is the C++ type of the dtype, or if there are 2^31 elements or more
  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, PtrTraits> packed_accessor32() const {
    TANDEM_CHECK(numel() <= INT32_MAX,
                 "packed_accessor32: numel needs to be smaller than int32_t max; otherwise, please use "
                 "packed_accessor64. The tensor has ",
                 numel(), " elements");
    return make_packed_accessor<PackedTensorAccessor32<T, N, PtrTraits>, T, N>("packed_accessor32");
  }
  /// packed_accessor32() with 64-bit indices, for tensors of any size.
  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, PtrTraits> packed_accessor64() const {
    return make_packed_accessor<PackedTensorAccessor64<T, N, PtrTraits>, T, N>("packed_accessor64");
  }

 protected:
  size_t wrap_dim_index(const char* op, int64_t d) const {
    const int64_t rank = dim();
    if (d < -rank || d >= rank) [[unlikely]]
      detail::throw_dim_out_of_range(op, d, rank, /*scalar_has_one=*/false);
    return static_cast<size_t>(d < 0 ? d + rank : d);
  }
  template <class Accessor, class T, size_t N> Accessor make_packed_accessor(const char* op) const {
    TANDEM_CHECK(dim() == static_cast<int64_t>(N), op, ": TensorAccessor expected ", N, " dims but tensor has ", dim(),
                 "; the tensor is ", sizes());
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  const detail::TensorImpl& checked_impl() const {
    TANDEM_CHECK(impl_,
                 "this tensor is undefined (default-constructed, or a gradient that does not exist); assign a tensor "
                 "to it, or ask defined() first");
    return *impl_;
  }
  detail::IntrusivePtr<detail::TensorImpl> impl_;
};

}  // namespace tandem
