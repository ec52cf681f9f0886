// Tests read_csv: numbers, categories, missing values, quoting, errors, gzipped files, and mutated files.
#include "tandem/data/csv/read_csv.h"

#include <cmath>
#include <cstring>
#include <random>

#include "tandem/data/data.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/data/idx_files.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using namespace tandem::data;
using namespace tandem::test;

namespace {

CsvTable parse(const std::string& text, const CsvOptions& options = {}) {
  return data::detail::parse_csv(text, "people.csv", options);
}
CsvOptions with(std::vector<CsvColumn> columns) { return CsvOptions().columns(columns); }
/// Checks that a file is refused with a message that contains all of these texts.
void refuses(const std::string& text, const CsvOptions& options, const std::vector<std::string>& parts) {
  try {
    parse(text, options);
    FAIL("accepted: " << text);
  } catch (const Error& error) {
    for (const std::string& part : parts) CHECK_THAT(error.what(), Contains(part));
  }
}
std::vector<double> doubles_of(const Tensor& x) {
  const Tensor flat = x.to(kFloat64).contiguous();
  return {flat.data<double>(), flat.data<double>() + flat.numel()};
}
using Names = std::vector<std::string>;
using Values = std::vector<double>;

/// Parses files of three lines, of which one is mutated. Each is either read or refused with the file's name.
void fuzz_lines(size_t rounds) {
  const CsvOptions options = with({"id", CsvColumn("name").category(), CsvColumn("size").missing(MissingValue::mean),
                                   CsvColumn("kind").category({"x", "y"}).missing("y")});
  std::mt19937_64 random(1);
  size_t errors = 0;
  for (size_t i = 0; i < rounds; ++i) {
    const std::string line = std::to_string(i % 41) + ",\"n,\"\"" + std::to_string(i % 7) + "\"," +
                             std::to_string(0.37 * static_cast<double>(i % 13)) + "," + (i % 3 ? "x" : "NA") + "\r\n";
    try {
      // The unchanged line after the mutated one shows whether a mutation shifts the fields that follow
      const CsvTable table = parse("id,name,size,kind\n" + mutate(line, random) + line, options);
      if (table.size() > 20) FAIL(table.size() << " rows");
    } catch (const Error& error) {
      ++errors;
      if (std::string(error.what()).find("people.csv") == std::string::npos) FAIL(error.what());
    }
  }
  REQUIRE(errors > rounds / 4);  // some mutations give another valid line
  REQUIRE(errors < rounds);
}

}  // namespace

TEST_CASE("read_csv reads numbers by the names of their columns", "[data][csv]") {
  const CsvTable table = parse("id,height,weight\n7,1.5,-2e3\n8,+.25,1\n");
  REQUIRE(table.size() == 2);
  REQUIRE(table.column_names() == Names{"id", "height", "weight"});
  REQUIRE(table.numbers().equal(tensor({{7.f, 1.5f, -2000.f}, {8.f, 0.25f, 1.f}})));
  REQUIRE(table.numbers({"weight", "id"}, kFloat64).equal(tensor({{-2000., 7.}, {1., 8.}})));
  REQUIRE(table.number("id", kInt64).equal(tensor({7, 8})));
  REQUIRE(table.number("id", kUInt8).dtype() == kUInt8);
  REQUIRE_THROWS_WITH(table.number("height", kInt64), Contains("'height' has 1.5 in row 0, which is no int64"));
  REQUIRE_THROWS_WITH(table.number("weight", kUInt8), Contains("'weight' has -2000 in row 0, which is no uint8"));
  REQUIRE_THROWS_WITH(table.number("Height"), Contains("'Height' is no column of numbers") && Contains("'height'"));
  REQUIRE_THROWS_WITH(table.categories("id"), Contains("CsvColumn('id').category()"));

  const CsvTable chosen = parse("id,name,weight\n7,\"a,b\",3\n", with({"weight"}));  // other columns may be anything
  REQUIRE(chosen.numbers().equal(tensor({{3.f}})));
  REQUIRE(chosen.column_names() == Names{"weight"});
  REQUIRE(parse("a\n").numbers().sizes() == IntArrayRef{0, 1});
}

TEST_CASE("read_csv reads each double exactly as it is written", "[data][csv]") {
  std::mt19937_64 random(3);
  std::string text = "x\n";
  Values expected;
  while (expected.size() < 3000) {
    const uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.17g", value);
    text += std::string(digits) + "\n";
    expected.push_back(value);
  }
  REQUIRE(doubles_of(parse(text).number("x", kFloat64)) == expected);
  const Values edges = doubles_of(parse("x\n1e-999\n-1e-400\ninf\n-Infinity\n4.9e-324\n").number("x", kFloat64));
  REQUIRE(edges == Values{0, 0, INFINITY, -INFINITY, 4.9e-324});
}

TEST_CASE("read_csv understands quotes, line ends, separators and byte order marks", "[data][csv]") {
  const auto categories = [](const std::string& text, CsvOptions options) {
    options.columns({CsvColumn(options.header() ? "c" : "1").category(), CsvColumn(options.header() ? "n" : "0")});
    const CsvTable table = parse(text, options);
    const std::string name = options.header() ? "c" : "1";
    Names names;
    for (const double code : doubles_of(table.categories(name)))
      names.push_back(table.category_names(name)[static_cast<size_t>(code)]);
    return std::pair(names, doubles_of(table.number(options.header() ? "n" : "0")));
  };
  const std::pair<Names, Values> expected{{"a,\"b\"\nc", "d", ""}, {1, 2, 3}};
  const CsvOptions keeps_empty = CsvOptions().na_values({"NA"});
  const std::string lines[] = {"n,c", "\"1\",\"a,\"\"b\"\"\nc\"", " 2 ,d", "3,\"\""};
  for (const std::string end : {"\n", "\r\n", "\r"})
    for (const bool ends_with_newline : {false, true})
      for (const bool has_blank_lines : {false, true})
        for (const std::string start : {"", "\xef\xbb\xbf"}) {
          std::string text = start;
          for (const std::string& line : lines)
            text += line + (&line == &lines[3] && !ends_with_newline ? "" : has_blank_lines ? end + end : end);
          INFO(text);
          CHECK(categories(text, keeps_empty) == expected);
        }
  const std::pair<Names, Values> plain{{"x", "y z"}, {1, 2}};
  CHECK(categories("n;c\n1;x\n2;y z\n", CsvOptions().separator(';')) == plain);
  CHECK(categories("n\tc\n1\tx\n 2\ty z\n", CsvOptions().separator('\t')) == plain);
  CHECK(categories("1,x\n2,y z", CsvOptions().header(false)) == plain);
  CHECK(categories("n, c\n1, x\n2, \"y z\"\n", CsvOptions().skip_initial_space(true)) == plain);
  CHECK(categories("n,c\n1,x\"\n", {}).first == Names{"x\""});  // a quote within a field is a character
  CHECK(categories("n,c\n1, x \n", {}).first == Names{" x "});  // spaces are a part of a text
  const CsvTable named = parse("1,2\n3,4\n", CsvOptions().header(false).names({"a", "b"}));
  CHECK(named.number("b").equal(tensor({2.f, 4.f})));
}

TEST_CASE("missing values are an error, NaN, a number, or the mean", "[data][csv]") {
  const std::string text = "a,b\n1,5\nNA,6\n , \n5,null\n";
  refuses(text, {}, {"people.csv, line 3, column 1 ('a')", "the value is missing", "'NA'", "MissingValue::error"});
  const Values nan = doubles_of(parse(text, CsvOptions().missing(MissingValue::nan)).numbers());
  REQUIRE((std::isnan(nan[2]) && std::isnan(nan[4]) && std::isnan(nan[5]) && std::isnan(nan[7])));
  REQUIRE((nan[0] == 1 && nan[1] == 5 && nan[3] == 6 && nan[6] == 5));
  REQUIRE(doubles_of(parse(text, CsvOptions().missing(MissingValue::mean)).numbers()) ==
          Values{1, 5, 3, 6, 3, 5.5, 5, 5.5});
  const CsvTable mixed = parse(text, with({CsvColumn("a").missing(-1), CsvColumn("b").missing(MissingValue::mean)}));
  REQUIRE(doubles_of(mixed.numbers()) == Values{1, 5, -1, 6, -1, 5.5, 5, 5.5});
  REQUIRE(doubles_of(parse("a\n1\n?\n", CsvOptions().na_values({"?"}).missing(MissingValue::mean)).numbers()) ==
          Values{1, 1});
  refuses("a\nNA\n", CsvOptions().missing(MissingValue::mean), {"column 'a' has no value"});

  const CsvTable train = parse("c\nx\nNA\n", with({CsvColumn("c").category().missing("none")}));
  REQUIRE(train.category_names("c") == Names{"none", "x"});
  REQUIRE(train.categories("c").equal(tensor({1, 0})));
  refuses("c\nx\n\"\"\n", with({CsvColumn("c").category()}), {"line 3, column 1 ('c')", "the value is missing"});
}

TEST_CASE("a test file gets the categories and means of the training file", "[data][csv]") {
  const CsvTable train = parse("age,city,bought\n20,Rome,yes\n,Oslo,no\n40,Rome,no\n",
                               with({CsvColumn("age").missing(MissingValue::mean), CsvColumn("city").category(),
                                     CsvColumn("bought").category({"no", "yes"})}));
  REQUIRE(train.category_names("city") == Names{"Oslo", "Rome"});
  REQUIRE(train.categories("city").equal(tensor({1, 0, 1})));
  REQUIRE(train.categories("bought").equal(tensor({1, 0, 0})));
  REQUIRE(doubles_of(train.number("age")) == Values{20, 30, 40});

  // The columns of the test file are in another order, and it lacks the target.
  const CsvTable test = parse("city,age\nRome,\nRome,10\n", train.fitted_options({"age", "city"}));
  REQUIRE(test.categories("city").equal(tensor({1, 1})));
  REQUIRE(doubles_of(test.number("age")) == Values{30, 10});
  refuses("city,age\nBonn,1\n", train.fitted_options({"city"}), {"'Bonn' is not a category", "'Oslo', 'Rome'"});
  refuses("city,age\nRome,1\n", train.fitted_options(), {"no column 'bought'", "its columns are 'city', 'age'"});
  REQUIRE_THROWS_WITH(train.fitted_options({"price"}), Contains("'price' was not read"));
  const CsvTable rest = parse("c\nx\nz\n", with({CsvColumn("c").category({"x", "other"}).unknown("other")}));
  REQUIRE(rest.categories("c").equal(tensor({0, 1})));
  const CsvTable all = parse("a,b\n1,2\n,4\n", CsvOptions().missing(MissingValue::mean));
  REQUIRE(doubles_of(parse("b,a\n,\n", all.fitted_options()).numbers({"a", "b"})) == Values{1, 3});

  datasets::TensorPairDataset dataset(train.numbers(), train.categories("bought"));
  auto loader = make_data_loader<samplers::SequentialSampler>(dataset.map(transforms::Stack<>()), 3);
  REQUIRE(loader->begin()->target.equal(tensor({1, 0, 0})));
}

TEST_CASE("errors of read_csv name the line, the column and the text", "[data][csv]") {
  refuses("name,age\n\"a\nb\",1\nc,old\n", with({"age"}),
          {"read_csv: people.csv, line 4, column 2 ('age'): 'old' is not a number", "accepted: a number such as"});
  refuses("a\r\n1\r\n1,5\r\n", {}, {"line 3: there are 2 fields; accepted: 1, as on the first line"});
  refuses("a,b\n1\n", {}, {"line 2: there are 1 fields; accepted: 2"});
  refuses("a\n1e999\n", {}, {"line 2", "'1e999' is not a number that float64 can hold"});
  refuses("a\n1.5.2\n", {}, {"'1.5.2' is not a number"});
  refuses("a\n\"1,5\"\n", {}, {"'1,5' is not a number"});
  refuses("a\n1\n2\n\"3\n4\n", {}, {"line 4, column 1 ('a')", "the quote before '3\\x0a4\\x0a' is not closed"});
  refuses("a\n\"3\"x\n", {}, {"line 2", "the quoted field '3' is followed by 'x'"});
  refuses("a,a\n1,2\n", with({"a"}), {"two columns 'a'"});
  refuses("a,b\n1,2\n", with({"c"}), {"people.csv has no column 'c'; its columns are 'a', 'b'"});
  refuses("a,b\n1,2\n", with({"a", "a"}), {"columns() names 'a' twice"});
  refuses("", {}, {"people.csv is empty"});
  refuses("\n\r\n", {}, {"people.csv is empty"});
  refuses(std::string("\xff\xfe"
                      "a\0",
                      4),
          {}, {"UTF-16", "accepted: UTF-8"});
  refuses("a\n" + std::string(60, 'x') + "\n", {}, {"'" + std::string(40, 'x') + "...'"});
  refuses("1,2\n", CsvOptions().header(false).names({"a"}), {"line 1: there are 2 fields, but names() has 1"});
  refuses("a\n", CsvOptions().names({"a"}), {"header(false)"});
  refuses("a\n", CsvOptions().separator('e'), {"separator is 'e'"});
  refuses("a\n", with({CsvColumn("a").category({"x", "x"})}), {"lists a category twice"});
  refuses("a\n", with({CsvColumn("a").category({"x"}).missing("y")}), {"missing() or unknown() is 'y'", "'x'"});
  refuses("a\n", with({CsvColumn("a").category().unknown("y")}), {"unknown('y') without a list"});
  refuses("a\n", with({CsvColumn("a").category().missing(1.5)}), {"has categories, but its missing() is a number"});
  refuses("a\n", with({CsvColumn("a").missing("x")}), {"has numbers, but its missing() or unknown() names a category"});
}

TEST_CASE("read_csv reads files, plain and gzipped, and names a file that it cannot read", "[data][csv]") {
  const TemporaryFolder folder;
  std::string text = "a,b\n";
  for (int i = 0; i < 30000; ++i) text += std::to_string(i) + "," + std::to_string(i * 0.5) + "\n";
  const Tensor expected = parse(text).numbers();
  REQUIRE(expected.size(0) == 30000);
  for (const std::string& bytes : {text, gzip(text), gzip(text.substr(0, 1000)) + gzip(text.substr(1000))}) {
    write_file(folder / "file.csv", bytes);
    REQUIRE(read_csv(folder / "file.csv").numbers().equal(expected));
  }
  write_file(folder / "cut.gz", gzip(text).substr(0, 5000));
  REQUIRE_THROWS_WITH(read_csv(folder / "cut.gz"), Contains("read_csv: ") && Contains("cut.gz is truncated"));
  REQUIRE_THROWS_WITH(read_csv(folder / "none"), Contains("read_csv: there is no file ") && Contains("none"));
  write_file(folder / "empty", "");
  REQUIRE_THROWS_WITH(read_csv(folder / "empty"), Contains("empty is empty"));
}

TEST_CASE("mutated lines of CSV give errors only", "[data][csv][fuzz][one_thread]") { fuzz_lines(5000); }
TEST_CASE("100,000 mutated lines of CSV give errors only", "[data][csv][fuzz][.][long]") { fuzz_lines(100000); }
