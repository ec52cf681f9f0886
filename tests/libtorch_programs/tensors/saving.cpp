// Saves tensors to a stream and loads them again.
#include <torch/torch.h>

#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

template <typename T> T through(const T& value) {
  std::stringstream stream;
  torch::save(value, stream);
  T read;
  torch::load(read, stream);
  return read;
}

int main() {
  torch::Tensor x = torch::arange(6, torch::kFloat64).reshape({2, 3}) / 4;
  std::cout << through(x) << std::endl;
  for (auto dtype : {torch::kBool, torch::kUInt8, torch::kInt8, torch::kInt16, torch::kInt32, torch::kInt64,
                     torch::kFloat16, torch::kBFloat16, torch::kFloat32}) {
    torch::Tensor y = through(torch::tensor({0, 1, 2}).to(dtype));
    std::cout << c10::toString(y.scalar_type()) << " " << y.to(torch::kInt64).sum().item<int64_t>()
              << (y.scalar_type() == dtype) << std::endl;
  }
  torch::Tensor turned = through(x.t());
  std::cout << turned << std::endl << through(x.select(1, 1)) << std::endl << through(torch::tensor(2.5)) << std::endl;
  std::cout << through(torch::zeros({0, 3})).sizes() << through(torch::ones({1, 1, 2}).expand({4, 3, 2})).sizes()
            << std::endl;
  torch::Tensor leaf = torch::ones({2}, torch::requires_grad());
  std::cout << through(leaf).requires_grad() << through(leaf).is_leaf() << std::endl;

  std::vector<torch::Tensor> list = {x, torch::tensor({1, 2}), torch::tensor(true)};
  for (const torch::Tensor& y : through(list)) std::cout << y << std::endl;
  // several tensors in one stream, one archive after another
  std::stringstream one, two;
  torch::save(x, one);
  torch::save(x + 1, two);
  torch::Tensor a, b;
  torch::load(b, two);
  torch::load(a, one);
  std::cout << (b - a).sum() << std::endl;
  // an archive of named values
  torch::serialize::OutputArchive out;
  out.write("weights", x);
  out.write("steps", torch::IValue(int64_t{12}));
  out.write("ratio", torch::IValue(0.25));
  out.write("label", torch::IValue("run"));
  torch::serialize::OutputArchive inner;
  inner.write("bias", torch::ones({3}), /*is_buffer=*/true);
  out.write("inner", inner);
  std::stringstream stream;
  out.save_to(stream);
  torch::serialize::InputArchive in;
  in.load_from(stream);
  torch::Tensor weights, missing;
  in.read("weights", weights);
  torch::IValue steps, ratio, label;
  in.read("steps", steps);
  in.read("ratio", ratio);
  in.read("label", label);
  std::cout << weights << std::endl
            << steps.toInt() << " " << ratio.toDouble() << " " << label.toStringRef() << std::endl;
  torch::serialize::InputArchive part;
  std::cout << in.try_read("inner", part) << in.try_read("nothing", missing) << missing.defined() << std::endl;
  part.read("bias", missing, true);
  std::cout << missing << std::endl;
  // Python pickle
  std::vector<char> bytes = torch::pickle_save(torch::IValue(std::vector<torch::Tensor>{x, x * 2}));
  for (const torch::Tensor& y : torch::pickle_load(bytes).toTensorVector()) std::cout << y << std::endl;
  try {
    std::stringstream broken("this is no archive");
    torch::load(a, broken);
    std::cout << "no error" << std::endl;
  } catch (const std::exception&) {
    std::cout << "no archive" << std::endl;
  }
  return 0;
}
