// OwnedPtr: an owning pointer, as std::unique_ptr, for types that only a .cpp file defines. Every file that includes
// the library would instantiate std::unique_ptr for each such type, which takes much longer to compile. Internal.
#pragma once

namespace tandem::detail {

template <class T> class OwnedPtr {
 public:
  OwnedPtr() = default;
  explicit OwnedPtr(T* object) : object_(object) {}
  OwnedPtr(OwnedPtr&& other) noexcept : object_(other.release()) {}
  OwnedPtr& operator=(OwnedPtr&& other) noexcept {
    T* const before = object_;
    object_ = other.release();
    delete before;
    return *this;
  }
  ~OwnedPtr() { delete object_; }  // if T is incomplete here, compilers warn (-Wdelete-incomplete)
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* release() {
    T* const released = object_;
    object_ = nullptr;
    return released;
  }
  T* object_ = nullptr;
};

}  // namespace tandem::detail
