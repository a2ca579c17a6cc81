#include "kube/cluster_access.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "base/base64.h"
#include "base/files.h"

namespace vg::kube {
namespace {

using ::testing::HasSubstr;

Environment environment_of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

std::string kubeconfig(std::string_view user, std::string_view cluster = "") {
  return fmt::format(R"(
current-context: here
contexts:
- name: elsewhere
  context: {{cluster: other, user: other}}
- name: here
  context: {{cluster: kind, user: admin}}
clusters:
- name: kind
  cluster:
    server: https://10.0.0.1:6443/prefix/
    certificate-authority: pki/ca.crt
{}
users:
- name: admin
  user:
{}
)",
                     cluster, user);
}

class ClusterAccessTest : public ::testing::Test {
 public:
  ClusterAccessTest() : folder_(fmt::format("{}/cluster-access-{}", ::testing::TempDir(), ::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~ClusterAccessTest() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, std::string_view text) {
    ASSERT_TRUE(write_file(folder_ + "/" + name, text, 0600));
  }

 protected:
  std::string folder_;
};

TEST_F(ClusterAccessTest, ReadsTheCurrentContext) {
  const auto access = read_kubeconfig(
      kubeconfig(fmt::format("    client-certificate-data: {}\n    client-key: /k.pem", base64_encode("CRT"))),
      "/etc/k", "");
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->origin.host, "10.0.0.1");
  EXPECT_EQ(access->origin.port, 6443);
  EXPECT_TRUE(access->origin.tls);
  EXPECT_EQ(access->path_prefix, "/prefix");
  EXPECT_EQ(access->authorities.file, "/etc/k/pki/ca.crt");
  EXPECT_EQ(access->certificate.text, "CRT");
  EXPECT_EQ(access->key.file, "/k.pem");
  EXPECT_TRUE(access->verify);
}

TEST_F(ClusterAccessTest, ATokenFileWinsOverAToken) {
  const auto access = read_kubeconfig(kubeconfig("    token: old\n    tokenFile: token"), "/etc/k", "");
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->token, (Material{.text = "", .file = "/etc/k/token"}));
}

TEST_F(ClusterAccessTest, MasterReplacesTheServer) {
  const auto access = read_kubeconfig(kubeconfig("    token: t"), "", "http://localhost:8080");
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->origin.host, "localhost");
  EXPECT_EQ(access->origin.port, 8080);
  EXPECT_FALSE(access->origin.tls);
  const auto alone = find_cluster("", "https://api", environment_of({}), folder_);
  ASSERT_TRUE(alone) << alone.error().message;
  EXPECT_EQ(alone->origin.port, 443);
}

TEST_F(ClusterAccessTest, RefusesWhatAServerCannotDo) {
  const auto exec = read_kubeconfig(kubeconfig("    exec: {command: login}"), "", "");
  ASSERT_FALSE(exec);
  EXPECT_THAT(exec.error().message, HasSubstr("client certificate"));
  EXPECT_FALSE(read_kubeconfig("", "", ""));
  EXPECT_FALSE(read_kubeconfig("{: not yaml", "", ""));
  EXPECT_FALSE(read_kubeconfig(kubeconfig("    client-key-data: '*'"), "", ""));
}

TEST_F(ClusterAccessTest, ServerUrls) {
  for (const std::string_view bad : {"https://", "ftp://host", "https://host:0", "https://host:x", "https://[::1"})
    EXPECT_FALSE(parse_server_url(bad)) << bad;
  const auto v6 = parse_server_url("https://[fd00::1]:6443");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->origin.host, "fd00::1");
  EXPECT_EQ(v6->origin.port, 6443);
}

TEST_F(ClusterAccessTest, InsideAPod) {
  const auto inside = environment_of({{"KUBERNETES_SERVICE_HOST", "fd00::1"}, {"KUBERNETES_SERVICE_PORT", "443"}});
  EXPECT_FALSE(find_cluster("", "", inside, folder_)) << "there is no token";
  write("token", "abc\n");
  EXPECT_TRUE(find_cluster("", "", inside, folder_)->authorities.empty()) << "the system's authorities";
  write("ca.crt", "a bundle");
  const auto access = find_cluster("", "", inside, folder_);
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->origin.host, "fd00::1");
  EXPECT_EQ(access->token.file, folder_ + "/token");
  EXPECT_EQ(access->authorities.file, folder_ + "/ca.crt");
  const auto outside = find_cluster("", "", environment_of({}), folder_);
  ASSERT_FALSE(outside);
  EXPECT_THAT(outside.error().message, HasSubstr("--kubeconfig"));
}

TEST_F(ClusterAccessTest, OwnNamespace) {
  EXPECT_EQ(own_namespace(folder_).value(), "kubevirt");
  write("namespace", " \n");
  EXPECT_EQ(own_namespace(folder_).value(), "kubevirt");
  write("namespace", "cnv\n");
  EXPECT_EQ(own_namespace(folder_).value(), "cnv");
}

}  // namespace
}  // namespace vg::kube
