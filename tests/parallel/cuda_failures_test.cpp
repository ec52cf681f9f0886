// Tests failures between ranks with GPUs over the fake NCCL. Every rank's error must name the rank, the collective and
// its purpose.
#include <atomic>
#include <mutex>
#include <thread>

#include "tandem/emulation/emulation.h"
#include "tandem/emulation/simt.h"
#include "tandem/parallel/collectives/nccl/api.h"
#include "tandem/parallel/collectives/nccl/nccl.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/ranks.h"
#if TANDEM_TEST_EMULATED
#include "tandem/core/cuda/allocator.h"
#include "tandem/emulation/emulation.h"
#endif

using namespace tandem;
using namespace tandem::distributed;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// Runs f(group, device) on the ranks of an NCCL group. Returns each rank's error, "" for none.
std::vector<std::string> errors_of(int size, milliseconds timeout,
                                   const std::function<void(ProcessGroup&, Device)>& f) {
  std::vector<std::string> errors(static_cast<size_t>(size));
  run_ranks(size, [&](int rank) {
    try {
      init_process_group("nccl", {.timeout = timeout});
      f(*default_group(), Device(kCUDA, rank));
    } catch (const std::exception& error) {
      errors[static_cast<size_t>(rank)] = error.what();
    }
  });
  return errors;
}
/// Checks that two more calls on a failed group report one and the same error.
void call_again(ProcessGroup& group, Device device) {
  std::string first;
  for (int i = 0; i < 2; ++i) try {
      group.all_reduce(zeros({2}, device))->wait();
    } catch (const DistributedError& error) {
      TANDEM_CHECK(first.empty() || first == error.what(), "another error: ", error.what());
      first = error.what();
    }
  TANDEM_CHECK(!first.empty(), "a failed group took a call");
}

}  // namespace

TEST_CASE("nccl: ranks that call different things are found, and every rank says what was called", "[parallel][nccl]") {
  if (test::without_fake_nccl()) return;
  struct Case {
    std::function<void(ProcessGroup&, Device)> call;
    const char *first, *second;
  };
  const std::vector<Case> cases = {
      {[](ProcessGroup& g, Device d) {
         g.all_reduce(zeros({g.rank() == 1 ? 4 : 5}, d), ReduceOp::SUM, "the loss")->synchronize();
       },
       "rank 0 called last: all_reduce #2 (the loss) of float32, 5 elements, SUM, on cuda",
       "rank 1 called last: all_reduce #2 (the loss) of float32, 4 elements, SUM, on cuda:1"},
      {[](ProcessGroup& g, Device d) {  // rank 1 calls the two collectives in the opposite order
         const Tensor x = zeros({3}, d), y = zeros({3}, d);
         const WorkPtr one = g.rank() == 1 ? g.broadcast(y, 0, "buffers") : g.all_reduce(x, ReduceOp::SUM, "bucket 0");
         const WorkPtr two = g.rank() == 1 ? g.all_reduce(x, ReduceOp::SUM, "bucket 0") : g.broadcast(y, 0, "buffers");
         one->synchronize();
         two->synchronize();
       },
       "(bucket 0)", "(buffers)"},
      {[](ProcessGroup& g,
          Device d) {  // only the descriptions differ: NCCL accepts that, Tandem's watchdog thread finds it
         for (int i = 0; i < 1000; ++i) {
           g.all_reduce(zeros({3}, d), ReduceOp::SUM, g.rank() == 1 ? "accuracy" : "gradients")->synchronize();
           std::this_thread::sleep_for(std::chrono::milliseconds(10));
         }
       },
       "(gradients)", "(accuracy)"},
      {[](ProcessGroup& g, Device d) { g.broadcast(zeros({3}, d), g.rank())->synchronize(); }, "broadcast #2",
       "rank 1"},
  };
  for (const Case& c : cases) {
    const std::vector<std::string> errors = errors_of(2, seconds(60), [&](ProcessGroup& g, Device d) {
      try {
        c.call(g, d);
      } catch (const DistributedError&) {
        call_again(g, d);
        throw;
      }
    });
    for (const std::string& error : errors)
      CHECK_THAT(error,
                 Contains("Detected mismatch between collectives on ranks") && Contains(c.first) && Contains(c.second));
  }
  CHECK(test::fake_nccl()->communicators() == 0);
}

TEST_CASE("nccl: a collective that hangs ends within the timeout, with its name, on every rank", "[parallel][nccl]") {
  if (test::without_fake_nccl()) return;
  test::fake_nccl()->hang(1, 2);  // hangs in its third call; the first one is made by init_process_group
  const std::vector<std::string> errors = errors_of(2, milliseconds(700), [](ProcessGroup& g, Device d) {
    const Tensor x = ones({3}, d);
    g.all_reduce(x)->wait();
    g.all_reduce(x, ReduceOp::AVG, "gradients, bucket 0 of 1")->synchronize();
  });
  for (const std::string& error : errors)
    CHECK_THAT(error, Contains("all_reduce #3 (gradients, bucket 0 of 1) of float32, 3 elements, AVG, on cuda") &&
                          Contains("it did not finish within 700 ms"));
  CHECK(test::fake_nccl()->communicators() == 0);
}

TEST_CASE("nccl: what a collective that was ended leaves on the GPU is not taken for a result", "[parallel][nccl]") {
  if (test::without_fake_nccl()) return;
  test::fake_nccl()->hang(1, 1);
  const std::vector<std::string> errors = errors_of(2, milliseconds(300), [](ProcessGroup& g, Device d) {
    const Tensor x = ones({3}, d);
    g.all_reduce(x)->wait();
    std::printf("%g\n", x.sum().item<double>());  // waits for the GPU without calling the group
  });
  for (const std::string& error : errors) CHECK_THAT(error, Contains("it did not finish within 300 ms"));
}

TEST_CASE("nccl: a rank that does not come is named", "[parallel][nccl]") {
  if (test::without_fake_nccl()) return;
  std::atomic<bool> failed{false};
  const std::vector<std::string> errors = errors_of(2, milliseconds(500), [&](ProcessGroup& g, Device d) {
    if (g.rank() == 1) {
      for (const Deadline deadline = deadline_after(seconds(60)); !failed && Clock::now() < deadline;)
        std::this_thread::sleep_for(milliseconds(1));
      return;
    }
    try {
      g.all_reduce(ones({3}, d))->synchronize();
    } catch (...) {
      failed = true;
      throw;
    }
  });
  CHECK_THAT(errors[0], Contains("rank 0: all_reduce #2 of float32, 3 elements, SUM, on cuda") &&
                            Contains("rank 1 called last: barrier #1"));
  CHECK(errors[1].empty());
}

TEST_CASE("nccl: a call that needs a rank that has left does not wait for the timeout", "[parallel][nccl]") {
  if (!test::fake_nccl()) return;
  const auto start = Clock::now();
  const std::vector<std::string> errors = errors_of(2, seconds(60), [](ProcessGroup& g, Device d) {
    g.all_reduce(ones({3}, d))->synchronize();
    if (g.rank() == 0) g.all_reduce(ones({3}, d), ReduceOp::SUM, "the loss")->synchronize();
  });
  CHECK(Clock::now() - start < seconds(30));
  CHECK_THAT(errors[0], Contains("all_reduce #3 (the loss)") && Contains("rank 1 has left the group"));
}

TEST_CASE("nccl: an asynchronous error names rank and collective, on every rank, and the group stays failed",
          "[parallel][nccl]") {
  if (test::without_fake_nccl()) return;
  test::fake_nccl()->fail(0, 1);
  const std::vector<std::string> errors = errors_of(2, seconds(60), [](ProcessGroup& g, Device d) {
    try {
      g.all_reduce(ones({3}, d), ReduceOp::SUM, "bucket 7")->synchronize();
    } catch (const DistributedError&) {
      call_again(g, d);
      throw;
    }
  });
  for (const std::string& error : errors)
    CHECK_THAT(error, Contains("rank 0: all_reduce #2 (bucket 7) of float32, 3 elements") &&
                          Contains("network error") && Contains("a link is down"));
}

TEST_CASE("nccl: a rank that the store has lost ends what the others have under way", "[parallel][nccl]") {
  if (test::without_fake_nccl()) return;
  const std::string error = test::error_when_rank_2_is_lost(
      [](Rendezvous job, int rank) { return make_nccl_group(std::move(job), Device(kCUDA, rank), seconds(60)); },
      [](ProcessGroup& group, const auto& lose) {
        const WorkPtr work = group.all_reduce(ones({3}, Device(kCUDA, 0)), ReduceOp::SUM, "bucket 7");
        while (group.bytes_sent() == 0) std::this_thread::sleep_for(milliseconds(1));  // until rank 0 has called it
        lose();
        work->synchronize();
      });
  CHECK_THAT(error, Contains("rank 2 is gone") && Contains("rank 0 called last: all_reduce #1 (bucket 7)"));
}

TEST_CASE("nccl: a rank whose GPU has failed is waited for no longer than the timeout", "[parallel][nccl]") {
  if (test::without_fake_nccl()) return;
  const std::vector<std::string> errors = errors_of(3, milliseconds(500), [](ProcessGroup& g, Device d) {
    if (g.rank() == 1) {
      const gpu::DeviceGuard guard(d.index());
      emulation::launch("wild", dim3(1), dim3(1), 0, cuda::current_stream(d).handle(),
                        [] { throw std::runtime_error("went wrong"); });
    }
    const Tensor x = ones({3}, d);
    g.all_reduce(x)->wait();
    std::printf("%g\n", x.sum().item<double>());
  });
  emulation::reset_runtime();  // the emulated GPU works again
  // On a busy machine rank 1 may publish its error before the other ranks time out.
  for (const int rank : {0, 2})
    CHECK_THAT(errors[size_t(rank)],
               Contains("it did not finish within 500 ms") ||
                   (Contains("rank 1: ") && Contains("failed: kernel wild on cuda:1: went wrong")));
  CHECK_THAT(errors[1], Contains("kernel wild on cuda:1: went wrong"));
}

TEST_CASE("nccl: abort ends what is under way, here and on the others", "[parallel][nccl]") {
  if (test::without_fake_nccl()) return;
  const std::vector<std::string> errors = errors_of(2, seconds(60), [](ProcessGroup& g, Device d) {
    const WorkPtr work = g.rank() == 0 ? g.all_reduce(ones({3}, d)) : nullptr;
    if (g.rank() == 1) g.abort("the data ran out");
    if (work) work->synchronize();
    call_again(g, d);
    throw Error("the data ran out, as said");
  });
  for (const std::string& error : errors) CHECK_THAT(error, Contains("the data ran out"));
  CHECK(test::fake_nccl()->communicators() == 0);
}

TEST_CASE("nccl: a rank that throws ends the others' wait", "[parallel][nccl]") {
  if (test::without_fake_nccl()) return;
  std::string seen;
  CHECK_THROWS_WITH(run_ranks(2,
                              [&](int rank) {
                                try {
                                  init_process_group("nccl");  // rank 0 may still be in this call when rank 1 throws
                                  if (rank == 1) throw std::runtime_error("no data here");
                                  default_group()->all_reduce(ones({3}, Device(kCUDA, 0)))->synchronize();
                                } catch (const std::exception& error) {
                                  if (rank == 0) seen = error.what();
                                  throw;
                                }
                              }),
                    Contains("rank 1: no data here"));
  CHECK_THAT(seen, Contains("rank 1 failed: no data here"));
}

TEST_CASE("nccl: the communicators of sends both ways and in a ring are left in any order", "[parallel][nccl]") {
  if (test::without_fake_nccl()) return;
  const int size = GENERATE(2, 3);
  const auto errors = errors_of(size, seconds(60), [size](ProcessGroup& g, Device d) {
    constexpr int kTags = 5;
    const int next = (g.rank() + 1) % size, before = (g.rank() + size - 1) % size;
    std::vector<Tensor> got;
    std::vector<WorkPtr> works;
    for (int tag = 0; tag < kTags; ++tag) {
      got.push_back(empty({2}, d));
      works.push_back(g.send(full({2}, 10.0 * g.rank() + tag, d), next, tag));
      works.push_back(g.recv(got.back(), before, tag));
    }
    for (const WorkPtr& work : works) work->synchronize();
    for (int tag = 0; tag < kTags; ++tag)
      TANDEM_CHECK(got[static_cast<size_t>(tag)].cpu().equal(
                       full({2}, 10.0f * static_cast<float>(before) + static_cast<float>(tag))),
                   "wrong values");
  });
  CHECK(errors == std::vector<std::string>(static_cast<size_t>(size)));
  CHECK(test::fake_nccl()->communicators() == 0);
}

#if TANDEM_TEST_EMULATED
TEST_CASE("cuda: a collective without memory on one rank fails on all of them, with the cause", "[parallel][cuda]") {
  const std::string backend = GENERATE(from_range(test::backends(kCUDA)));
  if (backend == "gloo") return;  // Gloo communicates through host memory
  INFO(backend);
  cuda::empty_cache();
  emulation::set_memory_limit(1, size_t{16} << 20);
  std::vector<std::string> errors(2);
  run_ranks(2, [&](int rank) {
    init_process_group(backend);
    const Device device(kCUDA, rank);
    const Tensor x = ones({3 << 20}, device);  // 12 MiB
    try {
      default_group()->all_reduce(x, ReduceOp::MAX, "the peak")->synchronize();
    } catch (const std::exception& error) {
      errors[static_cast<size_t>(rank)] = error.what();
    }
  });
  emulation::set_memory_limit(1, size_t{1} << 30);
  for (const std::string& error : errors) CHECK_THAT(error, Contains("CUDA out of memory.") && Contains(" on cuda:1"));
  CHECK_THAT(errors[0], Contains("rank 1 failed in all_reduce #2 (the peak)"));
}
#endif

TEST_CASE("nccl: a kernel's error that a barrier meets is this rank's own", "[parallel][nccl]") {
  if (test::without_fake_nccl()) return;
  std::atomic<int> index_errors{0};
  const auto errors = errors_of(2, seconds(60), [&](ProcessGroup& g, Device d) {
    if (g.rank() == 1) ones({3}, d).index_select(0, tensor({5}, kInt64).to(d));
    try {
      g.barrier()->wait();
    } catch (const IndexError&) {
      ++index_errors;
    }
    for (int i = 0; i < 2; ++i) g.all_reduce(ones({2}, d))->synchronize();
  });
  CHECK(index_errors == 1);
  for (const std::string& error : errors) CHECK_THAT(error, Contains("rank 1 failed in barrier #2"));
}

TEST_CASE("nccl: two ranks on one GPU, a missing GPU, a missing rank: said at the start", "[parallel][nccl]") {
  if (test::without_fake_nccl()) return;
  std::mutex mutex;
  std::string all;
  const auto start = [&](int size, const std::function<InitOptions(int)>& options) {
    all.clear();
    run_ranks(size, [&](int rank) {
      try {
        init_process_group("nccl", options(rank));
      } catch (const std::exception& error) {
        const std::lock_guard lock(mutex);
        all += "[" + std::to_string(rank) + ": " + error.what() + "]";
      }
    });
    return all;
  };
  CHECK_THAT(start(2, [](int) { return InitOptions{.device = Device("cuda:1")}; }), Contains("Duplicate GPU"));
  CHECK_THAT(start(1, [](int) { return InitOptions{.device = Device("cpu")}; }), Contains("accepted: a CUDA device"));
  CHECK_THAT(start(1, [](int) { return InitOptions{.device = Device("cuda:60")}; }), Contains("cuda:60"));
  CHECK(test::fake_nccl()->communicators() == 0);
}

TEST_CASE("nccl: the default backend follows the device, as PyTorch's", "[parallel][nccl]") {
  if (test::without_fake_nccl()) return;
  run_ranks(1, [](int) {
    init_process_group("", {.device = Device("cuda:2")});
    TANDEM_CHECK(default_group()->backend() == "nccl" && default_group()->device() == Device("cuda:2"), "not nccl");
  });
  run_ranks(1, [](int) {
    init_process_group();  // with emulated GPUs, NCCL is not the default backend
    TANDEM_CHECK(default_group()->backend() == "local", "not local");
  });
}

TEST_CASE("nccl: calls that NCCL takes in late, at random", "[parallel][nccl]") {
  if (test::without_fake_nccl()) return;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    test::fake_nccl()->set_seed(seed);
    const auto errors = errors_of(2, seconds(60), [](ProcessGroup& g, Device d) {
      const Tensor x = ones({5}, d), y = x * 2;
      for (int i = 0; i < 3; ++i) g.all_reduce(x);
      g.all_reduce(y)->wait();
      TANDEM_CHECK(x.cpu().equal(full({5}, 8.0f)) && y.cpu().equal(full({5}, 4.0f)), "wrong sums");
    });
    CHECK(errors == std::vector<std::string>(2));
  }
  test::fake_nccl()->set_seed(0);
}
