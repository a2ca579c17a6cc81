#include "launch/metrics_disk.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/files.h"

namespace vg::launch {
namespace {

std::uint32_t number_at(const std::string& disk, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<unsigned char>(disk.at(at + i));
  return number;
}

std::uint32_t sum_of(std::string_view text) {
  std::uint32_t sum = 0;
  for (const char c : text) sum += static_cast<unsigned char>(c);
  return sum;
}

void expect_disk(const std::string& disk, std::string_view document) {
  EXPECT_EQ(disk.size(), 262144U);
  EXPECT_EQ(disk.substr(0, 4), "mvbd");
  EXPECT_EQ(number_at(disk, 4), 0U);  // nobody writes it
  EXPECT_EQ(number_at(disk, 8), sum_of(document));
  EXPECT_EQ(number_at(disk, 12), document.size());
  EXPECT_EQ(disk.substr(16, document.size()), document);
}

class MetricsDisk : public ::testing::Test {
 protected:
  MetricsDisk() {
    std::string name = "/tmp/vg-metrics-XXXXXX";
    if (!::mkdtemp(name.data())) std::abort();
    folder_ = name;
  }
  ~MetricsDisk() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(MetricsDisk, HasAHeaderOfBigNumbers) {
  expect_disk(metrics_disk("<metrics>\xc3\xa4</metrics>"), "<metrics>\xc3\xa4</metrics>");
}

TEST_F(MetricsDisk, IsWrittenInPlace) {  // RUN-DMX-01
  const std::string path = folder_ + "/vhostmd0";
  ASSERT_TRUE(write_file(path, metrics_disk(std::string(1000, 'x')), 0600));
  ASSERT_TRUE(rewrite_metrics_disk(path, "<metrics>1</metrics>\n"));
  expect_disk(*read_file(path, 1 << 20), "<metrics>1</metrics>\n");
}

TEST_F(MetricsDisk, ADocumentThatIsTooLongIsLeftOut) {
  const std::string path = folder_ + "/vhostmd0", longest(262144 - 16, 'x');
  expect_disk(metrics_disk(longest), longest);
  expect_disk(metrics_disk(longest + "x"), "<metrics></metrics>\n");
  ASSERT_TRUE(write_file(path, metrics_disk(""), 0600));
  ASSERT_TRUE(rewrite_metrics_disk(path, longest + "x"));
  expect_disk(*read_file(path, 1 << 20), "<metrics></metrics>\n");
}

TEST_F(MetricsDisk, OnlyAFileThatIsThereIsWritten) {
  EXPECT_FALSE(rewrite_metrics_disk(folder_ + "/vhostmd0", "x"));
  ASSERT_TRUE(write_file(folder_ + "/other", "kept", 0600));
  std::filesystem::create_symlink(folder_ + "/other", folder_ + "/link");
  EXPECT_FALSE(rewrite_metrics_disk(folder_ + "/link", "x"));
  EXPECT_EQ(*read_file(folder_ + "/other", 100), "kept");
}

}  // namespace
}  // namespace vg::launch
