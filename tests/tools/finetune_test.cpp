// Tests of `tandem finetune`: the rules of generated sentences, labels, equal results of strategies, and resuming.
#include "tandem/tools/finetune/finetune.h"

#include <array>
#include <filesystem>

#include "tandem/core/error.h"
#include "tandem/serialize/safetensors.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/mistakes.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/process.h"
#include "tandem/tests/temporary.h"
#include "tandem/text/bert_tokenizer.h"
#include "tandem/tools/finetune/sentence_rules.h"
#include "tandem/tools/usage.h"

using namespace tandem;
using namespace tandem::tools;
using finetune::SentencePair;
using finetune::Settings;
using finetune::SplitResult;
using Words = std::vector<std::string>;

namespace {

Words split_words(const std::string& text) {
  Words words;
  std::string word;
  for (const char c : text + " ")
    if (std::isalpha(static_cast<unsigned char>(c)))
      word += static_cast<char>(std::tolower(c));
    else if (!word.empty())
      words.push_back(std::exchange(word, ""));
  return words;
}
size_t position(const Words& words, const std::string& word) {
  return static_cast<size_t>(std::find(words.begin(), words.end(), word) - words.begin());
}

// An independent reading of the sentences: all possible worlds are listed, and the label follows from the worlds in
// which the premise is true.
std::string label_of_worlds(int worlds, const std::function<bool(int)>& premise,
                            const std::function<bool(int)>& hypothesis) {
  int both = 0, premise_only = 0;
  for (int world = 0; world < worlds; ++world)
    if (premise(world)) ++(hypothesis(world) ? both : premise_only);
  REQUIRE(both + premise_only > 0);
  return premise_only == 0 ? "entailment" : both == 0 ? "contradiction" : "neutral";
}
std::string label_of_quantities(const SentencePair& pair) {
  static const Words kNumbers = {"one",   "two",   "three", "four", "five",   "six",
                                 "seven", "eight", "nine",  "ten",  "eleven", "twelve"};
  const Words p = split_words(pair.premise), h = split_words(pair.hypothesis);
  const Words said(p.end() - 4, p.end());  // NAME has NUMBER THINGS
  REQUIRE(h.size() == 6);                  // NAME has more|fewer than NUMBER THINGS
  REQUIRE(said[0] == h[0]);
  const auto count = static_cast<int>(position(kNumbers, said[2]) + 1),
             bound = static_cast<int>(position(kNumbers, h[4]) + 1);
  const bool same = said[3] == h[5];
  // A world is the number of the premise's things, and of other things.
  return label_of_worlds(
      20 * 20, [&](int w) { return w % 20 == count; },
      [&](int w) {
        const int number = same ? w % 20 : w / 20;
        return h[2] == "more" ? number > bound : number < bound;
      });
}
std::string label_of_quantifiers(const SentencePair& pair) {
  const Words p = split_words(pair.premise), h = split_words(pair.hypothesis);
  REQUIRE(Words(p.end() - 5, p.end()) == Words({"of", "the", h[3], "are", h[5]}));
  // A world is the number of people, of five, for whom the state is true.
  const auto holds = [](const std::string& quantifier, int number) {
    return quantifier == "all"    ? number == 5
           : quantifier == "none" ? number == 0
           : quantifier == "some" ? number > 0
                                  : 2 * number > 5;
  };
  return label_of_worlds(
      6, [&](int w) { return holds(p[p.size() - 6], w); }, [&](int w) { return holds(h[0], w); });
}
std::string label_of_containment(const SentencePair& pair) {
  Words p = split_words(pair.premise), h = split_words(pair.hypothesis);
  p.erase(p.begin(), p.end() - 13);  // the OBJECT is in the INNER and the INNER is in the OUTER
  const bool negated = h[3] == "not", same = h[1] == p[1];
  const std::string& where = h.back();
  REQUIRE((where == p[5] || where == p[12]));
  REQUIRE(p[5] == p[8]);
  // A world says whether the other object is in that place.
  return label_of_worlds(
      2, [](int) { return true; }, [&](int w) { return (same || w == 1) != negated; });
}

/// A folder with a small model and files of 84 and 30 rows.
struct SmallJob {
  SmallJob() {
    finetune::make_small_model(folder / "model", 3);
    const auto pairs = finetune::make_sentence_pairs(114, 9);
    finetune::write_multinli(folder / "train.jsonl", {pairs.begin(), pairs.begin() + 84});
    finetune::write_multinli(folder / "dev.jsonl", {pairs.begin() + 84, pairs.end()});
  }
  Settings settings(const std::string& output, const std::string& strategy = "single", int64_t devices = 1) const {
    Settings s;
    s.model = folder / "model";
    s.train = folder / "train.jsonl";
    s.validation = {folder / "dev.jsonl"};
    s.output = folder / output;
    s.device = "cpu";
    s.strategy = strategy;
    s.devices = devices;
    s.epochs = 2;
    s.batch_size = 12;
    s.lr = 1e-3;
    s.dropout = 0;
    return s;
  }
  /// Returns the weights that a job has written.
  NamedTensors weights(const std::string& output) const {
    return load_safetensors(folder / (output + "/model.safetensors"));
  }
  test::TemporaryFolder folder;
};
double difference(const NamedTensors& a, const NamedTensors& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (const auto& [name, tensor] : a) largest = std::max(largest, (tensor - b.at(name)).abs().max().item<double>());
  return largest;
}

}  // namespace

TEST_CASE("the labels of generated sentences follow from their meaning", "[finetune]") {
  const auto pairs = finetune::make_sentence_pairs(3000, 4);
  std::map<std::string, int> labels, rules;
  for (const SentencePair& pair : pairs) {
    INFO(pair.premise << " | " << pair.hypothesis);
    const std::string expected = pair.rule == "quantities"    ? label_of_quantities(pair)
                                 : pair.rule == "containment" ? label_of_containment(pair)
                                                              : label_of_quantifiers(pair);
    CHECK(pair.label == expected);
    ++labels[pair.label];
    ++rules[pair.rule];
  }
  CHECK(labels.size() == 3);
  for (const auto& [label, count] : labels) CHECK(count > 800);
  CHECK(rules.size() == 3);
  CHECK(finetune::make_sentence_pairs(10, 4)[9].premise == pairs[9].premise);
  // All words are in the vocabulary of the small model.
  const Words vocabulary = finetune::sentence_words();
  for (const SentencePair& pair : pairs)
    for (const std::string& word : split_words(pair.premise + " " + pair.hypothesis))
      CHECK(std::binary_search(vocabulary.begin(), vocabulary.end(), word));
}

TEST_CASE("all strategies fine-tune to the same weights", "[finetune]") {
  const SmallJob job;
  const auto run = [&](const std::string& strategy, int64_t devices) {
    const std::string output = strategy + std::to_string(devices);
    const auto results = finetune::finetune(job.settings(output, strategy, devices));
    REQUIRE(results.size() == 1);
    CHECK(results[0].rows() == 30);
    return job.weights(output);
  };
  const NamedTensors single = run("single", 1);
  for (const int64_t devices : {2, 3}) {
    const NamedTensors dp = run("dp", devices);
    // 2e-5: float32, and Adam divides small gradients by their own size; the gradients of shards are added up in
    // another order than those of rows.
    CHECK(difference(dp, single) < 2e-5);
    CHECK(difference(run("dp_loss", devices), dp) == 0);
    if (devices == 2)
      CHECK(difference(run("ddp", devices), dp) == 0);
    else  // ddp divides by 3 after the sum, which rounds
      CHECK(difference(run("ddp", devices), dp) < 2e-5);
  }
}

TEST_CASE("a fine-tuning that is stopped and resumed at any step ends with the same weights", "[finetune]") {
  const SmallJob job;
  const auto run = [&](const std::string& output, const std::string& strategy, int64_t stop_after, bool resume) {
    Settings s = job.settings(output, strategy, strategy == "single" ? 1 : 2);
    s.checkpoint_steps = 1;
    s.dropout = 0.1;
    s.accumulate = 2;
    s.stop_after_steps = stop_after;
    s.resume = resume;
    return finetune::finetune(s).at(0);
  };
  for (const std::string strategy : {"single", "ddp"}) {
    const SplitResult whole = run(strategy, strategy, -1, false);
    for (const int64_t step : {1, 4, 6}) {  // within the first epoch, at its end, within the second
      const std::string output = strategy + std::to_string(step);
      run(output, strategy, step, false);
      const SplitResult resumed = run(output, strategy, -1, true);
      INFO(strategy << " resumed after step " << step);
      CHECK(difference(job.weights(output), job.weights(strategy)) == 0);
      CHECK(resumed.confusion.equal(whole.confusion));
      CHECK(resumed.loss == whole.loss);
    }
  }
}

TEST_CASE("the trained model and its tokenizer load again, and give the reported results", "[finetune]") {
  const SmallJob job;
  Settings s = job.settings("out");
  s.test = {job.folder / "train.jsonl"};
  s.log = job.folder / "log.jsonl";
  const auto results = finetune::finetune(s);
  REQUIRE(results.size() == 2);
  CHECK(results[1].name == "train");
  const auto model = models::BertForSequenceClassification::from_pretrained(s.output);
  CHECK(model->config.id2label() == Words{"entailment", "neutral", "contradiction"});  // the model's own order
  const auto tokenizer = text::load_tokenizer(s.output);
  const auto rows =
      text::read_labelled_texts(s.validation[0], text::LabelledTextsOptions().label_names(model->config.id2label()));
  const text::BatchEncoding x = (*tokenizer)(rows.texts, rows.pairs);
  const NoGradGuard guard;
  const Tensor predicted = model->forward(x.input_ids, x.attention_mask, x.token_type_ids).logits.argmax(1);
  CHECK((predicted == tensor(rows.labels)).sum().item<int64_t>() == results[0].correct());
  CHECK_THAT(test::read_file(s.log), Contains("train_loss") && Contains("val_accuracy") && Contains("dev_accuracy") &&
                                         Contains("examples_per_second"));
  CHECK_THAT(finetune::format_result(results[0], {"a", "b", "contradiction"}),
             Contains("dev: accuracy 0.") && Contains(" of 30)") && Contains("label \\ predicted"));
}

TEST_CASE("wrong calls of finetune say what is accepted", "[finetune]") {
  const SmallJob job;
  const auto pairs = finetune::make_sentence_pairs(20, 9);
  finetune::write_multinli(job.folder / "multinli_1.0_dev_matched.jsonl", pairs);
  const auto usage_error = [&](const std::function<void(Settings&)>& change) {
    Settings s = job.settings("out");
    change(s);
    try {
      finetune::finetune(s);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK_THAT(usage_error([](Settings& s) { s.model = ""; }), Contains("--train needs --model"));
  CHECK_THAT(usage_error([](Settings& s) { s.validation.clear(); }), Contains("go together"));
  CHECK_THAT(usage_error([](Settings& s) { s.model = "/none"; }), Contains("/none"));
  CHECK_THAT(usage_error([](Settings& s) { s.train = "none.tsv"; }), Contains("none.tsv"));
  CHECK_THAT(usage_error([](Settings& s) { s.label_column = "label"; }), Contains("line 1") && Contains("'label'"));
  CHECK_THAT(usage_error([&](Settings& s) { s.validation = {job.folder / "multinli_1.0_dev_matched.jsonl"}; }),
             Contains("has 20 labelled rows") && Contains("9815"));
}

TEST_CASE("the command finetune trains, writes a model, and refuses wrong options", "[finetune][command]") {
  const SmallJob job;
  const std::string out = job.folder / "out";
  const Words arguments = {"finetune",
                           "--model",
                           job.folder / "model",
                           "--train",
                           job.folder / "train.jsonl",
                           "--validation",
                           job.folder / "dev.jsonl",
                           "--output",
                           out,
                           "--epochs",
                           "1",
                           "--device",
                           "cpu"};
  const test::Result done = test::run_program(test::kCommand, arguments);
  INFO(done.output);
  CHECK(done.status == 0);
  CHECK_THAT(done.output,
             Contains("training   train: 84 rows") && Contains("dev: accuracy") && Contains("the model is in " + out));
  CHECK(std::filesystem::exists(out + "/model.safetensors"));
  CHECK(std::filesystem::exists(out + "/tokenizer.json"));
  Words wrong = arguments;
  wrong[2] = "/none";
  const test::Result refused = test::run_program(test::kCommand, wrong);
  CHECK(refused.status == 2);
  CHECK_THAT(refused.output, Contains("tandem finetune: ") && Contains("/none") && !Contains(".cpp:"));
}
