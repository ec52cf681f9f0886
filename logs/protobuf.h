// Protocol Buffers' wire format (https://protobuf.dev/programming-guides/encoding), as far as TensorBoard's events need
// it: a library for these few fields would be larger than all of this folder.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::logs {

/// The fields of one message, appended in the order of the calls; Google's writers order them by their numbers.
class ProtoMessage {
 public:
  /// An int32, int64 or enum. As proto3 has it, a zero is left out, here and in number().
  ProtoMessage& integer(int field, int64_t value);
  /// A double.
  ProtoMessage& number(int field, double value);
  /// A float, zero or not: for members of a `oneof`, which are written even then.
  ProtoMessage& single(int field, float value);
  /// A string, bytes, or another message.
  ProtoMessage& bytes(int field, std::string_view value);
  ProtoMessage& message(int field, const ProtoMessage& value) { return bytes(field, value.bytes_); }
  /// `repeated double` or `repeated float`, packed.
  ProtoMessage& numbers(int field, const std::vector<double>& values);
  ProtoMessage& singles(int field, const std::vector<float>& values);
  const std::string& str() const { return bytes_; }

 private:
  void varint(uint64_t value);
  void key(int field, int wire_type);
  std::string bytes_;
};

/// `value` as Protocol Buffers and TensorBoard's records have numbers: the lowest byte first.
void append_little_endian(std::string& to, uint64_t value, int bytes);

}  // namespace tandem::logs
