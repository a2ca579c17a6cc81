#include "offline/warnings.h"

#include <fmt/format.h>

#include <array>

#include "json/access.h"
#include "offline/machine_place.h"

namespace vg::offline {
namespace {

// Calls f(volume, path) for each volume of a machine.
template <class F>
void for_each_volume(const json::Object& object, F&& f) {
  const MachineIn machine = machine_in(object);
  const json::Array* volumes = machine.spec ? json::get_array(*machine.spec, "volumes") : nullptr;
  for (std::size_t i = 0; volumes && i < volumes->size(); ++i)
    if (const json::Object* volume = (*volumes)[i].if_object())
      f(*volume, fmt::format("{}.volumes[{}]", machine.path, i));
}

// "registry:5000/a/b" has a port and no tag.
bool is_pinned(std::string_view image) {
  if (image.contains('@')) return true;
  const auto name = image.substr(image.rfind('/') == image.npos ? 0 : image.rfind('/') + 1);
  return name.contains(':') && !name.ends_with(":latest");
}

void look_at_images(const json::Object& object, Remarks& found) {
  for_each_volume(object, [&](const json::Object& volume, const std::string& path) {
    const json::Object* disk = json::get_object(volume, "containerDisk");
    const std::string_view image = disk ? json::get_string_or(*disk, "image") : std::string_view();
    if (image.empty() || is_pinned(image)) return;
    found.push_back({.field = path + ".containerDisk.image",
                     .message = fmt::format("\"{}\" may be another image tomorrow", image)});
  });
}

bool has_password(std::string_view user_data) {
  while (!user_data.empty()) {
    std::string_view line = user_data.substr(0, user_data.find('\n'));
    user_data.remove_prefix(std::min(line.size() + 1, user_data.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t-"), line.size()));
    for (const std::string_view key : {"password:", "plain_text_passwd:", "passwd:"})
      if (line.starts_with(key) && line.substr(key.size()).find_first_not_of(" \t\r") != line.npos) return true;
  }
  return false;
}

void look_at_passwords(const json::Object& object, Remarks& found) {
  for_each_volume(object, [&](const json::Object& volume, const std::string& path) {
    for (const std::string_view source : {"cloudInitNoCloud", "cloudInitConfigDrive"}) {
      const json::Object* cloud_init = json::get_object(volume, source);
      if (cloud_init && has_password(json::get_string_or(*cloud_init, "userData")))
        found.push_back({.field = fmt::format("{}.{}.userData", path, source),
                         .message = "everybody who may read the VM can read the password"});
    }
  });
}

void look_at_grace_period(const json::Object& object, Remarks& found) {
  const MachineIn machine = machine_in(object);
  if (machine.spec && json::get_int(*machine.spec, "terminationGracePeriodSeconds") == 0)
    found.push_back({.field = machine.path + ".terminationGracePeriodSeconds",
                     .message = "the guest is cut off whenever the VM is stopped or deleted"});
}

constexpr std::array table = std::to_array<Warning>({
    {.id = "WISE-01",
     .title = "The image of a container disk should have a fixed version",
     .field = "spec.template.spec.volumes[].containerDisk.image",
     .why =
         "Without a tag, or with the tag latest, a restart or a migration may find another image than the one before.",
     .advice = "Name a tag that is not moved, or a digest (image@sha256:...).",
     .good = R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"demo"},"spec":{
       "runStrategy":"Always","template":{"spec":{"domain":{"devices":{},"memory":{"guest":"1Gi"}},"volumes":[
       {"name":"root","containerDisk":{"image":"registry.example:5000/fedora:42"}}]}}}})",
     .bad = R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"demo"},"spec":{
       "runStrategy":"Always","template":{"spec":{"domain":{"devices":{},"memory":{"guest":"1Gi"}},"volumes":[
       {"name":"root","containerDisk":{"image":"registry.example:5000/fedora"}}]}}}})",
     .look = look_at_images},
    {.id = "WISE-02",
     .title = "Passwords should stand in a Secret",
     .field = "spec.template.spec.volumes[].cloudInitNoCloud.userData",
     .why = "Whoever may read VMs reads them as well, and manifests are kept in many places.",
     .advice = "Put the user data into a Secret and name it in secretRef.",
     .good = R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"demo"},"spec":{
       "runStrategy":"Always","template":{"spec":{"domain":{"devices":{},"memory":{"guest":"1Gi"}},"volumes":[
       {"name":"init","cloudInitNoCloud":{"secretRef":{"name":"demo-init"}}}]}}}})",
     .bad = R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"demo"},"spec":{
       "runStrategy":"Always","template":{"spec":{"domain":{"devices":{},"memory":{"guest":"1Gi"}},"volumes":[
       {"name":"init","cloudInitNoCloud":{"userData":"#cloud-config\npassword: fedora\n"}}]}}}})",
     .look = look_at_passwords},
    {.id = "WISE-03",
     .title = "A guest should have time to shut down",
     .field = "spec.template.spec.terminationGracePeriodSeconds",
     .why = "With 0 seconds every stop is a power failure for the guest: what it has not written yet is lost.",
     .advice = "Leave it out (30 seconds), or give the guest the time that it needs.",
     .good = R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"demo"},"spec":{
       "runStrategy":"Always","template":{"spec":{"domain":{"devices":{},"memory":{"guest":"1Gi"}},
       "terminationGracePeriodSeconds":180}}}})",
     .bad = R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"demo"},"spec":{
       "runStrategy":"Always","template":{"spec":{"domain":{"devices":{},"memory":{"guest":"1Gi"}},
       "terminationGracePeriodSeconds":0}}}})",
     .look = look_at_grace_period},
});

}  // namespace

std::span<const Warning> warnings() { return table; }

}  // namespace vg::offline
