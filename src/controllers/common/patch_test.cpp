#include "controllers/common/patch.h"

#include <gtest/gtest.h>

#include "json/document.h"
#include "json/write.h"

namespace vg::controllers {
namespace {

TEST(Patch, ChangesOnlyWhatWasRead) {
  json::Document memory;
  const json::Value one(1), two(2);
  const auto of = [&](const json::Value* old, const json::Value* wanted) {
    json::PatchBuilder patch(memory.storage());
    guarded_change(patch, "/a", old, wanted);
    return json::to_text(patch.operations());
  };
  EXPECT_EQ(of(&one, &two), R"([{"op":"test","path":"/a","value":1},{"op":"replace","path":"/a","value":2}])");
  EXPECT_EQ(of(nullptr, &two), R"([{"op":"test","path":"/a","value":null},{"op":"add","path":"/a","value":2}])");
  EXPECT_EQ(of(&one, nullptr), R"([{"op":"test","path":"/a","value":1},{"op":"remove","path":"/a"}])");
  EXPECT_EQ(of(nullptr, nullptr), "[]");
}

TEST(Patch, DifferencesGoAsDeepAsObjectsDo) {
  json::Document memory;
  const auto diff = [&](std::string_view old, std::string_view wanted) {
    const auto from = json::Document::parse(old), to = json::Document::parse(wanted);
    json::PatchBuilder patch(memory.storage());
    guarded_diff(patch, "", from->root().get_object(), to->root().get_object());
    json::Value changed = from->root();
    EXPECT_TRUE(json::apply_json_patch(changed, json::Value(patch.operations())));
    EXPECT_TRUE(json::equal(changed, to->root())) << old << wanted;
    return patch.operations().size() / 2;  // each with its test
  };
  EXPECT_EQ(diff(R"({"a":{"b":1,"c":[1]}})", R"({"a":{"b":1,"c":[1]}})"), 0U);
  EXPECT_EQ(diff(R"({"a":{"b":1,"c":[1]}})", R"({"a":{"b":2,"c":[1,2]}})"), 2U);
  EXPECT_EQ(diff(R"({"a":{"b":1}})", R"({"a":{}})"), 1U);
  EXPECT_EQ(diff(R"({"a":{"b":1}})", R"({"x":{"y":1}})"), 2U);
  EXPECT_EQ(diff(R"({"a":null})", R"({"a":{"b/c":null}})"), 1U);
}

TEST(Patch, PathsAreEscaped) {
  EXPECT_EQ(patch_path("/metadata/annotations", {"kubevirt.io/a~b"}), "/metadata/annotations/kubevirt.io~1a~0b");
}

}  // namespace
}  // namespace vg::controllers
