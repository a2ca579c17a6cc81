#include "profile/pprof.h"

#include <zlib.h>

#include <map>
#include <new>

#include "api/protobuf_wire.h"

namespace vg::profile {
namespace {

using api::wire::Message;

// Numbers of fields, by message (github.com/google/pprof, profile.proto).
namespace field {
enum Profile : std::uint32_t {
  sample_type = 1,
  sample = 2,
  mapping = 3,
  location = 4,
  function = 5,
  string_table = 6,
  time_nanos = 9,
  duration_nanos = 10,
  period_type = 11,
  period = 12,
  comment = 13
};
enum ValueType : std::uint32_t { type = 1, unit = 2 };
enum Sample : std::uint32_t { location_id = 1, value = 2 };
enum Mapping : std::uint32_t {
  mapping_number = 1,
  memory_start = 2,
  memory_limit = 3,
  file_offset = 4,
  filename = 5,
  build_id = 6
};
enum Location : std::uint32_t { location_number = 1, mapping_id = 2, address = 3, line = 4 };
enum Line : std::uint32_t { function_id = 1 };
enum Function : std::uint32_t { function_number = 1, name = 2, system_name = 3 };
}  // namespace field

// Texts stand once, at the end, and are referred to by their place; the first is the empty one.
class Texts {
 public:
  std::int64_t place_of(std::string_view text) {
    const auto [at, made] = places_.try_emplace(std::string(text), static_cast<std::int64_t>(places_.size()));
    if (made) order_.push_back(&at->first);
    return at->second;
  }
  void write(Message& into) const {
    for (const std::string* text : order_) into.text(field::string_table, *text);
  }

 private:
  std::map<std::string, std::int64_t, std::less<>> places_;
  std::vector<const std::string*> order_;
};

class Writer {
 public:
  Writer() { texts_.place_of(""); }

  std::string write(const Profile& profile) {
    for (const ValueType& type : profile.types) out_.message(field::sample_type, value_type(type));
    for (const Sample& sample : profile.samples) write(sample);
    for (std::size_t i = 0; i < profile.mappings.size(); ++i) write(profile.mappings[i], i + 1);
    for (std::size_t i = 0; i < profile.places.size(); ++i) write(profile.places[i], i + 1);
    for (const auto& [function, number] : functions_) write_function(function, number);
    for (const std::string& comment : profile.comments) out_.integer(field::comment, texts_.place_of(comment));
    out_.integer(field::time_nanos, profile.time.count());
    out_.integer(field::duration_nanos, profile.duration.count());
    if (profile.period != 0) {
      out_.message(field::period_type, value_type(profile.period_type));
      out_.integer(field::period, profile.period);
    }
    texts_.write(out_);
    return out_.take();
  }

 private:
  Message value_type(const ValueType& type) {
    Message made;
    made.integer(field::type, texts_.place_of(type.type));
    made.integer(field::unit, texts_.place_of(type.unit));
    return made;
  }

  void write(const Sample& sample) {
    Message made;
    for (const std::uint32_t place : sample.stack) made.integer(field::location_id, place + 1);
    for (const std::int64_t value : sample.values) made.integer(field::value, value);
    out_.message(field::sample, made);
  }

  void write(const Mapping& mapping, std::size_t number) {
    Message made;
    made.integer(field::mapping_number, static_cast<std::int64_t>(number));
    made.integer(field::memory_start, static_cast<std::int64_t>(mapping.start));
    made.integer(field::memory_limit, static_cast<std::int64_t>(mapping.limit));
    made.integer(field::file_offset, static_cast<std::int64_t>(mapping.offset));
    made.integer(field::filename, texts_.place_of(mapping.file));
    if (!mapping.build_id.empty()) made.integer(field::build_id, texts_.place_of(mapping.build_id));
    out_.message(field::mapping, made);
  }

  void write(const Place& place, std::size_t number) {
    Message made;
    made.integer(field::location_number, static_cast<std::int64_t>(number));
    if (place.mapping != 0) made.integer(field::mapping_id, place.mapping);
    if (place.address != 0) made.integer(field::address, static_cast<std::int64_t>(place.address));
    if (!place.function.empty()) {
      const auto known = functions_.try_emplace(place.function, static_cast<std::int64_t>(functions_.size()) + 1).first;
      Message line;
      line.integer(field::function_id, known->second);
      made.message(field::line, line);
    }
    out_.message(field::location, made);
  }

  void write_function(std::string_view name, std::int64_t number) {
    Message made;
    made.integer(field::function_number, number);
    made.integer(field::name, texts_.place_of(name));
    made.integer(field::system_name, texts_.place_of(name));
    out_.message(field::function, made);
  }

  Message out_;
  Texts texts_;
  std::map<std::string, std::int64_t, std::less<>> functions_;
};

// In the gzip format, which is what readers expect. Without a time and a name, so that equal profiles are equal bytes.
std::string gzip(std::string bytes) {
  constexpr int window_bits = 15, as_gzip = 16, memory_level = 8;
  z_stream stream{};
  if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window_bits + as_gzip, memory_level,
                     Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();  // nothing else can be wrong
  std::string packed(::deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int done = ::deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (done != Z_STREAM_END) throw std::bad_alloc();
  return packed;
}

}  // namespace

std::uint32_t Profile::add_place(std::string function) {
  places.push_back({.function = std::move(function)});
  return static_cast<std::uint32_t>(places.size() - 1);
}

std::string write_pprof(const Profile& profile) { return gzip(Writer().write(profile)); }

}  // namespace vg::profile
