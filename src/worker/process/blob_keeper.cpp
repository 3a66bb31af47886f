#include "worker/process/blob_keeper.hpp"

#include "base/sha256.hpp"
#include "os/futex.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace troupe::worker {
namespace {

constexpr os::content_folder::form blob_form{
    .extension = ".blob",
    .mark = {'t', 'r', 'o', 'u', 'p', 'e', '-', 'b', 'l', 'o', 'b', '-', '0', '1', 0, 0}};
constexpr std::uint64_t most_bytes_on_disk = std::uint64_t{512} << 20;

os::content_folder::digest digest_of(std::span<const std::byte> key) noexcept {
  return detail::sha256().bytes(key).finish();
}

std::uint32_t this_process() noexcept { return static_cast<std::uint32_t>(::getpid()); }

}  // namespace

// Opened when first needed: a worker that uses no blobs opens no folder.
const os::content_folder* blob_keeper::folder() {
  std::call_once(opened_, [this] {
    const std::string path = os::cache_folder("blobs");
    if (where_ == kept_in::memory || path.empty()) return;
    auto opened = os::content_folder::open(path, blob_form, most_bytes_on_disk);
    if (opened) folder_ = *std::move(opened);
  });
  return folder_ ? &*folder_ : nullptr;
}

bool blob_keeper::is_anothers(const wire::blob_memory::blob& found,
                              std::span<const std::byte> key) {
  if (found.loader == 0 || found.loader == this_process()) return false;
  if (::kill(static_cast<pid_t>(found.loader), 0) != 0 && errno == ESRCH) drop(key);
  return true;
}

void blob_keeper::drop(std::span<const std::byte> key) {
  memory_.drop(key);
  if (const os::content_folder* const kept = folder()) kept->drop(digest_of(key));
}

std::optional<std::vector<std::byte>> blob_keeper::find(std::span<const std::byte> key) {
  if (auto found = memory_.find(key)) {
    if (is_anothers(*found, key)) return std::nullopt;
    return std::move(found->content);
  }
  const os::content_folder* const kept = folder();
  if (kept == nullptr) return std::nullopt;
  // The file contains the key, too: its name is only a digest.
  auto on_disk = kept->find(digest_of(key));
  if (on_disk.what != os::content_folder::state::good || on_disk.content.size() < key.size() ||
      std::memcmp(on_disk.content.data(), key.data(), key.size()) != 0) {
    return std::nullopt;
  }
  on_disk.content.erase(on_disk.content.begin(),
                        on_disk.content.begin() + static_cast<std::ptrdiff_t>(key.size()));
  return std::move(on_disk.content);
}

bool blob_keeper::begin_loading(std::span<const std::byte> key,
                                std::span<const std::byte> content) {
  return memory_.begin_loading(key, content, this_process());
}

void blob_keeper::end_loading(std::span<const std::byte> key, bool good) {
  if (good) {
    memory_.end_loading(key, this_process());
  } else {
    drop(key);
  }
}

result<void> blob_keeper::publish(std::span<const std::byte> key,
                                  std::span<const std::byte> content) {
  if (key.empty() || key.size() > most_key_bytes) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("a blob's key must have 1 to {} bytes; it has {}",
                                        most_key_bytes, key.size())};
  }
  if (const os::content_folder* const kept = folder()) {
    std::vector<std::byte> both(key.begin(), key.end());
    both.insert(both.end(), content.begin(), content.end());
    kept->keep(digest_of(key), both);
  }
  return memory_.publish(key, content);
}

std::optional<kept_blobs::blob> blob_keeper::at(std::size_t place) {
  if (place >= wire::most_blobs) return std::nullopt;
  auto found = memory_.at(place);
  if (!found || found->key.empty() || found->key.size() > most_key_bytes ||
      is_anothers(*found, found->key)) {
    return std::nullopt;
  }
  return blob{std::move(found->key), std::move(found->content)};
}

std::uint32_t blob_keeper::news() const noexcept {
  return memory_.news().load(std::memory_order_acquire);
}

void blob_keeper::await_news(std::uint32_t seen, std::chrono::nanoseconds at_most) {
  if (news() != seen) return;
  os::futex_wait(memory_.news(), seen, std::chrono::steady_clock::now() + at_most,
                 os::sharing::processes);
}

}  // namespace troupe::worker
