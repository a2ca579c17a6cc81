// The tables of spec storage 7.2 and 7.4, on the functions that decide.
#include "uploads/decide.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "json/access.h"
#include "json/write.h"

namespace vg::uploads {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::StartsWith;

const UploadTokens tokens("key");
const UploadTokens::Time now(seconds(1000));

// 0: no refusal.
template <class T>
int code_of(const Result<T>& result) {
  return result ? 0 : result.error().code;
}

// --- tokens ----------------------------------------------------------------------------------------------------------

TEST(UploadTokenRequest, HasOnePathAndOneMethod) {
  struct Row {
    const char* id;
    const char *method, *rest;
    int code;
  };
  for (const Row& row :
       {Row{"UPL-10", "POST", "ns/uploadtokenrequests", 0}, Row{"UPL-10", "GET", "ns/uploadtokenrequests", 405},
        Row{"UPL-10", "DELETE", "ns/uploadtokenrequests", 405}, Row{"UPL-10", "POST", "ns/uploadtokenrequests/a", 404},
        Row{"UPL-10", "POST", "ns/others", 404}, Row{"UPL-10", "POST", "ns", 404},
        Row{"UPL-10", "POST", "/uploadtokenrequests", 404}, Row{"UPL-10", "POST", "N S/uploadtokenrequests", 404}}) {
    SCOPED_TRACE(fmt::format("{} {} {}", row.id, row.method, row.rest));
    const auto ns = token_namespace(row.method, row.rest);
    EXPECT_EQ(code_of(ns), row.code);
    if (ns) EXPECT_EQ(*ns, "ns");
  }
}

TEST(UploadTokenRequest, IsForThoseWhoMayCreateIt) {  // UPL-11
  const AccessAttributes asked = token_access("ns");
  EXPECT_EQ(fmt::format("{} {} {} {} {}", asked.verb, asked.group, asked.version, asked.resource, asked.ns),
            "create upload.cdi.kubevirt.io v1beta1 uploadtokenrequests ns");
  EXPECT_EQ(code_of(judge_access({.allowed = true, .reason = {}}, "eve", "ns")), 0);
  const auto refused = judge_access({.allowed = false, .reason = "no"}, "eve", "ns");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 403);
  EXPECT_THAT(refused.error().message,
              HasSubstr("user \"eve\" may not create uploadtokenrequests in namespace \"ns\""));
}

TEST(UploadTokenRequest, IsAnsweredWithTheSameObjectAndAToken) {
  struct Row {
    const char* id;
    const char* body;
    int code;
  };
  for (const Row& row :
       {Row{"UPL-10", R"({"metadata":{"generateName":"x"},"spec":{"pvcName":"a"}})", 0}, Row{"UPL-11", "", 400},
        Row{"UPL-11", "[]", 400}, Row{"UPL-11", "{}", 400}, Row{"UPL-11", R"({"spec":{"pvcName":""}})", 400},
        Row{"UPL-11", R"({"spec":{"pvcName":"a/b"}})", 400}}) {
    SCOPED_TRACE(fmt::format("{} {}", row.id, row.body));
    const auto answer = token_answer(row.body, "ns", tokens, now);
    ASSERT_EQ(code_of(answer), row.code);
    if (!answer) continue;
    const json::Value* token = json::find_path(answer->root(), {"status", "token"});
    ASSERT_TRUE(token);
    const auto right = tokens.read(json::as_string(token).value_or(""), now);
    ASSERT_TRUE(right);
    EXPECT_EQ(fmt::format("{}/{}", right->ns, right->claim), "ns/a");
    EXPECT_THAT(json::to_text(answer->root()), StartsWith(R"({"metadata":{"generateName":"x","namespace":"ns"},)"));
  }
}

TEST(Upload, IsAnsweredToPagesOfAnyOrigin) {  // UPL-15
  const http::Response answer = text_answer(503, "why\n");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body, "why\n");
  const auto header = [&](std::string_view name) -> std::string {
    for (const auto& [one, value] : answer.headers)
      if (one == name) return std::string(value);
    return "none";
  };
  EXPECT_EQ(header("Access-Control-Allow-Origin"), "*");
  EXPECT_EQ(header("Access-Control-Allow-Methods"), "*");
  EXPECT_EQ(header("Access-Control-Allow-Headers"), "Authorization, *");
}

// --- uploads ---------------------------------------------------------------------------------------------------------

TEST(Upload, NeedsATokenForAClaim) {
  struct Row {
    const char* id;
    std::string authorization;
    int code;
  };
  const std::string good = tokens.issue({.ns = "ns", .claim = "a"}, now);
  const Row rows[] = {
      {"UPL-20, none", "", 400},
      {"UPL-20, another scheme", "Basic " + good, 400},
      {"UPL-20, no token", "Bearer", 400},
      {"UPL-20, the word in any case", "bEARER " + good, 0},
      {"UPL-21", "Bearer x", 401},
      {"UPL-21, too old", "Bearer " + tokens.issue({.ns = "ns", .claim = "a"}, now - std::chrono::hours(1)), 401},
      {"UPL-22, no namespace", "Bearer " + tokens.issue({.ns = "", .claim = "a"}, now), 400},
      {"UPL-22, no claim", "Bearer " + tokens.issue({.ns = "ns", .claim = ""}, now), 400},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    EXPECT_EQ(code_of(right_of(row.authorization, tokens, now)), row.code);
  }
}

// Annotations with the prefix that all of them have.
std::string prefixed(std::string_view marks) {
  std::string made;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const bool begins_name = marks[i] == '"' && (i == 0 || marks[i - 1] == ',');
    made += marks[i];
    if (begins_name) made += "cdi.kubevirt.io/storage.";
  }
  return made;
}

TEST(Upload, NeedsAClaimThatTakesIt) {
  struct Row {
    const char* id;
    const char* marks;  // of the claim, "cdi.kubevirt.io/storage." before each; null: there is none
    int code;
    bool ready = false, archive = false;
  };
  const Row rows[] = {
      {"UPL-23, no claim", nullptr, 503},
      {"UPL-23, no target", R"("x":"")", 503},
      {"UPL-23, done", R"("upload.target":"","pod.phase":"Succeeded","pod.ready":"true")", 503},
      {"UPL-24, not ready", R"("upload.target":"")", 0},
      {"UPL-24, not ready", R"("upload.target":"","pod.ready":"false")", 0},
      {"UPL-24, ready", R"("upload.target":"","pod.ready":"true")", 0, true},
      {"UPL-25", R"("upload.target":"","pod.ready":"true","contentType":"iso")", 503},
      {"UPL-25, known", R"("upload.target":"","pod.ready":"true","contentType":"kubevirt")", 0, true},
      {"UPL-25, known", R"("upload.target":"","pod.ready":"true","contentType":"")", 0, true},
      {"UPL-25, UPL-26", R"("upload.target":"","pod.ready":"true","contentType":"archive")", 0, true, true},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    const std::string marks = prefixed(row.marks ? row.marks : "");
    const auto claim = json::Document::parse(
        fmt::format(R"({{"metadata":{{"name":"a","namespace":"ns","uid":"u","annotations":{{{}}}}}}})", marks));
    ASSERT_TRUE(claim) << marks;
    const UploadRight right{.ns = "ns", .claim = "a"};
    const auto look = [&](const DiskClaim& disk) {
      return look_at(right, row.marks ? &claim->root().get_object() : nullptr, disk, nullptr);
    };
    const auto seen = look({.uid = "u", .capacity = 5});
    ASSERT_EQ(code_of(seen), row.code);
    if (!seen) continue;
    EXPECT_EQ(seen->ready, row.ready);
    EXPECT_EQ(seen->target.image.archive, row.archive);
    EXPECT_EQ(seen->target.image.size, 5);
    EXPECT_EQ(seen->target.job(), "upload-u");
    EXPECT_FALSE(look({.uid = "another", .capacity = 5})->ready);  // the folder of a claim that is gone
  }
}

TEST(Upload, WaitsAWhileForItsClaim) {
  struct Row {
    const char* id;
    bool ready;
    int waited;
    int code;
    bool waits;
  };
  for (const Row& row :
       {Row{"UPL-24", false, 0, 0, true}, Row{"UPL-24", false, 9, 0, true}, Row{"UPL-24", false, 10, 503, false},
        Row{"UPL-24", true, 0, 0, false}, Row{"UPL-24", true, 10, 0, false}}) {
    SCOPED_TRACE(fmt::format("{} {} {}", row.id, row.ready, row.waited));
    const auto wait = must_wait({.ready = row.ready, .target = {}}, seconds(row.waited));
    EXPECT_EQ(code_of(wait), row.code);
    if (wait) EXPECT_EQ(*wait, row.waits);
  }
}

TEST(Upload, GoesByMethodPathAndContent) {
  struct Row {
    const char* id;
    const char* method;
    bool async_path, archive;
    int code;
    Course course = Course::receive;
  };
  const Row rows[] = {
      {"7.4", "POST", false, false, 0, Course::receive},
      {"7.4", "POST", true, false, 0, Course::receive_async},
      {"7.4", "HEAD", true, false, 0, Course::possible},
      {"UPL-26", "POST", true, true, 0, Course::receive},
      {"UPL-26", "POST", false, true, 0, Course::receive},
      {"UPL-26", "HEAD", true, true, 404},
      {"UPL-27", "HEAD", false, false, 404},
      {"UPL-27", "GET", true, false, 404},
      {"UPL-27", "PUT", false, false, 404},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} {} {} {}", row.id, row.method, row.async_path, row.archive));
    const auto course = course_of(row.method, row.async_path, row.archive);
    EXPECT_EQ(code_of(course), row.code);
    if (course) EXPECT_EQ(*course, row.course);
  }
}

TEST(Upload, IsOneAtATimeAndOnce) {
  struct Row {
    const char* id;
    bool others, filled;
    std::optional<DiskJobState> job;
    int code;
  };
  for (const Row& row :
       {Row{"UPL-28, free", false, false, {}, 0}, Row{"UPL-28, another one is received", true, false, {}, 503},
        Row{"UPL-28, another one is converted", false, false, DiskJobState::running, 503},
        Row{"UPL-28, another one waits", false, false, DiskJobState::waiting, 503},
        Row{"UPL-28, the last one failed", false, false, DiskJobState::failed, 0},
        Row{"UPL-28, done", false, true, DiskJobState::succeeded, 409},
        Row{"UPL-28, done long ago", false, true, {}, 409}}) {
    SCOPED_TRACE(row.id);
    const auto job = row.job ? std::optional(DiskJobStatus{.state = *row.job}) : std::nullopt;
    EXPECT_EQ(code_of(may_receive({.ready = true, .filled = row.filled, .target = {}}, row.others, job)), row.code);
  }
  // Filled is what the folder says, which comes before what the claim says.
  const auto claim = json::Document::parse(
      R"({"metadata":{"uid":"u","annotations":{"cdi.kubevirt.io/storage.upload.target":"","cdi.kubevirt.io/storage.pod.ready":"true"}}})");
  for (const auto& [by, filled] : {std::pair("upload-u", true), {"", false}, {"import-u", false}}) {
    const auto look = look_at({.ns = "ns", .claim = "a"}, &claim->root().get_object(),
                              DiskClaim{.uid = "u", .capacity = 5, .filled_by = by}, nullptr);
    EXPECT_EQ(look->filled, filled) << by;  // UPL-28
  }
}

TEST(Upload, EndsAsItsConversionDoes) {
  struct Row {
    const char* id;
    DiskJobState state;
    DiskError error;
    int code;
    bool over;
  };
  for (const Row& row : {Row{"7.4", DiskJobState::waiting, DiskError::none, 0, false},
                         Row{"7.4", DiskJobState::running, DiskError::none, 0, false},
                         Row{"7.4", DiskJobState::succeeded, DiskError::none, 0, true},
                         Row{"UPL-29", DiskJobState::failed, DiskError::too_small, 400, false},
                         Row{"UPL-29", DiskJobState::failed, DiskError::no_space, 400, false},
                         Row{"UPL-29", DiskJobState::failed, DiskError::bad_image, 400, false},
                         Row{"UPL-30", DiskJobState::failed, DiskError::other, 500, false},
                         Row{"UPL-30", DiskJobState::failed, DiskError::not_installed, 500, false}}) {
    SCOPED_TRACE(fmt::format("{} {}", row.id, static_cast<int>(row.error)));
    const auto over = is_converted(DiskJobStatus{.state = row.state, .error = row.error, .message = "why"});
    ASSERT_EQ(code_of(over), row.code);
    if (over)
      EXPECT_EQ(*over, row.over);
    else
      EXPECT_EQ(over.error().message, "Saving stream failed: why");
  }
}

}  // namespace
}  // namespace vg::uploads
