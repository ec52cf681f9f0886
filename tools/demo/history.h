// What `tandem demo --report` shows of a run beyond its row of the table.
#pragma once
#include <cstdint>
#include <vector>

namespace tandem::tools {

inline constexpr int kClassCount = 10;
/// FashionMNIST's classes, by their numbers.
extern const char* const kClasses[kClassCount];

struct History {
  struct Point {
    int64_t step;
    double value;
  };
  /// A test image that the trained network takes for something else.
  struct Mistake {
    int64_t image;  // its number
    int truth, predicted;
    double probability;  // of what it is taken for, by the network
  };
  std::vector<Point> losses;       // of the batch, or of rank 0's part of it
  std::vector<Point> accuracies;   // on the first test images: kLookedAt, or as many as there are
  std::vector<int64_t> confusion;  // [truth * kClassCount + predicted]: how many test images
  std::vector<Mistake> mistakes;   // the surest first
  int64_t steps = 0;               // in all
  static constexpr int64_t kLookedAt = 2000, kLooks = 12, kMistakes = 24;
};

}  // namespace tandem::tools
