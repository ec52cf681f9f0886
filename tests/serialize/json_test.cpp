// Tests JsonFile and JsonWriter, which read and write the small JSON files of models.
#include "tandem/serialize/json_file.h"

#include "tandem/serialize/json_writer.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/temporary.h"

namespace tandem {
using detail::JsonFile, detail::JsonWriter;

TEST_CASE("JsonFile reads what JsonWriter has written", "[serialize][json]") {
  const test::TemporaryFolder folder;
  JsonWriter writer;
  writer.integer("integer", int64_t{1} << 60);
  writer.number("number", 1e-12);
  writer.boolean("boolean", true);
  writer.text("text", "\"quoted\"\n\xC3\xA9");
  writer.null("null");
  writer.texts("texts", {"a", "b"});
  writer.integers("integers", {3, 1, 2});
  writer.text_members("labels", {{"0", "no"}, {"1", "yes"}});
  writer.integer_members("numbers", {{"yes", 1}, {"no", 0}});
  writer.save(folder / "all.json");
  const JsonFile file(folder / "all.json");
  CHECK(file.integer("integer") == int64_t{1} << 60);
  CHECK(file.number("number") == 1e-12);
  CHECK(file.boolean("boolean") == true);
  CHECK(file.text("text") == "\"quoted\"\n\xC3\xA9");
  CHECK(!file.text("null"));
  CHECK(!file.object("null"));
  CHECK(file.integers("integers") == std::vector<int64_t>{3, 1, 2});
  CHECK(file.integers("integer") == std::vector<int64_t>{int64_t{1} << 60});
  CHECK(file.integers("missing").empty());
  CHECK(file.text_members("labels") == std::vector<std::pair<std::string, std::string>>{{"0", "no"}, {"1", "yes"}});
  CHECK(file.integer_members("numbers") == std::vector<std::pair<std::string, int64_t>>{{"no", 0}, {"yes", 1}});
  CHECK(file.object("labels")->text("1") == "yes");
  CHECK(file.text_members("missing").empty());

  CHECK_THROWS_WITH(file.object("texts"), Contains("texts is [\"a\",\"b\"]; accepted: objects"));
  CHECK_THROWS_WITH(file.integers("texts"), Contains("texts has the element \"a\"; accepted: integers"));
  CHECK_THROWS_WITH(file.text_members("numbers"), Contains("no of numbers is 0; accepted: strings"));
  CHECK_THROWS_WITH(file.integer_members("text"), Contains("accepted: an object of integers"));
  writer.text("text", "\xFF");
  CHECK_THROWS_WITH(writer.save(folder / "all.json"), Contains("all.json cannot be written as JSON"));
  CHECK(JsonFile(folder / "all.json").boolean("boolean") == true);  // the old file is unchanged
  CHECK_THROWS_WITH(JsonWriter().save(folder / "none/all.json"), Contains("none/all.json"));
}

}  // namespace tandem
