// Modules as LibTorch prints them.
#include <torch/torch.h>

#include <iostream>

using namespace torch::nn;

template <class M> void show(const M& m) { std::cout << *m << "\n"; }
int main() {
  show(Linear(2, 3));
  show(Bilinear(2, 3, 4));
  show(Identity());
  show(Flatten());
  show(Dropout(0.3));
  show(Dropout2d(DropoutOptions(0.5).inplace(true)));
  show(Conv1d(Conv1dOptions(1, 2, 3).padding(1)));
  show(Conv2d(Conv2dOptions(1, 2, {3, 2}).stride(2).dilation(2).bias(false)));
  show(Conv2d(Conv2dOptions(2, 4, 3).padding(torch::kSame).groups(2).padding_mode(torch::kCircular)));
  show(ConvTranspose2d(ConvTranspose2dOptions(1, 2, 3).stride(2).output_padding(1)));
  show(BatchNorm1d(3));
  show(BatchNorm2d(BatchNorm2dOptions(3).affine(false)));
  show(InstanceNorm1d(3));
  show(LayerNorm(LayerNormOptions({2, 3})));
  show(GroupNorm(2, 4));
  show(ReLU());
  show(ReLU(ReLUOptions(true)));
  show(LeakyReLU(LeakyReLUOptions().negative_slope(0.2)));
  show(ELU());
  show(Sigmoid());
  show(Tanh());
  show(GELU());
  show(SiLU());
  show(Softmax(1));
  show(LogSoftmax(1));
  show(PReLU());
  show(Softplus());
  show(Hardtanh());
  show(Threshold(1, 2));
  show(SELU());
  show(CELU());
  show(GLU());
  show(Mish());
  show(RReLU());
  show(Hardshrink());
  show(Softshrink());
  show(MaxPool2d(2));
  show(MaxPool2d(MaxPool2dOptions({2, 3}).stride(1).padding(1).ceil_mode(true)));
  show(AvgPool2d(2));
  show(AdaptiveAvgPool2d(1));
  show(AdaptiveAvgPool2d(AdaptiveAvgPool2dOptions({1, 2})));
  show(AdaptiveMaxPool1d(3));
  show(MaxPool1d(2));
  show(LPPool2d(LPPool2dOptions(2, 3)));
  show(Embedding(10, 3));
  show(RNN(2, 3));
  show(LSTM(LSTMOptions(2, 3).num_layers(2).bidirectional(true).batch_first(true)));
  show(GRU(2, 3));
  show(LSTMCell(2, 3));
  show(RNNCell(2, 3));
  show(MultiheadAttention(4, 2));
  show(MSELoss());
  show(CrossEntropyLoss());
  show(PixelShuffle(2));
  show(ZeroPad2d(1));
  show(ReflectionPad1d(2));
  show(ConstantPad1d(ConstantPad1dOptions(1, 2.5)));
  show(Fold(FoldOptions(3, 2)));
  show(Unfold(UnfoldOptions(2)));
  show(LocalResponseNorm(2));
  show(Sequential(Linear(2, 3), ReLU()));
  show(ModuleList(Linear(2, 3)));
}
