#include "jit/client/disk_cache.hpp"

#include "jit/client/hasher.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

namespace troupe::jit {
namespace {

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

std::string file_of(const digest& key) { return to_string(key) + std::string(extension); }

}  // namespace

result<disk_cache> disk_cache::open(const std::string& folder, std::uint64_t most_bytes) {
  auto opened = os::private_folder::open(folder);
  if (!opened) return std::move(opened).error();
  return disk_cache(*std::move(opened), most_bytes);
}

disk_cache::entry disk_cache::find(const digest& key) const {
  const os::private_folder::file file = folder_.find(file_of(key));
  if (!file.there) return {};
  const auto damaged = [&] {
    drop(key);
    return entry{.what = state::damaged};
  };
  if (!file.content || file.bytes < sizeof(head)) return damaged();
  head before;
  if (!os::read_all(file.content, std::as_writable_bytes(std::span(&before, 1)))) return damaged();
  const std::uint64_t bytes = file.bytes - sizeof(head);
  if (before.mark != format_mark || before.key != key.bytes || before.bytes != bytes) {
    return damaged();
  }
  entry made{.what = state::good};
  made.content.resize(bytes);
  if (!os::read_all(file.content, made.content)) return damaged();
  if (digest_of(made.content).bytes != before.content) return damaged();
  // Used now: what was used longest ago goes first.
  (void)::futimens(file.content.get(), nullptr);
  return made;
}

void disk_cache::keep(const digest& key, std::span<const std::byte> content) const {
  const head before{.mark = format_mark,
                    .key = key.bytes,
                    .content = digest_of(content).bytes,
                    .bytes = content.size()};
  if (folder_.replace(file_of(key), {std::as_bytes(std::span(&before, 1)), content})) make_room();
}

void disk_cache::drop(const digest& key) const noexcept { folder_.remove(file_of(key)); }

void disk_cache::make_room() const {
  struct file {
    std::string name;
    std::uint64_t bytes;
    timespec used;
  };
  std::vector<file> files;
  std::uint64_t bytes = 0;
  // What a process left unfinished counts, too, and is the oldest at some time.
  for (std::string& name : folder_.names()) {
    struct stat found{};
    if (::fstatat(folder_.get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(found.st_mode)) {
      continue;
    }
    const auto size = static_cast<std::uint64_t>(found.st_size);
    bytes += size;
    files.push_back({std::move(name), size, found.st_mtim});
  }
  if (bytes <= most_bytes_) return;
  std::ranges::sort(files, [](const file& a, const file& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const file& one : files) {
    if (bytes <= most_bytes_) return;
    folder_.remove(one.name);
    bytes -= one.bytes;
  }
}

}  // namespace troupe::jit
