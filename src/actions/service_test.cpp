// From a request to its answer, over an API and a node that are scripts.
#include "actions/service.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>

#include "admission/admit.h"
#include "json/document.h"
#include "json/write.h"
#include "server/testing/fake_exchange.h"

namespace vg::actions {
namespace {

using server::testing::FakeExchange;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FakeObjects final : public ObjectApi {
 public:
  std::map<std::string, std::string> objects;  // "virtualmachines/demo": JSON
  std::vector<std::string> listed;             // whatever is asked for
  std::vector<std::string> writes;
  std::string unreadable = {};   // the plural of what nobody may read
  std::vector<Status> refusals;  // of the next writes, in order; a code of 0 lets one through

  Task<Result<json::Value>> get(Core&, ObjectName object, json::StoragePtr storage) override {
    if (object.resource.plural == unreadable) co_return fail(Status::forbidden("", unreadable, "x", "no"));
    const auto found = objects.find(fmt::format("{}/{}", object.resource.plural, object.name));
    if (found == objects.end()) co_return fail(Status::not_found("", std::string(object.resource.plural), "x"));
    co_return json::parse(found->second, storage);
  }
  Task<Result<std::vector<json::Value>>> list(Core&, ResourceName, std::string_view, Selectors,
                                              json::StoragePtr storage) override {
    std::vector<json::Value> values;
    for (const std::string& text : listed) values.push_back(std::move(*json::parse(text, storage)));
    co_return values;
  }
  Task<Result<ObjectPage>> list_page(Core&, ResourceName, std::string_view, PageRequest, json::StoragePtr) override {
    co_return ObjectPage();
  }
  Task<Result<WrittenObject>> patch(Core&, ObjectName object, std::string_view subresource,
                                    const json::Array& operations, bool dry_run) override {
    writes.push_back(fmt::format("{}/{}{}", object.resource.plural, subresource, dry_run ? " dry" : ""));
    last_operations = json::to_text(json::Value(operations));
    if (auto refusal = next_refusal()) co_return fail(std::move(*refusal));
    co_return WrittenObject{.name = std::string(object.name), .uid = "uid-1", .version = "7"};
  }
  Task<Result<WrittenObject>> create(Core&, ResourceName resource, std::string_view, const json::Value&,
                                     bool) override {
    writes.push_back(fmt::format("create {}", resource.plural));
    if (auto refusal = next_refusal()) co_return fail(std::move(*refusal));
    co_return WrittenObject{.name = "made-1", .uid = "uid-2", .version = "8"};
  }
  std::string last_operations;

 private:
  std::optional<Status> next_refusal() {
    if (refusals.empty()) return std::nullopt;
    Status first = std::move(refusals.front());
    refusals.erase(refusals.begin());
    return first.code == 0 ? std::nullopt : std::optional(std::move(first));
  }
};

class FakeNode final : public NodeLink {
 public:
  std::vector<std::string> calls;
  Result<NodeAnswer> answer = NodeAnswer{.status = 202, .phrase = "Accepted", .body = {}};
  bool known = true;

  Task<Result<NodeAddress>> find(Core&, std::string_view node) override {
    if (!known) co_return fail(Status::bad_request(fmt::format("node {} is unknown", node)));
    co_return NodeAddress{.host = "127.0.0.1", .port = 1};
  }
  Task<Result<NodeAnswer>> call(Core&, const NodeAddress&, NodeRequest request) override {
    calls.push_back(fmt::format("{} {} {}", request.method, request.target, request.body));
    co_return answer;
  }
  Task<Result<NodeStream>> open(Core&, const NodeAddress&, std::string_view target) override {
    calls.push_back(fmt::format("open {}", target));
    co_return NodeStream{.stream = nullptr, .refusal = {.status = 202, .phrase = "Accepted", .body = {}}};
  }
};

constexpr std::string_view running = R"({"metadata":{"name":"demo","namespace":"ns","uid":"U"},)"
                                     R"("status":{"phase":"Running","nodeName":"node01",)"
                                     R"("conditions":[{"type":"AgentConnected","status":"True"}]}})";

class NoComponents final : public ComponentLink {
 public:
  Task<Result<void>> ask_all(Core&, std::span<const Component>, ComponentQuestion, Take) override {
    co_return fail(Status::internal_error("there are no components"));
  }
};

class ServiceTest : public ::testing::Test {
 public:
  FakeObjects objects;
  FakeNode node;
  metrics::Registry metrics;
  StreamLedger streams{metrics, admission::offline_environment().clock};
  NoComponents components;
  Service service{{.objects = objects,
                   .nodes = node,
                   .environment = admission::offline_environment(),
                   .streams = {.ledger = streams},
                   .components = components}};

  struct Handler final : http::Handler {
    const Service& service;
    Target target;
    Handler(const Service& s, Target t) : service(s), target(t) {}
    Task<void> handle(http::Exchange& exchange) override {
      server::Call call(exchange, exchange.request().path);
      co_await service.serve(call, target);
    }
  };

  FakeExchange ask(std::string_view method, std::string_view resource, std::string_view subresource,
                   std::string_view body = "", std::string_view accept = "") {
    FakeExchange exchange{std::string(method), "/x", std::string(body)};
    if (!accept.empty()) exchange.header("Accept", std::string(accept));
    Handler handler(service,
                    {.version = "v1", .ns = "ns", .resource = resource, .name = "demo", .subresource = subresource});
    exchange.run(handler);
    return exchange;
  }
  FakeExchange on_machine(std::string_view action, std::string_view body = "") {
    return ask("PUT", "virtualmachines", action, body);
  }
  FakeExchange on_instance(std::string_view method, std::string_view action, std::string_view body = "") {
    return ask(method, "virtualmachineinstances", action, body);
  }
};

TEST_F(ServiceTest, PatchesAndNamesTheObject) {
  objects.objects["virtualmachines/demo"] = R"({"spec":{"runStrategy":"Halted"}})";
  auto answer = on_machine("start");
  EXPECT_EQ(answer.status(), 202);
  EXPECT_THAT(answer.body(), IsEmpty());
  EXPECT_EQ(answer.response().content_type, "");
  EXPECT_EQ(answer.response_header("X-Virtgate-Object"), "kubevirt.io/v1/namespaces/ns/virtualmachines/demo");
  EXPECT_THAT(objects.writes, ElementsAre("virtualmachines/"));
  EXPECT_EQ(on_machine("start", R"({"dryRun":["All"]})").status(), 202);
  EXPECT_EQ(objects.writes.back(), "virtualmachines/ dry");
}

TEST_F(ServiceTest, ADryRunTellsWhatItWouldDoToWhoAsksForThat) {
  constexpr std::string_view dry = R"({"dryRun":["All"]})", plan = "application/json;as=Status;g=virtgate.io;v=v1";
  objects.objects["virtualmachines/demo"] = R"({"spec":{"runStrategy":"Halted"}})";
  auto started = ask("PUT", "virtualmachines", "start", dry, plan);
  EXPECT_EQ(started.status(), 202);
  EXPECT_THAT(started.body(), AllOf(HasSubstr(R"("status":"Success")"), HasSubstr(R"("virtgate.io":{"would":[{)"),
                                    HasSubstr(R"("path":"/spec/runStrategy")")));
  objects.objects["virtualmachineinstances/demo"] = running;
  EXPECT_THAT(ask("PUT", "virtualmachineinstances", "pause", dry, plan).body(),
              HasSubstr(R"({"call":"PUT","path":"/v1/namespaces/ns/virtualmachineinstances/demo/pause"})"));
  EXPECT_THAT(ask("PUT", "virtualmachines", "migrate", dry, plan).body(), HasSubstr(R"("vmiName":"demo")"));
  // Others are answered as ever, and so is what is done.
  EXPECT_THAT(ask("PUT", "virtualmachineinstances", "pause", dry, "application/json").body(), IsEmpty());
  EXPECT_THAT(ask("PUT", "virtualmachineinstances", "pause", "", plan).body(), IsEmpty());
}

TEST_F(ServiceTest, SaysWhatIsMissing) {
  auto answer = on_machine("start");
  EXPECT_EQ(answer.status(), 404);
  EXPECT_THAT(answer.body(), AllOf(HasSubstr(R"("kind":"virtualmachine")"), HasSubstr(R"("group":"kubevirt.io")"),
                                   HasSubstr(R"("name":"demo")")));
}

TEST_F(ServiceTest, ARaceIsAConflict) {
  objects.objects["virtualmachines/demo"] = R"({"spec":{"runStrategy":"Halted"}})";
  objects.refusals = {{.code = 422, .reason = "Invalid", .message = "test failed", .details = {}}};
  EXPECT_EQ(on_machine("start").status(), 409);
  objects.refusals = {Status::invalid("kubevirt.io", "VirtualMachine", "demo", {})};
  EXPECT_EQ(on_machine("start").status(), 500);
  objects.refusals = {Status::forbidden("", "", "", "no")};
  EXPECT_EQ(on_machine("start").status(), 500);
}

TEST_F(ServiceTest, TakesBackWhatCameBeforeAFailure) {
  objects.objects["virtualmachines/demo"] = R"({"spec":{"runStrategy":"Always"},"status":{"created":true}})";
  objects.objects["virtualmachineinstances/demo"] = running;
  objects.refusals = {{.code = 0, .reason = {}, .message = {}, .details = {}}, Status::internal_error("disk")};
  EXPECT_EQ(on_machine("restart", R"({"gracePeriodSeconds":0})").status(), 500);
  EXPECT_THAT(objects.writes,
              ElementsAre("virtualmachineinstances/", "virtualmachines/status", "virtualmachineinstances/"));
  EXPECT_THAT(objects.last_operations, HasSubstr(R"("op":"remove")"));
  objects.writes.clear();
  objects.refusals = {{.code = 0, .reason = {}, .message = {}, .details = {}}, Status::internal_error("disk")};
  EXPECT_EQ(on_machine("restart", R"({"gracePeriodSeconds":0,"dryRun":["All"]})").status(), 500);
  EXPECT_THAT(objects.writes, ElementsAre("virtualmachineinstances/ dry", "virtualmachines/status dry"));
}

TEST_F(ServiceTest, InvalidVolumesAreTold) {
  objects.objects["virtualmachines/demo"] = R"({"spec":{"template":{"spec":{"domain":{"devices":{}}}}}})";
  constexpr std::string_view body = R"({"name":"a","disk":{},"volumeSource":{}})";
  objects.refusals = {Status::invalid("kubevirt.io", "VirtualMachine", "demo",
                                      {{.reason = "FieldValueInvalid", .message = "no", .field = "spec.x"}})};
  auto answer = on_machine("addvolume", body);
  EXPECT_EQ(answer.status(), 422);
  EXPECT_THAT(answer.body(), HasSubstr("spec.x"));
  objects.refusals = {Status::bad_request("no")};
  EXPECT_EQ(on_machine("addvolume", body).status(), 500);
}

TEST_F(ServiceTest, MakesMigrations) {
  objects.objects["virtualmachines/demo"] = "{}";
  objects.objects["virtualmachineinstances/demo"] = running;
  auto answer = on_machine("migrate");
  EXPECT_EQ(answer.status(), 202);
  EXPECT_EQ(answer.response_header("X-Virtgate-Object"),
            "kubevirt.io/v1/namespaces/ns/virtualmachineinstancemigrations/made-1");
  objects.refusals = {Status::bad_request("one runs already")};
  auto refused = on_machine("migrate");
  EXPECT_EQ(refused.status(), 500);
  EXPECT_THAT(refused.body(), HasSubstr("one runs already"));
  objects.listed = {R"({"metadata":{"name":"m-1"},"status":{"phase":"Succeeded"}})",
                    R"({"metadata":{"name":"m-2"},"status":{"phase":"Running"}})"};
  objects.refusals = {Status::bad_request("one runs already")};
  auto busy = on_machine("migrate");
  EXPECT_EQ(busy.status(), 409);
  EXPECT_THAT(busy.body(), HasSubstr("m-2"));
}

// What the importer keeps for itself matters only for a claim that could take a dump.
TEST_F(ServiceTest, DumpsNeedTheImportersLeave) {
  objects.objects["virtualmachines/demo"] = "{}";
  objects.objects["virtualmachineinstances/demo"] = running;
  objects.objects["persistentvolumeclaims/pvc"] = R"({"spec":{"resources":{"requests":{"storage":"1Gi"}}}})";
  constexpr std::string_view body = R"({"claimName":"pvc"})";
  EXPECT_EQ(on_machine("memorydump", body).status(), 202);
  objects.unreadable = "cdiconfigs";
  EXPECT_EQ(on_machine("memorydump", body).status(), 500);
  objects.objects["persistentvolumeclaims/pvc"] = R"({"spec":{"volumeMode":"Block"}})";
  EXPECT_EQ(on_machine("memorydump", body).status(), 409);
}

TEST_F(ServiceTest, ADrainedNodeIsLookedForOnlyWhereThatMatters) {
  objects.objects["virtualmachineinstances/demo"] = running;
  EXPECT_EQ(on_instance("PUT", "evacuate/cancel").status(), 200);
  objects.unreadable = "nodes";
  EXPECT_EQ(on_instance("PUT", "evacuate/cancel").status(), 500);
}

TEST_F(ServiceTest, AsksTheNode) {
  objects.objects["virtualmachineinstances/demo"] = running;
  EXPECT_EQ(on_instance("PUT", "freeze", R"({"unfreezeTimeout":"5m"})").status(), 200);
  EXPECT_THAT(node.calls,
              ElementsAre(R"(PUT /v1/namespaces/ns/virtualmachineinstances/demo/freeze {"unfreezeTimeout":"5m"})"));
  EXPECT_EQ(on_instance("PUT", "pause", R"({"dryRun":["All"]})").status(), 200);
  EXPECT_EQ(node.calls.size(), 1U);
  node.known = false;
  EXPECT_EQ(on_instance("PUT", "pause", R"({"dryRun":["All"]})").status(), 400);
}

// Controllers look into the message for code, phrase and body.
TEST_F(ServiceTest, PassesOnWhatTheNodeSays) {
  objects.objects["virtualmachineinstances/demo"] = running;
  node.answer = NodeAnswer{.status = 422, .phrase = "Unprocessable Entity", .body = "no such checkpoint"};
  auto answer = on_instance("PUT", "reset");
  EXPECT_EQ(answer.status(), 500);
  EXPECT_THAT(answer.body(), HasSubstr("422 (422 Unprocessable Entity): no such checkpoint"));
  node.answer = fail(Status::unavailable("nobody listens"));
  EXPECT_THAT(on_instance("PUT", "reset").body(), AllOf(HasSubstr("InternalError"), HasSubstr("nobody listens")));
}

TEST_F(ServiceTest, GuestInfoIsADocumentOrALineOfText) {
  objects.objects["virtualmachineinstances/demo"] = running;
  node.answer = NodeAnswer{.status = 200, .phrase = "OK", .body = R"({"z":1,"a":{"y":2,"b":3}})"};
  auto answer = on_instance("GET", "guestosinfo");
  EXPECT_EQ(answer.status(), 200);
  EXPECT_EQ(answer.body(), R"({"a":{"b":3,"y":2},"z":1})");
  node.answer = NodeAnswer{.status = 200, .phrase = "OK", .body = "null"};
  EXPECT_THAT(on_instance("GET", "guestosinfo").body(), IsEmpty());
  node.answer = NodeAnswer{.status = 404, .phrase = "Not Found", .body = "gone"};
  auto refused = on_instance("GET", "guestosinfo");
  EXPECT_EQ(refused.status(), 500);
  EXPECT_EQ(refused.response().content_type, "text/plain; charset=utf-8");
  EXPECT_THAT(refused.body(), HasSubstr("404 (404 Not Found): gone"));
  objects.objects.clear();
  EXPECT_EQ(on_instance("GET", "guestosinfo").status(), 500);
}

TEST_F(ServiceTest, APictureIsKnownByItsBytes) {
  objects.objects["virtualmachineinstances/demo"] = running;
  node.answer = NodeAnswer{.status = 200, .phrase = "OK", .body = "\x89PNG\r\n\x1a\nrest"};
  auto answer = on_instance("GET", "vnc/screenshot");
  EXPECT_EQ(answer.response().content_type, "image/png");
  node.answer = NodeAnswer{.status = 200, .phrase = "OK", .body = "none\n"};
  EXPECT_EQ(on_instance("GET", "vnc/screenshot").response().content_type, "text/plain; charset=utf-8");
  node.answer = NodeAnswer{.status = 200, .phrase = "OK", .body = std::string("RAW\x01", 4)};
  EXPECT_EQ(on_instance("GET", "vnc/screenshot").response().content_type, "application/octet-stream");
}

TEST_F(ServiceTest, AStreamIsRefusedInPlainHttp) {
  objects.objects["virtualmachineinstances/demo"] = running;
  auto answer = on_instance("GET", "console");
  EXPECT_EQ(answer.status(), 500);
  EXPECT_THAT(node.calls, ElementsAre("open /v1/namespaces/ns/virtualmachineinstances/demo/console"));
  EXPECT_EQ(answer.response().content_type, "application/json");
}

TEST_F(ServiceTest, NoPortIsForwardedToWhereNoGuestIs) {
  for (const std::string_view address : {"127.0.0.1", "::ffff:127.0.0.1", "::1", "169.254.169.254", "fe80::1"})
    for (const std::string_view action : {"portforward/22", "portforward/22/udp"}) {
      objects.objects["virtualmachineinstances/demo"] =
          fmt::format(R"({{"status":{{"phase":"Running","interfaces":[{{"ipAddress":"{}"}}]}}}})", address);
      auto answer = on_instance("GET", action);
      EXPECT_EQ(answer.status(), 500) << address;
      EXPECT_THAT(answer.body(), AllOf(HasSubstr("InternalError"), HasSubstr("--guest-networks"))) << address;
    }
}

TEST_F(ServiceTest, RoutesInPlainText) {
  EXPECT_EQ(ask("PUT", "virtualmachines", "nope").status(), 404);
  auto wrong = ask("GET", "virtualmachines", "start");
  EXPECT_EQ(wrong.status(), 405);
  EXPECT_EQ(wrong.response_header("Allow"), "PUT");
  EXPECT_EQ(wrong.response().content_type, "text/plain; charset=utf-8");
  EXPECT_EQ(ask("GET", "virtualmachineinstances", "userlist", "", "text/html").status(), 406);
  EXPECT_EQ(ask("GET", "virtualmachineinstances", "userlist", "", "text/html, application/json;q=1").status(), 500);
  EXPECT_EQ(ask("PUT", "virtualmachines", "start", "", "text/html").status(), 404);  // any answer will do
}

TEST_F(ServiceTest, AGateThatIsOffIsNamed) {
  auto answer = ask("GET", "virtualmachines", "objectgraph");
  EXPECT_EQ(answer.status(), 400);
  EXPECT_THAT(answer.body(), HasSubstr("ObjectGraph"));
}

}  // namespace
}  // namespace vg::actions
