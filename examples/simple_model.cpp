// The smallest training loop: one linear layer, mean squared error, Adam.
// usage: simple_model [STEPS]
#include <tandem/tandem.h>

#include <cstdlib>
#include <iostream>

using namespace tandem;

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 500;
  manual_seed(1);

  // The function to learn: y = x w + 3, with a little noise.
  const Tensor w = linspace(-1, 1, 10).reshape({10, 1});
  const Tensor x = randn({1024, 10});
  const Tensor y = x.matmul(w) + 3 + 0.1 * randn({1024, 1});

  nn::Linear model(10, 1);
  nn::MSELoss criterion;
  optim::Adam optimizer(model->parameters(), optim::AdamOptions(0.05));
  for (int step = 1; step <= steps; ++step) {
    optimizer.zero_grad();
    const Tensor loss = criterion(model(x), y);
    loss.backward();
    optimizer.step();
    if (step % 100 == 0) std::cout << "step " << step << "  loss " << loss.item<float>() << "\n";
  }
  std::cout << "weight " << model->weight.detach() << "\nbias   " << model->bias.detach() << "\n";
}
