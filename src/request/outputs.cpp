#include "request/checker.hpp"
#include "request/description/table.hpp"
#include "request/description/text.hpp"

#include <troupe/request/outputs.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>

namespace troupe {
namespace {

using number_list = std::vector<std::int64_t>;
using allocation = std::function<result<any_tensor>(dtype, const shape&)>;

class output_allocator {
 public:
  output_allocator(const request_type& type, void* request, std::span<const std::size_t> also)
      : name_(type.name),
        t_(*type.fields),
        request_(request),
        also_(also),
        sizes_(t_.symbols.size()) {
    for (const std::uint16_t i : t_.tensors)
      learn_sizes(i);
  }

  result<std::vector<std::size_t>> allocate(const allocation& allocate) {
    std::vector<std::size_t> made;  // fields
    for (const std::uint16_t i : t_.tensors) {
      if (!is_missing(i)) continue;
      auto type = type_of(i);
      if (!type) return std::move(type).error();
      // The shape may depend on the type.
      tensor(i) = any_tensor::unowned(nullptr, *type, {0});
      auto extents = extents_of(i);
      tensor(i) = any_tensor();
      if (!extents) return std::move(extents).error();
      auto allocated = allocate_ordered(i, *type, *extents, allocate);
      if (!allocated) return std::move(allocated).error();
      tensor(i) = *std::move(allocated);
      learn_sizes(i);
      made.push_back(i);
    }
    choose_orders(made);
    if (auto lists = allocate_lists(allocate, made); !lists) return std::move(lists).error();
    std::ranges::sort(made);
    std::vector<std::size_t> offsets;
    offsets.reserve(made.size());
    for (const std::size_t i : made)
      offsets.push_back(t_.fields[i].offset);
    return offsets;
  }

 private:
  [[nodiscard]] any_tensor& tensor(std::size_t i) {
    return value_at<any_tensor>(request_, t_.fields[i].offset);
  }
  [[nodiscard]] const condition& condition_of(int index) const {
    return t_.conditions[static_cast<std::size_t>(index)];
  }

  [[nodiscard]] bool is_missing(std::size_t i) {
    const field_details& d = t_.details[i];
    if (!tensor(i).null() || d.in_host_memory || !would_write(i)) return false;
    if (std::ranges::find(also_, t_.fields[i].offset) != also_.end()) return true;
    if (d.given_where >= 0) return holds(condition_of(d.given_where), request_);
    return !d.optional;
  }

  result<void> allocate_lists(const allocation& allocate, std::vector<std::size_t>& made) {
    for (std::size_t i = 0; i < t_.fields.size(); ++i) {
      const field_details& d = t_.details[i];
      if (d.derive_forms == nullptr) continue;
      auto& list = value_at<std::vector<any_tensor>>(request_, t_.fields[i].offset);
      if (!list.empty()) continue;
      auto forms = d.call_forms(d.derive_forms, request_);
      if (!forms) return std::move(forms).error();
      for (const tensor_form& one : *forms) {
        auto allocated = allocate(one.type, one.extents);
        if (!allocated) return std::move(allocated).error();
        list.push_back(*std::move(allocated));
      }
      if (!list.empty()) made.push_back(i);
    }
    return {};
  }

  // The role of a tensor that is passed nowhere else: the request may update one in place.
  [[nodiscard]] bool would_write(std::size_t i) {
    std::byte elsewhere{};
    tensor(i) = any_tensor::unowned(&elsewhere, dtype{}, {0});
    const access role = role_of(t_, t_.fields[i], request_);
    tensor(i) = any_tensor();
    return role == access::write;
  }

  // Row-major, unless the request takes only the other order, or the order of a given tensor.
  void choose_orders(std::span<const std::size_t> made) {
    for (const std::size_t i : made) {
      if (t_.details[i].layout == layout::column_major) make_column_major(i);
    }
    if (const auto verdict = checker(t_, request_).verdict();
        verdict || verdict.error().code != errc::layout_unsupported) {
      return;
    }
    for (const std::size_t i : made) {
      if (t_.details[i].layout == layout::matrix) make_column_major(i);
    }
  }
  // Nothing has been written to it yet.
  void make_column_major(std::size_t i) {
    number_list extents(tensor(i).extents().begin(), tensor(i).extents().end());
    if (extents.size() < 2) return;
    std::swap(extents[extents.size() - 1], extents[extents.size() - 2]);
    if (auto turned = tensor(i).reshape(shape(std::span(extents)))) {
      tensor(i) = turned->transpose();
    }
  }

  // Missing, and not allocated. One without elements has a rank.
  [[nodiscard]] bool is_needed(std::size_t i) {
    const field_details& d = t_.details[i];
    return tensor(i).null() && tensor(i).rank() == 0 && !d.optional && d.given_where < 0 &&
           !would_write(i);
  }

  [[nodiscard]] const std::vector<extent>& shape_of(std::size_t i) const {
    for (const auto& other : t_.details[i].other_shapes) {
      if (holds(condition_of(other.where), request_)) return other.shape.extents;
    }
    return t_.details[i].shape.extents;
  }

  // In the order of the tensor that the description names.
  result<any_tensor> allocate_ordered(std::size_t i, dtype type, const number_list& extents,
                                      const allocation& allocate) {
    const int model = t_.details[i].ordered_as;
    const any_tensor* as = model < 0 ? nullptr : &tensor(static_cast<std::size_t>(model));
    if (as == nullptr || as->null() || as->rank() != static_cast<int>(extents.size()))
      return allocate(type, shape(std::span(extents)));
    std::vector<int> outermost_first(extents.size());
    std::iota(outermost_first.begin(), outermost_first.end(), 0);
    // A dimension of one index lies within the one that has the same stride.
    const auto place_of = [&](int d) { return std::tuple(-as->stride(d), as->extent(d) == 1, d); };
    std::ranges::sort(outermost_first, {}, place_of);
    number_list sorted;
    std::vector<int> back(extents.size());
    for (std::size_t place = 0; place < extents.size(); ++place) {
      const auto d = static_cast<std::size_t>(outermost_first[place]);
      sorted.push_back(extents[d]);
      back[d] = static_cast<int>(place);
    }
    auto made = allocate(type, shape(std::span(sorted)));
    if (!made) return made;
    return made->permute(std::span<const int>(back));
  }

  // Mismatches are left to validation.
  void learn_sizes(std::size_t i) {
    const any_tensor& x = tensor(i);
    const std::vector<extent>& extents = shape_of(i);
    if (x.null() || !t_.details[i].has_shape) return;
    const int several = x.rank() - static_cast<int>(extents.size()) + 1;
    int dimension = 0;
    for (const extent& e : extents) {
      const int count = is_single(e) ? 1 : several;
      if (count < 0 || dimension + count > x.rank()) return;
      const auto has =
          x.extents().subspan(static_cast<std::size_t>(dimension), static_cast<std::size_t>(count));
      if (e.is_plain() && !sizes_of(e)) sizes_of(e).emplace(has.begin(), has.end());
      dimension += count;
    }
  }

  [[nodiscard]] bool is_single(const extent& e) const {
    return e.is_number() || t_.symbols[static_cast<std::size_t>(e.symbol())].is_single();
  }
  [[nodiscard]] std::optional<number_list>& sizes_of(const extent& e) {
    return sizes_[static_cast<std::size_t>(e.symbol())];
  }

  // A symbol that no tensor has determined; −1 if there is none.
  [[nodiscard]] int unknown_symbol(const extent& e) {
    if (!knows(e.symbol())) return e.symbol();
    if (e.is_smaller() && !knows(e.other())) return e.other();
    return -1;
  }

  result<number_list> extents_of(std::size_t i) {
    if (!t_.details[i].has_shape) return undetermined(i, "nothing determines its shape");
    number_list all;
    for (const extent& e : shape_of(i)) {
      if (e.is_number()) {
        all.push_back(e.plus());
      } else if (const int unknown = unknown_symbol(e); unknown >= 0) {
        return undetermined(i, fmt::format("its shape is {}, and no tensor determines {}",
                                           text_of(t_, true, shape_of(i)),
                                           t_.symbols[static_cast<std::size_t>(unknown)].name));
      } else if (is_single(e)) {
        const auto second = static_cast<std::size_t>(e.is_smaller() ? e.other() : e.symbol());
        all.push_back(e.value(sizes_of(e)->front(), sizes_[second]->front()));
      } else {
        all.insert(all.end(), sizes_of(e)->begin(), sizes_of(e)->end());
      }
    }
    return all;
  }

  // If no tensor determines it, the description may.
  [[nodiscard]] bool knows(int number) {
    std::optional<number_list>& sizes = sizes_[static_cast<std::size_t>(number)];
    const symbol& s = t_.symbols[static_cast<std::size_t>(number)];
    if (sizes || s.derive == nullptr) return sizes.has_value();
    number_list derived;
    s.call(s.derive, static_cast<const std::byte*>(request_) + s.offset, derived);
    const auto count = static_cast<int>(derived.size());
    if (count == 0 || count < s.least || count > s.most) return false;
    sizes = std::move(derived);
    return true;
  }

  result<dtype> type_of(std::size_t i) {
    for (const type_table& table : t_.types) {
      const auto found = std::ranges::find(table.fields, i);
      const bool counts = std::ranges::none_of(
          table.unless, [&](int where) { return holds(condition_of(where), request_); });
      if (found == table.fields.end() || !counts) continue;
      const auto place = static_cast<std::size_t>(found - table.fields.begin());
      for (const std::uint64_t row : table.rows) {
        if (row_fits(table, row).value_or(table.rows.size() == 1)) {
          return type_table::type_in(row, place);
        }
      }
    }
    return undetermined(i, "nothing determines its type");
  }
  // Whether the given tensors have the types of a row; nothing if none is given.
  [[nodiscard]] std::optional<bool> row_fits(const type_table& table, std::uint64_t row) {
    std::optional<bool> fits;
    for (std::size_t place = 0; place < table.fields.size(); ++place) {
      const any_tensor& x = tensor(table.fields[place]);
      if (!x.null()) fits = fits.value_or(true) && x.type() == type_table::type_in(row, place);
    }
    return fits;
  }

  // The argument at fault where a result does not follow from the others: an operand that is not
  // given, or one whose type goes with none of those before it; else the result itself.
  [[nodiscard]] error undetermined(std::size_t i, std::string_view why) {
    for (const std::uint16_t other : t_.tensors) {
      if (!is_needed(other)) continue;
      return error{.code = errc::invalid_argument,
                   .message = fmt::format("{}: {} is not given", name_, t_.details[other].name)};
    }
    if (auto types = checker(t_, request_).types_of_given(); !types)
      return std::move(types).error();
    return error{
        .code = errc::invalid_argument,
        .message = fmt::format("{}: {} must be given: {}", name_, t_.details[i].name, why)};
  }

  std::string_view name_;
  const description_table& t_;
  void* request_;
  std::span<const std::size_t> also_;              ///< offsets of optional results that are wanted
  std::vector<std::optional<number_list>> sizes_;  ///< by symbol, once a tensor has determined it
};

}  // namespace

result<std::vector<std::size_t>> allocate_outputs(const request_type& type, void* request,
                                                  const allocation& allocate,
                                                  std::span<const std::size_t> also) {
  return output_allocator(type, request, also).allocate(allocate);
}

}  // namespace troupe
