// Implements parts of Tensor and TensorBase: sizes and strides, views that autograd does not record, access to
// elements.
#include "tandem/core/tensor.h"

#include "tandem/core/cuda/allocator.h"
#include "tandem/core/cuda/page_locked.h"
#include "tandem/core/loop/run_loop.h"

namespace tandem {

namespace {
/// Returns the name of a dtype's C++ type, which LibTorch prints for options.
const char* cpp_type_name(DType dtype) {
  switch (dtype) {
    case DType::float16: return "c10::Half";
    case DType::bfloat16: return "c10::BFloat16";
    case DType::float32: return "float";
    case DType::float64: return "double";
    case DType::int8: return "signed char";
    case DType::int16: return "short int";
    case DType::int32: return "int";
    case DType::int64: return "long int";
    case DType::uint8: return "unsigned char";
    case DType::boolean: return "bool";
  }
  return "";
}
}  // namespace
std::ostream& operator<<(std::ostream& out, const TensorOptions& options) {
  const auto print = [&out](const char* label, const auto& value, bool is_set) {
    out << label << value << (is_set ? "" : " (default)");
  };
  out << std::boolalpha;  // stays set, as in LibTorch
  print("TensorOptions(dtype=", cpp_type_name(options.dtype()), options.has_dtype());
  print(", device=", options.device(), options.has_device());
  print(", layout=", options.layout(), options.has_layout());
  print(", requires_grad=", options.requires_grad(), options.has_requires_grad());
  print(", pinned_memory=", options.pinned_memory(), options.has_pinned_memory());
  out << ", memory_format=";
  if (options.has_memory_format())
    out << *options.memory_format_opt();
  else
    out << "(nullopt)";
  return out << ')';
}
namespace {

Tensor make_view(const Tensor& x, const Shape& sizes, const Shape& strides, int64_t offset) {
  Tensor view(IntrusivePtr<TensorImpl>(new TensorImpl(x.impl()->storage, sizes, strides, offset, x.dtype())));
  view.impl()->own_version = x.impl()->own_version;
  view.impl()->is_inference = x.impl()->is_inference;
  return view;
}
/// Returns a row-major view of all elements of x with other sizes. x must be contiguous.
Tensor make_row_major_view(const Tensor& x, const Shape& sizes) {
  Tensor view(IntrusivePtr<TensorImpl>(new TensorImpl(x.impl()->storage, sizes, x.storage_offset(), x.dtype())));
  view.impl()->own_version = x.impl()->own_version;
  view.impl()->is_inference = x.impl()->is_inference;
  return view;
}

}  // namespace

TensorImpl::TensorImpl(Storage s, const Shape& size_list, const Shape& stride_list, int64_t first, DType type)
    : storage(std::move(s)),
      sizes(size_list),
      strides(stride_list),
      offset(first),
      dtype(type),
      is_inference(InferenceMode::is_enabled()) {
  bool in_order = true;
  int64_t expected = 1;
  numel = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    const int64_t size = sizes[d];
    const bool as_expected = strides[d] == expected;
    row_major &= as_expected;
    in_order &= as_expected | (size == 1);
    numel *= size;
    expected *= std::max<int64_t>(size, 1);
  }
  contiguous = in_order || numel == 0;
}
TensorImpl::TensorImpl(Storage s, const Shape& size_list, int64_t first, DType type)
    : storage(std::move(s)),
      sizes(size_list),
      strides(size_list),
      offset(first),
      dtype(type),
      is_inference(InferenceMode::is_enabled()) {
  int64_t elements = 1;  // product of the sizes, counting 0 as 1
  numel = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = elements;
    numel *= sizes[d];
    elements *= std::max<int64_t>(sizes[d], 1);
  }
}
TensorImpl::~TensorImpl() = default;
void detail::throw_inference_inplace(const char* op, IntArrayRef sizes) {
  TANDEM_FAIL(op,
              ": Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get "
              "a normal tensor before doing inplace update. The tensor is ",
              sizes);
}
void TensorImpl::shallow_copy_from(const TensorImpl& from) {
  storage = from.storage, sizes = from.sizes, strides = from.strides, offset = from.offset, numel = from.numel;
  dtype = from.dtype, contiguous = from.contiguous, row_major = from.row_major;
}

bool TensorBase::is_non_overlapping_and_dense() const { return core::is_non_overlapping_and_dense(checked_impl()); }
bool TensorBase::is_contiguous(MemoryFormat format) const {
  if (format == MemoryFormat::Contiguous) return is_contiguous();
  TANDEM_CHECK(format == MemoryFormat::ChannelsLast, "is_contiguous: unsupported memory format ", format,
               "; accepted: Contiguous and ChannelsLast");
  return core::is_channels_last(sizes(), strides());
}

Scalar Tensor::item() const {
  TANDEM_CHECK(numel() == 1, "item: a Tensor with ", numel(), " elements cannot be converted to Scalar; the tensor is ",
               sizes());
  check_not_recorded("item", "the host reads a value");
  if (!is_cpu()) return cpu().item();
  return visit_dtype(dtype(), [&]<class T>() { return Scalar(*data<T>()); });
}

bool TensorBase::is_pinned() const { return is_cpu() && is_page_locked(storage()->data); }
void TensorBase::record_stream(const cuda::Stream& stream) const {
  char* const data = storage()->data;
  TANDEM_CHECK(is_cuda() || is_pinned() || !data, "record_stream: the tensor is on ", device(),
               "; accepted: a CUDA device, or page-locked memory");
  if (is_cuda())
    cuda::record_stream(device(), data, stream);
  else
    record_page_locked_use(data, stream);
}

void detail::throw_dim_out_of_range(const char* op, int64_t dim, int64_t rank, bool scalar_has_one) {
  TANDEM_CHECK_AS(IndexError, rank > 0 || scalar_has_one, op, ": Dimension specified as ", dim,
                  " but tensor has no dimensions");
  const int64_t limit = rank == 0 ? 1 : rank;
  tandem::detail::throw_error<IndexError>(__FILE__, __LINE__, op,
                                          ": Dimension out of range (expected to be in range of [", -limit, ", ",
                                          limit - 1, "], but got ", dim, ")");
}

Shape detail::broadcast_shapes(const char* op, IntArrayRef a, IntArrayRef b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape out(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    TANDEM_CHECK(x == y || x == 1 || y == 1, op, ": The size of tensor a (", x, ") must match the size of tensor b (",
                 y, ") at non-singleton dimension ", rank - 1 - i, "; the shapes are ", a, " and ", b);
    out[rank - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

int64_t detail::compute_nbytes(const char* op, IntArrayRef sizes, DType dtype) {
  // Number of bytes that the tensor would have if sizes of 0 were 1. It is checked too, because strides must not
  // overflow either.
  int64_t widest = element_size(dtype);
  bool empty = false;
  for (int64_t s : sizes) {
    TANDEM_CHECK(s >= 0, op, ": Trying to create tensor with negative dimension ", s, ": ", sizes);
    TANDEM_CHECK(!__builtin_mul_overflow(widest, std::max<int64_t>(s, 1), &widest), op,
                 ": Storage size calculation overflowed with sizes=", sizes, " of ", dtype);
    empty |= s == 0;
  }
  return empty ? 0 : widest;
}

namespace detail::core {

Tensor empty(IntArrayRef sizes, DType dtype, Device device, const char* op) {
  const Shape shape(sizes);
  Storage storage(new StorageImpl(device, compute_nbytes(op, sizes, dtype)));
  return Tensor(IntrusivePtr<TensorImpl>(new TensorImpl(std::move(storage), shape, 0, dtype)));
}

void allocate(Tensor& x, IntArrayRef sizes) {
  x.impl()->shallow_copy_from(*empty(sizes, x.dtype(), x.device()).impl());
}

/// Index in the storage of the last element that a view reaches; -1 if the view has no elements.
static int64_t last_element_offset(const char* op, IntArrayRef sizes, IntArrayRef strides, int64_t offset,
                                   DType dtype) {
  TANDEM_CHECK(sizes.size() == strides.size(), op, ": dimensionality of sizes (", sizes.size(),
               ") must match dimensionality of strides (", strides.size(), "); sizes are ", sizes, " and strides ",
               strides);
  const bool empty = compute_nbytes(op, sizes, dtype) == 0;
  int64_t last = offset, end;
  bool overflow = false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    TANDEM_CHECK(strides[d] >= 0, op, ": Negative strides are not supported at the moment, got strides: ", strides);
    int64_t reach;
    overflow |= __builtin_mul_overflow(std::max<int64_t>(sizes[d] - 1, 0), strides[d], &reach) ||
                __builtin_add_overflow(last, reach, &last);
  }
  overflow |= __builtin_add_overflow(last, 1, &end) || __builtin_mul_overflow(end, element_size(dtype), &end);
  TANDEM_CHECK(!overflow, op, ": Storage size calculation overflowed with sizes=", sizes, " and strides=", strides,
               ", from offset ", offset);
  return empty ? -1 : last;
}

Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, DType dtype, Device device) {
  const int64_t extent = last_element_offset("empty_strided", sizes, strides, 0, dtype) + 1;
  Storage storage(new StorageImpl(device, extent * element_size(dtype)));
  return Tensor(IntrusivePtr<TensorImpl>(new TensorImpl(std::move(storage), sizes, strides, 0, dtype)));
}

Tensor empty_dense(IntArrayRef sizes, const Shape& strides, DType dtype, Device device) {
  Storage storage(new StorageImpl(device, compute_nbytes("empty", sizes, dtype)));
  return Tensor(IntrusivePtr<TensorImpl>(new TensorImpl(std::move(storage), sizes, strides, 0, dtype)));
}
Shape strides_like(const Tensor& x, MemoryFormat format) {
  return format == MemoryFormat::Preserve ? preserved_strides(*x.impl()) : strides_of("empty", x.sizes(), format);
}
Tensor empty_like(const Tensor& x, DType dtype, Device device, MemoryFormat format) {
  if (format == MemoryFormat::Contiguous || (format == MemoryFormat::Preserve && x.impl()->row_major)) [[likely]]
    return empty(x.sizes(), dtype, device);
  return empty_dense(x.sizes(), strides_like(x, format), dtype, device);
}

Tensor empty_pinned(IntArrayRef sizes, DType dtype, Device device, const Shape* strides) {
  TANDEM_CHECK(device.is_cpu(), "empty: pin_memory is set for a tensor on ", device, "; accepted: a CPU device");
  check_device_exists(device);
  const int64_t bytes = compute_nbytes("empty", sizes, dtype);
  void* const data = allocate_page_locked(static_cast<size_t>(bytes));
  const Storage storage(new StorageImpl(device, bytes, data, deallocate_page_locked));
  return Tensor(IntrusivePtr<TensorImpl>(
      new TensorImpl(storage, sizes, strides ? *strides : contiguous_strides(sizes), 0, dtype)));
}

Tensor as_strided(const Tensor& x, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  TANDEM_CHECK(offset >= 0, "as_strided: invalid storage offset ", offset, "; it must not be negative");
  TANDEM_CHECK(sizes.size() == strides.size(), "as_strided: mismatch in length of strides and shape; sizes are ", sizes,
               " and strides ", strides);
  const int64_t last = last_element_offset("as_strided", sizes, strides, offset, x.dtype());
  TANDEM_CHECK((last + 1) * x.itemsize() <= x.storage()->bytes, "as_strided: sizes ", sizes, ", strides ", strides,
               ", storage offset ", offset, ", and itemsize ", x.itemsize(), " requiring a storage size of ",
               (last + 1) * x.itemsize(), " are out of bounds for storage of size ", x.storage()->bytes,
               "; both storage sizes are in bytes");
  return make_view(x, sizes, strides, offset);
}

// Adjacent dimensions of x that are contiguous together form a run, which can be divided into other dimensions. If a
// new dimension would contain parts of two runs, no view has these sizes.
Tensor try_view(const Tensor& x, IntArrayRef sizes) {
  if (x.numel() == 0 || x.is_contiguous()) return make_row_major_view(x, sizes);
  Shape strides(sizes.size(), 1);
  int64_t to = static_cast<int64_t>(sizes.size()) - 1;
  int64_t run = 1, made = 1, base = x.dim() ? x.stride(-1) : 1;
  for (int64_t from = x.dim() - 1; from >= 0; --from) {
    run *= x.size(from);
    const bool ends = from == 0 || (x.size(from - 1) != 1 && x.stride(from - 1) != run * base);
    if (!ends) continue;
    while (to >= 0 && (made < run || sizes[static_cast<size_t>(to)] == 1)) {
      strides[static_cast<size_t>(to)] = made * base;
      made *= sizes[static_cast<size_t>(to--)];
    }
    if (made != run) return {};
    if (from > 0) base = x.stride(from - 1), run = made = 1;
  }
  return to == -1 ? make_view(x, sizes, strides, x.storage_offset()) : Tensor();
}

Tensor expand(const Tensor& x, IntArrayRef sizes) {
  const int64_t added = static_cast<int64_t>(sizes.size()) - x.dim();
  TANDEM_CHECK(added >= 0, "expand: the number of sizes provided (", sizes.size(),
               ") must be greater or equal to the number of dimensions in the tensor (", x.dim(), "); sizes are ",
               sizes, " and the tensor is ", x.sizes());
  Shape out(sizes), strides(sizes.size(), 0);
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t from = static_cast<int64_t>(d) - added;
    const int64_t had = from < 0 ? 1 : x.size(from);
    if (out[d] == -1 && from >= 0) out[d] = had;
    TANDEM_CHECK(out[d] >= 0 || from >= 0, "expand: The expanded size of the tensor (", out[d],
                 ") isn't allowed in a leading, non-existing dimension ", d, ".  Target sizes: ", sizes);
    TANDEM_CHECK(had == out[d] || had == 1, "expand: The expanded size of the tensor (", out[d],
                 ") must match the existing size (", had, ") at non-singleton dimension ", d,
                 ".  Target sizes: ", sizes, ".  Tensor sizes: ", x.sizes());
    strides[d] = from >= 0 && had == out[d] ? x.stride(from) : 0;
  }
  compute_nbytes("expand", out, x.dtype());
  return make_view(x, out, strides, x.storage_offset());
}

Tensor permute(const Tensor& x, IntArrayRef dims) {
  TANDEM_CHECK(static_cast<int64_t>(dims.size()) == x.dim(),
               "permute: number of dimensions in the tensor input does not match the length of the desired ordering of "
               "dimensions i.e. input.dim() = ",
               x.dim(), " is not equal to len(dims) = ", dims.size());
  Shape sizes(dims.size(), 0), strides(dims.size(), 0);
  unsigned seen = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    const auto from = static_cast<size_t>(wrap_dim("permute", dims[d], x.dim()));
    TANDEM_CHECK(!(seen >> from & 1), "permute(): duplicate dims are not allowed. dims are ", dims, " for a tensor of ",
                 x.sizes());
    seen |= 1u << from;
    sizes[d] = x.sizes()[from];
    strides[d] = x.strides()[from];
  }
  return make_view(x, sizes, strides, x.storage_offset());
}

Tensor transpose(const Tensor& x, int64_t a, int64_t b) {
  a = wrap_dim("transpose", a, x.dim()), b = wrap_dim("transpose", b, x.dim());
  Shape sizes = x.impl()->sizes, strides = x.impl()->strides;
  if (x.dim() > 0) {
    std::swap(sizes[static_cast<size_t>(a)], sizes[static_cast<size_t>(b)]);
    std::swap(strides[static_cast<size_t>(a)], strides[static_cast<size_t>(b)]);
  }
  return make_view(x, sizes, strides, x.storage_offset());
}

Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  TANDEM_CHECK(x.dim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
  dim = wrap_dim("narrow", dim, x.dim());
  const int64_t size = x.size(dim), first = start < 0 ? start + size : start;
  const bool begins = first >= 0 && first <= size;
  TANDEM_CHECK_AS(IndexError, begins, "narrow: start out of range (expected to be in range of [", -size, ", ", size,
                  "], but got ", start, ") in dimension ", dim, " of ", x.sizes());
  TANDEM_CHECK(length >= 0, "narrow(): length must be non-negative. length is ", length);
  TANDEM_CHECK(length <= size - first, "narrow: start (", first, ") + length (", length, ") exceeds dimension size (",
               size, "). The tensor is ", x.sizes(), " and dim is ", dim);
  Shape sizes = x.impl()->sizes;
  sizes[static_cast<size_t>(dim)] = length;
  return make_view(x, sizes, x.impl()->strides, x.storage_offset() + first * x.stride(dim));
}

Tensor select(const Tensor& x, int64_t dim, int64_t index) {
  TANDEM_CHECK_AS(IndexError, x.dim() > 0, "select() cannot be applied to a 0-dim tensor.");
  dim = wrap_dim("select", dim, x.dim());
  const int64_t size = x.size(dim), at = index < 0 ? index + size : index;
  TANDEM_CHECK_AS(IndexError, at >= 0 && at < size, "select(): index ", index, " out of range for tensor of size ",
                  x.sizes(), " at dimension ", dim);
  Shape sizes = x.impl()->sizes, strides = x.impl()->strides;
  sizes.erase(static_cast<size_t>(dim));
  strides.erase(static_cast<size_t>(dim));
  return make_view(x, sizes, strides, x.storage_offset() + at * x.stride(dim));
}

Tensor alias(const Tensor& x) {
  const int64_t offset = x.storage_offset();  // read first, because it throws Error if x is undefined
  return make_view(x, x.impl()->sizes, x.impl()->strides, offset);
}

Tensor scalar(const Scalar& value, DType dtype, Device cpu) {
  TANDEM_CHECK(cpu.is_cpu(), "scalar: device is ", cpu, "; accepted: a CPU device");
  Tensor out = empty({}, dtype, cpu);
  visit_dtype(dtype,
              [&]<class T>() { *out.data<T>() = value.is_floating_point() ? value.to<T>() : value.to_wrapped<T>(); });
  return out;
}

}  // namespace detail::core

Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, std::function<void(void*)> deleter,
                 const TensorOptions& options) {
  TANDEM_CHECK(options.device().is_cpu(), "from_blob: device is ", options.device(), "; accepted: a CPU device");
  check_device_exists(options.device());
  TANDEM_CHECK(sizes.size() == strides.size(), "from_blob: sizes are ", sizes, " and strides ", strides,
               "; they must have the same length");
  compute_nbytes("from_blob", sizes, options.dtype());
  // number of elements of memory from the tensor's first to its last element, gaps included
  int64_t span = numel_of(sizes) == 0 ? 0 : 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    TANDEM_CHECK(strides[d] >= 0,
                 "from_blob: Negative strides are not supported at the moment, got strides: ", strides);
    if (span > 0) span += (sizes[d] - 1) * strides[d];
  }
  const int64_t bytes = compute_nbytes("from_blob", {span}, options.dtype());
  TANDEM_CHECK(data || bytes == 0, "from_blob: data is null, but sizes are ", sizes,
               "; null is accepted only for 0 elements");
  if (!deleter) deleter = [](void*) {};
  const Storage storage(new StorageImpl(options.device(), bytes, data, std::move(deleter)));
  Tensor out(IntrusivePtr<TensorImpl>(new TensorImpl(storage, sizes, strides, 0, options.dtype())));
  if (options.requires_grad()) out.requires_grad_();
  return out;
}
Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options) {
  return from_blob(data, sizes, contiguous_strides(sizes), nullptr, options);
}
Tensor from_blob(void* data, IntArrayRef sizes, std::function<void(void*)> deleter, const TensorOptions& options) {
  return from_blob(data, sizes, contiguous_strides(sizes), std::move(deleter), options);
}
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) {
  return from_blob(data, sizes, strides, nullptr, options);
}

}  // namespace tandem
