#include "tandem/parallel/from_ranks.h"

#include <algorithm>
#include <cstring>

#include "tandem/core/internal.h"
#include "tandem/ops/ops.h"

namespace tandem::detail {
namespace {

using distributed::ProcessGroup;

/// The bytes where the group takes tensors, and zeros behind them.
Tensor tensor_of(const std::string& bytes, int64_t length, Device device) {
  const Tensor out = zeros({length}, kUInt8);
  std::memcpy(out.data<uint8_t>(), bytes.data(), std::min(bytes.size(), static_cast<size_t>(length)));
  return out.to(device);
}
std::string bytes_of(const Tensor& tensor, int64_t length) {
  const Tensor here = tensor.to(kCPU);
  return {reinterpret_cast<const char*>(here.data<uint8_t>()), static_cast<size_t>(length)};
}
std::string broadcast(ProcessGroup& group, const std::string& bytes) {
  const Tensor length = full({1}, static_cast<int64_t>(bytes.size()), kInt64).to(group.device());
  group.broadcast(length, 0, "the length of a message")->synchronize();
  const auto size = length.to(kCPU).item<int64_t>();
  const Tensor message = tensor_of(bytes, size, group.device());
  group.broadcast(message, 0, "a message")->synchronize();
  return bytes_of(message, size);
}

}  // namespace

std::string from_first(const distributed::ProcessGroupPtr& group, const std::function<std::string()>& f) {
  if (!group || group->size() == 1) return f();
  std::string message;
  if (group->rank() == 0) try {
      message = "value" + f();
    } catch (const std::exception& error) {
      message = std::string("error") + error.what();
    }
  message = broadcast(*group, message);
  const std::string kind = message.substr(0, 5);
  message.erase(0, 5);
  if (kind == "error") throw Error(message);
  return message;
}

std::vector<std::string> from_all(const distributed::ProcessGroupPtr& group, const std::string& mine) {
  if (!group || group->size() == 1) return {mine};
  const auto ranks = static_cast<size_t>(group->size());
  std::vector<Tensor> lengths, messages;
  for (size_t r = 0; r < ranks; ++r) lengths.push_back(zeros({1}, kInt64).to(group->device()));
  const Tensor length = full({1}, static_cast<int64_t>(mine.size()), kInt64).to(group->device());
  group->all_gather(lengths, length, "the lengths of messages")->synchronize();
  std::vector<int64_t> sizes(ranks);
  for (size_t r = 0; r < ranks; ++r) sizes[r] = lengths[r].to(kCPU).item<int64_t>();
  const int64_t longest = *std::max_element(sizes.begin(), sizes.end());
  const Tensor message = tensor_of(mine, longest, group->device());
  for (size_t r = 0; r < ranks; ++r) messages.push_back(empty_like(message));
  group->all_gather(messages, message, "messages")->synchronize();
  std::vector<std::string> out;
  for (size_t r = 0; r < ranks; ++r) out.push_back(bytes_of(messages[r], sizes[r]));
  return out;
}

}  // namespace tandem::detail
