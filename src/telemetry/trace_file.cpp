#include "os/thread.hpp"
#include "telemetry/bounded_queue.hpp"
#include "telemetry/trace_events.hpp"

#include <troupe/device/trace_file.hpp>

#include <fmt/format.h>
#include <sys/prctl.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

namespace troupe {
namespace {

using namespace std::chrono_literals;

struct closer {
  void operator()(std::FILE* file) const noexcept { (void)std::fclose(file); }
};
using open_file = std::unique_ptr<std::FILE, closer>;

// An occurrence, for the thread that writes it down.
struct entry {
  std::int32_t device = 0;
  flight_record request{};
  bool refused = false;
  std::unique_ptr<std::string> failure{};  // null: none, or no memory for its text
  std::unique_ptr<device_event> event{};   // then it is no request
};

constexpr std::size_t queue_places = 16'384;
constexpr auto pause_of_writer = 5ms;
constexpr std::uint64_t flush_bytes = 8192;

std::unique_ptr<std::string> text_of(const error* failure) {
  return failure == nullptr ? nullptr : std::make_unique<std::string>(failure->to_string());
}

}  // namespace

struct trace_file::parts {
  std::string path;
  std::uint64_t max_bytes = 0;
  bounded_queue<entry> queue{queue_places};
  std::atomic<std::uint64_t> missing{0};  // a count: relaxed

  // The writer's. Write errors are ignored: a trace never fails a request.
  open_file file{};
  std::optional<trace_events> events{std::in_place};
  std::uint64_t written = 0;
  std::jthread writer{};  // last: it uses all of the above

  void put(entry&& one) noexcept {
    if (!queue.put(std::move(one))) missing.fetch_add(1, std::memory_order_relaxed);
  }
  void write(const std::stop_token& ending);
  void add(const entry& one);
  void flush();
  void close();
  void begin_again();
};

void trace_file::parts::write(const std::stop_token& ending) {
  entry next;
  for (bool last = false; !last;) {
    last = ending.stop_requested();
    try {
      while (queue.take(next)) {
        add(next);
        if (events->bytes() > flush_bytes) flush();
      }
      if (const auto n = missing.exchange(0, std::memory_order_relaxed)) events->add_missing(n);
    } catch (const std::bad_alloc&) {
      missing.fetch_add(1, std::memory_order_relaxed);
    }
    flush();
    if (!last) std::this_thread::sleep_for(pause_of_writer);
  }
  close();
}

void trace_file::parts::add(const entry& one) {
  const std::string_view failure = one.failure ? std::string_view(*one.failure) : "";
  if (one.event) {
    events->add(*one.event);
  } else if (one.refused) {
    events->add_refused({.name = one.request.name,
                         .device = one.device,
                         .id = one.request.id,
                         .lane = one.request.lane,
                         .sent = one.request.sent,
                         .tag = one.request.tag},
                        failure);
  } else {
    events->add(one.device, one.request, failure);
  }
}

void trace_file::parts::flush() {
  const std::string text = events->take();
  if (text.empty() || !file) return;
  written += std::fwrite(text.data(), 1, text.size(), file.get());
  (void)std::fflush(file.get());
  constexpr std::uint64_t longest_text = 2 * flush_bytes;  // with the error of the last event
  if (written + longest_text > max_bytes / 2) begin_again();
}

void trace_file::parts::close() {
  events->end();
  const std::string end = events->take();
  if (file) (void)std::fwrite(end.data(), 1, end.size(), file.get());
  file.reset();
}

void trace_file::parts::begin_again() {
  close();
  (void)std::rename(path.c_str(), (path + ".1").c_str());
  file.reset(std::fopen(path.c_str(), "we"));
  written = 0;
  events.emplace();
}

trace_file::trace_file(std::unique_ptr<parts> made) noexcept : parts_(std::move(made)) {}

result<std::shared_ptr<trace_file>> trace_file::open(const std::string& path,
                                                     std::uint64_t max_bytes) {
  auto made = std::make_unique<parts>();
  made->path = path;
  made->max_bytes = max_bytes;
  made->file.reset(std::fopen(path.c_str(), "we"));
  if (!made->file) {
    return error{.code = errc::system_error,
                 .message = fmt::format("trace file \"{}\": {}", path, std::strerror(errno)),
                 .call = "fopen",
                 .vendor_code = errno};
  }
  try {
    made->writer = os::start_thread<std::jthread>([p = made.get()](const std::stop_token& ending) {
      ::prctl(PR_SET_NAME, "troupe-trace");
      p->write(ending);
    });
  } catch (const std::system_error& none) {
    return system_failure("pthread_create", none.code().value(),
                          "the thread of a trace file cannot be started");
  }
  return std::shared_ptr<trace_file>(new trace_file(std::move(made)));
}

trace_file::~trace_file() = default;

void trace_file::after_enqueue(const traced_request& r, const error* refused) noexcept {
  if (refused == nullptr) return;
  try {
    parts_->put(
        {.device = r.device,
         .request = {.name = r.name, .id = r.id, .tag = r.tag, .lane = r.lane, .sent = r.sent},
         .refused = true,
         .failure = text_of(refused)});
  } catch (const std::bad_alloc&) {
    parts_->missing.fetch_add(1, std::memory_order_relaxed);
  }
}

void trace_file::after_completion(const traced_request& r, const request_times& times,
                                  const error* failure) noexcept {
  try {
    parts_->put({.device = r.device,
                 .request = {.name = r.name,
                             .id = r.id,
                             .tag = r.tag,
                             .generation = r.generation,
                             .lane = r.lane,
                             .outcome = failure == nullptr ? errc{} : failure->code,
                             .sent = r.sent,
                             .ended = std::chrono::steady_clock::now(),
                             .times = times},
                 .failure = text_of(failure)});
  } catch (const std::bad_alloc&) {
    parts_->missing.fetch_add(1, std::memory_order_relaxed);
  }
}

void trace_file::on_event(const device_event& e) noexcept {
  try {
    parts_->put({.device = e.device, .event = std::make_unique<device_event>(e)});
  } catch (const std::bad_alloc&) {
    parts_->missing.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace troupe
