// Checks TrainerOptions, and decides on which devices and ranks a fit() runs.
#include "tandem/train/trainer_options.h"

#include <cmath>
#include <set>

#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/core/internal.h"
#include "tandem/logs/metrics_writer.h"
#include "tandem/logs/summary_writer.h"
#include "tandem/parallel/collectives/distributed.h"
#include "tandem/train/fit_state.h"

namespace tandem::train {

int64_t BatchCount::of(int64_t all, const char* option) const {
  if (is_count_) {
    TANDEM_CHECK(value_ >= 0, "TrainerOptions: ", option, " is ", static_cast<int64_t>(value_),
                 "; accepted: a number of batches from 0 on, or a fraction from 0.0 to 1.0");
    return std::min(all, static_cast<int64_t>(value_));
  }
  TANDEM_CHECK(value_ >= 0 && value_ <= 1, "TrainerOptions: ", option, " is ", value_,
               "; accepted: a fraction from 0.0 to 1.0, or an integer, a number of batches");
  return static_cast<int64_t>(std::floor(static_cast<double>(all) * value_ + 1e-9));
}

DeviceList::DeviceList(std::vector<int> numbers)
    : count_(static_cast<int>(numbers.size())), numbers_(std::move(numbers)) {
  TANDEM_CHECK(!numbers_.empty(), "TrainerOptions: devices is an empty list; accepted: numbers of devices, or a count");
}

TrainerOptions& TrainerOptions::logger(Logger logger) {
  loggers_.push_back(std::move(logger));
  return *this;
}
TrainerOptions& TrainerOptions::logger(std::shared_ptr<logs::SummaryWriter> writer) {
  return logger(Logger([writer = std::move(writer)](int64_t step, const auto& metrics) {
    for (const auto& [name, value] : metrics) writer->add_scalar(name, value, step);
  }));
}
TrainerOptions& TrainerOptions::logger(std::shared_ptr<logs::MetricsWriter> writer) {
  TANDEM_CHECK(!writer->path().ends_with(".csv"), "TrainerOptions: the logger writes ", writer->path(),
               ", but training and validation have different columns; accepted: a file whose name ends in .jsonl");
  return logger(
      Logger([writer = std::move(writer)](int64_t step, const auto& metrics) { writer->add(step, metrics); }));
}

TrainerOptions& TrainerOptions::tensorboard(const std::string& log_dir) {
  const auto writer = std::make_shared<std::unique_ptr<logs::SummaryWriter>>();  // made by the first call
  return logger(Logger([writer, log_dir](int64_t step, const auto& metrics) {
    if (!*writer) *writer = std::make_unique<logs::SummaryWriter>(log_dir);
    for (const auto& [name, value] : metrics) (*writer)->add_scalar(name, value, step);
  }));
}

std::optional<DType> autocast_dtype(const std::string& precision) {
  if (precision == "bf16-mixed") return kBFloat16;
  if (precision == "16-mixed") return kFloat16;
  TANDEM_CHECK(precision == "32", "TrainerOptions: precision is '", precision, "'; accepted: 32, bf16-mixed, 16-mixed");
  return {};
}

void check_options(const TrainerOptions& o) {
  autocast_dtype(o.precision());
  const auto check_at_least = [](const char* name, int64_t value, int64_t least, const char* meaning) {
    TANDEM_CHECK(value >= least, "TrainerOptions: ", name, " is ", value, "; accepted: ", meaning);
  };
  check_at_least("max_epochs", o.max_epochs().value_or(0), -1, "0 or more epochs, or -1 for training without end");
  check_at_least("max_steps", o.max_steps(), -1, "0 or more steps, or -1 for no limit");
  check_at_least("accumulate_grad_batches", o.accumulate_grad_batches(), 1, "1 or more batches");
  check_at_least("check_val_every_n_epoch", o.check_val_every_n_epoch().value_or(1), 1, "1 or more epochs, or nullopt");
  TANDEM_CHECK(o.check_val_every_n_epoch() || o.val_check_interval().is_count(),
               "TrainerOptions: check_val_every_n_epoch is nullopt, so val_check_interval counts the batches of the "
               "whole training, but val_check_interval is a fraction; accepted: a number of batches");
  check_at_least("log_every_n_steps", o.log_every_n_steps(), 1, "1 or more steps");
  TANDEM_CHECK(std::isfinite(o.gradient_clip_val()) && o.gradient_clip_val() >= 0,
               "TrainerOptions: gradient_clip_val is ", o.gradient_clip_val(),
               "; accepted: a positive norm, or 0 for no clipping");
  o.limit_train_batches().of(1, "limit_train_batches");
  o.limit_val_batches().of(1, "limit_val_batches");
  o.val_check_interval().of(1, "val_check_interval");
  TANDEM_CHECK(o.val_check_interval().of(int64_t{1} << 40, "val_check_interval") > 0,
               "TrainerOptions: val_check_interval is 0; accepted: 1 or more batches, or a fraction of the epoch");
}

namespace {

/// Returns the type of the devices.
DeviceType resolve_accelerator(const TrainerOptions& o) {
  const std::string& name = o.accelerator();
  TANDEM_CHECK(name == "auto" || name == "cpu" || name == "gpu", "TrainerOptions: accelerator is '", name,
               "'; accepted: auto, cpu, gpu");
  if (name == "cpu") return kCPU;
  if (name == "auto") return cuda::is_available() && gpu::implementation() != std::string("emulated") ? kCUDA : kCPU;
  TANDEM_CHECK(cuda::is_available(),
               "TrainerOptions: accelerator is 'gpu', but no GPU is available: ", gpu::unavailable_reason(),
               "; accepted: auto, cpu");
  return kCUDA;
}
/// Returns the numbers of the devices that the options ask for.
std::vector<int> resolve_numbers(const TrainerOptions& o, DeviceType type) {
  std::vector<int> numbers = o.devices().numbers();
  int count = o.devices().count();
  TANDEM_CHECK(count >= 1 || count == -1, "TrainerOptions: devices is ", count,
               "; accepted: 1 or more, -1 for all, or a list of numbers");
  if (count == -1) count = type == kCUDA ? cuda::device_count() : 1;
  if (numbers.empty())
    for (int i = 0; i < count; ++i) numbers.push_back(i);
  TANDEM_CHECK(std::set(numbers.begin(), numbers.end()).size() == numbers.size(),
               "TrainerOptions: devices lists a device twice; accepted: different numbers");
  for (const int number : numbers)
    TANDEM_CHECK(number >= 0 && (type == kCPU || number < cuda::device_count()), "TrainerOptions: devices contains ",
                 number, ", but this machine has ", cuda::device_count(), " GPUs; accepted: numbers of GPUs from 0 on");
  return numbers;
}

/// Adds a device. Makes virtual devices of the CPU, if there are too few.
void use_device(detail::Placement& placement, Device device) {
  placement.devices.push_back(device);
  if (device.is_cpu() && cpu_device_count() <= device.index()) set_cpu_device_count(device.index() + 1);
}

struct StrategyName {
  const char* name;
  StrategyKind kind;
  const char* backend;
};
constexpr StrategyName kStrategies[] = {
    {"single", StrategyKind::single, ""},      {"dp", StrategyKind::dp, ""},
    {"dp_loss", StrategyKind::dp_loss, ""},    {"ddp", StrategyKind::ddp, ""},
    {"ddp_local", StrategyKind::ddp, "local"}, {"ddp_gloo", StrategyKind::ddp, "gloo"},
    {"ddp_nccl", StrategyKind::ddp, "nccl"},   {"ddp_find_unused_parameters_true", StrategyKind::ddp, ""}};

const StrategyName& resolve_strategy(const std::string& name) {
  std::string known = "auto";
  for (const StrategyName& each : kStrategies) {
    if (name == each.name) return each;
    known += std::string(", ") + each.name;
  }
  TANDEM_FAIL("TrainerOptions: strategy is '", name, "'; accepted: ", known);
}

}  // namespace

detail::Placement resolve_placement(const TrainerOptions& o) {
  const DeviceType type = resolve_accelerator(o);
  const std::vector<int> numbers = resolve_numbers(o, type);
  const bool in_job = distributed::is_initialized() || distributed::is_launched();
  std::string name = o.strategy();
  if (name == "auto") name = numbers.size() > 1 || in_job ? "ddp" : "single";
  const StrategyName& strategy = resolve_strategy(name);
  detail::Placement out{.kind = strategy.kind,
                        .find_unused_parameters = name == "ddp_find_unused_parameters_true",
                        .backend = strategy.backend};
  TANDEM_CHECK(out.kind != StrategyKind::single || numbers.size() == 1,
               "TrainerOptions: strategy is 'single', but "
               "devices has ",
               numbers.size(), " devices; accepted: one device, or dp, dp_loss, ddp");
  if (out.kind == StrategyKind::ddp && in_job) {
    out.ranks_are_processes = true;
    const std::vector<int>& listed = o.devices().numbers();
    const auto local_rank = static_cast<size_t>(distributed::get_node_local_rank(0));
    int number = type == kCUDA ? static_cast<int>(local_rank) % cuda::device_count() : 0;
    if (!listed.empty()) number = listed[local_rank % listed.size()];
    use_device(out, Device(type, number));
    return out;
  }
  if (out.kind == StrategyKind::ddp) out.num_threads = static_cast<int>(numbers.size());
  const bool share_cpu = type == kCPU && out.kind == StrategyKind::ddp && o.devices().numbers().empty();
  for (const int number : numbers) use_device(out, Device(type, share_cpu ? 0 : number));
  return out;
}

}  // namespace tandem::train
