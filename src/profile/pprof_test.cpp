#include "profile/pprof.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <zlib.h>

#include "api/protobuf_wire.h"

namespace vg::profile {
namespace {

using api::wire::Form;
using api::wire::Item;
using api::wire::Reader;
using ::testing::ElementsAre;
using ::testing::SizeIs;

std::string unzip(std::string file) {
  z_stream stream{};
  EXPECT_EQ(::inflateInit2(&stream, 15 + 16), Z_OK);  // gzip and nothing else
  std::string out(1 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(file.data());
  stream.avail_in = static_cast<uInt>(file.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::inflate(&stream, Z_FINISH), Z_STREAM_END);
  EXPECT_EQ(stream.avail_in, 0U);
  out.resize(stream.total_out);
  ::inflateEnd(&stream);
  return out;
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
  profile.mappings.push_back({.start = 0x1000, .limit = 0x2000, .offset = 16, .file = "/bin/x", .build_id = "c0de"});
  profile.mappings.push_back({.start = 0x5000, .limit = 0x6000, .file = "[vdso]"});
  profile.places.push_back({.address = 0x1010, .mapping = 1});
  profile.add_place("outer");
  profile.add_place("outer");
  profile.places.push_back({.address = 0x9999});
  profile.samples.push_back({.stack = {0, 1}, .values = {10}});
  profile.samples.push_back({.stack = {2, 1, 3}, .values = {-1}});
  profile.comments.emplace_back("cpu");
  profile.time = std::chrono::nanoseconds(5);
  profile.period = 7;
  profile.period_type = {"cpu", "nanoseconds"};
  const std::string text = unzip(write_pprof(profile));

  EXPECT_THAT(all_of(text, 6), ElementsAre("", "cpu", "nanoseconds", "/bin/x", "c0de", "[vdso]", "outer"));
  EXPECT_THAT(fields(all_of(text, 1).at(0)), ElementsAre("1=1", "2=2"));
  const auto samples = all_of(text, 2);
  EXPECT_THAT(fields(samples.at(0)), ElementsAre("1=1", "1=2", "2=10"));
  EXPECT_THAT(fields(samples.at(1)), ElementsAre("1=3", "1=2", "1=4", "2=18446744073709551615"));
  EXPECT_THAT(fields(all_of(text, 3).at(0)), ElementsAre("1=1", "2=4096", "3=8192", "4=16", "5=3", "6=4"));
  EXPECT_THAT(fields(all_of(text, 3).at(1)), ElementsAre("1=2", "2=20480", "3=24576", "4=0", "5=5"));
  const auto places = all_of(text, 4);
  EXPECT_THAT(fields(places.at(0)), ElementsAre("1=1", "2=1", "3=4112"));
  EXPECT_THAT(fields(places.at(1)), ElementsAre("1=2", "4=\x08\x01"));
  EXPECT_THAT(fields(places.at(2)), ElementsAre("1=3", "4=\x08\x01"));
  EXPECT_THAT(fields(places.at(3)), ElementsAre("1=4", "3=39321"));
  EXPECT_THAT(all_of(text, 5), SizeIs(1));
  EXPECT_THAT(fields(all_of(text, 5).at(0)), ElementsAre("1=1", "2=6", "3=6"));
}

TEST(Pprof, IsPacked) {
  Profile profile{.types = {{"cpu", "nanoseconds"}}};
  for (int i = 0; i < 1000; ++i) profile.samples.push_back({.stack = {1, 2, 3}, .values = {10}});
  const std::string file = write_pprof(profile), text = unzip(file);
  EXPECT_EQ(all_of(text, 2).size(), 1000U);
  EXPECT_LT(file.size(), text.size() / 10);
  EXPECT_EQ(write_pprof(profile), file);
}

TEST(Pprof, AProfileWithoutSamplesStillSaysWhatItIsOf) {
  const std::string text = unzip(write_pprof({.types = {{"delay", "nanoseconds"}}, .comments = {"nobody counts"}}));
  EXPECT_THAT(all_of(text, 6), ElementsAre("", "delay", "nanoseconds", "nobody counts"));
  EXPECT_TRUE(all_of(text, 2).empty());
  EXPECT_TRUE(all_of(text, 11).empty());
}

}  // namespace
}  // namespace vg::profile
