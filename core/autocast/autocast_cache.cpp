// Keeps casts of weights, and decides whether one may be used again.
#include "tandem/core/autocast/autocast_cache.h"

namespace tandem::detail {

bool AutocastCache::Entry::matches(const Tensor& now, DType dtype) const {
  return storage == now.storage() && version == now._version() && offset == now.storage_offset() &&
         now.sizes() == sizes && now.strides() == strides && cast.dtype() == dtype &&
         streams == ThreadContext::current().streams && (cast.requires_grad() || !is_grad_enabled());
}
Tensor AutocastCache::cached_cast(const Tensor& x, DType dtype) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = entries_.find(x.impl()); at != entries_.end() && at->second.matches(x, dtype))
      return at->second.cast;
  }
  const Tensor made = x.to(dtype);
  if (made.is_inference()) return made;  // not cached, because autograd cannot save an inference tensor
  Entry entry{
      x, x.storage(), x._version(), x.storage_offset(), x.sizes(), x.strides(), ThreadContext::current().streams, made};
  const std::lock_guard lock(mutex_);
  std::swap(entries_[x.impl()], entry);  // the replaced entry is destroyed after the lock is released
  return made;
}
void AutocastCache::clear() {
  // declared before the lock, so that the old entries are destroyed after its release
  std::unordered_map<const TensorImpl*, Entry> old;
  const std::lock_guard lock(mutex_);
  old.swap(entries_);
}

}  // namespace tandem::detail
