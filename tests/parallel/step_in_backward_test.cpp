// Tests optimizer steps made during backward, bucket by bucket, against separate steps: bit for bit. Also tests errors.
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/ranks.h"
#include "tandem/tests/parallel/side_by_side.h"

using namespace tandem;
using distributed::ProcessGroupPtr;
using nn::parallel::CommFuture;
using nn::parallel::DistributedDataParallel;
using nn::parallel::GradBucket;
using nn::parallel::Join;
using nn::parallel::StepInBackward;
using nn::parallel::StepInBackwardOptions;
using test::find_backend_failure;
using test::SideBySide;
using Options = nn::parallel::DistributedDataParallelOptions;

namespace {

const std::vector<std::string> kOptimizers = {"SGD", "Adam", "AdamW", "RMSprop"};
/// An optimizer with three parameter groups. Layer b has its own learning rate.
std::unique_ptr<optim::Optimizer> make_optimizer(const std::string& name, SideBySide& net) {
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{(*net)['a']->weight, (*net)['c']->weight, (*net)['c']->bias});
  groups.emplace_back((*net)['b']->parameters());
  groups.emplace_back(std::vector<Tensor>{(*net)['a']->bias});
  std::unique_ptr<optim::Optimizer> made;
  if (name == "SGD")
    made = std::make_unique<optim::SGD>(groups, optim::SGDOptions(0.1).momentum(0.9).weight_decay(0.01));
  if (name == "Adam") made = std::make_unique<optim::Adam>(groups, optim::AdamOptions(0.05).amsgrad(true));
  if (name == "AdamW") made = std::make_unique<optim::AdamW>(groups, optim::AdamWOptions(0.05).weight_decay(0.1));
  if (name == "RMSprop") made = std::make_unique<optim::RMSprop>(groups, optim::RMSpropOptions(0.02).momentum(0.5));
  made->param_groups()[1].options().set_lr(0.03);
  return made;
}
Tensor input(int rank, int64_t step, int64_t rows = 4) {
  return (arange(3 * rows, TensorOptions(kFloat32)).view({rows, 3}) * (0.3 + rank + 0.7 * static_cast<double>(step)))
      .sin();
}
/// train(ddp, rank, step, separate) makes one training step. If the optimizer's step is not part of backward,
/// `separate` performs it. trained() returns the parameters and optimizer states of all ranks.
using Train = std::function<void(DistributedDataParallel<SideBySide>&, int rank, int step,
                                 const std::function<void()>& separate)>;
std::vector<std::vector<Tensor>> trained(const std::string& backend, int ranks, const std::string& name,
                                         const Options& options, bool in_backward, bool keep, const Train& train) {
  std::vector<std::vector<Tensor>> all(static_cast<size_t>(ranks));
  std::vector<SideBySide> nets;
  manual_seed(7);
  for (int r = 0; r < ranks; ++r) nets.emplace_back(3);
  test::run_with_backend(backend, ranks, [&](const ProcessGroupPtr& group) {
    const int rank = group->rank();
    SideBySide& net = nets[static_cast<size_t>(rank)];
    DistributedDataParallel ddp(net, Options(options).process_group(group).bucket_cap_mb(1e-5));
    const auto optimizer = make_optimizer(name, net);
    std::optional<StepInBackward> stepping;
    if (in_backward) stepping.emplace(ddp, *optimizer, StepInBackwardOptions().keep_gradients(keep));
    for (int step = 0; step < 4; ++step) {
      train(ddp, rank, step, [&] {
        if (in_backward) return;
        optimizer->step();
        if (!keep) optimizer->zero_grad();
      });
      if (step == 1) optimizer->param_groups()[0].options().set_lr(0.02);
      for (const Tensor& p : net->parameters())
        if (in_backward && !keep) TANDEM_CHECK(!p.grad().defined(), "a gradient is left");
    }
    std::vector<Tensor>& out = all[static_cast<size_t>(rank)];
    for (const Tensor& p : net->parameters()) out.push_back(p.detach().clone());
    for (const auto& [key, tensor] : optimizer->state()) out.push_back(tensor.clone());
    if (keep)
      for (const Tensor& p : net->parameters())
        if (p.grad().defined()) out.push_back(p.grad().clone());
  });
  return all;
}
void check_same_bits(const std::string& backend, int ranks, const std::string& name, const Options& options, bool keep,
                     const Train& train) {
  const auto separate = trained(backend, ranks, name, options, false, keep, train),
             in_backward = trained(backend, ranks, name, options, true, keep, train);
  for (size_t r = 0; r < separate.size(); ++r) {
    REQUIRE(in_backward[r].size() == separate[r].size());
    for (size_t i = 0; i < separate[r].size(); ++i) CHECK(in_backward[r][i].equal(separate[r][i]));
  }
}

}  // namespace

TEST_CASE("StepInBackward makes the optimizer's step, to the last bit", "[parallel][ddp][step]") {
  const std::string backend = GENERATE(from_range(test::backends())), name = GENERATE(from_range(kOptimizers));
  const int ranks = GENERATE(1, 2, 3);
  const bool view = GENERATE(true, false), keep = GENERATE(true, false);
  // Skipped: above the transport, these cases run the same code as with the local backend.
  if (backend == "gloo" && (ranks != 2 || view != keep)) return;
  INFO(backend << ", " << ranks << " ranks, " << name << ", views " << view << ", gradients kept " << keep);
  check_same_bits(backend, ranks, name, Options().gradient_as_bucket_view(view), keep,
                  [](auto& ddp, int rank, int step, const auto& separate) {
                    ddp(input(rank, step), "abc").square().sum().backward();
                    separate();
                  });
}

TEST_CASE("StepInBackward where parameters go unused, or each step is the same graph", "[parallel][ddp][step]") {
  const std::string name = GENERATE(from_range(kOptimizers));
  const bool view = GENERATE(true, false), is_static = GENERATE(true, false);
  check_same_bits("local", 2, name,
                  Options().gradient_as_bucket_view(view).static_graph(is_static).find_unused_parameters(!is_static),
                  /*keep=*/false, [is_static](auto& ddp, int rank, int step, const auto& separate) {
                    const std::string use = rank == 0 ? "ab" : step % 2 == 0 || is_static ? "a" : "ca";
                    ddp(input(rank, step), use).square().sum().backward();
                    separate();
                  });
}

TEST_CASE("StepInBackward: no step under no_sync, and one for what adds up there", "[parallel][ddp][step]") {
  const bool view = GENERATE(true, false);
  check_same_bits("local", 2, "Adam", Options().gradient_as_bucket_view(view), /*keep=*/false,
                  [](auto& ddp, int rank, int step, const auto& separate) {
                    {
                      const auto guard = ddp.no_sync();
                      const Tensor before = (*ddp.module())['a']->weight.detach().clone();
                      ddp(input(rank, step), "abc").square().sum().backward();
                      TANDEM_CHECK(before.equal((*ddp.module())['a']->weight), "a step under no_sync");
                    }
                    ddp(input(rank, step + 9), "abc").square().sum().backward();
                    separate();
                  });
}

TEST_CASE("StepInBackward with weights: ranks without a batch make the step too", "[parallel][ddp][step]") {
  const bool view = GENERATE(true, false);
  check_same_bits("local", 3, "AdamW", Options().gradient_as_bucket_view(view).weighted_average(true), /*keep=*/false,
                  [](auto& ddp, int rank, int step, const auto& separate) {
                    if (rank == step)
                      ddp.skip_batch();
                    else
                      ddp(input(rank, step, 2 + 3 * rank), "abc").square().mean().backward();
                    separate();
                  });
}

TEST_CASE("StepInBackward: what a gradient that is not averaged brings is in the step too", "[parallel][ddp][step]") {
  // c.weight is not averaged; b.weight is frozen in every second step, with a gradient set by hand.
  const bool view = GENERATE(true, false);
  const Options options = Options().gradient_as_bucket_view(view).parameters_to_ignore({"c.weight"});
  check_same_bits("local", 2, "SGD", options, /*keep=*/false, [](auto& ddp, int rank, int step, const auto& separate) {
    SideBySide& net = ddp.module();
    (*net)['b']->weight.requires_grad_(step % 2 == 0);
    if (step % 2 == 1) (*net)['b']->weight.set_grad(full({2, 3}, 0.5));
    ddp(input(rank, step), "abc").square().sum().backward();
    separate();
  });
}

TEST_CASE("StepInBackward steps a bucket while the next ones are under way", "[parallel][ddp][step]") {
  // The hook result of a later bucket is processed after the first bucket is finished. At that time the parameters
  // of the first bucket have changed, but the parameters of the later bucket have not.
  std::vector<int> seen(2);
  CHECK(find_backend_failure("local", 2, [&](const ProcessGroupPtr& group) {
          SideBySide net(3);
          DistributedDataParallel ddp(net, Options().bucket_cap_mb(1e-5));
          std::vector<Tensor> first;
          ddp.register_comm_hook([&](const ProcessGroupPtr& all, const GradBucket& bucket) {
            const Tensor parameter = bucket.parameters()[0], before = parameter.detach().clone();
            const Tensor of_first = first.empty() ? parameter : first[0];
            if (first.empty()) first = {parameter, before};
            return nn::parallel::allreduce_hook(all, bucket).then([=, &seen, rank = group->rank()](const Tensor& sum) {
              TANDEM_CHECK(parameter.equal(before), "a step before the average");
              if (!of_first.is_same(parameter)) seen[static_cast<size_t>(rank)] += !of_first.equal(first[1]);
              return sum;
            });
          });
          optim::SGD optimizer(net->parameters(), 0.1);
          const StepInBackward stepping(ddp, optimizer);
          ddp(input(group->rank(), 0), "abc").square().sum().backward();
        }) == "");
  CHECK(seen == std::vector<int>{5, 5});  // six buckets: the last five see the first one's step
}

TEST_CASE("StepInBackward in a Join: ranks that ran out make the others' steps", "[parallel][ddp][step][uneven]") {
  std::vector<std::vector<Tensor>> with(3), without(3);
  for (auto* const all : {&with, &without}) {
    manual_seed(3);
    std::vector<SideBySide> nets;
    for (int r = 0; r < 3; ++r) nets.emplace_back(3);
    CHECK(find_backend_failure("local", 3, [&](const ProcessGroupPtr& group) {
            const int rank = group->rank();
            SideBySide& net = nets[static_cast<size_t>(rank)];
            DistributedDataParallel ddp(net, Options().bucket_cap_mb(1e-5));
            optim::Adam optimizer(net->parameters(), 0.05);
            std::optional<StepInBackward> stepping;
            if (all == &with) stepping.emplace(ddp, optimizer);
            Join join({&ddp});
            for (int step = 0; step < 2 + rank; ++step) {
              ddp(input(rank, step), "abc").square().sum().backward();
              if (all == &with) continue;
              optimizer.step();
              optimizer.zero_grad();
            }
            join.finish();
            for (const Tensor& p : net->parameters()) (*all)[static_cast<size_t>(rank)].push_back(p.detach().clone());
            if (all == &with)  // the optimizer on ranks without batches has made all steps too
              TANDEM_CHECK(optimizer.state()[0].second.item<float>() == 4, "steps: ", optimizer.state()[0].second);
          }) == "");
  }
  for (size_t r = 0; r < 3; ++r)
    for (size_t i = 0; i < 6; ++i) CHECK(with[r].at(i).equal(without[r].at(i)));
}

TEST_CASE("StepInBackward refuses what does not go with it, and ends with its scope", "[parallel][ddp][step][errors]") {
  test::run_with_backend("local", 1, [](const ProcessGroupPtr&) {
    SideBySide net(2), other(1);
    DistributedDataParallel ddp(net), second(other);
    optim::SGD optimizer(net->parameters(), 0.1), another(net->parameters(), 0.1), foreign(other->parameters(), 0.1);
    optim::LBFGS lbfgs(net->parameters(), 1);
    CHECK_THROWS_WITH(StepInBackward(ddp, foreign),
                      Contains("parameter 0 of the optimizer, of (2, 3), is not a parameter of the module of DDP 1"));
    CHECK_THROWS_WITH(StepInBackward(ddp, lbfgs), Contains("a step of LBFGS runs backward several times"));
    {
      const StepInBackward stepping(ddp, optimizer);
      CHECK_THROWS_WITH(optimizer.step(), Contains("DDP 1 already steps this optimizer; do not call step()"));
      CHECK_THROWS_WITH(StepInBackward(ddp, another), Contains("DDP 1 already runs the steps of an optimizer"));
      CHECK_THROWS_WITH(StepInBackward(ddp, optimizer), Contains("DDP 1 already runs the steps of this optimizer"));
    }
    const Tensor before = (*net)['a']->weight.detach().clone();
    ddp(input(0, 0), "ab").sum().backward();
    CHECK(before.equal((*net)['a']->weight));
    optimizer.step();
    CHECK(!before.equal((*net)['a']->weight));
    CHECK_THROWS_WITH(optimizer.step_parameters({4}),
                      Contains("there is no parameter 4; accepted: indices from 0 to 3"));
    StepInBackward after_another(ddp, another);
    // The wrapper may be destroyed before `stepping`.
    auto gone = std::make_unique<DistributedDataParallel<SideBySide>>(SideBySide(1));
    optim::SGD last(gone->module()->parameters(), 0.1);
    const StepInBackward stepping(*gone, last);
    gone.reset();
  });
}
