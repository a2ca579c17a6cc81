#include "local/pki.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

namespace vg::local {
namespace {

namespace fs = std::filesystem;
using std::chrono::days;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

std::string slurp(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void put(const fs::path& path, std::string_view text) { std::ofstream(path, std::ios::trunc) << text; }

mode_t mode_of(const fs::path& path) {
  struct stat info{};
  ::stat(path.c_str(), &info);
  return info.st_mode & 07777;
}

// As on a full disk: files can be made, but nothing written to them.
class FullDisk {
 public:
  FullDisk() {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int) = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before_{};
};

struct PkiTest : ::testing::Test {
  fs::path state;
  Time now{std::chrono::sys_days{std::chrono::year{2026} / 3 / 1}};
  std::vector<std::string> hosts{"10.1.2.3", "gate.example"};
  std::string url = "https://10.1.2.3:6443";

  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "virtgate-pki-XXXXXX").native();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    state = name;
  }
  void TearDown() override { fs::remove_all(state); }

  Result<std::unique_ptr<Pki>> open() { return Pki::open({.state = state, .hosts = hosts, .server_url = url}, now); }
  std::string refusal() {
    auto pki = open();
    return pki ? "opened" : pki.error().message;
  }
  std::string refusal_on_full_disk() {
    const FullDisk full;
    return refusal();
  }
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(state))
      if (entry.is_regular_file()) all[fs::relative(entry.path(), state).native()] = slurp(entry.path());
    return all;
  }
  // The names of the files whose content differs from `before`.
  std::vector<std::string> changed(const std::map<std::string, std::string>& before) const {
    std::vector<std::string> names;
    for (const auto& [name, text] : files())
      if (auto old = before.find(name); old == before.end() || old->second != text) names.push_back(name);
    return names;
  }
  fs::path in_pki(std::string_view name) const { return state / "pki" / name; }
};

TEST_F(PkiTest, FirstStartMakesEveryFile) {
  const mode_t before = ::umask(0);
  auto pki = open();
  ::umask(before);
  ASSERT_TRUE(pki) << pki.error().message;
  EXPECT_EQ(mode_of(state / "pki"), 0700u);
  for (std::string_view secret : {"ca.key", "server.key", "admin.key", "admin.token"})
    EXPECT_EQ(mode_of(in_pki(secret)), 0600u) << secret;
  for (std::string_view open_file : {"ca.crt", "server.crt", "admin.crt"})
    EXPECT_EQ(mode_of(in_pki(open_file)), 0644u) << open_file;
  EXPECT_EQ(mode_of(state / "admin.kubeconfig"), 0600u);
  EXPECT_EQ(files().size(), 8u);  // and no leftovers of writing them

  auto authority = Certificate::from_pem(slurp(in_pki("ca.crt"))).value();
  auto server = Certificate::from_pem(slurp(in_pki("server.crt"))).value();
  auto admin = Certificate::from_pem(slurp(in_pki("admin.crt"))).value();
  EXPECT_TRUE(authority.is_authority());
  EXPECT_GE(authority.not_after(), now + days(3650));
  EXPECT_TRUE(server.signed_by(authority));
  EXPECT_TRUE(admin.signed_by(authority));
  EXPECT_FALSE(server.is_authority());
  for (std::string host : {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "127.0.0.1",
                           "::1", "10.1.2.3", "gate.example"})
    EXPECT_TRUE(server.covers(host)) << host;
  EXPECT_FALSE(server.covers("other.example"));
  EXPECT_FALSE(server.covers("10.1.2.4"));
  EXPECT_EQ(admin.common_name(), "kubernetes-admin");
  EXPECT_EQ((*pki)->admin_token(), slurp(in_pki("admin.token")));
  EXPECT_EQ((*pki)->admin_token().size(), 43u);  // 256 bits
  EXPECT_EQ((*pki)->server_expires(), server.not_after());
  EXPECT_EQ((*pki)->authority_expires(), authority.not_after());

  const std::string kubeconfig = slurp(state / "admin.kubeconfig");
  EXPECT_THAT(kubeconfig, AllOf(HasSubstr("server: \"https://10.1.2.3:6443\""), HasSubstr("current-context: virtgate"),
                                HasSubstr("client-key-data: ")));
}

TEST_F(PkiTest, WhatTheFirstStartMadeCanBeForcedOntoTheDisk) {
  auto pki = open().value();
  EXPECT_TRUE(pki->sync());
  fs::remove(in_pki("admin.token"));
  auto failed = pki->sync();
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("admin.token"));
  EXPECT_TRUE(open().value()->sync());  // a later start has nothing to force
}

TEST_F(PkiTest, LaterStartsKeepEverything) {
  ASSERT_EQ(refusal(), "opened");
  const auto before = files();
  now += days(100);
  ASSERT_EQ(refusal(), "opened");
  EXPECT_THAT(changed(before), IsEmpty());
}

TEST_F(PkiTest, TwoFoldersShareNothing) {
  ASSERT_EQ(refusal(), "opened");
  const std::string token = slurp(in_pki("admin.token")), authority = slurp(in_pki("ca.crt"));
  fs::remove_all(state / "pki");
  ASSERT_EQ(refusal(), "opened");
  EXPECT_NE(slurp(in_pki("admin.token")), token);
  EXPECT_NE(slurp(in_pki("ca.crt")), authority);
}

TEST_F(PkiTest, RenewsBeforeExpiryAndKeepsTheKeys) {
  auto pki = open().value();
  const auto before = files();
  EXPECT_FALSE(pki->is_due(now + days(334)));
  EXPECT_THAT(pki->renew(now + days(334)).value(), IsEmpty());
  EXPECT_THAT(changed(before), IsEmpty());
  EXPECT_TRUE(pki->is_due(now + days(336)));
  EXPECT_EQ(pki->problem(), std::nullopt) << "all are still valid";
  EXPECT_TRUE(pki->is_due(now + days(3000))) << "after a long sleep of the host";
  EXPECT_TRUE(pki->is_due(now - days(1))) << "the clock was set back";
  EXPECT_THAT(pki->problem().value(), HasSubstr("check the clock")) << "the CA cannot be renewed";
  EXPECT_TRUE(pki->is_due(now + days(400)));
  EXPECT_THAT(pki->problem().value(), HasSubstr("could not be renewed"));
  EXPECT_THAT(pki->renew(now + days(336)).value(), ElementsAre("server.crt", "admin.crt"));
  EXPECT_FALSE(pki->is_due(now + days(336)));
  EXPECT_THAT(changed(before), UnorderedElementsAre("pki/server.crt", "pki/admin.crt", "admin.kubeconfig"));
  EXPECT_GT(pki->server_expires(), now + days(700));
  EXPECT_THAT(pki->renew(now + days(336)).value(), IsEmpty());
  pki.reset();
  now += days(336);
  EXPECT_EQ(refusal(), "opened");
}

TEST_F(PkiTest, RenewsAtTheStartWhatExpiredWhileTheServerWasDown) {
  ASSERT_EQ(refusal(), "opened");
  const auto before = files();
  now += days(1000);
  ASSERT_EQ(refusal(), "opened");
  EXPECT_THAT(changed(before), UnorderedElementsAre("pki/server.crt", "pki/admin.crt", "admin.kubeconfig"));
}

TEST_F(PkiTest, NoLeafOutlivesTheAuthority) {
  ASSERT_EQ(refusal(), "opened");
  now += days(3645);
  auto pki = open().value();
  EXPECT_EQ(pki->server_expires(), pki->authority_expires());
  const auto before = files();
  EXPECT_FALSE(pki->is_due(now + days(1)));
  EXPECT_THAT(pki->renew(now + days(1)).value(), IsEmpty());  // nothing to gain any more
  EXPECT_THAT(changed(before), IsEmpty());
  now += days(10);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("ca.crt has expired"), HasSubstr("remove the folder")));
}

TEST_F(PkiTest, ANewListenAddressGetsANewServerCertificateAndKubeconfig) {
  ASSERT_EQ(refusal(), "opened");
  const auto before = files();
  hosts = {"192.0.2.7"};
  url = "https://192.0.2.7:7443";
  ASSERT_EQ(refusal(), "opened");
  EXPECT_THAT(changed(before), UnorderedElementsAre("pki/server.crt", "admin.kubeconfig"));
  EXPECT_TRUE(Certificate::from_pem(slurp(in_pki("server.crt"))).value().covers("192.0.2.7"));
}

TEST_F(PkiTest, AKubeconfigThatCannotBeWrittenIsNoReasonNotToStartWhileTheOldOneIsGood) {
  ASSERT_EQ(refusal(), "opened");
  const std::string before = slurp(state / "admin.kubeconfig");
  url = "https://10.1.2.3:7443";
  EXPECT_EQ(refusal_on_full_disk(), "opened");
  EXPECT_EQ(slurp(state / "admin.kubeconfig"), before);
}

TEST_F(PkiTest, AKubeconfigThatCannotBeWrittenIsTheEndWhenThereIsNoGoodOne) {
  ASSERT_EQ(refusal(), "opened");
  const std::string before = slurp(state / "admin.kubeconfig");
  url = "https://10.1.2.3:7443";
  const auto damaged = [&](std::string_view field) {
    std::string text = before;
    const auto at = text.find(field) + field.size() + 40;
    text[at] = text[at] == 'A' ? 'B' : 'A';
    put(state / "admin.kubeconfig", text);
    return refusal_on_full_disk();
  };
  for (const std::string_view field :
       {"certificate-authority-data: ", "client-certificate-data: ", "client-key-data: "})
    EXPECT_THAT(damaged(field), HasSubstr("cannot write")) << field;
  put(state / "admin.kubeconfig", before);
  EXPECT_EQ(refusal_on_full_disk(), "opened");
  fs::permissions(state / "admin.kubeconfig", fs::perms::others_read, fs::perm_options::add);
  EXPECT_THAT(refusal_on_full_disk(), HasSubstr("admin.kubeconfig"));
  fs::remove(state / "admin.kubeconfig");
  EXPECT_THAT(refusal_on_full_disk(), HasSubstr("cannot write"));
}

TEST_F(PkiTest, ACertificateThatCannotBeRenewedIsUsedWhileItIsValid) {
  const auto pki = open();
  ASSERT_TRUE(pki);
  const auto expires = (*pki)->server_expires();
  const std::string before = slurp(state / "pki/server.crt");
  now = expires - days(1);
  EXPECT_EQ(refusal_on_full_disk(), "opened");
  EXPECT_EQ(slurp(state / "pki/server.crt"), before);
  hosts.emplace_back("other.example");
  EXPECT_THAT(refusal_on_full_disk(), HasSubstr("server.crt"));
  hosts.pop_back();
  now = expires + days(1);
  EXPECT_THAT(refusal_on_full_disk(), HasSubstr("server.crt"));
}

TEST_F(PkiTest, MakesMissingLeavesAnew) {
  ASSERT_EQ(refusal(), "opened");
  const auto before = files();
  fs::remove(in_pki("server.crt"));
  ASSERT_EQ(refusal(), "opened");
  EXPECT_THAT(changed(before), ElementsAre("pki/server.crt"));
  fs::remove(in_pki("admin.key"));
  fs::remove(in_pki("admin.token"));
  fs::remove(state / "admin.kubeconfig");
  ASSERT_EQ(refusal(), "opened");
  EXPECT_THAT(changed(before), UnorderedElementsAre("pki/server.crt", "pki/admin.crt", "pki/admin.key",
                                                    "pki/admin.token", "admin.kubeconfig"));
}

TEST_F(PkiTest, NeverReplacesTheAuthority) {
  ASSERT_EQ(refusal(), "opened");
  const auto good = files();
  for (std::string name : {"ca.crt", "ca.key"}) {
    fs::remove(in_pki(name));
    EXPECT_THAT(refusal(), AllOf(HasSubstr(name + " is missing"), HasSubstr("remove the folder")));
    put(in_pki(name), "nonsense");
    fs::permissions(in_pki(name), fs::perms(0600));
    EXPECT_THAT(refusal(), AllOf(HasSubstr(name), HasSubstr("PEM"), HasSubstr("remove the folder")));
    put(in_pki(name), good.at("pki/" + name));
    EXPECT_EQ(refusal(), "opened");
  }
  put(in_pki("ca.key"), PrivateKey::generate().value().to_pem());
  EXPECT_THAT(refusal(), HasSubstr("ca.key does not match"));
  put(in_pki("ca.key"), good.at("pki/server.key"));
  put(in_pki("ca.crt"), good.at("pki/server.crt"));
  EXPECT_THAT(refusal(), HasSubstr("not a CA certificate"));
}

TEST_F(PkiTest, RefusesDamagedAndForeignLeaves) {
  ASSERT_EQ(refusal(), "opened");
  const auto good = files();
  for (std::string name : {"server", "admin"}) {
    const std::string key = "pki/" + name + ".key", certificate = "pki/" + name + ".crt";
    put(state / key, "");
    EXPECT_THAT(refusal(), AllOf(HasSubstr(name + ".key"), HasSubstr("new ones are created")));
    put(state / key, PrivateKey::generate().value().to_pem());
    EXPECT_THAT(refusal(), HasSubstr(name + ".key does not match"));
    put(state / key, good.at(key));
    put(state / certificate, good.at(certificate).substr(0, 200));
    EXPECT_THAT(refusal(), AllOf(HasSubstr(name + ".crt"), HasSubstr("PEM")));

    auto foreign_key = PrivateKey::generate().value();
    auto foreign = Certificate::make_authority(foreign_key, "foreign", now, now + days(1)).value();
    auto own_key = PrivateKey::from_pem(good.at(key)).value();
    put(state / certificate, Certificate::issue(foreign, foreign_key, own_key,
                                                {.common_name = "x",
                                                 .organizations = {},
                                                 .hosts = {},
                                                 .usage = Usage::server,
                                                 .not_before = now,
                                                 .not_after = now + days(1)})
                                 .value()
                                 .to_pem());
    EXPECT_THAT(refusal(), HasSubstr(name + ".crt was not signed by"));
    put(state / certificate, good.at(certificate));
    EXPECT_EQ(refusal(), "opened");
  }
}

TEST_F(PkiTest, RefusesSecretsThatOthersCanRead) {
  ASSERT_EQ(refusal(), "opened");
  for (std::string name : {"ca.key", "server.key", "admin.key", "admin.token"}) {
    fs::permissions(in_pki(name), fs::perms(0640));
    EXPECT_THAT(refusal(), AllOf(HasSubstr(name + " can be read by other users"), HasSubstr("chmod 600")));
    fs::permissions(in_pki(name), fs::perms(0600));
  }
  fs::permissions(state / "admin.kubeconfig", fs::perms(0644));  // it is made from the others: written anew
  EXPECT_EQ(refusal(), "opened");
  EXPECT_EQ(mode_of(state / "admin.kubeconfig"), 0600u);
}

TEST_F(PkiTest, TakesAnAdministratorsOwnTokenIfItIsOne) {
  ASSERT_EQ(refusal(), "opened");
  put(in_pki("admin.token"), "0123456789abcdefghijklmnopqrstuvwxyz\n");
  EXPECT_EQ(open().value()->admin_token(), "0123456789abcdefghijklmnopqrstuvwxyz");
  for (std::string_view bad : {"", "short", "0123456789abcdefghijklmno pqrstuvwxyz"}) {
    put(in_pki("admin.token"), bad);
    EXPECT_THAT(refusal(), AllOf(HasSubstr("admin.token: it has no valid token"), Not(HasSubstr("0123")))) << bad;
  }
}

TEST_F(PkiTest, AStartThatWasCutShortIsRepeated) {
  fs::create_directory(state / "pki.new");
  put(state / "pki.new/ca.key", "half");
  EXPECT_EQ(refusal(), "opened");
  EXPECT_FALSE(fs::exists(state / "pki.new"));
}

TEST_F(PkiTest, TheClockWasAhead) {
  ASSERT_EQ(refusal(), "opened");
  now -= days(2);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("ca.crt is not valid yet"), HasSubstr("clock")));
}

TEST(CertificateTest, AHostCannotBringFurtherNames) {
  const Time now{};
  auto key = PrivateKey::generate().value();
  auto authority = Certificate::make_authority(key, "ca", now, now + days(1)).value();
  auto leaf = Certificate::issue(authority, key, key,
                                 {.common_name = "x",
                                  .organizations = {},
                                  .hosts = {"a.example,DNS:b.example"},
                                  .usage = Usage::server,
                                  .not_before = now,
                                  .not_after = now + days(1)})
                  .value();
  EXPECT_FALSE(leaf.covers("b.example"));
}

TEST_F(PkiTest, KeepsCertificatesOfNodes) {
  auto pki = open();
  ASSERT_TRUE(pki) << pki.error().message;
  const fs::path folder = state / "node";
  fs::create_directory(folder);
  const LeafPlace place{.folder = folder,
                        .name = "api",
                        .common_name = "system:node:node01",
                        .organizations = {"system:nodes"},
                        .usage = Usage::client};
  ASSERT_TRUE((*pki)->keep(place, now));
  const auto authority = Certificate::from_pem(slurp(in_pki("ca.crt"))).value();
  const std::string made = slurp(folder / "api.crt");
  auto certificate = Certificate::from_pem(made).value();
  EXPECT_TRUE(certificate.signed_by(authority));
  EXPECT_EQ(certificate.common_name(), "system:node:node01");
  EXPECT_EQ(mode_of(folder / "api.key"), 0600u);
  // A later start finds it; shortly before its end it is renewed, with the same key.
  auto again = open();
  ASSERT_TRUE(again);
  ASSERT_TRUE((*again)->keep(place, now));
  EXPECT_EQ(slurp(folder / "api.crt"), made);
  const std::string key = slurp(folder / "api.key");
  now = certificate.not_after() - days(10);
  const auto renewed = (*again)->renew(now);
  ASSERT_TRUE(renewed);
  EXPECT_THAT(*renewed, ::testing::Contains((folder / "api.crt").native()));
  EXPECT_NE(slurp(folder / "api.crt"), made);
  EXPECT_EQ(slurp(folder / "api.key"), key);
}

}  // namespace
}  // namespace vg::local
