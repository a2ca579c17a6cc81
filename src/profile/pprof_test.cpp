#include "profile/pprof.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>

#include "api/protobuf_wire.h"
#include "profile/gzip.h"

namespace vg::profile {
namespace {

using api::wire::Form;
using api::wire::Item;
using api::wire::Reader;
using ::testing::ElementsAre;
using namespace std::string_view_literals;

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

// What lies in stored blocks.
std::string unzip(std::string_view file) {
  EXPECT_TRUE(file.starts_with("\x1f\x8b\x08"));
  std::string out;
  std::string_view rest = file.substr(10, file.size() - 18);
  for (bool last = false; !last;) {
    last = rest.front() == '\1';
    const auto size = little_endian(rest.substr(1, 2));
    EXPECT_EQ(size ^ 0xffff, little_endian(rest.substr(3, 2)));
    out += rest.substr(5, size);
    rest.remove_prefix(5 + size);
  }
  EXPECT_TRUE(rest.empty());
  EXPECT_EQ(little_endian(file.substr(file.size() - 4)), out.size());
  return out;
}

TEST(Gzip, StoresBytesAndTheirChecksum) {
  const std::string file = gzip("123456789");
  EXPECT_EQ(unzip(file), "123456789");
  EXPECT_EQ(little_endian(std::string_view(file).substr(file.size() - 8, 4)), 0xcbf43926U);
  EXPECT_EQ(unzip(gzip("")), "");
  const std::string large(200000, 'x');
  EXPECT_EQ(unzip(gzip(large)), large);
}

// The fields of a message as "number=value", messages and texts as their bytes.
std::vector<std::string> fields(std::string_view bytes) {
  std::vector<std::string> all;
  Reader reader(bytes);
  while (const auto item = reader.next())
    all.push_back(item->form == Form::bytes ? fmt::format("{}={}", item->number, item->bytes)
                                            : fmt::format("{}={}", item->number, item->scalar));
  EXPECT_FALSE(reader.malformed());
  return all;
}

// Those of one number.
std::vector<std::string> all_of(std::string_view bytes, std::uint32_t number) {
  std::vector<std::string> all;
  Reader reader(bytes);
  while (const auto item = reader.next())
    if (item->number == number) all.emplace_back(item->bytes);
  return all;
}

TEST(Pprof, NumbersPlacesFunctionsAndTexts) {
  Profile profile{.types = {{"cpu", "nanoseconds"}}};
  profile.mappings.push_back({.start = 0x1000, .limit = 0x2000, .offset = 16, .file = "/bin/x"});
  profile.places.push_back({.address = 0x1010, .mapping = 1, .function = "inner"});
  profile.places.push_back({.address = 0x1020, .mapping = 1, .function = "outer"});
  profile.places.push_back({.address = 0x1030, .mapping = 1, .function = "inner"});
  profile.places.push_back({.address = 0x9999});
  profile.samples.push_back({.stack = {0, 1}, .values = {10}});
  profile.samples.push_back({.stack = {2, 1, 3}, .values = {-1}});
  profile.comments.emplace_back("cpu");
  profile.time = std::chrono::nanoseconds(5);
  profile.period = 7;
  profile.period_type = {"cpu", "nanoseconds"};
  const std::string text = unzip(write_pprof(profile));

  EXPECT_THAT(all_of(text, 6), ElementsAre("", "cpu", "nanoseconds", "/bin/x", "inner", "outer"));
  EXPECT_THAT(fields(all_of(text, 1).at(0)), ElementsAre("1=1", "2=2"));
  const auto samples = all_of(text, 2);
  EXPECT_THAT(fields(samples.at(0)), ElementsAre("1=1", "1=2", "2=10"));
  EXPECT_THAT(fields(samples.at(1)), ElementsAre("1=3", "1=2", "1=4", "2=18446744073709551615"));
  EXPECT_THAT(fields(all_of(text, 3).at(0)), ElementsAre("1=1", "2=4096", "3=8192", "4=16", "5=3", "7=1"));
  const auto places = all_of(text, 4);
  EXPECT_THAT(fields(places.at(0)), ElementsAre("1=1", "2=1", "3=4112", "4=\x08\x01"));
  EXPECT_THAT(fields(places.at(1)), ElementsAre("1=2", "2=1", "3=4128", "4=\x08\x02"));
  EXPECT_THAT(fields(places.at(2)), ElementsAre("1=3", "2=1", "3=4144", "4=\x08\x01"));
  EXPECT_THAT(fields(places.at(3)), ElementsAre("1=4", "3=39321"));
  EXPECT_THAT(fields(all_of(text, 5).at(0)), ElementsAre("1=1", "2=4", "3=4"));
  EXPECT_THAT(fields(all_of(text, 5).at(1)), ElementsAre("1=2", "2=5", "3=5"));
}

TEST(Pprof, AProfileWithoutSamplesStillSaysWhatItIsOf) {
  const std::string text = unzip(write_pprof({.types = {{"delay", "nanoseconds"}}, .comments = {"nobody counts"}}));
  EXPECT_THAT(all_of(text, 6), ElementsAre("", "delay", "nanoseconds", "nobody counts"));
  EXPECT_TRUE(all_of(text, 2).empty());
  EXPECT_TRUE(all_of(text, 11).empty());
}

}  // namespace
}  // namespace vg::profile
