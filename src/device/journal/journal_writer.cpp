#include "device/journal/journal_writer.hpp"

#include "os/fork_count.hpp"
#include "os/futex.hpp"
#include "os/thread.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace troupe::journal {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr std::size_t full_chunk_bytes = std::size_t{1} << 20;
// A program that is killed loses what is younger.
constexpr auto write_after = 100ms;
constexpr auto write_again_after = 1s;  // if it has failed
// Notes that wait to be written again; later ones stay in their queues.
constexpr std::size_t most_waiting_bytes = std::size_t{8} << 20;
constexpr auto nap = 1ms;
// The thread sleeps longer once it has found nothing for this long.
constexpr auto idle_after = 200ms;
constexpr auto longest_sleep = 1s;
constexpr int most_failed_writes = 3;
constexpr std::uint64_t least_queue_bytes = std::uint64_t{1} << 20;

// Returns 0, or the error number.
int write_all_at(int file, std::uint64_t at, std::span<iovec> pieces) noexcept {
  while (!pieces.empty()) {
    const ssize_t n =
        ::pwritev(file, pieces.data(), static_cast<int>(pieces.size()), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : ENOSPC;
    at += static_cast<std::uint64_t>(n);
    auto done = static_cast<std::size_t>(n);
    while (!pieces.empty() && done >= pieces.front().iov_len) {
      done -= pieces.front().iov_len;
      pieces = pieces.subspan(1);
    }
    if (pieces.empty()) return 0;
    pieces.front().iov_base = static_cast<std::byte*>(pieces.front().iov_base) + done;
    pieces.front().iov_len -= done;
  }
  return 0;
}

}  // namespace

result<std::shared_ptr<journal_writer>> journal_writer::open(const std::string& path,
                                                             const journal_options& options) {
  if (options.queue_bytes < least_queue_bytes) {
    return error{
        .code = errc::invalid_argument,
        .message = fmt::format("journal_options::queue_bytes must be at least {}; it is {}",
                               least_queue_bytes, options.queue_bytes)};
  }
  // The rights of a file that exists already are set, too: it may have been somebody's.
  os::unique_fd file(::open(path.c_str(),
                            O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                            S_IRUSR | S_IWUSR));
  struct stat facts{};
  if (!file || ::fstat(file.get(), &facts) != 0) return system_failure("open", errno, path);
  if (!S_ISREG(facts.st_mode)) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("a journal must be a file; {} is none", path)};
  }
  if (::fchmod(file.get(), S_IRUSR | S_IWUSR) != 0) return system_failure("fchmod", errno, path);
  // In a copy of the program (`fork`) it is left as it is: its threads are not there, and a
  // condition that they waited for cannot be destroyed.
  const auto end = [](journal_writer* one) {
    if (one->made_in_ == os::fork_count()) delete one;
  };
  std::shared_ptr<journal_writer> made(new journal_writer(path, std::move(file), options), end);
  const auto mark = std::as_bytes(std::span(file_mark));
  if (::write(made->file_.get(), mark.data(), mark.size()) != std::ssize(mark)) {
    return system_failure("write", errno, path);
  }
  made->file_bytes_ = mark.size();
  try {
    made->start_threads();
  } catch (const std::system_error& e) {
    return system_failure("pthread_create", e.code().value(), "the thread of a journal");
  }
  return made;
}

journal_writer::journal_writer(std::string path, os::unique_fd file, const journal_options& options)
    : path_(std::move(path)),
      options_(options),
      made_in_(os::fork_count()),
      file_(std::move(file)) {}

void journal_writer::start_threads() {
  thread_ =
      os::start_thread<std::jthread>([this](const std::stop_token& end) { write_notes(end); });
}

journal_writer::~journal_writer() {
  (void)flush();
  thread_.request_stop();
  ring();
  if (thread_.joinable()) thread_.join();
  for (std::jthread& one : hashers_)
    one.request_stop();
  has_block_.notify_all();
  hashers_.clear();
  const std::lock_guard lock(file_mutex_);
  if (stopped()) return;
  chunk_.add(note::closed, 0, {});
  write_chunk();
}

void journal_writer::add(note_source& source, std::uint16_t device, std::string_view build) {
  const std::lock_guard lock(sources_mutex_);
  const std::lock_guard file_lock(file_mutex_);
  chunk_.add(note::build, device, {bytes_of_text(build)});
  sources_.push_back(&source);  // last: its constructor throws if memory is short
}

void journal_writer::add(const note_chunk& notes) {
  const std::lock_guard lock(file_mutex_);
  chunk_.add(notes);
}

void journal_writer::remove(note_source& source) noexcept {
  const std::lock_guard lock(sources_mutex_);
  std::erase(sources_, &source);
  try {
    note_chunk last;
    while (source.give_notes(last)) {
    }
    await_blocks();
    add(last);
  } catch (const std::bad_alloc&) {
    note_gap();
  }
}

void journal_writer::ring() noexcept {
  asleep_.store(0, std::memory_order_relaxed);
  os::futex_wake(asleep_, 1, os::sharing::program);
}

// The thread of the notes.
void journal_writer::write_notes(const std::stop_token& end) {
  clock::time_point noted_at = clock::now();
  clock::time_point last_write = noted_at;
  while (true) {
    const bool ends = end.stop_requested();
    bool any = false;
    try {
      any = has_room() && collect();
      const std::lock_guard lock(file_mutex_);
      const bool has_failed = failed_writes_ != 0;
      const bool due =
          ends || clock::now() - last_write >= (has_failed ? write_again_after : write_after);
      const bool full = !has_failed && chunk_.bytes().size() >= full_chunk_bytes;
      if (full || (due && !chunk_.bytes().empty())) {
        write_chunk();
        last_write = clock::now();
      }
    } catch (const std::bad_alloc&) {
      note_gap();
    }
    if (any) noted_at = clock::now();
    if (ends && !any) return;
    if (!any) pause(end, clock::now() - noted_at < idle_after);
  }
}

bool journal_writer::has_room() const {
  const std::lock_guard lock(file_mutex_);
  return chunk_.bytes().size() < most_waiting_bytes;
}

// Notes count from the next write on, so the blocks of their requests are in the file before: a
// program may be killed at any moment.
bool journal_writer::collect() {
  const std::lock_guard lock(sources_mutex_);
  note_chunk notes;
  bool any = false;
  for (note_source* const source : sources_)
    any = source->give_notes(notes) || any;
  if (notes.bytes().empty()) return any;
  await_blocks();
  add(notes);
  return any;
}

void journal_writer::pause(const std::stop_token& end, bool busy) {
  const std::uint32_t now = busy ? 0 : 1;
  // A sender that has just read 0 does not ring, so its note is looked for once more after a nap.
  const bool was_asleep = asleep_.exchange(now, std::memory_order_relaxed) != 0;
  if (end.stop_requested()) return;
  os::futex_wait(asleep_, now, clock::now() + (was_asleep && !busy ? longest_sleep : nap),
                 os::sharing::program);
}

// With `file_mutex_`. A chunk is kept if its write has failed: later notes need the types that it
// may have.
void journal_writer::write_chunk() {
  if (!stopped() &&
      append_to_file(chunk_header::notes, {chunk_.bytes()}, checksum_of(chunk_.bytes()))) {
    chunk_.clear();
  } else if (stopped() && !chunk_.bytes().empty()) {
    note_gap();
    chunk_.clear();
  }
}

// With `file_mutex_`. A write that fails leaves the file as it was.
bool journal_writer::append_to_file(std::uint32_t mark,
                                    std::initializer_list<std::span<const std::byte>> parts,
                                    std::uint32_t checksum) noexcept {
  chunk_header head{.mark = mark, .checksum = checksum, .number = chunks_};
  std::array<iovec, 4> pieces{};
  std::size_t count = 1;
  for (const auto& part : parts) {
    pieces[count++] = {const_cast<std::byte*>(part.data()), part.size()};
    head.length += static_cast<std::uint32_t>(part.size());
  }
  pieces[0] = {&head, sizeof(head)};
  const std::uint64_t whole = sizeof(head) + head.length;
  if (options_.most_bytes != 0 && file_bytes_ + whole > options_.most_bytes) {
    give_up([&] {
      return fmt::format("its file has {} of at most {} bytes", file_bytes_, options_.most_bytes);
    });
    return false;
  }
  const int failure = write_all_at(file_.get(), file_bytes_, std::span(pieces).first(count));
  if (failure == 0) {
    file_bytes_ += whole;
    ++chunks_;
    failed_writes_ = 0;
    return true;
  }
  // The rest of a chunk would be taken for damage.
  (void)!::ftruncate(file_.get(), static_cast<off_t>(file_bytes_));
  if (++failed_writes_ >= most_failed_writes) {
    give_up([&] { return system_failure("write", failure, path_).to_string(); });
  }
  return false;
}

// With `file_mutex_`.
template <class Why>
void journal_writer::give_up(Why why) noexcept {
  if (stopped_.exchange(true)) return;
  try {
    why_stopped_ = why();
  } catch (const std::bad_alloc&) {
    why_stopped_.clear();
  }
}

void journal_writer::stop(std::string why) noexcept {
  const std::lock_guard lock(file_mutex_);
  if (!stopped_.exchange(true)) why_stopped_ = std::move(why);
}

bool journal_writer::await_space() noexcept {
  if (stopped()) return false;
  switch (options_.behind) {
    case journal_options::when_behind::gap:
      return false;
    case journal_options::when_behind::stop:
      stop("it could not keep up with the requests, and is to stop then");
      return false;
    case journal_options::when_behind::wait:
      break;
  }
  waits_.fetch_add(1, std::memory_order_relaxed);
  ring();
  std::this_thread::sleep_for(std::chrono::microseconds(50));
  return true;
}

bool journal_writer::flush() {
  try {
    (void)collect();
    await_blocks();  // also those that are there without a device
    const std::lock_guard lock(file_mutex_);
    if (!chunk_.bytes().empty()) write_chunk();
    return chunk_.bytes().empty() && !stopped();
  } catch (const std::bad_alloc&) {
    note_gap();
    return false;
  }
}

journal_statistics journal_writer::statistics() const {
  journal_statistics now{.requests = requests_.load(std::memory_order_relaxed),
                         .gaps = gaps_.load(std::memory_order_relaxed),
                         .contents = contents_.load(std::memory_order_relaxed),
                         .duplicates = duplicates_.load(std::memory_order_relaxed),
                         .waits = waits_.load(std::memory_order_relaxed)};
  const std::lock_guard lock(file_mutex_);
  now.file_bytes = file_bytes_;
  now.stopped = why_stopped_;
  if (stopped() && now.stopped.empty()) now.stopped = "there was no memory";
  return now;
}

}  // namespace troupe::journal
