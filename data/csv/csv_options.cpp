// Implements the setters of CsvColumn.
#include "tandem/data/csv/csv_options.h"

#include "tandem/core/internal.h"

namespace tandem::data {

CsvColumn& CsvColumn::category(std::vector<std::string> names) {
  is_category_ = true;
  categories_ = std::move(names);
  return *this;
}
CsvColumn& CsvColumn::missing(MissingValue replacement) {
  missing_policy_ = replacement;
  missing_number_.reset();
  return *this;
}
CsvColumn& CsvColumn::missing(double replacement) {
  missing_number_ = replacement;
  missing_policy_.reset();
  return *this;
}
CsvColumn& CsvColumn::missing(std::string category) {
  missing_category_ = std::move(category);
  return *this;
}
CsvColumn& CsvColumn::unknown(std::string category) {
  unknown_category_ = std::move(category);
  return *this;
}

}  // namespace tandem::data
