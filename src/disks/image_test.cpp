#include "disks/image.h"

#include <gmock/gmock.h>

namespace vg::disks {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

std::string padded(std::string head) {
  head.resize(magic_bytes, '\0');
  return head;
}

// Version, offset of the backing file's name, incompatible features.
std::string qcow2(char version, char backing, char features) {
  std::string head = padded("QFI\xfb"s);
  head[7] = version;
  head[15] = backing;
  head[79] = features;
  return head;
}

struct Row {
  const char* name;
  std::string head;
  Packing packing = Packing::none;
  ImageFormat format = ImageFormat::raw;
};

// DV-86, DV-87, DV-88
TEST(Image, IsWhatItsFirstBytesSay) {
  std::string vdi = padded({});
  vdi.replace(64, 4, "\x7f\x10\xda\xbe");
  const Row rows[] = {
      {"gzip", padded("\x1f\x8b"), Packing::gzip},
      {"zstd", padded("\x28\xb5\x2f\xfd"), Packing::zstd},
      {"xz", padded("\xfd\x37\x7a\x58\x5a\x00"s), Packing::xz},
      {"bzip2 is raw", padded("BZh9")},
      {"zip is raw", padded("PK\x03\x04")},
      {"qcow2", qcow2(3, 0, 0), Packing::none, ImageFormat::qcow2},
      {"vmdk", padded("KDMV"), Packing::none, ImageFormat::vmdk},
      {"vmdk descriptor", padded("# Disk DescriptorFile\n"), Packing::none, ImageFormat::vmdk},
      {"vdi", vdi, Packing::none, ImageFormat::vdi},
      {"vhd", padded("conectix"), Packing::none, ImageFormat::vpc},
      {"vhdx", padded("vhdxfile"), Packing::none, ImageFormat::vhdx},
      {"nothing", {}},
      {"DV-86: not at its beginning", padded("x" + qcow2(3, 0, 0))},
      {"DV-86: not behind the bytes that decide", padded({}) + "conectix"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(packing_of(row.head), row.packing);
    EXPECT_EQ(format_of(row.head), row.format);
  }
}

// UPL-29: before any program has read it.
TEST(Image, ClaimsASize) {
  const auto with = [](std::string head, std::size_t at, std::string bytes) {
    head = padded(std::move(head));
    return head.replace(at, bytes.size(), bytes);
  };
  EXPECT_EQ(claimed_size(ImageFormat::raw, "", 77), 77);
  EXPECT_EQ(claimed_size(ImageFormat::qcow2, with("QFI\xfb", 24, "\0\0\0\1\0\0\0\0"s), 77), 1ULL << 32U);
  EXPECT_EQ(claimed_size(ImageFormat::vmdk, with("KDMV", 12, "\2\0\0\0\0\0\0\0"s), 77), 1024);
  EXPECT_EQ(claimed_size(ImageFormat::vmdk, with("KDMV", 12, std::string(8, '\xff')), 77), ~511ULL);
  EXPECT_EQ(claimed_size(ImageFormat::vdi, with("", 368, "\0\1\0\0\0\0\0\0"s), 77), 256);
  EXPECT_EQ(claimed_size(ImageFormat::vpc, with("conectix", 48, "\0\0\0\0\0\0\1\0"s), 77), 256);
  EXPECT_EQ(claimed_size(ImageFormat::vhdx, with("vhdxfile", 0, ""), 77), std::nullopt);
}

TEST(Image, ThatNamesAnotherFileIsRefusedByItsHeader) {
  std::string sparse_vmdk = padded("KDMV");
  sparse_vmdk[12] = 1;
  std::string differencing = padded("conectix");
  differencing[63] = 4;
  const auto refused = [](const std::string& head) { return !check_head(format_of(head), head).has_value(); };
  EXPECT_FALSE(refused(qcow2(3, 0, 0)));
  EXPECT_FALSE(refused(qcow2(2, 0, 4)));   // version 2 has no features
  EXPECT_TRUE(refused(qcow2(3, 104, 0)));  // DV-91: a backing file
  EXPECT_TRUE(refused(qcow2(3, 0, 4)));
  EXPECT_TRUE(refused(qcow2(4, 0, 0)));  // DV-91: nobody knows it
  const auto with = [](char version, std::size_t at, const std::string& bytes) {
    std::string head = qcow2(version, 0, 0);
    return head.replace(at, bytes.size(), bytes);
  };
  EXPECT_TRUE(refused(with(3, 32, "\0\0\0\2"s)));                      // LUKS
  EXPECT_TRUE(refused(with(2, 32, "\0\0\0\1"s)));                      // AES
  EXPECT_TRUE(refused(with(3, 104, "DATA\0\0\0\x0bjson:{\"a\":1"s)));  // without the feature, too
  EXPECT_TRUE(refused(with(2, 72, "DATA\0\0\0\4nbd:"s)));
  EXPECT_TRUE(refused(with(3, 104, "\x05\x37\xbe\x77\0\0\0\x10"s)));
  EXPECT_TRUE(refused(with(3, 104, "\xe2\x79\x2a\xca\0\0\0\x9json:{}}}"s)));
  EXPECT_FALSE(refused(with(3, 104, "\xe2\x79\x2a\xca\0\0\0\5qcow2"s)));
  EXPECT_TRUE(refused(with(3, 104,
                           "\xe2\x79\x2a\xca\0\0\0\5qcow2\0\0\0"
                           "DATA\0\0\0\1x"s)));                       // behind another
  EXPECT_TRUE(refused(with(3, 104, "\x68\x03\xf8\x57\xff\0\0\0"s)));  // no end in sight
  EXPECT_TRUE(refused(with(3, 100, "\0\1\0\0"s)));                    // where nobody looks
  EXPECT_FALSE(refused(sparse_vmdk));
  EXPECT_TRUE(refused(padded("KDMV")));  // no capacity: it is elsewhere
  EXPECT_TRUE(refused(padded("# Disk DescriptorFile\n")));
  EXPECT_TRUE(refused(padded("COWD")));
  EXPECT_TRUE(refused(differencing));
  EXPECT_FALSE(refused(padded("anything")));
}

TEST(Image, ThatQemuFoundOtherFilesInIsRefused) {
  const auto judged = [](std::string_view info) { return judge_info(info, ImageFormat::qcow2); };
  EXPECT_EQ(*judged(R"({"format":"qcow2","virtual-size":1048576})"), 1048576);
  for (const char* info :
       {R"({"format":"qcow2","virtual-size":1,"backing-filename":"/etc/passwd"})",
        R"({"format":"qcow2","virtual-size":1,"full-backing-filename":"/etc/passwd"})",
        R"({"format":"qcow2","virtual-size":1,"format-specific":{"data":{"data-file":"x"}}})",
        R"({"format":"qcow2","virtual-size":1,"format-specific":{"data":{"extents":[{},{}]}}})",
        R"({"format":"qcow2","virtual-size":1,"encrypted":true})", R"({"format":"raw","virtual-size":1})",
        R"({"format":"qcow2","virtual-size":-1})", R"({"format":"qcow2","virtual-size":9223372036854775807})",
        R"({"format":"qcow2"})", "", "[]"})
    EXPECT_FALSE(judged(info)) << info;
}

}  // namespace
}  // namespace vg::disks
