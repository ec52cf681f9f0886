// Tests attention by blocks with dropout and in half precision. The references are composed in float64, with dropout
// masks that a plain loop draws from the same random numbers.
#include <cmath>
#include <cstring>
#include <limits>

#include "tandem/core/generator.h"
#include "tandem/core/loop/graph.h"
#include "tandem/kernels/philox.h"
#include "tandem/nn/utils/checkpoint.h"
#include "tandem/ops/gradcheck.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/nn/fusion_guard.h"

namespace tandem::test::attention_dropout {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool goes_by_blocks(const Tensor& y) { return std::string(y.grad_fn()->name()) == "scaled_dot_product_attention"; }
bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous(), y = b.contiguous();
  return x.sizes() == y.sizes() && std::memcmp(x.raw_data(), y.raw_data(), x.nbytes()) == 0;
}

/// Returns the mask (N, H, L, S) of the weights that dropout keeps, drawn one by one from the generator's state.
Tensor kept_weights(const detail::PhiloxState& random, double p, const Shape& sizes) {
  Tensor kept = empty(sizes, kBool);
  const int64_t h = sizes[1], l = sizes[2], s = sizes[3];
  for (int64_t i = 0; i < kept.numel(); ++i) {
    const int64_t batch = i / (h * l * s), head = i / (l * s) % h, row = i / s % l, column = i % s;
    const auto position = static_cast<uint64_t>(((batch * h + head) * l + row) * s + column);
    const uint32_t bits = philox32(random.seed, random.stream, random.offset, position);
    kept.data<bool>()[i] = uniform_float(bits) < static_cast<float>(1 - p);
  }
  return kept;
}

struct Call {
  Tensor q, k, v, mask;
  bool causal = false;
  double p = 0;
  std::optional<double> scale = {};
};
using Results = std::vector<Tensor>;  // out, dq, dk, dv

/// Computes out and the gradients by scaled_dot_product_attention. The slope of out is `slope`.
Results computed(const Call& c, const Tensor& slope) {
  const auto leaf = [](const Tensor& x) { return x.detach().requires_grad_(); };
  const std::vector<Tensor> in{leaf(c.q), leaf(c.k), leaf(c.v)};
  const Tensor y = scaled_dot_product_attention(in[0], in[1], in[2], c.mask, c.p, c.causal, c.scale);
  CHECK(goes_by_blocks(y) == nn::layer_fusion());
  CHECK(y.dtype() == c.q.dtype());
  y.backward(slope);
  return {y.detach(), in[0].grad(), in[1].grad(), in[2].grad()};
}
/// Composes attention and its gradients of float64 operations.
Results composed(const Call& c, const Tensor& slope, const Tensor& kept) {
  const auto leaf = [](const Tensor& x) { return x.detach().to(kFloat64).requires_grad_(); };
  const std::vector<Tensor> in{leaf(c.q), leaf(c.k), leaf(c.v)};
  const int64_t l = c.q.size(-2), s = c.k.size(-2);
  Tensor scores = in[0].matmul(in[1].transpose(-2, -1)) * c.scale.value_or(1 / std::sqrt(c.q.size(-1)));
  Tensor hidden = zeros({l, s}, kBool);
  if (c.causal) hidden = ones({l, s}, kBool).triu(1);
  if (c.mask.defined() && c.mask.dtype() == kBool) hidden = c.mask.logical_not();
  if (c.mask.defined() && c.mask.dtype() != kBool) {
    hidden = c.mask.eq(-kInfinity);
    scores = scores + c.mask.to(kFloat64).masked_fill(hidden, 0);
  }
  // -1e300 instead of -infinity, so that a query that sees no key gets weights, which then become 0
  Tensor weights = scores.masked_fill(hidden, -1e300).softmax(-1).masked_fill(hidden, 0);
  if (kept.defined()) weights = where(kept, weights / (1 - c.p), zeros({}, kFloat64));
  const Tensor y = weights.matmul(in[2]);
  y.backward(slope.to(kFloat64));
  return {y.detach(), in[0].grad(), in[1].grad(), in[2].grad()};
}

struct Sizes {
  int64_t n, h, l, s, e, v;
};
Call call(const Sizes& z, DType dtype, double p) {
  return {randn({z.n, z.h, z.l, z.e}).to(dtype),
          randn({z.n, z.h, z.s, z.e}).to(dtype),
          randn({z.n, z.h, z.s, z.v}).to(dtype),
          {},
          false,
          p};
}
/// Largest relative error of rounding to `dtype`.
double unit_of(DType dtype) {
  return dtype == kFloat64 ? 0x1p-53 : dtype == kFloat32 ? 0x1p-24 : dtype == kFloat16 ? 0x1p-11 : 0x1p-8;
}
void check(const Call& c) {
  const Shape scores{c.q.size(0), c.q.size(1), c.q.size(2), c.k.size(2)};
  CAPTURE(c.q.dtype(), c.p, c.causal, scores, c.q.size(3), c.v.size(3));
  const Tensor slope = randn({scores[0], scores[1], scores[2], c.v.size(3)}).to(c.q.dtype());
  const detail::PhiloxState random = default_generator().get_state();
  const Results found = computed(c, slope);
  const Results expected = composed(c, slope, c.p > 0 ? kept_weights(random, c.p, scores) : Tensor());
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i, (found[i].to(kFloat64) - expected[i]).abs().max().item<double>());
    // Tolerance for float32 and float64: sums of a few hundred terms of size 1, in another order; dropout scales them
    // by 1 / (1 - p) <= 2. Half types: results are rounded by half a unit, and weights too if the processor multiplies
    // bfloat16; gradients also use the sum of out * dout over up to 64 columns, with out rounded.
    const double unit = unit_of(c.q.dtype()), terms = !is_reduced_floating_point(c.q.dtype()) ? 50 : i == 0 ? 1.5 : 8;
    CHECK(found[i].to(kFloat64).allclose(expected[i], terms * unit, terms * unit, /*equal_nan=*/true));
    CHECK(found[i].dtype() == c.q.dtype());
  }
}

class Threads {
 public:
  explicit Threads(int count) : saved_(get_num_threads()) { set_num_threads(count); }
  ~Threads() { set_num_threads(saved_); }
  Threads(const Threads&) = delete;

 private:
  int saved_;
};

}  // namespace

TEST_CASE("Attention with dropout and in halves equals a float64 composition with the same mask",
          "[nn][attention][blocks]") {
  manual_seed(1);
  for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16})
    for (const double p : {0.0, 0.1, 0.5}) {
      if (p == 0 && !is_reduced_floating_point(dtype)) continue;  // attention_blocks_test.cpp tests these
      check(call({1, 1, 1, 1, 1, 1}, dtype, p));
      check(call({2, 3, 7, 5, 3, 9}, dtype, p));
      check(call({1, 2, 65, 131, 8, 16}, dtype, p));
      check(call({1, 1, 70, 600, 16, 4}, dtype, p));   // several blocks of keys
      check(call({1, 1, 130, 1030, 3, 2}, dtype, p));  // gradients are split over several groups of keys
      check(call({1, 1, 70, 530, 64, 32}, dtype, p));  // large enough for oneDNN's products of bfloat16
      for (const Sizes& z : {Sizes{2, 1, 65, 33, 9, 4}, Sizes{1, 2, 33, 530, 8, 8}, Sizes{1, 1, 130, 300, 24, 32}}) {
        Call causal = call(z, dtype, p);
        causal.causal = true;
        causal.scale = 0.3;
        check(causal);
      }
    }
}

TEST_CASE("Attention with dropout and in halves takes all kinds of masks, and rows that a mask hides",
          "[nn][attention][blocks]") {
  manual_seed(2);
  const auto with = [](Call c, const Tensor& mask) {
    c.mask = mask;
    return c;
  };
  for (const DType dtype : {kFloat32, kFloat16, kBFloat16}) {
    const auto both = [&](const Shape& mask_sizes, const Sizes& z) {
      const Tensor seen = rand(mask_sizes) < 0.6;
      check(with(call(z, dtype, 0.3), seen));
      check(with(call(z, dtype, 0.3), randn(mask_sizes).to(dtype)));
      check(with(call(z, dtype, 0.3), zeros(mask_sizes, dtype).masked_fill(seen.logical_not(), -kInfinity)));
    };
    both({9, 70}, {2, 3, 9, 70, 5, 5});
    both({2, 1, 1, 7}, {2, 3, 5, 7, 4, 4});  // padding mask
    both({5, 1}, {1, 3, 5, 7, 4, 4});        // hides all keys from some queries
    both({1, 3, 66, 530}, {2, 3, 66, 530, 4, 4});
    const Call c = call({1, 2, 3, 70, 4, 4}, dtype, 0.3);
    const Results none = computed(with(c, zeros({3, 70}, kBool)), ones({1, 2, 3, 4}, dtype));
    for (const Tensor& each : none) CHECK(each.equal(zeros_like(each)));
  }
}

TEST_CASE("Attention accepts a mask of the dtypes that PyTorch accepts, by blocks and composed",
          "[nn][attention][blocks]") {
  const std::vector<DType> all{kFloat64, kFloat32, kFloat16, kBFloat16, kInt64, kBool};
  manual_seed(5);
  const Tensor base = randn({2, 3, 5, 8}, kFloat64), added = randn({5, 5}, kFloat64).to(kBFloat16).to(kFloat64);
  for (const DType type : {kFloat64, kFloat32, kFloat16, kBFloat16})
    for (const DType of_mask : all)
      for (const int64_t dims : {3, 4}) {  // four dimensions go by blocks
        CAPTURE(type, of_mask, dims);
        const Tensor whole = base.to(type), x = dims == 3 ? whole[0] : whole;
        const Tensor mask = of_mask == kBool ? ones({5, 5}, kBool).tril() : added.to(of_mask);
        if (of_mask != kBool && of_mask != kFloat32 && of_mask != type) {
          CHECK_THROWS_WITH(
              scaled_dot_product_attention(x, x, x, mask),
              Catch::Matchers::Contains("Expected attn_mask dtype to be bool or float or to match query"));
          continue;
        }
        const Tensor wide = x.to(kFloat64), scores = matmul(wide, wide.transpose(-2, -1)) / std::sqrt(8.0);
        const Tensor masked =
            of_mask == kBool ? scores.masked_fill(mask.logical_not(), -kInfinity) : scores + mask.to(kFloat64);
        const Tensor out = scaled_dot_product_attention(x, x, x, mask);
        CHECK(out.dtype() == type);
        // Half types are rounded once, or their weights too: twice half a unit, relative to values below 4.
        const double bound = type == kFloat64 ? 1e-13 : type == kFloat32 ? 1e-5 : type == kFloat16 ? 4e-3 : 3e-2;
        CHECK((out.to(kFloat64) - matmul(masked.softmax(-1), wide)).abs().max().item<double>() < bound);
      }
  if (cuda::is_available())
    CHECK_THROWS_WITH(scaled_dot_product_attention(base, base, base, added.to(Device("cuda"))),
                      Catch::Matchers::Contains("Expected all tensors to be on the same device"));
}

TEST_CASE("Attention with dropout and in halves takes heads as they lie, and broadcast keys",
          "[nn][attention][blocks]") {
  manual_seed(3);
  for (const DType dtype : {kFloat32, kBFloat16}) {
    const Tensor packed = randn({2, 70, 3, 3, 5}).to(dtype);
    const auto part = [&](int64_t i) { return packed.select(2, i).transpose(1, 2); };
    const Tensor slope = randn({2, 3, 70, 5}).to(dtype);
    const Call strided{part(0), part(1), part(2), {}, true, 0.2};
    const Call copied{part(0).contiguous(), part(1).contiguous(), part(2).contiguous(), {}, true, 0.2};
    manual_seed(4);
    const Results found = computed(strided, slope);
    manual_seed(4);
    const Results expected = computed(copied, slope);
    for (size_t i = 0; i < found.size(); ++i) CHECK(same_bits(found[i], expected[i]));
    Call broadcast = strided;
    broadcast.k = part(1).slice(1, 0, 1);
    broadcast.v = part(2).slice(0, 0, 1);
    check(broadcast);
  }
}

TEST_CASE("Dropout of attention draws the numbers that dropout of the composed weights draws",
          "[nn][attention][blocks]") {
  for (const DType dtype : {kFloat32, kBFloat16}) {
    std::vector<Results> results;
    std::vector<Tensor> next;
    for (const bool blocks : {true, false}) {
      const FusionGuard fusion(blocks);
      manual_seed(5);
      const Call c = call({1, 2, 9, 33, 4, 4}, dtype, 0.4);
      results.push_back(computed(c, ones({1, 2, 9, 4}, dtype)));
      next.push_back(rand({4}));
    }
    // A different mask would change results by much more. Tolerance: as in check(), for two results
    const double tolerance = 4 * std::max(unit_of(dtype), 1e-6);
    for (size_t i = 0; i < 4; ++i) CHECK(results[0][i].allclose(results[1][i], tolerance, tolerance));
    CHECK(next[0].equal(next[1]));
  }
}

TEST_CASE("Dropout of attention drops the given share of weights, independently by position",
          "[nn][attention][blocks]") {
  manual_seed(6);
  const int64_t heads = 4, size = 256;
  const double p = 0.1, count = static_cast<double>(heads * size * size);
  // With queries of 0 all weights are 1 / S. With values that are the unit matrix, the output is the weights.
  const Tensor zero = zeros({1, heads, size, 8}), unit = eye(size).expand({1, heads, size, size});
  const detail::PhiloxState random = default_generator().get_state();
  const Tensor weights = scaled_dot_product_attention(zero, zero, unit, {}, p);
  const Tensor kept = weights.ne(0);
  CHECK(kept.equal(kept_weights(random, p, {1, heads, size, size})));
  CHECK((weights * static_cast<double>(size) * (1 - p)).allclose(kept.to(kFloat32), 1e-5, 0));
  // Tolerance: five standard deviations of a binomial distribution
  const double deviation = std::sqrt(p * (1 - p) / count);
  CHECK(kept.logical_not().to(kFloat64).mean().item<double>() == Approx(p).margin(5 * deviation));
  CHECK(weights.sum(-1).mean().item<double>() == Approx(1).margin(5 * deviation / (1 - p)));
  // Neighbours in each direction are dropped independently: both with probability p^2.
  const Tensor dropped = kept.logical_not().to(kFloat64);
  for (const int64_t dim : {1, 2, 3}) {
    const int64_t n = dropped.size(dim);
    const Tensor pairs = dropped.narrow(dim, 0, n - 1) * dropped.narrow(dim, 1, n - 1);
    const double margin = 5 * std::sqrt(p * p / static_cast<double>(pairs.numel()));
    CHECK(pairs.mean().item<double>() == Approx(p * p).margin(margin));
  }
  CHECK_FALSE(scaled_dot_product_attention(zero, zero, unit, {}, p).equal(weights));
}

TEST_CASE("Attention with dropout and in halves does not depend on the number of threads, nor on being recorded",
          "[nn][attention][blocks]") {
  for (const DType dtype : {kFloat32, kBFloat16})
    for (const Sizes& z : {Sizes{2, 3, 130, 130, 8, 8}, Sizes{1, 1, 300, 1100, 8, 8}}) {
      CAPTURE(dtype, z.l, z.s);
      manual_seed(7);
      const Call c = call(z, dtype, 0.2);
      const Tensor slope = randn({z.n, z.h, z.l, z.v}).to(dtype);
      std::vector<Results> eager;  // of two steps in a row
      for (const int count : {1, 2, 4}) {
        const Threads threads(count);
        manual_seed(8);
        for (size_t step = 0; step < 2; ++step) {
          const Results found = computed(c, slope);
          if (count == 1) eager.push_back(found);
          for (size_t i = 0; i < found.size(); ++i) CHECK(same_bits(found[i], eager[step][i]));
        }
      }
      CHECK_FALSE(same_bits(eager[0][0], eager[1][0]));
      Results recorded(4);
      Graph graph;
      graph.capture([&] { recorded = computed(c, slope); });
      manual_seed(8);
      for (const Results& expected : eager) {
        graph.replay();
        for (size_t i = 0; i < expected.size(); ++i) CHECK(same_bits(recorded[i], expected[i]));
      }
    }
}

TEST_CASE("Dropout of attention is the same in backward after other draws, under a guard, and in a checkpoint",
          "[nn][attention][blocks]") {
  manual_seed(9);
  const Call c = call({1, 2, 65, 70, 4, 4}, kFloat32, 0.3);
  const Tensor slope = randn({1, 2, 65, 4});
  manual_seed(10);
  const Results expected = computed(c, slope);
  const auto gradient_of = [&](const std::function<Tensor(const Tensor&)>& f, bool disturb) {
    const Tensor q = c.q.detach().requires_grad_();
    const Tensor y = f(q);
    if (disturb) manual_seed(99), rand({1000});
    y.backward(slope);
    return q.grad();
  };
  const auto attend = [&](const Tensor& q) { return scaled_dot_product_attention(q, c.k, c.v, {}, 0.3); };
  manual_seed(10);
  CHECK(same_bits(gradient_of(attend, /*disturb=*/true), expected[1]));
  Generator named(10);
  const auto guarded = [&](const Tensor& q) {
    const GeneratorGuard guard(named);
    return attend(q);
  };
  CHECK(same_bits(gradient_of(guarded, /*disturb=*/true), expected[1]));
  manual_seed(10);
  const auto checkpointed = [&](const Tensor& q) { return nn::utils::checkpoint(attend, q); };
  CHECK(same_bits(gradient_of(checkpointed, /*disturb=*/true), expected[1]));
}

TEST_CASE("A checkpoint in a Graph draws the same dropout in both of its runs, in each replay",
          "[nn][attention][blocks]") {
  manual_seed(13);
  const Tensor x = randn({1, 2, 9, 4}).requires_grad_(), k = randn({1, 2, 9, 4});
  const std::function<Tensor(const Tensor&)> functions[] = {
      [&](const Tensor& q) { return scaled_dot_product_attention(q, k, k, {}, 0.5); },
      [](const Tensor& in) { return dropout(in * 2, 0.5); }};
  for (const auto& f : functions)
    for (const bool named : {false, true}) {
      Generator generator(14);
      Tensor y;
      const auto step = [&] {
        std::optional<GeneratorGuard> guard;
        if (named) guard.emplace(generator);
        x.mutable_grad() = Tensor();
        y = nn::utils::checkpoint(f, x);
        y.backward(ones_like(y));
      };
      const auto seed = [&] { named ? generator.set_current_seed(14) : manual_seed(14); };
      Graph graph;
      graph.capture(step);
      std::vector<Tensor> replayed;
      seed();
      for (int i = 0; i < 2; ++i) {
        graph.replay();
        replayed.push_back(y.detach().clone());
        replayed.push_back(x.grad().clone());
      }
      seed();
      for (size_t i = 0; i < 2; ++i) {
        step();
        CHECK(same_bits(y, replayed[2 * i]));
        CHECK(same_bits(x.grad(), replayed[2 * i + 1]));
      }
    }
}

TEST_CASE("Attention with dropout has the gradients that differences give, first and second",
          "[nn][attention][blocks]") {
  manual_seed(11);
  const auto leaf = [](const Shape& sizes) { return randn(sizes, kFloat64).requires_grad_(); };
  const Tensor mask = rand({4, 5}) < 0.7;
  for (const bool causal : {false, true}) {
    const auto f = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
      manual_seed(12);
      return {scaled_dot_product_attention(in[0], in[1], in[2], causal ? Tensor() : mask, 0.3, causal)};
    };
    const std::vector<Tensor> in{leaf({1, 2, 4, 3}), leaf({1, 2, 5, 3}), leaf({1, 2, 5, 2})};
    CHECK(autograd::gradcheck(f, in));
    CHECK(autograd::gradgradcheck(f, in));
  }
}

TEST_CASE("Attention by blocks takes dropout probabilities as dropout does", "[nn][attention][blocks]") {
  const Tensor x = randn({1, 2, 3, 4}).requires_grad_();
  const auto with = [&](double p) { return scaled_dot_product_attention(x, x, x, {}, p); };
  CHECK(goes_by_blocks(with(0.999)));
  CHECK(with(1).equal(zeros({1, 2, 3, 4})));
  for (const double p : {-0.1, 1.1, std::nan("")})
    CHECK_THROWS_WITH(with(p), Contains("dropout probability has to be between 0 and 1, but got"));
  const Tensor empty = zeros({1, 2, 0, 4});
  CHECK(scaled_dot_product_attention(x, empty, empty, {}, 0.5).equal(zeros({1, 2, 3, 4})));
  CHECK(scaled_dot_product_attention(empty, x, x, {}, 0.5).sizes() == empty.sizes());
}

}  // namespace tandem::test::attention_dropout
