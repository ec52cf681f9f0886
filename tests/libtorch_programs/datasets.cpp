// Datasets, transforms, samplers and loaders of all kinds. The output must equal LibTorch's.
#include <torch/torch.h>

#include <chrono>
#include <iostream>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace data = torch::data;
namespace datasets = torch::data::datasets;
namespace samplers = torch::data::samplers;
namespace transforms = torch::data::transforms;

template <class T> void print(const char* what, const std::vector<T>& values) {
  std::cout << what << ":";
  for (const T& value : values) std::cout << " " << value;
  std::cout << std::endl;
}

struct Numbers : datasets::Dataset<Numbers, int> {
  int get(size_t index) override {
    if (static_cast<int>(index) == bad) throw std::invalid_argument("badness");
    return 1 + static_cast<int>(index);
  }
  std::optional<size_t> size() const override { return 10; }
  int bad = -1;
};

struct Stream : datasets::StreamDataset<Stream, std::vector<int>> {
  std::vector<int> get_batch(size_t batch_size) override {
    std::vector<int> batch(batch_size);
    for (int& i : batch) i = next++;
    return batch;
  }
  std::optional<size_t> size() const override { return 7; }
  int next = 0;
};

struct Stateful : datasets::StatefulDataset<Stateful, std::vector<int>> {
  std::optional<std::vector<int>> get_batch(size_t batch_size) override {
    std::lock_guard<std::mutex> lock(mutex);
    if (next >= 8) return std::nullopt;
    std::vector<int> batch;
    for (size_t i = 0; i < batch_size; ++i) batch.push_back(next++);
    return batch;
  }
  std::optional<size_t> size() const override { return std::nullopt; }
  void reset() override { next = 0; }
  void save(torch::serialize::OutputArchive& archive) const override { archive.write("next", torch::tensor(next)); }
  void load(torch::serialize::InputArchive& archive) override {
    torch::Tensor value;
    archive.read("next", value);
    next = value.item<int>();
  }
  int next = 0;
  std::mutex mutex;
};

struct Reader : datasets::ChunkDataReader<int> {
  using BatchType = datasets::ChunkDataReader<int>::ChunkType;
  BatchType read_chunk(size_t chunk_index) override {
    return BatchType(chunk_index + 2, static_cast<int>(chunk_index));
  }
  size_t chunk_count() override { return 4; }
  void reset() override {}
};

struct Evens : samplers::Sampler<> {
  void reset(std::optional<size_t> = std::nullopt) override { at = 0; }
  std::optional<std::vector<size_t>> next(size_t batch_size) override {
    std::vector<size_t> indices;
    for (; indices.size() < batch_size && at < 10; at += 2) indices.push_back(at);
    if (indices.empty()) return std::nullopt;
    return indices;
  }
  void save(torch::serialize::OutputArchive&) const override {}
  void load(torch::serialize::InputArchive&) override {}
  size_t at = 0;
};

void show_datasets() {
  auto mapped = Numbers()
                    .map(transforms::Lambda<int>([](int i) { return i * 10; }))
                    .map(transforms::Lambda<int, std::string>([](int i) { return std::to_string(i) + "!"; }));
  std::vector<size_t> indices{4, 0, 9};
  print("mapped", mapped.get_batch(indices));
  auto sum = Numbers().map(transforms::Collate<int>([](std::vector<int> batch) {
    int total = 0;
    for (int i : batch) total += i;
    return total;
  }));
  std::cout << "sum: " << sum.get_batch(indices) << ", of " << *sum.size() << std::endl;

  auto rows = datasets::TensorDataset(torch::arange(6, torch::kFloat32).reshape({3, 2}));
  data::TensorExample example = rows.get(1);
  std::cout << example.data << std::endl;
  std::cout << rows.tensor.sizes() << std::endl;
  auto stacked = datasets::TensorDataset(std::vector<torch::Tensor>{torch::ones({2, 1, 1}), torch::zeros({2, 1, 1})})
                     .map(transforms::TensorLambda<void>([](torch::Tensor x) { return x + 1; }))
                     .map(transforms::Normalize<void>({1.0, 2.0}, {0.5, 4.0}))
                     .map(transforms::Stack<data::TensorExample>());
  torch::Tensor batch = stacked.get_batch({0, 1});
  std::cout << batch.sizes() << batch.flatten() << std::endl;
  auto shared = datasets::make_shared_dataset<Stream>();
  auto same = shared;
  print("shared", shared.get_batch(2));
  print("shared", same.get_batch(2));
  std::cout << shared->next << (*same).next << std::endl;
}

void show_samplers() {
  samplers::SequentialSampler sequential(5);
  print("sequential", *sequential.next(3));
  std::stringstream file;
  torch::save(sequential, file);
  samplers::SequentialSampler loaded(5);
  torch::load(loaded, file);
  print("loaded", *loaded.next(3));
  samplers::StreamSampler stream(7);
  std::cout << stream.next(5)->size() << " " << static_cast<size_t>(*stream.next(5)) << std::endl;
  for (size_t rank = 0; rank < 3; ++rank) {
    samplers::DistributedSequentialSampler with(10, 3, rank), without(10, 3, rank, /*allow_duplicates=*/false);
    print("with duplicates", *with.next(100));
    print("without", *without.next(100));
  }
  samplers::DistributedRandomSampler random(10, 2, 1);
  samplers::DistributedSampler<>& base = random;
  base.set_epoch(3);
  random.reset();
  random.next(2);
  std::cout << "epoch " << base.epoch() << ", index " << random.index() << std::endl;
  samplers::RandomSampler small(100, torch::kInt8);
  std::cout << small.next(1000)->size() << " " << small.index() << std::endl;
}

void show_loaders() {
  const auto options = data::DataLoaderOptions().batch_size(4).workers(2).max_jobs(3).timeout(std::chrono::seconds(60));
  auto ordered = data::make_data_loader<samplers::SequentialSampler>(Numbers(), options);
  for (std::vector<int>& batch : *ordered) print("batch", batch);
  std::cout << ordered->options().batch_size << ordered->options().max_jobs << std::endl;
  auto whole = data::make_data_loader(Numbers(), Evens(), data::DataLoaderOptions(3).drop_last(true));
  data::Iterator<std::vector<int>> at = whole->begin();
  print("evens", *at);
  std::cout << at->size() << (++at == whole->end()) << std::endl;
  auto stream = data::make_data_loader<samplers::StreamSampler>(Stream(), /*batch_size=*/3);
  for (auto& batch : *stream) print("stream", batch);
  auto stateful = data::make_data_loader(
      datasets::make_shared_dataset<Stateful>().map(transforms::Lambda<int>([](int i) { return -i; })),
      data::DataLoaderOptions(3).workers(1));
  for (int epoch = 0; epoch < 2; ++epoch)
    for (auto& batch : *stateful) print("stateful", batch);

  using Chunks = datasets::ChunkDataset<Reader, samplers::SequentialSampler, samplers::SequentialSampler>;
  auto chunks = data::make_data_loader(
      datasets::make_shared_dataset<Chunks>(Reader(), samplers::SequentialSampler(0), samplers::SequentialSampler(0),
                                            datasets::ChunkDatasetOptions(/*preloader_count=*/1, /*batch_size=*/5)),
      data::DataLoaderOptions(5).workers(0));
  for (auto& batch : *chunks) print("chunks", batch);

  Numbers bad;
  bad.bad = 5;
  auto failing = data::make_data_loader<samplers::SequentialSampler>(bad, data::DataLoaderOptions(10).workers(1));
  try {
    print("failing", *failing->begin());
  } catch (const data::WorkerException& e) {
    std::cout << std::string(e.what()).substr(0, 70) << std::endl;
    try {
      std::rethrow_exception(e.original_exception);
    } catch (const std::invalid_argument& original) {
      std::cout << original.what() << std::endl;
    }
  }
}

int main() {
  show_datasets();
  show_samplers();
  show_loaders();
}
