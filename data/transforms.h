// Transforms, which convert examples on their way from a dataset to a batch.
#pragma once
#include <utility>

#include "tandem/data/example.h"
#include "tandem/data/example_random_streams.h"
#include "tandem/data/rows.h"
#include "tandem/ops/factory/tensor.h"

namespace tandem::data::transforms {

/// Base class of transforms that convert one batch into another.
template <class InputBatch, class OutputBatch> class BatchTransform {
 public:
  using InputBatchType = InputBatch;
  using OutputBatchType = OutputBatch;
  virtual ~BatchTransform() = default;
  /// Returns the converted batch. Each worker calls it on a copy of the transform.
  virtual OutputBatch apply_batch(InputBatch batch) = 0;
};

/// Base class of transforms that convert one example into another.
template <class Input, class Output> class Transform : public BatchTransform<std::vector<Input>, std::vector<Output>> {
 public:
  using InputType = Input;
  using OutputType = Output;
  /// Returns the converted example.
  virtual Output apply(Input input) = 0;
  std::vector<Output> apply_batch(std::vector<Input> batch) override {
    std::vector<Output> out;
    out.reserve(batch.size());
    data::detail::ExampleRandomGuard example;
    for (size_t i = 0; i < batch.size(); ++i) {
      example.begin_example(i);
      out.push_back(apply(std::move(batch[i])));
    }
    return out;
  }
};

/// A transform that combines many examples into one, the batch.
template <class T, class BatchType = std::vector<T>> using Collation = BatchTransform<BatchType, T>;

/// Applies a function to each example.
template <class Input, class Output = Input> class Lambda : public Transform<Input, Output> {
 public:
  using FunctionType = std::function<Output(Input)>;
  explicit Lambda(FunctionType function) : function_(std::move(function)) {}
  Output apply(Input input) override { return function_(std::move(input)); }

 private:
  FunctionType function_;
};

/// Applies a function to each whole batch.
template <class Input, class Output = Input> class BatchLambda : public BatchTransform<Input, Output> {
 public:
  using FunctionType = std::function<Output(Input)>;
  explicit BatchLambda(FunctionType function) : function_(std::move(function)) {}
  Output apply_batch(Input batch) override { return function_(std::move(batch)); }

 private:
  FunctionType function_;
};

/// Base class of transforms that convert the data of each example, and keep its target.
template <class Target = Tensor>
class TensorTransform : public Transform<Example<Tensor, Target>, Example<Tensor, Target>> {
 public:
  /// Transforms the data of one example.
  virtual Tensor operator()(Tensor input) = 0;
  Example<Tensor, Target> apply(Example<Tensor, Target> input) override {
    input.data = (*this)(std::move(input.data));
    return input;
  }
};

/// Combines many examples into one, the batch, by a function.
template <class T, class BatchType = std::vector<T>> using Collate = BatchLambda<BatchType, T>;

/// Applies a function to the data of each example.
template <class Target = Tensor> class TensorLambda : public TensorTransform<Target> {
 public:
  using FunctionType = std::function<Tensor(Tensor)>;
  explicit TensorLambda(FunctionType function) : function_(std::move(function)) {}
  Tensor operator()(Tensor input) override { return function_(std::move(input)); }

 private:
  FunctionType function_;
};

/// Computes (x - mean) / stddev per channel of an image x (C, H, W). mean and stddev hold C values, or one value for
/// all channels. Floating-point images keep their dtype; others become float32.
template <class Target = Tensor> struct Normalize : public TensorTransform<Target> {
  Normalize(ArrayRef<double> mean, ArrayRef<double> stddev)
      : mean(data::detail::to_channel_tensor(mean)), stddev(data::detail::to_channel_tensor(stddev)) {}
  Tensor operator()(Tensor input) override {
    const Dtype dtype = input.is_floating_point() ? input.dtype() : mean.dtype();
    return input.sub(mean.to(dtype)).div(stddev.to(dtype));
  }
  /// Normalizes a stacked batch (N, C, H, W) in one operation, with the same results.
  Example<Tensor, Target> apply_stacked(Example<Tensor, Target> batch) { return this->apply(std::move(batch)); }

  Tensor mean, stddev;  // (C, 1, 1) float32
};

/// Combines many examples into one, the batch, by stacking their tensors.
template <class T = Example<>> struct Stack;

template <> struct Stack<Example<>> : public Collation<Example<>> {
  Example<> apply_batch(std::vector<Example<>> examples) override;
};

template <> struct Stack<TensorExample> : public Collation<TensorExample> {
  TensorExample apply_batch(std::vector<TensorExample> examples) override;
};

}  // namespace tandem::data::transforms
