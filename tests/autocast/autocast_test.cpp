// Autocast: its state, what it casts and what not, and the cache of cast weights. Results are compared with explicit
// casts, bit for bit.
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tandem/core/autocast/autocast_cache.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/devices.h"

using namespace tandem;
using autocast::is_autocast_enabled;

namespace {

/// The node that cast the operand number k of the operation that made y.
const autograd::Node* cast_node(const Tensor& y, size_t k) { return y.grad_fn()->next_edge(k).function.get(); }
/// The node of the cast of `weight` by a product under autocast.
const autograd::Node* cast_of(const Tensor& weight) { return cast_node(ones({1, weight.size(0)}).mm(weight), 1); }

}  // namespace

TEST_CASE("autocast's guards nest, and restore what was before", "[autocast]") {
  CHECK_FALSE(is_autocast_enabled(kCPU));
  CHECK(autocast::get_autocast_dtype(kCPU) == kBFloat16);
  CHECK(autocast::get_autocast_dtype(kCUDA) == kFloat16);
  CHECK(autocast::is_autocast_cache_enabled());
  const Tensor a = randn({3, 3});
  {
    const AutocastGuard outer(kCPU, kFloat16);
    CHECK(is_autocast_enabled(kCPU));
    CHECK_FALSE(is_autocast_enabled(kCUDA));
    CHECK(a.mm(a).dtype() == kFloat16);
    {
      const AutocastGuard off(kCPU, {}, /*enabled=*/false);
      CHECK_FALSE(is_autocast_enabled(kCPU));
      CHECK(autocast::get_autocast_dtype(kCPU) == kFloat16);
      CHECK(a.mm(a).dtype() == kFloat32);
      const AutocastGuard inner(kCPU, kBFloat16, true, /*cache_enabled=*/false);
      CHECK_FALSE(autocast::is_autocast_cache_enabled());
      CHECK(a.mm(a).dtype() == kBFloat16);
    }
    CHECK(autocast::is_autocast_cache_enabled());
    CHECK(a.mm(a).dtype() == kFloat16);
    CHECK_THROWS(a.mm(randn({2, 2})));
    CHECK(is_autocast_enabled(kCPU));  // the operation that threw has turned it on again
  }
  CHECK_FALSE(is_autocast_enabled(kCPU));
  CHECK(autocast::get_autocast_dtype(kCPU) == kBFloat16);
  CHECK(a.mm(a).dtype() == kFloat32);
}

TEST_CASE("autocast is set by functions as in LibTorch", "[autocast]") {
  const Tensor a = randn({3, 3});
  autocast::set_autocast_enabled(kCPU, true);
  autocast::set_autocast_dtype(kCPU, kFloat16);
  CHECK(autocast::increment_nesting() == 1);
  CHECK(autocast::increment_nesting() == 2);
  CHECK(a.mm(a).dtype() == kFloat16);
  CHECK(autocast::decrement_nesting() == 1);
  CHECK(autocast::decrement_nesting() == 0);
  autocast::clear_cache();
  autocast::set_autocast_dtype(kCPU, kBFloat16);
  autocast::set_autocast_enabled(kCPU, false);
  CHECK(a.mm(a).dtype() == kFloat32);
  CHECK_THROWS_WITH(autocast::decrement_nesting(), Contains("increment_nesting"));
  CHECK_THROWS_WITH(autocast::set_autocast_dtype(kCPU, kFloat32),
                    Contains("got float32; accepted: float16 and bfloat16"));
  CHECK_THROWS_WITH(AutocastGuard(kCPU, kInt64), Contains("got int64"));
  CHECK_FALSE(is_autocast_enabled(kCPU));
}

TEST_CASE("results and gradients under autocast are those of explicit casts", "[autocast]") {
  const DType half = GENERATE(kFloat16, kBFloat16);
  const Tensor x = randn({5, 4}), target = tensor({0, 1, 2, 0, 1});
  nn::Linear net(4, 3);
  Tensor loss;
  {
    const AutocastGuard guard(kCPU, half);
    const Tensor y = net(x);
    CHECK(y.dtype() == half);
    CHECK(y.equal(linear(x.to(half), net->weight.to(half), net->bias.to(half))));
    CHECK(y.softmax(1).dtype() == kFloat32);
    CHECK(y.softmax(1, half).dtype() == half);
    CHECK(y.sum().dtype() == kFloat32);
    CHECK((y + y).dtype() == half);
    CHECK(relu(y).dtype() == half);
    loss = cross_entropy(y, target);
  }
  CHECK(loss.dtype() == kFloat32);
  loss.backward();
  const Tensor gradient = net->weight.grad().clone(), of_bias = net->bias.grad().clone();
  CHECK(gradient.dtype() == kFloat32);
  net->zero_grad();
  cross_entropy(linear(x.to(half), net->weight.to(half), net->bias.to(half)).to(kFloat32), target).backward();
  CHECK(gradient.equal(net->weight.grad()));
  CHECK(of_bias.equal(net->bias.grad()));
}

TEST_CASE("autocast leaves float64, integers and other devices alone", "[autocast]") {
  const AutocastGuard guard(kCPU, kBFloat16);
  const Tensor wide = randn({3, 3}, kFloat64), whole = ones({3, 3}, kInt64);
  CHECK(wide.mm(wide).dtype() == kFloat64);
  CHECK(whole.mm(whole).dtype() == kInt64);
  CHECK(wide.exp().dtype() == kFloat64);
  CHECK(whole.sum().dtype() == kInt64);
  if (!cuda::is_available()) return;
  const Tensor there = randn({3, 3}, Device(kCUDA, 0));
  CHECK(there.mm(there).dtype() == kFloat32);
  const AutocastGuard also(kCUDA);
  CHECK(there.mm(there).dtype() == kFloat16);
  CHECK(randn({3, 3}).mm(randn({3, 3})).dtype() == kBFloat16);
}

TEST_CASE("in-place and out forms compute in the dtype of their tensors, as in PyTorch", "[autocast]") {
  const Tensor a = randn({3, 3}), b = randn({3, 3});
  Tensor x = randn({3, 3}), in_half = randn({3, 3}, kBFloat16), out = empty({0});
  const Tensor expected = x.clone().addmm_(a, b), raised = in_half.clone().exp_(), product = a.mm(b);
  const AutocastGuard guard(kCPU, kBFloat16);
  CHECK(x.addmm_(a, b).equal(expected));
  CHECK(in_half.exp_().equal(raised));
  CHECK(mm_out(out, a, b).equal(product));
}

TEST_CASE("binary_cross_entropy is unsafe to autocast on GPUs, and float32 on the CPU, as in PyTorch", "[autocast]") {
  const Tensor p = rand({4}, kBFloat16), target = ones({4}, kBFloat16);
  {
    const AutocastGuard guard(kCPU, kBFloat16);
    CHECK(binary_cross_entropy(p, target).equal(binary_cross_entropy(p.to(kFloat32), target.to(kFloat32))));
  }
  if (!cuda::is_available()) return;
  const AutocastGuard guard(kCUDA);
  CHECK_THROWS_WITH(binary_cross_entropy(p.cuda(), target.cuda()),
                    Contains("torch.nn.BCELoss are unsafe to autocast.\nMany models use a sigmoid layer"));
  CHECK(binary_cross_entropy_with_logits(p.cuda(), target.cuda()).dtype() == kFloat32);
}

namespace {
bool seen_in_backward = true;
struct Watched : autograd::Function<Watched> {
  static Tensor forward(autograd::AutogradContext*, const Tensor& x) {
    CHECK(is_autocast_enabled(kCPU));
    return x.mm(x);
  }
  static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list dy) {
    seen_in_backward = is_autocast_enabled(kCPU);
    return {dy[0]};
  }
};
}  // namespace
TEST_CASE("a backward within the region computes in the forward's dtypes, second derivatives too", "[autocast]") {
  const Tensor x = randn({3, 3}).requires_grad_(), w = randn({3, 3}).requires_grad_();
  const auto gradients = [&](bool under, const auto& cast) {
    std::optional<AutocastGuard> guard;
    if (under) guard.emplace(kCPU, kBFloat16);
    const Tensor y = cast(x).mm(cast(w)).tanh();
    const std::vector<Tensor> first = autograd::grad({y.to(kFloat32).square().sum()}, {x, w}, {}, true, true);
    const std::vector<Tensor> second = autograd::grad({first[1].square().sum()}, {x, w});
    return std::vector<Tensor>{first[0].detach(), first[1].detach(), second[0], second[1]};
  };
  const auto cast = gradients(true, [](const Tensor& t) { return t; });
  const auto plain = gradients(false, [](const Tensor& t) { return t.to(kBFloat16); });
  for (size_t i = 0; i < plain.size(); ++i) {
    CHECK(cast[i].dtype() == kFloat32);
    CHECK(cast[i].equal(plain[i]));
  }
  const AutocastGuard guard(kCPU, kBFloat16);
  Watched::apply(x).sum().backward();
  CHECK_FALSE(seen_in_backward);
  CHECK(is_autocast_enabled(kCPU));
}

TEST_CASE("a weight is cast once in a region, and anew when it changed", "[autocast]") {
  Tensor w = randn({3, 2}).requires_grad_(), other = randn({3, 2}).requires_grad_();
  std::optional<AutocastGuard> guard(std::in_place, kCPU, kBFloat16);
  const autograd::Node* const first = cast_of(w);
  CHECK(first->name() == "to");
  CHECK(cast_of(w) == first);
  CHECK(cast_of(other) != first);
  const Tensor kept = ones({1, 3}).mm(w);  // keeps the node alive, so that no new one has its address
  SECTION("in place") {
    const NoGradGuard no_grad;
    w.add_(1);
  }
  SECTION("by an optimizer") {
    optim::SGD optimizer({w}, optim::SGDOptions(0.1));
    w.mutable_grad() = ones({3, 2});
    optimizer.step();
  }
  SECTION("by another storage") { w.set_data(randn({3, 2})); }
  SECTION("by another storage of the same version and another layout") { w.set_data(randn({2, 3}).t()); }
  SECTION("by the end of the region") {
    guard.reset();
    guard.emplace(kCPU, kBFloat16);
  }
  SECTION("by clear_cache") { autocast::clear_cache(); }
  SECTION("by another dtype") { guard.emplace(kCPU, kFloat16); }
  const Tensor y = ones({1, 3}).mm(w);
  CHECK(cast_node(y, 1) != cast_node(kept, 1));
  const DType half = y.dtype();
  CHECK(y.equal(ones({1, 3}, half).mm(w.to(half))));
}

TEST_CASE("only casts that gradients can pass through are kept for a forward with gradients", "[autocast]") {
  const Tensor w = randn({3, 2}).requires_grad_();
  const AutocastGuard guard(kCPU, kBFloat16);
  {
    const NoGradGuard no_grad;
    CHECK_FALSE(ones({1, 3}).mm(w).requires_grad());
  }
  const Tensor y = ones({1, 3}).mm(w);
  REQUIRE(y.requires_grad());
  y.sum().backward();
  CHECK(w.grad().equal(ones({3, 2})));
  {
    const InferenceMode inference;
    autocast::clear_cache();
    CHECK(ones({1, 3}).mm(w).is_inference());
  }
  CHECK(ones({1, 3}).mm(w).requires_grad());
  const AutocastGuard uncached(kCPU, kBFloat16, true, /*cache_enabled=*/false);
  const Tensor once = ones({1, 3}).mm(w);
  CHECK(cast_of(w) != cast_node(once, 1));
}

TEST_CASE("operations without a row in the fixture are cast too", "[autocast]") {
  const Tensor x = randn({2, 3}), h = randn({2, 4}), line = randn({5, 2, 3});
  const auto weights = [](int64_t gates) { return std::pair(randn({gates * 4, 3}), randn({gates * 4, 4})); };
  const auto [w, u] = weights(1);
  const auto [gru_w, gru_u] = weights(3);
  const auto [lstm_w, lstm_u] = weights(4);
  const AutocastGuard guard(kCPU, kBFloat16);
  CHECK(rnn_tanh_cell(x, h, w, u).dtype() == kBFloat16);
  CHECK(rnn_relu_cell(x, h, w, u).dtype() == kBFloat16);
  CHECK(gru_cell(x, h, gru_w, gru_u).dtype() == kBFloat16);
  CHECK(std::get<1>(lstm_cell(x, std::vector<Tensor>{h, h}, lstm_w, lstm_u)).dtype() == kBFloat16);
  CHECK(conv_tbc(line, randn({3, 3, 4}), zeros({4})).dtype() == kBFloat16);
  CHECK(convolution(randn({1, 2, 5}), randn({3, 2, 3}), Tensor(), {1}, {0}, {1}, false, {0}, 1).dtype() == kBFloat16);
}

TEST_CASE("recurrent layers and cells compute in the lower precision", "[autocast]") {
  manual_seed(3);
  const Tensor x = randn({4, 2, 3});
  nn::LSTM lstm(nn::LSTMOptions(3, 5).num_layers(2).bidirectional(true));
  nn::GRUCell cell(3, 5);
  const auto low = std::dynamic_pointer_cast<nn::LSTMImpl>(lstm->clone());
  const auto low_cell = std::dynamic_pointer_cast<nn::GRUCellImpl>(cell->clone());
  low->to(kBFloat16);
  low_cell->to(kBFloat16);
  const auto [plain, plain_states] = low->forward(x.to(kBFloat16));
  const AutocastGuard guard(kCPU, kBFloat16);
  const auto [y, states] = lstm(x);
  CHECK(y.dtype() == kBFloat16);
  CHECK(y.equal(plain));
  CHECK(std::get<1>(states).equal(std::get<1>(plain_states)));
  CHECK(cell(x[0]).equal(low_cell->forward(x[0].to(kBFloat16))));
  y.sum().backward();
  for (const Tensor& p : lstm->parameters()) CHECK(p.grad().dtype() == kFloat32);
}

TEST_CASE("a checkpoint's second run has the first run's autocast", "[autocast]") {
  nn::Linear net(4, 4);
  const Tensor x = randn({3, 4}).requires_grad_();
  const auto run = [&](bool checkpointed) {
    net->zero_grad();
    x.mutable_grad() = Tensor();
    Tensor y;
    {
      const AutocastGuard guard(kCPU, kBFloat16);
      const auto f = [&](const Tensor& in) { return net(net(in).tanh()); };
      y = checkpointed ? nn::utils::checkpoint(f, x) : f(x);
    }
    y.sum().backward();
    return std::vector<Tensor>{y.detach(), x.grad().clone(), net->weight.grad().clone()};
  };
  const std::vector<Tensor> plain = run(false), again = run(true);
  for (size_t i = 0; i < plain.size(); ++i) CHECK(again[i].equal(plain[i]));
}
