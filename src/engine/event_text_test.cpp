#include "engine/event_text.h"

#include <gmock/gmock.h>

#include <string>

#include "engine/testing.h"

namespace vg::engine {
namespace {

using controllers::Event;
using controllers::EventObject;
using controllers::EventType;

constexpr std::string_view then = "2026-01-02T03:04:05Z";

class EventTextTest : public EngineTest {
 protected:
  static EventObject involved_vm() {
    return {.api_version = "kubevirt.io/v1",
            .kind = "VirtualMachine",
            .ns = "ns",
            .name = "vm",
            .uid = "1685df77-5262-4bf4-b826-bac4c16036be",
            .resource_version = "14"};
  }
  // What the ordinary way stores, with one time for all of its times.
  ObjectPtr stored(const EventPlace& place, const Event& event, const EventSource& source) {
    json::LeasedArena arena;
    EventWrite wanted = event_write(place, involved_vm(), event, source, then, arena.storage());
    const Done made = write({.verb = Verb::create,
                             .resource = controllers::kinds::event,
                             .ns = place.ns,
                             .name = place.name,
                             .identity = controllers::Identity::own(),
                             .document = json::Value(wanted.document, json::StoragePtr())});
    EXPECT_FALSE(made.hard) << made.hard->message;
    return store_->get("events", place.ns, place.name);
  }
  static std::string at_one_time(std::string text, std::string_view time) {
    for (std::size_t at = text.find(time); at != std::string::npos; at = text.find(time, at + 1))
      text.replace(at, time.size(), then);
    return text;
  }
  void expect_same(const Event& event, const EventSource& source) {
    EventRecorder events;
    const EventPlace place = events.place(involved_vm(), event, source, ++serial_);
    const ObjectPtr object = stored(place, event, source);
    ASSERT_TRUE(object);
    const auto draft = plain_event({.ns = place.ns,
                                    .name = place.name,
                                    .uid = object->uid(),
                                    .involved = involved_vm(),
                                    .event = event,
                                    .source = source,
                                    .manager = "virt-controller",
                                    .now = then});
    ASSERT_TRUE(draft);
    const std::string created = text_at("events", place.name, {"metadata", "creationTimestamp"});
    EXPECT_EQ(draft->json, at_one_time(std::string(object->json()), created));
    EXPECT_EQ(draft->revision_offset, object->revision_offset());
    EXPECT_EQ(draft->uid, object->uid());
  }
  std::uint64_t serial_ = 0;
};

TEST_F(EventTextTest, IsWhatTheOrdinaryWayStores) {
  expect_same({.reason = "SuccessfulCreate", .message = "VMI \"vm\" was created"}, {.component = "vm-controller"});
  expect_same({.type = EventType::warning, .reason = "Failed", .message = "a\\b\n\u00e9 \u2028 </x>"},
              {.component = "virt-handler", .host = "node02"});
}

TEST_F(EventTextTest, WhatIsToBeJudgedGoesTheOrdinaryWay) {
  const Event good{.reason = "Happened", .message = "it did"};
  const EventSource source{.component = "toy"};
  const auto is_plain = [&](const EventObject& involved, const Event& event, std::string_view name) {
    return plain_event({.ns = "ns",
                        .name = name,
                        .uid = "u",
                        .involved = involved,
                        .event = event,
                        .source = source,
                        .manager = "virt-controller",
                        .now = then})
        .has_value();
  };
  EXPECT_TRUE(is_plain(involved_vm(), good, "vm.1"));
  EXPECT_FALSE(is_plain(involved_vm(), good, std::string(250, 'a') + ".123")) << "the name is too long";
  EXPECT_FALSE(is_plain(involved_vm(), {.reason = "Happened", .message = {}}, "vm.1"));
  EXPECT_FALSE(is_plain(involved_vm(), {.reason = "Happened", .message = std::string(4U << 20U, 'm')}, "vm.1"));
  EventObject elsewhere = involved_vm();
  elsewhere.ns = "";
  EXPECT_FALSE(is_plain(elsewhere, good, "vm.1")) << "of the whole cluster";
  EventObject unnamed = involved_vm();
  unnamed.uid = "";
  EXPECT_FALSE(is_plain(unnamed, good, "vm.1"));
}

}  // namespace
}  // namespace vg::engine
