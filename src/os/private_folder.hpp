#pragma once

#include "os/unique_fd.hpp"

#include <troupe/base/result.hpp>

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace troupe::os {

/// Fills all of `to`. False if there are fewer bytes, or they cannot be read.
[[nodiscard]] inline bool read_all(const unique_fd& from, std::span<std::byte> to) noexcept {
  while (!to.empty()) {
    const ssize_t got = ::read(from.get(), to.data(), to.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to = to.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

[[nodiscard]] inline bool write_all(const unique_fd& to,
                                    std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t done = ::write(to.get(), bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return true;
}

/// A folder that only this user may access, for data that one process leaves for the next. Any
/// process and thread may use the same one. Inline, because plugins use it too, and they share no
/// code that the library does not export.
class private_folder {
 public:
  /// No folder: it is empty, and nothing can be kept.
  private_folder() = default;
  /// Creates it, with its parents, if it does not exist: rights 0700.
  /// \errors `invalid_argument` for one with another owner, or with rights for others, naming both;
  /// `system_error`
  [[nodiscard]] static result<private_folder> open(const std::string& path) {
    std::error_code failed;
    const std::filesystem::path parent = std::filesystem::path(path).parent_path();
    if (!parent.empty()) std::filesystem::create_directories(parent, failed);
    if (failed) return system_failure("mkdir", failed.value(), parent.string());
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
      return system_failure("mkdir", errno, path);
    }
    private_folder opened(
        unique_fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
    if (!opened) return system_failure("open", errno, path);
    struct stat found{};
    if (::fstat(opened.get(), &found) != 0) return system_failure("fstat", errno, path);
    constexpr mode_t of_others = 077;
    if (found.st_uid != ::geteuid() || (found.st_mode & of_others) != 0) {
      return error{.code = errc::invalid_argument,
                   .message = fmt::format("{} is not used as a cache: it belongs to user {} with "
                                          "rights {:04o}, it must be user {}'s alone (0700)",
                                          path, found.st_uid, found.st_mode & 07777, ::geteuid())};
    }
    return opened;
  }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(folder_); }
  [[nodiscard]] int get() const noexcept { return folder_.get(); }

  struct file {
    bool there = false;
    unique_fd content{};  ///< nothing if it is no file of this user's
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] file find(const std::string& name) const noexcept {
    // Opening a FIFO in its place would block.
    unique_fd content(
        ::openat(get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!content) return {.there = errno == ELOOP || errno == ENXIO};
    struct stat found{};
    if (::fstat(content.get(), &found) != 0 || !S_ISREG(found.st_mode) ||
        found.st_uid != ::geteuid()) {
      return {.there = true};
    }
    return {.there = true,
            .content = std::move(content),
            .bytes = static_cast<std::uint64_t>(found.st_size)};
  }

  /// Replaces the file by the concatenation of these parts: all of them, or it stays as it was.
  /// Readers check the content, so this does not wait for the disk. False if it cannot be written.
  [[nodiscard]] bool replace(const std::string& name,
                             std::initializer_list<std::span<const std::byte>> parts) const {
    const std::string unfinished = unfinished_name();
    const unique_fd made(::openat(get(), unfinished.c_str(),
                                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!made) return false;
    bool whole = true;
    for (const std::span<const std::byte> part : parts)
      whole = whole && write_all(made, part);
    whole = whole && ::renameat(get(), unfinished.c_str(), get(), name.c_str()) == 0;
    if (!whole) remove(unfinished);
    return whole;
  }

  void remove(const std::string& name) const noexcept { (void)::unlinkat(get(), name.c_str(), 0); }

  /// Its files, in no order, including those that `replace` has not finished.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    // A descriptor of its own, because the read position belongs to it.
    unique_fd again(::openat(get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, close_folder> folder(again ? ::fdopendir(again.get()) : nullptr);
    if (!folder) return found;
    (void)again.release();                                       // now owned by `folder`
    while (const dirent* const one = ::readdir(folder.get())) {  // NOLINT(concurrency-mt-unsafe)
      const std::string_view name = one->d_name;
      if (name != "." && name != "..") found.emplace_back(name);
    }
    return found;
  }
  /// True for a file that `replace` has not finished, or never will because its process ended.
  [[nodiscard]] static bool is_unfinished(std::string_view name) noexcept {
    return name.starts_with('.');
  }

 private:
  struct close_folder {
    void operator()(DIR* held) const noexcept { (void)::closedir(held); }
  };

  explicit private_folder(unique_fd folder) noexcept : folder_(std::move(folder)) {}

  // A unique name: not used by other objects of this process, nor by processes with the same
  // number, such as one in another container, or an earlier one.
  [[nodiscard]] static std::string unfinished_name() {
    static std::atomic<std::uint64_t> count{0};
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return fmt::format(".{}-{}-{}.{}", ::getpid(), count.fetch_add(1, std::memory_order_relaxed),
                       now.tv_sec, now.tv_nsec);
  }

  unique_fd folder_;
};

}  // namespace troupe::os
