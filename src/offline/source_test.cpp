#include "offline/source.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/offline_limits.h"

namespace vg::offline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "line:text" of each document.
std::vector<std::string> pieces(std::string text) {
  const auto source = text_source("f", std::move(text));
  PieceReader reader(*source);
  std::vector<std::string> all;
  while (true) {
    auto piece = reader.next();
    if (!piece) all.push_back(piece.error().message);
    if (!piece || !*piece) return all;
    all.push_back(std::to_string((*piece)->line) + ":" + (*piece)->text);
    EXPECT_EQ(*source->read((*piece)->offset, (*piece)->text.size()), (*piece)->text);
  }
}

TEST(PieceReader, DividesTextsAsYamlDoes) {
  EXPECT_THAT(pieces("a: 1\n---\nb: 2\n"), ElementsAre("1:a: 1\n", "2:---\nb: 2\n"));
  EXPECT_THAT(pieces("---\na: 1\n--- # x\nb: 2"), ElementsAre("1:---\na: 1\n", "3:--- # x\nb: 2"));
  EXPECT_THAT(pieces("a: 1\r\n---\r\nb: 2\r\n"), ElementsAre("1:a: 1\r\n", "2:---\r\nb: 2\r\n"));
  EXPECT_THAT(pieces("a: |\n  ---\n ---\nb: ----\n"), ElementsAre("1:a: |\n  ---\n ---\nb: ----\n"));
  EXPECT_THAT(pieces("a: 1\n...\n# x\n---\nb: 2\n"), ElementsAre("1:a: 1\n...\n", "3:# x\n---\nb: 2\n"));
  EXPECT_THAT(pieces("%YAML 1.1\n# x\n---\na: 1\n"), ElementsAre("1:%YAML 1.1\n# x\n---\na: 1\n"));
  EXPECT_THAT(pieces(""), ElementsAre());
}

TEST(PieceReader, DividesJsonValuesThatFollowOneAnother) {
  EXPECT_THAT(pieces("{\"a\": \"}{\\\"\"}\n{\"b\": [{}]} {}\n---\n{}\n"),
              ElementsAre("1:{\"a\": \"}{\\\"\"}\n", "2:{\"b\": [{}]} ", "2:{}\n", "3:---\n{}\n"));
  EXPECT_THAT(pieces("{a: '}', b: 1} # {\n"), ElementsAre("1:{a: '}', b: 1} # {\n"));
  EXPECT_THAT(pieces("{\"a\": 1"), ElementsAre("1:{\"a\": 1"));
}

TEST(PieceReader, FindsMarkersWhereverBlocksEnd) {
  for (const std::size_t length : {262'139, 262'140, 262'141, 262'142, 262'143, 262'144, 262'145}) {
    const std::string first = "a: " + std::string(length - 4, 'x') + "\n";
    EXPECT_THAT(pieces(first + "---\nb: 2\n"), ElementsAre("1:" + first, "2:---\nb: 2\n")) << length;
  }
}

TEST(PieceReader, RefusesWhatIsNoText) {
  EXPECT_THAT(pieces(std::string("a\0b", 3)), ElementsAre(HasSubstr("not a text file")));
  EXPECT_THAT(pieces("\xFF\xFE"
                     "a"),
              ElementsAre(HasSubstr("UTF-16")));
}

TEST(PieceReader, SkipsADocumentThatIsTooLong) {
  const auto all = pieces("a: 1\n---\n" + std::string(limits::document_bytes_max + 300'000, 'x') + "\n---\nb: 2\n");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[2], "4:---\nb: 2\n");
}

TEST(PieceReader, KnowsBlankDocuments) {
  for (const char* text :
       {"", "\n", "# x\n", "---\n", "--- # x\n\n", "...\n", "\xEF\xBB\xBF---\r\n", "%YAML 1.1\n---\n"})
    EXPECT_TRUE(is_blank(text)) << text;
  for (const char* text : {"a", "--- a\n", "---a\n", "- x", "  a: 1\n"}) EXPECT_FALSE(is_blank(text)) << text;
}

class Folders : public ::testing::Test {
 protected:
  Folders() { std::filesystem::create_directories(top / "inner"); }
  ~Folders() override { std::filesystem::remove_all(top); }
  void write(const std::string& name) const { std::ofstream(top / name) << "a: 1\n"; }
  const std::filesystem::path top =
      std::filesystem::temp_directory_path() / ("virtgate-folders-" + std::to_string(::getpid()));
};

TEST_F(Folders, HaveTheirManifestsInOrderAndEachFolderOnce) {
  for (const char* name : {"b.yaml", "a.json", "c.txt", ".d.yaml", "inner/e.yml"}) write(name);
  std::filesystem::create_directory_symlink(top, top / "inner" / "circle");
  const auto files = files_below(top);
  ASSERT_TRUE(files);
  EXPECT_THAT(*files, ElementsAre(top / "a.json", top / "b.yaml", top / "inner/e.yml"));
}

TEST_F(Folders, AndFilesThatCannotBeReadAreToldWithTheReason) {
  EXPECT_THAT(files_below(top / "none").error().message, HasSubstr("No such file"));
  EXPECT_THAT(open_file(top / "none.yaml").error().message, HasSubstr("none.yaml: No such file"));
  EXPECT_THAT(open_file(top).error().message, HasSubstr("Is a directory"));
}

}  // namespace
}  // namespace vg::offline
