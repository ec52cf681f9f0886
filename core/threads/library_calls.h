// Calls into other libraries whose data exit() frees while other threads may be inside. Internal.
#pragma once

namespace tandem::detail {

/// How far exit() has come.
enum class Ending {
  none,
  exit_began,       // static objects are destroyed next, also static objects of other libraries
  libraries_ended,  // they are destroyed, and the destructors of libraries run next
};

/// While one lives, this thread is inside a library that must not be used from `end` on. There exit() waits for the
/// threads inside, ten seconds at most.
class LibraryCall {
 public:
  /// Waits until the process is gone where `end` is libraries_ended and has come, unless this thread is the one that
  /// exits. No code of the program that could wait for this thread runs any more.
  explicit LibraryCall(Ending end);
  ~LibraryCall();
  LibraryCall(const LibraryCall&) = delete;
  /// Whether the library may be used. Ask where `end` is exit_began.
  bool allowed() const { return allowed_; }

 private:
  Ending end_;
  bool allowed_;
};

}  // namespace tandem::detail
