#include "base/net.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace vg {
namespace {

TEST(Net, ParsesAndPrintsAddresses) {
  const struct {
    const char* text;
    const char* printed;
  } cases[] = {
      {"0.0.0.0", "0.0.0.0"},
      {"10.0.2.255", "10.0.2.255"},
      {"::", "::"},
      {"::1", "::1"},
      {"1::", "1::"},
      {"FE80::00aB", "fe80::ab"},
      {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
      {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
      {"1:0:2:0:3:0:4:0", "1:0:2:0:3:0:4:0"},
      {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
      {"::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"},
      {"1:2:3:4:5:6:0:0", "1:2:3:4:5:6::"},
      {"::ffff:1.2.3.4", "1.2.3.4"},
      {"::ffff:102:304", "1.2.3.4"},
      {"::1.2.3.4", "::102:304"},
      {"64:ff9b::1.2.3.4", "64:ff9b::102:304"},
  };
  for (const auto& c : cases) {
    const auto address = parse_ip(c.text);
    ASSERT_TRUE(address) << c.text;
    EXPECT_EQ(address->to_string(), c.printed) << c.text;
    EXPECT_EQ(parse_ip(c.printed), address);
  }
  EXPECT_TRUE(parse_ip("1.2.3.4")->is_v4());
  EXPECT_TRUE(parse_ip("::ffff:1.2.3.4")->is_v4());
  EXPECT_FALSE(parse_ip("::1.2.3.4")->is_v4());
}

TEST(Net, RefusesOtherAddresses) {
  const char* cases[] = {"",
                         "1",
                         "1.2.3",
                         "1.2.3.4.5",
                         "256.1.1.1",
                         "1.2.3.04",
                         "01.2.3.4",
                         "1.2.3.4 ",
                         " 1.2.3.4",
                         "1.2.3.x",
                         "1..2.3",
                         "-1.2.3.4",
                         "0x1.2.3.4",
                         ":",
                         ":::",
                         "1::2::3",
                         "1:2:3:4:5:6:7",
                         "1:2:3:4:5:6:7:8:9",
                         "1:2:3:4:5:6:7:8::",
                         "12345::",
                         "fe80::1%eth0",
                         "[::1]",
                         "::1/128",
                         "::1.2.3",
                         "::1.2.3.04",
                         "g::",
                         "localhost"};
  for (const char* text : cases) EXPECT_FALSE(parse_ip(text)) << text;
  EXPECT_FALSE(parse_ip(std::string_view("1.2.3.4\0", 8)));
}

TEST(Net, SloppyAddressesMayHaveLeadingZeros) {
  const auto sloppy = [](std::string_view text) {
    const auto address = parse_ip(text, LeadingZeros::ignored);
    return address ? address->to_string() : "refused";
  };
  EXPECT_EQ(sloppy("010.000.002.1"), "10.0.2.1");
  EXPECT_EQ(sloppy("0000000010.0.0.00"), "10.0.0.0");
  EXPECT_EQ(sloppy("1.2.3.4"), "1.2.3.4");
  EXPECT_EQ(sloppy("00001::0000a"), "1::a");
  EXPECT_EQ(sloppy("::ffff:001.02.3.4"), "1.2.3.4");
  EXPECT_EQ(sloppy("::1020:304"), "::1020:304");
  EXPECT_EQ(sloppy("1.2.3.0256"), "refused");
  EXPECT_EQ(sloppy("1.2.3."), "refused");
  EXPECT_EQ(sloppy(std::string(200, '0') + ".0.0.1"), "refused");
}

TEST(Net, ParsesCidrs) {
  EXPECT_EQ(parse_cidr("10.0.2.5/24")->to_string(), "10.0.2.5/24");
  EXPECT_EQ(parse_cidr("10.0.2.5/024")->to_string(), "10.0.2.5/24");
  EXPECT_EQ(parse_cidr("0.0.0.0/0")->prefix_bits, 0);
  EXPECT_EQ(parse_cidr("FD10:0:2::2/120")->to_string(), "fd10:0:2::2/120");
  EXPECT_EQ(parse_cidr("::ffff:1.2.3.4/96")->to_string(), "1.2.3.4/96");
  EXPECT_EQ(parse_cidr("010.0.2.0/24", LeadingZeros::ignored)->to_string(), "10.0.2.0/24");
  for (const char* text : {"", "/", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/+1",
                           "10.0.0.0/8/8", "10.0.0/8", "/8", "010.0.0.0/8", "10.0.0.0/ 8", "10.0.0.0/99999999999"}) {
    EXPECT_FALSE(parse_cidr(text)) << text;
  }
}

TEST(Net, ParsesMacs) {
  const struct {
    const char* text;
    const char* printed;
  } cases[] = {
      {"00:00:5e:00:53:01", "00:00:5e:00:53:01"},
      {"DE-AD-00-00-BE-AF", "de:ad:00:00:be:af"},
      {"0000.5e00.5301", "00:00:5e:00:53:01"},
      {"02:00:5e:10:00:00:00:01", "02:00:5e:10:00:00:00:01"},
      {"0200.5e10.0000.0001", "02:00:5e:10:00:00:00:01"},
      {"00:00:00:00:fe:80:00:00:00:00:00:00:02:00:5e:10:00:00:00:01",
       "00:00:00:00:fe:80:00:00:00:00:00:00:02:00:5e:10:00:00:00:01"},
      {"0000.0000.fe80.0000.0000.0000.0200.5e10.0000.0001",
       "00:00:00:00:fe:80:00:00:00:00:00:00:02:00:5e:10:00:00:00:01"},
  };
  for (const auto& c : cases) {
    const auto mac = parse_mac(c.text);
    ASSERT_TRUE(mac) << c.text;
    std::string printed;
    for (const std::uint8_t byte : *mac) printed += fmt::format("{}{:02x}", printed.empty() ? "" : ":", byte);
    EXPECT_EQ(printed, c.printed);
  }
  for (const char* text :
       {"", "00:00:5e:00:53", "00:00:5e:00:53:01:02", "00:00:5e:00:53:0", "00:00:5e:00:53:01:", "00:00:5e-00:53:01",
        "0:00:5e:00:53:011", "00:00:5e:00:53:0g", "0000.5e00-5301", "0000.5e00.530", "00005e005301", "000.05e0.05301",
        "00:00:5e:00:53:01 ", "01.02.03.04.05.06", "0000.5e00.5301.", "0x:00:5e:00:53:01"}) {
    EXPECT_FALSE(parse_mac(text)) << text;
  }
}

TEST(Net, ParsesPorts) {
  EXPECT_EQ(parse_port("1"), 1);
  EXPECT_EQ(parse_port("65535"), 65535);
  for (const char* text : {"", "0", "65536", "-1", "+1", "8o", "80 ", "99999999999"}) EXPECT_FALSE(parse_port(text));
}

}  // namespace
}  // namespace vg
