// Trains with mixed precision: under autocast the linear layers compute in bfloat16 or float16, and weights, gradients
// and the optimizer stay float32. In float16 a GradScaler scales the losses. usage: mixed_precision [STEPS [DEVICE
// [float16]]]
#include <tandem/tandem.h>

#include <cstdlib>
#include <iostream>

using namespace tandem;

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 300;
  const Device device(argc > 2 ? argv[2] : "cpu");
  const DType dtype = argc > 3 && std::string(argv[3]) == "float16" ? kFloat16 : kBFloat16;
  manual_seed(1);
  nn::Sequential model(nn::Linear(16, 64), nn::ReLU(), nn::LayerNorm(nn::LayerNormOptions({64})), nn::Linear(64, 4));
  model->to(device);
  optim::Adam optimizer(model->parameters(), optim::AdamOptions(0.003));
  amp::GradScaler scaler(amp::GradScalerOptions().enabled(dtype == kFloat16));
  Tensor loss;
  for (int step = 0; step < steps; ++step) {
    const Tensor x = randn({64, 16}, device), target = x.narrow(1, 0, 4).argmax(1);
    optimizer.zero_grad();
    {
      AutocastGuard guard(device.type(), dtype);
      const Tensor y = model(x);
      loss = cross_entropy(y, target);
      if (step == 0) std::cout << "output in " << y.dtype() << ", loss in " << loss.dtype() << "\n";
    }
    scaler.scale(loss).backward();
    scaler.step(optimizer);  // skipped if a gradient is infinite or NaN
    scaler.update();
  }
  std::cout << "weights and gradients in " << model->parameters()[0].grad().dtype() << ", loss " << loss.item<float>()
            << ", scale " << scaler.get_scale() << "\n";
}
