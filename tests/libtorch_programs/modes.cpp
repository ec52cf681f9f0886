// Inference mode, anomaly mode, calls that a custom function may make about its tensors, and convolution options, as a
// LibTorch user would write them.
#include <torch/torch.h>

#include <iostream>
#include <string>
#include <vector>

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Returns numbers from a formula, so that they are the same in both libraries.
Tensor numbers(std::vector<int64_t> sizes, double step = 0.37) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return (torch::arange(count, torch::kFloat64) * step).sin().reshape(sizes);
}
template <class F> void refused(const char* what, const F& f) {
  bool thrown = false;
  try {
    f();
  } catch (const std::exception&) {
    thrown = true;
  }
  std::cout << what << (thrown ? ": refused" : ": accepted") << "\n";
}

void inference() {
  auto w = torch::ones({2}, torch::requires_grad());
  auto counted = torch::ones({2});
  Tensor made, view;
  {
    c10::InferenceMode guard;
    std::cout << c10::InferenceMode::is_enabled() << torch::GradMode::is_enabled();
    made = torch::ones({2});
    view = w.view({2, 1});
    counted.add_(1);
    made.mul_(3);
    {
      c10::InferenceMode off(false);
      std::cout << (w * 2).requires_grad() << (w * 2).is_inference();
    }
    std::cout << (w * 2).is_inference() << "\n";
  }
  std::cout << made.is_inference() << view.is_inference() << made[0].is_inference() << made.detach().is_inference()
            << made.clone().is_inference() << (made + 1).is_inference() << counted._version() << "\n";
  refused("version", [&] { made._version(); });
  refused("in place", [&] { made.add_(1); });
  refused("a view in place", [&] { made[0].zero_(); });
  refused("requires_grad_", [&] { made.requires_grad_(); });
  refused("saved", [&] { w* made; });
  refused("not saved", [&] { w + made; });
  refused("a clone", [&] { made.clone().add_(1); });
  refused("read", [&] { counted.copy_(made); });
}

struct Halve : torch::autograd::Function<Halve> {
  static variable_list forward(AutogradContext* ctx, Tensor x, double factor, const Tensor& other) {
    x.mul_(factor);
    const Tensor rank = x.argsort().to(torch::kFloat64);
    ctx->mark_dirty({x});
    ctx->mark_non_differentiable({rank});
    ctx->save_for_backward({x, Tensor(), other});
    ctx->saved_data["factor"] = factor;
    return {x, rank, other * 2};
  }
  static variable_list backward(AutogradContext* ctx, variable_list dy) {
    const auto saved = ctx->get_saved_variables();
    std::cout << "saved " << saved[0].defined() << saved[1].defined() << saved[2].defined() << ", gradients "
              << dy[0].defined() << dy[1].defined() << dy[2].defined() << ", needed " << ctx->needs_input_grad(0)
              << ctx->needs_input_grad(1) << ctx->needs_input_grad({std::make_pair(0, 2)}) << "\n";
    return {dy[0] * ctx->saved_data["factor"].toDouble(), Tensor(), ctx->needs_input_grad(1) ? dy[2] * 2 : Tensor()};
  }
};
struct Triple : torch::autograd::Function<Triple> {
  static Tensor forward(AutogradContext* ctx, Tensor x) {
    ctx->mark_dirty({x});
    return x.mul_(3);
  }
  static variable_list backward(AutogradContext*, variable_list dy) { return {dy[0] * 3}; }
};
struct Raw : torch::autograd::Function<Raw> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x) {
    ctx->set_materialize_grads(false);
    return {x * 2, x * 3};
  }
  static variable_list backward(AutogradContext*, variable_list dy) {
    std::cout << "raw gradients " << dy[0].defined() << dy[1].defined() << "\n";
    return {dy[0].defined() ? dy[0] * 2 : dy[1] * 3};
  }
};

void functions() {
  auto x = numbers({3}).requires_grad_(), other = numbers({3}, 0.5).requires_grad_();
  auto h = x * 2;
  auto y = Halve::apply(h, 0.5, other);
  std::cout << y[0].is_same(h) << y[0].requires_grad() << y[1].requires_grad() << y[2].requires_grad() << h._version()
            << "\n";
  (y[0] * y[0]).sum().backward({}, /*retain_graph=*/true);
  std::cout << x.grad() << "\n" << other.grad() << "\n";
  std::cout << torch::autograd::grad({y[2].sum()}, {other}, {}, true)[0] << "\n";
  auto base = x * 1;
  Triple::apply(base.narrow(0, 0, 2));
  std::cout << torch::autograd::grad({base.sum()}, {x})[0] << "\n";
  refused("a leaf in place", [&] { Halve::apply(x, 0.5, other); });
  auto z = Raw::apply(x);
  std::cout << torch::autograd::grad({z[1].sum()}, {x})[0] << "\n";
}

void anomaly() {
  std::cout << torch::autograd::AnomalyMode::is_enabled();
  torch::autograd::DetectAnomalyGuard guard;
  std::cout << torch::autograd::AnomalyMode::is_enabled() << torch::autograd::AnomalyMode::should_check_nan() << "\n";
  auto x = torch::zeros({2}, torch::requires_grad());
  auto y = (x.sqrt() * 0).sum();
  refused("NaN in a backward", [&] { y.backward(); });
}

template <class M> void fill(M& module) {
  torch::NoGradGuard guard;
  module->to(torch::kFloat64);
  for (auto& p : module->parameters()) p.copy_(numbers(p.sizes().vec()));
}
void convolutions() {
  using namespace torch::nn;
  Conv1d one(ConvOptions<1>(2, 3, 4).padding(torch::kSame).dilation(2));
  Conv2d two(Conv2dOptions(2, 2, {3, 3}).padding(torch::kSame).padding_mode(torch::kCircular).bias(false));
  Conv3d three(ConvOptions<3>(1, 2, 2).padding(torch::kValid).stride({1, 2, 1}));
  ConvTranspose2d up(ConvTransposeOptions<2>(2, 1, 3).stride(2).padding(1));
  fill(one), fill(two), fill(three), fill(up);
  std::cout << one(numbers({1, 2, 5})) << "\n" << two(numbers({1, 2, 3, 4})) << "\n";
  std::cout << three(numbers({1, 1, 3, 4, 3})) << "\n";
  const std::vector<int64_t> size{6, 5};
  std::cout << up(numbers({1, 2, 3, 3}), at::IntArrayRef(size)) << "\n";
  std::cout << two->options.kernel_size()->size() << two->options.stride()->at(1) << one->options.transposed()
            << up->options.transposed() << "\n";
  refused("kSame with strides", [&] {
    Conv1d strided(Conv1dOptions(1, 1, 2).padding(torch::kSame).stride(2));
    strided(torch::ones({1, 1, 4}));
  });
  namespace F = torch::nn::functional;
  std::cout << F::conv1d(numbers({1, 1, 4}), numbers({1, 1, 3}), F::Conv1dFuncOptions().padding(torch::kSame)) << "\n";
}

void norms_and_dropouts() {
  using namespace torch::nn;
  BatchNorm2d norm(BatchNorm2dOptions(2).momentum(0.5));
  norm->to(torch::kFloat64);
  norm(numbers({2, 2, 2, 2}));
  std::cout << norm->running_mean << "\n" << norm->num_batches_tracked.item<int64_t>() << "\n";
  norm->reset_running_stats();
  std::cout << norm->running_var << "\n";
  InstanceNorm1d instance(InstanceNorm1dOptions(2).track_running_stats(true).affine(true));
  instance->to(torch::kFloat64);
  std::cout << instance(numbers({1, 2, 3})) << "\n" << instance->running_mean << "\n";
  auto x = torch::ones({4});
  Dropout all(DropoutOptions(1.0).inplace(true));
  all(x);
  std::cout << x << "\n";
  auto p = torch::zeros({2}, torch::requires_grad());
  p.mutable_grad() = torch::tensor({3.0f, -4.0f});
  std::cout << utils::clip_grad_norm_(p, 1.0) << "\n" << p.grad() << "\n";
  utils::clip_grad_value_(p, 0.5);
  std::cout << p.grad() << "\n";
}

int main() {
  inference();
  functions();
  anomaly();
  convolutions();
  norms_and_dropouts();
}
