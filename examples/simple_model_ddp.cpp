// The smallest DistributedDataParallel program: trains the linear layer of simple_model on several ranks. Each rank has
// a copy of the model and its own share of the examples. Every backward averages the gradients over all ranks.
//   tandem launch -n 2 -- simple_model_ddp [EPOCHS]     two ranks, which are processes that communicate over Gloo
//   simple_model_ddp [EPOCHS]                           without a launcher: two ranks, which are threads
#include <tandem/tandem.h>

#include <cstdio>
#include <cstdlib>

using namespace tandem;

/// Trains the model; runs on each rank.
void train(int epochs) {
  const int rank = distributed::get_rank(), ranks = distributed::get_world_size();
  manual_seed(1);  // the same seed on every rank, so that all ranks make the same examples

  // The function to learn: y = x w + 3, with a little noise.
  const Tensor w = linspace(-1, 1, 10).reshape({10, 1});
  const Tensor x = randn({1024, 10});
  const Tensor y = x.matmul(w) + 3 + 0.1 * randn({1024, 1});
  auto examples = data::datasets::TensorPairDataset(x, y).map(data::transforms::Stack<>());

  // Selects this rank's share. All ranks draw the same shuffled order; with two ranks, each takes every second example.
  const data::samplers::ShardSampler sampler(*examples.size(), static_cast<size_t>(ranks), static_cast<size_t>(rank));
  auto loader = data::make_data_loader(examples, sampler, data::DataLoaderOptions(64));

  nn::Linear model(10, 1);
  nn::parallel::DistributedDataParallel ddp(model);  // copies rank 0's parameters to all ranks
  nn::MSELoss criterion;
  optim::Adam optimizer(model->parameters(), optim::AdamOptions(0.05));
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    loader->sampler().set_epoch(static_cast<size_t>(epoch));  // shuffles differently in each epoch
    Tensor loss;
    for (auto& batch : *loader) {
      optimizer.zero_grad();
      loss = criterion(ddp(batch.data), batch.target);  // calls ddp, not model, so that gradients are averaged
      loss.backward();                                  // returns once the gradients are averaged over all ranks
      optimizer.step();                                 // makes the same step on every rank
    }
    std::printf("epoch %d: rank %d of %d saw %zu examples, last loss %.4f\n", epoch, rank, ranks,
                loader->sampler().local_sample_count(), loss.item<double>());
  }

  // Check that all ranks have the same model: the largest and the smallest bias over all ranks are equal.
  const Tensor largest = model->bias.detach().clone(), smallest = largest.clone();
  distributed::all_reduce(largest, distributed::ReduceOp::MAX);
  distributed::all_reduce(smallest, distributed::ReduceOp::MIN);
  const double difference = (largest - smallest).item<double>();
  if (rank == 0) std::printf("bias %.4f, %g apart between the ranks\n", largest.item<double>(), difference);
}

int main(int argc, char** argv) try {
  const int epochs = argc > 1 ? std::atoi(argv[1]) : 20;
  if (distributed::is_launched()) {  // true if a launcher started this process as one of several ranks
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
