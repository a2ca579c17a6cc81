#include "objects/runtime_classes.h"

#include <gtest/gtest.h>

#include "json/document.h"
#include "json/write.h"

namespace vg::resources {
namespace {

// The spec that comes of it, or why the pod is forbidden.
std::string applied(std::string_view spec, std::string_view runtime_class) {
  auto pod = json::Document::parse(std::string(R"({"spec":)") + std::string(spec) + "}").value();
  auto given = runtime_class.empty() ? json::Document() : json::Document::parse(runtime_class).value();
  const auto why = apply_runtime_class(pod.root().get_object(), given.root().if_object());
  return why ? *why : json::to_text(pod.root().at("spec"), {.sort_keys = true});
}

constexpr const char* named = R"({"runtimeClassName":"r"})";

TEST(RuntimeClasses, MustBeThere) {
  EXPECT_EQ(applied("{}", ""), "{}");
  EXPECT_EQ(applied(named, ""), R"(pod rejected: RuntimeClass "r" not found)");
  EXPECT_EQ(applied(named, R"({"handler":"h"})"), named);
}

TEST(RuntimeClasses, SetTheOverhead) {
  constexpr const char* kata = R"({"handler":"h","overhead":{"podFixed":{"memory":"64Mi"}}})";
  const std::string done = R"({"overhead":{"memory":"64Mi"},"runtimeClassName":"r"})";
  EXPECT_EQ(applied(named, kata), done);
  EXPECT_EQ(applied(done, kata), done);
  EXPECT_EQ(applied(R"({"overhead":{"memory":"1Mi"},"runtimeClassName":"r"})", kata),
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
  const std::string without = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
  EXPECT_EQ(applied(done, R"({"handler":"h"})"), without);
  EXPECT_EQ(applied(R"({"overhead":{"memory":"1Mi"}})", ""), without);
}

TEST(RuntimeClasses, SayWherePodsRun) {
  constexpr const char* gpu = R"({"scheduling":{"nodeSelector":{"a":"b"},"tolerations":[
      {"key":"k","operator":"Exists","effect":"NoSchedule"}]}})";
  EXPECT_EQ(applied(R"({"runtimeClassName":"r","nodeSelector":{"c":"d"}})", gpu),
            R"({"nodeSelector":{"a":"b","c":"d"},"runtimeClassName":"r","tolerations":[)"
            R"({"effect":"NoSchedule","key":"k","operator":"Exists"}]})");
  EXPECT_EQ(applied(R"({"runtimeClassName":"r","nodeSelector":{"a":"x"}})", gpu),
            "conflict: runtimeClass.scheduling.nodeSelector[a] = b; pod.spec.nodeSelector[a] = x");
  // What the pod tolerates anyway is not said twice.
  EXPECT_EQ(applied(R"({"runtimeClassName":"r","tolerations":[{"operator":"Exists"}]})", gpu),
            R"({"nodeSelector":{"a":"b"},"runtimeClassName":"r","tolerations":[{"operator":"Exists"}]})");
}

}  // namespace
}  // namespace vg::resources
