// The training of fashion_mnist on several ranks. Each rank trains a copy of the network on its share of the images,
// and DistributedDataParallel averages the gradients while backward is still running.
//   tandem launch -n 2 -- fashion_mnist_ddp [FOLDER [EPOCHS [DEVICE]]]     ranks are processes, over NCCL or Gloo
//   fashion_mnist_ddp [FOLDER [EPOCHS [DEVICE [RANKS]]]]                   ranks are threads of this process
// FOLDER: folder of the data; default: where Debian's package dataset-fashion-mnist installs it
// DEVICE: cpu, or cuda for one GPU per rank; default: cuda if there is a GPU
// RANKS: number of threads; default: one per GPU, or two on the CPU
#include <tandem/tandem.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace tandem;

nn::Sequential make_network() {
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 16, 3).padding(1)), nn::BatchNorm2d(16), nn::ReLU(),
                        nn::MaxPool2d(2), nn::Conv2d(nn::Conv2dOptions(16, 32, 3).padding(1)), nn::BatchNorm2d(32),
                        nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(32 * 7 * 7, 128), nn::ReLU(),
                        nn::Dropout(0.25), nn::Linear(128, 10));
}

/// Returns the sum of `number` over all ranks.
double sum_over_ranks(double number) {
  const Tensor sum = full({}, number, TensorOptions(kFloat64).device(distributed::default_group()->device()));
  distributed::all_reduce(sum);
  return sum.item<double>();
}

/// Trains and evaluates; runs on each rank.
void train(const std::string& folder, int epochs, DeviceType type) {
  const auto rank = static_cast<size_t>(distributed::get_rank()),
             ranks = static_cast<size_t>(distributed::get_world_size());
  // Each rank uses one GPU. The GPU's index is this process's number among the processes of this machine, which the
  // launcher sets.
  const Device device =
      type == kCUDA ? Device(kCUDA, distributed::get_node_local_rank(static_cast<int>(rank))) : Device(kCPU);
  manual_seed(1);

  using data::datasets::FashionMNIST;
  using data::samplers::ShardSampler;
  const data::transforms::Stack<> stack;
  const FashionMNIST train_set(folder), test_set(folder, FashionMNIST::Mode::kTest);
  // Each step takes 128 images over all ranks together. The sampler draws the same shuffled order on all ranks and pads
  // its end, so that all ranks take the same number of steps.
  auto train_loader =
      data::make_data_loader(FashionMNIST(train_set).map(stack), ShardSampler(*train_set.size(), ranks, rank),
                             data::DataLoaderOptions(std::max<size_t>(1, 128 / ranks)).workers(1).device(device));
  // Evaluation must count each image exactly once, so nothing is padded, and some ranks may have one image more.
  auto test_loader = data::make_data_loader(
      FashionMNIST(test_set).map(stack), ShardSampler(*test_set.size(), ranks, rank, {.shuffle = false, .pad = false}),
      data::DataLoaderOptions(500).device(device));

  nn::Sequential net = make_network();
  net->to(device);
  nn::parallel::DistributedDataParallel ddp(net);
  optim::AdamW optimizer(net->parameters(), optim::AdamWOptions(2e-3));
  optim::CosineAnnealingLR schedule(optimizer, /*T_max=*/epochs);
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    train_loader->sampler().set_epoch(static_cast<size_t>(epoch));
    ddp.train();
    Tensor loss_sum = zeros({}, device);
    int batches = 0;
    for (auto& batch : *train_loader) {
      optimizer.zero_grad();
      const Tensor loss = cross_entropy(ddp(batch.data), batch.target);
      loss.backward();
      nn::utils::clip_grad_norm_(net->parameters(), 5.0);  // gradients are already averaged, so all ranks clip alike
      optimizer.step();
      loss_sum += loss.detach();
      ++batches;
    }
    schedule.step();

    ddp.eval();
    const NoGradGuard no_grad;
    // Each rank has updated batch norm's running statistics with its own images. Evaluate the network of rank 0.
    for (const Tensor& buffer : net->buffers()) distributed::broadcast(buffer, /*src=*/0);
    int64_t right = 0, seen = 0;
    for (auto& batch : *test_loader) {
      right += net(batch.data).argmax(1).eq(batch.target).sum().item<int64_t>();
      seen += batch.target.numel();
    }
    const double loss = sum_over_ranks(loss_sum.item<double>() / batches) / static_cast<double>(ranks);
    const double all_right = sum_over_ranks(static_cast<double>(right)),
                 all_seen = sum_over_ranks(static_cast<double>(seen));
    if (rank == 0)
      std::printf("epoch %d: loss %.3f, %.2f %% of %.0f test images over %zu ranks from %s\n", epoch, loss,
                  100 * all_right / all_seen, all_seen, ranks, device.str().c_str());
  }
  if (rank == 0) save(net, "fashion_mnist_ddp.safetensors");
}

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : "/usr/share/datasets/fashion-mnist";
  const int epochs = argc > 2 ? std::atoi(argv[2]) : 2;
  const DeviceType type = Device(argc > 3 ? argv[3] : cuda::is_available() ? "cuda" : "cpu").type();
  if (distributed::is_launched()) {  // true if a launcher started this process as one of several ranks
    distributed::init_process_group(type == kCUDA && distributed::is_nccl_available() ? "nccl" : "gloo");
    train(folder, epochs, type);
    distributed::destroy_process_group();
  } else {
    const int threads = argc > 4 ? std::atoi(argv[4]) : type == kCUDA ? cuda::device_count() : 2;
    distributed::run_ranks(threads, [&](int) {
      distributed::init_process_group("local");
      train(folder, epochs, type);
    });
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "fashion_mnist_ddp: %s\n", error.what());
  return 1;
}
