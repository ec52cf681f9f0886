// Passes the ranks' output on, in whole lines, to a reader that may be slow or to files. Internal to ranks.cpp.
#pragma once
#include <memory>
#include <vector>

#include "tandem/parallel/collectives/store/socket.h"

namespace tandem::tools {

/// A destination of lines: the launcher's own stdout or stderr, or a file. It never blocks on a slow reader.
class Sink {
 public:
  Sink(int fd, std::string name) : name_(std::move(name)), fd_(fd) {}
  /// Creates a file. @throws Error if it cannot be created
  explicit Sink(const std::string& path);
  void add(const std::string& text) { pending_ += text; }
  /// Writes a piece of the pending text if the descriptor is writable now. If the disk is full or fails, drops and
  /// counts all pending text, and the ranks go on. @throws Error if the reader has closed the pipe
  void write_some();
  /// Returns the message about the first dropped output, once; "" if there is none, or if it was returned already.
  std::string complaint();
  uint64_t dropped() const { return dropped_; }
  const std::string& name() const { return name_; }
  int fd() const { return fd_; }
  bool empty() const { return written_ == pending_.size(); }
  /// Returns whether too much text is pending to read more of the ranks' output.
  bool full() const { return pending_.size() - written_ > kMost; }

 private:
  static constexpr size_t kMost = 1 << 20;
  void drop(int error);
  std::string name_;
  distributed::Descriptor own_;
  int fd_;
  std::string pending_, complaint_;
  size_t written_ = 0;    // bytes of `pending_` already written
  uint64_t dropped_ = 0;  // bytes
};

/// One output stream of a rank; its lines go to the sink, each with a prefix.
class Output {
 public:
  Output(distributed::Descriptor from, Sink& to, std::string prefix)
      : from_(std::move(from)), to_(&to), prefix_(std::move(prefix)) {}
  /// Reads once, so that a rank that writes without pause does not starve the others.
  void copy_some();
  /// Reads the remaining output after the rank's end.
  void copy_rest();
  /// Closes the stream and passes on a last line without a newline.
  void finish();
  /// Returns the descriptor to poll; -1 if the stream has ended or the sink is full.
  int fd() const { return to_->full() ? -1 : from_.get(); }
  /// Returns the last line that is not blank, or an incomplete line after it.
  const std::string& last_words() const { return rest_.empty() ? last_line_ : rest_; }

 private:
  bool read_once();
  void pass_on(size_t length);
  distributed::Descriptor from_;
  Sink* to_;
  std::string prefix_, rest_, last_line_;
};

/// The destinations of the output of a launcher's ranks, kept over restarts.
class Sinks {
 public:
  /// @param folder  folder of rank_3.out and rank_3.err for rank 3; "": the launcher's own streams
  Sinks(const std::string& folder, int first_rank, int ranks);
  /// Returns the stdout or stderr stream of the launcher's rank number `local`. Lines get the prefix "[RANK] " unless
  /// they go to a file.
  Output output(distributed::Descriptor from, bool is_error, int local);
  Sink& error() { return *sinks_[1]; }
  const std::vector<std::unique_ptr<Sink>>& all() const { return sinks_; }
  /// Writes a piece of each sink's text. Adds a sink's complaint, with the prefix `who`, to error().
  void write_some(const std::string& who);
  /// Adds to error(), at the end, how many bytes each sink dropped.
  void add_losses(const std::string& who);
  bool empty() const;

 private:
  bool to_files_;
  int first_rank_;
  std::vector<std::unique_ptr<Sink>> sinks_;  // stdout and stderr; with a folder, then two files for each rank
};

}  // namespace tandem::tools
