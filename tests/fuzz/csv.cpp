// Fuzz target for CSV files. The first two bytes choose the options. For any bytes, parse_csv returns a table or throws
// tandem::Error.
#include <cstdint>

#include "tandem/core/tensor.h"
#include "tandem/data/csv/read_csv.h"

using namespace tandem::data;

namespace {

CsvOptions make_options(uint8_t first, uint8_t second) {
  constexpr char kSeparators[] = {',', ';', '\t', ' '};
  CsvOptions options;
  options.separator(kSeparators[first % 4]).header(first & 4).skip_initial_space(first & 8);
  options.missing(static_cast<MissingValue>(second % 3));
  const std::string a = options.header() ? "a" : "0", b = options.header() ? "b" : "1";
  if (second & 4) options.columns({CsvColumn(a), CsvColumn(b).category()});
  if (second & 8)
    options.columns({CsvColumn(b).category({"x", "y"}).missing("x").unknown("y"), CsvColumn(a).missing(1)});
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  std::optional<CsvTable> table;
  try {
    table = detail::parse_csv(text, "file", make_options(data[0], data[1]));
  } catch (const tandem::Error&) {
    return 0;
  }
  table->numbers().sum();  // reads every number
  const CsvOptions fitted = table->fitted_options();
  for (const CsvColumn& column : fitted.columns())
    if (column.is_category()) table->categories(column.name()).sum();
  detail::parse_csv(text, "file", fitted);  // a file fits the options found in it; an Error escapes
  return 0;
}
