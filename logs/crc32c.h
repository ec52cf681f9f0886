// CRC-32C, the checksum of TensorBoard's records.
#pragma once
#include <cstdint>
#include <string_view>

namespace tandem::logs {

/// The CRC of Castagnoli's polynomial 0x1EDC6F41, bits reflected, as RFC 3720 (appendix B.4) has it for iSCSI.
uint32_t crc32c(std::string_view bytes);
/// The form in which records keep it: rotated by 15 bits, plus a constant. The CRC of data that contain their own CRC
/// says little; masked, it does not collide so.
uint32_t masked_crc32c(std::string_view bytes);

}  // namespace tandem::logs
