#include "request/description/table.hpp"

#include <troupe/request/catalogue.hpp>
#include <troupe/request/request_builder.hpp>

#include <fmt/format.h>

#include <limits>
#include <mutex>
#include <new>
#include <utility>

namespace troupe {
namespace {

using detail::field_kind;
using default_value = request_builder::default_value;

// Calls `f` with a null pointer to the C++ type of a field's values.
template <class F>
void with_type(field_kind kind, F f) {
  switch (kind) {
    case field_kind::tensor:
      return f(static_cast<any_tensor*>(nullptr));
    case field_kind::tensors:
      return f(static_cast<std::vector<any_tensor>*>(nullptr));
    case field_kind::scalar:
      return f(static_cast<scalar*>(nullptr));
    case field_kind::integer:
      return f(static_cast<std::int64_t*>(nullptr));
    case field_kind::unsigned_integer:
      return f(static_cast<std::uint64_t*>(nullptr));
    case field_kind::real:
      return f(static_cast<double*>(nullptr));
    case field_kind::boolean:
      return f(static_cast<bool*>(nullptr));
    case field_kind::enumeration:
      return f(static_cast<std::uint8_t*>(nullptr));
    case field_kind::text:
      return f(static_cast<std::string*>(nullptr));
    case field_kind::integers:
      return f(static_cast<std::vector<std::int64_t>*>(nullptr));
    case field_kind::scalars:
      return f(static_cast<std::vector<scalar>*>(nullptr));
    case field_kind::groups:
      return;  // the builder makes none
  }
}

field_kind kind_of(const default_value& v) noexcept {
  constexpr field_kind kinds[] = {
      field_kind::scalar,  field_kind::integer, field_kind::unsigned_integer, field_kind::real,
      field_kind::boolean, field_kind::text,    field_kind::integers,         field_kind::scalars};
  static_assert(std::size(kinds) == std::variant_size_v<default_value>);
  return kinds[v.index()];
}

// Functions for a type that only its table describes. `context` is the table.

void construct(const void* context, void* at) {
  const auto& t = *static_cast<const description_table*>(context);
  for (const field& f : t.fields) {
    with_type(f.kind, [&]<class T>(T*) {
      ::new (static_cast<std::byte*>(at) + f.offset) T(value_at<T>(t.defaults, f.offset));
    });
  }
}

void destroy(const void* context, void* value) noexcept {
  const auto& t = *static_cast<const description_table*>(context);
  for (const field& f : t.fields) {
    with_type(f.kind, [&]<class T>(T*) { value_at<T>(value, f.offset).~T(); });
  }
}

template <class T>
constexpr bool has_default =
    !std::same_as<T, any_tensor> && !std::same_as<T, std::vector<any_tensor>> &&
    !std::same_as<T, std::uint8_t>;

constexpr std::size_t alignment = alignof(std::max_align_t);

// A table and the defaults of its fields, while they are built.
class fields_under_way {
 public:
  [[nodiscard]] detail::description_builder builder() noexcept {
    return detail::description_builder(*table_);
  }
  [[nodiscard]] description_table& table() noexcept { return *table_; }
  [[nodiscard]] bool empty() const noexcept { return table_->fields.empty(); }

  /// Space for a field of that kind. `otherwise` is its default, if it has one.
  std::size_t place(field_kind kind, const default_value& otherwise = {}) {
    std::size_t offset = 0;
    with_type(kind, [&]<class T>(T*) {
      offset = (bytes_ + alignof(T) - 1) / alignof(T) * alignof(T);
      bytes_ = offset + sizeof(T);
    });
    defaults_.push_back(otherwise);
    return offset;
  }
  [[nodiscard]] const field_details* named(std::string_view name) const noexcept {
    for (const field_details& one : table_->details) {
      if (one.name == name) return &one;
    }
    return nullptr;
  }
  [[nodiscard]] std::size_t offset_of(std::string_view name) const noexcept {
    return table_->fields[static_cast<std::size_t>(named(name) - table_->details.data())].offset;
  }

  /// The type of these fields. It exists until this is destroyed, unless it is kept.
  [[nodiscard]] value_type finish(std::string_view name) {
    description_table& t = *table_;
    t.name = name;
    t.bytes = (bytes_ + alignment - 1) / alignment * alignment;
    auto* const defaults = static_cast<std::byte*>(::operator new(std::max(t.bytes, alignment)));
    for (std::size_t i = 0; i < t.fields.size(); ++i) {
      with_type(t.fields[i].kind, [&]<class T>(T*) {
        T* const made = ::new (defaults + t.fields[i].offset) T();
        if constexpr (has_default<T>) {
          *made = std::get<T>(defaults_[i]);
        }
      });
    }
    t.defaults = defaults;
    t.finish();
    return {.bytes = std::max(t.bytes, alignment),
            .alignment = alignment,
            .context = &t,
            .construct = &construct,
            .destroy = &destroy,
            .fields = &t};
  }
  /// Keeps it for good, as any table.
  void keep() noexcept { [[maybe_unused]] const auto* const kept = table_.release(); }

  fields_under_way() = default;
  fields_under_way(const fields_under_way&) = delete;
  fields_under_way& operator=(const fields_under_way&) = delete;
  ~fields_under_way() {
    if (!table_ || table_->defaults == nullptr) return;
    void* const defaults = const_cast<void*>(table_->defaults);
    destroy(table_.get(), defaults);
    ::operator delete(defaults);
  }

 private:
  std::unique_ptr<description_table> table_ = std::make_unique<description_table>();
  std::size_t bytes_ = 0;
  std::vector<default_value> defaults_;  // by field
};

}  // namespace

struct request_builder::parts {
  std::string name;
  fields_under_way fields;
  fields_under_way reply;
  std::optional<error> failure;  // the first

  void fail(std::string why) {
    if (failure) return;
    failure = error{.code = errc::invalid_argument,
                    .message = fmt::format("request \"{}\": {}", name, why)};
  }
  // The builder of the last field.
  detail::description_builder last() {
    if (fields.empty()) {
      fail("a property needs a field before it");
      (void)fields.place(field_kind::boolean);
      fields.builder().add(field_kind::boolean, "", 0, "");
    }
    return fields.builder();
  }
  // False if the name is taken.
  bool add(fields_under_way& to, std::string_view field) {
    if (to.named(field) == nullptr) return true;
    fail(fmt::format("it has two fields \"{}\"", field));
    return false;
  }
  [[nodiscard]] std::vector<std::size_t> offsets(const auto& tensors) {
    std::vector<std::size_t> all;
    for (const std::string_view one : tensors) {
      if (fields.named(one) == nullptr) {
        fail(fmt::format("there is no field \"{}\"", one));
        return {};
      }
      all.push_back(fields.offset_of(one));
    }
    return all;
  }
  void add_value(fields_under_way& to, std::string_view field, const default_value& otherwise,
                 std::string_view text) {
    if (!add(to, field)) return;
    const field_kind kind = kind_of(otherwise);
    const std::size_t offset = to.place(kind, otherwise);
    to.builder().add(kind, field, offset, text);
  }
};

request_builder::request_builder(std::string_view name) : parts_(std::make_unique<parts>()) {
  parts_->name = name;
}
request_builder::request_builder(request_builder&&) noexcept = default;
request_builder& request_builder::operator=(request_builder&&) noexcept = default;
request_builder::~request_builder() = default;

request_builder& request_builder::about(std::string_view summary, std::string_view source) {
  parts_->fields.builder().about(summary, source);
  return *this;
}
extent request_builder::size(std::string_view name) {
  return extent::of_symbol(parts_->fields.builder().symbol(name, 1, 1));
}
extent request_builder::sizes(std::string_view name, int least, int most) {
  return extent::of_symbol(parts_->fields.builder().symbol(name, least, most));
}

request_builder& request_builder::tensor(std::string_view name, access role, shape s,
                                         std::string_view text) {
  return tensor(name, role, extents(s.begin(), s.size()), text);
}
request_builder& request_builder::tensors(std::string_view name, access role, shape s,
                                          std::string_view text) {
  return tensors(name, role, extents(s.begin(), s.size()), text);
}
request_builder& request_builder::tensor(std::string_view name, access role, extents s,
                                         std::string_view text) {
  if (!parts_->add(parts_->fields, name)) return *this;
  const std::size_t offset = parts_->fields.place(field_kind::tensor);
  parts_->fields.builder().add_tensor(field_kind::tensor, name, offset, role, s, text);
  return *this;
}
request_builder& request_builder::tensors(std::string_view name, access role, extents s,
                                          std::string_view text) {
  if (!parts_->add(parts_->fields, name)) return *this;
  const std::size_t offset = parts_->fields.place(field_kind::tensors);
  parts_->fields.builder().add_tensor(field_kind::tensors, name, offset, role, s, text);
  return *this;
}
request_builder& request_builder::value(std::string_view name, const default_value& otherwise,
                                        std::string_view text) {
  parts_->add_value(parts_->fields, name, otherwise, text);
  return *this;
}
request_builder& request_builder::enumeration(std::string_view name,
                                              const std::vector<std::string>& enumerators,
                                              std::string_view text) {
  if (enumerators.empty() || enumerators.size() > detail::most_enumerators) {
    parts_->fail(fmt::format("field \"{}\" has {} enumerators; 1 to {} are possible", name,
                             enumerators.size(), detail::most_enumerators));
    return *this;
  }
  if (!parts_->add(parts_->fields, name)) return *this;
  const std::size_t offset = parts_->fields.place(field_kind::enumeration);
  description_table& t = parts_->fields.table();
  parts_->fields.builder().add_enumeration(name, offset, sizeof(std::uint8_t), {}, text);
  t.details.back().enumerators = enumerators;
  t.fields.back().last_enumerator = static_cast<std::uint8_t>(enumerators.size() - 1);
  return *this;
}

request_builder& request_builder::optional() {
  parts_->last().optional();
  return *this;
}
request_builder& request_builder::range(double least, double most) {
  parts_->last().range(least, most, false);
  return *this;
}
request_builder& request_builder::at_least(double least) {
  return range(least, std::numeric_limits<double>::infinity());
}

request_builder& request_builder::layouts(layout how, names tensors) {
  parts_->fields.builder().layouts(how, parts_->offsets(tensors));
  return *this;
}
request_builder& request_builder::types(names tensors, const type_rows& rows) {
  if (const auto offsets = parts_->offsets(tensors); !offsets.empty()) {
    parts_->fields.builder().types(offsets, rows);
  }
  return *this;
}
request_builder& request_builder::types(std::span<const std::string> tensors,
                                        const type_rows& rows) {
  if (const auto offsets = parts_->offsets(tensors); !offsets.empty()) {
    parts_->fields.builder().types(offsets, rows);
  }
  return *this;
}
request_builder& request_builder::same_type(names tensors, std::initializer_list<dtype> types) {
  type_rows rows({});
  for (const dtype type : types)
    rows.rows.emplace_back(tensors.size(), type);
  return this->types(tensors, rows);
}

request_builder& request_builder::reply_value(std::string_view name, const default_value& otherwise,
                                              std::string_view text) {
  parts_->add_value(parts_->reply, name, otherwise, text);
  return *this;
}

result<const request_type*> request_builder::make() {
  const std::size_t dot = parts_->name.find('.');
  if (dot == 0 || dot == std::string::npos || dot + 1 == parts_->name.size()) {
    parts_->fail("its name is not of the form library.operation");
  }
  if (parts_->failure) return *parts_->failure;
  auto made = std::make_unique<request_type>();
  static_cast<value_type&>(*made) = parts_->fields.finish(parts_->name);
  made->name = made->fields->name;
  made->reply_name = "nothing";
  auto reply = std::make_unique<value_type>();
  if (!parts_->reply.empty()) {
    *reply = parts_->reply.finish({});
    made->described_reply = reply.get();
    made->reply_name = "struct";
  }
  made->id = detail::id_of(*made);
  static std::mutex one_at_a_time;  // threads that make the same type concurrently get the same one
  const std::scoped_lock lock(one_at_a_time);
  if (const request_type* const there = request_named(made->name)) {
    if (there->id == made->id) return there;
    parts_->fail("that name is of another request, whose fields or reply differ");
    return *parts_->failure;
  }
  detail::add_to_catalogue(*made);
  // Kept for good, as the catalogue is.
  parts_->fields.keep();
  if (made->described_reply != nullptr) {
    parts_->reply.keep();
    made->described_reply = reply.release();
  }
  return made.release();
}

}  // namespace troupe
