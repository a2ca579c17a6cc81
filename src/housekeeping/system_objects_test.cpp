#include "housekeeping/system_objects.h"

#include <gtest/gtest.h>

#include <string>

#include "json/access.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::resources {
namespace {

const SystemObject& row(std::string_view resource, std::string_view name) {
  for (const SystemObject& one : system_objects())
    if (one.resource == resource && one.name == name) return one;
  throw std::logic_error("no such row");
}
const SystemObject& authentication() { return row("configmaps", "extension-apiserver-authentication"); }
std::string data_of(const json::Object& object, std::string_view member) {
  const json::Object* data = json::get_object(object, "data");
  return std::string(data ? json::get_string_or(*data, member, "(absent)") : "(no data)");
}

const SystemFacts plain{.ca_bundle = "USERS\n", .address = "192.0.2.7", .port = 6443};
const SystemFacts proxied{.ca_bundle = "USERS\n",
                          .address = "192.0.2.7",
                          .port = 6443,
                          .proxy_ca_bundle = "PROXIES\n",
                          .proxy_names = {"front"}};

TEST(SystemObjects, WhatWasMadeNeedsNoMending) {
  for (const SystemFacts& facts : {plain, proxied})
    for (const SystemObject& one : system_objects()) {
      json::Object made = one.make(facts);
      EXPECT_FALSE(one.mend && one.mend(made, facts)) << one.resource << " " << one.name;
      // The store's text says 6443 as another type of number.
      auto stored = json::Document::parse(json::to_text(made));
      EXPECT_FALSE(one.mend && one.mend(stored->root().get_object(), facts)) << one.resource << " " << one.name;
    }
}

TEST(SystemObjects, UsersAreNoFrontProxies) {
  const json::Object made = authentication().make(plain);
  EXPECT_EQ(data_of(made, "client-ca-file"), "USERS\n");
  EXPECT_EQ(made.at("data").get_object().size(), 1u);
}

TEST(SystemObjects, FrontProxiesAreSaidAsKubeApiserverSaysThem) {
  const json::Object made = authentication().make(proxied);
  EXPECT_EQ(data_of(made, "client-ca-file"), "USERS\n");
  EXPECT_EQ(data_of(made, "requestheader-client-ca-file"), "PROXIES\n");
  EXPECT_EQ(data_of(made, "requestheader-allowed-names"), R"(["front"])");
  EXPECT_EQ(data_of(made, "requestheader-username-headers"), R"(["X-Remote-User"])");
  EXPECT_EQ(data_of(made, "requestheader-group-headers"), R"(["X-Remote-Group"])");
  EXPECT_EQ(data_of(made, "requestheader-extra-headers-prefix"), R"(["X-Remote-Extra-"])");
}

TEST(SystemObjects, WhatOthersSayOfAuthoritiesStays) {
  json::Object object{{"data", json::Object{{"client-ca-file", "THEIRS"},
                                            {"requestheader-allowed-names", R"(["other"])"},
                                            {"requestheader-client-ca-file", "PROXIES\n"},
                                            {"note", "x"}}}};
  EXPECT_TRUE(authentication().mend(object, proxied));
  EXPECT_EQ(data_of(object, "client-ca-file"), "THEIRS\nUSERS\n");
  EXPECT_EQ(data_of(object, "requestheader-client-ca-file"), "PROXIES\n");
  EXPECT_EQ(data_of(object, "requestheader-allowed-names"), R"(["other","front"])");
  EXPECT_EQ(data_of(object, "note"), "x");
  EXPECT_FALSE(authentication().mend(object, proxied));
}

TEST(SystemObjects, NoNamesAllowEveryName) {
  for (const bool theirs : {false, true}) {
    SystemFacts facts = proxied;
    if (!theirs) facts.proxy_names = {};
    json::Object object = authentication().make(facts);
    object["data"].get_object()["requestheader-allowed-names"] = theirs ? "[]" : R"(["front"])";
    authentication().mend(object, facts);
    EXPECT_EQ(data_of(object, "requestheader-allowed-names"), "[]");
  }
}

TEST(SystemObjects, NonsenseIsReplaced) {
  for (const char* nonsense : {"", "{", "{}", "null"}) {
    json::Object object = authentication().make(proxied);
    object["data"].get_object()["requestheader-allowed-names"] = nonsense;
    EXPECT_TRUE(authentication().mend(object, proxied));
    EXPECT_EQ(data_of(object, "requestheader-allowed-names"), R"(["front"])");
  }
  json::Object object{{"data", json::Array()}};
  EXPECT_TRUE(authentication().mend(object, plain));
  EXPECT_EQ(data_of(object, "client-ca-file"), "USERS\n");
}

TEST(SystemObjects, TheServiceLeadsHere) {
  const json::Value service(row("services", "kubernetes").make(plain));
  EXPECT_EQ(json::as_string(json::find_path(service, {"spec", "clusterIP"})), "192.0.2.7");
  EXPECT_EQ(json::to_text(*json::find_path(service, {"spec", "ports"})),
            R"([{"name":"https","port":6443,"protocol":"TCP","targetPort":6443}])");
  SystemFacts six = plain;
  six.address = "2001:db8::1";
  const json::Value other(row("services", "kubernetes").make(six));
  EXPECT_EQ(json::to_text(*json::find_path(other, {"spec", "ipFamilies"})), R"(["IPv6"])");
}

}  // namespace
}  // namespace vg::resources
