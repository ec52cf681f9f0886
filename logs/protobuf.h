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
  /// Appends an int32, int64 or enum. add_int64() and add_double() omit zeros, as in proto3.
  ProtoMessage& add_int64(int field, int64_t value);
  /// Appends a double.
  ProtoMessage& add_double(int field, double value);
  /// Appends a float, even if it is zero: members of a `oneof` are always written.
  ProtoMessage& add_float(int field, float value);
  /// Appends a string, bytes, or another message.
  ProtoMessage& add_bytes(int field, std::string_view value);
  ProtoMessage& add_message(int field, const ProtoMessage& value) { return add_bytes(field, value.bytes_); }
  /// add_packed_doubles() appends a packed `repeated double`, and add_packed_floats() a packed `repeated float`.
  ProtoMessage& add_packed_doubles(int field, const std::vector<double>& values);
  ProtoMessage& add_packed_floats(int field, const std::vector<float>& values);
  const std::string& str() const { return bytes_; }

 private:
  void append_varint(uint64_t value);
  void append_tag(int field, int wire_type);
  std::string bytes_;
};

/// Appends the lowest `bytes` bytes of `value`, lowest byte first, as in Protocol Buffers and TensorBoard's records.
void append_little_endian(std::string& to, uint64_t value, int bytes);

}  // namespace tandem::logs
