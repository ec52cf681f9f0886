// TensorImpl: what the handles of one tensor share, its storage, sizes, strides, dtype and what autograd knows of it.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include "tandem/core/array_ref.h"
#include "tandem/core/dtype.h"
#include "tandem/core/owned.h"
#include "tandem/core/storage.h"

namespace tandem::detail {

/// An in-place operation was given an inference tensor outside of InferenceMode.
[[noreturn]] void throw_inference_inplace(const char* op, IntArrayRef sizes);

/// What autograd knows of a tensor; opaque here, defined in autograd/meta.h.
struct AutogradRecord {
  virtual ~AutogradRecord() = default;
};

struct TensorImpl : RefCounted {
  Storage storage;
  Shape sizes, strides;  // strides in elements
  int64_t offset = 0;    // in elements
  int64_t numel = 0;
  DType dtype = DType::float32;
  bool contiguous = true;  // row-major, but for the strides of sizes of 1
  bool inference = false;  // made under an InferenceMode, or a view of such a tensor: its version is not counted
  bool row_major = true;   // with those too: what core::empty_for asks first
  Ref<VersionCounter> own_version;  // null: the storage's counts
  Owned<AutogradRecord> autograd;

  TensorImpl(Storage storage, const Shape& sizes, const Shape& strides, int64_t offset, DType dtype);
  /// With row-major strides.
  TensorImpl(Storage storage, const Shape& sizes, int64_t offset, DType dtype);
  ~TensorImpl();  // not inline, which keeps Tensor's destructor short
  /// Takes over the elements of another, and how they lie.
  void take_layout(const TensorImpl& from);
  std::atomic<uint32_t>& version() const { return own_version ? own_version->value : storage->version; }
};

}  // namespace tandem::detail
