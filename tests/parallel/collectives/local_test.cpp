// Tests collectives of the local backend beyond groups_test.cpp: the order of sums, strided tensors, and ranks that
// disagree, are late, or leave.
#include <atomic>
#include <limits>
#include <thread>

#include "tandem/parallel/collectives/distributed.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/ranks.h"

using namespace tandem;
using namespace tandem::distributed;
using std::chrono::milliseconds;

namespace {

/// Returns the number of wrong elements. Ranks count them, because Catch2's assertions are not thread-safe.
int64_t wrong(const Tensor& x, double expected) { return (x != expected).sum().item<int64_t>(); }

/// Runs f(rank) in a local group of `size` ranks and returns the sum of the results.
int64_t total(int size, const std::function<int64_t(int)>& f, milliseconds timeout = kDefaultTimeout) {
  std::atomic<int64_t> sum{0};
  run_ranks(size, [&](int rank) {
    init_process_group("local", {.timeout = timeout});
    sum += f(rank);
  });
  return sum;
}

}  // namespace

TEST_CASE("a collective that is done holds no tensor", "[parallel][local]") {
  for (const std::string& backend : test::backends())
    test::run_with_backend(backend, 2, [](const ProcessGroupPtr& group) {
      for (int i = 0; i < 1000; ++i) {
        const Tensor x = ones({4});
        const WorkPtr work = group->all_reduce(x);
        work->wait();
        TANDEM_CHECK(x.use_count() == 1, "after ", i, " more, ", x.use_count(), " hold it");
      }
    });
}

TEST_CASE("local: a million elements, in several collectives at once", "[parallel][local]") {
  CHECK(total(3, [&](int rank) {
          const int64_t n = 1 << 20;
          std::vector<Tensor> xs;
          std::vector<WorkPtr> works;
          for (int k = 0; k < 4; ++k) {
            xs.push_back(full({n}, rank + k, kFloat32));
            works.push_back(all_reduce(xs.back(), ReduceOp::SUM, nullptr, /*async_op=*/true));
          }
          int64_t bad = 0;
          for (int k = 0; k < 4; ++k) {
            works[static_cast<size_t>(k)]->wait();
            bad += wrong(xs[static_cast<size_t>(k)], 3.0 + 3 * k);
          }
          return bad;
        }) == 0);
}

TEST_CASE("local: sums are in rank order, to the bit", "[parallel][local]") {
  // The 1 is lost to rounding unless 1e8 and -1e8 have cancelled before it is added.
  const float values[] = {1e8f, -1e8f, 1.f, 0.f};
  for (int first = 0; first < 4; ++first) {
    float expected = 0;
    for (int r = 0; r < 4; ++r) expected = r == 0 ? values[first] : expected + values[(first + r) % 4];
    CHECK(total(4, [&](int rank) {
            const Tensor x = full({5}, values[(first + rank) % 4]);
            all_reduce(x);
            return (x != expected).sum().item<int64_t>();
          }) == 0);
  }
}

TEST_CASE("local: tensors with strides are reduced where they lie, and a NaN is carried on", "[parallel][local]") {
  CHECK(total(2, [&](int rank) {
          const Tensor base = full({3, 4}, rank + 1.0), column = base.t();
          all_reduce(column);
          int64_t bad = (base != 3).sum().item<int64_t>();
          const Tensor x = full({2}, rank == 0 ? std::numeric_limits<double>::quiet_NaN() : 1.0);
          all_reduce(x, ReduceOp::MAX);
          return bad + (x.isnan().sum().item<int64_t>() != 2);
        }) == 0);
}

TEST_CASE("local: send and recv pair up by rank and tag, in order", "[parallel][local]") {
  CHECK(total(3, [&](int rank) {
          const int next = (rank + 1) % 3, before = (rank + 2) % 3;
          const ProcessGroupPtr group = default_group();
          std::vector<WorkPtr> works;
          for (int k = 0; k < 3; ++k) works.push_back(group->send(full({2}, 10.0 * rank + k), next, k / 2));
          std::vector<Tensor> got;
          for (const int tag : {1, 0, 0}) {
            got.push_back(zeros({2}));
            group->recv(got.back(), before, tag)->wait();
          }
          for (const WorkPtr& work : works) work->wait();
          return (got[0] != 10.0 * before + 2).sum().item<int64_t>() + (got[1] != 10.0 * before).sum().item<int64_t>() +
                 (got[2] != 10.0 * before + 1).sum().item<int64_t>();
        }) == 0);
}

namespace {
/// Returns the error that run_ranks throws. `seen` receives an error of another rank.
std::string failure_of(int size, milliseconds timeout, const std::function<void(int)>& f, std::string* seen = nullptr) {
  std::mutex mutex;
  try {
    run_ranks(size, [&](int rank) {
      init_process_group("local", {.timeout = timeout});
      try {
        f(rank);
      } catch (const std::exception& error) {
        const std::lock_guard lock(mutex);
        if (seen) *seen += "[" + std::to_string(rank) + ": " + error.what() + "]";
        throw;
      }
    });
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}
}  // namespace

TEST_CASE("local: ranks that do different things hear of it, on every rank", "[parallel][local][errors]") {
  std::string seen;
  failure_of(
      3, milliseconds(5000), [](int rank) { all_reduce(zeros({rank == 1 ? 5 : 4})); }, &seen);
  for (const char* rank : {"[0: ", "[1: ", "[2: "}) CHECK_THAT(seen, Contains(rank));
  CHECK_THAT(seen, Contains("rank 0 calls all_reduce #2 of float32, 4 elements") &&
                       Contains("rank 1 calls all_reduce #2 of float32, 5 elements"));
  CHECK_THAT(failure_of(2, milliseconds(5000),
                        [](int rank) {
                          if (rank == 0)
                            broadcast(zeros({4}), 0);
                          else
                            all_reduce(zeros({4}));
                        }),
             Contains("rank 0 calls broadcast") && Contains("rank 1 calls all_reduce"));
  CHECK_THAT(failure_of(2, milliseconds(5000), [](int rank) { broadcast(zeros({4}), rank); }),
             Contains("Detected mismatch"));
  CHECK_THAT(failure_of(2, milliseconds(5000),
                        [](int rank) {
                          if (rank == 0) send(zeros({4}), 1);
                          if (rank == 1) recv(zeros({4}, kInt64), 0);
                        }),
             Contains("send") && Contains("int64"));
}

TEST_CASE("local: a rank that does not come, or throws, ends the wait of the others", "[parallel][local][errors]") {
  const auto late = [] { std::this_thread::sleep_for(milliseconds(600)); };
  std::string seen;
  CHECK_THAT(failure_of(
                 3, milliseconds(200),
                 [&](int rank) {
                   if (rank == 1) return late();
                   all_reduce(zeros({4}));
                 },
                 &seen),
             Contains("rank 1 did not arrive within 200 ms"));
  CHECK_THAT(seen, Contains("[0: ") && Contains("[2: "));
  seen.clear();
  CHECK_THAT(failure_of(
                 3, milliseconds(60000),
                 [](int rank) {
                   if (rank == 1) throw std::runtime_error("no data here");
                   all_reduce(zeros({4}));
                 },
                 &seen),
             Contains("rank 1: no data here"));
  CHECK_THAT(seen, Contains("rank 1 failed: no data here"));
  CHECK_THAT(failure_of(2, milliseconds(200),
                        [&](int rank) {
                          if (rank == 1) return late();
                          recv(zeros({4}), 1);
                        }),
             Contains("rank 1 sent nothing within 200 ms"));
  // A failed group reports its first error again.
  CHECK_THAT(failure_of(2, milliseconds(200),
                        [&](int rank) {
                          if (rank == 1) return late();
                          CHECK_THROWS(all_reduce(zeros({4})));
                          barrier();
                        }),
             Contains("rank 1 did not arrive"));
}

TEST_CASE("local: nobody waits for a rank that has left, as one with fewer batches does", "[parallel][local][errors]") {
  const milliseconds long_time(600000);
  CHECK_THAT(failure_of(3, long_time,
                        [](int rank) {
                          for (int step = 0; step < (rank == 1 ? 2 : 3); ++step) all_reduce(zeros({4}));
                        }),
             Contains("all_reduce #4 of float32, 4 elements, SUM: rank 1 left the group"));
  CHECK_THAT(failure_of(2, long_time,
                        [](int rank) {
                          if (rank == 0) recv(zeros({4}), 1);
                        }),
             Contains("recv of float32, 4 elements, rank 1: rank 1 has left the group"));
  CHECK_THAT(failure_of(2, long_time,
                        [](int rank) {
                          if (rank == 0) send(zeros({4}), 1);
                        }),
             Contains("rank 1 has left the group"));
  // Collectives between two ranks do not need the third one, which has left.
  CHECK(total(3, [](int rank) {
          const Tensor x = full({2}, rank);
          if (rank == 2) return int64_t{0};
          std::this_thread::sleep_for(milliseconds(50));
          if (rank == 0) send(x + 7, 1);
          if (rank == 1) recv(x, 0);
          return rank == 1 ? wrong(x, 7) : 0;
        }) == 0);
}

TEST_CASE("local: a rank whose call was refused is still in step with the others", "[parallel][local][errors]") {
  CHECK(total(2, [](int rank) {
          if (rank == 1) try {
              all_gather({zeros({2})}, zeros({2}));
              return int64_t{1000};
            } catch (const Error&) {}
          const Tensor x = ones({3});
          all_reduce(x);
          return wrong(x, 2);
        }) == 0);
}

TEST_CASE("local: bad arguments are refused at once", "[parallel][local][errors]") {
  CHECK_THROWS_WITH(default_group(),
                    Contains("Default process group has not been initialized, please make sure to call "
                             "init_process_group."));
  CHECK_THROWS_WITH(init_process_group("mpi"), Contains("Unknown backend 'mpi'; accepted: local, gloo"));
  CHECK_THROWS_WITH(init_process_group("local", {.timeout = milliseconds(0)}), Contains("more than 0, up to a year"));
  CHECK_THROWS_WITH(init_process_group("local", {.timeout = milliseconds::max()}), Contains("up to a year"));
  CHECK(get_rank() == 0);
  CHECK(get_world_size() == 1);
  CHECK_THROWS_WITH(run_ranks(0, [](int) {}), Contains("accepted: 1 or more"));
  const auto message = [](const std::function<void()>& f) {
    return failure_of(2, milliseconds(5000), [&](int) { f(); });
  };
  CHECK_THAT(message([] { broadcast(zeros({2}), 2); }), Contains("broadcast: invalid root rank: 2; accepted: 0 to 1"));
  CHECK_THAT(message([] { all_reduce(zeros({2}, kInt64), ReduceOp::AVG); }), Contains("AVG of int64"));
  CHECK_THAT(message([] { all_reduce(Tensor()); }), Contains("undefined"));
  CHECK_THAT(message([] { all_gather({zeros({2})}, zeros({2})); }),
             Contains("invalid output tensor list at index 0 (expected length 2, got 1)"));
  CHECK_THAT(message([] {
               all_gather({zeros({2}), zeros({3})}, zeros({2}));
             }),
             Contains("the output for each rank must have the size of its input"));
  CHECK_THAT(
      message([] { send(zeros({2}), get_rank()); }),
      Contains("Invalid destination rank: destination rank should not be the same as the rank of the current process"));
  CHECK_THAT(message([] { init_process_group("local"); }),
             Contains("trying to initialize the default process group twice!"));
}

TEST_CASE("local: a rank has its own generators, a group of one needs no others", "[parallel][local]") {
  manual_seed(5);
  const Tensor here = rand({4});
  CHECK(total(2, [&](int) {
          manual_seed(5);
          return int64_t{!rand({4}).equal(here)};
        }) == 0);
  init_process_group("local");
  const Tensor x = ones({3});
  all_reduce(x, ReduceOp::AVG);
  CHECK(x.equal(ones({3})));
  CHECK(is_initialized());
  destroy_process_group();
  CHECK_FALSE(is_initialized());
}
