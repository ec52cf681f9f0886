// AutocastCache: casts of weights to the lower precision, which the operations of an autocast region share. Internal.
#pragma once
#include <mutex>
#include <unordered_map>

#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// Casts of float32 leaves that require a gradient. Worker threads use the cache of the thread for which they work.
class AutocastCache {
 public:
  /// Returns x converted to dtype, from the cache if possible; otherwise converts x and caches the result. A cached
  /// cast is reused only if x still has the same storage, layout and version. In grad mode, the cast must also have
  /// been recorded by autograd.
  Tensor cached_cast(const Tensor& x, DType dtype);
  void clear();

 private:
  struct Entry {
    Tensor x;
    // Storage, version and layout of x when it was cast. (set_data() replaces x's storage.)
    Storage storage;
    uint32_t version;
    int64_t offset;
    Shape sizes, strides;
    cuda::Streams streams;  // current streams when x was cast; on another stream the cast is not reused
    Tensor cast;

    bool matches(const Tensor& now, DType dtype) const;
  };
  std::mutex mutex_;
  std::unordered_map<const TensorImpl*, Entry> entries_;
};

}  // namespace tandem::detail
