#include "libraries/blaslt/cuda/tuned_choices.hpp"

#include "base/try.hpp"

#include <fmt/format.h>
#include <sys/file.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>
#include <thread>
#include <utility>

namespace troupe::cuda {
namespace {

constexpr std::size_t header_bytes = 512;
constexpr std::size_t most_numbers = 48;
// More than the products of any program.
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

/// Keeps other processes from replacing the file. The wait for it has an end, because a process
/// that holds it may be stopped.
class folder_lock {
 public:
  explicit folder_lock(int folder) : folder_(folder) {
    constexpr int tries = 50;
    constexpr std::chrono::milliseconds between(2);
    for (int i = 0; i < tries && !held_; ++i) {
      if (i > 0) std::this_thread::sleep_for(between);
      held_ = ::flock(folder_, LOCK_EX | LOCK_NB) == 0;
    }
  }
  ~folder_lock() {
    if (held_) (void)::flock(folder_, LOCK_UN);
  }
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;

  [[nodiscard]] bool held() const noexcept { return held_; }

 private:
  int folder_;
  bool held_ = false;
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
  tuned_choices made;
  made.folder_ = TRY(os::private_folder::open(folder));
  made.header_ = fmt::format("troupe matmul choices, form 3\n{}\n", identity);
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
  known_.insert_or_assign(place, chosen);
  if (!folder_) return;
  // Without the lock it is written with the next choice.
  if (const folder_lock lock(folder_.get()); lock.held()) {
    by_key merged = read();
    merged.insert(known_.begin(), known_.end());
    merged.insert_or_assign(place, chosen);
    while (merged.size() > most_entries)
      merged.erase(merged.begin()->first == place ? std::next(merged.begin()) : merged.begin());
    // Writers hold the lock, so an unfinished file has lost its writer.
    for (const std::string& name : folder_.names()) {
      if (os::private_folder::is_unfinished(name)) folder_.remove(name);
    }
    (void)write(merged);
    known_ = std::move(merged);
  }
}

tuned_choices::by_key tuned_choices::read() const {
  by_key found;
  const os::private_folder::file file = folder_.find(name_);
  constexpr std::uint64_t most_bytes = header_bytes + 2 * most_entries * sizeof(stored);
  if (!file.content || file.bytes < header_bytes || file.bytes > most_bytes) return found;
  std::vector<std::byte> bytes(file.bytes);
  if (!os::read_all(file.content, bytes) ||
      std::memcmp(bytes.data(), header_.data(), header_bytes) != 0) {
    return found;
  }
  for (std::size_t at = header_bytes; at + sizeof(stored) <= bytes.size(); at += sizeof(stored)) {
    stored entry;
    std::memcpy(&entry, bytes.data() + at, sizeof entry);
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
  return folder_.replace(name_, {bytes});
}

}  // namespace troupe::cuda
