// A journal with any notes: it is read, or ends where they are malformed, and requests that it has
// are decoded, or refused.
#include "journal/footprint.hpp"
#include "journal/journal_file.hpp"
#include "os/shared_memory.hpp"

#include <troupe/request/catalogue.hpp>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <span>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace troupe;
  using namespace troupe::journal;
  // The first byte says whether the file is as it was made up, or has notes that it made up.
  if (size == 0) return 0;
  const auto rest = std::as_bytes(std::span(data + 1, size - 1));
  std::vector<std::byte> bytes;
  const auto add = [&bytes](std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  };
  add(std::as_bytes(std::span(file_mark)));
  if (data[0] % 2 == 0) {
    const chunk_header head{.mark = chunk_header::notes,
                            .length = static_cast<std::uint32_t>(rest.size()),
                            .checksum = checksum_of(rest)};
    add(bytes_of(head));
  }
  add(rest);
  const int file = ::memfd_create("journal", MFD_CLOEXEC);
  if (::write(file, bytes.data(), bytes.size()) != std::ssize(bytes)) std::abort();
  const auto read = journal_file::open(fmt::format("/proc/self/fd/{}", file));
  ::close(file);
  if (!read) return 0;
  for (const auto& [number, device] : read->devices()) {
    footprint memory(device);
    for (const auto& [ticket, r] : device.requests) {
      for (const bytes_note& one : r.contents) {
        memory.add(one);
        (void)read->bytes(one);
      }
      const auto name = device.types.find(r.about.type);
      const request_type* const type =
          name == device.types.end() ? nullptr : request_named(name->second);
      if (type == nullptr) continue;
      const auto decoded = memory.decode(*type, r.frame);
      if (decoded) memory.add(decoded->operands);
    }
  }
  return 0;
}
