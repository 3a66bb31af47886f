#include "request/description/table.hpp"

#include <troupe/request/fields.hpp>

namespace troupe {
namespace {

using visitor = std::function<void(std::string_view name, any_tensor& tensor, access role)>;

void visit_tensors(const description_table& t, void* request, const visitor& visit) {
  for (std::size_t i = 0; i < t.fields.size(); ++i) {
    const field& f = t.fields[i];
    if (f.kind == field_kind::tensor) {
      visit(t.details[i].name, value_at<any_tensor>(request, f.offset), role_of(t, f, request));
    } else if (f.kind == field_kind::tensors) {
      for (any_tensor& one : value_at<std::vector<any_tensor>>(request, f.offset))
        visit(t.details[i].name, one, role_of(t, f, request));
    } else if (f.kind == field_kind::groups) {
      const group_list& list = t.lists[static_cast<std::size_t>(f.groups)];
      void* const all = static_cast<std::byte*>(request) + f.offset;
      std::byte* one = list.type->data(all);
      for (std::size_t left = list.type->size(all); left > 0; --left, one += list.type->stride)
        visit_tensors(*list.of, one, visit);
    }
  }
}

}  // namespace

std::vector<field_view> fields_of(const value_type& type) {
  const description_table& t = *type.fields;
  std::vector<field_view> all;
  all.reserve(t.fields.size());
  for (std::size_t i = 0; i < t.fields.size(); ++i) {
    if (t.details[i].of_world) continue;
    const field& f = t.fields[i];
    const auto& names = t.details[i].enumerators;
    all.push_back(
        {.name = t.details[i].name,
         .kind = f.kind,
         .offset = f.offset,
         .may_write = f.is_tensor() && (f.role != access::read || f.otherwise != access::read),
         .per_rank = t.is_per_rank(i),
         .enumeration_bytes = f.enumeration_bytes,
         .enumerators = {names.begin(), names.end()}});
  }
  return all;
}

void for_each_tensor(const request_type& type, void* request, const visitor& visit) {
  visit_tensors(*type.fields, request, visit);
}

}  // namespace troupe
