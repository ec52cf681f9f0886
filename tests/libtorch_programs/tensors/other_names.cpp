// Names that older programs use: the global context, types and backends, lists, warnings, temporary files, flags given
// as numbers.
#include <c10/util/Logging.h>
#include <c10/util/tempfile.h>
#include <torch/torch.h>

namespace {
struct Collector : c10::WarningHandler {
  std::vector<std::string> texts;
  void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }
};
void warn_once() { TORCH_WARN_ONCE("once"); }
}  // namespace

int main() {
  // numbers as flags
  const torch::Tensor x = torch::arange(6, torch::kFloat).view({2, 3});
  std::cout << x.argmax(1, 0) << x.sum(1, 1) << std::get<0>(x.max(1, 1)) << x.mean(0, 1) << '\n';

  // the global context
  at::globalContext().setDeterministicAlgorithms(true, false);
  std::cout << at::globalContext().deterministicAlgorithms() << at::globalContext().userEnabledCuDNN() << '\n';
  at::globalContext().setUserEnabledCuDNN(false);
  at::globalContext().setAllowTF32CuDNN(false);
  std::cout << at::globalContext().userEnabledCuDNN() << torch::mps::is_available() << '\n';
  torch::GradMode::set_enabled(false);
  std::cout << (x * 2).requires_grad() << at::GradMode::is_enabled() << '\n';
  torch::GradMode::set_enabled(true);

  // options, types and backends
  std::cout << torch::TensorOptions() << '\n'
            << torch::dtype(torch::kInt64).device(torch::kCPU).requires_grad(false).pinned_memory(false) << '\n'
            << torch::TensorOptions(torch::kHalf).memory_format(torch::MemoryFormat::ChannelsLast) << '\n';
  std::cout << x.type().toString() << ' ' << (x.type() == torch::ones({1}).type()) << ' ' << x.type().is_cuda() << ' '
            << x.type().scalarType() << '\n';
  std::cout << x.toBackend(c10::Backend::CPU).sizes() << ' ' << c10::DeviceTypeName(c10::kCPU) << '\n';
  std::cout << (x.unsafeGetTensorImpl() == torch::Tensor(x).unsafeGetTensorImpl()) << ' '
            << (x.storage().data_ptr().get() == x.data_ptr()) << '\n';

  // dtypes of new tensors follow narrow numbers
  std::cout << torch::tensor({c10::Half(1), c10::Half(2)}).scalar_type() << ' '
            << torch::tensor(std::vector<uint8_t>{1, 2}).scalar_type() << ' '
            << torch::tensor(std::vector<int16_t>{1}).scalar_type() << ' ' << torch::tensor(x.sizes()).scalar_type()
            << torch::tensor(x.sizes()) << '\n';

  // indices
  const torch::indexing::Slice slice(1, torch::indexing::None, 2),
      back(torch::indexing::None, torch::indexing::None, -1);
  std::cout << slice.start() << ' ' << slice.stop() << ' ' << slice.step() << ' ' << back.start() << ' ' << back.stop()
            << '\n';
  for (const torch::indexing::TensorIndex& i :
       {torch::indexing::TensorIndex(3), torch::indexing::TensorIndex(true), torch::indexing::TensorIndex(slice),
        torch::indexing::TensorIndex(torch::indexing::None), torch::indexing::TensorIndex("..."),
        torch::indexing::TensorIndex(x)})
    std::cout << i.is_integer() << i.is_boolean() << i.is_slice() << i.is_none() << i.is_ellipsis() << i.is_tensor()
              << ' ';
  std::cout << '\n';

  // lists share their elements
  c10::List<int64_t> list({3, 4});
  c10::List<int64_t> same = list;
  same.push_back(5);
  const c10::List<int64_t> other = list.copy();
  list.set(0, 9);
  std::cout << list.size() << ' ' << same.get(0) << ' ' << other.get(0) << ' ' << list.vec() << ' ' << same.is(list)
            << '\n';
  at::OptionalIntArrayRef none, dims = std::vector<int64_t>{};
  std::cout << none.has_value() << dims.has_value() << '\n';

  // warnings
  Collector collector;
  {
    c10::WarningUtils::WarningHandlerGuard guard(&collector);
    TORCH_WARN("a ", 3, " b");
    for (int i = 0; i < 2; ++i) warn_once();
  }
  std::cout << collector.texts.size() << ' ' << collector.texts.at(0) << ' ' << collector.texts.at(1) << '\n';

  // dicts and modules
  torch::OrderedDict<std::string, int> dict("Parameter");
  dict.insert("a", 1);
  try {
    dict.insert("a", 2);
  } catch (const c10::Error& error) {
    std::cout << (std::string(error.what()).find("Parameter 'a' already defined") != std::string::npos) << '\n';
  }
  torch::nn::ParameterList first(torch::ones({2})), second(torch::zeros({3}), torch::ones({1}));
  *first += *second;
  std::cout << first->size() << ' ' << first->at(1).sizes() << '\n';
  const torch::nn::MaxUnpool2d unpool(std::vector<int64_t>{3, 2});
  const torch::nn::Unfold unfold(std::vector<int64_t>{2, 2});
  std::cout << unpool << ' ' << unfold << '\n';
  std::cout << torch::nn::EmbeddingOptions(3, 4).sparse(false).sparse()
            << std::is_same_v<torch::nn::Linear::Impl, torch::nn::LinearImpl> << '\n';

  // checks and logs that are silent
  CHECK(x.dim() == 2) << "never printed";
  CHECK_EQ(x.size(0), 2) << "never printed";
  LOG(INFO) << "below the level that is printed";

  // the rest
  const torch::Tensor variable = torch::autograd::make_variable(x, true);
  std::cout << variable.requires_grad() << variable.is_leaf() << '\n';
  const torch::Scalar two(2);
  std::cout << torch::addmm(torch::ones({2, 2}), torch::ones({2, 2}), torch::ones({2, 2}), two, two)
            << torch::elu(torch::tensor({-1.f, 2.f}), 1.5, 2.0, 0.5) << '\n';
  std::cout << torch::cdist(x, x, 2.0, std::optional<int64_t>(1)).sizes() << '\n';
  {
    const c10::TempFile file = c10::make_tempfile();
    std::cout << (file.name.find("torch-file-") != std::string::npos) << (file.fd >= 0) << '\n';
  }
  const c10::string_view text = "abc";
  std::cout << text.size() << ' ' << TORCH_VERSION_MAJOR << '\n';
  return 0;
}
