#include "journal/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "journal/codec.h"

namespace vg::journal {
namespace {

class FixedClock final : public Clock {
 public:
  Steady steady_now() const override { return Steady() + passed; }
  Wall wall_now() const override { return Wall(std::chrono::seconds(1767323045)) + passed; }
  std::chrono::seconds passed{0};
};

Entry entry_of(std::string id, std::string name = "demo", int code = 200) {
  Entry entry;
  entry.id = std::move(id);
  entry.time = {.seconds = 1767323045};
  entry.user = "ann";
  entry.verb = "update";
  entry.group = "subresources.kubevirt.io";
  entry.version = "v1";
  entry.resource = "virtualmachines";
  entry.subresource = "start";
  entry.ns = "default";
  entry.name = std::move(name);
  entry.code = code;
  return entry;
}

class JournalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "virtgate-journal-XXXXXX").native();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Journal> open(std::size_t bytes_max = limits::journal_bytes_max,
                                std::size_t entries_max = limits::journal_entries_max) {
    auto journal =
        Journal::open({.folder = folder_, .bytes_max = bytes_max, .entries_max = entries_max, .clock = clock_});
    EXPECT_TRUE(journal.has_value());
    return std::move(*journal);
  }
  std::vector<std::string> ids(const Journal& journal, std::size_t max = 1000) {
    std::vector<std::string> found;
    for (const Kept& kept : journal.before(UINT64_MAX, max)) found.push_back(kept.entry.id);
    return found;
  }
  std::size_t bytes_on_disk() const {
    std::size_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_)) bytes += file.file_size();
    return bytes;
  }

  std::string folder_;
  FixedClock clock_;
};

std::string encoded(const Entry& entry, TextTable& table) {
  std::string bytes;
  encode(view_of(entry), table, bytes);
  return bytes;
}

Entry with_everything() {
  Entry entry = entry_of("7f-1");
  entry.microseconds = 1300;
  entry.time.nanoseconds = 5000;
  entry.impersonated_by = "root";
  entry.agent = "kubectl/v1.32";
  entry.uid = "u";
  entry.resource_version = "12";
  entry.dry_run = true;
  entry.allowed = false;
  entry.allowed_by = "no role";
  entry.reason = "Conflict";
  entry.message = "the VM is \"stopped\"\n";
  entry.causes = {{"MEM-01", "spec.domain"}};
  entry.touched = {{"was changed", "kubevirt.io/v1/namespaces/default/virtualmachines/demo", "uid-1", "42"}};
  entry.seen = {{"kubevirt.io/virtualmachines default/demo", "Stopped, run strategy Manual", 0},
                {"kubevirt.io/kubevirts", "listed", 1500}};
  entry.changes = {{"spec.runStrategy", "Always"}, {"metadata.annotations", ""}};
  entry.times = {10, 20, 30, 40};
  entry.decided_by = "virtualmachines/start";
  entry.credential = "certificate";
  entry.groups = {"system:masters", "dev"};
  return entry;
}

// Seconds stand in the head of a frame.
Entry without_seconds(Entry entry) {
  entry.time.seconds = 0;
  return entry;
}

TEST(JournalCodec, WhatIsEncodedIsDecoded) {
  TextTable table;
  const Entry entry = with_everything();
  const std::string first = encoded(entry, table), again = encoded(entry, table);
  EXPECT_EQ(decode(first, table), without_seconds(entry));
  EXPECT_EQ(again, first);  // texts have their numbers, whoever says them first
  EXPECT_LT(first.size(), 250U);
  // A table that was read has the same numbers.
  TextTable other;
  for (std::size_t i = 0; i < table.size(); ++i) other.add(table.at(i));
  EXPECT_EQ(decode(first, other), without_seconds(entry));
}

TEST(JournalCodec, ManyTextsFillNoMemory) {
  TextTable table;
  for (int i = 0; i < 100'000; ++i) {
    Entry entry = entry_of("1");
    entry.user = fmt::format("user-{}", i);
    const std::string bytes = encoded(entry, table);
    if (i % 1000 == 0) EXPECT_EQ(decode(bytes, table)->user, entry.user);
  }
  EXPECT_EQ(table.size(), limits::journal_table_texts_max);
  const std::string late = encoded(with_everything(), table);
  EXPECT_EQ(decode(late, table), without_seconds(with_everything()));
}

TEST(JournalCodec, BytesThatAreNoTextAreReplaced) {
  TextTable table;
  Entry entry = entry_of("1");
  entry.agent = "curl\xff\xc3";
  EXPECT_EQ(decode(encoded(entry, table), table)->agent, "curl\xEF\xBF\xBD\xEF\xBF\xBD");
  entry.user.assign(limits::journal_text_bytes_max - 1, 'u');
  entry.user += "\xC3\xBC";
  EXPECT_EQ(decode(encoded(entry, table), table)->user, std::string(limits::journal_text_bytes_max - 1, 'u'));
}

// Every prefix, and every byte changed: nothing is believed, and whatever comes out has its bounds.
TEST(JournalCodec, DamagedBytesAreRefusedOrBounded) {
  TextTable table;
  const std::string bytes = encoded(with_everything(), table);
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode(bytes.substr(0, size), table)) << size;
  EXPECT_FALSE(decode(bytes + "x", table));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const char value : {'\0', '\x01', '\x7f', '\xff'}) {
      std::string damaged = bytes;
      damaged[i] = value;
      if (const auto entry = decode(damaged, table)) EXPECT_LE(entry->seen.size(), limits::record_seen_max);
    }
}

TEST(JournalCodec, TextsAndListsAreCut) {
  TextTable table;
  Entry entry = entry_of("1");
  entry.user.assign(100'000, 'u');
  entry.agent.assign(100'000, 'a');
  entry.causes.assign(100, {std::string(10, 'r'), std::string(10, 'f')});
  entry.groups.assign(1000, "g");
  const std::string bytes = encoded(entry, table);
  EXPECT_LT(bytes.size(), 2 * limits::journal_text_bytes_max);
  const auto kept = decode(bytes, table);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->causes.size(), limits::journal_causes_max);
  EXPECT_EQ(kept->groups.size(), limits::journal_groups_max);
  EXPECT_EQ(kept->agent.size(), limits::journal_agent_bytes_max);
}

// Whoever may make their request long does not get around being recorded.
TEST_F(JournalTest, ARequestThatIsTooLongIsKeptWithoutItsDetails) {
  const auto journal = open();
  Entry entry = entry_of("0000000a-1");
  entry.causes.assign(limits::journal_causes_max, {std::string(600, 'r'), std::string(600, 'f')});
  entry.seen.assign(limits::record_seen_max, {std::string(600, 'o'), std::string(600, 's'), 1});
  journal->record(entry);
  const auto kept = journal->find("0000000a-1");
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->entry.name, "demo");
  EXPECT_TRUE(kept->entry.causes.empty());
}

TEST_F(JournalTest, FindsByIdAndByObjectNewestFirst) {
  const auto journal = open();
  journal->record(entry_of("1", "a"));
  journal->record(entry_of("2", "b", 409));
  journal->record(entry_of("3", "a", 403));
  EXPECT_EQ(ids(*journal), (std::vector<std::string>{"3", "2", "1"}));
  EXPECT_EQ(journal->find("2")->entry.name, "b");
  EXPECT_EQ(journal->find("2")->sequence, 2U);
  EXPECT_FALSE(journal->find("4"));
  const auto entries = journal->of_object("virtualmachines", "default", "a", 10);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].entry.id, "3");
  EXPECT_EQ(journal->of_object("virtualmachines", "default", "a", 1).size(), 1U);
  EXPECT_TRUE(journal->of_object("virtualmachines", "other", "a", 10).empty());
  EXPECT_EQ(journal->before(3, 10).front().entry.id, "2");
}

TEST_F(JournalTest, LastsOverARestartAndGoesOn) {
  {
    const auto journal = open();
    for (int i = 0; i < 100; ++i) journal->record(entry_of(fmt::format("a{}", i), "x", i % 3 ? 200 : 404));
  }
  const auto journal = open();
  EXPECT_EQ(journal->size(), 100U);
  EXPECT_EQ(journal->newest(), 100U);
  journal->record(entry_of("new"));
  EXPECT_EQ(ids(*journal, 2), (std::vector<std::string>{"new", "a99"}));
}

TEST_F(JournalTest, ReadsWhatIsNotOnTheDiskYet) {
  const auto journal = open();
  journal->record(entry_of("1"));
  journal->flush();
  journal->record(entry_of("2"));
  EXPECT_EQ(ids(*journal), (std::vector<std::string>{"2", "1"}));
}

TEST_F(JournalTest, IsReadAndWrittenWhileAnotherThreadFlushes) {
  const auto journal = open(512 * 1024);
  std::atomic<bool> done = false;
  std::thread flushing([&] {
    while (!done) journal->flush();
  });
  for (int i = 0; i < 5'000; ++i) {
    journal->record(entry_of(fmt::format("{}", i)));
    if (i % 50 == 0) EXPECT_EQ(ids(*journal, 1).at(0), fmt::format("{}", i));
  }
  done = true;
  flushing.join();
  EXPECT_TRUE(journal->find("4999"));
  EXPECT_LT(bytes_on_disk(), 600U * 1024);
}

TEST_F(JournalTest, AFloodOfRefusalsDoesNotPushOutTheRest) {
  const auto journal = open(512 * 1024);
  journal->record(entry_of("good"));
  for (int i = 0; i < 20'000; ++i) journal->record(entry_of(fmt::format("bad{}", i), "x", 403));
  journal->flush();
  EXPECT_TRUE(journal->find("good"));
  EXPECT_FALSE(journal->find("bad0"));
  EXPECT_TRUE(journal->find("bad19999"));
  EXPECT_LT(bytes_on_disk(), 600U * 1024);
}

TEST_F(JournalTest, WhoAsksVeryOftenDoesNotPushOutTheOthers) {
  const auto journal = open(512 * 1024);
  Entry other = entry_of("quiet");
  other.user = "bob";
  journal->record(other);
  for (int i = 0; i < 20'000; ++i) journal->record(entry_of(fmt::format("busy{}", i)));
  EXPECT_TRUE(journal->find("quiet"));
  EXPECT_TRUE(journal->find("busy19999"));
}

TEST_F(JournalTest, HoldsNoMoreEntriesThanAllowed) {
  const auto journal = open(limits::journal_bytes_max, 800);
  for (int i = 0; i < 5'000; ++i) {
    clock_.passed += std::chrono::seconds(1);
    journal->record(entry_of(fmt::format("{}", i)));
  }
  EXPECT_LE(journal->size(), 800U);
  EXPECT_TRUE(journal->find("4999"));
}

TEST_F(JournalTest, WhatACrashCutShortIsLeftOutAndTheRestGoesOn) {
  {
    const auto journal = open();
    for (int i = 0; i < 10; ++i) journal->record(entry_of(fmt::format("{}", i)));
  }
  const std::string file = folder_ + "/served-00000001.requests";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 20);
  {
    const auto journal = open();
    EXPECT_EQ(journal->size(), 9U);
    EXPECT_TRUE(journal->find("8"));
    journal->record(entry_of("after"));
  }
  const auto journal = open();
  EXPECT_TRUE(journal->find("after"));
  EXPECT_TRUE(journal->find("0"));
  EXPECT_EQ(journal->size(), 10U);
}

TEST_F(JournalTest, WhatFollowsDamageIsLeftOut) {
  {
    const auto journal = open();
    for (int i = 0; i < 10; ++i) journal->record(entry_of(fmt::format("{}", i)));
  }
  const std::string file = folder_ + "/served-00000001.requests";
  const int fd = ::open(file.c_str(), O_WRONLY);
  ASSERT_EQ(::pwrite(fd, "garbage", 7, static_cast<off_t>(std::filesystem::file_size(file) * 9 / 10)), 7);
  ::close(fd);
  const auto journal = open();
  EXPECT_GE(journal->size(), 5U);
  EXPECT_LE(journal->size(), 9U);
  EXPECT_TRUE(journal->find("0"));
  EXPECT_FALSE(journal->find("9"));
}

// Files of another form, or of somebody else.
TEST_F(JournalTest, ForeignFilesAreNotRead) {
  std::ofstream(folder_ + "/served-00000001.requests") << std::string(100'000, 'x');
  std::ofstream(folder_ + "/served-00000001.journal") << "0000000001 0000000001 00000001 00000001 {}\n";
  const auto journal = open();
  EXPECT_EQ(journal->size(), 0U);
  journal->record(entry_of("1"));
  EXPECT_TRUE(journal->find("1"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/served-00000001.journal"));
}

TEST_F(JournalTest, InMemoryAloneWritesNothing) {
  auto journal = Journal::open({.clock = clock_});
  ASSERT_TRUE(journal.has_value());
  (*journal)->record(entry_of("1"));
  (*journal)->flush();
  EXPECT_TRUE((*journal)->find("1"));
}

// The figure that README and the limits name.
TEST_F(JournalTest, AHundredThousandRequestsTakeLessThan40MiB) {
  const auto journal = open();
  for (int i = 0; i < 110'000; ++i) {
    Entry entry = entry_of(fmt::format("5f1c9d-{:x}", i), fmt::format("vm-{:05}", i));
    entry.user = fmt::format("user-{}", i % 2000);
    entry.agent = "kubectl/v1.32.0 (linux/amd64) kubernetes/70d3cc9";
    entry.allowed_by = "ClusterRoleBinding \"admins\" of ClusterRole \"admin\"";
    entry.time.nanoseconds = 123'456'789;
    entry.microseconds = 2345;
    entry.credential = "certificate";
    entry.groups = {"dev"};
    entry.decided_by = "virtualmachines/start";
    entry.touched = {{"was changed", fmt::format("kubevirt.io/v1/namespaces/default/virtualmachines/vm-{:05}", i),
                      "8f1d7a52-53f6-4c0b-9d3e-0a3b6b1c2d4e", "1234567"}};
    entry.seen = {{fmt::format("kubevirt.io/virtualmachines default/vm-{:05}", i),
                   "Stopped, run strategy Manual, version 1234560"}};
    entry.times = {123, 234, 45, 1678};
    journal->record(entry);
    if (i % 1000 == 0) journal->flush();
  }
  journal->flush();
  EXPECT_LT(bytes_on_disk(), 40U * 1024 * 1024);
  EXPECT_GE(journal->size(), 100'000U);
  RecordProperty("entries", static_cast<int>(journal->size()));
  RecordProperty("bytes", static_cast<int>(bytes_on_disk()));
  std::printf("entries %zu, bytes on disk %zu\n", journal->size(), bytes_on_disk());
}

}  // namespace
}  // namespace vg::journal
