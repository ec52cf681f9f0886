// Tandem's models written for LibTorch.
#pragma once
#include <torch/torch.h>

struct FashionCnn : torch::nn::Module {
  torch::nn::Sequential net;
  FashionCnn() {
    using namespace torch::nn;
    net = register_module("net",
                          Sequential(Conv2d(Conv2dOptions(1, 32, 3).padding(1)), BatchNorm2d(32), ReLU(), MaxPool2d(2),
                                     Conv2d(Conv2dOptions(32, 64, 3)), BatchNorm2d(64), ReLU(), MaxPool2d(2), Flatten(),
                                     Linear(64 * 6 * 6, 600), Dropout(0.25), Linear(600, 120), Linear(120, 10)));
  }
  torch::Tensor forward(torch::Tensor x) { return net->forward(x); }
};

struct Mlp : torch::nn::Module {
  torch::nn::Linear a{784, 128}, b{128, 64}, c{64, 10};
  Mlp() {
    register_module("a", a);
    register_module("b", b);
    register_module("c", c);
  }
  torch::Tensor forward(torch::Tensor x) { return c(torch::relu(b(torch::relu(a(x))))); }
};

struct Simple : torch::nn::Module {
  torch::nn::Linear a{10, 1};
  Simple() { register_module("a", a); }
  torch::Tensor forward(torch::Tensor x) { return a(x); }
};

struct MnistNet : torch::nn::Module {  // the network of PyTorch's C++ MNIST example
  torch::nn::Conv2d conv1{torch::nn::Conv2dOptions(1, 10, 5)}, conv2{torch::nn::Conv2dOptions(10, 20, 5)};
  torch::nn::Dropout2d drop;
  torch::nn::Linear fc1{320, 50}, fc2{50, 10};
  MnistNet() {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("drop", drop);
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(torch::max_pool2d(conv1(x), 2));
    x = torch::relu(torch::max_pool2d(drop(conv2(x)), 2));
    x = torch::dropout(torch::relu(fc1(x.flatten(1))), 0.5, is_training());
    return torch::log_softmax(fc2(x), 1);
  }
};
