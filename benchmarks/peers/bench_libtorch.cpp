// The LibTorch peer of `tandem bench --peers` on the CPU. It reads requests from standard input, one case at a time
// (protocol: README.md). usage: bench_libtorch [--threads N] [--channels-last]
// A case is "name shapes". It does the same work as the benchmark of that name in benchmarks/ops or benchmarks/models.
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "libtorch_models.h"
namespace F = torch::nn::functional;
using torch::Tensor;

using Shapes = std::vector<std::vector<int64_t>>;
using Inputs = std::vector<Tensor>;
using Run = std::function<void()>;
using Prepare = std::function<Run(const Shapes&)>;
using Op = std::function<Tensor(const Inputs&)>;
using Table = std::map<std::string, Prepare>;

bool channels_last = false;
Tensor to_memory_format(const Tensor& x) {
  return channels_last && x.dim() == 4 ? x.contiguous(at::MemoryFormat::ChannelsLast) : x;
}

// ---------------------------------------------------------------- making a case from an op
Tensor random_values(at::IntArrayRef sizes, bool positive = false) {
  return torch::empty(sizes).uniform_(positive ? 0.5 : -1, positive ? 1.5 : 1);
}
Inputs inputs(const Shapes& shapes, bool positive = false) {
  Inputs out;
  for (const auto& s : shapes) out.push_back(to_memory_format(random_values(s, positive)));
  return out;
}
Prepare prepare_forward(Op op, bool positive = false) {
  return [=](const Shapes& s) -> Run { return [op, in = inputs(s, positive)] { op(in); }; };
}
Prepare prepare_backward(Op op, std::function<Inputs(const Shapes&)> make) {
  return [=](const Shapes& s) -> Run {
    Inputs in = make(s), leaves;
    for (const Tensor& x : in)
      if (x.requires_grad()) leaves.push_back(x);
    const Tensor y = op(in), dy = random_values(y.sizes());
    return [=] { torch::autograd::grad({y}, leaves, {dy}, /*retain_graph=*/true); };
  };
}
Inputs inputs_requiring_grad(const Shapes& s) {
  Inputs in = inputs(s);
  for (Tensor& x : in) x.requires_grad_();
  return in;
}
void add_forward_and_backward(Table& table, const std::string& name, const Op& op) {
  table[name + "/forward"] = prepare_forward(op);
  table[name + "/backward"] = prepare_backward(op, inputs_requiring_grad);
}

// ---------------------------------------------------------------- ops
void add_elementwise(Table& table) {
  using Unary = Tensor (*)(const Tensor&);
  using Binary = Tensor (*)(const Tensor&, const Tensor&);
  const auto unary = [&](const std::string& name, Unary op, bool positive = false) {
    table[name + "/forward"] = prepare_forward([op](const Inputs& in) { return op(in[0]); }, positive);
  };
  const auto binary = [&](const std::string& name, Binary op, bool positive = false) {
    table[name + "/forward"] = prepare_forward([op](const Inputs& in) { return op(in[0], in[1]); }, positive);
  };
  unary("abs", torch::abs), unary("neg", torch::neg), unary("exp", torch::exp), unary("expm1", torch::expm1);
  unary("log", torch::log, true), unary("log1p", torch::log1p, true), unary("sqrt", torch::sqrt, true);
  unary("rsqrt", torch::rsqrt, true), unary("sin", torch::sin), unary("cos", torch::cos), unary("tanh", torch::tanh);
  unary("sigmoid", torch::sigmoid), unary("erf", torch::erf), unary("reciprocal", torch::reciprocal);
  unary("square", torch::square), unary("relu", torch::relu), unary("silu", torch::silu);
  unary("gelu", [](const Tensor& x) { return torch::gelu(x); });
  unary("elu", [](const Tensor& x) { return torch::elu(x); });
  unary("softplus", [](const Tensor& x) { return torch::softplus(x); });
  unary("leaky_relu", [](const Tensor& x) { return torch::leaky_relu(x, 0.1); });
  unary("clamp", [](const Tensor& x) { return torch::clamp(x, -0.5, 0.5); });
  unary("dropout", [](const Tensor& x) { return torch::dropout(x, 0.5, true); });
  binary("add", [](const Tensor& a, const Tensor& b) { return a + b; });
  binary("sub", [](const Tensor& a, const Tensor& b) { return a - b; });
  binary("mul", [](const Tensor& a, const Tensor& b) { return a * b; });
  binary(
      "div", [](const Tensor& a, const Tensor& b) { return a / b; }, true);
  binary(
      "pow", [](const Tensor& a, const Tensor& b) { return torch::pow(a, b); }, true);
  binary("maximum", torch::maximum), binary("minimum", torch::minimum);
  binary("eq", [](const Tensor& a, const Tensor& b) { return a == b; });
  binary("lt", [](const Tensor& a, const Tensor& b) { return a < b; });
  table["multiply_add_relu/forward"] = prepare_forward([](const Inputs& in) { return (in[0] * in[1] + in[2]).relu(); });
  table["where/forward"] = [](const Shapes& s) -> Run {
    return [a = random_values(s[0]), b = random_values(s[1]), c = random_values(s[0]) > 0] { torch::where(c, a, b); };
  };
  const Op add = [](const Inputs& in) { return in[0] + in[1]; };
  table["add/broadcast_row"] = table["add/broadcast_column"] = prepare_forward(add);
  table["add/broadcast_backward"] = prepare_backward(add, inputs_requiring_grad);
  table["mul/backward"] = prepare_backward([](const Inputs& in) { return in[0] * in[1]; }, inputs_requiring_grad);
  table["exp/backward"] = prepare_backward([](const Inputs& in) { return torch::exp(in[0]); }, inputs_requiring_grad);
  table["relu/backward"] = prepare_backward([](const Inputs& in) { return torch::relu(in[0]); }, inputs_requiring_grad);
  table["gelu/backward"] = prepare_backward([](const Inputs& in) { return torch::gelu(in[0]); }, inputs_requiring_grad);
}

void add_overhead(Table& table) {
  table["add/overhead"] = [](const Shapes& s) -> Run { return [x = random_values(s[0])] { x + 1; }; };
  table["add/overhead_grad"] = [](const Shapes& s) -> Run {
    return [x = random_values(s[0]).requires_grad_()] { x + 1; };
  };
  table["mul_add_sum/overhead"] = [](const Shapes& s) -> Run {
    return [a = random_values(s[0]), b = random_values(s[0]), c = random_values(s[0])] { (a * b + c).sum(); };
  };
  table["mul_add_sum/overhead_backward"] = [](const Shapes& s) -> Run {
    return [in = inputs_requiring_grad({s[0], s[0], s[0]})] {
      for (const Tensor& x : in) x.mutable_grad().reset();
      (in[0] * in[1] + in[2]).sum().backward();
    };
  };
}

void add_reductions(Table& table) {
  const auto add = [&](const char* name, const Op& op) { table[name] = prepare_forward(op); };
  add("sum/forward", [](const Inputs& in) { return in[0].sum(); });
  add("sum/rows", [](const Inputs& in) { return in[0].sum(-1); });
  add("sum/columns", [](const Inputs& in) { return in[0].sum(0); });
  add("mean/forward", [](const Inputs& in) { return in[0].mean(); });
  add("mean/channels", [](const Inputs& in) { return in[0].mean({0, 2, 3}); });
  add("var/forward", [](const Inputs& in) { return in[0].var(true); });
  add("var/channels", [](const Inputs& in) { return in[0].var(at::IntArrayRef({0, 2, 3}), true); });
  add("var/rows", [](const Inputs& in) { return in[0].var(at::IntArrayRef({-1}), true); });
  add("max/forward", [](const Inputs& in) { return in[0].max(); });
  add("max/rows", [](const Inputs& in) { return std::get<0>(in[0].max(-1)); });
  add("argmax/rows", [](const Inputs& in) { return in[0].argmax(-1); });
  add("cumsum/rows", [](const Inputs& in) { return in[0].cumsum(-1); });
  add("sort/rows", [](const Inputs& in) { return std::get<0>(in[0].sort(-1)); });
  add("topk/rows", [](const Inputs& in) { return std::get<0>(in[0].topk(10, -1)); });
  table["sum/backward"] = prepare_backward([](const Inputs& in) { return in[0].sum(); }, inputs_requiring_grad);
}

Inputs make_logits_and_classes(const Shapes& s) {
  return {random_values(s[0]).requires_grad_(), torch::randint(s[0][1], {s[0][0]}, torch::kLong)};
}
/// Times the op alone on the inputs that `make` returns; the first input is detached, so that autograd records nothing.
Prepare prepare_forward_on_inputs(std::function<Inputs(const Shapes&)> make, Op op) {
  return [=](const Shapes& s) -> Run {
    Inputs in = make(s);
    in[0] = in[0].detach();
    return [op, in] { op(in); };
  };
}
void add_losses(Table& table) {
  add_forward_and_backward(table, "softmax", [](const Inputs& in) { return torch::softmax(in[0], -1); });
  add_forward_and_backward(table, "log_softmax", [](const Inputs& in) { return torch::log_softmax(in[0], -1); });
  add_forward_and_backward(table, "mse_loss", [](const Inputs& in) { return torch::mse_loss(in[0], in[1]); });
  const Op entropy = [](const Inputs& in) { return F::cross_entropy(in[0], in[1]); };
  const Op likelihood = [](const Inputs& in) { return torch::nll_loss(in[0], in[1]); };
  table["cross_entropy/forward"] = prepare_forward_on_inputs(make_logits_and_classes, entropy);
  table["cross_entropy/backward"] = prepare_backward(entropy, make_logits_and_classes);
  table["nll_loss/forward"] = prepare_forward_on_inputs(make_logits_and_classes, likelihood);
  table["nll_loss/backward"] = prepare_backward(likelihood, make_logits_and_classes);
}

void add_matmuls(Table& table) {
  table["matmul/forward"] = prepare_forward([](const Inputs& in) { return torch::matmul(in[0], in[1]); });
  table["matmul/transposed"] = prepare_forward([](const Inputs& in) { return torch::matmul(in[0].t(), in[1]); });
  table["mm/forward"] = prepare_forward([](const Inputs& in) { return torch::mm(in[0], in[1]); });
  table["addmm/forward"] = prepare_forward([](const Inputs& in) { return torch::addmm(in[2], in[0], in[1]); });
  table["mv/forward"] = prepare_forward([](const Inputs& in) { return in[0].mv(in[1]); });
  table["dot/forward"] = prepare_forward([](const Inputs& in) { return in[0].dot(in[1]); });
  add_forward_and_backward(table, "bmm", [](const Inputs& in) { return torch::bmm(in[0], in[1]); });
  add_forward_and_backward(table, "linear", [](const Inputs& in) { return torch::linear(in[0], in[1], in[2]); });
}

// Returns the inputs of a network's first convolution: only the weight and bias require a gradient.
Inputs make_first_layer_inputs(const Shapes& s) {
  Inputs in = inputs(s);
  in[1].requires_grad_(), in[2].requires_grad_();
  return in;
}
void add_layers(Table& table) {
  const Op conv = [](const Inputs& in) { return torch::conv2d(in[0], in[1], in[2]); };
  const Op same = [](const Inputs& in) { return torch::conv2d(in[0], in[1], in[2], 1, in[1].size(2) / 2); };
  add_forward_and_backward(table, "conv2d", conv);
  table["conv2d/backward_first"] = prepare_backward(conv, make_first_layer_inputs);
  table["conv2d/same_forward"] = prepare_forward(same);
  table["conv2d/same_backward_first"] = prepare_backward(same, make_first_layer_inputs);
  add_forward_and_backward(table, "max_pool2d", [](const Inputs& in) { return torch::max_pool2d(in[0], 2); });
  add_forward_and_backward(table, "avg_pool2d", [](const Inputs& in) { return torch::avg_pool2d(in[0], 2); });
  add_forward_and_backward(table, "adaptive_avg_pool2d", [](const Inputs& in) {
    return torch::adaptive_avg_pool2d(in[0], {1, 1});
  });
  add_forward_and_backward(table, "batch_norm", [](const Inputs& in) {
    return torch::batch_norm(in[0], in[1], in[2], {}, {}, /*training=*/true, 0.1, 1e-5, /*cudnn_enabled=*/false);
  });
  table["batch_norm/evaluation"] = [](const Shapes& s) -> Run {
    return [in = inputs(s), mean = torch::zeros(s[1]), var = torch::ones(s[1])] {
      torch::batch_norm(in[0], in[1], in[2], mean, var, /*training=*/false, 0.1, 1e-5, /*cudnn_enabled=*/false);
    };
  };
  add_forward_and_backward(table, "layer_norm",
                           [](const Inputs& in) { return torch::layer_norm(in[0], in[1].sizes(), in[1], in[2]); });
}

Inputs make_table_and_index(const Shapes& s) {
  return {random_values(s[0]).requires_grad_(), torch::randint(s[0][0], s[1], torch::kLong)};
}
void add_indexing(Table& table) {
  const Op embedding = [](const Inputs& in) { return torch::embedding(in[0], in[1]); };
  const Op select = [](const Inputs& in) { return in[0].index_select(0, in[1]); };
  table["embedding/forward"] = prepare_forward_on_inputs(make_table_and_index, embedding);
  table["embedding/backward"] = prepare_backward(embedding, make_table_and_index);
  table["index_select/forward"] = prepare_forward_on_inputs(make_table_and_index, select);
  table["index_select/backward"] = prepare_backward(select, make_table_and_index);
  table["gather/forward"] = [](const Shapes& s) -> Run {
    return [x = random_values(s[0]), i = torch::randint(s[0][1], s[0], torch::kLong)] { x.gather(1, i); };
  };
  table["scatter_add/forward"] = [](const Shapes& s) -> Run {
    return [x = random_values(s[0]), y = random_values(s[0]), i = torch::randint(s[0][1], s[0], torch::kLong)] {
      x.scatter_add(1, i, y);
    };
  };
  table["cat/forward"] = prepare_forward([](const Inputs& in) { return torch::cat(in, 1); });
  table["stack/forward"] = prepare_forward([](const Inputs& in) { return torch::stack(in, 0); });
  table["clone/forward"] = prepare_forward([](const Inputs& in) { return in[0].clone(); });
  table["contiguous/transposed"] = prepare_forward([](const Inputs& in) { return in[0].t().contiguous(); });
  table["view/overhead"] = prepare_forward([](const Inputs& in) { return in[0].view({24}); });
  table["transpose/overhead"] = prepare_forward([](const Inputs& in) { return in[0].transpose(0, 2); });
}
void add_fills(Table& table) {
  table["zeros/forward"] = [](const Shapes& s) -> Run { return [s] { torch::zeros(s[0]); }; };
  table["full/forward"] = [](const Shapes& s) -> Run { return [s] { torch::full(s[0], 2.5); }; };
  table["rand/forward"] = [](const Shapes& s) -> Run { return [s] { torch::rand(s[0]); }; };
  table["randn/forward"] = [](const Shapes& s) -> Run { return [s] { torch::randn(s[0]); }; };
  table["uniform_/forward"] = [](const Shapes& s) -> Run { return [x = torch::empty(s[0])] { x.uniform_(); }; };
  table["normal_/forward"] = [](const Shapes& s) -> Run { return [x = torch::empty(s[0])] { x.normal_(); }; };
}

// ---------------------------------------------------------------- optimizers and models
std::vector<Tensor> parameters(const Shapes& shapes) {
  std::vector<Tensor> out;
  for (const auto& s : shapes) {
    out.push_back(random_values(s).requires_grad_());
    out.back().mutable_grad() = random_values(s) * 1e-3;
  }
  return out;
}
template <class Optimizer, class Options> Prepare step(Options options) {
  return [=](const Shapes& s) -> Run {
    const auto optimizer = std::make_shared<Optimizer>(parameters(s), options);
    return [optimizer] { optimizer->step(); };
  };
}
template <class Model, class Optimizer, class Options, class Loss, class Target>
Prepare prepare_train_step(Options options, Loss loss, Target make_target) {
  return [=](const Shapes& s) -> Run {
    const auto model = std::make_shared<Model>();
    for (Tensor& p : model->parameters()) p.set_data(to_memory_format(p.data()));
    const auto optimizer = std::make_shared<Optimizer>(model->parameters(), options);
    return [=, x = to_memory_format(random_values(s[0])), target = make_target(s[0][0])] {
      optimizer->zero_grad();
      const Tensor value = loss(model->forward(x), target);
      value.backward();
      optimizer->step();
      value.template item<float>();
    };
  };
}
template <class Model> Prepare prepare_inference() {
  return [](const Shapes& s) -> Run {
    const auto model = std::make_shared<Model>();
    for (Tensor& p : model->parameters()) p.set_data(to_memory_format(p.data()));
    model->eval();
    return [model, x = to_memory_format(random_values(s[0]))] {
      const torch::InferenceMode guard;
      model->forward(x);
    };
  };
}
void add_models(Table& table) {
  namespace op = torch::optim;
  table["sgd/step"] = step<op::SGD>(op::SGDOptions(0.01).momentum(0.9));
  table["adam/step"] = step<op::Adam>(op::AdamOptions(1e-3));
  table["adamw/step"] = step<op::AdamW>(op::AdamWOptions(1e-3));
  table["clip_grad_norm_/forward"] = [](const Shapes& s) -> Run {
    return [p = parameters(s)] { torch::nn::utils::clip_grad_norm_(p, 100.0); };
  };
  const auto classes = [](int64_t rows) { return torch::randint(10, {rows}, torch::kLong); };
  const auto numbers = [](int64_t rows) { return random_values({rows, 1}); };
  const auto entropy = [](const Tensor& y, const Tensor& t) { return F::cross_entropy(y, t); };
  const auto likelihood = [](const Tensor& y, const Tensor& t) { return torch::nll_loss(y, t); };
  const auto squares = [](const Tensor& y, const Tensor& t) { return torch::mse_loss(y, t); };
  table["simple_model/train_step"] = prepare_train_step<Simple, op::Adam>(op::AdamOptions(1e-3), squares, numbers);
  table["mlp/train_step"] = prepare_train_step<Mlp, op::SGD>(op::SGDOptions(0.01).momentum(0.9), entropy, classes);
  table["lenet/train_step"] =
      prepare_train_step<MnistNet, op::SGD>(op::SGDOptions(0.01).momentum(0.5), likelihood, classes);
  table["fashion_cnn/train_step"] = prepare_train_step<FashionCnn, op::Adam>(op::AdamOptions(1e-3), entropy, classes);
  table["mlp/inference"] = prepare_inference<Mlp>();
  table["lenet/inference"] = prepare_inference<MnistNet>();
  table["fashion_cnn/inference"] = prepare_inference<FashionCnn>();
}

// ---------------------------------------------------------------- protocol
double seconds_per_call(const Run& run, int64_t iterations) {
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < iterations; i++) run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / double(iterations);
}
Shapes parse_shapes(const std::string& text) {
  Shapes shapes;
  std::istringstream inputs(text);
  for (std::string input; std::getline(inputs, input, ',');) {
    shapes.emplace_back();
    std::istringstream sizes(input);
    for (std::string size; std::getline(sizes, size, 'x');) shapes.back().push_back(std::stoll(size));
  }
  return shapes;
}
std::string answer_request(const Table& table, std::map<std::string, Run>& ready, const std::string& line) {
  std::istringstream words(line);
  std::string verb, name, shapes;
  int64_t iterations = 1;
  words >> verb;
  if (verb == "version") return std::string("version ") + TORCH_VERSION;
  if (verb == "time") words >> iterations;
  words >> name >> shapes;
  char text[64];
  if (verb == "prepare") {
    const auto found = table.find(name);
    if (found == table.end()) return "unknown";
    torch::manual_seed(0);
    const Run& run = ready[name + " " + shapes] = found->second(parse_shapes(shapes));
    for (int i = 0; i < 3; i++) run();
    const double one = seconds_per_call(run, 1);
    snprintf(text, sizeof text, "%.9g",
             seconds_per_call(run, std::clamp<int64_t>(0.005 / std::max(one, 1e-9), 1, 10000)));
    return text;
  }
  const auto found = ready.find(name + " " + shapes);
  if (verb != "time" || found == ready.end()) return "error: " + line;
  found->second();
  snprintf(text, sizeof text, "%.9g", seconds_per_call(found->second, iterations));
  return text;
}

int main(int argc, char** argv) {
  int threads = 2;
  for (int i = 1; i < argc; i++) {
    const std::string flag = argv[i];
    if (flag == "--channels-last") {
      channels_last = true;
    } else if (flag == "--threads" && i + 1 < argc) {
      threads = atoi(argv[++i]);
    } else {
      fprintf(stderr, "bench_libtorch: %s is unknown or has no value; accepted: --threads N, --channels-last\n",
              argv[i]);
      return 2;
    }
  }
  torch::set_num_threads(threads);
  Table table;
  add_elementwise(table);
  add_overhead(table);
  add_reductions(table);
  add_losses(table);
  add_matmuls(table);
  add_layers(table);
  add_indexing(table);
  add_fills(table);
  add_models(table);
  std::map<std::string, Run> ready;
  for (std::string line; std::getline(std::cin, line);) {
    try {
      std::cout << answer_request(table, ready, line) << std::endl;
    } catch (const std::exception& error) {  // replies to the request with the first line of the error message
      const std::string what = error.what();
      std::cout << "error: " << what.substr(0, what.find('\n')) << std::endl;
    }
  }
}
