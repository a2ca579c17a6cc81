#include "program.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "commands.h"

namespace vg::cmd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

struct Outcome {
  int code;
  std::string out, err;
};

Outcome call(std::string_view program, std::vector<std::string_view> arguments) {
  char *out_text = nullptr, *err_text = nullptr;
  std::size_t out_size = 0, err_size = 0;
  std::FILE* out = ::open_memstream(&out_text, &out_size);
  std::FILE* err = ::open_memstream(&err_text, &err_size);
  Outcome outcome{run(program, arguments, {.out = out, .err = err}), "", ""};
  std::fclose(out);
  std::fclose(err);
  outcome.out.assign(out_text, out_size);
  outcome.err.assign(err_text, err_size);
  std::free(out_text);
  std::free(err_text);
  return outcome;
}

TEST(ProgramTest, ExplainsItself) {
  for (std::string_view help : {"help", "--help", "-h"}) {
    auto outcome = call("virtgate", {help});
    EXPECT_EQ(outcome.code, 0);
    for (const Command& command : commands())
      if (!command.group.empty()) {
        EXPECT_THAT(outcome.out, HasSubstr(fmt::format("\n  {:<12}{}\n", command.name, command.summary)));
      }
    EXPECT_THAT(outcome.err, IsEmpty());
  }
  EXPECT_EQ(call("virtgate", {}).code, 2);
  EXPECT_THAT(call("virtgate", {}).err, HasSubstr("Usage:\n"));
}

TEST(ProgramTest, EveryCommandExplainsItself) {
  for (const Command& command : commands()) {
    std::vector<std::string_view> words{"help"};
    if (command.name == "help") continue;
    const auto space = command.name.find(' ');
    words.push_back(command.name.substr(0, space));
    if (space != command.name.npos) words.push_back(command.name.substr(space + 1));
    const auto helped = call("virtgate", words);
    words.erase(words.begin());
    words.push_back("--help");
    const auto asked = call("virtgate", words);
    EXPECT_EQ(asked.code, 0) << command.name;
    EXPECT_EQ(asked.out, helped.out) << command.name;
    EXPECT_THAT(asked.out, HasSubstr(fmt::format("\nUsage:\n  virtgate {} ", command.name)));
    const auto takes = describe(command);
    for (const FlagInfo& flag : takes.flags) EXPECT_THAT(asked.out, HasSubstr("--" + flag.name)) << command.name;
    std::string_view rest = asked.out;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(line.size() + 1);
      EXPECT_LE(line.size(), 120u) << line;
      EXPECT_FALSE(line.ends_with(' ')) << line;
    }
  }
}

TEST(ProgramTest, MistakesAreToldInOneLine) {
  struct Mistake {
    std::vector<std::string_view> words;
    std::string_view says;
  };
  for (const Mistake& mistake : std::initializer_list<Mistake>{
           {{"sevre"}, "virtgate: unknown command \"sevre\"; did you mean serve?\n"},
           {{"frobnicate"}, "virtgate: unknown command \"frobnicate\"; see virtgate --help\n"},
           {{"serve", "--lisen", "x"}, "virtgate serve: unknown flag --lisen; did you mean --listen?\n"},
           {{"cluster", "--prot", "1"}, "virtgate cluster: unknown flag --prot; did you mean --port?\n"},
           {{"serve", "--zzz"}, "virtgate serve: unknown flag --zzz; see virtgate serve --help\n"},
           {{"serve", "now"}, "virtgate serve: unexpected argument \"now\"; see virtgate serve --help\n"},
           {{"serve", "--listen"}, "virtgate serve: --listen requires a value; see virtgate serve --help\n"},
           {{"serve", "--sandbox", "of"},
            "virtgate serve: --sandbox: unsupported value \"of\": supported values: on, off, required\n"},
           {{"state", "chek"}, "virtgate state: unknown command \"chek\"; did you mean check?\n"},
           {{"state"}, "virtgate state: a command is required; see virtgate state --help\n"},
           {{"backup"}, "virtgate backup: FILE is required; see virtgate backup --help\n"},
           {{"completion", "sh"}, "virtgate completion: unsupported shell \"sh\": supported values: bash, zsh, fish\n"},
           {{"simulate"}, "virtgate simulate: the name of a VMI is required; or pass --all\n"},
           {{"simulate", "a", "--phase", "running"},
            "virtgate simulate: --phase: unsupported value \"running\": supported values: Pending, Scheduling, "
            "Scheduled, Running, Succeeded, Failed, Unknown\n"},
       }) {
    const auto outcome = call("virtgate", mistake.words);
    EXPECT_EQ(outcome.code, 2) << mistake.says;
    EXPECT_EQ(outcome.err, mistake.says);
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(ProgramTest, CompletionKnowsEveryCommandAndFlag) {
  for (std::string_view shell : {"bash", "zsh", "fish"}) {
    const auto outcome = call("virtgate", {"completion", shell});
    EXPECT_EQ(outcome.code, 0);
    for (const Command& command : commands()) {
      EXPECT_THAT(outcome.out, HasSubstr(std::string(command.name.substr(command.name.rfind(' ') + 1))));
      const auto takes = describe(command);
      for (const FlagInfo& flag : takes.flags)
        EXPECT_THAT(outcome.out, HasSubstr((shell == "fish" ? "-l " : "--") + flag.name)) << shell;
    }
  }
}

TEST(ProgramTest, PrintsTheRules) {
  const auto all = call("virtgate", {"rules"});
  EXPECT_EQ(all.code, 0);
  EXPECT_THAT(all.out, AllOf(HasSubstr("/migration-validate-create\n  MC04 "), HasSubstr("PF3 ")));
  const auto some = call("virtgate", {"rules", "--grep", "STALL"});
  EXPECT_THAT(some.out, AllOf(HasSubstr("MP03"), ::testing::Not(HasSubstr("MC04"))));
  const auto json = call("virtgate", {"rules", "--grep", "MP03", "-o", "json"});
  EXPECT_EQ(json.out,
            R"([{"webhook":"/migration-policy-validate-create","id":"MP03",)"
            R"("holds":"maxDowntimeMs requires stall detection","field":"spec.maxDowntimeMs","when":"always",)"
            R"("gate":"MigrationStallDetection"}])"
            "\n");
  EXPECT_EQ(call("virtgate", {"rules", "-o", "xml"}).code, 2);
  EXPECT_EQ(call("virtgate", {"rules", "more"}).code, 2);
  EXPECT_EQ(call("virtgate", {"rules", "--help"}).code, 0);
}

TEST(ProgramTest, TellsItsVersion) {
  for (std::string_view name : {"version", "--version"}) {
    auto outcome = call("/usr/bin/virtgate", {name});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out, AllOf(StartsWith("virtgate "), HasSubstr("\nbuilt "), HasSubstr("clang ")));
  }
  EXPECT_THAT(call("virtgate", {"version", "-o", "json"}).out, StartsWith("{\"major\":\"1\""));
}

TEST(ProgramTest, RendersOnlyWhatItCan) {
  EXPECT_EQ(call("virtgate", {"render", "/nowhere"}).code, 2);
  EXPECT_EQ(call("virtgate", {"render", "--as", "pod", "x"}).code, 2);
  EXPECT_EQ(call("virtgate", {"render", "--as", "domain", "/nowhere"}).code, 1);
  EXPECT_THAT(call("virtgate", {"render", "--as", "domain", "a", "b"}).err, HasSubstr("takes one file"));
}

TEST(ProgramTest, ListsActions) {
  auto table = call("virtgate", {"actions"});
  EXPECT_EQ(table.code, 0);
  EXPECT_THAT(table.out,
              AllOf(HasSubstr("virtualmachineinstances\n"), HasSubstr("StartOptions"), HasSubstr("portforward")));
  auto json = call("virtgate", {"actions", "-o", "json"});
  EXPECT_EQ(json.code, 0);
  EXPECT_THAT(json.out, AllOf(StartsWith("[{"),
                              HasSubstr(R"("permissionResource":"virtualmachines/start","permissionVerb":"update"})"),
                              HasSubstr(R"("gate":"ObjectGraph")"), HasSubstr(R"("answers":"a stream")")));
  EXPECT_EQ(call("virtgate", {"actions", "-o", "xml"}).code, 2);
  EXPECT_EQ(call("virtgate", {"actions", "start"}).code, 2);
}

TEST(ProgramTest, ReadsTheFlagsOfVirtApi) {
  const std::vector<std::string_view> operators = {
      "--port", "8443", "--console-server-port", "8186", "--subresources-only", "-v", "2"};
  for (std::string_view program : {"virt-api", "/usr/bin/virt-api"}) {
    auto outcome = call(program, operators);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("KUBERNETES_SERVICE_HOST"));
  }
  EXPECT_EQ(call("virtgate", {"cluster", "--port=8443", "ignored"}).code, 1);
  auto unknown = call("virt-api", {"--nope"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_EQ(unknown.err, "virt-api: unknown flag --nope; see virt-api --help\n");
  EXPECT_EQ(call("virt-api", {"--port", "http"}).code, 2);
  EXPECT_EQ(call("virt-api", {"--guest-networks", "10.0.0.1"}).code, 2);
  EXPECT_EQ(call("virt-api", {"--webhook-allowed-names", "kube-apiserver"}).code, 2) << "without authorities";
  auto help = call("virt-api", {"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out,
              AllOf(HasSubstr("--ca-configmap-name NAME"), HasSubstr("(default 443)"), HasSubstr("kubevirt-ca)")));
}

TEST(ProgramTest, ServeRefusesABadCommandLine) {
  EXPECT_EQ(call("virtgate", {"serve", "--nope"}).code, 2);
  EXPECT_EQ(call("virtgate", {"serve", "--listen", "nowhere"}).code, 2);
  EXPECT_EQ(call("virtgate", {"serve", "--console-server-port", "70000"}).code, 2);
  EXPECT_EQ(call("virtgate", {"serve", "--guest-networks", "10.0.0.0/8,here"}).code, 2);
  auto positional = call("virtgate", {"serve", "now"});
  EXPECT_EQ(positional.code, 2);
  EXPECT_THAT(positional.err, HasSubstr("\"now\""));
  auto help = call("virtgate", {"serve", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("--state DIR"), HasSubstr("(default 127.0.0.1:6443)")));
}

}  // namespace
}  // namespace vg::cmd
