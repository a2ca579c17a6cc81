#include "exports/request.h"

#include <gtest/gtest.h>

namespace vg::exports {
namespace {

// spec copies 6.5
TEST(ExportPath, IsRead) {
  struct Row {
    std::string rest;
    int code;  // 0: a path
    Form form = Form::raw;
    std::string volume = {}, file = {};
  };
  const std::string base = "v1/namespaces/n/virtualmachineexports/e/";
  const Row rows[] = {
      {base + "volumes/c/disk.img", 0, Form::raw, "c"},
      {base + "volumes/c/disk.img.gz", 0, Form::gzip, "c"},
      {base + "volumes/c/disk.tar.gz", 0, Form::archive, "c"},
      {base + "volumes/c/dir", 0, Form::folder, "c"},
      {base + "volumes/c/dir/", 0, Form::folder, "c"},
      {base + "volumes/c/dir/a/b", 0, Form::folder, "c", "a/b"},
      {base + "internal/manifests/all", 0, Form::manifests},
      {base + "external/manifests/secret", 0, Form::secret},
      {"v1beta1/namespaces/n/virtualmachineexports/e/volumes/c/disk.img", 0, Form::raw, "c"},
      {"v2/namespaces/n/virtualmachineexports/e/volumes/c/disk.img", 400},
      {"v1/namespaces/n/pods/e/volumes/c/disk.img", 400},
      {"v1/namespaces/../virtualmachineexports/e/volumes/c/disk.img", 400},
      {"v1/namespaces/n/virtualmachineexports/e", 400},
      {base + "volumes/../disk.img", 404},
      {base + "volumes/c/disk.img/x", 404},
      {base + "volumes/c/dir/../../x", 404},
      {base + "volumes/c/dir/./x", 404},
      {base + "volumes/c/other", 404},
      {base + "external/manifests/more", 404},
      {base + "export.oci.tar", 404},
      {base, 404},
  };
  for (const Row& row : rows) {
    const auto path = parse_export_path(row.rest);
    ASSERT_EQ(path ? 0 : path.error().code, row.code) << row.rest;
    if (!path) continue;
    EXPECT_EQ(path->ns + "/" + path->name, "n/e");
    EXPECT_EQ(path->form, row.form) << row.rest;
    EXPECT_EQ(path->volume, row.volume);
    EXPECT_EQ(path->file, row.file);
  }
}

// EXP-72, EXP-87: a page is answered with and without the slash, and its links lead to the same files.
TEST(ExportPath, PagesLinkToWhatTheyShow) {
  struct Row {
    std::string_view path, base;
  };
  for (const Row& row : {Row{"dir", "dir/"},
                         {"dir/", ""},
                         {"dir/sub", "sub/"},
                         {"dir/sub/", ""},
                         {"dir/sub/deep", "deep/"},
                         {"dir/a b", "a%20b/"}}) {
    const auto path = parse_export_path("v1/namespaces/n/virtualmachineexports/e/volumes/c/" + std::string(row.path));
    ASSERT_TRUE(path) << row.path;
    EXPECT_EQ(page_base(*path), row.base) << row.path;
  }
}

TEST(ExportRange, IsRead) {
  struct Row {
    std::string_view header;
    RangeState state;
    std::uint64_t from = 0, length = 0;
  };
  const Row rows[] = {
      {"bytes=0-", RangeState::part, 0, 100},     {"bytes=10-19", RangeState::part, 10, 10},
      {"bytes=90-200", RangeState::part, 90, 10}, {"bytes=-10", RangeState::part, 90, 10},
      {"bytes=-200", RangeState::part, 0, 100},   {"bytes=100-", RangeState::unsatisfiable},
      {"bytes=-0", RangeState::unsatisfiable},    {"bytes=1-2,4-5", RangeState::whole, 0, 100},
      {"bytes=x-", RangeState::whole, 0, 100},    {"lines=1-2", RangeState::whole, 0, 100},
      {"bytes=5-4", RangeState::whole, 0, 100},   {"bytes=99999999999999999999-", RangeState::whole, 0, 100},
      {"bytes=-", RangeState::whole, 0, 100},
  };
  for (const Row& row : rows) {
    const RangeAnswer answer = read_range(row.header, 100);
    EXPECT_EQ(answer.state, row.state) << row.header;
    if (answer.state == RangeState::unsatisfiable) continue;
    EXPECT_EQ(answer.range.from, row.from) << row.header;
    EXPECT_EQ(answer.range.length, row.length) << row.header;
  }
  EXPECT_EQ(read_range(std::nullopt, 7).range.length, 7);
}

}  // namespace
}  // namespace vg::exports
