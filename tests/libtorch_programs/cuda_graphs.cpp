// GPU streams, events and graphs under LibTorch's names. Captures a training step on a side stream. Replays must give
// the same parameters as eager steps, bit for bit. Does nothing without a GPU.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/macros/Macros.h>
#include <torch/torch.h>

#include <iostream>
#include <vector>

namespace {

void wait(const at::cuda::CUDAStream& before, const at::cuda::CUDAStream& after) {
  at::cuda::CUDAEvent event;
  TORCH_CHECK(!event.isCreated() && !event.device(), "an event has no device before its first record");
  event.record(before);
  event.block(after);
  TORCH_CHECK(event.isCreated() && event.device() == before.device(), "an event is of its stream's device");
}

struct Net : torch::nn::Module {
  Net()
      : first(register_module("first", torch::nn::Linear(6, 8))),
        last(register_module("last", torch::nn::Linear(8, 2))) {}
  torch::Tensor forward(const torch::Tensor& x) {
    return last(torch::dropout(torch::relu(first(x)), 0.25, is_training()));
  }
  torch::nn::Linear first, last;
};

void step(Net& net, torch::optim::Optimizer& optimizer, const torch::Tensor& x, const torch::Tensor& y,
          torch::Tensor& loss) {
  optimizer.zero_grad();
  loss = torch::mse_loss(net.forward(x), y);
  loss.backward();
  optimizer.step();
}

/// Returns the parameters and the last loss after three warm-up steps and five more steps. If `captured`, the five
/// steps are replays.
std::vector<torch::Tensor> train(bool captured) {
  torch::manual_seed(4);
  torch::cuda::manual_seed_all(5);
  Net net;
  net.to(torch::kCUDA);
  torch::optim::SGD optimizer(net.parameters(), torch::optim::SGDOptions(0.1).momentum(0.5));
  const torch::Tensor x = torch::zeros({16, 6}, torch::kCUDA), y = torch::zeros({16, 2}, torch::kCUDA);
  torch::Tensor loss;

  const at::cuda::CUDAStream usual = at::cuda::getCurrentCUDAStream(), warm_up = at::cuda::getStreamFromPool(),
                             capture = at::cuda::getStreamFromPool(/*isHighPriority=*/true);
  at::cuda::setCurrentCUDAStream(warm_up);
  TORCH_CHECK(at::cuda::getCurrentCUDAStream() == warm_up, "the stream that was set is the current one");
  wait(usual, warm_up);
  for (C10_UNUSED const auto i : c10::irange(3)) step(net, optimizer, x, y, loss);
  wait(warm_up, capture);
  at::cuda::setCurrentCUDAStream(capture);
  at::cuda::CUDAGraph graph;
  if (captured) {
    graph.capture_begin();
    step(net, optimizer, x, y, loss);
    graph.capture_end();
  }
  wait(capture, usual);
  at::cuda::setCurrentCUDAStream(usual);

  for (const auto i : c10::irange(5)) {
    x.copy_(torch::arange(96).view({16, 6}).mul(0.3 * (i + 1)).sin());
    y.copy_(torch::arange(32).view({16, 2}).mul(0.2 * (i + 1)).cos());
    captured ? graph.replay() : step(net, optimizer, x, y, loss);
  }
  std::vector<torch::Tensor> results = {loss.cpu()};
  for (const auto& parameter : net.parameters()) results.push_back(parameter.detach().cpu());
  return results;
}

void check_guard() {
  const at::cuda::CUDAStream other = at::cuda::getStreamFromPool(-1);
  TORCH_CHECK(other.priority() == -1 && other.device_index() == 0 && other.device_type() == torch::kCUDA);
  at::cuda::CUDAEvent begin(0u), end(0u);
  {
    const c10::cuda::CUDAStreamGuard guard(other);
    begin.record();
    const torch::Tensor sum = torch::ones({1000}, torch::kCUDA).sum();
    end.record();
    end.synchronize();
    TORCH_CHECK(end.query() && begin.elapsed_time(end) >= 0 && sum.item<float>() == 1000);
    at::cuda::setCurrentCUDAStream(at::cuda::getDefaultCUDAStream());
  }
  TORCH_CHECK(at::cuda::getCurrentCUDAStream() == at::cuda::getDefaultCUDAStream());
}

}  // namespace

int main() {
  if (!torch::cuda::is_available()) return 0;
  const auto eager = train(false), replayed = train(true);
  for (size_t i = 0; i < eager.size(); ++i) {
    TORCH_CHECK(torch::equal(eager[i], replayed[i]), "result ", i, " differs: ", eager[i], " eagerly, ", replayed[i],
                " replayed");
  }
  check_guard();
  std::cout << "a step's replays are its eager runs: loss " << eager[0].item<float>() << std::endl;
}
