#include <tandem/tandem.h>

#include <iostream>

int main() {
  tandem::manual_seed(1);
  tandem::nn::Sequential net(tandem::nn::Conv2d(1, 2, 3), tandem::nn::Flatten(), tandem::nn::Linear(8, 1));
  tandem::optim::SGD optimizer(net->parameters(), 0.1);
  const auto loss = net(tandem::randn({5, 1, 4, 4})).square().mean();
  loss.backward();
  optimizer.step();
  std::cout << loss << "\n";
}
