// Implements suggest_nearest_word, join_with_commas and check_num_threads, which suggest corrections for misspelt names
// and check values.
#include "tandem/tools/usage.h"

#include <algorithm>
#include <cstdio>

#include "tandem/core/threads/cpu_info.h"

namespace tandem::tools {
namespace {

/// Returns the number of insertions, deletions, substitutions and swaps of neighbouring letters that turn `a` into `b`
/// (Damerau-Levenshtein distance with restricted swaps).
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::string nearest_word(const std::string& input, const std::vector<std::string>& words) {
  std::string best;
  size_t best_distance = input.size() / 3 + 1;
  for (const std::string& word : words)
    if (const size_t distance = edit_distance(input, word); distance < best_distance) {
      best_distance = distance;
      best = word;
    }
  for (const std::string& word : words)
    if (best.empty() && input.size() >= 2 && word.starts_with(input)) best = word;
  return best;
}
std::string suggest_nearest_word(const std::string& input, const std::vector<std::string>& words) {
  const std::string word = nearest_word(input, words);
  return word.empty() ? "" : "; did you mean '" + word + "'?";
}
std::string join_with_commas(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

int check_num_threads(int input) {
  if (input <= num_usable_cores()) return input;
  std::fprintf(stderr, "tandem: --threads %d: only %d core(s) are usable, so it uses %d thread(s)\n", input,
               num_usable_cores(), num_usable_cores());
  return num_usable_cores();
}

}  // namespace tandem::tools
