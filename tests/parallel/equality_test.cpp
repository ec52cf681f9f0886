// Tests DataParallel over k devices against one device that processes the same shards in sequence: bit for bit.
#include "tandem/models/models.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/devices.h"

using namespace tandem;
using namespace tandem::nn::parallel;

namespace {

/// A small network with the layers that are hardest to keep equal: convolution, batch norm, pooling, dropout.
struct ConvNetImpl : nn::Cloneable<ConvNetImpl> {
  ConvNetImpl() { reset(); }
  void reset() override {
    conv = register_module("conv", nn::Conv2d(nn::Conv2dOptions(1, 4, 3).stride(2)));
    norm = register_module("norm", nn::BatchNorm2d(4));
    drop = register_module("drop", nn::Dropout(0.25));
    fc = register_module("fc", nn::Linear(4 * 6 * 6, 10));
  }
  Tensor forward(const Tensor& x) { return fc(drop(max_pool2d(relu(norm(conv(x))), 2).flatten(1))); }
  nn::Conv2d conv{nullptr};
  nn::BatchNorm2d norm{nullptr};
  nn::Dropout drop{nullptr};
  nn::Linear fc{nullptr};
};
TANDEM_MODULE(ConvNet);

struct Batch {
  Tensor x, target;
};
std::vector<Batch> make_batches(int64_t rows, int count, DType dtype, Device device = kCPU) {
  std::vector<Batch> batches;
  for (int i = 0; i < count; ++i)
    batches.push_back({randn({rows, 1, 28, 28}).to(device, dtype), randint(0, 10, {rows}).to(device)});
  return batches;
}
std::unique_ptr<optim::Optimizer> make_optimizer(bool adam, const nn::Module& module) {
  if (adam) return std::make_unique<optim::Adam>(module.parameters(), optim::AdamOptions(1e-2));
  return std::make_unique<optim::SGD>(module.parameters(), optim::SGDOptions(0.05).momentum(0.9));
}

/// Reference: accumulates the gradients of (sum of the shard's losses) / weight shard by shard. Each shard uses its own
/// random numbers. The buffers are those after the first shard.
template <class Net, class ShardLoss> void accumulate_shards(Net& net, const Batch& batch, size_t k, ShardLoss loss) {
  const std::vector<int64_t> sizes = shard_sizes(batch.x.size(0), k);
  std::vector<Tensor> after_first;
  int64_t first = 0;
  for (size_t r = 0; r < sizes.size(); ++r) {
    const GeneratorGuard guard(default_generator(batch.x.device(), r));
    loss(net->forward(batch.x.narrow(0, first, sizes[r])), batch.target.narrow(0, first, sizes[r])).backward();
    first += sizes[r];
    if (r == 0)
      for (const Tensor& b : net->buffers()) after_first.push_back(b.clone());
  }
  const std::vector<Tensor> buffers = net->buffers();
  for (size_t i = 0; i < buffers.size(); ++i) Tensor(buffers[i]).copy_(after_first[i]);
}

void require_equal(const nn::Module& a, const nn::Module& b) {
  const nn::NamedParameters state = b.state_dict();
  for (const auto& item : a.state_dict()) {
    CAPTURE(item.key());
    REQUIRE(item->equal(*state.find(item.key())));
  }
}

/// Trains in both ways, and compares parameters and buffers after every step.
template <class Net>
void compare(const std::vector<Device>& devices, DType dtype, bool train, bool adam, bool log_probabilities) {
  const Device device = devices[0];
  CAPTURE(device, devices.size(), dtype, train, adam);
  manual_seed(7);
  Net single;
  single->to(device, dtype);
  single->train(train);
  const auto copied = std::dynamic_pointer_cast<typename Net::ContainedType>(single->clone());
  DataParallel dp(copied, devices);
  const auto one = make_optimizer(adam, *single), many = make_optimizer(adam, dp);
  for (const int64_t rows : {8, 11}) {  // 11 rows give shards of 6 and 5; 4, 4, 3; 3, 3, 3, 2
    const std::vector<Batch> batches = make_batches(rows, 2, dtype, device);
    for (size_t i = 0; i < batches.size(); ++i) {
      const Batch& batch = batches[i];
      const auto n = static_cast<double>(rows);
      one->zero_grad(), many->zero_grad();
      manual_seed(100 + i);
      accumulate_shards(single, batch, devices.size(), [&](const Tensor& out, const Tensor& target) {
        const Tensor sum = log_probabilities ? nll_loss(out, target, {}, Reduction::sum)
                                             : cross_entropy(out, target, {}, Reduction::sum);
        return sum / n;
      });
      const uint64_t drawn = default_generator(device).get_state().offset;
      manual_seed(100 + i);
      const Tensor out = dp(batch.x);
      (log_probabilities ? nll_loss(out, batch.target) : cross_entropy(out, batch.target)).backward();
      REQUIRE(default_generator(device).get_state().offset == drawn);
      const std::vector<Tensor> expected = single->parameters(), found = dp.parameters();
      for (size_t p = 0; p < expected.size(); ++p) REQUIRE(found[p].grad().equal(expected[p].grad()));
      one->step(), many->step();
      require_equal(*single, *copied);
    }
  }
}

}  // namespace

TEST_CASE("DataParallel equals one device that takes the shards in order, bit for bit", "[parallel][equality]") {
  const DeviceType type = GENERATE(from_range(test::device_types()));
  const test::Devices devices(4, type);
  for (const int k : {2, 3, 4})
    for (const DType dtype : {kFloat32, kFloat64})
      for (const bool train : {true, false})  // with and without dropout and batch statistics
        for (const bool adam : {false, true}) {
          if (TANDEM_TEST_SANITIZED && (dtype == kFloat64 || adam != train)) continue;
          if (type == kCUDA && (k == 3 || adam != train || dtype == kFloat64)) continue;  // emulated GPUs are slow
          if (type == kCUDA && test::kSlowGpus && (k == 4 || !train)) continue;
          const std::vector<Device> list = devices.first(k);
          compare<ConvNet>(list, dtype, train, adam, false);
          if (type == kCUDA && test::kSlowGpus) continue;
          compare<models::Mlp>(list, dtype, train, adam, false);
          compare<models::Lenet>(list, dtype, train, adam, true);
        }
}

TEST_CASE("a device named twice, or one alone, equals the same shards too", "[parallel][equality]") {
  const DeviceType type = GENERATE(from_range(test::device_types()));
  const test::Devices devices(2, type);
  const Device first = devices.list[0], second = devices.list[1];
  for (const std::vector<Device>& list : {std::vector<Device>{first, second, first}, {first, first}, {first}}) {
    compare<ConvNet>(list, kFloat32, true, true, false);
    if (type == kCUDA && test::kSlowGpus) return;
  }
}

TEST_CASE("loss() gives the batch's true mean, with ignored targets and class weights", "[parallel][equality]") {
  const DeviceType type = GENERATE(from_range(test::device_types()));
  const test::Devices devices(4, type);
  const Device device = devices.list[0];
  manual_seed(3);
  const bool weighted = GENERATE(false, true);
  const int k = GENERATE(1, 2, 3, 4);
  if (type == kCUDA && test::kSlowGpus && (!weighted || k != 2)) return;
  CAPTURE(device, weighted, k);
  Batch batch = make_batches(11, 1, kFloat32, device)[0];
  // The targets of the last shard are all ignored.
  batch.target[0].fill_(-100), batch.target[9].fill_(-100), batch.target[10].fill_(-100);
  nn::CrossEntropyLossOptions options;
  if (weighted) options.weight(linspace(0.5, 2, 10).to(device));
  const nn::CrossEntropyLoss criterion(options);

  models::Mlp single;
  single->to(device);
  models::Mlp copied(std::dynamic_pointer_cast<models::MlpImpl>(single->clone()));
  DataParallel dp(copied, devices.first(k));
  const Tensor loss = dp.loss(criterion, batch.x, batch.target);
  loss.backward();

  const Tensor counted = batch.target != -100;
  const Tensor safe = where(counted, batch.target, zeros_like(batch.target));
  const Tensor weights = weighted ? options.weight().index_select(0, safe) : ones({11}, device);
  const Tensor counts = weights * counted.to(kFloat32);
  Tensor total = zeros({}, device);  // summed shard by shard
  for (const Tensor& shard : scatter(counts, std::vector<Device>(static_cast<size_t>(k), device)))
    total = total + shard.sum();
  accumulate_shards(single, batch, static_cast<size_t>(k), [&](const Tensor& out, const Tensor& target) {
    return cross_entropy(out, target, options.weight(), Reduction::sum) / total;
  });
  const std::vector<Tensor> expected = single->parameters(), found = copied->parameters();
  for (size_t p = 0; p < expected.size(); ++p) REQUIRE(found[p].grad().equal(expected[p].grad()));
  // 1e-6: a mean of eleven losses, added in another order
  CHECK(loss.item<double>() == Approx(criterion(single->forward(batch.x), batch.target).item<double>()).epsilon(1e-6));
}
