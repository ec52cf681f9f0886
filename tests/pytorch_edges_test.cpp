// Tests NaNs, infinities, ties, dtypes and broadcasting in cases where random programs once showed a difference from
// PyTorch. Expected values come from PyTorch 2.15.
#include <cmath>
#include <limits>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

namespace tandem {
namespace {
/// Returns 2 * sin(0), 2 * sin(1), ... in the given shape, as a leaf.
Tensor waves(IntArrayRef sizes) { return (arange(numel_of(sizes)).sin() * 2).view(sizes).detach().requires_grad_(); }
}  // namespace

TEST_CASE("take_along_dim counts an index outside of the dimension modulo its size", "[edges]") {
  const Tensor x = tensor({{10.f, 20.f, 30.f}});
  CHECK(x.take_along_dim(tensor({{5, -1, -4, 3, 7}}), 1).equal(tensor({{30.f, 30.f, 30.f, 10.f, 20.f}})));
  CHECK(x.take_along_dim(tensor({{1}}), 0).equal(x));
  CHECK(zeros({0, 1}).take_along_dim(zeros({0, 1}, kInt64), 1).sizes() == Shape{0, 1});
  // without dim, indices are not taken modulo the size, as in PyTorch
  CHECK_THROWS_WITH(x.take_along_dim(tensor({5})), Contains("accepted: 0 to 2"));
  const Tensor rows = waves({2, 3}), index = zeros({2, 1}, kInt64);
  const Tensor y = rows.take_along_dim(index, 1);
  index.fill_(1);  // allowed: backward keeps its own copy of the index
  y.sum().backward();
  CHECK(rows.grad().equal(tensor({{1.f, 0.f, 0.f}, {1.f, 0.f, 0.f}})));
}

TEST_CASE("elu with scales has PyTorch's values and gradients far from 0, at 0 and at NaN", "[edges]") {
  // torch._C._nn.elu(x, 1.5, 2.0, 0.5), PyTorch 2.15
  const Tensor x = tensor({1000.0f, -1000.0f, 0.0f, 2.0f, -2.0f, INFINITY, -INFINITY, NAN}).requires_grad_();
  const Tensor y = elu(x, 1.5, 2.0, 0.5);
  y.sum().backward();
  const Tensor values = tensor({2000.0f, -3.0f, 0.0f, 4.0f, -1.8963615894317627f, INFINITY, -3.0f});
  const Tensor gradients = tensor({2.0f, 0.0f, 1.5f, 2.0f, 0.5518192052841187f, 2.0f, 0.0f, 2.0f});
  CHECK(y.narrow(0, 0, 7).allclose(values, 1e-6, 1e-7));  // a few units in the last place
  CHECK(std::isnan(y[7].item<float>()));
  CHECK(x.grad().allclose(gradients, 1e-6, 1e-7));
}

TEST_CASE("an index without elements may be of any dtype where gather and scatter take it", "[edges]") {
  const Tensor x = ones({3});
  for (const DType type : {kUInt8, kInt16, kBool, kFloat32}) {
    CAPTURE(type);
    const Tensor none = zeros({0}, type);
    CHECK(x.gather(0, none).sizes() == Shape{0});
    CHECK(x.scatter(0, none, x).equal(x));
    CHECK(x.scatter_add(0, none, x).equal(x));
    CHECK(x.scatter_reduce(0, none, x, "sum").equal(x));
    CHECK_THROWS_WITH(x.index_select(0, none), Contains("Expected dtype int32/int64 for index"));
    CHECK_THROWS_WITH(x.take_along_dim(none, 0), Contains("Expected dtype int32/int64 for index"));
  }
}

TEST_CASE("group_norm and pads by the image's own elements want channels and positions", "[edges]") {
  CHECK(group_norm(zeros({0, 4, 3}), 2).sizes() == Shape{0, 4, 3});
  CHECK_THROWS_WITH(group_norm(zeros({2, 0, 3}), 1), Contains("only the batch size may be 0"));
  CHECK_THROWS_WITH(group_norm(zeros({2, 4, 0}), 2), Contains("only the batch size may be 0"));
  for (const char* mode : {"reflect", "replicate"}) {
    CAPTURE(mode);
    CHECK(pad(zeros({0, 2, 3}), {1, 1}, mode).sizes() == Shape{0, 2, 5});
    CHECK_THROWS_WITH(pad(zeros({1, 0, 3}), {1, 1}, mode),
                      Contains("tensor with possibly 0 batch size and other non-zero dimensions"));
    CHECK_THROWS_WITH(pad(zeros({0, 3}), {1, 1}, mode),
                      Contains("tensor with possibly 0 batch size and other non-zero dimensions"));
  }
}

TEST_CASE("cumulative_trapezoid sums integers as real numbers", "[edges]") {
  const Tensor y = cumulative_trapezoid(tensor({std::numeric_limits<int64_t>::max(), int64_t{0}, int64_t{1}}));
  CHECK(y.equal(tensor({0x1p62f, 0x1p62f})));
  CHECK(cumulative_trapezoid(tensor({1.0, 2.0, 4.0}), 3).equal(tensor({4.5, 13.5})));
}

TEST_CASE("elu leaves a zero as it is", "[edges]") {
  const Tensor y = elu(tensor({0.f, -0.f, -1.f}), -1.0);
  CHECK(y.reciprocal().narrow(0, 0, 2).equal(tensor({INFINITY, -INFINITY})));
  CHECK(y[2].item<float>() == Approx(1 - std::exp(-1.f)));
}

TEST_CASE("grid_sampler takes the first pixel for a place that is NaN where nothing is zero outside", "[edges]") {
  constexpr int64_t kBilinear = 0, kNearest = 1, kBorder = 1, kReflection = 2;
  const Tensor x = tensor({{{{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}}}});
  for (const bool align : {false, true}) {
    const auto at = [&](float place, int64_t mode, int64_t padding) {
      return grid_sampler(x, tensor({{{{place, 0.5f}}}}), mode, padding, align).item<float>();
    };
    const float between = align ? 3.25f : 4.f;
    CHECK(at(NAN, kNearest, kBorder) == 4);
    CHECK(at(NAN, kNearest, kReflection) == 4);
    CHECK(at(INFINITY, kNearest, kBorder) == 6);
    CHECK(at(INFINITY, kNearest, kReflection) == 4);
    CHECK(at(NAN, kBilinear, kBorder) == between);
    CHECK(at(NAN, kBilinear, kReflection) == between);
    CHECK(at(-INFINITY, kBilinear, kReflection) == between);
  }
}

TEST_CASE("distances with p = 0 are NaN beside a NaN, and count infinities as one", "[edges]") {
  const Tensor a = tensor({{NAN, 1.f}, {INFINITY, 2.f}, {0.f, 1.f}}), b = tensor({{1.f, 1.f}});
  const Tensor y = cdist(a, b, 0).reshape({-1});
  CHECK(y[0].isnan().item<bool>());
  CHECK(y.narrow(0, 1, 2).equal(tensor({2.f, 1.f})));
  const Tensor x = tensor({{NAN, 1.f}, {0.f, 1.f}, {1.f, 1.f}}).requires_grad_(), d = pdist(x, 0);
  CHECK(d.isnan().equal(tensor({true, true, false})));
  CHECK(d[2].item<float>() == 1);
  d.sum().backward();
  CHECK(x.grad().equal(zeros({3, 2})));
  CHECK(cdist(zeros({2, 0}), zeros({1, 0}), INFINITY).equal(zeros({2, 1})));
  CHECK_THROWS_WITH(cdist(b, ones({1, 2}, kInt64)), Contains("cdist: not implemented for 'int64'"));
  // the zero norm ignores NaN here, as norm() does
  CHECK(tensor({NAN, 1.f}).dist(tensor({0.f, 1.f}), 0).item<float>() == 1);
}

TEST_CASE("losses have PyTorch's dtypes beside a target of another dtype", "[edges]") {
  const Tensor x = tensor({1.f, 0.f, 1.f}), target = ones({3}, kFloat64);
  for (const Reduction each : {Reduction::none, Reduction::mean}) {
    CHECK(huber_loss(x, target, each).dtype() == kFloat32);
    CHECK(huber_loss(x.to(kFloat16), target, each).dtype() == kFloat16);
    CHECK(huber_loss(target, x, each).dtype() == kFloat64);
    CHECK(smooth_l1_loss(x, target, each).dtype() == kFloat64);
  }
  CHECK(cosine_similarity(x, tensor(1.0, kFloat64), 0).dtype() == kFloat64);
  CHECK(cosine_similarity(tensor({1, 2}), tensor(1.f, kFloat16), 0).dtype() == kFloat16);
  const Tensor half = waves({5}).detach().to(kFloat16), wide = waves({9}).detach().to(kFloat64).narrow(0, 4, 5);
  const Tensor in_half = (half / half.norm(2)).to(kFloat64);  // a half vector is divided by its norm in the half dtype
  CHECK(cosine_similarity(half, wide, 0).allclose((in_half * (wide / wide.norm(2))).sum(), 1e-12, 0));
}

TEST_CASE("binary cross-entropy keeps small probabilities and small weights", "[edges]") {
  const Tensor small = tensor(3.125e-21f);  // loss: -(t ln x + (1 - t) ln(1 - x)), where ln(1 - x) is about -x
  CHECK(binary_cross_entropy(small, small).item<float>() == Approx(1.5067140e-19f).epsilon(1e-5));
  const Tensor x = ones({3}).requires_grad_(), target = ones({3});
  const Tensor weights = tensor({1.f, 1.f, 1e-4f}).to(kBFloat16);
  binary_cross_entropy_with_logits(x, target, {}, weights, Reduction::sum).backward();
  const Tensor w = weights.to(kFloat32);  // gradient by x: w sigmoid(1) - w
  CHECK(x.grad().allclose(w * (ones({3}).sigmoid() - 1), 1e-5, 0));
  const Tensor positive = ones({3}).requires_grad_();  // gradient by the target: ln sigmoid(-x) - w ln sigmoid(x)
  binary_cross_entropy_with_logits(x.detach(), positive, {}, weights, Reduction::sum).backward();
  CHECK(positive.grad().allclose(log_sigmoid(-ones({3})) - w * log_sigmoid(ones({3})), 1e-5, 0));
}

TEST_CASE("renorm leaves what it does not shorten its gradient, beside a NaN too", "[edges]") {
  const Tensor x = tensor({{NAN, 1.f}, {1.f, 1.f}, {3.f, 4.f}}).requires_grad_();
  x.renorm(2, 0, 5.1).sum().backward();
  CHECK(x.grad().equal(ones({3, 2})));
  const Tensor over = tensor({{NAN, 1.f}, {3.f, 4.f}}).requires_grad_();
  over.renorm(2, 0, 1).sum().backward();
  CHECK(over.grad()[0].equal(ones({2})));
  const Tensor slope = tensor({0.2f - 7.f / 5 * 3 / 25, 0.2f - 7.f / 5 * 4 / 25});  // gradient of (a + b) / |(a, b)|
  CHECK(over.grad()[1].allclose(slope, 1e-5, 1e-6));
}

TEST_CASE("numbers that a floating dtype does not hold are refused where PyTorch refuses them", "[edges]") {
  const Tensor x = ones({2}, kFloat16), mask = tensor({true, false});
  CHECK_THROWS_WITH(full_like(x, 70000),
                    Contains("full_like: value cannot be converted to type float16 without overflow: 70000"));
  CHECK_THROWS_WITH(full({2}, 1e300, kFloat32), Contains("value cannot be converted to type float32"));
  CHECK_THROWS_WITH(ones({2}).fill_(1e39), Contains("value cannot be converted to type float32"));
  CHECK_THROWS_WITH(x.masked_fill(mask, 1e5), Contains("value cannot be converted to type float16"));
  CHECK_THROWS_WITH(where(mask, 1e300, ones({2})), Contains("value cannot be converted to type float32"));
  CHECK_THROWS_WITH(x.add(x, 1e5), Contains("value cannot be converted to type float16"));
  CHECK_THROWS_WITH(x.scatter(0, tensor({0, 1}), 1e5), Contains("value cannot be converted to type float16"));
  const Tensor infinite = full({}, INFINITY, kFloat16);
  for (const Tensor& y :
       {full({1}, 1e300, kFloat16), where(mask, 1e300, x)[0], tensor(1e300, kFloat16), full_like(infinite, INFINITY),
        (x * 1e300)[0], x.pow(2).add(1e300)[0], infinite.nan_to_num(0, 1e300)})
    CHECK(y.isposinf().all().item<bool>());
  CHECK(full_like(x, 65504).equal(x * 65504));
  CHECK(full({}, NAN, kBFloat16).isnan().item<bool>());
}

TEST_CASE("quantiles that are elements are infinite where these are", "[edges]") {
  const Tensor x = tensor({-INFINITY, 1.0, INFINITY});
  for (const char* how : {"lower", "higher", "nearest"}) {
    CAPTURE(how);
    const auto at = [&](double q) { return x.quantile(q, 0, false, how).item<float>(); };
    CHECK(at(0) == -INFINITY);
    CHECK(at(0.5) == 1);
    CHECK(at(1) == INFINITY);
    CHECK(x.nanquantile(1, 0, false, how).item<float>() == INFINITY);
  }
}

TEST_CASE("unique_dim orders slices by their elements in row-major order", "[edges]") {
  const Tensor x = tensor({{{1.f, 1.f}, {-3.f, 1.f}}, {{1.f, -2.5f}, {1.f, 1.f}}});
  const auto [values, inverse, counts] = unique_dim(x, 2, true, true, true);
  CHECK(inverse.equal(tensor({0, 1})));  // 1, -3, 1, 1 sorts before 1, 1, -2.5, 1
  CHECK(values.equal(x));
  CHECK(counts.equal(tensor({1, 1})));
  const auto [middle, places, each] = unique_dim(x.flip({2}).transpose(1, 2), 1, true, true, true);
  CHECK(places.equal(tensor({1, 0})));
  CHECK(middle.equal(x.transpose(1, 2)));
}

TEST_CASE("cells of recurrent networks want as many states as samples, gated ones real numbers", "[edges]") {
  const auto weights = [](int64_t gates, DType type = kFloat32) { return ones({gates * 2, 2}, type); };
  const Tensor x = ones({3, 2}), one = ones({1, 2}), all = ones({3, 2});
  CHECK_THROWS_WITH(rnn_relu_cell(x, one, weights(1), weights(1), {}, {}),
                    Contains("Input batch size 3 doesn't match hidden0 batch size 1"));
  CHECK_THROWS_WITH(rnn_tanh_cell(x, one, weights(1), weights(1), {}, {}),
                    Contains("Input batch size 3 doesn't match hidden0 batch size 1"));
  CHECK_THROWS_WITH(gru_cell(x, one, weights(3), weights(3), {}, {}),
                    Contains("Input batch size 3 doesn't match hidden0 batch size 1"));
  CHECK_THROWS_WITH(lstm_cell(x, {all, one}, weights(4), weights(4), {}, {}),
                    Contains("Input batch size 3 doesn't match hidden1 batch size 1"));
  CHECK_THROWS_WITH(lstm_cell(x, {all, ones({3, 1})}, weights(4), weights(4), {}, {}),
                    Contains("hidden1 has inconsistent hidden_size: got 1, expected 2"));
  const Tensor integers = ones({1, 2}, kInt8);
  CHECK_THROWS_WITH(gru_cell(integers, integers, weights(3, kInt8), weights(3, kInt8), {}, {}),
                    Contains("gru_cell: not implemented for 'int8'"));
  CHECK_THROWS_WITH(lstm_cell(integers, {integers, integers}, weights(4, kInt8), weights(4, kInt8), {}, {}),
                    Contains("lstm_cell: not implemented for 'int8'"));
}

TEST_CASE("factors of a product of integers must fit their dtype", "[edges]") {
  const Tensor m = ones({2, 2}, kUInt8), v = ones({2}, kUInt8), b = ones({2, 2, 2}, kUInt8);
  CHECK_THROWS_WITH(m.addmm(m, m, -2, 1),
                    Contains("addmm: value cannot be converted to type uint8 without overflow: -2"));
  CHECK_THROWS_WITH(v.addmv(m, v, 1, 300),
                    Contains("addmv: value cannot be converted to type uint8 without overflow: 300"));
  CHECK_THROWS_WITH(b.baddbmm(b, b, 1, -1), Contains("value cannot be converted to type uint8"));
  CHECK_THROWS_WITH(m.addbmm(b, b, 300, 1), Contains("value cannot be converted to type uint8"));
  const Tensor none = zeros({0, 2}, kUInt8);
  CHECK(none.addmm(none, m, -2, 1).sizes() == Shape{0, 2});  // an empty product does not check the factor
  CHECK(m.to(kInt8).addmm(m.to(kInt8), m.to(kInt8), 1, -2).equal(full({2, 2}, -3, kInt8)));
}

TEST_CASE("einsum sums a factor over a label for which the other has size 1", "[edges]") {
  const Tensor a = tensor({{{2.75e30f}}}), b = tensor({{{1.f, 2.5e29f}, {1.f, -2.5e29f}}});
  CHECK(einsum("bij,bjk->bik", {a, b}).equal(tensor({{{5.5e30f, 0.f}}})));  // no intermediate product overflows
  CHECK(einsum("bjk,bij->bik", {b, a}).equal(tensor({{{5.5e30f, 0.f}}})));
  const Tensor x = waves({2, 3, 1}).detach(), y = waves({1, 3, 4}).detach(), z = waves({2, 4}).detach();
  const Tensor whole = einsum("abc,abc,ac->ab", {x.expand({2, 3, 4}), y.expand({2, 3, 4}), z});
  CHECK(einsum("abc,abc,ac->ab", {x, y, z}).allclose(whole));
  CHECK(einsum("abc,abc->abc", {x, y}).allclose(x * y));
  CHECK(einsum("abc,abc->", {x, y}).allclose((x * y).sum()));
}

TEST_CASE("max_pool2d tells large numbers of int64 apart", "[edges]") {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  const Tensor x = tensor({{{kMost - 1, kMost, int64_t{3}, kLeast}, {int64_t{1}, int64_t{2}, kLeast, kLeast + 1}}});
  const auto [y, index] = max_pool2d_with_indices(x, 2);
  CHECK(y.equal(tensor({{{kMost, int64_t{3}}}})));
  CHECK(index.equal(tensor({{{1, 2}}})));
  CHECK(max_pool2d(x, {1, 2}).equal(tensor({{{kMost, int64_t{3}}, {int64_t{2}, kLeast + 1}}})));
}

TEST_CASE("the weight of a binary cross-entropy may not enlarge it", "[edges]") {
  const Tensor x = tensor(0.5f), one = ones({1});
  CHECK_THROWS_WITH(binary_cross_entropy_with_logits(x, x, one), Contains("weight is (1,)"));
  CHECK_THROWS_WITH(binary_cross_entropy(x, x, one), Contains("weight is (1,)"));
}

TEST_CASE("an index of places that x does not have is refused by index_reduce of no elements", "[edges]") {
  CHECK_THROWS_AS(zeros({0, 0}).index_reduce(1, tensor({1, 1}), zeros({0, 2}), "amax"), IndexError);
  CHECK(zeros({0, 2}).index_reduce(1, tensor({1, 1}), zeros({0, 2}), "amax").sizes() == Shape{0, 2});
}

TEST_CASE("second derivatives of slogdet of a singular matrix do not exist", "[edges]") {
  const Tensor a = ones({2, 2}).requires_grad_();
  const auto gradient = [&](bool create_graph) {
    return autograd::grad({std::get<1>(linalg_slogdet(a))}, {a}, {}, true, create_graph)[0];
  };
  CHECK_FALSE(gradient(false).isfinite().any().item<bool>());
  CHECK_THROWS_WITH(gradient(true), Contains("linalg_slogdet") && Contains("singular"));
}

TEST_CASE("a hook on a matrix norm sees the gradient of a second derivative", "[edges]") {
  const Tensor x = waves({2, 3}), y = linalg_matrix_norm(x, "fro", {-2, -1}, true);
  int calls = 0;
  y.register_hook([&](const Tensor&) { ++calls; });
  const Tensor slope = autograd::grad({y}, {x}, {}, true, /*create_graph=*/true)[0];
  slope.sum().backward();
  CHECK(calls == 2);  // second call: the derivative x / y depends on the norm y
}

TEST_CASE("log-softmax and cross-entropy are exact beside large inputs", "[losses]") {
  // The shapes select the kernels for short rows, rows, split rows and columns. Tolerance: each result is rounded, as
  // is
  // 1 + a small number, and a sum of many terms in float32 is rounded many times.
  const auto [sizes, dim] = GENERATE(std::pair(detail::Shape{5, 3}, 1), std::pair(detail::Shape{3, 300}, 1),
                                     std::pair(detail::Shape{1, 70000}, 1), std::pair(detail::Shape{300, 4}, 0));
  const double floor = sizes[1] > 1000 ? 3e-5 : 3e-7;
  std::vector<Device> devices = {kCPU};
  if (cuda::is_available()) devices.push_back(Device(kCUDA, 0));
  for (const double offset : {0.0, 4.34, 1e5, 2.5e7}) {
    const Tensor x = (randn(sizes) * 4 + offset).cpu(), wide = x.to(kFloat64);
    const Tensor shifted = wide - wide.amax({dim}, true);
    const Tensor exact = shifted - shifted.exp().sum(dim, true).log();
    const Tensor target = exact.argmax(dim), losses = -exact.amax({dim});
    for (const Device device : devices) {
      INFO(device.str() << ", " << offset);
      const Tensor input = x.to(device);
      CHECK(input.log_softmax(dim).cpu().to(kFloat64).allclose(exact, 1e-6, floor));
      if (dim == 1)
        CHECK(cross_entropy(input, target.to(device), {}, Reduction::none)
                  .cpu()
                  .to(kFloat64)
                  .allclose(losses, 1e-6, floor));
    }
  }
}

TEST_CASE("isin finds numbers beside NaNs, and no NaN", "[pytorch_edges]") {
  // What PyTorch gives. A binary search among NaNs would lose its way.
  constexpr float kInf = INFINITY, kNan = NAN;
  const Tensor x = tensor({0.0f, kNan, kInf, -kInf, 1.0f, 2.0f});
  const std::pair<std::vector<float>, std::vector<int>> cases[] = {{{0, kNan}, {1, 0, 0, 0, 0, 0}},
                                                                   {{kNan, kNan, kNan, 1}, {0, 0, 0, 0, 1, 0}},
                                                                   {{kInf, kNan, -kInf}, {0, 0, 1, 1, 0, 0}},
                                                                   {{kNan}, {0, 0, 0, 0, 0, 0}},
                                                                   {{2, kNan, 1, kNan, 0}, {1, 0, 0, 0, 1, 1}}};
  for (const auto& [among, expected] : cases) {
    CAPTURE(among);
    for (const DType dtype : {kFloat32, kFloat64, kFloat16}) {
      const Tensor found = isin(x.to(dtype), tensor(among).to(dtype));
      CHECK(found.to(kInt32).equal(tensor(expected).to(kInt32)));
      CHECK(isin(x.to(dtype), tensor(among).to(dtype), false, true).equal(found.logical_not()));
    }
  }
}

}  // namespace tandem
