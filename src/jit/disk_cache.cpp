#include "jit/disk_cache.hpp"

#include "jit/hasher.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>

namespace troupe::jit {
namespace {

namespace fs = std::filesystem;

// Before the content: what wrote it, the key, the digest of the content, and its length.
struct head {
  std::array<char, 16> mark{};
  std::array<std::uint8_t, digest::size> key{};
  std::array<std::uint8_t, digest::size> content{};
  std::uint64_t bytes = 0;
};
constexpr std::array<char, 16> format_mark = {'t', 'r', 'o', 'u', 'p', 'e', '-', 'k',
                                              'e', 'r', 'n', 'e', 'l', '-', '0', '1'};
constexpr std::string_view extension = ".kernel";
constexpr mode_t for_owner = 0700;
constexpr mode_t of_others = 077;

std::string file_of(const digest& key) { return to_string(key) + std::string(extension); }

bool read_all(int from, void* to, std::size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes != 0) {
    const ssize_t got = ::read(from, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(int to, const void* from, std::size_t bytes) {
  const auto* at = static_cast<const char*>(from);
  while (bytes != 0) {
    const ssize_t done = ::write(to, at, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += done;
    bytes -= static_cast<std::size_t>(done);
  }
  return true;
}

// No other's: of other caches of this process, and of processes of the same number, which is
// another one's in a container, or was an earlier one's.
std::string unfinished_name() {
  static std::atomic<std::uint64_t> count{0};
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return fmt::format(".{}-{}-{}.{}", ::getpid(), count.fetch_add(1, std::memory_order_relaxed),
                     now.tv_sec, now.tv_nsec);
}

// The parents as anybody's, the last one as its owner's.
result<void> make_folder(const fs::path& folder) {
  std::error_code failed;
  if (folder.has_parent_path()) fs::create_directories(folder.parent_path(), failed);
  if (failed) return system_failure("mkdir", failed.value(), folder.parent_path().string());
  if (::mkdir(folder.c_str(), for_owner) != 0 && errno != EEXIST) {
    return system_failure("mkdir", errno, folder.string());
  }
  return {};
}

}  // namespace

result<disk_cache> disk_cache::open(const std::string& folder, std::uint64_t most_bytes) {
  if (auto made = make_folder(folder); !made) return std::move(made).error();
  os::unique_fd opened = os::clear_of_standard_streams(
      os::unique_fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
  if (!opened) return system_failure("open", errno, folder);
  struct stat found{};
  if (::fstat(opened.get(), &found) != 0) return system_failure("fstat", errno, folder);
  if (found.st_uid != ::geteuid() || (found.st_mode & of_others) != 0) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("{} is not used as a cache of kernels: it belongs to user "
                                        "{} with rights {:04o}, it must be user {}'s alone (0700)",
                                        folder, found.st_uid, found.st_mode & 07777, ::geteuid())};
  }
  return disk_cache(std::move(opened), most_bytes);
}

disk_cache::entry disk_cache::find(const digest& key) const {
  const std::string name = file_of(key);
  const os::unique_fd file(
      ::openat(folder_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) {
    if (errno != ELOOP) return {};
    drop(key);
    return {.what = state::damaged};
  }
  const auto damaged = [&] {
    drop(key);
    return entry{.what = state::damaged};
  };
  struct stat found{};
  if (::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode) || found.st_uid != ::geteuid() ||
      found.st_size < static_cast<off_t>(sizeof(head))) {
    return damaged();
  }
  head before;
  if (!read_all(file.get(), &before, sizeof(before))) return damaged();
  const auto bytes = static_cast<std::uint64_t>(found.st_size) - sizeof(head);
  if (before.mark != format_mark || before.key != key.bytes || before.bytes != bytes) {
    return damaged();
  }
  entry made{.what = state::good};
  made.content.resize(bytes);
  if (!read_all(file.get(), made.content.data(), bytes)) return damaged();
  if (digest_of(made.content).bytes != before.content) return damaged();
  // Used now: what was used longest ago goes first.
  (void)::futimens(file.get(), nullptr);
  return made;
}

void disk_cache::keep(const digest& key, std::span<const std::byte> content) const {
  const std::string unfinished = unfinished_name();
  {
    const os::unique_fd file(::openat(folder_.get(), unfinished.c_str(),
                                      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return;
    head before{.mark = format_mark,
                .key = key.bytes,
                .content = digest_of(content).bytes,
                .bytes = content.size()};
    if (!write_all(file.get(), &before, sizeof(before)) ||
        !write_all(file.get(), content.data(), content.size())) {
      (void)::unlinkat(folder_.get(), unfinished.c_str(), 0);
      return;
    }
  }
  if (::renameat(folder_.get(), unfinished.c_str(), folder_.get(), file_of(key).c_str()) != 0) {
    (void)::unlinkat(folder_.get(), unfinished.c_str(), 0);
    return;
  }
  make_room();
}

void disk_cache::drop(const digest& key) const noexcept {
  (void)::unlinkat(folder_.get(), file_of(key).c_str(), 0);
}

void disk_cache::make_room() const {
  struct file {
    std::string name;
    std::uint64_t bytes;
    timespec used;
  };
  // A descriptor of its own: the place in the folder belongs to it.
  const int again = ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (again < 0) return;
  const auto close = [](DIR* folder) { ::closedir(folder); };
  const std::unique_ptr<DIR, decltype(close)> folder(::fdopendir(again), close);
  if (!folder) {
    ::close(again);
    return;
  }
  std::vector<file> files;
  std::uint64_t bytes = 0;
  while (const dirent* const one = ::readdir(folder.get())) {  // NOLINT(concurrency-mt-unsafe)
    const std::string_view name = one->d_name;
    struct stat found{};
    // What a process left unfinished counts, too, and is the oldest at some time.
    if (name == "." || name == ".." ||
        ::fstatat(folder_.get(), one->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(found.st_mode)) {
      continue;
    }
    bytes += static_cast<std::uint64_t>(found.st_size);
    files.push_back({std::string(name), static_cast<std::uint64_t>(found.st_size), found.st_mtim});
  }
  if (bytes <= most_bytes_) return;
  std::ranges::sort(files, [](const file& a, const file& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const file& one : files) {
    if (bytes <= most_bytes_) return;
    if (::unlinkat(folder_.get(), one.name.c_str(), 0) == 0) bytes -= one.bytes;
  }
}

}  // namespace troupe::jit
