// SummaryWriter: logs of a training that TensorBoard shows, under the names of torch.utils.tensorboard.
#pragma once
#include <map>

#include "tandem/core/option.h"
#include "tandem/core/owned.h"
#include "tandem/core/tensor.h"

namespace tandem::logs {

/// How a SummaryWriter works.
struct SummaryWriterOptions {
  /// What the default log_dir ends with.
  TANDEM_ARG(std::string, comment) = {};
  /// After a crash, with the same log_dir: events of this step and later ones that the crashed run left are hidden.
  TANDEM_ARG(std::optional<int64_t>, purge_step) = {};
  /// How many events may wait in memory before a call writes them.
  TANDEM_ARG(int64_t, max_queue) = 10;
  /// After how many seconds a call writes what waits, however little it is.
  TANDEM_ARG(int64_t, flush_secs) = 120;
  /// What the names of the files end with.
  TANDEM_ARG(std::string, filename_suffix) = {};
};

/// Writes event files into a folder, which `tensorboard --logdir` of it, or of a folder above it, shows:
///
///     logs::SummaryWriter writer("runs/first");
///     for (int step = 0; step < steps; ++step) writer.add_scalar("loss", train_step(), step);
///
/// A tag's slashes group it: "train/loss" and "train/accuracy" stand together. Without global_step a value has step 0,
/// without walltime (seconds since 1970) the time of the call. What is added to is written by the calling thread, a few
/// events at a time; several threads may share a writer. In a job of several ranks let rank 0 alone have one.
class SummaryWriter {
 public:
  /// @param log_dir   "runs/" and the time, the host's name and the comment, unless given
  /// @throws Error    with the system's reason, when the folder or the file cannot be made
  explicit SummaryWriter(std::string log_dir = "", const SummaryWriterOptions& options = {});
  /// Writes what waits. A failure is told on the standard error; close() throws it.
  ~SummaryWriter();
  SummaryWriter(const SummaryWriter&) = delete;
  /// The folder.
  const std::string& get_logdir() const;

  /// A point of a curve. NaN and infinities are points too: TensorBoard marks them.
  /// @param new_style         as a tensor, which TensorBoard may load faster; by itself a float
  /// @param double_precision  of new_style: a double
  /// @throws Error            from here on when the file cannot be written
  void add_scalar(const std::string& tag, double scalar_value, std::optional<int64_t> global_step = {},
                  std::optional<double> walltime = {}, bool new_style = false, bool double_precision = false);
  /// The same of a tensor with one element, on any device: on a GPU the call waits for it.
  void add_scalar(const std::string& tag, const Tensor& scalar_value, std::optional<int64_t> global_step = {},
                  std::optional<double> walltime = {}, bool new_style = false, bool double_precision = false);
  /// Points of several curves in one chart: each name of tag_scalar_dict is a run of its own, in a folder
  /// LOG_DIR/MAIN-TAG_NAME.
  void add_scalars(const std::string& main_tag, const std::map<std::string, double>& tag_scalar_dict,
                   std::optional<int64_t> global_step = {}, std::optional<double> walltime = {});
  /// How the values of a tensor, of any shape and dtype, are distributed: counted in the bins of TensorFlow's, whose
  /// limits grow by a tenth from 1e-12 to 1e20 on both sides of zero.
  /// @throws Error  when there are no values, or some are NaN or infinite, as in TensorFlow
  void add_histogram(const std::string& tag, const Tensor& values, std::optional<int64_t> global_step = {},
                     std::optional<double> walltime = {});
  /// A picture: uint8, or floating point from 0 to 1, beyond which values are cut off. One channel is grey, three are
  /// red, green and blue, a fourth is opacity. For a batch, make_grid makes one picture of it.
  /// @param dataformats           CHW, HWC or HW
  /// @throws Error                for another shape, and for NaN
  /// @throws NotImplementedError  in a build without libpng
  void add_image(const std::string& tag, const Tensor& img_tensor, std::optional<int64_t> global_step = {},
                 std::optional<double> walltime = {}, const std::string& dataformats = "CHW");
  /// A text, which TensorBoard reads as Markdown.
  void add_text(const std::string& tag, const std::string& text_string, std::optional<int64_t> global_step = {},
                std::optional<double> walltime = {});

  /// Writes what waits.
  void flush();
  /// Writes what waits and ends the files. What is added later begins new ones.
  void close();

 private:
  struct State;
  tandem::detail::Owned<State> state_;
};

}  // namespace tandem::logs
