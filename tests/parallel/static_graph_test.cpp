// Tests DistributedDataParallel on graphs that are the same in each step: static_graph, and buckets rebuilt in the
// order in which gradients arrive.
#include "tandem/autograd/function.h"
#include "tandem/parallel/reducer.h"
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

/// Runs a layer without recording it. Its backward runs the layer again, followed by a nested backward.
struct Reentrant : autograd::Function<Reentrant> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x, nn::Linear layer) {
    ctx->save_for_backward({x});
    ctx->saved_data["layer"] = reinterpret_cast<int64_t>(layer.get());
    const NoGradGuard guard;
    return layer(x);
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx, const autograd::variable_list& grads) {
    const EnableGradGuard guard;
    const Tensor x = ctx->get_saved_variables()[0].detach().requires_grad_();
    auto* const layer = reinterpret_cast<nn::LinearImpl*>(ctx->saved_data["layer"].toInt());
    autograd::backward({layer->forward(x)}, {grads[0]});
    return {x.grad(), Tensor()};
  }
};
/// Applies one layer twice, directly or through Reentrant.
struct TwiceImpl : nn::Module {
  Tensor forward(const Tensor& x, bool reentrant) {
    const auto run = [&](const Tensor& t) { return reentrant ? Reentrant::apply(t, layer) : layer(t); };
    return out(run(run(x).tanh()));
  }
  nn::Linear layer = register_module("layer", nn::Linear(3, 3)), out = register_module("out", nn::Linear(3, 1));
};
TANDEM_MODULE(Twice);

Tensor input(int rank) { return (arange(12, TensorOptions(kFloat32)).view({4, 3}) * (0.3 + rank)).sin(); }

}  // namespace

TEST_CASE("static_graph: parameters may go unused, and only the first backward has more to send",
          "[parallel][ddp][static]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  const bool view = GENERATE(true, false);
  INFO(backend << ", views " << view);
  CHECK(find_backend_failure(backend, 3, [&](const ProcessGroupPtr& group) {
          manual_seed(1);
          SideBySide net(3);
          const auto use = [](int rank) { return std::string(rank == 1 ? "ab" : "a"); };
          DistributedDataParallel ddp(
              net, Options().process_group(group).static_graph(true).gradient_as_bucket_view(view).bucket_cap_mb(1e-5));
          std::vector<int64_t> bytes;
          for (int step = 0; step < 4; ++step) {
            // Sum of the gradients of the ranks' own backwards, added in rank order
            std::vector<Tensor> expected(6);
            for (int rank = 0; rank < 3; ++rank) {
              net->zero_grad();
              for (Tensor& p : net->parameters()) p.set_grad({});
              const auto guard = ddp.no_sync();
              autograd::variable_list parameters = net->parameters();
              const auto grads =
                  autograd::grad({net->forward(input(rank + step), use(rank)).sum()}, parameters, {}, {}, false, true);
              for (size_t i = 0; i < 6; ++i)
                if (grads[i].defined()) expected[i] = expected[i].defined() ? expected[i] + grads[i] : grads[i];
            }
            const int64_t before = group->bytes_sent();
            ddp(input(group->rank() + step), use(group->rank())).sum().backward();
            bytes.push_back(group->bytes_sent() - before);
            const auto& parameters = net->parameters();
            for (size_t i = 0; i < 6; ++i) {
              TANDEM_CHECK(parameters[i].grad().defined() == (i < 4), "parameter ", i);
              if (i < 4)
                TANDEM_CHECK(parameters[i].grad().allclose(expected[i] / 3.0, 1e-5, 1e-6), "step ", step,
                             ", parameter ", i, ": ", parameters[i].grad(), expected[i] / 3.0);
            }
          }
          // The second forward exchanges the order of gradients. Later steps send the gradients and one element only.
          TANDEM_CHECK(bytes[0] > bytes[2] && bytes[2] == bytes[3], bytes[0], " ", bytes[2], " ", bytes[3]);
        }) == "");
}

TEST_CASE("static_graph: what no rank uses keeps its gradient", "[parallel][ddp][static]") {
  const bool view = GENERATE(true, false);
  CHECK(find_backend_failure("local", 3, [&](const ProcessGroupPtr&) {
          SideBySide net(3);
          const Tensor before = full({2, 3}, 0.1f) + arange(6).view({2, 3}) * 0.7f;
          (*net)['c']->weight.set_grad(before.clone());
          DistributedDataParallel ddp(net, Options().static_graph(true).gradient_as_bucket_view(view));
          for (int step = 0; step < 3; ++step) ddp(input(0), "ab").sum().backward();
          TANDEM_CHECK((*net)['c']->weight.grad().equal(before), (*net)['c']->weight.grad());
        }) == "");
}

TEST_CASE("static_graph: a change of the graph is an error that names the parameter",
          "[parallel][ddp][static][errors]") {
  const auto changed = [](const std::string& first, const std::string& later, int who) {
    std::vector<std::string> errors(2);
    const std::string thrown = find_backend_failure("local", 2, [&](const ProcessGroupPtr& group) {
      SideBySide net(3);
      DistributedDataParallel ddp(net, Options().static_graph(true));
      for (int step = 0; step < 3; ++step) try {
          ddp(input(0), step == 2 && (who < 0 || who == group->rank()) ? later : first).sum().backward();
        } catch (const Error& error) {
          errors[static_cast<size_t>(group->rank())] = error.what();
          if (step < 2) throw;
        }
    });
    CHECK(thrown == "");
    return errors;
  };
  for (const std::string& error : changed("ab", "a", 1))  // both ranks report the change
    CHECK_THAT(error,
               Contains("Your training graph has changed in this iteration, which static_graph does not allow: these "
                        "parameters got fewer or more gradients than in the first backward: b.weight on rank 1; "
                        "b.bias on rank 1"));
  for (const std::string& error : changed("ab", "abc", -1))
    CHECK_THAT(error,
               Contains("Your training graph has changed in this iteration, which static_graph does not allow: c.") &&
                   Contains("got 1 gradients in this backward, but 0 in the first"));
}

TEST_CASE("static_graph: backwards inside backward bring a parameter several gradients", "[parallel][ddp][static]") {
  const bool view = GENERATE(true, false);
  const auto gradients = [view](bool reentrant, bool is_static) {
    std::vector<std::vector<Tensor>> all(3);
    const std::string failure = find_backend_failure("local", 2, [&](const ProcessGroupPtr& group) {
      manual_seed(4);
      Twice net;
      DistributedDataParallel ddp(net,
                                  Options().static_graph(is_static).gradient_as_bucket_view(view).bucket_cap_mb(1e-5));
      for (size_t step = 0; step < 3; ++step) {
        net->zero_grad();
        ddp(input(group->rank() + static_cast<int>(step)).requires_grad_(), reentrant).square().sum().backward();
        if (group->rank() == 0)
          for (const Tensor& p : net->parameters()) all[step].push_back(p.grad().clone());
      }
    });
    if (is_static || !reentrant)
      CHECK(failure == "");
    else
      CHECK_THAT(failure, Contains("Expected to mark a variable ready only once. layer.") &&
                              Contains("got a second gradient") && Contains("static_graph(true)"));
    return all;
  };
  const auto plain = gradients(false, false), reentrant = gradients(true, true);
  for (size_t step = 0; step < 3; ++step)
    for (size_t i = 0; i < 4; ++i) CHECK(reentrant[step].at(i).allclose(plain[step].at(i), 1e-5, 1e-6));
  gradients(true, false);
}

TEST_CASE("static_graph: a rank without a batch in the first step learns what the others use",
          "[parallel][ddp][static]") {
  CHECK(find_backend_failure("local", 2, [](const ProcessGroupPtr& group) {
          manual_seed(1);
          SideBySide net(3);
          DistributedDataParallel ddp(net, Options().static_graph(true).weighted_average(true).bucket_cap_mb(1e-5));
          for (int step = 0; step < 3; ++step) {
            net->zero_grad();
            if (group->rank() == step)
              ddp.skip_batch();
            else
              ddp(ones({4, 3}), "ab").sum().backward();
            const float rows = 4;
            TANDEM_CHECK((*net)['b']->bias.grad().equal(full({2}, rows)), "step ", step, ": ",
                         (*net)['b']->bias.grad());
            TANDEM_CHECK(!(*net)['c']->bias.grad().defined(), "c");
          }
        }) == "");
}

TEST_CASE("buckets are rebuilt in the order in which gradients came on rank 0", "[parallel][ddp][static]") {
  const bool view = GENERATE(true, false);
  const std::string backend = GENERATE(from_range(test::backends()));
  using Plan = std::vector<std::vector<size_t>>;
  const auto plans = [&](bool find, const std::string& use_0, const std::string& use_1) {
    std::vector<Plan> before(2), after(2);
    CHECK(find_backend_failure(backend, 2, [&](const ProcessGroupPtr& group) {
            const auto rank = static_cast<size_t>(group->rank());
            SideBySide net(3);
            DistributedDataParallel ddp(
                net,
                Options().process_group(group).find_unused_parameters(find).gradient_as_bucket_view(view).bucket_cap_mb(
                    1e-5));
            before[rank] = ddp.reducer().buckets();
            const std::string use = rank == 0 ? use_0 : use_1;
            ddp(ones({4, 3}), use).sum().backward();
            const Tensor once = (*net)['a']->bias.grad().clone();
            // Adds to the gradients that were there when the buckets were rebuilt.
            ddp(ones({4, 3}), use).sum().backward();
            TANDEM_CHECK((*net)['a']->bias.grad().allclose(2 * once), (*net)['a']->bias.grad(), once);
            for (const Tensor& p : net->parameters())
              TANDEM_CHECK(reinterpret_cast<uintptr_t>(p.grad().raw_data()) % 16 == 0 || !view, "not in a bucket");
            after[rank] = ddp.reducer().buckets();
          }) == "");
    CHECK(before[0] == before[1]);
    CHECK(after[0] == after[1]);
    return std::pair(before[0], after[0]);
  };
  // Each parameter has its own bucket: a.weight is 0, a.bias 1, b.weight 2, ...
  const auto [first, same] = plans(false, "abc", "abc");
  CHECK(first == Plan{{5}, {4}, {3}, {2}, {1}, {0}});
  const auto layers_of = [](const Plan& plan) {
    std::vector<size_t> layers;
    for (const auto& bucket : plan) layers.push_back(bucket[0] / 2);
    return layers;
  };
  CHECK(layers_of(same) == std::vector<size_t>{2, 2, 1, 1, 0, 0});
  // Rank 1 takes over rank 0's order.
  CHECK(layers_of(plans(false, "cab", "abc").second) == std::vector<size_t>{1, 1, 0, 0, 2, 2});
  CHECK(plans(true, "cab", "cab").second == first);
}
