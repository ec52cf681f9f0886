// The smallest DistributedDataParallel program: simple_model's linear layer, trained by several ranks. Each has a copy
// of the model and its own share of the examples; after every backward all have the same gradients, the average.
//   tandem launch -n 2 -- simple_model_ddp [EPOCHS]     two ranks that are processes, and talk over Gloo
//   simple_model_ddp [EPOCHS]                           without a launcher: two ranks that are threads of this process
#include <tandem/tandem.h>

#include <cstdio>
#include <cstdlib>

using namespace tandem;

/// What each rank runs.
void train(int epochs) {
  const int rank = distributed::get_rank(), ranks = distributed::get_world_size();
  manual_seed(1);  // the same on every rank, so that all make the same examples

  // What there is to learn: y = x w + 3, with a little noise.
  const Tensor w = linspace(-1, 1, 10).reshape({10, 1});
  const Tensor x = randn({1024, 10});
  const Tensor y = x.matmul(w) + 3 + 0.1 * randn({1024, 1});
  auto examples = data::datasets::TensorPairDataset(x, y).map(data::transforms::Stack<>());

  // This rank's share: of two ranks, every second example of a shuffled order that all ranks draw alike.
  const data::samplers::ShardSampler sampler(*examples.size(), static_cast<size_t>(ranks), static_cast<size_t>(rank));
  auto loader = data::make_data_loader(examples, sampler, data::DataLoaderOptions(64));

  nn::Linear model(10, 1);
  nn::parallel::DistributedDataParallel ddp(model);  // from here on all have the parameters of rank 0
  nn::MSELoss criterion;
  optim::Adam optimizer(model->parameters(), optim::AdamOptions(0.05));
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    loader->sampler().set_epoch(static_cast<size_t>(epoch));  // another order than in the last epoch
    Tensor loss;
    for (auto& batch : *loader) {
      optimizer.zero_grad();
      loss = criterion(ddp(batch.data), batch.target);  // through ddp, not through model: or nothing would be averaged
      loss.backward();                                  // returns once the gradients are the ranks' average
      optimizer.step();                                 // so every rank takes the same step
    }
    std::printf("epoch %d: rank %d of %d saw %zu examples, last loss %.4f\n", epoch, rank, ranks,
                loader->sampler().local_sample_count(), loss.item<double>());
  }

  // All ranks have the same model: that with the largest bias and that with the smallest have one bias.
  const Tensor largest = model->bias.detach().clone(), smallest = largest.clone();
  distributed::all_reduce(largest, distributed::ReduceOp::MAX);
  distributed::all_reduce(smallest, distributed::ReduceOp::MIN);
  const double difference = (largest - smallest).item<double>();
  if (rank == 0) std::printf("bias %.4f, %g apart between the ranks\n", largest.item<double>(), difference);
}

int main(int argc, char** argv) try {
  const int epochs = argc > 1 ? std::atoi(argv[1]) : 20;
  if (distributed::is_launched()) {  // a launcher started this process as one of the ranks
    distributed::init_process_group("gloo");
    train(epochs);
    distributed::destroy_process_group();
  } else {
    distributed::run_ranks(2, [&](int) {
      distributed::init_process_group("local");
      train(epochs);
    });
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "simple_model_ddp: %s\n", error.what());
  return 1;
}
