// Tests backward: values against derivatives computed by hand, and gradients against finite differences.
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using autograd::variable_list;

namespace {
Tensor random_input(IntArrayRef sizes) { return randn(sizes, kFloat64).requires_grad_(); }
using Case = std::pair<const char*, std::function<variable_list(const variable_list&)>>;
}  // namespace

TEST_CASE("backward adds up what it should", "[autograd]") {
  Tensor a = tensor({{1.0, 2.0}, {3.0, 4.0}}).requires_grad_();
  (a * ones({2, 2}) + a.exp()).sum().backward();
  CHECK(a.grad()[1][1].item<double>() == Approx(1 + std::exp(4.0)).epsilon(1e-6));  // float32 rounding
  (a * 2).sum().backward();
  CHECK(a.grad()[0][0].item<double>() == Approx(3 + std::exp(1.0)).epsilon(1e-6));
}

TEST_CASE("first and second derivatives agree with finite differences", "[autograd][gradcheck]") {
  manual_seed(3);
  const std::vector<Case> cases = {
      {"tanh(matmul), log_softmax",
       [](const variable_list& in) -> variable_list { return {matmul(in[0], in[1]).tanh().log_softmax(1)}; }},
      {"softmax, division",
       [](const variable_list& in) -> variable_list { return {in[0].softmax(0) / (in[1].t() + 9)}; }},
      {"sigmoid, mean, var",
       [](const variable_list& in) -> variable_list {
         return {in[0].sigmoid().mean({1}), in[1].var({0})};
       }},
      {"layer_norm",
       [](const variable_list& in) -> variable_list { return {layer_norm(in[0], {4}, in[1].select(1, 0))}; }},
      {"cat, narrow, cumsum",
       [](const variable_list& in) -> variable_list {
         return {cat({in[0], in[1].t()}).narrow(0, 1, 4).cumsum(1)};
       }},
      {"gelu, silu, pow",
       [](const variable_list& in) -> variable_list {
         return {gelu(in[0]), silu(in[1]), in[0].square().add(1).pow(1.5)};
       }},
      {"gather, sort",
       [](const variable_list& in) -> variable_list {
         return {in[0].gather(1, tensor({{0, 3}, {1, 1}, {2, 0}})), std::get<0>(in[1].sort(0))};
       }},
  };
  for (const auto& [name, f] : cases) {
    INFO(name);
    const variable_list in = {random_input({3, 4}), random_input({4, 3})};
    CHECK(autograd::gradcheck(f, in));
    CHECK(autograd::gradgradcheck(f, in));
  }
}

TEST_CASE("convolution, pooling and batch norm agree with finite differences", "[autograd][gradcheck]") {
  manual_seed(4);
  const auto conv = [](const variable_list& in) -> variable_list {
    return {conv2d(in[0], in[1], in[2], {2, 1}, {1, 2}, {1, 2}, 2)};
  };
  const variable_list in = {random_input({2, 4, 5, 6}), random_input({4, 2, 3, 2}), random_input({4})};
  CHECK(autograd::gradcheck(conv, in));
  const auto rest = [](const variable_list& x) -> variable_list {
    return {max_pool2d(x[0], 2), avg_pool2d(x[0], 3, 2, 1), adaptive_avg_pool2d(x[0], {2, 3}),
            batch_norm(x[0], x[2], x[2], {}, {}, true)};
  };
  CHECK(autograd::gradcheck(rest, in));
}

TEST_CASE("a wrong gradient is found and named", "[autograd][gradcheck]") {
  struct Wrong : autograd::Function<Wrong> {
    static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x) {
      ctx->save_for_backward({x});
      return x * x;
    }
    static variable_list backward(autograd::AutogradContext* ctx, variable_list dy) {
      return {dy[0] * ctx->get_saved_variables()[0]};  // half of the true derivative
    }
  };
  CHECK_THROWS_WITH(autograd::gradcheck([](const variable_list& in) -> variable_list { return {Wrong::apply(in[0])}; },
                                        {random_input({3})}),
                    Contains("numeric") && Contains("input 0"));
}

TEST_CASE("a graph of 100,000 operations is walked and released without recursion", "[autograd]") {
  Tensor x = ones({1}).requires_grad_(), y = x;
  for (int i = 0; i < 100000; ++i) y = y + 1;
  y.backward();
  CHECK(x.grad().item<double>() == 1);
}

TEST_CASE("an in-place change of a view reaches the history of its base", "[autograd][inplace]") {
  Tensor x = ones({2, 2}, kFloat64).requires_grad_(), z = x * 2;
  z[0].mul_(3.0);
  z.sum().backward();
  CHECK(x.grad().equal(tensor({{6.0, 6.0}, {2.0, 2.0}}, kFloat64)));
  CHECK_THROWS_WITH(x.add_(1), Contains("leaf"));
}

TEST_CASE("backward refuses a saved tensor that was modified in place", "[autograd][saved]") {
  Tensor x = randn({2, 3}).requires_grad_(), h = x * 2, y = leaky_relu(h).sum();
  h.add_(1);
  CHECK_THROWS_WITH(y.backward(), Contains("leaky_relu") && Contains("version 1"));
  Tensor again = (x * x).sum();
  again.backward();
  CHECK_THROWS_WITH(again.backward(), Contains("second time"));
}

TEST_CASE("a graph over two devices gives the gradients of one", "[autograd][devices]") {
  set_cpu_device_count(2);
  Tensor x = ones({4}).requires_grad_();
  const Tensor there = (x * 2).to(Device("cpu:1"));
  ((there * 3).sum().to(Device("cpu")) + (x * 5).sum()).backward();
  CHECK(x.grad().equal(full({4}, 11.0)));
  CHECK_THROWS_WITH(x + there, Contains("add") && Contains("cpu:1"));
  CHECK_THROWS_WITH(ones({1}, Device("cpu:7")), Contains("cpu:7"));
  CHECK_THROWS_WITH(ones({1}, Device("cuda:63")), Contains("cuda:63"));
  set_cpu_device_count(1);
}

TEST_CASE("a factor's slope is the product of the others, zeros among them, on every device", "[autograd][devices]") {
  set_cpu_device_count(2);
  std::vector<Device> devices = {kCPU, Device("cpu:1")};
  if (cuda::is_available()) devices.push_back(kCUDA);
  for (const Device device : devices)
    for (const auto& [factors, slopes] :
         {std::pair{tensor({{2.0, 0.0}, {-3.0, 4.0}}), tensor({{0.0, -24.0}, {0.0, 0.0}})},
          {tensor({0.0, 5.0, 0.0}), zeros({3}, kFloat64)}}) {
      CAPTURE(device, factors);
      const Tensor x = factors.to(device).detach().requires_grad_();
      x.prod().backward();
      CHECK(x.grad().to(kCPU).equal(slopes.to(factors.dtype())));
    }
  set_cpu_device_count(1);
}

TEST_CASE("results are bit-equal for 1, 2 and 3 threads", "[threads]") {
  std::vector<Tensor> losses, gradients;
  const int before = get_num_threads();
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    manual_seed(5);
    Tensor w = randn({64, 300}).requires_grad_(), k = randn({8, 1, 3, 3}).requires_grad_();
    const Tensor image = randn({32, 1, 12, 12});
    const Tensor loss = cross_entropy(matmul(randn({128, 64}), w), randint(300, {128})) +
                        dropout(conv2d(image, k).relu(), 0.3).square().mean() + randn({300000}).sum() * w.mean();
    loss.backward();
    losses.push_back(loss.detach());
    gradients.push_back(cat({w.grad().flatten(), k.grad().flatten()}));
  }
  set_num_threads(before);
  for (size_t i = 1; i < 3; ++i) {
    CHECK(losses[i].equal(losses[0]));
    CHECK(gradients[i].equal(gradients[0]));
  }
}

TEST_CASE("empty tensors, scalars and a last batch of one work", "[edge]") {
  nn::Linear fc(4, 3);
  nn::Conv2d conv(1, 2, 3);
  CHECK(fc(zeros({0, 4})).sizes() == IntArrayRef({0, 3}));
  CHECK(conv(zeros({0, 1, 5, 5})).sizes() == IntArrayRef({0, 2, 3, 3}));
  Tensor loss = cross_entropy(fc(randn({1, 4})), tensor({2}));
  loss.backward();
  CHECK(fc->weight.grad().defined());
  CHECK((tensor(3.0) * 2).item<double>() == 6);
  CHECK_THROWS_WITH(cross_entropy(randn({2, 3}), tensor({0, 3})), Contains("target 1 is 3"));
}

TEST_CASE("Adam and SGD make a small regression fit", "[optim]") {
  manual_seed(6);
  const Tensor x = randn({64, 10}), y = matmul(x, randn({10, 1}));
  for (const bool adam : {true, false}) {
    nn::Linear fc(10, 1);
    std::unique_ptr<optim::Optimizer> optimizer;
    if (adam)
      optimizer = std::make_unique<optim::Adam>(fc->parameters(), optim::AdamOptions(0.05));
    else
      optimizer = std::make_unique<optim::SGD>(fc->parameters(), optim::SGDOptions(0.05).momentum(0.9));
    for (int i = 0; i < 300; ++i) {
      optimizer->zero_grad();
      mse_loss(fc(x), y).backward();
      optimizer->step();
    }
    CHECK(mse_loss(fc(x), y).item<double>() < 1e-3);
  }
}

TEST_CASE("a gradient that someone holds is not written over by the relu before it", "[autograd][engine]") {
  const auto values = [](const Tensor& t) { return std::vector<float>(t.data_ptr<float>(), t.data_ptr<float>() + 4); };
  const Tensor x = full({4}, -1, kFloat32).requires_grad_(), seed = full({4}, 3, kFloat32);
  relu(x).backward(seed);  // seed is owned by the caller
  REQUIRE(values(seed) == std::vector<float>(4, 3));
  REQUIRE(values(x.grad()) == std::vector<float>(4, 0));

  const Tensor h = x * 1, y = relu(h);
  Tensor seen;
  y.register_hook([&](const Tensor& dy) { return seen = dy, Tensor(); });  // the hook keeps the gradient
  (y * 3).sum().backward();
  REQUIRE(values(seen) == std::vector<float>(4, 3));

  const Tensor z = x * 1, sum = z + relu(z);  // the same gradient goes to two inputs
  (sum * 3).sum().backward();
  REQUIRE(values(x.grad()) == std::vector<float>(4, 3));

  const Tensor w = relu(x), c = w * 3;  // autograd::grad returns this gradient
  const auto grads = autograd::grad({c.sum()}, {w, x});
  REQUIRE(values(grads[0]) == std::vector<float>(4, 3));
  REQUIRE(values(grads[1]) == std::vector<float>(4, 0));
}
