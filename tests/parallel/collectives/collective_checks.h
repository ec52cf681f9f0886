// Checks a process group over NCCL against arithmetic on the host, as a table of small checks. nccl_program.cpp runs
// the table over the real NCCL, cuda_collectives_test.cpp over the fake one.
#pragma once
#include <algorithm>
#include <limits>
#include <thread>

#include "tandem/tandem.h"

namespace tandem::test {

using distributed::ProcessGroup, distributed::ReduceOp;

/// Element i of rank r. The values are so small that every dtype can hold the sum over a few ranks, and the average of
/// two. For bool: whether the value is not 0.
inline double element(DType dtype, int rank, int64_t i) {
  const auto value = static_cast<double>((rank * 2 + i) % 4);
  return dtype == kBool ? value != 0 : value;
}
inline Tensor elements(DType dtype, int rank, int64_t n, Device device) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(element(dtype, rank, i));
  return tensor(values, kFloat64).to(dtype).to(device);
}
/// Checks that x[i] equals f(i) exactly.
template <class F> void expect(const char* what, const Tensor& x, const F& f) {
  const Tensor here = x.to(kCPU).to(kFloat64).contiguous();
  for (int64_t i = 0; i < here.numel(); ++i)
    TANDEM_CHECK(here.data_ptr<double>()[i] == static_cast<double>(f(i)), what, " of ", x.dtype(), x.sizes(),
                 ": element ", i, " is ", here.data_ptr<double>()[i], "; accepted: ", static_cast<double>(f(i)));
}
inline double reduced(DType dtype, ReduceOp op, int size, const std::function<double(int)>& of) {
  double y = of(0);
  for (int r = 1; r < size; ++r)
    y = op == ReduceOp::MIN ? std::min(y, of(r)) : op == ReduceOp::MAX ? std::max(y, of(r)) : y + of(r);
  if (dtype == kBool) y = y != 0;
  return op == ReduceOp::AVG ? y / size : y;
}

inline void check_reductions(ProcessGroup& group, Device device) {
  const int rank = group.rank(), size = group.size(), root = size - 1;
  for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16, kInt64, kInt32, kInt16, kInt8, kUInt8, kBool})
    for (const ReduceOp op : {ReduceOp::SUM, ReduceOp::AVG, ReduceOp::MIN, ReduceOp::MAX})
      for (const int64_t n : {0, 1, 133}) {
        if (op == ReduceOp::AVG && !is_floating_point(dtype)) continue;
        const auto result = [&](int64_t i, int shift) {
          return reduced(dtype, op, size, [&](int r) { return element(dtype, r + shift, i); });
        };
        const Tensor x = elements(dtype, rank, n, device), y = x.clone(), z = empty_like(x);
        std::vector<Tensor> inputs;
        for (int r = 0; r < size; ++r) inputs.push_back(elements(dtype, rank + r, n, device));
        group.all_reduce(x, op)->wait();
        group.reduce(y, root, op)->wait();
        group.reduce_scatter(z, inputs, op)->wait();
        expect("all_reduce", x, [&](int64_t i) { return result(i, 0); });
        expect("reduce", y, [&](int64_t i) { return rank == root ? result(i, 0) : element(dtype, rank, i); });
        expect("reduce_scatter", z, [&](int64_t i) { return result(i, rank); });
      }
}
inline void check_copies(ProcessGroup& group, Device device) {
  for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16, kInt64, kInt32, kInt16, kInt8, kUInt8, kBool})
    for (const int64_t n : {0, 1, 133}) {
      const Tensor mine = elements(dtype, group.rank(), n, device), x = mine.clone();
      std::vector<Tensor> all;
      for (int r = 0; r < group.size(); ++r) all.push_back(empty_like(x));
      group.broadcast(x, group.size() - 1)->wait();
      group.all_gather(all, mine)->wait();
      expect("broadcast", x, [&](int64_t i) { return element(dtype, group.size() - 1, i); });
      for (int r = 0; r < group.size(); ++r)
        expect("all_gather", all[static_cast<size_t>(r)], [&](int64_t i) { return element(dtype, r, i); });
    }
}
inline void check_large(ProcessGroup& group, Device device) {
  const Tensor x = full({int64_t{1} << 20}, group.rank() + 1.0, device), y = x * 2;
  group.all_reduce(x);
  group.all_reduce(y)->wait();
  const Tensor sums = stack({x.min(), x.max(), y.min(), y.max()});
  const int sum = group.size() * (group.size() + 1) / 2;
  expect("all_reduce of 4 MiB", sums, [&](int64_t i) { return i < 2 ? sum : 2 * sum; });
}
/// Checks sends to the next rank and receives from the previous one, with several tags at once.
inline void check_sends(ProcessGroup& group, Device device) {
  const int next = (group.rank() + 1) % group.size(), before = (group.rank() + group.size() - 1) % group.size();
  for (const DType dtype : {kFloat32, kInt16, kBool}) {
    std::vector<Tensor> got;
    std::vector<distributed::WorkPtr> works;
    for (const int tag : {0, 1, 0}) {
      const auto k = static_cast<int64_t>(got.size());
      got.push_back(empty({k * 50}, TensorOptions(dtype).device(device)));
      works.push_back(group.send(elements(dtype, group.rank(), k * 50, device), next, tag));
      works.push_back(group.recv(got.back(), before, tag));
    }
    for (const auto& work : works) work->wait();
    for (const Tensor& x : got) expect("recv", x, [&](int64_t i) { return element(dtype, before, i); });
  }
}
inline void check_coalesced(ProcessGroup& group, Device device) {
  const int rank = group.rank(), size = group.size();
  const Tensor wide = full({11, 2}, rank + 1.0, device), x = wide.select(1, 0);
  const Tensor halves = elements(kFloat16, rank, 5, device), shorts = elements(kInt16, rank, 7, device);
  const Tensor mine = elements(kFloat32, rank, 3, device);
  std::vector<Tensor> all;
  for (int r = 0; r < size; ++r) all.push_back(empty_like(mine));
  std::vector<distributed::WorkPtr> works;
  {
    const distributed::CoalescingGuard together(group);
    works.push_back(group.all_reduce(x, ReduceOp::AVG));
    works.push_back(group.broadcast(halves, 1));
    works.push_back(group.all_reduce(shorts));
    works.push_back(group.all_gather(all, mine));
  }
  for (const auto& work : works) work->wait();
  expect("coalesced all_reduce", x, [&](int64_t) { return (size + 1) / 2.0; });
  expect("its neighbours", wide.select(1, 1), [&](int64_t) { return rank + 1; });
  expect("coalesced broadcast", halves, [](int64_t i) { return element(kFloat16, 1, i); });
  expect("coalesced all_reduce", shorts,
         [&](int64_t i) { return reduced(kInt16, ReduceOp::SUM, size, [&](int r) { return element(kInt16, r, i); }); });
  for (int r = 0; r < size; ++r)
    expect("coalesced all_gather", all[static_cast<size_t>(r)], [&](int64_t i) { return element(kFloat32, r, i); });
}
inline void check_nan(ProcessGroup& group, Device device) {
  for (const ReduceOp op : {ReduceOp::MIN, ReduceOp::MAX}) {
    const Tensor x = full({5}, group.rank() == 1 ? std::numeric_limits<double>::quiet_NaN() : 1.0, device);
    group.all_reduce(x, op)->wait();
    expect("NaN in MIN and MAX", x.isnan(), [](int64_t) { return true; });
  }
}

/// Checks that three steps of DistributedDataParallel give the parameters of one process on the CPU with all rows.
inline void check_training(ProcessGroup& group, Device device) {
  constexpr int64_t kRows = 4;
  manual_seed(3);
  const Tensor x = randn({group.size() * kRows, 6}), target = randn({group.size() * kRows, 3});
  const auto trained = [&](Device on, int64_t first, int64_t rows, bool ddp) {
    manual_seed(4);
    nn::Sequential net(nn::Linear(6, 8), nn::Tanh(), nn::Linear(8, 3));
    net->to(on);
    std::optional<nn::parallel::DistributedDataParallel<nn::Sequential>> parallel;
    if (ddp)
      parallel.emplace(net, nn::parallel::DistributedDataParallelOptions().process_group(distributed::default_group()));
    optim::SGD optimizer(net->parameters(), 0.1);
    const Tensor in = x.narrow(0, first, rows).to(on), out = target.narrow(0, first, rows).to(on);
    for (int step = 0; step < 3; ++step) {
      optimizer.zero_grad();
      mse_loss(ddp ? (*parallel)(in) : net(in), out).backward();
      optimizer.step();
    }
    std::vector<Tensor> parameters;
    for (const Tensor& p : net->parameters()) parameters.push_back(p.detach().to(kCPU));
    return parameters;
  };
  const auto alone = trained(kCPU, 0, group.size() * kRows, false);
  const auto together = trained(device, group.rank() * kRows, kRows, true);
  for (size_t i = 0; i < alone.size(); ++i)  // float32 sums, added in another order
    TANDEM_CHECK(together[i].allclose(alone[i], 1e-4, 1e-5), "DistributedDataParallel: parameter ", i, " is ",
                 together[i], "; accepted: ", alone[i]);
}

struct CollectiveCheck {
  const char* name;
  void (*run)(ProcessGroup&, Device);
};
inline constexpr CollectiveCheck kCollectiveChecks[] = {
    {"reductions", check_reductions}, {"copies", check_copies}, {"4 MiB", check_large},       {"sends", check_sends},
    {"coalesced", check_coalesced},   {"NaN", check_nan},       {"training", check_training},
};

/// Checks that f throws a DistributedError that contains `says` on the default group; then destroys the group.
inline void expect_failure(const char* what, const std::string& says, const std::function<void(ProcessGroup&)>& f) {
  std::string error = "nothing";
  try {
    f(*distributed::default_group());
  } catch (const distributed::DistributedError& thrown) {
    error = thrown.what();
  }
  TANDEM_CHECK(error.find(says) != std::string::npos, what, ": the error is '", error, "'; accepted: '... ", says,
               " ...'");
  distributed::destroy_process_group();
}

/// Runs on two or four ranks: all checks of the table in one group, then two groups that are made to fail, and then a
/// group that must work. Calls done(name) after each check.
/// @throws Error at the first check that fails
template <class Done>
void run_collective_checks(distributed::InitOptions options, std::chrono::milliseconds short_timeout,
                           const Done& done) {
  using namespace distributed;
  const auto device = [] { return default_group()->device(); };
  init_process_group("nccl", options);
  for (const CollectiveCheck& check : kCollectiveChecks) {
    check.run(*default_group(), device());
    barrier();
    done(check.name);
  }
  destroy_process_group();

  init_process_group("nccl", options);
  expect_failure("ranks that differ", "broadcast #2", [&](ProcessGroup& group) {
    const Tensor x = zeros({5}, device());
    (group.rank() == 0 ? group.all_reduce(x) : group.broadcast(x, 0))->synchronize();
    group.barrier()->wait();  // ranks would meet here if the differing calls had gone through
  });
  done("ranks that differ");

  InitOptions impatient = options;
  impatient.timeout = short_timeout;
  init_process_group("nccl", impatient);
  expect_failure("a rank that does not come", "it did not finish within", [&](ProcessGroup& group) {
    if (group.rank() > 0) std::this_thread::sleep_for(short_timeout + std::chrono::milliseconds(500));
    group.all_reduce(zeros({5}, device()))->synchronize();
  });
  init_process_group("nccl", options);
  check_sends(*default_group(), device());
  check_copies(*default_group(), device());
  destroy_process_group();
  done("a rank that does not come, and a group after it");
}

}  // namespace tandem::test
