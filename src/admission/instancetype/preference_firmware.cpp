#include "admission/defaults/edit.h"
#include "admission/instancetype/preference.h"

namespace vg::admission {
namespace {

using json::Object;
using std::string_view;

bool wants(const Object& preferred, string_view member) { return json::get_bool_or(preferred, member, false); }

bool is_open(const Object& bootloader) { return !edit::has(bootloader, "bios") && !edit::has(bootloader, "efi"); }

constexpr Preferred bios_rows[] = {{"preferredUseBiosSerial", "useSerial"}};
constexpr Preferred efi_rows[] = {{"preferredUseSecureBoot", "secureBoot"}};

}  // namespace

// The order of the five rules matters: each one finds what those before have settled.
void prefer_firmware(const Object& preferred, Object& domain) {
  Object& bootloader = json::ensure_path(domain, {"firmware", "bootloader"});  // stays, even if empty (K25)
  if (wants(preferred, "preferredUseBios") && is_open(bootloader)) bootloader["bios"].emplace_object();
  if (Object* bios = edit::child(&bootloader, "bios")) fill(preferred, *bios, bios_rows);
  if (const json::Value* efi = json::find(preferred, "preferredEfi"); efi && is_open(bootloader))
    return edit::set_copy(bootloader, "efi", *efi);
  if (wants(preferred, "preferredUseEfi") && is_open(bootloader)) bootloader["efi"].emplace_object();
  if (Object* efi = edit::child(&bootloader, "efi")) fill(preferred, *efi, efi_rows);
}

}  // namespace vg::admission
