// Tests which backwards DistributedDataParallel averages: those through its own outputs, but not those through the
// wrapped module called directly ("bare").
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

nn::Sequential small_net() {
  manual_seed(5);
  nn::Sequential net(nn::Linear(3, 4), nn::Tanh(), nn::Linear(4, 2));
  net->to(kFloat64);
  return net;
}
Tensor rows_of(int rank, int salt = 0) {
  return (arange(12, TensorOptions(kFloat64)).view({4, 3}) * (0.3 + rank) + salt).sin();
}
using Grads = std::vector<Tensor>;
Grads clone_gradients(const nn::Module& net) {
  Grads out;
  for (const Tensor& p : net.parameters()) out.push_back(p.grad().defined() ? p.grad().clone() : Tensor());
  return out;
}
/// Returns the gradients of a rank's loss, computed on the bare module without communication.
using Loss = std::function<Tensor(const std::function<Tensor(const Tensor&)>& net, int rank)>;
Grads alone(const Loss& loss, int rank) {
  nn::Sequential net = small_net();
  loss([&](const Tensor& x) { return net(x); }, rank).backward();
  return clone_gradients(*net);
}
Grads mean_of(const Loss& loss, int ranks) {
  Grads sum = alone(loss, 0);
  for (int r = 1; r < ranks; ++r) {
    const Grads more = alone(loss, r);
    for (size_t i = 0; i < sum.size(); ++i)
      if (sum[i].defined()) sum[i].add_(more[i]);
  }
  for (Tensor& each : sum)
    if (each.defined()) each.mul_(1.0 / ranks);
  return sum;
}
void check_equal(const char* what, const Grads& found, const Grads& expected) {
  for (size_t i = 0; i < expected.size(); ++i)
    TANDEM_CHECK(found[i].defined() && found[i].allclose(expected[i], 1e-12, 1e-14), what, ": gradient ", i, " is ",
                 found[i], ", not ", expected[i]);  // tolerance for float64 sums of two terms
}
Tensor plain_loss(const std::function<Tensor(const Tensor&)>& net, int rank) {
  return net(rows_of(rank)).square().sum();
}

struct Modes {
  bool view, find_unused, is_static;
  Options options(const ProcessGroupPtr& group) const {
    return Options()
        .process_group(group)
        .gradient_as_bucket_view(view)
        .find_unused_parameters(find_unused)
        .static_graph(is_static)
        .bucket_cap_mb(1e-5);
  }
};
Modes all_modes() {
  return GENERATE(Modes{true, false, false}, Modes{false, false, false}, Modes{true, true, false},
                  Modes{false, true, false}, Modes{true, false, true}, Modes{false, false, true});
}

}  // namespace

TEST_CASE("a backward of the module itself is each rank's own affair", "[parallel][ddp][bare]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  const Modes modes = all_modes();
  if (backend == "gloo" && !modes.view) return;
  INFO(backend << ", views " << modes.view << ", unused " << modes.find_unused << ", static " << modes.is_static);
  CHECK(find_backend_failure(backend, 2, [&](const ProcessGroupPtr& group) {
          const int rank = group->rank();
          nn::Sequential net = small_net();
          DistributedDataParallel ddp(net, modes.options(group));
          const auto bare = [&](const char* when) {
            net->zero_grad();
            if (rank == 0) plain_loss([&](const Tensor& x) { return net(x); }, rank).backward();
            if (rank == 0) check_equal(when, clone_gradients(*net), alone(plain_loss, 0));
            net->zero_grad();
          };
          const auto step = [&](const char* when) {
            plain_loss([&](const Tensor& x) { return ddp(x); }, rank).backward();
            check_equal(when, clone_gradients(*net), mean_of(plain_loss, 2));
          };
          bare("right after wrapping");
          step("the first step");
          bare("after a step, on rank 0 alone");
          step("the step after it");
          {
            const auto guard = ddp.no_sync();
            plain_loss([&](const Tensor& x) { return ddp(x); }, rank).backward();
          }
          bare("after a backward under no_sync");
          step("the last step");
          TANDEM_CHECK(ddp.reducer().iterations() == 3, ddp.reducer().iterations(), " backwards were synchronized");
        }) == "");
}

TEST_CASE("a bare backward between forward and backward adds to the rank's gradients", "[parallel][ddp][bare]") {
  const Modes modes = all_modes();
  const Loss other = [](const auto& net, int rank) { return net(rows_of(rank, 7)).exp().sum(); };
  CHECK(find_backend_failure("local", 2, [&](const ProcessGroupPtr& group) {
          const int rank = group->rank();
          nn::Sequential net = small_net();
          DistributedDataParallel ddp(net, modes.options(group));
          for (int step = 0; step < 3; ++step) {
            net->zero_grad();
            const Tensor loss = plain_loss([&](const Tensor& x) { return ddp(x); }, rank);
            other([&](const Tensor& x) { return net(x); }, rank).backward();
            check_equal("before the backward", clone_gradients(*net), alone(other, rank));
            loss.backward();
            Grads both = mean_of(plain_loss, 2);
            const Grads more = mean_of(other, 2);
            for (size_t i = 0; i < both.size(); ++i) both[i].add_(more[i]);
            check_equal("after it", clone_gradients(*net), both);  // the bare gradients are added, as under no_sync
          }
        }) == "");
}

TEST_CASE("a backward through an output averages, whatever is between", "[parallel][ddp][bare]") {
  const Modes modes = all_modes();
  const auto through = GENERATE(as<size_t>(), 0, 1, 2, 3, 4, 5, 6, 7);
  using Net = std::function<Tensor(const Tensor&)>;
  // Each loss is given the wrapper and the bare module.
  const std::vector<std::function<Tensor(const Net& ddp, const Net& net, int rank)>> losses = {
      [](const Net& ddp, const Net&, int rank) { return (ddp(rows_of(rank)) + ddp(rows_of(rank, 3))).exp().sum(); },
      [](const Net& ddp, const Net& net, int rank) { return (ddp(rows_of(rank)) * net(rows_of(rank, 3))).sum(); },
      [](const Net& ddp, const Net& net, int rank) { return (net(rows_of(rank, 3)) * ddp(rows_of(rank))).sum(); },
      [](const Net& ddp, const Net&, int rank) { return ddp(rows_of(rank)).relu_().sum(); },
      [](const Net& ddp, const Net&, int rank) {
        return nn::utils::checkpoint([ddp](const Tensor& x) { return ddp(x).square(); }, rows_of(rank)).sum();
      },
      [](const Net& ddp, const Net&, int rank) {  // a gradient penalty without another loss
        const Tensor x = rows_of(rank).requires_grad_();
        const Tensor dx = autograd::grad({ddp(x).sum()}, {x}, {}, {}, /*create_graph=*/true)[0];
        return dx.square().sum();
      },
      [](const Net& ddp, const Net&, int rank) {  // a gradient penalty added to the loss
        const Tensor x = rows_of(rank).requires_grad_(), y = ddp(x);
        const Tensor dx = autograd::grad({y.square().sum()}, {x}, {}, {}, /*create_graph=*/true)[0];
        return dx.square().sum() + y.sum();
      },
      [](const Net& ddp, const Net&, int rank) {  // several ops between the wrapper's output and the loss
        return ddp(nn::Identity()(rows_of(rank))).narrow(1, 0, 1).exp().mean();
      },
  };
  const auto& loss = losses[through];
  const bool last_unused = through == 5;  // loss 5 gives the last layer's bias no gradient
  if (last_unused && !modes.find_unused && !modes.is_static) return;
  INFO("loss " << through << ", views " << modes.view << ", unused " << modes.find_unused << ", static "
               << modes.is_static);
  const Loss by_itself = [&](const Net& net, int rank) { return loss(net, net, rank); };
  CHECK(find_backend_failure("local", 2, [&](const ProcessGroupPtr& group) {
          nn::Sequential net = small_net();
          DistributedDataParallel ddp(net, modes.options(group));
          Grads expected = mean_of(by_itself, 2);
          for (int step = 0; step < 3; ++step) {
            net->zero_grad();
            const Tensor value =
                loss([&](const Tensor& x) { return ddp(x); }, [&](const Tensor& x) { return net(x); }, group->rank());
            value.backward(/*gradient=*/{}, /*retain_graph=*/true);
            Grads found = clone_gradients(*net);
            if (last_unused) found.pop_back(), expected.resize(found.size());
            check_equal("once", found, expected);
            net->zero_grad();
            value.backward();
            found = clone_gradients(*net);
            check_equal("and again, of a graph that was kept", found, expected);
          }
        }) == "");
}

namespace {
/// Returns a view, which the caller may modify in place, and also stores a loss as a member.
struct ViewsImpl : nn::Module {
  Tensor forward(const Tensor& x) { return fc(x).view({-1}); }
  nn::Linear fc = register_module("fc", nn::Linear(3, 2));
};
TANDEM_MODULE(Views);
struct Hidden {
  Tensor loss;  // has no tensor_parts(), so DistributedDataParallel cannot find this tensor in the output
};
struct HiddenOutputImpl : nn::Module {
  Hidden forward(const Tensor& x) { return {fc(x).square().sum()}; }
  nn::Linear fc = register_module("fc", nn::Linear(3, 2));
};
TANDEM_MODULE(HiddenOutput);
struct ReturnsWeightImpl : nn::Module {
  std::tuple<Tensor, Tensor> forward(const Tensor& x) { return {fc(x), fc->weight}; }
  nn::Linear fc = register_module("fc", nn::Linear(3, 2));
};
TANDEM_MODULE(ReturnsWeight);

/// Returns true if all ranks have equal gradients, although their inputs differ.
bool agree(const ProcessGroupPtr& group, const nn::Linear& fc) {
  const std::vector<Tensor> all = {empty({2, 3}), empty({2, 3})};
  group->all_gather(all, fc->weight.grad())->synchronize();
  return all[0].equal(all[1]);
}
}  // namespace

TEST_CASE("outputs that are changed in place, hidden, or leaves average too", "[parallel][ddp][bare]") {
  CHECK(find_backend_failure("local", 2, [&](const ProcessGroupPtr& group) {
          const Tensor x = rows_of(group->rank()).to(kFloat32);
          Views views;
          DistributedDataParallel of_views(views);
          Tensor y = of_views(x);
          y.mul_(2).add_(1);
          y.square().sum().backward();
          TANDEM_CHECK(agree(group, views->fc), "a view that is changed in place");
          HiddenOutput hidden;
          DistributedDataParallel of_hidden(hidden);
          of_hidden(x).loss.backward();
          TANDEM_CHECK(agree(group, hidden->fc), "a struct without tensor_parts()");
          ReturnsWeight leaf;
          DistributedDataParallel of_leaf(leaf, Options().find_unused_parameters(true));
          (std::get<1>(of_leaf(x)) * x[0]).sum().backward();
          TANDEM_CHECK(agree(group, leaf->fc), "a parameter");
          leaf->zero_grad();
          std::get<0>(of_leaf(x)).square().sum().backward();
          TANDEM_CHECK(agree(group, leaf->fc), "what is returned beside it");
        }) == "");
}

TEST_CASE("a backward that throws leaves nothing to the next", "[parallel][ddp][bare]") {
  const bool view = GENERATE(true, false), weighted = GENERATE(true, false);
  CHECK(find_backend_failure("local", 2, [&](const ProcessGroupPtr& group) {
          const int rank = group->rank();
          nn::Sequential net = small_net();
          DistributedDataParallel ddp(
              net, Options().gradient_as_bucket_view(view).weighted_average(weighted).bucket_cap_mb(1e-5));
          const Tensor x = rows_of(rank);
          const auto fails = [&](const std::function<void()>& backward, const char* with) {
            std::string what;
            try {
              backward();
            } catch (const std::exception& error) {
              what = error.what();
            }
            TANDEM_CHECK(what.find(with) != std::string::npos, "it says '", what, "'");
          };
          // A hook that throws stops this backward before it reaches the first layer. A bare backward afterwards must
          // not continue it.
          const Tensor y = ddp(x);
          const unsigned hook = net->at<nn::LinearImpl>(0).weight.register_hook(
              [](const Tensor&) -> Tensor { TANDEM_FAIL("a hook that throws"); });
          fails([&] { y.square().sum().backward(); }, "a hook that throws");
          net->at<nn::LinearImpl>(0).weight.remove_hook(hook);
          group->barrier()->wait();
          net->zero_grad();
          plain_loss([&](const Tensor& in) { return net(in); }, rank).backward();
          check_equal("a bare backward after it", clone_gradients(*net), alone(plain_loss, rank));
          net->zero_grad();
          for (int step = 0; step < 3; ++step) {
            net->zero_grad();
            plain_loss([&](const Tensor& in) { return ddp(in); }, rank).backward();
            check_equal("a step after it", clone_gradients(*net), mean_of(plain_loss, 2));
          }
        }) == "");
}

TEST_CASE("a first backward that names unused parameters leaves the order of buckets whole", "[parallel][ddp][bare]") {
  CHECK(find_backend_failure("local", 2, [&](const ProcessGroupPtr& group) {
          const int rank = group->rank();
          SideBySide net(2);
          DistributedDataParallel ddp(net, Options().bucket_cap_mb(1e-5));
          std::string what;
          try {
            ddp(rows_of(rank).to(kFloat32), "a").sum().backward();
          } catch (const Error& error) {
            what = error.what();
          }
          TANDEM_CHECK(what.find("got no gradient") != std::string::npos, what);
          for (int step = 0; step < 3; ++step) {
            net->zero_grad();
            ddp(rows_of(rank).to(kFloat32), "ab").square().sum().backward();
            TANDEM_CHECK(agree(group, (*net)['a']) && agree(group, (*net)['b']), "step ", step);
            int64_t bytes = 0;
            for (const int64_t of_bucket : ddp.reducer().bucket_sizes()) bytes += of_bucket;
            // Each gradient has one place in the buckets.
            TANDEM_CHECK(bytes == 2 * (6 + 2) * 4, "step ", step, ": buckets of ", bytes, " bytes");
          }
        }) == "");
}

TEST_CASE("gradients that were dropped do not count as used", "[parallel][ddp][bare]") {
  CHECK(find_backend_failure("local", 2, [&](const ProcessGroupPtr& group) {
          const int rank = group->rank();
          SideBySide net(2);
          DistributedDataParallel ddp(net, Options().find_unused_parameters(true));
          const Tensor x = rows_of(rank).to(kFloat32);
          if (rank == 0) net->forward(x, "b").sum().backward();  // for example a validation loss on one rank
          net->zero_grad();
          ddp(x, "a").sum().backward();
          TANDEM_CHECK(!(*net)['b']->weight.grad().defined(), "no rank used b in this step");
        }) == "");
}
