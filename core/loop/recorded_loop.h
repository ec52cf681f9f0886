// RecordedLoop: a copy of a loop that a Graph keeps after the call that made it.
#pragma once
#include <cstddef>
#include <cstring>
#include <memory>

#include "tandem/core/loop/loop.h"

namespace tandem::detail {

/// Owns a copy of a loop, with the operands in use and a copy of the context.
class RecordedLoop {
 public:
  explicit RecordedLoop(const Loop& loop) : memory_(new char[used_bytes(loop)]) {
    std::memcpy(memory_.get(), &loop, used_bytes(loop));
    if (loop.context.data) mutable_loop().context.data = loop.context.copy(loop.context.data);
  }
  RecordedLoop(RecordedLoop&&) = default;
  RecordedLoop& operator=(RecordedLoop&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~RecordedLoop() {
    if (memory_ && mutable_loop().context.data)
      mutable_loop().context.destroy(const_cast<void*>(mutable_loop().context.data));
  }
  const Loop& get() const { return *reinterpret_cast<const Loop*>(memory_.get()); }
  /// Number of bytes from the start of a loop to the end of its last operand in use.
  static size_t used_bytes(const Loop& loop) {
    return offsetof(Loop, operands) + static_cast<size_t>(loop.operand_count) * sizeof(Operand);
  }

 private:
  Loop& mutable_loop() { return *reinterpret_cast<Loop*>(memory_.get()); }
  std::unique_ptr<char[]> memory_;
};

}  // namespace tandem::detail
