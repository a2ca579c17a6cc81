#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

constexpr Example dns_example_rows[] = {
    {"DNS-02", vmi, R"({"object":{"spec":{"dnsPolicy":"None","dnsConfig":{"nameservers":["10.0.0.1"]}}}})",
     R"({"object":{"spec":{"dnsPolicy":"None"}}})", "FieldValueRequired spec.dnsConfig"},
    {"DNS-03", vmi, R"({"object":{"spec":{"dnsPolicy":"Default","dnsConfig":{}}}})",
     R"({"object":{"spec":{"dnsPolicy":"None","dnsConfig":{"searches":["a"]}}}})", "FieldValueRequired nameservers"},
    {"DNS-04", vmi, R"({"object":{"spec":{"dnsConfig":{"nameservers":["::1","1.1.1.1","8.8.8.8"]}}}})",
     R"({"object":{"spec":{"dnsConfig":{"nameservers":["::1","1.1.1.1","8.8.8.8","9.9.9.9"]}}}})",
     "FieldValueInvalid nameservers"},
    {"DNS-05", vmi, R"({"object":{"spec":{"dnsConfig":{"nameservers":["010.001.002.003"]}}}})",
     R"({"object":{"spec":{"dnsConfig":{"nameservers":["fe80::1%eth0"]}}}})", "FieldValueInvalid nameservers"},
    {"DNS-06", vmi, R"({"object":{"spec":{"dnsConfig":{"searches":["a","b","c","d","e","f"]}}}})",
     R"({"object":{"spec":{"dnsConfig":{"searches":["a","b","c","d","e","f","g"]}}}})",
     "FieldValueInvalid searchDomains"},
    {"DNS-07", vmi, R"({"object":{"spec":{"dnsConfig":{"searches":["example.com"]}}}})",
     R"({"object":{"spec":{"dnsConfig":{"searches":[
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
         "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"]}}}})",
     "FieldValueInvalid searchDomains"},
    {"DNS-08", vmi, R"({"object":{"spec":{"dnsConfig":{"searches":["svc.cluster.local"]}}}})",
     R"({"object":{"spec":{"dnsConfig":{"searches":["a."]}}}})", "FieldValueInvalid searchDomains"},
    {"DNS-09", vmi, R"({"object":{"spec":{"dnsConfig":{"options":[{"name":"ndots"}]}}}})",
     R"({"object":{"spec":{"dnsConfig":{"options":[{"value":"2"}]}}}})", "FieldValueInvalid options"},
};

}  // namespace

std::span<const Example> dns_examples() { return dns_example_rows; }

}  // namespace vg::admission
