#include "os/cache/content_folder.hpp"

#include "base/sha256.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <iterator>

namespace troupe::os {
namespace {

// The head of a file: its writer, the key, the digest of the content, and its length.
struct head {
  std::array<char, 16> mark{};
  content_folder::digest key{};
  content_folder::digest content{};
  std::uint64_t bytes = 0;
};

content_folder::digest digest_of(std::span<const std::byte> content) noexcept {
  return detail::sha256().bytes(content).finish();
}

}  // namespace

std::string content_folder::file_of(const digest& key) const {
  std::string name;
  for (const std::uint8_t byte : key)
    fmt::format_to(std::back_inserter(name), "{:02x}", byte);
  return name.append(form_.extension);
}

result<content_folder> content_folder::open(const std::string& folder, const form& f,
                                            std::uint64_t most_bytes) {
  auto opened = private_folder::open(folder);
  if (!opened) return std::move(opened).error();
  return content_folder(*std::move(opened), f, most_bytes);
}

content_folder::entry content_folder::find(const digest& key) const {
  const private_folder::file file = folder_.find(file_of(key));
  if (!file.there) return {};
  const auto damaged = [&] {
    drop(key);
    return entry{.what = state::damaged};
  };
  if (!file.content || file.bytes < sizeof(head) || file.bytes > most_bytes_) return damaged();
  head before;
  if (!read_all(file.content, std::as_writable_bytes(std::span(&before, 1)))) return damaged();
  const std::uint64_t bytes = file.bytes - sizeof(head);
  if (before.mark != form_.mark || before.key != key || before.bytes != bytes) {
    return damaged();
  }
  entry made{.what = state::good};
  made.content.resize(bytes);
  if (!read_all(file.content, made.content)) return damaged();
  if (digest_of(made.content) != before.content) return damaged();
  // Mark it as used now: the least recently used goes first.
  (void)::futimens(file.content.get(), nullptr);
  return made;
}

void content_folder::keep(const digest& key, std::span<const std::byte> content) const {
  const head before{
      .mark = form_.mark, .key = key, .content = digest_of(content), .bytes = content.size()};
  if (folder_.replace(file_of(key), {std::as_bytes(std::span(&before, 1)), content})) make_space();
}

void content_folder::drop(const digest& key) const noexcept { folder_.remove(file_of(key)); }

void content_folder::make_space() const {
  struct file {
    std::string name;
    std::uint64_t bytes;
    timespec used;
  };
  std::vector<file> files;
  std::uint64_t bytes = 0;
  // Unfinished files of dead processes count, too, and become the oldest at some time.
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

std::string cache_folder(std::string_view name) {
  const auto environment = [](const char* variable) {
    const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
    return std::string(value != nullptr ? value : "");
  };
  std::string base = environment("XDG_CACHE_HOME");
  if (!base.starts_with('/')) {
    const std::string home = environment("HOME");
    base = home.starts_with('/') ? home + "/.cache" : "";
  }
  return base.empty() ? base : fmt::format("{}/troupe/{}", base, name);
}

}  // namespace troupe::os
