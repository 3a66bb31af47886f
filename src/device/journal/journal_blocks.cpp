// Blocks of a journal: their queue, and the threads that write them.
#include "base/sha256.hpp"
#include "device/journal/journal_writer.hpp"
#include "os/fork_count.hpp"
#include "os/thread.hpp"

#include <algorithm>
#include <utility>

namespace troupe::journal {
namespace {

constexpr unsigned most_hashers = 4;

unsigned hashers() noexcept {
  return std::clamp(std::thread::hardware_concurrency() * 3 / 4, 1u, most_hashers);
}

}  // namespace

std::size_t journal_writer::hash_of_digest::operator()(const digest& d) const noexcept {
  std::size_t first = 0;
  std::memcpy(&first, d.data(), sizeof(first));
  return first;
}

bool journal_writer::add(block&& one) {
  const std::uint64_t bytes = one.about.bytes;
  std::unique_lock lock(blocks_mutex_);
  while (!stopped() && queued_bytes_ != 0 && queued_bytes_ + bytes > options_.queue_bytes) {
    lock.unlock();
    if (!await_space()) return false;
    lock.lock();
  }
  if (stopped()) return false;
  // Another thread once the first ones cannot keep up.
  if (hashers_.empty() || (blocks_.size() > 2 * hashers_.size() && hashers_.size() < hashers())) {
    try {
      hashers_.push_back(os::start_thread<std::jthread>(
          [this](const std::stop_token& end) { write_blocks(end); }));
    } catch (const std::system_error&) {
      if (hashers_.empty()) return false;
    }
  }
  const auto place = unwritten_.insert(taken_in_).first;
  try {
    blocks_.emplace_back(taken_in_, std::move(one));
  } catch (const std::bad_alloc&) {
    unwritten_.erase(place);
    throw;
  }
  ++taken_in_;
  queued_bytes_ += bytes;
  contents_.fetch_add(1, std::memory_order_relaxed);
  lock.unlock();
  has_block_.notify_one();
  return true;
}

void journal_writer::write_blocks(const std::stop_token& end) {
  std::unique_lock lock(blocks_mutex_);
  while (has_block_.wait(lock, end, [this] { return !blocks_.empty(); })) {
    const auto [number, one] = std::move(blocks_.front());
    blocks_.pop_front();
    lock.unlock();
    try {
      write_block(one);
    } catch (const std::bad_alloc&) {
      note_gap();
    }
    lock.lock();
    queued_bytes_ -= one.about.bytes;
    unwritten_.erase(number);
    has_space_.notify_all();
  }
}

void journal_writer::write_block(const block& one) {
  const std::span<const std::byte> bytes(one.bytes.get(), one.about.bytes);
  bytes_note about = one.about;
  about.is = detail::sha256().bytes(bytes).finish();
  const std::span<const std::byte> name = std::as_bytes(std::span(about.is));
  const std::uint32_t checksum = checksum_of(name);
  const std::lock_guard lock(file_mutex_);
  if (stopped()) return;
  if (known_.contains(about.is)) {
    duplicates_.fetch_add(1, std::memory_order_relaxed);
  } else if (append_to_file(chunk_header::bytes, {name, bytes}, checksum)) {
    known_.insert(about.is);
  } else {
    note_gap();
    if (stopped()) return;
    const gap_note gap{.first = about.ticket, .last = about.ticket, .what = gap_note::contents};
    chunk_.add(note::gap, one.device, {bytes_of(gap)});
    return;
  }
  chunk_.add(one.what, one.device, {bytes_of(about)});
}

// Waits for those that were added before. A copy of the program has no threads that write.
void journal_writer::await_blocks() {
  if (made_in_ != os::fork_count()) return;
  std::unique_lock lock(blocks_mutex_);
  const std::uint64_t all = taken_in_;
  has_space_.wait(lock, [&] { return unwritten_.empty() || *unwritten_.begin() >= all; });
}

}  // namespace troupe::journal
