// Options of read_csv: which columns to read, and how.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tandem/core/option.h"

namespace tandem::data {

/// Replacement of the missing values in a column of numbers.
enum class MissingValue {
  error,  // a missing value is an error
  nan,    // not a number
  mean,   // mean of the column's other values
};

/// A column that read_csv reads: numbers, unless category() is called.
class CsvColumn {
 public:
  /// @param name  name of the column in the file
  CsvColumn(std::string name) : name_(std::move(name)) {}
  CsvColumn(const char* name) : name_(name) {}

  /// Makes this a column of categories. Each different text is a category, and its code is its position in `names`. If
  /// `names` is empty, the categories are the texts that occur in the file, sorted by their bytes.
  CsvColumn& category(std::vector<std::string> names = {});
  /// Sets the replacement of missing values in a column of numbers. The default is CsvOptions::missing().
  CsvColumn& missing(MissingValue replacement);
  CsvColumn& missing(double replacement);
  /// Sets the category of missing values. If it is not set, a missing value is an error.
  CsvColumn& missing(std::string category);
  /// Sets the category of texts outside of the list of categories. If it is not set, such a text is an error.
  CsvColumn& unknown(std::string category);

  /// Return the settings above.
  const std::string& name() const noexcept { return name_; }
  bool is_category() const noexcept { return is_category_; }
  const std::vector<std::string>& categories() const noexcept { return categories_; }
  const std::optional<MissingValue>& missing_policy() const noexcept { return missing_policy_; }
  const std::optional<double>& missing_number() const noexcept { return missing_number_; }
  const std::optional<std::string>& missing_category() const noexcept { return missing_category_; }
  const std::optional<std::string>& unknown_category() const noexcept { return unknown_category_; }

 private:
  std::string name_;
  bool is_category_ = false;
  std::vector<std::string> categories_;
  std::optional<MissingValue> missing_policy_;
  std::optional<double> missing_number_;
  std::optional<std::string> missing_category_, unknown_category_;
};

/// Options of read_csv.
class CsvOptions {
 public:
  /// Columns to read; the file may have others. If empty, all columns are read as numbers.
  TANDEM_ARG(std::vector<CsvColumn>, columns) = {};
  /// Character between two fields: for example ';', or '\t'. Not a letter, a digit, or a character of numbers or
  /// quotes.
  TANDEM_ARG(char, separator) = ',';
  /// Whether the first line has the names of the columns.
  TANDEM_ARG(bool, header) = true;
  /// Names of the columns of a file without a header; by default "0", "1", "2", ...
  TANDEM_ARG(std::vector<std::string>, names) = {};
  /// Whether to ignore spaces after a separator. Spaces around numbers are always ignored.
  TANDEM_ARG(bool, skip_initial_space) = false;
  /// Texts that count as a missing value.
  TANDEM_ARG(std::vector<std::string>, na_values) = {"", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None"};
  /// Replacement of missing values in columns of numbers that set none.
  TANDEM_ARG(MissingValue, missing) = MissingValue::error;
};

}  // namespace tandem::data
