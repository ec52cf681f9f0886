// Runs the ranks of a group as threads of one process, over Gloo too, where ranks are normally processes.
#pragma once
#include <dlfcn.h>

#include <cstdlib>
#include <thread>

#include "tandem/core/thread_context.h"
#include "tandem/parallel/collectives/distributed.h"
#include "tandem/parallel/collectives/gloo/gloo.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/collectives/fake_nccl.h"
#include "tandem/tests/paths.h"

namespace tandem::test {

inline constexpr DType kDtypes[] = {kFloat32, kFloat64, kFloat16, kBFloat16, kInt64,
                                    kInt32,   kInt16,   kInt8,    kUInt8,    kBool};
/// Returns 0 if the tensors are equal, else 1. Ranks add up these counts, because Catch2's assertions are not
/// thread-safe.
inline int64_t count_mismatch(const Tensor& x, const Tensor& expected) { return x.equal(expected) ? 0 : 1; }

/// Runs f(group) on `size` threads, one per rank of a Gloo group. Returns each rank's error message, "" if none.
/// @param shares  returns whether a rank may use shared memory; nullptr: all may
inline std::vector<std::string> run_gloo_ranks(int size, std::chrono::milliseconds timeout,
                                               const std::function<void(const distributed::ProcessGroupPtr&)>& f,
                                               const std::function<bool(int)>& shares = nullptr) {
  using namespace distributed;
  const StoreServer server("secret");
  std::vector<std::string> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      ThreadContext context;
      context.rank = std::make_shared<RankState>();
      const ThreadContextGuard guard(std::move(context));
      try {
        Rendezvous job{rank, size, std::make_shared<StoreClient>("127.0.0.1", server.port(), "secret", timeout)};
        job.watchdog_store = std::make_unique<StoreClient>("127.0.0.1", server.port(), "secret", timeout);
        job.allows_shared_memory = !shares || shares(rank);
        f(make_gloo_group(std::move(job), timeout));
      } catch (const std::exception& error) {
        errors[static_cast<size_t>(rank)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

/// Returns the error of rank 0 when rank 2 is lost during a call. Only the store knows rank 2: make(job, rank) creates
/// a group of ranks 0 and 1. Rank 0 runs call(group, lose), where `lose` disconnects rank 2 from the store. Checks that
/// all this takes less than 30 seconds; `make` should give the group a timeout of one minute.
template <class Make, class Call> std::string error_when_rank_2_is_lost(const Make& make, const Call& call) {
  using namespace distributed;
  using std::chrono::milliseconds, std::chrono::seconds;
  const StoreServer server("");
  const auto connect = [&] { return std::make_unique<StoreClient>("127.0.0.1", server.port(), "", seconds(20)); };
  auto third = connect();
  third->send_heartbeat("0", 2, -1, milliseconds(0));
  std::atomic<int> joined{0};
  std::atomic<bool> done{false};
  std::string error;
  std::vector<std::thread> threads;
  for (const int rank : {0, 1})
    threads.emplace_back([&, rank] {
      Rendezvous job{rank, 2, connect()};
      job.watchdog_store = connect();
      const ProcessGroupPtr group = make(std::move(job), rank);
      ++joined;
      while (joined < 2) std::this_thread::sleep_for(milliseconds(1));
      if (rank == 1) {
        while (!done) std::this_thread::sleep_for(milliseconds(1));
        return;
      }
      try {
        call(*group, [&] { third.reset(); });
      } catch (const DistributedError& e) {
        error = e.what();
      }
      done = true;
    });
  const auto start = Clock::now();
  for (std::thread& thread : threads) thread.join();
  CHECK(Clock::now() - start < seconds(30));
  return error;
}

/// Returns true, with a warning, if this build has no Gloo.
inline bool without_gloo() {
  if (TANDEM_HAS_GLOO) return false;
  WARN("SKIPPED: built without Gloo");
  return true;
}

/// The fake NCCL, loaded like the real library, or nullptr if this program was built without it
inline const FakeNccl* fake_nccl() {
  if (!kFakeNccl) return nullptr;
  static const FakeNccl* const fake = [] {
    ::setenv("TANDEM_NCCL_LIBRARY", kFakeNccl, 1);
    distributed::is_nccl_available();
    return static_cast<const FakeNccl*>(::dlsym(::dlopen(kFakeNccl, RTLD_NOW | RTLD_LOCAL), "fake_nccl"));
  }();
  return fake;
}

/// Names of the backends that this build has for tensors on such devices
inline std::vector<std::string> backends(DeviceType type = kCPU) {
  std::vector<std::string> all = {"local"};
  if (TANDEM_HAS_GLOO) all.push_back("gloo");
  if (type == kCUDA && (fake_nccl() || distributed::is_nccl_available())) all.push_back("nccl");
  return all;
}
/// Returns true, with a warning, if this build has no fake NCCL.
inline bool without_fake_nccl() {
  if (fake_nccl()) return false;
  WARN("SKIPPED: built without the double of NCCL");
  return true;
}
/// Returns whether there are enough GPUs for `size` ranks: NCCL needs one GPU per rank, with other backends ranks can
/// share one. Warns if there are too few.
inline bool can_run(const std::string& backend, int size) {
  const int needed = backend == "nccl" ? size : 1, present = cuda::device_count();
  if (present < needed) WARN("SKIPPED " << backend << ": it needs " << needed << " GPUs; there are " << present);
  return present >= needed;
}
/// GPU of a rank. Ranks share GPUs if there are too few.
inline Device device_for_rank(int rank) { return Device(kCUDA, rank % cuda::device_count()); }
/// Runs f(group) on every rank of a group over the given backend. @throws Error if a rank throws
inline void run_with_backend(const std::string& backend, int size,
                             const std::function<void(const distributed::ProcessGroupPtr&)>& f,
                             std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
  distributed::run_ranks(size, [&](int) {
    distributed::init_process_group(backend, {.timeout = timeout});
    f(distributed::default_group());
  });
}

/// Returns the message of the first rank that fails, or "" if none does.
inline std::string find_backend_failure(const std::string& backend, int size,
                                        const std::function<void(const distributed::ProcessGroupPtr&)>& f) {
  try {
    run_with_backend(backend, size, f, std::chrono::seconds(20));
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace tandem::test
