// The document as a whole: form, limits, hostile VMIs, contexts.
#include "domain/convert.h"

#include "domain/catalogue.h"
#include "domain/derive.h"
#include "domain/testing.h"

namespace vg::domain::testing {
namespace {

TEST(XmlTest, DOM_XML_02_orders_by_the_catalogue) {
  Element disk("disk");
  disk.add("driver").set("type", "raw").set("name", "qemu");
  disk.add("source");
  disk.set("type", "file").set("device", "disk");
  EXPECT_EQ(to_xml(disk),
            "<disk device=\"disk\" type=\"file\">\n"
            "  <source></source>\n"
            "  <driver name=\"qemu\" type=\"raw\"></driver>\n"
            "</disk>\n");
}

TEST(XmlTest, DOM_XML_05_escapes) {
  Element name("name");
  name.set_text("a&b<c>\"d'\t\n\r");
  EXPECT_EQ(to_xml(name), "<name>a&amp;b&lt;c&gt;&#34;d&#39;&#x9;&#xA;&#xD;</name>\n");
}

TEST(XmlTest, EqualNamesKeepTheirOrder) {
  Element cpu("cpu");
  for (const std::string_view name : {"z", "a", "m"}) cpu.add("feature").set("name", name);
  const std::string text = to_xml(cpu);
  EXPECT_LT(text.find("\"z\""), text.find("\"a\""));
  EXPECT_LT(text.find("\"a\""), text.find("\"m\""));
}

TEST(XmlTest, CatalogueKnowsWhatItNames) {
  for (const Shape& shape : catalogue()) {
    const std::string_view parent = shape.element.substr(shape.element.rfind('/') + 1);
    std::string_view rest = shape.children;
    while (!rest.empty()) {
      const auto child = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), child.size() + 1));
      EXPECT_NE(shape_of(parent, child), nullptr) << parent << "/" << child;
    }
  }
  EXPECT_EQ(shape_of("vcpus", "vcpu")->attributes, "id enabled hotpluggable");
  EXPECT_EQ(shape_of("domain", "vcpu")->attributes, "placement");
  EXPECT_EQ(shape_of("domain", "other"), nullptr);
}

TEST(XmlTest, DOM_XML_07_the_whole_vector_V_00) {
  const auto made = converted("{}");
  ASSERT_TRUE(made) << made.error().message;
  const std::string text = to_xml(*made);
  // In the order in which they must stand.
  std::size_t last = 0;
  for (const std::string_view part : {"<domain type=\"kvm\" xmlns:qemu=\"http://libvirt.org/schemas/domain/qemu/1.0\">",
                                      "<name>default_vm1</name>",
                                      "<memory unit=\"b\">1073741824</memory>",
                                      "<maxMemory unit=\"b\" slots=\"0\">4294967296</maxMemory>",
                                      "<os>",
                                      "<sysinfo type=\"smbios\">",
                                      "<devices>",
                                      "<interface type=\"ethernet\">",
                                      "<source></source>",
                                      "<alias name=\"ua-default\"></alias>",
                                      "<rom enabled=\"no\"></rom>",
                                      "<channel",
                                      "<controller",
                                      "<video>",
                                      "<graphics",
                                      "<memballoon",
                                      "<disk device=\"disk\" type=\"file\" model=\"virtio-non-transitional\">",
                                      "<serial",
                                      "<console",
                                      "</devices>",
                                      "<metadata>",
                                      "<features>",
                                      "<cpu mode=\"host-model\">",
                                      "<vcpu placement=\"static\">4</vcpu>",
                                      "<vcpu id=\"3\" enabled=\"no\" hotpluggable=\"yes\"></vcpu>",
                                      "</domain>"}) {
    const auto found = text.find(part, last);
    ASSERT_NE(found, text.npos) << part << "\n" << text;
    last = found;
  }
}

TEST(HostileTest, ControlCharactersAreRefused) {
  for (const std::string_view serial : {R"(a\u0000b)", R"(a\u001bb)", R"(\ufffe)", R"(\uffff)"}) {
    const auto made = converted(
        disk_on(fmt::format(R"("disk":{{"bus":"sata"}},"serial":"{}")", serial), R"("emptyDisk":{"capacity":"1"})"));
    ASSERT_FALSE(made) << serial;
    EXPECT_NE(made.error().message.find("domain/devices/disk/serial"), std::string::npos) << made.error().message;
  }
  EXPECT_TRUE(
      converted(disk_on(R"("disk":{"bus":"sata"},"serial":"tab\tline\nü")", R"("emptyDisk":{"capacity":"1"})")));
  EXPECT_FALSE(converted(R"({"metadata":{"name":"a\u0007"}})"));
}

TEST(HostileTest, NamesStayInTheirFolder) {
  for (const std::string_view patch :
       {R"({"metadata":{"name":"../../etc"}})", R"({"metadata":{"namespace":".."}})", R"({"metadata":{"uid":"a/b"}})",
        R"({"spec":{"volumes":[{"name":"../x","emptyDisk":{"capacity":"1"}}]}})",
        R"({"spec":{"volumes":[{"name":"","emptyDisk":{"capacity":"1"}}]}})",
        R"({"spec":{"domain":{"devices":{"filesystems":[{"name":"..","virtiofs":{}}]}}}})"}) {
    const auto made = converted(patch);
    ASSERT_FALSE(made) << patch;
    EXPECT_NE(made.error().message.find("path"), std::string::npos) << made.error().message;
  }
}

TEST(HostileTest, MessagesAreShortAndSafeOnATerminal) {
  const auto made =
      converted(dev(fmt::format(R"({{"sound":{{"name":"s","model":"\u001b[31m{}"}}}})", std::string(100000, 'x'))));
  ASSERT_FALSE(made);
  EXPECT_LT(made.error().message.size(), 500u);
  EXPECT_FALSE(made.error().message.contains('\x1b'));
}

TEST(HostileTest, ListsThatANumberAsksForAreBounded) {
  EXPECT_TRUE(converted(dom(R"({"cpu":{"maxSockets":4096}})")));
  EXPECT_FALSE(converted(dom(R"({"cpu":{"maxSockets":4294967295}})")));
  EXPECT_FALSE(converted(dom(R"({"cpu":{"maxSockets":65535,"cores":65535,"threads":65535}})")));
  EXPECT_FALSE(converted(
      dom(R"({"ioThreadsPolicy":"supplementalPool","ioThreads":{"supplementalPoolThreadCount":4294967295}})")));
  // Without a list a large number is only a number; products wrap around as upstream's do.
  const auto made = converted(dom(R"({"cpu":{"sockets":65536,"cores":65537,"maxSockets":0}})"));
  ASSERT_TRUE(made);
  EXPECT_EQ(at(*made, "vcpu"), "65536");
}

TEST(HostileTest, AnEmptyVmiIsConvertedOrRefused) {
  auto document = json::Document::parse(R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance"})");
  ASSERT_TRUE(
      api::canonicalize(document->root(), *api::find_kind("kubevirt.io", "v1", "VirtualMachineInstance")->type));
  const Vmi vmi(document->root());
  const auto context = derive(vmi);
  ASSERT_TRUE(context);
  const auto made = convert(vmi, *context);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(at(*made, "name"), "_");
}

TEST(ContextTest, PathsCanBeOfANode) {
  const auto made = converted("{}", "{}", [](DomainContext& c) {
    c.paths.set(Path::overlay, "/state/{volume}/disk.qcow2");
    c.paths.set(Path::vnc, "/run/{namespace}/{name}/{uid}/virt-vnc");
    c.paths.set(Path::serial, "/broken/{");
  });
  ASSERT_TRUE(made);
  EXPECT_EQ(at(*made, "devices/disk/source@file"), "/state/root/disk.qcow2");
  EXPECT_EQ(at(*made, "devices/graphics/listen@socket"), "/run/default/vm1/U/virt-vnc");
  EXPECT_EQ(at(*made, "devices/serial/source@path"), "/broken/{");
}

TEST(ContextTest, NetworkAndEmulatorCanBeOfANode) {
  const auto made = converted("{}", "{}", [](DomainContext& c) {
    c.tap_type = "user";
    c.tap_back_end = "passt";
    c.emulator = "/opt/qemu";
  });
  ASSERT_TRUE(made);
  EXPECT_EQ(at(*made, "devices/interface@type"), "user");
  EXPECT_EQ(at(*made, "devices/interface/backend@type"), "passt");
  EXPECT_EQ(at(*made, "devices/interface/rom@enabled"), "no");
  EXPECT_EQ(at(*made, "devices/interface/alias@name"), "ua-default");
  EXPECT_EQ(at(*made, "devices/emulator"), "/opt/qemu");
}

TEST(ContextTest, BaseNamesAreThoseOfGo) {
  EXPECT_EQ(base_name("/a/b"), "b");
  EXPECT_EQ(base_name("/a/b//"), "b");
  EXPECT_EQ(base_name("b"), "b");
  EXPECT_EQ(base_name(""), ".");
  EXPECT_EQ(base_name("///"), "/");
}

TEST(ContextTest, DOM_CTX_06a_looks_for_files) {
  const auto document = vmi_with(dom(R"({"firmware":{"bootloader":{"efi":{"secureBoot":false}}}})"));
  const Vmi vmi(document.root());
  Settings settings;
  settings.rom_folder = "/roms";
  settings.rom_exists = [](const std::string& path) { return !path.contains("secboot"); };
  const auto efi = select_firmware(vmi, "amd64", settings);
  ASSERT_TRUE(efi && *efi);
  EXPECT_EQ((*efi)->code, "/roms/OVMF_CODE.fd");
  settings.rom_exists = [](const std::string&) { return false; };
  EXPECT_FALSE(select_firmware(vmi, "amd64", settings));
}

TEST(ContextTest, DOM_CTX_08_knows_plugins) {
  const auto document = vmi_with(dev(
      R"({"interfaces":[{"name":"a","binding":{"name":"managed"}},{"name":"b","binding":{"name":"other"}},{"name":"c","sriov":{}}]})"));
  const Vmi vmi(document.root());
  Settings settings;
  settings.plugin_attachments = {{"managed", "managedTap"}};
  const auto context = derive(vmi, settings);
  ASSERT_TRUE(context);
  EXPECT_EQ(context->domain_attachment, (ByName<std::string>{{"a", "tap"}}));
}

TEST(ContextTest, RootAndOthersKeepFilesElsewhere) {
  const auto nvram = [](std::string_view patch) {
    const auto document = vmi_with(patch);
    return derive(Vmi(document.root()))->paths.at(Path::nvram, {{"name", "n"}});
  };
  EXPECT_EQ(nvram("{}"), "/var/run/kubevirt-private/libvirt/qemu/nvram/n_VARS.fd");
  EXPECT_EQ(nvram(R"({"status":{"runtimeUser":0}})"), "/var/lib/libvirt/qemu/nvram/n_VARS.fd");
  EXPECT_EQ(nvram(R"({"status":null,"metadata":{"annotations":{"kubevirt.io/nonroot":""}}})"),
            "/var/run/kubevirt-private/libvirt/qemu/nvram/n_VARS.fd");
}

TEST(ContextFileTest, SaysWhatItDoesNotTake) {
  const auto document = vmi_with("{}");
  const Vmi vmi(document.root());
  const auto told = [&](std::string_view file) {
    const auto parsed = json::Document::parse(file);
    const auto context = read_context(vmi, parsed->root());
    return context ? std::string("taken") : context.error().message;
  };
  EXPECT_EQ(told("{}"), "taken");
  EXPECT_EQ(told("[]"), "the context must be an object");
  EXPECT_TRUE(told(R"({"kvmm":true})").starts_with("unknown member \"kvmm\" of the context; supported are "));
  for (const std::string_view wrong :
       {R"({"kvm":1})", R"({"blockVolumes":{}})", R"({"blockVolumes":[1]})", R"({"cpuSet":"1"})", R"({"cpuSet":[-1]})",
        R"({"topology":[]})", R"({"topology":{"numa_cells":[{"id":-1}]}})",
        R"({"topology":{"numa_cells":[{"cpus":[{"id":1,"siblings":["a"]}]}]}})", R"({"memBalloonStatsPeriod":-1})",
        R"({"domainAttachment":{"a":1}})", R"({"smbios":"x"})", R"({"hypervisor":1})", R"({"launcherVerbosity":"6"})"})
    EXPECT_TRUE(told(wrong).contains(" of the context must be ")) << wrong << told(wrong);
}

TEST(ContextFileTest, CpusAreBounded) {
  const auto document = vmi_with("{}");
  std::string cpus = "0";
  for (int i = 0; i < 70000; ++i) cpus += ",1";
  const auto parsed = json::Document::parse(fmt::format(R"({{"cpuSet":[{}]}})", cpus));
  EXPECT_FALSE(read_context(Vmi(document.root()), parsed->root()));
}

}  // namespace
}  // namespace vg::domain::testing
