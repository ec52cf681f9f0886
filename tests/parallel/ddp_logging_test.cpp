// Tests the logging data of DistributedDataParallel, the check for parameters that diverge between ranks, and bucket
// sizes chosen from the measured link.
#include <atomic>
#include <mutex>
#include <thread>

#include "tandem/models/models.h"
#include "tandem/parallel/link_probe.h"
#include "tandem/parallel/parameter_checksum.h"
#include "tandem/parallel/reducer.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/ranks.h"

using namespace tandem;
using Catch::Matchers::Contains;
using nn::parallel::DDPLoggingData;
using nn::parallel::DistributedDataParallel;
using Options = nn::parallel::DistributedDataParallelOptions;

namespace {

/// Two linear layers and a buffer; forward may skip layer b. Its forward takes at least `wait`.
struct TwoLayersImpl : nn::Module {
  TwoLayersImpl() {
    a = register_module("a", nn::Linear(3, 5));
    b = register_module("b", nn::Linear(5, 2));
    seen = register_buffer("seen", zeros({4}));
  }
  Tensor forward(const Tensor& x, bool both = true) {
    std::this_thread::sleep_for(wait);
    return both ? b(a(x)) : a(x);
  }
  nn::Linear a{nullptr}, b{nullptr};
  Tensor seen;
  std::chrono::milliseconds wait{0};
};
TANDEM_MODULE(TwoLayers);

/// Runs f on `ranks` ranks and returns each rank's error, "" for none.
std::vector<std::string> errors_of(int ranks, const std::function<void(int)>& f) {
  std::vector<std::string> errors(static_cast<size_t>(ranks));
  distributed::run_ranks(ranks, [&](int rank) {
    distributed::init_process_group("local", {.timeout = std::chrono::seconds(60)});
    try {
      f(rank);
    } catch (const std::exception& error) {
      errors[static_cast<size_t>(rank)] = error.what();
    }
  });
  return errors;
}
void add_to_first(const Tensor& x, float what) {
  const NoGradGuard guard;
  x.data_ptr<float>()[0] += what;
}

}  // namespace

TEST_CASE("DDP says what it is, and what its last step took", "[parallel][ddp]") {
  test::run_with_backend("local", 2, [](const distributed::ProcessGroupPtr& group) {
    TwoLayers net;
    net->a->bias.requires_grad_(false);
    net->wait = std::chrono::milliseconds(20);
    DistributedDataParallel ddp(net, Options().find_unused_parameters(true).bucket_cap_mb(40.0 / (1 << 20)));
    DDPLoggingData data = ddp.get_ddp_logging_data();
    TANDEM_CHECK(data.world_size == 2 && data.rank == group->rank() && data.backend == "local" && data.device == "cpu",
                 data.world_size, data.rank, data.backend, data.device);
    TANDEM_CHECK(data.num_parameter_tensors == 3 && data.total_parameter_size_bytes == 4 * (15 + 10 + 2), "counts");
    // In reverse order, at most 40 bytes per bucket: b.bias alone, because b.weight already has 40 bytes; then
    // b.weight; then a.weight, which is larger than the limit.
    TANDEM_CHECK((data.bucket_sizes == std::vector<int64_t>{8, 40, 60}), "bucket sizes");
    TANDEM_CHECK(data.bucket_cap_bytes == 40 && data.first_bucket_bytes == 40, data.bucket_cap_bytes);
    TANDEM_CHECK(data.find_unused_parameters && data.gradient_as_bucket_view && data.broadcast_buffers, "options");
    TANDEM_CHECK(data.iteration == 0 && data.forward_time == 0 && data.backward_time == 0, "there was no step yet");

    const auto start = std::chrono::steady_clock::now();
    Tensor loss = ddp(ones({4, 3}), group->rank() == 1).sum();
    const auto forward_end = std::chrono::steady_clock::now();
    loss.backward();
    const auto end = std::chrono::steady_clock::now();
    const auto seconds = [](auto time) { return std::chrono::duration<double>(time).count(); };
    data = ddp.get_ddp_logging_data();
    TANDEM_CHECK(data.iteration == 1, data.iteration);
    TANDEM_CHECK(data.unused_parameters == (group->rank() == 1 ? 0 : 2), data.unused_parameters);
    TANDEM_CHECK(data.forward_time >= 0.02 && data.forward_time <= seconds(forward_end - start), data.forward_time);
    TANDEM_CHECK(data.backward_time > 0 && data.backward_time <= seconds(end - forward_end), data.backward_time);
    const auto times = ddp.reducer().last_reduce_times();
    TANDEM_CHECK(data.backward_comm_time == times.communication_seconds && times.communication_seconds > 0,
                 times.communication_seconds);
    TANDEM_CHECK(data.backward_exposed_time <= data.backward_time, data.backward_exposed_time);
    TANDEM_CHECK(data.backward_compute_comm_overlap_time ==
                     std::max(0.0, times.communication_seconds - data.backward_exposed_time),
                 data.backward_compute_comm_overlap_time);
    {
      const auto guard = ddp.no_sync();
      ddp(ones({4, 3})).sum().backward();
    }
    TANDEM_CHECK(ddp.get_ddp_logging_data().iteration == 1, "a backward that does not synchronize is no iteration");
  });
}

TEST_CASE("a checksum tells any element's change, of any dtype and layout", "[parallel][ddp]") {
  using nn::parallel::detail::checksum;
  for (const DType dtype : test::kDtypes)
    for (const int64_t n : {0, 1, 3, 7, 32, 100}) {
      const Tensor x = zeros({n}, TensorOptions(dtype));
      const uint64_t sum = checksum(x);
      CHECK(checksum(x.clone()) == sum);
      for (int64_t i = 0; i < n; ++i) {
        const Tensor y = x.clone();
        y[i].fill_(1);
        CHECK(checksum(y) != sum);
      }
    }
  const Tensor x = arange(12).to(kFloat32).view({3, 4});
  CHECK(checksum(x.t().contiguous().t()) == checksum(x));
  CHECK(checksum(x.t()) != checksum(x));
  CHECK(checksum(tensor({1.0f, 2.0f})) != checksum(tensor({2.0f, 1.0f})));
  CHECK(checksum(tensor({0.0f})) != checksum(tensor({-0.0f})));
  CHECK(checksum(zeros({3})) != checksum(zeros({4})));
}

TEST_CASE("DDP names the parameter and the rank that have drifted away, at the step that looks", "[parallel][ddp]") {
  std::atomic<int> steps{0};
  const auto errors = errors_of(4, [&](int rank) {
    TwoLayers net;
    DistributedDataParallel ddp(net, Options().check_parameters_every(3));
    for (int step = 1; step <= 6; ++step) {
      if (step == 4 && rank == 2) {  // changes the last bit of two parameters
        add_to_first(net->b->weight, 1e-3f);
        add_to_first(net->b->bias, 1e-3f);
      }
      ddp(ones({4, 3})).sum().backward();
      if (rank == 0) steps = step;
    }
  });
  CHECK(steps == 5);
  for (const std::string& error : errors)
    CHECK_THAT(error,
               Contains("DDP 1: the ranks' models have diverged: b.weight of rank 2 differs from that of most ranks"));
  // With two ranks there is no majority, so rank 0 is taken as right.
  for (const std::string& error : errors_of(2, [](int rank) {
         TwoLayers net;
         DistributedDataParallel ddp(net, Options().check_parameters_every(1));
         if (rank == 0) add_to_first(net->a->bias, 1);
         ddp(ones({4, 3}));
       }))
    CHECK_THAT(error, Contains("a.bias of rank 1 differs from that of rank 0"));
}

TEST_CASE("DDP does not look at buffers, which may be each rank's own, and costs nothing where it does not look",
          "[parallel][ddp]") {
  for (const bool broadcast : {true, false})
    for (const bool drifts : {true, false}) {
      const auto errors = errors_of(2, [&](int rank) {
        TwoLayers net;
        const nn::BatchNorm1d norm(3);  // each rank's running statistics follow its own batches
        const nn::Sequential all(norm, net);
        DistributedDataParallel ddp(all, Options().check_parameters_every(2).broadcast_buffers(broadcast));
        for (int step = 0; step < 4; ++step) {
          if (rank == 1 && step == 1) add_to_first(net->seen, 1);
          if (drifts && rank == 1 && step == 2) add_to_first(norm->bias, 1);
          ddp(arange(12).to(kFloat32).view({4, 3}) * (rank + 1.0)).sum().backward();
        }
        const Tensor mean = norm->running_mean.clone();
        distributed::default_group()->broadcast(mean, 0)->wait();
        TANDEM_CHECK(rank == 0 || !mean.equal(norm->running_mean), "the statistics are alike");
      });
      for (const std::string& error : errors) {
        if (drifts) CHECK_THAT(error, Contains("0.bias of rank 1 differs from that of rank 0"));
        if (!drifts) CHECK(error.empty());
      }
    }
  test::run_with_backend("local", 2, [](const distributed::ProcessGroupPtr& group) {
    const auto sent = [&](int64_t every) {
      TwoLayers net;
      DistributedDataParallel ddp(net, Options().check_parameters_every(every));
      const int64_t before = group->bytes_sent();
      for (int step = 0; step < 4; ++step) ddp(ones({4, 3})).sum().backward();
      return group->bytes_sent() - before;
    };
    const int64_t never = sent(0);
    TANDEM_CHECK(sent(5) == never, "nothing is looked at before the fifth step");
    TANDEM_CHECK(sent(2) == never + 2 * 8, "two looks send ", sent(2) - never, " bytes; one number each is 16");
  });
  CHECK_THROWS_WITH(test::run_with_backend("local", 1,
                                           [](const distributed::ProcessGroupPtr&) {
                                             DistributedDataParallel(TwoLayers(), Options().check_parameters_every(-1));
                                           }),
                    Contains("check_parameters_every is -1; accepted"));
}

TEST_CASE("DDP in a Join looks at the parameters while all ranks have batches", "[parallel][ddp][uneven]") {
  const auto errors = [](int drift_at) {
    return errors_of(3, [=](int rank) {
      TwoLayers net;
      DistributedDataParallel ddp(net, Options().check_parameters_every(2));
      const auto train = [&](int steps, int drift) {
        nn::parallel::Join join({&ddp});
        for (int step = 0; step < steps; ++step) {
          if (rank == 2 && step == drift) add_to_first(net->b->weight, 1);
          ddp(ones({4, 3})).sum().backward();
        }
        join.finish();
      };
      train(3 + rank, drift_at);  // rank 0 has no fourth batch; at the end all ranks get rank 2's parameters
      train(4, -1);               // its first step counts as the fourth step of all ranks
    });
  };
  for (const std::string& error : errors(1))
    CHECK_THAT(error, Contains("b.weight of rank 2 differs from that of most ranks"));
  for (const std::string& error : errors(3)) CHECK(error.empty());
}

TEST_CASE("DDP: the size of buckets follows from the link, alike on all ranks", "[parallel][ddp]") {
  using nn::parallel::detail::LinkEstimate;
  using nn::parallel::detail::optimal_bucket_bytes;
  // Optimal size for 100 MB of gradients at 10 GB/s and 100 us latency: sqrt(1e8 * 1e10 * 1e-4) = 1e7 bytes
  CHECK(optimal_bucket_bytes(LinkEstimate{1e-4, 1e10}, 100000000) == 10000000);
  // This size minimizes the time k * latency + size / bandwidth, where k = bytes / size buckets are sent one by one.
  const auto cost = [](double size) { return 1e8 / size * 1e-4 + size / 1e10; };
  for (double size = 1e5; size < 1e8; size *= 1.3) CHECK(cost(1e7) <= cost(size));
  CHECK(optimal_bucket_bytes(LinkEstimate{1, 1e10}, 1000000) == 1000000);  // one bucket for all gradients
  CHECK(optimal_bucket_bytes(LinkEstimate{1e-9, 1e6}, 1000000) == 64 << 10);

  std::mutex mutex;
  std::vector<DDPLoggingData> all;
  test::run_with_backend("local", 3, [&](const distributed::ProcessGroupPtr&) {
    nn::Sequential net(nn::Linear(64, 512), nn::Linear(512, 512), nn::Linear(512, 10));
    DistributedDataParallel ddp(net, Options().bucket_cap_mb(nn::parallel::kBucketCapFromLink));
    ddp(ones({2, 64})).sum().backward();
    const std::lock_guard lock(mutex);
    all.push_back(ddp.get_ddp_logging_data());
  });
  for (const DDPLoggingData& data : all) {
    CHECK(data.link_latency > 0);
    CHECK(data.link_bandwidth > 0);
    CHECK(data.link_latency == all[0].link_latency);
    CHECK(data.bucket_sizes == all[0].bucket_sizes);
    CHECK(data.bucket_cap_bytes ==
          optimal_bucket_bytes({data.link_latency, data.link_bandwidth}, data.total_parameter_size_bytes));
  }
}

TEST_CASE("DDP alone allocates nothing beyond the gradients and what the bare module's step does", "[parallel][ddp]") {
  test::run_with_backend("local", 1, [](const distributed::ProcessGroupPtr& group) {
    struct Use {
      int64_t allocations, peak;  // in one step, beyond the memory allocated before it
    };
    const auto measured = [](const auto& step) {
      for (int i = 0; i < 3; ++i) step();
      const MemoryStats before = memory_stats();
      reset_peak_memory_stats();
      step();
      const MemoryStats after = memory_stats();
      TANDEM_CHECK(after.current == before.current, "a step keeps ", after.current - before.current, " bytes");
      return Use{after.allocations - before.allocations, after.peak - before.current};
    };
    const Tensor x = ones({16, 1, 28, 28}), y = zeros({16}, kInt64);
    const auto backward = [&](const Tensor& output) { cross_entropy(output, y).backward(); };
    models::FashionCnn bare, wrapped;  // with batch norm; one rank need not broadcast its buffers
    const Use without = measured([&] { backward(bare->forward(x)); });
    const int64_t before = memory_stats().current;
    DistributedDataParallel ddp(wrapped);
    const int64_t wrapping = memory_stats().current - before;  // about one number per bucket
    TANDEM_CHECK(wrapping <= 64 * static_cast<int64_t>(ddp.reducer().buckets().size()), "wrapping keeps ", wrapping);
    const Use with = measured([&] { backward(ddp(x)); });
    TANDEM_CHECK(with.allocations <= without.allocations, with.allocations, " allocations, and ", without.allocations,
                 " without DDP");
    TANDEM_CHECK(with.peak <= without.peak, "at most ", with.peak, " bytes, and ", without.peak, " without DDP");
    TANDEM_CHECK(group->bytes_sent() == 0, "one rank sends nothing");
  });
}
