#include "worker/plugins/whole_library.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>

namespace troupe::worker {

std::string lack_of_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const auto bytes = static_cast<std::uint64_t>(file.tellg());
  const auto read = [&](std::uint64_t at, auto& to) {
    file.seekg(static_cast<std::streamoff>(at));
    return static_cast<bool>(file.read(reinterpret_cast<char*>(&to), sizeof(to)));
  };
  Elf64_Ehdr header{};
  if (!read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    return {};
  }
  std::uint64_t end = header.e_phoff + std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
  for (int i = 0; i < header.e_phnum && end <= bytes; ++i) {
    Elf64_Phdr segment{};
    if (!read(header.e_phoff + static_cast<std::uint64_t>(i) * sizeof(segment), segment)) break;
    if (segment.p_type == PT_LOAD) end = std::max(end, segment.p_offset + segment.p_filesz);
  }
  if (end <= bytes) return {};
  return fmt::format("{}: the file is truncated: it has {} bytes, but its segments end at {}", path,
                     bytes, end);
}

}  // namespace troupe::worker
