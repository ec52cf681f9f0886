// read_csv: reads columns of a CSV file.
#pragma once
#include <string_view>

#include "tandem/data/csv/csv_table.h"

namespace tandem::data {

/// Reads columns of a CSV file (RFC 4180), plain or gzipped. Fields may be in double quotes, and may then contain
/// separators, line ends and doubled quotes. Lines end with LF, CRLF or CR; empty lines are ignored, and so is a UTF-8
/// byte order mark. Numbers are read as float64, with a point as the decimal separator, by any locale. The whole file
/// is held in memory while it is read.
/// @throws Error that names the file, the line, the column and the text if a field is not as the options say
CsvTable read_csv(const std::string& path, const CsvOptions& options = {});

namespace detail {
/// Reads the bytes of a CSV file as read_csv does. Error messages call the file `name`.
CsvTable parse_csv(std::string_view bytes, const std::string& name, const CsvOptions& options);
}  // namespace detail

}  // namespace tandem::data
