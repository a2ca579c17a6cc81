#include "api/protobuf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "api/canonical.h"
#include "api/protobuf_wire.h"
#include "json/document.h"
#include "json/write.h"

namespace vg::api {
namespace {

using json::Document;
using json::Object;
using json::to_text;
using json::Value;
using ::testing::HasSubstr;
using wire::Message;

const Type& type_of(std::string_view name) {
  const Type* type = find_type(name);
  EXPECT_TRUE(type) << name;
  return *type;
}

std::string bytes_of(std::initializer_list<int> bytes) {
  std::string out;
  for (const int byte : bytes) out.push_back(static_cast<char>(byte));
  return out;
}

// The canonical form as text, or why there is none.
std::string decoded(std::string_view message, std::string_view type) {
  Document memory;
  const auto value = decode_protobuf(message, type_of(type), memory.storage());
  if (!value) {
    EXPECT_EQ(value.error().code, 400);
    return value.error().message;
  }
  return to_text(*value);
}

std::string encoded(std::string_view json, std::string_view type) {
  const auto document = Document::parse(json);
  EXPECT_TRUE(document) << json;
  return encode_protobuf(document->root().get_object(), type_of(type));
}

Message text_field(std::uint32_t number, std::string_view text) {
  Message message;
  message.text(number, text);
  return message;
}
Message integer_field(std::uint32_t number, std::int64_t value) {
  Message message;
  message.integer(number, value);
  return message;
}
std::string in_field(std::uint32_t number, const Message& inner) {
  Message message;
  message.message(number, inner);
  return message.take();
}

// --- hand-made bytes
// --------------------------------------------------------------------------------------------------

TEST(Protobuf, ReadsAnObjectByteForByte) {
  const std::string body =
      std::string("k8s\0", 4) + bytes_of({0x0a, 0x0f, 0x0a, 0x02, 'v', '1', 0x12, 0x09}) + "ConfigMap" +
      bytes_of({0x12, 0x0d, 0x0a, 0x03, 0x0a, 0x01, 'a', 0x12, 0x06, 0x0a, 0x01, 'k', 0x12, 0x01, 'v'}) +
      bytes_of({0x1a, 0x00, 0x22, 0x00});
  const auto object = open_protobuf(body);
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(object->api_version, "v1");
  EXPECT_EQ(object->kind, "ConfigMap");
  EXPECT_EQ(decoded(object->message, "k8s.ConfigMap"), R"({"metadata":{"name":"a"},"data":{"k":"v"}})");
}

// What kubectl 1.32 sends for `kubectl create namespace zz`: Go writes what is empty, too.
TEST(Protobuf, ReadsWhatKubectlSends) {
  const std::string body = bytes_of({0x6b, 0x38, 0x73, 0x00, 0x0a, 0x0f, 0x0a, 0x02, 0x76, 0x31, 0x12, 0x09, 0x4e, 0x61,
                                     0x6d, 0x65, 0x73, 0x70, 0x61, 0x63, 0x65, 0x12, 0x1a, 0x0a, 0x12, 0x0a, 0x02, 0x7a,
                                     0x7a, 0x12, 0x00, 0x1a, 0x00, 0x22, 0x00, 0x2a, 0x00, 0x32, 0x00, 0x38, 0x00, 0x42,
                                     0x00, 0x12, 0x00, 0x1a, 0x02, 0x0a, 0x00, 0x1a, 0x00, 0x22, 0x00});
  const auto object = open_protobuf(body);
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(object->kind, "Namespace");
  EXPECT_EQ(decoded(object->message, "k8s.Namespace"), R"({"metadata":{"name":"zz"},"spec":{},"status":{}})");
}

TEST(Protobuf, WritesAnObjectByteForByte) {
  const std::string message = encoded(R"({"metadata":{"name":"a"},"data":{"k":"v"}})", "k8s.ConfigMap");
  EXPECT_EQ(message, bytes_of({0x0a, 0x03, 0x0a, 0x01, 'a', 0x12, 0x06, 0x0a, 0x01, 'k', 0x12, 0x01, 'v'}));
  EXPECT_EQ(close_protobuf({.api_version = "v1", .kind = "ConfigMap", .message = "xy"}),
            std::string("k8s\0", 4) + bytes_of({0x0a, 0x0f, 0x0a, 0x02, 'v', '1', 0x12, 0x09}) + "ConfigMap" +
                bytes_of({0x12, 0x02, 'x', 'y'}));
}

TEST(Protobuf, NegativeNumbersTakeTenBytes) {
  const std::string message = encoded(R"({"value":-1})", "scheduling.PriorityClass");
  EXPECT_EQ(message, bytes_of({0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}));
  EXPECT_THAT(decoded(message, "scheduling.PriorityClass"), HasSubstr(R"("value":-1)"));
}

TEST(Protobuf, EmbeddedStructsAreMessagesOfTheirOwn) {
  // name, and below it the source of the volume, of which emptyDir is number 2.
  const std::string message = encoded(R"({"name":"v","emptyDir":{"medium":"Memory"}})", "k8s.Volume");
  Message source;
  source.message(2, text_field(1, "Memory"));
  Message wanted;
  wanted.text(1, "v");
  wanted.message(2, source);
  EXPECT_EQ(message, wanted.take());
  EXPECT_EQ(decoded(message, "k8s.Volume"), R"({"name":"v","emptyDir":{"medium":"Memory"}})");
}

TEST(Protobuf, TypeAndVersionStandAroundTheMessage) {
  EXPECT_EQ(encoded(R"({"kind":"Secret","apiVersion":"v1","type":"x"})", "k8s.Secret"), text_field(3, "x").take());
}

// --- all kinds
// --------------------------------------------------------------------------------------------------------

// Makes an object in which every field has a value that tells it from its neighbours.
class Sample {
 public:
  explicit Sample(json::StoragePtr storage) : storage_(std::move(storage)) {}

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the types
  Value structure(const Type& type) {
    Object object(storage_);
    for (std::size_t i = 0; i < type.fields.size(); ++i)
      if (!is_type_meta(type, i)) object.emplace(type.fields[i].name, value(type.fields[i]));
    return Value(std::move(object), storage_);
  }

 private:
  static bool is_type_meta(const Type& type, std::size_t index) {
    return std::ranges::any_of(type.embeds, [&](const Embed& embed) {
      return embed.type->name == "meta.TypeMeta" && index >= embed.first && index < embed.first + embed.count;
    });
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  Value value(const Node& node) {
    const int count = ++count_;
    switch (node.shape) {
      case Shape::boolean:
        return Value(true, storage_);
      case Shape::int32:
        return Value(std::int64_t{-count}, storage_);
      case Shape::int64:
        return Value(std::int64_t{5'000'000'000} + count, storage_);
      case Shape::bytes:
        return Value("AAEC/w==", storage_);
      case Shape::quantity:
        return Value(std::to_string(count) + "Mi", storage_);
      case Shape::time:
        return Value("2026-01-02T03:04:05Z", storage_);
      case Shape::micro_time:
        return Value("1969-12-31T23:59:59.000006Z", storage_);
      case Shape::int_or_string:
        return count % 2 == 0 ? Value(80, storage_) : Value("http", storage_);
      case Shape::raw:
      case Shape::fields:
        return Value({{"a", {1, nullptr, {{"b", "c"}}}}}, storage_);
      case Shape::structure:
        return structure(*node.type);
      case Shape::list:
        return Value({value(*node.element), value(*node.element)}, storage_);
      case Shape::map:
        return Value({{"one", value(*node.element)}, {"two", value(*node.element)}}, storage_);
      default:
        return Value("text" + std::to_string(count), storage_);
    }
  }

  json::StoragePtr storage_;
  int count_ = 0;
};

void expect_round_trip(const Type& type) {
  Document memory;
  Value object = Sample(memory.storage()).structure(type);
  ASSERT_TRUE(canonicalize(object, type));
  const auto back = decode_protobuf(encode_protobuf(object.get_object(), type), type, memory.storage());
  ASSERT_TRUE(back) << type.name << ": " << back.error().message;
  EXPECT_EQ(to_text(*back), to_text(object)) << type.name;
}

TEST(Protobuf, EveryFieldOfEveryKindComesBack) {
  int kinds_seen = 0;
  for (const Kind& kind : kinds()) {
    // The schema inside a definition is kept as JSON, and definitions are part of the program: they are only read.
    const bool speaks = !kind.custom && kind.kind != "CustomResourceDefinition";
    EXPECT_EQ(speaks_protobuf(*kind.type), speaks) << kind.kind;
    if (!speaks) continue;
    ++kinds_seen;
    expect_round_trip(*kind.type);
    if (kind.list_type) expect_round_trip(*kind.list_type);
  }
  EXPECT_GE(kinds_seen, 25);
  expect_round_trip(type_of("meta.Status"));
  expect_round_trip(type_of("meta.DeleteOptions"));
}

// --- as Go decodes
// ----------------------------------------------------------------------------------------------------

TEST(Protobuf, WhatIsEmptyIsLeftOutAsInJson) {
  Message names, metadata;
  names.text(1, "");  // Go writes every string, also an empty one
  names.text(3, "");
  names.text(8, "");  // and the time zero as no bytes
  metadata.message(1, names);
  EXPECT_EQ(decoded(metadata.take(), "k8s.ConfigMap"), R"({"metadata":{}})");
  EXPECT_EQ(decoded("", "k8s.ConfigMap"), R"({"metadata":{}})");
}

TEST(Protobuf, PointersToZeroAreKept) {
  EXPECT_EQ(decoded(integer_field(1, 0).take(), "meta.DeleteOptions"), R"({"gracePeriodSeconds":0})");
  EXPECT_EQ(decoded(integer_field(3, 0).take(), "meta.DeleteOptions"), R"({"orphanDependents":false})");
  EXPECT_EQ(decoded(text_field(4, "").take(), "meta.DeleteOptions"), R"({"propagationPolicy":""})");
  EXPECT_EQ(encoded(R"({"gracePeriodSeconds":0})", "meta.DeleteOptions"), integer_field(1, 0).take());
}

TEST(Protobuf, FieldsFromNewerClientsAreSkipped) {
  Message message;
  message.text(900, "?");
  message.integer(901, 1);
  message.number(902, 1.5);
  message.text(4, "Orphan");
  std::string bytes = message.take() + bytes_of({0xb5, 0x38, 1, 2, 3, 4});  // 902 as four bytes
  EXPECT_EQ(decoded(bytes, "meta.DeleteOptions"), R"({"propagationPolicy":"Orphan"})");
}

TEST(Protobuf, FieldsThatOccurAgainReplaceOrAdd) {
  const std::string twice = in_field(1, text_field(1, "a")) + in_field(1, text_field(3, "b")) +
                            in_field(1, text_field(1, "c")) + in_field(1, text_field(14, "x")) +
                            in_field(1, text_field(14, "y"));
  EXPECT_EQ(decoded(twice, "k8s.ConfigMap"), R"({"metadata":{"name":"c","namespace":"b","finalizers":["x","y"]}})");
  Message first, second;
  first.entry(2, "k", text_field(1, "ignored"));
  Message entry;
  entry.text(1, "k");
  entry.text(2, "v");
  second.message(2, entry);
  EXPECT_EQ(decoded(first.take() + second.take(), "k8s.ConfigMap"), R"({"metadata":{},"data":{"k":"v"}})");
}

TEST(Protobuf, NumbersMayComePacked) {
  constexpr std::uint32_t supplemental_groups = 4;
  const std::string packed = text_field(supplemental_groups, bytes_of({0x05, 0xac, 0x02})).take();
  const std::string plain =
      integer_field(supplemental_groups, 5).take() + integer_field(supplemental_groups, 300).take();
  EXPECT_EQ(decoded(packed, "k8s.PodSecurityContext"), R"({"supplementalGroups":[5,300]})");
  EXPECT_EQ(decoded(plain, "k8s.PodSecurityContext"), R"({"supplementalGroups":[5,300]})");
}

TEST(Protobuf, MapEntriesWithoutValuesAreZero) {
  EXPECT_EQ(decoded(in_field(2, text_field(1, "k")), "k8s.Secret"), R"({"metadata":{},"data":{"k":""}})");
  EXPECT_EQ(decoded(in_field(1, text_field(1, "cpu")), "k8s.ResourceQuotaSpec"), R"({"hard":{"cpu":"0"}})");
  EXPECT_EQ(decoded(in_field(2, Message()), "k8s.ConfigMap"), R"({"metadata":{},"data":{"":""}})");
}

TEST(Protobuf, ListsInsideOfMapsAreWrapped) {
  const std::string json = R"({"username":"u","extra":{"a":["x","y"],"b":[]}})";
  const std::string bytes = encoded(json, "authentication.UserInfo");
  EXPECT_EQ(decoded(bytes, "authentication.UserInfo"), json);
  Message items;
  items.text(1, "x");
  items.text(1, "y");
  Message expected;
  expected.text(1, "u");
  expected.entry(4, "a", items);
  expected.entry(4, "b", Message());
  EXPECT_EQ(bytes, expected.take());
}

TEST(Protobuf, TimesAreSecondsAndMicroseconds) {
  constexpr std::uint32_t renew_time = 4;
  Message time;
  time.integer(1, -1);
  time.integer(2, 6'999);
  EXPECT_EQ(decoded(in_field(renew_time, time), "coordination.LeaseSpec"),
            R"({"renewTime":"1969-12-31T23:59:59.000006Z"})");
  Message before;
  before.integer(1, 5);
  before.integer(2, -1'000);
  EXPECT_EQ(decoded(in_field(renew_time, before), "coordination.LeaseSpec"),
            R"({"renewTime":"1970-01-01T00:00:04.999999Z"})");
  // A plain time knows no fraction, and 1970 is not the zero time.
  Message deletion;
  deletion.integer(1, 0);
  deletion.integer(2, 999'999'999);
  EXPECT_EQ(decoded(in_field(9, deletion), "meta.ObjectMeta"), R"({"deletionTimestamp":"1970-01-01T00:00:00Z"})");
  EXPECT_EQ(decoded(encoded(R"({"deletionTimestamp":"1970-01-01T00:00:00Z"})", "meta.ObjectMeta"), "meta.ObjectMeta"),
            R"({"deletionTimestamp":"1970-01-01T00:00:00Z"})");
}

TEST(Protobuf, TextsThatAreNoUtf8AreRepaired) {
  EXPECT_EQ(decoded(text_field(4, "a\xff\xc3z\xe2\x82\xac").take(), "meta.DeleteOptions"),
            "{\"propagationPolicy\":\"a\xEF\xBF\xBD\xEF\xBF\xBDz\xe2\x82\xac\"}");
}

// --- refusals
// ---------------------------------------------------------------------------------------------------------

TEST(Protobuf, RefusesWhatIsNoObject) {
  for (const std::string& body :
       {std::string(), std::string("{}"), std::string("k8s"), std::string("k8s\1") + "x", std::string("k8s\0\x0a", 5),
        std::string("k8s\0\x0a\x05\x0a", 7), std::string("k8s\0\x08\x01", 6),
        std::string("k8s\0", 4) + text_field(3, "gzip").take()}) {
    const auto object = open_protobuf(body);
    ASSERT_FALSE(object) << body;
    EXPECT_EQ(object.error().code, 400);
  }
  EXPECT_EQ(open_protobuf(std::string(4 * 1024 * 1024, 'k')).error().code, 413);
}

TEST(Protobuf, RefusalsSayWhere) {
  Message port;
  port.text(3, "http");  // containerPort is a number
  Message container;
  container.message(6, port);
  Message spec;
  spec.message(2, container);
  EXPECT_THAT(decoded(in_field(2, spec), "k8s.Pod"), HasSubstr("spec.containers[0].ports[0].containerPort"));
}

TEST(Protobuf, RefusesValuesThatJsonCouldNotHold) {
  EXPECT_THAT(decoded(in_field(1, text_field(1, "cpu")) + in_field(1,
                                                                   [] {
                                                                     Message entry;
                                                                     entry.text(1, "memory");
                                                                     entry.message(2, text_field(1, "1Zi"));
                                                                     return entry;
                                                                   }()),
                      "k8s.ResourceQuotaSpec"),
              HasSubstr("hard[memory]"));
  Message empty_quantity;
  empty_quantity.text(1, "cpu");
  empty_quantity.message(2, text_field(1, ""));
  EXPECT_THAT(decoded(in_field(1, empty_quantity), "k8s.ResourceQuotaSpec"), HasSubstr("hard[cpu]"));
  EXPECT_THAT(decoded(in_field(4, integer_field(1, 2)), "k8s.ServicePort"), HasSubstr("targetPort"));
  EXPECT_THAT(decoded(in_field(2, text_field(1, "{bad")), "apps.ControllerRevision"), HasSubstr("data"));
  EXPECT_THAT(decoded(in_field(9, integer_field(1, INT64_MAX)), "meta.ObjectMeta"), HasSubstr("deletionTimestamp"));
  EXPECT_THAT(decoded(in_field(4, integer_field(1, INT64_MIN)), "coordination.LeaseSpec"), HasSubstr("renewTime"));
}

TEST(Protobuf, RawJsonMayNotMakeTheObjectTooDeep) {
  const auto nested = [](int levels) {
    return in_field(2, text_field(1, std::string(static_cast<std::size_t>(levels), '[') +
                                         std::string(static_cast<std::size_t>(levels), ']')));
  };
  EXPECT_THAT(decoded(nested(100), "apps.ControllerRevision"), HasSubstr(R"("data":[[)"));
  EXPECT_THAT(decoded(nested(128), "apps.ControllerRevision"), HasSubstr("is not valid protobuf"));
  // What passes can be stored and read again.
  EXPECT_TRUE(Document::parse(decoded(nested(127), "apps.ControllerRevision")));
}

TEST(Protobuf, EveryCutIsReadOrRefused) {
  Document memory;
  const Type& type = type_of("k8s.PodSpec");
  Value object = Sample(memory.storage()).structure(type);
  ASSERT_TRUE(canonicalize(object, type));
  const std::string whole = encode_protobuf(object.get_object(), type).substr(0, 3000);
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    Document part;
    const auto value = decode_protobuf(std::string_view(whole).substr(0, size), type, part.storage());
    if (!value) EXPECT_EQ(value.error().code, 400);
  }
}

TEST(ProtobufWire, VarintsEndAtSixtyFourBits) {
  std::string most = std::string(9, '\xff') + "\x01";
  std::string_view rest = most;
  EXPECT_EQ(wire::take_varint(rest), UINT64_MAX);
  EXPECT_TRUE(rest.empty());
  const std::string more = std::string(10, '\xff') + "\x01";
  rest = more;
  EXPECT_FALSE(wire::take_varint(rest));
  const std::string open = "\x80";
  rest = open;
  EXPECT_FALSE(wire::take_varint(rest));
}

TEST(ProtobufWire, ReaderStopsAtWhatIsNoField) {
  for (const std::string& bytes :
       {bytes_of({0x00}), bytes_of({0x0b}), bytes_of({0x0c}), bytes_of({0x0a, 0x02, 'x'}), bytes_of({0x09, 1, 2, 3}),
        bytes_of({0x0d, 1, 2}), bytes_of({0x0e}), bytes_of({0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0x00})}) {
    wire::Reader reader(bytes);
    EXPECT_FALSE(reader.next());
    EXPECT_TRUE(reader.malformed());
    EXPECT_FALSE(reader.next());
  }
  wire::Reader none("");
  EXPECT_FALSE(none.next());
  EXPECT_FALSE(none.malformed());
}

}  // namespace
}  // namespace vg::api
