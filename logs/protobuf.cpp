// Implements ProtoMessage: appends keys, varints, numbers, byte strings and packed lists to a message.
#include "tandem/logs/protobuf.h"

#include <bit>

namespace tandem::logs {
namespace {

enum WireType { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

}  // namespace

void append_little_endian(std::string& to, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i));
}

void ProtoMessage::append_varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
  bytes_ += static_cast<char>(value);
}
void ProtoMessage::append_tag(int field, int wire_type) {
  append_varint(static_cast<uint64_t>(field) << 3 | wire_type);
}

ProtoMessage& ProtoMessage::add_int64(int field, int64_t value) {
  if (value == 0) return *this;
  append_tag(field, kVarint);
  append_varint(static_cast<uint64_t>(value));
  return *this;
}
ProtoMessage& ProtoMessage::add_double(int field, double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  if (bits == 0) return *this;  // omits 0.0, the default, but not -0.0
  append_tag(field, kFixed64);
  append_little_endian(bytes_, bits, 8);
  return *this;
}
ProtoMessage& ProtoMessage::add_float(int field, float value) {
  append_tag(field, kFixed32);
  append_little_endian(bytes_, std::bit_cast<uint32_t>(value), 4);
  return *this;
}
ProtoMessage& ProtoMessage::add_bytes(int field, std::string_view value) {
  append_tag(field, kLengthDelimited);
  append_varint(value.size());
  bytes_ += value;
  return *this;
}
ProtoMessage& ProtoMessage::add_packed_doubles(int field, const std::vector<double>& values) {
  std::string packed;
  for (const double value : values) append_little_endian(packed, std::bit_cast<uint64_t>(value), 8);
  return add_bytes(field, packed);
}
ProtoMessage& ProtoMessage::add_packed_floats(int field, const std::vector<float>& values) {
  std::string packed;
  for (const float value : values) append_little_endian(packed, std::bit_cast<uint32_t>(value), 4);
  return add_bytes(field, packed);
}

}  // namespace tandem::logs
