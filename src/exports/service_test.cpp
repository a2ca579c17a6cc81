// The rules of spec copies 6.5 and 6.9 about what is answered: the service on a store, a folder of disks and exchanges
// that are no connections.
#include "exports/service.h"

#include <gmock/gmock.h>

#include <functional>
#include <map>

#include "base/disk_limits.h"
#include "disks/folder.h"
#include "exports/testing.h"
#include "json/access.h"
#include "json/document.h"
#include "server/testing/fake_exchange.h"

namespace vg::exports {
namespace {

namespace fs = std::filesystem;
using server::testing::FakeExchange;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::unpacked;

// Objects by their keys; all that a download asks for.
class KeptObjects final : public ObjectStore {
 public:
  void put(std::string_view resource, std::string_view name, std::string_view json) {
    ObjectDraft draft;
    draft.uid = fmt::format("{}-uid", name);
    const std::string facts = pack_facts(draft);
    objects_[{std::string(resource), std::string(name)}] = StoredObject::make({.resource = resource,
                                                                               .ns = "n",
                                                                               .name = name,
                                                                               .uid = draft.uid,
                                                                               .facts = facts,
                                                                               .json = json,
                                                                               .stamp = {.revision = ++revision_}});
  }
  ObjectPtr get(std::string_view resource, std::string_view ns, std::string_view name) const override {
    const auto found = objects_.find({std::string(resource), std::string(name)});
    return ns != "n" || found == objects_.end() ? nullptr : found->second;
  }

  Revision revision() const override { return revision_; }
  Result<ListPage> list(const ListQuery&) const override { return ListPage(); }
  void submit(Transaction, Completion) override {}
  ObjectList owned_by(std::string_view) const override { return {}; }
  std::vector<std::string> resources() const override { return {}; }
  std::size_t count(std::string_view) const override { return 0; }
  Revision oldest_revision(std::string_view) const override { return 0; }
  Result<std::unique_ptr<Watch>> watch(WatchQuery, Waker) override { return fail(Status::internal_error("none")); }
  StoreHealth health() const override { return {}; }

 private:
  Revision revision_ = 0;
  std::map<std::pair<std::string, std::string>, ObjectPtr> objects_;
};

namespace kinds = controllers::kinds;

std::string export_of(std::string_view phase, std::string_view since) {
  return fmt::format(R"({{"metadata":{{"name":"e","namespace":"n","uid":"e-uid"}},
      "spec":{{"source":{{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"a"}}}},
      "status":{{"phase":"{}","tokenSecretRef":"t","conditions":[{{"type":"Ready","status":"True",
      "lastTransitionTime":"{}"}}],"links":{{"external":{{"volumes":[{{"name":"disk"}},{{"name":"files"}}]}}}}}}}})",
                     phase, since);
}

// An export of a VM with an image ("disk") and an unpacked archive ("files").
class ExportServiceTest : public ::testing::Test {
 protected:
  ExportServiceTest() {
    service_.add_routes(router_);
    auto disks = disks::DiskFolder::open(folder_.path() / "disks");
    for (const char* claim : {"disk", "files"}) {
      const auto made = disks->make_claim({.ns = "n", .name = claim});
      EXPECT_TRUE(made && disks::write_note(made->get(), {.uid = claim}));
    }
    store_.put(kinds::vm_export, "e", export_of("Ready", "2026-01-02T03:04:05Z"));
    store_.put(kinds::secret, "t", R"({"metadata":{"name":"t","namespace":"n"},"data":{"token":"VE9LRU4="}})");
  }
  fs::path claim(std::string_view name) const { return folder_.path() / "disks" / "n" / name; }
  void write_image(const std::string& content) { testing::write(claim("disk") / "disk.img", content); }

  FakeExchange exchange(std::string method, std::string_view path,
                        std::vector<std::pair<std::string, std::string>> headers = {}) {
    FakeExchange made(std::move(method),
                      fmt::format("/api/export.kubevirt.io/v1/namespaces/n/virtualmachineexports/e/{}", path));
    made.header("x-kubevirt-export-token", "TOKEN");
    for (auto& [name, value] : headers) made.header(name, value);
    return made;
  }
  FakeExchange& ask(FakeExchange&& asked) { return asked.run_with_workers(router_); }

  testing::TempFolder folder_;
  KeptObjects store_;
  auth::Identifier identifier_{"secret", "kubernetes-admin", {"system:masters"}};
  ManualClock clock_;
  metrics::Registry metrics_;
  server::Router router_{{.identifier = identifier_,
                          .clock = clock_,
                          .metrics = metrics_,
                          .fairness = server::TurnKeeper::everybody_at_once()}};
  ExportService service_{{.store = store_,
                          .environment = admission::offline_environment(),
                          .place = {.url = "https://here:6443", .authority = "CA"},
                          .folder = folder_.path() / "disks"}};
};

std::string content_of(const FakeExchange& answer) {
  return answer.response().content_type == "application/gzip" ? unpacked(answer.streamed()) : answer.streamed();
}

TEST_F(ExportServiceTest, GivesImagesOut) {
  write_image("0123456789");
  struct Row {
    std::string_view id;
    std::string method, path;
    std::vector<std::pair<std::string, std::string>> headers;
    int status;
    std::string content;
    std::string_view length = {}, range = {}, ranges = {};
  };
  const std::string raw = "volumes/disk/disk.img", gzip = "volumes/disk/disk.img.gz";
  const Row rows[] = {
      {"EXP-70", "GET", raw, {}, 200, "0123456789", "10", "", "bytes"},
      {"EXP-70", "POST", raw, {}, 200, "0123456789", "10", "", "bytes"},
      {"EXP-70", "HEAD", raw, {}, 200, "0123456789", "10", "", "bytes"},  // whose body the connection leaves out
      {"EXP-70", "GET", raw, {{"Range", "bytes=2-4"}}, 206, "234", "3", "bytes 2-4/10", "bytes"},
      {"EXP-70", "GET", raw, {{"Range", "bytes=-3"}}, 206, "789", "3", "bytes 7-9/10", "bytes"},
      {"EXP-70", "GET", raw, {{"Range", "bytes=10-"}}, 416, "", "", "bytes */10"},
      {"EXP-70", "GET", raw, {{"Range", "bytes=2-4"}, {"If-Range", "x"}}, 200, "0123456789", "10", "", "bytes"},
      {"EXP-71", "GET", gzip, {}, 200, "0123456789"},
      {"EXP-71", "GET", gzip, {{"Range", "bytes=2-4"}}, 200, "0123456789"},
      {"EXP-71", "POST", gzip, {}, 400, ""},
      {"EXP-71", "HEAD", gzip, {}, 400, ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} {} {}", row.id, row.method, row.path));
    FakeExchange asked = exchange(row.method, row.path, row.headers);
    const FakeExchange& answer = asked.run_with_workers(router_);
    EXPECT_EQ(answer.status(), row.status);
    EXPECT_EQ(content_of(answer), row.content);
    EXPECT_EQ(answer.response_header("Content-Length"), row.length);
    EXPECT_EQ(answer.response_header("Content-Range"), row.range);
    EXPECT_EQ(answer.response_header("Accept-Ranges"), row.ranges);
    EXPECT_EQ(answer.response_header("Last-Modified"), "");
  }
}

// EXP-83: what a guest would see, holes and all, and its size.
TEST_F(ExportServiceTest, AnImageIsAsLongAsItsDisk) {
  write_image("begin");
  const std::uint64_t size = 3 * limits::export_piece_bytes + 512;
  fs::resize_file(claim("disk") / "disk.img", size);
  FakeExchange whole = exchange("GET", "volumes/disk/disk.img");
  whole.run_with_workers(router_);
  EXPECT_EQ(whole.response_header("Content-Length"), std::to_string(size));
  std::string expected = "begin";
  expected.resize(size, '\0');
  EXPECT_TRUE(whole.streamed() == expected);
  FakeExchange part = exchange("GET", "volumes/disk/disk.img", {{"Range", "bytes=3-1000003"}});
  EXPECT_TRUE(part.run_with_workers(router_).streamed() == expected.substr(3, 1000001));
}

TEST_F(ExportServiceTest, ServesAFolder) {
  write_image("image");
  fs::create_directories(claim("files") / "data" / "sub");
  testing::write(claim("files") / "data" / "sub" / "f", "text");
  fs::create_symlink("sub/f", claim("files") / "data" / "inside");
  fs::create_symlink("../note.json", claim("files") / "data" / "outside");
  struct Row {
    std::string_view id;
    std::string path;
    int status;
    std::string_view streamed, page;  // of the page: a part
  };
  const Row rows[] = {
      {"EXP-72", "volumes/files/dir/", 200, "", "<a href=\"sub\">sub</a>"},
      {"EXP-72", "volumes/files/dir", 200, "", "<a href=\"dir/sub\">sub</a>"},
      {"EXP-72", "volumes/files/dir/sub/", 200, "", "<a href=\"f\">f</a>"},
      {"EXP-72", "volumes/files/dir/sub", 200, "", "<a href=\"sub/f\">f</a>"},
      {"EXP-72", "volumes/files/dir/sub/f", 200, "text", ""},
      {"EXP-72", "volumes/files/dir/inside", 200, "text", ""},
      {"EXP-72", "volumes/files/dir/outside", 404, "", ""},
      {"EXP-72", "volumes/files/dir/nowhere", 404, "", ""},
      {"EXP-72", "volumes/disk/dir/", 200, "", "<a href=\"disk.img\">disk.img</a>"},
      {"EXP-72", "volumes/disk/dir/disk.img", 200, "image", ""},
      {"EXP-72", "volumes/disk/dir/note.json", 404, "", ""},
      {"EXP-72", "volumes/other/dir/", 404, "", ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} {}", row.id, row.path));
    FakeExchange asked = exchange("GET", row.path);
    const FakeExchange& answer = asked.run_with_workers(router_);
    EXPECT_EQ(answer.status(), row.status);
    EXPECT_EQ(answer.streamed(), row.streamed);
    EXPECT_THAT(answer.body(), HasSubstr(row.page));
    EXPECT_THAT(answer.body(), Not(HasSubstr("note.json")));
  }
}

TEST_F(ExportServiceTest, PacksAFolder) {
  fs::create_directories(claim("files") / "data" / "lost+found");
  testing::write(claim("files") / "data" / "f", "text");
  struct Row {
    std::string_view id;
    std::string method;
    int status;
  };
  for (const Row& row : {Row{"EXP-73", "GET", 200}, {"EXP-73", "POST", 400}, {"EXP-73", "HEAD", 400}}) {
    SCOPED_TRACE(fmt::format("{} {}", row.id, row.method));
    FakeExchange asked = exchange(row.method, "volumes/files/disk.tar.gz");
    const FakeExchange& answer = asked.run_with_workers(router_);
    EXPECT_EQ(answer.status(), row.status);
    if (row.status != 200) continue;
    const std::string tar = unpacked(answer.streamed());
    EXPECT_EQ(tar.substr(0, 2), std::string("f\0", 2));
    EXPECT_EQ(tar.substr(512, 4), "text");
    EXPECT_EQ(tar.find("lost+found"), std::string::npos);
    EXPECT_EQ(answer.response_header("Content-Length"), "");
  }
  // 500, and no body: deeper than an archive may be.
  fs::path deep = claim("files") / "data";
  for (int i = 0; i < limits::export_folders_max + 2; ++i) deep /= "d";
  fs::create_directories(deep);
  FakeExchange refused = exchange("GET", "volumes/files/disk.tar.gz");
  EXPECT_EQ(refused.run_with_workers(router_).status(), 500) << "EXP-73";
  EXPECT_EQ(refused.streamed(), "");
}

TEST_F(ExportServiceTest, GivesManifestsOut) {
  store_.put(kinds::vm, "a", R"({"metadata":{"name":"a","namespace":"n","uid":"u"},"spec":{"runStrategy":"Halted",
      "template":{"spec":{"domain":{"devices":{}},"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"disk"}}]}
      }}})");
  store_.put(kinds::claim, "disk", R"({"metadata":{"name":"disk","namespace":"n"},"spec":{"accessModes":["x"]}})");
  struct Row {
    std::string_view id;
    std::string method, path, accept;
    int status;
    std::string_view type;
    std::vector<std::string_view> parts;
  };
  const std::string_view json = "application/json", yaml = "application/yaml";
  const std::vector<std::string_view> all = {"export-ca-cm-e", "VirtualMachine",
                                             "https://here:6443/api/export.kubevirt.io/v1/namespaces/n/"
                                             "virtualmachineexports/e/volumes/disk/disk.img.gz"};
  const std::vector<std::string_view> secret = {"header-secret-e", "x-kubevirt-export-token:TOKEN"};
  const Row rows[] = {
      {"EXP-74", "GET", "internal/manifests/all", "", 200, json, all},
      {"EXP-74", "GET", "external/manifests/all", "application/json", 200, json, all},
      {"EXP-74", "GET", "external/manifests/all", "application/yaml", 200, yaml, all},
      {"EXP-74", "GET", "external/manifests/all", "application/yaml, */*", 200, json, all},
      {"EXP-74", "POST", "external/manifests/all", "", 400, "", {}},
      {"EXP-75", "GET", "internal/manifests/secret", "", 200, json, secret},
      {"EXP-75", "GET", "external/manifests/secret", "application/yaml", 200, yaml, secret},
      {"EXP-75", "POST", "external/manifests/secret", "", 400, "", {}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} {} {} {}", row.id, row.method, row.path, row.accept));
    FakeExchange asked = exchange(row.method, row.path);
    if (!row.accept.empty()) asked.header("Accept", row.accept);
    const FakeExchange& answer = asked.run_with_workers(router_);
    EXPECT_EQ(answer.status(), row.status);
    EXPECT_EQ(answer.response().content_type, row.type);
    for (const std::string_view part : row.parts) EXPECT_THAT(answer.body(), HasSubstr(part));
    EXPECT_EQ(answer.body().contains("---\n"), row.type == yaml);
  }
}

// Somebody who guesses names is answered alike, whatever there is.
TEST_F(ExportServiceTest, TellsStrangersNothing) {
  write_image("image");
  const auto answer_to = [&](std::string_view name, std::string_view token) {
    FakeExchange asked("GET", fmt::format("/api/export.kubevirt.io/v1/namespaces/n/virtualmachineexports/{}/"
                                          "volumes/disk/disk.img",
                                          name));
    if (!token.empty()) asked.header("x-kubevirt-export-token", std::string(token));
    const FakeExchange& answer = asked.run_with_workers(router_);
    return fmt::format("{} {}|{}", answer.status(), answer.response().content_type, answer.body());
  };
  store_.put(kinds::vm_export, "pending", export_of("Pending", "2026-01-02T03:04:05Z"));
  store_.put(kinds::vm_export, "lost",
             R"({"metadata":{"name":"lost"},"status":{"phase":"Ready","tokenSecretRef":"none"}})");
  store_.put(kinds::vm_export, "new", R"({"metadata":{"name":"new"}})");
  for (const std::string_view token : {"", "WRONG", "TOKEN1"})
    for (const std::string_view name : {"e", "pending", "lost", "new", "none"})
      EXPECT_EQ(answer_to(name, token), "401 |") << name << token;
  for (const std::string_view name : {"lost", "new", "none"}) EXPECT_EQ(answer_to(name, "TOKEN"), "401 |") << name;
  EXPECT_TRUE(answer_to("pending", "TOKEN").starts_with("503 ")) << "who knows the token is told";
  EXPECT_TRUE(answer_to("e", "TOKEN").starts_with("200 "));
}

// What happens to a download of several pieces if the world changes after the first one.
TEST_F(ExportServiceTest, EndsADownloadWhenTheVmIsStarted) {
  struct Row {
    std::string_view id;
    std::function<void()> change;
    bool ends;
  };
  const auto vmi = [this](std::string_view phase) {
    store_.put(kinds::vmi, "a", fmt::format(R"({{"metadata":{{"name":"a"}},"status":{{"phase":"{}"}}}})", phase));
  };
  const auto show = [this](std::string_view phase, std::string_view since) {
    store_.put(kinds::vm_export, "e", export_of(phase, since));
  };
  const auto replace = [this] {
    const fs::path image = claim("disk") / "disk.img";
    testing::write(image.native() + ".new", std::string(fs::file_size(image), 'n'));
    fs::rename(image.native() + ".new", image);
  };
  const Row rows[] = {
      {"EXP-84", [] {}, false},
      {"EXP-84", [&] { vmi("Pending"); }, true},
      {"EXP-84", [&] { vmi("Running"); }, true},
      {"EXP-84", [&] { vmi("Succeeded"); }, false},
      {"EXP-84", [&] { show("Pending", "2026-01-02T03:04:06Z"); }, true},
      // Paused and ready again: what would follow may be another disk.
      {"EXP-84", [&] { show("Ready", "2026-01-02T03:04:06Z"); }, true},
      {"EXP-84", [&] { show("Ready", "2026-01-02T03:04:05Z"); }, false},
      // Writers put a new image in its place: whoever reads the old one goes on with that.
      {"EXP-84", replace, false},
  };
  const std::string content(4 * limits::export_piece_bytes, 'o');
  int number = 0;
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} row {}", row.id, number++));
    write_image(content);
    store_.put(kinds::vmi, "a", R"({"metadata":{"name":"a"},"status":{"phase":"Failed"}})");
    store_.put(kinds::vm_export, "e", export_of("Ready", "2026-01-02T03:04:05Z"));
    FakeExchange asked = exchange("GET", "volumes/disk/disk.img");
    asked.before_write = [&, first = true]() mutable {
      if (std::exchange(first, false)) row.change();
    };
    bool ended = false;
    try {
      asked.run_with_workers(router_);
    } catch (const std::runtime_error&) {  // with which a connection ends
      ended = true;
    }
    EXPECT_EQ(ended, row.ends);
    EXPECT_EQ(asked.streamed().size(), row.ends ? limits::export_piece_bytes : content.size());
    EXPECT_EQ(asked.streamed().find('n'), std::string::npos) << "one disk, and no other";
  }
}

}  // namespace
}  // namespace vg::exports
