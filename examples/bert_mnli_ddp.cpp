// Fine-tunes a BERT on MultiNLI with DistributedDataParallel: each rank is a process with a model, an optimizer and a
// loader of its own, and backward averages the gradients over all ranks. No device holds more than the others.
//   tandem launch -n 2 -- bert_mnli_ddp FOLDER TRAIN [STEPS [BATCH]]
// FOLDER: a BERT as Hugging Face lays it out; TRAIN: multinli_1.0_train.jsonl or a file like it
// STEPS: number of batches; 0, the default: one epoch. BATCH: rows of a batch over all ranks, by default 128
#include <tandem/models/bert_for_sequence_classification.h>
#include <tandem/tandem.h>
#include <tandem/text/encoded_texts.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace tandem;

/// Trains one rank.
void train(const std::string& folder, const std::string& file, int steps, size_t batch_size) {
  // RANK and WORLD_SIZE of the launcher, and LOCAL_RANK: this process's number on its machine, and so its GPU.
  const auto rank = static_cast<size_t>(distributed::get_rank()),
             ranks = static_cast<size_t>(distributed::get_world_size());
  const Device device = cuda::is_available() ? Device(kCUDA, distributed::get_node_local_rank()) : Device(kCPU);
  manual_seed(1);  // the same classifier on all ranks; DDP also copies the parameters of rank 0

  const auto tokenizer = text::load_tokenizer(folder);
  const text::LabelledTexts rows = text::read_labelled_texts(file);
  const auto texts = text::EncodedTexts::encode(*tokenizer, rows, text::EncodeOptions().max_length(128));
  // ShardSampler is Python's DistributedSampler: all ranks draw one order, and each of n ranks takes every n-th row.
  auto loader = data::make_data_loader(
      texts, data::samplers::ShardSampler(*texts.size(), ranks, rank),
      data::DataLoaderOptions(std::max<size_t>(1, batch_size / ranks)).workers(4).pin_memory(true));

  auto config = models::BertConfig::from_json_file(folder + "/config.json");
  auto model = models::BertForSequenceClassification::from_pretrained(
      folder, config.id2label(rows.label_names), models::PretrainedOptions().ignore_mismatched_sizes(true));
  model->to(device);
  nn::parallel::DistributedDataParallel ddp(model);
  optim::AdamW optimizer(ddp.parameters(), optim::AdamWOptions(2e-5));
  ddp.train();
  manual_seed(1 + rank);           // dropout differs between ranks
  loader->sampler().set_epoch(0);  // call it with the number of each epoch, or all epochs have the same order

  // Ranks need different times to read the files, most of all the first time, when one machine has the files in its
  // cache and another has not. They would wait for each other in the first all-reduce, in the middle of backward, and
  // this wait would count as a part of the first step. After the barrier all ranks begin the first batch together.
  distributed::barrier();
  const auto start = std::chrono::steady_clock::now();
  reset_peak_memory_stats(device);  // loading the weights took more for a moment
  int step = 0;
  for (auto& batch : *loader) {
    const auto on_device = [&](const Tensor& x) { return x.to(device, /*non_blocking=*/true); };  // from pinned memory
    optimizer.zero_grad();
    const Tensor loss = ddp(on_device(batch.input_ids), on_device(batch.attention_mask),
                            on_device(batch.token_type_ids), on_device(batch.labels))
                            .loss;  // the mean over this rank's rows
    loss.backward();                // averages the gradients over all ranks
    optimizer.step();               // the same step on all ranks
    if (++step % 10 == 0 || step == steps)
      std::printf("rank %zu of %zu, step %d: loss %.4f\n", rank, ranks, step, loss.item<double>());
    if (step == steps) break;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("rank %zu of %zu on %s: %d steps in %.1f s, peak %.2f MiB\n", rank, ranks, device.str().c_str(), step,
              seconds.count(), static_cast<double>(memory_stats(device).peak) / (1 << 20));
}

int main(int argc, char** argv) try {
  TANDEM_CHECK(argc > 2, "usage: tandem launch -n 2 -- bert_mnli_ddp FOLDER TRAIN [STEPS [BATCH]]");
  TANDEM_CHECK(distributed::is_launched(), "no launcher started this process; accepted: tandem launch, torchrun, ...");
  // Finds the other ranks: all ranks connect to the store that rank 0 runs at MASTER_ADDR and MASTER_PORT.
  distributed::init_process_group(cuda::is_available() && distributed::is_nccl_available() ? "nccl" : "gloo");
  train(argv[1], argv[2], argc > 3 ? std::atoi(argv[3]) : 0, argc > 4 ? std::strtoul(argv[4], nullptr, 10) : 128);
  distributed::destroy_process_group();
} catch (const std::exception& error) {
  std::fprintf(stderr, "bert_mnli_ddp: %s\n", error.what());
  return 1;
}
