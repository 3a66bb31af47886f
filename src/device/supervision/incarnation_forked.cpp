// A worker that a fork server starts, and the output that a worker writes as it ends.
#include "device/supervision/fork_requests.hpp"
#include "device/supervision/incarnation.hpp"
#include "device/supervision/loss/recovery.hpp"
#include "os/message_socket.hpp"
#include "worker/process/worker_argument.hpp"

#include <troupe/core/deadline.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_news = std::size_t{64} * 1024;
constexpr int most_news_in_a_row = 64;
// A starting worker gets at most this many times `start_timeout`, however much it reports.
constexpr int most_patience = 16;
constexpr std::size_t most_descriptors = 2;
// Reads at most this much of a worker's output.
constexpr std::size_t most_read = std::size_t{1} << 20;
// Prints this many consecutive lines that differ in numbers only; summarises the rest.
constexpr std::size_t most_alike = 3;
// A worker reports its position at once. On an overloaded machine that takes a while; a stopped
// process never answers.
constexpr auto longest_answer = 1s;
constexpr auto between_looks = 200us;

std::size_t size_of_file(const os::unique_fd& file) noexcept {
  struct stat about{};
  return ::fstat(file.get(), &about) == 0 ? static_cast<std::size_t>(about.st_size) : 0;
}

bool ends_an_answer(const os::unique_fd& file) noexcept {
  char last = 0;
  const auto size = static_cast<off_t>(size_of_file(file));
  return size > 0 && ::pread(file.get(), &last, 1, size - 1) == 1 && last == worker::end_of_answer;
}

std::string without_digits(std::string_view line) {
  std::string text(line);
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

// An assertion in a kernel prints the same line for each of its threads.
std::string folded(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  std::string made;
  for (std::size_t i = 0; i < lines.size();) {
    const std::string kind = without_digits(lines[i]);
    std::size_t end = i + 1;
    while (end < lines.size() && without_digits(lines[end]) == kind)
      ++end;
    const std::size_t printed = end - i > most_alike ? 1 : end - i;
    for (std::size_t k = 0; k < printed; ++k)
      made.append(lines[i + k]).append("\n");
    if (printed < end - i) made += fmt::format("[{} more lines like it]\n", end - i - printed);
    i = end;
  }
  return made;
}

}  // namespace

result<void> incarnation::have_forked(const os::unique_fd& control) {
  auto pair = os::message_socket_pair();
  if (!pair) return std::move(pair).error();
  news_ = std::move(pair->first);
  last_heard_ = std::chrono::steady_clock::now();
  constexpr int more = most_patience - 1;
  const auto timeout =
      std::min(plan_.config->start_timeout, decltype(plan_.config->start_timeout)::max() / more);
  counts_until_ = detail::deadline_after(last_heard_, timeout * more);
  using forks = fork_server::parts;
  auto worker = plan_.config->forked_by->own().fork(
      control, pair->second, plan_.all_wait ? forks::urgency::at_once : forks::urgency::can_wait);
  if (!worker) return std::move(worker).error();
  token_ = *std::move(worker);
  return {};
}

void incarnation::on_news() {
  std::array<std::byte, longest_news> buffer;
  // The next turn reads the rest.
  for (int i = 0; news_ && i < most_news_in_a_row; ++i) {
    auto received =
        os::receive_message(news_, buffer, os::wait_mode::non_blocking, most_descriptors);
    if (!received && received.error().vendor_code == EAGAIN) return;
    if (!received || received->bytes == 0) {
      news_.reset();
      if (process_.running() || stage_ == stage::failed) return;
      return fail({.code = errc::device_unavailable,
                   .message = activity_.empty()
                                  ? "the fork server ended before it had forked a worker"
                                  : "the fork server ended while " + activity_});
    }
    last_heard_ = std::min(std::chrono::steady_clock::now(), counts_until_);
    hear_news({reinterpret_cast<const char*>(buffer.data()), received->bytes},
              received->descriptors);
  }
}

// The message with the process's number also brings its pidfd and its output file.
void incarnation::hear_news(std::string_view message, std::vector<os::unique_fd>& descriptors) {
  constexpr std::string_view forked = "forked ";
  if (auto why = failure_in(message)) {
    // A file in the middle of an edit, a service that is away: if a worker has been ready before,
    // the error is temporary.
    if (plan_.any_has_served && is_permanent(why->code)) why->code = errc::device_unavailable;
    return fail(*std::move(why));
  }
  if (!message.starts_with(forked)) {
    activity_ = readable(message);
    return;
  }
  pid_t pid = -1;
  const char* const from = message.data() + forked.size();
  const bool is_number =
      std::from_chars(from, message.data() + message.size(), pid).ec == std::errc();
  if (!is_number || pid <= 1 || process_.running() || descriptors.empty()) {
    return fail({.code = errc::protocol_violation,
                 .message = "the fork server did not say which worker it has forked"});
  }
  if (descriptors.size() > 1) log_ = std::move(descriptors[1]);
  process_ = os::child_process::forked(pid, std::move(descriptors[0]),
                                       os::unique_fd(::fcntl(news_.get(), F_DUPFD_CLOEXEC, 0)));
  activity_.clear();
}

std::string incarnation::last_words() const {
  if (!log_) return {};
  // The stack is at the end. Text that was shown before is overwritten with zeros.
  const std::size_t size = size_of_file(log_);
  std::string text(std::min(size, most_read), ' ');
  const ssize_t got =
      ::pread(log_.get(), text.data(), text.size(), static_cast<off_t>(size - text.size()));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  std::erase(text, '\0');
  text = readable(folded(text));
  return text.empty() ? text : "\n" + text;
}

std::string incarnation::ask_where_it_is() const {
  if (!log_ || !process_.running()) return {};
  process_.signal(worker::where_signal());
  const auto until = std::chrono::steady_clock::now() + longest_answer;
  while (!ends_an_answer(log_) && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(between_looks);
  return last_words();
}

}  // namespace troupe
