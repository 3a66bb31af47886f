#include "request/description/table.hpp"

#include <troupe/request/request.hpp>

#include <algorithm>
#include <atomic>

namespace troupe {
namespace {

// The size of a field whose value is sent as it is in the request; 0 for all others.
std::size_t bytes_of(const field& f) noexcept {
  switch (f.kind) {
    case field_kind::scalar:
      return sizeof(scalar);
    case field_kind::integer:
    case field_kind::unsigned_integer:
    case field_kind::real:
      return sizeof(std::int64_t);
    case field_kind::boolean:
      return 1;
    case field_kind::enumeration:
      return f.enumeration_bytes;
    case field_kind::tensor:
    case field_kind::tensors:
    case field_kind::text:
    case field_kind::integers:
    case field_kind::scalars:
    case field_kind::groups:
      return 0;
  }
  return 0;
}

// The largest valid first byte of a value, if it can be invalid.
std::optional<std::uint8_t> most_of_first_byte(const field& f) noexcept {
  switch (f.kind) {
    case field_kind::scalar:
      return static_cast<std::uint8_t>(scalar::kind::complex);
    case field_kind::boolean:
      return std::uint8_t{1};
    case field_kind::enumeration:
      return f.last_enumerator;
    default:
      return std::nullopt;
  }
}

// Tensors and fields of varying length in their order; then the values, in as few contiguous pieces
// as possible.
class wire_plan {
 public:
  explicit wire_plan(description_table& t) : t_(&t) {
    std::vector<std::uint16_t> values;
    for (std::uint16_t i = 0; i < t.fields.size(); ++i) {
      const field& f = t.fields[i];
      if (bytes_of(f) != 0) {
        values.push_back(i);
        continue;
      }
      t.wire.push_back({.what = f.kind == field_kind::tensor ? wire_part::sort::tensor
                                                             : wire_part::sort::varying,
                        .field = i,
                        .offset = f.offset});
    }
    std::ranges::sort(values, {}, [&](std::uint16_t i) { return t.fields[i].offset; });
    for (const std::uint16_t i : values)
      add_value(i);
  }

 private:
  void add_value(std::uint16_t i) {
    const field& f = t_->fields[i];
    const auto checks = static_cast<std::uint16_t>(t_->byte_checks.size());
    const bool follows = !t_->wire.empty() && t_->wire.back().what == wire_part::sort::values &&
                         t_->wire.back().offset + t_->wire.back().bytes == f.offset;
    if (!follows) {
      t_->wire.push_back({.what = wire_part::sort::values,
                          .offset = f.offset,
                          .first_check = checks,
                          .last_check = checks});
    }
    wire_part& part = t_->wire.back();
    if (const auto most = most_of_first_byte(f)) {
      t_->byte_checks.push_back({.at = part.bytes, .most = *most, .field = i});
      // The higher bytes of an enumeration of several bytes are 0.
      for (std::size_t b = 1; f.kind == field_kind::enumeration && b < f.enumeration_bytes; ++b) {
        t_->byte_checks.push_back(
            {.at = static_cast<std::uint16_t>(part.bytes + b), .most = 0, .field = i});
      }
    }
    part.bytes = static_cast<std::uint16_t>(part.bytes + bytes_of(f));
    part.last_check = static_cast<std::uint16_t>(t_->byte_checks.size());
  }

  description_table* t_;
};

// First the tensors that determine symbols, then those whose extents are calculated from them.
// Mandatory tensors come first.
int turn_of(const field_details& d) noexcept {
  const bool calculates = std::ranges::any_of(
      d.shape.extents, [](const extent& e) { return !e.is_number() && !e.is_plain(); });
  return calculates ? 2 : d.optional ? 1 : 0;
}

void set_ranks(tensor_shape& shape, const std::vector<symbol>& symbols) {
  shape.least_rank = shape.most_rank = 0;
  for (const extent& e : shape.extents) {
    const symbol one = e.is_number() ? symbol{} : symbols[static_cast<std::size_t>(e.symbol())];
    shape.least_rank += one.least;
    shape.most_rank += one.most;
  }
  shape.most_rank = std::min(shape.most_rank, max_rank);
}

std::uint64_t fingerprint_of(const description_table& t) {
  std::string all = t.name;
  for (std::size_t i = 0; i < t.fields.size(); ++i) {
    const field& f = t.fields[i];
    all += '\n' + t.details[i].name + ' ';
    all += static_cast<char>(f.kind);
    all += static_cast<char>(f.role);
    all += static_cast<char>(f.otherwise);
    all += static_cast<char>(f.last_enumerator);
    all += static_cast<char>(bytes_of(f));
    if (f.groups >= 0) {
      const std::uint64_t of = t.lists[static_cast<std::size_t>(f.groups)].of->fingerprint;
      all.append(reinterpret_cast<const char*>(&of), sizeof(of));
    }
  }
  return detail::hash_of(all);
}

}  // namespace

// A bit for each tensor that a list of the field names, or whose own list names the field.
std::uint32_t description_table::named_by(std::uint16_t i,
                                          std::vector<std::size_t> field_details::* list) const {
  const auto names = [&](std::uint16_t one, std::uint16_t two) {
    const std::vector<std::size_t>& all = details[one].*list;
    return std::ranges::find(all, fields[two].offset) != all.end();
  };
  std::uint32_t mask = 0;
  for (std::size_t other = 0; other < tensors.size(); ++other) {
    if (names(i, tensors[other]) || names(tensors[other], i)) mask |= 1U << other;
  }
  return mask;
}

void description_table::finish() {
  wire_plan plan(*this);
  const auto add = [this](check_step::sort what, std::size_t index) {
    checks.push_back({.what = what, .index = static_cast<std::uint16_t>(index)});
  };
  const auto is_tensor = [this](std::size_t i) { return fields[i].kind == field_kind::tensor; };
  using sort = check_step::sort;
  // Presence first: later steps rely on it.
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (details[i].given_where >= 0) add(sort::given, i);
    if (fields[i].kind == field_kind::enumeration) add(sort::enumerator, i);
    has_varying_roles = has_varying_roles || fields[i].role_where >= 0;
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (is_tensor(i)) {
      fields[i].place = static_cast<std::uint8_t>(tensors.size());
      tensors.push_back(static_cast<std::uint16_t>(i));
    }
    if (fields[i].is_tensor()) add(sort::view, i);
    if (details[i].has_shape) set_ranks(details[i].shape, symbols);
    for (auto& other : details[i].other_shapes)
      set_ranks(other.shape, symbols);
  }
  for (const int turn : {0, 1, 2}) {
    for (const std::uint16_t i : tensors) {
      if (details[i].has_shape && turn_of(details[i]) == turn) add(sort::shape, i);
    }
  }
  for (std::size_t i = 0; i < types.size(); ++i)
    add(sort::types, i);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!details[i].only_where.empty()) add(sort::only, i);
    if (!details[i].range.empty()) add(sort::range, i);
    if (details[i].factor_of >= 0 || details[i].is_real) add(sort::factor, i);
    if (fields[i].kind == field_kind::groups) add(sort::groups, i);
  }
  for (const std::uint16_t i : tensors) {
    may_be.push_back(named_by(i, &field_details::may_be));
    may_share.push_back(named_by(i, &field_details::may_share));
  }
  if (tensors.size() > 1) add(sort::apart, 0);
  for (std::size_t i = 0; i < rules.size(); ++i)
    add(sort::rule, i);
  fingerprint = fingerprint_of(*this);
}

std::uint16_t description_table::field_at(std::size_t offset) const noexcept {
  std::uint16_t i = 0;
  while (fields[i].offset != offset)
    ++i;
  return i;
}

bool holds(const condition& c, const void* request) noexcept {
  const auto tensor = [&](std::uint32_t at) -> const any_tensor& {
    return value_at<any_tensor>(request, at);
  };
  bool yes = false;
  switch (c.what) {
    case condition::test::zero:
      yes = value_at<scalar>(request, c.field).is_zero();
      break;
    case condition::test::all_zero:
      yes = std::ranges::all_of(value_at<std::vector<scalar>>(request, c.field), &scalar::is_zero);
      break;
    case condition::test::set:
      yes = value_at<bool>(request, c.field);
      break;
    case condition::test::one_of:
      // Enumerations have fewer than 32 enumerators, so the first byte identifies one.
      yes = (c.mask >> (value_at<std::uint8_t>(request, c.field) & 31) & 1) != 0;
      break;
    case condition::test::type_of:
      yes = (c.mask >> (static_cast<unsigned>(tensor(c.field).type()) & 31) & 1) != 0;
      break;
    case condition::test::given:
      yes = !tensor(c.field).null();
      break;
    case condition::test::rank:
      yes = tensor(c.field).rank() == static_cast<int>(c.mask);
      break;
    case condition::test::same_view:
      yes = tensor(c.field).same_view(tensor(c.other));
      break;
    case condition::test::in_place:
      yes = tensor(c.field).address() == tensor(c.other).address();
      break;
    case condition::test::not_empty:
      yes = !value_at<std::vector<std::int64_t>>(request, c.field).empty();
      break;
  }
  return yes != c.negated;
}

bool keeps_outputs(const description_table& t, const void* request, errc code) noexcept {
  return t.keeps_on_failure || std::ranges::any_of(t.kept_outcomes, [&](const auto& one) {
           return one.of == code &&
                  holds(t.conditions[static_cast<std::size_t>(one.where)], request);
         });
}

bool is_default(const description_table& t, const field& f, const void* request) noexcept {
  const auto same = [&]<class T>(const T& mine) {
    return mine == value_at<T>(t.defaults, f.offset);
  };
  switch (f.kind) {
    case field_kind::tensor:
      return value_at<any_tensor>(request, f.offset).null();
    case field_kind::tensors:
      return value_at<std::vector<any_tensor>>(request, f.offset).empty();
    case field_kind::scalar:
      return same(value_at<scalar>(request, f.offset));
    case field_kind::integer:
    case field_kind::unsigned_integer:
    case field_kind::real:
      return same(value_at<std::uint64_t>(request, f.offset));
    case field_kind::boolean:
      return same(value_at<std::uint8_t>(request, f.offset));
    case field_kind::enumeration:
      return enumerator_at(f, request) == enumerator_at(f, t.defaults);
    case field_kind::text:
      return same(value_at<std::string>(request, f.offset));
    case field_kind::integers:
      return same(value_at<std::vector<std::int64_t>>(request, f.offset));
    case field_kind::scalars:
      return value_at<std::vector<scalar>>(request, f.offset).empty();
    case field_kind::groups: {
      const group_list& list = t.lists[static_cast<std::size_t>(f.groups)];
      return list.type->size(static_cast<const std::byte*>(request) + f.offset) == 0;
    }
  }
  return false;
}

namespace detail {

std::uint64_t id_of(const request_type& type) noexcept {
  std::uint64_t id = type.fields->fingerprint;
  const auto add = [&](std::uint64_t part) { id = (id ^ part) * 0x100000001b3u; };
  add(type.reply_bytes);
  if (type.described_reply != nullptr) add(type.described_reply->fields->fingerprint);
  return id;
}

const description_table& make_description_table(std::string_view name, std::size_t bytes,
                                                const void* defaults, describe_function describe) {
  // Never destroyed: requests of static storage are printed and encoded until the very end.
  auto* const made = new description_table;
  made->name = name;
  made->bytes = bytes;
  made->defaults = defaults;
  describe(*made, defaults);
  made->finish();
  // Kept for good, even if the library that asked for it is unloaded. The list is never read.
  static constinit std::atomic<description_table*> newest{nullptr};
  made->made_before = newest.exchange(made, std::memory_order_relaxed);
  return *made;
}

}  // namespace detail
}  // namespace troupe
