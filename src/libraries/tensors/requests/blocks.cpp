#include "libraries/tensors/requests/blocks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <utility>

namespace troupe::tensors {
namespace {

// No tensor has more elements.
constexpr std::int64_t most_elements = std::int64_t{1} << 59;

error invalid_sections(std::string message) {
  return {.code = errc::invalid_argument, .message = std::move(message)};
}

/// The sections of all modes.
class mode_sections {
 public:
  [[nodiscard]] static result<mode_sections> of(const equation& e, const contract_blocks& r) {
    mode_sections made;
    std::string order;
    for (const std::string& modes : e.operands) {
      for (const char mode : modes) {
        if (order.find(mode) == std::string::npos) order += mode;
      }
    }
    if (r.section_counts.size() != order.size()) {
      return invalid_sections(
          fmt::format("section_counts has {} numbers, and there are {} modes: {}",
                      r.section_counts.size(), order.size(), fmt::join(order, ", ")));
    }
    std::span<const std::int64_t> left = r.sections;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::int64_t count = r.section_counts[i];
      if (count < 1) {
        return invalid_sections(fmt::format(
            "section_counts[{}], of mode '{}', is {}; it must be at least 1", i, order[i], count));
      }
      if (static_cast<std::size_t>(count) > left.size()) {
        return invalid_sections(
            fmt::format("sections has {} numbers, too few for mode '{}' of {} sections",
                        r.sections.size(), order[i], count));
      }
      made[order[i]] = left.first(static_cast<std::size_t>(count));
      left = left.subspan(static_cast<std::size_t>(count));
    }
    if (!left.empty()) {
      return invalid_sections(
          fmt::format("sections has {} numbers, {} more than section_counts says",
                      r.sections.size(), left.size()));
    }
    const auto bad = std::ranges::find_if(r.sections, [](std::int64_t n) { return n < 1; });
    if (bad != r.sections.end()) {
      return invalid_sections(
          fmt::format("sections[{}] is {}; it must be at least 1", bad - r.sections.begin(), *bad));
    }
    return made;
  }

  [[nodiscard]] std::span<const std::int64_t>& operator[](char mode) noexcept {
    return all_[static_cast<std::size_t>(number_of(mode))];
  }
  [[nodiscard]] std::span<const std::int64_t> operator[](char mode) const noexcept {
    return all_[static_cast<std::size_t>(number_of(mode))];
  }

 private:
  std::array<std::span<const std::int64_t>, most_modes> all_{};
};

result<void> check_modes(const std::string& modes, char tensor) {
  if (modes.size() > static_cast<std::size_t>(max_rank)) {
    return invalid_sections(
        fmt::format("{} has {} modes; there are at most {}", tensor, modes.size(), max_rank));
  }
  for (std::size_t i = 0; i < modes.size(); ++i) {
    if (modes.find(modes[i], i + 1) != std::string::npos) {
      return invalid_sections(
          fmt::format("{} has mode '{}' twice; blocks have no diagonal", tensor, modes[i]));
    }
  }
  return {};
}

result<stored_block> block_of(const std::string& modes, const mode_sections& sections,
                              std::span<const std::int64_t> where, std::int64_t first,
                              std::string_view name) {
  stored_block made{.sections = {where.begin(), where.end()}, .extents = {}, .first = first};
  std::array<std::int64_t, max_rank> extents{};
  for (std::size_t i = 0; i < modes.size(); ++i) {
    const auto of_mode = sections[modes[i]];
    if (where[i] < 0 || where[i] >= std::ssize(of_mode)) {
      return invalid_sections(fmt::format("{} has the block ({}); mode '{}' has {} sections", name,
                                          fmt::join(where, ", "), modes[i], of_mode.size()));
    }
    extents[i] = of_mode[static_cast<std::size_t>(where[i])];
  }
  made.extents = shape(std::span(extents).first(modes.size()));
  return made;
}

result<stored_blocks> blocks_of(const std::string& modes, const mode_sections& sections,
                                const std::vector<std::int64_t>& listed, std::string_view name) {
  const std::size_t rank = modes.size();
  if (rank == 0 ? !listed.empty() : listed.size() % rank != 0) {
    return invalid_sections(
        fmt::format("{} has {} numbers; a block has {}", name, listed.size(), rank));
  }
  stored_blocks made;
  const std::size_t count = rank == 0 ? 1 : listed.size() / rank;
  made.all.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto one =
        block_of(modes, sections, std::span(listed).subspan(i * rank, rank), made.elements, name);
    if (!one) return std::move(one).error();
    std::int64_t elements = 1;
    for (const std::int64_t extent : one->extents.extents()) {
      if (__builtin_mul_overflow(elements, extent, &elements) || elements > most_elements) {
        return error{.code = errc::shape_mismatch,
                     .message = fmt::format("{} has a block of {} elements; no tensor has so many",
                                            name, fmt::join(one->extents.extents(), " × "))};
      }
    }
    made.elements += elements;
    if (made.elements > most_elements) {
      return error{.code = errc::shape_mismatch,
                   .message = fmt::format("{} has more than {} elements; no tensor has so many",
                                          name, most_elements)};
    }
    made.all.push_back(*std::move(one));
  }
  std::vector<const stored_block*> sorted;
  sorted.reserve(count);
  for (const stored_block& one : made.all)
    sorted.push_back(&one);
  const auto key = [](const stored_block* one) -> const auto& { return one->sections; };
  std::ranges::sort(sorted, {}, key);
  const auto twice = std::ranges::adjacent_find(sorted, {}, key);
  if (twice != sorted.end()) {
    return invalid_sections(
        fmt::format("{} has the block ({}) twice", name, fmt::join((*twice)->sections, ", ")));
  }
  return made;
}

/// The sections of a block in some of its modes.
std::vector<std::int64_t> part_of(const stored_block& block, const std::string& modes,
                                  const std::string& some) {
  std::vector<std::int64_t> part;
  part.reserve(some.size());
  for (const char mode : some)
    part.push_back(block.sections[modes.find(mode)]);
  return part;
}

/// Finds the products of each block of d.
result<void> pair_up(block_contraction& to) {
  using sections = std::vector<std::int64_t>;
  const std::string& modes_of_a = to.modes.operands[0];
  const std::string& modes_of_b = to.modes.operands[1];
  std::string shared;
  std::string both = modes_of_a;
  for (const char mode : modes_of_b)
    (modes_of_a.find(mode) == std::string::npos ? both : shared) += mode;
  std::map<sections, std::vector<std::size_t>> blocks_of_b;
  for (std::size_t i = 0; i < to.b.all.size(); ++i)
    blocks_of_b[part_of(to.b.all[i], modes_of_b, shared)].push_back(i);
  std::map<sections, std::size_t> blocks_of_d;
  for (std::size_t i = 0; i < to.d.all.size(); ++i)
    blocks_of_d[to.d.all[i].sections] = i;

  to.products.resize(to.d.all.size());
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < to.a.all.size(); ++i) {
    const auto found = blocks_of_b.find(part_of(to.a.all[i], modes_of_a, shared));
    if (found == blocks_of_b.end()) continue;
    pairs += found->second.size();
    if (pairs > block_contraction::most_products) {
      return error{.code = errc::unsupported,
                   .message = fmt::format("more than {} pairs of blocks of a and b agree in their "
                                          "shared modes",
                                          block_contraction::most_products)};
    }
    for (const std::size_t j : found->second) {
      stored_block whole{.sections = to.a.all[i].sections, .extents = {}};
      for (const char mode : both.substr(modes_of_a.size()))
        whole.sections.push_back(to.b.all[j].sections[modes_of_b.find(mode)]);
      const auto result = blocks_of_d.find(part_of(whole, both, to.modes.result));
      if (result != blocks_of_d.end()) to.products[result->second].push_back({i, j});
    }
  }
  return {};
}

}  // namespace

result<block_contraction> block_contraction::of(const contract_blocks& r) {
  auto modes = parse(r.modes, 2);
  if (!modes) return std::move(modes).error();
  for (std::size_t i = 0; i < 2; ++i) {
    if (auto good = check_modes(modes->operands[i], i == 0 ? 'a' : 'b'); !good)
      return std::move(good).error();
  }
  if (auto good = check_modes(modes->result, 'd'); !good) return std::move(good).error();
  const auto sections = mode_sections::of(*modes, r);
  if (!sections) return sections.error();
  block_contraction made{.modes = *std::move(modes), .a = {}, .b = {}, .d = {}, .products = {}};
  const auto take = [&](stored_blocks& to, const std::string& named,
                        const std::vector<std::int64_t>& listed,
                        std::string_view name) -> result<void> {
    auto blocks = blocks_of(named, *sections, listed, name);
    if (!blocks) return std::move(blocks).error();
    to = *std::move(blocks);
    return {};
  };
  if (auto good = take(made.a, made.modes.operands[0], r.a_blocks, "a_blocks"); !good)
    return std::move(good).error();
  if (auto good = take(made.b, made.modes.operands[1], r.b_blocks, "b_blocks"); !good)
    return std::move(good).error();
  if (auto good = take(made.d, made.modes.result, r.d_blocks, "d_blocks"); !good)
    return std::move(good).error();
  if (auto good = pair_up(made); !good) return std::move(good).error();
  return made;
}

}  // namespace troupe::tensors
