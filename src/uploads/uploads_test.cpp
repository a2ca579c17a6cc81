#include <gmock/gmock.h>

#include "uploads/form.h"
#include "uploads/tokens.h"

namespace vg::uploads {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// UPL-12, UPL-21
TEST(UploadTokens, AreForOneClaimAndAWhile) {
  const UploadTokens tokens("key"), others("other key");
  const UploadTokens::Time now(seconds(1000));
  const std::string token = tokens.issue({.ns = "ns", .claim = "a.b"}, now);
  EXPECT_EQ(token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/"),
            std::string::npos);
  const auto right = tokens.read(token, now + minutes(4));
  ASSERT_TRUE(right);
  EXPECT_EQ(right->ns, "ns");
  EXPECT_EQ(right->claim, "a.b");
  EXPECT_EQ(tokens.read(token, now + minutes(6)).error(), TokenDefect::expired);
  EXPECT_EQ(others.read(token, now).error(), TokenDefect::invalid);
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(tokens.read(changed, now)) << i;
  }
  for (const char* text : {"", ".", "x.y", "x"})
    EXPECT_EQ(tokens.read(text, now).error(), TokenDefect::invalid) << text;
}

struct Read {
  std::string file;
  bool good = false;
};

Read read_form(std::string_view text, std::size_t split, std::string_view boundary = "B") {
  Read read;
  FormReader reader(boundary, [&](std::string_view bytes) -> Result<void> {
    read.file += bytes;
    return {};
  });
  read.good = reader.put(text.substr(0, split)) && reader.put(text.substr(split)) && reader.finish();
  return read;
}

TEST(FormReader, TakesThePartNamedFileHoweverItIsCut) {
  const std::string text =
      "--B\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\nnot this\r\n"
      "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\nContent-Type: "
      "application/octet-stream\r\n\r\n"
      "with \r\n and \r\n--A inside\r\n--B--\r\n";
  for (std::size_t split = 0; split <= text.size(); ++split) {
    const Read read = read_form(text, split);
    EXPECT_TRUE(read.good) << split;
    EXPECT_EQ(read.file, "with \r\n and \r\n--A inside") << split;
  }
}

TEST(FormReader, RefusesFormsWithoutTheFileOrItsEnd) {
  EXPECT_FALSE(read_form("--B\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\nx\r\n--B--\r\n", 3).good);
  EXPECT_FALSE(read_form("--B\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nx", 3).good);
  EXPECT_FALSE(read_form("", 0).good);
  EXPECT_FALSE(read_form("--B\r\n" + std::string(100000, 'x'), 5).good);
}

TEST(FormReader, FindsTheBoundary) {
  EXPECT_EQ(boundary_of("multipart/form-data; boundary=abc"), "abc");
  EXPECT_EQ(boundary_of("multipart/form-data; boundary=\"a b\"; x=y"), "a b");
  for (const char* type : {"", "text/plain", "multipart/form-data", "multipart/form-data; boundary="})
    EXPECT_FALSE(boundary_of(type)) << type;
}

}  // namespace
}  // namespace vg::uploads
