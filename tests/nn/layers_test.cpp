// Tests layers at the limits of their inputs: no rows, one row, unusual options.
#include <cmath>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using namespace tandem::nn;

TEST_CASE("layers take batches of no rows and of one, forward and backward", "[nn][layers]") {
  const int64_t n = GENERATE(0, 1);
  struct Case {
    const char* name;
    Sequential net;
    Shape in, out;
  };
  const std::vector<Case> cases = {
      {"Linear", Sequential(Linear(3, 2)), {3}, {2}},
      {"Linear of no outputs, and of no inputs", Sequential(Linear(3, 0), Linear(0, 2)), {3}, {2}},
      {"Conv2d", Sequential(Conv2d(Conv2dOptions(2, 4, 3).padding(1).groups(2))), {2, 5, 4}, {4, 5, 4}},
      {"ConvTranspose2d",
       Sequential(ConvTranspose2d(ConvTranspose2dOptions(2, 4, 3).stride(2).padding(1).output_padding(1).groups(2))),
       {2, 5, 4},
       {4, 10, 8}},
      {"Conv1d, ConvTranspose1d", Sequential(Conv1d(2, 3, 3), ConvTranspose1d(3, 2, 2)), {2, 5}, {2, 4}},
      {"BatchNorm2d", Sequential(BatchNorm2d(2)), {2, 3, 3}, {2, 3, 3}},
      {"LayerNorm", Sequential(LayerNorm(LayerNormOptions({3}))), {4, 3}, {4, 3}},
      {"pools", Sequential(MaxPool2d(2), AvgPool2d(2), AdaptiveAvgPool2d(1)), {2, 8, 8}, {2, 1, 1}},
      {"shapes and activations",
       Sequential(Flatten(), ReLU(), GELU(), SiLU(), Sigmoid(), Tanh(), ELU(), LeakyReLU(), Identity(), Softmax(1)),
       {2, 3},
       {6}},
      {"dropout", Sequential(Dropout(0.3), Dropout2d(0.3)), {2, 3, 3}, {2, 3, 3}},
  };
  for (const Case& c : cases) {
    INFO(c.name << " of " << n << " rows");
    Shape in = c.in, out = c.out;
    in.insert(0, n), out.insert(0, n);
    Tensor x = randn(in).requires_grad_();
    const Tensor y = c.net(x);
    CHECK(y.sizes() == IntArrayRef(out));
    y.sum().backward();
    CHECK(x.grad().sizes() == IntArrayRef(in));
    for (const auto& p : c.net->named_parameters()) {
      INFO(p.key());
      REQUIRE(p->grad().defined());
      if (n == 0) CHECK(p->grad().equal(zeros(p->sizes())));
    }
  }
}

TEST_CASE("batch norm refuses one value per channel in training, and takes it in evaluation", "[nn][layers]") {
  BatchNorm1d norm(3);
  CHECK_THROWS_WITH(norm(ones({1, 3})),
                    Contains("Expected more than 1 value per channel when training, got input size (1, 3)"));
  CHECK(norm(ones({1, 3, 2})).equal(zeros({1, 3, 2})));
  norm->eval();
  CHECK(norm(ones({1, 3})).sizes() == IntArrayRef{1, 3});
  CHECK_THROWS_WITH(norm(ones({3})), Contains("BatchNorm1d: expected 2D or 3D input (got 1D input)"));
}

TEST_CASE("batch norm's running statistics follow their definition, by momentum or as means", "[nn][layers]") {
  const bool cumulative = GENERATE(false, true);
  BatchNorm1dOptions options(2);
  if (cumulative) options.momentum(nullopt);
  BatchNorm1d norm(options);
  norm->to(kFloat64);
  double mean = 0, var = 1;
  for (int batch = 1; batch <= 3; ++batch) {
    const Tensor x = randn({5, 2}, kFloat64) * batch + batch;
    norm(x);
    double m = 0, v = 0;
    for (int64_t i = 0; i < 5; ++i) m += x[i][1].item<double>() / 5;
    for (int64_t i = 0; i < 5; ++i) v += std::pow(x[i][1].item<double>() - m, 2) / 4;  // unbiased variance
    const double part = cumulative ? 1.0 / batch : 0.1;
    mean += part * (m - mean), var += part * (v - var);
  }
  CHECK(norm->running_mean[1].item<double>() == Approx(mean));
  CHECK(norm->running_var[1].item<double>() == Approx(var));
  CHECK(norm->num_batches_tracked.item<int64_t>() == 3);
  norm->reset_parameters();
  CHECK(norm->running_mean.equal(zeros({2}, kFloat64)));
  CHECK(norm->num_batches_tracked.item<int64_t>() == 0);
}

TEST_CASE("batch norm without running statistics uses the batch's in evaluation too", "[nn][layers]") {
  BatchNorm1d norm(BatchNorm1dOptions(2).track_running_stats(false).affine(false));
  CHECK(norm->state_dict().is_empty());
  const Tensor x = randn({6, 2}), trained = norm(x);
  norm->eval();
  CHECK(norm(x).equal(trained));
}

TEST_CASE("an embedding's padding row is zero and gets no gradient", "[nn][layers]") {
  const int64_t padding = GENERATE(0, 2, -1, -3);
  Embedding table(EmbeddingOptions(3, 2).padding_idx(padding));
  const int64_t row = (padding + 3) % 3;
  CHECK(table->weight[row].equal(zeros({2})));
  table(tensor({0, 1, 2, 2})).sum().backward();
  for (int64_t i = 0; i < 3; ++i) CHECK(table->weight.grad()[i].equal(full({2}, i == row ? 0.0 : i == 2 ? 2.0 : 1.0)));
  CHECK_THROWS_WITH(Embedding(EmbeddingOptions(3, 2).padding_idx(3)),
                    Contains("Padding_idx must be within num_embeddings, -3 through 2, but got 3"));
  CHECK(table(zeros({0}, kInt64)).sizes() == IntArrayRef{0, 2});
}

TEST_CASE("F::embedding counts a negative padding_idx from the end, and refuses one that is no row", "[nn][layers]") {
  const Tensor weight = ones({3, 2}).requires_grad_(), index = tensor({0, 1, 2, 2});
  functional::embedding(index, weight, functional::EmbeddingFuncOptions().padding_idx(-1)).sum().backward();
  CHECK(weight.grad().equal(tensor({{1.f, 1.f}, {1.f, 1.f}, {0.f, 0.f}})));
  weight.zero_grad();
  functional::embedding(index, weight, functional::EmbeddingFuncOptions().padding_idx(-3)).sum().backward();
  CHECK(weight.grad().equal(tensor({{0.f, 0.f}, {1.f, 1.f}, {2.f, 2.f}})));
  weight.zero_grad();
  functional::embedding(index, weight).sum().backward();
  CHECK(weight.grad().equal(tensor({{1.f, 1.f}, {1.f, 1.f}, {2.f, 2.f}})));
  const auto refused = [&](int64_t row) {
    functional::embedding(index, weight, functional::EmbeddingFuncOptions().padding_idx(row));
  };
  CHECK_THROWS_WITH(refused(3),
                    Contains("embedding: Padding_idx must be within num_embeddings, -3 through 2, but got 3"));
  CHECK_THROWS_WITH(refused(-4),
                    Contains("embedding: Padding_idx must be within num_embeddings, -3 through 2, but got -4"));
}

TEST_CASE("a window of max pooling that holds only padding gives -infinity and passes no gradient", "[nn][layers]") {
  // On a single column, kernel 2 with padding 1 and dilation 2 covers the columns -1 and 1, both padding.
  const Tensor x = arange(8, kFloat64).view({1, 1, 8, 1}).requires_grad_();
  const auto [y, index] = max_pool2d_with_indices(x, 2, {}, 1, 2);
  CHECK(y.equal(full({1, 1, 4, 1}, -INFINITY, kFloat64)));
  CHECK(index.equal(full({1, 1, 4, 1}, -1)));
  const Tensor dx = autograd::grad({y}, {x}, {ones_like(y)}, {}, /*create_graph=*/true)[0];
  CHECK(dx.equal(zeros_like(x)));
  const Tensor dy = ones_like(y).requires_grad_();
  const Tensor of_dy = autograd::grad({max_pool2d(x, 2, {}, 1, 2)}, {x}, {dy}, {}, /*create_graph=*/true)[0];
  CHECK(autograd::grad({of_dy.sum()}, {dy})[0].equal(zeros_like(dy)));
  // Windows that extend past the edge: on two columns they cover the columns -1 and 1, then 0 and 2.
  const Tensor two = tensor({{{1.0, 2.0}}}, kFloat64).requires_grad_();
  max_pool2d(two, {1, 2}, 1, {0, 1}, {1, 2}).sum().backward();
  CHECK(two.grad().equal(tensor({{{1.0, 1.0}}}, kFloat64)));
}

TEST_CASE("windows and kernels without elements, and planes without pixels, are refused", "[nn][layers]") {
  const Tensor x = ones({1, 1, 4, 4}), none = ones({1, 1, 0, 4});
  CHECK_THROWS_WITH(max_pool2d(x, 0, 1), Contains("max_pool2d: kernel size should be greater than zero, but got 0"));
  CHECK_THROWS_WITH(avg_pool2d(x, 0, 1), Contains("avg_pool2d: kernel size should be greater than zero, but got 0"));
  CHECK_THROWS_WITH(max_pool2d(none, 2, {}, 1), Contains("max_pool2d: x has no elements"));
  CHECK_THROWS_WITH(avg_pool2d(none, 2, {}, 1), Contains("avg_pool2d: x has no elements"));
  CHECK_THROWS_WITH(conv2d(x, ones({1, 1, 0, 2})), Contains("conv2d") && Contains("(1, 1, 0, 2)"));
  CHECK_THROWS_WITH(conv2d(none, ones({1, 1, 2, 2}), {}, 1, 1), Contains("conv2d") && Contains("(1, 1, 0, 4)"));
  CHECK_THROWS_WITH(Conv2d(1, 1, 0), Contains("Conv2d: kernel size should be greater than zero, but got (0, 0)"));
  CHECK_THROWS_WITH(conv_transpose2d(x, ones({1, 1, 2, 2}), {}, 2, 0, 2), Contains("output_padding (2, 2)"));
  CHECK_THROWS_WITH(conv_transpose2d(x, ones({2, 1, 2, 2})), Contains("conv_transpose2d") && Contains("(2, 1, 2, 2)"));
  CHECK_THROWS_WITH(conv_transpose2d(ones({1, 1, 1, 1}), ones({1, 1, 2, 2}), {}, 1, 1),
                    Contains("Calculated output size per channel: (0 x 0). Output size is too small"));
  CHECK_THROWS_WITH(conv1d(x, ones({1, 1, 2})), Contains("conv1d") && Contains("(1, 1, 4, 4)"));
  CHECK(max_pool2d(ones({0, 1, 4, 4}), 2).sizes() == IntArrayRef{0, 1, 2, 2});
  CHECK(conv2d(ones({0, 1, 4, 4}), ones({1, 1, 2, 2})).sizes() == IntArrayRef{0, 1, 3, 3});
  // With ceil_mode a window may be larger than the plane, but by less than a stride.
  CHECK_THROWS_WITH(max_pool2d(ones({1, 2, 2}), 3, 1, 0, 1, true), Contains("a window of 3 is larger"));
  CHECK_THROWS_WITH(max_pool2d(ones({1, 2, 2}), 5, 2, 0, 1, true), Contains("a window of 5 is larger"));
  CHECK_THROWS_WITH(max_pool2d(ones({1, 2, 2}), 3), Contains("a window of 3 is larger"));
}

TEST_CASE("dropout drops its share, scales the rest, and whole channels in its second form", "[nn][layers]") {
  manual_seed(5);
  Dropout drop(0.25);
  const Tensor x = ones({200, 50});
  const Tensor y = drop(x);
  const double kept = (y != 0).to(kFloat64).mean().item<double>();
  CHECK(std::abs(kept - 0.75) < 6 * std::sqrt(0.75 * 0.25 / 10000));  // tolerance: six standard errors
  CHECK(y.max().item<double>() == Approx(1 / 0.75));
  drop->eval();
  CHECK(drop(x).equal(x));
  Dropout2d channels(0.5);
  const Tensor z = channels(ones({10, 20, 3, 3})).flatten(2);
  CHECK(z.amax({2}).equal(z.amin({2})));  // each channel is kept or dropped as a whole
  CHECK(Dropout(1.0)(ones({3})).equal(zeros({3})));
  CHECK_THROWS_WITH(Dropout(1.5)(ones({3})), Contains("1.5"));
  CHECK_THROWS_WITH(Dropout2d(-0.1)(ones({3, 1})), Contains("-0.1"));
}

TEST_CASE("ReLU in place changes its input", "[nn][layers]") {
  Tensor x = tensor({-1.f, 2.f});
  CHECK(ReLU()(x).equal(tensor({0.f, 2.f})));
  CHECK(x.equal(tensor({-1.f, 2.f})));
  CHECK(ReLU(ReLUOptions().inplace(true))(x).is_same(x));
  CHECK(x.equal(tensor({0.f, 2.f})));
}

TEST_CASE("activations in place change their input, to what they give beside", "[nn][layers]") {
  const auto check = [](auto changing, auto plain, const std::string& text) {
    Tensor x = tensor({-2.f, -0.5f, 0.25f, 7.f});
    const Tensor want = plain(x);
    CHECK(changing(x).is_same(x));
    CHECK(x.equal(want));
    std::ostringstream out;
    out << changing;
    CHECK(out.str() == text);
  };
  check(LeakyReLU(LeakyReLUOptions(0.25).inplace(true)), LeakyReLU(0.25),
        "LeakyReLU(negative_slope=0.25, inplace=True)");
  check(ELU(ELUOptions(0.5).inplace(true)), ELU(0.5), "ELU(alpha=0.5, inplace=True)");
  check(SELU(SELUOptions(true)), SELU(), "SELU(inplace=True)");
  check(CELU(CELUOptions(2).inplace(true)), CELU(2), "CELU(alpha=2.0, inplace=True)");
  check(ReLU6(ReLU6Options().inplace(true)), ReLU6(), "ReLU6(inplace=True)");
  check(Hardtanh(HardtanhOptions().inplace(true)), Hardtanh(), "Hardtanh(min_val=-1.0, max_val=1.0, inplace=True)");
  check(Hardswish(HardswishOptions(true)), Hardswish(), "Hardswish()");
  check(Hardsigmoid(HardsigmoidOptions(true)), Hardsigmoid(), "Hardsigmoid()");
  check(Threshold(ThresholdOptions(0.1, 2).inplace(true)), Threshold(0.1, 2),
        "Threshold(threshold=0.1, value=2.0, inplace=True)");
  RReLU changing(RReLUOptions().lower(0.25).upper(0.25).inplace(true)), plain(RReLUOptions().lower(0.25).upper(0.25));
  check(changing, plain, "RReLU(lower=0.25, upper=0.25, inplace=True)");
}

TEST_CASE("dropout gives x itself where there is nothing to drop, whatever its dtype", "[nn][layers]") {
  for (const Tensor& x : {ones({2, 3}), arange(6).view({2, 3}), ones({2, 3}, kBool)})
    for (const auto& [p, training] : {std::pair(0.5, false), std::pair(0.0, true)}) {
      CHECK(tandem::dropout(x, p, training).is_same(x));
      CHECK(tandem::dropout2d(x, p, training).is_same(x));
    }
  const Tensor nothing = empty({0}, kInt64);
  CHECK(tandem::dropout(nothing, 0.5, true).is_same(nothing));
  CHECK(tandem::dropout2d(nothing, 0.5, true).is_same(nothing));
  CHECK_THROWS_WITH(tandem::dropout(arange(3), 0.5, true), Contains("dropout") && Contains("int64"));
  for (const Tensor& x :
       // with probability 1 nothing is multiplied, so integers work too
       {ones({2, 3}), arange(6).view({2, 3}), ones({2, 3}, kBool)}) {
    CHECK(tandem::dropout(x, 1, true).equal(zeros_like(x)));
    CHECK(tandem::dropout(x, 1, true).dtype() == x.dtype());
    CHECK(tandem::dropout2d(x, 1, true).equal(zeros_like(x)));
  }
}

TEST_CASE("a NaN in the input of a batch norm in evaluation stays out of the input's gradient", "[nn][layers]") {
  const Tensor x = tensor({1.0, NAN, 2.0, 3.0}).view({2, 2}).requires_grad_(), weight = tensor({2.0, 4.0});
  batch_norm(x, weight, {}, zeros({2}), ones({2}), false, 0.1, 0).sum().backward();
  CHECK(x.grad().equal(tensor({2.0, 4.0, 2.0, 4.0}).view({2, 2})));
}

TEST_CASE("half types take weights, biases and statistics of float32, and give gradients of it", "[nn][layers]") {
  manual_seed(9);
  for (const DType half : {kFloat16, kBFloat16}) {
    CAPTURE(half);
    const auto wide = [](const Tensor& t) { return t.detach().to(kFloat32).requires_grad_(t.requires_grad()); };
    const Tensor x = randn({4, 6}).to(half).requires_grad_(), w = randn({6}).requires_grad_(),
                 b = randn({6}).requires_grad_();
    const Tensor weight = randn({6, 6}).to(half), target = arange(4), mean = zeros({6}), var = ones({6});
    using Layer = std::function<Tensor(const Tensor& x, const Tensor& w, const Tensor& b)>;
    const Layer layers[] = {
        [&](const Tensor& x, const Tensor&, const Tensor& b) { return linear(x, weight.to(x.dtype()), b); },
        [&](const Tensor& x, const Tensor& w, const Tensor& b) { return layer_norm(x, {6}, w, b); },
        [&](const Tensor& x, const Tensor& w, const Tensor& b) { return batch_norm(x, w, b, {}, {}, true); },
        [&](const Tensor& x, const Tensor& w, const Tensor& b) { return batch_norm(x, w, b, mean, var, false); },
        [&](const Tensor& x, const Tensor& w, const Tensor&) { return cross_entropy(x, target, w.detach().exp()); },
    };
    for (const Layer& layer : layers) {
      const Tensor wide_x = wide(x), wide_w = wide(w), wide_b = wide(b);
      const Tensor y = layer(x, w, b), want = layer(wide_x, wide_w, wide_b);
      const Tensor seed = randn(y.sizes()).to(half);
      REQUIRE(y.dtype() == half);
      const auto got = autograd::grad({y}, {x, w, b}, {seed}, nullopt, false, true);
      const auto exact = autograd::grad({want}, {wide_x, wide_w, wide_b}, {seed.to(kFloat32)}, nullopt, false, true);
      // Tolerance: a few roundings to 8 bits, of numbers up to 8.
      CHECK(y.to(kFloat32).allclose(want, 0, 0.1));
      for (size_t i = 0; i < got.size(); ++i) {
        if (!got[i].defined()) continue;
        CHECK(got[i].dtype() == (i == 0 ? half : kFloat32));
        CHECK(got[i].to(kFloat32).allclose(exact[i], 0, 0.1));
      }
    }
  }
}

TEST_CASE("dropouts in place change their input, and their gradients are those of the others", "[nn][layers]") {
  const auto check = [](auto plain, auto changing, IntArrayRef sizes) {
    const Tensor x = randn(sizes).requires_grad_();
    manual_seed(4);
    const Tensor want = plain(x);
    const Tensor want_grad = autograd::grad({want.sum()}, {x})[0];
    manual_seed(4);
    const Tensor h = x * 1, y = changing(h);
    CHECK(y.equal(want));
    CHECK(h.equal(want));
    y.sum().backward();
    CHECK(x.grad().equal(want_grad));
    const Tensor seen = randn(sizes), before = seen.clone();
    manual_seed(4);
    changing(seen);
    CHECK_FALSE(seen.equal(before));
    changing->eval();
    CHECK(changing(before).equal(before));
  };
  const auto options = nn::DropoutOptions(0.4).inplace(true);
  check(nn::Dropout(0.4), nn::Dropout(options), {3, 4, 5});
  check(nn::Dropout2d(0.4), nn::Dropout2d(options), {3, 4, 5, 2});
  check(nn::Dropout2d(0.4), nn::Dropout2d(options), {14, 5, 2});
  check(nn::Dropout3d(0.4), nn::Dropout3d(options), {3, 4, 5, 2, 2});
  check(nn::AlphaDropout(0.4), nn::AlphaDropout(options), {3, 4, 5});
  check(nn::FeatureAlphaDropout(0.4), nn::FeatureAlphaDropout(options), {3, 4, 5});
  std::ostringstream out;
  out << nn::Dropout(options);
  CHECK(out.str() == "Dropout(p=0.4, inplace=True)");
}
