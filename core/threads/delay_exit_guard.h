// DelayExitGuard: guards calls into other libraries whose data exit() frees while other threads may still use it.
// Internal.
#pragma once

namespace tandem::detail {

/// Progress of exit().
enum class ExitStage {
  none,
  exit_began,       // exit() is destroying static objects of all libraries
  libraries_ended,  // all static objects are destroyed, and the destructors of shared libraries run
};

/// While this object lives, this thread is inside a library that must not be used once exit() reaches stage `end`. At
/// that stage exit() waits for the threads inside, ten seconds at most.
class DelayExitGuard {
 public:
  /// Marks this thread as inside the library. If `end` is libraries_ended and exit() has reached it, blocks until the
  /// process is gone, unless this thread called exit(). This cannot deadlock: no code that could wait for this thread
  /// runs at that stage.
  explicit DelayExitGuard(ExitStage end);
  ~DelayExitGuard();
  DelayExitGuard(const DelayExitGuard&) = delete;
  /// Whether the library may be used. Check this if `end` is exit_began.
  bool allowed() const { return allowed_; }

 private:
  ExitStage end_stage_;
  bool allowed_;
};

}  // namespace tandem::detail
