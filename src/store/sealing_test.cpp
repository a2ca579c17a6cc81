// What the file of a store shows of Secrets to whoever gets hold of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "ports/object_store_testing.h"
#include "store/embedded_store.h"
#include "store/salvage.h"
#include "store/testing.h"

namespace vg::store {
namespace {

using namespace vg::testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

const std::string key_a = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=";
const std::string key_b = "QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkI=";

std::shared_ptr<const ValueCipher> keys(const std::string& content) {
  auto cipher = ValueCipher::parse(content);
  return cipher ? *cipher : nullptr;
}

class Sealing : public ::testing::Test {
 protected:
  Options options(const std::string& content) {
    Options options;
    options.path = folder_.file("store.db");
    options.log_changes_max = window_;
    options.cipher = content.empty() ? nullptr : keys(content);
    return options;
  }
  void open(const std::string& content) {
    store_.reset();
    store_ = must_open(options(content));
  }
  std::string refusal(const std::string& content) {
    store_.reset();
    auto store = EmbeddedStore::open(options(content));
    return store ? "opened" : store.error().message;
  }
  void put(const std::string& name, const std::string& text, bool again = false) {
    const ObjectKey key{"secrets", "default", name};
    auto done = start(*store_, one(again ? update(key, text) : create(key, text))).get();
    ASSERT_TRUE(done.has_value()) << done.error().message;
  }
  void drop(const std::string& name) {
    ASSERT_TRUE(start(*store_, one(remove({"secrets", "default", name}))).get().has_value());
  }
  std::string value(const std::string& name) {
    const auto object = store_->get("secrets", "default", name);
    return object ? std::string(object->json()) : "";
  }
  // In any file beside the store, while it is open and whatever is in its log.
  bool on_disk(const std::string& text) {
    for (const auto& entry : fs::directory_iterator(fs::path(folder_.file("store.db")).parent_path())) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(file)), {});
      if (bytes.contains(text)) return true;
    }
    return false;
  }
  // As somebody who can write the file but has no key, and knows how rows are summed up, could change it at rest.
  void change(const std::string& sql) {
    store_.reset();
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(folder_.file("store.db").c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }

  TemporaryFolder folder_;
  std::size_t window_ = Options().log_changes_max;
  std::unique_ptr<EmbeddedStore> store_;
};

TEST_F(Sealing, secrets_are_not_readable_on_disk_and_others_are) {
  open(key_a);
  put("s", "hunter2");
  ASSERT_TRUE(start(*store_, one(create({"configmaps", "default", "c"}, "public-text"))).get().has_value());
  EXPECT_FALSE(on_disk("hunter2"));
  EXPECT_TRUE(on_disk("public-text")) << "the search itself works";
  store_.reset();
  EXPECT_FALSE(on_disk("hunter2"));
  open(key_a);
  EXPECT_THAT(value("s"), HasSubstr("hunter2"));
}

TEST_F(Sealing, versions_and_deletions_survive) {
  open(key_a);
  put("s", "first");
  put("s", "second", true);
  put("t", "third");
  drop("t");
  const auto revision = store_->revision();
  open(key_a);
  EXPECT_EQ(store_->revision(), revision);
  EXPECT_THAT(value("s"), HasSubstr("second"));
  EXPECT_EQ(value("t"), "");
  auto watch = store_->watch({.resource = "secrets", .from_revision = 1}, [] {});
  ASSERT_TRUE(watch.has_value());
  EXPECT_EQ((*watch)->next(10)->changes.size(), 3u);
}

TEST_F(Sealing, without_the_key_the_store_is_not_opened) {
  open(key_a);
  put("s", "hunter2");
  EXPECT_THAT(refusal(""), AllOf(HasSubstr(keys(key_a)->key_names()[0]), HasSubstr("--secrets-key-file")));
  EXPECT_THAT(refusal(key_b), HasSubstr(keys(key_a)->key_names()[0]));
  open(key_a);
  EXPECT_THAT(value("s"), HasSubstr("hunter2")) << "a refusal changes nothing";
}

TEST_F(Sealing, a_forgotten_flag_does_not_store_the_first_secret_in_plain) {
  open(key_a);
  EXPECT_THAT(refusal(""), HasSubstr("--secrets-key-file"));
}

TEST_F(Sealing, turning_it_on_takes_what_was_there) {
  window_ = 1;  // so that older versions go from the file, and leave what free places hold
  open("");
  for (int i = 0; i < 50; ++i) put("gone" + std::to_string(i), "old-secret-" + std::string(500, 'x'));
  for (int i = 0; i < 50; ++i) drop("gone" + std::to_string(i));
  put("s", "hunter2");
  put("s", "hunter3", true);
  const auto revision = store_->revision();
  EXPECT_TRUE(on_disk("hunter2"));
  open(key_a);
  for (const char* text : {"hunter2", "hunter3", "old-secret"}) EXPECT_FALSE(on_disk(text)) << text;
  EXPECT_THAT(value("s"), HasSubstr("hunter3"));
  EXPECT_EQ(store_->revision(), revision);
  open(key_a);
  EXPECT_THAT(value("s"), HasSubstr("hunter3"));
}

TEST_F(Sealing, keys_are_changed_by_putting_another_first) {
  open(key_a);
  put("s", "hunter2");
  open(key_b + "\n" + key_a);
  EXPECT_THAT(value("s"), HasSubstr("hunter2"));
  put("t", "hunter3");
  open(key_b);  // nothing needs the old one any more
  EXPECT_THAT(value("s"), HasSubstr("hunter2"));
  EXPECT_THAT(value("t"), HasSubstr("hunter3"));
  EXPECT_THAT(refusal(key_a), HasSubstr(keys(key_b)->key_names()[0]));
}

TEST_F(Sealing, it_is_turned_off_in_words) {
  open(key_a);
  put("s", "hunter2");
  open("plain\n" + key_a);
  EXPECT_THAT(value("s"), HasSubstr("hunter2"));
  open("");
  EXPECT_THAT(value("s"), HasSubstr("hunter2"));
  EXPECT_TRUE(on_disk("hunter2"));
}

TEST_F(Sealing, rows_cannot_be_swapped) {
  open(key_a);
  put("mine", "harmless");
  put("theirs", "hunter2");
  change(
      "UPDATE versions SET json=(SELECT json FROM versions WHERE name='theirs'), "
      "checksum=(SELECT checksum FROM versions WHERE name='theirs') WHERE name='mine'");
  EXPECT_THAT(refusal(key_a), HasSubstr("damaged"));
}

TEST_F(Sealing, rows_are_checked_and_copied_without_a_key_and_read_with_it) {
  open(key_a);
  put("s", "hunter2");
  store_.reset();
  const auto found = salvage(folder_.file("store.db"));
  EXPECT_TRUE(found.whole) << ::testing::PrintToString(found.problems);
  std::string list;
  EXPECT_THAT(append_as_list(list, found.objects), ::testing::ElementsAre(HasSubstr("--secrets-key-file")));
  EXPECT_FALSE(list.contains("hunter2"));
  list.clear();
  EXPECT_THAT(append_as_list(list, found.objects, keys(key_a).get()), ::testing::IsEmpty());
  EXPECT_THAT(list, HasSubstr("hunter2"));

  const TemporaryFolder other;
  Options copy;
  copy.path = other.file("store.db");
  ASSERT_TRUE(write_store(copy.path, found.objects, found.newest));
  EXPECT_FALSE(EmbeddedStore::open(copy)) << "what was sealed stays so";
  copy.cipher = keys(key_a);
  const auto object = must_open(copy)->get("secrets", "default", "s");
  ASSERT_TRUE(object);
  EXPECT_THAT(std::string(object->json()), HasSubstr("hunter2"));
}

TEST_F(Sealing, a_crash_after_turning_it_on_is_made_good) {
  open("");
  put("s", "hunter2");
  open(key_a);
  change("DROP TABLE sealing");  // as if the rows had been sealed and the rest not been done
  open(key_a);
  EXPECT_THAT(value("s"), HasSubstr("hunter2"));
  EXPECT_FALSE(on_disk("hunter2"));
  EXPECT_THAT(refusal(""), HasSubstr("--secrets-key-file"));
}

}  // namespace
}  // namespace vg::store
