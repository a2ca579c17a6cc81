// Every limit of the server, with its reason. A number that bounds input, memory or waiting stands here or nowhere.
// Names end with their unit; times carry theirs in their type.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace vg::limits {

inline constexpr std::size_t kib = 1024;
inline constexpr std::size_t mib = 1024 * kib;

// --- connections ----------------------------------------------------------------------------------------------------

// A front proxy holds few connections, users of serve hold one or two per command and one per watch. More than this is
// a leak or an attack, and each connection costs its TLS state (about 15 KiB) even when idle.
inline constexpr std::size_t connections_max = 16384;
// What the kernel may hold for us while all cores are busy.
inline constexpr int listen_backlog_connections = 1024;
// A connection that opens with silence costs a handshake's memory; honest clients send at once.
inline constexpr std::chrono::seconds handshake_deadline{10};
// From the first byte of a request to the end of its header. Stops clients that drip bytes.
inline constexpr std::chrono::seconds header_deadline{10};
// For a whole body: 8 MiB at 140 KiB/s, slower than any link a control plane runs on.
inline constexpr std::chrono::seconds body_deadline{60};
// The time a client may take to read before a write gives up. A watch that stalls this long must list again anyway.
inline constexpr std::chrono::seconds write_deadline{60};
// Between requests. Longer than the 90 s after which Go's clients drop an idle connection, so that the client closes
// first and never sends a request into a closing connection.
inline constexpr std::chrono::seconds idle_deadline{120};
// How long a stopping server waits for running requests; the rest of a pod's 30 s grace goes to streams and the store.
inline constexpr std::chrono::seconds drain_deadline{20};
// Requests that one client may send ahead on one connection; they are answered one after the other, so more would only
// fill memory.
inline constexpr std::size_t pipelined_requests_max = 16;

// --- request heads --------------------------------------------------------------------------------------------------

// Go's default is 1 MiB. A front proxy forwards every group of a user as a header field; a thousand groups of 100 bytes
// and as much again of extras still fit here. Buffers grow only when a request needs it.
inline constexpr std::size_t header_bytes_max = 256 * kib;
inline constexpr std::size_t header_fields_max = 2048;
// Selectors and continue tokens travel in the target. Proxies on the way rarely pass more than 8 KiB.
inline constexpr std::size_t target_bytes_max = 16 * kib;
inline constexpr std::size_t query_parameters_max = 256;
// The line before the chunks of a chunked body: a hexadecimal length and extensions that nobody uses.
inline constexpr std::size_t chunk_line_bytes_max = 256;

// --- bodies ---------------------------------------------------------------------------------------------------------

// What kube-apiserver takes for one object or patch.
inline constexpr std::size_t object_body_bytes_max = 3 * mib;
// How many who updated an object are told apart in its managedFields, and how long a manager's name may be; both as in
// Kubernetes.
inline constexpr std::size_t update_managers_max = 10;
inline constexpr std::size_t field_manager_bytes_max = 128;
// An admission review carries an object and the one before it, each up to the limit above, and its envelope.
inline constexpr std::size_t body_bytes_max = 8 * mib;
// What etcd takes for one object. The embedded store keeps the same limit so that no object exists in one mode only.
inline constexpr std::size_t stored_object_bytes_max = 1536 * kib;
// Answers of kube-apiserver and of nodes. A list of all machines of a large cluster is the largest: 10000 * 20 KiB.
inline constexpr std::size_t client_answer_bytes_max = 256 * mib;
// A VNC screenshot is the largest answer that a node gives to one call; the rest are small JSON documents.
inline constexpr std::size_t node_answer_bytes_max = 64 * mib;
// What upstream waits for a node is 10 s, after which the node goes on all the same: freezing and backing up a large
// guest takes longer.
inline constexpr std::chrono::seconds node_answer_deadline{30};
inline constexpr std::chrono::seconds client_connect_deadline{10};
// kube-apiserver gives up on a webhook after 30 s at most, and on its own requests after 60 s.
inline constexpr std::chrono::seconds client_answer_deadline{60};

// --- JSON and patches -----------------------------------------------------------------------------------------------

// The deepest path of a VirtualMachine is below 20; Go's decoder gives up at 10000, and recursion needs stack.
inline constexpr std::size_t json_depth_max = 128;
// kube-apiserver's limit for the operations of one JSON patch.
inline constexpr std::size_t patch_operations_max = 10000;
// A patch may copy a subtree onto itself again and again; this bounds what the copies of one patch may add.
inline constexpr std::size_t patch_copy_bytes_max = 3 * mib;
// A JSON pointer that no object can satisfy need not be parsed.
inline constexpr std::size_t json_pointer_bytes_max = 16 * kib;

// --- expressions in plugins -----------------------------------------------------------------------------------------

// What the reference implementation of CEL takes, in characters; real conditions are a line.
inline constexpr std::size_t cel_expression_bytes_max = 100000;
// Levels of brackets and operators, as in the reference implementation. Checking recurses.
inline constexpr std::size_t cel_depth_max = 250;
// Comparisons of types while one plugin is checked. A line takes a few hundred; types that double with every step of an
// expression would take for ever.
inline constexpr std::size_t cel_steps_max = 1000000;
// Types inside types: a level of the expression adds at most a few.
inline constexpr std::size_t cel_type_levels_max = 2000;

// --- what rules look up ----------------------------------------------------------------------------------------------

// Text of the objects of one list that a rule reads (presets, restores, backups, migrations of a machine): some
// thousands of them. In memory values take about four times as much, for as long as the request lasts.
inline constexpr std::size_t lookup_list_bytes_max = 16 * mib;

// --- answers --------------------------------------------------------------------------------------------------------

// A refusal lists every cause in details but only so many in its one-line message, which terminals show.
inline constexpr std::size_t causes_in_message_max = 10;
// An object made to fail many rules must not produce an answer larger than itself.
inline constexpr std::size_t causes_max = 1000;
// Page of a list when the client asks for none is unlimited, as upstream; a client may not ask for more than this.
inline constexpr std::size_t list_page_objects_max = 10000;

// --- streams and watches --------------------------------------------------------------------------------------------

// Console, VNC, port-forward and other streams at once: each holds two connections and two buffers.
inline constexpr std::size_t streams_max = 2048;
inline constexpr std::size_t stream_buffer_bytes = 32 * kib;
// Upstream's console and VNC clients send frames of at most a buffer (32 KiB); guests' clipboards may be larger.
inline constexpr std::size_t websocket_frame_bytes_max = 1 * mib;
inline constexpr std::size_t websocket_message_bytes_max = 4 * mib;
// Keeps idle consoles alive through load balancers, most of which cut after 60 s of silence.
inline constexpr std::chrono::seconds websocket_ping_interval{30};
inline constexpr std::chrono::seconds websocket_close_deadline{5};
inline constexpr std::size_t watches_max = 4096;
// Events that wait for one slow watcher. Beyond it the watch ends and its client lists again, as with kube-apiserver.
inline constexpr std::size_t watch_backlog_events_max = 1000;
inline constexpr std::size_t watch_backlog_bytes_max = 16 * mib;
// Events kept for watches that resume at an older resource version; older ones get 410 Expired.
inline constexpr std::size_t watch_history_events_max = 10000;
// Bookmarks keep the resume point of quiet watches fresh; kube-apiserver sends them about once a minute.
inline constexpr std::chrono::seconds watch_bookmark_interval{60};
// kube-apiserver ends a watch after 30 to 60 minutes when its client names no time.
inline constexpr std::chrono::seconds watch_timeout_default{30 * 60};
inline constexpr std::chrono::seconds watch_timeout_max{60 * 60};

// --- names, selectors, quantities -----------------------------------------------------------------------------------

// RFC 1123 and RFC 1035 as Kubernetes reads them.
inline constexpr std::size_t dns_label_bytes_max = 63;
inline constexpr std::size_t dns_subdomain_bytes_max = 253;
inline constexpr std::size_t qualified_name_bytes_max = 63;
inline constexpr std::size_t label_value_bytes_max = 63;
// All keys and values of an object's annotations together.
inline constexpr std::size_t annotations_bytes_max = 256 * kib;
// A selector arrives in the request target, so it can never be longer than that.
inline constexpr std::size_t selector_bytes_max = target_bytes_max;
inline constexpr std::size_t selector_requirements_max = 256;
inline constexpr std::size_t selector_values_max = 1024;
// The longest sensible quantity has 19 digits; the rest is room for silly but harmless spellings. The digits are fewer
// than the bytes so that a canonical form, which may be a little longer than its source, can always be read again.
inline constexpr std::size_t quantity_bytes_max = 128;
inline constexpr std::size_t quantity_digits_max = 100;
// 1e1000000000 is eleven bytes of text and a gigabyte of number.
inline constexpr int quantity_exponent_max = 1000;
inline constexpr std::size_t duration_bytes_max = 128;
// Certificates, keys, kubeconfigs, tokens and configuration: the largest real ones (CA bundles) stay below 1 MiB.
inline constexpr std::size_t config_file_bytes_max = 4 * mib;
inline constexpr std::size_t base64_bytes_max = 16 * mib;

// --- log and metrics ------------------------------------------------------------------------------------------------

// Container runtimes split longer lines (at 16 KiB), which would break a JSON object in two.
inline constexpr std::size_t log_line_bytes_max = 16 * kib - 1;
inline constexpr std::size_t log_fields_max = 32;
inline constexpr std::size_t log_key_bytes_max = 64;
// Label values come from request paths, so a client could make series without end.
inline constexpr std::size_t metric_series_max = 20000;
inline constexpr std::size_t metric_label_value_bytes_max = 256;

}  // namespace vg::limits
