// Layers at the edges of what they take: no rows, one row, options.
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
      {"Conv2d", Sequential(Conv2d(Conv2dOptions(2, 4, 3).padding(1).groups(2))), {2, 5, 4}, {4, 5, 4}},
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
  CHECK_THROWS_WITH(norm(ones({1, 3})), Contains("(1, 3)") && Contains("more than one value"));
  CHECK(norm(ones({1, 3, 2})).equal(zeros({1, 3, 2})));
  norm->eval();
  CHECK(norm(ones({1, 3})).sizes() == IntArrayRef{1, 3});
  CHECK_THROWS_WITH(norm(ones({3})), Contains("BatchNorm1d") && Contains("(3,)"));
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
    for (int64_t i = 0; i < 5; ++i) v += std::pow(x[i][1].item<double>() - m, 2) / 4;  // unbiased
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
  CHECK_THROWS_WITH(Embedding(EmbeddingOptions(3, 2).padding_idx(3)), Contains("padding_idx is 3") && Contains("-3"));
  CHECK(table(zeros({0}, kInt64)).sizes() == IntArrayRef{0, 2});
}

TEST_CASE("dropout drops its share, scales the rest, and whole channels in its second form", "[nn][layers]") {
  manual_seed(5);
  Dropout drop(0.25);
  const Tensor x = ones({200, 50});
  const Tensor y = drop(x);
  const double kept = (y != 0).to(kFloat64).mean().item<double>();
  CHECK(std::abs(kept - 0.75) < 6 * std::sqrt(0.75 * 0.25 / 10000));  // six standard errors
  CHECK(y.max().item<double>() == Approx(1 / 0.75));
  drop->eval();
  CHECK(drop(x).equal(x));
  Dropout2d channels(0.5);
  const Tensor z = channels(ones({10, 20, 3, 3})).flatten(2);
  CHECK(z.amax({2}).equal(z.amin({2})));  // a channel is all there or all gone
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
