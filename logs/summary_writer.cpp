// SummaryWriter: converts the value of each add_...() call into an event, and appends the event to an event file.
#include "tandem/logs/summary_writer.h"

#include <algorithm>
#include <ctime>
#include <mutex>

#include "tandem/logs/event_file.h"
#include "tandem/logs/summary.h"

namespace tandem::logs {
namespace {

/// Returns PyTorch's default folder for a run, for example runs/Nov24_14-08-11_host.
std::string make_default_log_dir(const std::string& comment) {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%b%d_%H-%M-%S", &local);
  return std::string("runs/") + text + "_" + get_host_name() + comment;
}

}  // namespace

struct SummaryWriter::State {
  std::string log_dir;
  SummaryWriterOptions options;
  std::mutex mutex;
  // event file of each folder: of log_dir, and of the folders that add_scalars creates
  std::map<std::string, EventFile> event_files;

  EventFile& get_file(const std::string& folder) {
    return event_files.try_emplace(folder, folder, options).first->second;
  }
  /// @param sub_folder  folder inside log_dir; empty for log_dir itself
  void add_summary(const std::string& sub_folder, const std::string& summary, std::optional<int64_t> step,
                   std::optional<double> wall_time) {
    const std::string event = summary_event(summary, step, wall_time ? *wall_time : wall_time_now());
    const std::lock_guard lock(mutex);
    get_file(sub_folder.empty() ? log_dir : log_dir + "/" + sub_folder).add_event(event);
  }
};

SummaryWriter::SummaryWriter(std::string log_dir, const SummaryWriterOptions& options) : state_(new State()) {
  TANDEM_CHECK(options.max_queue() >= 1, "SummaryWriter: max_queue is ", options.max_queue(), "; accepted: 1 or more");
  TANDEM_CHECK(options.flush_secs() >= 0, "SummaryWriter: flush_secs is ", options.flush_secs(),
               "; accepted: 0 or more");
  state_->log_dir = log_dir.empty() ? make_default_log_dir(options.comment()) : std::move(log_dir);
  state_->options = options;
  EventFile& file = state_->get_file(state_->log_dir);
  if (!options.purge_step()) return;
  file.add_event(session_start_event(*options.purge_step(), wall_time_now()));
  file.flush();
}
SummaryWriter::~SummaryWriter() = default;
const std::string& SummaryWriter::get_logdir() const { return state_->log_dir; }

void SummaryWriter::add_scalar(const std::string& tag, double value, std::optional<int64_t> step,
                               std::optional<double> walltime, bool new_style, bool double_precision) {
  state_->add_summary("", scalar_summary(tag, value, new_style, double_precision), step, walltime);
}
void SummaryWriter::add_scalar(const std::string& tag, const Tensor& value, std::optional<int64_t> step,
                               std::optional<double> walltime, bool new_style, bool double_precision) {
  TANDEM_CHECK(value.defined() && value.numel() == 1, "add_scalar: '", tag, "' is a tensor of ",
               value.defined() ? value.numel() : 0, " elements; accepted: one");
  add_scalar(tag, value.item<double>(), step, walltime, new_style, double_precision);
}
void SummaryWriter::add_scalars(const std::string& main_tag, const std::map<std::string, double>& tag_scalar_dict,
                                std::optional<int64_t> step, std::optional<double> walltime) {
  const double now = walltime ? *walltime : wall_time_now();
  std::string folder = main_tag;
  std::replace(folder.begin(), folder.end(), '/', '_');
  for (const auto& [name, value] : tag_scalar_dict)
    state_->add_summary(folder + "_" + name, scalar_summary(main_tag, value, false, false), step, now);
}
void SummaryWriter::add_histogram(const std::string& tag, const Tensor& values, std::optional<int64_t> step,
                                  std::optional<double> walltime) {
  state_->add_summary("", histogram_summary(tag, values), step, walltime);
}
void SummaryWriter::add_image(const std::string& tag, const Tensor& image, std::optional<int64_t> step,
                              std::optional<double> walltime, const std::string& dataformats) {
  state_->add_summary("", image_summary(tag, image, dataformats), step, walltime);
}
void SummaryWriter::add_text(const std::string& tag, const std::string& text, std::optional<int64_t> step,
                             std::optional<double> walltime) {
  state_->add_summary("", text_summary(tag, text), step, walltime);
}

void SummaryWriter::flush() {
  const std::lock_guard lock(state_->mutex);
  for (auto& [folder, file] : state_->event_files) file.flush();
}
void SummaryWriter::close() {
  flush();
  const std::lock_guard lock(state_->mutex);
  state_->event_files.clear();
}

}  // namespace tandem::logs
