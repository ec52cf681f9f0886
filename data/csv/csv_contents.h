// CsvContents: the values of a CsvTable.
#pragma once
#include "tandem/data/csv/csv_options.h"

namespace tandem::data::detail {

/// A column of categories.
struct CsvCategoryColumn {
  std::string name;
  std::vector<std::string> names;  // names of the categories, by code
  std::vector<int64_t> codes;      // code of each row
};

/// Values that were read from a CSV file.
struct CsvContents {
  CsvOptions fitted_options;  // see CsvTable::fitted_options
  int64_t num_rows = 0;
  std::vector<std::string> number_names;      // names of the columns of numbers
  std::vector<double> numbers;                // (rows, columns of numbers), row by row
  std::vector<CsvCategoryColumn> categories;  // columns of categories
};

}  // namespace tandem::data::detail
