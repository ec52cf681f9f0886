// AutocastCache: casts of weights to the lower precision, which the operations of an autocast region share. Internal.
#pragma once
#include <mutex>
#include <unordered_map>

#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// Casts of float32 leaves that require a gradient. Threads that work for one thread share its cache.
class AutocastCache {
 public:
  /// Returns the cast of x to dtype, and keeps a new one. A cast is used again only if x has the storage, layout and
  /// version that it had then, and if the cast leads gradients to x when they are recorded now.
  Tensor cached_cast(const Tensor& x, DType dtype);
  void clear();

 private:
  struct Entry {
    Tensor x;
    // State of x when it was cast: an assignment of data exchanges x's storage.
    Storage storage;
    uint32_t version;
    int64_t offset;
    Shape sizes, strides;
    cuda::Streams streams;  // current streams at the cast: another stream would have to wait for it
    Tensor cast;

    bool matches(const Tensor& now, DType dtype) const;
  };
  std::mutex mutex_;
  std::unordered_map<const TensorImpl*, Entry> entries_;
};

}  // namespace tandem::detail
