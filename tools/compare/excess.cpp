// Computes the excess memory of DataParallel's first device, and puts it into words.
#include "tandem/tools/compare/excess.h"

#include <algorithm>

#include "tandem/tools/compare/runs.h"
#include "tandem/tools/page/format.h"

namespace tandem::tools::compare {

using namespace page;

namespace {

/// Smallest part of the excess that a sentence mentions.
constexpr double kLeastShare = 0.01;

const std::map<std::string, std::string> kCauseNames = {{"optimizer", "the optimizer's state"},
                                                        {"outputs", "outputs and their gradients"},
                                                        {"gradients", "gradients of the parameters"},
                                                        {"input", "the batch"}};

}  // namespace

std::optional<FirstDeviceExcess> compute_first_device_excess(const Run& run) {
  if (!is_dp(run) || run.memory.size() < 2) return std::nullopt;
  const auto other = std::max_element(run.memory.begin() + 1, run.memory.end(),
                                      [](const Memory& a, const Memory& b) { return a.peak < b.peak; });
  const auto merged = [](const std::string& cause) { return cause == "replicas" ? "parameters" : cause; };
  FirstDeviceExcess excess;
  excess.bytes = run.memory[0].peak - other->peak;
  for (const auto& [cause, bytes] : run.memory[0].at_peak) excess.by_cause[merged(cause)] += bytes;
  for (const auto& [cause, bytes] : other->at_peak) excess.by_cause[merged(cause)] -= bytes;
  return excess;
}

std::string explain_first_device_excess(const FirstDeviceExcess& excess) {
  if (excess.bytes <= 0) return "";
  std::vector<std::pair<int64_t, std::string>> parts;
  for (const auto& [cause, bytes] : excess.by_cause)
    if (static_cast<double>(std::abs(bytes)) >= kLeastShare * static_cast<double>(excess.bytes))
      parts.emplace_back(bytes, cause);
  if (parts.empty()) return "";
  std::sort(parts.rbegin(), parts.rend());
  std::string out = "This excess is ";
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto name = kCauseNames.find(parts[i].second);
    out += str_cat(i == 0                  ? ""
                   : i + 1 == parts.size() ? " and "
                                           : ", ",
                   format_number(static_cast<double>(parts[i].first) / (1 << 20)), " MiB of ",
                   name == kCauseNames.end() ? parts[i].second : name->second);
  }
  const std::string& largest = parts[0].second;
  if (largest == "outputs")
    return out +
           ". Outputs are the largest part: let the replicas compute the loss (dp_loss), so that each device "
           "keeps its own outputs.";
  if (largest == "optimizer")
    return out +
           ". The optimizer's state is the largest part. It stays if the replicas compute the loss. Under DDP "
           "every device holds as much; an optimizer whose state is divided over the ranks needs less.";
  return out + ".";
}

PredictedExcess predict_first_device_excess(int64_t parameters, int64_t outputs, int64_t input_bytes, int64_t batch,
                                            int devices) {
  constexpr int64_t kFloat = sizeof(float);
  const int64_t first = batch / devices;  // rows of the first device if the batch is split evenly
  return {2 * parameters * kFloat, batch * outputs * kFloat, batch * outputs * kFloat, (batch - first) * input_bytes};
}

std::string describe_full_size(const std::string& model) {
  struct Network {
    const char* name;
    int64_t parameters, outputs, length, batch;
  };
  // bert-base-uncased with a pooler and a classifier for three classes, at 128 tokens; GPT-2 with tied embeddings, at
  // 1,024 tokens.
  constexpr Network kBert = {"BERT-base with 3 classes", 109484547, 3, 128, 128},
                    kGpt = {"GPT-2", 124439808, 1024 * int64_t{50257}, 1024, 8};
  if (model != "bert" && model != "gpt") return "";
  const Network& network = model == "bert" ? kBert : kGpt;
  constexpr int kDevices = 4;
  const PredictedExcess excess = predict_first_device_excess(
      network.parameters, network.outputs, network.length * int64_t{sizeof(int64_t)}, network.batch, kDevices);
  const auto format = [](int64_t bytes) { return format_byte_size(static_cast<double>(bytes)); };
  return str_cat("By the formulas, the first of ", kDevices, " devices that train ", network.name, " (",
                 format_number(static_cast<double>(network.parameters) / 1e6), " million parameters, ", network.length,
                 " tokens, batch ", network.batch, ") holds ", format(excess.optimizer), " of Adam's state, ",
                 format(excess.outputs), " of outputs and ", format(excess.gradients), " of their gradients more.");
}

}  // namespace tandem::tools::compare
