#include "program.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

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
    for (std::string_view name : {"serve", "cluster", "check", "render", "rules", "actions", "version"})
      EXPECT_THAT(outcome.out, HasSubstr("\n  " + std::string(name) + " "));
    EXPECT_THAT(outcome.err, IsEmpty());
  }
  EXPECT_EQ(call("virtgate", {}).code, 2);
  EXPECT_THAT(call("virtgate", {}).err, StartsWith("usage: "));
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
            R"("holds":"maxDowntimeMs is set only with stall detection","field":"spec.maxDowntimeMs","when":"always",)"
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
    EXPECT_THAT(outcome.out, StartsWith("virtgate "));
  }
}

TEST(ProgramTest, AnUnknownCommandGetsTheUsage) {
  auto outcome = call("virtgate", {"frobnicate"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("unknown command \"frobnicate\""), HasSubstr("usage: ")));
}

TEST(ProgramTest, KnowsWhatIsToCome) {
  for (std::string_view name : {"check", "render"}) {
    auto outcome = call("virtgate", {name, "x"});
    EXPECT_EQ(outcome.code, 1) << name;
    EXPECT_THAT(outcome.err, HasSubstr("not implemented yet")) << name;
  }
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
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("--nope"), HasSubstr("--tls-cert-file")));
  EXPECT_EQ(call("virt-api", {"--port", "http"}).code, 2);
  EXPECT_EQ(call("virt-api", {"--guest-networks", "10.0.0.1"}).code, 2);
  EXPECT_EQ(call("virt-api", {"--webhook-allowed-names", "kube-apiserver"}).code, 2) << "without authorities";
  auto help = call("virt-api", {"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("--ca-configmap-name NAME"), HasSubstr("(default kubevirt-ca)")));
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
