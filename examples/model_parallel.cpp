// Model parallelism: one network in two parts on two devices, joined by .to(), which copies activations in forward and
// gradients in backward. The two devices are virtual parts of the CPU. For GPUs only the devices' names change.
// usage: model_parallel [STEPS]
#include <tandem/tandem.h>

#include <cstdlib>
#include <iostream>

using namespace tandem;

struct TwoPartsImpl : nn::Module {
  TwoPartsImpl(Device first, Device second) : first(first), second(second) {
    front->to(first);
    back->to(second);
  }
  Tensor forward(const Tensor& x) { return back(front(x.to(first)).to(second)); }

  Device first, second;
  nn::Sequential front = register_module("front", nn::Sequential(nn::Linear(2, 32), nn::Tanh()));
  nn::Sequential back = register_module("back", nn::Sequential(nn::Linear(32, 32), nn::Tanh(), nn::Linear(32, 1)));
};
TANDEM_MODULE(TwoParts);

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 300;
  set_cpu_device_count(2);
  const Device first("cpu:0"), second("cpu:1");
  manual_seed(1);

  // The network learns whether a point lies inside a ring.
  const Tensor x = rand({512, 2}) * 2 - 1;
  const Tensor radius = x.square().sum({1}, /*keepdim=*/true).sqrt();
  const Tensor y = (radius > 0.4).logical_and(radius < 0.8).to(kFloat32).to(second);  // on the output's device

  TwoParts net(first, second);
  optim::Adam optimizer(net->parameters(), 0.01);  // updates each parameter on the parameter's own device
  for (int step = 1; step <= steps; ++step) {
    optimizer.zero_grad();
    const Tensor loss = binary_cross_entropy_with_logits(net(x), y);
    loss.backward();
    optimizer.step();
    if (step % 100 == 0) std::cout << "step " << step << "  loss " << loss.item<float>() << "\n";
  }
  for (const auto& item : net->named_parameters())
    std::cout << item.key() << " " << item.value().sizes() << " on " << item.value().device() << "\n";
  const NoGradGuard no_grad;
  const float right = ((net(x) > 0) == (y > 0)).to(kFloat32).mean().item<float>();
  std::cout << 100 * right << " % right\n";
}
