// What an import is told (spec storage 5.1, 5.3), on the function that reads it.
#include "controllers/storage/import_work.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/storage/storage_testing.h"

namespace vg::controllers::storage {
namespace {

constexpr std::string_view prefix = "cdi.kubevirt.io/storage.import.";

// A claim whose annotations are `members`, with the prefix before each name.
std::string marked(std::string_view source,
                   std::initializer_list<std::pair<std::string_view, std::string_view>> marks) {
  std::string text = fmt::format(R"({{"{}source":"{}","{}endpoint":"URL")", prefix, source, prefix);
  for (const auto& [name, value] : marks) text += fmt::format(R"(,"{}{}":"{}")", prefix, name, value);
  return text + "}";
}

struct ImportRow {
  const char* id;
  std::string marks;
  const char* expected;  // what it waits for, or what was made of it
};

void put_secrets(StorageWorld& world) {
  world.put(
      "secrets",
      R"({"metadata":{"name":"login","namespace":"ns"},"data":{"accessKeyId":"dXNlcg==","secretKey":"cGFzcw=="}})");
  world.put("secrets", R"({"metadata":{"name":"headers","namespace":"ns"},"data":{"x":"WDogMQ==","y":"bm9uZQ=="}})");
  world.put("secrets", R"({"metadata":{"name":"elsewhere","namespace":"other"},"data":{"accessKeyId":"dQ=="}})");
  world.put("configmaps", R"({"metadata":{"name":"ca","namespace":"ns"},
      "data":{".hidden":"H","any":"A","b.crt":"B","c.pem":"C"}})");
  world.put(cdi_configs, R"({"metadata":{"name":"config"},"spec":{"insecureRegistries":["plain:5000"]}})");
}

std::string told(const ImportHttp& work) {
  return fmt::format("{}:{} [{}] {} {}", work.user, work.password, fmt::join(work.headers, "|"), work.authorities,
                     work.insecure);
}
std::string told(const ImportRegistry& work) {
  return fmt::format("{}:{} {} {} {}", work.user, work.password, work.architecture, work.authorities, work.insecure);
}

template <class Work>
void check_imports(std::initializer_list<ImportRow> rows) {
  for (const ImportRow& row : rows) {
    SCOPED_TRACE(row.id);
    StorageWorld world;
    put_secrets(world);
    world.claim(row.marks, "Bound");
    const TestWorld& inside = world;
    const auto work = import_work(inside, world.stored(kinds::claim), {.size = gib});
    EXPECT_EQ(work ? told(std::get<Work>(*work)) : work.error(), row.expected);
  }
}

TEST(ImportWork, OfAWebServer) {
  check_imports<ImportHttp>({
      {"DV-81, nobody", marked("http", {}), ": []  false"},
      {"DV-81", marked("http", {{"secretName", "login"}}), "user:pass []  false"},
      {"DV-81, missing", marked("http", {{"secretName", "gone"}}), "secret \"gone\" not found"},
      {"DV-81, of another namespace", marked("http", {{"secretName", "elsewhere"}}), "secret \"elsewhere\" not found"},
      {"DV-81, missing", marked("http", {{"certConfigMap", "gone"}}), "configmap \"gone\" not found"},
      {"DV-82", marked("http", {{"certConfigMap", "ca"}}), ": [] A\nB\nC\n false"},
      {"DV-82", marked("http", {{"insecureSkipVerify", "true"}}), ": []  true"},
      {"DV-83",
       marked("http", {{"extraHeaders.0", "A: b:c"}, {"extraHeaders.1", "no colon"}, {"extraHeaders.2", "D:"}}),
       ": [A: b:c|D:]  false"},
      {"DV-83, an empty one", marked("http", {{"extraHeaders.0", ""}, {"extraHeaders.1", "A: b"}}), ": [A: b]  false"},
      {"DV-83, of a secret", marked("http", {{"extraHeaders.0", "A: b"}, {"secretExtraHeaders.0", "headers"}}),
       ": [A: b|X: 1]  false"},
      {"DV-83, of a secret that is missing", marked("http", {{"secretExtraHeaders.0", "gone"}}),
       "secret \"gone\" not found"},
  });
}

TEST(ImportWork, OfARegistry) {
  const auto at = [](std::string_view url, std::string marks) { return marks.replace(marks.find("URL"), 3, url); };
  check_imports<ImportRegistry>({
      {"DV-95", at("docker://quay.io/a", marked("registry", {{"secretName", "login"}})), "user:pass   false"},
      {"DV-95, keys of authorities", at("docker://quay.io/a", marked("registry", {{"certConfigMap", "ca"}})),
       ":  B\nC\n false"},
      {"DV-95, an insecure registry", at("docker://plain:5000/a:1", marked("registry", {})), ":   true"},
      {"DV-95, another port", at("docker://plain:5001/a:1", marked("registry", {})), ":   false"},
      {"DV-97", at("docker://quay.io/a", marked("registry", {{"registryImageArchitecture", "arm64"}})),
       ": arm64  false"},
  });
}

}  // namespace
}  // namespace vg::controllers::storage
