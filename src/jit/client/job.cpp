#include "jit/client/job.hpp"

#include "jit/client/byte_stream.hpp"

namespace troupe::jit {
namespace {

// Anything else begins otherwise, including data of other versions.
constexpr std::uint64_t job_mark = 0x31626f6a'74696a74;     // "tjitjob1"
constexpr std::uint64_t result_mark = 0x31736572'74696a74;  // "tjitres1"
constexpr std::uint64_t last_kind = static_cast<std::uint64_t>(image_kind::fatbin);

void write(byte_writer& out, const binary& what) {
  out.number(static_cast<std::uint64_t>(what.kind)).bytes(what.image);
  out.number(what.names.size());
  for (const lowered_name& one : what.names)
    out.text(one.expression).text(one.lowered);
  out.text(what.architecture).text(what.log);
}

std::optional<image_kind> read_kind(byte_reader& in) {
  const std::uint64_t kind = in.number();
  if (kind > last_kind) return std::nullopt;
  return static_cast<image_kind>(kind);
}

std::optional<binary> read_binary(byte_reader& in) {
  binary made;
  const auto kind = read_kind(in);
  if (!kind) return std::nullopt;
  made.kind = *kind;
  const auto image = in.bytes();
  made.image.assign(image.begin(), image.end());
  made.names.resize(in.count());
  for (lowered_name& one : made.names)
    one = {.expression = in.text(), .lowered = in.text()};
  made.architecture = in.text();
  made.log = in.text();
  return in.good() ? std::optional(std::move(made)) : std::nullopt;
}

}  // namespace

std::vector<std::byte> encode(const job& what) {
  byte_writer out;
  out.number(job_mark).text(what.library).number(what.memory_bytes);
  out.text(what.text).text(what.name);
  out.number(what.headers.size());
  for (const header& one : what.headers)
    out.text(one.name).text(one.text);
  out.texts(what.options).texts(what.names);
  out.number(what.pieces.size());
  for (const binary& one : what.pieces)
    write(out, one);
  out.number(what.stays ? 1 : 0).number(static_cast<std::uint64_t>(what.output));
  return std::move(out).take();
}

std::optional<job> decode_job(std::span<const std::byte> bytes) {
  byte_reader in(bytes);
  if (in.number() != job_mark) return std::nullopt;
  job made;
  made.library = in.text();
  made.memory_bytes = in.number();
  made.text = in.text();
  made.name = in.text();
  made.headers.resize(in.count());
  for (header& one : made.headers)
    one = {.name = in.text(), .text = in.text()};
  made.options = in.texts();
  made.names = in.texts();
  made.pieces.resize(in.count());
  for (binary& one : made.pieces) {
    auto piece = read_binary(in);
    if (!piece) return std::nullopt;
    one = *std::move(piece);
  }
  made.stays = in.number() != 0;
  const auto output = read_kind(in);
  if (!output || !in.at_end()) return std::nullopt;
  made.output = *output;
  return made;
}

std::vector<std::byte> encode(const job_result& what) {
  byte_writer out;
  out.number(result_mark).number(what.failure ? 1 : 0);
  if (what.failure) {
    const error& why = *what.failure;
    out.number(static_cast<std::uint64_t>(why.code)).text(why.message).text(why.library);
    out.text(why.call).text(why.code_name).number(static_cast<std::uint64_t>(why.vendor_code));
  } else {
    write(out, what.made);
  }
  return std::move(out).take();
}

std::optional<job_result> decode_result(std::span<const std::byte> bytes) {
  byte_reader in(bytes);
  if (in.number() != result_mark) return std::nullopt;
  job_result made;
  if (in.number() != 0) {
    error why;
    const std::uint64_t code = in.number();
    if (code == 0 || code > static_cast<std::uint64_t>(errc::system_error)) return std::nullopt;
    why.code = static_cast<errc>(code);
    why.message = in.text();
    why.library = in.text();
    why.call = in.text();
    why.code_name = in.text();
    why.vendor_code = static_cast<std::int64_t>(in.number());
    made.failure = std::move(why);
  } else {
    auto binary = read_binary(in);
    if (!binary) return std::nullopt;
    made.made = *std::move(binary);
  }
  return in.at_end() ? std::optional(std::move(made)) : std::nullopt;
}

std::vector<std::byte> encode(const binary& what) {
  byte_writer out;
  write(out, what);
  return std::move(out).take();
}

std::optional<binary> decode_binary(std::span<const std::byte> bytes) {
  byte_reader in(bytes);
  auto made = read_binary(in);
  return in.at_end() ? std::move(made) : std::nullopt;
}

}  // namespace troupe::jit
