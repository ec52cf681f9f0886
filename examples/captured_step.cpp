// Captures a training step in a Graph and replays it on new batches. A replay runs only the kernels, without the
// overhead of calls and autograd around them. usage: captured_step [STEPS [DEVICE]]
#include <tandem/tandem.h>

#include <chrono>
#include <cstdlib>
#include <iostream>

using namespace tandem;

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 2000;
  const Device device(argc > 2 ? argv[2] : "cpu");
  manual_seed(1);
  nn::Sequential model(nn::Linear(10, 32), nn::Tanh(), nn::Dropout(0.1), nn::Linear(32, 1));
  model->to(device);
  optim::Adam optimizer(model->parameters(), optim::AdamOptions(0.01));
  optim::StepLR schedule(optimizer, 500, 0.5);

  // A replay reads the same memory as the captured step, so each new batch is written into the same tensors.
  Tensor x = randn({64, 10}, device), y = empty({64, 1}, device);
  const auto next_batch = [&] {
    const NoGradGuard guard;
    x.normal_();
    y.copy_(x.sin().sum(1, true));
  };
  Tensor loss;
  const auto step = [&] {
    optimizer.zero_grad();
    loss = mse_loss(model(x), y);
    loss.backward();
    optimizer.step();
  };
  const auto train = [&](const char* how, const std::function<void()>& run) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < steps; ++i) {
      next_batch();
      run();
      schedule.step();
    }
    const auto last = loss.item<float>();  // waits until the GPU is done
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    std::cout << how << ": " << time.count() / steps << " us a step, loss " << last << "\n";
  };
  next_batch();
  step();  // the optimizer's first step creates its state, which must exist before the capture
  train("eager   ", step);
  Graph graph;
  graph.capture(step);  // records the kernels without running them
  train("captured", [&] { graph.replay(); });
  const Graph::Summary summary = graph.summary();
  if (device.is_cuda())
    std::cout << summary.gpu_calls << " calls of kernels, a pool of " << summary.gpu_bytes << " bytes\n";
  else
    std::cout << summary.loops << " loops, " << summary.bytes << " bytes of temporaries\n";
}
