// Kubernetes' own kinds in protobuf, from the request to the answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/protobuf.h"
#include "api/protobuf_wire.h"
#include "catalog/negotiate.h"
#include "resources/api_test_support.h"

namespace vg::resources {
namespace {

using testing::ApiTest;
using ::testing::HasSubstr;
using testing::Header;
using testing::Reply;

const std::vector<Header> sends = {{"Content-Type", "application/vnd.kubernetes.protobuf"}};
const std::vector<Header> asks = {{"Accept", "application/vnd.kubernetes.protobuf,application/json"}};
const std::vector<Header> insists = {{"Accept", "application/vnd.kubernetes.protobuf"}};

// A document in JSON, as a client of Kubernetes would send it.
std::string packed(std::string_view json, std::string_view type) {
  const auto document = json::Document::parse(json);
  const json::Object& object = document->root().get_object();
  const std::string message = api::encode_protobuf(object, *api::find_type(type));
  return api::close_protobuf({.api_version = json::get_string_or(object, "apiVersion"),
                              .kind = json::get_string_or(object, "kind"),
                              .message = message});
}

// What a client reads: "apiVersion kind {...}".
std::string unpacked(std::string_view bytes, std::string_view type) {
  const auto object = api::open_protobuf(bytes);
  if (!object) return object.error().message;
  json::Document memory;
  const auto value = api::decode_protobuf(object->message, *api::find_type(type), memory.storage());
  return fmt::format("{} {} {}", object->api_version, object->kind,
                     value ? json::to_text(*value) : value.error().message);
}

// The same of an answer in JSON.
std::string without_names(const Reply& reply) {
  json::Document copy = *json::Document::parse(reply.text);
  json::Object& object = copy.root().get_object();
  const std::string names = reply.at({"apiVersion"}) + " " + reply.at({"kind"}) + " ";
  json::erase(object, "apiVersion");
  json::erase(object, "kind");
  return names + json::to_text(copy.root());
}

TEST_F(ApiTest, ProtobufIsReadAsJsonIs) {
  const auto created = call("POST", config_maps, packed(config_map("c", "", R"("a":"1")"), "k8s.ConfigMap"), sends);
  ASSERT_EQ(created.status, 201) << created.text;
  EXPECT_EQ(created.content_type, "application/json");
  EXPECT_EQ(created.at({"data"}), R"({"a":"1"})");
  EXPECT_EQ(created.at({"apiVersion"}), "v1");

  std::string changed = created.text;
  changed.replace(changed.find(R"("a":"1")"), 7, R"("a":"2")");
  const auto updated = call("PUT", std::string(config_maps) + "/c", packed(changed, "k8s.ConfigMap"), sends);
  ASSERT_EQ(updated.status, 200) << updated.text;
  EXPECT_EQ(get(std::string(config_maps) + "/c").at({"data", "a"}), "2");
  EXPECT_EQ(call("PUT", std::string(config_maps) + "/c", packed(changed, "k8s.ConfigMap"), sends).reason(), "Conflict");
}

TEST_F(ApiTest, OwnersComeInEveryForm) {
  const std::string at = std::string(config_maps) + "/c";
  const auto created = call("POST", std::string(config_maps) + "?fieldManager=me",
                            packed(config_map("c", "", R"("a":"1")"), "k8s.ConfigMap"), sends);
  ASSERT_EQ(created.status, 201) << created.text;
  constexpr std::string_view fields = R"("fieldsV1":{"f:data":{".":{},"f:a":{}}}})";
  EXPECT_THAT(created.at({"metadata", "managedFields"}), HasSubstr(fields));
  EXPECT_THAT(unpacked(call("GET", at, "", insists).text, "k8s.ConfigMap"), HasSubstr(fields));
  for (const char* form : {"PartialObjectMetadata", "Table"})
    EXPECT_THAT(call("GET", at, "", {{"Accept", fmt::format("application/json;as={};g=meta.k8s.io;v=v1", form)}}).text,
                HasSubstr(fields))
        << form;
  // Sent back as it came, nothing changes.
  const auto same = call("PUT", at, packed(created.text, "k8s.ConfigMap"), sends);
  EXPECT_EQ(same.text, created.text);
}

TEST_F(ApiTest, AnObjectThatIsTooLargeWithItsOwnersIsKeptWithoutThem) {
  std::string data;
  for (int i = 0; i < 80'000; ++i) data += fmt::format(R"({}"key-{}":"")", i == 0 ? "" : ",", i);
  const auto created = post(config_maps, config_map("c", "", data));
  ASSERT_EQ(created.status, 201) << created.text.substr(0, 300);
  EXPECT_EQ(created.at({"metadata", "managedFields"}), "(absent)");
  const auto dry = call("POST", std::string(config_maps) + "?dryRun=All", config_map("d", "", data));
  EXPECT_EQ(dry.at({"metadata", "managedFields"}), "(absent)");
}

TEST_F(ApiTest, ProtobufThatIsNoneOrOfAnotherKindIsRefused) {
  EXPECT_EQ(call("POST", config_maps, config_map("c"), sends).status, 400);
  EXPECT_EQ(call("POST", config_maps, "", sends).status, 400);
  EXPECT_EQ(call("POST", config_maps, std::string("k8s\0\x12\x09\x01", 7), sends).status, 400);
  const std::string secret = packed(R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}})", "k8s.Secret");
  EXPECT_EQ(call("POST", config_maps, secret, sends).status, 400);
  std::string other = config_map("c");
  other.replace(other.find(R"("v1")"), 4, R"("v2")");
  EXPECT_EQ(call("POST", config_maps, packed(other, "k8s.ConfigMap"), sends).status, 400);
  EXPECT_EQ(get(std::string(config_maps) + "/c").status, 404);
}

TEST_F(ApiTest, AnswersComeInProtobufToWhoPrefersIt) {
  const auto created = call("POST", config_maps, config_map("c", R"(,"labels":{"l":"x"})", R"("a":"1")"), asks);
  ASSERT_EQ(created.status, 201);
  EXPECT_EQ(created.content_type, "application/vnd.kubernetes.protobuf");
  const std::string at = std::string(config_maps) + "/c";
  const auto plain = get(at);
  EXPECT_EQ(unpacked(created.text, "k8s.ConfigMap"), without_names(plain));
  EXPECT_EQ(get(at, insists).text, created.text);
  EXPECT_EQ(get(at, {{"Accept", "application/json,application/vnd.kubernetes.protobuf"}}).text, plain.text);

  const std::string labelled = std::string(config_maps) + "?labelSelector=l%3Dx";
  const auto list = get(labelled, asks);
  EXPECT_EQ(list.content_type, "application/vnd.kubernetes.protobuf");
  EXPECT_EQ(unpacked(list.text, "k8s.ConfigMapList"), without_names(get(labelled)));

  const auto deleted = call("DELETE", at, {}, asks);
  EXPECT_EQ(deleted.status, 200);
  EXPECT_THAT(unpacked(deleted.text, "meta.Status"), HasSubstr(R"("status":"Success")"));
  // Refusals say what they are in, and every client reads JSON.
  const auto gone = get(at, asks);
  EXPECT_EQ(gone.reason(), "NotFound");
  EXPECT_EQ(gone.content_type, "application/json");
}

// A token to go on with says in which second it was made, so two lists made one after the other may differ in it.
std::string without_token(std::string list) {
  constexpr std::string_view member = R"("continue":")";
  const auto found = list.find(member);
  if (found == std::string::npos) return list;
  const auto from = found + member.size();
  return list.replace(from, list.find('"', from) - from, "TOKEN");
}

TEST_F(ApiTest, ALongListInProtobufComesInPieces) {
  // Some of it is made once and kept, the rest is measured first.
  const std::string text(60'000, 'x');
  for (int i = 0; i < 40; ++i) {
    const auto made = post(config_maps, config_map(fmt::format("c{:03}", i), R"(,"labels":{"l":"x"})",
                                                   fmt::format(R"("n":"{}","t":"{}")", i, text)));
    ASSERT_EQ(made.status, 201);
  }
  for (const auto& [limit, streamed] : {std::pair(5, false), std::pair(100, true)}) {
    const std::string at = fmt::format("{}?labelSelector=l%3Dx&limit={}", config_maps, limit);
    auto served = exchange("GET", at, {}, asks);
    start(*served).get();
    EXPECT_EQ(served->writes() > 1, streamed);
    EXPECT_EQ(served->response().content_type, "application/vnd.kubernetes.protobuf");
    EXPECT_EQ(without_token(unpacked(reply_of(*served).text, "k8s.ConfigMapList")),
              without_token(without_names(get(at))));
  }
}

TEST_F(ApiTest, CustomKindsHaveNoProtobufButTheirMetadata) {
  const auto created = post(vms, vm("a"));
  EXPECT_EQ(call("POST", vms, packed(vm("b"), "k8s.ConfigMap"), sends).status, 415);
  EXPECT_EQ(get(vms, asks).content_type, "application/json");
  EXPECT_EQ(get(vms, insists).status, 406);
  const std::string as = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1";
  const auto one = get(std::string(vms) + "/a", {{"Accept", fmt::format(fmt::runtime(as), "")}});
  ASSERT_EQ(one.content_type, "application/vnd.kubernetes.protobuf");
  // The message has the metadata in field 1, as a ConfigMap has.
  const std::string metadata = created.at({"metadata"});
  EXPECT_EQ(unpacked(one.text, "k8s.ConfigMap"),
            "meta.k8s.io/v1 PartialObjectMetadata {\"metadata\":" + metadata + "}");
  const auto list = get(vms, {{"Accept", fmt::format(fmt::runtime(as), "List")}});
  EXPECT_THAT(unpacked(list.text, "k8s.ConfigMapList"), HasSubstr("PartialObjectMetadataList"));
  EXPECT_THAT(unpacked(list.text, "k8s.ConfigMapList"), HasSubstr(R"("items":[{"metadata":{"name":"a")"));
}

TEST_F(ApiTest, OptionsOfADeletionMayBeProtobuf) {
  post(vms, vm("a"));
  const std::string dry =
      packed(R"({"apiVersion":"v1","kind":"DeleteOptions","dryRun":["All"]})", "meta.DeleteOptions");
  EXPECT_EQ(call("DELETE", std::string(vms) + "/a", dry, sends).status, 200);
  EXPECT_EQ(get(std::string(vms) + "/a").status, 200);
  const std::string other = packed(R"({"kind":"DeleteOptions","preconditions":{"uid":"other"}})", "meta.DeleteOptions");
  EXPECT_EQ(call("DELETE", std::string(vms) + "/a", other, sends).status, 409);
  EXPECT_EQ(call("DELETE", std::string(vms) + "/a", packed("{}", "meta.DeleteOptions"), sends).status, 200);
  EXPECT_EQ(get(std::string(vms) + "/a").status, 404);
}

TEST_F(ApiTest, TheScaleOfACustomKindMayBeProtobuf) {
  const std::string sets = "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstancereplicasets";
  const auto created = post(sets, R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstanceReplicaSet",
      "metadata":{"name":"s"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},
      "template":{"metadata":{"labels":{"a":"b"}},"spec":{"domain":{"devices":{}}}}}})");
  ASSERT_EQ(created.status, 201) << created.text;
  const auto scale = get(sets + "/s/scale", insists);
  ASSERT_EQ(scale.status, 200) << scale.text;
  EXPECT_EQ(unpacked(scale.text, "autoscaling.Scale"), without_names(get(sets + "/s/scale")));
  const std::string wanted =
      packed(R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"s"},"spec":{"replicas":0}})",
             "autoscaling.Scale");
  EXPECT_EQ(call("PUT", sets + "/s/scale", wanted, sends).at({"spec"}), "{}");
  EXPECT_EQ(get(sets + "/s").at({"spec", "replicas"}), "0");
}

// The first event of a stream, taken off it: "TYPE apiVersion kind {...}".
std::string take_event(std::string_view& stream, std::string_view type) {
  using Form = api::wire::Form;
  std::size_t size = 0;
  for (const char c : stream.substr(0, 4)) size = size << 8 | static_cast<unsigned char>(c);
  const auto event = api::wire::read_parts(stream.substr(4, size), std::array{Form::bytes, Form::bytes});
  stream.remove_prefix(4 + size);
  const auto object = api::wire::read_parts(event->at(2).bytes, std::array{Form::bytes});
  return std::string(event->at(1).bytes) + " " + unpacked(object->at(1).bytes, type);
}

TEST_F(ApiTest, AWatchInProtobufIsFramed) {
  post(config_maps, config_map("c", R"(,"labels":{"l":"x"})"));
  const std::string at = std::string(config_maps) +
                         "?watch=true&labelSelector=l%3Dx&sendInitialEvents=true&allowWatchBookmarks=true"
                         "&resourceVersionMatch=NotOlderThan&timeoutSeconds=1";
  auto watch = exchange("GET", at, {}, asks);
  start(*watch).get();
  EXPECT_EQ(watch->response().content_type, "application/vnd.kubernetes.protobuf;stream=watch");
  const std::string bytes = watch->bytes(1);
  std::string_view stream = bytes;
  const std::string stored = without_names(get(std::string(config_maps) + "/c"));
  EXPECT_EQ(take_event(stream, "k8s.ConfigMap"), "ADDED " + stored);
  const std::string bookmark = take_event(stream, "k8s.ConfigMap");
  EXPECT_THAT(bookmark, HasSubstr("BOOKMARK v1 ConfigMap"));
  EXPECT_THAT(bookmark, HasSubstr(R"("annotations":{"k8s.io/initial-events-end":"true"})"));
}

}  // namespace
}  // namespace vg::resources
