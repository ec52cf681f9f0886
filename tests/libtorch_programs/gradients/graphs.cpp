// Prints the graph of a tensor: nodes and edges, their lifetime, and how the graph is cut.
#include <torch/torch.h>

#include <iostream>
#include <map>
#include <vector>

using torch::Tensor;
using Node = torch::autograd::Node;

int count_nodes(const Tensor& root, int* leaves) {
  std::map<Node*, int> seen;
  std::vector<Node*> stack = {root.grad_fn().get()};
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    if (seen[node]++) continue;
    if (node->num_outputs() == 0) ++*leaves;
    for (const auto& edge : node->next_edges())
      if (edge.is_valid()) stack.push_back(edge.function.get());
  }
  return static_cast<int>(seen.size());
}

int main() {
  Tensor a = torch::ones({2, 2}, torch::requires_grad()), b = torch::full({2, 2}, 3.0f, torch::requires_grad());
  Tensor c = a * b, d = c.exp(), e = (d + a).sum();
  int leaves = 0;
  std::cout << count_nodes(e, &leaves) << " nodes, " << leaves << " leaves\n";
  std::cout << e.grad_fn()->num_inputs() << c.grad_fn()->num_outputs() << (a.grad_fn() == nullptr) << d.output_nr()
            << "\n";
  std::cout << (d.grad_fn()->next_edge(0).function == c.grad_fn()) << d.grad_fn()->next_edge(0).input_nr << "\n";
  std::cout << (torch::autograd::impl::gradient_edge(d).function == d.grad_fn()) << "\n";
  // all uses of a leaf share one gradient accumulator
  auto of_a = c.grad_fn()->next_edge(0).function;
  std::cout << (of_a == torch::autograd::impl::grad_accumulator(a))
            << (of_a == (a * 2).grad_fn()->next_edge(0).function) << "\n";
  // an argument without requires_grad has no edge
  Tensor mixed = a * torch::ones({2, 2});
  std::cout << mixed.grad_fn()->next_edge(0).is_valid() << mixed.grad_fn()->next_edge(1).is_valid() << "\n";
  std::cout << mixed.grad_fn()->should_compute_output(0) << mixed.grad_fn()->should_compute_output(1) << "\n";

  // backward does not need the intermediate tensors to be alive
  Tensor out;
  {
    Tensor inner = a.sin();
    out = inner * inner;
  }
  const auto before = torch::autograd::grad({out.sum()}, {a}, {}, /*retain_graph=*/true)[0];
  std::cout << before << "\n";
  out.sum().backward();
  out = Tensor();
  std::cout << a.grad() << "\n";

  // detach cuts the graph; results under no_grad are leaves; reassigning a variable continues the graph
  Tensor f = a * 2;
  f = f * f.detach();
  a.mutable_grad().zero_();
  f.sum().backward();
  std::cout << a.grad() << "\n" << f.detach().grad_fn().get() << "\n";
  Tensor h = a;
  for (int i = 0; i < 50; ++i) h = h * 1.01 + 0.1 * a;
  a.mutable_grad().zero_();
  h.mean().backward();
  std::cout << a.grad() << "\n";
  leaves = 0;
  std::cout << count_nodes(h, &leaves) << " " << leaves << "\n";
  // one tensor used many times, and several results of one backward
  std::vector<Tensor> losses;
  for (int i = 1; i <= 3; ++i) losses.push_back((a.pow(i) * b).sum());
  a.mutable_grad().zero_();
  torch::autograd::backward(losses);
  std::cout << a.grad() << "\n" << b.grad() << "\n";
  const auto grads =
      torch::autograd::grad({a.pow(2), b.pow(3)}, {a, b}, {torch::ones({2, 2}), torch::full({2, 2}, 0.5)});
  std::cout << grads[0] << "\n" << grads[1] << "\n";
  // gradients of intermediate tensors
  Tensor m = a * b, n = m.relu() + m;
  std::cout << torch::autograd::grad({n.sum()}, {m}, {}, true)[0] << "\n"
            << torch::autograd::grad({n.sum()}, {n}, {}, true)[0] << "\n";
  // a graph ten thousand nodes deep is freed without recursion
  Tensor deep = a;
  for (int i = 0; i < 10000; ++i) deep = deep + 1;
  a.mutable_grad().zero_();
  deep.sum().backward();
  std::cout << a.grad() << "\n";
  return 0;
}
