// Implements read_csv: finds the wanted columns, and reads the fields of each record into them.
#include "tandem/data/csv/read_csv.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <new>
#include <unordered_map>

#include "tandem/core/internal.h"
#include "tandem/data/csv/csv_contents.h"
#include "tandem/data/csv/csv_fields.h"
#include "tandem/data/gzip_reader.h"

namespace tandem::data {
namespace {

/// Joins names for a message: 'a', 'b', ..., at most 12 of them.
std::string join_names(const std::vector<std::string>& names) {
  constexpr size_t kMaxNames = 12;
  std::string joined;
  for (size_t i = 0; i < std::min(names.size(), kMaxNames); ++i) joined += (i ? ", " : "") + quote_text(names[i]);
  return names.empty() ? "none" : names.size() > kMaxNames ? joined + ", ..." : joined;
}

std::string_view trim_spaces(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

struct TextHash {
  using is_transparent = void;  // lets find() take a string_view
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using CodeMap = std::unordered_map<std::string, int64_t, TextHash, std::equal_to<>>;

/// Reads a CSV file into CsvContents.
class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& name, const CsvOptions& options);
  CsvContents read();

 private:
  // Destination of a field: nothing, a column of numbers, or a column of categories.
  enum class Kind { skipped, number, category };
  struct Destination {
    Kind kind = Kind::skipped;
    size_t slot = 0;  // index of the column among the columns of its kind
  };
  struct NumberColumn {
    CsvColumn options;
    std::vector<int64_t> rows_to_fill;  // rows whose missing value becomes the mean
  };
  struct CategoryColumn {
    CsvColumn options;
    bool is_learned;  // whether the categories are those that occur in the file
    CodeMap codes;
  };

  std::vector<std::string> read_column_names();
  void plan(const std::vector<std::string>& names);
  void plan_column(const CsvColumn& column, const std::vector<std::string>& names);
  void check_categories(const CategoryColumn& column) const;
  void read_record();
  double read_number(NumberColumn& column);
  int64_t read_category(CategoryColumn& column);
  bool is_missing(std::string_view text) const;
  void fill_means();
  void sort_categories(size_t slot);

  const CsvOptions options_;
  const std::string name_;
  CsvFields fields_;
  std::vector<Destination> destinations_;  // by position in the record
  std::vector<NumberColumn> numbers_;
  std::vector<CategoryColumn> categories_;
  CsvContents contents_;
};

CsvReader::CsvReader(std::string_view text, const std::string& name, const CsvOptions& options)
    : options_(options), name_(name), fields_(text, name, options.separator(), options.skip_initial_space()) {
  const char separator = options.separator();
  constexpr std::string_view kRefused = "\"\n\r+-.";
  TANDEM_CHECK(!std::isalnum(static_cast<unsigned char>(separator)) && kRefused.find(separator) == kRefused.npos,
               "read_csv: separator is ", quote_text({&separator, 1}),
               "; accepted: a character that is no letter or digit, and none of \", +, -, . and line ends");
  TANDEM_CHECK(options.names().empty() || !options.header(), "read_csv: names are given for ", name,
               ", whose first line has names; accepted: names together with header(false)");
}

CsvContents CsvReader::read() {
  TANDEM_CHECK(fields_.begin_record(), "read_csv: ", name_, " is empty; accepted: a file with at least one line");
  const std::vector<std::string> names = read_column_names();
  fields_.set_column_names(names);
  plan(names);
  if (!options_.header() || fields_.begin_record()) do {
      read_record();
      ++contents_.num_rows;
    } while (fields_.begin_record());
  fill_means();
  for (size_t i = 0; i < categories_.size(); ++i)
    if (categories_[i].is_learned) sort_categories(i);
  // The options of all columns, in the order of the call, with the values found above
  std::vector<CsvColumn> fitted = options_.columns();
  if (fitted.empty()) fitted.assign(names.begin(), names.end());
  for (CsvColumn& column : fitted) {
    for (const NumberColumn& number : numbers_)
      if (number.options.name() == column.name()) column = number.options;
    for (const CategoryColumn& category : categories_)
      if (category.options.name() == column.name()) column = category.options;
  }
  contents_.fitted_options = CsvOptions(options_).columns(fitted);
  return std::move(contents_);
}

std::vector<std::string> CsvReader::read_column_names() {
  if (options_.header()) {
    std::vector<std::string> names;
    do names.emplace_back(fields_.read_field());
    while (fields_.begin_next_field());
    return names;
  }
  // Counts the fields of the first record on a copy, because the record itself is read later
  CsvFields first = fields_;
  size_t count = 0;
  do {
    first.skip_field();
    ++count;
  } while (first.begin_next_field());
  if (options_.names().empty()) {
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
    return names;
  }
  if (options_.names().size() != count)
    fields_.fail_in_record("there are " + std::to_string(count) + " fields, but names() has " +
                           std::to_string(options_.names().size()) + " names; accepted: a name for each field");
  return options_.names();
}

void CsvReader::plan(const std::vector<std::string>& names) {
  destinations_.resize(names.size());
  if (options_.columns().empty())
    for (const std::string& name : names) plan_column(name, names);
  for (const CsvColumn& column : options_.columns()) plan_column(column, names);
}

void CsvReader::plan_column(const CsvColumn& column, const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), column.name());
  TANDEM_CHECK(found != names.end(), "read_csv: ", name_, " has no column ", quote_text(column.name()),
               "; its columns are ", join_names(names));
  TANDEM_CHECK(std::find(found + 1, names.end(), column.name()) == names.end(), "read_csv: ", name_,
               " has two columns ", quote_text(column.name()),
               "; accepted: different names, or header(false) after the first line is removed");
  Destination& destination = destinations_[static_cast<size_t>(found - names.begin())];
  TANDEM_CHECK(destination.kind == Kind::skipped, "read_csv: columns() names ", quote_text(column.name()), " twice");
  if (!column.is_category()) {
    TANDEM_CHECK(!column.missing_category() && !column.unknown_category(), "read_csv: column ",
                 quote_text(column.name()), " has numbers, but its missing() or unknown() names a category; ",
                 "accepted: category() first");
    destination = {Kind::number, numbers_.size()};
    numbers_.push_back({column, {}});
    contents_.number_names.push_back(column.name());
    return;
  }
  destination = {Kind::category, categories_.size()};
  categories_.push_back({column, column.categories().empty(), {}});
  CategoryColumn& added = categories_.back();
  for (const std::string& category : column.categories())
    added.codes.emplace(category, static_cast<int64_t>(added.codes.size()));
  check_categories(added);
  if (added.is_learned && column.missing_category()) added.codes.emplace(*column.missing_category(), 0);
  contents_.categories.push_back({column.name(), column.categories(), {}});
}

void CsvReader::check_categories(const CategoryColumn& column) const {
  const CsvColumn& options = column.options;
  const std::string who = "read_csv: column " + quote_text(options.name());
  TANDEM_CHECK(column.codes.size() == options.categories().size(), who,
               " lists a category twice: ", join_names(options.categories()));
  TANDEM_CHECK(!options.missing_policy() && !options.missing_number(), who,
               " has categories, but its missing() is a number or a MissingValue; accepted: the name of a category");
  TANDEM_CHECK(!options.unknown_category() || !column.is_learned, who, " has unknown(",
               quote_text(options.unknown_category().value_or("")), ") without a list of categories; ",
               "accepted: category() with a list that has this name");
  if (column.is_learned) return;
  for (const auto& name : {options.missing_category(), options.unknown_category()})
    TANDEM_CHECK(!name || column.codes.contains(*name), who, ": missing() or unknown() is ",
                 quote_text(name.value_or("")), "; accepted: one of its categories, ",
                 join_names(options.categories()));
}

void CsvReader::read_record() {
  const size_t first_number = contents_.numbers.size();
  contents_.numbers.resize(first_number + numbers_.size());
  size_t count = 0;
  do {
    const Destination to = count < destinations_.size() ? destinations_[count] : Destination{};
    if (to.kind == Kind::number)
      contents_.numbers[first_number + to.slot] = read_number(numbers_[to.slot]);
    else if (to.kind == Kind::category)
      contents_.categories[to.slot].codes.push_back(read_category(categories_[to.slot]));
    else
      fields_.skip_field();
    ++count;
  } while (fields_.begin_next_field());
  if (count != destinations_.size())
    fields_.fail_in_record("there are " + std::to_string(count) +
                           " fields; accepted: " + std::to_string(destinations_.size()) + ", as on the first line");
}

bool CsvReader::is_missing(std::string_view text) const {
  return std::find(options_.na_values().begin(), options_.na_values().end(), text) != options_.na_values().end();
}

double CsvReader::read_number(NumberColumn& column) {
  double value;
  if (fields_.try_read_number(value)) return value;
  const std::string_view text = trim_spaces(fields_.read_field());
  if (is_missing(text)) {
    if (column.options.missing_number()) return *column.options.missing_number();
    const MissingValue policy = column.options.missing_policy().value_or(options_.missing());
    if (policy == MissingValue::error)
      fields_.fail_in_field("the value is missing: the field is " + quote_text(text) +
                            "; accepted: a number, or another missing() than MissingValue::error");
    if (policy == MissingValue::mean) column.rows_to_fill.push_back(contents_.num_rows);
    return std::numeric_limits<double>::quiet_NaN();
  }
  // Only a number in quotes gets here
  if (parse_number(text.data(), text.data() + text.size(), value) != text.data() + text.size() || std::isnan(value))
    fields_.fail_in_field(quote_text(text) + " is not a number that float64 can hold; accepted: a number such as " +
                          "-1.5e3, or a missing value: " + join_names(options_.na_values()));
  return value;
}

int64_t CsvReader::read_category(CategoryColumn& column) {
  const std::string_view text = fields_.read_field();
  if (const auto found = column.codes.find(text); found != column.codes.end()) return found->second;
  if (is_missing(trim_spaces(text))) {
    if (!column.options.missing_category())
      fields_.fail_in_field("the value is missing: the field is " + quote_text(text) +
                            "; accepted: a category, or missing() with the name of a category");
    return column.codes.find(*column.options.missing_category())->second;
  }
  if (column.is_learned) return column.codes.emplace(text, static_cast<int64_t>(column.codes.size())).first->second;
  if (!column.options.unknown_category())
    fields_.fail_in_field(quote_text(text) + " is not a category; accepted: " +
                          join_names(column.options.categories()) + ", or another text if unknown() is set");
  return column.codes.find(*column.options.unknown_category())->second;
}

/// Computes the means of the columns whose missing values become the mean, and fills them in.
void CsvReader::fill_means() {
  for (size_t slot = 0; slot < numbers_.size(); ++slot) {
    NumberColumn& column = numbers_[slot];
    const bool fills_mean = !column.options.missing_number() &&
                            column.options.missing_policy().value_or(options_.missing()) == MissingValue::mean;
    const int64_t present = contents_.num_rows - static_cast<int64_t>(column.rows_to_fill.size());
    if (!fills_mean || contents_.num_rows == 0) continue;
    TANDEM_CHECK(present > 0, "read_csv: ", name_, ", column ", quote_text(column.options.name()),
                 " has no value of which missing(MissingValue::mean) could be the mean; accepted: missing(0.0)");
    double sum = 0;
    for (size_t i = slot; i < contents_.numbers.size(); i += numbers_.size())
      if (!std::isnan(contents_.numbers[i])) sum += contents_.numbers[i];
    const double mean = sum / static_cast<double>(present);
    for (const int64_t row : column.rows_to_fill)
      contents_.numbers[static_cast<size_t>(row) * numbers_.size() + slot] = mean;
    column.options.missing(mean);
  }
}

/// Replaces the codes of a column, which count in the order of occurrence, by codes in the order of the names.
void CsvReader::sort_categories(size_t slot) {
  const CodeMap& codes = categories_[slot].codes;
  CsvCategoryColumn& column = contents_.categories[slot];
  for (const auto& [name, code] : codes) column.names.push_back(name);
  std::sort(column.names.begin(), column.names.end());
  std::vector<int64_t> sorted(codes.size());
  for (size_t i = 0; i < column.names.size(); ++i)
    sorted[static_cast<size_t>(codes.find(column.names[i])->second)] = static_cast<int64_t>(i);
  for (int64_t& code : column.codes) code = sorted[static_cast<size_t>(code)];
  categories_[slot].options.category(column.names);
}

}  // namespace

CsvTable detail::parse_csv(std::string_view bytes, const std::string& name, const CsvOptions& options) try {
  return CsvTable(std::make_shared<const CsvContents>(CsvReader(bytes, name, options).read()));
} catch (const std::bad_alloc&) {
  throw_error<OutOfMemoryError>(__FILE__, __LINE__, "read_csv: there is not enough memory for ", name);
}

CsvTable read_csv(const std::string& path, const CsvOptions& options) try {
  return detail::parse_csv(GzipReader("read_csv", path).read_all(), path, options);
} catch (const std::bad_alloc&) {
  throw_error<OutOfMemoryError>(__FILE__, __LINE__, "read_csv: there is not enough memory for ", path);
}

}  // namespace tandem::data
