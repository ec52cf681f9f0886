// Makes small files for the examples: a table of houses, and images of two classes.
// usage: make_files FOLDER      writes FOLDER/houses.csv and FOLDER/images/{dark,light}/NUMBER.png
#include <filesystem>
#include <fstream>

#include "tandem/data/images/image_grid.h"
#include "tandem/tandem.h"

using namespace tandem;

int main(int, char** argv) {
  const std::filesystem::path folder = argv[1];
  manual_seed(3);
  std::filesystem::create_directories(folder);
  std::ofstream houses(folder / "houses.csv");
  houses << "area,rooms,city,price\n";
  const Tensor numbers = rand({300, 2}, kFloat64);
  for (int64_t i = 0; i < 300; ++i) {
    const double area = 30 + 170 * numbers[i][0].item<double>(), noise = 5 * numbers[i][1].item<double>();
    const int64_t rooms = 1 + i % 6, city = i % 3;
    if (i % 60 == 0)
      houses << ",";  // the area is missing
    else
      houses << area << ",";
    const char* const names[] = {"Paris", "\"London, Ontario\"", "Rome"};
    houses << rooms << ',' << names[city] << ','
           << 2 * area + 10 * static_cast<double>(rooms) + 50 * static_cast<double>(city) + noise << '\n';
  }
  for (const char* const kind : {"dark", "light"}) {
    std::filesystem::create_directories(folder / "images" / kind);
    for (int i = 0; i < 40; ++i) {
      const Tensor image = rand({3, 20 + i % 5, 24}) * 0.6 + (*kind == 'd' ? 0.0 : 0.4);
      data::save_image(image, (folder / "images" / kind / (std::to_string(i) + ".png")).string());
    }
  }
}
