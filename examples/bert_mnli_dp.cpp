// Fine-tunes a BERT on MultiNLI with DataParallel: one process drives four devices, and each gets a quarter of every
// batch. If there are no GPUs, the devices are virtual: parts of the CPU with memory of their own.
// usage: bert_mnli_dp FOLDER TRAIN [STEPS [BATCH]]
//   FOLDER: a BERT as Hugging Face lays it out; TRAIN: multinli_1.0_train.jsonl or a file like it
//   STEPS: number of batches; 0, the default: one epoch. BATCH: rows of a batch over all devices, by default 128
#include <tandem/models/bert_for_sequence_classification.h>
#include <tandem/tandem.h>
#include <tandem/text/encoded_texts.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace tandem;

/// Returns four GPUs, as many as there are, or four virtual devices of the CPU.
std::vector<Device> choose_devices() {
  const DeviceType type = cuda::is_available() ? kCUDA : kCPU;
  const int count = type == kCUDA ? std::min(4, static_cast<int>(cuda::device_count())) : 4;
  if (type == kCPU) set_cpu_device_count(count);
  std::vector<Device> devices;
  devices.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) devices.emplace_back(type, i);
  return devices;
}
double mib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

int main(int argc, char** argv) try {
  TANDEM_CHECK(argc > 2, "usage: bert_mnli_dp FOLDER TRAIN [STEPS [BATCH]]");
  const std::string folder = argv[1];
  const int steps = argc > 3 ? std::atoi(argv[3]) : 0;
  const size_t batch_size = argc > 4 ? std::strtoul(argv[4], nullptr, 10) : 128;
  const std::vector<Device> devices = choose_devices();
  manual_seed(1);

  // The data: rows of two sentences and a label, encoded once. A batch is padded to its longest pair.
  const auto tokenizer = text::load_tokenizer(folder);
  const text::LabelledTexts rows = text::read_labelled_texts(argv[2]);
  const auto texts = text::EncodedTexts::encode(*tokenizer, rows, text::EncodeOptions().max_length(128));
  auto loader = data::make_data_loader<data::samplers::RandomSampler>(
      texts, data::DataLoaderOptions(batch_size).workers(2).pin_memory(true));

  // The model: a BERT, and a new classifier if the folder has no classifier for these labels.
  auto config = models::BertConfig::from_json_file(folder + "/config.json");
  auto model = models::BertForSequenceClassification::from_pretrained(
      folder, config.id2label(rows.label_names), models::PretrainedOptions().ignore_mismatched_sizes(true));
  model->to(devices[0]);
  nn::DataParallel dp(model, devices);  // devices[0] holds the module
  optim::AdamW optimizer(dp.parameters(), optim::AdamWOptions(2e-5));

  dp.train();
  const nn::CrossEntropyLoss criterion;
  for (const Device device : devices) reset_peak_memory_stats(device);  // loading the weights took more for a moment
  int step = 0;
  for (auto& batch : *loader) {
    optimizer.zero_grad();
    // Each device computes the logits of its rows. They are gathered on devices[0], which computes the loss.
    const Tensor logits = dp(batch.input_ids, batch.attention_mask, batch.token_type_ids).logits;
    const Tensor loss = criterion(logits, batch.labels.to(devices[0]));
    loss.backward();  // sums the gradients of all replicas in the module's parameters
    optimizer.step();
    if (++step % 10 == 0 || step == steps) std::printf("step %d: loss %.4f\n", step, loss.item<double>());
    if (step == steps) break;
  }

  // Only the first device holds AdamW's state, the gathered outputs and, for a moment, another device's gradients.
  for (const Device device : devices)
    std::printf("%s: peak %.2f MiB\n", device.str().c_str(), mib(memory_stats(device).peak));
  int64_t parameters = 0;
  for (const Tensor& p : dp.parameters()) parameters += static_cast<int64_t>(p.nbytes());
  const int64_t outputs = static_cast<int64_t>(batch_size) * config.num_labels() * 4;
  if (devices.size() > 1)
    std::printf(
        "%s has %.2f MiB more than %s; AdamW's two averages are %.2f MiB, the gradients of a device %.2f MiB, "
        "the outputs of a batch %.4f MiB\n",
        devices[0].str().c_str(), mib(memory_stats(devices[0]).peak - memory_stats(devices[1]).peak),
        devices[1].str().c_str(), mib(2 * parameters), mib(parameters), mib(outputs));
} catch (const std::exception& error) {
  std::fprintf(stderr, "bert_mnli_dp: %s\n", error.what());
  return 1;
}
