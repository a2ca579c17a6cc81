#include "base/base64.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace vg {
namespace {

TEST(Base64, KnownValues) {
  const struct {
    std::string_view bytes;
    const char* standard;
    const char* url;
    const char* url_raw;
  } cases[] = {
      {"", "", "", ""},
      {"f", "Zg==", "Zg==", "Zg"},
      {"fo", "Zm8=", "Zm8=", "Zm8"},
      {"foo", "Zm9v", "Zm9v", "Zm9v"},
      {"foob", "Zm9vYg==", "Zm9vYg==", "Zm9vYg"},
      {"foobar", "Zm9vYmFy", "Zm9vYmFy", "Zm9vYmFy"},
      {"\xFB\xFF\xFE", "+//+", "-__-", "-__-"},
      {std::string_view("\0\0", 2), "AAA=", "AAA=", "AAA"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(base64_encode(c.bytes), c.standard);
    EXPECT_EQ(base64_encode(c.bytes, Base64::url), c.url);
    EXPECT_EQ(base64_encode(c.bytes, Base64::url_raw), c.url_raw);
    EXPECT_EQ(base64_decode(c.standard), c.bytes);
    EXPECT_EQ(base64_decode(c.url, Base64::url), c.bytes);
    EXPECT_EQ(base64_decode(c.url_raw, Base64::url_raw), c.bytes);
    EXPECT_EQ(base64_decode_lenient(c.standard), c.bytes);
  }
}

TEST(Base64, StrictRefusesEveryOtherSpelling) {
  for (const char* text : {"Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Z", "====", "Zg==Zg==", "Z g=", "Zg==\n",
                           "\nZg==", "-__-", "Zm9v=", "=Zg=", "\xFFZg="}) {
    EXPECT_FALSE(base64_decode(text)) << text;
  }
  EXPECT_FALSE(base64_decode("+//+", Base64::url));
  EXPECT_FALSE(base64_decode("Zg==", Base64::url_raw));
  EXPECT_FALSE(base64_decode("Zm9vY", Base64::url_raw));
  EXPECT_FALSE(base64_decode(std::string(limits::base64_bytes_max + 4, 'A')));
}

TEST(Base64, LenientTakesWhatGoTakes) {
  EXPECT_EQ(base64_decode_lenient("Zm9v\r\nYm\nFy\n"), "foobar");
  EXPECT_EQ(base64_decode_lenient("Zh=="), "f");
  EXPECT_EQ(base64_decode_lenient("Zg=\n="), "f");
  EXPECT_EQ(base64_decode_lenient("\n"), "");
  for (const char* text : {"Zg", "Z g=", "Zm9v=", "Zg==Zg==", "-__-"})
    EXPECT_FALSE(base64_decode_lenient(text)) << text;
}

TEST(Base64, RoundTripsEveryByte) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes += static_cast<char>(i);
    for (Base64 form : {Base64::standard, Base64::url, Base64::url_raw}) {
      ASSERT_EQ(base64_decode(base64_encode(bytes, form), form), bytes);
    }
  }
}

}  // namespace
}  // namespace vg
