// Writer for the Protocol Buffers wire format (https://protobuf.dev/programming-guides/encoding), limited to the
// fields of TensorBoard events. A library for these few fields would be larger than this folder.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::logs {

/// A message under construction. Fields are appended in the order of the calls; Google's writers order them by number.
class ProtoMessage {
 public:
  /// Appends an int32, int64 or enum. integer() and float64() omit zeros, as in proto3.
  ProtoMessage& integer(int field, int64_t value);
  /// Appends a double.
  ProtoMessage& float64(int field, double value);
  /// Appends a float, even if it is zero: members of a `oneof` are always written.
  ProtoMessage& float32(int field, float value);
  /// Appends a string, bytes, or another message.
  ProtoMessage& bytes(int field, std::string_view value);
  ProtoMessage& message(int field, const ProtoMessage& value) { return bytes(field, value.bytes_); }
  /// packed_float64() appends a packed `repeated double`, and packed_float32() a packed `repeated float`.
  ProtoMessage& packed_float64(int field, const std::vector<double>& values);
  ProtoMessage& packed_float32(int field, const std::vector<float>& values);
  const std::string& str() const { return bytes_; }

 private:
  void varint(uint64_t value);
  void append_key(int field, int wire_type);
  std::string bytes_;
};

/// Appends the lowest `bytes` bytes of `value`, lowest byte first, as in Protocol Buffers and TensorBoard's records.
void append_little_endian(std::string& to, uint64_t value, int bytes);

}  // namespace tandem::logs
