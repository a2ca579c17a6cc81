// Files of a store are damaged at random. A store that opens all the same has everything that was acknowledged, and
// what is left of one that does not can be saved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "ports/object_store_testing.h"
#include "store/embedded_store.h"
#include "store/salvage.h"
#include "store/state_files.h"
#include "store/testing.h"

namespace vg::store {
namespace {

namespace fs = std::filesystem;
using namespace vg::testing;
using ::testing::HasSubstr;

constexpr std::array suffixes = {"", "-wal", "-mark"};
constexpr std::size_t page = 8192;
constexpr std::size_t frame = page + 24;

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// What a store's files hold at one moment; a file that is not there is not in it.
using Image = std::map<std::string, std::string>;

Image take_image(const std::string& path) {
  Image image;
  for (const char* suffix : suffixes) {
    if (fs::exists(path + suffix)) image[suffix] = bytes_of(path + suffix);
  }
  return image;
}

// In words that fit on a line.
std::string difference(const Image& before, const Image& after) {
  std::string text;
  for (const char* suffix : suffixes) {
    const auto one = before.find(suffix), other = after.find(suffix);
    const auto nothing = [](auto file, const Image& of) { return file == of.end() || file->second.empty(); };
    if (nothing(one, before) && nothing(other, after)) continue;
    if (one == before.end() || other == after.end()) {
      text += fmt::format("store.db{} {} ", suffix, one == before.end() ? "came" : "went");
    } else if (one->second != other->second) {
      const auto at = std::ranges::mismatch(one->second, other->second).in1 - one->second.begin();
      text += fmt::format("store.db{} ({} bytes, now {}) differs at {} ", suffix, one->second.size(),
                          other->second.size(), at);
    }
  }
  return text;
}

void put_image(const std::string& path, const Image& image) {
  for (const char* suffix : suffixes) {
    fs::remove(path + suffix);
    if (const auto found = image.find(suffix); found != image.end()) put_bytes(path + suffix, found->second);
  }
}

// A store with a history, the files it had at some moments, and what it had acknowledged at the end.
struct Site {
  std::vector<Image> earlier;
  Image now;
  std::map<std::string, std::string> objects;             // name -> content
  std::map<std::string, std::set<std::string>> versions;  // every content that each ever had
  Revision revision = 0;
};

Options site_options(std::string path) {
  Options options;
  options.path = std::move(path);
  options.log_changes_max = 60;
  options.wal_bytes_max = 512 * limits::kib;
  return options;
}

Site make_site(unsigned seed, int steps, bool closed, std::size_t wal_bytes_max = 512 * limits::kib) {
  TemporaryFolder folder;
  const auto path = folder.file("store.db");
  std::mt19937 random(seed);
  Site site;
  auto options = site_options(path);
  options.wal_bytes_max = wal_bytes_max;
  auto store = must_open(std::move(options));
  for (int step = 0; step < steps; ++step) {
    const auto name = fmt::format("m{}", random() % 150);
    const auto size = random() % 20 == 0 ? 30'000 : random() % 400;
    const auto content = fmt::format("{}-{}", step, std::string(size, static_cast<char>('a' + random() % 26)));
    const bool there = site.objects.contains(name);
    if (there && random() % 4 == 0) {
      EXPECT_TRUE(commit(*store, remove(machine_key(name))));
      site.objects.erase(name);
    } else {
      EXPECT_TRUE(commit(*store, there ? update(machine_key(name), content) : create(machine_key(name), content)));
      site.objects[name] = draft(name, content).json;
      site.versions[name].insert(site.objects[name]);
    }
    if (step % (steps / 4) == steps / 8) site.earlier.push_back(take_image(path));
  }
  site.revision = store->revision();
  if (closed) store.reset();
  // The last commit is confirmed when all is quiet; from then on it does not matter how the system goes down.
  for (auto mark = read_mark(mark_path(path)); mark->newest->confirmed != mark->newest->intended;
       mark = read_mark(mark_path(path))) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  site.now = take_image(path);
  return site;
}

class Damager {
 public:
  explicit Damager(unsigned seed) : random_(seed) {}

  // Says what it did.
  std::string damage(Image& image, const Site& site) {
    auto chosen = image.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(random_() % image.size()));
    const auto& suffix = chosen->first;
    auto& bytes = chosen->second;
    const auto at = bytes.empty() ? 0 : random_() % bytes.size();
    switch (random_() % 9) {
      case 0:
      case 1:
        if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random_() % 8));
        return fmt::format("a bit of store.db{} at {}", suffix, at);
      case 2: {
        const auto length = std::min<std::size_t>(bytes.size() - at, random_() % page);
        for (std::size_t i = 0; i < length; ++i) bytes[at + i] = static_cast<char>(random_());
        return fmt::format("{} bytes of noise in store.db{} at {}", length, suffix, at);
      }
      case 3: {
        const auto length = std::min<std::size_t>(bytes.size() - at, std::size_t{512} << random_() % 5);
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), length, '\0');
        return fmt::format("{} zeros in store.db{} at {}", length, suffix, at);
      }
      case 4:
        bytes.resize(at);
        return fmt::format("store.db{} cut to {}", suffix, at);
      case 5:
        return swap_pages(suffix, bytes);
      case 6: {
        const auto name = suffix;
        image.erase(chosen);
        return fmt::format("store.db{} removed", name);
      }
      case 7:
        bytes.clear();
        return fmt::format("store.db{} emptied", suffix);
      default: {
        const auto& older = site.earlier[random_() % site.earlier.size()];
        if (const auto found = older.find(suffix); found != older.end()) bytes = found->second;
        return fmt::format("an older store.db{}", suffix);
      }
    }
  }
  unsigned next() { return static_cast<unsigned>(random_()); }

 private:
  std::string swap_pages(const std::string& suffix, std::string& bytes) {
    const auto start = suffix == "-wal" ? std::size_t{32} : std::size_t{0};
    const auto size = suffix == "-wal" ? frame : suffix == "-mark" ? page / 2 : page;
    const auto count = bytes.size() < start ? 0 : (bytes.size() - start) / size;
    if (count < 2) return "nothing to swap";
    const auto a = random_() % count, b = random_() % count;
    std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(start + a * size),
                     bytes.begin() + static_cast<std::ptrdiff_t>(start + (a + 1) * size),
                     bytes.begin() + static_cast<std::ptrdiff_t>(start + b * size));
    return fmt::format("pages {} and {} of store.db{} swapped", a, b, suffix);
  }
  std::mt19937 random_;
};

void expect_all(EmbeddedStore& store, const Site& site) {
  EXPECT_EQ(store.revision(), site.revision);
  EXPECT_EQ(store.count(machines), site.objects.size());
  for (const auto& [name, json] : site.objects) {
    const auto found = store.get(machines, "default", name);
    ASSERT_TRUE(found) << name << " is missing";
    EXPECT_EQ(found->json(), json);
  }
}

// Returns the number of objects that are gone or not in their newest version.
std::size_t expect_salvage(const std::string& path, const Site& site, bool refused) {
  const auto found = salvage(path);
  EXPECT_FALSE(found.whole && refused) << "what cannot be opened is not whole";
  std::size_t newest = 0;
  for (const auto& row : found.objects) {
    const auto versions = site.versions.find(row.name);
    EXPECT_TRUE(versions != site.versions.end() && versions->second.contains(row.json)) << row.name << ": " << row.json;
    const auto kept = site.objects.find(row.name);
    newest += kept != site.objects.end() && kept->second == row.json ? 1 : 0;
  }
  return site.objects.size() - newest;
}

TEST(StoreDamage, nothing_is_lost_without_a_word) {
  const char* is_long = std::getenv("VIRTGATE_LONG");
  const int damages = is_long != nullptr && *is_long != '\0' && *is_long != '0' ? 2000 : 150;
  const std::array sites = {make_site(1, 300, false), make_site(2, 900, false), make_site(3, 600, true)};
  Damager damager(4);
  TemporaryFolder folder;
  const auto path = folder.file("store.db");
  std::map<std::string, int> outcomes;
  for (int i = 0; i < damages && !::testing::Test::HasFailure(); ++i) {
    const auto& site = sites[static_cast<std::size_t>(i) % sites.size()];
    auto image = site.now;
    auto what = damager.damage(image, site);
    if (damager.next() % 4 == 0 && !image.empty()) what += ", and " + damager.damage(image, site);
    SCOPED_TRACE(fmt::format("damage {}: {}", i, what));
    put_image(path, image);
    auto options = site_options(path);
    if (damager.next() % 2 == 0) options.boot = "another";
    if (image == Image{} || image.size() == image.count("-wal")) continue;  // no trace of a store: check_state's matter
    auto opened = EmbeddedStore::open(options);
    ++outcomes[opened ? "opened" : "refused"];
    if (!opened) {
      EXPECT_EQ(difference(image, take_image(path)), "") << "by a refusal: " << opened.error().message;
      const auto lost = expect_salvage(path, site, true);
      EXPECT_EQ(difference(image, take_image(path)), "") << "by looking at it";
      outcomes[lost == 0 ? "of them, all objects saved" : "of them, some objects beyond saving"] += 1;
      continue;
    }
    expect_all(**opened, site);
    // What cannot be seen in what is there may still break what comes next.
    for (int more = 0; more < 40; ++more) {
      EXPECT_TRUE(commit(**opened, create(machine_key(fmt::format("more{}", more)), std::string(more * 200, 'x'))));
    }
    opened->reset();
    auto again = EmbeddedStore::open(options);
    EXPECT_TRUE(again) << again.error().message;
    if (again) EXPECT_EQ((*again)->count(machines), site.objects.size() + 40);
  }
  for (const auto& [outcome, count] : outcomes) fmt::print("{}: {}\n", outcome, count);
  EXPECT_GT(outcomes["refused"], damages / 4);
}

// One bit costs one page at the most, wherever it is.
TEST(StoreDamage, a_flipped_bit_costs_no_more_than_its_page) {
  for (const bool closed : {false, true}) {
    const auto site = make_site(5, 400, closed);
    TemporaryFolder folder;
    const auto path = folder.file("store.db");
    std::mt19937 random(6);
    for (int i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
      auto image = site.now;
      auto& bytes = image[!closed && i % 2 == 0 ? "-wal" : ""];
      const auto at = random() % bytes.size();
      bytes[at] = static_cast<char>(bytes[at] ^ 1);
      put_image(path, image);
      SCOPED_TRACE(fmt::format("closed {}, at {} of {}", closed, at, bytes.size()));
      EXPECT_LE(expect_salvage(path, site, false), 40u);
    }
  }
}

class StoreLoss : public ::testing::Test {
 protected:
  std::string refusal(const Image& image, std::string boot = this_boot()) {
    put_image(path_, image);
    auto options = site_options(path_);
    options.boot = std::move(boot);
    const auto opened = EmbeddedStore::open(options);
    return opened ? "opened" : opened.error().message;
  }
  TemporaryFolder folder_;
  std::string path_ = folder_.file("store.db");
  const Site site_ = make_site(7, 200, false, 64 * limits::mib);  // all of it is in the log
};

TEST_F(StoreLoss, says_what_is_missing_and_what_can_be_done) {
  auto image = site_.now;
  image["-wal"][32 + 20 * frame + 100] ^= 1;
  const auto message = refusal(image);
  EXPECT_THAT(message, HasSubstr("acknowledged changes are missing"));
  EXPECT_THAT(message, HasSubstr("and the mark says revision 200 with"));
  EXPECT_THAT(message, HasSubstr("virtgate restore"));
  EXPECT_THAT(message, HasSubstr("virtgate state export"));
  image = site_.now;
  image.erase("-wal");
  EXPECT_THAT(refusal(image), HasSubstr("it is empty, but it had revision 200"));
  image = site_.now;
  image[""].clear();
  EXPECT_THAT(refusal(image), HasSubstr("it is empty, but it had revision 200"));
  image.erase("");
  EXPECT_THAT(refusal(image), HasSubstr("it is missing, but it had revision 200"));
  image = site_.now;
  image.erase("-mark");
  EXPECT_THAT(refusal(image), HasSubstr("is missing, so it cannot be told"));
}

TEST_F(StoreLoss, the_last_commit_may_be_missing_only_after_a_power_cut) {
  // Killed between the log and the mark, or before the last commit was confirmed.
  auto before = must_open(site_options(path_));
  ASSERT_TRUE(commit(*before, create(machine_key("a"), "1")));
  const auto first = take_image(path_);
  ASSERT_TRUE(commit(*before, create(machine_key("b"), "1")));
  auto second = take_image(path_);
  before.reset();

  auto mark_behind = second;
  mark_behind["-mark"] = first.at("-mark");
  EXPECT_EQ(refusal(mark_behind), "opened") << "not acknowledged, and there";

  auto log_behind = second;
  log_behind["-wal"] = first.at("-wal");
  EXPECT_THAT(refusal(log_behind), HasSubstr("acknowledged changes are missing")) << "nothing but a loss explains it";
  auto mark = *read_mark(mark_path(path_));
  ASSERT_TRUE(mark.newest);
}

TEST_F(StoreLoss, a_first_start_may_be_cut_short_anywhere) {
  put_image(path_, {});
  ASSERT_TRUE(put_mark(mark_path(path_), {}));
  EXPECT_TRUE(EmbeddedStore::open(site_options(path_))) << "only the mark was made";
  put_image(path_, {});
  ASSERT_TRUE(put_mark(mark_path(path_), {}));
  put_bytes(path_, "");
  EXPECT_TRUE(EmbeddedStore::open(site_options(path_))) << "an empty file, too";
}

TEST_F(StoreLoss, what_can_be_read_makes_a_new_store) {
  auto image = site_.now;
  image["-wal"].resize(image["-wal"].size() / 2);
  put_image(path_, image);
  const auto found = salvage(path_);
  ASSERT_FALSE(found.whole);
  TemporaryFolder other;
  const auto fresh = other.file("store.db");
  ASSERT_TRUE(write_store(fresh, found.objects, 1'000'000));
  auto store = must_open(site_options(fresh));
  EXPECT_EQ(store->count(machines), found.objects.size());
  EXPECT_EQ(store->revision(), 1'000'000u) << "no version is given out twice";
  EXPECT_EQ(store->oldest_revision(machines), 1'000'000u) << "and nobody resumes where the history is not known";
  EXPECT_EQ(store->oldest_revision("pods"), 1'000'000u) << "nor where nothing is left";
  EXPECT_EQ(store->watch({.resource = "pods", .from_revision = 5}, [] {}).error().code, 410);
  ASSERT_TRUE(commit(*store, create({"pods", "", "first"}, "1")));
  store.reset();
  store = must_open(site_options(fresh));
  EXPECT_EQ(store->oldest_revision("pods"), 1'000'000u) << "also when there is one again, and later";
  EXPECT_EQ(store->oldest_revision("nodes"), 1'000'000u);
  ASSERT_TRUE(commit(*store, create(machine_key("after"), "1")));
}

TEST_F(StoreLoss, an_export_is_one_list) {
  put_image(path_, site_.now);
  const auto found = salvage(path_);
  EXPECT_TRUE(found.whole) << (found.problems.empty() ? "" : found.problems.front());
  EXPECT_EQ(found.objects.size(), site_.objects.size());
  std::string text;
  append_as_list(text, found.objects);
  EXPECT_TRUE(text.starts_with(R"({"apiVersion":"v1","kind":"List",)")) << text.substr(0, 100);
  for (const auto& [name, json] : site_.objects) EXPECT_THAT(text, HasSubstr(json));
}

class StateFiles : public ::testing::Test {
 protected:
  fs::path file(const std::string& name) const { return state_ / name; }
  std::string read(const std::string& name) const { return bytes_of(file(name).native()); }
  void put(const std::string& name, const std::string& bytes) {
    fs::create_directories(file(name).parent_path());
    put_bytes(file(name).native(), bytes);
  }
  TemporaryFolder folder_;
  const fs::path state_ = folder_.file("state");
};

TEST_F(StateFiles, an_exchange_goes_on_from_wherever_it_was_interrupted) {
  const std::vector<std::pair<std::string, std::string>> moves = {
      {"store.db", "damaged-1/store.db"},
      {"store.db-wal", "damaged-1/store.db-wal"},
      {"exchange.new/store.db-mark", "store.db-mark"},
      {"exchange.new/store.db", "store.db"},
  };
  for (const bool mark_first : {true, false}) {
    for (std::size_t done = 0; done <= moves.size(); ++done) {
      SCOPED_TRACE(fmt::format("after {} moves, the mark {}", done, mark_first ? "first" : "last"));
      fs::remove_all(state_);
      put("store.db", "old");
      put("store.db-wal", "old");  // and no mark: that is what was lost
      put("exchange.new/store.db", "new");
      put("exchange.new/store.db-mark", "new");
      put("exchange.pending", "damaged-1");
      auto order = moves;
      if (!mark_first) std::swap(order[2], order[3]);
      fs::create_directory(file("damaged-1"));
      for (std::size_t i = 0; i < done; ++i) fs::rename(file(order[i].first), file(order[i].second));
      EXPECT_FALSE(check_state(state_));
      const auto finished = finish_exchange(state_);
      ASSERT_TRUE(finished) << finished.error();
      EXPECT_TRUE(*finished);
      EXPECT_EQ(read("store.db"), "new");
      EXPECT_EQ(read("store.db-mark"), "new");
      EXPECT_FALSE(fs::exists(file("store.db-wal")));
      EXPECT_EQ(read("damaged-1/store.db"), "old");
      EXPECT_EQ(read("damaged-1/store.db-wal"), "old");
      EXPECT_FALSE(fs::exists(file("exchange.new")));
      EXPECT_TRUE(check_state(state_));
      EXPECT_FALSE(*finish_exchange(state_)) << "there is none any more";
    }
  }
}

TEST_F(StateFiles, an_empty_store_is_as_good_as_none) {
  put("pki/service-account.key", "key");
  EXPECT_THAT(check_state(state_).error().message, HasSubstr("is missing, and"));
  put("store.db", "");
  EXPECT_THAT(check_state(state_).error().message, HasSubstr("is empty, and"));
  put("store.db-mark", "mark");
  EXPECT_TRUE(check_state(state_)) << "a first start that was cut short: the mark says whether anything was in it";
  fs::remove(file("store.db-mark"));
  fs::remove(file("pki/service-account.key"));
  EXPECT_TRUE(check_state(state_));
}

TEST_F(StateFiles, revisions_go_on_above_what_no_file_shows) {
  using namespace std::chrono;
  const sys_seconds now = sys_days(2026y / 11 / 16);
  const auto first = revision_beyond(0, now);
  EXPECT_GT(revision_beyond(0, now + 1ms), first);
  EXPECT_GT(revision_beyond(0, now + 1s), first + 1'000'000) << "once more, with as little knowledge";
  EXPECT_GT(revision_beyond(first + 1000, now), first + 1000) << "in the same second";
  EXPECT_GT(revision_beyond(first, sys_seconds()), first) << "a clock that knows nothing";
  EXPECT_LT(revision_beyond(0, sys_days(2100y / 1 / 1)), Revision{1} << 53) << "for readers that have only doubles";
}

}  // namespace
}  // namespace vg::store
