#include "guests/access_credentials.h"

#include <gmock/gmock.h>

#include "base/base64.h"
#include "base/node_limits.h"
#include "guests/testing.h"

namespace vg::guests {
namespace {

using ::testing::ElementsAre;
using testing::Given;
using ::testing::IsEmpty;
using testing::Made;

constexpr std::string_view credentials = R"(,"accessCredentials":[
  {"sshPublicKey":{"source":{"secret":{"secretName":"keys"}},"propagationMethod":{"qemuGuestAgent":{"users":["ann","bob"]}}}},
  {"sshPublicKey":{"source":{"secret":{"secretName":"more"}},"propagationMethod":{"qemuGuestAgent":{"users":["bob"]}}}},
  {"sshPublicKey":{"source":{"secret":{"secretName":"boot"}},"propagationMethod":{"noCloud":{}}}},
  {"userPassword":{"source":{"secret":{"secretName":"words"}},"propagationMethod":{"qemuGuestAgent":{}}}},
  {"userPassword":{"source":{"secret":{"secretName":"words"}},"propagationMethod":{"qemuGuestAgent":{}}}}])";

class AccessCredentials : public ::testing::Test {
 protected:
  void put(const std::string& name, std::string_view key, std::string_view text) {
    auto [at, is_new] = secrets_.try_emplace(name, Made::read(R"({"data":{}})"));
    (*json::get_object(at->second.root(), "data"))[key] = base64_encode(text);
  }
  Result<std::vector<std::string>> commands() const {
    return credential_commands(*made_.one->vmi, [&](std::string_view name) -> const json::Object* {
      const auto found = secrets_.find(name);
      return found == secrets_.end() ? nullptr : found->second.root().if_object();
    });
  }
  Made made_{Given{.more_spec = std::string(credentials)}};
  std::map<std::string, json::Document, std::less<>> secrets_;
};

TEST_F(AccessCredentials, OnlyWhatTheAgentPutsThere) {  // RUN-ACC-01
  EXPECT_THAT(agent_secrets(*made_.one->vmi), ElementsAre("keys", "more", "words"));
  EXPECT_THAT(agent_secrets(*Made{Given{}}.one->vmi), IsEmpty());
}

TEST_F(AccessCredentials, KeysByUserThenPasswords) {  // RUN-ACC-04, RUN-ACC-05
  put("keys", "b", "key-b\n\n");
  put("keys", "a", " key-a1 \r\nkey-a2");
  put("keys", "..data", "hidden");
  put("more", "c", "key-c");
  put("words", "ann", " secret\n");
  put("words", "bob", "\n");
  const auto made = commands();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(
      *made,
      ElementsAre(
          R"({"execute":"guest-ssh-add-authorized-keys","arguments":{"username":"ann","keys":["key-a1","key-a2","key-b"],"reset":true}})",
          R"({"execute":"guest-ssh-add-authorized-keys","arguments":{"username":"bob","keys":["key-a1","key-a2","key-b","key-c"],"reset":true}})",
          R"({"execute":"guest-set-user-password","arguments":{"username":"ann","password":"c2VjcmV0","crypted":false}})"));
}

TEST_F(AccessCredentials, WhatIsMissingOrTooMuchIsSaid) {
  const auto missing = commands();
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, ::testing::HasSubstr("\"keys\""));
  put("keys", "a", std::string(limits::credential_command_bytes_max, 'k'));
  put("more", "a", "k");
  put("words", "a", "k");
  EXPECT_FALSE(commands());
}

}  // namespace
}  // namespace vg::guests
