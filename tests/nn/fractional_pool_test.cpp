// Tests fractional max pooling modules and functionals. tests/op_cases/pool_ranks.cpp tests values and gradients.
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;
namespace F = tandem::nn::functional;

TEST_CASE("fractional max pools draw their windows, or take the samples given", "[nn][fractional]") {
  manual_seed(5);
  const Tensor x = randn({2, 3, 7, 9}), samples = rand({2, 3, 2});
  const auto [y, at] = fractional_max_pool2d(x, 2, {4, 5}, samples);
  CHECK(y.equal(x.flatten(2).gather(2, at.flatten(2)).view(y.sizes())));
  nn::FractionalMaxPool2d fixed(
      nn::FractionalMaxPool2dOptions(2).output_size(detail::Pair{4, 5})._random_samples(samples));
  CHECK(fixed(x).equal(y));
  CHECK(std::get<1>(fixed->forward_with_indices(x)).equal(at));
  nn::FractionalMaxPool2d drawn(nn::FractionalMaxPool2dOptions(2).output_ratio(nn::OutputRatios<2>(0.6)));
  CHECK(drawn(x).sizes() == IntArrayRef{2, 3, 4, 5});
  CHECK_FALSE(drawn(x).equal(drawn(x)));
  CHECK(drawn(x[0]).sizes() == IntArrayRef{3, 4, 5});
  const Tensor volume = randn({1, 2, 5, 6, 7});
  nn::FractionalMaxPool3d deep(
      nn::FractionalMaxPool3dOptions(detail::Triple{2, 3, 2}).output_ratio(nn::OutputRatios<3>{0.5, 0.5, 0.6}));
  CHECK(deep(volume).sizes() == IntArrayRef{1, 2, 2, 3, 4});
  CHECK(F::fractional_max_pool3d(volume, nn::FractionalMaxPool3dOptions(3).output_size(detail::Triple(2))).sizes() ==
        IntArrayRef{1, 2, 2, 2, 2});
  CHECK_THROWS_WITH(nn::FractionalMaxPool2d(nn::FractionalMaxPool2dOptions(2)),
                    Contains("requires specifying either an output_size or an output_ratio"));
  CHECK_THROWS_WITH(nn::FractionalMaxPool2d(nn::FractionalMaxPool2dOptions(2).output_ratio(nn::OutputRatios<2>(1.5))),
                    Contains("1.5"));
  CHECK_THROWS_WITH(
      fractional_max_pool2d(x, 5, 4, samples),
      Contains("fractional_max_pool2d: pool height 5 too large relative to input height") && Contains("(5, 5)"));
  CHECK_THROWS_WITH(fractional_max_pool2d(x, 2, 4, samples[0]),
                    Contains("random_samples are") && Contains("accepted: (2, 3, 2)"));
  CHECK_THROWS_WITH(fractional_max_pool2d(x, 2, 4, samples.to(kFloat64)),
                    Contains("expected x and random_samples to have the same dtype, but got: float32 != float64"));
  if (cuda::is_available())
    CHECK_THROWS_WITH(fractional_max_pool2d(x, 2, 4, samples.to(kCUDA)),
                      Contains("got random_samples is on cuda:0, different from other tensors on cpu"));
}
