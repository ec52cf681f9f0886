// read_labelled_texts: reads texts, or pairs of texts, with labels, from the files of text classification data sets.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/option.h"

namespace tandem::text {

/// The form of a file of labelled texts.
enum class LabelledTextsFormat {
  by_extension,  // .jsonl and .json: json_lines; .tsv and .txt: tsv; .csv: csv
  json_lines,    // a JSON object in each line
  tsv,           // fields between tabs, without quoting: a `"` is a part of the text; the first line names the columns
  csv,           // RFC 4180, with quoting; the first line names the columns
};

/// Options of read_labelled_texts. The defaults read MultiNLI.
struct LabelledTextsOptions {
  TANDEM_ARG(LabelledTextsFormat, format) = LabelledTextsFormat::by_extension;
  /// Names of the columns, or of the JSON objects' members. Other columns are ignored.
  TANDEM_ARG(std::string, text_column) = "sentence1";
  /// Column of the second texts; "": the file has single texts.
  TANDEM_ARG(std::string, pair_column) = "sentence2";
  TANDEM_ARG(std::string, label_column) = "gold_label";
  /// Names of the labels, in the order of their numbers, such as the id2label of a model's config.json. If empty, the
  /// labels are the names that occur in the file, sorted by their bytes.
  TANDEM_ARG(std::vector<std::string>, label_names) = {};
  /// Label of rows without an agreed label. Such rows are left out.
  TANDEM_ARG(std::string, no_label) = "-";
  /// If false, a file without the label column is read without labels.
  TANDEM_ARG(bool, require_labels) = true;
};

/// Texts with labels. All lists that are not empty have an element for each row.
struct LabelledTexts {
  std::vector<std::string> texts;        // first texts
  std::vector<std::string> pairs;        // second texts; empty if the rows are single texts
  std::vector<int64_t> labels;           // positions in label_names; empty if the file has no labels
  std::vector<std::string> label_names;  // names of the labels, in the order of their numbers
  int64_t num_left_out = 0;              // number of rows whose label was LabelledTextsOptions::no_label
};

/// Reads a file of labelled texts. Texts are UTF-8. Lines end with LF or CRLF; empty lines are ignored, and so is a
/// byte order mark.
/// @throws Error that names the file and the line: if a row has another number of fields than the first line, lacks a
///     column, has a label outside of label_names, or is not valid UTF-8 or JSON. An Error also if the file cannot be
///     read, has no rows, or has an extension of an unknown form.
LabelledTexts read_labelled_texts(const std::string& path, const LabelledTextsOptions& options = {});

/// Returns the number of labelled rows in a file of MultiNLI (Williams et al. 2018) or of the GLUE benchmark's copy, by
/// its published name; nullopt for another name. The files are multinli_1.0_train, multinli_1.0_dev_matched and
/// multinli_1.0_dev_mismatched (.jsonl or .txt), and GLUE's dev_matched.tsv, dev_mismatched.tsv and, in a folder MNLI,
/// train.tsv.
std::optional<int64_t> multinli_num_rows(const std::string& path);

namespace detail {
/// Reads the bytes of a file. Error messages call the file `name`. The format must not be by_extension.
LabelledTexts parse_labelled_texts(std::string_view bytes, const std::string& name,
                                   const LabelledTextsOptions& options);
}  // namespace detail

}  // namespace tandem::text
