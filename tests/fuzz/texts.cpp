// Fuzz target for files of labelled texts. The first byte chooses the form and the options. For any bytes,
// parse_labelled_texts returns rows that fit each other, or throws tandem::Error.
#include <cstdint>
#include <cstdlib>

#include "tandem/core/error.h"
#include "tandem/text/labelled_texts.h"

using namespace tandem::text;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  constexpr LabelledTextsFormat kFormats[] = {LabelledTextsFormat::json_lines, LabelledTextsFormat::tsv,
                                              LabelledTextsFormat::csv};
  LabelledTextsOptions options;
  options.format(kFormats[(data[0] >> 6) % 3]).text_column("a").pair_column(data[0] & 4 ? "b" : "").label_column("c");
  options.require_labels(data[0] & 8);
  if (data[0] & 16) options.label_names({"x", "y"});
  LabelledTexts rows;
  try {
    rows = detail::parse_labelled_texts({reinterpret_cast<const char*>(data) + 1, size - 1}, "file", options);
  } catch (const tandem::Error&) {
    return 0;
  }
  const bool fits = !rows.texts.empty() && rows.pairs.size() == (data[0] & 4 ? rows.texts.size() : 0) &&
                    (rows.labels.empty() || rows.labels.size() == rows.texts.size());
  if (!fits) std::abort();
  for (const int64_t label : rows.labels)
    if (label < 0 || label >= static_cast<int64_t>(rows.label_names.size())) std::abort();
  return 0;
}
