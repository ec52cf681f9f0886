// Tests the thread pool: chunks, nesting, shares, concurrent callers, errors, and missed wakeups.
#include "tandem/core/threads/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/core/error.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {

using Chunks = std::vector<std::pair<int64_t, int64_t>>;

/// Returns the chunks of a loop, sorted.
Chunks chunks_of(int64_t range, int64_t grain) {
  std::mutex mutex;
  Chunks chunks;
  parallel_for(range, grain, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex);
    chunks.emplace_back(begin, end);
  });
  std::sort(chunks.begin(), chunks.end());
  return chunks;
}

/// Sets the number of threads until the end of the scope.
class ThreadCount {
 public:
  explicit ThreadCount(int n) : saved_(get_num_threads()) { set_num_threads(n); }
  ~ThreadCount() { set_num_threads(saved_); }

 private:
  int saved_;
};

/// Returns the number of threads that take part in a loop. Each chunk waits until `expected` threads have come, at most
/// ten seconds.
size_t threads_taking_part(int64_t chunks, size_t expected) {
  std::mutex mutex;
  std::set<std::thread::id> ids;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  parallel_for(chunks, 1, [&](int64_t, int64_t) {
    size_t here = 0;
    do {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
      here = ids.size();
    } while (here < expected && std::chrono::steady_clock::now() < deadline);
  });
  return ids.size();
}

}  // namespace

TEST_CASE("chunks are of the grain's size, the last one shorter, for any number of threads", "[core][thread_pool]") {
  const ThreadCount threads(GENERATE(1, 2, 3, 8));
  REQUIRE(chunks_of(0, 4).empty());
  REQUIRE(chunks_of(-1, 4).empty());
  REQUIRE(chunks_of(0, 0).empty());
  REQUIRE(chunks_of(3, 4) == Chunks{{0, 3}});
  REQUIRE(chunks_of(4, 4) == Chunks{{0, 4}});
  REQUIRE(chunks_of(10, 4) == Chunks{{0, 4}, {4, 8}, {8, 10}});
  REQUIRE(chunks_of(12, 4) == Chunks{{0, 4}, {4, 8}, {8, 12}});
  REQUIRE(chunks_of(3, 1) == Chunks{{0, 1}, {1, 2}, {2, 3}});
  const int64_t most = INT64_MAX, half = most / 2;
  REQUIRE(chunks_of(most, half) == Chunks{{0, half}, {half, 2 * half}, {2 * half, most}});
}

TEST_CASE("a grain below one is refused", "[core][thread_pool]") {
  REQUIRE_THROWS_WITH(parallel_for(5, 0, [](int64_t, int64_t) {}), Contains("parallel_for") && Contains("grain is 0"));
  REQUIRE_THROWS_WITH(parallel_for(5, -2, [](int64_t, int64_t) {}), Contains("grain is -2"));
}

TEST_CASE("every element is visited once, in loops of all sizes", "[core][thread_pool]") {
  const ThreadCount threads(GENERATE(1, 2, 3, 8, 20));  // 20: more threads than a job has shares
  for (const int64_t range : {1, 2, 7, 64, 1000})
    for (const int64_t grain : {1, 3, 64}) {
      std::vector<int> visits(static_cast<size_t>(range), 0);  // chunks do not overlap, so plain ints suffice
      parallel_for(range, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
      });
      REQUIRE(visits == std::vector<int>(static_cast<size_t>(range), 1));
    }
}

TEST_CASE("a loop inside a chunk runs there, in the same chunks", "[core][thread_pool]") {
  const ThreadCount threads(GENERATE(1, 2, 3, 8));
  std::atomic<int> wrong{0};
  parallel_for(16, 1, [&](int64_t, int64_t) {
    const auto outer = std::this_thread::get_id();
    int64_t at = 0;
    parallel_for(10, 4, [&](int64_t begin, int64_t end) {
      if (std::this_thread::get_id() != outer) ++wrong;
      if (begin != at || end != std::min<int64_t>(begin + 4, 10)) ++wrong;
      at = end;
    });
    if (at != 10) ++wrong;
  });
  REQUIRE(wrong == 0);
}

TEST_CASE("helpers take part, as many as there are threads, chunks or a share", "[core][thread_pool]") {
  const ThreadCount threads(4);
  REQUIRE(threads_taking_part(16, 4) == 4);
  REQUIRE(threads_taking_part(2, 2) == 2);
  {
    const ThreadShareGuard share(2);
    REQUIRE(get_thread_share() == 2);
    REQUIRE(threads_taking_part(16, 2) == 2);
    {
      const ThreadShareGuard alone(1);
      REQUIRE(threads_taking_part(4, 1) == 1);
    }
    REQUIRE(get_thread_share() == 2);
  }
  REQUIRE(get_thread_share() == 0);
  REQUIRE_THROWS_WITH(ThreadShareGuard(-1), Contains("ThreadShareGuard") && Contains("-1"));
}

TEST_CASE("each thread begins at a part of its own, the caller at the first", "[core][thread_pool]") {
  const ThreadCount threads(3);
  std::mutex mutex;
  std::map<std::thread::id, int64_t> first;  // first chunk that each thread has run
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  parallel_for(32, 1, [&](int64_t begin, int64_t) {
    for (size_t here = 0; here < 3 && std::chrono::steady_clock::now() < deadline;) {
      const std::lock_guard lock(mutex);
      first.emplace(std::this_thread::get_id(), begin);
      here = first.size();
    }
  });
  REQUIRE(first.size() == 3);
  REQUIRE(first[std::this_thread::get_id()] == 0);
  std::set<int64_t> starts;
  for (const auto& [thread, chunk] : first) starts.insert(chunk);
  REQUIRE(starts == std::set<int64_t>{0, 11, 22});  // shares of 11, 11 and 10 chunks
}

TEST_CASE("of several chunks that throw, the lowest one's exception arrives", "[core][thread_pool]") {
  const ThreadCount threads(GENERATE(1, 2, 3, 8));
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::atomic<int> begun{0};
    const auto loop = [&] {
      parallel_for(10'000, 1, [&](int64_t begin, int64_t) {
        ++begun;
        if (begin >= 7) throw std::runtime_error("chunk " + std::to_string(begin));
      });
    };
    REQUIRE_THROWS_WITH(loop(), "chunk 7");
    REQUIRE(begun < 10'000);  // the other chunks are skipped
  }
  REQUIRE(chunks_of(10, 4).size() == 3);  // the pool still works
}

TEST_CASE("several callers at once get their own results", "[core][thread_pool]") {
  const ThreadCount threads(GENERATE(1, 2, 3, 8));
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 6; ++caller)
    callers.emplace_back([&wrong, caller] {
      const ThreadShareGuard share(caller % 3);
      for (int repeat = 0; repeat < 2000; ++repeat) {
        std::atomic<int64_t> sum{0};
        try {
          parallel_for(100 + caller, 7, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) sum += i;
            if (repeat % 50 == 49 && begin == 14) throw caller;
          });
          const int64_t n = 100 + caller;
          if (repeat % 50 == 49 || sum != n * (n - 1) / 2) ++wrong;
        } catch (int thrown) {
          if (repeat % 50 != 49 || thrown != caller) ++wrong;
        }
      }
    });
  for (std::thread& caller : callers) caller.join();
  REQUIRE(wrong == 0);
}

TEST_CASE("more callers than the pool has room for all finish", "[core][thread_pool]") {
  const ThreadCount threads(3);
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 80; ++caller)
    callers.emplace_back([&] {
      parallel_for(4, 1, [&](int64_t begin, int64_t) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // so that all callers run at once
        sum += begin;
      });
    });
  for (std::thread& caller : callers) caller.join();
  REQUIRE(sum == 80 * 6);
}

TEST_CASE("no wakeup is lost, however long the threads had slept", "[core][thread_pool]") {
  const ThreadCount threads(GENERATE(2, 3, 8));
  int64_t total = 0;
  for (int repeat = 0; repeat < 400; ++repeat) {
    std::atomic<int64_t> sum{0};
    parallel_for(9, 1, [&](int64_t begin, int64_t) { sum += begin; });
    total += sum;
    // Near the moment when workers fall asleep.
    std::this_thread::sleep_for(std::chrono::microseconds(repeat % 8 * 15));
  }
  REQUIRE(total == 400 * 36);
  const auto all = static_cast<size_t>(get_num_threads());
  REQUIRE(threads_taking_part(32, all) == all);
}

TEST_CASE("the number of threads may change while others run loops", "[core][thread_pool]") {
  const ThreadCount threads(3);
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 2; ++caller)
    callers.emplace_back([&] {
      while (!done) {
        std::atomic<int64_t> sum{0};
        parallel_for(50, 3, [&](int64_t begin, int64_t end) { sum += end - begin; });
        if (sum != 50) ++wrong;
      }
    });
  for (int repeat = 0; repeat < 60; ++repeat) {
    set_num_threads(1 + repeat % 4);
    parallel_for(8, 1, [](int64_t, int64_t) {});
  }
  done = true;
  for (std::thread& caller : callers) caller.join();
  REQUIRE(wrong == 0);
}

TEST_CASE("the number of threads is checked", "[core][thread_pool]") {
  REQUIRE_THROWS_WITH(set_num_threads(0), Contains("set_num_threads") && Contains("got 0"));
  REQUIRE_THROWS_WITH(set_num_threads(100'000), Contains("100000"));
  const auto loop = [] { parallel_for(2, 1, [](int64_t, int64_t) { set_num_threads(2); }); };
  const ThreadCount threads(2);
  REQUIRE_THROWS_WITH(loop(), Contains("inside a parallel loop"));
}
