// What a guest is given to read: images and cloud-init.
#include <array>
#include <set>

#include "offline/warnings/look.h"
#include "offline/warnings/tables.h"

namespace vg::offline {
namespace {

constexpr std::array<std::string_view, 2> cloud_init_sources{"cloudInitNoCloud", "cloudInitConfigDrive"};

// Calls f(volume, source, its object) for each volume of cloud-init.
template <class F>
void for_each_cloud_init(const MachineIn& machine, F&& f) {
  for_each_item(machine, volumes, [&](const ListItem& volume) {
    for (const std::string_view source : cloud_init_sources)
      if (const json::Object* data = json::get_object(volume.object, source)) f(volume, source, *data);
  });
}

// Takes the first line off a text, without its end and the blanks around it.
std::string_view take_line(std::string_view& text) {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return line.substr(0, line.find_last_not_of(" \t\r") + 1);
}

// "registry:5000/a/b" has a port and no tag.
bool is_pinned(std::string_view image) {
  if (image.contains('@')) return true;
  const auto name = image.substr(image.rfind('/') == image.npos ? 0 : image.rfind('/') + 1);
  return name.contains(':') && !name.ends_with(":latest");
}

std::string may_change(std::string_view image) { return fmt::format("\"{}\" may be another image tomorrow", image); }

void look_at_images(const Manifest& manifest, Remarks& found) {
  for_each_item(manifest.machine, volumes, [&](const ListItem& volume) {
    const json::Object* disk = json::get_object(volume.object, "containerDisk");
    const std::string_view image = disk ? json::get_string_or(*disk, "image") : std::string_view();
    if (!image.empty() && !is_pinned(image))
      found.push_back({.field = volume.field("containerDisk.image"), .message = may_change(image)});
  });
  static constexpr std::string_view kernel = "domain.firmware.kernelBoot.container.image";
  const std::string_view image = json::as_string(find_in(manifest.machine, kernel)).value_or("");
  if (!image.empty() && !is_pinned(image)) tell(found, manifest.machine, kernel, may_change(image));
}

bool has_password(std::string_view user_data) {
  while (!user_data.empty()) {
    std::string_view line = take_line(user_data);
    line.remove_prefix(std::min(line.find_first_not_of(" \t-"), line.size()));
    for (const std::string_view key : {"password:", "plain_text_passwd:", "passwd:"})
      if (line.starts_with(key) && line.substr(key.size()).find_first_not_of(" \t\r") != line.npos) return true;
  }
  return false;
}

void look_at_passwords(const Manifest& manifest, Remarks& found) {
  for_each_cloud_init(manifest.machine, [&](const ListItem& volume, std::string_view source, const json::Object& data) {
    if (has_password(json::get_string_or(data, "userData")))
      found.push_back({.field = volume.field(fmt::format("{}.userData", source)),
                       .message = "everybody who may read the VM can read the password"});
  });
}

// What cloud-init goes by when it reads user data; and Ignition, which is JSON.
bool has_header(std::string_view user_data) {
  static constexpr std::array<std::string_view, 10> headers{
      "#cloud-config", "#!",           "#include",      "#cloud-boothook", "#part-handler",
      "## template:",  "#upstart-job", "Content-Type:", "MIME-Version:",   "{"};
  const auto begin = user_data.find_first_not_of(" \t\r\n");
  if (begin == user_data.npos) return true;
  user_data.remove_prefix(begin);
  return std::ranges::any_of(headers, [&](std::string_view header) { return user_data.starts_with(header); });
}

void look_at_headers(const Manifest& manifest, Remarks& found) {
  for_each_cloud_init(manifest.machine, [&](const ListItem& volume, std::string_view source, const json::Object& data) {
    if (!has_header(json::get_string_or(data, "userData")))
      found.push_back({.field = volume.field(fmt::format("{}.userData", source)),
                       .message = "cloud-init ignores it: the first line has no header such as #cloud-config"});
  });
}

// The MAC addresses by which a network configuration finds its interfaces.
std::set<std::string> wanted_addresses(std::string_view network_data) {
  std::set<std::string> wanted;
  while (!network_data.empty()) {
    const std::string_view line = take_line(network_data);
    for (const std::string_view key : {"macaddress:", "mac_address:", "- mac_address:"}) {
      if (!line.starts_with(key)) continue;
      std::string_view value = line.substr(key.size());
      while (!value.empty() && std::string_view(" \t'\"").contains(value.front())) value.remove_prefix(1);
      wanted.insert(usual_address(value.substr(0, value.find_first_of(" \t'\"#"))));
    }
  }
  return wanted;
}

void look_at_network_data(const Manifest& manifest, Remarks& found) {
  std::set<std::string> present;
  for_each_item(manifest.machine, interfaces, [&](const ListItem& item) {
    present.insert(usual_address(json::get_string_or(item.object, "macAddress")));
  });
  for_each_cloud_init(manifest.machine, [&](const ListItem& volume, std::string_view source, const json::Object& data) {
    for (const std::string& address : wanted_addresses(json::get_string_or(data, "networkData")))
      if (!present.contains(address))
        found.push_back({.field = volume.field(fmt::format("{}.networkData", source)),
                         .message = fmt::format("no interface of the VM has the address {}", address)});
  });
}

constexpr std::array guest_data_table = std::to_array<Warning>({
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
    {.id = "WISE-43",
     .title = "User data should begin with what it is",
     .field = "spec.template.spec.volumes[].cloudInitNoCloud.userData",
     .why = "cloud-init goes by the first line. User data without #cloud-config, a script's #! or the like is ignored, "
            "with a line in a log inside of the guest.",
     .advice = "Begin with #cloud-config.",
     .good = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"}},"volumes":[{"name":"init",
       "cloudInitNoCloud":{"userData":"#cloud-config\nhostname: demo\n"}}]})">,
     .bad = vm_of<R"({"domain":{"devices":{},"memory":{"guest":"1Gi"}},"volumes":[{"name":"init",
       "cloudInitNoCloud":{"userData":"hostname: demo\n"}}]})">,
     .look = look_at_headers},
    {.id = "WISE-49",
     .title = "A network configuration should find its interfaces",
     .field = "spec.template.spec.volumes[].cloudInitNoCloud.networkData",
     .why = "It names a MAC address that no interface is given. An address that is not written into the VM is another "
            "one at every start, so nothing is configured.",
     .advice = "Set macAddress of the interface to the same address, or find the interface by its name or driver.",
     .good = vm_of<R"({"domain":{"devices":{"interfaces":[{"name":"default","masquerade":{},
       "macAddress":"02:00:00:00:00:01"}]},"memory":{"guest":"1Gi"}},"networks":[{"name":"default","pod":{}}],
       "volumes":[{"name":"init","cloudInitNoCloud":{"userData":"#cloud-config\n","networkData":
       "version: 2\nethernets:\n  a:\n    match:\n      macaddress: \"02:00:00:00:00:01\"\n    dhcp4: true\n"}}]})">,
     .bad = vm_of<R"({"domain":{"devices":{"interfaces":[{"name":"default","masquerade":{}}]},
       "memory":{"guest":"1Gi"}},"networks":[{"name":"default","pod":{}}],
       "volumes":[{"name":"init","cloudInitNoCloud":{"userData":"#cloud-config\n","networkData":
       "version: 2\nethernets:\n  a:\n    match:\n      macaddress: \"02:00:00:00:00:01\"\n    dhcp4: true\n"}}]})">,
     .look = look_at_network_data},
});

}  // namespace

std::span<const Warning> guest_data_warnings() { return guest_data_table; }

}  // namespace vg::offline
