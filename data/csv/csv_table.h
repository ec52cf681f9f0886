// CsvTable: columns of a CSV file, which it returns as tensors.
#pragma once
#include <memory>

#include "tandem/core/tensor.h"
#include "tandem/data/csv/csv_options.h"

namespace tandem::data {

namespace detail {
struct CsvContents;
}  // namespace detail

/// Columns that read_csv has read. Copies share the values.
class CsvTable {
 public:
  explicit CsvTable(std::shared_ptr<const detail::CsvContents> contents) : contents_(std::move(contents)) {}
  /// Returns the number of rows, without the header.
  int64_t size() const;
  /// Returns the names of the columns that were read.
  std::vector<std::string> column_names() const;

  /// Returns columns of numbers as a tensor (rows, columns); by default all columns of numbers, in the order of the
  /// options or else of the file.
  /// @param dtype  For integer dtypes, every value must be an integer that fits.
  /// @throws Error that names the column if it was not read, or does not have numbers of this dtype
  Tensor numbers(const std::vector<std::string>& names = {}, Dtype dtype = kFloat32) const;
  /// Returns one column of numbers as a tensor (rows).
  Tensor number(const std::string& name, Dtype dtype = kFloat32) const;
  /// Returns the codes of a column of categories, int64 (rows), as targets for cross_entropy or indices for an
  /// embedding.
  /// @throws Error that names the column if it was not read as categories
  Tensor categories(const std::string& name) const;
  /// Returns the names of a column's categories; the position of a name is its code.
  const std::vector<std::string>& category_names(const std::string& name) const;

  /// Returns the options with which this table was read, with the categories and means that were found in it. Read
  /// another file with them, such as the test set, so that both files have the same codes and replacements.
  /// @param names  columns to keep; by default all. Leave out a target column that the other file lacks.
  CsvOptions fitted_options(const std::vector<std::string>& names = {}) const;

 private:
  std::shared_ptr<const detail::CsvContents> contents_;
};

}  // namespace tandem::data
