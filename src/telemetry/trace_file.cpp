#include <troupe/device/trace_file.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

namespace troupe {
namespace {

struct closer {
  void operator()(std::FILE* file) const noexcept { (void)std::fclose(file); }
};

// In the format's unit.
double microseconds(std::chrono::nanoseconds t) noexcept {
  return static_cast<double>(t.count()) / 1000;
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out += '"';
}

}  // namespace

struct trace_file::parts {
  std::unique_ptr<std::FILE, closer> file;
  std::mutex mutex;                                // guards the following, and the file
  std::set<std::pair<std::int32_t, int>> named{};  // devices (lane -1) and their lanes
  bool is_first = true;

  // With the mutex. Write errors are ignored: a trace never fails a request.
  void event(std::string_view text) {
    fmt::print(file.get(), "{}{}", std::exchange(is_first, false) ? "[\n" : ",\n", text);
  }
  void name_track(std::int32_t device, int lane) {
    if (named.emplace(device, -1).second) {
      event(fmt::format(
          R"({{"ph":"M","name":"process_name","pid":{0},"args":{{"name":"device {0}"}}}})",
          device));
    }
    if (named.emplace(device, lane).second) {
      event(fmt::format(
          R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"lane {}"}}}})",
          device, lane, lane));
    }
  }
  // An event without duration: the request was refused, or never ran as far as is known.
  void instant(const traced_request& r, std::string_view what, const error* failure) {
    name_track(r.device, r.lane);
    event(fmt::format(
        R"({{"ph":"i","s":"t","name":{},"cat":"{}","pid":{},"tid":{},"ts":{:.3f},"args":{{"id":{},"error":{}}}}})",
        json_text(r.name), what, r.device, r.lane, microseconds(r.sent.time_since_epoch()), r.id,
        json_text(failure != nullptr ? failure->to_string() : std::string())));
  }
};

trace_file::trace_file(std::unique_ptr<parts> made) noexcept : parts_(std::move(made)) {}

result<std::shared_ptr<trace_file>> trace_file::open(const std::string& path) {
  auto made = std::make_unique<parts>();
  made->file.reset(std::fopen(path.c_str(), "we"));
  if (!made->file) {
    return error{.code = errc::system_error,
                 .message = fmt::format("trace file \"{}\": {}", path, std::strerror(errno)),
                 .call = "fopen",
                 .vendor_code = errno};
  }
  return std::shared_ptr<trace_file>(new trace_file(std::move(made)));
}

trace_file::~trace_file() {
  (void)std::fputs(parts_->is_first ? "[]\n" : "\n]\n", parts_->file.get());
}

void trace_file::after_enqueue(const traced_request& r, const error* refused) noexcept {
  if (refused == nullptr) return;
  try {
    const std::scoped_lock lock(parts_->mutex);
    parts_->instant(r, "refused", refused);
  } catch (const std::exception&) {  // see `event`
  }
}

void trace_file::after_completion(const traced_request& r, const request_times& times,
                                  const error* failure) noexcept {
  const auto now = std::chrono::steady_clock::now();
  try {
    const std::scoped_lock lock(parts_->mutex);
    if (times.launch == std::chrono::nanoseconds::zero()) {
      return parts_->instant(r, failure != nullptr ? "failed" : "done", failure);
    }
    parts_->name_track(r.device, r.lane);
    const auto begin = r.sent + times.queue;
    parts_->event(fmt::format(
        R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{"id":{},"generation":{},"queue_us":{:.3f},"turn_us":{:.3f},"launch_us":{:.3f},"device_us":{:.3f},"wake_us":{:.3f},"error":{}}}}})",
        json_text(r.name), failure != nullptr ? "failed" : "done", r.device, r.lane,
        microseconds(begin.time_since_epoch()), microseconds(now - times.wake - begin), r.id,
        r.generation, microseconds(times.queue), microseconds(times.turn),
        microseconds(times.launch), microseconds(times.device), microseconds(times.wake),
        json_text(failure != nullptr ? failure->to_string() : std::string())));
  } catch (const std::exception&) {  // see `event`
  }
}

}  // namespace troupe
