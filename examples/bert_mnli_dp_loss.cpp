// bert_mnli_dp with one change: each device computes the loss of its own rows. No outputs are gathered, and labels are
// scattered instead. A device returns a sum and a number of rows, so the loss is the mean over the batch even if the
// devices have different numbers of rows.
// usage: bert_mnli_dp_loss FOLDER TRAIN [STEPS [BATCH]]      (arguments as in bert_mnli_dp)
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

/// Returns the sum of the losses of a device's rows, and their number. It runs on each device.
nn::parallel::LossPart loss_of_part(const models::SequenceClassifierOutput& output, const Tensor& labels) {
  const nn::CrossEntropyLoss sum(nn::CrossEntropyLossOptions().reduction(kSum));
  return {sum(output.logits, labels), full({}, static_cast<double>(labels.size(0)), output.logits.options())};
}

int main(int argc, char** argv) try {
  TANDEM_CHECK(argc > 2, "usage: bert_mnli_dp_loss FOLDER TRAIN [STEPS [BATCH]]");
  const std::string folder = argv[1];
  const int steps = argc > 3 ? std::atoi(argv[3]) : 0;
  const size_t batch_size = argc > 4 ? std::strtoul(argv[4], nullptr, 10) : 128;
  const std::vector<Device> devices = choose_devices();
  manual_seed(1);

  const auto tokenizer = text::load_tokenizer(folder);
  const text::LabelledTexts rows = text::read_labelled_texts(argv[2]);
  const auto texts = text::EncodedTexts::encode(*tokenizer, rows, text::EncodeOptions().max_length(128));
  auto loader = data::make_data_loader<data::samplers::RandomSampler>(
      texts, data::DataLoaderOptions(batch_size).workers(2).pin_memory(true));

  auto config = models::BertConfig::from_json_file(folder + "/config.json");
  auto model = models::BertForSequenceClassification::from_pretrained(
      folder, config.id2label(rows.label_names), models::PretrainedOptions().ignore_mismatched_sizes(true));
  model->to(devices[0]);
  nn::DataParallel dp(model, devices);
  optim::AdamW optimizer(dp.parameters(), optim::AdamWOptions(2e-5));

  dp.train();
  for (const Device device : devices) reset_peak_memory_stats(device);  // loading the weights took more for a moment
  int step = 0;
  for (auto& batch : *loader) {
    optimizer.zero_grad();
    // The last argument is the target. It is scattered like the inputs. Only a sum and a number come back.
    const Tensor loss =
        dp.loss(loss_of_part, batch.input_ids, batch.attention_mask, batch.token_type_ids, batch.labels);
    loss.backward();
    optimizer.step();
    if (++step % 10 == 0 || step == steps) std::printf("step %d: loss %.4f\n", step, loss.item<double>());
    if (step == steps) break;
  }
  for (const Device device : devices)
    std::printf("%s: peak %.2f MiB\n", device.str().c_str(),
                static_cast<double>(memory_stats(device).peak) / (1 << 20));
} catch (const std::exception& error) {
  std::fprintf(stderr, "bert_mnli_dp_loss: %s\n", error.what());
  return 1;
}
