// Tests every collective on every backend against the oracle (oracle.h). Tests subgroups: which ranks they have,
// several groups in use at the same time, and failures of one group.
#include <atomic>
#include <mutex>
#include <numeric>
#include <thread>

#include "tandem/parallel/collectives/communicator.h"
#include "tandem/parallel/collectives/device_mesh.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/oracle.h"
#include "tandem/tests/parallel/ranks.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using namespace tandem::distributed;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// Returns one line for every rank, dtype and size for which a collective differs from the oracle.
std::string wrong_of(const std::string& backend, int size, const std::vector<DType>& dtypes,
                     const std::vector<int64_t>& sizes) {
  std::mutex mutex;
  std::string all;
  test::run_with_backend(backend, size, [&](const ProcessGroupPtr& group) {
    for (const DType dtype : dtypes)
      for (const int64_t n : sizes) {
        test::Oracle oracle(*group, group->device(), dtype, n);
        if (oracle.wrong() == 0) continue;
        const std::lock_guard lock(mutex);
        std::ostringstream out;
        out << "rank " << group->rank() << ", " << dtype << ", " << n << " elements: " << oracle.what() << "\n";
        all += out.str();
      }
  });
  empty_cache();  // the next group size allocates other sizes
  return all;
}
/// Names of the backends to test. With NCCL, each rank has its own GPU.
std::vector<std::string> all_backends() { return test::backends(test::fake_nccl() ? kCUDA : kCPU); }

/// Returns the error of each rank of a group over `backend`, "" for none.
std::vector<std::string> errors_of(const std::string& backend, int size, milliseconds timeout,
                                   const std::function<void(int)>& f) {
  std::vector<std::string> errors(static_cast<size_t>(size));
  try {
    test::run_with_backend(
        backend, size,
        [&](const ProcessGroupPtr& group) {
          try {
            f(group->rank());
          } catch (const std::exception& error) {
            errors[static_cast<size_t>(group->rank())] = error.what();
            throw;
          }
        },
        timeout);
  } catch (const Error&) {}  // rethrown error of one rank; `errors` has all
  return errors;
}
Tensor ones_on(const ProcessGroupPtr& group, int64_t n) {
  return ones({n}, TensorOptions(kFloat32).device(group->device()));
}
int64_t count_not_equal(const Tensor& x, double value) {
  constexpr int64_t kAtOnce = 1 << 26;  // compares in chunks, because the comparison allocates memory too
  if (x.dim() != 1 || x.numel() <= kAtOnce) return (x != value).sum().item<int64_t>();
  return count_not_equal(x.narrow(0, 0, kAtOnce), value) +
         count_not_equal(x.narrow(0, kAtOnce, x.numel() - kAtOnce), value);
}
void check_oracle(const std::string& backend, int ranks, const std::vector<DType>& dtypes,
                  const std::vector<int64_t>& sizes) {
  if (backend == "nccl" && !test::can_run(backend, ranks)) return;
  INFO(backend << ", " << ranks << " ranks");
  CHECK(wrong_of(backend, ranks, dtypes, sizes) == "");
}
constexpr int64_t kMillion = (1 << 20) + 3;
const std::vector<DType> kEveryDtype(std::begin(test::kDtypes), std::end(test::kDtypes)), kTwoDtypes = {kBFloat16,
                                                                                                        kBool};

}  // namespace

// All dtypes with two ranks; two dtypes with each other group size
TEST_CASE("every collective equals the oracle", "[parallel][groups]") {
  const std::string backend = GENERATE(from_range(all_backends()));
  const int ranks = GENERATE(range(1, 9));
  // Group sizes 4, 6 and 7 use memory and threads in the same way as 5 and 8.
  if (TANDEM_TEST_SANITIZED && (ranks == 4 || ranks == 6 || ranks == 7)) return;
  check_oracle(backend, ranks, ranks == 2 ? kEveryDtype : kTwoDtypes, {0, 1, 7, 300});
}
TEST_CASE("every collective equals the oracle, of a million elements", "[parallel][groups][.][long]") {
  const std::string backend = GENERATE(from_range(all_backends()));
  const int ranks = GENERATE(2, 5);
  check_oracle(backend, ranks, kTwoDtypes, {kMillion});
}
// The full product of dtypes, sizes and ranks. Takes about ten minutes, so it runs on demand only.
TEST_CASE("every collective equals the oracle, for all dtypes, sizes and ranks", "[parallel][groups][.][full]") {
  const std::string backend = GENERATE(from_range(all_backends()));
  const int ranks = GENERATE(range(1, 9));
  check_oracle(backend, ranks, kEveryDtype, {0, 1, 7, kMillion});
}

TEST_CASE("collectives of more than 2 GiB", "[parallel][groups][.][long]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  constexpr int64_t kCount = (int64_t{1} << 31) + 4099;
  std::atomic<int64_t> wrong{0};
  test::run_with_backend(
      backend, 2,
      [&](const ProcessGroupPtr& group) {
        const Tensor x = full({kCount}, group->rank() + 1, kInt8);
        x[kCount - 1].fill_(group->rank() == 0 ? 40 : 7);
        group->all_reduce(x)->wait();
        wrong += count_not_equal(x.narrow(0, 0, kCount - 1), 3) + count_not_equal(x[kCount - 1], 47);
        x.fill_(group->rank());
        x[kCount - 1].fill_(9 + group->rank());
        group->broadcast(x, 1)->wait();
        wrong += count_not_equal(x.narrow(0, 0, kCount - 1), 1) + count_not_equal(x[kCount - 1], 10);
      },
      seconds(600));
  empty_cache();
  CHECK(wrong == 0);
}

TEST_CASE("groups of some ranks work at the same time, and know their ranks", "[parallel][groups]") {
  const std::string backend = GENERATE(from_range(all_backends()));
  std::atomic<int64_t> wrong{0};
  test::run_with_backend(backend, 5, [&](const ProcessGroupPtr& all) {
    const int me = all->rank();
    const ProcessGroupPtr low = new_group({2, 0, 1}, {.name = "low"}), high = new_group({1, 3, 4}),
                          odd_or_even = split_group(me % 2, -me);
    wrong += low->rank() != (me < 3 ? me : -1) || low->ranks() != std::vector<int>{0, 1, 2} || low->name() != "low";
    wrong += get_world_size(low) != (me < 3 ? 3 : -1);
    wrong += odd_or_even->ranks() != (me % 2 ? std::vector<int>{3, 1} : std::vector<int>{4, 2, 0});
    wrong += get_group_rank(high, 4) != 2 || get_global_rank(odd_or_even, 0) != (me % 2 ? 3 : 4);
    // Starts many collectives in several groups before waiting for any. Each rank is in two or three of the groups.
    std::vector<std::pair<Tensor, double>> results;
    std::vector<WorkPtr> works;
    for (int k = 0; k < 20; ++k) {
      for (const ProcessGroupPtr& group : {low, high, odd_or_even, all}) {
        if (group->rank() < 0) continue;
        results.emplace_back(ones_on(group, 5 + k).mul(me + 1), 0);
        for (const int r : group->ranks()) results.back().second += r + 1;
        works.push_back(group->all_reduce(results.back().first));
      }
    }
    for (const WorkPtr& work : works) work->wait();
    for (const auto& [x, sum] : results) wrong += count_not_equal(x, sum);
    // Roots passed to free functions are ranks of the default group. Roots passed to methods are ranks of the group.
    if (high->rank() >= 0) {
      const Tensor x = ones_on(high, 3).mul(me), y = x.clone();
      broadcast(x, 3, high);
      high->broadcast(y, 0)->wait();
      wrong += count_not_equal(x, 3) + count_not_equal(y, 1);
    }
    // Splits a subgroup again.
    if (odd_or_even->size() == 3) {
      const ProcessGroupPtr pair = split_group(odd_or_even->rank() < 2 ? 0 : -1, 0, odd_or_even);
      wrong += pair->rank() != (me == 0 ? -1 : odd_or_even->rank());
      if (me != 0) {
        const Tensor x = ones_on(pair, 2).mul(me);
        pair->all_reduce(x)->wait();
        wrong += count_not_equal(x, 6) + (pair->ranks() != std::vector<int>{4, 2});
      }
    }
    if (me < 3) destroy_process_group(low);
    barrier();
  });
  CHECK(wrong == 0);
}

TEST_CASE("a mesh has a group along each dimension", "[parallel][groups]") {
  const std::string backend = GENERATE(from_range(all_backends()));
  std::atomic<int64_t> wrong{0};
  test::run_with_backend(backend, 6, [&](const ProcessGroupPtr& all) {
    const int me = all->rank();
    const DeviceMesh mesh = init_device_mesh({2, 3}, {"dp", "tp"});
    wrong += mesh.get_coordinate() != std::vector<int64_t>{me / 3, me % 3} || mesh.size() != 6 || mesh.size(-1) != 3;
    wrong += mesh.get_group("dp")->ranks() != std::vector<int>{me % 3, me % 3 + 3};
    wrong += mesh.get_group(1)->ranks() != std::vector<int>{me / 3 * 3, me / 3 * 3 + 1, me / 3 * 3 + 2};
    wrong += mesh.get_local_rank("tp") != me % 3;
    const Tensor x = ones_on(all, 4).mul(me), y = x.clone();
    all_reduce(x, ReduceOp::SUM, mesh.get_group("dp"));
    all_reduce(y, ReduceOp::SUM, mesh.get_group("tp"));
    wrong += count_not_equal(x, 2 * (me % 3) + 3) + count_not_equal(y, 9 * (me / 3) + 3);
  });
  CHECK(wrong == 0);
  const auto error = errors_of("local", 2, seconds(60), [](int) { init_device_mesh({3}); })[0];
  CHECK_THAT(error,
             Contains("Mesh should not be bigger than default world size 2, but found 3 ranks! The mesh is (3,)"));
}

TEST_CASE("bytes, several calls as one, monitored barriers", "[parallel][groups]") {
  const std::string backend = GENERATE(from_range(all_backends()));
  std::atomic<int64_t> wrong{0};
  test::run_with_backend(backend, 3, [&](const ProcessGroupPtr& all) {
    const int me = all->rank();
    const ProcessGroupPtr ends = new_group({0, 2});
    std::string text = me == 2 ? std::string("zero \0 inside", 13) : "mine";
    if (ends->rank() >= 0) broadcast_bytes(text, 2, ends);
    wrong += text.size() != (me == 1 ? 4 : 13);
    const auto texts = all_gather_bytes(std::string(static_cast<size_t>(me * 1000), 'x'));
    for (size_t r = 0; r < 3; ++r) wrong += texts[r] != std::string(r * 1000, 'x');
    std::string nothing;
    broadcast_bytes(nothing, 1);
    wrong += !nothing.empty();
    std::vector<Tensor> xs, rows, columns;
    for (int k = 1; k < 4; ++k)
      xs.push_back(ones_on(all, k)), rows.push_back(ones_on(all, 3 * k)), columns.push_back(ones_on(all, k));
    all_reduce_coalesced(xs);
    all_gather_into_tensor_coalesced(rows, xs);
    for (const Tensor& x : rows) wrong += count_not_equal(x, 3);
    reduce_scatter_tensor_coalesced(columns, rows, ReduceOp::MAX);
    for (const Tensor& x : columns) wrong += count_not_equal(x, 3);
    monitored_barrier();
    if (ends->rank() >= 0) monitored_barrier(ends, seconds(60));
  });
  CHECK(wrong == 0);
}

TEST_CASE("a work says whether it is done, and what it failed with; a wait may be short", "[parallel][groups]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  std::atomic<int64_t> wrong{0};
  test::run_with_backend(backend, 2, [&](const ProcessGroupPtr& all) {
    if (all->rank() == 1) recv(zeros({1}), 0, nullptr, 9);  // blocks until rank 0 has timed out and sends
    const Tensor x = ones({4});
    const WorkPtr work = all->all_reduce(x);
    if (all->rank() == 0) {
      try {
        work->wait(milliseconds(30));
        ++wrong;
      } catch (const DistributedError& error) {
        wrong += std::string(error.what())
                     .find(
                         "all_reduce #2 of float32, 4 elements, SUM: Operation timed out! It did not finish within 30 "
                         "ms") == std::string::npos;
      }
      wrong += work->is_completed() || work->exception();
      send(zeros({1}), 1, nullptr, 9);
    }
    wrong += !work->wait() || !work->is_completed() || work->exception() || work->source_rank() != -1;
    wrong += count_not_equal(x, 2);
    all->barrier()->wait();
    const WorkPtr failed = all->all_reduce(ones({all->rank() + 1}));
    while (!failed->is_completed()) std::this_thread::sleep_for(milliseconds(1));
    wrong += !failed->exception();
  });
  CHECK(wrong == 0);
}

TEST_CASE("a rank that is not in a group is refused, and so is what cannot be a group", "[parallel][groups][errors]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  const auto message = [&](const std::function<void(int)>& f) -> std::string {
    try {
      test::run_with_backend(
          backend, 3, [&](const ProcessGroupPtr& group) { f(group->rank()); }, seconds(60));
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing";
  };
  CHECK_THAT(message([](int) {
               all_reduce(ones({2}), ReduceOp::SUM, new_group({0, 2}, {.name = "ends"}));
             }),
             Contains("all_reduce: this rank is not in the group ends of ranks 0, 2"));
  CHECK_THAT(message([](int rank) {
               const ProcessGroupPtr pair = new_group({1, 2});
               if (rank > 0) broadcast(ones({2}), 0, pair);
             }),
             Contains("broadcast: Global rank 0 is not part of group of ranks 1, 2; accepted: one of these"));
  CHECK_THAT(message([](int) {
               new_group({0, 3});
             }),
             Contains("new_group: Rank 3 is out of range. Valid ranks are 0 to 2 (world_size=3)"));
  CHECK_THAT(message([](int) {
               new_group({1, 1});
             }),
             Contains("ranks list must not contain duplicate entries, got a group of ranks 1, 1"));
  CHECK_THAT(message([](int rank) {
               new_group({0, rank == 0 ? 1 : 2});
             }),
             Contains("new_group, a group of ranks 0, 1") && Contains("new_group, a group of ranks 0, 2"));
  CHECK_THAT(message([](int) { all_to_all_single(ones({3}), ones({4})); }),
             Contains("Tensor's dim 0 does not divide equally across group size: the input has 4 rows for 3 ranks"));
  CHECK_THAT(message([](int) {
               all_to_all_single(ones({3}), ones({3}), {}, {1, 1, 2});
             }),
             Contains("Split sizes doesn't match total dim 0 size: input_split_sizes are (1, 1, 2) for 3 rows"));
  CHECK_THAT(
      message([](int) {
        all_to_all_single(ones({3}), ones({3}), {}, {2, -1, 2});
      }),
      Contains(
          "Split sizes must be non-negative: input_split_sizes are (2, -1, 2) for 3 rows; accepted: 3 counts that add "
          "up to 3"));
  CHECK_THAT(message([](int) {
               all_to_all_single(ones({3}), ones({3}), {-1, 4, 0}, {});
             }),
             Contains("output_split_sizes are (-1, 4, 0) for 3 rows"));
  CHECK_THAT(message([](int) { gather(ones({3}), {ones({3})}, 0); }),
             Contains("gather: Incorrect output list size 1. Output list size should be 3") ||
                 Contains("gather: requires empty output on non-root"));
  CHECK_THAT(message([](int) { gather_into_tensor(ones({3}), ones({8})); }),
             Contains("gather_into_tensor: the output is (8,), and a rank's part (3,); accepted: (9,) or (3, 3)"));
  CHECK_THAT(message([](int) { gather_into_tensor(ones({3})); }),
             Contains("gather_into_tensor: output must be specified on the destination rank 0"));
  CHECK_THAT(message([](int) { gather_into_tensor(ones({3}), ones({9}, kInt64)); }),
             Contains("Invalid usage of tensors with different dtypes: one of the tensors is int64(9,), another tensor "
                      "float32(3,)"));
  CHECK_THAT(message([](int) { gather_into_tensor(ones({3}), ones({9}), 3); }),
             Contains("gather_into_tensor: invalid root rank: 3; accepted: 0 to 2"));
  CHECK_THAT(message([](int) { all_gather_into_tensor(ones({8}), ones({3})); }), Contains("accepted: (9,) or (3, 3)"));
  CHECK_THAT(message([](int) {
               const Tensor x = ones({6});
               all_to_all_single(x.narrow(0, 0, 3), x.narrow(0, 2, 3));
             }),
             Contains("an output shares storage with an input"));
}

namespace {

/// A communicator of one rank whose collectives fail, or whose end_group fails, or both.
class FailingCommunicator final : public Communicator {
 public:
  FailingCommunicator(bool call_fails, bool end_fails) : call_fails_(call_fails), end_fails_(end_fails) {}
  void all_reduce(const CollectiveCall&, Tensor&) override { fail(call_fails_, "the call fails"); }
  void end_group() override { fail(end_fails_, "the end fails"); }
  void broadcast(const CollectiveCall&, Tensor&) override {}
  void reduce(const CollectiveCall&, Tensor&) override {}
  void all_gather(const CollectiveCall&, std::vector<Tensor>&, const Tensor&) override {}
  void reduce_scatter(const CollectiveCall&, Tensor&, const std::vector<Tensor>&) override {}
  void all_to_all_v(const CollectiveCall&, std::vector<Tensor>&, const std::vector<Tensor>&) override {}
  void send(const CollectiveCall&, const Tensor&, int) override {}
  int recv(const CollectiveCall&, Tensor&, int) override { return 0; }
  void barrier(const CollectiveCall&) override {}
  std::unique_ptr<Communicator> split(const std::string&, int, GroupMembersPtr, std::chrono::milliseconds) override {
    return nullptr;
  }
  void abort(const std::string&) override {}

 private:
  static void fail(bool fails, const char* what) {
    if (fails) throw DistributedError(what);
  }
  const bool call_fails_, end_fails_;
};

}  // namespace

TEST_CASE("coalesced collectives end with the first error of the group", "[parallel][groups][errors]") {
  const auto error_of = [](bool call_fails, bool end_fails) -> std::string {
    const ProcessGroupPtr group =
        make_queued_group(0, 2, "failing", seconds(10), std::make_unique<FailingCommunicator>(call_fails, end_fails));
    group->start_coalescing();
    const WorkPtr works[] = {group->all_reduce(ones({2})), group->all_reduce(ones({3}))};
    group->end_coalescing();
    std::string first;
    for (const WorkPtr& work : works) {
      std::string what = "none";
      try {
        work->wait();
      } catch (const DistributedError& error) {
        what = error.what();
      }
      if (first.empty()) first = what;
      CHECK(what == first);  // all calls of a coalesced group fail with the same error
    }
    return first;
  };
  CHECK(error_of(false, false) == "none");
  CHECK_THAT(error_of(true, false), Contains("the call fails"));
  CHECK_THAT(error_of(false, true), Contains("the end fails"));
  CHECK_THAT(error_of(true, true), Contains("the call fails") && !Contains("the end fails"));
}

TEST_CASE("ranks of a group that call different things are named, in the group and globally",
          "[parallel][groups][errors]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  const auto different = errors_of(backend, 4, seconds(60), [](int rank) {
    const ProcessGroupPtr pair = new_group({1, 3}, {.name = "tp"});
    if (pair->rank() >= 0) all_reduce(ones({rank}), ReduceOp::SUM, pair);
    barrier();  // the default group still works
    if (pair->rank() < 0) return;
    barrier(pair);  // throws the first error of `pair`
  });
  for (const size_t rank : {1, 3})
    CHECK_THAT(different[rank],
               Contains("rank 0 (global rank 1) calls all_reduce #2 of float32, 1 elements, SUM, in group "
                        "tp of ranks 1, 3") &&
                   Contains("rank 1 (global rank 3) calls all_reduce #2 of float32, 3 elements"));
  const auto sizes = errors_of(backend, 3, seconds(60), [](int rank) {
    const std::vector<Tensor> inputs = {ones({1}), ones({2}), ones({3})};
    std::vector<Tensor> outputs;
    for (int r = 0; r < 3; ++r) outputs.push_back(zeros({rank == 2 && r == 1 ? 5 : rank + 1}));
    all_to_all(outputs, inputs);
    barrier();
  });
  CHECK_THAT(sizes[1], Contains("in all_to_all #2, rank 1 sends rank 2 3 elements, but rank 2 receives 5 from it"));
  CHECK_THAT(sizes[2], Contains("rank 2 receives 5 from it"));
}

TEST_CASE("gather_into_tensor leaves the outputs of other ranks alone, and is in the flight record",
          "[parallel][groups]") {
  const std::string backend = GENERATE(from_range(all_backends()));
  const test::TemporaryFolder folder;
  std::atomic<int64_t> wrong{0};
  test::run_with_backend(backend, 4, [&](const ProcessGroupPtr& all) {
    const int me = all->rank();
    const ProcessGroupPtr pair = new_group({1, 3}, {.name = "tp"});
    if (pair->rank() < 0) return;
    const Tensor x = ones_on(pair, 3).mul(me), y = ones_on(pair, 6);
    const WorkPtr work = gather_into_tensor(x, y, 3, pair, /*async_op=*/true, "metrics");
    work->wait();
    wrong += !y.cpu().equal(me == 3 ? tensor({1., 1., 1., 3., 3., 3.}, kFloat32) : ones({6}));
    const std::string record = test::read_file(write_flight_record(folder.path()));
    wrong += record.find(R"("op": "gather_into_tensor", "sequence": 2, "about": "metrics")") == std::string::npos;
  });
  CHECK(wrong == 0);
}

TEST_CASE("gather_into_tensor: ranks that name different roots, or come late, are told so",
          "[parallel][groups][errors]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  const auto roots = errors_of(backend, 3, seconds(60), [](int rank) {
    gather_into_tensor(ones({2}), ones({6}), rank / 2);
    barrier();
  });
  for (const std::string& error : roots)
    CHECK_THAT(error, Contains("calls gather_into_tensor #2 of float32, 2 elements, rank 0") &&
                          Contains("calls gather_into_tensor #2 of float32, 2 elements, rank 1"));
  const auto late = errors_of(backend, 2, milliseconds(300), [](int rank) {
    if (rank == 1) std::this_thread::sleep_for(milliseconds(900));
    gather_into_tensor(ones({2}), ones({4}));
  });
  CHECK_THAT(late[0],
             Contains("gather_into_tensor #2 of float32, 2 elements, rank 0: rank 1 did not arrive within 300 ms"));
}

TEST_CASE("what fails a group fails the groups made of its ranks, not the other way round",
          "[parallel][groups][errors]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  std::vector<std::string> seen(4);
  std::atomic<int> done{0};
  const auto errors = errors_of(backend, 4, seconds(60), [&](int rank) {
    const ProcessGroupPtr all = default_group(), pair = new_group({0, 2}), other = new_group({1, 3});
    if (rank == 0) pair->abort("planned");
    if (rank % 2 == 1) all_reduce(ones_on(other, 3), ReduceOp::SUM, other);  // the other pair is not affected
    if (rank % 2 == 0) try {
        pair->all_reduce(ones_on(pair, 3))->synchronize();
        pair->barrier()->wait();
      } catch (const std::exception& error) {
        seen[static_cast<size_t>(rank)] = error.what();
      }
    all_reduce(ones_on(all, 2));
    ++done;
    if (rank == 1) {
      while (done < 4) std::this_thread::sleep_for(milliseconds(1));
      throw std::runtime_error("no data here");
    }
    if (rank == 3) all_reduce(ones_on(other, 3), ReduceOp::SUM, other);
  });
  for (const size_t rank : {0, 2}) CHECK_THAT(seen[rank], Contains("planned"));
  CHECK_THAT(errors[3], Contains("rank 1 failed: no data here"));
}

TEST_CASE("monitored_barrier names who did not come", "[parallel][groups][errors]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  const auto errors = errors_of(backend, 5, seconds(60), [](int rank) {
    const ProcessGroupPtr group = new_group({0, 1, 2, 4});
    if (rank == 3) return;
    if (rank != 2 && rank != 4) monitored_barrier(group, milliseconds(150), /*wait_all_ranks=*/true);
    barrier(group);  // this group has already failed
  });
  for (const size_t rank : {0, 1, 2, 4})
    CHECK_THAT(errors[rank],
               Contains("rank 2 (global rank 2), rank 3 (global rank 4) failed to pass monitoredBarrier in 150 ms"));
}
