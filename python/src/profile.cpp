// The time of requests, by operation: `troupe.profile()`.
#include "profile.hpp"

#include "binding.hpp"

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace troupe::python {
namespace {

/// All ended requests of an operation.
struct profile_row {
  std::int64_t calls = 0;
  std::int64_t failed = 0;
  request_times sums;
};

/// Hears on any thread, without the GIL.
class profile_tracer final : public request_tracer {
 public:
  using row_map = std::map<std::string, profile_row, std::less<>>;

  void after_completion(const traced_request& r, const request_times& times,
                        const error* failure) noexcept override {
    const std::lock_guard lock(mutex_);
    profile_row& row = row_of(r.name);
    ++row.calls;
    row.failed += failure != nullptr ? 1 : 0;
    row.sums.queue += times.queue;
    row.sums.turn += times.turn;
    row.sums.launch += times.launch;
    row.sums.device += times.device;
    row.sums.wake += times.wake;
  }
  [[nodiscard]] row_map rows() const {
    const std::lock_guard lock(mutex_);
    return rows_;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    rows_.clear();
  }

 private:
  profile_row& row_of(std::string_view name) {
    const auto known = rows_.find(name);
    return known != rows_.end() ? known->second : rows_[std::string(name)];
  }

  mutable std::mutex mutex_;
  row_map rows_;
};

struct py_profile {
  std::shared_ptr<profile_tracer> tracer = std::make_shared<profile_tracer>();
};

nb::dict rows_of(const py_profile& p) {
  nb::dict all;
  for (const auto& [name, row] : p.tracer->rows()) {
    const auto seconds = [](std::chrono::nanoseconds t) {
      return static_cast<double>(t.count()) * 1e-9;
    };
    nb::dict one;
    one["calls"] = row.calls;
    one["failed"] = row.failed;
    one["queue"] = seconds(row.sums.queue - row.sums.turn);
    one["turn"] = seconds(row.sums.turn);
    one["host"] = seconds(row.sums.launch);
    one["device"] = seconds(row.sums.device);
    one["answer"] = seconds(row.sums.wake);
    all[name.c_str()] = one;
  }
  return all;
}

}  // namespace

std::shared_ptr<request_tracer> profile_tracer_of(nb::handle object) {
  return nb::isinstance<py_profile>(object) ? nb::inst_ptr<py_profile>(object)->tracer : nullptr;
}

void add_profile(nb::module_& m) {
  nb::class_<py_profile>(
      m, "Profile",
      "The time of a device's requests, by operation: system.device(0, trace=profile),\n"
      "then print(profile). A device that has one spends some microseconds on each request.")
      .def(nb::init<>())
      .def("__str__",
           [](nb::handle self) {
             return nb::module_::import_("troupe.profiles").attr("shown")(self.attr("rows")());
           })
      .def("rows", &rows_of,
           "By operation: calls, failed, and seconds in all. queue: from sending until its lane "
           "had\n"
           "taken it up. turn: until operations of Python that ran in other lanes were over, and "
           "the\n"
           "interpreter's lock was free. host: in the function, or enqueuing. device: from its\n"
           "beginning to its end on the device. answer: until the sender was told.")
      .def("clear", [](const py_profile& p) { p.tracer->clear(); }, "Forgets what there was.");
}

}  // namespace troupe::python
