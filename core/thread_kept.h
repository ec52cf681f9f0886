// What a thread keeps for itself and may use until its very end. Internal.
#pragma once
#include <pthread.h>

namespace tandem::detail {

/// One T for each thread that asks for it. It is destroyed after the thread's thread_local objects, whose destructors
/// may still use it, and made anew if a later destructor asks for it. The main thread's is never destroyed: objects
/// with static storage are destroyed there.
template <class T> class ThreadKept {
 public:
  static T& get() {
    if (!mine_) make();
    return *mine_;
  }

 private:
  static void make() {
    static const pthread_key_t key = [] {
      pthread_key_t made = ~pthread_key_t(0);  // no key: there are none left, and the thread keeps its T for ever
      ::pthread_key_create(&made, [](void* kept) {
        mine_ = nullptr;
        delete static_cast<T*>(kept);
      });
      return made;
    }();
    mine_ = new T;
    ::pthread_setspecific(key, mine_);
  }
  static inline constinit thread_local T* mine_ = nullptr;
};

}  // namespace tandem::detail
