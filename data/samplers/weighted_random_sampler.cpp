// Implements WeightedRandomSampler's checks and draws.
#include "tandem/data/samplers/weighted_random_sampler.h"

#include <cmath>

#include "tandem/core/internal.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/random/multinomial.h"
#include "tandem/ops/random/randint.h"

namespace tandem::data::samplers {
namespace {

constexpr uint64_t kMaxSeed = INT64_MAX;  // seeds are saved as int64

Tensor check_weights(const Tensor& weights) {
  TANDEM_CHECK(weights.dim() == 1,
               "WeightedRandomSampler: weights should be a 1d sequence but given weights have shape ", weights.sizes());
  return weights.detach().to(kCPU, kFloat64).contiguous();
}

void check_samples(const Tensor& weights, int64_t num_samples, bool replacement) {
  const double* p = weights.data<double>();
  int64_t positive = 0;
  for (int64_t i = 0; i < weights.numel(); ++i) {
    TANDEM_CHECK(p[i] >= 0 && std::isfinite(p[i]), "WeightedRandomSampler: weight ", i, " is ", p[i],
                 "; accepted: finite numbers of 0 or more");
    positive += p[i] > 0;
  }
  TANDEM_CHECK(positive > 0, "WeightedRandomSampler: none of the ", weights.numel(), " weights is positive");
  TANDEM_CHECK(
      num_samples > 0,
      "WeightedRandomSampler: num_samples should be a positive integer value, but got num_samples=", num_samples);
  TANDEM_CHECK(replacement || num_samples <= positive, "WeightedRandomSampler: num_samples is ", num_samples, ", but ",
               positive, " weights are positive; without replacement, each of these indices is drawn at most once");
}

}  // namespace

WeightedRandomSampler::WeightedRandomSampler(const Tensor& weights, int64_t num_samples, bool replacement,
                                             std::optional<uint64_t> seed)
    : weights_(check_weights(weights)), num_samples_(num_samples), replacement_(replacement) {
  check_samples(weights_, num_samples, replacement);
  TANDEM_CHECK(!seed || *seed <= kMaxSeed, "WeightedRandomSampler: seed is ", *seed, "; accepted: 0 to ", kMaxSeed);
  if (!seed) seed = static_cast<uint64_t>(randint(INT64_MAX, {1}).item<int64_t>());
  next_state_ = {*seed, /*stream=*/0, /*offset=*/0};
  draw_indices();
}
WeightedRandomSampler::WeightedRandomSampler(const std::vector<double>& weights, int64_t num_samples, bool replacement,
                                             std::optional<uint64_t> seed)
    : WeightedRandomSampler(tensor(weights, kFloat64), num_samples, replacement, seed) {}

void WeightedRandomSampler::draw_indices() {
  Generator generator;
  generator.set_state(next_state_);
  const GeneratorGuard guard(generator);
  const Tensor drawn = multinomial(weights_, num_samples_, replacement_);
  const int64_t* p = drawn.data<int64_t>();
  indices_.assign(p, p + drawn.numel());
  next_state_ = generator.get_state();
  index_ = 0;
}
void WeightedRandomSampler::reset(std::optional<size_t> new_size) {
  TANDEM_CHECK(!new_size || *new_size == static_cast<size_t>(weights_.numel()),
               "WeightedRandomSampler: the dataset has ", *new_size, " examples, but there are ", weights_.numel(),
               " weights; accepted: one weight for each example");
  draw_indices();
}
std::optional<std::vector<size_t>> WeightedRandomSampler::next(size_t batch_size) {
  return take_indices(indices_, index_, indices_.size(), batch_size);
}

}  // namespace tandem::data::samplers
