// Trains a model of bfloat16 parameters at a small learning rate, without and with float32 master weights in the
// optimizer: without, most updates are rounded away. usage: master_weights [STEPS]
#include <tandem/tandem.h>

#include <cstdlib>
#include <iostream>

using namespace tandem;

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 2000;
  for (const bool master_weights : {false, true}) {
    manual_seed(1);
    nn::Sequential model(nn::Linear(16, 64), nn::ReLU(), nn::Linear(64, 1));
    model->to(kBFloat16);
    optim::AdamW optimizer(model->parameters(), optim::AdamWOptions(1e-4).master_weights(master_weights));
    Tensor loss;
    for (int step = 0; step < steps; ++step) {
      const Tensor x = randn({64, 16}), target = x.narrow(1, 0, 4).sum(1, true);
      optimizer.zero_grad();
      loss = mse_loss(model(x.to(kBFloat16)).to(kFloat32), target);
      loss.backward();
      optimizer.step();
    }
    std::cout << (master_weights ? "with" : "without") << " master weights: loss " << loss.item<float>() << "\n";
  }
}
