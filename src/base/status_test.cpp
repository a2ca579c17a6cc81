#include "base/status.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"

namespace vg {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(StatusTest, WhatIsNotFoundAlwaysHasDetails) {
  const Status status{.code = 404, .reason = "NotFound", .message = "x", .details = {}};
  EXPECT_THAT(to_json(status), HasSubstr(R"("details":{},"code":404)"));
  EXPECT_THAT(to_json(Status::bad_request("x")), ::testing::Not(HasSubstr("details")));
}

TEST(Status, CodesAndReasonsAreKubernetesOwn) {
  const struct {
    Status status;
    int code;
    const char* reason;
  } cases[] = {
      {Status::bad_request("m"), 400, "BadRequest"},
      {Status::unauthorized("m"), 401, "Unauthorized"},
      {Status::forbidden("g", "r", "n", "m"), 403, "Forbidden"},
      {Status::not_found("g", "r", "n"), 404, "NotFound"},
      {Status::method_not_supported("g", "r", "patch"), 405, "MethodNotAllowed"},
      {Status::not_acceptable("m"), 406, "NotAcceptable"},
      {Status::timeout("m"), 504, "Timeout"},
      {Status::already_exists("g", "r", "n"), 409, "AlreadyExists"},
      {Status::conflict("g", "r", "n", "m"), 409, "Conflict"},
      {Status::expired("m"), 410, "Expired"},
      {Status::too_large("m"), 413, "RequestEntityTooLarge"},
      {Status::unsupported_media_type("m"), 415, "UnsupportedMediaType"},
      {Status::invalid("g", "K", "n", {}), 422, "Invalid"},
      {Status::too_many_requests("m", 1), 429, "TooManyRequests"},
      {Status::internal_error("m"), 500, "InternalError"},
      {Status::unavailable("m"), 503, "ServiceUnavailable"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(c.status.code, c.code);
    EXPECT_EQ(c.status.reason, c.reason);
    EXPECT_FALSE(c.status.message.empty()) << c.reason;
  }
}

TEST(Status, DetailsNameTheObject) {
  const StatusDetails object{.name = "n", .group = "g", .kind = "r", .uid = "", .causes = {}};
  EXPECT_EQ(Status::not_found("g", "r", "n").details, object);
  EXPECT_EQ(Status::already_exists("g", "r", "n").details, object);
  EXPECT_EQ(Status::conflict("g", "r", "n", "m").details, object);
  EXPECT_EQ(Status::forbidden("g", "r", "n", "m").details, object);
  const StatusDetails resource{.name = "", .group = "g", .kind = "r", .uid = "", .causes = {}};
  EXPECT_EQ(Status::method_not_supported("g", "r", "patch").details, resource);
  EXPECT_EQ(Status::bad_request("m").details, StatusDetails{});
  EXPECT_EQ(Status::too_many_requests("m", 7).details.retry_after_seconds, 7);
  EXPECT_EQ(Status::timeout("m", 3).details.retry_after_seconds, 3);
  EXPECT_EQ(Status::timeout("m", -1).details.retry_after_seconds, 0);
  ASSERT_EQ(Status::internal_error("disk full").details.causes.size(), 1u);
  EXPECT_EQ(Status::internal_error("disk full").details.causes[0].message, "disk full");
}

// What programs look for, word for word; advice comes behind it.
TEST(Status, MessagesBeginWithThePhrasesThatProgramsMatch) {
  EXPECT_EQ(Status::not_found("kubevirt.io", "virtualmachines", "a").message,
            "virtualmachines.kubevirt.io \"a\" not found");
  EXPECT_EQ(Status::not_found("", "pods", "a").message, "pods \"a\" not found");
  EXPECT_THAT(Status::not_found("x.io", "things", "").message,
              StartsWith("the server could not find the requested resource; things.x.io is not served"));
  EXPECT_THAT(Status::already_exists("kubevirt.io", "virtualmachines", "a").message,
              StartsWith("virtualmachines.kubevirt.io \"a\" already exists; "));
  EXPECT_EQ(Status::conflict("kubevirt.io", "virtualmachines", "a", "why").message,
            "Operation cannot be fulfilled on virtualmachines.kubevirt.io \"a\": why");
  EXPECT_EQ(Status::forbidden("kubevirt.io", "virtualmachines", "a", "why").message,
            "virtualmachines.kubevirt.io \"a\" is forbidden: why");
  EXPECT_EQ(Status::forbidden("", "pods", "", "why").message, "pods is forbidden: why");
  EXPECT_EQ(Status::forbidden("", "", "", "why").message, "forbidden: why");
  EXPECT_EQ(Status::unauthorized("why").message, "Unauthorized: why");
  EXPECT_EQ(Status::too_many_requests("why", 1).message, "too many requests: why");
  EXPECT_EQ(Status::internal_error("disk full").message, "internal error: disk full");
}

TEST(Status, AMethodThatIsNotSupportedIsNamedWithItsResource) {
  constexpr std::string_view phrase = "the server does not allow this method on the requested resource: ";
  const auto said = [&](std::string resource, std::string_view verb) {
    const std::string message = Status::method_not_supported("", std::move(resource), verb).message;
    EXPECT_THAT(message, StartsWith(std::string(phrase)));
    return message.substr(phrase.size(), message.find(';') - phrase.size());
  };
  EXPECT_EQ(said("pods", "create"), "pods cannot be created here");
  EXPECT_EQ(said("pods", "frob"), "pods does not support frob");
  EXPECT_EQ(said("", "delete"), "this path cannot be deleted here");
}

TEST(Status, ACauseSaysItsTypeFirst) {
  const auto said = [](std::vector<StatusCause> causes) {
    return Status::invalid("", "Pod", "p", std::move(causes)).message;
  };
  const char* const rows[][2] = {
      {"FieldValueRequired", "Required value"},  {"FieldValueInvalid", "Invalid value"},
      {"FieldValueForbidden", "Forbidden"},      {"FieldValueDuplicate", "Duplicate value"},
      {"FieldValueNotFound", "Not found"},       {"FieldValueTooLong", "Too long"},
      {"FieldValueTooMany", "Too many"},         {"FieldValueNotSupported", "Unsupported value"},
      {"FieldValueTypeInvalid", "Invalid value"}};
  for (const auto& [reason, word] : rows)
    EXPECT_EQ(said({{reason, "why", "spec.x"}}), fmt::format("Pod \"p\" is invalid: spec.x: {}: why", word));
  EXPECT_EQ(said({{"FieldValueRequired", "", "spec.x"}}), "Pod \"p\" is invalid: spec.x: Required value");
  EXPECT_EQ(said({{"FieldValueInvalid", "Forbidden: why", "spec.x"}}), "Pod \"p\" is invalid: spec.x: Forbidden: why")
      << "a rule may choose a better word than its reason gives";
  EXPECT_EQ(said({{"FieldValueInvalid", "spec.y: Required value: why", "spec.x"}}),
            "Pod \"p\" is invalid: spec.y: Required value: why");
  EXPECT_EQ(said({{"FieldValueInvalid", "\"a\": supported values: b, c", "spec.x"}}),
            "Pod \"p\" is invalid: spec.x: Unsupported value: \"a\": supported values: b, c");
  EXPECT_EQ(said({{"UnexpectedServerResponse", "why", ""}}), "Pod \"p\" is invalid: why");
  EXPECT_EQ(said({{"FieldValueInvalid", "a", "x"}, {"FieldValueForbidden", "b", "y"}}),
            "Pod \"p\" is invalid: [x: Invalid value: a, y: Forbidden: b]");
}

TEST(Status, InvalidShowsTheFirstCausesAndCountsTheRest) {
  std::vector<StatusCause> causes;
  for (std::size_t i = 0; i < limits::causes_in_message_max; ++i) {
    causes.push_back({"FieldValueInvalid", fmt::format("bad{}.", i), fmt::format("spec.f{}", i)});
  }
  Status status = Status::invalid("kubevirt.io", "VirtualMachine", "vm", causes);
  EXPECT_THAT(status.message, HasSubstr("VirtualMachine.kubevirt.io \"vm\""));
  EXPECT_THAT(status.message, HasSubstr("is invalid: [spec.f0: Invalid value: bad0., spec.f1: Invalid value: bad1., "));
  EXPECT_THAT(status.message, HasSubstr("bad9."));
  EXPECT_THAT(status.message, Not(HasSubstr("more")));
  ASSERT_EQ(status.details.causes.size(), causes.size());
  EXPECT_EQ(status.details.causes[0].message, "Invalid value: bad0.");

  causes.push_back({"FieldValueInvalid", "bad10.", "spec.f10"});
  causes.push_back({"FieldValueInvalid", "bad11.", ""});
  status = Status::invalid("kubevirt.io", "VirtualMachine", "vm", causes);
  EXPECT_THAT(status.message, Not(HasSubstr("bad10.")));
  EXPECT_THAT(status.message, HasSubstr("and 2 more"));
  EXPECT_EQ(status.details.causes.size(), 12u);
}

TEST(Status, JsonLeavesOutWhatIsEmpty) {
  EXPECT_EQ(to_json(Status::bad_request("no \"kind\"\n")),
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no \"kind\"\n",)"
            R"("reason":"BadRequest","code":400})");
  EXPECT_EQ(to_json(Status{.code = 400, .reason = "", .message = "", .details = {}}),
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","code":400})");
}

TEST(Status, JsonWritesAllDetails) {
  const Status status{.code = 422,
                      .reason = "Invalid",
                      .message = "m",
                      .details = {.name = "n",
                                  .group = "g",
                                  .kind = "k",
                                  .uid = "u",
                                  .causes = {{"A", "b", "c"}, {"", "only", ""}},
                                  .retry_after_seconds = 4}};
  EXPECT_EQ(to_json(status),
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"m","reason":"Invalid",)"
            R"("details":{"name":"n","group":"g","kind":"k","uid":"u","causes":[{"reason":"A","message":"b",)"
            R"("field":"c"},{"message":"only"}],"retryAfterSeconds":4},"code":422})");
}

TEST(Status, JsonOfASuccessSaysSo) {
  EXPECT_THAT(to_json(Status{.code = 200, .reason = "", .message = "", .details = {}}),
              HasSubstr(R"("status":"Success")"));
}

}  // namespace
}  // namespace vg
