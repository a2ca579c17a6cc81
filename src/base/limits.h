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
// Of an Accept header; no client sends that many, and those beyond it are not read.
inline constexpr std::size_t accept_clauses_max = 32;
// The longest registered method has 17 letters.
inline constexpr std::size_t method_bytes_max = 32;
// Some old clients end a body with an extra CRLF, which then stands before the next request.
inline constexpr int blank_lines_max = 2;
// Of one body's chunk lines together: a body of one-byte chunks is an attack.
inline constexpr std::size_t chunk_overhead_bytes_max = 16 * kib;
// A continue token is a revision, a namespace and a name. What is longer needs no look.
inline constexpr std::size_t continue_token_chars_max = 4096;

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
// Of a refused upgrade: Go's clients look at the first 1024 bytes, so servers keep it short.
inline constexpr std::size_t upgrade_refusal_bytes_max = 4 * kib;
// Of a refused handshake: enough to say why.
inline constexpr std::size_t node_refusal_bytes_max = 1024;
// What a handler left of a request's body is read and dropped up to this, to keep the connection; more is cut off.
inline constexpr std::uint64_t discarded_body_bytes_max = 256 * kib;
// What is read and dropped after the last answer, so that the client can read it before the connection ends.
inline constexpr std::size_t lingered_bytes_max = 1 * mib;

// --- JSON and patches -----------------------------------------------------------------------------------------------

// The deepest path of a VirtualMachine is below 20; Go's decoder gives up at 10000, and recursion needs stack.
inline constexpr std::size_t json_depth_max = 128;
// kube-apiserver's limit for the operations of one JSON patch.
inline constexpr std::size_t patch_operations_max = 10000;
// A patch may copy a subtree onto itself again and again; this bounds what the copies of one patch may add.
inline constexpr std::size_t patch_copy_bytes_max = 3 * mib;
// A JSON pointer that no object can satisfy need not be parsed.
inline constexpr std::size_t json_pointer_bytes_max = 16 * kib;
// Every insertion into an array moves the elements behind it, and 10000 operations on one huge array add up. This
// bounds the moved and visited values of one patch: about 50 ms, a thousand times what real patches need.
inline constexpr std::size_t patch_steps_max = 10'000'000;
// A patch may name the same element of a list again and again, and each time everything in a list below it is looked
// at. This bounds what one patch may look at, far more than a patch that names each element once.
inline constexpr std::size_t strategic_patch_steps_max = 200'000;
// Names that stand twice in an object and are told; as many as kube-apiserver reports.
inline constexpr std::size_t json_duplicates_told_max = 100;

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
// kube-apiserver also stops somewhere; whoever sends an object with a thousand unknown fields has seen enough.
inline constexpr std::size_t warnings_max = 50;
inline constexpr std::size_t warning_bytes_max = 256;
// Up to here a list in protobuf is made once and sent as a whole. Pages of clients that ask for pages are shorter.
inline constexpr std::size_t protobuf_kept_bytes_max = 1024 * 1024;

// --- streams and watches --------------------------------------------------------------------------------------------

// Console, VNC, port-forward and other streams at once: each holds two connections and two buffers.
inline constexpr std::size_t streams_max = 2048;
inline constexpr std::size_t stream_buffer_bytes = 32 * kib;
// Upstream's clients send messages of at most a buffer (32 KiB).
inline constexpr std::size_t websocket_message_bytes_max = 4 * mib;
// Keeps idle consoles alive through load balancers, most of which cut after 60 s of silence.
inline constexpr std::chrono::seconds websocket_ping_interval{30};
inline constexpr std::chrono::seconds websocket_close_deadline{5};
inline constexpr std::size_t watches_max = 4096;
// Bookmarks keep the resume point of quiet watches fresh; kube-apiserver sends them about once a minute.
inline constexpr std::chrono::seconds watch_bookmark_interval{60};
// kube-apiserver ends a watch after 30 to 60 minutes when its client names no time.
inline constexpr std::chrono::seconds watch_timeout_default{30 * 60};
inline constexpr std::chrono::seconds watch_timeout_max{60 * 60};
// After one side's last word the other one reads it and ends by itself; who does not is cut off.
inline constexpr std::chrono::seconds stream_last_word_deadline{2};
// What a watch waits at most before it is told more, where there are many.
inline constexpr std::chrono::milliseconds watch_spacing_max{100};

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
// RFC 6335.
inline constexpr std::size_t port_name_bytes_max = 15;
// The longest IPv6 text has 45 characters; leading zeros may make sloppy text longer.
inline constexpr std::size_t ip_bytes_max = 128;
// An RFC 3339 time. The fraction may have any number of digits, but no sensible writer comes near this.
inline constexpr std::size_t time_bytes_max = 128;

// --- log and metrics ------------------------------------------------------------------------------------------------

// Container runtimes split longer lines (at 16 KiB), which would break a JSON object in two.
inline constexpr std::size_t log_line_bytes_max = 16 * kib - 1;
inline constexpr std::size_t log_fields_max = 32;
// Lines that wait because stderr takes none: as many as say what is wrong.
inline constexpr std::size_t log_waiting_bytes_max = 1 * mib;
inline constexpr std::size_t log_key_bytes_max = 64;
// Label values come from request paths, so a client could make series without end.
inline constexpr std::size_t metric_series_max = 20000;
inline constexpr std::size_t metric_label_value_bytes_max = 256;
// Of one text in the audit log: user names and paths come from requests.
inline constexpr std::size_t audit_text_bytes_max = 512;
inline constexpr std::size_t audit_groups_max = 32;  // of one user
// Whom lines of the audit log are counted for. Names come from requests. Longer ones that begin alike share a bucket.
inline constexpr std::size_t audit_subject_bytes_max = 300;
// A URL in the log: what tells one request from another stands at its beginning.
inline constexpr std::size_t logged_url_bytes_max = 2048;
// Of a request's id and path that are remembered in case it stops its event loop.
inline constexpr std::size_t watchdog_id_bytes_max = 32;
inline constexpr std::size_t watchdog_path_bytes_max = 96;
// Lines of the audit log that wait to be written, and while the disk refuses.
inline constexpr std::size_t audit_buffer_bytes_max = 256 * kib;
inline constexpr std::size_t audit_waiting_bytes_max = 1 * mib;

// --- files and tokens
// -------------------------------------------------------------------------------------------------

// Keys, tokens and configuration in a backup are small. What is larger is not among what a server needs to serve again.
inline constexpr std::size_t backup_file_bytes_max = mib;
// What --audit-log-mib takes; a typing mistake begins somewhere.
inline constexpr std::int64_t audit_log_mib_max = 1024 * 1024;
// Of the state folder's certificates and keys none is larger than a few KiB; a larger one is not ours.
inline constexpr std::size_t pki_file_bytes_max = 64 * 1024;
inline constexpr std::size_t admin_token_chars_max = 1024;
// The keys that tokens of service accounts are signed with.
inline constexpr std::size_t service_account_key_bytes_max = 64 * 1024;
// A token of a service account. Ours are below 2 KiB; with many audiences a few more. Longer ones need not be decoded
// to be refused.
inline constexpr std::size_t service_account_token_bytes_max = 32 * 1024;
// No token of a service account is good for longer. Who needs one for longer asks again.
inline constexpr std::chrono::hours service_account_token_lifetime_max{365 * 24};

// --- how much is told
// -------------------------------------------------------------------------------------------------

// Names after which `virtgate state` cuts a list of what is wrong short.
inline constexpr std::size_t state_problems_told_max = 50;
// A word for which a similar one is looked for. Longer ones are no typing mistakes, and the work grows with the square.
inline constexpr std::size_t suggested_word_bytes_max = 40;
// Names come from requests, and many messages may name what stands below one and the same long name: printed in full,
// thirty thousand mistakes below a key of a megabyte would be thirty gigabytes. No name of a schema is this long.
inline constexpr std::size_t shown_name_bytes_max = 256;
// Enough to recognise one's own value; the rest would only bury the message.
inline constexpr std::size_t shown_value_bytes_max = 64;
// Rules of a role that its author does not have: enough for a person to see what is missing; an escalation refused for
// a thousand reasons is refused for these too.
inline constexpr std::size_t uncovered_rules_told_max = 20;
// Roles that a refusal names as missing; nobody reads more, and there may be thousands.
inline constexpr std::size_t role_problems_told_max = 8;

// --- attempts
// ---------------------------------------------------------------------------------------------------------

// How often `virtgate simulate` writes an object that somebody else changes meanwhile.
inline constexpr int simulate_attempts_max = 8;
// The longest pause before a namespace that cannot be mended is looked at again.
inline constexpr std::chrono::milliseconds namespace_failure_pause_max{32000};
// Addresses of one name that are worth trying.
inline constexpr std::size_t resolved_addresses_max = 8;
// How often roles are read anew. Each further one means that the store dropped changes while they were read.
inline constexpr int rbac_read_attempts_max = 3;
// How often a writer asks for a worker before it is told that its role is written; each waits for those before it.
inline constexpr int rbac_settle_attempts_max = 100;
// Names that are made for one object. A five-letter suffix meets an existing name rarely; eight times in a row means
// that the prefix is used up.
inline constexpr int generated_names_max = 8;
// How often the sums of a quota are written. Somebody who writes the quota all the time also puts down what was
// counted, so few are enough.
inline constexpr int quota_put_down_attempts_max = 16;
// How often a list that takes long to write asks for a worker, 20 ms apart; then it is made on its core, for the client
// has waited long enough.
inline constexpr int list_worker_attempts_max = 50;

// --- what components answer
// -------------------------------------------------------------------------------------------

// Of an order there is nothing to read but why it was not followed.
inline constexpr std::size_t component_order_bytes_max = 64 * kib;
// The profiles of a large component are a MiB or two, as base64.
inline constexpr std::size_t component_profiles_bytes_max = 8 * mib;
// All of a page together. Memory is held for them until the client has read the last one.
inline constexpr std::size_t component_page_bytes_max = 64 * mib;
// Of failures that are told, and of what a component says about its own.
inline constexpr std::size_t component_failures_told_max = 3;
inline constexpr std::size_t component_failure_bytes_max = 300;
// There is a handler a node, and Kubernetes is made for 5000 of those.
inline constexpr std::size_t component_pods_max = 20000;

// --- work for one request
// ---------------------------------------------------------------------------------------------

// Comparing what a role gives with what its author has. A role is at most 1.5 MiB, but the product of its lists may be
// 10^15. cluster-admin's owner never gets here, and for everybody else this is some ten times the largest role in use,
// and about 100 ms.
inline constexpr std::size_t rule_cover_steps_max = 1'000'000;
// Of roles that a core reads by itself: a millisecond's worth. The rest is for a worker.
inline constexpr std::size_t rbac_bytes_here_max = 64 * 1024;
// Limits of LimitRanges times what they are about, for one pod. A usual one has less than a hundred.
inline constexpr std::size_t limit_work_max = 20'000;
// JSON of all LimitRanges of a namespace, which is read for every pod and claim there.
inline constexpr std::size_t limit_ranges_bytes_max = 256 * kib;
// Every write to a namespace looks at all of its quotas, on the one thread that writes for everybody.
inline constexpr std::size_t quotas_in_namespace_max = 16;
// JSON of all of them together, since those that an object counts for are written again with it. A usual one has 1 to 2
// KiB, with its status and the owners of its fields.
inline constexpr std::size_t quota_bytes_in_namespace_max = 256 * kib;
// A path is read from a CRD or from our own tables; the longest known one has 60 bytes.
inline constexpr std::size_t json_path_bytes_max = 1024;
inline constexpr std::size_t json_path_steps_max = 32;
// Nobody prints more; the walk ends there.
inline constexpr std::size_t json_path_results_max = 1000;

// --- asking Kubernetes
// ------------------------------------------------------------------------------------------------

// One question whether somebody may; without an answer they may not.
inline constexpr std::chrono::seconds access_review_deadline{10};
// As many as Kubernetes' own client makes when the server names a pause.
inline constexpr int kube_attempts_asked_for_max = 10;
// Without being asked to: enough to get over a server that is replaced, within what a webhook may take.
inline constexpr int kube_attempts_max = 4;
// The longest pause that a server may ask for.
inline constexpr std::chrono::seconds kube_named_pause_max{10};
// Of an answer that is no Status, in a message about it.
inline constexpr std::size_t kube_quoted_bytes_max = 200;
// The version, which readiness asks for: shorter than what probes wait.
inline constexpr std::chrono::milliseconds kube_version_deadline{3000};
// The kubelet replaces a token when a fifth of its life is left, so a minute late is early enough; files are cheap.
inline constexpr std::chrono::seconds kube_token_age_max{10};
// A review follows a few references, one after the other; more rounds than this follow a circle.
inline constexpr int lookup_rounds_max = 32;
// kube-apiserver waits 10 s for our webhooks; whoever gets an answer before knows more than that it was late.
inline constexpr std::chrono::seconds lookup_deadline{8};
// As many as the rate limit gives in a second or two; real objects need a handful.
inline constexpr std::size_t lookup_fetches_max = 256;
// As many as there are connections that are kept for the next questions.
inline constexpr std::size_t lookup_fetches_at_once_max = 16;
// Of one object: its text is longer than what is stored, but not by much.
inline constexpr std::size_t lookup_object_bytes_max = 2 * object_body_bytes_max;
// All answers to one session, which are held until it ends: the longest list, and as much again of objects.
inline constexpr std::size_t lookup_answers_bytes_max = 2 * lookup_list_bytes_max;
// Users whose turns are told apart while requests wait for the rate limit.
inline constexpr std::size_t kube_askers_max = 1024;
// Pages of one list: a server that always names another one is not followed for ever.
inline constexpr int kube_pages_max = 10000;

// --- profiles
// ---------------------------------------------------------------------------------------------------------

// Between a frame and its caller's: what is further away was no frame pointer.
inline constexpr std::uintptr_t profile_frame_bytes_max = std::uintptr_t{1} << 20;
// A server has a thread a core and a handful beside; more than this is nobody's profile.
inline constexpr std::size_t profile_threads_max = 1024;
// Deeper stacks are cut off at the outer end, which is the same for all.
inline constexpr std::size_t profile_stack_depth_max = 64;
// A busy server has some thousand different stacks. About 2 MiB, held while a profile runs.
inline constexpr std::size_t profile_stacks_max = 4096;
// How many places a stack may take the next one when its own is taken.
inline constexpr std::size_t profile_probes_max = 32;

}  // namespace vg::limits
