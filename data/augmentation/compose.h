// Compose: several transforms of images, one after another.
#pragma once
#include <tuple>

#include "tandem/data/transforms.h"

namespace tandem::data::transforms {

/// Applies transforms of one image one after another, as torchvision's Compose: Compose(RandomCrop<>(24),
/// RandomHorizontalFlip<>(), ...). The result is a transform itself, for map() or for an image without a dataset.
template <class First, class... Rest> class Compose : public TensorTransform<typename First::InputType::TargetType> {
 public:
  explicit Compose(First first, Rest... rest) : transforms_(std::move(first), std::move(rest)...) {}
  Tensor operator()(Tensor input) override {
    std::apply([&](auto&... transform) { ((input = transform(std::move(input))), ...); }, transforms_);
    return input;
  }

 private:
  std::tuple<First, Rest...> transforms_;
};

}  // namespace tandem::data::transforms
