// Small networks for benchmarks, examples and tests. Parameters have the same names as in PyTorch.
#pragma once
#include "tandem/models/bert_for_sequence_classification.h"
#include "tandem/models/gpt.h"
#include "tandem/models/llama.h"
#include "tandem/models/sentence_transformer.h"
#include "tandem/nn/activation.h"
#include "tandem/nn/batch_norm.h"
#include "tandem/nn/containers/sequential.h"
#include "tandem/nn/convolution.h"
#include "tandem/nn/dropout.h"
#include "tandem/nn/linear.h"
#include "tandem/nn/pooling.h"

namespace tandem::models {

/// Multilayer perceptron 784-128-64-10 with ReLU; x (N, 1, 28, 28) or (N, 784) -> logits (N, 10)
struct MlpImpl : nn::Cloneable<MlpImpl> {
  MlpImpl() { reset(); }
  void reset() override {
    fc1 = register_module("fc1", nn::Linear(784, 128));
    fc2 = register_module("fc2", nn::Linear(128, 64));
    fc3 = register_module("fc3", nn::Linear(64, 10));
  }
  /// x (N, 1, 28, 28) or (N, 784) -> logits (N, 10)
  Tensor forward(const Tensor& x) { return fc3(relu(fc2(relu(fc1(x.reshape({-1, 784})))))); }
  /// Layers of 784 to 128, 128 to 64 and 64 to 10 features.
  nn::Linear fc1{nullptr}, fc2{nullptr}, fc3{nullptr};
};
TANDEM_MODULE(Mlp);

/// The network of PyTorch's C++ MNIST example; x (N, 1, 28, 28) -> (N, 10) log probabilities
struct LenetImpl : nn::Cloneable<LenetImpl> {
  LenetImpl() { reset(); }
  void reset() override {
    conv1 = register_module("conv1", nn::Conv2d(1, 10, 5));
    conv2 = register_module("conv2", nn::Conv2d(10, 20, 5));
    conv2_drop = register_module("conv2_drop", nn::Dropout2d());
    fc1 = register_module("fc1", nn::Linear(320, 50));
    fc2 = register_module("fc2", nn::Linear(50, 10));
  }
  /// x (N, 1, 28, 28) -> log probabilities (N, 10)
  Tensor forward(Tensor x) {
    x = relu(max_pool2d(conv1(x), 2));
    x = relu(max_pool2d(conv2_drop(conv2(x)), 2));
    x = dropout(relu(fc1(x.reshape({-1, 320}))), 0.5, is_training());
    return log_softmax(fc2(x), 1);
  }
  /// The convolutions.
  nn::Conv2d conv1{nullptr}, conv2{nullptr};
  /// Drops whole channels of conv2's output.
  nn::Dropout2d conv2_drop{nullptr};
  /// The fully connected part.
  nn::Linear fc1{nullptr}, fc2{nullptr};
};
TANDEM_MODULE(Lenet);

/// Two convolutions with batch norm and three linear layers; x (N, 1, 28, 28) -> logits (N, 10). On the CPU it is a
/// quarter faster in channels-last format: `net->to(MemoryFormat::ChannelsLast)`.
struct FashionCnnImpl : nn::Cloneable<FashionCnnImpl> {
  FashionCnnImpl() { reset(); }
  void reset() override {
    using namespace nn;
    layer1 = register_module(
        "layer1", Sequential(Conv2d(Conv2dOptions(1, 32, 3).padding(1)), BatchNorm2d(32), ReLU(), MaxPool2d(2)));
    layer2 = register_module("layer2", Sequential(Conv2d(32, 64, 3), BatchNorm2d(64), ReLU(), MaxPool2d(2)));
    fc1 = register_module("fc1", Linear(2304, 600));
    drop = register_module("drop", Dropout(0.25));
    fc2 = register_module("fc2", Linear(600, 120));
    fc3 = register_module("fc3", Linear(120, 10));
  }
  /// x (N, 1, 28, 28) -> logits (N, 10)
  Tensor forward(const Tensor& x) { return fc3(fc2(drop(fc1(layer2(layer1(x)).flatten(1))))); }
  /// Each Sequential is a convolution, batch norm, ReLU and max pool.
  nn::Sequential layer1{nullptr}, layer2{nullptr};
  /// The fully connected part.
  nn::Linear fc1{nullptr}, fc2{nullptr}, fc3{nullptr};
  /// Drops features of fc1's output.
  nn::Dropout drop{nullptr};
};
TANDEM_MODULE(FashionCnn);

}  // namespace tandem::models
