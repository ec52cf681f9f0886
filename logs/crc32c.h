// CRC-32C, the checksum in TensorBoard's records.
#pragma once
#include <cstdint>
#include <string_view>

namespace tandem::logs {

/// Returns the CRC with Castagnoli's polynomial 0x1EDC6F41, bits reflected, as in RFC 3720 (appendix B.4, iSCSI).
uint32_t crc32c(std::string_view bytes);
/// Returns the masked CRC that records store: rotated right by 15 bits, plus a constant. The plain CRC of data followed
/// by their own CRC is always the same number; masking avoids that.
uint32_t masked_crc32c(std::string_view bytes);

}  // namespace tandem::logs
