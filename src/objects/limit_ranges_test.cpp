#include "objects/limit_ranges.h"

#include <gtest/gtest.h>

#include "json/access.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::resources {
namespace {

using Texts = std::vector<std::string>;

json::Document parsed(const std::string& text) {
  auto document = json::Document::parse(text);
  EXPECT_TRUE(document) << text;
  return document ? std::move(*document) : json::Document();
}

std::string range(const std::string& limit) { return R"({"spec":{"limits":[{)" + limit + "}]}}"; }

std::string pod(const std::string& resources, const std::string& more = "") {
  return R"({"spec":{"containers":[{"name":"c","resources":{)" + resources + "}}]" + more + "}}";
}

Texts problems(const std::string& object, const std::string& limit, std::string_view key = "pods") {
  const json::Document document = parsed(object);
  const json::Document limits = parsed(range(limit));
  return find_limit_problems(document.root().get_object(), key, {&limits.root(), 1});
}

TEST(LimitRanges, FillInWhatAContainerDoesNotSay) {
  json::Document document = parsed(pod(R"("limits":{"cpu":"3"})"));
  const json::Document limits = parsed(range(
      R"("type":"Container","default":{"cpu":"2","memory":"1Gi"},"defaultRequest":{"cpu":"1","memory":"512Mi"})"));
  apply_limit_defaults(document.root().get_object(), {&limits.root(), 1});
  EXPECT_EQ(json::to_text(document.root(), {.sort_keys = true}),
            R"({"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"3","memory":"1Gi"},)"
            R"("requests":{"cpu":"1","memory":"512Mi"}}}]}})");
}

TEST(LimitRanges, WorkIsWhatIsNamedForEachContainer) {
  const auto work = [](const std::string& object, const std::string& limit) {
    const json::Document document = parsed(object);
    const json::Document limits = parsed(range(limit));
    return limit_work(document.root().get_object(), {&limits.root(), 1});
  };
  const std::string two = R"({"spec":{"containers":[{"name":"a"}],"initContainers":[{"name":"b"}]}})";
  EXPECT_EQ(work(two, R"("type":"Container","max":{"cpu":"2"},"default":{"cpu":"1","memory":"1"})"), 8u);
  EXPECT_EQ(work(two, R"("type":"Pod","max":{"cpu":"2"},"min":{"cpu":"1"})"), 4u);
  EXPECT_EQ(work("{}", R"("type":"PersistentVolumeClaim","max":{"storage":"2"})"), 1u);
}

TEST(LimitRanges, BoundsOfContainers) {
  const std::string most = R"("type":"Container","max":{"cpu":"2"})";
  EXPECT_EQ(problems(pod(R"("limits":{"cpu":"2"},"requests":{"cpu":"1"})"), most), Texts());
  EXPECT_EQ(problems(pod(R"("limits":{"cpu":"2500m"})"), most),
            Texts{"maximum cpu usage per Container is 2, but limit is 2500m"});
  EXPECT_EQ(problems(pod(""), most), Texts{"maximum cpu usage per Container is 2. No limit is specified"});
  const std::string least = R"("type":"Container","min":{"memory":"1Gi"})";
  EXPECT_EQ(problems(pod(R"("requests":{"memory":"512Mi"})"), least),
            Texts{"minimum memory usage per Container is 1Gi, but request is 512Mi"});
  EXPECT_EQ(problems(pod(""), least), Texts{"minimum memory usage per Container is 1Gi. No request is specified"});
  EXPECT_EQ(problems(pod(R"("limits":{"cpu":"4"},"requests":{"cpu":"1"})"),
                     R"("type":"Container","maxLimitRequestRatio":{"cpu":"2"})"),
            Texts{"cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000"});
}

TEST(LimitRanges, PodsCountTogether) {
  const std::string most = R"("type":"Pod","max":{"cpu":"2"})";
  const std::string two =
      R"({"spec":{"containers":[{"resources":{"limits":{"cpu":"1"}}},{"resources":{"limits":{"cpu":"1500m"}}}]}})";
  EXPECT_EQ(problems(two, most), Texts{"maximum cpu usage per Pod is 2, but limit is 2500m"});
  const std::string before =
      pod(R"("limits":{"cpu":"1"})", R"(,"initContainers":[{"resources":{"limits":{"cpu":"3"}}}])");
  EXPECT_EQ(problems(before, most), Texts{"maximum cpu usage per Pod is 2, but limit is 3"});
  const std::string beside =
      pod(R"("limits":{"cpu":"1"})",
          R"(,"initContainers":[{"restartPolicy":"Always","resources":{"limits":{"cpu":"2"}}}])");
  EXPECT_EQ(problems(beside, most), Texts{"maximum cpu usage per Pod is 2, but limit is 3"});
}

TEST(LimitRanges, ClaimsAreBounded) {
  const auto claim = [](const std::string& size) {
    return problems(R"({"spec":{"resources":{"requests":{"storage":")" + size + "\"}}}}",
                    R"("type":"PersistentVolumeClaim","min":{"storage":"1Gi"},"max":{"storage":"2Gi"})",
                    "persistentvolumeclaims");
  };
  EXPECT_EQ(claim("1Gi"), Texts());
  EXPECT_EQ(claim("3Gi"), Texts{"maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"});
  EXPECT_EQ(claim("1Mi"), Texts{"minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi"});
}

}  // namespace
}  // namespace vg::resources
