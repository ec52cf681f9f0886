// Tests train::summary: shapes, parameters and multiply-adds against hand-computed numbers.
#include "tandem/train/summary.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using Sizes = std::vector<std::vector<int64_t>>;

TEST_CASE("a summary has the shapes, parameters and multiply-adds of each module", "[train]") {
  nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(2, 6, 3).groups(2).padding(1)), nn::BatchNorm2d(6), nn::ReLU(),
                     nn::Flatten(), nn::Linear(6 * 8 * 8, 10), nn::Dropout(0.5));
  const train::Summary summary = train::summary(net, zeros({4, 2, 8, 8}));
  REQUIRE(summary.rows.size() == 7);
  CHECK(summary.rows[0].type == "Sequential");
  CHECK(summary.rows[0].output_sizes == Sizes{{4, 10}});
  // 4 images of 64 pixels and 6 channels, each a sum over 9 pixels of one channel
  const int64_t conv = 4 * 64 * 6 * 9, linear = 4 * 384 * 10;
  CHECK(summary.rows[1].name == "0");
  CHECK(summary.rows[1].output_sizes == Sizes{{4, 6, 8, 8}});
  CHECK(summary.rows[1].parameters == 6 * 9 + 6);
  CHECK(summary.rows[1].multiply_adds == conv);
  CHECK(summary.rows[2].parameters == 12);
  CHECK(summary.rows[5].multiply_adds == linear);
  CHECK(summary.rows[0].multiply_adds == conv + linear);
  CHECK(summary.rows[0].parameters == 60 + 12 + 3850);
  CHECK(summary.trainable_parameters == 3922);
  CHECK(summary.parameter_bytes == 4 * 3922);
  std::ostringstream out;
  out << summary;
  CHECK_THAT(out.str(), Contains("4: Linear") && Contains("(4, 384)") && Contains("3,850") && Contains("15,360"));
}

TEST_CASE("a summary counts shared modules, attention, recurrent and transposed layers", "[train]") {
  const auto total = [](auto&& module, const auto&... inputs) {
    return train::summary(module, inputs...).rows[0].multiply_adds;
  };
  nn::Linear shared(5, 5);
  nn::Sequential twice(shared, nn::Tanh(), shared);
  CHECK(total(twice, zeros({3, 5})) == 2 * 3 * 25);
  CHECK(train::summary(twice, zeros({3, 5})).rows[0].parameters == 30);
  // Each of the 2 * 7 * 9 input elements is multiplied with the filters of 4 output channels of 3 x 3 pixels.
  CHECK(total(nn::ConvTranspose2d(nn::ConvTranspose2dOptions(2, 4, 3)), zeros({1, 2, 7, 9})) == 2 * 7 * 9 * 4 * 9);
  // 6 steps of 2 sequences: 4 gates of 8 units, from 3 inputs and 8 hidden units
  CHECK(total(nn::LSTM(nn::LSTMOptions(3, 8)), zeros({6, 2, 3})) == 6 * 2 * 4 * 8 * (3 + 8));
}

TEST_CASE("a summary changes nothing: neither modes, nor buffers, nor random numbers", "[train]") {
  nn::Sequential net(nn::BatchNorm1d(3), nn::Dropout(0.5), nn::Linear(3, 2));
  net[1]->eval();
  const Tensor before = net[0]->as<nn::BatchNorm1d>()->running_mean.clone();
  manual_seed(2);
  const Tensor expected = rand({4});
  manual_seed(2);
  train::summary(net, ones({5, 3}));
  CHECK(rand({4}).equal(expected));
  CHECK(net[0]->as<nn::BatchNorm1d>()->running_mean.equal(before));
  CHECK(net[0]->is_training());
  CHECK_FALSE(net[1]->is_training());
  CHECK(net(ones({5, 3})).requires_grad());
}
