// Tests normalization and dropout modules: written-out formulas, statistics, how they print, and what clone() copies.
#include <cmath>
#include <sstream>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

namespace tandem {
namespace F = nn::functional;

static std::string norm_text(const nn::Module& module) {
  std::ostringstream out;
  out << module;
  return out.str();
}

TEST_CASE("GroupNorm gives each group mean 0 and variance 1, then scales channels", "[nn][norm]") {
  manual_seed(41);
  nn::GroupNorm module(2, 4);
  const Tensor x = randn({3, 4, 5}) * 3 + 2, rows = module(x).view({6, 10});
  CHECK(rows.mean({1}).allclose(zeros({6}), 0, 1e-6));
  CHECK(rows.var({1}, false).allclose(ones({6}), 1e-4));
  module->weight.detach().copy_(tensor({1.0, 2.0, 3.0, 4.0}));
  module->bias.detach().fill_(5);
  const Tensor y = module(x);
  CHECK(y.narrow(1, 3, 1).allclose((rows.view({3, 4, 5}) * 4 + 5).narrow(1, 3, 1), 1e-4, 1e-5));
  CHECK(F::group_norm(x, F::GroupNormFuncOptions(2).weight(module->weight).bias(module->bias)).equal(y));
  const auto copy = std::dynamic_pointer_cast<nn::GroupNormImpl>(module->clone());
  CHECK(copy->forward(x).equal(y));
  CHECK_FALSE(copy->weight.is_same(module->weight));
  module->reset_parameters();
  CHECK(module->weight.equal(ones({4})));
  CHECK(nn::GroupNorm(nn::GroupNormOptions(1, 4).affine(false))->parameters().empty());
  CHECK_THROWS_WITH(nn::GroupNorm(3, 4), Contains("num_channels (4) must be divisible by num_groups (3)"));
  CHECK_THROWS_WITH(group_norm(x, 3), Contains("Expected number of channels in input to be divisible by num_groups, "
                                               "but got input of shape (3, 4, 5) and num_groups=3"));
}

TEST_CASE("InstanceNorm normalises each image's channels, and tracks their means", "[nn][norm]") {
  manual_seed(42);
  const Tensor x = randn({2, 3, 4, 5}, kFloat64);
  nn::InstanceNorm2d plain(3);
  CHECK(plain(x).allclose(batch_norm(x.reshape({1, 6, 4, 5}), {}, {}, {}, {}, true).view(x.sizes())));
  plain->eval();
  // input without a batch dimension; uses its own statistics in eval mode too
  CHECK(plain(x[0]).allclose(instance_norm(x, {}, {}, {}, {}, true, 0.1, 1e-5)[0]));
  nn::InstanceNorm2d tracked(nn::InstanceNorm2dOptions(3).affine(true).track_running_stats(true).momentum(0.5));
  tracked->to(kFloat64);
  tracked(x);
  const Tensor means = x.mean({2, 3}), vars = x.var({2, 3});
  CHECK(tracked->running_mean.allclose(means.mean({0}) * 0.5));
  CHECK(tracked->running_var.allclose(vars.mean({0}) * 0.5 + 0.5));
  tracked->eval();
  const Tensor want =
      (x - tracked->running_mean.view({3, 1, 1})) / (tracked->running_var.view({3, 1, 1}) + 1e-5).sqrt();
  CHECK(tracked(x).allclose(want));
  const auto copy = tracked->clone();
  CHECK(std::dynamic_pointer_cast<nn::InstanceNorm2dImpl>(copy)->forward(x).allclose(want));
  CHECK(nn::InstanceNorm1d(3)(randn({2, 3, 7})).sizes() == IntArrayRef{2, 3, 7});
  CHECK(nn::InstanceNorm3d(3)(randn({3, 2, 2, 2})).sizes() == IntArrayRef{3, 2, 2, 2});
  CHECK_THROWS_WITH(nn::InstanceNorm1d(3)(randn({2, 3, 4, 5})), Contains("expected 2D or 3D input (got 4D input)"));
  CHECK_THROWS_WITH(nn::InstanceNorm1d(nn::InstanceNorm1dOptions(4).affine(true))(randn({2, 3, 4})),
                    Contains("expected input's size at dim=1 to match num_features (4), but got: 3"));
  CHECK_THROWS_WITH(instance_norm(x, {}, {}, {}, {}, false, 0.1, 1e-5),
                    Contains("Expected running_mean and running_var to be defined when use_input_stats is false"));
}

TEST_CASE("CrossMapLRN2d gives what PyTorch gives", "[nn][norm]") {
  // Expected: torch.nn.CrossMapLRN2d(size, 0.5, 0.75, 2) of arange(10).reshape(1, 5, 1, 2) / 4 in PyTorch 2.15.
  // PyTorch's
  // gradient is not the derivative of its forward.
  const auto run = [](int64_t size, const Tensor& x) {
    return nn::CrossMapLRN2d(nn::CrossMapLRN2dOptions(size).alpha(0.5).beta(0.75).k(2))(x);
  };
  const Tensor x = arange(10, kFloat64).view({1, 5, 1, 2}) / 4;
  CHECK(run(3, x).flatten().allclose(tensor({0.000000000, 0.143096795, 0.276007913, 0.393319334, 0.490754922,
                                             0.566150149, 0.625722319, 0.666127005, 0.868352946, 0.905699340},
                                            kFloat64),
                                     1e-7, 1e-7));
  CHECK(run(4, x).flatten().allclose(tensor({0.000000000, 0.144439594, 0.280993109, 0.405087646, 0.512615261,
                                             0.600770090, 0.673893910, 0.728236787, 0.928645534, 0.981311236},
                                            kFloat64),
                                     1e-7, 1e-7));
  CHECK(run(5, x).flatten().allclose(tensor({0.000000000, 0.137517741, 0.263432351, 0.374425335, 0.468274469,
                                             0.544118755, 0.702411703, 0.761766258, 0.942985719, 0.993269936},
                                            kFloat64),
                                     1e-7, 1e-7));
  CHECK(autograd::gradcheck([&](const std::vector<Tensor>& in) -> std::vector<Tensor> { return {run(3, in[0])}; },
                            {x.clone().requires_grad_()}));
  CHECK_THROWS_WITH(nn::CrossMapLRN2d(3)(zeros({2, 3})), Contains("Expected input to be 4D, got 2D instead"));
}
TEST_CASE("LocalResponseNorm divides by its neighbours' power", "[nn][norm]") {
  manual_seed(43);
  const Tensor x = randn({2, 5, 3}, kFloat64);
  const auto options = nn::LocalResponseNormOptions(4).alpha(0.5).beta(2).k(3);
  const Tensor y = nn::LocalResponseNorm(options)(x);
  for (int64_t c = 0; c < 5; ++c) {
    Tensor sum = zeros({2, 3}, kFloat64);
    for (int64_t o = std::max<int64_t>(c - 2, 0); o <= std::min<int64_t>(c + 1, 4); ++o)
      sum = sum + x.select(1, o).square();
    CHECK(y.select(1, c).allclose(x.select(1, c) / (sum * (0.5 / 4) + 3).square()));
  }
  const Tensor image = x.unsqueeze(-1).requires_grad_();
  CHECK(F::local_response_norm(image, options).squeeze(-1).allclose(y));
  CHECK(autograd::gradcheck(
      [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{F::local_response_norm(in[0], options)}; },
      {image}));
  CHECK_THROWS_WITH(F::local_response_norm(zeros({2, 3}), 2),
                    Contains("Expected 3D or higher dimensionality input (got 2 dimensions)"));
}

TEST_CASE("RMSNorm and normalize are their formulas", "[nn][norm]") {
  const Tensor x = tensor({{3.0, 4.0}, {0.0, 2.0}});
  nn::RMSNorm module(nn::RMSNormOptions({2}).eps(0.5));
  CHECK(module(x).allclose(tensor({{3 / std::sqrt(13.0), 4 / std::sqrt(13.0)}, {0.0, 2 / std::sqrt(2.5)}})));
  module->weight.detach().copy_(tensor({2.0, 1.0}));
  CHECK(module(x)[0].allclose(tensor({6 / std::sqrt(13.0), 4 / std::sqrt(13.0)})));
  CHECK(F::normalize(x).allclose(tensor({{0.6, 0.8}, {0.0, 1.0}})));
  CHECK(F::normalize(x, F::NormalizeFuncOptions().p(1).dim(0)).allclose(tensor({{1.0, 2.0 / 3}, {0.0, 1.0 / 3}})));
  CHECK(F::normalize(zeros({1, 2})).equal(zeros({1, 2})));
  CHECK(F::layer_norm(x, F::LayerNormFuncOptions({2}).eps(0.25)).allclose(layer_norm(x, {2}, {}, {}, 0.25)));
  const Tensor mean = zeros({2}), var = ones({2});
  CHECK(F::batch_norm(x, mean, var, F::BatchNormFuncOptions().training(true).momentum(nullopt))
            .allclose(batch_norm(x, {}, {}, {}, {}, true)));
  CHECK(mean.allclose(x.mean({0})));
  CHECK_THROWS_WITH(
      rms_norm(x, {3}),
      Contains("rms_norm: Given normalized_shape=(3,), expected input with shape [*, 3], but got input of size(2, 2)"));
}

TEST_CASE("BatchNorm3d takes volumes", "[nn][norm]") {
  manual_seed(44);
  const Tensor x = randn({2, 3, 2, 3, 4});
  nn::BatchNorm3d module(3);
  CHECK(module(x).allclose(nn::BatchNorm2d(3)(x.reshape({2, 3, 6, 4})).view(x.sizes())));
  CHECK(std::dynamic_pointer_cast<nn::BatchNorm3dImpl>(module->clone())->running_mean.equal(module->running_mean));
  CHECK_THROWS_WITH(module(x[0]), Contains("expected 5D input (got 4D input)"));
}

TEST_CASE("alpha dropout keeps mean and variance, and drops to one value", "[nn][dropout]") {
  manual_seed(45);
  const double p = 0.3, low = 1.7580993408473766, a = 1 / std::sqrt((low * low * p + 1) * (1 - p));
  nn::AlphaDropout module(p);
  const Tensor x = randn({20000}, kFloat64).requires_grad_(), y = module(x);
  CHECK(std::abs(y.mean().item<double>()) < 0.03);  // tolerance: four standard deviations
  CHECK(std::abs(y.var().item<double>() - 1) < 0.05);
  y.sum().backward();
  const Tensor kept = x.grad() != 0;
  CHECK(std::abs(kept.to(kFloat64).mean().item<double>() - 0.7) < 0.015);
  const double shift = low * a * p;
  CHECK(where(kept, x.detach() * a + shift, Scalar(shift - low * a)).allclose(y.detach(), 1e-12, 1e-12));
  module->eval();
  CHECK(module(x).is_same(x));
  CHECK(alpha_dropout(ones({3}), 1, true).equal(zeros({3})));
  CHECK_THROWS_WITH(alpha_dropout(x, 1.5, true),
                    Contains("alpha_dropout: dropout probability has to be between 0 and 1, but got 1.5"));
  CHECK(F::alpha_dropout(x).is_same(x));  // training is off by default, as in LibTorch
}

TEST_CASE("dropouts of channels drop them whole", "[nn][dropout]") {
  manual_seed(46);
  const auto whole = [](const Tensor& y, int64_t from) {
    const Tensor flat = y.flatten(from);
    return (flat == flat.narrow(-1, 0, 1)).all().item<bool>();
  };
  const Tensor images = ones({8, 8, 3, 3}), volumes = ones({8, 8, 2, 2, 2});
  for (const Tensor& y : {nn::Dropout2d(0.5)(images), nn::FeatureAlphaDropout(0.5)(images)}) {
    CHECK(whole(y, 2));
    CHECK((y == y[0][0][0][0]).to(kFloat32).mean().item<double>() == Approx(0.5).margin(0.25));
  }
  CHECK(whole(nn::Dropout3d(0.5)(volumes), 2));
  // Without a batch dimension, the first dimension is the channels.
  CHECK(whole(nn::Dropout2d(0.5)(images[0]), 1));
  CHECK(nn::Dropout2d(0.5)(ones({64, 3, 3})).sum({1, 2}).max().item<float>() == 18);
  CHECK(whole(nn::Dropout3d(0.5)(volumes[0]), 1));
  CHECK_THROWS_WITH(feature_alpha_dropout(ones({3}), 0.5, true),
                    Contains("Feature dropout requires at least 2 dimensions in the input"));
}

TEST_CASE("normalisations print as Python's", "[nn][norm]") {
  CHECK(norm_text(*nn::GroupNorm(3, 6)) == "GroupNorm(3, 6, eps=1e-05, affine=True, bias=True)");
  CHECK(norm_text(*nn::InstanceNorm1d(3)) ==
        "InstanceNorm1d(3, eps=1e-05, momentum=0.1, affine=False, bias=False, track_running_stats=False)");
  CHECK(norm_text(*nn::LocalResponseNorm(2)) == "LocalResponseNorm(2, alpha=0.0001, beta=0.75, k=1.0)");
  CHECK(norm_text(*nn::RMSNorm(nn::RMSNormOptions({4}))) == "RMSNorm((4,), eps=None, elementwise_affine=True)");
  CHECK(norm_text(*nn::BatchNorm3d(3)) ==
        "BatchNorm3d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)");
  CHECK(norm_text(*nn::AlphaDropout()) == "AlphaDropout(p=0.5, inplace=False)");
  CHECK(norm_text(*nn::FeatureAlphaDropout(0.2)) == "FeatureAlphaDropout(p=0.2, inplace=False)");
  CHECK(norm_text(*nn::Dropout3d()) == "Dropout3d(p=0.5, inplace=False)");
}

}  // namespace tandem
