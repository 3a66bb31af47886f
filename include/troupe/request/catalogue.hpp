#pragma once

#include <troupe/request/request.hpp>

#include <string>
#include <string_view>
#include <vector>

/// All requests that this program knows: those that come with Troupe, and each of its own that it
/// has used or added (`request_type_of`).
namespace troupe {

/// The names before the dot, sorted.
[[nodiscard]] TROUPE_EXPORT std::vector<std::string_view> libraries();
/// The requests of a library, sorted by name; of all libraries for an empty name.
[[nodiscard]] TROUPE_EXPORT std::vector<const request_type*> requests_of(std::string_view library);
/// Null where there is none of that name, as `blas.gemm`.
[[nodiscard]] TROUPE_EXPORT const request_type* request_named(std::string_view name);

/// What a request does, in one sentence.
[[nodiscard]] TROUPE_EXPORT std::string_view summary_of(const request_type& type) noexcept;
/// Its tensors: what it uses, and what it writes: `a[m, k], b[k, n] → c[m, n]`.
[[nodiscard]] TROUPE_EXPORT std::string signature_of(const request_type& type);
/// What a request says of itself, as one JSON object: fields with kinds, roles, shapes, types,
/// defaults, ranges and conditions, and the reply.
[[nodiscard]] TROUPE_EXPORT std::string json_of(const request_type& type);
/// The same for people, as a section of a Markdown page.
[[nodiscard]] TROUPE_EXPORT std::string page_of(const request_type& type);

}  // namespace troupe
