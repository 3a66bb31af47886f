#include "libraries/tensors/requests/notation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace troupe::tensors {
namespace {

error invalid(std::string message) {
  return {.code = errc::invalid_argument, .message = std::move(message)};
}

bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_printable(char c) noexcept { return c >= ' ' && c <= '~'; }

// In a list, before letters take its place.
constexpr char ellipsis = '.';
constexpr std::string_view ellipsis_text = "...";

/// The positions of the result's modes in the text.
struct parsed {
  equation made;
  std::vector<std::size_t> places;
};

result<parsed> read(std::string_view text, bool takes_ellipses) {
  parsed p;
  const auto refuse = [&](std::size_t at, std::string_view what) {
    return invalid(fmt::format("modes \"{}\": '{}' at position {} {}", text, text[at], at, what));
  };
  if (const auto odd = std::ranges::find_if_not(text, is_printable); odd != text.end()) {
    return invalid(fmt::format("modes: byte {} at position {} is no letter",
                               static_cast<unsigned char>(*odd), odd - text.begin()));
  }
  p.made.operands.emplace_back();
  bool behind = false;  // the arrow
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == '-' && i + 1 < text.size() && text[i + 1] == '>') {
      if (behind) return refuse(i, "begins a second arrow");
      behind = true;
      ++i;
    } else if (c == ',') {
      if (behind) return refuse(i, "is behind the arrow, where one list stands");
      p.made.operands.emplace_back();
    } else {
      std::string& list = behind ? p.made.result : p.made.operands.back();
      const bool dots = takes_ellipses && text.substr(i, ellipsis_text.size()) == ellipsis_text;
      if (!dots && !is_letter(c)) return refuse(i, "is no letter");
      if (dots && list.find(ellipsis) != std::string::npos) {
        return refuse(i, "begins a second ellipsis of one list");
      }
      list += c;
      if (behind) p.places.push_back(i);
      if (dots) i += ellipsis_text.size() - 1;
    }
  }
  if (!behind) return invalid(fmt::format(R"(modes "{}" have no "->")", text));
  return p;
}

/// How many dimensions the ellipsis of a list stands for.
result<std::size_t> count_of_ellipsis(std::string_view modes, const any_tensor& t,
                                      const std::string& name) {
  const auto rank = static_cast<std::size_t>(t.rank());
  if (rank + 1 >= modes.size()) return rank + 1 - modes.size();
  return error{.code = errc::shape_mismatch,
               .message = fmt::format("{} has {} modes beside an ellipsis, and is [{}]", name,
                                      modes.size() - 1, fmt::join(t.extents(), ", "))};
}

/// Replaces each ellipsis by letters that are not in the lists.
result<void> expand(parsed& p, std::string_view text, std::span<const any_tensor* const> operands,
                    std::span<const std::string> names) {
  std::vector<std::size_t> counts(operands.size());
  std::size_t most = 0;
  mode_set named = 0;
  const auto has_ellipsis = [](const std::string& list) {
    return list.find(ellipsis) != std::string::npos;
  };
  const auto add_named = [&](const std::string& list) {
    for (const char mode : list)
      named |= mode == ellipsis ? 0 : set_of(mode);
  };
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::string& list = p.made.operands[i];
    add_named(list);
    if (!has_ellipsis(list)) continue;
    const auto count = count_of_ellipsis(list, *operands[i], names[i]);
    if (!count) return count.error();
    counts[i] = *count;
    most = std::max(most, *count);
  }
  add_named(p.made.result);
  std::string& letters = p.made.ellipsis;
  for (int n = most_modes; n-- > 0 && letters.size() < most;) {
    if ((named & set_of(letter_of(n))) == 0) letters += letter_of(n);
  }
  if (letters.size() < most) {
    return invalid(
        fmt::format("modes \"{}\" and their ellipsis are more than {}", text, most_modes));
  }
  const auto replace = [&](std::string& list, std::size_t count) {
    if (const std::size_t at = list.find(ellipsis); at != std::string::npos)
      list.replace(at, 1, letters.substr(most - count));
  };
  for (std::size_t i = 0; i < operands.size(); ++i)
    replace(p.made.operands[i], counts[i]);
  const std::size_t at = p.made.result.find(ellipsis);
  if (at == std::string::npos) {
    if (most == 0) return {};
    return invalid(fmt::format(
        "modes \"{}\": the result has no ellipsis, which stands for {} dimensions of operands",
        text, most));
  }
  // Each letter is where the ellipsis was.
  const auto place = p.places.begin() + static_cast<std::ptrdiff_t>(at);
  const std::size_t in_text = *place;
  p.places.insert(p.places.erase(place), most, in_text);
  replace(p.made.result, most);
  return {};
}

}  // namespace

std::string equation::name_of(char mode) const {
  const std::size_t at = ellipsis.find(mode);
  return at == std::string::npos ? fmt::format("mode '{}'", mode)
                                 : fmt::format("dimension {} of the ellipsis", at);
}

std::string equation::given(std::string_view modes) const {
  std::string made;
  for (const char mode : modes) {
    const bool is_ellipsis = ellipsis.find(mode) != std::string::npos;
    if (!is_ellipsis) {
      made += mode;
    } else if (!made.ends_with(ellipsis_text)) {
      made += ellipsis_text;
    }
  }
  return made;
}

result<equation> parse(std::string_view text, std::size_t operands, bool may_repeat,
                       std::span<const any_tensor* const> tensors,
                       std::span<const std::string> names) {
  auto p = read(text, !tensors.empty());
  if (!p) return std::move(p).error();
  if (p->made.operands.size() != operands) {
    return invalid(
        fmt::format("modes \"{}\" have {} lists before the arrow, and there are {} operands", text,
                    p->made.operands.size(), operands));
  }
  if (text.find(ellipsis) != std::string_view::npos) {
    if (auto expanded = expand(*p, text, tensors, names); !expanded)
      return std::move(expanded).error();
  }
  mode_set there = 0;
  for (const std::string& one : p->made.operands)
    there |= set_of(one);
  const std::string& result = p->made.result;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (const std::size_t first = result.find(result[i]); first < i) {
      return invalid(fmt::format("modes \"{}\": the result has '{}' twice, at positions {} and {}",
                                 text, result[i], p->places[first], p->places[i]));
    }
    if (!may_repeat && (there & set_of(result[i])) == 0) {
      return invalid(fmt::format("modes \"{}\": '{}' at position {} is in no operand", text,
                                 result[i], p->places[i]));
    }
  }
  return std::move(p->made);
}

result<mode_extents> mode_extents::of(const equation& e,
                                      std::span<const any_tensor* const> operands,
                                      std::span<const std::string> names) {
  mode_extents made;
  std::array<std::size_t, most_modes> from{};
  const auto mismatch = [](std::string message) {
    return error{.code = errc::shape_mismatch, .message = std::move(message)};
  };
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const any_tensor& t = *operands[i];
    const std::string& modes = e.operands[i];
    if (t.rank() != static_cast<int>(modes.size())) {
      return mismatch(fmt::format("{} has {} modes, \"{}\", and is [{}]", names[i], modes.size(),
                                  modes, fmt::join(t.extents(), ", ")));
    }
    mode_set own = 0;
    for (std::size_t d = 0; d < modes.size(); ++d) {
      const auto n = static_cast<std::size_t>(number_of(modes[d]));
      const std::int64_t extent = t.extent(static_cast<int>(d));
      std::int64_t& known = made.extents_[n];
      const mode_set bit = set_of(modes[d]);
      if ((own & bit) != 0) {
        const std::int64_t first = t.extent(static_cast<int>(modes.find(modes[d])));
        if (first != extent) {
          return mismatch(
              fmt::format("mode '{}' is {} and {} in {}", modes[d], first, extent, names[i]));
        }
        continue;
      }
      own |= bit;
      if ((made.known_ & bit) == 0 || (known == 1 && extent != 1)) {
        known = extent;
        from[n] = i;
        made.known_ |= bit;
      } else if (extent != 1 && extent != known) {
        return mismatch(fmt::format("{} is {} in {} and {} in {}", e.name_of(modes[d]), known,
                                    names[from[n]], extent, names[i]));
      }
    }
  }
  return made;
}

result<void> mode_extents::take_result(const equation& e, const any_tensor& d, bool may_repeat) {
  const auto mismatch = [](std::string message) {
    return error{.code = errc::shape_mismatch, .message = std::move(message)};
  };
  if (d.rank() != static_cast<int>(e.result.size())) {
    return mismatch(fmt::format("d has {} modes, \"{}\", and is [{}]", e.result.size(),
                                e.given(e.result), fmt::join(d.extents(), ", ")));
  }
  for (int i = 0; i < d.rank(); ++i) {
    const char mode = e.result[static_cast<std::size_t>(i)];
    std::int64_t& known = extents_[static_cast<std::size_t>(number_of(mode))];
    if ((known_ & set_of(mode)) == 0 || (may_repeat && known == 1)) {
      known = d.extent(i);
    } else if (known != d.extent(i)) {
      return mismatch(fmt::format("{} is {}, and {} in d", e.name_of(mode), known, d.extent(i)));
    }
  }
  return {};
}

double mode_extents::count(mode_set set) const noexcept {
  double all = 1;
  for_each_mode(set, [&](char mode) { all *= static_cast<double>((*this)[mode]); });
  return all;
}

result<named_tensors> named_tensors::of(std::string_view text,
                                        std::span<const any_tensor* const> operands,
                                        std::span<const std::string> names, const any_tensor* d,
                                        bool may_repeat) {
  auto modes = parse(text, operands.size(), may_repeat, operands, names);
  if (!modes) return std::move(modes).error();
  auto extents = mode_extents::of(*modes, operands, names);
  if (!extents) return std::move(extents).error();
  if (d != nullptr) {
    if (auto fits = extents->take_result(*modes, *d, may_repeat); !fits)
      return std::move(fits).error();
  }
  return named_tensors{*std::move(modes), *extents};
}

std::vector<std::int64_t> named_tensors::result_extents() const {
  std::vector<std::int64_t> all;
  for (const char mode : modes.result)
    all.push_back(extents[mode]);
  return all;
}

}  // namespace troupe::tensors
