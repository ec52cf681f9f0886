// Owned: a pointer that owns, as std::unique_ptr, for what only a .cpp knows the inside of. Every file that includes
// the library would compile a std::unique_ptr for each class that has one, which takes much longer. Internal.
#pragma once

namespace tandem::detail {

template <class T> class Owned {
 public:
  Owned() = default;
  explicit Owned(T* object) : object_(object) {}
  Owned(Owned&& other) noexcept : object_(other.release()) {}
  Owned& operator=(Owned&& other) noexcept {
    T* const before = object_;
    object_ = other.release();
    delete before;
    return *this;
  }
  ~Owned() { delete object_; }  // compilers warn where T is not known (-Wdelete-incomplete)
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
