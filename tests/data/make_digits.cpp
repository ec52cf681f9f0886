// Writes a small data set in MNIST's format, which a network can learn in seconds.
// usage: make_digits FOLDER
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

void put(std::ofstream& file, uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) file.put(static_cast<char>(number >> shift));
}

/// An image of label d is a bright bar. Labels 0 to 4 are horizontal bars, 5 to 9 vertical bars, at five positions.
void write_set(const std::filesystem::path& folder, const std::string& prefix, uint32_t count) {
  std::ofstream images(folder / (prefix + "-images-idx3-ubyte"), std::ios::binary);
  std::ofstream labels(folder / (prefix + "-labels-idx1-ubyte"), std::ios::binary);
  put(images, 0x803), put(images, count), put(images, 28), put(images, 28);
  put(labels, 0x801), put(labels, count);
  uint32_t noise = 1;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t label = (i * 7 + i / 10) % 10, start = 2 + label % 5 * 5;
    labels.put(static_cast<char>(label));
    for (uint32_t y = 0; y < 28; ++y)
      for (uint32_t x = 0; x < 28; ++x) {
        const uint32_t along = label < 5 ? y : x;
        noise = noise * 1664525 + 1013904223;
        images.put(static_cast<char>((along >= start && along < start + 4 ? 180 : 0) + (noise >> 26)));
      }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::filesystem::create_directories(argv[1]);
  write_set(argv[1], "train", 2000);
  write_set(argv[1], "t10k", 300);
}
