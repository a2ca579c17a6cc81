#include "catalog/conversion.h"

#include <gtest/gtest.h>

#include "catalog/parts.h"
#include "catalog/selector_text.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::resources {
namespace {

json::Document parsed(std::string_view text) {
  auto document = json::Document::parse(text);
  EXPECT_TRUE(document) << text;
  return document ? std::move(*document) : json::Document();
}

std::string sorted(const json::Value& value) { return json::to_text(value, {.sort_keys = true}); }

std::string shown(const Resource& resource, std::string_view stored) {
  std::string out = "before";
  out += stored;
  convert_text(out, 6, resource);
  EXPECT_TRUE(out.starts_with("before"));
  return sorted(parsed(std::string_view(out).substr(6)).root());
}

TEST(Conversion, AResourceInAnotherFormIsStoredOnce) {
  const Resource* newer = find_resource("events.k8s.io", "v1", "events");
  ASSERT_TRUE(newer);
  EXPECT_EQ(newer->key, "events");
  EXPECT_TRUE(newer->conversion);
  EXPECT_EQ(find_resource("events")->group(), "");
  const Resource* v1 = find_resource("autoscaling", "v1", "horizontalpodautoscalers");
  const Resource* v2 = find_resource("autoscaling", "v2", "horizontalpodautoscalers");
  ASSERT_TRUE(v1 && v2);
  EXPECT_EQ(v1->key, v2->key);
  EXPECT_TRUE(v1->conversion && !v2->conversion);
  for (const Resource& resource : resources()) EXPECT_FALSE(resource.conversion) << resource.key;
}

TEST(Conversion, EventsKeepEverything) {
  const Resource& newer = *find_resource("events.k8s.io", "v1", "events");
  const std::string stored =
      R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"e"},"involvedObject":{"kind":"Pod"},"reason":"r",)"
      R"("message":"m","source":{"component":"c"},"firstTimestamp":"2026-01-02T03:04:05Z",)"
      R"("lastTimestamp":"2026-01-02T03:04:06Z","count":2,"type":"Normal","eventTime":null,"reportingComponent":"k",)"
      R"("reportingInstance":"i"})";
  const std::string other = shown(newer, stored);
  EXPECT_EQ(other,
            R"({"apiVersion":"events.k8s.io/v1","deprecatedCount":2,"deprecatedFirstTimestamp":"2026-01-02T03:04:05Z",)"
            R"("deprecatedLastTimestamp":"2026-01-02T03:04:06Z","deprecatedSource":{"component":"c"},"eventTime":null,)"
            R"("kind":"Event","metadata":{"name":"e"},"note":"m","reason":"r","regarding":{"kind":"Pod"},)"
            R"("reportingController":"k","reportingInstance":"i","type":"Normal"})");
  json::Document back = parsed(other);
  convert_to_stored(back.root().get_object(), newer);
  EXPECT_EQ(sorted(back.root()), sorted(parsed(stored).root()));
  EXPECT_EQ(stored_field(newer, "regarding.name"), "involvedObject.name");
  EXPECT_EQ(stored_field(newer, "reason"), "reason");
}

TEST(Conversion, AutoscalersKeepEverything) {
  const Resource& older = *find_resource("autoscaling", "v1", "horizontalpodautoscalers");
  const std::string stored =
      R"({"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"h"},"spec":{"maxReplicas":3,)"
      R"("metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":60}}},)"
      R"({"type":"Resource","resource":{"name":"memory","target":{"type":"AverageValue","averageValue":"1Gi"}}},)"
      R"({"type":"Object","object":{"describedObject":{"kind":"S","name":"s"},"metric":{"name":"m"},)"
      R"("target":{"type":"Value","value":"4"}}}],"minReplicas":1,"scaleTargetRef":{"kind":"D","name":"d"}},)"
      R"("status":{"currentMetrics":[{"type":"Resource","resource":{"name":"cpu","current":{"averageUtilization":40,)"
      R"("averageValue":"1"}}}],"desiredReplicas":1}})";
  json::Document document = parsed(shown(older, stored));
  const json::Object& object = document.root().get_object();
  EXPECT_EQ(
      sorted(*json::find_path(document.root(), {"spec"})),
      R"({"maxReplicas":3,"minReplicas":1,"scaleTargetRef":{"kind":"D","name":"d"},"targetCPUUtilizationPercentage":60})");
  EXPECT_EQ(json::get_int_or(*json::get_object(object, "status"), "currentCPUUtilizationPercentage", 0), 40);
  EXPECT_EQ(*json::as_string(json::find_path(document.root(),
                                             {"metadata", "annotations", "autoscaling.alpha.kubernetes.io/metrics"})),
            R"([{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}},)"
            R"({"type":"Object","object":{"metricName":"m","target":{"kind":"S","name":"s"},"targetValue":"4"}}])");
  convert_to_stored(document.root().get_object(), older);
  json::Document before = parsed(stored);
  EXPECT_EQ(sorted(*json::find(document.root(), "spec")), sorted(*json::find(before.root(), "spec")));
  EXPECT_EQ(sorted(*json::find_path(document.root(), {"status", "currentMetrics"})),
            sorted(*json::find_path(before.root(), {"status", "currentMetrics"})));
  EXPECT_FALSE(json::find_path(document.root(), {"metadata", "annotations"}));
}

TEST(Conversion, AnAnnotationThatCannotBeReadIsDropped) {
  const Resource& older = *find_resource("autoscaling", "v1", "horizontalpodautoscalers");
  json::Document document =
      parsed(R"({"metadata":{"annotations":{"autoscaling.alpha.kubernetes.io/metrics":"[{","a":"b"}},"spec":{}})");
  convert_to_stored(document.root().get_object(), older);
  EXPECT_EQ(sorted(document.root()),
            R"({"apiVersion":"autoscaling/v2","metadata":{"annotations":{"a":"b"}},"spec":{}})");
}

TEST(Parts, EveryPartBelongsToAResource) {
  for (const Part& part : parts()) EXPECT_TRUE(find_resource(part.key)) << part.key;
  EXPECT_FALSE(read_only_reason("apiregistration.k8s.io/apiservices").empty());
  EXPECT_TRUE(read_only_reason("pods").empty());
}

TEST(SelectorText, IsSortedAndWhole) {
  const auto text = [](std::string_view json) { return label_selector_text(parsed(json).root().get_object()); };
  EXPECT_EQ(text("{}"), "");
  EXPECT_EQ(text(R"({"b":"2","a":"1"})"), "a=1,b=2");
  EXPECT_EQ(text(R"({"matchLabels":{"b":"1"},"matchExpressions":[{"key":"a","operator":"In","values":["y","x"]},
    {"key":"c","operator":"NotIn","values":["z"]},{"key":"d","operator":"Exists"},{"key":"e","operator":"DoesNotExist"}]})"),
            "a in (x,y),b=1,c notin (z),d,!e");
}

}  // namespace
}  // namespace vg::resources
