#include "store/value_cipher.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace vg::store {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// 32 bytes of one value, in base64.
const std::string key_a = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=";
const std::string key_b = "QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkI=";
const std::string text = R"({"kind":"Secret","data":{"password":"aHVudGVyMg=="}})";
const ValueIdentity row{.resource = "secrets", .ns = "default", .name = "s", .uid = "u-1", .row = 7 << 10};

std::shared_ptr<const ValueCipher> with(const std::string& content) {
  auto cipher = ValueCipher::parse(content);
  if (!cipher) throw std::runtime_error(cipher.error().message);
  return *cipher;
}

std::string refusal(std::string_view content) {
  const auto cipher = ValueCipher::parse(content);
  return cipher ? "taken" : cipher.error().message;
}

std::string failure(const ValueCipher& cipher, const ValueIdentity& identity, std::string_view sealed) {
  const auto opened = cipher.open(identity, sealed);
  return opened ? "opened" : opened.error().message;
}

TEST(ValueCipher, WhatIsSealedCanBeOpenedAndNotRead) {
  const auto cipher = with(key_a);
  const std::string sealed = cipher->seal(row, text).value();
  EXPECT_TRUE(ValueCipher::is_sealed(sealed));
  EXPECT_THAT(sealed, Not(HasSubstr("Secret")));
  EXPECT_EQ(cipher->open(row, sealed).value(), text);
  EXPECT_EQ(cipher->open(row, cipher->seal(row, "").value()).value(), "");
}

TEST(ValueCipher, NoTwoSealsAreAlike) {
  const auto cipher = with(key_a);
  EXPECT_NE(cipher->seal(row, text).value(), cipher->seal(row, text).value());
}

TEST(ValueCipher, OnlySecretsAreSealed) {
  const auto cipher = with(key_a);
  for (const char* resource : {"configmaps", "kubevirt.io/virtualmachines", "secrets2", ""}) {
    ValueIdentity other = row;
    other.resource = resource;
    EXPECT_EQ(cipher->seal(other, text).value(), text);
    EXPECT_FALSE(cipher->is_stale(resource, text));
  }
}

TEST(ValueCipher, AValueIsGoodInItsOwnRowOnly) {
  const auto cipher = with(key_a);
  const std::string sealed = cipher->seal(row, text).value();
  ValueIdentity other = row;
  other.name = "t";
  EXPECT_THAT(failure(*cipher, other, sealed), HasSubstr("another row"));
  other = row, other.ns = "other";
  EXPECT_THAT(failure(*cipher, other, sealed), HasSubstr("another row"));
  other = row, other.uid = "u-2";
  EXPECT_THAT(failure(*cipher, other, sealed), HasSubstr("another row"));
  other = row, other.row = 8 << 10;
  EXPECT_THAT(failure(*cipher, other, sealed), HasSubstr("another row"));
  // Parts that come to the same text in another division.
  other = row, other.ns = "defaul", other.name = "ts";
  EXPECT_THAT(failure(*cipher, other, sealed), HasSubstr("another row"));
}

TEST(ValueCipher, EveryByteCounts) {
  const auto cipher = with(key_a);
  const std::string sealed = cipher->seal(row, text).value();
  for (std::size_t at = 0; at < sealed.size(); ++at) {
    std::string changed = sealed;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_NE(failure(*cipher, row, changed), "opened") << at;
    EXPECT_NE(failure(*cipher, row, sealed.substr(0, at)), "opened") << at;
  }
}

TEST(ValueCipher, NamesTheKeyThatIsMissing) {
  const auto a = with(key_a), b = with(key_b);
  const std::string sealed = a->seal(row, text).value();
  EXPECT_THAT(failure(*b, row, sealed), HasSubstr(a->key_names().front()));
  const auto without = open_value(nullptr, row, sealed);
  ASSERT_FALSE(without);
  EXPECT_THAT(without.error().message, HasSubstr(a->key_names().front()));
  EXPECT_THAT(without.error().message, HasSubstr("--secrets-key-file"));
  EXPECT_EQ(open_value(nullptr, row, text).value(), text);
  EXPECT_EQ(open_value(a.get(), row, text).value(), text);
  EXPECT_EQ(open_value(a.get(), row, sealed).value(), text);
}

TEST(ValueCipher, TheFirstKeySealsAndAllOpen) {
  const auto before = with(key_a), after = with("# new first\n" + key_b + "\n\n  " + key_a + "\r\n");
  const std::string old = before->seal(row, text).value();
  EXPECT_EQ(after->open(row, old).value(), text);
  EXPECT_TRUE(after->is_stale("secrets", old));
  EXPECT_TRUE(after->is_stale("secrets", text));
  const std::string renewed = after->seal(row, text).value();
  EXPECT_FALSE(after->is_stale("secrets", renewed));
  EXPECT_EQ(with(key_b)->open(row, renewed).value(), text);
  EXPECT_EQ(failure(*before, row, renewed).find("opened"), std::string::npos);
}

TEST(ValueCipher, PlainFirstTurnsSealingOff) {
  const auto off = with("plain\n" + key_a);
  EXPECT_FALSE(off->seals());
  EXPECT_EQ(off->seal(row, text).value(), text);
  const std::string sealed = with(key_a)->seal(row, text).value();
  EXPECT_EQ(off->open(row, sealed).value(), text);
  EXPECT_TRUE(off->is_stale("secrets", sealed));
  EXPECT_FALSE(off->is_stale("secrets", text));
}

TEST(ValueCipher, RawKeysAreTaken) {
  const std::string raw(32, 'A');
  EXPECT_EQ(with(raw)->key_names(), with(key_a)->key_names());
}

TEST(ValueCipher, RefusesWhatIsNoKey) {
  EXPECT_THAT(refusal(""), HasSubstr("no key found"));
  EXPECT_THAT(refusal("# nothing\n"), HasSubstr("no key found"));
  EXPECT_THAT(refusal("plain"), HasSubstr("no key found"));
  EXPECT_THAT(refusal("plain\nplain\n" + key_a), HasSubstr("line 2"));
  EXPECT_THAT(refusal(key_a + "\nplain\n"), HasSubstr("line 2"));
  EXPECT_THAT(refusal("c2hvcnQ="), HasSubstr("openssl rand -base64 32"));
  EXPECT_THAT(refusal(key_a + "\n" + key_a), HasSubstr("twice"));
  EXPECT_THAT(refusal(std::string(33, 'A')), HasSubstr("line 1"));
  EXPECT_THAT(refusal(std::string(44, '=')), HasSubstr("line 1"));
  EXPECT_THAT(refusal("!" + key_a.substr(1)), HasSubstr("line 1"));
}

struct KeyFileTest : ::testing::Test {
  std::filesystem::path root;
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "virtgate-keys-XXXXXX").native();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root = name;
  }
  void TearDown() override { std::filesystem::remove_all(root); }
  std::string file(mode_t mode, const std::string& content) const {
    const auto path = root / "keys";
    std::ofstream(path) << content;
    ::chmod(path.c_str(), mode);
    return path.native();
  }
  static std::string refused(const std::string& path) {
    const auto cipher = ValueCipher::read(path);
    return cipher ? "read" : cipher.error().message;
  }
};

TEST_F(KeyFileTest, OnlyItsOwnerMayReadIt) {
  EXPECT_EQ(refused(file(0600, key_a)), "read");
  EXPECT_EQ(refused(file(0400, key_a)), "read");
  EXPECT_THAT(refused(file(0640, key_a)), HasSubstr("chmod 600"));
  EXPECT_THAT(refused(file(0604, key_a)), HasSubstr("chmod 600"));
}

TEST_F(KeyFileTest, SaysWhatIsWrongWithIt) {
  EXPECT_THAT(refused((root / "none").native()), HasSubstr("No such file"));
  EXPECT_THAT(refused(root.native()), HasSubstr("not a regular file"));
  EXPECT_THAT(refused(file(0600, std::string(100'000, 'A'))), HasSubstr("too long"));
  EXPECT_THAT(refused(file(0600, "x")), HasSubstr("line 1"));
}

}  // namespace
}  // namespace vg::store
