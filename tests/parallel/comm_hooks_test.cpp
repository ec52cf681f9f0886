// Tests communication hooks of DistributedDataParallel: the compression hooks, user-defined hooks, and features that
// must keep working with a hook.
#include "tandem/parallel/reducer.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/ranks.h"
#include "tandem/tests/parallel/small_net.h"

using namespace tandem;
using distributed::ProcessGroupPtr;
using distributed::ReduceOp;
using nn::parallel::CommFuture;
using nn::parallel::CommHook;
using nn::parallel::DistributedDataParallel;
using nn::parallel::GradBucket;
using nn::parallel::Join;
using test::find_backend_failure;
using Options = nn::parallel::DistributedDataParallelOptions;

namespace {

nn::Sequential make_net() { return nn::Sequential(nn::Linear(3, 40), nn::Tanh(), nn::Linear(40, 2)); }
Tensor batch_of(int rank) {
  const Tensor x = arange(12, TensorOptions(kFloat32)).view({4, 3});
  return (x * (0.37 + 0.11 * rank) - 1.3 * rank).sin();
}
/// Gradients of a backward under a hook, and the gradients of each rank before averaging
struct Gradients {
  std::vector<Tensor> averaged;
  std::vector<std::vector<Tensor>> by_rank;
  int64_t bytes = 0;  // bytes sent by rank 0
};
Gradients gradients_under(const CommHook& hook, const std::string& backend, int ranks, const Options& options = {}) {
  Gradients out;
  out.by_rank.resize(static_cast<size_t>(ranks));
  std::vector<nn::Sequential> nets;
  manual_seed(2);
  const nn::Sequential first = make_net();
  for (int r = 0; r < ranks; ++r) {
    nets.push_back(make_net());
    nets.back()->load_state_dict(first->state_dict());
  }
  test::run_with_backend(backend, ranks, [&](const ProcessGroupPtr& group) {
    const auto rank = static_cast<size_t>(group->rank());
    nn::Sequential& net = nets[rank];
    net->forward(batch_of(group->rank())).square().sum().backward();
    for (const Tensor& p : net->parameters()) out.by_rank[rank].push_back(p.grad().clone());
    net->zero_grad();
    DistributedDataParallel ddp(net, Options(options).process_group(group));
    if (hook) ddp.register_comm_hook(hook);
    const int64_t before = group->bytes_sent();
    ddp(batch_of(group->rank())).square().sum().backward();
    if (rank != 0) return;
    out.bytes = group->bytes_sent() - before;
    for (const Tensor& p : net->parameters()) out.averaged.push_back(p.grad().clone());
  });
  return out;
}

/// Majority vote: returns the sign of the sum of the ranks' signs. Waits for the all-reduce only when backward ends.
CommFuture majority_hook(const ProcessGroupPtr& group, const GradBucket& bucket) {
  const Tensor votes = bucket.buffer().sign();
  return CommFuture(group->all_reduce(votes, ReduceOp::SUM, bucket.about()), votes).then([](const Tensor& sum) {
    return sum.sign();
  });
}
CommFuture nothing_hook(const ProcessGroupPtr&, const GradBucket& bucket) {
  return {nullptr, zeros_like(bucket.buffer())};
}

}  // namespace

TEST_CASE("compressing hooks average within the rounding of their type, in half of the bytes",
          "[parallel][ddp][hooks]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  const int ranks = GENERATE(2, 3);
  const bool half = GENERATE(true, false), view = GENERATE(true, false), find = GENERATE(true, false);
  // Skipped: above the transport, these cases run the same code as with the local backend.
  if (backend == "gloo" && (ranks == 2 || view != find)) return;
  INFO(backend << ", " << ranks << " ranks, " << (half ? "float16" : "bfloat16") << ", views " << view);
  const Options options = Options().gradient_as_bucket_view(view).find_unused_parameters(find).bucket_cap_mb(1e-4);
  const Gradients got = gradients_under(half ? nn::parallel::fp16_compress_hook : nn::parallel::bf16_compress_hook,
                                        backend, ranks, options);
  const Gradients exact = gradients_under(nullptr, backend, ranks, options);
  // Each rank's gradient is rounded once, and so is each sum: to 11 or 8 bits. The smallest float16 step is 2^-24.
  const double epsilon = half ? 0x1p-11 : 0x1p-8;
  double largest = 0;
  for (size_t i = 0; i < got.averaged.size(); ++i) {
    Tensor average = zeros_like(got.averaged[i], TensorOptions(kFloat64)), size = average.clone();
    for (const auto& of_rank : got.by_rank) {
      average.add_(of_rank[i].to(kFloat64) * (1.0 / ranks));
      size.add_(of_rank[i].to(kFloat64).abs() * (1.0 / ranks));
    }
    const Tensor error = (got.averaged[i].to(kFloat64) - average).abs();
    const Tensor bound = size * (epsilon * ranks) + ranks * 0x1p-24;
    CHECK((error - bound).max().item<double>() <= 0);
    CHECK(exact.averaged[i].to(kFloat64).allclose(average, 1e-5, 1e-6));
    largest = std::max(largest, error.max().item<double>());
  }
  CHECK(largest > epsilon * 1e-3);  // the result differs, so it was compressed
  // Half the bytes, plus the flags of used parameters, which are not compressed.
  CHECK(got.bytes < 0.65 * static_cast<double>(exact.bytes));
}

TEST_CASE("allreduce_hook does what is done without a hook, bit for bit", "[parallel][ddp][hooks]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  const bool view = GENERATE(true, false);
  const Options options = Options().gradient_as_bucket_view(view).bucket_cap_mb(1e-4);
  const Gradients with = gradients_under(nn::parallel::allreduce_hook, backend, 3, options),
                  without = gradients_under(nullptr, backend, 3, options);
  for (size_t i = 0; i < with.averaged.size(); ++i) CHECK(with.averaged[i].equal(without.averaged[i]));
}

TEST_CASE("a hook of one's own: the majority of signs, against what the ranks had", "[parallel][ddp][hooks]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  const bool view = GENERATE(true, false);
  const Gradients got = gradients_under(majority_hook, backend, 3, Options().gradient_as_bucket_view(view));
  for (size_t i = 0; i < got.averaged.size(); ++i) {
    Tensor votes = zeros_like(got.averaged[i]);
    for (const auto& of_rank : got.by_rank) votes.add_(of_rank[i].sign());
    CHECK(got.averaged[i].equal(votes.sign()));
  }
}

TEST_CASE("a hook is given each bucket in order, with its gradients and parameters", "[parallel][ddp][hooks]") {
  CHECK(
      find_backend_failure("local", 2, [](const ProcessGroupPtr&) {
        nn::Sequential net = make_net();
        DistributedDataParallel ddp(net, Options().bucket_cap_mb(1e-5));
        std::vector<size_t> order;
        size_t parameters = 0, last = 0;
        ddp.register_comm_hook([&](const ProcessGroupPtr& group, const GradBucket& bucket) {
          order.push_back(bucket.index());
          parameters += bucket.parameters().size();
          last += bucket.is_last();
          const std::string about = "DDP 1: gradients, bucket " + std::to_string(order.size() - 1) + " of 4, from ";
          TANDEM_CHECK(bucket.about().starts_with(about), bucket.about());
          for (size_t i = 0; i < bucket.parameters().size(); ++i) {
            TANDEM_CHECK(bucket.gradients()[i].sizes() == bucket.parameters()[i].sizes(), "sizes");
            TANDEM_CHECK(bucket.gradients()[i].storage() == bucket.buffer().storage(), "not in the buffer");
          }
          return nn::parallel::allreduce_hook(group, bucket);
        });
        ddp(batch_of(0)).sum().backward();
        TANDEM_CHECK(order == (std::vector<size_t>{0, 1, 2, 3}) && parameters == 4 && last == 1, parameters, " ", last);
      }) == "");
}

TEST_CASE("what the ranks used is not lost to a hook", "[parallel][ddp][hooks]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  const CommHook hook = GENERATE(CommHook(nothing_hook), CommHook(nn::parallel::fp16_compress_hook));
  const bool find = GENERATE(true, false);
  const std::string failure = find_backend_failure(backend, 2, [&](const ProcessGroupPtr& group) {
    nn::Linear a(3, 2), b(3, 2);
    nn::ModuleList list(a, b);
    struct NetImpl : nn::Module {
      explicit NetImpl(nn::ModuleList all) : list(register_module("list", std::move(all))) {}
      Tensor forward(const Tensor& x, bool second) {
        const Tensor y = list->at<nn::LinearImpl>(0).forward(x);
        return second ? y + list->at<nn::LinearImpl>(1).forward(x) : y;
      }
      nn::ModuleList list;
    };
    DistributedDataParallel ddp(std::make_shared<NetImpl>(list),
                                Options().process_group(group).find_unused_parameters(find));
    ddp.register_comm_hook(hook);
    ddp(ones({4, 3}), group->rank() == 0).sum().backward();
    const double sum = b->weight.grad().sum().item<double>();
    TANDEM_CHECK(sum == 12 || sum == 0, "b: ", sum);  // b: (4 + 0) / 2 in six elements; 0 under nothing_hook
  });
  if (find)
    CHECK(failure == "");
  else
    CHECK_THAT(failure, Contains("got no gradient: list.1.weight on rank 1; list.1.bias on rank 1; use them"));
}

TEST_CASE("hooks under weights and Join see zeros of ranks that have no batch", "[parallel][ddp][hooks]") {
  std::vector<double> gradients(3);
  CHECK(find_backend_failure("local", 3, [&](const ProcessGroupPtr& group) {
          nn::Linear net(nn::LinearOptions(1, 1).bias(false));
          DistributedDataParallel ddp(net, Options().weighted_average(true));
          ddp.register_comm_hook(nn::parallel::bf16_compress_hook);
          Join join({&ddp});
          for (int step = 0; step <= group->rank(); ++step) {
            net->zero_grad();
            // Step 0: rank 0 has one row of 0, rank 1 one row of 4, rank 2 three rows of 8. Step 1: ranks 1 and 2 only.
            // Step 2: rank 2 only.
            ddp(full({group->rank() == 2 ? 3 : 1, 1}, 4.f * static_cast<float>(group->rank()))).mean().backward();
            const double g = net->weight.grad().item<double>();
            const double expected = step == 0 ? (0 + 4 + 3 * 8) / 5. : step == 1 ? (4 + 3 * 8) / 4. : 8;
            TANDEM_CHECK(std::abs(g - expected) <= expected * 0x1p-7, "step ", step, ": ", g, ", not ", expected);
          }
          join.finish();
        }) == "");
}

TEST_CASE("DDP refuses a second hook, and what is no bucket", "[parallel][ddp][hooks][errors]") {
  const std::string failure = find_backend_failure("local", 2, [](const ProcessGroupPtr& group) {
    nn::Sequential net = make_net();
    DistributedDataParallel ddp(net);
    ddp.register_comm_hook([](const ProcessGroupPtr&, const GradBucket&) { return CommFuture(nullptr, zeros({2})); });
    try {
      ddp.register_comm_hook(majority_hook);
    } catch (const Error& error) {
      const std::string what = error.what();
      TANDEM_CHECK(
          what.find("register_comm_hook or register_builtin_comm_hook can only be called once.") != std::string::npos,
          what);
      group->barrier()->wait();
      ddp(batch_of(0)).sum().backward();
    }
  });
  CHECK_THAT(failure,
             Contains("the hook of bucket 0 returned float32(2,) on cpu") && Contains("accepted: 244 elements"));
}

TEST_CASE("a hook that gives what no gradient can be is named, on every rank", "[parallel][ddp][hooks]") {
  const auto row = GENERATE(table<std::string, std::function<Tensor(const Tensor&)>>({
      {"returned int64(244,) on cpu", [](const Tensor& t) { return t.to(kInt64); }},
      {"returned bool(244,) on cpu", [](const Tensor& t) { return t > 0; }},
      {"returned float32(243,) on cpu", [](const Tensor& t) { return t.narrow(0, 0, 243); }},
      {"returned float32(244, 2) on cpu", [](const Tensor& t) { return t.unsqueeze(1).expand({244, 2}); }},
      {"returned an undefined tensor", [](const Tensor&) { return Tensor(); }},
  }));
  std::vector<std::string> errors(2);
  test::run_with_backend("local", 2, [&](const ProcessGroupPtr& group) {
    nn::Sequential net = make_net();
    DistributedDataParallel ddp(net);
    ddp.register_comm_hook([&](const ProcessGroupPtr& of, const GradBucket& bucket) {
      return nn::parallel::allreduce_hook(of, bucket).then(std::get<1>(row));
    });
    try {
      ddp(batch_of(0)).sum().backward();
    } catch (const Error& error) {
      errors[static_cast<size_t>(group->rank())] = error.what();
    }
  });
  for (const std::string& error : errors)
    CHECK_THAT(error, Contains("the hook of bucket 0 " + std::get<0>(row)) &&
                          Contains("accepted: 244 elements of a floating-point dtype on cpu"));
}

TEST_CASE("a hook that comes later is called in a group of one rank too", "[parallel][ddp][hooks]") {
  const bool view = GENERATE(true, false);
  test::run_with_backend("local", 1, [&](const ProcessGroupPtr&) {
    nn::Sequential net = make_net();
    DistributedDataParallel ddp(net, Options().gradient_as_bucket_view(view).bucket_cap_mb(1e-4));
    const auto gradients = [&] {
      ddp(batch_of(0)).square().sum().backward();
      std::vector<Tensor> all;
      for (const Tensor& p : net->parameters()) all.push_back(p.grad().clone());
      return all;
    };
    const std::vector<Tensor> once = gradients();  // with one rank there is nothing to average
    size_t called = 0;
    ddp.register_comm_hook([&](const ProcessGroupPtr&, const GradBucket& bucket) {
      ++called;
      return CommFuture(nullptr, bucket.buffer() * 3.0);
    });
    const std::vector<Tensor> added = gradients();  // accumulates into the gradients of the first backward
    CHECK(called == ddp.reducer().buckets().size());
    CHECK(called > 1);
    for (size_t i = 0; i < once.size(); ++i) CHECK(added[i].equal((once[i] + once[i]) * 3.0));
    net->zero_grad();
    const std::vector<Tensor> alone = gradients();
    for (size_t i = 0; i < once.size(); ++i) CHECK(alone[i].equal(once[i] * 3.0));
  });
}
