// Tests collectives over Gloo, with ranks that are threads, against reductions computed in the test. Also tests ranks
// that disagree, are late, or leave.
#include "tandem/parallel/collectives/gloo/gloo.h"

#include <unistd.h>

#include <atomic>
#include <limits>
#include <thread>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/collectives/gloo_groups.h"

using namespace tandem;
using namespace tandem::distributed;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::count_wrong, test::count_mismatch, test::input, test::kDtypes, test::run_group, test::GlooTransport;

namespace {

/// Returns the reduction over ranks r of of(r), computed in rank order with each step rounded to the dtype. A sum of
/// two floats is exact in double, so it is rounded once.
Tensor reduced(ReduceOp op, int size, const std::function<Tensor(int)>& of) {
  const DType dtype = of(0).dtype();
  Tensor total = of(0).to(kFloat64);
  for (int r = 1; r < size; ++r) {
    const Tensor x = of(r).to(kFloat64);
    double* const t = total.data_ptr<double>();
    for (int64_t i = 0; i < x.numel(); ++i) {
      const double v = x.data_ptr<double>()[i];
      t[i] = op == ReduceOp::MIN ? std::min(t[i], v) : op == ReduceOp::MAX ? std::max(t[i], v) : t[i] + v;
    }
    total = total.to(dtype).to(kFloat64);
  }
  if (op == ReduceOp::AVG) {
    double* const t = total.data_ptr<double>();
    for (int64_t i = 0; i < total.numel(); ++i)
      t[i] = dtype == kFloat64 ? t[i] * (1.0 / size) : static_cast<float>(t[i]) * static_cast<float>(1.0 / size);
  }
  return total.to(dtype);
}

constexpr ReduceOp kOps[] = {ReduceOp::SUM, ReduceOp::AVG, ReduceOp::MIN, ReduceOp::MAX};

int64_t check_reductions(ProcessGroup& group, DType dtype, int64_t n, ReduceOp op) {
  const int size = group.size(), rank = group.rank(), root = size / 2;
  const auto plain = [&](int r) { return input(dtype, r, n); };
  const Tensor expected = reduced(op, size, plain);
  const Tensor x = plain(rank), y = plain(rank), z = empty({n}, dtype);
  group.all_reduce(x, op)->wait();
  group.reduce(y, root, op)->wait();
  std::vector<Tensor> inputs;  // rank r's input for rank q is input(dtype, r + q, n)
  for (int q = 0; q < size; ++q) inputs.push_back(input(dtype, rank + q, n));
  group.reduce_scatter(z, inputs, op)->wait();
  return count_mismatch(x, expected) + count_mismatch(y, rank == root ? expected : plain(rank)) +
         count_mismatch(z, reduced(op, size, [&](int r) { return input(dtype, r + rank, n); }));
}
int64_t check_moves(ProcessGroup& group, DType dtype, int64_t n) {
  const int size = group.size(), rank = group.rank(), root = size - 1;
  const Tensor x = input(dtype, rank, n);
  std::vector<Tensor> all;
  for (int r = 0; r < size; ++r) all.push_back(empty({n}, dtype));
  group.all_gather(all, x)->wait();
  group.broadcast(x, root)->wait();
  int64_t wrong = count_mismatch(x, input(dtype, root, n));
  for (int r = 0; r < size; ++r) wrong += count_mismatch(all[static_cast<size_t>(r)], input(dtype, r, n));
  if (size == 1) return wrong;
  const Tensor got = empty({n}, dtype), sent = input(dtype, rank, n);  // sent around the ring
  const WorkPtr sending = group.send(sent, (rank + 1) % size, 5);
  group.recv(got, (rank + size - 1) % size, 5)->wait();
  sending->wait();
  return wrong + count_mismatch(got, input(dtype, (rank + size - 1) % size, n));
}

}  // namespace

TEST_CASE("gloo: every collective equals what is written out, to the bit", "[parallel][gloo]") {
  if (test::without_gloo()) return;
  const int size = GENERATE(1, 2, 3, 5, 8);  // the long test has all sizes from 1 to 8
  const GlooTransport transport = GENERATE(GlooTransport::memory, GlooTransport::tcp);
  INFO(size << " ranks, " << transport);
  const auto check = [&](ProcessGroup& group) {
    int64_t wrong = 0;
    for (const DType dtype : kDtypes) {
      // Dtypes other than float32 and bfloat16 are tested with one group size only.
      if (size != 3 && dtype != kFloat32 && dtype != kBFloat16) continue;
      for (const int64_t n : {int64_t(0), int64_t(1), int64_t(7), int64_t(300)}) {
        wrong += check_moves(group, dtype, n);
        for (const ReduceOp op : kOps)
          if (is_floating_point(dtype) || op != ReduceOp::AVG) wrong += check_reductions(group, dtype, n, op);
      }
    }
    return wrong;
  };
  CHECK(count_wrong(size, check, transport) == 0);
}

TEST_CASE("gloo: a million elements go in segments", "[parallel][gloo]") {
  if (test::without_gloo()) return;
  const int size = GENERATE(2, 3, 8);
  const GlooTransport transport = GENERATE(GlooTransport::memory, GlooTransport::tcp);
  INFO(size << " ranks, " << transport);
  constexpr int64_t kCount = (1 << 20) + 3;
  const auto check = [&](ProcessGroup& group) {
    int64_t wrong = 0;
    for (const DType dtype : {kFloat32, kBFloat16, kInt64}) {
      const int64_t step = group.rank() + 1;
      const Tensor x = arange(kCount).remainder(7).mul(step).to(dtype), base = arange(kCount).remainder(7);
      const int64_t sum = size * (size + 1) / 2;  // below 256, so exact in bfloat16
      std::vector<Tensor> inputs(static_cast<size_t>(size), x.clone());
      const Tensor y = x.clone(), z = empty_like(x);
      if (transport == GlooTransport::tcp) group.reduce(y, size - 1)->wait();
      if (transport == GlooTransport::tcp) group.reduce_scatter(z, inputs)->wait();
      group.all_reduce(x)->wait();
      const Tensor expected = base.mul(sum).to(dtype);
      wrong += count_mismatch(x, expected);
      if (transport == GlooTransport::tcp)
        wrong += count_mismatch(z, expected) + (group.rank() == size - 1 ? count_mismatch(y, expected) : 0);
    }
    return wrong;
  };
  CHECK(count_wrong(size, check, transport) == 0);
}

TEST_CASE("gloo: MIN and MAX carry NaN on, from any rank", "[parallel][gloo]") {
  if (test::without_gloo()) return;
  const GlooTransport transport = GENERATE(GlooTransport::memory, GlooTransport::tcp);
  const auto check = [](ProcessGroup& group) {
    int64_t wrong = 0;
    for (int from = 0; from < 3; ++from)
      for (const ReduceOp op : {ReduceOp::MIN, ReduceOp::MAX}) {
        const Tensor x = full({5}, group.rank() == from ? std::numeric_limits<double>::quiet_NaN() : 1.0);
        group.all_reduce(x, op)->wait();
        wrong += 5 - x.isnan().sum().item<int64_t>();
      }
    return wrong;
  };
  CHECK(count_wrong(3, check, transport) == 0);
}

TEST_CASE("gloo: beyond eight ranks the ring gives all the same bits", "[parallel][gloo]") {
  if (test::without_gloo()) return;
  constexpr int kRanks = 9;
  const GlooTransport transport = GENERATE(GlooTransport::memory, GlooTransport::tcp);
  INFO(transport);
  std::vector<Tensor> sums(kRanks);
  const auto check = [&](ProcessGroup& group) {
    const auto me = static_cast<size_t>(group.rank());
    sums[me] = input(kFloat32, group.rank(), 1000);
    group.all_reduce(sums[me], ReduceOp::AVG)->wait();
    const Tensor n = full({4}, group.rank(), kInt64), low = full({4}, group.rank() + 0.5, kFloat16);
    group.all_reduce(n)->wait();
    group.all_reduce(low, ReduceOp::MIN)->wait();
    return count_mismatch(n, full({4}, 36, kInt64)) + count_mismatch(low, full({4}, 0.5, kFloat16));
  };
  CHECK(count_wrong(kRanks, check, transport) == 0);
  for (const Tensor& sum : sums) CHECK(sum.equal(sums[0]));
  if (transport == GlooTransport::memory)  // only the transport over TCP uses a ring
    CHECK(sums[0].equal(reduced(ReduceOp::AVG, kRanks, [](int r) { return input(kFloat32, r, 1000); })));
  const Tensor exact = reduced(ReduceOp::AVG, kRanks, [](int r) { return input(kFloat32, r, 1000).to(kFloat64); });
  CHECK(sums[0].to(kFloat64).sub(exact).abs().max().item<double>() < 1e-6);  // for float sums of 9 terms below 2
}

TEST_CASE("gloo: strided tensors, and the bytes that are sent", "[parallel][gloo]") {
  if (test::without_gloo()) return;
  const GlooTransport transport = GENERATE(GlooTransport::memory, GlooTransport::tcp);
  std::atomic<int64_t> sent{0};
  constexpr int64_t kBytes = 1001 * 4;
  for (const int size : {1, 2, 3, 5}) {
    sent = 0;
    const auto check = [&](ProcessGroup& group) {
      const Tensor wide = full({1001, 2}, 1.0), x = wide.select(1, 0);
      group.all_reduce(x)->wait();
      sent += group.bytes_sent();
      return count_mismatch(x, full({1001}, size)) + count_mismatch(wide.select(1, 1), full({1001}, 1.0));
    };
    CHECK(count_wrong(size, check, transport) == 0);
    CHECK(sent == 2 * (size - 1) * kBytes);
  }
}

TEST_CASE("collectives count the bytes that their ranks send to others", "[parallel][gloo]") {
  constexpr int kSize = 3, kRoot = 1;
  constexpr int64_t kNumel = 12, kBytes = kNumel * 4;  // can be split evenly among three ranks
  const auto one = [] { return ones({kNumel}); };
  const auto each = [&] { return std::vector<Tensor>{one(), one(), one()}; };
  const auto at_root = [&](ProcessGroup& g) { return g.rank() == kRoot ? each() : std::vector<Tensor>(); };
  struct Case {
    const char* name;
    int64_t messages;  // number of messages of kBytes, over all ranks
    std::function<void(ProcessGroup&)> call;
  };
  const Case cases[] = {
      {"all_reduce", 2 * (kSize - 1), [&](ProcessGroup& g) { g.all_reduce(one())->wait(); }},
      {"broadcast", kSize - 1, [&](ProcessGroup& g) { g.broadcast(one(), kRoot)->wait(); }},
      {"reduce", kSize - 1, [&](ProcessGroup& g) { g.reduce(one(), kRoot)->wait(); }},
      {"all_gather", kSize * (kSize - 1), [&](ProcessGroup& g) { g.all_gather(each(), one())->wait(); }},
      {"reduce_scatter", kSize * (kSize - 1), [&](ProcessGroup& g) { g.reduce_scatter(one(), each())->wait(); }},
      {"gather", kSize - 1, [&](ProcessGroup& g) { g.gather(at_root(g), one(), kRoot)->wait(); }},
      {"gather_into_tensor", kSize - 1,
       [&](ProcessGroup& g) {
         g.gather_into_tensor(ones({kSize, kNumel}), one(), kRoot)->wait();
       }},
      {"scatter", kSize - 1, [&](ProcessGroup& g) { g.scatter(one(), at_root(g), kRoot)->wait(); }},
      {"all_to_all", kSize * (kSize - 1), [&](ProcessGroup& g) { g.all_to_all(each(), each())->wait(); }},
      {"send", 1,
       [&](ProcessGroup& g) {
         if (g.rank() == 0) g.send(one(), kRoot)->wait();
         if (g.rank() == kRoot) g.recv(one(), 0)->wait();
       }},
  };
  std::vector<std::string> ways = {"local"};
  if (distributed::is_gloo_available()) ways.insert(ways.end(), {"memory", "tcp"});
  for (const std::string& transport : ways) {
    std::vector<std::atomic<int64_t>> sent(std::size(cases));
    const auto run = [&](ProcessGroup& group) {
      for (size_t i = 0; i < std::size(cases); ++i) {
        const int64_t before = group.bytes_sent();
        cases[i].call(group);
        sent[i] += group.bytes_sent() - before;
      }
      return int64_t{0};
    };
    if (transport == "local")
      test::run_with_backend("local", kSize, [&](const distributed::ProcessGroupPtr& group) { run(*group); });
    else
      CHECK(count_wrong(kSize, run, transport == "tcp" ? GlooTransport::tcp : GlooTransport::memory) == 0);
    for (size_t i = 0; i < std::size(cases); ++i) {
      INFO(cases[i].name << ", " << transport);
      CHECK(sent[i] == cases[i].messages * kBytes);
    }
  }
}

TEST_CASE("gloo: sends and receives pair up by rank and tag, in order, beside collectives", "[parallel][gloo]") {
  if (test::without_gloo()) return;
  CHECK(count_wrong(3, [](ProcessGroup& group) {
          const int rank = group.rank(), next = (rank + 1) % 3, before = (rank + 2) % 3;
          std::vector<WorkPtr> works;
          for (const int k : {0, 1, 2}) works.push_back(group.send(full({2}, 10.0 * rank + k), next, k == 2 ? -1 : 7));
          const Tensor sum = ones({1000});
          group.all_reduce(sum)->wait();
          int64_t wrong = count_mismatch(sum, full({1000}, 3.0));
          for (const auto& [tag, k] : {std::pair(-1, 2), std::pair(7, 0), std::pair(7, 1)}) {
            const Tensor got = zeros({2});
            group.recv(got, before, tag)->wait();
            wrong += count_mismatch(got, full({2}, 10.0 * before + k));
          }
          for (const WorkPtr& work : works) work->wait();
          return wrong;
        }) == 0);
}

TEST_CASE("gloo: ranks that do different things hear the same error", "[parallel][gloo][errors]") {
  if (test::without_gloo()) return;
  const GlooTransport transport = GENERATE(GlooTransport::memory, GlooTransport::tcp);
  INFO(transport);
  struct Case {
    std::function<void(ProcessGroup&)> call;
    const char *first, *second;
  };
  const std::vector<Case> cases = {
      {[](ProcessGroup& g) { g.all_reduce(zeros({g.rank() == 1 ? 4 : 5}), ReduceOp::SUM, "the loss")->wait(); },
       "rank 0 calls all_reduce #1 (the loss) of float32, 5 elements",
       "rank 1 calls all_reduce #1 (the loss) of float32, 4"},
      {[](ProcessGroup& g) { g.all_reduce(zeros({3}, g.rank() == 1 ? kInt64 : kFloat32))->wait(); }, "float32",
       "int64"},
      {[](ProcessGroup& g) { g.all_reduce(zeros({3}), g.rank() == 1 ? ReduceOp::MAX : ReduceOp::SUM)->wait(); }, "SUM",
       "MAX"},
      {[](ProcessGroup& g) { g.broadcast(zeros({3}), g.rank() == 1 ? 1 : 0)->wait(); }, "broadcast", "rank 1 calls"},
      {[](ProcessGroup& g) { (g.rank() == 1 ? g.barrier() : g.all_reduce(zeros({3})))->wait(); }, "all_reduce",
       "barrier"},
  };
  for (const Case& c : cases) {
    const std::vector<std::string> errors = run_group(3, seconds(60), c.call, transport);
    CHECK_THAT(errors[0],
               Contains("Detected mismatch between collectives on ranks") && Contains(c.first) && Contains(c.second));
    CHECK(errors[1] == errors[0]);
    CHECK(errors[2] == errors[0]);
  }
  const auto errors = run_group(
      2, seconds(60), [](ProcessGroup& g) { (g.rank() == 0 ? g.send(zeros({3}), 1) : g.recv(zeros({4}), 0))->wait(); });
  CHECK_THAT(errors[0],
             Contains("rank 0 calls send of float32, 3 elements") && Contains("rank 1 calls recv of float32, 4"));
  CHECK(errors[1] == errors[0]);
}

TEST_CASE("gloo: a rank that leaves or hangs ends the waits of the others, by name", "[parallel][gloo][errors]") {
  if (test::without_gloo()) return;
  const GlooTransport transport = GENERATE(GlooTransport::memory, GlooTransport::tcp);
  INFO(transport);
  const auto leaves = [](ProcessGroup& g) {
    g.all_reduce(ones({3}))->wait();
    if (g.rank() != 2) g.all_reduce(ones({3}), ReduceOp::SUM, "bucket 0")->wait();
  };
  const auto gone = run_group(3, seconds(60), leaves, transport);
  CHECK_THAT(gone[0], Contains("all_reduce #2 (bucket 0)") && Contains("rank 2 has left the group"));
  CHECK(gone[1] == gone[0]);
  CHECK(gone[2].empty());

  std::atomic<int> failed{0};
  const auto hangs = [&](ProcessGroup& g) {
    if (g.rank() == 1) {
      for (const Deadline deadline = deadline_after(seconds(60)); failed < 2 && Clock::now() < deadline;)
        std::this_thread::sleep_for(milliseconds(1));
      return;
    }
    try {
      g.broadcast(ones({1000}), 0)->wait();
    } catch (const std::exception&) {
      ++failed;
      throw;
    }
  };
  const auto late = run_group(3, milliseconds(300), hangs, transport);
  CHECK_THAT(late[0],
             Contains("broadcast #1 of float32, 1000 elements") && Contains("rank 1 did not arrive within 300 ms"));
  CHECK(late[2] == late[0]);

  const auto unheard = run_group(2, milliseconds(300), [](ProcessGroup& g) {
    if (g.rank() == 0) g.recv(ones({3}), 1)->wait();
    if (g.rank() == 1) std::this_thread::sleep_for(milliseconds(900));
  });
  CHECK_THAT(unheard[0], Contains("recv of float32, 3 elements") && Contains("rank 1"));
}

TEST_CASE("gloo: who waits for a rank that itself waits blames the one behind it", "[parallel][gloo][errors]") {
  if (test::without_gloo()) return;
  std::atomic<int> failed{0};
  const auto errors = run_group(3, milliseconds(600), [&](ProcessGroup& g) {
    if (g.rank() == 2) {
      for (const Deadline deadline = deadline_after(seconds(60)); failed < 2 && Clock::now() < deadline;)
        std::this_thread::sleep_for(milliseconds(1));
      return;
    }
    try {
      if (g.rank() == 1) std::this_thread::sleep_for(milliseconds(100));  // so that rank 0 reaches its timeout first
      g.recv(ones({3}), g.rank() + 1)->wait();
    } catch (const std::exception&) {
      ++failed;
      throw;
    }
  });
  for (const int rank : {0, 1})
    CHECK_THAT(errors[static_cast<size_t>(rank)], Contains("recv") && Contains("rank 2 did not arrive within 600 ms"));
}

TEST_CASE("gloo: a rank that the store has lost wakes who waits for another", "[parallel][gloo][errors]") {
  if (test::without_gloo()) return;
  const std::string error = test::error_when_rank_2_is_lost(
      [](Rendezvous job, int) { return make_gloo_group(std::move(job), seconds(60)); },
      [](ProcessGroup& group, const auto& lose) {
        const WorkPtr work = group.recv(ones({3}), 1);  // rank 1 never sends, so only the store can end this wait
        lose();
        work->wait();
      });
  CHECK_THAT(error, Contains("recv of float32, 3 elements") && Contains("rank 2 is gone"));
}

TEST_CASE("a rank that throws before it joins ends the wait of those who did", "[parallel][errors]") {
  const std::string backend = GENERATE(from_range(test::backends(cuda::is_available() ? kCUDA : kCPU)));
  INFO(backend);
  std::string seen;
  CHECK_THROWS_WITH(run_ranks(2,
                              [&](int rank) {
                                if (rank == 1) throw std::runtime_error("no data here");
                                try {
                                  init_process_group(backend, {.timeout = seconds(10)});
                                } catch (const DistributedError& error) {
                                  seen = error.what();
                                }
                              }),
                    Contains("rank 1: no data here"));
  CHECK_THAT(seen, Contains("rank 1 failed: no data here"));
}

TEST_CASE("gloo: a group stays failed with its first error; abort tells the others", "[parallel][gloo][errors]") {
  if (test::without_gloo()) return;
  const GlooTransport transport = GENERATE(GlooTransport::memory, GlooTransport::tcp);
  INFO(transport);
  std::vector<std::string> second(2);
  const auto aborts = [&](ProcessGroup& g) {
    const auto me = static_cast<size_t>(g.rank());
    const WorkPtr work = g.rank() == 0 ? g.all_reduce(ones({3})) : nullptr;
    if (g.rank() == 1) {
      std::this_thread::sleep_for(milliseconds(50));
      g.abort("the data ran out");
    }
    try {
      (work ? work : g.barrier())->wait();
    } catch (const DistributedError& error) {
      second[me] = error.what();
      g.abort("too late");
      g.barrier()->wait();
    }
  };
  const auto errors = run_group(2, seconds(60), aborts, transport);
  for (size_t r = 0; r < 2; ++r) {
    CHECK_THAT(errors[r], Contains("the data ran out"));
    CHECK(errors[r] == second[r]);
  }
}

TEST_CASE("gloo: ranks that do not come together say who is missing or counts otherwise", "[parallel][gloo][errors]") {
  if (test::without_gloo()) return;
  const StoreServer server("");
  const auto join = [&](int rank, int size, const std::string& name, milliseconds timeout) -> std::string {
    try {
      make_gloo_communicator({rank, size, std::make_shared<StoreClient>("127.0.0.1", server.port(), "", timeout), name},
                             timeout);
      return "";
    } catch (const DistributedError& error) {
      return error.what();
    }
  };
  CHECK_THAT(join(0, 3, "a", milliseconds(200)), Contains("rank 1 of 3 did not arrive within 200 ms"));
  // A process that has another world size, or claims a rank that is taken, is refused. The group forms without it.
  std::string first = "not yet";
  std::thread thread([&] { first = join(0, 2, "b", seconds(60)); });
  StoreClient store("127.0.0.1", server.port(), "", seconds(60));
  store.get(joined_key("b", 0), seconds(60));
  const std::string here = "process " + std::to_string(::getpid()) + " on ";
  CHECK_THAT(join(1, 3, "b", seconds(60)),
             Contains("the ranks have different world sizes: rank 1 has 3, rank 0 has 2 (rank 0 is " + here) &&
                 Contains("the group continues without " + here) && Contains("WORLD_SIZE"));
  CHECK_THAT(join(0, 2, "b", seconds(60)), Contains("two processes claim to be rank 0, and the other one joined "
                                                    "first (rank 0 is " +
                                                    here) &&
                                               Contains("the group continues") && Contains("its own MASTER_PORT"));
  CHECK(join(1, 2, "b", seconds(60)).empty());
  thread.join();
  CHECK(first.empty());
  // If a rank waits for another one in vain, its error also tells which process was refused.
  thread = std::thread([&] { first = join(0, 3, "c", milliseconds(2000)); });
  store.get(joined_key("c", 0), seconds(60));
  CHECK_THAT(join(0, 3, "c", seconds(60)), Contains("two processes claim to be rank 0"));
  thread.join();
  CHECK_THAT(first, Contains("rank 1 of 3 did not arrive within 2000 ms; a process was refused: two "
                             "processes claim to be rank 0"));
}

TEST_CASE("gloo: what the environment lacks is named", "[parallel][gloo][errors]") {
  if (test::without_gloo()) {
    CHECK_THROWS_WITH(init_process_group("gloo"),
                      Contains("Distributed package doesn't have Gloo built in") && Contains("libgloo-dev"));
    return;
  }
  CHECK_THROWS_WITH(init_process_group("gloo"), Contains("environment variable WORLD_SIZE expected, but not set"));
  InitOptions options;
  options.world_size = 2;
  CHECK_THROWS_WITH(init_process_group("gloo", options), Contains("environment variable RANK expected, but not set"));
  options.rank = 2;
  CHECK_THROWS_WITH(init_process_group("gloo", options), Contains("InitOptions::rank is 2; accepted: 0 to 1"));
  options.rank = 0;
  CHECK_THROWS_WITH(init_process_group("gloo", options),
                    Contains("environment variable MASTER_ADDR expected, but not set"));
  options.master_addr = "127.0.0.1";
  options.master_port = 70000;
  CHECK_THROWS_WITH(init_process_group("gloo", options), Contains("70000; accepted: 1 to 65535"));
  const StoreServer other("");
  options.master_port = other.port();
  CHECK_THROWS_WITH(init_process_group("gloo", options), Contains("in use") && Contains(std::to_string(other.port())));
}
