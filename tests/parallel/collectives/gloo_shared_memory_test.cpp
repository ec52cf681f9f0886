// Tests all_reduce and broadcast over Gloo through shared memory: the results must equal those over TCP bit for bit,
// for sizes around every boundary of the pieces into which tensors are split.
#include <thread>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/collectives/gloo_groups.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using namespace tandem::distributed;
using std::chrono::seconds;
using test::count_wrong, test::count_mismatch, test::kDtypes, test::GlooTransport;

TEST_CASE("gloo: all_reduce through shared memory gives the bits of TCP", "[parallel][gloo][memory]") {
  if (test::without_gloo()) return;
  const int size = GENERATE(2, 3, 4);
  INFO(size << " ranks");
  // Bytes of a slot, and the largest number of bytes for which each rank computes the whole reduction.
  constexpr int64_t kPiece = 128 << 10, kSmall = 16 << 10;
  const auto results = [&](GlooTransport transport) {
    std::vector<std::vector<Tensor>> all(static_cast<size_t>(size));
    const auto run = [&](ProcessGroup& group) {
      for (const DType dtype : kDtypes) {
        const int64_t piece = kPiece / element_size(dtype), small = kSmall / element_size(dtype);
        // The data repeat with a period that divides no piece or slot size, so that data at a wrong offset are found.
        constexpr int64_t kPeriod = 1021;
        const Tensor x = test::input(dtype, group.rank(), kPeriod).repeat({5 * piece / kPeriod + 2});
        for (const ReduceOp op : {ReduceOp::SUM, ReduceOp::AVG, ReduceOp::PRODUCT, ReduceOp::MIN, ReduceOp::MAX})
          for (const int64_t n : {int64_t(0), int64_t(1), int64_t(7), int64_t(300), small, small + 1, piece - 1, piece,
                                  piece + 1, 5 * piece + 17}) {
            if (op == ReduceOp::AVG && !is_floating_point(dtype)) continue;
            // Large sizes need not be tested with every op.
            if (n > 300 && op != ReduceOp::AVG && op != ReduceOp::MAX) continue;
            all[static_cast<size_t>(group.rank())].push_back(x.narrow(0, x.numel() - n, n).clone());
            group.all_reduce(all[static_cast<size_t>(group.rank())].back(), op)->wait();
          }
      }
      return int64_t(0);
    };
    CHECK(count_wrong(
              size, [&](ProcessGroup& group) { return run(group); }, transport) == 0);
    return all;
  };
  const auto by_memory = results(GlooTransport::memory), by_tcp = results(GlooTransport::tcp);
  int64_t wrong = 0;
  REQUIRE(by_memory[0].size() == 260);
  for (size_t r = 0; r < by_memory.size(); ++r)
    for (size_t i = 0; i < by_memory[r].size(); ++i) wrong += count_mismatch(by_memory[r][i], by_tcp[0][i]);
  CHECK(wrong == 0);
}

TEST_CASE("gloo: calls of all sizes in a row, sums and broadcasts, find their places in shared memory",
          "[parallel][gloo][memory]") {
  if (test::without_gloo()) return;
  const int size = GENERATE(2, 3);
  INFO(size << " ranks");
  CHECK(count_wrong(size, [&](ProcessGroup& group) {
          int64_t wrong = 0;
          const int sum = size * (size + 1) / 2;
          std::vector<Tensor> all;
          std::vector<WorkPtr> works;
          for (int64_t i = 0; i < 120; ++i) {
            const int64_t n = i * i * i % 70001;
            const bool sums = i % 3 != 1;  // if false: broadcast from one rank
            const int root = static_cast<int>(i / 3 % size);
            const double factor = sums ? group.rank() + 1 : group.rank() == root ? sum : -1;
            all.push_back(full({n}, factor * static_cast<double>(i % 9), kInt32));
            works.push_back(sums ? group.all_reduce(all.back()) : group.broadcast(all.back(), root));
            if (i % 7 == group.rank()) std::this_thread::yield();
            if (i % 10 == 9) group.barrier()->wait();
          }
          for (size_t i = 0; i < all.size(); ++i) {
            works[i]->wait();
            wrong += count_mismatch(
                all[i], full(all[i].sizes(), static_cast<double>(sum) * static_cast<double>(i % 9), kInt32));
          }
          return wrong;
        }) == 0);
}

TEST_CASE("gloo: where one rank shares no memory, none does", "[parallel][gloo][memory]") {
  if (test::without_gloo()) return;
  const auto mapped = [] {  // counts the shared segments mapped by this process
    const std::string maps = test::read_file("/proc/self/maps");
    int count = 0;
    for (size_t at = maps.find("/memfd:tandem"); at != std::string::npos; at = maps.find("/memfd:tandem", at + 1))
      ++count;
    return count;
  };
  for (const bool all : {true, false}) {
    std::atomic<int> seen{-1};
    const auto errors = test::run_gloo_ranks(
        3, seconds(60),
        [&](const ProcessGroupPtr& group) {
          const Tensor x = full({40000}, group->rank() + 1.0);
          group->all_reduce(x)->wait();
          if (count_mismatch(x, full({40000}, 6.0))) throw std::runtime_error("a wrong sum");
          if (group->rank() == 0) seen = mapped();
          group->barrier()->wait();
        },
        [&](int rank) { return all || rank != 1; });
    CHECK(errors == std::vector<std::string>(3));
    CHECK(seen == (all ? 3 : 0));
    CHECK(mapped() == 0);
  }
}
