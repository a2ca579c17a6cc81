#include "catalog/request_info.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace vg::resources {
namespace {

// "verb group/version ns resource/subresource name", "-" for what is empty; or "verb path" for what is no resource.
std::string shown(std::string_view method, std::string_view path, std::string_view query = "") {
  const auto info = request_info(method, path, query);
  if (!info) return fmt::format("{}", info.error().code);
  const auto or_dash = [](const std::string& text) { return text.empty() ? std::string("-") : text; };
  if (!info->resource_request) return fmt::format("{} {}", info->verb, info->path);
  return fmt::format("{} {}/{} {} {}/{} {}", info->verb, or_dash(info->group), info->version, or_dash(info->ns),
                     info->resource, or_dash(info->subresource), or_dash(info->name));
}

TEST(RequestInfo, ReadsTheFormsOfPaths) {
  EXPECT_EQ(shown("GET", "/api/v1/namespaces/a/pods"), "list -/v1 a pods/- -");
  EXPECT_EQ(shown("GET", "/api/v1/namespaces/a/pods/p"), "get -/v1 a pods/- p");
  EXPECT_EQ(shown("GET", "/api/v1/pods"), "list -/v1 - pods/- -");
  EXPECT_EQ(shown("POST", "/apis/kubevirt.io/v1/namespaces/a/virtualmachines"),
            "create kubevirt.io/v1 a virtualmachines/- -");
  EXPECT_EQ(shown("PUT", "/apis/g/v1/namespaces/a/things/t/status"), "update g/v1 a things/status t");
  EXPECT_EQ(shown("PUT", "/apis/g/v1/namespaces/a/things/t/sev/setup"), "update g/v1 a things/sev/setup t");
  EXPECT_EQ(shown("PATCH", "/apis/g/v1/things/t"), "patch g/v1 - things/- t");
  EXPECT_EQ(shown("DELETE", "/apis/g/v1/things/t"), "delete g/v1 - things/- t");
  EXPECT_EQ(shown("DELETE", "/apis/g/v1/things"), "deletecollection g/v1 - things/- -");
  EXPECT_EQ(shown("GET", "/api/v1/pods/"), "list -/v1 - pods/- -");
}

TEST(RequestInfo, ANamespaceIsAlsoAnObject) {
  EXPECT_EQ(shown("GET", "/api/v1/namespaces"), "list -/v1 - namespaces/- -");
  EXPECT_EQ(shown("GET", "/api/v1/namespaces/a"), "get -/v1 a namespaces/- a");
  EXPECT_EQ(shown("PUT", "/api/v1/namespaces/a/status"), "update -/v1 a namespaces/status a");
  EXPECT_EQ(shown("PUT", "/api/v1/namespaces/a/finalize"), "update -/v1 a namespaces/finalize a");
}

TEST(RequestInfo, SeesWatches) {
  EXPECT_EQ(shown("GET", "/api/v1/pods", "watch=true"), "watch -/v1 - pods/- -");
  EXPECT_EQ(shown("GET", "/api/v1/pods", "watch=1"), "watch -/v1 - pods/- -");
  EXPECT_EQ(shown("GET", "/api/v1/pods", "watch"), "watch -/v1 - pods/- -");
  EXPECT_EQ(shown("GET", "/api/v1/pods", "watch=false"), "list -/v1 - pods/- -");
  EXPECT_EQ(shown("GET", "/api/v1/pods/p", "watch=true"), "get -/v1 - pods/- p");
  EXPECT_EQ(shown("GET", "/api/v1/watch/namespaces/a/pods"), "watch -/v1 a pods/- -");
  EXPECT_EQ(shown("GET", "/api/v1/watch/namespaces/a/pods/p"), "watch -/v1 a pods/- p");
}

TEST(RequestInfo, AListOfOneNameIsAuthorizedAsThatName) {
  EXPECT_EQ(shown("GET", "/api/v1/pods", "fieldSelector=metadata.name%3Dp"), "list -/v1 - pods/- p");
  EXPECT_EQ(shown("GET", "/api/v1/pods", "fieldSelector=spec.nodeName%3Dn,metadata.name%3D%3Dp"),
            "list -/v1 - pods/- p");
  EXPECT_EQ(shown("GET", "/api/v1/pods", "fieldSelector=metadata.name!%3Dp"), "list -/v1 - pods/- -");
}

TEST(RequestInfo, EverythingElseIsAPath) {
  EXPECT_EQ(shown("GET", "/apis"), "get /apis");
  EXPECT_EQ(shown("GET", "/apis/kubevirt.io/v1"), "get /apis/kubevirt.io/v1");
  EXPECT_EQ(shown("GET", "/api/v1"), "get /api/v1");
  EXPECT_EQ(shown("POST", "/metrics"), "post /metrics");
  EXPECT_EQ(shown("OPTIONS", "/api/v1/pods"), "OPTIONS -/v1 - pods/- -");
}

TEST(RequestInfo, AMethodIsNoVerb) {
  for (const std::string method : {"LIST", "WATCH", "CREATE", "UPDATE", "DELETECOLLECTION"})
    EXPECT_EQ(shown(method, "/api/v1/namespaces/a/pods/p"), method + " -/v1 a pods/- p");
  EXPECT_EQ(shown("list", "/api/v1/namespaces/a/pods/p"), "LIST -/v1 a pods/- p");
  EXPECT_EQ(shown("get", "/api/v1/namespaces/a/pods/p"), "GET -/v1 a pods/- p");
}

TEST(RequestInfo, DecodesAndRefuses) {
  EXPECT_EQ(shown("GET", "/api/v1/namespaces/a%2Db/pods"), "list -/v1 a-b pods/- -");
  EXPECT_EQ(shown("GET", "/api/v1/%zz"), "400");
  EXPECT_EQ(shown("GET", "/api/v1/%4"), "400");
  EXPECT_EQ(shown("GET", "/api/v1//pods"), "400");
  EXPECT_EQ(shown("GET", "/api/v1/../pods"), "400");
  EXPECT_EQ(shown("GET", "/api/v1/%2e%2e/pods"), "400");
}

TEST(QueryValue, FindsTheFirstThatCanBeRead) {
  EXPECT_EQ(query_value("a=1&b=x+y%3Dz&b=2", "b"), "x y=z");
  EXPECT_EQ(query_value("a=%zz&a=2", "a"), "2");
  EXPECT_EQ(query_value("a&b", "a"), "");
  EXPECT_EQ(query_value("%61=7", "a"), "7");
  EXPECT_EQ(query_value("", "a"), std::nullopt);
}

}  // namespace
}  // namespace vg::resources
