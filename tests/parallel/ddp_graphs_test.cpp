// Tests DistributedDataParallel on graphs other than one forward and one backward: the gradients that a backward is
// expected to produce, the gradients it must not change, their storage, and the checks between ranks.
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/ranks.h"
#include "tandem/tests/parallel/side_by_side.h"

using namespace tandem;
using distributed::ProcessGroupPtr;
using nn::parallel::DistributedDataParallel;
using test::find_backend_failure;
using test::SideBySide;
using Options = nn::parallel::DistributedDataParallelOptions;

namespace {

void require_gradients(nn::Module& net, bool on) {
  for (Tensor& p : net.parameters()) p.requires_grad_(on);
}
Tensor batch() { return ones({4, 3}); }

}  // namespace

TEST_CASE("DDP: a gradient under create_graph has no history, and keeps no graph", "[parallel][ddp]") {
  const bool view = GENERATE(true, false);
  CHECK(find_backend_failure("local", 1, [view](const ProcessGroupPtr&) {
          nn::Linear net(3, 2);
          DistributedDataParallel ddp(net, Options().gradient_as_bucket_view(view));
          std::weak_ptr<autograd::Node> graph;
          for (int step = 0; step < 2; ++step) {
            const Tensor y = ddp(batch()).square();
            graph = y.grad_fn();
            y.sum().backward({}, {}, /*create_graph=*/true);  // the second backward adds to the first gradient
            TANDEM_CHECK(!net->weight.grad().requires_grad(), "a gradient has a history");
          }
          TANDEM_CHECK(graph.expired(), "the graph lives on");
        }) == "");
}

TEST_CASE("DDP leaves a gradient that no rank adds to as it is, to the last bit", "[parallel][ddp]") {
  const bool view = GENERATE(true, false);
  CHECK(find_backend_failure(
            "local", 3, [view](const ProcessGroupPtr&) {  // with three ranks, averaging equal values would round them
              SideBySide net(2);
              DistributedDataParallel ddp(net, Options().find_unused_parameters(true).gradient_as_bucket_view(view));
              const Tensor before = full({2, 3}, 0.1f) + arange(6).view({2, 3}) * 0.7f;
              (*net)['b']->weight.set_grad(before.clone());
              ddp(batch(), "b").sum().backward();  // with gradient views, this gradient now lies in a bucket
              const Tensor averaged = (*net)['b']->weight.grad().clone();
              for (int step = 0; step < 2; ++step) ddp(batch(), "a").sum().backward();
              TANDEM_CHECK((*net)['b']->weight.grad().equal(averaged), (*net)['b']->weight.grad(), averaged);
              require_gradients(*(*net)['b'], false);
              for (int step = 0; step < 2; ++step) ddp(batch(), "ab").sum().backward();
              TANDEM_CHECK((*net)['b']->weight.grad().equal(averaged), (*net)['b']->weight.grad(), averaged);
              require_gradients(*(*net)['b'], true);
              ddp(batch(), "ab").sum().backward();
              TANDEM_CHECK((*net)['b']->weight.grad().allclose(averaged + 4), (*net)['b']->weight.grad(), averaged);
            }) == "");
}

TEST_CASE("DDP: gradients of their own equal those in buckets, and stay when the next are computed",
          "[parallel][ddp]") {
  const auto train = [](bool view) {
    std::vector<Tensor> result;
    test::run_with_backend("local", 2, [&](const ProcessGroupPtr& group) {
      manual_seed(5);
      SideBySide net(2);
      DistributedDataParallel ddp(
          net, Options().find_unused_parameters(true).gradient_as_bucket_view(view).bucket_cap_mb(1e-5));
      optim::SGD optimizer(net->parameters(), 0.1);
      Tensor kept, copy;
      const auto backward = [&](int step) {
        const Tensor x = batch() * (0.3 + group->rank() + step);
        ddp(x, group->rank() == step % 2 ? "ab" : "a").square().sum().backward();
      };
      for (int step = 0; step < 3; ++step) {
        optimizer.zero_grad();
        {
          const auto guard = ddp.no_sync();
          backward(step);
        }
        backward(step + 1);
        optimizer.step();
        if (kept.defined() && !view) TANDEM_CHECK(kept.equal(copy), "a kept gradient changed");
        kept = (*net)['a']->weight.grad(), copy = kept.clone();
      }
      if (group->rank() == 0)
        for (const Tensor& p : net->parameters()) result.push_back(p.detach().clone());
    });
    return result;
  };
  const std::vector<Tensor> views = train(true), others = train(false);
  for (size_t i = 0; i < views.size(); ++i) CHECK(views[i].equal(others[i]));
}

TEST_CASE("DDP does not exchange what is frozen, and ranks that freeze different things hear of it",
          "[parallel][ddp]") {
  CHECK(find_backend_failure("local", 2, [](const ProcessGroupPtr& group) {
          SideBySide net(2);
          DistributedDataParallel ddp(net, Options().bucket_cap_mb(1e-5));  // a bucket for each parameter
          require_gradients(*(*net)['b'], false);
          const int64_t before = group->bytes_sent();
          ddp(batch(), "ab").sum().backward();
          // Each of the two ranks sends the 6 + 2 gradient elements of a and one element that tells whether all
          // parameters were used. Chunks are rounded to 16 bytes, which may add 2 elements.
          TANDEM_CHECK(group->bytes_sent() - before <= 2 * 4 * (8 + 2 + 1), group->bytes_sent() - before);
          require_gradients(*net, false);
          const Tensor x = batch().clone().requires_grad_();
          const int64_t between = group->bytes_sent();
          ddp(x, "ab").sum().backward();
          TANDEM_CHECK(group->bytes_sent() == between, "a frozen module exchanged something");
        }) == "");
  CHECK_THAT(
      find_backend_failure("local", 2,
                           [](const ProcessGroupPtr& group) {
                             SideBySide net(2);
                             DistributedDataParallel ddp(net);
                             if (group->rank() == 1) (*net)['a']->bias.requires_grad_(false);
                             ddp(batch(), "ab").sum().backward();
                           }),
      Contains("Detected mismatch between collectives on ranks") &&
          Contains("rank 1 calls all_reduce #5 (DDP 1: gradients, bucket 0 of 1, without parameters 1, from b.bias)"));
}

TEST_CASE("DDP refuses a module that changed since it was wrapped, by name", "[parallel][ddp][errors]") {
  const int devices = cpu_device_count();
  set_cpu_device_count(2);
  const auto refused = [](const std::function<void(SideBySide&)>& change) {
    return find_backend_failure("local", 1, [&](const ProcessGroupPtr&) {
      SideBySide net(2);
      (*net)['b']->weight.requires_grad_(false);
      DistributedDataParallel ddp(net);
      change(net);
      ddp(batch(), "ab");
    });
  };
  CHECK_THAT(refused([](SideBySide& net) { net->to(Device("cpu:1")); }),
             Contains("a.weight is on cpu:1, but was on cpu when the module was wrapped; move a module before"));
  CHECK_THAT(
      refused([](SideBySide& net) { net->to(kFloat64); }),
      Contains("a.weight was float32(2, 3) on cpu when the module was wrapped, but is float64(2, 3) on cpu now"));
  CHECK_THAT(refused([](SideBySide& net) { (*net)['b']->weight.requires_grad_(true); }),
             Contains("b.weight requires a gradient now, but was frozen when the module was wrapped"));
  CHECK_THAT(refused([](SideBySide& net) { net->register_module("c", nn::Linear(1, 1)); }),
             Contains("parameter 4 is c.weight, but was missing when the module was wrapped"));
  set_cpu_device_count(devices);
}

TEST_CASE("DDP leaves alone what it is told to ignore", "[parallel][ddp]") {
  const int devices = cpu_device_count();
  set_cpu_device_count(2);
  CHECK(find_backend_failure("local", 2, [](const ProcessGroupPtr& group) {
          const int rank = group->rank();
          SideBySide net(2);
          nn::BatchNorm1d norm(rank + 2);  // has another size on each rank, and is on another device
          norm->to(Device("cpu:1"));
          net->register_module("own", norm);
          (*net)['b']->weight.set_data(full({2, 3}, 1.f + static_cast<float>(rank)));
          DistributedDataParallel ddp(
              net, Options().parameters_to_ignore({"b.weight", "own.weight", "own.bias", "own.running_mean",
                                                   "own.running_var", "own.num_batches_tracked"}));
          ddp(batch() * (rank + 1.0), "ab").sum().backward();
          TANDEM_CHECK((*net)['a']->weight.grad().equal(full({2, 3}, 6.f)), (*net)['a']->weight.grad());
          TANDEM_CHECK((*net)['b']->weight.grad().equal(full({2, 3}, 4.f * static_cast<float>(rank + 1))), "b");
          TANDEM_CHECK((*net)['b']->weight.equal(full({2, 3}, 1.f + static_cast<float>(rank))), (*net)['b']->weight);
          const Tensor bias = (*net)['b']->bias.detach().clone();
          group->broadcast(bias, 0)->wait();
          TANDEM_CHECK(bias.equal((*net)['b']->bias), "the other parameters are rank 0's");
        }) == "");
  set_cpu_device_count(devices);
  CHECK_THAT(find_backend_failure("local", 1,
                                  [](const ProcessGroupPtr&) {
                                    DistributedDataParallel(SideBySide(2), Options().parameters_to_ignore({"b.weigt"}));
                                  }),
             Contains("parameters_to_ignore has b.weigt, which is not a parameter or buffer"));
}

TEST_CASE("ranks whose collectives agree in all but what they are about hear of it", "[parallel][ddp][errors]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  INFO(backend);
  CHECK_THAT(find_backend_failure(backend, 2,
                                  [](const ProcessGroupPtr& group) {
                                    const std::string about = group->rank() == 0 ? "the loss" : "the accuracy";
                                    group->all_reduce(zeros({3}), distributed::ReduceOp::SUM, about)->wait();
                                  }),
             Contains("rank 0 calls all_reduce #2 (the loss) of float32, 3 elements, SUM") &&
                 Contains("rank 1 calls all_reduce #2 (the accuracy)"));
  CHECK_THAT(find_backend_failure(backend, 2,
                                  [](const ProcessGroupPtr& group) {
                                    SideBySide one(2), two(2);
                                    DistributedDataParallel first(one), second(two);
                                    const Tensor y = first(batch(), "ab").sum(), z = second(batch(), "ab").sum();
                                    (group->rank() == 0 ? y : z).backward();
                                    (group->rank() == 0 ? z : y).backward();
                                  }),
             Contains("(DDP 1: gradients, bucket 0 of 1, from b.bias)") &&
                 Contains("(DDP 2: gradients, bucket 0 of 1, from b.bias)"));
}
