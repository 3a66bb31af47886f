#include "info/commands/requests.hpp"

#include "info/commands/closest_name.hpp"

#include <troupe/request/catalogue.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace troupe::info {
namespace {

void show_json(const std::vector<const request_type*>& all) {
  fmt::print("[");
  for (std::size_t i = 0; i < all.size(); ++i)
    fmt::print("{}{}", i == 0 ? "\n" : ",\n", json_of(*all[i]));
  fmt::print("\n]\n");
}

void show_list(const std::vector<const request_type*>& all) {
  std::size_t widest = 0;
  for (const request_type* const type : all)
    widest = std::max(widest, type->name.size());
  for (const request_type* const type : all)
    fmt::print("{:<{}}  {}\n", type->name, widest, summary_of(*type));
}

// A bar must be escaped in a table cell.
std::string cell(std::string_view text) {
  std::string marked;
  for (const char c : text)
    marked += c == '|' ? std::string("\\|") : std::string(1, c);
  return marked;
}

}  // namespace

int show_requests(std::string_view name, bool json) {
  const request_type* const one = request_named(name);
  const std::vector<const request_type*> all =
      one != nullptr ? std::vector{one} : requests_of(name);
  if (all.empty()) {
    std::vector<std::string_view> known = libraries();
    for (const request_type* const type : requests_of(""))
      known.push_back(type->name);
    fmt::print(stderr, "no request and no library is called {}{}\nlibraries: {}\n", name,
               did_you_mean(name, known), fmt::join(libraries(), ", "));
    return 2;
  }
  if (json) {
    show_json(all);
  } else if (one != nullptr) {
    fmt::print("{}", page_of(*one));
  } else {
    show_list(all);
  }
  return 0;
}

void show_index() {
  fmt::print(
      "# Every request\n\nWhat can be asked, by library: the tensors that a request uses → those "
      "that it writes. `troupe requests NAME` shows one in full.\nMade by `troupe requests "
      "--index`.\n");
  for (const std::string_view library : libraries()) {
    fmt::print("\n## {}\n\n| request | tensors | |\n| --- | --- | --- |\n", library);
    for (const request_type* const type : requests_of(library))
      fmt::print("| `{}` | {} | {} |\n", type->name, signature_of(*type), cell(summary_of(*type)));
  }
}

}  // namespace troupe::info
