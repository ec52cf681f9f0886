// Tests of read_labelled_texts: MultiNLI's and GLUE's files as they are published, and the errors for damaged ones.
#include "tandem/text/labelled_texts.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/mistakes.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using text::LabelledTexts;
using text::LabelledTextsOptions;
using Strings = std::vector<std::string>;

namespace {

/// Writes a file, and reads it.
struct Reader {
  LabelledTexts operator()(const std::string& name, const std::string& bytes,
                           const LabelledTextsOptions& options = {}) const {
    test::write_file(folder / name, bytes);
    return text::read_labelled_texts(folder / name, options);
  }
  test::TemporaryFolder folder;
};

// Lines in the form of multinli_1.0_dev_matched.jsonl, with other sentences.
const std::string kJsonLines =
    R"j({"annotator_labels": ["neutral", "entailment"], "genre": "slate", "gold_label": "neutral", "pairID": "1n", )j"
    R"j("promptID": "1", "sentence1": "The \"new\" r\u00e9gime", "sentence1_binary_parse": "( The x )", )j"
    R"("sentence2": "Nobody said so."})"
    "\n"
    R"({"gold_label": "-", "sentence1": "A", "sentence2": "B"})"
    "\n\n"
    R"({"sentence2": "D", "sentence1": "C", "gold_label": "entailment", "nested": {"gold_label": "x"}})"
    "\r\n";

}  // namespace

TEST_CASE("MultiNLI's JSON Lines are read, and rows without an agreed label are left out", "[text]") {
  const Reader read;
  const LabelledTexts rows = read("multinli_1.0_dev_matched.jsonl", kJsonLines);
  CHECK(rows.texts == Strings{"The \"new\" r\xc3\xa9gime", "C"});
  CHECK(rows.pairs == Strings{"Nobody said so.", "D"});
  CHECK(rows.label_names == Strings{"entailment", "neutral"});  // sorted
  CHECK(rows.labels == std::vector<int64_t>{1, 0});
  CHECK(rows.num_left_out == 1);
  // The order of a model's id2label determines the numbers.
  const Strings order = {"contradiction", "neutral", "entailment"};
  const LabelledTexts of_model = read("dev.jsonl", kJsonLines, LabelledTextsOptions().label_names(order));
  CHECK(of_model.labels == std::vector<int64_t>{1, 2});
  CHECK(of_model.label_names == order);
}

TEST_CASE("GLUE's tables have no quoting, and their columns are found by name", "[text]") {
  const Reader read;
  // A quote that is never closed is a part of the text. Lines end with CRLF.
  const LabelledTexts train = read("train.tsv",
                                   "index\tpromptID\tsentence1\tsentence2\tlabel1\tgold_label\r\n"
                                   "0\t31193p\tHe said \"no\tUp to 3\" long\tneutral\tneutral\r\n"
                                   "1\t101457e\t\"\t\tentailment\tentailment\r\n");
  CHECK(train.texts == Strings{"He said \"no", "\""});
  CHECK(train.pairs == Strings{"Up to 3\" long", ""});
  CHECK(train.labels == std::vector<int64_t>{1, 0});
  const LabelledTexts dev = read("dev_matched.tsv",
                                 "index\tsentence1\tsentence2\tlabel1\tlabel2\tgold_label\n"
                                 "0\ta\tb\tneutral\tentailment\tcontradiction",
                                 LabelledTextsOptions()
                                     .label_names(train.label_names)
                                     .require_labels(true)
                                     .label_names({"entailment", "neutral", "contradiction"}));
  CHECK(dev.labels == std::vector<int64_t>{2});
  const LabelledTexts test =
      read("test_matched.tsv", "index\tsentence1\tsentence2\n0\ta\tb\n", LabelledTextsOptions().require_labels(false));
  CHECK(test.texts == Strings{"a"});
  CHECK(test.labels.empty());
}

TEST_CASE("other columns, single texts, CSV and integers as labels are read", "[text]") {
  const Reader read;
  auto single = LabelledTextsOptions().text_column("text").pair_column("").label_column("label");
  const LabelledTexts csv =
      read("reviews.csv", "\xef\xbb\xbflabel,text\n1,\"good, \"\"very\"\"\ngood\"\n0,bad\n", single);
  CHECK(csv.texts == Strings{"good, \"very\"\ngood", "bad"});
  CHECK(csv.pairs.empty());
  CHECK(csv.labels == std::vector<int64_t>{1, 0});
  const LabelledTexts json =
      read("reviews.jsonl", "{\"text\": \"x\", \"label\": 7}\n{\"text\": \"y\", \"label\": -1}\n", single);
  CHECK(json.label_names == Strings{"-1", "7"});
  const LabelledTexts unlabelled =
      read("new.jsonl", "{\"text\": \"x\", \"label\": null}\n{\"text\": \"y\"}\n", single.require_labels(false));
  CHECK(unlabelled.texts.size() == 2);
  CHECK(unlabelled.labels.empty());
}

TEST_CASE("damaged files of labelled texts are refused with the file, the line and the accepted values", "[text]") {
  const Reader read;
  const std::string header = "sentence1\tsentence2\tgold_label\n";
  const auto known = LabelledTextsOptions().label_names({"yes", "no"});
  const auto single = LabelledTextsOptions().text_column("text").pair_column("").label_column("label");
  test::check({
      {"unknown label",
       [&] { read("a.tsv", header + "a\tb\tyes\na\tb\tperhaps\n", known); },
       {"a.tsv, line 3", "'perhaps'", "'yes', 'no'"}},
      {"missing column",
       [&] { read("a.tsv", "sentence1\tsentence2\tlabel\n"); },
       {"a.tsv, line 1", "'gold_label'", "'label'"}},
      {"two columns of one name",
       [&] { read("a.tsv", "sentence1\tsentence1\tsentence2\tgold_label\n"); },
       {"two columns", "sentence1"}},
      {"too few fields", [&] { read("a.tsv", header + "a\tb\n"); }, {"line 2", "2 fields", "accepted: 3"}},
      {"too many fields", [&] { read("a.tsv", header + "\na\tb\tc\td\n"); }, {"line 3", "4 fields"}},
      {"a table without rows", [&] { read("a.tsv", header); }, {"a.tsv has no rows"}},
      {"only rows left out", [&] { read("a.tsv", header + "a\tb\t-\n"); }, {"no rows with a label"}},
      {"an empty file", [&] { read("a.tsv", ""); }, {"a.tsv is empty"}},
      {"invalid UTF-8", [&] { read("a.tsv", header + "a\tb\xff\tyes\n"); }, {"line 2", "byte 4", "UTF-8"}},
      {"an overlong character", [&] { read("a.tsv", header + "\xc0\xaf\tb\tyes\n"); }, {"line 2", "byte 1", "UTF-8"}},
      {"a surrogate", [&] { read("a.tsv", header + "\xed\xa0\x80\tb\tyes\n"); }, {"line 2", "UTF-8"}},
      {"a cut character", [&] { read("a.tsv", header + "a\tb\tye\xe2\x82\n"); }, {"line 2", "UTF-8"}},
      {"invalid JSON",
       [&] { read("a.jsonl", kJsonLines + "{\"sentence1\": \"x\""); },
       {"a.jsonl, line 5", "not valid JSON"}},
      {"no object", [&] { read("a.jsonl", "[1, 2]\n"); }, {"line 1", "not a JSON object"}},
      {"a member of another type",
       [&] { read("a.jsonl", R"({"text": ["x"], "label": 1})", single); },
       {"'text'", "array"}},
      {"a fraction as a label",
       [&] { read("a.jsonl", R"({"text": "x", "label": 1.5})", single); },
       {"'label'", "number"}},
      {"a member twice",
       [&] { read("a.jsonl", R"({"text": "x", "label": 1, "label": 2})", single); },
       {"'label' twice"}},
      {"no text", [&] { read("a.jsonl", R"({"label": 1})", single); }, {"line 1", "no 'text'"}},
      {"no label", [&] { read("a.jsonl", R"({"text": "x"})", single); }, {"no 'label'", "require_labels(false)"}},
      {"labels of some rows only",
       [&] {
         auto optional = single;
         read("a.jsonl", "{\"text\": \"x\", \"label\": 1}\n{\"text\": \"y\"}", optional.require_labels(false));
       },
       {"line 2", "no 'label'"}},
      {"labels of later rows only",
       [&] {
         auto optional = single;
         read("a.jsonl", "{\"text\": \"x\"}\n{\"text\": \"y\", \"label\": 1}", optional.require_labels(false));
       },
       {"line 2", "earlier rows have none"}},
      {"an unknown extension", [&] { read("a.parquet", "x"); }, {"'.parquet'", ".jsonl", ".tsv"}},
      {"a label twice",
       [&] {
         read("a.tsv", header, LabelledTextsOptions().label_names({"x", "x"}));
       },
       {"'x' twice"}},
      {"one column twice",
       [&] { read("a.tsv", header, LabelledTextsOptions().pair_column("sentence1")); },
       {"different names"}},
      {"no file", [&] { text::read_labelled_texts(read.folder / "none.tsv"); }, {"none.tsv", "No such file"}},
  });
}

TEST_CASE("the numbers of rows of MultiNLI's published files are known", "[text]") {
  CHECK(text::multinli_num_rows("x/multinli_1.0_train.jsonl") == 392702);
  CHECK(text::multinli_num_rows("MNLI/train.tsv") == 392702);
  CHECK(text::multinli_num_rows("multinli_1.0_dev_matched.txt") == 9815);
  CHECK(text::multinli_num_rows("/glue/MNLI/dev_mismatched.tsv") == 9832);
  CHECK_FALSE(text::multinli_num_rows("RTE/train.tsv"));
  CHECK_FALSE(text::multinli_num_rows("MNLI/train.jsonl"));
}
