// SummaryWriter: writes training logs for TensorBoard, under the names of torch.utils.tensorboard.
#pragma once
#include <map>

#include "tandem/core/option.h"
#include "tandem/core/owned_ptr.h"
#include "tandem/core/tensor.h"

namespace tandem::logs {

/// Options of a SummaryWriter.
struct SummaryWriterOptions {
  /// Suffix of the default log_dir.
  TANDEM_ARG(std::string, comment) = {};
  /// For a restart after a crash with the same log_dir: makes TensorBoard hide the crashed run's events of this step
  /// and of later steps.
  TANDEM_ARG(std::optional<int64_t>, purge_step) = {};
  /// Number of events in memory at which they are written to the file.
  TANDEM_ARG(int64_t, max_queue) = 10;
  /// Seconds after which the next call writes the events in memory to the file.
  TANDEM_ARG(int64_t, flush_secs) = 120;
  /// Suffix of the file names.
  TANDEM_ARG(std::string, filename_suffix) = {};
};

/// Writes event files into a folder. `tensorboard --logdir FOLDER` shows them, also for a parent folder:
///
///     logs::SummaryWriter writer("runs/first");
///     for (int step = 0; step < steps; ++step) writer.add_scalar("loss", train_step(), step);
///
/// Slashes in a tag group curves: "train/loss" and "train/accuracy" appear together. Default of global_step: 0. Default
/// of walltime (seconds since 1970): the time of the call. The calling thread writes the file, several events at a
/// time. Several threads may share a writer. In a job of several ranks, only rank 0 should have one.
class SummaryWriter {
 public:
  /// @param log_dir   folder; by default "runs/" with the time, the host name and the comment
  /// @throws Error    with the system's error message, if the folder or the file cannot be created
  explicit SummaryWriter(std::string log_dir = "", const SummaryWriterOptions& options = {});
  /// Writes the events in memory. Prints an error message on stderr if that fails; close() throws instead.
  ~SummaryWriter();
  SummaryWriter(const SummaryWriter&) = delete;
  /// Returns the folder.
  const std::string& get_logdir() const;

  /// Adds a point to a curve. NaN and infinities are allowed; TensorBoard marks them.
  /// @param new_style         if true, writes a tensor, which TensorBoard may load faster; else a float
  /// @param double_precision  if new_style is true: writes a double instead of a float
  /// @throws Error            if the file cannot be written, like all functions below
  void add_scalar(const std::string& tag, double scalar_value, std::optional<int64_t> global_step = {},
                  std::optional<double> walltime = {}, bool new_style = false, bool double_precision = false);
  /// Adds the value of a one-element tensor on any device. For a GPU tensor, waits for its value.
  void add_scalar(const std::string& tag, const Tensor& scalar_value, std::optional<int64_t> global_step = {},
                  std::optional<double> walltime = {}, bool new_style = false, bool double_precision = false);
  /// Adds points of several curves in one chart. Each name in tag_scalar_dict is a run of its own, in the folder
  /// LOG_DIR/MAIN-TAG_NAME.
  void add_scalars(const std::string& main_tag, const std::map<std::string, double>& tag_scalar_dict,
                   std::optional<int64_t> global_step = {}, std::optional<double> walltime = {});
  /// Adds a histogram of the values of a tensor of any shape and dtype. Uses TensorFlow's bins, whose limits grow by 10
  /// % from 1e-12 to 1e20, on both sides of zero.
  /// @throws Error  if there are no values, or some are NaN or infinite, as in TensorFlow
  void add_histogram(const std::string& tag, const Tensor& values, std::optional<int64_t> global_step = {},
                     std::optional<double> walltime = {});
  /// Adds an image: uint8, or floating point from 0 to 1 (values outside are clamped). One channel is grey, three are
  /// red, green and blue, a fourth is opacity. make_grid combines a batch into one image.
  /// @param dataformats           CHW, HWC or HW
  /// @throws Error                for another shape, and for NaN
  /// @throws NotImplementedError  in a build without libpng
  void add_image(const std::string& tag, const Tensor& img_tensor, std::optional<int64_t> global_step = {},
                 std::optional<double> walltime = {}, const std::string& dataformats = "CHW");
  /// Adds a text, which TensorBoard displays as Markdown.
  void add_text(const std::string& tag, const std::string& text_string, std::optional<int64_t> global_step = {},
                std::optional<double> walltime = {});

  /// Writes the events in memory to the files.
  void flush();
  /// Writes the events in memory and closes the files. Later events go to new files.
  void close();

 private:
  struct State;
  tandem::detail::OwnedPtr<State> state_;
};

}  // namespace tandem::logs
