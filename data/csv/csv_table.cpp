// Implements CsvTable, which returns the columns of a CSV file as tensors.
#include "tandem/data/csv/csv_table.h"

#include <algorithm>
#include <cmath>

#include "tandem/core/internal.h"
#include "tandem/data/csv/csv_contents.h"
#include "tandem/data/csv/csv_fields.h"

namespace tandem::data {
namespace {

std::string join_column_names(const CsvTable& table) {
  std::string joined;
  for (const std::string& name : table.column_names()) joined += (joined.empty() ? "" : ", ") + quote_text(name);
  return joined;
}

size_t find_number_column(const CsvTable& table, const CsvContents& contents, const std::string& name) {
  const auto found = std::find(contents.number_names.begin(), contents.number_names.end(), name);
  TANDEM_CHECK(found != contents.number_names.end(), "CsvTable: ", quote_text(name),
               " is no column of numbers that was read; the columns that were read are ", join_column_names(table));
  return static_cast<size_t>(found - contents.number_names.begin());
}

const CsvCategoryColumn& find_category_column(const CsvTable& table, const CsvContents& contents,
                                              const std::string& name) {
  for (const CsvCategoryColumn& column : contents.categories)
    if (column.name == name) return column;
  TANDEM_FAIL("CsvTable: ", quote_text(name), " was not read as categories, by CsvColumn(", quote_text(name),
              ").category(); the columns that were read are ", join_column_names(table));
}

/// Returns the range [low, high] of an integer dtype; nullopt for floating dtypes.
std::optional<std::pair<double, double>> find_integer_range(Dtype dtype) {
  switch (dtype) {
    case kBool: return std::pair(0.0, 1.0);
    case kUInt8: return std::pair(0.0, 255.0);
    case kInt8: return std::pair(-128.0, 127.0);
    case kInt16: return std::pair(-32768.0, 32767.0);
    case kInt32: return std::pair(-2147483648.0, 2147483647.0);
    case kInt64: return std::pair(-0x1p63, 0x1.fffffffffffffp62);
    default: return {};
  }
}

/// Checks that a float64 column can be converted to a dtype; values of integer dtypes must not change.
void check_convertible(const Tensor& column, const std::string& name, Dtype dtype) {
  const auto range = find_integer_range(dtype);
  if (!range) return;
  const Tensor values = column.contiguous();
  for (int64_t row = 0; row < values.numel(); ++row) {
    const double value = values.data<double>()[row];
    TANDEM_CHECK(value >= range->first && value <= range->second && value == std::trunc(value), "CsvTable: column ",
                 quote_text(name), " has ", value, " in row ", row, ", which is no ", dtype,
                 "; accepted: a dtype that holds it");
  }
}

}  // namespace

int64_t CsvTable::size() const { return contents_->num_rows; }

std::vector<std::string> CsvTable::column_names() const {
  std::vector<std::string> names;
  names.reserve(contents_->fitted_options.columns().size());
  for (const CsvColumn& column : contents_->fitted_options.columns()) names.push_back(column.name());
  return names;
}

Tensor CsvTable::numbers(const std::vector<std::string>& names, Dtype dtype) const {
  const std::vector<std::string>& chosen = names.empty() ? contents_->number_names : names;
  std::vector<size_t> slots;
  slots.reserve(chosen.size());
  for (const std::string& name : chosen) slots.push_back(find_number_column(*this, *contents_, name));
  const size_t stride = contents_->number_names.size();
  const auto fill = [&]<class T>(T* to) {
    const double* row = contents_->numbers.data();
    for (int64_t i = 0; i < size(); ++i, row += stride)
      for (const size_t slot : slots) *to++ = static_cast<T>(row[slot]);
  };
  const Dtype filled_dtype = dtype == kFloat32 ? kFloat32 : kFloat64;
  const Tensor filled = core::empty({size(), static_cast<int64_t>(slots.size())}, filled_dtype, kCPU);
  if (dtype == kFloat32)
    fill(filled.data<float>());
  else
    fill(filled.data<double>());
  for (size_t i = 0; i < chosen.size(); ++i)
    if (filled_dtype != dtype) check_convertible(filled.narrow(1, static_cast<int64_t>(i), 1), chosen[i], dtype);
  return filled.to(dtype);
}

Tensor CsvTable::number(const std::string& name, Dtype dtype) const { return numbers({name}, dtype).view({size()}); }

Tensor CsvTable::categories(const std::string& name) const {
  const std::vector<int64_t>& codes = find_category_column(*this, *contents_, name).codes;
  const Tensor out = core::empty({size()}, kInt64, kCPU);
  std::copy(codes.begin(), codes.end(), out.data<int64_t>());
  return out;
}

const std::vector<std::string>& CsvTable::category_names(const std::string& name) const {
  return find_category_column(*this, *contents_, name).names;
}

CsvOptions CsvTable::fitted_options(const std::vector<std::string>& names) const {
  if (names.empty()) return contents_->fitted_options;
  std::vector<CsvColumn> columns;
  for (const std::string& name : names) {
    const std::vector<CsvColumn>& all = contents_->fitted_options.columns();
    const auto found = std::find_if(all.begin(), all.end(), [&](const CsvColumn& c) { return c.name() == name; });
    TANDEM_CHECK(found != all.end(), "CsvTable: ", quote_text(name), " was not read; the columns that were read are ",
                 join_column_names(*this));
    columns.push_back(*found);
  }
  return CsvOptions(contents_->fitted_options).columns(columns);
}

}  // namespace tandem::data
