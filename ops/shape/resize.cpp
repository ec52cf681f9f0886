// Changing the size or storage of a tensor: resize_, resize_as_, set_, set_data.
#include "tandem/ops/shape/resize.h"

#include "tandem/ops/define_op.h"

namespace tandem {

static void check_no_grad(const char* op, const Tensor& x) {
  check_inplace_allowed(op, x);
  TANDEM_CHECK(!x.requires_grad(), op, ": cannot resize variables that require grad; use a detach()ed tensor");
}

const Tensor& Tensor::resize_(IntArrayRef sizes, std::optional<MemoryFormat> format) const {
  check_no_grad("resize_", self());
  compute_nbytes("resize_", sizes, dtype());
  const MemoryFormat wanted = format.value_or(MemoryFormat::Contiguous);
  const Shape to = sizes, strides = core::strides_of("resize_", to, wanted);
  if (to == this->sizes() && (!format || strides == Shape(this->strides()))) return self();
  const int64_t held = storage()->bytes / itemsize() - storage_offset(), needed = numel_of(to);
  Tensor y;
  if (needed <= held) {
    y = core::as_strided(self(), to, strides, storage_offset());
  } else {
    TANDEM_CHECK(storage().get()->is_unique() || numel() == 0,
                 "resize_: Trying to resize storage that is not resizable: ", to, " needs ", needed,
                 " elements, but the storage has ", held, " and is shared with other tensors; resize a clone instead");
    const NoGradGuard guard;
    y = core::empty_dense(to, strides, dtype(), device());
    copy_elements(core::as_strided(self(), {held}, {1}, storage_offset()), core::as_strided(y, {held}, {1}, 0));
  }
  impl()->shallow_copy_from(*y.impl());
  bump_version();
  return self();
}
const Tensor& Tensor::resize_as_(const Tensor& other, std::optional<MemoryFormat> format) const {
  const bool preserve = format == MemoryFormat::Preserve;
  return resize_(other.sizes(), preserve ? std::optional(other.suggest_memory_format()) : format);
}
void Tensor::set_data(const Tensor& source) const {
  TANDEM_CHECK(
      source.dtype() == dtype() && source.device() == device(),
      "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type: ",
      dtype(), " on ", device(), " and ", source.dtype(), " on ", source.device(), "; dtype and device must be equal");
  impl()->shallow_copy_from(*source.impl());
}
Tensor& Tensor::set_(const Tensor& source) const {
  check_no_grad("set_", self());
  TANDEM_CHECK(source.dtype() == dtype(), "set_: Could not set tensor of type ", source.dtype(),
               " to a tensor of type ", dtype(), "; the dtypes must be equal");
  TANDEM_CHECK(source.device() == device(), "set_: Could not set tensor on device ", source.device(),
               " to a tensor on device ", device(), "; the devices must be equal");
  if (source.is_same(self())) return self();
  impl()->autograd = {};  // drops the autograd metadata, because x may have been a view
  impl()->shallow_copy_from(*source.impl());
  bump_version();
  return self();
}
Tensor& Tensor::set_(const Tensor& source, int64_t storage_offset, IntArrayRef sizes, IntArrayRef strides) const {
  const Shape row_major = core::strides_of("set_", sizes, MemoryFormat::Contiguous);
  return set_(source.detach().as_strided(sizes, strides.empty() ? IntArrayRef(row_major) : strides, storage_offset));
}
Tensor& Tensor::set_() const { return set_(empty({0}, options())); }

}  // namespace tandem
