// Tests DistributedDataParallel against a reference, bit for bit: one device accumulates the gradients of the shards'
// mean losses in order and multiplies them by 1 / k. Also compares with DataParallel where the two must be equal.
#include "tandem/models/models.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/devices.h"
#include "tandem/tests/parallel/ranks.h"
#include "tandem/tests/parallel/small_net.h"

using namespace tandem;
using distributed::ProcessGroupPtr;
using nn::parallel::DistributedDataParallel;
using nn::parallel::DistributedDataParallelOptions;
using test::images;
using test::labels;
using test::SmallNet;
using State = std::vector<Tensor>;

namespace {

/// Rows of rank r of k, divided as evenly as possible
Tensor shard(const Tensor& x, int r, int k) {
  const int64_t n = x.size(0), first = n * r / k, end = n * (r + 1) / k;
  return x.narrow(0, first, end - first);
}
State state_of(const nn::Module& module) {
  const NoGradGuard guard;
  State out;
  for (const auto& item : module.state_dict()) out.push_back(item.value().detach().to(kCPU).clone());
  return out;
}
double largest_difference(const State& a, const State& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, (a[i].to(kFloat64) - b[i].to(kFloat64)).abs().max().item<double>());
  return largest;
}

struct Job {
  DeviceType type = kCPU;
  std::string backend = "local";
  int ranks = 2, steps = 2, accumulate = 1;  // accumulate: backwards per step, all but the last under no_sync
  int64_t rows = 12;
  DType dtype = kFloat32;
  bool train = true;
  double bucket_mb = 25;
  bool apart = true;  // GPUs only: each rank has its own GPU, as far as there are enough
  /// Device of a rank. On the CPU, all ranks use the first virtual device.
  Device device(int rank = 0) const { return type == kCUDA ? test::nth_gpu(apart ? rank : 0) : Device(kCPU); }
};
/// Returns a job on this device type over this backend. Emulated GPUs under a sanitizer take seconds per image, so they
/// get fewer rows.
Job job_on(const std::pair<DeviceType, std::string>& where) {
  Job job;
  job.type = where.first, job.backend = where.second;
  if (job.type == kCUDA && test::kSlowGpus) job.rows = 4;
  return job;
}
std::vector<std::pair<DeviceType, std::string>> everywhere() {
  std::vector<std::pair<DeviceType, std::string>> all;
  for (const DeviceType type : test::device_types())
    for (const std::string& backend : test::backends(type))
      // NCCL needs one GPU per rank
      if (backend != "nccl" || cuda::device_count() >= 4) all.emplace_back(type, backend);
  return all;
}
template <class Net> Net make_net(const Job& job, int rank = 0) {
  Net net;
  net->to(job.device(rank), job.dtype);
  net->train(job.train);
  return net;
}
template <class Net> optim::SGD make_optimizer(Net& net) {
  return optim::SGD(net->parameters(), optim::SGDOptions(0.05).momentum(0.9));
}

template <class Net> State with_ddp(const Job& job) {
  State result;
  test::run_with_backend(job.backend, job.ranks, [&](const ProcessGroupPtr& group) {
    const int rank = group->rank();
    manual_seed(7 + static_cast<uint64_t>(rank));  // initial values differ between ranks; DDP must use rank 0's
    Net net = make_net<Net>(job, rank);
    manual_seed(11);
    DistributedDataParallel ddp(net,
                                DistributedDataParallelOptions().process_group(group).bucket_cap_mb(job.bucket_mb));
    ddp.train(job.train);
    auto optimizer = make_optimizer(net);
    const Tensor x = images(job.rows, job.dtype), y = labels(job.rows).to(ddp.device());
    for (int step = 0; step < job.steps; ++step) {
      optimizer.zero_grad();
      for (int part = 1; part < job.accumulate; ++part) {
        const auto guard = ddp.no_sync();
        cross_entropy(ddp(shard(x, rank, job.ranks)), shard(y, rank, job.ranks)).backward();
      }
      cross_entropy(ddp(shard(x, rank, job.ranks)), shard(y, rank, job.ranks)).backward();
      optimizer.step();
    }
    if (rank == 0) result = state_of(*net);
    for (const Tensor& p : net->parameters()) {  // all ranks must have equal parameters
      const Tensor first = p.detach().clone();
      group->broadcast(first, 0)->wait();
      TANDEM_CHECK(first.equal(p.detach()), "rank ", rank, " has other parameters than rank 0");
    }
  });
  return result;
}

template <class Net> State with_one_device(const Job& job) {
  manual_seed(7);
  Net net = make_net<Net>(job);
  manual_seed(11);
  auto optimizer = make_optimizer(net);
  const Tensor x = images(job.rows, job.dtype).to(job.device()), y = labels(job.rows).to(job.device());
  for (int step = 0; step < job.steps; ++step) {
    optimizer.zero_grad();
    // Each rank first accumulates its own backwards, then the ranks are summed. The buffers come from rank 0.
    std::vector<State> by_rank(static_cast<size_t>(job.ranks));
    const NoGradGuard no_grad;
    State buffers_before, buffers_after;
    for (const Tensor& b : net->buffers()) buffers_before.push_back(b.clone());
    for (int r = 0; r < job.ranks; ++r) {
      for (size_t i = 0; i < buffers_before.size(); ++i) net->buffers()[i].copy_(buffers_before[i]);
      GeneratorGuard guard(default_generator(job.device(), static_cast<uint64_t>(r)));
      for (int part = 0; part < job.accumulate; ++part) {
        const EnableGradGuard grad;
        cross_entropy(net(shard(x, r, job.ranks)), shard(y, r, job.ranks)).backward();
      }
      for (const Tensor& p : net->parameters()) by_rank[static_cast<size_t>(r)].push_back(p.grad().clone());
      if (r == 0)
        for (const Tensor& b : net->buffers()) buffers_after.push_back(b.clone());
      net->zero_grad();
    }
    for (size_t i = 0; i < net->parameters().size(); ++i) {
      Tensor sum = by_rank[0][i].clone();
      for (size_t r = 1; r < by_rank.size(); ++r) sum.add_(by_rank[r][i]);
      net->parameters()[i].set_grad(sum.mul_(1.0 / job.ranks));
    }
    for (size_t i = 0; i < buffers_after.size(); ++i) net->buffers()[i].copy_(buffers_after[i]);
    optimizer.step();
  }
  return state_of(*net);
}

template <class Net> State with_data_parallel(const Job& job) {
  const test::Devices devices(job.ranks, job.type);
  manual_seed(7);
  Net net = make_net<Net>(job);
  manual_seed(11);
  nn::parallel::DataParallel dp(net, devices.list);
  auto optimizer = make_optimizer(net);
  const Tensor x = images(job.rows, job.dtype), y = labels(job.rows).to(job.device());
  for (int step = 0; step < job.steps; ++step) {
    optimizer.zero_grad();
    cross_entropy(dp(x), y).backward();
    optimizer.step();
  }
  return state_of(*net);
}

}  // namespace

TEST_CASE("DDP over k ranks equals one device that accumulates the shards, bit for bit", "[parallel][ddp]") {
  Job job = job_on(GENERATE(from_range(everywhere())));
  job.ranks = GENERATE(1, 2, 3, 4);
  const int64_t rows = GENERATE(12, 13);
  job.dtype = GENERATE(kFloat32, kFloat64);
  job.train = GENERATE(true, false);
  // Skipped: same threads and memory as the other cases.
  if (TANDEM_TEST_SANITIZED && (job.dtype == kFloat64 || !job.train)) return;
  if (job.type == kCUDA && (job.dtype == kFloat64 || job.ranks % 2 == 1 || (rows == 13) != job.train)) return;
  if (job.type == kCUDA && test::kSlowGpus && job.ranks != 2) return;
  if (job.type == kCPU || !test::kSlowGpus) job.rows = rows;
  INFO(job.device() << ", " << job.backend << ", " << job.ranks << " ranks, " << job.rows << " rows, " << job.dtype
                    << ", training " << job.train);
  CHECK(largest_difference(with_ddp<SmallNet>(job), with_one_device<SmallNet>(job)) == 0);
}

TEST_CASE("DDP of the shared models equals its reference, bit for bit", "[parallel][ddp]") {
  Job job = job_on(GENERATE(from_range(everywhere())));
  job.ranks = GENERATE(2, 3, 4);
  job.bucket_mb = GENERATE(0.01, 25.0);  // many buckets, or one
  if (TANDEM_TEST_SANITIZED && job.ranks != 3) return;
  if (job.type == kCUDA && (test::kSlowGpus || job.ranks != 2 || job.bucket_mb == 25)) return;
  CHECK(largest_difference(with_ddp<models::Mlp>(job), with_one_device<models::Mlp>(job)) == 0);
  CHECK(largest_difference(with_ddp<models::Lenet>(job), with_one_device<models::Lenet>(job)) == 0);
}

TEST_CASE("DDP: gradients that add up under no_sync are reduced by the first backward after it", "[parallel][ddp]") {
  Job job = job_on(GENERATE(from_range(everywhere())));
  job.ranks = GENERATE(2, 3, 4);
  job.accumulate = 3;
  job.bucket_mb = 0.01;
  if (TANDEM_TEST_SANITIZED && job.ranks == 4) return;  // 2 ranks are tested on GPUs, 3 on the CPU
  if (job.type == kCUDA) {
    if (job.ranks == 2) CHECK(largest_difference(with_ddp<SmallNet>(job), with_one_device<SmallNet>(job)) == 0);
    return;
  }
  if (TANDEM_TEST_SANITIZED)
    CHECK(largest_difference(with_ddp<SmallNet>(job), with_one_device<SmallNet>(job)) == 0);
  else
    CHECK(largest_difference(with_ddp<models::Lenet>(job), with_one_device<models::Lenet>(job)) == 0);
}

TEST_CASE("DDP of ranks that share a GPU equals its reference, bit for bit", "[parallel][ddp][cuda]") {
  for (const auto& where : everywhere()) {
    if (where.first != kCUDA || where.second == "nccl") continue;  // NCCL does not let ranks share a GPU
    Job job = job_on(where);
    job.apart = false;
    INFO(job.backend);
    CHECK(largest_difference(with_ddp<SmallNet>(job), with_one_device<SmallNet>(job)) == 0);
  }
}

TEST_CASE("DP and DDP coincide bit for bit: equal shards, rows and ranks powers of two", "[parallel][ddp]") {
  Job job = job_on(GENERATE(from_range(everywhere())));
  job.ranks = GENERATE(2, 4);
  job.dtype = GENERATE(kFloat32, kFloat64);
  job.train = GENERATE(true, false);
  if (job.type == kCPU || !test::kSlowGpus) job.rows = 16;
  if (TANDEM_TEST_SANITIZED && (job.dtype == kFloat64 || !job.train)) return;
  if (job.type == kCUDA && (job.dtype == kFloat64 || !job.train || (test::kSlowGpus && job.ranks != 2))) return;
  INFO(job.device() << ", " << job.backend << ", " << job.ranks << " ranks, " << job.dtype << ", training "
                    << job.train);
  CHECK(largest_difference(with_ddp<SmallNet>(job), with_data_parallel<SmallNet>(job)) == 0);
  if (job.type == kCPU)
    CHECK(largest_difference(with_ddp<models::Mlp>(job), with_data_parallel<models::Mlp>(job)) == 0);
}
TEST_CASE("DP and DDP over three differ in rounding, so that comparing them can see a difference", "[parallel][ddp]") {
  Job job;
  job.ranks = 3;
  const double difference = largest_difference(with_ddp<SmallNet>(job), with_data_parallel<SmallNet>(job));
  CHECK(difference > 0);
  CHECK(difference < 1e-5);  // rounding of three float32 steps
}
