#include "backend/cuda/blaslt/tuned_choices.hpp"

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

namespace troupe::cuda {
namespace {

constexpr std::size_t header_bytes = 512;
constexpr std::size_t most_numbers = 48;
// More of them than any program's products.
constexpr std::size_t most_entries = 4096;

/// An entry as it lies on disk: all of one size, so that a damaged one spoils no other.
struct stored {
  std::uint64_t count = 0;
  std::array<std::int64_t, most_numbers> key{};
  tuned_choices::choice chosen{};
  std::uint64_t checksum = 0;
};

/// FNV-1a, 64 bit. Source: http://www.isthe.com/chongo/tech/comp/fnv/
std::uint64_t hash_of(std::span<const std::byte> bytes) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::byte one : bytes)
    hash = (hash ^ std::to_integer<std::uint64_t>(one)) * 0x100000001b3U;
  return hash;
}
std::uint64_t checksum_of(const stored& entry) noexcept {
  return hash_of(std::as_bytes(std::span(&entry, 1)).first(offsetof(stored, checksum)));
}

std::optional<std::vector<std::byte>> read_all(int fd) {
  struct stat is{};
  if (::fstat(fd, &is) != 0 || !S_ISREG(is.st_mode) || is.st_uid != ::geteuid()) return {};
  const auto most = static_cast<off_t>(header_bytes + 2 * most_entries * sizeof(stored));
  if (is.st_size > most) return {};
  std::vector<std::byte> bytes(static_cast<std::size_t>(is.st_size));
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t more = ::read(fd, bytes.data() + got, bytes.size() - got);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) break;
    got += static_cast<std::size_t>(more);
  }
  bytes.resize(got);
  return bytes;
}

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return true;
}

/// Others that replace the file wait meanwhile.
class folder_lock {
 public:
  explicit folder_lock(int folder) noexcept : folder_(folder) {
    while (::flock(folder_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~folder_lock() { (void)::flock(folder_, LOCK_UN); }
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;

 private:
  int folder_;
};

}  // namespace

std::string tuned_choices::default_folder() {
  const auto environment = [](const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return std::string(value != nullptr ? value : "");
  };
  std::string base = environment("XDG_CACHE_HOME");
  if (!base.starts_with('/')) {
    const std::string home = environment("HOME");
    base = home.starts_with('/') ? home + "/.cache" : "";
  }
  return base.empty() ? base : base + "/troupe/matmuls";
}

result<tuned_choices> tuned_choices::open(const std::string& folder, const std::string& identity) {
  std::error_code ignored;  // what is missing shows when the folder itself is made
  std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), ignored);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return system_failure("mkdir", errno, folder);
  }
  tuned_choices made;
  made.folder_ = os::clear_of_standard_streams(
      os::unique_fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
  if (!made.folder_) return system_failure("open", errno, folder);
  struct stat is{};
  if (::fstat(made.folder_.get(), &is) != 0) return system_failure("fstat", errno, folder);
  if (is.st_uid != ::geteuid() || (is.st_mode & 077) != 0) {
    return error{
        .code = errc::invalid_argument,
        .message = fmt::format("{} belongs to user {} with rights {:03o}: it must belong to "
                               "user {} alone, with rights 700",
                               folder, is.st_uid, is.st_mode & 0777U, ::geteuid())};
  }
  made.header_ = fmt::format("troupe matmul choices, form 2\n{}\n", identity);
  made.header_.resize(header_bytes, '\0');
  made.name_ = fmt::format("choices-{:016x}", hash_of(std::as_bytes(std::span(made.header_))));
  made.known_ = made.read();
  return made;
}

const tuned_choices::choice* tuned_choices::find(const matmul_key& key) const {
  const auto all = key.numbers();
  const auto found = known_.find(numbers(all.begin(), all.end()));
  return found == known_.end() ? nullptr : &found->second;
}

void tuned_choices::keep(const matmul_key& key, const choice& chosen) {
  const auto all = key.numbers();
  numbers place(all.begin(), all.end());
  if (folder_) {
    const folder_lock held(folder_.get());
    by_key merged = read();
    merged.insert(known_.begin(), known_.end());
    merged.insert_or_assign(place, chosen);
    while (merged.size() > most_entries)
      merged.erase(merged.begin()->first == place ? std::next(merged.begin()) : merged.begin());
    (void)write(merged);
    known_ = std::move(merged);
    return;
  }
  known_.insert_or_assign(std::move(place), chosen);
}

tuned_choices::by_key tuned_choices::read() const {
  by_key found;
  const os::unique_fd file(
      ::openat(folder_.get(), name_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return found;
  const auto bytes = read_all(file.get());
  if (!bytes || bytes->size() < header_bytes ||
      std::memcmp(bytes->data(), header_.data(), header_bytes) != 0) {
    return found;
  }
  for (std::size_t at = header_bytes; at + sizeof(stored) <= bytes->size(); at += sizeof(stored)) {
    stored entry;
    std::memcpy(&entry, bytes->data() + at, sizeof entry);
    if (entry.checksum != checksum_of(entry) || entry.count > most_numbers) continue;
    const std::span key(entry.key.data(), static_cast<std::size_t>(entry.count));
    found.insert_or_assign(numbers(key.begin(), key.end()), entry.chosen);
  }
  return found;
}

bool tuned_choices::write(const by_key& all) const {
  std::vector<std::byte> bytes(header_bytes + all.size() * sizeof(stored));
  std::memcpy(bytes.data(), header_.data(), header_bytes);
  std::size_t at = header_bytes;
  for (const auto& [key, chosen] : all) {
    stored entry{.count = key.size(), .chosen = chosen};
    std::copy(key.begin(), key.end(), entry.key.begin());
    entry.checksum = checksum_of(entry);
    std::memcpy(bytes.data() + at, &entry, sizeof entry);
    at += sizeof entry;
  }
  const std::string unfinished = fmt::format("{}.{}", name_, ::getpid());
  (void)::unlinkat(folder_.get(), unfinished.c_str(), 0);  // of a process of that number that died
  const os::unique_fd file(::openat(folder_.get(), unfinished.c_str(),
                                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const bool whole =
      file && write_all(file.get(), bytes) && ::fsync(file.get()) == 0 &&
      ::renameat(folder_.get(), unfinished.c_str(), folder_.get(), name_.c_str()) == 0;
  if (file && !whole) (void)::unlinkat(folder_.get(), unfinished.c_str(), 0);
  return whole;
}

}  // namespace troupe::cuda
