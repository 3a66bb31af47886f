#include "journal/journal_file.hpp"

#include "base/sha256.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <utility>

namespace troupe::journal {
namespace {

void read_facts(std::string_view text, noted_device& to) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) continue;
    to.build.insert_or_assign(std::string(line.substr(0, space)),
                              std::string(line.substr(space + 1)));
  }
}

std::vector<std::byte> bytes_in(std::span<const std::byte> from) {
  return {from.begin(), from.end()};
}

}  // namespace

std::string_view noted_device::fact(std::string_view name) const {
  const auto found = build.find(name);
  return found == build.end() ? std::string_view() : std::string_view(found->second);
}

std::uint64_t noted_device::number(std::string_view name, int base) const {
  const std::string_view text = fact(name);
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

result<journal_file> journal_file::open(const std::string& path) {
  journal_file made;
  made.file_ = os::unique_fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts{};
  if (!made.file_ || ::fstat(made.file_.get(), &facts) != 0) {
    return system_failure("open", errno, path);
  }
  made.file_bytes_ = static_cast<std::uint64_t>(facts.st_size);
  std::array<char, file_mark.size()> mark{};
  if (!made.read(0, std::as_writable_bytes(std::span(mark))) || mark != file_mark) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("{} is no journal of this version of Troupe", path)};
  }
  std::uint64_t at = mark.size();
  for (std::uint32_t number = 0; at < made.file_bytes_; ++number) {
    const std::uint64_t begin = at;
    if (auto why = made.read_chunk(at, number)) {
      made.damage_ =
          fmt::format("the journal ends at byte {} of {}: {}", begin, made.file_bytes_, *why);
      return made;
    }
  }
  if (!made.closed_) made.damage_ = "the journal was not closed: its last requests may be missing";
  return made;
}

bool journal_file::read(std::uint64_t at, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t n = ::pread(file_.get(), to.data(), to.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    to = to.subspan(static_cast<std::size_t>(n));
    at += static_cast<std::uint64_t>(n);
  }
  return true;
}

// Returns why the chunk does not count; else moves behind it.
std::optional<std::string> journal_file::read_chunk(std::uint64_t& at, std::uint32_t number) {
  chunk_header head;
  if (file_bytes_ - at < sizeof(head) || !read(at, std::as_writable_bytes(std::span(&head, 1)))) {
    return "a chunk's header is cut off";
  }
  const std::uint64_t body = at + sizeof(head);
  if (head.mark != chunk_header::notes && head.mark != chunk_header::bytes) {
    return "there is no chunk";
  }
  if (head.number != number) return fmt::format("chunk {} where {} is next", head.number, number);
  if (head.length > most_chunk_bytes || head.length > file_bytes_ - body) {
    return fmt::format("a chunk of {} bytes is cut off", head.length);
  }
  at = body + head.length;
  if (head.mark == chunk_header::notes) {
    std::vector<std::byte> chunk(head.length);
    if (!read(body, chunk)) return "a chunk cannot be read";
    if (checksum_of(chunk) != head.checksum) return "a chunk's checksum is wrong";
    return read_notes(chunk);
  }
  digest is{};
  if (head.length < sizeof(is) || !read(body, std::as_writable_bytes(std::span(is)))) {
    return "a chunk of bytes is too short";
  }
  if (checksum_of(std::as_bytes(std::span(is))) != head.checksum) {
    return "a chunk's checksum is wrong";
  }
  contents_.emplace(is, place{.offset = body + sizeof(is), .bytes = head.length - sizeof(is)});
  return std::nullopt;
}

std::optional<std::string> journal_file::read_notes(std::span<const std::byte> chunk) {
  byte_reader from(chunk);
  while (!from.rest().empty()) {
    const auto head = from.take<note_header>();
    const auto payload = head ? from.take(head->length) : std::nullopt;
    if (!payload) return "a note is cut off";
    if (head->what == note::closed) {
      closed_ = true;
      continue;
    }
    if (!read_note(head->what, devices_[head->device], *payload)) {
      return fmt::format("a note of kind {} is malformed", static_cast<unsigned>(head->what));
    }
  }
  return std::nullopt;
}

bool journal_file::read_note(note what, noted_device& of, std::span<const std::byte> payload) {
  switch (what) {
    case note::build:
      read_facts(text_of(payload), of);
      return true;
    case note::event:
      of.events.push_back(text_of(payload));
      return true;
    case note::type:
    case note::blob:
    case note::gap:
    case note::checkpoint:
      return read_fact(what, of, byte_reader(payload));
    case note::send:
    case note::end:
    case note::content:
    case note::seen:
      return read_of_request(what, of, byte_reader(payload));
    case note::closed:
      return true;
  }
  return false;
}

bool journal_file::read_fact(note what, noted_device& of, byte_reader from) {
  if (what == note::gap) {
    const auto gap = from.take<gap_note>();
    if (!gap || gap->first > gap->last || gap->what > gap_note::ends) return false;
    of.gaps.push_back(*gap);
    return true;
  }
  if (what == note::checkpoint) {
    const auto one = from.take<checkpoint_note>();
    if (!one || one->first > one->last) return false;
    of.checkpoints.push_back(*one);
    return true;
  }
  const auto id = what == note::type ? from.take<std::uint64_t>() : std::uint64_t{0};
  const auto length = id ? from.take<std::uint32_t>() : std::nullopt;
  const auto name = length ? from.take(*length) : std::nullopt;
  if (!name) return false;
  if (what == note::type) {
    of.types.insert_or_assign(*id, text_of(*name));
  } else {
    of.blobs.emplace_back(bytes_in(*name), bytes_in(from.rest()));
  }
  return true;
}

bool journal_file::read_of_request(note what, noted_device& of, byte_reader from) {
  if (what == note::send) {
    const auto about = from.take<send_note>();
    if (!about) return false;
    noted_request& r = of.requests[about->ticket];
    r.about = *about;
    r.frame = bytes_in(from.rest());
    return true;
  }
  if (what == note::end) {
    const auto about = from.take<end_note>();
    if (!about || about->failed > 1) return false;
    noted_request& r = of.requests[about->ticket];
    r.end = *about;
    r.rest = bytes_in(from.rest());
    return true;
  }
  const auto about = from.take<bytes_note>();
  if (!about || !from.rest().empty()) return false;
  noted_request& r = of.requests[about->ticket];
  (what == note::content ? r.contents : r.seen).push_back(*about);
  return true;
}

result<std::vector<std::byte>> journal_file::bytes(const bytes_note& of) const {
  const auto refuse = [&](std::string_view why) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("the journal's content of {} bytes for request {} {}",
                                        of.bytes, of.ticket, why)};
  };
  const auto found = contents_.find(of.is);
  if (found == contents_.end()) return refuse("is missing");
  if (found->second.bytes != of.bytes) return refuse("has another length");
  std::vector<std::byte> bytes(of.bytes);
  if (!read(found->second.offset, bytes)) return refuse("cannot be read");
  if (detail::sha256().bytes(bytes).finish() != of.is) return refuse("is damaged");
  return bytes;
}

}  // namespace troupe::journal
