// Idioms of LibTorch programs: options, accessors, sizes, devices, guards, printing, containers of modules.
#include <torch/torch.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

struct BlockImpl : torch::nn::Module {
  explicit BlockImpl(int64_t width, bool residual = true) : residual_(residual), fc(width, width) {
    register_module("fc", fc);
    torch::nn::init::constant_(fc->weight, 0.1);
    torch::nn::init::zeros_(fc->bias);
  }
  torch::Tensor forward(torch::Tensor x) {
    auto y = torch::relu(fc->forward(x));
    return residual_ ? x + y : y;
  }
  bool residual_;
  torch::nn::Linear fc;
};
TORCH_MODULE(Block);

struct Plain : torch::nn::Module {};

struct Network : torch::nn::Module {
  Network() {
    for (int i = 0; i < 3; ++i) blocks->push_back(Block(4, i % 2 == 0));
    register_module("blocks", blocks);
    register_module("plain", std::make_shared<Plain>());
  }
  torch::Tensor forward(torch::Tensor x) {
    for (const auto& block : *blocks) x = block->as<Block>()->forward(x);
    return x;
  }
  torch::nn::ModuleList blocks;
};

int main() {
  torch::manual_seed(0);
  const torch::Device device(torch::cuda::is_available() && false ? torch::kCUDA : torch::kCPU);
  const auto options = torch::TensorOptions().dtype(torch::kFloat32).device(device).requires_grad(false);
  std::cout << std::boolalpha << device << " " << options.requires_grad() << "\n";

  std::vector<float> raw(12);
  std::iota(raw.begin(), raw.end(), 0.f);
  auto x = torch::from_blob(raw.data(), {3, 4}, options).clone();
  raw[0] = 100;
  std::cout << x << "\n"
            << x.dim() << " " << x.numel() << " " << x.size(-1) << " " << x.sizes() << " " << x.strides() << "\n";
  auto rows = x.accessor<float, 2>();
  float trace = 0;
  for (int i = 0; i < 3; ++i) trace += rows[i][i];
  std::cout << trace << " " << *(x.data_ptr<float>() + 5) << " " << x[1][2].item().toFloat() << " " << x.is_contiguous()
            << " " << x.t().is_contiguous() << "\n";
  std::vector<float> copied(x.data_ptr<float>(), x.data_ptr<float>() + x.numel());
  std::cout << *std::max_element(copied.begin(), copied.end()) << "\n";

  auto network = std::make_shared<Network>();
  network->to(device);
  std::cout << *network << "\n" << network->forward(x) << "\n";
  int64_t parameters = 0;
  for (const auto& pair : network->named_parameters()) {
    parameters += pair.value().numel();
    if (pair.key().find("weight") != std::string::npos) std::cout << pair.key() << " " << pair->sizes() << "\n";
  }
  std::cout << parameters << "\n";
  network->eval();
  for (auto& module : network->modules(/*include_self=*/false))
    std::cout << module->name() << " " << module->is_training() << "\n";
  {
    torch::NoGradGuard guard;
    std::cout << network->forward(x).requires_grad() << torch::GradMode::is_enabled() << "\n";
  }
  std::cout << network->forward(x).requires_grad() << "\n";

  auto [values, indices] = torch::max(x * torch::tensor({1.f, -1.f, 1.f, -1.f}), /*dim=*/1);
  std::cout << values << "\n" << indices << "\n" << std::get<0>(torch::topk(x.flatten(), 3)) << "\n";
  const auto accuracy = indices.eq(torch::tensor({2, 2, 0})).sum().template item<int64_t>();
  std::cout << accuracy << " of " << indices.size(0) << "\n";
  x += 1;
  x.mul_(2).sub_(1);
  std::cout << x[0] << torch::where(x > 10, x, torch::zeros_like(x)) << (x > 10).any().item<bool>() << "\n";
  std::cout << torch::cat({x, x.new_zeros({1, 4})}).sizes() << torch::stack({x, x}).sizes()
            << x.unsqueeze(0).squeeze().sizes() << "\n";
  try {
    x.matmul(x);
  } catch (const c10::Error& error) {
    std::cout << "refused\n";
  }
  std::stringstream stream;
  torch::save(std::vector<torch::Tensor>{x, indices}, stream);
  std::vector<torch::Tensor> loaded;
  torch::load(loaded, stream);
  std::cout << loaded.size() << " " << loaded[0].equal(x) << " " << loaded[1].scalar_type() << std::endl;
  return 0;
}
