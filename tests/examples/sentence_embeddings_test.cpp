// Tests the example sentence_embeddings with a small model: its output and its exit status.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "tandem/tests/catch.h"
#include "tandem/tests/models/small_sentence_model.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/process.h"

namespace tandem {

static test::Result embed(const std::vector<std::string>& arguments, const std::string& lines) {
  const test::TemporaryFolder folder;
  test::write_file(folder / "lines", lines);
  return test::run_program(std::string(test::kExamples) + "/sentence_embeddings", arguments, [&] {
    const int file = open((folder / "lines").c_str(), O_RDONLY);
    dup2(file, STDIN_FILENO);
    close(file);
  });
}
static std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}
static std::vector<double> numbers_of(const std::string& line) {
  std::vector<double> out;
  double value = 0;
  for (std::istringstream in(line); in >> value;) out.push_back(value);
  return out;
}

TEST_CASE("example sentence_embeddings prints vectors, tokens and similar lines", "[examples]") {
  const test::SmallSentenceModel model;
  test::write_file(model.at / "tokenizer_config.json", R"({"do_lower_case": true})");  // without it there is a warning
  const std::string folder = model.at.path(), text = "a b\nc\n\nA, b\na b\nb\xff\n";
  const test::Result vectors = embed({folder}, text);
  INFO(vectors.output);
  REQUIRE(vectors.status == 0);
  const auto rows = lines_of(vectors.output);
  REQUIRE(rows.size() == 6);
  // The same text at two positions of a batch gives vectors that differ by rounding.
  const std::vector<double> first = numbers_of(rows[0]), again = numbers_of(rows[4]), other = numbers_of(rows[1]);
  REQUIRE(first.size() == 16);
  REQUIRE(again.size() == 16);
  REQUIRE(other.size() == 16);
  double squares = 0, apart = 0, others_apart = 0;
  for (size_t i = 0; i < 16; ++i) {
    squares += first[i] * first[i];
    apart = std::max(apart, std::abs(first[i] - again[i]));
    others_apart = std::max(others_apart, std::abs(first[i] - other[i]));
  }
  CHECK(squares == Approx(1).epsilon(1e-5));
  CHECK(apart < 1e-5);
  CHECK(others_apart > 0.01);

  CHECK(embed({folder, "--tokens"}, text).output == "2 5 6 3\n2 7 3\n2 3\n2 5 1 6 3\n2 5 6 3\n2 6 3\n");
  const test::Result similar = embed({folder, "--similar", "1", "--batch-size", "2"}, text);
  CHECK(similar.output == "1.0000  a b  |  a b\n");
  CHECK_THAT(embed({folder, "--similar", "1", "--time"}, text).output, Contains("6 texts in "));
  CHECK(embed({folder}, "").output.empty());
  CHECK(embed({folder, "--similar", "3"}, "a\n").output.empty());
}

TEST_CASE("example sentence_embeddings says what is wrong with a call", "[examples]") {
  const auto says = [](const std::vector<std::string>& arguments, int status, const std::string& text) {
    const test::Result result = embed(arguments, "a\n");
    CHECK(result.status == status);
    CHECK_THAT(result.output, Contains(text));
  };
  says({}, 2, "the argument MODEL_FOLDER is missing");
  says({"m", "--batch-size", "0"}, 2, "--batch-size is '0'; accepted: 1 or more");
  says({"m", "--similar"}, 2, "--similar needs a value");
  says({"m", "--smilar", "3"}, 2, "'--smilar' is not an option");
  says({"--help"}, 0, "usage: sentence_embeddings MODEL_FOLDER");
  says({"/nowhere"}, 1, "/nowhere cannot be read");
}

}  // namespace tandem
