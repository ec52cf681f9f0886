// Writes the ranks' output, line by line, to files or to a reader that may be slow. Internal to ranks.cpp.
#pragma once
#include <memory>
#include <vector>

#include "tandem/parallel/collectives/store/socket.h"

namespace tandem::tools {

/// Destination of output lines: the launcher's own stdout or stderr, or a file. Writing never blocks on a slow reader.
class Sink {
 public:
  Sink(int fd, std::string name) : name_(std::move(name)), fd_(fd) {}
  /// Opens a file for writing. @throws Error if the file cannot be opened
  explicit Sink(const std::string& path);
  void append(const std::string& text) { pending_ += text; }
  /// Writes some of the pending text if the descriptor is writable now. If writing fails, for example because the disk
  /// is full, drops all pending text and counts its bytes, and the ranks go on.
  /// @throws Error if the reader has closed the pipe
  void write_pending();
  /// Returns the error message about the first dropped output. Later calls return "", and so does a call if nothing was
  /// dropped.
  std::string take_error();
  uint64_t num_dropped_bytes() const { return num_dropped_bytes_; }
  const std::string& name() const { return name_; }
  int fd() const { return fd_; }
  bool empty() const { return num_written_bytes_ == pending_.size(); }
  /// Returns whether so much text is pending that no more of the ranks' output should be read.
  bool is_full() const { return pending_.size() - num_written_bytes_ > kMaxPendingBytes; }

 private:
  static constexpr size_t kMaxPendingBytes = 1 << 20;
  void drop_pending(int error);
  std::string name_;
  distributed::Descriptor owned_fd_;
  int fd_;
  std::string pending_, error_;
  size_t num_written_bytes_ = 0;    // number of bytes of pending_ that are already written
  uint64_t num_dropped_bytes_ = 0;  // number of bytes that were dropped
};

/// One output stream (stdout or stderr) of a rank. Each line goes to the sink with a prefix.
class Output {
 public:
  Output(distributed::Descriptor from, Sink& to, std::string prefix)
      : source_fd_(std::move(from)), sink_(&to), prefix_(std::move(prefix)) {}
  /// Reads once and returns, so that a rank that writes without pause does not keep the other ranks waiting.
  void read_available();
  /// Reads the output that remains after the rank has ended.
  void read_remaining();
  /// Closes the stream. If the last line has no newline, passes it on too.
  void finish();
  /// Returns the file descriptor to poll; -1 if the stream has ended or the sink is full.
  int fd() const { return sink_->is_full() ? -1 : source_fd_.get(); }
  /// Returns the incomplete line at the end of the output or, if there is none, the last line that is not blank.
  const std::string& last_output_line() const { return buffer_.empty() ? last_line_ : buffer_; }

 private:
  bool read_once();
  void forward_lines(size_t length);
  distributed::Descriptor source_fd_;
  Sink* sink_;
  std::string prefix_, buffer_, last_line_;
};

/// The destinations (sinks) of the output of all ranks of a launcher. They are kept when the ranks are restarted.
class Sinks {
 public:
  /// @param folder  folder for the files rank_R.out and rank_R.err of each rank R; if "", output goes to the launcher's
  /// own stdout and stderr
  Sinks(const std::string& folder, int first_rank, int ranks);
  /// Returns the object that reads the stdout or stderr of the launcher's rank number `local` from `from`. Lines get
  /// the prefix "[RANK] " unless they go to a file.
  Output make_output(distributed::Descriptor from, bool is_error, int local);
  Sink& launcher_stderr() { return *sinks_[1]; }
  const std::vector<std::unique_ptr<Sink>>& sinks() const { return sinks_; }
  /// Writes some of each sink's pending text. If a sink has an error message (see Sink::take_error), prints the
  /// message, with the prefix `who`, to the launcher's stderr.
  void write_pending(const std::string& who);
  /// Prints to the launcher's stderr how many bytes each sink dropped. Called at the end of the job.
  void report_dropped(const std::string& who);
  bool empty() const;

 private:
  bool writes_to_files_;
  int first_rank_;
  /// Stdout and stderr, followed by two files for each rank if a folder is given.
  std::vector<std::unique_ptr<Sink>> sinks_;
};

}  // namespace tandem::tools
