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

/// The positions of the result's modes in the text.
struct parsed {
  equation made;
  std::vector<std::size_t> places;
};

result<parsed> read(std::string_view text) {
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
    } else if (!is_letter(c)) {
      return refuse(i, "is no letter");
    } else if (behind) {
      p.made.result += c;
      p.places.push_back(i);
    } else {
      p.made.operands.back() += c;
    }
  }
  if (!behind) return invalid(fmt::format(R"(modes "{}" have no "->")", text));
  return p;
}

}  // namespace

result<equation> parse(std::string_view text, std::size_t operands, bool may_repeat) {
  auto p = read(text);
  if (!p) return std::move(p).error();
  if (p->made.operands.size() != operands) {
    return invalid(
        fmt::format("modes \"{}\" have {} lists before the arrow, and there are {} operands", text,
                    p->made.operands.size(), operands));
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
        return mismatch(fmt::format("mode '{}' is {} in {} and {} in {}", modes[d], known,
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
    return mismatch(fmt::format("d has {} modes, \"{}\", and is [{}]", e.result.size(), e.result,
                                fmt::join(d.extents(), ", ")));
  }
  for (int i = 0; i < d.rank(); ++i) {
    const char mode = e.result[static_cast<std::size_t>(i)];
    std::int64_t& known = extents_[static_cast<std::size_t>(number_of(mode))];
    if ((known_ & set_of(mode)) == 0 || (may_repeat && known == 1)) {
      known = d.extent(i);
    } else if (known != d.extent(i)) {
      return mismatch(fmt::format("mode '{}' is {}, and {} in d", mode, known, d.extent(i)));
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
  auto modes = parse(text, operands.size(), may_repeat);
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
