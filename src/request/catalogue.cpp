#include "request/built_in_requests.hpp"
#include "request/description/table.hpp"

#include <troupe/request/catalogue.hpp>

#include <algorithm>
#include <mutex>

namespace troupe {
namespace {

struct known_requests {
  std::mutex mutex;
  std::vector<const request_type*> all;  ///< in the order in which they became known
};

// Never destroyed: requests are added, and searched for, until the very end.
known_requests& known() {
  static auto& requests = *new known_requests;
  return requests;
}

std::vector<const request_type*> all_requests() {
  (void)built_in_requests();  // which adds them
  known_requests& requests = known();
  const std::lock_guard lock(requests.mutex);
  std::vector<const request_type*> all = requests.all;
  std::ranges::sort(all, {}, &request_type::name);
  return all;
}

}  // namespace

namespace detail {

void add_to_catalogue(const request_type& type) {
  known_requests& requests = known();
  const std::lock_guard lock(requests.mutex);
  requests.all.push_back(&type);
}

}  // namespace detail

std::vector<std::string_view> libraries() {
  std::vector<std::string_view> names;
  for (const request_type* const type : all_requests()) {
    if (names.empty() || names.back() != type->library()) names.push_back(type->library());
  }
  return names;
}

std::vector<const request_type*> requests_of(std::string_view library) {
  std::vector<const request_type*> all = all_requests();
  if (!library.empty()) {
    std::erase_if(all, [&](const request_type* type) { return type->library() != library; });
  }
  return all;
}

const request_type* request_named(std::string_view name) {
  const std::vector<const request_type*> all = all_requests();
  const auto found = std::ranges::find(all, name, &request_type::name);
  return found == all.end() ? nullptr : *found;
}

std::string_view summary_of(const request_type& type) noexcept { return type.fields->summary; }

}  // namespace troupe
