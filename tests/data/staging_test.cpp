// Tests loaders that put their batches in page-locked memory, or on a device.
#include "tandem/core/cuda/allocator.h"
#include "tandem/data/data.h"
#include "tandem/ops/factory/empty.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/core/cuda/gpu.h"

using namespace tandem;
using namespace tandem::data;
using datasets::TensorPairDataset;
using samplers::SequentialSampler;
using test::kGpu;
using transforms::Stack;

namespace {

/// Row i is i, i + 1, ..., with target i.
auto rows(int64_t n, int64_t columns) {
  Tensor x = core::empty({n, columns}, kFloat32, kCPU), y = core::empty({n}, kInt64, kCPU);
  for (int64_t i = 0; i < n * columns; ++i) x.data<float>()[i] = static_cast<float>(i / columns + i % columns);
  for (int64_t i = 0; i < n; ++i) y.data<int64_t>()[i] = i;
  return TensorPairDataset(x, y);
}
struct Unknown {
  Tensor hidden;
};
struct Listed {
  std::array<Tensor, 2> images;
  std::string label;
  auto tensor_parts() { return std::tie(images); }
};

}  // namespace

TEST_CASE("a loader may put its batches in page-locked memory", "[cuda][data][loader]") {
  const size_t workers = GENERATE(0, 2);
  auto loader = make_data_loader<SequentialSampler>(rows(7, 3).map(Stack<>()),
                                                    DataLoaderOptions(2).workers(workers).pin_memory(true));
  int64_t next = 0;
  for (auto& batch : *loader) {
    CHECK(batch.data.is_pinned() == cuda::is_available());
    CHECK(batch.target.is_pinned() == cuda::is_available());
    for (int64_t i = 0; i < batch.target.numel(); ++i) CHECK(batch.target.data<int64_t>()[i] == next++);
  }
  CHECK(next == 7);
}

TEST_CASE("a loader may put its batches on a device, of the CPU as well", "[data][loader]") {
  set_cpu_device_count(2);
  const Device second("cpu:1");
  auto loader = make_data_loader<SequentialSampler>(rows(4, 3).map(Stack<>()), DataLoaderOptions(2).device(second));
  for (auto& batch : *loader) CHECK(batch.data.device() == second);
  set_cpu_device_count(1);
  REQUIRE_THROWS_WITH(make_data_loader(rows(4, 3).map(Stack<>()), DataLoaderOptions(2).device(Device("cuda:63"))),
                      Contains("cuda:63"));
}

TEST_CASE("batches of pairs, lists and types of one's own are moved", "[cuda][data][loader]") {
  if (!test::has_gpu()) return;
  const data::detail::Staging staging(false, kGpu);
  using Batch = std::pair<std::vector<Tensor>, std::tuple<Tensor, int>>;
  const Tensor x = ones({2});
  const Batch moved = staging.finish_transfer(staging.start_transfer(Batch{{x, x}, {x, 3}}));
  CHECK(moved.first[1].device() == kGpu);
  CHECK(std::get<0>(moved.second).device() == kGpu);
  CHECK(std::get<1>(moved.second) == 3);
  const TensorExample alone = staging.finish_transfer(staging.start_transfer(TensorExample(x)));
  CHECK(alone.data.cpu().equal(x));
  Tensor there = x.to(kGpu);
  CHECK(staging.finish_transfer(staging.start_transfer(there)).is_same(there));
  {  // the tensor depends on the sender's stream, so the receiver must wait for that stream
    const cuda::Stream maker(kGpu), consumer(kGpu);
    test::Gate gate(maker);
    data::detail::StagedBatch<Tensor> sent;
    {
      const cuda::StreamGuard guard(maker);
      sent = staging.start_transfer(there);
    }
    const cuda::StreamGuard guard(consumer);
    staging.finish_transfer(std::move(sent));
    CHECK(test::stays_busy(consumer));
  }
  CHECK_FALSE(staging.finish_transfer(staging.start_transfer(Tensor())).defined());
  STATIC_REQUIRE_FALSE(TensorTree<Unknown>::kIsKnownType);
}

TEST_CASE("batches of maps, examples and structs that list their tensors are moved", "[data][loader]") {
  set_cpu_device_count(2);
  const Device second("cpu:1");
  const data::detail::Staging staging(false, second);
  using Batch = std::map<std::string, std::vector<Example<Listed, std::optional<Tensor>>>>;
  STATIC_REQUIRE(TensorTree<Batch>::kIsKnownType);
  STATIC_REQUIRE_FALSE(TensorTree<Example<Tensor, Unknown>>::kIsKnownType);
  const Tensor x = ones({2});
  const Batch moved =
      staging.finish_transfer(staging.start_transfer(Batch{{"all", {{Listed{{x, Tensor()}, "text"}, x * 2}}}}));
  const Example<Listed, std::optional<Tensor>>& example = moved.at("all")[0];
  CHECK(example.data.images[0].device() == second);
  CHECK_FALSE(example.data.images[1].defined());
  CHECK(example.data.label == "text");
  CHECK(example.target->device() == second);
  CHECK(example.target->cpu().equal(x * 2));
  std::string order;  // inputs before targets
  tandem::detail::visit_tensors(moved,
                                [&](const Tensor& t) { order += t.defined() ? t.device().str() + " " : "none "; });
  CHECK(order == "cpu:1 none cpu:1 ");
  set_cpu_device_count(1);
}

namespace {

/// Copies each batch on the consumer's stream, as a training step would read it, and drops it at once. Then checks the
/// copies.
void consume(size_t workers, int64_t columns) {
  constexpr int64_t kRows = 26;
  auto loader = make_data_loader<SequentialSampler>(rows(kRows, columns).map(Stack<>()),
                                                    DataLoaderOptions(4).workers(workers).device(kGpu).max_jobs(3));
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::vector<Tensor> seen;
    const cuda::Stream stream(kGpu);
    const cuda::StreamGuard guard(stream);
    for (auto& batch : *loader) {
      REQUIRE(batch.data.device() == kGpu);
      // Stands for a step's work, which reads the batch in stream order.
      Tensor result = core::empty(batch.data.sizes(), kFloat32, kGpu);
      gpu::copy_async(result.raw_data(), batch.data.raw_data(), static_cast<size_t>(batch.data.nbytes()),
                      stream.handle());
      seen.push_back(result);
      batch = {};  // dropped before it was read
    }
    REQUIRE(seen.size() == 7);
    for (size_t b = 0; b < seen.size(); ++b) {
      const Tensor host = seen[b].cpu();
      for (int64_t i = 0; i < host.numel(); ++i) {
        const float row = static_cast<float>(4 * b) + static_cast<float>(i / columns);
        if (host.data<float>()[i] != row + static_cast<float>(i % columns)) FAIL("batch " << b << ", element " << i);
      }
    }
  }
}

}  // namespace

TEST_CASE("batches arrive on a GPU by a stream of the loader's own, whole and in order", "[cuda][data][loader]") {
  if (!test::has_gpu()) return;
  const size_t workers = GENERATE(0, 1, 3);
  consume(workers, 5);
  consume(workers, 100'000);
}

TEST_CASE("the next batch is copied while the consumer's stream is busy", "[cuda][data][loader]") {
  if (!test::has_gpu()) return;
  const cuda::Stream stream(kGpu);
  const cuda::StreamGuard guard(stream);
  auto loader = make_data_loader<SequentialSampler>(rows(8, 3).map(Stack<>()), DataLoaderOptions(2).device(kGpu));
  {  // caches pages for two batches of two tensors: locking pages later might wait for the stream
    std::vector<Tensor> pinned(4);
    for (Tensor& t : pinned) t = ones({6}).pin_memory();
  }
  auto at = loader->begin();
  test::Gate gate(stream);
  const Example<> first = *at;
  ++at;  // the next batch arrives while the consumer's stream is blocked
  CHECK(test::stays_busy(stream));
  const Tensor second = at->data;
  gate.open();
  CHECK(second.cpu().equal(tensor({{2.f, 3.f, 4.f}, {3.f, 4.f, 5.f}})));
}

#if TANDEM_TEST_EMULATED
TEST_CASE("a loader is right for 1,000 orders of the streams' work", "[cuda][data][loader]") {
  if (!test::has_gpu()) return;
  const uint64_t seeds = TANDEM_TEST_SANITIZED ? 100 : 1000;  // under a sanitizer each seed takes ten times as long
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    emulation::set_stream_seed(seed);
    CAPTURE(seed);
    consume(seed % 3, 4);
  }
  emulation::set_stream_seed(0);
}
#endif
