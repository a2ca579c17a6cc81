#include "resources/audit.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/background.h"
#include "json/access.h"
#include "json/document.h"
#include "server/testing/fake_exchange.h"
#include "store/testing.h"

namespace vg::resources {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

std::string content(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

AuditEntry entry() {
  AuditEntry one{};
  one.received = "2026-01-01T00:00:00.000001Z";
  one.time = "2026-01-01T00:00:00.000301Z";
  one.uri = "/api/v1/namespaces/default/pods?fieldManager=x";
  one.version = "v1";
  one.request_id = "r1";
  one.user = "a \"user\"";
  one.verb = "create";
  one.resource = "pods";
  one.ns = "default";
  one.name = "p";
  one.code = 201;
  return one;
}

AuditEntry refusal(std::string_view user) {
  AuditEntry one = entry();
  one.user = user;
  one.allowed = false;
  one.code = 403;
  return one;
}

struct AuditLogTest : ::testing::Test {
  const store::TemporaryFolder folder;
  ManualClock clock{std::chrono::sys_days(std::chrono::year(2026) / 1 / 2), Clock::Steady(std::chrono::hours(1))};
  metrics::Registry metrics;

  std::unique_ptr<AuditLog> open(std::size_t bytes_max = AuditLog::bytes_max_default, bool required = false) {
    auto log = AuditLog::open(
        {.folder = folder.file(""), .bytes_max = bytes_max, .required = required, .clock = clock, .metrics = &metrics});
    EXPECT_TRUE(log) << log.error().message;
    return log ? std::move(*log) : nullptr;
  }
  std::string path(std::string_view name) const { return folder.file(std::string(name)); }
  std::string changes() const { return content(path("audit.log")); }
  std::string reads() const { return content(path("audit-reads.log")); }
  std::string attempts() const { return content(path("audit-attempts.log")); }
  static std::size_t lines(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }
  std::uint64_t dropped() { return metrics.counter("virtgate_audit_lines_dropped_total", "").value(); }
};

TEST_F(AuditLogTest, WritesOneObjectALine) {
  const auto log = open();
  log->write(AuditKind::change, entry());
  log->flush();
  const auto document = json::Document::parse(changes());
  ASSERT_TRUE(document) << changes();
  EXPECT_EQ(
      changes(),
      R"({"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"r1","stage":"ResponseComplete",)"
      R"("requestURI":"/api/v1/namespaces/default/pods?fieldManager=x","verb":"create","user":{"username":"a \"user\""},)"
      R"("objectRef":{"resource":"pods","namespace":"default","name":"p","apiVersion":"v1"},)"
      R"("responseStatus":{"metadata":{},"code":201},"requestReceivedTimestamp":"2026-01-01T00:00:00.000001Z",)"
      R"("stageTimestamp":"2026-01-01T00:00:00.000301Z","annotations":{"authorization.k8s.io/decision":"allow"}})"
      "\n");
  using fs::perms;
  for (const char* name : {"audit.log", "audit-busy.log", "audit-reads.log", "audit-attempts.log"})
    EXPECT_EQ(fs::status(path(name)).permissions() & (perms::group_all | perms::others_all), perms::none);
}

TEST_F(AuditLogTest, NamesWhoReallyAskedAndForWhom) {
  const auto log = open();
  AuditEntry one = entry();
  const std::vector<std::string> groups = {"staff", "system:authenticated"};
  one.groups = groups;
  one.impersonated_by = "root";
  one.address = "192.0.2.7";
  one.agent = "kubectl/v1.35";
  one.group = "kubevirt.io";
  one.subresource = "status";
  one.uid = "u1";
  one.allowed = false;
  one.reason = "no role";
  log->write(AuditKind::change, one);
  log->flush();
  EXPECT_THAT(changes(),
              HasSubstr(R"("user":{"username":"root"},"impersonatedUser":{"username":"a \"user\"","groups":["staff",)"
                        R"("system:authenticated"]},"sourceIPs":["192.0.2.7"],"userAgent":"kubectl/v1.35",)"
                        R"("objectRef":{"resource":"pods","namespace":"default","name":"p","uid":"u1",)"
                        R"("apiGroup":"kubevirt.io","apiVersion":"v1","subresource":"status"})"));
  EXPECT_THAT(changes(),
              HasSubstr(R"({"authorization.k8s.io/decision":"forbid","authorization.k8s.io/reason":"no role"})"));
}

TEST_F(AuditLogTest, KeepsWithinItsRoom) {
  constexpr std::size_t room = 8 * AuditLog::files * 1024, share = room * 3 / 8;  // 3 KiB a file of changes
  const auto log = open(room);
  for (int i = 0; i < 2000; ++i) {
    log->write(AuditKind::change, entry());
    log->flush();
  }
  std::uintmax_t all = 0;
  std::size_t count = 0;
  for (const auto& file : fs::directory_iterator(folder.file(""))) {
    all += file.file_size();
    ++count;
  }
  EXPECT_LE(all, share + AuditLog::files * 512);  // a file may be longer by its last line
  EXPECT_GT(all, share * (AuditLog::files - 1) / AuditLog::files);
  EXPECT_EQ(count, AuditLog::files + 3);  // and the logs that hold nothing
  EXPECT_TRUE(fs::exists(path("audit.log.7")));
  EXPECT_FALSE(fs::exists(path("audit.log.8")));
}

TEST_F(AuditLogTest, FilesAreOfTheSizeNumberAndAgeThatIsTold) {
  const auto rotating = [&](std::size_t backups, std::chrono::days age) {
    auto log = AuditLog::open({.folder = folder.file(""),
                               .rotation = {.file_bytes = 4096, .backups = backups, .age_max = age},
                               .clock = clock,
                               .metrics = &metrics});
    EXPECT_TRUE(log);
    return std::move(*log);
  };
  {
    const auto log = rotating(3, std::chrono::days(0));
    for (int i = 0; i < 200; ++i) {
      log->write(AuditKind::change, entry());
      log->flush();
    }
    EXPECT_TRUE(fs::exists(path("audit.log.3")));
    EXPECT_FALSE(fs::exists(path("audit.log.4")));
    EXPECT_LT(fs::file_size(path("audit.log.1")), 4096U + 1024);
  }
  {
    const auto fewer = rotating(1, std::chrono::days(0));
    EXPECT_TRUE(fs::exists(path("audit.log.1")));
    EXPECT_FALSE(fs::exists(path("audit.log.2")));
    EXPECT_FALSE(fs::exists(path("audit.log.3")));
  }
  // Files are as old as the machine's clock says, and the log's clock is not that.
  fs::last_write_time(path("audit.log.1"),
                      fs::file_time_type::clock::from_sys(clock.wall_now() - std::chrono::days(8)));
  rotating(1, std::chrono::days(9));
  EXPECT_TRUE(fs::exists(path("audit.log.1")));
  rotating(1, std::chrono::days(7));
  EXPECT_FALSE(fs::exists(path("audit.log.1")));
}

TEST_F(AuditLogTest, BodiesAndLevelsAreMembersOfTheEvent) {
  const auto log = open();
  AuditEntry one = entry();
  one.level = AuditLevel::request_response;
  one.request_object = R"({"kind":"Pod"})";
  one.response_object = R"({"kind":"Pod","status":{}})";
  log->write(AuditKind::change, one);
  one.complete = false;
  log->write(AuditKind::change, one);
  log->flush();
  EXPECT_THAT(changes(), HasSubstr(R"("level":"RequestResponse")"));
  EXPECT_THAT(changes(), HasSubstr(R"("requestObject":{"kind":"Pod"},"responseObject":{"kind":"Pod","status":{}})"));
  const std::string received = changes().substr(changes().find('\n') + 1);
  EXPECT_THAT(received, HasSubstr(R"("stage":"RequestReceived")"));
  EXPECT_THAT(received, Not(HasSubstr("responseObject")));
  EXPECT_THAT(received, Not(HasSubstr("responseStatus")));
}

TEST_F(AuditLogTest, RefusalsNeverPushOutWhatChanged) {
  const auto log = open(AuditLog::bytes_max_least);
  AuditEntry first = entry();
  first.name = "the-one";
  log->write(AuditKind::change, first);
  for (int i = 0; i < 200'000; ++i) {
    log->write(AuditKind::attempt, refusal("mallory"));
    if (i % 1000 == 0) log->flush();
  }
  log->write(AuditKind::attempt, refusal("jane"));
  log->finish();
  EXPECT_THAT(changes(), HasSubstr("the-one"));
  EXPECT_EQ(lines(changes()), 1u);
  const std::string all = attempts();
  EXPECT_LT(lines(all), 110u);
  EXPECT_THAT(all, HasSubstr(R"("user":{"username":"jane"})")) << "others are still heard";
  EXPECT_THAT(all, HasSubstr(R"("annotations":{"virtgate.io/summary":"true","virtgate.io/refused":"199900"})"));
  EXPECT_EQ(metrics.counter("virtgate_audit_lines_summed_up_total", "").value(), 199'900u);
}

TEST_F(AuditLogTest, WhoeverWritesAllTheTimeIsRecordedBesideTheOthers) {
  const auto log = open(2 * AuditLog::bytes_max_least);  // so that one file takes the changes
  AuditEntry one = entry();
  one.user = "jane";
  log->write(AuditKind::change, one);
  one.user = "mallory";
  for (int i = 0; i < 100'000; ++i) log->write(AuditKind::change, one);
  one.user = "jane";
  log->write(AuditKind::change, one);
  log->finish();
  EXPECT_EQ(lines(changes()), 1u + 5000u + 1u + 1u);
  EXPECT_THAT(changes(), HasSubstr(R"({"virtgate.io/summary":"true","virtgate.io/busy":"95000"})"));
  std::size_t busy = 0;
  for (int i = 0; i < 8; ++i)
    busy += lines(content(path(i == 0 ? std::string("audit-busy.log") : fmt::format("audit-busy.log.{}", i))));
  EXPECT_GT(busy, 30'000u) << "as many as its share of the room holds";
}

TEST_F(AuditLogTest, AnImpersonatorIsOneUser) {
  const auto log = open();
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "made-up-" + std::to_string(i);
    AuditEntry one = refusal(name);
    one.impersonated_by = "mallory";
    log->write(AuditKind::attempt, one);
  }
  log->finish();
  EXPECT_EQ(lines(attempts()), 101u);
}

TEST_F(AuditLogTest, FailedAuthenticationIsLimitedByAddress) {
  const auto log = open();
  const auto failed = [&](std::string_view address) {
    log->write(FailedAuthenticationEntry{.request_id = "r",
                                         .address = address,
                                         .credential = "bearer token",
                                         .method = "GET",
                                         .path = "/api",
                                         .reason = "not known"});
  };
  for (int i = 0; i < 500; ++i) failed("192.0.2.1");
  failed("192.0.2.2");
  for (int i = 0; i < 500; ++i) failed(fmt::format("2001:db8::{:x}", i + 1));
  log->finish();
  EXPECT_EQ(lines(attempts()), 100u + 1u + 100u + 2u);
  EXPECT_THAT(attempts(),
              HasSubstr(R"("sourceIPs":["192.0.2.1"],"requestReceivedTimestamp":"2026-01-02T00:00:00.000000Z")"));
  EXPECT_THAT(attempts(), HasSubstr(R"("virtgate.io/summary":"true","virtgate.io/unauthenticated":"400")"));
  EXPECT_THAT(attempts(), HasSubstr(R"("sourceIPs":["192.0.2.2"],"responseStatus":{"metadata":{},"code":401})"));
}

TEST_F(AuditLogTest, EverySecretThatIsReadHasItsLine) {
  const auto log = open();
  AuditEntry read = entry();
  read.verb = "get";
  read.resource = "secrets";
  read.code = 200;
  for (int i = 0; i < 100; ++i) log->write(AuditKind::read, read);
  std::vector<std::string> names;
  for (int i = 0; i < 5000; ++i) names.push_back("secret-" + std::to_string(i));
  for (const std::string& name : names) {
    read.name = name;
    log->write(AuditKind::read, read);
  }
  log->finish();
  const std::string all = reads();
  for (const std::string& name : names) ASSERT_THAT(all, HasSubstr('"' + name + '"'));
  EXPECT_THAT(all, HasSubstr(R"("virtgate.io/what":"get secrets default/p","virtgate.io/reads":"90")"));
}

TEST_F(AuditLogTest, TextsOfUsersStayTexts) {
  const auto log = open();
  AuditEntry bad = entry();
  const std::string name = "a\n{\"time\":\"forged\"}\x1b[2J\xff" + std::string(100'000, 'x');
  bad.name = name;
  bad.user = name;
  log->write(AuditKind::change, bad);
  log->flush();
  EXPECT_EQ(lines(changes()), 1u);
  EXPECT_LT(changes().size(), 2000u);
  EXPECT_TRUE(json::Document::parse(changes())) << changes();
  EXPECT_THAT(changes(), Not(HasSubstr("\x1b")));
}

TEST_F(AuditLogTest, FollowsAFileThatSomebodyMoves) {
  const auto log = open();
  log->write(AuditKind::change, entry());
  log->flush();
  fs::rename(path("audit.log"), path("taken-away"));
  log->write(AuditKind::change, entry());
  log->flush();
  EXPECT_EQ(lines(changes()), 1u);
  EXPECT_EQ(lines(content(path("taken-away"))), 1u);
}

TEST_F(AuditLogTest, RefusesWhatIsNoPlainFile) {
  const auto refused = [&] { return AuditLog::open({.folder = folder.file(""), .clock = clock}).error().message; };
  ASSERT_EQ(::symlink("/dev/null", path("audit.log").c_str()), 0);
  EXPECT_THAT(refused(), HasSubstr("cannot open the audit log"));
  EXPECT_THAT(refused(), Not(HasSubstr("request")));
  fs::remove(path("audit.log"));
  ASSERT_EQ(::mkfifo(path("audit.log").c_str(), 0600), 0);
  EXPECT_THAT(refused(), HasSubstr("cannot open the audit log"));
}

// The disk is full: files of this process may not grow.
struct FullDisk {
  FullDisk() {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before);
    rlimit none = before;
    none.rlim_cur = 0;
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before); }
  rlimit before{};
};

TEST_F(AuditLogTest, WhatCannotBeWrittenWaitsAndIsCountedAndTold) {
  const auto log = open();
  std::size_t written = 0;
  {
    const FullDisk full;
    log->write(AuditKind::change, entry());
    log->flush();
    ASSERT_TRUE(log->problem());
    EXPECT_THAT(*log->problem(), HasSubstr("audit.log cannot be written"));
    EXPECT_TRUE(log->takes_changes()) << "only where it is asked for";
    EXPECT_EQ(dropped(), 0u) << "it waits";
    while (dropped() < 10) {
      clock.advance(std::chrono::seconds(1));
      log->write(AuditKind::change, entry());
      ++written;
      ASSERT_LT(written, 100'000u);
    }
    log->flush();
    EXPECT_EQ(changes(), "");
  }
  log->flush();
  EXPECT_EQ(log->problem(), std::nullopt);
  EXPECT_EQ(lines(changes()), 1 + written - 10 + 1);
  EXPECT_THAT(changes(), HasSubstr(R"("virtgate.io/lost":"10")"));
  EXPECT_GT(changes().size(), AuditLog::waiting_bytes_max / 2);
}

// As a request does before it is answered.
void settle(AuditLog& log) {
  server::testing::FakeCore core;
  bool ended = false;
  const Background waiting([](AuditLog& wanted, Core& on, bool& done) -> Task<void> {
    co_await wanted.settled(on);
    done = true;
  }(log, core, ended));
  core.run_until(ended);
  EXPECT_TRUE(ended);
}

TEST_F(AuditLogTest, WhereItIsRequiredNothingChangesUnrecorded) {
  const auto log = open(AuditLog::bytes_max_default, true);
  log->keep_flushing();
  log->write(AuditKind::change, entry());
  settle(*log);
  EXPECT_EQ(lines(changes()), 1u) << "before the answer, not a moment later";
  EXPECT_TRUE(log->takes_changes());
  {
    const FullDisk full;
    log->write(AuditKind::change, entry());
    settle(*log);
    const auto refused = log->takes_changes();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, 503);
    EXPECT_GT(refused.error().details.retry_after_seconds, 0);
  }
  log->flush();
  EXPECT_TRUE(log->takes_changes());
  EXPECT_EQ(lines(changes()), 2u) << "also the one that failed";
}

TEST(AuditKind, FollowsFromTheRequest) {
  const auto kind = [](std::string_view method, std::string_view path, int code, bool allowed = true,
                       bool dry_run = false, std::string_view query = {}) {
    return audit_kind(request_info(method, path, query).value(), allowed, code, {.dry_run = dry_run});
  };
  using enum AuditKind;
  constexpr std::string_view maps = "/api/v1/namespaces/a/configmaps", secrets = "/api/v1/namespaces/a/secrets";
  EXPECT_EQ(kind("POST", maps, 201), change);
  EXPECT_EQ(kind("POST", maps, 0), change) << "it may have happened";
  EXPECT_EQ(kind("DELETE", "/api/v1/namespaces/a/configmaps/x", 200), change);
  EXPECT_EQ(kind("PUT", "/apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachines/v/stop", 202), change);
  EXPECT_EQ(kind("POST", "/api/v1/namespaces/a/serviceaccounts/s/token", 201), change);
  EXPECT_EQ(kind("POST", maps, 409), attempt);
  EXPECT_EQ(kind("POST", maps, 201, true, true), attempt);
  EXPECT_EQ(kind("PATCH", "/api/v1/namespaces/a/secrets/s", 200, true, true), read) << "it was shown";
  EXPECT_EQ(kind("DELETE", secrets, 200, true, true), read);
  EXPECT_EQ(kind("DELETE", secrets, 404, true, true), attempt);
  const auto eviction = request_info("POST", "/api/v1/namespaces/a/pods/p/eviction", {}).value();
  EXPECT_EQ(audit_kind(eviction, true, 429), attempt);
  EXPECT_EQ(audit_kind(eviction, true, 429, {.changed = true}), change) << "the machine has to leave its node";
  EXPECT_EQ(kind("POST", maps, 403, false), attempt);
  EXPECT_EQ(kind("GET", maps, 403, false), attempt);
  EXPECT_EQ(kind("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", 201), attempt);
  EXPECT_EQ(kind("GET", maps, 200), std::nullopt);
  EXPECT_EQ(kind("GET", secrets, 200), read);
  EXPECT_EQ(kind("GET", secrets, 200, true, false, "watch=1"), read);
  EXPECT_EQ(kind("GET", "/api/v1/namespaces/a/secrets/s", 200), read);
  EXPECT_EQ(kind("GET", "/api/v1/namespaces/a/secrets/s", 404), attempt);
  constexpr std::string_view vmi = "/apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachineinstances/v";
  EXPECT_EQ(kind("GET", fmt::format("{}/console", vmi), 101), read);
  EXPECT_EQ(kind("GET", fmt::format("{}/portforward/22", vmi), 101), read);
  EXPECT_EQ(kind("GET", fmt::format("{}/guestosinfo", vmi), 200), std::nullopt);
  EXPECT_EQ(kind("GET", "/version", 200), std::nullopt);
}

}  // namespace
}  // namespace vg::resources
