#include "sending/unretrieved.hpp"

#include "binding.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace troupe::python {
namespace {

// Failures caused by the caller, or the end of its device, are no news.
bool is_expected(errc code) noexcept {
  return code == errc::cancelled || code == errc::device_stopped || code == errc::actor_stopped;
}

// Between two visits of the main thread: a device that fails everything is told of with these.
constexpr std::size_t most_texts = 16;

struct noted_failures {
  std::mutex mutex;
  std::vector<std::pair<std::string, std::size_t>> texts;  ///< and how often each was noted
  bool awaited = false;                                    ///< the main thread was asked to come
};
noted_failures& noted() {
  static auto& all = *new noted_failures;
  return all;
}

std::string text_of(const error& why) {
  return "the failure of a request was never looked at: " + why.to_string();
}

// Keeps the exception that is being raised meanwhile. A warning may be an error: destructors do not
// raise.
void warn(const std::string& text, bool here) noexcept {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  try {
    const nb::module_ errors = nb::module_::import_("troupe.errors");
    const nb::object shown = errors.attr("in_python")(nb::str(text.data(), text.size()));
    const char* const c_text = nb::cast<const char*>(shown);
    const nb::object category = errors.attr("UnretrievedFailure");
    const int failed =
        here ? PyErr_WarnEx(category.ptr(), c_text, 1)
             : PyErr_WarnExplicit(category.ptr(), c_text, "troupe", 1, "troupe", nullptr);
    if (failed != 0) PyErr_WriteUnraisable(nullptr);
  } catch (nb::python_error& e) {
    e.discard_as_unraisable("troupe.UnretrievedFailure");
  }
  PyErr_Restore(type, value, trace);
}

int warn_of_noted(void*) {
  std::vector<std::pair<std::string, std::size_t>> texts;
  {
    const std::lock_guard lock(noted().mutex);
    texts.swap(noted().texts);
    noted().awaited = false;
  }
  if (python_ends()) return 0;
  for (const auto& [text, times] : texts)
    warn(times > 1 ? text + " (" + std::to_string(times) + " times)" : text, false);
  return 0;
}

}  // namespace

void warn_unretrieved(const error& why) noexcept {
  if (is_expected(why.code) || python_ends()) return;
  warn(text_of(why), true);
}

void note_unretrieved(const error& why) noexcept {
  if (is_expected(why.code) || python_ends()) return;
  std::string text = text_of(why);
  const std::lock_guard lock(noted().mutex);
  auto& texts = noted().texts;
  const auto same = std::ranges::find(texts, text, [](const auto& one) { return one.first; });
  if (same != texts.end()) {
    ++same->second;
  } else if (texts.size() < most_texts) {
    texts.emplace_back(std::move(text), 1);
  }
  if (!noted().awaited) noted().awaited = Py_AddPendingCall(&warn_of_noted, nullptr) == 0;
}

}  // namespace troupe::python
