// Threads that are the ranks of a group: over Gloo too, where they would be processes.
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
/// 1 or 0: Catch2's assertions are not for several threads, so that ranks count what is wrong.
inline int64_t count_mismatch(const Tensor& x, const Tensor& expected) { return x.equal(expected) ? 0 : 1; }

/// Runs f(group) on `size` threads, each a rank of one group. Returns what each threw, "" for nothing.
/// @param shares  whether rank r may share memory; without it all
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
        job.watch = std::make_unique<StoreClient>("127.0.0.1", server.port(), "secret", timeout);
        job.shared_memory = !shares || shares(rank);
        f(make_gloo_group(std::move(job), timeout));
      } catch (const std::exception& error) {
        errors[static_cast<size_t>(rank)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

/// What rank 0 is told when rank 2, which only the store knows of, is lost during a call. make(job, rank) is a group of
/// ranks 0 and 1; call(group, lose) is what rank 0 does, and `lose` loses rank 2. All within half of the minute that a
/// group is to be given.
template <class Make, class Call> std::string error_when_rank_2_is_lost(const Make& make, const Call& call) {
  using namespace distributed;
  using std::chrono::milliseconds, std::chrono::seconds;
  const StoreServer server("");
  const auto connect = [&] { return std::make_unique<StoreClient>("127.0.0.1", server.port(), "", seconds(20)); };
  auto third = connect();
  third->report("0", 2, -1, milliseconds(0));
  std::atomic<int> joined{0};
  std::atomic<bool> done{false};
  std::string error;
  std::vector<std::thread> threads;
  for (const int rank : {0, 1})
    threads.emplace_back([&, rank] {
      Rendezvous job{rank, 2, connect()};
      job.watch = connect();
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

/// Says so where there is no Gloo to test.
inline bool without_gloo() {
  if (TANDEM_HAS_GLOO) return false;
  WARN("SKIPPED: built without Gloo");
  return true;
}

/// The fake NCCL where this program was built with it, loaded as the real one is; null elsewhere.
inline const FakeNccl* fake_nccl() {
  if (!kFakeNccl) return nullptr;
  static const FakeNccl* const fake = [] {
    ::setenv("TANDEM_NCCL_LIBRARY", kFakeNccl, 1);
    distributed::is_nccl_available();
    return static_cast<const FakeNccl*>(::dlsym(::dlopen(kFakeNccl, RTLD_NOW | RTLD_LOCAL), "fake_nccl"));
  }();
  return fake;
}

/// The backends that are there for tensors on such devices.
inline std::vector<std::string> backends(DeviceType type = kCPU) {
  std::vector<std::string> all = {"local"};
  if (TANDEM_HAS_GLOO) all.push_back("gloo");
  if (type == kCUDA && (fake_nccl() || distributed::is_nccl_available())) all.push_back("nccl");
  return all;
}
/// True, with a line that says so, if this build has no double of NCCL to run with.
inline bool without_fake_nccl() {
  if (fake_nccl()) return false;
  WARN("SKIPPED: built without the double of NCCL");
  return true;
}
/// Whether ranks on GPUs can be had: nccl wants a GPU for each, others share what there is. Says so if not.
inline bool can_run(const std::string& backend, int size) {
  const int needed = backend == "nccl" ? size : 1, present = cuda::device_count();
  if (present < needed) WARN("SKIPPED " << backend << ": it needs " << needed << " GPUs; there are " << present);
  return present >= needed;
}
/// The GPU of a rank: of its own if there are enough.
inline Device device_for_rank(int rank) { return Device(kCUDA, rank % cuda::device_count()); }
/// f(group) on every rank of a group over that backend. @throws what a rank throws
inline void run_with_backend(const std::string& backend, int size,
                             const std::function<void(const distributed::ProcessGroupPtr&)>& f,
                             std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
  distributed::run_ranks(size, [&](int) {
    distributed::init_process_group(backend, {.timeout = timeout});
    f(distributed::default_group());
  });
}

/// What the first rank that fails says; "" if none does.
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
