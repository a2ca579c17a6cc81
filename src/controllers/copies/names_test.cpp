#include "controllers/copies/names.h"

#include <gtest/gtest.h>

namespace vg::controllers::copies {
namespace {

std::string times(std::size_t count, char c) { return std::string(count, c); }

// spec copies 10
TEST(CopyNames, AreShortenedAsUpstreamDoes) {
  struct Row {
    std::string base, suffix, name;
  };
  const Row rows[] = {
      {"export-token", "my-export", "export-token-my-export"},
      {"export-token", times(60, 'x'), "export-token-d2ef4e26"},
      {"virt-export", times(60, 'a'), "virt-export-6ce6b0a2"},
      {times(55, 't'), "disk0disk0", times(43, 't') + "-38010273-disk0disk0"},
  };
  for (const Row& row : rows) EXPECT_EQ(joined_name(row.base, row.suffix), row.name);
  EXPECT_EQ(export_service_name(times(53, 'a')), "v-efa2f187-" + times(52, 'a'));
  EXPECT_EQ(export_service_name("test.com"), "virt-export-test-com");
}

TEST(CopyNames, RecordsBelongToTheirNamespace) {
  EXPECT_EQ(record_name("n", volume_snapshot_name("u-1", "root")), "n.vmsnapshot-u-1-volume-root");
}

// spec copies Q-23
TEST(CopyNames, LabelsFit) {
  EXPECT_EQ(label_value("short"), "short");
  EXPECT_EQ(label_value(times(200, 'a')).size(), 63);
  EXPECT_NE(label_value(times(200, 'a')), label_value(times(201, 'a')));
}

}  // namespace
}  // namespace vg::controllers::copies
