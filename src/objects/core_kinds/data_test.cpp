// Secrets and config maps.
#include <string>

#include "objects/core_kinds/testing.h"

namespace vg::resources::core_kinds {
namespace {

std::string secret(const std::string& rest) {
  return R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"n"},)" + rest + "}";
}
std::string config_map(const std::string& rest) {
  return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"n"},)" + rest + "}";
}

TEST(CoreKindsSecret, StringDataGoesIntoData) {
  const Outcome made = create(secret(R"("data":{"a":"eA==","b":"eQ=="},"stringData":{"a":"new"})"));
  EXPECT_EQ(made.at("/data"), R"({"a":"bmV3","b":"eQ=="})");
  EXPECT_EQ(made.at("/stringData"), "");
  EXPECT_EQ(made.at("/type"), R"("Opaque")");
}

TEST(CoreKindsSecret, Keys) {
  EXPECT_EQ(create(secret(R"("data":{"bad key":"eA=="})")).causes, one("Invalid", "data[bad key]"));
  EXPECT_EQ(create(secret(R"("data":{"..":"eA=="})")).causes, one("Invalid", "data[..]"));
  EXPECT_EQ(create(secret(R"("data":{"a.b_C-1":"eA=="})")).causes, CauseList());
}

TEST(CoreKindsSecret, Size) {
  const std::string fits(1024 * 1024, 'x');
  EXPECT_EQ(create(secret(R"("stringData":{"a":")" + fits + "\"}")).causes, CauseList());
  EXPECT_EQ(create(secret(R"("stringData":{"a":"x)" + fits + "\"}")).causes, one("TooLong", "data"));
}

TEST(CoreKindsSecret, TypesNeedTheirKeys) {
  EXPECT_EQ(create(secret(R"("type":"kubernetes.io/tls","stringData":{"tls.crt":""})")).causes,
            one("Required", "data[tls.key]"));
  EXPECT_EQ(create(secret(R"("type":"kubernetes.io/basic-auth")")).causes,
            (CauseList{{"Required", "data[username]"}, {"Required", "data[password]"}}));
  EXPECT_EQ(create(secret(R"("type":"kubernetes.io/basic-auth","stringData":{"password":""})")).causes, CauseList());
  EXPECT_EQ(create(secret(R"("type":"kubernetes.io/ssh-auth","stringData":{"ssh-privatekey":""})")).causes,
            one("Required", "data[ssh-privatekey]"));
  EXPECT_EQ(create(secret(R"("type":"kubernetes.io/service-account-token")")).causes,
            one("Required", "metadata.annotations[kubernetes.io/service-account.name]"));
}

TEST(CoreKindsSecret, DockerConfigurationIsAnObject) {
  const std::string type = R"("type":"kubernetes.io/dockerconfigjson")";
  EXPECT_EQ(create(secret(type)).causes, one("Required", "data[.dockerconfigjson]"));
  EXPECT_EQ(create(secret(type + R"(,"stringData":{".dockerconfigjson":"[]"})")).causes,
            one("Invalid", "data[.dockerconfigjson]"));
  EXPECT_EQ(create(secret(type + R"(,"stringData":{".dockerconfigjson":"{\"auths\":{}}"})")).causes, CauseList());
}

TEST(CoreKindsSecret, TypeStays) {
  EXPECT_EQ(update(secret(R"("type":"a/b")"), secret(R"("type":"a/c")")).causes, one("Invalid", "type"));
}

TEST(CoreKindsSecret, ImmutableStays) {
  const std::string fixed = secret(R"("immutable":true,"stringData":{"a":"b"})");
  EXPECT_EQ(update(fixed, secret(R"("stringData":{"a":"c"})")).causes,
            (CauseList{{"Forbidden", "immutable"}, {"Forbidden", "data"}}));
  EXPECT_EQ(update(fixed, fixed).causes, CauseList());
  EXPECT_EQ(update(secret(R"("stringData":{"a":"b"})"), fixed).causes, CauseList());
}

TEST(CoreKindsConfigMap, KeysStandInOneMap) {
  EXPECT_EQ(create(config_map(R"("data":{"a":"1"},"binaryData":{"a":"eA=="})")).causes, one("Invalid", "data[a]"));
  EXPECT_EQ(create(config_map(R"("binaryData":{"a/b":"eA=="})")).causes, one("Invalid", "binaryData[a/b]"));
  EXPECT_EQ(create(config_map(R"("data":{"":"1"})")).causes, one("Invalid", "data[]"));
}

TEST(CoreKindsConfigMap, SizeIsOfTheWholeObject) {
  const std::string half(512 * 1024, 'x');
  EXPECT_EQ(create(config_map(R"("data":{"a":")" + half + R"(","b":")" + half + "\"}")).causes, CauseList());
  EXPECT_EQ(create(config_map(R"("data":{"a":")" + half + R"(x","b":")" + half + "\"}")).causes, one("TooLong", "[]"));
}

TEST(CoreKindsConfigMap, ImmutableStays) {
  EXPECT_EQ(update(config_map(R"("immutable":true,"data":{"a":"1"})"), config_map(R"("data":{"a":"2"})")).causes,
            (CauseList{{"Forbidden", "immutable"}, {"Forbidden", "data"}}));
  EXPECT_EQ(
      update(config_map(R"("immutable":true)"), config_map(R"("immutable":true,"binaryData":{"a":"eA=="})")).causes,
      one("Forbidden", "binaryData"));
}

}  // namespace
}  // namespace vg::resources::core_kinds
