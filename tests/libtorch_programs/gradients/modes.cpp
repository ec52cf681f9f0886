// Guards that turn grad mode off and on.
#include <torch/torch.h>

#include <iostream>

template <class F> void attempt(const char* what, F&& f) {
  try {
    f();
    std::cout << what << ": fine\n";
  } catch (const c10::Error&) {
    std::cout << what << ": refused\n";
  }
}

int main() {
  const torch::Tensor x = torch::ones({2}, torch::requires_grad());
  std::cout << torch::GradMode::is_enabled() << (x * 2).requires_grad() << "\n";
  {
    torch::NoGradGuard guard;
    std::cout << torch::GradMode::is_enabled() << (x * 2).requires_grad() << x.requires_grad()
              << torch::ones({1}, torch::requires_grad()).requires_grad() << "\n";
    {
      torch::AutoGradMode on(true);
      std::cout << torch::GradMode::is_enabled() << (x * 2).requires_grad() << "\n";
    }
    std::cout << torch::GradMode::is_enabled() << "\n";
    x.add_(1);  // allowed without grad mode
  }
  std::cout << x << "\n" << x.is_leaf() << x._version() << "\n";
  attempt("in place on a leaf", [&] { x.add_(1); });
  torch::GradMode::set_enabled(false);
  std::cout << (x * 2).requires_grad() << "\n";
  torch::GradMode::set_enabled(true);
  {
    torch::AutoGradMode off(false);
    std::cout << (x * 2).requires_grad() << "\n";
  }
  torch::Tensor inside, view;
  const torch::Tensor normal = torch::ones({2});
  {
    c10::InferenceMode guard;
    std::cout << c10::InferenceMode::is_enabled() << torch::GradMode::is_enabled() << "\n";
    inside = torch::ones({2});
    view = normal.view({2, 1});
    std::cout << inside.is_inference() << view.is_inference() << normal.is_inference() << (x * 2).is_inference()
              << (x * 2).requires_grad() << "\n";
    inside.add_(1);
    normal.add_(1);
    {
      c10::InferenceMode off(false);
      std::cout << c10::InferenceMode::is_enabled() << (x * 2).requires_grad() << torch::ones({1}).is_inference()
                << "\n";
    }
  }
  std::cout << c10::InferenceMode::is_enabled() << inside.is_inference() << inside.requires_grad() << normal._version()
            << "\n";
  attempt("an inference tensor in place", [&] { inside.add_(1); });
  attempt("an inference tensor that is saved", [&] { (inside * x).sum().backward(); });
  attempt("an inference tensor that is not saved", [&] { (inside + x).sum().backward(); });
  attempt("an inference tensor that should require grad", [&] { inside.requires_grad_(); });
  attempt("the version of an inference tensor", [&] { inside._version(); });
  attempt("a copy of an inference tensor", [&] { (inside.clone() * x).sum().backward(); });
  const torch::Tensor y = x * 3;
  attempt("taking requires_grad away from a result", [&] { y.set_requires_grad(false); });
  std::cout << y.detach().set_requires_grad(true).requires_grad() << "\n";
  return 0;
}
