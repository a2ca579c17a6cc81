#include "disks/fetch.h"

#include <gmock/gmock.h>

#include "base/guest_address.h"
#include "disks/address.h"
#include "disks/archive.h"
#include "disks/messages.h"

namespace vg::disks {
namespace {

using testing::ElementsAre;

TEST(HeadReader, SkipsInterimAnswersAndHandsTheRestOn) {
  const std::string text =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 206 Partial\r\nContent-Range: bytes 5-9/10\r\nETag: \"x\"\r\n\r\nbody!";
  for (std::size_t split = 0; split <= text.size(); ++split) {
    HeadReader reader;
    std::string body;
    for (const std::string& part : {text.substr(0, split), text.substr(split)}) body += reader.take(part).value();
    ASSERT_TRUE(reader.head());
    EXPECT_EQ(reader.head()->status, 206);
    EXPECT_EQ(reader.head()->field("content-range"), "bytes 5-9/10");
    EXPECT_EQ(reader.head()->field("etag"), "\"x\"");
    EXPECT_EQ(body, "body!") << split;
  }
}

TEST(HeadReader, DoesNotReadAHeadWithoutEnd) {
  HeadReader reader;
  EXPECT_FALSE(reader.take(std::string(1 << 20, 'x')));
}

TEST(Fetch, AnOriginIsSchemeHostAndPort) {
  EXPECT_EQ(origin_of("HTTPS://Host:8443/a?b"), "https://host:8443");
  EXPECT_EQ(origin_of("http://h"), "http://h");
  for (const char* url : {"file:///etc/passwd", "ftp://h/x", "http://", "http:///x", "http://user@h/x", "h/x", ""})
    EXPECT_FALSE(origin_of(url)) << url;
}

TEST(Fetch, NothingOfAValueBeginsAnotherOption) {
  EXPECT_EQ(curl_line("header", "a\"b\\c\nurl = x"), "header = \"a\\\"b\\\\curl = x\"\n");
}

TEST(Address, HostsAreSplitAndBlockedNetworksAreNotDialled) {
  const auto text = [](std::string_view host) {
    const HostAndPort place = split_host(host, "80");
    return fmt::format("{} {}", place.host, place.port);
  };
  EXPECT_EQ(text("h"), "h 80");
  EXPECT_EQ(text("h:8080"), "h 8080");
  EXPECT_EQ(text("[fe80::1]:8080"), "fe80::1 8080");
  EXPECT_EQ(text("[::1]"), "::1 80");
  EXPECT_THAT(allowed_hosts(split_host("127.0.0.1:8", "80"), "169.254.0.0/16").value(), ElementsAre("127.0.0.1"));
  EXPECT_THAT(allowed_hosts(split_host("[2001:db8::1]:8", "80"), "169.254.0.0/16").value(), ElementsAre("2001:db8::1"));
  for (const char* host :
       {"169.254.169.254", "0xa9fea9fe", "2852039166", "[::ffff:169.254.169.254]", "[::169.254.169.254]",
        "[::ffff:0:a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::a9fe:a9fe]", "[2002:a9fe:a9fe::1]",
        "[2001:0:1:2:3:4:5601:5601]", "[fe80::1]", "[fd00:ec2::254]", "[fd20:ce::254]", "100.100.100.200"})
    EXPECT_FALSE(allowed_hosts(split_host(host, "80"), metadata_networks)) << host;
  EXPECT_FALSE(allowed_hosts(split_host("127.0.0.1", "80"), "127.0.0.0/8"));
}

TEST(Archive, PathsStayBelowTheirFolder) {
  EXPECT_THAT(*steps_of("./a//b/"), ElementsAre("a", "b"));
  EXPECT_THAT(*steps_of("."), ElementsAre());
  for (const char* path : {"/etc/passwd", "../x", "a/../../x", "a/.."}) EXPECT_FALSE(steps_of(path)) << path;
}

// DV-98
TEST(Registry, TheEnvironmentOfAnImageBecomesLabels) {
  EXPECT_THAT(labels_of_environment({"INSTANCETYPE_KUBEVIRT_IO_DEFAULT_PREFERENCE=fedora", "PATH=/bin",
                                     "KUBEVIRT_IO_X=y", "A=KUBEVIRT_IO_"}),
              ElementsAre(std::pair(std::string("instancetype.kubevirt.io/default-preference"), std::string("fedora")),
                          std::pair(std::string("kubevirt.io/x"), std::string("y"))));
}

TEST(Registry, WhatIsNoLabelIsLeftOut) {
  std::vector<std::string> variables{
      "KUBEVIRT_IO_X=two words", "KUBEVIRT_IO_Y=" + std::string(64, 'y'),      "KUBEVIRT_IO_=y",    "-_KUBEVIRT_IO_X=y",
      "A/B_KUBEVIRT_IO_X=y",     "KUBEVIRT_IO_" + std::string(64, 'X') + "=y", "KUBEVIRT_IO_EMPTY="};
  EXPECT_THAT(labels_of_environment(variables),
              ElementsAre(std::pair(std::string("kubevirt.io/empty"), std::string())));
  for (int i = 0; i < 1000; ++i) variables.push_back(fmt::format("KUBEVIRT_IO_N{}=y", i));
  EXPECT_LE(labels_of_environment(variables).size(), 64u);
}

TEST(Registry, AManifestWithoutDigestsIsNone) {
  const std::string digest = "sha256:" + std::string(64, 'a');
  EXPECT_TRUE(read_manifest(R"({"config":{"digest":")" + digest + R"("},"layers":[{"digest":")" + digest + R"("}]})"));
  for (const char* text : {"", "{}", R"({"config":{"digest":"sha256:../../x"},"layers":[{"digest":"sha256:a"}]})"})
    EXPECT_FALSE(read_manifest(text)) << text;
}

TEST(Messages, SayWhatWasSaid) {
  const DiskClaimName name{.ns = "n", .name = "c"};
  const auto job = [&](DiskWork work) {
    return Start{.job = {.id = "i", .claim = name, .claim_uid = "u", .work = std::move(work)}};
  };
  const Message messages[] = {
      job(CreateClaim{.capacity = 5}),
      job(ResizeClaim{.capacity = 6}),
      job(RemoveClaim{.retain_as = "pvc-1"}),
      job(MakeBlankImage{.size = 7, .preallocate = true}),
      job(CopyClaim{.from = {.ns = "a", .name = "b"}, .size = 3}),
      job(CopyFromRecord{.record = "r", .size = 2}),
      job(ImportHttp{.target = {.size = 1, .archive = true, .preallocate = true},
                     .url = "http://h",
                     .checksum = "md5:0",
                     .user = "x",
                     .password = "\"\n",
                     .headers = {"A: b"},
                     .authorities = "PEM",
                     .insecure = true}),
      job(ImportRegistry{.target = {},
                         .url = "docker://h",
                         .user = "x",
                         .password = "y",
                         .authorities = "PEM",
                         .architecture = "arm64"}),
      job(ConvertUpload{.target = {.size = 9}}),
      job(TakeRecord{.record = "r"}),
      job(RemoveRecord{.record = "r"}),
      Cancel{.id = "i"},
      Welcome{},
      Hello{},
      Ready{},
      ClaimIs{.name = name, .claim = {}},
      ClaimIs{.name = name, .claim = DiskClaim{.uid = "u", .capacity = 4, .image_size = 3, .filled_by = "j"}},
      RecordIs{.name = "r",
               .record = ImageRecord{.virtual_size = 8,
                                     .created_at = std::chrono::system_clock::time_point(std::chrono::seconds(5)),
                                     .ready = true}},
      JobProgress{.id = "i", .progress = 42},
      JobEnded{.id = "i", .failure = {}, .labels = {{"a", "b"}}},
      JobEnded{.id = "i", .failure = Failure{.error = DiskError::checksum, .message = "no"}}};
  for (const Message& message : messages) {
    const std::string text = write_message(message);
    const auto read = read_message(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(write_message(*read), text);
    EXPECT_EQ(read->index(), message.index());
  }
  for (const char* text : {"", "{}", R"({"say":"start","work":"rm -rf"})", "[1]"})
    EXPECT_FALSE(read_message(text)) << text;
}

}  // namespace
}  // namespace vg::disks
