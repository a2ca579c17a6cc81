// What one review costs from the router's door to the answer's bytes: route, identity, parse, canonical form, answer.
// The network is not in it: the exchange is a stand-in that keeps views and hands over strings.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "auth/identify.h"
#include "base/clock.h"
#include "base/core.h"
#include "base/metrics.h"
#include "http/exchange.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"
#include "server/router.h"
#include "server/webhooks.h"

namespace {

using namespace vg;

// A VirtualMachineInstance as a user writes it, and the whole review as kube-apiserver sends it: about 3 KiB.
constexpr std::string_view review = R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{
"uid":"705ab4f5-6393-11e8-b7cc-42010a800002","kind":{"group":"kubevirt.io","version":"v1","kind":"VirtualMachineInstance"},
"resource":{"group":"kubevirt.io","version":"v1","resource":"virtualmachineinstances"},
"requestKind":{"group":"kubevirt.io","version":"v1","kind":"VirtualMachineInstance"},
"requestResource":{"group":"kubevirt.io","version":"v1","resource":"virtualmachineinstances"},
"name":"sample","namespace":"default","operation":"CREATE",
"userInfo":{"username":"system:serviceaccount:kubevirt:kubevirt-controller","uid":"0c0e2ce2-9f2f-4f5c-8b43-1f3f8f3f3f3f",
"groups":["system:serviceaccounts","system:serviceaccounts:kubevirt","system:authenticated"]},
"object":{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{"name":"sample","namespace":"default",
"labels":{"kubevirt.io/vm":"sample","app":"database","tier":"backend"},
"annotations":{"kubevirt.io/latest-observed-api-version":"v1","kubevirt.io/storage-observed-api-version":"v1"},
"ownerReferences":[{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","name":"sample",
"uid":"7a1f2c9e-1d2b-4a6e-9a64-8e0a6d1b2c3d","controller":true,"blockOwnerDeletion":true}]},
"spec":{"architecture":"amd64","domain":{"cpu":{"cores":4,"sockets":2,"threads":1,"model":"host-model"},
"memory":{"guest":"8Gi"},"machine":{"type":"q35"},"firmware":{"uuid":"5d307ca9-b3ef-428c-8861-06e72d69f223"},
"resources":{"requests":{"cpu":"4","memory":"8Gi"},"limits":{"memory":"9Gi"}},
"features":{"acpi":{"enabled":true},"smm":{"enabled":true}},
"devices":{"disks":[{"name":"root","disk":{"bus":"virtio"},"bootOrder":1},{"name":"data","disk":{"bus":"scsi"},"cache":"none"},
{"name":"cloudinit","disk":{"bus":"virtio"}},{"name":"iso","cdrom":{"bus":"sata","readonly":true}}],
"interfaces":[{"name":"default","masquerade":{},"ports":[{"port":80},{"port":443,"protocol":"TCP"}]},
{"name":"storage","bridge":{},"macAddress":"02:00:00:00:00:01"}],
"rng":{},"networkInterfaceMultiqueue":true}},
"networks":[{"name":"default","pod":{}},{"name":"storage","multus":{"networkName":"storage-net"}}],
"volumes":[{"name":"root","dataVolume":{"name":"sample-root"}},{"name":"data","persistentVolumeClaim":{"claimName":"sample-data"}},
{"name":"cloudinit","cloudInitNoCloud":{"userData":"#cloud-config\nusers:\n- name: admin\n  sudo: ALL=(ALL) NOPASSWD:ALL\n"}},
{"name":"iso","containerDisk":{"image":"registry.example/isos/tools:v1"}}],
"nodeSelector":{"kubernetes.io/arch":"amd64"},"terminationGracePeriodSeconds":180,
"tolerations":[{"key":"dedicated","operator":"Equal","value":"vms","effect":"NoSchedule"}],
"readinessProbe":{"tcpSocket":{"port":22},"initialDelaySeconds":30,"periodSeconds":10},
"evictionStrategy":"LiveMigrate"}},"oldObject":null,"dryRun":false,
"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":"virt-controller"}}})";

struct NoCore final : Core {
  void post(std::move_only_function<void()>) override {}
  Task<void> sleep(std::chrono::milliseconds) override { co_return; }
  unsigned index() const override { return 0; }
  bool here() const override { return true; }
};

class BenchExchange final : public http::Exchange {
 public:
  explicit BenchExchange(std::string_view path, std::string_view body) : body_(body) {
    request_.method = "POST";
    request_.target = request_.path = path;
    request_.headers.add("Host", "127.0.0.1");
    request_.headers.add("Content-Type", "application/json");
    request_.headers.add("Authorization", "Bearer 0123456789abcdefghijklmnopqrstuvwxyz0123456");
    request_.peer = &peer_;
    request_.id = "bench";
  }
  const http::Response& response() const { return response_; }
  const http::Request& request() const override { return request_; }
  Core& core() override { return core_; }
  Task<Result<std::string_view>> read_body(std::size_t) override { co_return body_; }
  void respond(http::Response response) override { response_ = std::move(response); }
  Task<bool> begin_stream(http::Response) override { co_return false; }
  Task<bool> write(std::string_view) override { co_return false; }
  Task<Result<std::unique_ptr<Stream>>> upgrade(http::Response) override { co_return fail(Status::bad_request("no")); }
  bool cancelled() const override { return false; }

 private:
  std::string_view body_;
  http::Peer peer_;
  http::Request request_;
  http::Response response_;
  NoCore core_;
};

void review_through_the_router(benchmark::State& state, std::string_view path, std::string_view body) {
  const auth::Identifier identifier("0123456789abcdefghijklmnopqrstuvwxyz0123456", "admin", {"system:masters"});
  const SystemClock clock;
  metrics::Registry metrics;
  server::Router router({.identifier = identifier,
                         .clock = clock,
                         .metrics = metrics,
                         .fairness = server::TurnKeeper::everybody_at_once()});
  server::add_webhook_routes(router, server::Access::administrators, metrics, admission::offline_environment(), {},
                             server::refuse_nobody());
  BenchExchange exchange(path, body);
  for (auto _ : state) {
    spawn(router.handle(exchange));
    benchmark::DoNotOptimize(exchange.response().body.data());
  }
  if (exchange.response().status != 200 || !exchange.response().body.contains("\"allowed\":true"))
    state.SkipWithError("the review was not allowed");
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * body.size()));
}

BENCHMARK_CAPTURE(review_through_the_router, vmi_validate, "/virtualmachineinstances-validate-create", review);
BENCHMARK_CAPTURE(review_through_the_router, vmi_mutate, "/virtualmachineinstances-mutate", review);

// The bodies that the server is measured with beside nginx.
struct Recorded {
  std::string name, path, body;
};
std::vector<Recorded> recorded_bodies() {
  std::vector<Recorded> all;
  const char* source = std::getenv("VIRTGATE_SOURCE_DIR");
  const std::filesystem::path folder = std::filesystem::path(source ? source : ".") / "bench";
  for (const std::string_view name : {"vmi-validate", "vmi-mutate", "vm-validate", "vm-mutate", "vmi-rich"}) {
    std::ifstream file(folder / (std::string(name) + ".json"));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto document = json::Document::parse(text);
    if (!document) continue;
    all.push_back({.name = fmt::format("recorded/{}", name),
                   .path = std::string(json::get_string_or(document->root(), "path")),
                   .body = json::to_text(*json::find(document->root(), "review"))});
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const auto recorded = recorded_bodies();
  for (const Recorded& one : recorded)
    benchmark::RegisterBenchmark(
        one.name.c_str(), [&one](benchmark::State& state) { review_through_the_router(state, one.path, one.body); });
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
