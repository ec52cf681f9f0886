// An object for each thread, usable until the thread has ended. Internal.
#pragma once
#include <pthread.h>

namespace tandem::detail {

/// Holds one T for each thread that calls get(). The T is destroyed after the thread's thread_local objects, whose
/// destructors may still use it; if a later destructor calls get(), a new T is made. The main thread's T is never
/// destroyed: destructors of static objects run on that thread.
template <class T> class LateThreadLocal {
 public:
  static T& get() {
    if (!thread_instance_) create_instance();
    return *thread_instance_;
  }

 private:
  static void create_instance() {
    static const pthread_key_t key = [] {
      // Initially an invalid key. It stays invalid if the system has no key left, and then no T is destroyed.
      pthread_key_t made = ~pthread_key_t(0);
      ::pthread_key_create(&made, [](void* kept) {
        thread_instance_ = nullptr;
        delete static_cast<T*>(kept);
      });
      return made;
    }();
    thread_instance_ = new T;
    ::pthread_setspecific(key, thread_instance_);
  }
  static inline constinit thread_local T* thread_instance_ = nullptr;
};

}  // namespace tandem::detail
