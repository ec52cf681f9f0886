// Implements the Stack transform, which combines a list of examples into one batch.
#include "tandem/data/transforms.h"

#include "tandem/core/internal.h"

namespace tandem::data::transforms {

Example<> Stack<Example<>>::apply_batch(std::vector<Example<>> examples) {
  std::vector<Tensor> data, targets;
  data.reserve(examples.size());
  targets.reserve(examples.size());
  for (Example<>& e : examples) {
    data.push_back(std::move(e.data));
    targets.push_back(std::move(e.target));
  }
  return {stack_rows(data), stack_rows(targets)};
}
TensorExample Stack<TensorExample>::apply_batch(std::vector<TensorExample> examples) {
  std::vector<Tensor> data;
  data.reserve(examples.size());
  for (TensorExample& e : examples) data.push_back(std::move(e.data));
  return stack_rows(data);
}

}  // namespace tandem::data::transforms
