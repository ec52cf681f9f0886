// What ranks write, passed on by whole lines to a reader that may be slow, or to files. Internal to ranks.cpp.
#pragma once
#include <memory>
#include <vector>

#include "tandem/parallel/collectives/store/socket.h"

namespace tandem::tools {

/// Where lines go: the launcher's own standard output or error, or a file. Nothing here waits for who reads it.
class Sink {
 public:
  Sink(int fd, std::string name) : name_(std::move(name)), fd_(fd) {}
  /// A new file. @throws Error when it cannot be made
  explicit Sink(const std::string& path);
  void add(const std::string& text) { pending_ += text; }
  /// Writes a piece, if the reader takes one now. If a full or broken disk refuses it, all pending text is dropped and
  /// counted, and the ranks go on. @throws Error if the reader is gone
  void write_some();
  /// Returns the message about the first dropped output, once; "" if there is none, or if it was returned already.
  std::string complaint();
  uint64_t dropped() const { return dropped_; }
  const std::string& name() const { return name_; }
  int fd() const { return fd_; }
  bool empty() const { return written_ == pending_.size(); }
  /// Whether ranks' output for this sink is not to be read now: the sink's reader is slower than the ranks.
  bool full() const { return pending_.size() - written_ > kMost; }

 private:
  static constexpr size_t kMost = 1 << 20;
  void drop(int error);
  std::string name_;
  distributed::Descriptor own_;
  int fd_;
  std::string pending_, complaint_;
  size_t written_ = 0;    // of `pending_`
  uint64_t dropped_ = 0;  // bytes
};

/// One of a rank's streams: its lines go to the sink, each with a prefix.
class Output {
 public:
  Output(distributed::Descriptor from, Sink& to, std::string prefix)
      : from_(std::move(from)), to_(&to), prefix_(std::move(prefix)) {}
  /// Reads once: whoever writes without end leaves the others their turn.
  void copy_some();
  /// Reads what is there, after the rank's end.
  void copy_rest();
  /// A last line may lack its end.
  void finish();
  /// To be polled; -1 when there is nothing to read, or no room for it.
  int fd() const { return to_->full() ? -1 : from_.get(); }
  /// The last thing that was said.
  const std::string& last_words() const { return rest_.empty() ? last_line_ : rest_; }

 private:
  bool read_once();
  void pass_on(size_t length);
  distributed::Descriptor from_;
  Sink* to_;
  std::string prefix_, rest_, last_line_;
};

/// Where the output of a launcher's ranks goes, over all their restarts.
class Sinks {
 public:
  /// @param folder  where rank 3 has rank_3.out and rank_3.err; "": the launcher's own streams
  Sinks(const std::string& folder, int first_rank, int ranks);
  /// A stream of the launcher's rank number `local`, with its rank in front of each line unless it goes to a file.
  Output output(distributed::Descriptor from, bool is_error, int local);
  Sink& error() { return *sinks_[1]; }
  const std::vector<std::unique_ptr<Sink>>& all() const { return sinks_; }
  /// Writes some of each. What a sink complains about goes to error(), after `who`.
  void write_some(const std::string& who);
  /// Says at the end how much was dropped.
  void add_losses(const std::string& who);
  bool empty() const;

 private:
  bool to_files_;
  int first_rank_;
  std::vector<std::unique_ptr<Sink>> sinks_;  // standard output and error, then two for each rank
};

}  // namespace tandem::tools
