#include "os/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>

namespace troupe::os {
namespace {

int flags_of(protection access) noexcept {
  switch (access) {
    case protection::none:
      return PROT_NONE;
    case protection::read:
      return PROT_READ;
    case protection::read_write:
      return PROT_READ | PROT_WRITE;
  }
  return PROT_NONE;
}

// The error of a call that changes mappings: no addresses, or no mappings, are left.
error mapping_failure(std::string_view call, int code, std::string_view what) {
  error why = system_failure(call, code, what);
  if (code == ENOMEM) why.code = errc::out_of_memory;
  return why;
}

// The size is fixed, but more seals are still possible.
result<unique_fd> create_memory(const char* name, std::size_t bytes) {
  unique_fd memory(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) return system_failure("memfd_create", errno, name);
  // It is created with rights for all users, and is private only because no folder lists it.
  if (::fchmod(memory.get(), S_IRUSR | S_IWUSR) != 0) return system_failure("fchmod", errno, name);
  // Beyond this limit the next call would not fail, but end the program by SIGXFSZ.
  rlimit largest{};
  if (::getrlimit(RLIMIT_FSIZE, &largest) == 0 && bytes > largest.rlim_cur) {
    return error{.code = errc::system_error,
                 .message = fmt::format("{} takes {} bytes of shared memory, and the limit of a "
                                        "file's size (ulimit -f) is {}",
                                        name, bytes, largest.rlim_cur)};
  }
  if (::ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0) {
    return system_failure("ftruncate", errno, fmt::format("{} of {} bytes", name, bytes));
  }
  return memory;
}

result<void> seal(const unique_fd& memory, int seals, const char* name) {
  if (::fcntl(memory.get(), F_ADD_SEALS, seals) == 0) return {};
  return system_failure("fcntl(F_ADD_SEALS)", errno, name);
}

constexpr int fixed_size = F_SEAL_SHRINK | F_SEAL_GROW;

}  // namespace

mapping& mapping::operator=(mapping&& other) noexcept {
  if (this != &other) {
    if (address_ != nullptr) ::munmap(address_, bytes_);
    address_ = std::exchange(other.address_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

mapping::~mapping() {
  if (address_ != nullptr) ::munmap(address_, bytes_);
}

std::size_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

result<unique_fd> create_shared_memory(const char* name, std::size_t bytes) {
  auto memory = create_memory(name, bytes);
  if (!memory) return memory;
  if (auto sealed = seal(*memory, fixed_size | F_SEAL_SEAL, name); !sealed) {
    return std::move(sealed).error();
  }
  return memory;
}

result<written_here> create_memory_written_here(const char* name, std::size_t bytes) {
  auto memory = create_memory(name, bytes);
  if (!memory) return std::move(memory).error();
  auto pages = map(*memory, bytes, protection::read_write);
  if (!pages) return std::move(pages).error();
  if (auto sealed = seal(*memory, fixed_size | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL, name); !sealed) {
    return std::move(sealed).error();
  }
  return written_here{*std::move(memory), *std::move(pages)};
}

result<void> check_received(const unique_fd& memory, std::uint64_t bytes) {
  // Descriptors of any other kind have no seals.
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  if (seals < 0 || (seals & fixed_size) != fixed_size) {
    return error{.code = errc::protocol_violation,
                 .message = "the descriptor is not memory of fixed size"};
  }
  struct stat is{};
  if (::fstat(memory.get(), &is) != 0) return system_failure("fstat", errno);
  if (static_cast<std::uint64_t>(is.st_size) < bytes) {
    return error{
        .code = errc::protocol_violation,
        .message = fmt::format("memory of {} bytes, where {} are to be mapped", is.st_size, bytes)};
  }
  return {};
}

result<mapping> map(const unique_fd& memory, std::size_t bytes, protection access) {
  void* at = ::mmap(nullptr, bytes, flags_of(access), MAP_SHARED, memory.get(), 0);
  if (at == MAP_FAILED) return mapping_failure("mmap", errno, fmt::format("{} bytes", bytes));
  return mapping(static_cast<std::byte*>(at), bytes);
}

result<void> map_over(const unique_fd& memory, std::size_t bytes, protection access,
                      std::byte* reserved) {
  void* at = ::mmap(reserved, bytes, flags_of(access), MAP_SHARED | MAP_FIXED, memory.get(), 0);
  if (at == MAP_FAILED) {
    return mapping_failure("mmap", errno,
                           fmt::format("{} bytes at {}", bytes, static_cast<void*>(reserved)));
  }
  return {};
}

result<void> keep_from_children(std::byte* at, std::size_t bytes) {
  if (::madvise(at, bytes, MADV_DONTFORK) == 0) return {};
  return system_failure("madvise(MADV_DONTFORK)", errno, fmt::format("{} bytes", bytes));
}

result<mapping> reserve(std::byte* address, std::size_t bytes) {
  const int fixed = address != nullptr ? MAP_FIXED_NOREPLACE : 0;
  void* at =
      ::mmap(address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
  if (at == MAP_FAILED || (address != nullptr && at != address)) {
    const int code = at == MAP_FAILED ? errno : EEXIST;
    if (at != MAP_FAILED) ::munmap(at, bytes);
    return mapping_failure(
        "mmap", code,
        fmt::format("{} bytes of address space at {}", bytes, static_cast<void*>(address)));
  }
  return mapping(static_cast<std::byte*>(at), bytes);
}

result<void> protect(std::byte* address, std::size_t bytes, protection access) {
  if (::mprotect(address, bytes, flags_of(access)) == 0) return {};
  return mapping_failure("mprotect", errno,
                         fmt::format("{} bytes at {}", bytes, static_cast<void*>(address)));
}

}  // namespace troupe::os
