// Trains with mixed precision: under autocast the linear layers compute in bfloat16, and weights, gradients and the
// optimizer stay float32. usage: mixed_precision [STEPS [DEVICE]]
#include <tandem/tandem.h>

#include <cstdlib>
#include <iostream>

using namespace tandem;

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 300;
  const Device device(argc > 2 ? argv[2] : "cpu");
  manual_seed(1);
  nn::Sequential model(nn::Linear(16, 64), nn::ReLU(), nn::LayerNorm(nn::LayerNormOptions({64})), nn::Linear(64, 4));
  model->to(device);
  optim::Adam optimizer(model->parameters(), optim::AdamOptions(0.003));
  Tensor loss;
  for (int step = 0; step < steps; ++step) {
    const Tensor x = randn({64, 16}, device), target = x.narrow(1, 0, 4).argmax(1);
    optimizer.zero_grad();
    {
      AutocastGuard guard(device.type(), kBFloat16);
      const Tensor y = model(x);
      loss = cross_entropy(y, target);
      if (step == 0) std::cout << "output in " << y.dtype() << ", loss in " << loss.dtype() << "\n";
    }
    loss.backward();
    optimizer.step();
  }
  std::cout << "weights and gradients in " << model->parameters()[0].grad().dtype() << ", loss " << loss.item<float>()
            << "\n";
}
