// Storage: a block of memory on one device, shared by a tensor and its views, with the version that in-place writes
// raise.
#pragma once
#include <atomic>
#include <functional>
#include <utility>

#include "tandem/core/device.h"
#include "tandem/core/loop/loop_types.h"

namespace tandem {
namespace detail {

/// Base class for intrusive reference counting; takes one machine word.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  void add_reference() const { ref_count_.fetch_add(1, std::memory_order_relaxed); }
  /// Adds a reference, as add_reference() does. If it is the first one, no other thread knows the object, so no atomic
  /// addition is needed.
  void add_first_reference() const {
    if (use_count() == 0)
      ref_count_.store(1, std::memory_order_relaxed);
    else
      add_reference();
  }
  /// Drops a reference; returns true if it was the last, so that the object must be deleted. The holder of the only
  /// reference needs no atomic subtraction, because nobody else can add one.
  bool release() const { return use_count() == 1 || ref_count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  int64_t use_count() const { return ref_count_.load(std::memory_order_acquire); }

 private:
  mutable std::atomic<int64_t> ref_count_{0};
};

/// Intrusive smart pointer to a RefCounted object.
template <class T> class IntrusivePtr {
 public:
  IntrusivePtr() = default;
  explicit IntrusivePtr(T* target) : target_(target) {
    if (target_) target_->add_first_reference();
  }
  IntrusivePtr(const IntrusivePtr& other) : target_(other.target_) { add_reference(); }
  IntrusivePtr(IntrusivePtr&& other) noexcept : target_(std::exchange(other.target_, nullptr)) {}
  IntrusivePtr& operator=(IntrusivePtr other) noexcept {
    std::swap(target_, other.target_);
    return *this;
  }
  ~IntrusivePtr() {
    if (target_ && target_->release()) delete target_;
  }
  T* get() const { return target_; }
  T* operator->() const { return target_; }
  T& operator*() const { return *target_; }
  explicit operator bool() const { return target_ != nullptr; }
  friend bool operator==(const IntrusivePtr& a, const IntrusivePtr& b) { return a.target_ == b.target_; }

 private:
  void add_reference() {
    if (target_) target_->add_reference();
  }
  T* target_ = nullptr;
};

/// Version counter: the number of in-place writes to a tensor and its views. Backward checks that it has not changed
/// since a tensor was saved.
struct VersionCounter : RefCounted {
  std::atomic<uint32_t> value{0};
};

struct StorageImpl : RefCounted, Buffer {
  int64_t bytes;
  Device device;
  std::atomic<uint32_t> version{0};
  bool is_held_by_capture = false;            // whether a Graph capture under way holds one of the references
  std::function<void(void*)> deleter;         // frees memory that is not from the device's allocator; else empty
  StorageImpl(Device device, int64_t bytes);  // allocates uninitialised memory from the device's allocator
  StorageImpl(Device device, int64_t bytes, void* data, std::function<void(void*)> deleter);
  ~StorageImpl();
  /// Whether there is only one reference, not counting the reference of a Graph capture.
  bool is_unique() const { return use_count() == 1 + is_held_by_capture; }
  /// Frees the memory, and from now on uses the memory at `new_data`, which the storage does not own; `new_data` may be
  /// null.
  void reset_data(char* new_data);

 private:
  void free_memory();
};

}  // namespace detail

/// The address of a storage's memory, and its device. It does not keep the memory alive.
class DataPtr {
 public:
  DataPtr(void* data, Device device) : data_(data), device_(device) {}
  /// Returns the address.
  void* get() const { return data_; }
  /// Returns the address, for writing.
  void* mutable_get() const { return data_; }
  /// Returns the device of the memory.
  Device device() const { return device_; }
  /// Whether there is memory.
  explicit operator bool() const { return data_ != nullptr; }

 private:
  void* data_;
  Device device_;
};

/// The memory that a tensor and its views share.
class Storage : public detail::IntrusivePtr<detail::StorageImpl> {
 public:
  using IntrusivePtr::IntrusivePtr;
  /// Size in bytes.
  size_t nbytes() const { return static_cast<size_t>(get()->bytes); }
  /// Address of the first byte, in the device's memory.
  const void* data() const { return get()->data; }
  /// Address of the first byte, for writing.
  void* mutable_data() const { return get()->data; }
  /// Address of the first byte, with the device.
  DataPtr data_ptr() const { return {get()->data, device()}; }
  /// Device of the memory.
  Device device() const { return get()->device; }
  /// Kind of that device.
  DeviceType device_type() const { return device().type(); }
  /// Number of tensors and Storage objects that refer to this memory.
  int64_t use_count() const { return get() ? get()->use_count() : 0; }
  /// Whether both handles refer to the same memory.
  bool is_alias_of(const Storage& other) const { return *this == other; }
};

}  // namespace tandem
