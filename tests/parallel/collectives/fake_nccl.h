// Controls and counters of the fake libnccl.so.2, for tests.
#pragma once
#include <cstdint>

namespace tandem::test {

/// Function table exported by the fake library as "fake_nccl" (for dlsym). Ranks are those of the communicators created
/// last.
struct FakeNccl {
  /// Seeds the random number of "in progress" results that a call returns before it is accepted. 0: none.
  void (*set_seed)(uint64_t seed);
  /// After `calls` more calls, rank's communicator reports an asynchronous error, and its next call never starts.
  void (*fail)(int rank, int calls);
  /// After `calls` more calls, rank's next call never starts, and no error is reported.
  void (*hang)(int rank, int calls);
  /// Number of communicators that were neither destroyed nor aborted.
  int (*communicators)();
  /// Number of operations that have run so far, over all communicators.
  int64_t (*operations)();
};

}  // namespace tandem::test
