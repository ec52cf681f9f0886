// Maps sentences to vectors with all-MiniLM-L6-v2, or with another BERT in the format of sentence-transformers.
//
//   examples/sentence_embeddings/fetch_model.sh model
//   sentence_embeddings model < lines > vectors            prints one line of numbers for each line of text
//   sentence_embeddings model --similar 5 < lines          prints the five pairs of lines with the most similar meaning
#include <tandem/models/models.h>
#include <tandem/tandem.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <stdexcept>

using namespace tandem;

const char* const kUsage =
    "usage: sentence_embeddings MODEL_FOLDER [OPTIONS] < lines\n"
    "  --similar N      prints the N pairs of lines with the most similar meaning, instead of the vectors\n"
    "  --tokens         prints the token IDs of each line, instead of the vectors\n"
    "  --batch-size N   number of texts per batch (default 32)\n"
    "  --device D       cpu, cuda:0, cuda:1, ... (default cpu)\n"
    "  --time           prints the time of the texts, without loading the model, to the error output\n"
    "  --trace FILE     writes a trace for chrome://tracing or Perfetto\n"
    "fetch_model.sh, next to this program's source, downloads a model.\n";

struct Arguments {
  std::string folder, device = "cpu", trace;
  int64_t batch_size = 32, similar = 0;
  bool tokens = false, time = false;
};
int64_t parse_positive_number(const std::string& option, const std::string& text) {
  size_t read = 0;
  int64_t value = 0;
  try {
    value = std::stoll(text, &read);
  } catch (const std::logic_error&) {}
  if (read != text.size() || value < 1) throw std::invalid_argument(option + " is '" + text + "'; accepted: 1 or more");
  return value;
}
Arguments parse_arguments(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const auto value = [&]() -> std::string {
      if (++i == argc) throw std::invalid_argument(option + " needs a value");
      return argv[i];
    };
    if (option == "--similar")
      a.similar = parse_positive_number(option, value());
    else if (option == "--batch-size")
      a.batch_size = parse_positive_number(option, value());
    else if (option == "--device")
      a.device = value();
    else if (option == "--trace")
      a.trace = value();
    else if (option == "--tokens")
      a.tokens = true;
    else if (option == "--time")
      a.time = true;
    else if (option.rfind("-", 0) == 0 || !a.folder.empty())
      throw std::invalid_argument("'" + option + "' is not an option");
    else
      a.folder = option;
  }
  if (a.folder.empty()) throw std::invalid_argument("the argument MODEL_FOLDER is missing");
  return a;
}

void print_tokens(const models::SentenceTransformer& model, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    const char* separator = "";
    for (const int64_t id : model.tokenizer.encode(line).ids) {
      std::printf("%s%lld", separator, static_cast<long long>(id));
      separator = " ";
    }
    std::printf("\n");
  }
}
void print_vectors(const Tensor& vectors) {
  const float* value = vectors.data_ptr<float>();
  for (int64_t i = 0; i < vectors.size(0); ++i)
    for (int64_t k = 0; k < vectors.size(1); ++k)
      std::printf("%.9g%c", static_cast<double>(*value++), k + 1 < vectors.size(1) ? ' ' : '\n');
}
/// Prints the `num_pairs` pairs of lines with the largest cosine, in descending order.
void print_similar(const Tensor& vectors, const std::vector<std::string>& lines, int64_t num_pairs) {
  const int64_t n = vectors.size(0);
  const Tensor unit = nn::functional::normalize(vectors);
  const Tensor above = ones({n, n}, kBool).triu(1);  // selects each pair of different lines once
  const Tensor cosine = unit.matmul(unit.t()).masked_fill(above.logical_not(), -2).flatten();
  const auto [best, index] = cosine.topk(std::min(num_pairs, n * (n - 1) / 2));
  for (int64_t i = 0; i < best.size(0); ++i) {
    const int64_t at = index[i].item<int64_t>();
    std::printf("%.4f  %s  |  %s\n", best[i].item<double>(), lines[static_cast<size_t>(at / n)].c_str(),
                lines[static_cast<size_t>(at % n)].c_str());
  }
}

void print_embeddings(const Arguments& a) {
  models::SentenceTransformer model(a.folder, Device(a.device));
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
  if (a.tokens) return print_tokens(model, lines);

  if (!a.trace.empty()) start_trace();
  const auto start = std::chrono::steady_clock::now();
  const Tensor vectors = model.encode(lines, a.batch_size);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (!a.trace.empty()) stop_trace(a.trace);
  if (a.time)
    std::fprintf(stderr, "%zu texts in %.4f s, %.1f a second\n", lines.size(), seconds.count(),
                 static_cast<double>(lines.size()) / seconds.count());
  if (a.similar > 0)
    print_similar(vectors, lines, a.similar);
  else
    print_vectors(vectors);
}

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--help") == 0) {
    std::printf("%s", kUsage);
    return 0;
  }
  try {
    print_embeddings(parse_arguments(argc, argv));
  } catch (const std::invalid_argument& e) {
    std::fprintf(stderr, "sentence_embeddings: %s\n%s", e.what(), kUsage);
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "sentence_embeddings: %s\n", e.what());
    return 1;
  }
}
