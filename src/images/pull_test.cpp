// Pulls from a registry of the test's own: HTTP on the loopback address, with one account.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "base/base64.h"
#include "disks/outcome.h"
#include "images/image_store.h"
#include "images/records.h"

namespace vg::images {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// One file, as ustar has it.
std::string tar_of(std::string_view name, std::string_view content) {
  std::string head(512, '\0');
  const auto put = [&](std::size_t at, std::string_view text) { head.replace(at, text.size(), text); };
  put(0, name);
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, fmt::format("{:011o}", content.size()));
  put(136, "00000000000");
  put(148, "        ");
  put(156, "0");
  put(257, "ustar");
  put(263, "00");
  unsigned sum = 0;
  for (const char c : head) sum += static_cast<unsigned char>(c);
  put(148, fmt::format("{:06o}", sum));
  head[154] = '\0';
  std::string out = head.append(content);
  return out.append((512 - content.size() % 512) % 512 + 1024, '\0');
}

class Registry {
 public:
  Registry() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener_.get(), 16);
    socklen_t length = sizeof address;
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this] { serve(); });
  }
  ~Registry() {
    stalls = false;
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Before anybody asks.
  void put(const std::string& tag, std::string_view disk, std::string_view architecture = "amd64") {
    const std::string layer = tar_of("disk/d.img", disk);
    const std::string config = fmt::format(
        R"({{"architecture":"{}","os":"linux","config":{{}},"rootfs":{{"type":"layers","diff_ids":["sha256:{}"]}}}})",
        architecture, sha256_hex(layer));
    const auto blob = [&](const std::string& content, std::string_view type) {
      const std::string digest = "sha256:" + sha256_hex(content);
      answers_["/v2/x/blobs/" + digest] = content;
      return fmt::format(R"({{"mediaType":"application/vnd.oci.image.{}","digest":"{}","size":{}}})", type, digest,
                         content.size());
    };
    const std::string manifest = fmt::format(
        R"({{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{},"layers":[{}]}})",
        blob(config, "config.v1+json"), blob(layer, "layer.v1.tar"));
    answers_["/v2/x/manifests/" + tag] = answers_["/v2/x/manifests/sha256:" + sha256_hex(manifest)] = manifest;
  }
  // A list of images under a tag of its own, one for each architecture that was put under its name.
  void put_list(const std::string& tag, const std::vector<std::string>& architectures) {
    std::string rows;
    for (const std::string& one : architectures) {
      const std::string& manifest = answers_.at("/v2/x/manifests/" + one);
      rows += fmt::format(R"({}{{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:{}",)"
                          R"("size":{},"platform":{{"architecture":"{}","os":"linux"}}}})",
                          rows.empty() ? "" : ",", sha256_hex(manifest), manifest.size(), one);
    }
    const std::string list = fmt::format(
        R"({{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{}]}})", rows);
    answers_["/v2/x/manifests/" + tag] = answers_["/v2/x/manifests/sha256:" + sha256_hex(list)] = list;
  }
  void damage_blobs() {
    for (auto& [path, content] : answers_)
      if (path.contains("blobs") && content.size() > 4096) content[2000] ^= 1;
  }
  std::string reference(std::string_view tag) const { return fmt::format("127.0.0.1:{}/x:{}", port_, tag); }
  int manifests() const { return manifests_; }
  int blobs() const { return blobs_; }
  std::atomic<bool> stalls = false;    // a blob is begun and never ended
  std::atomic<bool> stalling = false;  // it is so now
  std::string account = {};            // "user:password"; empty: everybody may
  std::string blobs_at = {};           // where they are instead; empty: here

 private:
  void serve() {
    while (true) {
      const disks::Descriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client) return;
      std::string request(16384, '\0');
      std::size_t have = 0;
      while (!std::string_view(request).substr(0, have).contains("\r\n\r\n") && have < request.size()) {
        const ssize_t got = ::read(client.get(), request.data() + have, request.size() - have);
        if (got <= 0) break;
        have += static_cast<std::size_t>(got);
        if (request.front() == '\x16') break;  // TLS, which is tried first
      }
      if (request.front() == '\x16') continue;
      request.resize(have);
      const std::string answer = answer_to(request);
      std::string_view rest = answer;
      if (stalls && request.contains("/blobs/")) {
        (void)::send(client.get(), rest.data(), rest.size() - 1, MSG_NOSIGNAL);
        stalling = true;
        while (stalls) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        continue;
      }
      while (!rest.empty()) {
        const ssize_t sent = ::send(client.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
        if (sent <= 0) break;
        rest.remove_prefix(static_cast<std::size_t>(sent));
      }
    }
  }
  std::string answer_to(const std::string& request) {
    const auto respond = [](std::string_view status, std::string_view headers, std::string_view body) {
      return fmt::format("HTTP/1.1 {}\r\nConnection: close\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(),
                         headers, body);
    };
    std::istringstream line(request);
    std::string method, path;
    line >> method >> path;
    if (!account.empty() && !request.contains("Basic " + base64_encode(account)))
      return respond("401 Unauthorized", "WWW-Authenticate: Basic realm=\"r\"\r\n", "");
    if (path == "/v2/") return respond("200 OK", "", "");
    const auto found = answers_.find(path);
    if (found == answers_.end()) return respond("404 Not Found", "", R"({"errors":[{"code":"MANIFEST_UNKNOWN"}]})");
    const bool is_manifest = path.contains("/manifests/");
    if (!is_manifest && !blobs_at.empty()) return respond("307 Temporary", "Location: " + blobs_at + "\r\n", "");
    ++(is_manifest ? manifests_ : blobs_);
    return respond("200 OK",
                   !is_manifest ? "Content-Type: application/octet-stream\r\n"
                   : found->second.contains("image.index.v1")
                       ? "Content-Type: application/vnd.oci.image.index.v1+json\r\n"
                       : "Content-Type: application/vnd.oci.image.manifest.v1+json\r\n",
                   found->second);
  }

  disks::Descriptor listener_;
  int port_ = 0;
  std::map<std::string, std::string> answers_;
  std::atomic<int> manifests_ = 0, blobs_ = 0;
  std::jthread thread_;
};

class PullTest : public testing::Test {
 protected:
  PullTest() {
    std::string name = (fs::temp_directory_path() / "pulls-XXXXXX").native();
    folder_ = ::mkdtemp(name.data());
    store_.emplace(std::move(*ImageStore::open(folder_.native())));
  }
  ~PullTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  PullRequest request(std::string_view tag) const { return {.reference = registry_.reference(tag), .insecure = true}; }
  bool is_clean() const { return fs::is_empty(folder_ / "work"); }

  Registry registry_;
  fs::path folder_;
  std::optional<ImageStore> store_;
};

TEST_F(PullTest, AnImageComesOnceForAllWhoWant) {
  registry_.put("1", std::string(1 << 20, 'd'));
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const auto image = store_->pull(request("1"));
      EXPECT_TRUE(image) << (image ? "" : image.error().message);
    });
  threads.clear();
  EXPECT_EQ(registry_.blobs(), 2);  // a configuration and a layer
  const auto image = store_->find_usable(request("1"));
  ASSERT_TRUE(image);
  EXPECT_FALSE(image->loaded);
  EXPECT_TRUE(store_->disk_of(*image, ""));
  EXPECT_TRUE(is_clean());
}

TEST_F(PullTest, AnotherPullSeesWhatIsNew) {
  registry_.put("1", std::string(8192, 'a'));
  const auto before = store_->pull(request("1"));
  ASSERT_TRUE(before) << before.error().message;
  registry_.put("1", std::string(8192, 'b'));
  const auto after = store_->pull(request("1"));
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_NE(before->digest, after->digest);
  EXPECT_EQ(store_->list().size(), 1U);
  EXPECT_TRUE(store_->disk_of(*before, ""));  // guests may use it still
  (void)store_->collect(0, {});
  EXPECT_FALSE(store_->disk_of(*before, ""));
  EXPECT_TRUE(store_->disk_of(*after, ""));
}

TEST_F(PullTest, AListOfImagesHasOneForThisArchitecture) {
  registry_.put("amd64", std::string(8192, 'a'));
  registry_.put("arm64", std::string(8192, 'b'), "arm64");
  registry_.put_list("1", {"arm64", "amd64"});
  PullRequest wanted = request("1");
  wanted.architecture = "amd64";
  const auto image = store_->pull(wanted);
  ASSERT_TRUE(image) << image.error().message;
  const auto disk = store_->disk_of(*image, "");
  ASSERT_TRUE(disk) << disk.error().message;
  std::ifstream file(*disk);
  EXPECT_EQ(file.get(), 'a');
  const int blobs = registry_.blobs();
  ASSERT_TRUE(store_->pull(wanted));  // nothing has changed
  EXPECT_EQ(registry_.blobs(), blobs);
}

TEST_F(PullTest, Accounts) {
  registry_.put("1", std::string(8192, 'a'));
  registry_.account = "user:pass word";
  EXPECT_FALSE(store_->pull(request("1")));
  PullRequest named = request("1");
  named.user = "user";
  named.password = "pass word";
  const auto image = store_->pull(named);
  EXPECT_TRUE(image) << image.error().message;
  EXPECT_TRUE(is_clean());  // the account is in no file any more
}

TEST_F(PullTest, APrivateImageIsForThoseWhoseCredentialsTheRegistryAccepts) {
  registry_.put("1", std::string(8192, 'a'));
  registry_.account = "user:right";
  const auto as = [&](std::string user, std::string password) {
    PullRequest named = request("1");
    named.user = std::move(user);
    named.password = std::move(password);
    return named;
  };
  ASSERT_TRUE(store_->pull(as("user", "right")));
  const int blobs = registry_.blobs();
  for (const PullRequest& other : {request("1"), as("user", "wrong"), as("other", "right")}) {
    EXPECT_FALSE(store_->find_usable(other));
    for (const PullPolicy policy : {PullPolicy::never, PullPolicy::if_not_present, PullPolicy::always})
      EXPECT_FALSE(store_->pull(other, policy));
  }
  EXPECT_TRUE(store_->find_usable(as("user", "right")));
  for (const PullPolicy policy : {PullPolicy::never, PullPolicy::if_not_present, PullPolicy::always})
    EXPECT_TRUE(store_->pull(as("user", "right"), policy));
  EXPECT_EQ(registry_.blobs(), blobs);  // it is here
  // Another process knows as much, and what it reads there is no credential.
  const auto again = ImageStore::open(folder_.native());
  EXPECT_TRUE(again->find_usable(as("user", "right")));
  EXPECT_FALSE(again->find_usable(request("1")));
  std::ifstream record(folder_ / "references" / sha256_hex(registry_.reference("1")));
  const std::string text((std::istreambuf_iterator<char>(record)), {});
  EXPECT_THAT(text, testing::AllOf(HasSubstr("accepted"), testing::Not(HasSubstr("right"))));
  // Credentials that are new are asked about, also while the old ones are remembered; then it is open to all.
  registry_.account = "user:newer";
  EXPECT_TRUE(store_->pull(as("user", "newer"), PullPolicy::never));
  registry_.account = {};
  EXPECT_TRUE(store_->pull(request("1"), PullPolicy::if_not_present));
  registry_.account = "nobody:knows";
  EXPECT_TRUE(store_->find_usable(as("user", "wrong")));
}

TEST_F(PullTest, APrivateImageIsNobodysWhileItsRegistryIsAway) {
  PullRequest named;
  {
    Registry gone;
    gone.put("1", std::string(8192, 'a'));
    gone.account = "user:right";
    named = {.reference = gone.reference("1"), .user = "user", .password = "right", .insecure = true};
    ASSERT_TRUE(store_->pull(named));
  }
  EXPECT_TRUE(store_->pull(named, PullPolicy::if_not_present));  // was accepted lately
  const PullRequest anonymous{.reference = named.reference, .insecure = true};
  const auto refused = store_->pull(anonymous, PullPolicy::never);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 503);
}

TEST_F(PullTest, WhoeverPullsTheSameMustBeAcceptedToo) {
  registry_.put("1", std::string(1 << 20, 'd'));
  registry_.account = "user:right";
  PullRequest named = request("1");
  named.user = "user";
  named.password = "right";
  std::atomic<int> had = 0, refused = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&, i] { ++(store_->pull(i % 2 == 0 ? named : request("1")) ? had : refused); });
  }
  EXPECT_EQ(had, 2);
  EXPECT_EQ(refused, 2);
}

TEST_F(PullTest, APullEndsWhenNobodyWantsIt) {
  registry_.put("1", std::string(1 << 20, 'd'));
  registry_.stalls = true;
  std::stop_source stop;
  std::optional<Result<UsableImage>> pulled, waited;
  std::jthread one([&] { pulled = store_->pull(request("1"), PullPolicy::always, stop.get_token()); });
  while (!registry_.stalling) std::this_thread::yield();
  std::jthread other([&] { waited = store_->pull(request("1"), PullPolicy::always, stop.get_token()); });
  stop.request_stop();
  one.join();
  other.join();
  EXPECT_FALSE(*pulled);
  EXPECT_FALSE(*waited);
  EXPECT_TRUE(is_clean());
  EXPECT_FALSE(store_->find(registry_.reference("1")));
}

TEST_F(PullTest, Mirrors) {
  registry_.put("1", std::string(8192, 'a'));
  const auto mirror = registry_.reference("1").substr(0, registry_.reference("1").find('/'));
  const auto image = store_->pull({.reference = "registry.invalid/x:1", .mirror = mirror, .insecure = true});
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(image->reference, "registry.invalid/x:1");
}

TEST_F(PullTest, BlockedNetworksAreNotAsked) {
  registry_.put("1", std::string(8192, 'a'));
  store_->block("127.0.0.0/8,::1/128");
  const auto refused = store_->pull(request("1"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("failed to pull image"));
  EXPECT_THAT(refused.error().message, HasSubstr("--import-blocked-networks"));
  EXPECT_EQ(registry_.manifests(), 0);
  // A registry that is asked does not lead there either.
  store_->block("169.254.0.0/16");
  registry_.blobs_at = "http://169.254.169.254/latest";
  const auto led = store_->pull(request("1"));
  ASSERT_FALSE(led);
  EXPECT_THAT(led.error().message, HasSubstr("169.254.169.254 is in a network that nothing is imported from"));
  EXPECT_GT(registry_.manifests(), 0);
  registry_.blobs_at = {};
  const auto image = store_->pull(request("1"));
  EXPECT_TRUE(image) << image.error().message;
}

TEST_F(PullTest, WhatIsWrongIsRefused) {
  EXPECT_THAT(store_->pull(request("none")).error().message, HasSubstr("failed to pull image"));
  registry_.put("arm", std::string(8192, 'a'), "arm64");
  PullRequest other = request("arm");
  other.architecture = "amd64";
  EXPECT_FALSE(store_->pull(other));
  registry_.put("broken", std::string(8192, 'a'));
  registry_.damage_blobs();
  EXPECT_FALSE(store_->pull(request("broken")));
  EXPECT_TRUE(store_->list().empty());
  EXPECT_TRUE(is_clean());
}

}  // namespace
}  // namespace vg::images
