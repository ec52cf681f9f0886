// The bytes behind tensors: a buffer on one device, shared by every view, with the version that in-place writes raise.
#pragma once
#include <atomic>
#include <functional>
#include <utility>

#include "tandem/core/device.h"
#include "tandem/core/loop/loop_types.h"

namespace tandem {
namespace detail {

/// Base of what is counted in place: one word, no control block.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  void retain() const { references_.fetch_add(1, std::memory_order_relaxed); }
  /// The same for an object that may be new. Of a new one no other thread knows, so it needs no atomic addition.
  void retain_first() const {
    if (use_count() == 0)
      references_.store(1, std::memory_order_relaxed);
    else
      retain();
  }
  /// True: delete it. Who holds the only reference needs no atomic subtraction, for nobody else can make another.
  bool release() const { return use_count() == 1 || references_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  int64_t use_count() const { return references_.load(std::memory_order_acquire); }

 private:
  mutable std::atomic<int64_t> references_{0};
};

/// A pointer that counts in its target.
template <class T> class Ref {
 public:
  Ref() = default;
  explicit Ref(T* target) : target_(target) {
    if (target_) target_->retain_first();
  }
  Ref(const Ref& other) : target_(other.target_) { retain(); }
  Ref(Ref&& other) noexcept : target_(std::exchange(other.target_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(target_, other.target_);
    return *this;
  }
  ~Ref() {
    if (target_ && target_->release()) delete target_;
  }
  T* get() const { return target_; }
  T* operator->() const { return target_; }
  T& operator*() const { return *target_; }
  explicit operator bool() const { return target_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.target_ == b.target_; }

 private:
  void retain() {
    if (target_) target_->retain();
  }
  T* target_ = nullptr;
};

/// Counts the in-place writes to a tensor and its views; a saved tensor compares it.
struct VersionCounter : RefCounted {
  std::atomic<uint32_t> value{0};
};

struct StorageImpl : RefCounted, Buffer {
  int64_t bytes;
  Device device;
  std::atomic<uint32_t> version{0};
  bool recorded = false;                      // a capture under way counts among the references
  std::function<void(void*)> deleter;         // of memory that is not ours; empty for the device allocator's
  StorageImpl(Device device, int64_t bytes);  // uninitialised memory from the device's allocator
  StorageImpl(Device device, int64_t bytes, void* data, std::function<void(void*)> deleter);
  ~StorageImpl();
  /// Whether there is but one reference to it.
  bool is_alone() const { return use_count() == 1 + recorded; }
  /// Gives its memory back and lies at `place` from now on, memory of somebody else's or null.
  void move_to(char* place);

 private:
  void give_back();
};

}  // namespace detail

/// The memory that a tensor and its views share.
class Storage : public detail::Ref<detail::StorageImpl> {
 public:
  using Ref::Ref;
  /// Its length in bytes, where it begins, where it is, and how many tensors and storages refer to it.
  size_t nbytes() const { return static_cast<size_t>(get()->bytes); }
  /// Where it begins, in its device's memory.
  const void* data() const { return get()->data; }
  /// The same, to write to.
  void* mutable_data() const { return get()->data; }
  /// The device whose memory it is.
  Device device() const { return get()->device; }
  /// How many tensors and storages refer to it.
  int64_t use_count() const { return get() ? get()->use_count() : 0; }
  /// Whether both are the same memory.
  bool is_alias_of(const Storage& other) const { return *this == other; }
};

}  // namespace tandem
