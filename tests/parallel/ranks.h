// Threads that are the ranks of a group: over Gloo too, where they would be processes.
#pragma once
#include <thread>

#include "tandem/core/rank_context.h"
#include "tandem/parallel/collectives/distributed.h"
#include "tandem/parallel/collectives/gloo.h"
#include "tandem/tests/catch.h"

namespace tandem::test {

/// Runs f(group) on `size` threads, each a rank of one group. Returns what each threw, "" for nothing.
inline std::vector<std::string> run_gloo_ranks(int size, std::chrono::milliseconds timeout,
                                               const std::function<void(const distributed::ProcessGroupPtr&)>& f) {
  using namespace distributed;
  const StoreServer server("secret");
  std::vector<std::string> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      RankContext context;
      context.rank = std::make_shared<RankState>();
      const RankContextGuard guard(std::move(context));
      try {
        GlooJob job{std::make_shared<StoreClient>("127.0.0.1", server.port(), "secret", timeout)};
        const ProcessGroupPtr group =
            make_queued_group(rank, size, "gloo", timeout, make_gloo_communicator(rank, size, std::move(job), timeout));
        f(group);
      } catch (const std::exception& error) {
        errors[static_cast<size_t>(rank)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

/// Says so where there is no Gloo to test.
inline bool without_gloo() {
  if (TANDEM_HAS_GLOO) return false;
  WARN("SKIPPED: built without Gloo");
  return true;
}

/// The backends that are there.
inline std::vector<std::string> backends() {
  if (TANDEM_HAS_GLOO) return {"local", "gloo"};
  return {"local"};
}
/// f(group) on every rank of a group over that backend. @throws what a rank throws
inline void run_over(const std::string& backend, int size,
                     const std::function<void(const distributed::ProcessGroupPtr&)>& f) {
  if (backend == "local") {
    distributed::run_ranks(size, [&](int) {
      distributed::init_process_group("local");
      f(distributed::default_group());
    });
    return;
  }
  for (const std::string& error : run_gloo_ranks(size, std::chrono::seconds(60), f)) TANDEM_CHECK(error.empty(), error);
}

}  // namespace tandem::test
