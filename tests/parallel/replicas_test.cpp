// Tests how DataParallel's replicas follow their module: values, versions, buffers, flags, and the bytes moved for
// that.
#include "tandem/models/models.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/devices.h"

using namespace tandem;
using namespace tandem::nn::parallel;
using test::count_packed_bytes;

namespace {
DataParallelOptions persistent(bool on) { return DataParallelOptions().persistent_replicas(on); }
template <class F> int64_t count_moved_bytes(const F& f) {
  const int64_t before = bytes_moved();
  f();
  return bytes_moved() - before;
}
}  // namespace

TEST_CASE("gradients are added to the module's own parameters", "[parallel][replicas]") {
  const test::Devices devices(3);
  const bool keep = GENERATE(false, true);
  nn::Linear net(3, 2);
  DataParallel dp(net, devices.list, {}, persistent(keep));
  const Tensor x = randn({7, 3});
  dp(x).sum().backward();
  const Tensor once = net->weight.grad().clone();
  CHECK(once.allclose(x.sum({0}).expand({2, 3}), 1e-5, 1e-6));  // sums of seven terms in another order
  dp(x).sum().backward();
  CHECK(net->weight.grad().equal(once + once));
  CHECK(net->weight.is_leaf());
}

TEST_CASE("forward may run twice before backward, and says so when the values changed", "[parallel][replicas]") {
  const test::Devices devices(2);
  const bool keep = GENERATE(false, true);
  nn::Sequential net(nn::Linear(3, 4), nn::Tanh(), nn::Linear(4, 1));
  DataParallel dp(net, devices.list, {}, persistent(keep));
  const Tensor a = randn({4, 3}), b = randn({4, 3});
  const auto gradient = [&](const auto& backward) {
    net->zero_grad();
    backward();
    return net->at<nn::LinearImpl>(0).weight.grad().clone();
  };
  const Tensor one_by_one = gradient([&] { dp(a).sum().backward(), dp(b).sum().backward(); });
  CHECK(one_by_one.equal(gradient([&] {
    const Tensor first = dp(a), second = dp(b);
    first.sum().backward();
    second.sum().backward();
  })));
  const Tensor first = dp(a);
  {
    const NoGradGuard guard;
    net->at<nn::LinearImpl>(2).weight.mul_(2);
  }
  const Tensor second = dp(b);
  CHECK_THROWS_WITH(first.sum().backward(), Contains("modified by an inplace operation"));
  CHECK_NOTHROW(second.sum().backward());
}

TEST_CASE("replicas see what an optimizer, load_state_dict and to() did", "[parallel][replicas]") {
  const test::Devices devices(2);
  const bool keep = GENERATE(false, true);
  nn::Linear net(3, 2);
  DataParallel dp(net, devices.list, {}, persistent(keep));
  Tensor x = randn({5, 3});
  // The shards' products are smaller, and may add in another order.
  const auto agree = [&] { return dp(x).allclose(net(x), 1e-6, 1e-6); };
  REQUIRE(agree());
  optim::SGD optimizer(dp.parameters(), 0.5);
  dp(x).sum().backward();
  optimizer.step();
  CHECK(agree());
  net->load_state_dict(nn::Linear(3, 2)->state_dict());
  CHECK(agree());
  net->to(kFloat64);
  x = x.to(kFloat64);
  CHECK(agree());
  CHECK(dp(x).dtype() == kFloat64);
  // Writing through data() changes no version counter. Replicas made in each step see the new value, persistent ones
  // cannot.
  net->weight.data().mul_(3);
  CHECK(agree() != keep);
}

TEST_CASE("frozen parameters stay frozen in the replicas", "[parallel][replicas]") {
  const test::Devices devices(2);
  nn::Sequential net(nn::Linear(3, 4), nn::Linear(4, 1));
  DataParallel dp(net, devices.list);
  net->at<nn::LinearImpl>(0).weight.requires_grad_(false);
  dp(randn({4, 3})).sum().backward();
  CHECK_FALSE(net->at<nn::LinearImpl>(0).weight.grad().defined());
  CHECK(net->at<nn::LinearImpl>(0).bias.grad().defined());
  net->at<nn::LinearImpl>(0).weight.requires_grad_(true);
  dp(randn({4, 3})).sum().backward();
  CHECK(net->at<nn::LinearImpl>(0).weight.grad().defined());
  const NoGradGuard guard;
  CHECK_FALSE(dp(randn({4, 3})).requires_grad());
}

TEST_CASE("running buffers follow the first device, flags follow the module", "[parallel][replicas]") {
  const test::Devices devices(2);
  const bool keep = GENERATE(false, true);
  nn::BatchNorm1d net(2), alone(2);
  DataParallel dp(net, devices.list, {}, persistent(keep));
  const Tensor x = randn({8, 2});
  for (int step = 0; step < 2; ++step) {
    dp(x).sum().backward();
    alone(x.narrow(0, 0, 4));
  }
  CHECK(net->running_mean.equal(alone->running_mean));
  CHECK(net->running_var.equal(alone->running_var));
  CHECK(net->num_batches_tracked.item<int64_t>() == 2);
  dp.eval();
  CHECK_FALSE(net->is_training());
  alone->eval();
  CHECK(dp(x).equal(alone(x)));  // the second device normalizes with the first one's statistics
  CHECK(net->num_batches_tracked.item<int64_t>() == 2);
}

TEST_CASE("batch norm in evaluation is not disturbed by its neighbour's running statistics", "[parallel][replicas]") {
  const test::Devices devices(2);
  nn::Sequential net(nn::BatchNorm1d(2), nn::Linear(2, 2), nn::BatchNorm1d(2));
  DataParallel dp(net, devices.list);
  net[0]->eval();
  const Tensor first = dp(randn({8, 2})), second = dp(randn({8, 2}));
  CHECK_NOTHROW(first.sum().backward());
  CHECK_NOTHROW(second.sum().backward());
}

TEST_CASE("the bytes of a step are those of the formula", "[parallel][replicas][bytes]") {
  const test::Devices devices(4);
  const int k = GENERATE(1, 2, 3, 4);
  const int64_t rows = GENERATE(8, 11);
  const bool keep = GENERATE(false, true);
  if (TANDEM_TEST_SANITIZED && (k != 3 || rows == 8)) return;
  CAPTURE(k, rows, keep);
  models::FashionCnn net;
  DataParallel dp(net, devices.first(k), {}, persistent(keep));
  optim::SGD optimizer(dp.parameters(), 0.01);
  const Tensor x = randn({rows, 1, 28, 28}), target = randint(0, 10, {rows});
  const int64_t parameters = count_packed_bytes(net->parameters()), buffers = count_packed_bytes(net->buffers());
  // away: number of rows on other devices
  const int64_t outputs = rows * 10 * 4, away = rows - shard_sizes(rows, static_cast<size_t>(k))[0];
  const int64_t step = away * (x.nbytes() + 2 * outputs) / rows + (k - 1) * (2 * parameters + buffers);
  for (int i = 0; i < 2; ++i) {
    CHECK(count_moved_bytes([&] {
            optimizer.zero_grad();
            cross_entropy(dp(x), target).backward();
            optimizer.step();
          }) == step);
  }
  net->eval();
  const NoGradGuard guard;
  dp(x);
  const int64_t shards = away * (x.nbytes() + outputs) / rows;
  CHECK(count_moved_bytes([&] { dp(x); }) == shards + (keep ? 0 : (k - 1) * (parameters + buffers)));
}

TEST_CASE("second derivatives pass through the replicas", "[parallel][replicas]") {
  const test::Devices devices(3);
  nn::Sequential net(nn::Linear(2, 3), nn::Tanh(), nn::Linear(3, 1));
  net->to(kFloat64);
  DataParallel dp(net, devices.list);
  const Tensor x = randn({5, 2}, kFloat64).requires_grad_();
  const auto penalty = [&](auto&& model) {
    net->zero_grad();
    const Tensor dx = autograd::grad({model(x).sum()}, {x}, {}, {}, /*create_graph=*/true)[0];
    (dx * dx).sum().backward();
    return net->at<nn::LinearImpl>(0).weight.grad().clone();
  };
  const Tensor expected = penalty(net);
  CHECK(penalty(dp).allclose(expected, 1e-12, 1e-12));  // float64, sums of five terms in another order
}

TEST_CASE("a layer that stands in two places gets one gradient", "[parallel][replicas]") {
  const test::Devices devices(2);
  struct Twice : nn::Cloneable<Twice> {
    Twice() { reset(); }
    void reset() override {
      a = register_module("a", nn::Linear(2, 2));
      b = register_module("b", a);
    }
    Tensor forward(const Tensor& x) { return b(a(x)); }
    nn::Linear a{nullptr}, b{nullptr};
  };
  const auto net = std::make_shared<Twice>();
  DataParallel dp(net, devices.list);
  const Tensor x = randn({4, 2});
  dp(x).sum().backward();
  const Tensor found = net->a->weight.grad().clone();
  net->zero_grad();
  net->forward(x).sum().backward();
  CHECK(found.allclose(net->a->weight.grad(), 1e-5, 1e-6));  // float32, sums in another order
}

namespace {
/// A linear layer, and members that are neither parameters nor buffers
struct WithMembersImpl : nn::Cloneable<WithMembersImpl> {
  WithMembersImpl() { reset(); }
  void reset() override { fc = register_module("fc", nn::Linear(2, 2)); }
  Tensor forward(const Tensor& x) {
    ++calls;
    last = fc(x) * scale;
    return last;
  }
  nn::Linear fc{nullptr};
  double scale = 1;
  int calls = 0;
  Tensor last;
};
TANDEM_MODULE(WithMembers);
}  // namespace

TEST_CASE("the first device runs the module itself: what forward writes stays, what is written to it counts",
          "[parallel][replicas]") {
  const test::Devices devices(2);
  WithMembers net;
  DataParallel dp(net, devices.list);
  const Tensor x = randn({4, 2}), once = dp(x).detach();
  CHECK(net->calls == 1);
  CHECK(net->last.equal(once.narrow(0, 0, 2)));
  CHECK(net->last.requires_grad());
  CHECK(net->fc->weight.is_leaf());
  net->scale = 3;
  const Tensor half = dp(x);
  CHECK(half.narrow(0, 0, 2).equal(once.narrow(0, 0, 2) * 3));
  CHECK(half.narrow(0, 2, 2).equal(once.narrow(0, 2, 2)));  // the second replica keeps the members from its creation
  dp.refresh();
  CHECK(dp(x).equal(once * 3));
  CHECK(net->calls == 3);
  DataParallel always(net, devices.list, {}, DataParallelOptions().clone_each_call(true));
  net->scale = 5;
  const Tensor y = always(x);
  CHECK(y.equal(once * 5));
  y.sum().backward();
  CHECK(net->fc->bias.grad().equal(full({2}, 4 * 5.0f)));
}

TEST_CASE("the module is what it was after a forward that throws", "[parallel][replicas]") {
  const test::Devices devices(2);
  WithMembers net;
  DataParallel dp(net, devices.list);
  CHECK_THROWS(dp(randn({4, 3})));
  CHECK(net->fc->weight.is_leaf());
  CHECK(net->fc->weight.requires_grad());
  dp(ones({4, 2})).sum().backward();
  CHECK(net->fc->bias.grad().equal(full({2}, 4.0f)));
}

namespace {
/// Members of nested modules: a layer with plain members, a dropout, a container
struct LevelsImpl : nn::Cloneable<LevelsImpl> {
  LevelsImpl() { reset(); }
  void reset() override {
    inner = register_module("inner", WithMembers());
    dropout = register_module("dropout", nn::Dropout(0.5));
    list = register_module("list", nn::Sequential(WithMembers(), nn::Dropout(0.5)));
  }
  Tensor forward(const Tensor& x) { return list(dropout(inner(x))); }
  WithMembers inner{nullptr};
  nn::Dropout dropout{nullptr};
  nn::Sequential list{nullptr};
};
TANDEM_MODULE(Levels);
}  // namespace

TEST_CASE("data_parallel and refresh() take along members that nested modules were given", "[parallel][replicas]") {
  const test::Devices devices(2);
  Levels net;
  DataParallel dp(net, devices.list);
  DataParallel always(net, devices.list, {}, DataParallelOptions().clone_each_call(true));
  net->inner->scale = 3;
  net->list->at<WithMembersImpl>(0).scale = -2;
  net->dropout->options.p(0);
  net->list->at<nn::DropoutImpl>(1).options.p(0);
  const Tensor x = randn({4, 2}), expected = net(x);
  // The shards have two rows each, so their products may add in another order.
  const auto is_right = [&](const Tensor& y) { return y.allclose(expected, 1e-6, 1e-6); };
  CHECK(is_right(nn::parallel::data_parallel(net, x, devices.list)));
  CHECK(is_right(always(x)));
  dp.refresh();
  CHECK(is_right(dp(x)));
  const auto copies = nn::parallel::replicate(net, devices.list);
  CHECK(is_right(cat({copies[0](x.narrow(0, 0, 2)), copies[1](x.narrow(0, 2, 2).to(devices.list[1])).to(x.device())})));
}

TEST_CASE("a replica that its own forward changed gives the module nothing, and is new after refresh()",
          "[parallel][replicas]") {
  const test::Devices devices(2);
  struct Counts : nn::Cloneable<Counts> {
    Counts() { reset(); }
    void reset() override {
      fc = register_module("fc", nn::Linear(2, 1));
      seen = register_buffer("seen", zeros({}));
    }
    Tensor forward(const Tensor& x) {
      if (writes) {
        const NoGradGuard guard;
        fc->weight.fill_(7);  // writes to a parameter, a buffer and a member of the replica
        seen.fill_(7);
        factor = 7;
      }
      return fc(x) * factor + seen;
    }
    bool writes = false;
    double factor = 1;
    nn::Linear fc{nullptr};
    Tensor seen;
  };
  const auto net = std::make_shared<Counts>();
  const bool persistent = GENERATE(true, false);
  DataParallel dp(net, devices.list, {}, DataParallelOptions().persistent_replicas(persistent));
  const Tensor x = randn({4, 2});
  const auto same_rows = [&] {  // checks that both replicas give the module's current output
    const NoGradGuard guard;
    const Tensor y = dp(x);
    CHECK(y.allclose(net->forward(x), 1e-6, 1e-6));
  };
  same_rows();
  net->writes = true;
  dp.refresh();
  {
    const NoGradGuard guard;
    dp(x);
  }
  net->writes = false, net->factor = 2;
  {
    const NoGradGuard guard;
    net->fc->weight.fill_(0.5);
    net->seen.fill_(0.25);
  }
  dp.refresh();
  same_rows();  // nothing that the replica wrote is left
}

TEST_CASE("what a replica's forward wrote to its tensors is overwritten by the next call", "[parallel][replicas]") {
  const test::Devices devices(2);
  struct Writes : nn::Cloneable<Writes> {
    Writes() { reset(); }
    void reset() override {
      fc = register_module("fc", nn::Linear(2, 1));
      seen = register_buffer("seen", zeros({}));
    }
    Tensor forward(const Tensor& x) {
      const Tensor y = fc(x) + seen;
      const NoGradGuard guard;
      if (x.device().index() == 1) fc->weight.fill_(7), seen.fill_(7);
      return y;
    }
    nn::Linear fc{nullptr};
    Tensor seen;
  };
  const auto net = std::make_shared<Writes>();
  const bool persistent = GENERATE(true, false);
  DataParallel dp(net, devices.list, {}, DataParallelOptions().persistent_replicas(persistent));
  const Tensor x = randn({4, 2}), expected = net->forward(x).detach();
  for (int call = 0; call < 3; ++call) {
    const NoGradGuard guard;
    CHECK(dp(x).allclose(expected, 1e-6, 1e-6));  // shards of two rows may add in another order
  }
  CHECK(net->seen.item<float>() == 0);
}

TEST_CASE("DataParallel runs the module's hooks on each shard, those too that come and go later",
          "[parallel][replicas][hooks]") {
  const test::Devices devices(2);
  nn::Sequential net(nn::Linear(2, 2), nn::Tanh());
  DataParallel dp(net, devices.list);
  std::atomic<int> root{0}, inner{0}, wrapper{0};
  const auto count = [](std::atomic<int>& calls) {
    return [&calls](nn::Module&, const std::vector<Tensor>&, const std::vector<Tensor>& outputs) {
      ++calls;
      return outputs[0] * 2;
    };
  };
  const Tensor x = randn({4, 2}), plain = net(x).detach();
  nn::RemovableHandle of_root = net->register_forward_hook(count(root));
  net->ptr(0)->register_forward_hook(count(inner));
  nn::RemovableHandle of_wrapper = dp.register_forward_hook(count(wrapper));
  const Tensor hooked = net(x);
  root = 0, inner = 0;
  CHECK(dp(x).allclose(hooked * 2, 1e-6, 1e-6));  // shards of two rows may add in another order
  CHECK((root == 2 && inner == 2 && wrapper == 1));
  CHECK(dp.forward(x).allclose(hooked, 1e-6, 1e-6));
  of_root.remove(), of_wrapper.remove();
  CHECK(dp(x).allclose(hooked / 2, 1e-6, 1e-6));
  CHECK((root == 4 && inner == 6 && wrapper == 1));
  dp.loss(nn::MSELoss(), x, zeros({4, 2})).backward();
  CHECK(inner == 8);
  const std::vector<Tensor> inputs = {x, x};
  CHECK(nn::parallel::parallel_apply(std::vector<nn::Sequential>{net, net}, inputs)[1].equal(net(x)));
}
