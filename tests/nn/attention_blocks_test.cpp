// Tests that block-wise attention (the fused kernel) gives the same results as the separate operations.
#include <cmath>
#include <cstring>
#include <limits>

#include "tandem/core/loop/graph.h"
#include "tandem/ops/gradcheck.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/nn/fusion_guard.h"

namespace tandem {
namespace {

using test::FusionGuard;

class Threads {
 public:
  explicit Threads(int count) : saved_(get_num_threads()) { set_num_threads(count); }
  ~Threads() { set_num_threads(saved_); }

 private:
  int saved_;
};
bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous(), y = b.contiguous();
  return x.sizes() == y.sizes() && std::memcmp(x.raw_data(), y.raw_data(), x.nbytes()) == 0;
}

/// Prepends dimensions of size 1 until x has four: only tensors of four dimensions use block-wise attention.
Tensor four(Tensor x) {
  while (x.dim() < 4) x = x.unsqueeze(0);
  return x;
}
struct Case {
  Shape q, k, v;
  bool causal = false;
  Tensor mask = {};
  DType dtype = kFloat32;
};
bool goes_by_blocks(const Tensor& y) {
  return y.grad_fn() && std::string(y.grad_fn()->name()) == "scaled_dot_product_attention";
}
/// Returns the output and the gradients of q, k and v.
std::vector<Tensor> run(bool blocks, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal,
                        std::optional<double> scale = {}) {
  const FusionGuard fusion(blocks);
  std::vector<Tensor> in{four(q).detach().requires_grad_(), four(k).detach().requires_grad_(),
                         four(v).detach().requires_grad_()};
  const Tensor y = scaled_dot_product_attention(in[0], in[1], in[2], mask, 0, causal, scale);
  CHECK(goes_by_blocks(y) == blocks);
  manual_seed(11);
  y.backward(randn(y.sizes(), y.dtype()));
  return {y.detach(), in[0].grad(), in[1].grad(), in[2].grad()};
}
void check(const Case& c) {
  CAPTURE(c.q, c.k, c.v, c.causal);
  manual_seed(3);
  const Tensor q = randn(c.q, c.dtype), k = randn(c.k, c.dtype), v = randn(c.v, c.dtype);
  const auto found = run(true, q, k, v, c.mask, c.causal), expected = run(false, q, k, v, c.mask, c.causal);
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    // Tolerance: float sums of up to a few hundred terms of size 1, in another order.
    CHECK(found[i].allclose(expected[i], 1e-5, c.dtype == kFloat64 ? 1e-13 : 5e-6, /*equal_nan=*/true));
    CHECK(found[i].sizes() == expected[i].sizes());
  }
}

}  // namespace

TEST_CASE("Attention by blocks gives what the composition gives", "[nn][attention][blocks]") {
  manual_seed(1);
  for (const bool causal : {false, true})
    for (const DType dtype : {kFloat32, kFloat64}) {
      const auto same = [&](const Shape& q, const Shape& k, const Shape& v) { check({q, k, v, causal, {}, dtype}); };
      same({1, 1}, {1, 1}, {1, 1});
      same({1, 5}, {7, 5}, {7, 3});
      same({2, 3, 7, 5}, {2, 3, 7, 5}, {2, 3, 7, 5});
      same({2, 65, 9}, {2, 33, 9}, {2, 33, 4});             // causal with L > S
      same({1, 2, 33, 8}, {1, 2, 131, 8}, {1, 2, 131, 8});  // causal with L < S
      same({3, 1, 129, 1}, {3, 1, 129, 1}, {3, 1, 129, 17});
      same({2, 130, 16}, {2, 600, 16}, {2, 600, 16});  // several blocks of keys
      same({600, 8}, {530, 8}, {530, 8});              // one matrix whose gradients are split over several work units
      same({2, 3, 6, 4}, {3, 6, 4}, {2, 1, 6, 4});     // broadcast leading dimensions
      same({2, 3, 6, 4}, {5, 4}, {1, 1, 5, 4});
    }
}

TEST_CASE("Attention by blocks takes masks as the composition does", "[nn][attention][blocks]") {
  manual_seed(2);
  const float nowhere = -std::numeric_limits<float>::infinity();
  for (const DType dtype : {kFloat32, kFloat64}) {
    const auto both = [&](const Shape& mask_sizes, const Shape& q, const Shape& k) {
      const Tensor seen = rand(mask_sizes) < 0.6;
      check({q, k, k, false, seen, dtype});
      check({q, k, k, false, randn(mask_sizes, dtype), dtype});
      check({q, k, k, false, zeros(mask_sizes, dtype).masked_fill(seen.logical_not(), nowhere), dtype});
    };
    both({9, 70}, {2, 3, 9, 5}, {2, 3, 70, 5});
    both({2, 1, 1, 7}, {2, 3, 5, 4}, {2, 3, 7, 4});  // padding mask
    both({5, 1}, {3, 5, 4}, {3, 7, 4});              // some queries are masked completely
    both({2, 3, 66, 530}, {2, 3, 66, 4}, {2, 3, 530, 4});
    both({}, {3, 5, 4}, {3, 7, 4});
    check({{3, 5, 4}, {3, 7, 4}, {3, 7, 4}, false, zeros({1}, kBool), dtype});  // every query is masked completely
    // Masks that hide whole blocks of keys from the first queries, at the beginning or at the end.
    const Tensor front = ones({70, 1100}, kBool), end = ones({70, 1100}, kBool);
    front.slice(0, 0, 3).slice(1, 0, 1050).fill_(0), end.slice(0, 0, 3).slice(1, 40).fill_(0);
    front[5].fill_(0);
    for (const Tensor& mask : {front, end}) check({{2, 70, 6}, {2, 1100, 6}, {2, 1100, 6}, false, mask, dtype});
  }
  // A mask that requires a gradient uses the separate operations.
  const Tensor q = randn({1, 1, 3, 4}).requires_grad_(), mask = randn({3, 3}).requires_grad_();
  CHECK_FALSE(goes_by_blocks(scaled_dot_product_attention(q, q, q, mask)));
}

TEST_CASE("Attention by blocks treats NaN and infinity as the composition does", "[nn][attention][blocks]") {
  manual_seed(4);
  const Tensor k = randn({1, 1, 6, 3}), v = randn({1, 1, 6, 3}), mask = rand({5, 6}) < 0.7;
  mask[2].fill_(0);
  for (const double value : {std::nan(""), HUGE_VAL, -HUGE_VAL})
    for (const bool masked : {false, true})
      for (const bool causal : {false, true}) {
        if (masked && causal) continue;
        CAPTURE(value, masked, causal);
        const Tensor q = randn({5, 3});
        q[1][0] = value, q[2][1] = value;
        const auto given = [&](bool blocks) {
          const FusionGuard fusion(blocks);
          return scaled_dot_product_attention(four(q), k, v, masked ? mask : Tensor(), 0, causal);
        };
        CHECK(given(true).allclose(given(false), 1e-5, 1e-6, /*equal_nan=*/true));
      }
}

TEST_CASE("Attention by blocks takes heads as they lie and gives them back so", "[nn][attention][blocks]") {
  manual_seed(5);
  const int64_t n = 2, length = 70, heads = 3, width = 5;
  const Tensor packed = randn({n, length, 3, heads, width});
  const auto part = [&](int64_t i) { return packed.select(2, i).transpose(1, 2); };
  for (const bool causal : {false, true}) {
    const auto as_it_lies = run(true, part(0), part(1), part(2), {}, causal, 0.3),
               copied = run(true, part(0).contiguous(), part(1).contiguous(), part(2).contiguous(), {}, causal, 0.3);
    for (size_t i = 0; i < copied.size(); ++i) CHECK(same_bits(as_it_lies[i], copied[i]));
    CHECK(as_it_lies[0].transpose(1, 2).is_contiguous());
  }
  // Columns that are not contiguous, and rows that share memory.
  const Tensor columns = randn({n, width, length}).transpose(1, 2),
               row = randn({n, 1, width}).expand({n, length, width});
  const auto found = run(true, columns, row, columns, {}, false),
             expected = run(false, columns, row, columns, {}, false);
  for (size_t i = 0; i < found.size(); ++i) CHECK(found[i].allclose(expected[i], 1e-5, 5e-6));
}

TEST_CASE("Attention by blocks has the gradients that differences give, first and second", "[nn][attention][blocks]") {
  manual_seed(6);
  const auto leaf = [](const Shape& sizes) { return randn(sizes, kFloat64).requires_grad_(); };
  const Tensor mask = rand({4, 5}) < 0.7;
  for (const bool causal : {false, true})
    for (const bool masked : {false, true}) {
      if (causal && masked) continue;
      const auto f = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
        return {scaled_dot_product_attention(in[0], in[1], in[2], masked ? mask : Tensor(), 0, causal)};
      };
      const std::vector<Tensor> in{leaf({1, 2, 4, 3}), leaf({1, 2, 5, 3}), leaf({1, 2, 5, 2})};
      CHECK(autograd::gradcheck(f, in));
      CHECK(autograd::gradgradcheck(f, in));
    }
  // k requires no gradient
  const Tensor q = leaf({1, 1, 3, 2}), k = randn({1, 1, 3, 2}, kFloat64), v = leaf({1, 1, 3, 2});
  const Tensor y = scaled_dot_product_attention(q, k, v);
  const auto first = autograd::grad({y.square().sum()}, {q, v}, {}, std::nullopt, /*create_graph=*/true);
  const auto second = autograd::grad({first[0].square().sum()}, {q, v});
  const FusionGuard off(false);
  const Tensor composed = scaled_dot_product_attention(q, k, v);
  const auto first_of_it = autograd::grad({composed.square().sum()}, {q, v}, {}, std::nullopt, true);
  const auto second_of_it = autograd::grad({first_of_it[0].square().sum()}, {q, v});
  for (size_t i = 0; i < 2; ++i) CHECK(second[i].allclose(second_of_it[i], 1e-10, 1e-12));
}

TEST_CASE("Attention by blocks: one tensor as query and key, and hooks", "[nn][attention][blocks]") {
  manual_seed(8);
  const Tensor x = randn({1, 1, 4, 3}, kFloat64), v = randn({1, 1, 4, 2}, kFloat64);
  int calls[2] = {0, 0};
  std::vector<Tensor> second;
  for (const bool blocks : {false, true}) {
    const FusionGuard fusion(blocks);
    const Tensor q = x.detach().requires_grad_();
    q.register_hook([&](const Tensor&) { ++calls[blocks]; });
    const auto first = autograd::grad({scaled_dot_product_attention(q, q, v, {}, 0, true).square().sum()}, {q}, {},
                                      std::nullopt, /*create_graph=*/true);
    second.push_back(first[0]);
    second.push_back(autograd::grad({first[0].square().sum()}, {q})[0]);
  }
  CHECK(second[2].allclose(second[0], 1e-10, 1e-12));
  CHECK(second[3].allclose(second[1], 1e-10, 1e-12));
  CHECK(calls[1] == calls[0]);
}

TEST_CASE("Attention by blocks does not depend on the number of threads, nor on being recorded",
          "[nn][attention][blocks]") {
  manual_seed(7);
  for (const bool causal : {false, true})
    for (const Shape& sizes : {Shape{2, 3, 130, 8}, Shape{1, 1, 1100, 8}}) {
      CAPTURE(sizes, causal);
      const Tensor q = randn(sizes), k = randn(sizes), v = randn(sizes);
      std::vector<Tensor> one;
      for (const int count : {1, 2, 3}) {
        const Threads threads(count);
        const auto found = run(true, q, k, v, {}, causal);
        if (count == 1) one = found;
        for (size_t i = 0; i < found.size(); ++i) CHECK(same_bits(found[i], one[i]));
      }
      std::vector<Tensor> in{q.clone().requires_grad_(), k.clone().requires_grad_(), v.clone().requires_grad_()};
      Tensor y, slope = randn(sizes);
      Graph graph;
      graph.capture([&] {
        for (const Tensor& x : in) x.mutable_grad() = Tensor();
        y = scaled_dot_product_attention(in[0], in[1], in[2], {}, 0, causal);
        y.backward(slope);
      });
      for (int i = 0; i < 2; ++i) {
        for (const Tensor& x : in) x.detach().copy_(randn(sizes));
        graph.replay();
        std::vector<Tensor> same;
        for (const Tensor& x : in) same.push_back(x.detach().clone().requires_grad_());
        const Tensor expected = scaled_dot_product_attention(same[0], same[1], same[2], {}, 0, causal);
        expected.backward(slope);
        CHECK(same_bits(y, expected));
        for (size_t j = 0; j < 3; ++j) CHECK(same_bits(in[j].grad(), same[j].grad()));
      }
    }
}

TEST_CASE("Attention goes another way where it is not made for blocks", "[nn][attention][blocks]") {
  const auto leaf = [](const Shape& sizes) { return randn(sizes).requires_grad_(); };
  const Tensor x = leaf({1, 2, 3, 4});
  CHECK(goes_by_blocks(scaled_dot_product_attention(x, x, x)));
  CHECK_FALSE(goes_by_blocks(scaled_dot_product_attention(x[0], x[0], x[0])));
  CHECK_FALSE(goes_by_blocks(scaled_dot_product_attention(leaf({3, 4}), x, x)));
  CHECK(scaled_dot_product_attention(x, leaf({1, 2, 0, 4}), leaf({1, 2, 0, 4})).equal(zeros({1, 2, 3, 4})));
  CHECK_THROWS_WITH(scaled_dot_product_attention(x, leaf({1, 3, 3, 4}), leaf({1, 3, 3, 4})),
                    Contains("scaled_dot_product_attention: ") && Contains("(1, 2) and (1, 3)"));
  nn::MultiheadAttention attention(4, 2);
  const auto [y, weights] = attention(x[0], x[0], x[0], Tensor(), /*need_weights=*/false);
  const auto [expected, with_weights] = attention(x[0], x[0], x[0]);
  CHECK(y.allclose(expected, 1e-5, 1e-6));
}

}  // namespace tandem
