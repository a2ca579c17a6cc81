#include "objects/draft.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "json/document.h"
#include "json/write.h"
#include "objects/scan.h"

namespace vg::resources {
namespace {

const Resource& machines() { return *find_resource("kubevirt.io/virtualmachines"); }

ObjectPtr stored(std::string_view text, Revision revision) {
  const auto document = json::Document::parse(text);
  const auto draft = make_draft(document->root().get_object(), machines());
  return unstored_object({machines().key, "default", "a"}, draft, revision);
}

constexpr std::string_view text =
    R"({"kind":"VirtualMachine","apiVersion":"kubevirt.io/v1alpha3","spec":{"x":1},
        "metadata":{"labels":{"b":"2","a":"1"},"uid":"u","name":"a","resourceVersion":"3","selfLink":"s",
        "managedFields":[{}],"annotations":{},"ownerReferences":[{"uid":"o1"},{"uid":"o2"}]},"status":{"y":[]}})";

TEST(Draft, HasOneLayout) {
  const auto object = stored(text, 7);
  EXPECT_EQ(
      object->json(),
      R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"a","uid":"u",)"
      R"("labels":{"b":"2","a":"1"},"ownerReferences":[{"uid":"o1"},{"uid":"o2"}],"managedFields":[{}]},"spec":{"x":1},)"
      R"("status":{"y":[]}})");
  EXPECT_EQ(object->label("a"), "1");
  EXPECT_TRUE(object->owned_by("o2"));
  EXPECT_FALSE(object->deleting());
}

TEST(Draft, ShowsTheRevisionWhereverItsPlaceIs) {
  std::string out;
  append_object(out, *stored(text, 7), machines(), "kubevirt.io/v1");
  EXPECT_NE(out.find(R"("uid":"u","resourceVersion":"7","labels")"), std::string::npos);
  for (const char* metadata : {R"({"name":"a"})", R"({"name":"a","uid":"u"})", R"({"labels":{"a":"1"}})", R"({})"}) {
    out.clear();
    append_object(out, *stored(fmt::format(R"({{"metadata":{}}})", metadata), 9), machines(), "kubevirt.io/v1");
    const auto document = json::Document::parse(out);
    ASSERT_TRUE(document) << out;
    EXPECT_NE(out.find(R"("resourceVersion":"9")"), std::string::npos) << out;
  }
}

TEST(Draft, SpeaksOtherVersions) {
  std::string out;
  append_object(out, *stored(text, 7), machines(), "kubevirt.io/v1alpha3", 8);
  EXPECT_TRUE(out.starts_with(R"({"apiVersion":"kubevirt.io/v1alpha3","kind":"VirtualMachine","metadata":)")) << out;
  EXPECT_NE(out.find(R"("resourceVersion":"8")"), std::string::npos);
  out.clear();
  append_object(out, *stored(text, 0), machines(), "kubevirt.io/v1");
  EXPECT_EQ(out.find("resourceVersion"), std::string::npos);
}

TEST(Draft, PartialMetadataIsASlice) {
  std::string out;
  append_partial_metadata(out, *stored(R"({"metadata":{"name":"a","uid":"u"},"spec":{}})", 7), 7);
  EXPECT_EQ(out, R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",)"
                 R"("metadata":{"name":"a","uid":"u","resourceVersion":"7"}})");
}

TEST(Draft, ComesBackAsADocument) {
  json::Document memory;
  const json::Value value = load_object(*stored(text, 7), memory.storage());
  EXPECT_EQ(json::to_text(value.at("metadata").at("resourceVersion")), R"("7")");
}

TEST(Scan, FindsValuesWithoutParsing) {
  constexpr std::string_view json = R"({"a":{"b\"":"}","c":[{"d":1},"]"],"e":"x\ny","f":null,"g":true},"h":-1.5})";
  const auto find = [&](std::initializer_list<std::string_view> path) {
    return scan_text(json, std::span(path.begin(), path.size()));
  };
  EXPECT_EQ(find({"h"}), "-1.5");
  EXPECT_EQ(find({"a", "e"}), "x\ny");
  EXPECT_EQ(find({"a", "g"}), "true");
  EXPECT_EQ(find({"a", "f"}), "");
  EXPECT_EQ(find({"a", "z"}), "");
  EXPECT_EQ(find({"h", "z"}), "");
  EXPECT_EQ(find({"a", "c"}), R"([{"d":1},"]"])");
}

TEST(Scan, NeverLeavesTheText) {
  constexpr std::string_view json = R"({"a":{"b":["x",{"c":"d\\"}]},"e":5})";
  constexpr std::array<std::string_view, 1> path = {"e"};
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string cut(json.substr(0, i));
    (void)scan_value(cut, path);
  }
}

TEST(Draft, AnObjectOfManyValuesThatIsTooLargeIsRefusedEarly) {
  const auto texts = [](std::size_t count, std::size_t bytes) {
    json::Array made;
    for (std::size_t i = 0; i < count; ++i) made.emplace_back(std::string(bytes, 'x'));
    return made;
  };
  const auto code = [](const json::Object& object) {
    const auto fits = check_size_early("a", object);
    return fits ? 0 : fits.error().code;
  };
  EXPECT_EQ(code({{"spec", {{"x", texts(60'000, 30)}}}}), 413);
  EXPECT_EQ(code({{"metadata", {{"finalizers", texts(60'000, 30)}}}}), 413);
  // Small enough; or few values, of which the rules shall say what is wrong.
  EXPECT_EQ(code({{"spec", {{"x", texts(60'000, 10)}}}}), 0);
  EXPECT_EQ(code({{"spec", {{"x", texts(3, 1024 * 1024)}}}}), 0);
  // What may be dropped, or has a bound of its own.
  EXPECT_EQ(code({{"status", {{"x", texts(60'000, 30)}}}}), 0);
  EXPECT_EQ(code({{"metadata", {{"managedFields", texts(60'000, 30)}, {"annotations", texts(60'000, 30)}}}}), 0);
}

TEST(Draft, WhatFitsIsNeverRefusedEarly) {
  json::Array items;
  std::size_t bytes = 2;
  for (std::size_t item = 5; bytes + item <= limits::stored_object_bytes_max - 100; bytes += item)
    items.push_back(json::Value(json::Array{items.size() % 10}));
  items.pop_back();
  const json::Object object{{"spec", {{"x", std::move(items)}}}};
  ASSERT_TRUE(check_stored_size("a", make_draft(object, machines())));
  EXPECT_TRUE(check_size_early("a", object));
}

}  // namespace
}  // namespace vg::resources
