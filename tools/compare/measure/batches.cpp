// Implements Batches: loads FashionMNIST, or makes random images or tokens, once for all samples and ranks of this
// process.
#include "tandem/tools/compare/measure/batches.h"

#include <functional>
#include <map>
#include <mutex>
#include <numeric>

namespace tandem::tools::compare {
namespace {

using Examples = Batches::Examples;

template <class T> std::vector<T> to_vector(const Tensor& t) { return {t.data_ptr<T>(), t.data_ptr<T>() + t.numel()}; }

Examples load_images(const std::string& folder) {
  using data::datasets::FashionMNIST;
  if (!folder.empty()) {
    const FashionMNIST set(folder, FashionMNIST::Mode::kTest);
    return {set.images().size(0), to_vector<float>(set.images()), {}, to_vector<int64_t>(set.targets())};
  }
  constexpr int64_t kImages = 4096;
  const Tensor images = rand({kImages, 1, 28, 28}), labels = randint(kNumClasses, {kImages}, kInt64);
  return {kImages, to_vector<float>(images), {}, to_vector<int64_t>(labels)};
}
Examples make_texts(const std::string& model) {
  constexpr int64_t kTexts = 1024;
  const int64_t length = example_sizes(model).input.at(0);
  const Tensor tokens = randint(kVocabularySize, {kTexts * length + 1}, kInt64);
  if (model == "gpt") return {kTexts, {}, to_vector<int64_t>(tokens), {}};
  return {kTexts, {}, to_vector<int64_t>(tokens), to_vector<int64_t>(randint(kBertClasses, {kTexts}, kInt64))};
}

/// Returns the examples for the job's network. Loads them only once in this process, because all samples and all ranks
/// in threads read the same.
std::shared_ptr<const Examples> shared_examples(const Job& job) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Examples>> loaded;
  const bool tokens = example_sizes(job.model).tokens;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const Examples>& examples = loaded[tokens ? "tokens of " + job.model : "images of " + job.data];
  if (!examples) {
    Generator scratch;  // leaves the state of the default generator unchanged
    const GeneratorGuard guard(scratch);
    examples = std::make_shared<const Examples>(tokens ? make_texts(job.model) : load_images(job.data));
  }
  return examples;
}

}  // namespace

int64_t ExampleSizes::input_bytes() const {
  const int64_t numbers = std::accumulate(input.begin(), input.end(), int64_t{1}, std::multiplies<>());
  return numbers * static_cast<int64_t>(tokens ? sizeof(int64_t) : sizeof(float));
}
ExampleSizes example_sizes(const std::string& model) {
  if (model == "bert") return {{kBertTextLength}, true, 1, kBertClasses};
  if (model == "gpt") return {{kGptTextLength}, true, kGptTextLength, kGptTextLength * kVocabularySize};
  return {{1, 28, 28}, false, 1, kNumClasses};
}

Batches::Batches(const Job& job, int rank, int ranks)
    : batch_(job.batch), rank_(rank), world_size_(ranks), examples_(shared_examples(job)) {
  const ExampleSizes sizes = example_sizes(job.model);
  std::vector<int64_t> shape = sizes.input;
  shape.insert(shape.begin(), examples_->number);
  // from_blob() takes memory that may be written to; index_select() only reads it.
  auto* const tokens = const_cast<int64_t*>(examples_->tokens.data());
  inputs_ = sizes.tokens ? from_blob(tokens, shape, kInt64)
                         : from_blob(const_cast<float*>(examples_->pixels.data()), shape, kFloat32);
  // gpt's target is the next token.
  targets_ = examples_->labels.empty()
                 ? from_blob(tokens + 1, shape, kInt64)
                 : from_blob(const_cast<int64_t*>(examples_->labels.data()), {examples_->number}, kInt64);
}

data::Example<> Batches::get(int64_t step) const {
  const int64_t first = batch_ * rank_ / world_size_, end = batch_ * (rank_ + 1) / world_size_, n = inputs_.size(0);
  const Tensor rows = arange(step * batch_ + first, step * batch_ + end).remainder(n);
  return {inputs_.index_select(0, rows), targets_.index_select(0, rows)};
}

}  // namespace tandem::tools::compare
