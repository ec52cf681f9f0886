// What tests can ask of the fake libnccl.so.2.
#pragma once
#include <cstdint>

namespace tandem::test {

/// Found by dlsym(library, "fake_nccl"). Ranks are those of the communicators made last.
struct FakeNccl {
  /// How many answers "in progress" come before a call is taken in, and so when: random, by the seed. 0: none.
  void (*set_seed)(uint64_t seed);
  /// After so many more calls, rank's communicator has an asynchronous error, and its next call never starts.
  void (*fail)(int rank, int calls);
  /// After so many more calls, rank's next one never starts, and nothing says so.
  void (*hang)(int rank, int calls);
  /// Communicators that were neither destroyed nor aborted.
  int (*communicators)();
  /// Operations that ran so far, of all communicators.
  int64_t (*operations)();
};

}  // namespace tandem::test
