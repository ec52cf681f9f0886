// Tests collectives on CUDA tensors over every backend against reductions computed on the CPU.
#include <atomic>
#include <limits>
#include <thread>

#include "tandem/core/cuda/page_locked.h"
#include "tandem/parallel/collectives/communicator.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/formula.h"
#include "tandem/tests/parallel/collectives/collective_checks.h"
#include "tandem/tests/parallel/ranks.h"

using namespace tandem;
using namespace tandem::distributed;
using test::kDtypes;

namespace {

constexpr ReduceOp kOps[] = {ReduceOp::SUM, ReduceOp::AVG, ReduceOp::PRODUCT, ReduceOp::MIN, ReduceOp::MAX};

/// Element i of rank r: fractions that get rounded for floating-point dtypes, small integers for the others.
Tensor input(DType dtype, int rank, int64_t n) {
  std::vector<double> values;
  values.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    const double unit = test::unit(i, static_cast<uint32_t>(rank + 1));
    values.push_back(is_floating_point(dtype) ? 3 * unit - 1 : dtype == kBool ? unit < 0.4 : std::floor(12 * unit));
  }
  return tensor(values, kFloat64).to(dtype);
}
/// Returns the reduction of of(r) over all ranks r, computed by the CPU kernels.
Tensor reduced(ReduceOp op, int size, const std::function<Tensor(int)>& of) {
  std::vector<Tensor> parts;
  for (int r = 0; r < size; ++r) parts.push_back(of(r));
  Tensor result = empty_like(parts[0]);
  reduce_in_order(parts, op, result);
  return result;
}
int64_t count_mismatch(const Tensor& x, const Tensor& expected) { return x.cpu().equal(expected) ? 0 : 1; }

/// Runs f(group, device) on every rank and returns the sum of its results. `apart`: each rank has its own GPU.
int64_t count_wrong(const std::string& backend, int size, bool apart,
                    const std::function<int64_t(ProcessGroup&, Device)>& f) {
  std::atomic<int64_t> wrong{0};
  test::run_with_backend(backend, size, [&](const ProcessGroupPtr& group) {
    wrong += f(*group, apart ? test::device_for_rank(group->rank()) : Device(kCUDA, 0));
  });
  return wrong;
}
bool can_run(const std::string& backend, int size, bool apart) {
  return test::can_run(backend, size) && (apart || backend != "nccl");
}

}  // namespace

TEST_CASE("cuda: reductions equal those of the CPU, bit for bit", "[parallel][cuda]") {
  const std::string backend = GENERATE(from_range(test::backends(kCUDA)));
  const int size = GENERATE(1, 2, 4);
  const bool apart = GENERATE(true, false);
  if (!can_run(backend, size, apart)) return;
  // With more than two ranks the real NCCL adds in its own order.
  if (backend == "nccl" && size > 2 && !test::fake_nccl()) return;
  INFO(backend << ", " << size << " ranks, apart " << apart);
  CHECK(count_wrong(backend, size, apart, [&](ProcessGroup& group, Device device) {
          int64_t wrong = 0;
          const int rank = group.rank(), root = size / 2;
          for (const DType dtype : kDtypes)
            for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{37}})
              for (const ReduceOp op : kOps) {
                if (op == ReduceOp::AVG && !is_floating_point(dtype)) continue;
                const auto sum = [&](int q) {
                  return reduced(op, size, [&](int r) { return input(dtype, r + q, n); });
                };
                const Tensor x = input(dtype, rank, n).to(device), y = x.clone(), z = empty_like(x);
                std::vector<Tensor> inputs;
                for (int q = 0; q < size; ++q) inputs.push_back(input(dtype, rank + q, n).to(device));
                group.all_reduce(x, op)->wait();
                group.reduce(y, root, op)->wait();
                group.reduce_scatter(z, inputs, op)->wait();
                wrong += count_mismatch(x, sum(0)) + count_mismatch(y, rank == root ? sum(0) : input(dtype, rank, n)) +
                         count_mismatch(z, sum(rank));
              }
          return wrong;
        }) == 0);
}

TEST_CASE("cuda: broadcast, all_gather, send and recv bring every element to its place", "[parallel][cuda]") {
  const std::string backend = GENERATE(from_range(test::backends(kCUDA)));
  const int size = GENERATE(2, 3);
  const bool apart = GENERATE(true, false);
  if (!can_run(backend, size, apart)) return;
  INFO(backend << ", " << size << " ranks, apart " << apart);
  CHECK(count_wrong(backend, size, apart, [&](ProcessGroup& group, Device device) {
          int64_t wrong = 0;
          const int rank = group.rank(), next = (rank + 1) % size, before = (rank + size - 1) % size;
          for (const DType dtype : kDtypes) {
            const int64_t n = 37;
            const Tensor mine = input(dtype, rank, n).to(device), x = mine.clone(), got = empty_like(x);
            group.broadcast(x, size - 1)->wait();
            wrong += count_mismatch(x, input(dtype, size - 1, n));
            std::vector<Tensor> all;
            for (int r = 0; r < size; ++r) all.push_back(empty_like(x));
            group.all_gather(all, mine)->wait();
            for (int r = 0; r < size; ++r) wrong += count_mismatch(all[static_cast<size_t>(r)], input(dtype, r, n));
            const WorkPtr sending = group.send(mine, next, 3);
            group.recv(got, before, 3)->wait();
            sending->wait();
            wrong += count_mismatch(got, input(dtype, before, n));
          }
          return wrong;
        }) == 0);
}

TEST_CASE("cuda: what follows on the caller's stream comes after the collective, and what was before comes before",
          "[parallel][cuda]") {
  const std::string backend = GENERATE(from_range(test::backends(kCUDA)));
  if (!test::can_run(backend, 2)) return;
  INFO(backend);
  CHECK(count_wrong(backend, 2, true, [](ProcessGroup& group, Device device) {
          const cuda::Stream stream(device);
          const cuda::StreamGuard guard(stream);
          Tensor x = zeros({64}, device);
          for (int i = 0; i < 5; ++i) x.add_(1);  // queued on the stream, perhaps still running
          const WorkPtr work = group.all_reduce(x);
          work->wait();
          Tensor y = x * 2;
          x.zero_();
          work->synchronize();
          int64_t wrong = !work->is_completed() + (work->elapsed_seconds() < 0);
          // The only reference to this tensor is dropped while its collective runs.
          group.all_reduce(full({64}, 3.0f, device));
          const Tensor other = full({64}, 7.0f, device);
          group.barrier()->wait();
          return wrong + count_mismatch(y, full({64}, 20.0f)) + count_mismatch(other, full({64}, 7.0f));
        }) == 0);
}

TEST_CASE("cuda: strided tensors, many at once, and coalesced ones", "[parallel][cuda]") {
  const std::string backend = GENERATE(from_range(test::backends(kCUDA)));
  if (!test::can_run(backend, 2)) return;
  const bool coalesce = GENERATE(false, true);
  INFO(backend << (coalesce ? ", coalesced" : ""));
  CHECK(count_wrong(backend, 2, true, [coalesce](ProcessGroup& group, Device device) {
          const auto rank = static_cast<double>(group.rank());
          const Tensor wide = full({11, 2}, rank + 1, device), x = wide.select(1, 0);
          const Tensor halves = full({5}, rank, TensorOptions(kFloat16).device(device));
          const Tensor shorts = full({5}, rank + 1, TensorOptions(kInt16).device(device));
          const Tensor low = full({3}, rank, TensorOptions(kFloat32).device(device));
          std::vector<Tensor> gathered = {empty_like(low), empty_like(low)};
          std::vector<WorkPtr> works;
          {
            std::optional<CoalescingGuard> together;
            if (coalesce) together.emplace(group);
            works.push_back(group.all_reduce(x, ReduceOp::AVG));
            works.push_back(group.broadcast(halves, 1));
            works.push_back(group.all_reduce(shorts));
            works.push_back(group.all_gather(gathered, low));
          }
          for (const WorkPtr& work : works) work->wait();
          return count_mismatch(x, full({11}, 1.5)) + count_mismatch(wide.select(1, 1), full({11}, rank + 1)) +
                 count_mismatch(halves, full({5}, 1.0, kFloat16)) + count_mismatch(shorts, full({5}, 3, kInt16)) +
                 count_mismatch(gathered[0], full({3}, 0.0f)) + count_mismatch(gathered[1], full({3}, 1.0f));
        }) == 0);
}

TEST_CASE("cuda: MIN and MAX carry NaN on", "[parallel][cuda]") {
  const std::string backend = GENERATE(from_range(test::backends(kCUDA)));
  if (!test::can_run(backend, 2)) return;
  CHECK(count_wrong(backend, 2, true, [](ProcessGroup& group, Device device) {
          int64_t wrong = 0;
          for (const ReduceOp op : {ReduceOp::MIN, ReduceOp::MAX}) {
            const Tensor x = full({5}, group.rank() == 1 ? std::numeric_limits<double>::quiet_NaN() : 1.0, device);
            group.all_reduce(x, op)->wait();
            wrong += 5 - x.cpu().isnan().sum().item<int64_t>();
          }
          return wrong;
        }) == 0);
}

TEST_CASE("nccl: to lock pages for a copy, a rank waits for its own GPU, not for one whose collective waits for it",
          "[parallel][nccl]") {
  if (test::without_fake_nccl()) return;
  std::atomic<bool> called{false};
  std::atomic<int64_t> wrong{0};
  run_ranks(2, [&](int rank) {
    init_process_group("nccl");
    const Device device = default_group()->device();
    const Tensor x = ones({3}, device);
    if (rank == 0) {
      all_reduce(x);  // waits on the stream only, so the host continues
      called = true;
    } else {
      while (!called) std::this_thread::yield();
      empty_page_locked_cache();
      ones({5}, device).to(kCPU, /*non_blocking=*/true);
      ones({5000}).pin_memory();
      empty_page_locked_cache();
      all_reduce(x);
    }
    wrong += count_mismatch(x, full({3}, 2.0f));
  });
  CHECK(wrong == 0);
}

TEST_CASE("nccl: what nccl_program checks over NCCL itself", "[parallel][nccl]") {
  if (test::without_fake_nccl()) return;
  CHECK_NOTHROW(
      run_ranks(2, [](int) { test::run_collective_checks({}, std::chrono::seconds(3), [](const char*) {}); }));
  CHECK(test::fake_nccl()->communicators() == 0);
}

TEST_CASE("cuda: tensors on other devices than a collective takes are refused", "[parallel][cuda][errors]") {
  if (cuda::device_count() < 2) {
    WARN("SKIPPED: it needs two GPUs");
    return;
  }
  const auto message = [](const std::string& backend, const std::function<void(ProcessGroup&)>& f) -> std::string {
    try {
      test::run_with_backend(backend, 2, [&](const ProcessGroupPtr& group) { f(*group); });
      return "nothing was thrown";
    } catch (const Error& error) {
      return error.what();
    }
  };
  const Device first(kCUDA, 0), second(kCUDA, 1);
  CHECK_THAT(message("local",
                     [&](ProcessGroup& g) {
                       g.all_gather({zeros({2}, first), zeros({2}, second)}, zeros({2}, first));
                     }),
             Contains("all on one GPU"));
  CHECK_THAT(message("local",
                     [&](ProcessGroup& g) { g.all_reduce(zeros({2}, g.rank() == 0 ? first : Device("cpu")))->wait(); }),
             Contains("Detected mismatch between collectives on ranks") && Contains("on cuda"));
  if (test::without_fake_nccl()) return;
  CHECK_THAT(message("nccl", [](ProcessGroup& g) { g.all_reduce(zeros({2})); }),
             Contains("the tensor is on cpu; this rank's nccl group accepts only tensors on cuda"));
  CHECK_THAT(message("nccl", [&](ProcessGroup& g) { g.all_reduce(zeros({2}, g.rank() == 0 ? second : first)); }),
             Contains("group accepts only tensors on cuda"));
}
