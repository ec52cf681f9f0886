// Tests state that a step of DistributedDataParallel must not change: gradients that the user keeps or whose parameters
// are frozen, weights, and tensors saved for backward.
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/ranks.h"
#include "tandem/tests/parallel/side_by_side.h"

using namespace tandem;
using distributed::ProcessGroup;
using distributed::ProcessGroupPtr;
using distributed::WorkPtr;
using nn::parallel::DistributedDataParallel;
using test::find_backend_failure;
using test::SideBySide;
using Options = nn::parallel::DistributedDataParallelOptions;

namespace {

Tensor rows_at(int rank, int step) {
  return (arange(12, TensorOptions(kFloat32)).view({4, 3}) * (0.3 + rank) + step).sin();
}
/// Returns both ranks' values of x.
std::vector<Tensor> on_both(const ProcessGroupPtr& group, const Tensor& x) {
  const std::vector<Tensor> all = {empty_like(x), empty_like(x)};
  group->all_gather(all, x)->synchronize();
  return all;
}

/// A collective of two ranks that writes x of shape (2, 3). on_rank tells the ranks that get a result.
struct Collective {
  const char* name;
  std::function<WorkPtr(ProcessGroup&, const Tensor& x)> call;
  bool on_rank[2];
};
std::vector<Collective> num_collectives() {
  const auto like = [](const Tensor& x) { return ones(x.sizes()); };
  return {
      {"all_reduce", [](ProcessGroup& g, const Tensor& x) { return g.all_reduce(x); }, {true, true}},
      {"broadcast", [](ProcessGroup& g, const Tensor& x) { return g.broadcast(x, 0); }, {false, true}},
      {"reduce", [](ProcessGroup& g, const Tensor& x) { return g.reduce(x, 0); }, {true, false}},
      {"all_gather",
       [=](ProcessGroup& g, const Tensor& x) {
         return g.all_gather({x, like(x)}, like(x));
       },
       {true, true}},
      {"all_gather_into_tensor",
       [](ProcessGroup& g, const Tensor& x) {
         return g.all_gather_into_tensor(x, ones({1, 3}));
       },
       {true, true}},
      {"reduce_scatter",
       [=](ProcessGroup& g, const Tensor& x) {
         return g.reduce_scatter(x, {like(x), like(x)});
       },
       {true, true}},
      {"reduce_scatter_tensor",
       [](ProcessGroup& g, const Tensor& x) {
         return g.reduce_scatter_tensor(x, ones({4, 3}));
       },
       {true, true}},
      {"gather",
       [=](ProcessGroup& g, const Tensor& x) {
         return g.gather(g.rank() == 0 ? std::vector<Tensor>{x, like(x)} : std::vector<Tensor>(), like(x), 0);
       },
       {true, false}},
      {"gather_into_tensor",
       [](ProcessGroup& g, const Tensor& x) {
         return g.gather_into_tensor(x, ones({1, 3}), 0);
       },
       {true, false}},
      {"scatter",
       [=](ProcessGroup& g, const Tensor& x) {
         return g.scatter(x, g.rank() == 0 ? std::vector<Tensor>{like(x), like(x)} : std::vector<Tensor>(), 0);
       },
       {true, true}},
      {"all_to_all",
       [=](ProcessGroup& g, const Tensor& x) {
         return g.all_to_all({x, like(x)}, {like(x), like(x)});
       },
       {true, true}},
      {"all_to_all_single",
       [=](ProcessGroup& g, const Tensor& x) { return g.all_to_all_single(x, like(x)); },
       {true, true}},
      {"recv",
       [=](ProcessGroup& g, const Tensor& x) { return g.rank() == 0 ? g.send(like(x), 1) : g.recv(x, 0); },
       {false, true}},
  };
}

}  // namespace

TEST_CASE("a collective on a tensor that was saved for backward raises its version", "[parallel][collectives]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  const bool strided = GENERATE(true, false);
  CHECK(find_backend_failure(backend, 2, [&](const ProcessGroupPtr& group) {
          for (const Collective& each : num_collectives()) {
            const Tensor x = strided ? zeros({3, 2}).t() : zeros({2, 3}), w = ones({2, 3}).requires_grad_();
            const Tensor y = x * w;
            each.call(*group, x)->synchronize();
            if (!each.on_rank[group->rank()]) continue;
            std::string what = "nothing";
            try {
              y.sum().backward();
            } catch (const Error& error) {
              what = error.what();
            }
            TANDEM_CHECK(what.find("version") != std::string::npos, each.name, ": backward says ", what);
          }
        }) == "");
}

TEST_CASE("a collective into elements that share memory is refused before anything moves", "[parallel][collectives]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  CHECK(find_backend_failure(backend, 2, [&](const ProcessGroupPtr& group) {
          const auto refused = [&](const char* name, const auto& call, const char* with) {
            std::string what = "nothing";
            try {
              call();
            } catch (const distributed::DistributedError& error) {
              what = std::string("a failure: ") + error.what();
            } catch (const Error& error) {
              what = error.what();
            }
            TANDEM_CHECK(what.starts_with(name) && what.find(with) != std::string::npos, name, ": ", what);
          };
          for (const Collective& each : num_collectives()) {
            if (!each.on_rank[group->rank()] && std::string(each.name) != "broadcast" &&
                std::string(each.name) != "reduce")
              continue;
            refused(
                each.name,
                [&] {
                  each.call(*group, zeros({1, 3}).expand({2, 3}));
                },
                "share memory");
          }
          const Tensor x = zeros({2, 3}), y = ones({2, 3}), wide = zeros({3, 3});
          refused(
              "all_gather",
              [&] {
                group->all_gather({x, x}, y);
              },
              "outputs 0 and 1 share memory");
          refused(
              "all_gather",
              [&] {
                group->all_gather({wide.narrow(0, 0, 2), wide.narrow(0, 1, 2)}, y);
              },
              "outputs 0 and 1 share memory");
          refused(
              "all_to_all",
              [&] {
                group->all_to_all({x, x.view({3, 2})}, {y, y});
              },
              "outputs 0 and 1 share memory");
          // The ranks are still synchronized, and outputs that do not overlap are accepted.
          const Tensor rows = zeros({4, 3}), columns = zeros({3, 2, 2}).transpose(0, 2);
          group->all_gather({rows.narrow(0, 0, 2), rows.narrow(0, 2, 2)}, y * (group->rank() + 1.0))->synchronize();
          TANDEM_CHECK(rows.select(0, 3).equal(full({3}, 2.f)), rows);
          group->all_gather_into_tensor(columns, y * (group->rank() + 1.0))->synchronize();
          TANDEM_CHECK(columns.select(0, 1).equal(full({2, 3}, 2.f)), columns);
        }) == "");
}

TEST_CASE("a gradient that is kept stays as it was, where gradients are no views of buckets", "[parallel][ddp]") {
  const bool find = GENERATE(true, false), is_static = GENERATE(true, false), none = GENERATE(true, false);
  INFO("find_unused " << find << ", static " << is_static << ", zero_grad to none " << none);
  CHECK(find_backend_failure("local", 2, [&](const ProcessGroupPtr& group) {
          SideBySide net(2);
          DistributedDataParallel ddp(net, Options()
                                               .find_unused_parameters(find && !is_static)
                                               .static_graph(is_static)
                                               .gradient_as_bucket_view(false));
          std::vector<std::pair<Tensor, Tensor>> kept;  // gradients, and copies of their values
          for (int step = 0; step < 4; ++step) {
            if (none || step == 0)
              net->zero_grad();
            else  // give each parameter a new gradient tensor
              for (const Tensor& p : net->parameters()) Tensor(p).set_grad(zeros(p.sizes()));
            // If allowed, rank 1 has no gradient for b, and receives rank 0's.
            const bool some_unused = (find || is_static) && group->rank() == 1;
            ddp(rows_at(group->rank(), step), some_unused ? "a" : "ab").square().sum().backward();
            for (const auto& [grad, value] : kept)
              TANDEM_CHECK(grad.equal(value), "step ", step, " changed a gradient");
            for (const Tensor& p : net->parameters())
              if (p.grad().defined()) kept.emplace_back(p.grad(), p.grad().clone());
          }
        }) == "");
}

TEST_CASE("gradients that differ between ranks stay so while their parameters are frozen", "[parallel][ddp]") {
  const bool view = GENERATE(true, false), find = GENERATE(true, false);
  const double cap = GENERATE(25, 1e-5);  // one bucket for all parameters, or one for each
  INFO("views " << view << ", find_unused " << find << ", bucket_cap_mb " << cap);
  CHECK(find_backend_failure("local", 2, [&](const ProcessGroupPtr& group) {
          const int rank = group->rank();
          SideBySide net(2);
          DistributedDataParallel ddp(
              net, Options().gradient_as_bucket_view(view).find_unused_parameters(find).bucket_cap_mb(cap));
          ddp(rows_at(rank, 0), "ab").square().sum().backward();
          net->zero_grad();
          const nn::Linear a = (*net)['a'], b = (*net)['b'];
          net->forward(rows_at(rank, 1), "b").square().sum().backward();  // local gradient, not averaged
          const Tensor own = b->weight.grad().clone();
          b->weight.requires_grad_(false), b->bias.requires_grad_(false);
          for (int step = 2; step < 5; ++step) {
            a->zero_grad();
            ddp(rows_at(rank, step), "ab").square().sum().backward();
            TANDEM_CHECK(b->weight.grad().equal(own), "step ", step, " changed a frozen parameter's gradient");
            const std::vector<Tensor> of_a = on_both(group, a->weight.grad()), of_b = on_both(group, b->weight.grad());
            TANDEM_CHECK(of_a[0].equal(of_a[1]) && !of_b[0].equal(of_b[1]), "step ", step);
          }
          b->weight.requires_grad_(true), b->bias.requires_grad_(true);
          net->zero_grad();
          ddp(rows_at(rank, 5), "ab").square().sum().backward();
          const std::vector<Tensor> of_b = on_both(group, b->weight.grad());
          TANDEM_CHECK(of_b[0].equal(of_b[1]), "after it learns again");
        }) == "");
}

namespace {
struct HiddenLoss {
  Tensor loss;  // has no tensor_parts(), so DistributedDataParallel finds no output
};
/// Returns the mean of the rows of x times a scale.
struct MeanOfRowsImpl : nn::Module {
  HiddenLoss forward(const Tensor& x) { return {(x * scale).mean()}; }
  Tensor scale = register_parameter("scale", ones({1}, kFloat64));
};
TANDEM_MODULE(MeanOfRows);
}  // namespace

TEST_CASE("weighted DDP counts a forward under no_sync whose output it does not see", "[parallel][ddp][uneven]") {
  CHECK(find_backend_failure("local", 2, [&](const ProcessGroupPtr& group) {
          MeanOfRows net;
          DistributedDataParallel ddp(net, Options().weighted_average(true));
          const Tensor rows = arange(5, TensorOptions(kFloat64)) + 1.0;  // rank 0 gets 1 2 3 4, rank 1 gets 5
          for (int step = 0; step < 3; ++step) {
            net->zero_grad();
            if (group->rank() == 0) {
              {
                const auto guard = ddp.no_sync();
                (ddp(rows.narrow(0, 0, 2)).loss / 2).backward();
              }
              (ddp(rows.narrow(0, 2, 2)).loss / 2).backward();
            } else {
              ddp(rows.narrow(0, 4, 1)).loss.backward();
            }
            const double mean = net->scale.grad().item<double>();
            TANDEM_CHECK(std::abs(mean - 3) < 1e-12, "step ", step, ": ", mean);  // float64, sums of five terms
          }
        }) == "");
}

TEST_CASE("DistributedDataParallel runs the module's hooks, and its own when it is called", "[parallel][ddp][hooks]") {
  CHECK(find_backend_failure("local", 2, [&](const ProcessGroupPtr& group) {
          nn::Linear net(3, 2);
          DistributedDataParallel ddp(net);
          const auto shared = std::make_shared<nn::LinearImpl>(3, 2);  // a shared_ptr instead of a module handle
          DistributedDataParallel of_pointer(shared);
          int root = 0, wrapper = 0, backward = 0;
          const auto doubled = [](int& calls) {
            return [&calls](nn::Module&, const std::vector<Tensor>&, const std::vector<Tensor>& outputs) {
              ++calls;
              return outputs[0] * 2;
            };
          };
          net->register_forward_hook(doubled(root));
          shared->register_forward_hook(doubled(root));
          ddp.register_forward_hook(doubled(wrapper));
          net->register_full_backward_hook(
              [&](nn::Module&, const std::vector<Tensor>&, const std::vector<Tensor>&) { ++backward; });
          const Tensor x = rows_at(group->rank(), 0), plain = net->forward(x);
          const Tensor y = ddp(x);
          TANDEM_CHECK(y.allclose(plain * 4) && root == 1 && wrapper == 1, "calls: ", root, " ", wrapper);
          TANDEM_CHECK(of_pointer(x).allclose(shared->forward(x) * 2) && root == 2, "calls: ", root);
          TANDEM_CHECK(ddp.forward(x).allclose(plain * 2) && root == 3 && wrapper == 1, "calls: ", root, " ", wrapper);
          y.square().sum().backward();
          const std::vector<Tensor> all = on_both(group, net->weight.grad());
          TANDEM_CHECK(all[0].equal(all[1]) && backward == 1, "backward hooks: ", backward);
        }) == "");
}
