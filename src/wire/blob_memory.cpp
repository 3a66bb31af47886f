#include "wire/blob_memory.hpp"

#include "base/sha256.hpp"
#include "os/futex.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace troupe::wire {
namespace {

using digest_words = std::array<std::uint64_t, 4>;

digest_words words_of(const detail::sha256::digest& d) noexcept {
  digest_words words{};
  static_assert(sizeof(words) == sizeof(d));
  std::memcpy(words.data(), d.data(), sizeof(words));
  return words;
}

std::uint64_t hash_of_key(std::span<const std::byte> key) noexcept {
  return words_of(detail::sha256().bytes(key).finish())[0];
}

digest_words digest_of(std::span<const std::byte> key,
                       std::span<const std::byte> content) noexcept {
  return words_of(detail::sha256()
                      .number(key.size())
                      .number(content.size())
                      .bytes(key)
                      .bytes(content)
                      .finish());
}

constexpr std::uint64_t unit = 64;

}  // namespace

void blob_memory::tell_news() noexcept {
  header_->news.fetch_add(1, std::memory_order_release);
  os::futex_wake(header_->news, std::numeric_limits<int>::max(), os::sharing::processes);
}

result<void> blob_memory::publish(std::span<const std::byte> key,
                                  std::span<const std::byte> content, std::uint32_t loader) {
  const std::uint64_t capacity = bytes_ - sizeof(blob_header);
  const std::uint64_t wanted = (key.size() + content.size() + unit - 1) / unit * unit;
  std::uint64_t begin = header_->used.load(std::memory_order_relaxed);
  do {
    if (begin > capacity || wanted > capacity - begin || begin % unit != 0) {
      return error{.code = errc::out_of_memory,
                   .message = fmt::format("a blob of {} bytes: the program keeps {} of at most {}",
                                          wanted, begin, capacity)};
    }
  } while (!header_->used.compare_exchange_weak(begin, begin + wanted, std::memory_order_relaxed));
  const std::uint64_t offset = sizeof(blob_header) + begin;
  std::memcpy(base() + offset, key.data(), key.size());
  if (!content.empty()) std::memcpy(base() + offset + key.size(), content.data(), content.size());
  const digest_words digest = digest_of(key, content);
  for (std::size_t place = 0; place < most_blobs; ++place) {
    blob_entry& entry = header_->entries[place];
    std::uint32_t free = blob_entry::unused;
    if (entry.what.load(std::memory_order_relaxed) != free ||
        !entry.what.compare_exchange_strong(free, blob_entry::claimed, std::memory_order_relaxed)) {
      continue;
    }
    entry.key_bytes.store(static_cast<std::uint32_t>(key.size()), std::memory_order_relaxed);
    entry.offset.store(offset, std::memory_order_relaxed);
    entry.content_bytes.store(content.size(), std::memory_order_relaxed);
    entry.key_hash.store(hash_of_key(key), std::memory_order_relaxed);
    for (std::size_t i = 0; i < digest.size(); ++i)
      entry.digest[i].store(digest[i], std::memory_order_relaxed);
    header_->loaders[place].store(loader, std::memory_order_relaxed);
    entry.what.store(blob_entry::published, std::memory_order_release);
    each(key, [&](std::size_t other) {
      if (other != place && header_->loaders[other].load(std::memory_order_relaxed) != 0)
        header_->entries[other].what.store(blob_entry::dropped, std::memory_order_relaxed);
      return true;
    });
    tell_news();
    return {};
  }
  return error{
      .code = errc::out_of_memory,
      .message = fmt::format("the program already keeps {} blobs, the maximum", most_blobs)};
}

std::optional<blob_memory::blob> blob_memory::at(std::size_t place) const {
  const blob_entry& entry = header_->entries[place];
  if (entry.what.load(std::memory_order_acquire) != blob_entry::published) return std::nullopt;
  const std::uint64_t key_bytes = entry.key_bytes.load(std::memory_order_relaxed);
  const std::uint64_t content_bytes = entry.content_bytes.load(std::memory_order_relaxed);
  const std::uint64_t offset = entry.offset.load(std::memory_order_relaxed);
  if (offset < sizeof(blob_header) || offset > bytes_ || key_bytes > bytes_ - offset ||
      content_bytes > bytes_ - offset - key_bytes) {
    return std::nullopt;
  }
  // A copy, so that the checked bytes are the ones that are used.
  blob found;
  found.key.assign(base() + offset, base() + offset + key_bytes);
  found.content.assign(base() + offset + key_bytes, base() + offset + key_bytes + content_bytes);
  found.loader = header_->loaders[place].load(std::memory_order_relaxed);
  const digest_words digest = digest_of(found.key, found.content);
  for (std::size_t i = 0; i < digest.size(); ++i) {
    if (entry.digest[i].load(std::memory_order_relaxed) != digest[i]) return std::nullopt;
  }
  return found;
}

template <class Use>
void blob_memory::each(std::span<const std::byte> key, Use use) const {
  const std::uint64_t hash = hash_of_key(key);
  for (std::size_t place = most_blobs; place-- > 0;) {
    const blob_entry& entry = header_->entries[place];
    if (entry.what.load(std::memory_order_acquire) == blob_entry::published &&
        entry.key_hash.load(std::memory_order_relaxed) == hash &&
        entry.key_bytes.load(std::memory_order_relaxed) == key.size() && !use(place)) {
      return;
    }
  }
}

std::optional<blob_memory::blob> blob_memory::find(std::span<const std::byte> key) const {
  std::optional<blob> found;
  each(key, [&](std::size_t place) {
    auto here = at(place);
    if (here && std::ranges::equal(here->key, key)) found = std::move(here);
    return !found;
  });
  return found;
}

bool blob_memory::begin_loading(std::span<const std::byte> key, std::span<const std::byte> content,
                                std::uint32_t loader) {
  bool there = false;
  bool mine = true;
  each(key, [&](std::size_t place) {
    there = true;
    std::uint32_t before = 0;
    mine = header_->loaders[place].compare_exchange_strong(before, loader,
                                                           std::memory_order_relaxed) ||
           before == loader;
    return false;
  });
  // If there is no space, the loading goes unrecorded, which does no harm.
  if (!there) (void)publish(key, content, loader);
  return mine;
}

void blob_memory::end_loading(std::span<const std::byte> key, std::uint32_t loader) {
  each(key, [&](std::size_t place) {
    (void)header_->loaders[place].compare_exchange_strong(loader, 0, std::memory_order_relaxed);
    return false;
  });
  tell_news();
}

void blob_memory::drop(std::span<const std::byte> key) {
  each(key, [&](std::size_t place) {
    header_->entries[place].what.store(blob_entry::dropped, std::memory_order_relaxed);
    return true;
  });
}

}  // namespace troupe::wire
