#include "admission/review.h"

#include <gmock/gmock.h>

#include "json/access.h"
#include "json/document.h"

namespace vg::admission {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

json::Document document(std::string_view text) {
  auto parsed = json::Document::parse(text);
  EXPECT_TRUE(parsed) << text;
  return std::move(*parsed);
}

Review review_of(std::string_view uid, std::string_view api_version = {}) {
  Review review;
  review.uid = uid;
  review.api_version = api_version;
  return review;
}

std::string answer(bool mutating, const Review& review, const Verdict& verdict) {
  std::string out;
  write_answer(out, mutating, review, verdict);
  document(out);
  return out;
}

TEST(ReviewTest, ReadsEveryMember) {
  auto doc = document(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{
    "uid":"u-1","kind":{"group":"kubevirt.io","version":"v1","kind":"VirtualMachine"},
    "resource":{"group":"kubevirt.io","version":"v1","resource":"virtualmachines"},"subResource":"status",
    "requestKind":{"group":"g","version":"v","kind":"k"},"requestResource":{"resource":"r"},"requestSubResource":"s",
    "name":"vm","namespace":"default","operation":"UPDATE",
    "userInfo":{"username":"jane","uid":"7","groups":["a","b"],"extra":{"scopes":["x"]}},
    "object":{"spec":1},"oldObject":{"spec":2},"dryRun":true,"options":{"kind":"UpdateOptions"},"unknown":[1]}})");
  auto review = read_review(doc.root());
  ASSERT_TRUE(review);
  EXPECT_EQ(review->api_version, "admission.k8s.io/v1");
  EXPECT_EQ(review->uid, "u-1");
  EXPECT_EQ(review->kind.kind, "VirtualMachine");
  EXPECT_EQ(review->resource.group, "kubevirt.io");
  EXPECT_EQ(review->resource.resource, "virtualmachines");
  EXPECT_EQ(review->sub_resource, "status");
  EXPECT_EQ(review->request_kind.version, "v");
  EXPECT_EQ(review->request_resource.resource, "r");
  EXPECT_EQ(review->request_sub_resource, "s");
  EXPECT_EQ(review->name, "vm");
  EXPECT_EQ(review->name_space, "default");
  EXPECT_EQ(review->operation(), Operation::update);
  EXPECT_EQ(review->user.username, "jane");
  EXPECT_EQ(review->user.uid, "7");
  EXPECT_EQ(review->user.groups->size(), 2u);
  EXPECT_EQ(review->user.extra->size(), 1u);
  EXPECT_TRUE(review->dry_run);
  EXPECT_EQ(json::get_int(*review->object, "spec"), 1);
  EXPECT_EQ(json::get_int(*review->old_object, "spec"), 2);
  EXPECT_TRUE(review->options);
}

TEST(ReviewTest, ReadsAsGoDoes) {
  auto doc = document(R"({"KIND":"x","ApiVersion":"a","Request":{"UID":"1","uid":"2","Operation":"DELETE","USERINFO":
    {"UserName":"u"},"Object":{},"oldobject":null,"dryRun":null,"kind":null,"subresource":"sub"}})");
  auto review = read_review(doc.root());
  ASSERT_TRUE(review);
  EXPECT_EQ(review->api_version, "a");
  EXPECT_EQ(review->uid, "2");
  EXPECT_EQ(review->operation(), Operation::remove);
  EXPECT_EQ(review->user.username, "u");
  EXPECT_EQ(review->sub_resource, "sub");
  EXPECT_TRUE(review->object);
  EXPECT_FALSE(review->old_object);
  EXPECT_FALSE(review->dry_run);
}

TEST(ReviewTest, AnEmptyRequestIsARequest) {
  auto doc = document(R"({"request":{}})");
  auto review = read_review(doc.root());
  ASSERT_TRUE(review);
  EXPECT_EQ(review->operation(), Operation::other);
  EXPECT_EQ(review->object, nullptr);
}

TEST(ReviewTest, TellsAMissingRequestFromAMalformedReview) {
  for (std::string_view text : {"{}", "null", R"({"request":null})", R"({"kind":"AdmissionReview"})"}) {
    auto doc = document(text);
    auto review = read_review(doc.root());
    ASSERT_FALSE(review) << text;
    EXPECT_EQ(review.error(), ReviewError::no_request) << text;
  }
  for (std::string_view text :
       {"[]", "1", "\"x\"", R"({"request":[]})", R"({"request":"x"})", R"({"apiVersion":1,"request":{}})",
        R"({"request":{"uid":5}})", R"({"request":{"dryRun":"true"}})", R"({"request":{"kind":"VM"}})",
        R"({"request":{"kind":{"group":1}}})", R"({"request":{"resource":[]}})", R"({"request":{"userInfo":[]}})",
        R"({"request":{"userInfo":{"groups":"a"}}})", R"({"request":{"userInfo":{"groups":[1]}}})",
        R"({"request":{"userInfo":{"extra":{"a":"b"}}}})", R"({"request":{"operation":true}})",
        R"({"request":{},"response":5})"}) {
    auto doc = document(text);
    auto review = read_review(doc.root());
    ASSERT_FALSE(review) << text;
    EXPECT_EQ(review.error(), ReviewError::malformed) << text;
  }
}

TEST(AnswerTest, Allows) {
  EXPECT_EQ(
      answer(false, review_of("u", "admission.k8s.io/v1beta1"), Verdict::allow()),
      R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","response":{"uid":"u","allowed":true}})");
  EXPECT_EQ(answer(true, review_of("u", "admission.k8s.io/v1beta1"), Verdict::allow()),
            R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"u","allowed":true}})");
  EXPECT_EQ(answer(false, {}, Verdict::allow()), R"({"kind":"AdmissionReview","response":{"uid":"","allowed":true}})");
}

TEST(AnswerTest, EscapesWhatItEchoes) {
  EXPECT_EQ(answer(false, review_of("u\n\"", "a\""), Verdict::allow()),
            R"({"kind":"AdmissionReview","apiVersion":"a\"","response":{"uid":"u\n\"","allowed":true}})");
}

TEST(AnswerTest, CarriesWarningsAndPatches) {
  Verdict verdict;
  verdict.warnings = {"one", "two \"2\""};
  const json::Value one(1);
  verdict.patch = {{.op = "add", .path = "/x", .value = &one}};
  EXPECT_EQ(answer(true, review_of("u"), verdict),
            R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"u","allowed":true,)"
            R"("patch":"W3sib3AiOiJhZGQiLCJwYXRoIjoiL3giLCJ2YWx1ZSI6MX1d","patchType":"JSONPatch",)"
            R"("warnings":["one","two \"2\""]}})");
}

TEST(AnswerTest, AGenericErrorHasNoReason) {
  EXPECT_EQ(answer(false, review_of("u"), Verdict::error("cannot read the object")),
            R"({"kind":"AdmissionReview","response":{"uid":"u","allowed":false,)"
            R"("status":{"metadata":{},"message":"cannot read the object","code":400}}})");
}

TEST(AnswerTest, ListsCausesAndOmitsWhatIsEmpty) {
  auto verdict = Verdict::invalid({{"FieldValueInvalid", "too small", "spec.x"}, {"", "no field", ""}});
  EXPECT_EQ(
      answer(false, review_of("u"), verdict),
      R"({"kind":"AdmissionReview","response":{"uid":"u","allowed":false,"status":{"metadata":{},)"
      R"("message":"spec.x: Invalid value: too small, no field","reason":"Invalid","details":{"causes":[)"
      R"({"reason":"FieldValueInvalid","message":"Invalid value: too small","field":"spec.x"},{"message":"no field"}]},)"
      R"("code":422}}})");
}

TEST(AnswerTest, TellsTenCausesAndHowManyMore) {
  auto causes = [](int count) {
    std::vector<StatusCause> all;
    for (int i = 0; i < count; ++i) all.push_back({"FieldValueInvalid", "m" + std::to_string(i), "f"});
    return all;
  };
  const std::string all = Verdict::invalid(causes(10)).refusal().message;
  EXPECT_THAT(all, AllOf(StartsWith("f: Invalid value: m0, f: Invalid value: m1, "), EndsWith("m9")));
  auto cut = Verdict::invalid(causes(13));
  EXPECT_EQ(cut.refusal().details.causes.size(), 10u);
  EXPECT_THAT(cut.refusal().message, HasSubstr("m9, and 3 more"));
}

TEST(AnswerTest, APluginRefusalHasNoCode) {
  auto verdict = Verdict::refuse({.code = 0, .reason = "Invalid", .message = "first", .details = {}});
  EXPECT_THAT(answer(false, review_of("u"), verdict),
              HasSubstr(R"("status":{"metadata":{},"message":"first","reason":"Invalid"}})"));
}

}  // namespace
}  // namespace vg::admission
