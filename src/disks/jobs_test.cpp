#include "disks/jobs.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "disks/copy.h"
#include "disks/fetch.h"
#include "disks/live_copy.h"
#include "disks/program.h"

namespace vg::disks {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::int64_t mib = 1 << 20;

class TestFolder {
 public:
  TestFolder() {
    std::string name = (fs::temp_directory_path() / "disks-XXXXXX").native();
    path_ = ::mkdtemp(name.data());
  }
  ~TestFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

class JobsTest : public testing::Test {
 protected:
  JobsTest() : disks_(std::move(DiskFolder::open((folder_ / "disks").native()).value())) {}

  Outcome<Labels> carry(std::string claim, DiskWork work, std::string uid = "u1") {
    const DiskJob job{.id = "job",
                      .claim = {.ns = "ns", .name = std::move(claim)},
                      .claim_uid = std::move(uid),
                      .work = std::move(work)};
    auto done = carry_out(disks_, job, std::chrono::system_clock::time_point(std::chrono::seconds(7)), [](int) {});
    if (!done) clean_up(disks_, job);
    return done;
  }
  void put(const std::string& file, std::string_view text) { std::ofstream(path(file), std::ios::binary) << text; }
  fs::path path(const std::string& file) const { return folder_ / "disks" / "ns" / file; }
  DiskClaim claim(const std::string& name) { return describe_claim(disks_.claim({.ns = "ns", .name = name})->get()); }
  // Of a file, from a place on.
  std::string content(const std::string& file, std::size_t at = 0, std::size_t bytes = 8192) const {
    std::ifstream in(path(file), std::ios::binary);
    std::string text(bytes, '\0');
    in.seekg(static_cast<std::streamoff>(at));
    in.read(text.data(), static_cast<std::streamsize>(bytes));
    text.resize(static_cast<std::size_t>(in.gcount()));
    return text;
  }
  std::size_t parts(const std::string& name) const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(path(name)))
      count += entry.path().filename().native().starts_with(".part") ? 1 : 0;
    return count;
  }

  TestFolder temporary_;
  fs::path folder_ = temporary_.path();
  DiskFolder disks_;
};

TEST_F(JobsTest, AClaimIsMadeGrownAndRemoved) {
  ASSERT_TRUE(carry("c", CreateClaim{.capacity = mib}));
  EXPECT_EQ(claim("c"), (DiskClaim{.uid = "u1", .capacity = mib, .image_size = 0}));  // PVC-06
  ASSERT_TRUE(carry("c", MakeBlankImage{.size = mib}));
  EXPECT_EQ(claim("c"),
            (DiskClaim{.uid = "u1", .capacity = mib, .image_size = mib, .filled_by = "job", .holds = "disk.img"}));
  struct stat info{};
  ASSERT_EQ(::stat(path("c/disk.img").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0660U);                 // DV-89, whatever the umask of the server is
  ASSERT_TRUE(carry("c", CreateClaim{.capacity = mib}));  // again: nothing is lost
  EXPECT_EQ(claim("c").image_size, mib);
  ASSERT_TRUE(carry("c", ResizeClaim{.capacity = 3 * mib}));  // PVC-04
  EXPECT_EQ(claim("c").capacity, 3 * mib);
  EXPECT_EQ(claim("c").image_size, 3 * mib);
  ASSERT_TRUE(carry("c", RemoveClaim{}));
  EXPECT_FALSE(fs::exists(path("c")));
}

TEST_F(JobsTest, ScratchIsMadeAtTheFirstAttempt) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto made = disks_.make_scratch("u1");
    EXPECT_TRUE(made) << made.error().message;
  }
  ASSERT_TRUE(disks_.remove_scratch("u1"));
  EXPECT_FALSE(fs::exists(folder_ / "disks" / scratch_folder / "u1"));
}

TEST_F(JobsTest, AnImageThatDidNotFillItsClaimStaysAsItIs) {
  ASSERT_TRUE(carry("c", CreateClaim{.capacity = 2 * mib}));
  ASSERT_TRUE(carry("c", MakeBlankImage{.size = mib}));
  ASSERT_TRUE(carry("c", ResizeClaim{.capacity = 4 * mib}));
  EXPECT_EQ(claim("c").image_size, mib);
}

TEST_F(JobsTest, AnotherClaimOfTheNameBeginsEmptyAndOldJobsDoNotTouchIt) {
  ASSERT_TRUE(carry("c", CreateClaim{.capacity = mib}));
  ASSERT_TRUE(carry("c", MakeBlankImage{.size = mib}));
  ASSERT_TRUE(carry("c", CreateClaim{.capacity = mib}, "u2"));
  EXPECT_EQ(claim("c"), (DiskClaim{.uid = "u2", .capacity = mib}));
  EXPECT_FALSE(carry("c", MakeBlankImage{.size = mib}, "u1"));
  ASSERT_TRUE(carry("c", RemoveClaim{}, "u1"));
  EXPECT_TRUE(fs::exists(path("c")));
}

// What is there may be all that there is of a claim that a restored store knows nothing of.
TEST_F(JobsTest, WhatAnotherClaimOfTheNameLeftIsNotDestroyed) {
  ASSERT_TRUE(carry("c", CreateClaim{.capacity = mib}));
  put("c/disk.img", "treasure");
  ASSERT_TRUE(carry("c", CreateClaim{.capacity = mib}, "u2"));
  EXPECT_EQ(claim("c"), (DiskClaim{.uid = "u2", .capacity = mib}));
  EXPECT_EQ(content("../.released/pvc-u1-7000/disk.img"), "treasure");
}

TEST_F(JobsTest, NothingBlankTakesThePlaceOfAnImage) {
  ASSERT_TRUE(carry("c", CreateClaim{.capacity = mib}));
  put("c/disk.img", "treasure");
  ASSERT_TRUE(carry("c", MakeBlankImage{.size = mib}));
  EXPECT_EQ(content("c/disk.img"), "treasure");
}

TEST_F(JobsTest, WhatIsBeingPutBackIsNotTakenForUnfinished) {
  fs::create_directories(path("back"));
  fs::create_directories(path("never"));
  put("back/disk.img", "treasure");
  put("never/.part-disk", "half");
  disks_.clear_unfinished();
  EXPECT_EQ(content("back/disk.img"), "treasure");
  EXPECT_FALSE(fs::exists(path("never")));
  EXPECT_TRUE(disks_.claims().empty()) << "whose it is says the note";
}

// Programs of guests can write into these folders.
TEST_F(JobsTest, ANoteIsAFileAndNothingElse) {
  ASSERT_TRUE(carry("c", CreateClaim{.capacity = mib}));
  fs::remove(path("c/note.json"));
  ASSERT_EQ(::mkfifo(path("c/note.json").c_str(), 0600), 0);
  EXPECT_FALSE(read_note(disks_.claim({.ns = "ns", .name = "c"})->get()));
  fs::remove(path("c/note.json"));
  put("elsewhere.json", R"({"uid":"u1","capacity":1048576})");
  fs::create_symlink(path("elsewhere.json"), path("c/note.json"));
  EXPECT_FALSE(read_note(disks_.claim({.ns = "ns", .name = "c"})->get()));
  EXPECT_TRUE(disks_.claims().empty());
}

TEST_F(JobsTest, AClaimTellsWhatItHolds) {
  ASSERT_TRUE(carry("c", CreateClaim{.capacity = mib}));
  for (const char* folder : {"c/tpm", "c/nvram/x", "c/data"}) fs::create_directories(path(folder));
  EXPECT_EQ(claim("c").holds, "nvram") << "an empty folder is nothing that can be missed";
  put("c/tpm/state", "x");
  put("c/data/x", "x");
  put("c/disk.img", "x");
  EXPECT_EQ(claim("c").holds, "data,disk.img,nvram,tpm");
}

TEST_F(JobsTest, AFolderThatWasReplacedIsNoticed) {
  const std::string place = folder_ / "disks";
  EXPECT_TRUE(disks_.is_at(place));
  fs::rename(place, folder_ / "away");
  EXPECT_FALSE(disks_.is_at(place));
  fs::create_directories(place);
  EXPECT_FALSE(disks_.is_at(place));
  fs::remove(place);
  fs::rename(folder_ / "away", place);
  EXPECT_TRUE(disks_.is_at(place));
}

TEST_F(JobsTest, WhatIsRetainedIsKeptOutOfTheWay) {
  ASSERT_TRUE(carry("c", CreateClaim{.capacity = mib}));
  ASSERT_TRUE(carry("c", MakeBlankImage{.size = mib}));
  ASSERT_TRUE(carry("c", RemoveClaim{.retain_as = "pvc-u1"}));
  EXPECT_FALSE(fs::exists(path("c")));
  EXPECT_TRUE(fs::exists(folder_ / "disks" / ".released" / "pvc-u1" / "disk.img"));
  disks_.clear_unfinished();
  EXPECT_TRUE(fs::exists(folder_ / "disks" / ".released" / "pvc-u1" / "disk.img"));
  EXPECT_TRUE(disks_.claims().empty());
}

TEST_F(JobsTest, WhatWasPutOutOfTheWayGoesWithTheClaim) {
  for (const char* uid : {"u1", "u1-7", "u2"}) {
    ASSERT_TRUE(carry("c", CreateClaim{.capacity = mib}, uid));
    ASSERT_TRUE(carry("c", MakeBlankImage{.size = mib}, uid));
  }
  const fs::path released = folder_ / "disks" / ".released";
  ASSERT_TRUE(carry("c", RemoveClaim{}, "u1"));
  EXPECT_FALSE(fs::exists(released / "pvc-u1-7000"));
  EXPECT_TRUE(fs::exists(released / "pvc-u1-7-7000" / "disk.img"));
  EXPECT_TRUE(fs::exists(path("c/disk.img")));
}

// As QEMU has it open: a shared lock on some bytes.
TEST_F(JobsTest, AnImageThatIsOpenInAHypervisorIsNotRemoved) {
  ASSERT_TRUE(carry("c", CreateClaim{.capacity = mib}));
  ASSERT_TRUE(carry("c", MakeBlankImage{.size = mib}));
  {
    const Descriptor image(::open(path("c/disk.img").c_str(), O_RDWR | O_CLOEXEC));
    struct flock shared{};
    shared.l_type = F_RDLCK;
    shared.l_whence = SEEK_SET;
    shared.l_start = 100;
    shared.l_len = 1;
    ASSERT_EQ(::fcntl(image.get(), F_OFD_SETLK, &shared), 0);
    EXPECT_FALSE(carry("c", RemoveClaim{}));
    ASSERT_TRUE(carry("c", CreateClaim{.capacity = mib}, "u2"));  // it moves, and is still open
    EXPECT_FALSE(carry("c", RemoveClaim{}));
  }
  EXPECT_TRUE(carry("c", RemoveClaim{}));
  EXPECT_TRUE(fs::is_empty(folder_ / "disks" / ".released"));
}

TEST_F(JobsTest, NamesDoNotLeaveTheFolder) {
  for (const char* name : {"..", "a/b", "", ".records", "A", "../../x"})
    EXPECT_FALSE(carry(name, CreateClaim{.capacity = mib})) << name;
  fs::create_directories(folder_ / "elsewhere" / "c");
  fs::create_directories(folder_ / "disks");
  fs::create_directory_symlink(folder_ / "elsewhere", folder_ / "disks" / "ns");
  EXPECT_FALSE(carry("c", CreateClaim{.capacity = mib}));
  EXPECT_FALSE(carry("d", CreateClaim{.capacity = mib}));
  EXPECT_FALSE(fs::exists(folder_ / "elsewhere" / "d"));
}

TEST_F(JobsTest, NoRoomIsARefusal) {  // PVC-03
  const auto done = carry("c", CreateClaim{.capacity = std::int64_t{1} << 51});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().error, DiskError::no_space);
  EXPECT_FALSE(fs::exists(path("c")));
}

// STO-02
TEST_F(JobsTest, CopiesAreSparseAndOutliveTheirSource) {
  ASSERT_TRUE(carry("from", CreateClaim{.capacity = 64 * mib}));
  ASSERT_TRUE(carry("from", MakeBlankImage{.size = 64 * mib}));
  {
    std::fstream image(path("from/disk.img"), std::ios::in | std::ios::out | std::ios::binary);
    image.seekp(32 * mib) << "in the middle";
  }
  ASSERT_TRUE(carry("to", CreateClaim{.capacity = 65 * mib}));
  ASSERT_TRUE(carry("to", CopyClaim{.from = {.ns = "ns", .name = "from"}, .size = 65 * mib}));
  ASSERT_TRUE(carry("from", TakeRecord{.record = "snapshot-1"}));
  ASSERT_TRUE(carry("from", RemoveClaim{}));
  EXPECT_EQ(claim("to").image_size, 65 * mib);  // DV-107: grown, and the same content
  EXPECT_EQ(content("to/disk.img", 32 * mib, 13), "in the middle");
  struct stat info{};
  ASSERT_EQ(::stat(path("to/disk.img").c_str(), &info), 0);
  EXPECT_LT(info.st_blocks * 512, 2 * mib);
  ASSERT_EQ(disks_.records().size(), 1U);
  EXPECT_EQ(disks_.records()[0].first, "snapshot-1");
  EXPECT_TRUE(disks_.records()[0].second.ready);
  EXPECT_EQ(disks_.records()[0].second.virtual_size, 64 * mib);
  ASSERT_TRUE(carry("back", CreateClaim{.capacity = 64 * mib}));
  ASSERT_TRUE(carry("back", CopyFromRecord{.record = "snapshot-1"}));
  EXPECT_EQ(content("back/disk.img", 32 * mib, 13), "in the middle");
  ASSERT_TRUE(carry("", RemoveRecord{.record = "snapshot-1"}));
  EXPECT_TRUE(disks_.records().empty());
}

TEST_F(JobsTest, ACopyThatDoesNotFitLeavesNothing) {
  ASSERT_TRUE(carry("from", CreateClaim{.capacity = 2 * mib}));
  ASSERT_TRUE(carry("from", MakeBlankImage{.size = 2 * mib}));
  ASSERT_TRUE(carry("to", CreateClaim{.capacity = mib}));
  const auto done = carry("to", CopyClaim{.from = {.ns = "ns", .name = "from"}});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().error, DiskError::too_small);
  EXPECT_EQ(claim("to").image_size, 0);
  EXPECT_EQ(parts("to"), 0U);
  EXPECT_FALSE(carry("gone", TakeRecord{.record = "r"}));
  EXPECT_TRUE(disks_.records().empty());
}

// STO-01: one folder with one image a claim, and records outside of them all, which do not change.
TEST_F(JobsTest, ARecordIsACopyOutsideOfItsClaim) {
  ASSERT_TRUE(carry("c", CreateClaim{.capacity = mib}));
  put("c/disk.img", "first");
  ASSERT_TRUE(carry("c", TakeRecord{.record = "ns.v"}));
  const ImageRecord taken{
      .virtual_size = 5, .created_at = std::chrono::system_clock::time_point(std::chrono::seconds(7)), .ready = true};
  put("c/disk.img", "second one");
  ASSERT_TRUE(carry("c", TakeRecord{.record = "ns.v"}));
  ASSERT_EQ(disks_.records().size(), 1U);
  EXPECT_EQ(disks_.records()[0], (std::pair<std::string, ImageRecord>("ns.v", taken))) << "it is immutable";
  EXPECT_EQ(content("../.records/ns.v/disk.img"), "first");
  ASSERT_EQ(disks_.claims().size(), 1U) << "a record is no claim";
  EXPECT_EQ(claim("c").image_size, 10);
  ASSERT_TRUE(carry("c", RemoveClaim{}));
  EXPECT_EQ(describe_record(disks_.record("ns.v")->get()), taken) << "it outlives its claim";
  fs::remove(folder_ / "disks/.records/ns.v/note.json");
  const ImageRecord broken = describe_record(disks_.record("ns.v")->get());
  EXPECT_FALSE(broken.ready);
  EXPECT_NE(broken.error, "");
}

// STO-06: the room for what is no hole is looked at before anything is written, and what was there stays.
TEST_F(JobsTest, WithoutRoomNothingIsCopied) {
  for (const char* name : {"from", "holes", "to", "other"}) ASSERT_TRUE(carry(name, CreateClaim{.capacity = 2 * mib}));
  put("from/disk.img", "data");
  put("to/disk.img", "old");
  ASSERT_TRUE(carry("holes", MakeBlankImage{.size = 2 * mib}));
  ASSERT_TRUE(carry("from", TakeRecord{.record = "r"}));
  const auto full = DiskFolder::open((folder_ / "disks").native(), std::numeric_limits<std::int64_t>::max());
  ASSERT_EQ(full->free_bytes(), 0);
  struct Row {
    std::string_view id;
    std::string claim;
    DiskWork work;
    bool fits = false;
  };
  const Row rows[] = {
      {"STO-06", "to", CopyClaim{.from = {.ns = "ns", .name = "from"}}},
      {"STO-06", "to", CopyFromRecord{.record = "r"}},
      {"STO-06", "from", TakeRecord{.record = "r2"}},
      {"STO-06", "", StageRecord{.record = "r", .as = "r3"}},
      {"STO-06", "new", CreateClaim{.capacity = 1}},
      {"STO-06", "to", ResizeClaim{.capacity = 3 * mib}},
      {"STO-06", "other", CopyClaim{.from = {.ns = "ns", .name = "holes"}}, true},
      {"STO-06", "holes", TakeRecord{.record = "r4"}, true},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} {} {}", row.id, row.claim, row.work.index()));
    const DiskJob job{.id = "job", .claim = {.ns = "ns", .name = row.claim}, .claim_uid = "u1", .work = row.work};
    const auto done = carry_out(*full, job, {}, [](int) {});
    if (!done) clean_up(*full, job);
    ASSERT_EQ(done.has_value(), row.fits);
    if (!done) EXPECT_EQ(done.error().error, DiskError::no_space);
    EXPECT_EQ(content("to/disk.img"), "old");
    EXPECT_EQ(parts("to"), 0U);
    for (const char* record : {"r2", "r3"}) EXPECT_FALSE(disks_.record(record)) << record;
    EXPECT_FALSE(fs::exists(path("new")));
  }
}

// STO-05: no partial files are left.
TEST_F(JobsTest, AStartRemovesWhatIsNotWhole) {
  ASSERT_TRUE(carry("c", CreateClaim{.capacity = mib}));
  put("c/.part-disk", "half");
  put("c/.download", "half a download can be gone on with");
  fs::create_directories(path("never-finished"));
  fs::create_directories(path(".part-gone-x"));
  fs::create_directories(folder_ / "disks" / ".records" / "half");
  disks_.clear_unfinished();
  EXPECT_EQ(parts("c"), 0U);
  EXPECT_TRUE(fs::exists(path("c/.download")));
  EXPECT_FALSE(fs::exists(path("never-finished")));
  EXPECT_FALSE(fs::exists(path(".part-gone-x")));
  EXPECT_TRUE(disks_.records().empty());
  int seen = 0;
  EXPECT_EQ(disks_.claims([&] { ++seen; }).size(), 1U);
  EXPECT_EQ(seen, 1);
}

// --- with the programs of the system ---------------------------------------------------------------------------------

bool has(const char* program) { return std::system(fmt::format("command -v {} >/dev/null", program).c_str()) == 0; }

class ImageJobsTest : public JobsTest {
 protected:
  void SetUp() override {
    if (!has("qemu-img")) GTEST_SKIP() << "qemu-img is not installed";
    ASSERT_TRUE(carry("c", CreateClaim{.capacity = 8 * mib}));
  }
  Outcome<Labels> convert(ImageTarget target = {.size = 8 * mib}) {
    return carry("c", ConvertUpload{.target = target});
  }
  void run(const std::string& command) {
    ASSERT_EQ(std::system(fmt::format("cd '{}' && {}", path("c").native(), command).c_str()), 0);
  }
};

TEST_F(ImageJobsTest, FormatsAndPackingsBecomeRawAndGrow) {
  std::string noise;  // so that it stays longer than 512 bytes when it is packed
  for (std::uint32_t i = 0, state = 1; i < 2048; ++i)
    noise += static_cast<char>((state = state * 1664525 + 1013904223) >> 24U);
  put("c/plain", noise + std::string(4096, '\0') + "end");
  for (const char* make :
       {"cp plain .part-upload", "qemu-img convert -f raw -O qcow2 plain .part-upload",
        "qemu-img convert -f raw -O vmdk plain .part-upload", "qemu-img convert -f raw -O vdi plain .part-upload",
        "qemu-img convert -f raw -O vhdx plain .part-upload", "gzip -c plain > .part-upload",
        "xz -c plain > .part-upload", "qemu-img convert -f raw -O qcow2 plain q && gzip -c q > .part-upload"}) {
    SCOPED_TRACE(make);
    run(make);
    const auto done = convert();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(claim("c").image_size, 8 * mib);  // DV-89
    EXPECT_EQ(content("c/disk.img", 0, 2048 + 4096 + 3), content("c/plain"));
    struct stat info{};
    ASSERT_EQ(::stat(path("c/disk.img").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0660U);
    EXPECT_LT(info.st_blocks * 512, mib) << "sparse";
    EXPECT_EQ(parts("c"), 0U);
  }
}

TEST_F(ImageJobsTest, HostileImagesAreRefusedAndLeaveNothing) {
  struct Row {
    const char* id;
    const char* make;
    DiskError error;
  };
  put("c/plain", std::string(4096, 'a'));
  for (const Row& row :
       {Row{"DV-91", "qemu-img create -q -f qcow2 -b /etc/passwd -F raw .part-upload", DiskError::bad_image},
        Row{"DV-91", "qemu-img create -q -f qcow2 -o data_file=other,data_file_raw=on .part-upload 1M",
            DiskError::bad_image},
        Row{"DV-90", "qemu-img create -q -f qcow2 .part-upload 1T", DiskError::too_small},
        Row{"DV-91", "qemu-img create -q -f vmdk -o subformat=monolithicFlat .part-upload 1M", DiskError::bad_image},
        Row{"DV-90, unpacked", "head -c 200M /dev/zero | gzip -c > .part-upload", DiskError::too_small},
        Row{"DV-90", "head -c 9M /dev/zero > .part-upload", DiskError::too_small},
        Row{"DV-87", "printf '\\037\\213not gzip at all' > .part-upload; head -c 600 plain >> .part-upload",
            DiskError::bad_image},
        Row{"DV-86", "head -c 511 plain > .part-upload", DiskError::bad_image},
        Row{"DV-86", "echo short > .part-upload", DiskError::bad_image}}) {
    SCOPED_TRACE(fmt::format("{} {}", row.id, row.make));
    run(row.make);
    const auto done = convert();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().error, row.error) << done.error().message;
    if (row.error == DiskError::too_small) EXPECT_EQ(done.error().message, "DataVolume too small to contain image");
    EXPECT_EQ(claim("c").image_size, 0);
    EXPECT_EQ(parts("c"), 0U);
  }
}

// DV-93
TEST_F(ImageJobsTest, ArchivesAreUnpackedAndStayInTheirFolder) {
  run("mkdir -p in/sub && echo text > in/sub/file && ln -s sub/file in/link && tar -C in -czf .part-upload .");
  const auto done = convert({.size = 8 * mib, .archive = true});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(content("c/data/sub/file"), "text\n");
  EXPECT_EQ(content("c/data/link"), "text\n");
  for (const char* make :
       {"ln -sf /etc/passwd in/out && tar -C in -cf .part-upload .",
        "rm -f in/out; ln -sf ../../x in/out && tar -C in -cf .part-upload .",
        "rm -f in/out; ln -s .. in/sub/up && ln -s sub/up/../../x in/out && tar -C in -cf .part-upload .; rm in/sub/up",
        "rm -f in/out; tar -P -cf .part-upload /etc/hostname",
        "rm -f in/out; tar --transform 's,^,../,' -P -cf .part-upload in",
        "mkfifo in/pipe; tar -C in -cf .part-upload .",
        "rm in/pipe; mkdir -p in/$(printf 'd/%.0s' $(seq 130)); tar -C in -cf .part-upload .",
        "rm -r in/d; (cd in && seq -f 'f%g' 2100 | xargs touch); tar -C in -cf .part-upload ."}) {
    SCOPED_TRACE(make);
    run(make);
    EXPECT_FALSE(convert({.size = 8 * mib, .archive = true}));
    EXPECT_EQ(parts("c"), 0U);
    EXPECT_EQ(content("c/data/sub/file"), "text\n");  // what was there stays
  }
}

// DV-93: every way in which tar tells of holes. What is in the file is what was packed, and holes take no room.
TEST_F(ImageJobsTest, FilesWithHolesAreUnpackedAsTheyWere) {
  run("mkdir in && truncate -s 6M in/f && printf begin | dd of=in/f conv=notrunc status=none && "
      "printf middle | dd of=in/f bs=1M seek=3 conv=notrunc status=none && truncate -s 3M in/hole && echo x > "
      "in/plain");
  const std::string whole = content("c/in/f", 0, 8 * mib);
  ASSERT_EQ(whole.size(), 6 * mib);
  for (const char* format : {"--format=gnu", "--format=posix --sparse-version=0.0",
                             "--format=posix --sparse-version=0.1", "--format=posix --sparse-version=1.0"}) {
    SCOPED_TRACE(format);
    run(fmt::format("tar -C in {} -Scf .part-upload .", format));
    const auto done = convert({.size = 8 * mib, .archive = true});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_TRUE(content("c/data/f", 0, 8 * mib) == whole);
    EXPECT_TRUE(content("c/data/hole", 0, 8 * mib) == std::string(3 * mib, '\0'));
    EXPECT_EQ(content("c/data/plain"), "x\n");
    struct stat info{};
    ASSERT_EQ(::stat(path("c/data/f").c_str(), &info), 0);
    EXPECT_LT(info.st_blocks * 512, 2 * mib);
  }
  // A hole larger than the claim is no way to have more.
  run("truncate -s 9M in/hole && tar -C in --format=posix -Scf .part-upload .");
  const auto done = convert({.size = 8 * mib, .archive = true});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().error, DiskError::too_small);
}

TEST_F(ImageJobsTest, WhatIsNoArchiveOrCutIsRefused) {
  for (const char* make :
       {"head -c 20000 /dev/urandom > .part-upload",
        "mkdir -p in && head -c 200000 /dev/zero | tr '\\0' x > in/f && tar -C in -cf whole . && "
        "head -c 100000 whole > .part-upload",
        "tar --format=posix --pax-option=comment=$(head -c 100000 /dev/zero | tr '\\0' x) -C in -cf whole f && "
        "(head -c 512 whole | sed 's/0000030/7777777/'; tail -c +513 whole) > .part-upload",
        "touch in/x && ln in/x in/y && tar -C in -cf .part-upload x y"}) {
    SCOPED_TRACE(make);
    run(make);
    EXPECT_FALSE(convert({.size = 8 * mib, .archive = true}));
    EXPECT_EQ(parts("c"), 0U);
  }
}

TEST_F(ImageJobsTest, NamesInEveryLanguageAreKept) {
  run("mkdir in && echo x > 'in/größe-日本' && tar -C in --format=posix -cf .part-upload .");
  ASSERT_TRUE(convert({.size = 8 * mib, .archive = true}));
  EXPECT_EQ(content("c/data/größe-日本"), "x\n");
}

// spec copies STO-02, of what is no image.
TEST_F(ImageJobsTest, ArchivesAndNothingAreCopied) {
  run("mkdir -p in/sub && echo text > in/sub/file && ln -s sub/file in/link && tar -C in -czf .part-upload .");
  ASSERT_TRUE(convert({.size = 8 * mib, .archive = true}));
  ASSERT_TRUE(carry("c", TakeRecord{.record = "r"}));
  ASSERT_TRUE(carry("copy", CreateClaim{.capacity = 8 * mib}));
  ASSERT_TRUE(carry("copy", CopyFromRecord{.record = "r", .size = 8 * mib}));
  EXPECT_EQ(content("copy/data/link"), "text\n");
  EXPECT_EQ(claim("copy"), (DiskClaim{.uid = "u1", .capacity = 8 * mib, .filled_by = "job", .holds = "data"}));
  ASSERT_TRUE(carry("empty", CreateClaim{.capacity = mib}));
  ASSERT_TRUE(carry("empty", TakeRecord{.record = "nothing"}));
  ASSERT_TRUE(carry("other", CreateClaim{.capacity = mib}));
  ASSERT_TRUE(carry("other", CopyFromRecord{.record = "nothing", .size = mib}));
  EXPECT_EQ(claim("other"), (DiskClaim{.uid = "u1", .capacity = mib, .filled_by = "job"}));
}

// STO-03, SNAP-71, SNAP-73: what a guest's node copies is waited for.
TEST_F(JobsTest, TheCopyOfARunningGuestsDiskIsMadeByItsNode) {
  ASSERT_TRUE(carry("c", CreateClaim{.capacity = mib}));
  put("c/disk.img", "torn");
  const auto folder = disks_.make_record("r").value();
  std::ofstream(folder_ / "disks/.records/r/.part-live") << "as it was";
  ASSERT_TRUE(write_live(folder.get(), {.state = LiveCopy::State::done, .at_ms = 5000}));
  ASSERT_TRUE(carry("c", TakeRecord{.record = "r"}));
  const ImageRecord made = describe_record(folder.get());
  EXPECT_TRUE(made.ready);
  EXPECT_EQ(made.created_at.time_since_epoch(), std::chrono::milliseconds(5000)) << "the point in time, not the end";
  EXPECT_EQ(made.virtual_size, 9);
  EXPECT_FALSE(fs::exists(folder_ / "disks/.records/r/.live.json"));
}

TEST_F(JobsTest, ACopyThatTheNodeCouldNotMakeLeavesNothing) {
  ASSERT_TRUE(carry("c", CreateClaim{.capacity = mib}));
  const auto folder = disks_.make_record("r").value();
  ASSERT_TRUE(write_live(folder.get(), {.state = LiveCopy::State::failed, .message = "the guest stopped"}));
  const auto done = carry("c", TakeRecord{.record = "r"});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "the guest stopped");
  EXPECT_FALSE(disks_.record("r"));
}

TEST_F(JobsTest, ADiskThatNoGuestHasOpenIsCopiedByTheJob) {
  ASSERT_TRUE(carry("c", CreateClaim{.capacity = mib}));
  put("c/disk.img", "as it is");
  ASSERT_TRUE(write_live(disks_.make_record("r")->get(), {.state = LiveCopy::State::unused}));
  ASSERT_TRUE(carry("c", TakeRecord{.record = "r"}));
  EXPECT_EQ(describe_record(disks_.record("r")->get()).virtual_size, 8);
}

// A worker that was killed goes on waiting for a copy that is still made.
TEST_F(JobsTest, AStartLeavesWhatANodeIsCopying) {
  ASSERT_TRUE(write_live(disks_.make_record("made")->get(), {.state = LiveCopy::State::copying}));
  ASSERT_TRUE(write_live(disks_.make_record("over")->get(), {.state = LiveCopy::State::failed}));
  disks_.clear_unfinished();
  EXPECT_TRUE(disks_.record("made"));
  EXPECT_FALSE(disks_.record("over"));
}

// RST-71
TEST_F(JobsTest, AStagedCopyIsAdoptedInOneStep) {
  ASSERT_TRUE(carry("old", CreateClaim{.capacity = mib}));
  put("old/disk.img", "saved");
  ASSERT_TRUE(carry("old", TakeRecord{.record = "r"}));
  ASSERT_TRUE(carry("", StageRecord{.record = "r", .as = "r.staged"}));
  ASSERT_TRUE(carry("new", CreateClaim{.capacity = mib}));
  ASSERT_TRUE(carry("new", CopyFromRecord{.record = "r.staged", .size = mib, .adopt = true}));
  EXPECT_EQ(content("new/disk.img", 0, 5), "saved");
  EXPECT_EQ(claim("new").image_size, mib);
  EXPECT_EQ(claim("new").filled_by, "job");
  EXPECT_FALSE(disks_.record("r.staged"));
  EXPECT_TRUE(disks_.record("r")) << "the snapshot keeps its own";
  EXPECT_FALSE(carry("new", CopyFromRecord{.record = "r.staged", .adopt = true}));
}

// A web server of the test's own, on a socket of its own for each address.
class WebServer {
 public:
  explicit WebServer(int family, std::string answer)
      : listener_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)), answer_(std::move(answer)) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_addr = in6addr_loopback;
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* address = family == AF_INET6 ? reinterpret_cast<sockaddr*>(&v6) : reinterpret_cast<sockaddr*>(&v4);
    socklen_t length = family == AF_INET6 ? sizeof v6 : sizeof v4;
    works = ::bind(listener_.get(), address, length) == 0 && ::listen(listener_.get(), 16) == 0 &&
            ::getsockname(listener_.get(), address, &length) == 0;
    port = ntohs(family == AF_INET6 ? v6.sin6_port : v4.sin_port);
    thread_ = std::jthread([this] {
      while (true) {
        const Descriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!client) return;
        char request[4096];
        if (::recv(client.get(), request, sizeof request, 0) <= 0) continue;
        ++asked;
        (void)::send(client.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL);
      }
    });
  }
  ~WebServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;
  static std::string with(std::string_view body) {
    return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", body.size(), body);
  }

  bool works = false;
  int port = 0;
  std::atomic<int> asked = 0;

 private:
  Descriptor listener_;
  const std::string answer_;
  std::jthread thread_;
};

TEST_F(ImageJobsTest, ImagesComeFromAddressesOfBothKinds) {
  const std::string image(4096, 'a');
  for (const int family : {AF_INET, AF_INET6}) {
    WebServer server(family, WebServer::with(image));
    if (!server.works) continue;  // a host without IPv6
    const std::string url = fmt::format("http://{}:{}/x", family == AF_INET ? "127.0.0.1" : "[::1]", server.port);
    for (const char* blocked : {"", "169.254.0.0/16"}) {
      const auto done = carry("c", ImportHttp{.target = {.size = 8 * mib}, .url = url, .blocked = blocked});
      EXPECT_TRUE(done) << url << ": " << done.error().message;
      EXPECT_EQ(content("c/disk.img", 0, image.size()), image);
      fs::remove(path("c/disk.img"));
    }
    EXPECT_EQ(server.asked, 2);
  }
}

TEST_F(ImageJobsTest, NobodyInABlockedNetworkIsAskedHoweverItIsSpelled) {
  WebServer inner(AF_INET, WebServer::with(std::string(4096, 'a')));
  for (const char* host : {"127.0.0.1", "localhost", "localhost.", "LOCALHOST", "0.0.0.0", "0x7f.1", "2130706433",
                           "127%2e0.0.1", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]"}) {
    const std::string url = fmt::format("http://{}:{}/x", host, inner.port);
    const ImportHttp from{.target = {.size = 8 * mib}, .url = url, .blocked = "127.0.0.0/8,::1/128"};
    const auto done = carry("c", from);
    ASSERT_FALSE(done) << url;
    EXPECT_FALSE(done.error().message.contains("status code")) << url << ": " << done.error().message;
  }
  const WebServer outer(AF_INET6, fmt::format("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{}/x\r\n"
                                              "Content-Length: 0\r\nConnection: close\r\n\r\n",
                                              inner.port));
  if (outer.works) {
    const auto done = carry("c", ImportHttp{.target = {.size = 8 * mib},
                                            .url = fmt::format("http://[::1]:{}/x", outer.port),
                                            .blocked = "127.0.0.0/8"});
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message, HasSubstr("127.0.0.1 is in a network that nothing is imported from"));
    EXPECT_EQ(outer.asked, 1);
  }
  EXPECT_EQ(inner.asked, 0);
}

// A name may stand for another address by the time that curl asks, and curl may read the URL in another way.
TEST(Fetch, WhatWasCheckedIsDialledWhateverTheUrlSays) {
  if (!has("curl")) GTEST_SKIP() << "curl is not installed";
  WebServer server(AF_INET, WebServer::with("checked"));
  const std::string addresses = fmt::format("{}:127.0.0.1", server.port);
  for (const char* url : {"http://rebound.invalid/x", "http://rebound.invalid./x", "http://REBOUND%2einvalid:81/x",
                          "http://[2001:db8::1]/x", "http://192.0.2.1:99/x"}) {
    const auto ended = run({.command = {"curl", "-q", "-K", "-"},
                            .input = curl_options({.target = {}, .url = url}, {.url = url, .addresses = addresses})});
    ASSERT_TRUE(ended);
    EXPECT_THAT(ended->output, HasSubstr("checked")) << url << ": " << ended->errors;
  }
  EXPECT_EQ(server.asked, 5);
}

TEST(Holes, ZerosTakeNoRoom) {
  TestFolder folder;
  const std::string path = (folder.path() / "f").native();
  {
    std::ofstream out(path, std::ios::binary);
    out << "x" << std::string(4 * mib, '\0') << "y";
  }
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::fsync(file.get()), 0);
  ASSERT_TRUE(punch_holes(file.get()));
  struct stat info{};
  ASSERT_EQ(::fstat(file.get(), &info), 0);
  EXPECT_EQ(info.st_size, 4 * mib + 2);
  EXPECT_LT(info.st_blocks * 512, mib);
  char first = 0, last = 0;
  ASSERT_EQ(::pread(file.get(), &first, 1, 0), 1);
  ASSERT_EQ(::pread(file.get(), &last, 1, 4 * mib + 1), 1);
  EXPECT_EQ(first, 'x');
  EXPECT_EQ(last, 'y');
}

TEST(Room, AProgramIsEndedWhenItsOverseerSaysSo) {
  TestFolder folder;
  const Descriptor open(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto ended = run({.command = {"sleep", "600"}, .folder = open.get(), .bytes_max = 1, .look = [] {
                            return failed(DiskError::too_small, "enough");
                          }});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "enough");
  const auto late = run(
      {.command = {"sleep", "600"}, .folder = open.get(), .bytes_max = 1, .time_max = std::chrono::milliseconds(50)});
  ASSERT_TRUE(late);
  EXPECT_TRUE(late->timed_out);
}

}  // namespace
}  // namespace vg::disks
