#include <filesystem>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using namespace tandem::test;

TEST_CASE("the files of a sharded model are read through their index", "[serialize]") {
  const TemporaryFolder folder;
  const std::string index = folder / "model.safetensors.index.json";
  save_safetensors({{"a", arange(3.0)}, {"b", ones({2})}}, folder / "model-00001-of-00002.safetensors");
  save_safetensors({{"c", arange(4)}}, folder / "model-00002-of-00002.safetensors", {{"format", "pt"}});
  const auto write = [&](const std::string& map) {
    write_file(index, R"({"metadata":{"total_size":52},"weight_map":{)" + map + "}}");
  };
  const std::string first = R"("a":"model-00001-of-00002.safetensors","b":"model-00001-of-00002.safetensors")";
  const std::string second = R"("c":"model-00002-of-00002.safetensors")";
  write(first + "," + second);
  for (const bool mmap : {false, true}) {
    SafetensorsMetadata metadata;
    const NamedTensors read = load_safetensors(index, &metadata, mmap);
    REQUIRE(read.size() == 3);
    CHECK((read.at("a").equal(arange(3.0)) && read.at("c").equal(arange(4)) && metadata.at("format") == "pt"));
  }
  NamedTensors loaded;
  load(loaded, index);
  CHECK(loaded.at("b").equal(ones({2})));
  const auto refuses = [&](const std::string& map, const std::string& words) {
    INFO(map);
    write(map);
    REQUIRE_THROWS_WITH(load_safetensors(index), Contains(index) && Contains(words));
  };
  refuses(R"("a":"model-00001-of-00002.safetensors")", "'b', which the index");
  refuses(first + R"(,"c":"model-00001-of-00002.safetensors")", "lists 3 for it");
  refuses(R"("a":"../model.safetensors")", "names of files in its folder");
  refuses(R"("a":"/etc/passwd")", "names of files in its folder");
  refuses(R"("a":7)", "names of files in its folder");
  write(R"("c":"nowhere.safetensors")");
  REQUIRE_THROWS_WITH(load_safetensors(index), Contains("nowhere.safetensors") && Contains("No such file"));
  write_file(index, "{}");
  REQUIRE_THROWS_WITH(load_safetensors(index), Contains("no weight_map"));
}

TEST_CASE("tensors that are the memory of a file are changed without changing it, and outlive it", "[serialize]") {
  const TemporaryFolder folder;
  const std::string path = folder / "model.safetensors";
  save_safetensors({{"a", arange(1000.0)}, {"b", full({3}, 7, kInt64)}, {"empty", zeros({0})}}, path);
  const std::string before = read_file(path);
  Tensor a;
  {
    const NamedTensors read = load_safetensors(path, nullptr, /*mmap=*/true);
    a = read.at("a");
    CHECK((read.at("b").equal(full({3}, 7, kInt64)) && read.at("empty").sizes() == IntArrayRef{0}));
    CHECK(static_cast<const char*>(read.at("b").raw_data()) < static_cast<const char*>(a.raw_data()));
  }
  a.mul_(2);
  CHECK(read_file(path) == before);
  std::filesystem::remove(path);
  CHECK(a.equal(arange(1000.0).mul(2)));
  write_file(path, before.substr(0, before.size() - 1));
  REQUIRE_THROWS_WITH(load_safetensors(path, nullptr, true), Contains("truncated"));
}
