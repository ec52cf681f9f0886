// TensorImpl: the state that all handles on one tensor share: storage, sizes, strides, dtype and autograd metadata.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include "tandem/core/array_ref.h"
#include "tandem/core/dtype.h"
#include "tandem/core/owned_ptr.h"
#include "tandem/core/storage.h"

namespace tandem::detail {

/// Throws because `op` was given an inference tensor outside of InferenceMode.
[[noreturn]] void throw_inference_inplace(const char* op, IntArrayRef sizes);

/// Base class of a tensor's autograd metadata; the derived class is in autograd/meta.h.
struct AutogradMetaInterface {
  virtual ~AutogradMetaInterface() = default;
};

struct TensorImpl : RefCounted {
  Storage storage;
  Shape sizes, strides;  // strides in elements
  int64_t offset = 0;    // in elements
  int64_t numel = 0;
  DType dtype = DType::float32;
  // Whether the elements are row-major without gaps; strides of dimensions of size 1 are ignored.
  bool contiguous = true;
  // Whether the tensor was made under an InferenceMode, or is a view of such a tensor. Its version is not counted.
  bool is_inference = false;
  // Whether all strides are row-major, also of dimensions of size 1. Allows the fast path of core::empty_result().
  bool row_major = true;
  IntrusivePtr<VersionCounter> own_version;  // null if the tensor uses the version counter of its storage
  OwnedPtr<AutogradMetaInterface> autograd;

  TensorImpl(Storage storage, const Shape& sizes, const Shape& strides, int64_t offset, DType dtype);
  /// Constructs a tensor with row-major strides.
  TensorImpl(Storage storage, const Shape& sizes, int64_t offset, DType dtype);
  ~TensorImpl();  // not inline, to keep Tensor's destructor small
  /// Takes over storage, sizes, strides, offset and dtype of another tensor.
  void shallow_copy_from(const TensorImpl& from);
  std::atomic<uint32_t>& version() const { return own_version ? own_version->value : storage->version; }
};

}  // namespace tandem::detail
